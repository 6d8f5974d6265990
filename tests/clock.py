"""Time that only a test moves."""

import asyncio
import heapq


class FakeClock:
    """ports.Clock whose time stands still until `advance`."""

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start
        self._mono = 1000.0
        self._sleepers: list[tuple[float, int, asyncio.Future]] = []
        self._count = 0

    def now(self) -> int:
        return round(self._now * 1000)

    def seconds(self) -> float:
        return self._now

    def monotonic(self) -> float:
        return self._mono

    async def sleep(self, seconds: float) -> None:
        future = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._sleepers, (self._mono + seconds, self._count, future))
        await future

    def advance(self, seconds: float) -> None:
        """Let that much time pass for everybody."""
        self._now += seconds
        self._mono += seconds
        while self._sleepers and self._sleepers[0][0] <= self._mono:
            _, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                future.set_result(None)

    def shift(self, seconds: float) -> None:
        """Move the wall clock alone, as an operator or NTP might."""
        self._now += seconds
