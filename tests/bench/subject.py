"""A bot as it is measured: everything real up to the acknowledgement.

Slack is not asked: who people are is known, as after a first look-up. What follows an
acknowledgement (private replies, cards, tools) is not begun in the callback rows, and
carried out in the last one, where it is what is measured.
"""

import asyncio
from pathlib import Path
from typing import Any

from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from bot import tool
from bot.clock import SystemClock
from bot.core.keys import generate, read, ring
from bot.core.policy import Facts, Person, Rule, Who
from bot.engine.answering import answer
from bot.engine.clicks import Click
from bot.engine.parts import Parts
from bot.engine.runner import Runner
from bot.engine.starting import Begun, Wanted, WantedRun, start, start_run
from bot.ports import Identity, ModelCall, ModelReply, Tenant
from bot.slack.bolt import make_app
from bot.slack.front import PATH, Door
from bot.slack.handlers import Services, register
from bot.slack.ids import signer
from bot.slack.replies import Replies
from bot.store.sqlite import SqliteStore
from bot.tools.toolkit import Toolkit
from bot.web.server import server

TENANT = Tenant(team="T0HOME")
CHANNEL = "C0OPS"


@tool
async def restart(service: str, region: str = "eu") -> str:
    """Restart a service in a region."""
    return "restarted"


async def never() -> None:
    """No body of ours comes twice."""


class Known:
    """ports.People after a first look-up."""

    async def facts(self, users, groups, timeout=None) -> Facts:
        people = {u: Person(user=u, team="T0HOME", name=u) for u in ("U0ADA", "U0BEN")}
        return Facts(people=people, groups={"S0": frozenset({"U0BEN"})})


class Nobody:
    """ports.Courier that carries nothing."""

    def unfit(self, view) -> None:
        return None

    def spills(self, words: str) -> bool:
        return False

    def wake(self) -> None:
        return None


class AtHand:
    """ports.Model in this process: one call, then a last word."""

    def first(self, words: str) -> list[dict[str, Any]]:
        return [{"role": "user", "content": words}]

    def results(self, message, outputs) -> list[dict[str, Any]]:
        return [{"role": "tool", "tool_call_id": "c", "content": o} for o in outputs]

    async def ask(self, messages, tools) -> ModelReply:
        if len(messages) > 1:
            return ModelReply(message={"role": "assistant", "content": "ok"}, text="ok")
        call = ModelCall(tool="restart", arguments='{"service":"api"}')
        return ModelReply(message={"role": "assistant"}, calls=(call,), tokens=1)


class Later:
    """Work after an acknowledgement that is not begun."""

    busy = False

    def spawn(self, work, name: str) -> None:
        work.close()


