"""The unit and the container file name commands and files that there are."""

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from bot.cli import endings, main
from bot.config import OVERRIDES

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "docs" / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
UNIT = (DEPLOY / "countersign.service").read_text(encoding="utf-8")


def understood(arguments):
    """The command that these arguments name; a `UsageError` for what it cannot read."""
    name, *rest = arguments
    command = main.get_command(click.Context(main), name)
    return command.make_context(name, rest).command


def instructions(word):
    joined = CONTAINER.replace("\\\n", " ")
    return re.findall(rf"^{word} (.+)$", joined, re.M)


@pytest.fixture(scope="module")
def unit():
    parsed = configparser.RawConfigParser(strict=False)
    parsed.optionxform = str
    parsed.read_string(UNIT)
    return parsed


def test_the_unit_starts_a_command_that_there_is(unit):
    program, *arguments = shlex.split(unit["Service"]["ExecStart"])
    assert Path(program).name == "countersign"
    assert understood(arguments).name == "command"


def test_the_unit_is_not_root_and_gives_up_where_trying_again_is_useless(unit):
    service = unit["Service"]
    assert service["User"] == "countersign"
    assert service["RestartPreventExitStatus"] == str(endings.CONFIG)
    assert service["StateDirectoryMode"] == "0700"
    assert f"Environment={OVERRIDES['database']}=/var/lib/countersign/" in UNIT


def test_systemd_takes_the_unit(tmp_path):
    checker = shutil.which("systemd-analyze")
    if checker is None:
        pytest.skip("there is no systemd-analyze on this machine")
    path = tmp_path / "countersign.service"
    path.write_text(UNIT.replace("/opt/countersign/bin/countersign", sys.executable))
    ended = subprocess.run(
        [checker, "verify", path], capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_container_has_what_it_copies_and_starts_what_there_is():
    for line in instructions("COPY"):
        *sources, _ = line.split()
        if not sources[0].startswith("--from="):
            assert all((ROOT / source).exists() for source in sources)
    assert json.loads(instructions("ENTRYPOINT")[0]) == ["countersign"]
    assert understood(json.loads(instructions("CMD")[0])).name == "command"


def test_the_container_is_not_root_and_keeps_the_database_in_its_volume():
    assert instructions("USER") == ["countersign"]
    (volume,) = instructions("VOLUME")
    assert f"{OVERRIDES['database']}={volume}/" in CONTAINER
