"""One turn of a model: ask it, and lay out what it wants as calls of the run.

Whatever the model says decides nothing by itself: which tools exist, who may start
them, what their arguments may be and what needs consent comes from the policy and the
schemas (T28, T37, T68). A call that cannot run gets a ready-made result that says why,
and is never entered.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import structlog

from bot.contract.types import Tool
from bot.core.digest import NotCanonical, arguments_digest, parsed
from bot.core.events import ModelFailed, ModelReplied, Planned
from bot.core.policy import Facts, Rule, may_start
from bot.core.run import Stage
from bot.engine.approvers import approvers_among, facts_about, places_for
from bot.engine.asking import gate_prompt, gate_question, preview
from bot.engine.parts import Parts, acting, complete, definition, new_ref
from bot.engine.transition import Cause, apply, note
from bot.errors import ModelError
from bot.ports import CallRow, ModelCall, ModelReply, RunRow, Tx
from bot.tools.arguments import argument_problems

log = structlog.get_logger(__name__)

#: How long finding out about the requester may take, in seconds.
LOOKUPS = 10.0
#: How many characters of the model's final words are kept.
KEPT_TEXT = 20_000


async def think(parts: Parts, run_id: str) -> None:
    """Ask the model what a run that waits for it does next, and save that."""
    found = await parts.store.read(lambda tx: _before(parts, tx, run_id))
    if found is None:
        return
    row, calls = found
    why = _cannot_go_on(parts, row, calls)
    if why:
        await _fail(parts, run_id, why, 0)
        return
    facts = await _facts(parts, row)
    began = parts.clock.monotonic()
    reply: ModelReply | None = None
    try:
        reply = await _ask(parts, row, facts)
    except ModelError as error:
        log.warning("model_failed", run=run_id, reason=error.reason)
        why = error.reason
    took = int((parts.clock.monotonic() - began) * 1000)
    if reply is None:
        await _fail(parts, run_id, why, took)
        return
    taken = _Turn(parts=parts, run=run_id, reply=reply, facts=facts, took=took)
    await parts.store.write(taken)


def _before(parts: Parts, tx: Tx, run_id: str) -> tuple[RunRow, int] | None:
    row = parts.store.run(tx, parts.tenant, run_id)
    if row is None or row.state.stage is not Stage.THINKING:
        return None
    return row, len(parts.store.all_calls(tx, run_id))


def _cannot_go_on(parts: Parts, row: RunRow, calls: int) -> str:
    """Why the model is not asked (again); "" when it is."""
    budget = parts.budget
    if parts.model is None:
        return "no model is set"
    if row.state.turn >= budget.turns:
        return f"limit: {budget.turns} turns"
    if calls >= budget.calls:
        return f"limit: {budget.calls} calls"
    if row.tokens >= budget.tokens:
        return f"limit: {budget.tokens:,} tokens"
    if row.worked_ms >= budget.worked_ms:
        return f"limit: {budget.worked_ms // 60_000} min of work"
    return ""


async def _facts(parts: Parts, row: RunRow) -> Facts:
    rules = [parts.rule(tool.name) for tool in parts.offered()]
    return await facts_about(parts, [row.requester], rules, LOOKUPS)


async def _ask(parts: Parts, row: RunRow, facts: Facts) -> ModelReply:
    if parts.model is None:
        raise ModelError("no model is set")
    tools = [
        tool
        for tool in parts.offered()
        if _may(parts, parts.rule(tool.name), row.requester, facts)
    ]
    messages = await parts.store.read(lambda tx: parts.store.transcript(tx, row.id))
    return await parts.model.ask(messages, tools)


def _may(parts: Parts, rule: Rule | None, requester: str, facts: Facts) -> bool:
    return may_start(rule, requester, facts, parts.tenant.team).ok


async def _fail(parts: Parts, run_id: str, why: str, took: int) -> None:
    def unit(tx: Tx) -> None:
        row = parts.store.run(tx, parts.tenant, run_id)
        if row is None or row.state.stage is not Stage.THINKING:
            return
        row = replace(row, reason=why, worked_ms=row.worked_ms + took)
        cause = Cause(audit={"reason": why})
        apply(parts, tx, row, ModelFailed(), cause, parts.clock.now())

    await parts.store.write(unit)


# -- the reply becomes a turn --------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Turn:
    """The unit of work that takes one reply; may be run again from the start."""

    parts: Parts
    run: str
    reply: ModelReply
    facts: Facts
    took: int

    def __call__(self, tx: Tx) -> None:
        parts, store = self.parts, self.parts.store
        row = store.run(tx, parts.tenant, self.run)
        if row is None or row.state.stage is not Stage.THINKING:
            return  # cancelled while the model was thinking: nothing new starts
        now = parts.clock.now()
        row = replace(
            row,
            tokens=row.tokens + self.reply.tokens,
            worked_ms=row.worked_ms + self.took,
            text=row.text if self.reply.calls else self.reply.text[:KEPT_TEXT],
        )
        store.add_transcript(tx, row, [self.reply.message])
        plans: list[Planned] = []
        places: dict[int, tuple[str, ...]] = {}
        for ordinal, call in enumerate(self.reply.calls, 1):
            planned, ledger = self._planned(row, ordinal, call, now)
            store.add_call(tx, ledger)
            plans.append(planned)
            if planned.result is None and planned.gate is None:
                note(parts, tx, row, "ungated", Cause(actor=row.requester), now, ledger)
            people = approvers_among(ledger.rule, self.facts, row.requester)
            places[ordinal] = places_for(ledger.rule, people)
        cause = Cause(places=places)
        apply(parts, tx, row, ModelReplied(calls=tuple(plans)), cause, now)

    def _planned(
        self, row: RunRow, ordinal: int, call: ModelCall, now: int
    ) -> tuple[Planned, CallRow]:
        """One call as it will run, or with the result that says why it will not."""
        tool = self.parts.tool(call.tool)
        arguments, why = self._arguments(tool, call, ordinal)
        rule = self.parts.rule(call.tool) or Rule(name=call.tool, gate="deny")
        ledger = self._ledger(row, ordinal, call.tool, tool, arguments, rule)
        if not why and tool is not None:
            why = self._refusal(row, ledger, rule, now)
        if why:
            return Planned(tool=call.tool, arguments=arguments, result=why), ledger
        gate = gate_prompt(call.tool) if rule.gate == "ask" else None
        return Planned(tool=call.tool, arguments=arguments, gate=gate), ledger

    def _arguments(
        self, tool: Tool | None, call: ModelCall, ordinal: int
    ) -> tuple[str, str]:
        """The canonical arguments, and why they cannot be used ("" when they can)."""
        most = self.parts.budget.calls_per_turn
        if ordinal > most:
            return "{}", f"too many calls in one turn: the first {most} were considered"
        if tool is None:
            return "{}", f"unknown tool: {call.tool}"
        try:
            given = parsed(call.arguments) if call.arguments.strip() else {}
            values = {} if given is None else given
            problems = argument_problems(values, tool.input_schema)
            if problems:
                why = "; ".join(problems)
                return "{}", f"invalid arguments for {call.tool}: {why}"
            return complete(tool, values), ""
        except NotCanonical as error:
            return "{}", f"invalid arguments for {call.tool}: {error}"

    def _refusal(self, row: RunRow, ledger: CallRow, rule: Rule, now: int) -> str:
        if not _may(self.parts, rule, row.requester, self.facts):
            return f"not allowed: whoever asked may not run {ledger.tool}"
        if rule.gate != "ask":
            return ""
        if approvers_among(rule, self.facts, row.requester) == ():
            return "not run: nobody can approve this"
        question = gate_question(ledger, now)
        view = preview(self.parts, row, ledger, question, True, now)
        unfit = self.parts.courier.unfit(view)
        return f"not asked: {unfit}" if unfit else ""

    def _ledger(
        self,
        row: RunRow,
        ordinal: int,
        name: str,
        tool: Tool | None,
        arguments: str,
        rule: Rule,
    ) -> CallRow:
        return CallRow(
            run=row.id,
            turn=row.state.turn + 1,
            ordinal=ordinal,
            tool=name,
            arguments=arguments,
            arguments_digest=arguments_digest(arguments),
            definition=definition(tool) if tool is not None else "",
            acting=acting(tool, row.requester) if tool is not None else "bot",
            rule=rule,
            ref=new_ref(),
            idempotent=tool is not None and tool.traits.idempotent,
        )
