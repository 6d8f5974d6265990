"""A whole bot in this process, against the playground as its Slack, with fake time.

Real Bolt over real HTTP, a real SQLite file, the real Web API client; only Slack and
time are stood in for.
"""

import asyncio
import contextlib
import hmac
import json
import secrets
import socket
import textwrap
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
from aiohttp import web
from clock import FakeClock

from bot import app as assembly
from bot.config import load, read_settings
from bot.core.keys import generate, read, ring
from bot.playground.server import Playground
from bot.slack.courier import SlackCourier
from bot.slack.manifest import manifest
from bot.store.sqlite import SqliteStore
from bot.web.server import server

ADA, BEN, CLEO = "U0ADA", "U0BEN", "U0CLEO"
OPS, GENERAL, PRIVATE = "C0OPS", "C0GENERAL", "C0PRIVATE"

POLICY = """
default = "deny"

[[tool]]
name = "pay"
gate = "ask"
approvers = ["@approvers"]
post_to = "#ops"
headline = "Pay {amount}"
expires = "30m"

[[tool]]
name = "restart"
gate = "ask"
approvers = ["@approvers"]
post_to = "#ops"
headline = "Restart {service} in {region}"
expires = "30m"

[[tool]]
name = "fails"
gate = "ask"
approvers = ["@approvers"]
post_to = "#ops"

[[tool]]
name = "careful"
gate = "ask"
approvers = ["@approvers"]
post_to = "#ops"

[[tool]]
name = "greedy"
gate = "ask"
approvers = ["@approvers"]
post_to = "#ops"

[[tool]]
name = "status"
gate = "allow"

[[tool]]
name = "countdown"
gate = "allow"

[[tool]]
name = "asks"
gate = "allow"
approvers = ["@approvers"]

[[tool]]
name = "talks"
gate = "allow"
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Bench:
    """One workspace, one database, one bot that can be stopped and started."""

    def __init__(
        self,
        folder: Path,
        *,
        policy: str = POLICY,
        tools="probe_tools",
        clock=None,
        model: bool = False,
        more: str = "",
        mode: str = "http",
        settings: str = "",
    ):
        self.model, self.more, self.mode = model, more, mode
        self.folder = folder
        self.clock = clock or FakeClock()
        self.key = generate()
        self.probe_log = folder / "probe.jsonl"
        self.policy(policy)
        file = folder / "countersign.toml"
        file.write_text(f'tools = ["{tools}"]\n{textwrap.dedent(settings)}\n')
        self.slack = Playground(
            manifest=manifest(read_settings(file, {})),
            clock=self.clock.seconds,
            mode=mode,
        )
        self.bot: assembly.Bot | None = None
        self.store: SqliteStore | None = None
        #: The private reply to the newest command.
        self.told = ""
        self._server: web.AppRunner | None = None
        self._tasks: list[asyncio.Task] = []

    def policy(self, text: str) -> None:
        (self.folder / "policy.toml").write_text(textwrap.dedent(text))

    @property
    def environ(self) -> dict[str, str]:
        socket = {"SLACK_APP_TOKEN": self.slack.app_token}
        http = {"SLACK_SIGNING_SECRET": self.slack.signing_secret}
        return {
            "SLACK_API_URL": self.slack.api_url,
            "SLACK_BOT_TOKEN": self.slack.bot_token,
            **(socket if self.mode == "socket" else http),
            "COUNTERSIGN_KEY": self.key,
            "COUNTERSIGN_CONFIG": str(self.folder / "countersign.toml"),
        }

    async def __aenter__(self) -> "Bench":
        await self.slack.__aenter__()
        if self.model:
            settings = self.folder / "countersign.toml"
            settings.write_text(
                f'{settings.read_text()}[model]\nstyle = "openai"\n'
                f'base_url = "{self.slack.url}/standin/v1"\nname = "stand-in"\n'
                f"{self.more}"
            )
        try:
            await self.start()
        except BaseException:
            await self.slack.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(self, *exc) -> None:
        await self.stop()
        await self.slack.__aexit__(*exc)

    async def start(self, accept=()) -> None:
        """Start the bot on the same database, as after a restart."""
        loaded = load(None, self.environ)
        masters = read(self.key)
        self.store = await SqliteStore.open(
            loaded.settings.database_path, ring(masters, "audit"), self.clock
        )
        try:
            ports = assembly.Ports(
                clock=self.clock,
                store=self.store,
                client=assembly.web_client(loaded),
                courier=SlackCourier(),
            )
            self.bot = await assembly.build(
                loaded, ports, ring(masters, "controls"), accept
            )
        except BaseException:
            await self.store.close()
            self.store = None
            raise
        await assembly.revive(self.bot)
        await self.bot.sweeper.recover()
        self._server = server(self.bot.site)
        await self._server.setup()
        site = web.TCPSite(self._server, "127.0.0.1", free_port())
        await site.start()
        port = self._server.addresses[0][1]
        if self.bot.sockets is not None:
            await self.bot.sockets.check()
            await self.bot.sockets.open()
            await self.connected()
        else:
            self.slack.app_url = f"http://127.0.0.1:{port}"
        self.url = f"http://127.0.0.1:{port}"
        self._tasks = [
            asyncio.create_task(self.bot.courier.run(self.bot.desk)),
            asyncio.create_task(self.bot.sweeper.run()),
        ]

    async def stop(self) -> None:
        """Stop in order; nothing is lost."""
        if self.bot is None or self.store is None or self._server is None:
            return
        await self._server.cleanup()
        if self.bot.sockets is not None:
            await self.bot.sockets.close(5)
        await self.bot.runner.stop(5)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.bot.courier.drain()
        await self.bot.close()
        await self.store.close()
        self.bot = self.store = self._server = None

    async def connected(self, wanted: int = 2, patience: float = 20.0) -> None:
        """Wait until so many sockets of the bot are up."""
        assert self.bot is not None
        assert self.bot.sockets is not None
        async with asyncio.timeout(patience):
            while await self.bot.sockets.live() < wanted:  # noqa: ASYNC110  # theirs
                await asyncio.sleep(0.01)

    async def restart(self) -> None:
        await self.stop()
        await self.start()

    async def pull_plug(self) -> None:
        """Stop and leave what is running where it is, as a crash would."""
        assert self.bot is not None
        await self.bot.runner.stop(0)
        await self.stop()

    # -- what people do ----------------------------------------------------------------

    async def tool(self, words: str, user: str = ADA, channel: str = OPS) -> str:
        """Type /tool; the text of the private reply."""
        return await self.type("/tool", words, user, channel)

    async def type(
        self, command: str, words: str = "", user: str = ADA, channel: str = OPS
    ) -> str:
        done = await self.slack.command(user, channel, command, words)
        assert done["ok"], done
        self.told = text_of_reply(done["delivery"]["body"])
        return self.told

    async def press(self, user: str, card: dict, action: str) -> dict:
        """Press a control of a message; its action_id without the prefix."""
        return await self.slack.act(
            user, card["channel"], card["ts"], action_id=f"cs_{action}"
        )

    async def home(self, user: str) -> list[dict]:
        """Open the Home tab as somebody; its blocks once it is drawn."""
        assert (await self.slack.open_home(user))["ok"]
        return await self.at_home(user)

    async def at_home(self, user: str) -> list[dict]:
        """The blocks of somebody's Home tab as it is now."""
        await self.quiet()
        return (await self.slack.state())["home"][user]["blocks"]

    async def press_home(self, user: str, action: str, entry: int = 0) -> list[dict]:
        """Press a control of one's Home tab; the blocks of what is drawn then.

        `entry` counts the rows of controls that have this one.
        """
        view = (await self.slack.state())["home"][user]
        wanted = f"cs_home_{action}"
        rows = [
            block["block_id"]
            for block in view["blocks"]
            if block["type"] == "actions"
            and any(e["action_id"] == wanted for e in block["elements"])
        ]
        done = await self.slack.act(
            user, view_id=view["id"], action_id=wanted, block_id=rows[entry]
        )
        assert done["ok"], done
        return await self.at_home(user)

    async def forge(
        self,
        user: str,
        card: dict,
        action: str,
        **changes: Any,
    ) -> httpx.Response:
        """A signed click as a client would send it that still shows `card`.

        `changes` replace parts of the payload: value, action_id, channel, ts, team,
        enterprise, app, message; `at` is the timestamp, `secret` the signing secret.
        """
        body = click_payload(self.slack, user, card, f"cs_{action}", changes)
        return await self.send(
            urlencode({"payload": json.dumps(body)}).encode(), **changes
        )

    async def send(
        self,
        body: bytes,
        *,
        at: float | None = None,
        secret: str | None = None,
        headers: dict[str, str] | None = None,
        **_: Any,
    ) -> httpx.Response:
        """One signed POST to the bot's door."""
        stamp = str(int(self.clock.seconds() if at is None else at))
        key = (secret or self.slack.signing_secret).encode()
        mac = hmac.new(key, b"v0:" + stamp.encode() + b":" + body, "sha256")
        sent = {
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": f"v0={mac.hexdigest()}",
            **(headers or {}),
        }
        async with httpx.AsyncClient(
            trust_env=False, verify=False, timeout=30
        ) as client:
            return await client.post(
                f"{self.slack.app_url}/slack/events", content=body, headers=sent
            )

    def asked(self) -> list[dict]:
        """The bodies of the questions that the model was asked."""
        log = self.slack.log()
        return [e["request"]["args"] for e in log if e["kind"] == "standin"]

    async def pause(self) -> None:
        """Let everybody do what they can without time passing."""
        for _ in range(5):
            await asyncio.sleep(0.005)

    # -- what can be seen --------------------------------------------------------------

    async def cards(self, channel: str = OPS) -> list[dict]:
        """The bot's messages at channel level, oldest first."""
        state = await self.slack.state()
        found = state["messages"].get(channel, [])
        return [
            {**m, "channel": channel}
            for m in found
            if m["user"] == self.slack.bot_user_id
            and m.get("thread_ts", m["ts"]) == m["ts"]
        ]

    async def card(self, channel: str = OPS, index: int = -1) -> dict:
        """Wait for quiet, then the newest card."""
        await self.quiet()
        there = await self.cards(channel)
        assert there, f"no card in {channel}; the last command was told: {self.told!r}"
        return there[index]

    async def replies(self, channel: str = OPS) -> list[str]:
        state = await self.slack.state()
        return [
            m["text"]
            for m in state["messages"].get(channel, [])
            if m.get("thread_ts", m["ts"]) != m["ts"]
        ]

    async def whispers(self, user: str) -> list[str]:
        """What was said to one person alone."""
        await self.quiet()
        state = await self.slack.state()
        return [text_in(m) for m in state["ephemeral"].get(user, [])]

    async def phone(self, user: str) -> list[str]:
        state = await self.slack.state()
        return [n["text"] for n in state["notifications"].get(user, [])]

    async def refusals(self) -> list[str]:
        """The code of every refusal so far, oldest first."""
        rows = await self.rows(
            "SELECT action FROM audit WHERE action LIKE 'refused %' ORDER BY seq"
        )
        return [action.removeprefix("refused ") for (action,) in rows]

    async def statuses(self) -> list[str]:
        """How every request stands, in the order in which they were asked."""
        rows = await self.rows("SELECT status FROM requests ORDER BY rowid")
        return [status for (status,) in rows]

    def calls(self, method: str) -> list[dict]:
        """The arguments of every call of a Web API method so far, oldest first."""
        return [
            entry["request"]["args"]
            for entry in self.slack.log()
            if entry["kind"] == f"api:{method}"
        ]

    def ran(self, tool: str | None = None) -> list[dict]:
        """The lines that tools have left."""
        if not self.probe_log.exists():
            return []
        lines = [json.loads(line) for line in self.probe_log.read_text().splitlines()]
        return [line for line in lines if tool is None or line["tool"] == tool]

    async def quiet(self, *, patience: float = 10.0) -> None:
        """Wait until nothing that is due now is left to do."""
        async with asyncio.timeout(patience):
            calm = 0
            while calm < 2:  # no one event ends it
                # Between two of these looks something may have been on its way.
                calm = calm + 1 if await self._is_quiet() else 0
                await asyncio.sleep(0.005)

    async def _is_quiet(self) -> bool:
        assert self.bot is not None
        bot, parts = self.bot, self.bot.parts
        if bot.runner.moving or bot.courier.busy or bot.services.tasks.busy:
            # Pacing is by the clock; let it pass where only the courier waits for it.
            return False
        now = self.clock.now()
        due = await parts.store.read(
            lambda tx: parts.store.messages_due(tx, parts.tenant, now, 1)
        )
        if due:
            self.clock.advance(0.5)
            return False
        return not bot.courier.woken

    async def pass_time(self, seconds: float) -> None:
        """Let time pass, sweep, and wait for what follows from it."""
        self.clock.advance(seconds)
        assert self.bot is not None
        await self.bot.sweeper.sweep()
        self.bot.courier.wake()
        await self.quiet()

    async def rows(self, sql: str, *parameters: object) -> list[tuple]:
        assert self.store is not None
        return await self.store.read(
            lambda tx: [tuple(r) for r in tx.execute(sql, parameters).fetchall()]
        )


