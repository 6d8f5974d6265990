"""Runs, calls and the claim: each row of its workspace, each execution once."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

import pytest

from bot.core.events import Answered
from bot.core.machine import step
from bot.core.run import Outcome
from bot.errors import StoreError
from bot.ports import Tenant

OTHER = Tenant(team="T2", enterprise="E1")


async def add(store, run, *calls):
    def unit(tx):
        store.add_run(tx, run)
        for call in calls:
            store.add_call(tx, call)

    await store.write(unit)


async def test_run_is_read_back_as_it_was(store, made, home):
    run = made.run(words="“naïve” \U0001f600\x00'; --", wake_at=5)

    await add(store, run)

    assert await store.read(lambda tx: store.run(tx, home, run.id)) == run
    assert await store.read(lambda tx: store.run_numbered(tx, home, 1)) == run


async def test_run_keeps_what_may_change(store, made, home, now):
    run = made.run()
    await add(store, run)
    state, _ = step(run.state, Answered(request=1, ok=True))
    changed = replace(
        run,
        state=state,
        ended_at=now + 2,
        cancelled_by="U1",
        cancelled_name="Ada",
        cancelled_at=now + 1,
        wake_at=now + 3,
    )

    await store.write(lambda tx: store.save_run(tx, changed))

    assert await store.read(lambda tx: store.run(tx, home, run.id)) == changed


async def test_run_that_is_not_there_cannot_be_saved(store, made):
    run = made.run()
    await add(store, run)

    for stranger in (made.run(), replace(run, tenant=OTHER)):
        with pytest.raises(StoreError):
            await store.write(lambda tx, row=stranger: store.save_run(tx, row))


async def test_numbers_count_for_each_workspace(store, made, home):
    def unit(tx):
        first = store.next_number(tx, home)
        store.add_run(tx, made.run(number=first))
        return first, store.next_number(tx, home), store.next_number(tx, OTHER)

    assert await store.write(unit) == (1, 2, 1)


async def test_number_is_taken_once(store, made):
    await add(store, made.run(number=7))

    with pytest.raises(StoreError) as caught:
        await add(store, made.run(number=7))
    assert isinstance(caught.value.__cause__, sqlite3.IntegrityError)

    await add(store, made.run(number=7, tenant=OTHER))


async def test_runs_of_a_workspace_are_not_seen_from_another(store, made, home, now):
    run = made.run(tenant=OTHER, wake_at=now)
    call = made.call(run)
    await add(store, run, call)

    def seen(tenant):
        return lambda tx: [
            store.run(tx, tenant, run.id) is not None,
            store.run_numbered(tx, tenant, run.number) is not None,
            store.runs_of(tx, tenant, run.requester, 9) != [],
            store.unfinished(tx, tenant) != [],
            store.unfinished_of(tx, tenant, run.requester, 9) != [],
            store.count_unfinished_of(tx, tenant, run.requester) == 1,
            store.runs_due(tx, tenant, now, 9) != [],
            store.call_by_ref(tx, tenant, call.ref) is not None,
        ]

    assert await store.read(seen(home)) == [False] * 8
    assert await store.read(seen(OTHER)) == [True] * 8


async def test_lists_of_runs_hold_what_they_say(store, made, home, now):
    rows = [
        made.run(),
        made.run(wake_at=now + 1),
        made.run(wake_at=now),
        made.run(wake_at=now - 1, ended_at=now),
        made.run(wake_at=now - 5, requester="U9"),
    ]
    for row in rows:
        await add(store, row)

    def unit(tx):
        return (
            store.unfinished(tx, home),
            store.runs_due(tx, home, now, 9),
            store.runs_due(tx, home, now, 1),
            [row.number for row in store.runs_of(tx, home, "U1", 3)],
            [row.number for row in store.unfinished_of(tx, home, "U1", 2)],
            store.count_unfinished_of(tx, home, "U1"),
        )

    assert await store.read(unit) == (
        ["run1", "run2", "run3", "run5"],
        ["run5", "run3"],
        ["run5"],
        [4, 3, 2],
        [3, 2],
        3,
    )


async def test_calls_are_read_back_in_call_order(store, made, home):
    run = made.run()
    calls = [
        made.call(run, ordinal=2, output="x", outcome=Outcome.OK, ended_at=4),
        made.call(run, ordinal=1),
        made.call(run, turn=2, ref="other"),
    ]

    await add(store, run, *calls)

    read = await store.read(lambda tx: store.calls(tx, run.id, 1))
    assert read == [calls[1], calls[0]]
    found = await store.read(lambda tx: store.call_by_ref(tx, home, "other"))
    assert found == calls[2]


async def test_call_of_no_run_is_refused(store, made):
    with pytest.raises(StoreError, match="not in the database"):
        await store.write(lambda tx: store.add_call(tx, made.call(made.run())))


async def test_call_keeps_what_may_change_but_not_its_claim(store, made, now):
    run = made.run()
    call = made.call(run)
    await add(store, run, call)
    changed = replace(
        call,
        rule=replace(call.rule, expires=86_400, callers=None),
        definition="cs1:new",
        ended_at=now,
        outcome=Outcome.UNKNOWN,
        output="outcome unknown",
        reported_by="U2",
        reported_name="Ben",
        reported_at=now,
    )
    forged = replace(changed, execution="1-9", claimed_at=now)

    await store.write(lambda tx: store.save_call(tx, forged))

    assert await store.read(lambda tx: store.calls(tx, run.id, 1)) == [changed]


async def test_execution_is_claimed_once(store, made, now):
    run = made.run()
    call = made.call(run)
    await add(store, run, call)

    def claim(row, execution="1-1"):
        return store.write(lambda tx: store.claim_call(tx, row, execution, now))

    assert await claim(call)
    assert not await claim(call)
    [claimed] = await store.read(lambda tx: store.calls(tx, run.id, 1))
    assert (claimed.execution, claimed.claimed_at) == ("1-1", now)
    assert await claim(claimed, "1-2")
    assert not await claim(call)


async def test_execution_belongs_to_one_call(store, made, now):
    run = made.run()
    calls = [made.call(run), made.call(run, ordinal=2)]
    await add(store, run, *calls)

    def claim(row):
        return store.write(lambda tx: store.claim_call(tx, row, "1-1", now))

    assert await claim(calls[0])
    assert not await claim(calls[1])


async def test_latest_execution_is_entered_three_times_at_most(store, made, now):
    run = made.run()
    await add(store, run, made.call(run))

    def claim(tx):
        [row] = store.calls(tx, run.id, 1)
        return store.claim_call(tx, row, "1-1", now)

    assert [await store.write(claim) for _ in range(5)] == [True] * 3 + [False] * 2


async def test_call_with_its_outcome_is_not_claimed(store, made, now):
    run = made.run()
    call = made.call(run)
    await add(store, run, call)
    await store.write(lambda tx: store.claim_call(tx, call, "1-1", now))
    done = replace(call, execution="1-1", claimed_at=now, outcome=Outcome.OK)
    await store.write(lambda tx: store.save_call(tx, done))

    for row, execution in ((done, "1-1"), (done, "1-2"), (call, "1-2")):
        assert not await store.write(
            lambda tx, r=row, e=execution: store.claim_call(tx, r, e, now + 1)
        )
    assert await store.read(lambda tx: store.calls(tx, run.id, 1)) == [done]
