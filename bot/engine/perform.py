"""One call carried out: consent looked at once more, claimed, entered, recorded.

The order that must hold (T62): the claim is committed before the tool is entered, the
result is committed before anybody is told. A claim without a result is found by the
runner and becomes *outcome unknown*; nothing here ever enters a tool twice for one
claim.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Any

import structlog

from bot.contract.suspend import pending_of
from bot.contract.types import (
    Answer,
    Request,
    RunContext,
    Tool,
    ToolContext,
    ToolResult,
)
from bot.core.digest import NotCanonical, arguments_digest, canonical, parsed
from bot.core.events import CallTool, Entering, Event, Returned, Suspended, Voided
from bot.core.policy import by_approvers, needs_of, still_eligible
from bot.engine.approvers import approvers_among, facts_about, places_for
from bot.engine.asking import Question, digest_of_question, expiry_of, preview
from bot.engine.parts import Parts, acting, definition, unchanged
from bot.engine.reading import asked
from bot.engine.transition import Cause, apply
from bot.errors import StoreError
from bot.ports import CallRow, RequestRow, RunRow, Tx

log = structlog.get_logger(__name__)

#: Nothing to be learned about the voters: look again after the time that has passed
#: since the decision, within these bounds, in milliseconds.
SHORTEST_WAIT, LONGEST_WAIT = 5_000, 60_000
#: How many seconds one look at the voters may take.
LOOKUPS = 10.0
#: How much of a tool's output is kept, in characters.
KEPT_OUTPUT = 64 * 1024
#: A result is written again and again until it is kept; so many seconds apart.
RESULT_RETRY = 1.0


@dataclass(frozen=True, kw_only=True)
class _Standing:
    """A call about to be entered, and the requests by which people agreed to it."""

    run: RunRow
    call: CallRow
    consents: tuple[RequestRow, ...]
    voters: tuple[tuple[RequestRow, str], ...]
    answers: tuple[RequestRow, ...]  # its own, answered with yes, oldest first


@dataclass(frozen=True, kw_only=True)
class _Claimed:
    """A committed claim."""

    standing: _Standing
    tool: Tool
    execution: int  # of this call
    name: str  # the execution's id


async def enter(parts: Parts, run_id: str, ordinal: int) -> bool:
    """Carry out a call that may be entered now; False means: look again later."""
    standing = await parts.store.read(lambda tx: _standing(parts, tx, run_id, ordinal))
    if standing is None:
        return True
    code = await _consent_now(parts, standing)
    if code is None:
        return await _put_off(parts, standing)

    def unit(tx: Tx) -> _Claimed | None:
        return _claim(parts, tx, run_id, ordinal, code)

    claimed = await parts.store.write(unit)
    if claimed is not None:
        await _execute(parts, claimed)
    return True


# -- before: is the consent still good? ---------------------------------------------


def _standing(parts: Parts, tx: Tx, run_id: str, ordinal: int) -> _Standing | None:
    run = parts.store.run(tx, parts.tenant, run_id)
    if run is None:
        return None
    state = run.state.call(ordinal)
    calls = parts.store.calls(tx, run_id, run.state.turn)
    requests = {r.number: r for r in parts.store.requests(tx, run_id)}
    answers = tuple(requests[number] for number in state.answers)
    agreed = [requests[state.consent]] if state.consent is not None else []
    consents = [*agreed, *(r for r in answers if by_approvers(r.kind))]
    voters = [(r, v.user) for r in consents for v in parts.store.votes(tx, r.ref)]
    return _Standing(
        run=run,
        call=next(c for c in calls if c.ordinal == ordinal),
        consents=tuple(consents),
        voters=tuple(voters),
        answers=answers,
    )


async def _consent_now(parts: Parts, standing: _Standing) -> str | None:
    """ "" while every vote still counts, else the code; None: nobody could say."""
    if not standing.consents:
        return ""
    rule_now = parts.rule(standing.call.tool)
    needs = needs_of([rule_now, *(r.rule for r in standing.consents)])
    voted = {request.ref for request, _ in standing.voters}
    if any(request.ref not in voted for request in standing.consents):
        return "not_approver"  # agreed to by nobody that we know of
    users = sorted({user for _, user in standing.voters})
    facts = await parts.people.facts(users, needs, LOOKUPS)
    codes = [
        still_eligible(asked(request, standing.run), rule_now, user, facts).code
        for request, user in standing.voters
    ]
    refused = [code for code in codes if code and code != "identity_unverified"]
    if refused:
        return refused[0]
    return None if any(codes) else ""


async def _put_off(parts: Parts, standing: _Standing) -> bool:
    """Nobody can say about a voter: wait, until the request's expiry, then void."""

    def unit(tx: Tx) -> bool:
        run = parts.store.run(tx, parts.tenant, standing.run.id)
        if run is None:
            return True
        now = parts.clock.now()
        if any(now > request.expires_at for request in standing.consents):
            event = Voided(ordinal=standing.call.ordinal)
            apply(parts, tx, run, event, Cause(audit={"code": "unverified"}), now)
            return True
        decided = max(r.decided_at or now for r in standing.consents)
        wait = min(max(now - decided, SHORTEST_WAIT), LONGEST_WAIT)
        parts.store.save_run(tx, replace(run, wake_at=now + wait))
        return False

    return await parts.store.write(unit)


