"""A person starts a direct run: may they, can it be asked, and then one durable write.

Nothing is stored before every check has passed; what is refused is a `Refused` with
its code, worded elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bot.contract.types import Tool
from bot.core.digest import NotCanonical, arguments_digest
from bot.core.events import Effect, Planned, Started
from bot.core.machine import begin
from bot.core.policy import Facts, Needs, Person, Rule, may_start
from bot.core.run import DURABLE, Run, Stage
from bot.engine.approvers import (
    MOST_DIRECT,
    approvers_among,
    facts_about,
    places_for,
)
from bot.engine.asking import ensure_run_card, gate_prompt, gate_question, preview
from bot.engine.parts import Parts, acting, committed, complete, definition, new_ref
from bot.engine.reading import card_view
from bot.engine.transition import Cause, save
from bot.ports import AuditRow, CallRow, CardView, MessageRow, RunRow, Tx

#: A call that ends, or asks, within this time needs no card that says it has begun.
QUICK = 1500  # milliseconds


#: The same call within this time is said to be the same, among so many latest runs.
SAME_WITHIN, SAME_AMONG = 60_000, 10  # milliseconds, runs


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What somebody asks to be run."""

    requester: str
    channel: str
    tool: Tool
    arguments: Mapping[str, Any]
    delivery: str  # names this command; delivered twice, it starts one run (T7)


@dataclass(frozen=True, kw_only=True)
class Begun:
    """The run exists; `again` when this very command had started it before."""

    view: CardView
    again: bool = False
    like: tuple[int, int] | None = None  # number and age in ms of the same, just begun


@dataclass(frozen=True, kw_only=True)
class Refused:
    """Nothing was started, and why."""

    code: str
    tool: str = ""
    rule: Rule | None = None
    text: str = ""  # of what does not fit


async def start(
    parts: Parts, wanted: Wanted, lookups: float, deadline: float
) -> Begun | Refused:
    """Start one direct call.

    `lookups` is how many seconds finding people out may take; `deadline` the
    monotonic time by which the write must have begun.
    """
    rule = parts.rule(wanted.tool.name)
    named = [who.user for who in (rule.approvers if rule else ()) if who.user]
    users = [wanted.requester, *named[:MOST_DIRECT]]
    facts = await facts_about(parts, users, [rule], lookups)
    verdict = may_start(rule, wanted.requester, facts, parts.tenant.team)
    if rule is None or not verdict.ok:
        await _note_refusal(parts, wanted, verdict.code, deadline)
        return Refused(code=verdict.code, tool=wanted.tool.name, rule=rule)
    try:
        arguments = complete(wanted.tool, wanted.arguments)
    except NotCanonical as error:
        return Refused(code="not_canonical", tool=wanted.tool.name, text=str(error))
    approvers = approvers_among(rule, facts, wanted.requester)
    if rule.gate == "ask" and approvers == ():
        return Refused(code="no_approver", tool=wanted.tool.name, rule=rule)
    draft = _Draft(parts=parts, wanted=wanted, rule=rule, facts=facts)
    unfit = draft.unfit(arguments) if rule.gate == "ask" else None
    if unfit:
        return Refused(code="too_big", tool=wanted.tool.name, rule=rule, text=unfit)
    places = places_for(rule, approvers)

    def unit(tx: Tx) -> Begun:
        return draft.write(tx, arguments, places)

    return await committed(parts, unit, deadline)


@dataclass(frozen=True, kw_only=True)
class WantedRun:
    """A run of the model that somebody asks for, in words."""

    requester: str
    channel: str
    words: str
    delivery: str
    thread: str = ""  # ts of the thread in which it was asked for


#: Who may start a run: every full member; its calls have rules of their own.
ANYBODY = Rule(name="a run of the model", gate="allow")
#: How much may be asked for at once, in characters.
MOST_WORDS = 3_000


async def start_run(
    parts: Parts, wanted: WantedRun, lookups: float, deadline: float
) -> Begun | Refused:
    """Start a run of the model; its first turn is asked for afterwards."""
    if parts.model is None:
        return Refused(code="no_model")
    if len(wanted.words) > MOST_WORDS:
        return Refused(code="too_many_words", text=f"{len(wanted.words):,}")
    facts = await parts.people.facts([wanted.requester], Needs(), lookups)
    verdict = may_start(ANYBODY, wanted.requester, facts, parts.tenant.team)
    if not verdict.ok:
        return Refused(code=verdict.code)
    id, first = new_ref(), parts.model.first(wanted.words)
    person = facts.people[wanted.requester]

    def unit(tx: Tx) -> Begun:
        return _begun(parts, tx, wanted, id, person, first)

    return await committed(parts, unit, deadline)


