"""One event applied to one run, inside a unit of work: the new state and its rows.

The machine decides; this file saves the run together with everything its effects want
kept: requests, settled requests, the ledger of calls, the outbox, the audit. What
cannot be a row (entering a tool) is left to `perform.py`, which asks the saved state
again. A crash after the commit therefore loses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bot.core.events import Ask, CallTool, Effect, Event, Finish, Results, Settle
from bot.core.machine import due, step
from bot.core.policy import by_approvers
from bot.core.run import Call, Outcome, Run, Slot, Stage
from bot.engine.asking import Question, ask
from bot.engine.parts import Parts
from bot.ports import (
    AuditRow,
    CallRow,
    MessageRow,
    RequestRow,
    RequestStatus,
    RunRow,
    Tx,
)

#: A result this soon after the decision shares one thread reply with it.
SHARED_REPLY = 10_000  # milliseconds
#: `wake_at` while a call is carried out or the model asked: only a new process looks.
AT_NEXT_START = 2**62


class Lost(Exception):
    """Somebody else settled the request first; the unit is undone."""


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Who brought an event about, and what goes with it into the rows."""

    actor: str = "bot"
    name: str = ""
    reason: str = ""
    question: Question | None = None  # what a suspended tool asked
    #: By call: where a card goes when its rule names no channel.
    places: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    audit: dict[str, Any] = field(default_factory=dict)


def apply(
    parts: Parts, tx: Tx, row: RunRow, event: Event, cause: Cause, now: int
) -> tuple[RunRow, tuple[Effect, ...]]:
    """Apply one event; `Lost` when a request it settles is no longer open."""
    state, effects = step(row.state, event)
    return save(parts, tx, row, state, effects, cause, now), effects


def save(
    parts: Parts,
    tx: Tx,
    row: RunRow,
    state: Run,
    effects: tuple[Effect, ...],
    cause: Cause,
    now: int,
) -> RunRow:
    """Save a state and the rows of the effects that led to it."""
    before = row.state
    ended = now if state.stage is Stage.ENDED and row.ended_at is None else row.ended_at
    row = replace(row, state=state, ended_at=ended, wake_at=_wake_at(state, now))
    parts.store.save_run(tx, row)
    calls = {c.ordinal: c for c in parts.store.calls(tx, row.id, state.turn)}
    unknown = _newly_unknown(before, state)
    for call in state.calls:
        _write_ledger(parts, tx, row, calls[call.ordinal], call, cause, now)
        if call.ordinal in unknown:
            made = calls[call.ordinal]
            _audit(parts, tx, row, "outcome unknown", cause, now, call=made)
            _show_now(parts, tx, row, now)
    for effect in effects:
        _carry(parts, tx, row, calls, effect, cause, now)
    parts.store.redraw(tx, row.id, None, now)
    _tell(parts, tx, row, before, effects, now)
    return row


def _wake_at(state: Run, now: int) -> int | None:
    """When the run is to be looked at by itself; never, while a person must act."""
    running = any(call.slot is Slot.RUNNING for call in state.calls)
    if running or state.stage is Stage.THINKING:
        return AT_NEXT_START
    return now if due(state) else None


# -- rows of one call and one effect ------------------------------------------------


def _write_ledger(
    parts: Parts,
    tx: Tx,
    run: RunRow,
    row: CallRow,
    call: Call,
    cause: Cause,
    now: int,
) -> None:
    outcome = call.outcome.value if call.outcome else ""
    if outcome and not row.outcome:
        row = replace(row, outcome=outcome, output=call.output, ended_at=now)
        if call.outcome is Outcome.UNKNOWN:
            row = replace(
                row, reported_by=cause.actor, reported_name=cause.name, reported_at=now
            )
        parts.store.save_call(tx, row)
        _audit(parts, tx, run, f"call {outcome}", cause, now, call=row)


