import os
import stat
import sys

import pytest
from click.testing import CliRunner

from bot.cli.init import command
from bot.cli.writing import FILES
from bot.config import load
from bot.core import keys
from bot.tools.loader import load_tools

NAMES = {name for _, name, _ in FILES}


@pytest.fixture
def init(tmp_path):
    folder = tmp_path / "bot-of-ours"

    def init():
        arguments = ["--dir", str(folder)]
        return CliRunner().invoke(command, arguments, catch_exceptions=False)

    init.folder = folder
    return init


def files_in(folder):
    return {
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
    }


@pytest.fixture
def fresh_modules():
    before, path = set(sys.modules), list(sys.path)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_what_is_written_loads_and_runs_nothing_yet(init, fresh_modules):
    assert init().exit_code == 0
    assert files_in(init.folder) == NAMES
    with (init.folder / ".env").open("a") as env:
        env.write(f"SLACK_BOT_TOKEN=xoxb-1\nSLACK_SIGNING_SECRET={'a' * 32}\n")
    loaded = load(init.folder / "countersign.toml", {})
    tools = load_tools(list(loaded.settings.tools), loaded.settings.root)
    assert tools.problems == ()
    assert {tool.name for tool in tools.toolkit.tools()} == {"hello", "restart"}
    assert {rule.name for rule in loaded.policy.tool} == {"hello", "restart"}
    # A stranger's copy is safe: everything asks, and nobody may approve.
    assert all(rule.gate == "ask" for rule in loaded.policy.tool)
    assert not any(rule.approvers for rule in loaded.policy.tool)
    assert len(loaded.warnings) == 2


def test_the_commented_lines_are_right_once_they_are_not_comments(init, fresh_modules):
    init()
    for name in ("countersign.toml", "policy.toml"):
        path = init.folder / name
        lines = path.read_text().splitlines()
        keyed = [line.removeprefix("# ") if " = " in line else line for line in lines]
        assert keyed != lines
        path.write_text("\n".join(keyed))
    env = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "a" * 32}
    loaded = load(init.folder / "countersign.toml", env)
    assert loaded.settings.public_url
    assert loaded.settings.command_prefix
    assert all(rule.approvers for rule in loaded.policy.tool)
    assert loaded.warnings == ()


def test_every_line_of_settings_and_policy_has_its_comment(init):
    init()
    for name in ("countersign.toml", "policy.toml"):
        blocks = (init.folder / name).read_text().split("\n\n")
        assert all(block.startswith(("#", "[[tool]]")) for block in blocks)


def test_each_start_has_a_key_of_its_own_that_only_we_can_read(tmp_path):
    found = set()
    umask = os.umask(0)
    try:
        for name in "ab":
            CliRunner().invoke(command, ["--dir", str(tmp_path / name)])
            path = tmp_path / name / ".env"
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
            line = next(
                line for line in path.read_text().splitlines() if line[:1] == "C"
            )
            found.add(keys.read(line.partition("=")[2]))
    finally:
        os.umask(umask)
    assert len(found) == 2


def test_the_key_is_not_printed(init):
    said = init().output
    key = (init.folder / ".env").read_text().split("COUNTERSIGN_KEY=")[1].split()[0]
    assert len(key) == 44
    assert key not in said


def test_what_is_there_is_never_touched(init):
    init.folder.mkdir()
    (init.folder / "policy.toml").write_text("mine")
    (init.folder / ".env").symlink_to("elsewhere")
    said = init().output
    assert (init.folder / "policy.toml").read_text() == "mine"
    assert not (init.folder / "elsewhere").exists()
    for name in NAMES:
        kept = name in ("policy.toml", ".env")
        assert f"{'Kept    ' if kept else 'Written '} {init.folder / name}" in said
    before = {name: (init.folder / name).read_bytes() for name in NAMES - {".env"}}
    init()
    assert before == {n: (init.folder / n).read_bytes() for n in NAMES - {".env"}}


@pytest.mark.parametrize(
    ("mode", "fix"),
    [(0o770, "fix: chmod go-w "), (0o1777, "fix: choose a directory of your own")],
)
def test_a_folder_that_others_may_write_to_is_noted_with_what_helps(init, mode, fix):
    init.folder.mkdir()
    init.folder.chmod(mode)
    assert fix in init().output


def test_a_folder_that_cannot_be_made_is_said_in_words(tmp_path):
    (tmp_path / "ops").write_text("a file")
    result = CliRunner().invoke(command, ["--dir", str(tmp_path)])
    assert result.exit_code == 1
    assert str(tmp_path / "ops") in result.stderr
    assert "Traceback" not in result.output
