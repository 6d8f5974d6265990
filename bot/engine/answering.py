"""One click in: who, on which card, with which decision; one durable write; a reply.

The order is the promise (design §7): read the rows, look people up under one deadline,
then decide again from the rows as they are inside the one write that records the vote,
settles the request, moves the run and queues the cards. Every refusal is an audit row
and changes nothing. Answers come from here and from nowhere else (T15).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.core.events import (
    Answered,
    Cancelled,
    Event,
    Expired,
    Reopened,
    Reported,
    Voided,
)
from bot.core.policy import (
    POSITIVE,
    Decision,
    Facts,
    Person,
    Rule,
    Verdict,
    groups_of,
    may_answer,
    may_report,
)
from bot.core.run import Slot, Stage
from bot.engine.asking import approvers_among, direct_places, gate_prompt
from bot.engine.parts import Parts, committed, redefined, unchanged
from bot.engine.reading import asked, card_view
from bot.engine.transition import Cause, Lost, apply, label
from bot.ports import (
    AuditRow,
    CallRow,
    CardView,
    MessageRow,
    RequestRow,
    RunRow,
    Tx,
    VoteRow,
)


@dataclass(frozen=True, kw_only=True)
class Click:
    """A verified click, as far as deciding needs it."""

    user: str
    ref: str  # of a request, a call or a run, depending on the decision
    decision: str
    channel: str  # where the card is that was clicked
    ts: str
    ours: bool  # the card was posted by this app
    private: bool = False  # it was a private reply: drawn for that person, never kept
    lookups: float = 1.2  # seconds for finding people out
    deadline: float | None = None  # monotonic: when the write must have begun


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What became of a click: a code ("" = it counted), and what it is about."""

    code: str = ""
    view: CardView | None = None
    run: str = ""  # to be looked at


UNKNOWN = Reply(code="unknown_request")


async def answer(parts: Parts, click: Click, decision: Decision) -> Reply:
    """A click on a control of a request's card."""
    found = await parts.store.read(lambda tx: _find(parts, tx, click))
    if found is None:
        return await unknown(parts, click)
    request, call = found
    groups = groups_of([request.rule, parts.rule(call.tool)])
    facts = await parts.people.facts([click.user], sorted(groups), click.lookups)
    unit = _Answering(parts=parts, click=click, decision=decision, facts=facts)
    try:
        return await committed(parts, unit, click.deadline)
    except Lost:
        return await committed(parts, unit, click.deadline)


async def cancel(parts: Parts, click: Click) -> Reply:
    """A click on *Cancel run*."""

    def find(tx: Tx) -> tuple[RunRow, list[CallRow]] | None:
        run = parts.store.run(tx, parts.tenant, click.ref)
        if run is None:
            return None
        return run, parts.store.calls(tx, run.id, run.state.turn)

    def unit(tx: Tx, facts: Facts) -> Reply:
        found = find(tx)
        if found is None:
            return UNKNOWN
        run, calls = found
        view = card_view(parts, tx, run.id)
        now = parts.clock.now()
        if not _placed(parts, tx, click, run.id):
            return _refuse(parts, tx, click, view, "wrong_message", now)
        if run.state.stage is Stage.ENDED or run.state.cancelled:
            code = "cancelled" if run.state.cancelled else "ended"
            return _refuse(parts, tx, click, view, code, now)
        verdict = _may_steer([c.rule for c in calls], run, click.user, facts, parts)
        if not verdict.ok:
            return _refuse(parts, tx, click, view, verdict.code, now)
        name = facts.people[click.user].name
        run = replace(
            run, cancelled_by=click.user, cancelled_name=name, cancelled_at=now
        )
        cause = Cause(actor=click.user, name=name)
        apply(parts, tx, run, Cancelled(), cause, now)
        return Reply(view=card_view(parts, tx, run.id), run=run.id)

    found = await parts.store.read(find)
    if found is None:
        return await unknown(parts, click)
    rules = [call.rule for call in found[1]]
    return await _steered(parts, click, rules, unit)


async def report(parts: Parts, click: Click) -> Reply:
    """A click on *It ran*, *It did not run* or *Run again, asks anew*."""
    found = await parts.store.read(
        lambda tx: parts.store.call_by_ref(tx, parts.tenant, click.ref)
    )
    if found is None:
        return await unknown(parts, click)

    def unit(tx: Tx, facts: Facts) -> Reply:
        call = parts.store.call_by_ref(tx, parts.tenant, click.ref)
        run = parts.store.run(tx, parts.tenant, call.run) if call else None
        if call is None or run is None:
            return UNKNOWN
        view = card_view(parts, tx, run.id)
        now = parts.clock.now()
        if not _placed(parts, tx, click, run.id):
            return _refuse(parts, tx, click, view, "wrong_message", now)
        current = call.turn == run.state.turn
        if not current or run.state.call(call.ordinal).slot is not Slot.UNKNOWN:
            return _refuse(parts, tx, click, view, "outcome_known", now)
        verdict = _may_steer([call.rule], run, click.user, facts, parts)
        if not verdict.ok:
            return _refuse(parts, tx, click, view, verdict.code, now)
        return _report(parts, tx, click, run, call, facts, now)

    return await _steered(parts, click, [found.rule, parts.rule(found.tool)], unit)


