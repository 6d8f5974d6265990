"""What can happen to a run, and what it can then want done.

Events come in, effects go out; both are plain values, so that a driver can save a
transition and its effects together and carry the effects out afterwards (design §3).
An effect's `repeatable` says whether doing it twice is harmless.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from bot.core.run import Outcome


@dataclass(frozen=True, kw_only=True)
class Planned:
    """One call of a new turn, with the gate's verdict or a ready-made result."""

    tool: str
    arguments: str
    gate: str | None = None  # the prompt of the gate's request; None = no gate
    result: str | None = None  # for a call that cannot run: what is said instead


# -- events ---------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Started:
    """A run begins: with one direct call, or (no calls) by asking the model."""

    calls: tuple[Planned, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ModelReplied:
    """The model answered; no calls means that it has finished."""

    calls: tuple[Planned, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ModelFailed:
    """The model could not be asked, or its reply was of no use."""


@dataclass(frozen=True, kw_only=True)
class Entering:
    """A driver wants to enter a call: the claim. A cancel that came first wins."""

    ordinal: int


@dataclass(frozen=True, kw_only=True)
class Returned:
    """A tool gave its result."""

    ordinal: int
    execution: int
    output: str
    is_error: bool = False


@dataclass(frozen=True, kw_only=True)
class Suspended:
    """A tool, on its own, asks something of a person."""

    ordinal: int
    execution: int
    prompt: str
    question: str  # question digest
    stale: bool = False  # its expiry is past or unreadable: nobody is asked


@dataclass(frozen=True, kw_only=True)
class Answered:
    """A person settled an open request."""

    request: int
    ok: bool
    words: str = ""  # who and why, as one JSON object, for the reader of the result


@dataclass(frozen=True, kw_only=True)
class Expired:
    """An open request ran out of time."""

    request: int


@dataclass(frozen=True, kw_only=True)
class Voided:
    """What was agreed to, or asked about, is no longer what would run."""

    ordinal: int


@dataclass(frozen=True, kw_only=True)
class Cancelled:
    """Somebody who may do so cancelled the run."""


@dataclass(frozen=True, kw_only=True)
class Interrupted:
    """A claimed call lost its worker before it reported back."""

    ordinal: int
    execution: int
    idempotent: bool  # the tool may be entered again under the same key


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A person says how a call of unknown outcome ended."""

    ordinal: int
    ran: bool
    by: str


@dataclass(frozen=True, kw_only=True)
class Reopened:
    """A person wants a call of unknown outcome run again, by the normal rules."""

    ordinal: int
    gate: str | None  # the prompt of the gate's request; None = no gate


Event = (
    Started
    | ModelReplied
    | ModelFailed
    | Entering
    | Returned
    | Suspended
    | Answered
    | Expired
    | Voided
    | Cancelled
    | Interrupted
    | Reported
    | Reopened
)

# -- effects --------------------------------------------------------------------

Settlement = Literal["ok", "declined", "expired", "cancelled", "void"]


@dataclass(frozen=True, kw_only=True)
class AskModel:
    """Ask the model for the next turn."""

    repeatable: ClassVar[bool] = True


@dataclass(frozen=True, kw_only=True)
class Enter:
    """A call may be entered now: claim it first (`Entering`)."""

    repeatable: ClassVar[bool] = True
    ordinal: int


@dataclass(frozen=True, kw_only=True)
class CallTool:
    """The call is claimed: enter the tool, exactly once."""

    repeatable: ClassVar[bool] = False
    ordinal: int
    execution: int


@dataclass(frozen=True, kw_only=True)
class Ask:
    """Post a request and wait for its answer."""

    repeatable: ClassVar[bool] = True
    ordinal: int
    number: int
    gate: bool


@dataclass(frozen=True, kw_only=True)
class Settle:
    """Close a request, and everything that shows it."""

    repeatable: ClassVar[bool] = True
    number: int
    status: Settlement


@dataclass(frozen=True, kw_only=True)
class Results:
    """Every call of the turn has its result, in call order."""

    repeatable: ClassVar[bool] = True
    turn: int


@dataclass(frozen=True, kw_only=True)
class Finish:
    """The run has ended."""

    repeatable: ClassVar[bool] = True
    ending: Outcome


Effect = AskModel | Enter | CallTool | Ask | Settle | Results | Finish
