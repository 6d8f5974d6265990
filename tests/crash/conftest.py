"""One nursery of crashing bots for all, and a bench around each bot."""

import pytest
import pytest_asyncio
from crashbench import CrashBench, Nursery
from invariants import assert_invariants


@pytest.fixture(scope="session")
def nursery():
    made = Nursery()
    yield made
    made.close()


@pytest_asyncio.fixture
async def crash(folder, nursery):
    """What must always hold is checked last, on the bot that was started again."""
    async with CrashBench(folder, nursery) as made:
        yield made
        if made.bot is None:
            await made.start()
        await made.quiet()
        await assert_invariants(made)