def _begun(
    parts: Parts,
    tx: Tx,
    wanted: WantedRun,
    id: str,
    person: Person,
    first: list[dict[str, Any]],
) -> Begun:
    store, now = parts.store, parts.clock.now()
    if wanted.delivery:
        earlier = store.first_time(tx, parts.tenant, wanted.delivery, now)
        if earlier is not None:
            return Begun(view=card_view(parts, tx, earlier), again=True)
        store.remember(tx, parts.tenant, wanted.delivery, id)
    state, effects = begin(DURABLE, Started())
    row = RunRow(
        id=id,
        number=store.next_number(tx, parts.tenant),
        tenant=parts.tenant,
        requester=wanted.requester,
        requester_name=person.name,
        requester_key=person.key,
        channel=wanted.channel,
        words=wanted.words,
        state=state,
        created_at=now,
        thread=wanted.thread,
    )
    store.add_run(tx, row)
    store.add_transcript(tx, row, first)
    audit = AuditRow(
        action="started", actor=row.requester, request=row.id, label=f"CS-{row.number}"
    )
    store.audit(tx, parts.tenant, audit, now)
    save(parts, tx, row, state, effects, Cause(actor=row.requester), now)
    ensure_run_card(parts, tx, row, now)
    if row.thread:
        link = MessageRow(
            tenant=parts.tenant,
            kind="news",
            run=row.id,
            due_at=now,
            body={"what": "link"},
        )
        store.add_message(tx, link)
    return Begun(view=card_view(parts, tx, id))


async def _note_refusal(
    parts: Parts, wanted: Wanted, code: str, deadline: float
) -> None:
    row = AuditRow(
        action=f"refused {code}",
        actor=wanted.requester,
        body={"tool": wanted.tool.name},
    )
    now = parts.clock.now()
    await committed(
        parts, lambda tx: parts.store.audit(tx, parts.tenant, row, now), deadline
    )


@dataclass(frozen=True, kw_only=True)
class _Draft:
    """A run about to be written."""

    parts: Parts
    wanted: Wanted
    rule: Rule
    facts: Facts
    id: str = field(default_factory=new_ref)

    def unfit(self, arguments: str) -> str | None:
        now = self.parts.clock.now()
        call = self._call(arguments)
        # The number is not known yet; any number of this length takes the same room.
        run = self._run(999_999, begin(DURABLE, self._started(arguments))[0], now)
        view = preview(self.parts, run, call, gate_question(call, now), True, now)
        return self.parts.courier.unfit(view)

    def write(self, tx: Tx, arguments: str, places: tuple[str, ...]) -> Begun:
        parts, store = self.parts, self.parts.store
        now = parts.clock.now()
        earlier = store.first_time(tx, parts.tenant, self.wanted.delivery, now)
        if earlier is not None:
            return Begun(view=card_view(parts, tx, earlier), again=True)
        store.remember(tx, parts.tenant, self.wanted.delivery, self.id)
        number = store.next_number(tx, parts.tenant)
        like = self._like(tx, arguments, now)
        state, effects = begin(DURABLE, self._started(arguments))
        blank = Run(rules=DURABLE, model=False, stage=Stage.WORKING, turn=1)
        row = self._run(number, blank, now)
        store.add_run(tx, row)
        store.add_call(tx, self._call(arguments))
        self._save(tx, row, state, effects, places, now)
        return Begun(view=card_view(parts, tx, self.id), like=like)

    def _like(self, tx: Tx, arguments: str, now: int) -> tuple[int, int] | None:
        """The same call, begun by the same person a moment ago and not ended (T7)."""
        store = self.parts.store
        recent = store.runs_of(tx, self.parts.tenant, self.wanted.requester, SAME_AMONG)
        for run in recent:
            if run.ended_at is not None or now - run.created_at > SAME_WITHIN:
                continue
            for call in store.calls(tx, run.id, run.state.turn):
                if (call.tool, call.arguments) == (self.wanted.tool.name, arguments):
                    return run.number, now - run.created_at
        return None

    def _save(
        self,
        tx: Tx,
        row: RunRow,
        state: Run,
        effects: tuple[Effect, ...],
        places: tuple[str, ...],
        now: int,
    ) -> None:
        parts = self.parts
        cause = Cause(actor=row.requester, name=row.requester_name, places={1: places})
        word = "ungated" if self.rule.gate == "allow" else "started"
        audit = AuditRow(
            action=word,
            actor=row.requester,
            request=row.id,
            label=f"CS-{row.number}",
            body={"tool": self.wanted.tool.name, "rule": self.rule.name},
        )
        parts.store.audit(tx, parts.tenant, audit, now)
        row = save(parts, tx, row, state, effects, cause, now)
        if self.rule.gate == "allow":
            ensure_run_card(parts, tx, row, now + QUICK)

    def _started(self, arguments: str) -> Started:
        name = self.wanted.tool.name
        gate = gate_prompt(name) if self.rule.gate == "ask" else None
        return Started(calls=(Planned(tool=name, arguments=arguments, gate=gate),))

    def _run(self, number: int, state: Run, now: int) -> RunRow:
        person = self.facts.people[self.wanted.requester]
        return RunRow(
            id=self.id,
            number=number,
            tenant=self.parts.tenant,
            requester=self.wanted.requester,
            requester_name=person.name,
            requester_key=person.key,
            channel=self.wanted.channel,
            words=self.wanted.tool.name,
            state=state,
            created_at=now,
        )

    def _call(self, arguments: str) -> CallRow:
        tool = self.wanted.tool
        return CallRow(
            run=self.id,
            turn=1,
            ordinal=1,
            tool=tool.name,
            arguments=arguments,
            arguments_digest=arguments_digest(arguments),
            definition=definition(tool),
            acting=acting(tool, self.wanted.requester),
            rule=self.rule,
            ref=new_ref(),
            idempotent=tool.traits.idempotent,
        )
