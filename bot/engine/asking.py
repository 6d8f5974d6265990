"""A request comes into being: its row with the digests, and the cards that show it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.contract.expiry import parse_rfc3339
from bot.contract.types import Request
from bot.core.digest import call_digest, question_digest
from bot.core.events import Ask
from bot.core.policy import Rule, by_approvers
from bot.engine.parts import Parts, digest_of_rule, new_ref
from bot.ports import CallRow, CardView, MessageRow, RequestRow, RunRow, Tx

#: Nothing waits longer than this for a person (T25).
LONGEST_WAIT = 30 * 24 * 3600 * 1000  # milliseconds


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a suspended tool asked, and when it runs out (Unix milliseconds)."""

    request: Request
    expires_at: int


def expiry_of(request: Request, rule: Rule, now: int) -> int | None:
    """When a tool's own request runs out; None when it is past or unreadable (T25)."""
    if request.expiresAt in (None, ""):  # the same thing on the wire (contract §3)
        return now + rule.expires * 1000
    try:
        at = int(parse_rfc3339(request.expiresAt).timestamp() * 1000)
    except ValueError:
        return None
    if at < now:
        return None
    return min(at, now + LONGEST_WAIT)


def gate_prompt(tool: str, after: str = "") -> str:
    """What a gate asks, in our words.

    `after` names an execution of unknown outcome: agreeing to run it once more is
    another matter, with a digest of its own (T72).
    """
    return f"Run {tool} again, after {after}?" if after else f"Run {tool}?"


def gate_question(call: CallRow, now: int) -> Question:
    """The request that a rule's gate raises in front of a call."""
    prompt = gate_prompt(call.tool, call.execution)
    request = Request(id=new_ref(), kind=call.rule.kind, prompt=prompt)
    return Question(request=request, expires_at=now + call.rule.expires * 1000)


def digest_of_question(call: CallRow, request: Request) -> str:
    """Tells whether this very question was asked before."""
    return question_digest(
        tool=call.tool,
        definition=call.definition,
        arguments=call.arguments,
        acting=call.acting,
        kind=request.kind,
        prompt=request.prompt,
        url=request.url,
        data=request.data,
    )


def request_row(
    parts: Parts, run: RunRow, call: CallRow, effect: Ask, question: Question, now: int
) -> RequestRow:
    """The row of a request, with the digest that people agree to."""
    asked = question.request
    expiry = asked.expiresAt or str(call.rule.expires)
    digest = call_digest(
        enterprise=parts.tenant.enterprise,
        team=parts.tenant.team,
        run=run.id,
        turn=call.turn,
        ordinal=call.ordinal,
        tool=call.tool,
        definition=call.definition,
        arguments=call.arguments,
        acting=call.acting,
        kind=asked.kind,
        prompt=asked.prompt,
        data=asked.data,
        url=asked.url,
        expiry=expiry,
        rule=digest_of_rule(call.rule),
    )
    return RequestRow(
        ref=new_ref(),
        tenant=parts.tenant,
        run=run.id,
        turn=call.turn,
        ordinal=call.ordinal,
        number=effect.number,
        gate=effect.gate,
        kind=asked.kind,
        prompt=asked.prompt,
        url=asked.url,
        data=asked.data,
        tool_id=asked.id,
        rule=call.rule,
        call_digest=digest,
        question_digest=digest_of_question(call, asked),
        expiry=expiry,
        created_at=now,
        expires_at=question.expires_at,
    )


def ask(
    parts: Parts,
    tx: Tx,
    run: RunRow,
    call: CallRow,
    effect: Ask,
    question: Question | None,
    places: tuple[str, ...],
    now: int,
) -> RequestRow:
    """Store a request and queue the cards that show it."""
    if effect.gate or question is None:
        question = gate_question(call, now)
    row = request_row(parts, run, call, effect, question, now)
    parts.store.add_request(tx, row)
    destinations = _destinations(row, run, places)
    for destination in destinations:
        add_card(parts, tx, run.id, row.ref, destination, now)
    if run.channel in destinations:
        drop_run_card(parts, tx, run)
    else:
        ensure_run_card(parts, tx, run, now)
    return row


def _destinations(
    request: RequestRow, run: RunRow, places: tuple[str, ...]
) -> tuple[str, ...]:
    """Where cards are meant to go (design §7).

    The rule's channel, or where its approvers are, else the run's channel. What the
    requester answers stays where the requester is.
    """
    if not by_approvers(request.kind):
        return (run.channel,)
    if request.rule.post_to:
        return (request.rule.post_to,)
    return places or (run.channel,)


def ensure_run_card(parts: Parts, tx: Tx, run: RunRow, due_at: int) -> None:
    """Queue the run's own card, once."""
    if any(m.kind == "run" for m in parts.store.messages(tx, run.id)):
        return
    row = MessageRow(
        tenant=parts.tenant,
        kind="run",
        run=run.id,
        destination=run.channel,
        due_at=due_at,
    )
    parts.store.add_message(tx, row)


def drop_run_card(parts: Parts, tx: Tx, run: RunRow) -> None:
    """A request card where the run was asked for is the run's card too (design §7)."""
    for card in parts.store.messages(tx, run.id):
        if card.kind == "run" and not card.ts and card.intent_at is None:
            parts.store.save_message(tx, replace(card, state="gone"))


def add_card(
    parts: Parts, tx: Tx, run: str, ref: str, destination: str, now: int
) -> None:
    """Queue one card of a request."""
    row = MessageRow(
        tenant=parts.tenant,
        kind="request",
        run=run,
        request=ref,
        destination=destination,
        due_at=now,
    )
    parts.store.add_message(tx, row)


def preview(
    parts: Parts, run: RunRow, call: CallRow, question: Question, gate: bool, now: int
) -> CardView:
    """The card as it would be, to find out whether it can be shown in full."""
    number = run.state.asked or 1
    effect = Ask(ordinal=call.ordinal, number=number, gate=gate)
    request = request_row(parts, run, call, effect, question, now)
    return CardView(
        run=run,
        calls=[call],
        requests=[request],
        votes=[],
        messages=[],
        request=request,
        prefix=parts.prefix,
    )
