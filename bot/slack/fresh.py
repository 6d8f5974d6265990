"""Answers of Slack that are less than a minute old; one question at a time for each.

A failure is never kept. A question that is under way is shared by all who ask it, and
nobody who stops waiting takes it from the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

#: How old an answer may be when it is used, in seconds (design §7).
FRESH = 60.0
_MOST = 10_000


class Fresh(Generic[K, V]):
    """A cache of look-ups by key; `ask` gives None when it could not find out."""

    def __init__(
        self, ask: Callable[[K], Awaitable[V | None]], monotonic: Callable[[], float]
    ) -> None:
        self._ask = ask
        self._monotonic = monotonic
        self._known: dict[K, tuple[float, V]] = {}
        self._under_way: dict[K, asyncio.Task[None]] = {}

    def begin(self, keys: set[K]) -> set[asyncio.Task[None]]:
        """Ask what is not known freshly; the tasks to wait for."""
        return {self._task(key) for key in keys if self.get(key) is None}

    def found(self, keys: set[K]) -> Mapping[K, V]:
        """What is known freshly of these."""
        values = ((key, self.get(key)) for key in keys)
        return {key: value for key, value in values if value is not None}

    def get(self, key: K) -> V | None:
        """The answer, if it is fresh."""
        asked_at, value = self._known.get(key, (0.0, None))
        if value is None or self._monotonic() - asked_at >= FRESH:
            return None
        return value

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = list(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _task(self, key: K) -> asyncio.Task[None]:
        task = self._under_way.get(key)
        if task is None:
            task = asyncio.create_task(self._look_up(key))
            self._under_way[key] = task
            task.add_done_callback(lambda _: self._under_way.pop(key, None))
        return task

    async def _look_up(self, key: K) -> None:
        # Counted from the question: the answer is at least that old.
        asked_at = self._monotonic()
        value = await self._ask(key)
        if value is None:
            self._known.pop(key, None)
            return
        if len(self._known) >= _MOST:
            self._known.clear()
        self._known[key] = (asked_at, value)
