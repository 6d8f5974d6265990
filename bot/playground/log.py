"""The wire log: every request and answer in both directions, numbered.

Kept in memory, the latest few thousand. The page and scripts read it.
"""

import time
from collections import deque
from typing import Any

from bot.playground.seed import Json

KEPT = 5000


class Log:
    """What went over the wire, in the order it was begun."""

    def __init__(self) -> None:
        self._entries: deque[Json] = deque(maxlen=KEPT)
        self._count = 0

    def begin(self, to: str, kind: str, request: Any) -> Json:
        """Note a request as it goes out or comes in; its answer follows."""
        self._count += 1
        entry: Json = {
            "n": self._count,
            "to": to,
            "kind": kind,
            "request": request,
            "answer": None,
            "status": None,
            "ms": None,
            "problems": [],
        }
        self._entries.append(entry)
        return entry

    def end(
        self,
        entry: Json,
        *,
        answer: Any,
        status: int | None,
        started: float,
        problems: list[str],
    ) -> None:
        """Add what came back for a request."""
        entry.update(
            answer=answer,
            status=status,
            ms=round((time.perf_counter() - started) * 1000, 1),
            problems=problems,
        )

    def since(self, n: int) -> list[Json]:
        """The entries after number `n`."""
        return [dict(one) for one in self._entries if one["n"] > n]
