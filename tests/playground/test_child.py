import os
import socket
import stat
import sys
import tomllib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pretend_app import client, playground

from bot.playground.child import Child
from bot.playground.launch import Launch, prepared

# A bot of ten lines: ready at once, or dead at once, with a file for a database.
BOT = """
import http.server, os, sys
if "die" in sys.argv:
    sys.exit("no key was given")
open(os.environ["DB"], "a").close()
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
    do_POST = do_GET
    def log_message(self, *_): pass
print("serving", flush=True)
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Ready).serve_forever()
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def child(tmp_path: Path, *words: str) -> Child:
    port = free_port()
    database = tmp_path / "countersign.db"
    return Child(
        (sys.executable, "-c", BOT, str(port), *words),
        os.environ | {"DB": str(database)},
        f"http://127.0.0.1:{port}",
        database=database,
    )


@pytest.fixture
async def bot(tmp_path: Path) -> AsyncIterator[Child]:
    made = child(tmp_path)
    yield made
    await made.stop()


async def test_bot_is_killed_and_started_again(bot: Child) -> None:
    async with playground(bot=bot) as slack:
        assert (await slack.state())["bot"] == "down"
        assert (await slack.start_bot()) == {"ok": True}
        assert (await slack.state())["bot"] == "up"
        first = bot._process
        assert first is not None

        assert (await slack.kill_bot()) == {"ok": True}

        assert first.returncode == -9
        assert (await slack.state())["bot"] == "down"
        assert (await slack.start_bot()) == {"ok": True}
        assert (await slack.wait_for("bot:up", 0))["ok"]


async def test_bot_is_not_started_or_killed_twice(bot: Child) -> None:
    async with playground(bot=bot) as slack:
        assert (await slack.kill_bot())["ok"] is False
        await slack.start_bot()
        assert (await slack.start_bot())["ok"] is False


async def test_bot_that_dies_says_its_last_words(tmp_path: Path) -> None:
    async with playground(bot=child(tmp_path, "die")) as slack:
        outcome = await slack.start_bot()

        assert outcome == {"ok": False, "error": "no key was given"}
        assert (await slack.state())["bot"] == "down"


async def test_reset_starts_the_bot_on_an_empty_database(
    bot: Child, tmp_path: Path
) -> None:
    database = tmp_path / "countersign.db"
    log = tmp_path / "demo.log"
    async with playground(bot=bot, demo_log=log) as slack:
        await slack.start_bot()
        database.write_text("rows")
        (tmp_path / "countersign.db-wal").write_text("more rows")
        log.write_text('{"tool": "restart"}\n')
        await client(slack).chat_postMessage(channel="C0OPS", text="before")

        assert (await slack.reset()) == {"ok": True}

        state = await slack.state()
        assert state["messages"]["C0OPS"] == []
        assert state["tool_log"] == []
        assert state["bot"] == "up"
        assert database.read_text() == ""
        assert not (tmp_path / "countersign.db-wal").exists()


async def test_child_ends_with_the_playground(bot: Child) -> None:
    async with playground(bot=bot) as slack:
        await slack.start_bot()
        process = bot._process

    assert process is not None
    assert process.returncode == -15


# What the child is given


def launch(tmp_path: Path, folder: Path, app_token: str | None = None) -> Launch:
    return prepared(
        tmp_path,
        folder,
        port=3130,
        app_url="http://127.0.0.1:3131",
        bot_token="xoxb-1-2",
        app_token=app_token,
    )


def test_child_gets_secrets_and_no_way_out(tmp_path: Path) -> None:
    (tmp_path / "countersign.toml").touch()
    inherited = {
        "PATH": "/bin",
        "SLACK_APP_TOKEN": "xapp-1",
        "SLACK_CLIENT_SECRET": "s",
        "SLACK_BOT_TOKEN": "xoxb-real",
        "SLACK_BOT_TOKEN_FILE": "/secret",
        "https_proxy": "http://proxy",
        "HTTP_PROXY": "http://proxy",
    }

    given = launch(tmp_path, tmp_path).environment(inherited)

    assert given["PATH"] == "/bin"
    assert given["SLACK_API_URL"] == "http://127.0.0.1:3130/api/"
    assert given["SLACK_BOT_TOKEN"] == "xoxb-1-2"
    assert given["COUNTERSIGN_PUBLIC_URL"] == "http://127.0.0.1:3131"
    assert given["COUNTERSIGN_DB"] == str(tmp_path / "countersign.db")
    assert len(given["SLACK_SIGNING_SECRET"]) == 32
    assert len(given["COUNTERSIGN_KEY"]) == 44
    assert given["SLACK_APP_TOKEN"] == given["SLACK_CLIENT_SECRET"] == ""
    assert not {"https_proxy", "HTTP_PROXY", "SLACK_BOT_TOKEN_FILE"} & set(given)


def test_app_token_takes_the_place_of_the_signing_secret(tmp_path: Path) -> None:
    (tmp_path / "countersign.toml").touch()
    inherited = {"SLACK_SIGNING_SECRET": "real", "SLACK_SIGNING_SECRET_FILE": "/s"}

    given = launch(tmp_path, tmp_path, "xapp-1-A0CSIGN-2-3")

    environment = given.environment(inherited)
    assert environment["SLACK_APP_TOKEN"] == "xapp-1-A0CSIGN-2-3"
    assert environment["SLACK_SIGNING_SECRET"] == ""
    assert "SLACK_SIGNING_SECRET_FILE" not in environment
    assert "export SLACK_APP_TOKEN=xapp-1-A0CSIGN-2-3" in given.exports()
    assert "SLACK_SIGNING_SECRET" not in given.exports()


def test_secrets_are_new_for_each_start(tmp_path: Path) -> None:
    (tmp_path / "countersign.toml").touch()
    first, second = (launch(tmp_path, tmp_path) for _ in range(2))

    assert first.key != second.key
    assert first.signing_secret != second.signing_secret


def test_exports_can_be_read_by_a_shell(tmp_path: Path) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    (folder / "countersign.toml").touch()

    lines = launch(folder, folder).exports().splitlines()

    assert len(lines) == 8
    assert "export SLACK_API_URL=http://127.0.0.1:3130/api/" in lines
    assert any(line.startswith("export COUNTERSIGN_CONFIG='") for line in lines)


def test_settings_of_the_current_folder_are_used_in_place(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "countersign.toml").write_text("mine")

    assert launch(tmp_path, folder).settings == folder / "countersign.toml"
    assert stat.S_ISREG((folder / "countersign.toml").stat().st_mode)
    assert not (tmp_path / "countersign.toml").exists()


def test_demo_settings_are_copied_where_there_are_none(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()

    settings = launch(tmp_path, folder).settings

    assert settings == tmp_path / "countersign.toml"
    assert "bot.playground.demo.tools" in settings.read_text()
    assert tomllib.loads(settings.read_text())["model"] == {
        "style": "openai",
        "base_url": "http://127.0.0.1:3130/standin/v1",
        "name": "stand-in",
    }
    assert (tmp_path / "policy.toml").is_file()
