"""A folder with a bot's files in it, and a playground in place of Slack."""

import asyncio
import os
from pathlib import Path

from click.testing import CliRunner

from bot.cli import main
from bot.cli.check import examined
from bot.clock import SystemClock
from bot.config import default_settings
from bot.core.keys import generate
from bot.playground.server import SOCKET, Playground
from bot.slack.manifest import manifest

TOOLS = """
from bot import tool

@tool
def greet(name: str = "world") -> str: "Greet"
"""
RULE = """
[[tool]]
name = "greet"
gate = "ask"
headline = "Greet {name}"
approvers = ["@approvers"]
post_to = "#ops"
"""


class Office:
    """Everything is right in it until a test seeds a fault."""

    def __init__(self, folder: Path, module: str = "office_tools") -> None:
        self.folder = folder
        self.slack = Playground(
            manifest=manifest(default_settings(folder, {}), socket_mode=True),
            mode=SOCKET,
        )
        self.environ = {
            "SLACK_API_URL": "",
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            "SLACK_APP_TOKEN": self.slack.app_token,
            "COUNTERSIGN_KEY": generate(),
            "COUNTERSIGN_CONFIG": str(folder / "countersign.toml"),
        }
        self.settings(f'tools = ["{module}"]')
        self.policy(RULE)
        self.write(f"{module}.py", TOOLS)

    async def __aenter__(self) -> "Office":
        await self.slack.__aenter__()
        self.environ["SLACK_API_URL"] = self.slack.api_url
        return self

    async def __aexit__(self, *exc) -> None:
        await self.slack.__aexit__(*exc)

    def settings(self, text: str) -> None:
        self.write("countersign.toml", text)

    def policy(self, text: str) -> None:
        self.write("policy.toml", text)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def rule(self, old: str, new: str) -> None:
        """Change one thing in the one rule."""
        assert old in RULE
        self.policy(RULE.replace(old, new))

    async def examined(self, clock=None):
        return await examined(None, self.environ, clock or SystemClock())

    async def faults(self, clock=None) -> list[str]:
        """What is wrong, each with its fix, as it is shown."""
        return [str(fault) for fault in (await self.examined(clock)).faults]

    async def run(self, *arguments: str, **options):
        """A command as it is typed, beside the playground's event loop."""
        kept = dict.fromkeys(name for name in os.environ if name.startswith("SLACK_"))
        environ = {**kept, **self.environ}
        runner = CliRunner(env=environ)
        return await asyncio.to_thread(
            runner.invoke, main, arguments, catch_exceptions=False, **options
        )
