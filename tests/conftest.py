"""Fixtures that every part of the suite may use."""

import pytest
import pytest_asyncio
from harness import Bench
from invariants import assert_invariants


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A private folder for one bot, and the file in which its tools leave a line."""
    tmp_path.chmod(0o700)
    monkeypatch.setenv("PROBE_LOG", str(tmp_path / "probe.jsonl"))
    return tmp_path


@pytest_asyncio.fixture
async def bench(folder):
    """A whole bot against a Slack of its own; what must always hold is checked last."""
    async with Bench(folder) as made:
        yield made
        await made.quiet()
        await assert_invariants(made)
