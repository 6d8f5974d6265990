"""What goes to the app and what comes of it, whichever way it is carried.

A `Packet` is one thing that Slack tells the app, a `Delivery` its outcome, and a
`Transport` one way there: `http.py` signs and posts, `socket.py` uses WebSockets.
"""

import time
from dataclasses import dataclass
from typing import Protocol

from bot.playground.seed import Json

COMMAND = "command"
EVENT = "event"


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What came of a packet; an envelope that was acknowledged counts as a 200."""

    status: int | None
    ms: float
    body: str
    error: str | None = None
    no_retry: bool = False

    def shown(self) -> Json:
        """The delivery as the page API tells it."""
        return {"status": self.status, "ms": self.ms, "body": self.body}

    def outcome(self) -> Json:
        """The answer to whoever caused the delivery."""
        if self.error is None:
            return {"ok": True, "delivery": self.shown()}
        return {"ok": False, "error": self.error, "delivery": self.shown()}


def failed(error: str, started: float) -> Delivery:
    """A delivery without any answer."""
    return Delivery(status=None, ms=milliseconds(started), body="", error=error)


def milliseconds(started: float) -> float:
    """How long ago a moment of `time.perf_counter` was."""
    return round((time.perf_counter() - started) * 1000, 1)


@dataclass(frozen=True, kw_only=True)
class Packet:
    """A command, an interaction (`kind` is its type) or an event for the app."""

    kind: str
    payload: Json
    attempt: int = 0
    last: Delivery | None = None  # of an event that is sent again


class Transport(Protocol):
    """One way to the app."""

    async def open(self) -> None: ...

    async def close(self) -> None: ...

    def written(self, packet: Packet) -> Json:
        """The packet as it goes over the wire, the way the log shows it."""
        ...

    async def send(self, written: Json) -> Delivery:
        """Send what was written and wait for the app's word."""
        ...
