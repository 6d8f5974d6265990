"""What a run is: its rules, its current turn, and the state of each call in it.

Plain values only: no clock, no callback, no message. A `Run` survives a round trip
through JSON (`to_json`, `from_json`), which is how it is kept. What may happen to it
stands in `events.py`, and what then becomes of it in `machine.py`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class Stage(StrEnum):
    """Where a whole run stands."""

    THINKING = "thinking"  # the model has been asked
    WORKING = "working"  # calls of the current turn have no result yet
    ENDED = "ended"


class Slot(StrEnum):
    """Where one call of the current turn stands."""

    READY = "ready"  # may be entered once its turn comes
    ASKED = "asked"  # an open request stands in front of it
    RUNNING = "running"  # claimed: entered, or about to be
    UNKNOWN = "unknown"  # claimed, and nobody is left who could say how it ended
    DONE = "done"  # has its result


class Outcome(StrEnum):
    """How one call ended."""

    OK = "ok"
    ERROR = "error"  # the tool said so itself: a result like another
    DECLINED = "declined"
    EXPIRED = "expired"
    UNRESOLVED = "unresolved"  # asked the same again, or too often
    CANCELLED = "cancelled"
    VOID = "void"  # what was agreed to is no longer what would run
    UNKNOWN = "unknown"  # closed by a person's word, not by a result
    NOT_RUN = "not run"  # an earlier call of the turn was not ok


#: An ordinary error is a result like another; these stop the rest of the turn.
NOT_OK = frozenset(
    {
        Outcome.DECLINED,
        Outcome.EXPIRED,
        Outcome.UNRESOLVED,
        Outcome.CANCELLED,
        Outcome.VOID,
        Outcome.UNKNOWN,
    }
)


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What differs between the drivers, as data (design §3)."""

    ordered: bool  # a call is entered only when every earlier one has its result
    stop_when_not_ok: bool  # then the later ones that have not started are not run
    questions: int  # how often one call may suspend


DURABLE = Rules(ordered=True, stop_when_not_ok=True, questions=3)


@dataclass(frozen=True, kw_only=True)
class Call:
    """One tool call of the current turn; its position is its name."""

    ordinal: int  # from 1
    tool: str
    arguments: str  # canonical JSON text
    gated: bool  # needs consent before it is first entered
    slot: Slot = Slot.READY
    request: int | None = None  # number of the open request in front of it
    prompt: str = ""  # what the latest request asked
    consent: int | None = None  # number of the request by which consent was given
    questions: tuple[str, ...] = ()  # digests of what the tool itself asked so far
    answers: tuple[int, ...] = ()  # numbers of its own requests that were answered
    execution: int = 0  # how many executions were claimed
    attempts: int = 0  # how often the latest execution was entered
    again: bool = False  # the next entry belongs to the latest execution
    reopened: bool = False  # of unknown outcome, and asked anew: not entered since
    outcome: Outcome | None = None
    output: str = ""

    @property
    def done(self) -> bool:
        return self.slot is Slot.DONE


@dataclass(frozen=True, kw_only=True)
class Run:
    """One piece of work from start to end, as far as deciding needs it."""

    rules: Rules
    model: bool  # a model chooses calls; otherwise it is one direct call
    stage: Stage
    turn: int = 0  # of the calls below; 0 before the first
    calls: tuple[Call, ...] = ()
    asked: int = 0  # requests so far; the next one gets the next number
    cancelled: bool = False  # somebody cancelled; a running call may still report
    ending: Outcome | None = None  # of an ended run

    def call(self, ordinal: int) -> Call:
        """The call at a position; `KeyError` when the turn has none there."""
        for call in self.calls:
            if call.ordinal == ordinal:
                return call
        raise KeyError(ordinal)

    def asking(self, number: int) -> Call | None:
        """The call whose open request has this number, if there is one."""
        return next((c for c in self.calls if c.request == number), None)

    def with_call(self, call: Call) -> Run:
        """The same run with one call replaced."""
        calls = tuple(call if c.ordinal == call.ordinal else c for c in self.calls)
        return replace(self, calls=calls)


def to_json(run: Run) -> str:
    """The text under which a run's state is kept."""
    value = {name: getattr(run, name) for name in Run.__dataclass_fields__}
    value["rules"] = vars(run.rules)
    # Fields at their default say nothing; leaving them out halves a parked row.
    value["calls"] = [_without_defaults(call) for call in run.calls]
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> Run:
    """Read a kept state back; unknown fields are an error, never dropped."""
    value = json.loads(text)
    ending = value.pop("ending")
    return Run(
        rules=Rules(**value.pop("rules")),
        stage=Stage(value.pop("stage")),
        calls=tuple(_call(call) for call in value.pop("calls")),
        ending=Outcome(ending) if ending else None,
        **value,
    )


_DEFAULTS = {name: field.default for name, field in Call.__dataclass_fields__.items()}


def _without_defaults(call: Call) -> dict[str, Any]:
    return {k: v for k, v in vars(call).items() if _DEFAULTS[k] != v}


def _call(value: dict[str, Any]) -> Call:
    outcome = value.pop("outcome", None)
    return Call(
        slot=Slot(value.pop("slot", Slot.READY)),
        questions=tuple(value.pop("questions", ())),
        answers=tuple(value.pop("answers", ())),
        outcome=Outcome(outcome) if outcome else None,
        **value,
    )
