"""Clicks that steer a run: cancel it, or say how a call of unknown outcome ended.

The requester and the approvers may do so. Like every click: rows read, people looked
up, then one write that decides from the rows as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bot.core.digest import parsed
from bot.core.events import Cancelled, Event, Reopened, Reported
from bot.core.policy import (
    Facts,
    Rule,
    Verdict,
    may_report,
    may_start,
    needs_of,
)
from bot.core.run import Slot, Stage
from bot.engine.approvers import approvers_among, facts_about, places_for
from bot.engine.asking import gate_prompt
from bot.engine.clicks import (
    UNKNOWN,
    Click,
    Reply,
    adopted,
    neutralised,
    refuse,
    unknown,
)
from bot.engine.parts import Parts, acting, committed, complete, definition
from bot.engine.reading import card_view
from bot.engine.transition import Cause, apply, note
from bot.ports import CallRow, RunRow, Tx


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
            return refuse(parts, tx, click, view, "wrong_message", now)
        if run.state.stage is Stage.ENDED or run.state.cancelled:
            code = "cancelled" if run.state.cancelled else "ended"
            return refuse(parts, tx, click, view, code, now)
        verdict = _may_steer([c.rule for c in calls], run, click.user, facts, parts)
        if not verdict.ok:
            return refuse(parts, tx, click, view, verdict.code, now)
        name = facts.people[click.user].name
        run = replace(
            run, cancelled_by=click.user, cancelled_name=name, cancelled_at=now
        )
        cause = Cause(actor=click.user, name=name)
        note(parts, tx, run, "cancel", cause, now)
        apply(parts, tx, run, Cancelled(), cause, now)
        return Reply(view=card_view(parts, tx, run.id), run=run.id)

    found = await parts.store.read(find)
    if found is None:
        return await unknown(parts, click)
    rules = [call.rule for call in found[1]]
    return await _steered(parts, click, [click.user], rules, unit)


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
            return refuse(parts, tx, click, view, "wrong_message", now)
        current = call.turn == run.state.turn
        if not current or run.state.call(call.ordinal).slot is not Slot.UNKNOWN:
            return refuse(parts, tx, click, view, "outcome_known", now)
        verdict = _may_steer([call.rule], run, click.user, facts, parts)
        if not verdict.ok:
            return refuse(parts, tx, click, view, verdict.code, now)
        return _report(parts, tx, click, run, call, facts, now)

    run = await parts.store.read(
        lambda tx: parts.store.run(tx, parts.tenant, found.run)
    )
    people = [click.user, *([run.requester] if run is not None else [])]
    rules = [found.rule, parts.rule(found.tool)]
    return await _steered(parts, click, people, rules, unit)


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
    note(parts, tx, run, f"says {click.decision}", cause, now, call)
    if click.decision == "again":
        rule = _rule_again(parts, click, run, call, facts)
        if rule is None:
            view = card_view(parts, tx, run.id)
            return refuse(parts, tx, click, view, "cannot_run_again", now)
        # The same call under today's rule: a new digest to agree to.
        call = replace(call, rule=rule)
        parts.store.save_call(tx, call)
        people = approvers_among(rule, facts, run.requester)
        cause = replace(cause, places={call.ordinal: places_for(rule, people)})
        prompt = gate_prompt(call.tool, call.execution)
        gate = prompt if rule.gate == "ask" else None
        event = Reopened(ordinal=call.ordinal, gate=gate)
    else:
        ran = click.decision == "ran"
        event = Reported(ordinal=call.ordinal, ran=ran, by=name or click.user)
    apply(parts, tx, run, event, cause, now)
    return Reply(view=card_view(parts, tx, run.id), run=run.id)


def _rule_again(
    parts: Parts, click: Click, run: RunRow, call: CallRow, facts: Facts
) -> Rule | None:
    """Today's rule, when this very call may be run again under it.

    Not when the tool changed: what it would do with these arguments was never shown.
    Without a gate in front nobody else agrees, so only whoever asked may say so.
    """
    rule, tool = parts.rule(call.tool), parts.tool(call.tool)
    if rule is None or tool is None or run.state.cancelled:
        return None
    same = definition(tool) == call.definition
    if not same or complete(tool, parsed(call.arguments)) != call.arguments:
        return None
    if acting(tool, run.requester) != call.acting:
        return None
    if rule.gate == "allow" and click.user != run.requester:
        return None
    started = may_start(rule, run.requester, facts, parts.tenant.team)
    return rule if started.ok else None


# -- what they share


def _placed(parts: Parts, tx: Tx, click: Click, run: str) -> bool:
    """Whether the click is on a card of this run, or on what one person alone sees."""
    if click.private or click.home:
        return True
    at = parts.store.message_at(tx, parts.tenant, click.channel, click.ts)
    if at is not None:
        return at.run == run and at.kind in ("request", "run")
    kinds = ("run",) if click.decision == "cancel" else ("run", "request")
    cards = [m for m in parts.store.messages(tx, run) if m.kind in kinds]
    if adopted(parts, tx, click, cards):
        return True
    if click.ours:
        neutralised(parts, tx, click, parts.clock.now())
    return False


def _may_steer(
    rules: list[Rule], run: RunRow, user: str, facts: Facts, parts: Parts
) -> Verdict:
    # Before a run has calls, it concerns nobody but whoever asked.
    rules = rules or [Rule(name="no call yet", gate="deny")]
    verdicts = [
        may_report(rule, run.requester, user, facts, parts.tenant.team)
        for rule in rules
    ]
    return next((v for v in verdicts if not v.ok), Verdict(ok=True))


async def _steered(
    parts: Parts,
    click: Click,
    people: list[str],
    rules: list[Rule | None] | list[Rule],
    unit: Callable[[Tx, Facts], Reply],
) -> Reply:
    if click.decision == "again":
        facts = await facts_about(parts, people, rules, click.lookups)
    else:
        facts = await parts.people.facts(people, needs_of(rules), click.lookups)
    return await committed(parts, lambda tx: unit(tx, facts), click.deadline)