def _carry(
    parts: Parts,
    tx: Tx,
    run: RunRow,
    calls: dict[int, CallRow],
    effect: Effect,
    cause: Cause,
    now: int,
) -> None:
    match effect:
        case Ask():
            call = calls[effect.ordinal]
            places = cause.places.get(effect.ordinal, ())
            request = ask(parts, tx, run, call, effect, cause.question, places, now)
            _audit(parts, tx, run, "asked", cause, now, request=request)
        case Settle():
            _settle(parts, tx, run, effect, cause, now)
        case CallTool():
            call = calls[effect.ordinal]
            execution = f"{run.number}-{call.turn}.{effect.ordinal}.{effect.execution}"
            if not parts.store.claim_call(tx, call, execution, now):
                raise Lost(f"execution {execution} was started before")
            _audit(parts, tx, run, "claimed", cause, now, call=call)
        case Results() if run.state.model:
            _give_back(parts, tx, run)
        case Finish():
            _show_now(parts, tx, run, now)
            _post_answer(parts, tx, run, now)
            _audit(parts, tx, run, f"ended {effect.ending.value}", cause, now)


def _give_back(parts: Parts, tx: Tx, run: RunRow) -> None:
    """The model learns the results of the whole turn, in call order (T69)."""
    if parts.model is None:
        return  # it cannot be asked again either; the run will end by saying so
    message = parts.store.transcript(tx, run.id)[-1]
    outputs = [call.output for call in run.state.calls]
    parts.store.add_transcript(tx, run, parts.model.results(message, outputs))


def _show_now(parts: Parts, tx: Tx, run: RunRow, now: int) -> None:
    """A card that was held back, since the call might be quick, is posted now."""
    for card in parts.store.messages(tx, run.id):
        if card.kind == "run" and not card.ts and card.due_at > now:
            parts.store.save_message(tx, replace(card, due_at=now))


def _post_answer(parts: Parts, tx: Tx, run: RunRow, now: int) -> None:
    """Final words that do not fit the card get a message of their own."""
    if run.text and parts.courier.spills(run.text):
        row = MessageRow(
            tenant=parts.tenant,
            kind="run",
            run=run.id,
            destination=run.channel,
            due_at=now,
            body={"part": "answer"},
        )
        parts.store.add_message(tx, row)


def _settle(
    parts: Parts, tx: Tx, run: RunRow, effect: Settle, cause: Cause, now: int
) -> None:
    requests = parts.store.requests(tx, run.id)
    request = next(r for r in requests if r.number == effect.number)
    status = _status(effect, request)
    won = parts.store.settle_request(
        tx, request, status, now, cause.actor, cause.name, cause.reason
    )
    if not won:
        raise Lost(request.ref)
    _audit(parts, tx, run, status, cause, now, request=request)


def _status(effect: Settle, request: RequestRow) -> RequestStatus:
    consent = by_approvers(request.kind)
    match effect.status:
        case "ok":
            return "approved" if consent else "answered"
        case "declined":
            return "denied" if consent else "declined"
        case other:
            return other


def label(run: RunRow, request: RequestRow | None = None) -> str:
    """The number to say aloud: CS-318, and CS-318.2 for its second request."""
    part = f".{request.number}" if request is not None and request.number > 1 else ""
    return f"CS-{run.number}{part}"


def note(
    parts: Parts,
    tx: Tx,
    run: RunRow,
    action: str,
    cause: Cause,
    now: int,
    call: CallRow | None = None,
) -> None:
    """An audit row for what no effect of the machine stands for."""
    _audit(parts, tx, run, action, cause, now, call=call)


def _audit(
    parts: Parts,
    tx: Tx,
    run: RunRow,
    action: str,
    cause: Cause,
    now: int,
    *,
    request: RequestRow | None = None,
    call: CallRow | None = None,
) -> None:
    body: dict[str, Any] = dict(cause.audit)
    if request is not None:
        body |= {"kind": request.kind, "call_digest": request.call_digest}
    if call is not None:
        body |= {
            "tool": call.tool,
            "arguments": call.arguments_digest,
            "rule": call.rule.name,
            "gate": call.rule.gate,
            "ordinal": call.ordinal,
        }
    row = AuditRow(
        action=action,
        actor=cause.actor,
        request=request.ref if request is not None else run.id,
        label=label(run, request),
        body=body,
    )
    parts.store.audit(tx, parts.tenant, row, now)


