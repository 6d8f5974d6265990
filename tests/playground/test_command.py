"""The command as a process of its own, with a bot of a few lines in place of ours.

The whole product is started the same way in the scenarios; here only what the
command itself does is looked at.
"""

import asyncio
import errno
import json
import os
import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from pretend_app import manifest

ROOT = Path(__file__).parents[2]
# The command comes from this checkout; `python -m bot` finds the small bot.
START = (
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); "
    "from bot.playground.command import command; command()"
)
SMALL_BOT = """
import http.server, json, os, sys
if sys.argv[1] == "manifest":
    print(os.environ["MANIFEST"]); sys.exit()
class Slack(http.server.BaseHTTPRequestHandler):
    def answer(self, body):
        self.send_response(200); self.end_headers(); self.wfile.write(body)
    def do_GET(self):
        self.answer(b"ok")
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        known = body.startswith(b"{") and json.loads(body).get("challenge", "")
        self.answer((known or "").encode())
    def log_message(self, *_): pass
port = int(sys.argv[sys.argv.index("--port") + 1])
app_token = os.environ.get("SLACK_APP_TOKEN")
if app_token:
    import asyncio, threading
    from slack_sdk.socket_mode.aiohttp import SocketModeClient
    from slack_sdk.web.async_client import AsyncWebClient
    async def connect():
        web = AsyncWebClient(base_url=os.environ["SLACK_API_URL"])
        await SocketModeClient(app_token, web_client=web).connect_to_new_endpoint()
        await asyncio.Event().wait()
    threading.Thread(target=asyncio.run, args=(connect(),), daemon=True).start()
print("small bot", os.environ["COUNTERSIGN_DB"], flush=True)
http.server.HTTPServer(("127.0.0.1", port), Slack).serve_forever()
"""
PATIENCE = 20


def two_ports() -> int:
    """A port that is free, as is the one after it."""
    for port in range(20_000 + os.getpid() % 20_000, 60_000, 2):
        try:
            for number in (port, port + 1):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", number))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return port
    pytest.fail("no free ports")


class Running:
    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self.url = f"http://127.0.0.1:{port}"
        self.text = ""

    async def until(self, words: str) -> None:
        assert self.process.stdout is not None
        async with asyncio.timeout(PATIENCE):
            while words not in self.text:
                piece = await self.process.stdout.read(4096)
                assert piece, self.text
                self.text += piece.decode()

    async def state(self) -> Any:
        async with (
            aiohttp.ClientSession(self.url) as session,
            session.get("/ui/state?token=t") as answer,
        ):
            return await answer.json()

    async def end(self, number: int = signal.SIGINT) -> int:
        assert self.process.stdout is not None
        self.process.send_signal(number)
        async with asyncio.timeout(PATIENCE):
            self.text += (await self.process.stdout.read()).decode()
            return await self.process.wait()


@asynccontextmanager
async def started(tmp_path: Path, *options: str) -> AsyncIterator[Running]:
    package = tmp_path / "path" / "bot"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(SMALL_BOT)
    folder, temporary = tmp_path / "folder", tmp_path / "tmp"
    folder.mkdir()
    temporary.mkdir()
    port = two_ports()
    environment = os.environ | {
        "PYTHONPATH": str(package.parent),
        "TMPDIR": str(temporary),
        "MANIFEST": json.dumps(manifest()),
    }
    arguments = ("--port", str(port), "--no-open", *options)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", START, *arguments),
        cwd=folder,
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield Running(process, port)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        # Closes the pipe now and not when the loop is already gone.
        process._transport.close()  # type: ignore[attr-defined]


async def test_start_prints_the_address_and_ctrl_c_leaves_nothing(
    tmp_path: Path,
) -> None:
    async with started(tmp_path, "--token", "t") as running:
        await running.until("Stop   Ctrl-C")
        assert (await running.state())["bot"] == "up"

        code = await running.end()

    assert code == 0
    assert "A Slack of your own, on this machine only. No account, no key." in (
        running.text
    )
    assert f"Open   {running.url}/?token=t\n" in running.text
    assert "You are Ada. Ben may approve, Cleo may not." in running.text
    assert "small bot" in running.text
    assert "Traceback" not in running.text
    assert "was not verified" not in running.text
    assert list((tmp_path / "tmp").iterdir()) == []


async def test_socket_mode_starts_a_bot_that_connects(tmp_path: Path) -> None:
    async with started(tmp_path, "--token", "t", "--mode", "socket") as running:
        await running.until("Stop   Ctrl-C")
        state = await running.state()
        code = await running.end()

    assert state["bot"] == "up"
    assert state["socket"] == {"connections": 1}
    assert code == 0
    assert "was not verified" not in running.text


async def test_attached_bot_in_socket_mode_needs_no_address(tmp_path: Path) -> None:
    options = ("--token", "t", "--mode", "socket", "--attach")
    async with started(tmp_path, *options) as running:
        await running.until("Waiting for the bot to connect.")
        state = await running.state()
        await running.end()

    assert state["bot"] == "down"
    assert "export SLACK_APP_TOKEN=xapp-1-A0CSIGN-" in running.text
    assert "SLACK_SIGNING_SECRET" not in running.text


async def test_token_is_random_when_none_is_given(tmp_path: Path) -> None:
    async with started(tmp_path) as running:
        await running.until("Stop   Ctrl-C")
        await running.end(signal.SIGTERM)

    found = re.search(r"token=([\w-]+)", running.text)
    assert found is not None
    assert len(found[1]) >= 20


async def test_attached_bot_gets_its_environment_printed(tmp_path: Path) -> None:
    async with started(tmp_path, "--attach", "http://127.0.0.1:9/") as running:
        await running.until("Waiting for the bot")
        await running.end()

    assert f"export SLACK_API_URL={running.url}/api/" in running.text
    assert "export COUNTERSIGN_PUBLIC_URL=http://127.0.0.1:9\n" in running.text
    assert "small bot" not in running.text


async def test_seed_file_replaces_the_people(tmp_path: Path) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text('{"users": [{"id": "U1", "name": "zoe", "real_name": "Zoe"}]}')
    async with started(tmp_path, "--token", "t", "--seed", str(seed)) as running:
        await running.until("Stop   Ctrl-C")
        users = (await running.state())["users"]
        await running.end()

    assert [one["real_name"] for one in users] == ["Zoe", "countersign"]
    assert "You are Ada" not in running.text


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"users": [{"id": "U1", "nam": "x"}]}']
)
async def test_seed_that_cannot_be_read_is_named(tmp_path: Path, content: str) -> None:
    seed = tmp_path / "seed.json"
    seed.write_text(content)
    async with started(tmp_path, "--seed", str(seed)) as running:
        await running.until("Error: ")
        code = await running.process.wait()

    assert code == 1
    assert "seed.json" in running.text
    assert "Traceback" not in running.text


async def test_port_in_use_is_said_plainly(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        async with started(tmp_path, "--port", port) as running:
            await running.until("is in use.")
            code = await running.process.wait()

    assert code == 1
    assert "Traceback" not in running.text