# -- the claim ----------------------------------------------------------------------


def _claim(
    parts: Parts, tx: Tx, run_id: str, ordinal: int, code: str
) -> _Claimed | None:
    """Claim the call, or void it; None when nothing is to be entered."""
    standing = _standing(parts, tx, run_id, ordinal)
    if standing is None:
        return None
    now = parts.clock.now()
    why = code or _changed(parts, standing)
    event: Event = Voided(ordinal=ordinal) if why else Entering(ordinal=ordinal)
    cause = Cause(audit={"code": why} if why else {})
    run, effects = apply(parts, tx, standing.run, event, cause, now)
    claim = next((e for e in effects if isinstance(e, CallTool)), None)
    tool = parts.tool(standing.call.tool)
    if claim is None or tool is None:
        return None
    row = next(
        c for c in parts.store.calls(tx, run_id, run.state.turn) if c.ordinal == ordinal
    )
    return _Claimed(
        standing=replace(standing, run=run, call=row),
        tool=tool,
        execution=claim.execution,
        name=row.execution,
    )


def _changed(parts: Parts, standing: _Standing) -> str:
    """Why this is not what was agreed to any more; "" when it is."""
    call, run = standing.call, standing.run
    rule, tool = parts.rule(call.tool), parts.tool(call.tool)
    if rule is None or tool is None:
        return "no_rule"
    if definition(tool) != call.definition:
        return "void_changed"
    if acting(tool, run.requester) != call.acting:
        return "void_changed"
    if arguments_digest(call.arguments) != call.arguments_digest:
        return "void_changed"
    if call.arguments != run.state.call(call.ordinal).arguments:
        return "void_changed"
    if rule.gate == "ask" and not run.state.call(call.ordinal).gated:
        return "void_changed"
    agreed = all(r.status in ("approved", "answered") for r in standing.consents)
    same = all(unchanged(parts, r, call, run.requester) for r in standing.consents)
    return "" if agreed and same else "void_changed"


# -- the tool -----------------------------------------------------------------------


async def _execute(parts: Parts, claimed: _Claimed) -> None:
    call = claimed.standing.call
    arguments = parsed(call.arguments)
    began = parts.clock.monotonic()
    if arguments_digest(canonical(arguments)) != call.arguments_digest:
        # Cannot be: the claim compared the same text. Never run on a doubt.
        result = ToolResult("not run: its arguments changed", True)
    else:
        result = await _entered(parts, claimed, arguments)
    took = int((parts.clock.monotonic() - began) * 1000)
    await _record(parts, claimed, result, took)


async def _entered(
    parts: Parts, claimed: _Claimed, arguments: dict[str, Any]
) -> ToolResult:
    """Enter the tool; whatever leaves it is a result, but for our own stopping."""
    name = claimed.standing.call.tool
    task = asyncio.current_task()
    try:
        return await parts.toolkit.execute(name, arguments, _context(claimed))
    except BaseException as error:
        # A tool may let a cancel of its own through; ours is asked of this task.
        if task is not None and task.cancelling():
            raise
        log.error("tool_left_by_exception", tool=name, error=type(error).__name__)
        return ToolResult(f"{name} was left by {type(error).__name__}", True)