def click_payload(
    slack: Playground, user: str, card: dict, action_id: str, changes: dict
) -> dict:
    """A block_actions payload for a control of a message, as Slack would send it."""
    block, element = next(
        (b, e)
        for b in card["blocks"]
        if b["type"] == "actions"
        for e in b["elements"]
        if e["action_id"] == action_id
    )
    channel = changes.get("channel", card["channel"])
    ts = changes.get("ts", card["ts"])
    team = {"id": changes.get("team", slack.team_id), "domain": "home"}
    enterprise = changes.get("enterprise")
    message = {
        "type": "message",
        "ts": ts,
        "user": slack.bot_user_id,
        "bot_id": "B0CSIGN",
        "app_id": slack.app_id,
        "text": card.get("text", ""),
        "blocks": card["blocks"],
    }
    action = {
        "type": "button",
        "action_id": changes.get("action_id", action_id),
        "block_id": block["block_id"],
        "text": element["text"],
        "value": changes.get("value", element["value"]),
        "action_ts": "1.1",
    }
    return {
        "type": "block_actions",
        "api_app_id": changes.get("app", slack.app_id),
        "team": None if changes.get("team", "") is None else team,
        "user": {"id": user, "team_id": team["id"]},
        "enterprise": {"id": enterprise} if enterprise else None,
        "is_enterprise_install": False,
        "container": {
            "type": "message",
            "message_ts": ts,
            "channel_id": channel,
            "is_ephemeral": False,
        },
        "channel": {"id": channel, "name": "ops"},
        "message": changes.get("message", message),
        "trigger_id": f"1.2.{secrets.token_hex(4)}",
        "response_url": changes.get("response_url", ""),
        "state": {"values": {}},
        "actions": changes.get("actions", [action]),
    }


