"""What nothing can be faster than, measured in the same run."""

import contextlib
import sqlite3
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path

from aiohttp import web
from slack_bolt.adapter.aiohttp import to_aiohttp_response, to_bolt_request
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult

COMMITS = 300


def raw_commit(path: Path) -> float:
    """The median seconds of one 1 kB insert with a commit of its own."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE t (x TEXT)")
    took = []
    for _ in range(COMMITS):
        begun = time.perf_counter()
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t VALUES (?)", ("x" * 1000,))
        connection.execute("COMMIT")
        took.append(time.perf_counter() - begun)
    connection.close()
    return statistics.median(took)


@contextlib.asynccontextmanager
async def bare_bolt(secret: str) -> AsyncIterator[str]:
    """An empty Bolt app that verifies and acks; yields its address."""

    async def authorize(**_: object) -> AuthorizeResult:
        return AuthorizeResult(enterprise_id=None, team_id="T0HOME", bot_token="xoxb-x")

    app = AsyncApp(
        signing_secret=secret, authorize=authorize, process_before_response=True
    )

    @app.action("cs_approve")
    async def approve(ack) -> None:
        await ack()

    async def handle(request: web.Request) -> web.Response:
        asked = await to_bolt_request(request)
        return await to_aiohttp_response(await app.async_dispatch(asked))

    site = web.Application()
    site.router.add_post("/slack/events", handle)
    runner = web.AppRunner(site, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