# -- who is told --------------------------------------------------------------------


def _tell(
    parts: Parts,
    tx: Tx,
    run: RunRow,
    before: Run,
    effects: tuple[Effect, ...],
    now: int,
) -> None:
    """Queue the thread reply that this transition owes to whoever asked (design §7)."""
    settled = [e for e in effects if isinstance(e, Settle)]
    ended = run.state.stage is Stage.ENDED and before.stage is not Stage.ENDED
    if run.state.model:
        _tell_of_model(parts, tx, run, before, settled, ended, now)
    elif ended:
        refused = bool(settled) and settled[0].status != "ok"
        _news(parts, tx, run, "decided" if refused else "ended", settled, now, now)
    elif _newly_unknown(before, run.state) and not settled:
        _news(parts, tx, run, "unknown", settled, now, now)
    elif settled:
        wait = SHARED_REPLY if settled[0].status == "ok" else 0
        _news(parts, tx, run, "decided", settled, now, now + wait)


def _tell_of_model(
    parts: Parts,
    tx: Tx,
    run: RunRow,
    before: Run,
    settled: list[Settle],
    ended: bool,
    now: int,
) -> None:
    """In a run of the model a decision and the end of the run are two matters."""
    if _newly_unknown(before, run.state):
        _news(parts, tx, run, "unknown", settled, now, now)
    elif settled and settled[0].status != "cancelled":
        wait = SHARED_REPLY if settled[0].status == "ok" else 0
        _news(parts, tx, run, "decided", settled, now, now + wait)
    else:
        _share_result(parts, tx, run, before, now)
    if ended:
        row = MessageRow(
            tenant=parts.tenant,
            kind="news",
            run=run.id,
            due_at=now,
            body={"what": "run_ended"},
        )
        parts.store.add_message(tx, row)


def _share_result(parts: Parts, tx: Tx, run: RunRow, before: Run, now: int) -> None:
    """A call that ended soon after its consent: one reply tells both."""
    open_before = {c.ordinal for c in before.calls if not c.done}
    consents = {
        c.consent for c in run.state.calls if c.done and c.ordinal in open_before
    }
    refs = {r.ref for r in parts.store.requests(tx, run.id) if r.number in consents}
    for news in parts.store.messages(tx, run.id):
        waiting = news.kind == "news" and news.sent < news.wanted
        if waiting and news.request in refs and news.body["what"] == "decided":
            shared = {"what": "decided_and_ended"}
            more = replace(news, body=shared, due_at=now, wanted=news.wanted + 1)
            parts.store.save_message(tx, more)


def _newly_unknown(before: Run, after: Run) -> set[int]:
    was = {c.ordinal for c in before.calls if c.slot is Slot.UNKNOWN}
    return {c.ordinal for c in after.calls if c.slot is Slot.UNKNOWN} - was


def _news(
    parts: Parts,
    tx: Tx,
    run: RunRow,
    what: str,
    settled: list[Settle],
    now: int,
    due_at: int,
) -> None:
    requests = parts.store.requests(tx, run.id)
    ref = next(
        (r.ref for r in requests if settled and r.number == settled[0].number), ""
    )
    if not ref and requests:
        ref = requests[-1].ref
    unsent = next(
        (
            m
            for m in parts.store.messages(tx, run.id)
            if m.kind == "news" and m.sent < m.wanted and m.state == "live"
        ),
        None,
    )
    if what in ("ended", "unknown") and unsent and unsent.body["what"] == "decided":
        shared = {"what": "decided_and_ended" if what == "ended" else what}
        # It may be on its way: one more is wanted, whichever of the two arrives.
        more = replace(unsent, body=shared, due_at=now, wanted=unsent.wanted + 1)
        parts.store.save_message(tx, more)
        return
    row = MessageRow(
        tenant=parts.tenant,
        kind="news",
        run=run.id,
        request=ref,
        due_at=due_at,
        body={"what": what},
    )
    parts.store.add_message(tx, row)