def _report(
    parts: Parts,
    tx: Tx,
    click: Click,
    run: RunRow,
    call: CallRow,
    facts: Facts,
    now: int,
) -> Reply:
    name = facts.people[click.user].name
    cause = Cause(actor=click.user, name=name, audit={"reported": click.decision})
    event: Event
    if click.decision == "again":
        rule = parts.rule(call.tool)
        if rule is None or rule.gate == "deny" or run.state.cancelled:
            view = card_view(parts, tx, run.id)
            return _refuse(parts, tx, click, view, "cannot_run_again", now)
        # The same call under today's rule and tool: a new digest to agree to.
        call = redefined(parts, call, rule, run.requester)
        parts.store.save_call(tx, call)
        people = approvers_among(rule, facts, run.requester)
        cause = replace(cause, places=direct_places(rule, people))
        gate = gate_prompt(call.tool) if rule.gate == "ask" else None
        event = Reopened(ordinal=call.ordinal, gate=gate)
    else:
        ran = click.decision == "ran"
        event = Reported(ordinal=call.ordinal, ran=ran, by=name or click.user)
    apply(parts, tx, run, event, cause, now)
    return Reply(view=card_view(parts, tx, run.id), run=run.id)


# -- the write of an answer ---------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Answering:
    """The unit of work of one answer; may be run again from the start."""

    parts: Parts
    click: Click
    decision: Decision
    facts: Facts

    def __call__(self, tx: Tx) -> Reply:
        parts, click = self.parts, self.click
        found = _find(parts, tx, click)
        if found is None:
            return UNKNOWN
        request, call = found
        now = parts.clock.now()
        view = card_view(parts, tx, request.run, request.ref)
        if not _on_its_card(parts, tx, click, request):
            return self._elsewhere(tx, view, now)
        voted = next((v for v in view.votes if self._is_theirs(v, request)), None)
        if voted is not None and voted.decision == self.decision:
            return _refuse(parts, tx, click, view, "duplicate_vote", now)
        verdict = may_answer(
            asked(request, view.run),
            parts.rule(call.tool),
            self.decision,
            click.user,
            self.facts,
            now,
        )
        if verdict.ok and not unchanged(parts, request, call, view.run.requester):
            verdict = Verdict(ok=False, code="void_changed")
        if not verdict.ok:
            return self._refused(tx, view, request, verdict.code, now)
        return self._counted(tx, view, request, verdict, now)

    def _is_theirs(self, vote: VoteRow, request: RequestRow) -> bool:
        person = self.facts.people.get(self.click.user)
        same = vote.user == self.click.user
        return vote.request == request.ref and (
            same or (person is not None and vote.person == person.key)
        )

    def _elsewhere(self, tx: Tx, view: CardView, now: int) -> Reply:
        """A copy that is not the card: never counted; ours loses its controls (T23)."""
        stray = self.click.ours and _neutralised(self.parts, tx, self.click, now)
        cards = [m for m in view.messages if m.kind == "request"]
        here = any(self.click.channel in (m.channel, m.destination) for m in cards)
        code = "superseded" if stray and here else "wrong_message"
        return _refuse(self.parts, tx, self.click, view, code, now)

    def _refused(
        self, tx: Tx, view: CardView, request: RequestRow, code: str, now: int
    ) -> Reply:
        """Refuse; when the time or the policy has run out, the run learns it too."""
        event: Event | None = None
        if request.status == "open" and code == "expired":
            event = Expired(request=request.number)
        elif request.status == "open" and code == "void_changed":
            event = Voided(ordinal=request.ordinal)
        if event is not None:
            apply(self.parts, tx, view.run, event, Cause(), now)
        reply = _refuse(self.parts, tx, self.click, view, code, now)
        fresh = card_view(self.parts, tx, request.run, request.ref)
        return replace(reply, view=fresh, run=request.run if event else "")

    def _counted(
        self, tx: Tx, view: CardView, request: RequestRow, verdict: Verdict, now: int
    ) -> Reply:
        person: Person = self.facts.people[self.click.user]
        vote = VoteRow(
            request=request.ref,
            person=person.key,
            user=person.user,
            name=person.name,
            decision=self.decision,
            at=now,
            self_approved=verdict.self_approved,
        )
        if not self.parts.store.add_vote(tx, vote):
            return _refuse(self.parts, tx, self.click, view, "duplicate_vote", now)
        audit: dict[str, object] = {"decision": self.decision}
        if verdict.self_approved:
            audit["self"] = True
        cause = Cause(actor=person.user, name=person.name, audit=audit)
        event = Answered(request=request.number, ok=self.decision in POSITIVE)
        apply(self.parts, tx, view.run, event, cause, now)
        fresh = card_view(self.parts, tx, request.run, request.ref)
        return Reply(view=fresh, run=request.run)


