"""Work that goes on after an acknowledgement: held on to, and waited for at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import structlog

log = structlog.get_logger(__name__)


class Tasks:
    """Keeps a strong reference to each task until it is done; logs what it raises."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        """Start something that nobody waits for."""
        task = asyncio.create_task(self._logged(work, name), name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @property
    def busy(self) -> bool:
        """Whether something is still going on."""
        return bool(self._tasks)

    async def drain(self, patience: float) -> None:
        """Give what is running so many seconds, then cancel it."""
        if not self._tasks:
            return
        _, late = await asyncio.wait(list(self._tasks), timeout=patience)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    @staticmethod
    async def _logged(work: Coroutine[Any, Any, None], name: str) -> None:
        try:
            await work
        except Exception:
            log.error("task_failed", task=name, exc_info=True)