def text_of_reply(body: Any) -> str:
    """The words of a command's private reply."""
    if isinstance(body, str):
        with contextlib.suppress(ValueError):
            body = json.loads(body)
    return body if isinstance(body, str) else text_in(body)


def text_in(value: Any) -> str:
    """Every text in a message, in order; what stands on one line is joined."""
    if isinstance(value, dict) and "blocks" in value:
        value = value["blocks"]
    if isinstance(value, list):
        return "\n".join(found for item in value if (found := text_in(item)))
    if not isinstance(value, dict):
        return ""
    if value.get("type", "").startswith("rich_text_"):
        return "".join(_word(element) for element in value["elements"])
    inner = value.get("text")
    if isinstance(inner, str):
        return inner
    return text_in([inner, value.get("elements"), value.get("fields")])


def _word(element: dict) -> str:
    names = {
        "user": "user_id",
        "usergroup": "usergroup_id",
        "date": "fallback",
        "channel": "channel_id",
    }
    kind = element["type"]
    if kind in names:
        return element[names[kind]]
    return element["text"] if kind == "text" else text_in(element)


def controls(message: dict) -> list[str]:
    """The labels of a message's buttons."""
    return [
        element["text"]["text"]
        for block in message.get("blocks") or []
        if block["type"] == "actions"
        for element in block["elements"]
    ]
