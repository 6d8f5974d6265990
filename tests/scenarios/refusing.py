"""What the stories of refused messages share: what was called, and waiting for it."""

import asyncio

import httpx

POST, UPDATE = "chat.postMessage", "chat.update"


def noted_calls(bench) -> list[tuple[str, float]]:
    """Chat calls as they are made: method, and seconds from now."""
    made: list[tuple[str, float]] = []
    start = bench.clock.monotonic()
    client = bench.bot.desk.client

    def noted(method, name):
        async def call(**arguments):
            made.append((name, bench.clock.monotonic() - start))
            return await method(**arguments)

        return call

    client.chat_postMessage = noted(client.chat_postMessage, POST)
    client.chat_update = noted(client.chat_update, UPDATE)
    return made


async def direct(bench, user: str) -> str:
    """The id of somebody's direct messages with the bot."""
    state = await bench.slack.state()
    return next(
        c["id"] for c in state["channels"] if c["is_im"] and user in c["members"]
    )


async def rows(bench, kind="request"):
    sql = "SELECT state, error, attempts FROM outbox WHERE kind = ? ORDER BY id"
    return await bench.rows(sql, kind)


async def asked(bench):
    await bench.tool("restart service=api")
    return await bench.card()


async def until(condition) -> None:
    """Wait for something that the bot does by itself."""
    async with asyncio.timeout(10):
        while not await condition():  # noqa: ASYNC110  # no one event ends it
            await asyncio.sleep(0.005)


async def still(bench) -> None:
    """Wait until nothing moves but time, whatever may be due."""

    async def is_still() -> bool:
        bot = bench.bot
        moving = bot.runner.moving or bot.services.tasks.busy
        return not (moving or bot.courier.busy or bot.courier.woken)

    await until(is_still)


async def later(bench, seconds: float) -> None:
    """Let time pass in steps, as the courier would see it."""
    for _ in range(round(seconds)):
        bench.clock.advance(1)
        bench.bot.courier.wake()
        await still(bench)


async def ready(bench) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False) as client:
        return await client.get(f"{bench.slack.app_url}/readyz")