class Subject:
    """One bot on a database of its own."""

    def __init__(self, folder: Path, *, model: bool = False) -> None:
        folder.mkdir(mode=0o700)
        self._path = folder / "bench.db"
        self._model = AtHand() if model else None
        self.secret = "0" * 32
        self.url = ""

    async def __aenter__(self) -> "Subject":
        clock, masters = SystemClock(), read(generate())
        self._store = await SqliteStore.open(self._path, ring(masters, "audit"), clock)
        approvers = (Who(group="S0", handle="@approvers"),)
        rule = Rule(name="restart", gate="ask", approvers=approvers, post_to=CHANNEL)
        self.parts = Parts(
            store=self._store,
            people=Known(),
            courier=Nobody(),
            clock=clock,
            tenant=TENANT,
            rules=(rule,),
            toolkit=Toolkit([restart]),
            model=self._model,
        )
        self._runner = Runner(self.parts)
        self._controls = ring(masters, "controls")
        self._sign = signer(self._controls)
        await self._serve(clock)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._site.cleanup()
        await self._runner.stop(5)
        await self._store.close()

    async def _serve(self, clock: SystemClock) -> None:
        identity = Identity(
            tenant=TENANT, team_name="Home", bot_user="U0C", bot_id="B0C", app="A0"
        )
        client = AsyncWebClient(token="xoxb-bench", base_url="http://127.0.0.1:9/api/")
        services = Services(
            parts=self.parts,
            runner=Runner(self.parts),
            identity=identity,
            replies=Replies(client, None, clock),
            controls=self._controls,
            sign=self._sign,
            tasks=Later(),
        )
        services.runner._stopping = True
        app = make_app(client, identity)
        register(app, services)
        door = Door(app, self.secret, lambda: clock.now() / 1000, never)
        site = web.Application(client_max_size=1024 * 1024)
        site.router.add_post(PATH, door.handle)
        self._site = server(site)
        await self._site.setup()
        await web.TCPSite(self._site, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{self._site.addresses[0][1]}"

    async def start(self, name: str, arguments: dict[str, str]) -> Begun:
        """Type one direct call."""
        wanted = Wanted(
            requester="U0ADA",
            channel=CHANNEL,
            tool=self.parts.toolkit.get(name),
            arguments=arguments,
            delivery=f"command:{arguments}",
        )
        begun = await start(self.parts, wanted, 1.0, self._soon())
        if not isinstance(begun, Begun):
            raise RuntimeError(begun)
        return begun

    async def parked_click(self, n: int) -> dict[str, Any]:
        """An open request with its card in place, and the payload of a yes to it."""
        begun = await self.start("restart", {"service": f"s{n}"})
        request = begun.view.request
        ts = f"{1_800_000_000 + n}.000100"
        await self._place(begun.view.run.id, ts)
        action = {
            "type": "button",
            "action_id": "cs_approve",
            "block_id": "b",
            "value": self._sign(request.ref, "approve"),
            "action_ts": "1.1",
        }
        card = {"ts": ts, "bot_id": "B0C", "app_id": "A0", "blocks": BLOCKS}
        return {
            "type": "block_actions",
            "api_app_id": "A0",
            "team": {"id": "T0HOME", "domain": "home"},
            "user": {"id": "U0BEN", "team_id": "T0HOME"},
            "enterprise": None,
            "container": {"type": "message", "message_ts": ts, "channel_id": CHANNEL},
            "channel": {"id": CHANNEL, "name": "ops"},
            "message": card,
            "trigger_id": f"1.{n}.x",
            "response_url": "",
            "actions": [action],
        }

    async def _place(self, run: str, ts: str) -> None:
        sql = "UPDATE outbox SET channel = ?, ts = ?, sent = wanted WHERE run = ?"
        await self._store.write(lambda tx: tx.execute(sql, (CHANNEL, ts, run)) and None)

    async def answered(self) -> float:
        """Seconds from a yes to the end of a run of the model."""
        wanted = WantedRun(
            requester="U0ADA", channel=CHANNEL, words="restart the api", delivery=""
        )
        begun = await start_run(self.parts, wanted, 1.0, self._soon())
        run = begun.view.run.id
        self._runner.wake(run)
        await self._until_still()
        request = await self._store.read(
            lambda tx: self.parts.store.requests(tx, run)[0]
        )
        ts = f"{begun.view.run.number}.1"
        await self._place(run, "")
        sql = "UPDATE outbox SET channel = ?, ts = ? WHERE request = ?"
        await self._store.write(
            lambda tx: tx.execute(sql, (CHANNEL, ts, request.ref)) and None
        )
        click = Click(
            user="U0BEN",
            ref=request.ref,
            decision="approve",
            channel=CHANNEL,
            ts=ts,
            ours=True,
        )
        clock = asyncio.get_running_loop().time
        begun_at = clock()
        reply = await answer(self.parts, click, "approve")
        if reply.code:
            raise RuntimeError(reply.code)
        self._runner.wake(run)
        await self._until_still()
        return clock() - begun_at

    async def _until_still(self) -> None:
        while self._runner.moving:
            await asyncio.gather(*list(self._runner._moving.values()))

    async def count(self, sql: str) -> int:
        """What a query counts."""
        return await self._store.read(lambda tx: tx.execute(sql).fetchone()[0])

    def _soon(self) -> float:
        return self.parts.clock.monotonic() + 5


LINE = {
    "type": "rich_text_section",
    "elements": [{"type": "text", "text": "Restart api in eu?"}],
}
BLOCKS = [{"type": "rich_text", "elements": [LINE]}] * 6
