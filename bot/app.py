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
from typing import Any

import httpx
import structlog
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from bot.clock import SystemClock
from bot.config import Loaded
from bot.core.keys import Keyring, read, ring
from bot.core.policy import Rule, users_in, with_names
from bot.engine.parts import Parts
from bot.engine.runner import Runner
from bot.engine.sweeper import Sweeper
from bot.errors import (
    ConfigError,
    DeliveryError,
    Locked,
    NotStarted,
    Problem,
    StoreError,
)
from bot.policyfile import ambiguous
from bot.ports import Clock, Courier, Identity, Store
from bot.slack import workspace
from bot.slack.bolt import make_app
from bot.slack.courier import SlackCourier
from bot.slack.delivery import Desk
from bot.slack.front import MOST_BYTES, PATH, Door
from bot.slack.handlers import Services, register
from bot.slack.ids import signer
from bot.slack.people import SlackPeople
from bot.slack.replies import Replies
from bot.slack.resolve import Lookups, resolve
from bot.store.lock import Lock
from bot.store.sqlite import SqliteStore
from bot.tools.loader import load_tools
from bot.tools.toolkit import Toolkit
from bot.web import health
from bot.web.server import bound, close, server

log = structlog.get_logger(__name__)

#: Plain (not async) tools run here, never in asyncio's own pool (T70).
TOOL_THREADS = 16
#: How long running tools may take to end when we stop, in seconds.
PATIENCE = 10.0
#: How long one Web API call may take, in seconds.
CALL_TIMEOUT = 10


@dataclass(frozen=True, kw_only=True)
class Ports:
    """The concrete ports of one bot. A test may hand in its own around them."""

    clock: Clock
    store: Store
    client: AsyncWebClient
    courier: SlackCourier


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

    async def close(self) -> None:
        """Let what was acknowledged finish, then let go of the connections."""
        await self.services.tasks.drain(PATIENCE)
        await self.desk.people.close()
        await self.http.aclose()
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
    identity = await _identity(ports, problems)
    rules = await _rules(loaded, ports, identity, accept, problems)
    if problems or identity is None:
        pool.shutdown()
        raise ConfigError(problems)
    return _assembled(loaded, ports, controls, identity, rules, tools.toolkit, pool)


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
    parts = Parts(
        store=ports.store,
        people=people,
        courier=courier,
        clock=ports.clock,
        tenant=identity.tenant,
        rules=rules,
        toolkit=toolkit,
        prefix=loaded.settings.command_prefix,
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
    )
    app = make_app(ports.client, identity)
    register(app, services)
    door = Door(
        app,
        loaded.secrets.signing_secret.get_secret_value(),
        lambda: ports.clock.now() / 1000,
    )
    return Bot(
        parts=parts,
        runner=runner,
        sweeper=Sweeper(parts, runner),
        courier=ports.courier,
        desk=Desk(parts=parts, client=ports.client, people=people, sign=sign),
        site=_site(door, ports.courier),
        http=http,
        services=services,
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
        for one in sockets:
            await web.SockSite(serving, one).start()
        log.info("ready", host=host, port=port)
        await asyncio.gather(*background)
    finally:
        await serving.cleanup()
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


def _site(door: Door, courier: SlackCourier) -> web.Application:
    site = web.Application(client_max_size=MOST_BYTES)
    site.router.add_post(PATH, door.handle)
    site.add_routes(
        health.routes(lambda: "slack refuses our token" if courier.token_error else "")
    )
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


# -- Slack at start -------------------------------------------------------------------


async def _identity(ports: Ports, problems: list[Problem]) -> Identity | None:
    """Who we are, as Slack says now, else as it said last; a refusal is a fault."""
    store = ports.store
    known = await store.read(store.identity)
    try:
        found = await workspace.identity(ports.client, ports.clock.now())
    except ConfigError as error:
        problems += error.problems
        return None
    except DeliveryError as error:
        if not error.temporary:
            problems.append(_refused(error.code))
            return None
        if known is None:
            problems.append(_never_seen(error.code))
            return None
        log.warning("slack_unreachable", code=error.code, team=known.team_name)
        return known
    if known is not None and known.tenant != found.tenant:
        problems.append(_other_workspace(known, found))
        return None
    await store.write(lambda tx: store.save_identity(tx, found))
    return found


async def _rules(
    loaded: Loaded,
    ports: Ports,
    identity: Identity | None,
    accept: Collection[str],
    problems: list[Problem],
) -> tuple[Rule, ...]:
    """The policy, its handles and channels resolved as far as Slack can be asked."""
    if identity is None:
        return ()
    store, tenant = ports.store, identity.tenant
    remembered = await store.read(lambda tx: store.names(tx, tenant))
    lookups = Lookups(
        groups=await _or_none(workspace.groups(ports.client, tenant)),
        channels=await _or_none(workspace.channels(ports.client, tenant)),
    )
    file = loaded.settings.policy_path.name
    resolved = resolve(loaded.policy.tool, lookups, remembered, accept, file)
    problems += resolved.problems
    for note in resolved.notes:
        log.info("policy_note", note=note)
    if not resolved.problems:
        for written, found in resolved.names.items():
            await store.write(
                lambda tx, w=written, f=found: store.save_name(tx, tenant, w, f)  # type: ignore[misc]  # bound per name
            )
    return await _named(resolved.rules, ports, identity)


async def _named(
    rules: tuple[Rule, ...], ports: Ports, identity: Identity
) -> tuple[Rule, ...]:
    """The rules with the names of the people in them, as far as they can be found."""
    people = SlackPeople(client=ports.client, tenant=identity.tenant, clock=ports.clock)
    try:
        facts = await people.facts(sorted(users_in(rules)), [], CALL_TIMEOUT)
    finally:
        await people.close()
    for user, person in facts.people.items():
        if person.deleted:
            log.warning("policy_note", note=f"{user} is nobody in this workspace.")
    names = {user: person.name for user, person in facts.people.items()}
    return tuple(with_names(rule, names) for rule in rules)


async def _or_none(look_up: Any) -> Any:
    try:
        return await look_up
    except DeliveryError as error:
        log.warning("look_up_failed", code=error.code)
        return None


def _refused(code: str) -> Problem:
    return Problem(
        what=f"Slack refuses SLACK_BOT_TOKEN: {code}.",
        fix="install the app again and copy the Bot User OAuth Token (xoxb-…).",
    )


def _never_seen(code: str) -> Problem:
    return Problem(
        what=f"Slack cannot be reached ({code}), and this database has never seen it.",
        fix="check the network and SLACK_API_URL, then start again.",
    )


def _other_workspace(known: Identity, found: Identity) -> Problem:
    return Problem(
        what=(
            f"The database belongs to workspace {known.tenant.team} "
            f"({known.team_name}), the token to {found.tenant.team}."
        ),
        fix="use the token of that workspace, or another database.",
    )
