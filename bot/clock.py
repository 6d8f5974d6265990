"""The one source of time outside of tests."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """ports.Clock on this machine's clocks."""

    def now(self) -> int:
        """Wall time in Unix milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """Seconds that only move forward."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let that much time pass."""
        await asyncio.sleep(seconds)