# -- what they share ----------------------------------------------------------------


def _find(parts: Parts, tx: Tx, click: Click) -> tuple[RequestRow, CallRow] | None:
    request = parts.store.request(tx, parts.tenant, click.ref)
    if request is None:
        return None
    calls = parts.store.calls(tx, request.run, request.turn)
    return request, next(c for c in calls if c.ordinal == request.ordinal)


def _on_its_card(parts: Parts, tx: Tx, click: Click, request: RequestRow) -> bool:
    """Whether the click is on a card that we know for this request (T23)."""
    at = parts.store.message_at(tx, parts.tenant, click.channel, click.ts)
    if at is not None:
        return at.kind == "request" and at.request == request.ref
    if not click.ours:
        return False
    for card in parts.store.messages(tx, request.run):
        meant_here = card.destination in (click.channel, click.user)
        unrecorded = not card.ts and card.intent_at is not None
        this_one = card.request == request.ref and card.kind == "request"
        if this_one and meant_here and unrecorded:
            adopted = replace(card, channel=click.channel, ts=click.ts, sent=0)
            parts.store.save_message(tx, replace(adopted, intent_at=None))
            return True
    return False


def _placed(parts: Parts, tx: Tx, click: Click, run: str) -> bool:
    """Whether the click is on a card of this run, or on a private list of it."""
    if click.private:
        return True
    at = parts.store.message_at(tx, parts.tenant, click.channel, click.ts)
    if at is not None:
        return at.run == run and at.kind in ("request", "run")
    if click.ours:
        _neutralised(parts, tx, click, parts.clock.now())
    return False


def _may_steer(
    rules: list[Rule], run: RunRow, user: str, facts: Facts, parts: Parts
) -> Verdict:
    verdicts = [
        may_report(rule, run.requester, user, facts, parts.tenant.team)
        for rule in rules
    ]
    return next((v for v in verdicts if not v.ok), Verdict(ok=True))


async def _steered(
    parts: Parts,
    click: Click,
    rules: list[Rule | None] | list[Rule],
    unit: Callable[[Tx, Facts], Reply],
) -> Reply:
    groups = sorted(groups_of(rules))
    facts = await parts.people.facts([click.user], groups, click.lookups)
    return await committed(parts, lambda tx: unit(tx, facts), click.deadline)


def _refuse(
    parts: Parts, tx: Tx, click: Click, view: CardView, code: str, now: int
) -> Reply:
    """One audit row, and the card that was clicked is drawn anew: it may be stale."""
    row = AuditRow(
        action=f"refused {code}",
        actor=click.user,
        request=view.request.ref if view.request else view.run.id,
        label=label(view.run, view.request),
        body={"decision": click.decision},
    )
    parts.store.audit(tx, parts.tenant, row, now)
    closed = view.request is not None and view.request.status != "open"
    if closed or view.run.ended_at is not None:
        parts.store.redraw(tx, view.run.id, None, now)
    return Reply(code=code, view=view)


def _neutralised(parts: Parts, tx: Tx, click: Click, now: int) -> bool:
    """Take the controls off a message of ours that is no card; False when it is one."""
    if not click.channel or not click.ts:
        return False
    at = parts.store.message_at(tx, parts.tenant, click.channel, click.ts)
    if at is None:
        row = MessageRow(
            tenant=parts.tenant,
            kind="neutral",
            channel=click.channel,
            ts=click.ts,
            due_at=now,
        )
        parts.store.add_message(tx, row)
    elif at.kind == "neutral":
        again = replace(at, wanted=at.wanted + 1, due_at=now, state="live")
        parts.store.save_message(tx, again)
    return at is None or at.kind == "neutral"


async def unknown(parts: Parts, click: Click) -> Reply:
    """A click that leads to nothing: audited, and a stray card of ours neutralised."""

    def unit(tx: Tx) -> Reply:
        now = parts.clock.now()
        row = AuditRow(
            action="refused unknown_request",
            actor=click.user,
            body={"decision": click.decision},
        )
        parts.store.audit(tx, parts.tenant, row, now)
        known = parts.store.message_at(tx, parts.tenant, click.channel, click.ts)
        if known is not None and known.run:
            parts.store.redraw(tx, known.run, None, now)
        elif click.ours and not click.private:
            _neutralised(parts, tx, click, now)
        return UNKNOWN

    return await committed(parts, unit, click.deadline)
