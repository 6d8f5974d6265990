"""One endpoint, one clock, and a client between them."""

import httpx
import pytest
import pytest_asyncio
from endpoint import KEY, QuickClock, serving

from bot.model.http import Endpoint


@pytest_asyncio.fixture
async def server():
    async with serving() as made:
        yield made


@pytest.fixture
def clock():
    return QuickClock()


@pytest_asyncio.fixture
async def client(server, clock):
    """A client with a key, the default deadline and half of the jitter."""
    made = Endpoint(
        server.url,
        clock=clock,
        headers={"Authorization": f"Bearer {KEY}"},
        jitter=lambda: 0.5,
    )
    yield made
    await made.aclose()


@pytest_asyncio.fixture
async def unreachable(clock):
    """A client of a port where nobody listens."""
    async with httpx.AsyncClient(trust_env=False) as http:
        yield Endpoint(
            "http://127.0.0.1:1/v1", clock=clock, http=http, jitter=lambda: 0
        )
