"""What the listeners work with, put together by the assembly."""

from __future__ import annotations

from dataclasses import dataclass, field

from bot.bound import BoundCommand
from bot.core.keys import Keyring
from bot.engine.parts import Parts
from bot.engine.runner import Runner
from bot.ports import Identity
from bot.slack.bolt import LOOKUPS, WRITE_BEGUN
from bot.slack.ids import Sign
from bot.slack.replies import Replies
from bot.slack.tasks import Tasks


@dataclass(frozen=True, kw_only=True)
class Services:
    """The engine, the way back to the person, and who we are."""

    parts: Parts
    runner: Runner
    identity: Identity
    replies: Replies
    controls: Keyring
    sign: Sign
    version: str  # of the bot
    bound: tuple[BoundCommand, ...] = ()
    tasks: Tasks = field(default_factory=Tasks)

    @property
    def lookups(self) -> float:
        """How many seconds finding people out may take, before the acknowledgement."""
        return LOOKUPS

    def deadline(self) -> float:
        """By when a write that somebody waits for must have begun."""
        return self.parts.clock.monotonic() + WRITE_BEGUN
