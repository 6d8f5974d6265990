import asyncio
import os
import signal
import socket
import subprocess
import sys

import pytest

from bot.config import default_settings
from bot.core import keys
from bot.playground.server import Playground
from bot.slack.manifest import manifest
from bot.web.server import bound, close

SIGNING = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "countersign.toml").write_text("")
    (tmp_path / "policy.toml").write_text("")
    return tmp_path


@pytest.fixture
def environ():
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLACK_", "COUN"))}
    root = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    return {
        **kept,
        "PYTHONPATH": root,
        "SLACK_BOT_TOKEN": "xoxb-1-canary",
        "SLACK_SIGNING_SECRET": SIGNING,
        "COUNTERSIGN_KEY": keys.generate(),
    }


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def serve(folder, environ, port):
    return subprocess.run(
        [sys.executable, "-m", "bot", "serve", "--port", str(port)],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=20,
    )


@pytest.mark.parametrize(
    "signing", [None, "", "  ", SIGNING[:31], "not hex at all, but long enough, yes"]
)
def test_a_bad_signing_secret_ends_the_start(folder, environ, signing):
    """T5: exit code not 0, one line that names it, and the port is never opened."""
    environ.pop("SLACK_SIGNING_SECRET")
    if signing is not None:
        environ["SLACK_SIGNING_SECRET"] = signing
    port = free_port()
    # Taken by us: had it been opened, the fault would be another one.
    with socket.create_server(("127.0.0.1", port)):
        ended = serve(folder, environ, port)
    assert ended.returncode == 2
    assert ended.stderr.startswith("SLACK_SIGNING_SECRET is ")
    assert ended.stderr.endswith("1 problem. Nothing was started.\n")
    assert "Traceback" not in ended.stderr
    assert not (signing or "").strip() or signing not in ended.stderr


def test_an_empty_folder_lists_everything_that_is_missing(tmp_path, environ):
    del environ["SLACK_BOT_TOKEN"], environ["COUNTERSIGN_KEY"]
    ended = serve(tmp_path, environ, free_port())
    assert ended.returncode == 2
    assert "There is no settings file at countersign.toml." in ended.stderr
    assert "COUNTERSIGN_KEY is not set." in ended.stderr
    assert "3 problems. Nothing was started." in ended.stderr


async def served(folder, environ, *options):
    """`serve` with the playground as its Slack, until it ends."""
    async with Playground(manifest=manifest(default_settings(folder, {}))) as slack:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", "serve", *options),
            cwd=folder,
            env={
                **environ,
                "SLACK_API_URL": slack.api_url,
                "SLACK_BOT_TOKEN": slack.bot_token,
                "SLACK_SIGNING_SECRET": slack.signing_secret,
            },
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await asyncio.wait_for(process.communicate(), 20)
        return process.returncode, said.decode()


async def test_a_port_in_use_is_named_with_what_helps(folder, environ):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = await served(folder, environ, "--port", str(port))
    assert code == 1
    assert said.endswith(
        f"Port {port} on 127.0.0.1 is in use.\n"
        "  fix: stop what listens there, or choose another port with --port.\n"
        "1 problem. Nothing was started.\n"
    )


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("n" * 64, f"--host {'n' * 64}: no machine of this name is known here."),
        ("192.0.2.1", "--host 192.0.2.1 is not an address of this machine."),
    ],
)
async def test_a_host_that_cannot_be_had_is_named_with_what_helps(
    folder, environ, host, words
):
    code, said = await served(folder, environ, "--host", host)
    assert code == 1
    assert words in said
    assert "fix: give an address of this machine: --host 127.0.0.1\n1 problem." in said


async def test_an_address_is_ours_before_it_is_open():
    sockets = await bound("127.0.0.1", free_port())
    try:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(sockets[0].getsockname())
    finally:
        close(sockets)


def test_a_database_that_cannot_be_had_is_counted(folder, environ):
    (folder / "countersign.db").write_text("not a database")
    (folder / "countersign.db").chmod(0o600)
    ended = serve(folder, environ, free_port())
    assert ended.returncode == 1
    assert "is not a SQLite database.\n  fix: " in ended.stderr
    assert ended.stderr.endswith("\n1 problem. Nothing was started.\n")


def run(code, environ, expect_line=None, then=None):
    """Run `run_service` on a coroutine of ours, in a process of its own."""
    program = f"""
import asyncio, sys
from pathlib import Path
from bot.cli.serve import run_service
from bot.config import load
from bot.errors import BotError, ConfigError, Locked, Problem

async def service():
{code}

run_service(service(), load(Path("countersign.toml"), {dict(environ)!r}))
print("ended")
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=environ["PWD"],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    if expect_line:
        assert process.stdout.readline() == expect_line
        process.send_signal(then)
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


@pytest.mark.parametrize(
    ("raised", "code", "words"),
    [
        (
            "Locked('cs.db', 'process 7')",
            75,
            "cs.db is in use by process 7.\n  fix: stop that one first",
        ),
        ("Locked('cs.db', 'process 7')", 75, "\n1 problem. Nothing was started.\n"),
        ("BotError('no')", 1, "no\n"),
        ("ConfigError([Problem(what='a', fix='b')])", 2, "a\n  fix: b\n1 problem"),
        ("OSError(98, 'Address already in use')", 1, "Address already in use.\n"),
        ("ValueError('with xoxb-1-canary in it')", 1, "ValueError at <string>:"),
    ],
)
def test_a_fault_ends_in_words_with_its_code(folder, environ, raised, code, words):
    environ["PWD"] = str(folder)
    returned, _, err = run(f"    raise {raised}", environ)
    assert (returned, "Traceback" in err) == (code, False)
    assert words in err
    assert "canary" not in err


WAITING = """
    try:
        print("waiting", flush=True)
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0)
        print("put away", flush=True)
"""


@pytest.mark.parametrize(
    ("number", "code", "rest"),
    [
        (signal.SIGTERM, 0, "put away\nended\n"),
        (signal.SIGINT, 130, "put away\n"),
    ],
)
def test_being_told_to_stop_puts_things_away(folder, environ, number, code, rest):
    environ["PWD"] = str(folder)
    returned, out, err = run(WAITING, environ, "waiting\n", number)
    assert (returned, out, err) == (code, rest, "")