def _context(claimed: _Claimed) -> ToolContext | None:
    """What the tool is given beside its arguments (design §3)."""
    standing = claimed.standing
    answers = tuple(Answer(r.tool_id, True) for r in standing.answers)
    latest = answers[-1] if answers else None
    if not claimed.tool.traits.takes_context:
        return ToolContext(answer=latest) if latest else None
    return RunContext(
        answer=latest,
        run_id=standing.run.id,
        requester=standing.run.requester,
        execution_id=claimed.name,
        # Unique for ever, also after a database was begun anew with number 1.
        idempotency_key=f"{standing.run.id}:{claimed.name}",
        answers=answers,
    )


async def _record(
    parts: Parts, claimed: _Claimed, result: ToolResult, took: int
) -> None:
    """Keep what the tool gave; until that is done nobody is told anything."""
    request = pending_of(result)
    places = await _places(parts, claimed, request)

    def unit(tx: Tx) -> None:
        run = parts.store.run(tx, parts.tenant, claimed.standing.run.id)
        if run is None:
            return
        run = replace(run, worked_ms=run.worked_ms + took)
        now = parts.clock.now()
        event, cause = _event(parts, run, claimed, result, request, now)
        cause = replace(cause, places={claimed.standing.call.ordinal: places})
        apply(parts, tx, run, event, cause, now)

    while True:
        try:
            return await parts.store.write(unit)
        except StoreError:
            log.error("result_not_kept", execution=claimed.name, exc_info=True)
            await parts.clock.sleep(RESULT_RETRY)


async def _places(
    parts: Parts, claimed: _Claimed, request: Request | None
) -> tuple[str, ...]:
    """The approvers to be asked directly, when a tool itself asks for approval."""
    rule = claimed.standing.call.rule
    if request is None or not by_approvers(request.kind) or rule.post_to:
        return ()
    facts = await facts_about(parts, [], [rule], LOOKUPS)
    people = approvers_among(rule, facts, claimed.standing.run.requester)
    return places_for(rule, people)


def _event(
    parts: Parts,
    run: RunRow,
    claimed: _Claimed,
    result: ToolResult,
    request: Request | None,
    now: int,
) -> tuple[Event, Cause]:
    call = claimed.standing.call
    ordinal, execution = call.ordinal, claimed.execution
    if request is None:
        returned = Returned(
            ordinal=ordinal,
            execution=execution,
            output=_storable(result.output),
            is_error=result.is_error,
        )
        return returned, Cause()
    why = _cannot_ask(parts, run, call, request, now)
    if why:
        refusal = Returned(
            ordinal=ordinal, execution=execution, output=why, is_error=True
        )
        return refusal, Cause()
    expires_at = expiry_of(request, call.rule, now)
    suspended = Suspended(
        ordinal=ordinal,
        execution=execution,
        prompt=request.prompt,
        question=digest_of_question(call, request),
        stale=expires_at is None,
    )
    if expires_at is None:
        return suspended, Cause()
    return suspended, Cause(question=Question(request=request, expires_at=expires_at))


def _storable(text: str) -> str:
    """A tool's words as they are kept: valid Unicode, and not too much of it."""
    kept = text[:KEPT_OUTPUT]
    if len(kept) < len(text):
        kept += f"\n… ({len(text) - len(kept):,} more characters)"
    # Half a surrogate pair can be kept nowhere.
    return kept.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _cannot_ask(
    parts: Parts, run: RunRow, call: CallRow, request: Request, now: int
) -> str:
    """Why a tool's own request cannot be asked, or shown in full; "" when it can."""
    if by_approvers(request.kind) and not call.rule.approvers:
        return "not asked: nobody can approve this, its rule names no approvers"
    try:
        canonical([request.kind, request.prompt, request.url, request.data])
    except NotCanonical as error:
        return f"not asked: {error}"
    question = Question(request=request, expires_at=now)
    unfit = parts.courier.unfit(preview(parts, run, call, question, False, now))
    return f"not asked: {unfit}" if unfit else ""
