"""Assembly: the one place where concrete parts meet, start, and stop in order.

`serve` checks everything that can be wrong before the port is opened, then runs until
it is cancelled. Nothing is decided here.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import httpx
import structlog
from aiohttp import web
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.clock import SystemClock
from bot.config import Loaded, ModelSettings
from bot.core.keys import Keyring, read, ring
from bot.core.policy import Rule, rule_for
from bot.engine.foreign import note_repeated
from bot.engine.parts import Parts
from bot.engine.runner import Runner
from bot.engine.sweeper import Sweeper
from bot.errors import ConfigError, Locked, NotStarted, Problem, StoreError
from bot.installation import CALL_TIMEOUT, Ports, identity_now, rules_now
from bot.model import openai
from bot.model.chat import ChatModel
from bot.model.http import Endpoint
from bot.policyfile import ambiguous
from bot.ports import Budget, Clock, Courier, Identity
from bot.slack.bolt import make_app
from bot.slack.courier import SlackCourier
from bot.slack.delivery import Desk
from bot.slack.front import MOST_BYTES, PATH, Door
from bot.slack.handlers import Services, register
from bot.slack.ids import signer
from bot.slack.people import SlackPeople
from bot.slack.replies import Replies
from bot.slack.socket import Sockets
from bot.store.lock import Lock
from bot.store.sqlite import SqliteStore
from bot.tools.bound import command_problems
from bot.tools.loader import load_tools
from bot.tools.toolkit import Toolkit
from bot.version import VERSION
from bot.web import health
from bot.web.server import bound, close, server

log = structlog.get_logger(__name__)

#: Plain (not async) tools run here, never in asyncio's own pool (T70).
TOOL_THREADS = 16
#: How long running tools may take to end when we stop, in seconds.
PATIENCE = 10.0


@dataclass(frozen=True, kw_only=True)
class Bot:
    """A built bot: everything that runs, before it runs."""

    parts: Parts
    runner: Runner
    sweeper: Sweeper
    courier: SlackCourier
    desk: Desk
    site: web.Application
    http: httpx.AsyncClient
    services: Services
    pool: ThreadPoolExecutor  # where plain tools run
    endpoint: Endpoint | None = None  # of the model
    sockets: Sockets | None = None  # in Socket Mode

    async def close(self) -> None:
        """Let what was acknowledged finish, then let go of the connections."""
        await self.services.tasks.drain(PATIENCE)
        await self.desk.people.close()
        await self.http.aclose()
        if self.endpoint is not None:
            await self.endpoint.aclose()
        # Not waited for: a plain tool cannot be stopped, and has had its time.
        self.pool.shutdown(wait=False, cancel_futures=True)


async def serve(
    loaded: Loaded, host: str, port: int, accept: Collection[str] = ()
) -> None:
    """Check, build and run the bot until this is cancelled."""
    clock = SystemClock()
    masters = read(loaded.secrets.key.get_secret_value())
    database = loaded.settings.database_path
    with _counted():
        lock = await Lock.acquire(database, clock, on_wait=_say_who_holds_it)
    try:
        with _counted():
            store = await SqliteStore.open(database, ring(masters, "audit"), clock)
        try:
            ports = Ports(
                clock=clock,
                store=store,
                client=web_client(loaded),
                courier=SlackCourier(),
            )
            bot = await build(loaded, ports, ring(masters, "controls"), accept)
            await run(bot, host, port)
        finally:
            await store.close()
    finally:
        lock.release()


def web_client(loaded: Loaded) -> AsyncWebClient:
    """The Web API client: no retries of its own, since a post may have happened."""
    return AsyncWebClient(
        token=loaded.secrets.bot_token.get_secret_value(),
        base_url=loaded.secrets.slack_api_url,
        timeout=CALL_TIMEOUT,
        retry_handlers=[],
    )


async def build(
    loaded: Loaded, ports: Ports, controls: Keyring, accept: Collection[str] = ()
) -> Bot:
    """Put the parts together; `ConfigError` lists everything that is in the way."""
    pool = ThreadPoolExecutor(TOOL_THREADS, thread_name_prefix="tool")
    tools = load_tools(list(loaded.settings.tools), loaded.settings.root, pool=pool)
    problems = [*tools.problems]
    names = [tool.name for tool in tools.toolkit.tools()]
    problems += ambiguous(loaded.policy.tool, names)
    identity = await identity_now(ports, problems)
    rules = await rules_now(loaded, ports, identity, accept, problems)
    if identity is not None:
        problems += _commands(loaded, rules, tools.toolkit)
    if problems or identity is None:
        pool.shutdown()
        raise ConfigError(problems)
    return _assembled(loaded, ports, controls, identity, rules, tools.toolkit, pool)


def _commands(
    loaded: Loaded, rules: tuple[Rule, ...], toolkit: Toolkit
) -> Iterator[Problem]:
    """What is wrong with the commands of the settings, by tools and rules."""
    return command_problems(
        loaded.settings.command, toolkit.get, lambda tool: rule_for(rules, tool)
    )


def _assembled(
    loaded: Loaded,
    ports: Ports,
    controls: Keyring,
    identity: Identity,
    rules: tuple[Rule, ...],
    toolkit: Toolkit,
    pool: ThreadPoolExecutor,
) -> Bot:
    people = SlackPeople(client=ports.client, tenant=identity.tenant, clock=ports.clock)
    courier: Courier = ports.courier
    endpoint = _endpoint(loaded, ports.clock)
    parts = Parts(
        store=ports.store,
        people=people,
        courier=courier,
        clock=ports.clock,
        tenant=identity.tenant,
        rules=rules,
        toolkit=toolkit,
        prefix=loaded.settings.command_prefix,
        model=_model(loaded, endpoint),
        budget=_budget(loaded.settings.model),
    )
    http = httpx.AsyncClient(follow_redirects=False, trust_env=True)
    runner = Runner(parts)
    sign = signer(controls)
    services = Services(
        parts=parts,
        runner=runner,
        identity=identity,
        replies=Replies(ports.client, http, ports.clock),
        controls=controls,
        sign=sign,
        version=VERSION,
        bound=loaded.settings.command,
    )
    app = make_app(ports.client, identity)
    home = register(app, services)
    door, sockets = _ways_in(loaded, ports, app, parts)
    return Bot(
        parts=parts,
        runner=runner,
        sweeper=Sweeper(parts, runner),
        courier=ports.courier,
        desk=Desk(
            parts=parts,
            client=ports.client,
            people=people,
            sign=sign,
            changed=home.changed,
        ),
        site=_site(door, sockets, ports.courier),
        sockets=sockets,
        http=http,
        services=services,
        endpoint=endpoint,
        pool=pool,
    )


async def run(bot: Bot, host: str, port: int) -> None:
    """Open the port and carry runs forward until this is cancelled; then stop.

    Order of the end: no new callbacks, what is running gets its time, then the rest.
    """
    sockets: list[socket.socket] = []
    serving = server(bot.site)
    await serving.setup()
    background: list[asyncio.Task[None]] = []
    try:
        # Ours before anything is carried on, and open when all of it is.
        sockets = await bound(host, port)
        await revive(bot)
        await bot.sweeper.recover()
        background = [
            asyncio.create_task(bot.courier.run(bot.desk), name="courier"),
            asyncio.create_task(bot.sweeper.run(), name="sweeper"),
        ]
        if bot.sockets is not None:
            await bot.sockets.check()
            await bot.sockets.open()
        for one in sockets:
            await web.SockSite(serving, one).start()
        log.info("ready", host=host, port=port)
        await asyncio.gather(*background)
    finally:
        await serving.cleanup()
        if bot.sockets is not None:
            await bot.sockets.close(PATIENCE)
        close(sockets)
        await bot.runner.stop(PATIENCE)
        for task in background:
            task.cancel()
        await asyncio.gather(*background, return_exceptions=True)
        await bot.courier.drain()
        await bot.close()


async def revive(bot: Bot) -> None:
    """What could not be delivered before is tried once more at every start."""
    parts = bot.parts
    now = parts.clock.now()
    await parts.store.write(lambda tx: parts.store.revive(tx, parts.tenant, now))


def _ways_in(
    loaded: Loaded, ports: Ports, app: AsyncApp, parts: Parts
) -> tuple[Door | None, Sockets | None]:
    """The one way by which Slack's payloads come: a socket of ours, or our door."""
    secrets = loaded.secrets
    if secrets.app_token is not None:
        token = secrets.app_token.get_secret_value()
        return None, Sockets(app, token, secrets.slack_api_url)
    secret = secrets.signing_secret
    if secret is None:
        raise ConfigError([_NO_WAY_IN])
    seconds = lambda: ports.clock.now() / 1000  # noqa: E731  # one clock for both
    repeated = partial(note_repeated, parts)
    return Door(app, secret.get_secret_value(), seconds, repeated), None


