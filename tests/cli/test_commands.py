import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

import bot
from bot.cli import PLACES, main
from bot.slack.manifest import NO_ADDRESS


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a command in an empty folder, with an empty environment of our own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("CONFIG", "DB", "PUBLIC_URL"):
        monkeypatch.delenv(f"COUNTERSIGN_{name}", raising=False)

    def run(*arguments):
        return CliRunner().invoke(main, arguments, catch_exceptions=False)

    return run


def test_the_version_is_printed(run):
    assert run("--version").output == f"countersign {bot.__version__}\n"


def test_help_and_version_load_nothing_heavy():
    code = (
        "import sys, contextlib\n"
        "from bot.cli import main\n"
        "for flag in ('--version', '--help'):\n"
        "    with contextlib.suppress(SystemExit): main([flag])\n"
        "heavy = {'pydantic', 'slack_sdk', 'slack_bolt', 'aiohttp', 'sqlite3'}\n"
        "sys.exit(repr(heavy & set(sys.modules)).replace('set()', '') or None)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    for name, place in PLACES.items():
        assert name in ended.stdout
        assert place.summary in ended.stdout


def test_every_command_is_found_by_its_name(run):
    for name in PLACES:
        assert run(name, "--help").exit_code == 0
    assert run("srve").exit_code == 2


# -- manifest -----------------------------------------------------------------------


def test_the_manifest_is_printed_without_any_file(run):
    result = run("manifest")
    assert result.exit_code == 0
    assert result.stderr == f"{NO_ADDRESS}\n"
    assert result.stdout.startswith("# public_url is not set")
    assert "\n    - command: /tool\n" in result.stdout


def test_the_manifest_for_an_address_has_no_note(run, tmp_path):
    (tmp_path / "countersign.toml").write_text('public_url = "https://cs.example"')
    result = run("manifest", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    made = json.loads(result.stdout)
    interactivity = made["settings"]["interactivity"]
    assert interactivity["request_url"] == "https://cs.example/slack/events"


def test_the_manifest_needs_settings_that_were_named_to_be_there(run, tmp_path):
    result = run("manifest", "--config", str(tmp_path / "no.toml"))
    assert result.exit_code == 2
    assert "There is no settings file" in result.stderr
    (tmp_path / "countersign.toml").write_text("width = 1")
    assert run("manifest").exit_code == 2


# -- tools --------------------------------------------------------------------------

TOOLS = """
from bot import tool

@tool
def restart(service: str, region: str = "eu") -> str: "Restart"

@tool(idempotent=True, version="3")
def status(service: str) -> str: "Status"

@tool
def drop(table: str) -> str: "Drop"

@tool
def deploy() -> str: "Deploy"
"""
POLICY = """
[[tool]]
name = "restart"
gate = "ask"
approvers = ["@approvers", "U024BE7LH"]
post_to = "#ops"
headline = "Restart {service} in {zone}"
expires = "30m"
callers = ["@ops"]

[[tool]]
name = "sta*"
gate = "allow"

[[tool]]
name = "drop"
gate = "deny"

[[tool]]
name = "github.*"
gate = "ask"
"""


def a_bot(tmp_path, module, tools=TOOLS, policy=POLICY):
    (tmp_path / "countersign.toml").write_text(f'tools = ["{module}"]')
    (tmp_path / f"{module}.py").write_text(tools)
    (tmp_path / "policy.toml").write_text(policy)


def test_tools_are_listed_with_their_rules(run, tmp_path):
    a_bot(tmp_path, "listed_tools")
    result = run("tools")
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "restart: ask, @approvers, U024BE7LH, #ops",
        '    "Restart {service} in {zone}"',
        "    the headline shows {zone}, which restart does not take",
        "    open for 30m, then denied",
        "    started by @ops",
        "status: allow",
        '    by the rule "sta*"',
        "    idempotent: after a crash it is entered again by itself",
        "    version 3",
        "drop: deny, so it may not run",
        "deploy: no rule, so it may not run",
        'rule "github.*": matches no tool',
    ]


def test_a_tool_that_no_bot_has_is_not_listed_because_a_rule_names_it(run, tmp_path):
    rule = '[[tool]]\nname = "question"\ngate = "allow"\n'
    a_bot(tmp_path, "asking_tools", policy=rule)
    said = run("tools").output
    assert 'rule "question": matches no tool\n' in said
    assert "question: allow" not in said


def test_a_module_that_does_not_import_is_named_and_the_others_are_listed(
    run, tmp_path
):
    a_bot(tmp_path, "good_tools")
    (tmp_path / "broken_tools.py").write_text("raise ValueError('no cluster')")
    settings = 'tools = ["broken_tools", "good_tools"]'
    (tmp_path / "countersign.toml").write_text(settings)
    result = run("tools")
    assert result.exit_code == 2
    assert "broken_tools could not be imported: ValueError: no cluster" in result.stderr
    assert "status: allow" in result.stdout


def test_a_tool_that_two_patterns_match_equally_is_a_problem(run, tmp_path):
    rules = "".join(
        f'[[tool]]\nname = "{name}"\ngate = "deny"\n' for name in ("*s", "s*")
    )
    a_bot(tmp_path, "clashing_tools", policy=rules)
    result = run("tools")
    assert result.exit_code == 2
    assert 'status matches "*s" and "s*", equally exactly.' in result.stderr


def test_no_tools_are_no_fault(run, tmp_path):
    (tmp_path / "countersign.toml").write_text("")
    (tmp_path / "policy.toml").write_text("")
    result = run("tools")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.output.startswith("There are no tools")
