"""What must hold at the end of every story (I1 to I10 of the threat model)."""

import json

from harness import controls

from bot.core.digest import arguments_digest, canonical
from bot.core.keys import read, ring
from bot.core.run import Slot, Stage
from bot.engine.parts import acting, consent_digest, definition
from bot.store import audit

TERMINAL = {
    "approved",
    "answered",
    "denied",
    "declined",
    "expired",
    "cancelled",
    "void",
}


async def assert_invariants(bench) -> None:
    """Check the store, the fake Slack and the tools' own lines against each other."""
    parts = bench.bot.parts
    runs = await bench.rows("SELECT id FROM runs")
    views = [await _everything(bench, run) for (run,) in runs]
    lines = bench.ran()
    for run, calls, requests, votes in views:
        _gated_calls_had_consent(parts, run, calls, requests, votes)
        _requests_end_once(requests, votes)
        _nothing_is_lost(run, requests)
    _executions_happen_once(views, lines)
    await _audit_chain_holds(bench)
    await _every_change_is_audited(bench)
    await _one_actionable_card(bench)
    await _no_secret_is_kept(bench)


async def _everything(bench, run):
    store, tenant = bench.store, bench.bot.parts.tenant

    def unit(tx):
        row = store.run(tx, tenant, run)
        calls = [
            c for t in range(1, row.state.turn + 1) for c in store.calls(tx, run, t)
        ]
        requests = store.requests(tx, run)
        votes = {r.ref: store.votes(tx, r.ref) for r in requests}
        return row, calls, requests, votes

    return await store.read(unit)


def _gated_calls_had_consent(parts, run, calls, requests, votes) -> None:
    """I1, I4, I5: a gated entry has an approved request for the very same call."""
    for call in calls:
        state = run.state.call(call.ordinal)
        assert arguments_digest(call.arguments) == call.arguments_digest
        entered = call.claimed_at is not None
        if not state.gated or not entered:
            continue
        gates = [r for r in requests if r.gate and r.ordinal == call.ordinal]
        before = [
            r
            for r in gates
            if r.status == "approved" and r.decided_at <= call.claimed_at
        ]
        assert before, f"CS-{run.number} ran without consent"
        request = before[-1]
        yes = [v for v in votes[request.ref] if v.decision == "approve"]
        assert yes
        assert len({v.person for v in yes}) == len(yes)
        for vote in yes:
            if not request.rule.self_approval:
                assert vote.user != run.requester
        tool = parts.toolkit.get(call.tool)
        if tool is not None and definition(tool) == call.definition:
            now = consent_digest(
                request, call, definition(tool), acting(tool, run.requester)
            )
            assert now == request.call_digest


def _requests_end_once(requests, votes) -> None:
    """I3: a terminal state has its time, an open request has none."""
    for request in requests:
        assert request.status in TERMINAL | {"open"}
        assert (request.decided_at is not None) == (request.status != "open")
        people = [v.person for v in votes[request.ref]]
        assert len(set(people)) == len(people)


def _nothing_is_lost(run, requests) -> None:
    """I8: an unfinished run waits for somebody, or is due to be looked at."""
    if run.state.stage is Stage.ENDED:
        assert all(r.status != "open" for r in requests)
        return
    waits = any(c.request is not None for c in run.state.calls)
    unknown = any(c.slot is Slot.UNKNOWN for c in run.state.calls)
    assert waits or unknown or run.wake_at is not None


def _executions_happen_once(views, lines) -> None:
    """I2: no execution id stands twice in the tools' own file."""
    named = [line["execution"] for line in lines if line.get("execution")]
    for execution in set(named):
        times = named.count(execution)
        idempotent = any(
            line["tool"] == "careful"
            for line in lines
            if line.get("execution") == execution
        )
        assert times <= (3 if idempotent else 1), execution
    claimed = sum(c.execution != "" for _, calls, _, _ in views for c in calls)
    asked = {line["tool"] for line in lines}
    entered = {c.tool for _, calls, _, _ in views for c in calls if c.execution}
    assert asked <= entered or claimed == 0


async def _audit_chain_holds(bench) -> None:
    keys = ring(read(bench.key), "audit")
    broken = await bench.store.read(lambda tx: audit.verify(tx, keys))
    assert broken is None, broken


async def _every_change_is_audited(bench) -> None:
    """I6: each settled request has a row for having been asked and one for its end."""
    asked = await bench.rows("SELECT ref, status FROM requests")
    audited = await bench.rows("SELECT request, action FROM audit")
    for ref, status in asked:
        assert (ref, "asked") in audited
        if status != "open":
            assert (ref, status) in audited


async def _one_actionable_card(bench) -> None:
    """I9: one card with controls per request and place, none on closed ones."""
    state = await bench.slack.state()
    places = await bench.rows(
        "SELECT o.channel, o.ts, r.status, r.ref, o.destination FROM outbox o"
        " JOIN requests r ON r.ref = o.request WHERE o.kind = 'request' AND o.ts <> ''"
    )
    posted = {
        (channel, m["ts"]): m
        for channel, messages in state["messages"].items()
        for m in messages
    }
    live: set[tuple[str, str]] = set()
    for channel, ts, status, ref, destination in places:
        labels = controls(posted.get((channel, ts), {}))
        if "Approve" in labels or "Done" in labels:
            assert status == "open", f"{ref} is {status} and still has {labels}"
            assert (ref, destination) not in live
            live.add((ref, destination))


async def _no_secret_is_kept(bench) -> None:
    """I7: no secret of ours stands in the database or in what Slack was sent."""
    secrets = [bench.slack.bot_token, bench.slack.signing_secret, bench.key]
    files = [p for p in bench.folder.iterdir() if p.name.startswith("countersign.db")]
    sent = json.dumps(await bench.slack.state()).encode()
    for content in [*(p.read_bytes() for p in files), sent]:
        for secret in secrets:
            assert secret.encode() not in content


def same_arguments(line: dict, arguments: str) -> bool:
    """Whether a tool's line shows the arguments that were agreed to."""
    return canonical(line["args"]) == arguments
