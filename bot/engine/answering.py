"""One click in: who, on which card, with which decision; one durable write; a reply.

The order is the promise (design §7): read the rows, look people up under one deadline,
then decide again from the rows as they are inside the one write that records the vote,
settles the request, moves the run and queues the cards. Every refusal is an audit row
and changes nothing. Answers come from here and from nowhere else (T15).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.core.events import Answered, Event, Expired, Voided
from bot.core.machine import words
from bot.core.policy import (
    POSITIVE,
    Decision,
    Facts,
    Person,
    Verdict,
    may_answer,
    needs_of,
)
from bot.engine.clicks import (
    UNKNOWN,
    Click,
    Reply,
    adopted,
    neutralised,
    refuse,
    unknown,
)
from bot.engine.parts import Parts, committed, unchanged
from bot.engine.reading import asked, card_view
from bot.engine.transition import Cause, Lost, apply
from bot.ports import CallRow, CardView, RequestRow, Tx, VoteRow


async def answer(parts: Parts, click: Click, decision: Decision) -> Reply:
    """A click on a control of a request's card, or the submission of our own form."""
    return await _decided(parts, click, decision, counts=True)


async def considered(parts: Parts, click: Click, decision: Decision) -> Reply:
    """A click on a control that opens a form: would its answer be taken now?

    Nothing is counted; a refusal is one all the same. What the form brings is asked
    everything again (T14).
    """
    return await _decided(parts, click, decision, counts=False)


async def turned_away(parts: Parts, click: Click, code: str) -> Reply:
    """A form that is not for its sender, or not for this request: never counted."""

    def unit(tx: Tx) -> Reply | None:
        found = _find(parts, tx, click)
        if found is None:
            return None
        view = card_view(parts, tx, found[0].run, found[0].ref)
        return refuse(parts, tx, click, view, code, parts.clock.now())

    return await committed(parts, unit, click.deadline) or await unknown(parts, click)


async def _decided(
    parts: Parts, click: Click, decision: Decision, *, counts: bool
) -> Reply:
    found = await parts.store.read(lambda tx: _find(parts, tx, click))
    if found is None:
        return await unknown(parts, click)
    request, call = found
    needs = needs_of([request.rule, parts.rule(call.tool)])
    facts = await parts.people.facts([click.user], needs, click.lookups)
    unit = _Answering(
        parts=parts, click=click, decision=decision, facts=facts, counts=counts
    )
    try:
        return await committed(parts, unit, click.deadline)
    except Lost:
        return await committed(parts, unit, click.deadline)


# -- the write of an answer ---------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Answering:
    """The unit of work of one answer; may be run again from the start."""

    parts: Parts
    click: Click
    decision: Decision
    facts: Facts
    counts: bool

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
            return refuse(parts, tx, click, view, "duplicate_vote", now)
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
        if not self.counts:
            return Reply(view=view)
        return self._counted(tx, view, request, verdict, now)

    def _is_theirs(self, vote: VoteRow, request: RequestRow) -> bool:
        person = self.facts.people.get(self.click.user)
        same = vote.user == self.click.user
        return vote.request == request.ref and (
            same or (person is not None and vote.person == person.key)
        )

    def _elsewhere(self, tx: Tx, view: CardView, now: int) -> Reply:
        """A copy that is not the card: never counted; ours loses its controls (T23)."""
        stray = self.click.ours and neutralised(self.parts, tx, self.click, now)
        cards = [m for m in view.messages if m.kind == "request"]
        here = any(self.click.channel in (m.channel, m.destination) for m in cards)
        code = "superseded" if stray and here else "wrong_message"
        return refuse(self.parts, tx, self.click, view, code, now)

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
        reply = refuse(self.parts, tx, self.click, view, code, now)
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
            return refuse(self.parts, tx, self.click, view, "duplicate_vote", now)
        audit: dict[str, object] = {"decision": self.decision}
        if verdict.self_approved:
            audit["self"] = True
        why = self.click.reason
        if why:
            audit["reason"] = why
        cause = Cause(actor=person.user, name=person.name, reason=why, audit=audit)
        event = Answered(
            request=request.number,
            ok=self.decision in POSITIVE,
            words=words(person.user, why) if why else "",
        )
        apply(self.parts, tx, view.run, event, cause, now)
        fresh = card_view(self.parts, tx, request.run, request.ref)
        return Reply(view=fresh, run=request.run)


# -- which card


def _find(parts: Parts, tx: Tx, click: Click) -> tuple[RequestRow, CallRow] | None:
    request = parts.store.request(tx, parts.tenant, click.ref)
    if request is None:
        return None
    calls = parts.store.calls(tx, request.run, request.turn)
    return request, next(c for c in calls if c.ordinal == request.ordinal)


def _on_its_card(parts: Parts, tx: Tx, click: Click, request: RequestRow) -> bool:
    """Whether the click is on a card that we know for this request, or in a form or
    a Home tab of this very person (T23)."""
    if click.form or click.home:
        return True
    at = parts.store.message_at(tx, parts.tenant, click.channel, click.ts)
    if at is not None:
        return at.kind == "request" and at.request == request.ref
    cards = [
        card
        for card in parts.store.messages(tx, request.run)
        if card.kind == "request" and card.request == request.ref
    ]
    return adopted(parts, tx, click, cards)