_NO_WAY_IN = Problem(
    what="Neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET is set.",
    fix="give the one for Socket Mode, or the other for HTTP.",
)


def _endpoint(loaded: Loaded, clock: Clock) -> Endpoint | None:
    settings, key = loaded.settings.model, loaded.secrets.openai_api_key
    if settings is None:
        return None
    return Endpoint(
        openai.address(settings.base_url),
        clock=clock,
        headers=openai.headers(key.get_secret_value() if key else None),
        timeout=settings.timeout_seconds,
    )


def _model(loaded: Loaded, endpoint: Endpoint | None) -> ChatModel | None:
    settings = loaded.settings.model
    if settings is None or endpoint is None:
        return None
    return ChatModel(endpoint, settings.name)


def _budget(settings: ModelSettings | None) -> Budget:
    if settings is None:
        return Budget()
    return Budget(
        turns=settings.max_turns,
        calls_per_turn=settings.max_calls_per_turn,
        calls=settings.max_calls,
        tokens=settings.max_tokens,
        worked_ms=settings.max_seconds * 1000,
    )


def _site(
    door: Door | None, sockets: Sockets | None, courier: SlackCourier
) -> web.Application:
    """Our own server: Slack's door in HTTP mode, the probes in both."""

    async def readiness() -> str:
        if courier.token_error:
            return "slack refuses our token"
        if sockets is not None and not await sockets.live():
            return "no connection to slack"
        return ""

    site = web.Application(client_max_size=MOST_BYTES)
    if door is not None:
        site.router.add_post(PATH, door.handle)
    site.add_routes(health.routes(readiness))
    return site


@contextmanager
def _counted() -> Iterator[None]:
    """A database that cannot be had is said as every problem of a start is."""
    try:
        yield
    except Locked:
        raise
    except StoreError as error:
        raise NotStarted(str(error)) from error


def _say_who_holds_it(holder: str) -> None:
    log.warning("waiting_for_database", held_by=holder)
