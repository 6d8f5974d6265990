"""What the pages say is there and works; what is there stands on a page."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest
from pages import DOCS, ROOT, anchors, blocks, links, pages, prose, row

import bot
from bot.bound import BoundCommand
from bot.cli import PLACES, endings, main
from bot.config import OVERRIDES, ModelSettings, Settings, read_settings
from bot.environment import SECRETS
from bot.policyfile import PolicyFile, WrittenRule, read_policy
from bot.slack.kinds import KINDS
from bot.slack.manifest import COMMANDS, OPTIONAL_SCOPES, SCOPES
from bot.slack.render.settled import RESULT

README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
WRITTEN_WITH = "countersign.toml", "policy.toml"
IDS = {"ids": lambda page: page.name}


def strings_in_the_code():
    """Every text that stands in the code as a string."""
    for path in (ROOT / "bot").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def text_of(name):
    return (DOCS / name).read_text(encoding="utf-8")


# -- what is there stands on a page -------------------------------------------------


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented_with_its_default(name):
    assert row(DOCS / "settings.md", name)[1] == shown_default(Settings, name)


@pytest.mark.parametrize("name", ModelSettings.model_fields)
def test_every_setting_of_a_model_is_documented_with_its_default(name):
    assert row(DOCS / "settings.md", name)[1] == shown_default(ModelSettings, name)


@pytest.mark.parametrize("name", BoundCommand.model_fields)
def test_every_key_of_a_command_is_documented_with_its_default(name):
    table = text_of("settings.md").split("### Further commands")[1].split("### ")[0]
    (found,) = re.findall(rf"^\| `{name}` \| ([^|]*) \|", table, re.M)
    assert found == shown_default(BoundCommand, name)


@pytest.mark.parametrize("name", WrittenRule.model_fields)
def test_every_policy_key_is_documented_with_its_default(name):
    assert row(DOCS / "policy.md", name)[1] == shown_default(WrittenRule, name)


@pytest.mark.parametrize("name", PolicyFile.model_fields)
def test_every_key_at_the_top_of_the_policy_is_documented(name):
    row(DOCS / "policy.md", name)


def shown_default(model, name):
    field = model.model_fields[name]
    if field.is_required():
        return "required"
    if field.default is None:
        return "not set"
    value = list(field.default) if isinstance(field.default, tuple) else field.default
    return f"`{json.dumps(value)}`"


def test_every_environment_variable_is_documented():
    pattern = re.compile(r"(?:SLACK|COUNTERSIGN|OPENAI|ANTHROPIC)_[A-Z_]+|[A-Z]+_PROXY")
    used = {text for text in strings_in_the_code() if pattern.fullmatch(text)}
    assert used >= {*SECRETS, *OVERRIDES.values()}

    missing = {name for name in used if f"`{name}`" not in text_of("settings.md")}

    assert missing == set()


@pytest.mark.parametrize("name", PLACES)
def test_every_command_is_documented_with_its_options(name):
    command = main.get_command(None, name)
    found = re.search(
        rf"^### countersign {name}$(.*?)(?=^### )", text_of("commands.md"), re.M | re.S
    )
    assert found is not None
    for parameter in command.params:
        assert parameter.opts[0] in found[1]


def test_every_exit_code_is_documented():
    for code in (endings.FAULT, endings.CONFIG, endings.HELD):
        assert re.search(rf"^\| {code} \|", text_of("commands.md"), re.M)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_slash_command_is_documented(command):
    row(DOCS / "commands.md", f"/{command.name}")


@pytest.mark.parametrize("scope", [*SCOPES, *OPTIONAL_SCOPES])
def test_every_scope_is_documented_with_its_reason(scope):
    assert len(row(DOCS / "slack.md", scope)[1]) > 20


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_request_is_documented(name):
    words = "**any other kind**" if name is None else f"`{name}`"
    assert words in text_of("concepts.md")
    for choice in KINDS[name].choices:
        assert f"*{choice.label}*" in text_of("concepts.md")


def test_every_dependency_has_its_sentence():
    extras = PROJECT["optional-dependencies"].values()
    wanted = [*PROJECT["dependencies"], *(one for extra in extras for one in extra)]
    names = [re.match(r"[A-Za-z0-9-]+", one)[0] for one in wanted]

    told = re.findall(r"^- `([\w-]+)`: .{15,}\.$", CONTRIBUTING.read_text(), re.M)

    assert sorted(told) == sorted(names)


# -- what the pages say is there ----------------------------------------------------


def test_documented_log_events_exist():
    table = text_of("operations.md").split("| event |")[1].split("\n\n")[0]
    events = re.findall(r"^\| `([\w.]+)` \|", table, re.M)
    assert len(events) > 10

    assert set(events) - set(strings_in_the_code()) == set()


def test_every_warning_of_the_log_is_documented():
    logged = set()
    for path in (ROOT / "bot").rglob("*.py"):
        if "playground" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "log.warning":
                logged.add(ast.literal_eval(node.args[0]))
    assert logged >= {"policy_note", "request_malformed"}
    logged.add("people.unknown")  # by the standard library's logger

    missing = {
        name for name in logged if f"| `{name}` |" not in text_of("operations.md")
    }

    assert missing == set()


def test_documented_limits_are_those_of_the_code():
    assert f"first {RESULT:,} characters" in text_of("tools.md")


def test_version_is_the_same_everywhere():
    assert PROJECT["version"] == bot.__version__
    assert bot.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_readme_is_under_900_words():
    assert len(README.read_text(encoding="utf-8").split()) < 900


def test_readme_opens_with_a_picture_of_a_card():
    heading, _, picture = README.read_text(encoding="utf-8").split("\n\n")[:3]
    assert heading.startswith("# ")
    assert "](docs/images/card.png)" in picture


@pytest.mark.parametrize("page", pages(), **IDS)
def test_every_link_leads_somewhere(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.is_file(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {link}"


def test_every_page_is_reached_from_the_readme():
    reached = {(ROOT / link.partition("#")[0]).resolve() for link in links(README)}
    assert {page.resolve() for page in pages()} - {README} <= reached


@pytest.mark.parametrize("picture", sorted(DOCS.glob("images/*")), **IDS)
def test_every_picture_is_small_and_used(picture):
    assert picture.stat().st_size < 150_000
    assert any(f"images/{picture.name})" in prose(page) for page in pages())


# -- the examples -------------------------------------------------------------------

WITH_TOML = [page for page in pages() if blocks(page, "toml")]
WITH_PYTHON = [page for page in pages() if blocks(page, "python")]


@pytest.mark.parametrize("page", WITH_TOML, **IDS)
def test_every_toml_example_is_read_without_a_fault(page, tmp_path):
    for block in blocks(page, "toml"):
        assert block.file in WRITTEN_WITH
        path = tmp_path / block.file
        path.write_text(block.text, encoding="utf-8")
        if block.file == "policy.toml":
            assert read_policy(path).tool
        else:
            read_settings(path, {})


@pytest.mark.parametrize("page", WITH_PYTHON, **IDS)
def test_every_python_example_runs(page, tmp_path):
    """Its blocks are put together to the files they name; tools load, tests pass."""
    files = written(page, tmp_path)
    modules = [name for name in files if not name.startswith("tests/")]
    names = [path.removesuffix(".py").replace("/", ".") for path in modules]
    (tmp_path / "countersign.toml").write_text(f"tools = {json.dumps(names)}\n")
    (tmp_path / "policy.toml").write_text('[[tool]]\nname = "*"\ngate = "allow"\n')

    listed = python(tmp_path, "-m", "bot", "tools")
    assert listed.returncode == 0, listed.stderr
    defined = re.findall(
        r"^(?:async )?def (\w+)", "".join(files[m] for m in modules), re.M
    )
    assert re.findall(r"^(\w+): allow$", listed.stdout, re.M) == defined

    if len(modules) < len(files):
        ran = python(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests")
        assert ran.returncode == 0, ran.stdout


def written(page: Path, folder: Path) -> dict[str, str]:
    """The files that the Python blocks of a page add up to, written into a folder."""
    files = defaultdict(str)
    for block in blocks(page, "python"):
        assert block.file.endswith(".py"), f"{page.name}: no file named: {block.text}"
        files[block.file] += block.text
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return dict(files)


def python(folder, *arguments):
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLACK_", "COUN"))}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )
