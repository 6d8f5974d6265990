"""`countersign serve` as an operator runs it: a process of its own, and how it ends."""

import asyncio
import contextlib
import os
import signal
import socket
import sys
from pathlib import Path

import httpx
from click.testing import CliRunner

from bot.cli import main
from bot.config import default_settings
from bot.core.keys import generate
from bot.playground.server import Playground
from bot.slack.manifest import manifest

TESTS = Path(__file__).resolve().parent.parent
PATIENCE = 30.0

TOOLS = "probe_tools"
SETTINGS = f'tools = ["{TOOLS}"]\n'
POLICY = """
[[tool]]
name = "pay"
gate = "ask"
approvers = ["@approvers"]
post_to = "#ops"

[[tool]]
name = "status"
gate = "allow"
"""


def pretend_slack(folder):
    """A Slack in this process, with real time."""
    return Playground(manifest=manifest(default_settings(folder, {})))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Serving:
    """The process, its settings and its log; `async with` starts and stops it."""

    def __init__(self, folder, slack=None, *, umask=-1, **environ):
        self.folder = folder
        self.slack = slack
        self.port = free_port()
        self.umask = umask
        self.log_file = folder.parent / f"{folder.name}.log"
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SLACK_", "COUNTERSIGN_"))
        }
        self.environ = {
            **kept,
            "PYTHONPATH": f"{TESTS.parent}{os.pathsep}{TESTS}",
            "PROBE_LOG": str(folder.parent / f"{folder.name}.probe"),
            "SLACK_BOT_TOKEN": slack.bot_token if slack else "xoxb-1-unheard",
            "SLACK_SIGNING_SECRET": slack.signing_secret if slack else "0" * 32,
            "SLACK_API_URL": slack.api_url if slack else "http://127.0.0.1:9/api/",
            "COUNTERSIGN_KEY": generate(),
            **environ,
        }
        self.process = None

    async def __aenter__(self):
        await self.start()
        return self

    async def __aexit__(self, *exc):
        await self.stop()

    async def start(self):
        """Start, and wait until it is ready."""
        await self._spawn()
        async with asyncio.timeout(PATIENCE), httpx.AsyncClient(trust_env=False) as web:
            while not await self._ready(web):
                assert self.process.returncode is None, self.log()
                await asyncio.sleep(0.02)
        if self.slack is not None:
            self.slack.app_url = f"http://127.0.0.1:{self.port}"

    async def _spawn(self):
        words = ("-m", "bot", "serve", "--port", str(self.port))
        with self.log_file.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable,
                *words,
                cwd=self.folder,
                env=self.environ,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                umask=self.umask,
            )

    async def _ready(self, web):
        with contextlib.suppress(httpx.TransportError):
            answer = await web.get(f"http://127.0.0.1:{self.port}/readyz")
            return answer.status_code == 200
        return False

    async def stop(self, how=signal.SIGTERM):
        """Stop it; the exit code."""
        if self.process is None:
            return None
        if self.process.returncode is None:
            self.process.send_signal(how)
        async with asyncio.timeout(PATIENCE):
            code = await self.process.wait()
        self.process = None
        return code

    async def refused(self):
        """Start what must not start: exit code, and what it said.

        The port is taken by us meanwhile; had it been tried, the fault would be that.
        """
        with socket.create_server(("127.0.0.1", self.port)) as ours:
            ours.setblocking(False)
            await self._spawn()
            try:
                async with asyncio.timeout(PATIENCE):
                    code = await self.process.wait()
            finally:
                if self.process.returncode is None:
                    self.process.kill()
                    await self.process.wait()
                self.process = None
        said = self.log()
        assert "Address already in use" not in said
        assert "Traceback" not in said
        assert '"event": "ready"' not in said
        return code, said

    def log(self):
        """Everything it has said so far."""
        return self.log_file.read_text()


def refused_here(folder, **environ):
    """The same for what is wrong in a file or variable, without a process for each.

    Such a fault is found before anything is loaded or opened. None unsets a variable.
    """
    serving = Serving(folder, **environ)
    ours = ("SLACK_", "COUNTERSIGN_")
    unset = {name: None for name in os.environ if name.startswith(ours)}
    config = str(folder / "countersign.toml")
    environ = {**unset, **serving.environ, "COUNTERSIGN_CONFIG": config}
    with socket.create_server(("127.0.0.1", serving.port)):
        words = ["serve", "--port", str(serving.port)]
        ended = CliRunner().invoke(main, words, env=environ)
    assert isinstance(ended.exception, SystemExit), ended.exception
    assert "Address already in use" not in ended.stderr
    return ended.exit_code, ended.stderr


def written(folder, settings=SETTINGS, policy=POLICY):
    """A private folder with a settings and a policy file; None leaves one out."""
    folder.mkdir(mode=0o700, exist_ok=True)
    folder.chmod(0o700)
    if settings is not None:
        (folder / "countersign.toml").write_text(settings)
    if policy is not None:
        (folder / "policy.toml").write_text(policy)
    return folder
