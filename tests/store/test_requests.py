"""A request closes once, in time, for its workspace; a person counts once."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from bot.ports import Tenant

OTHER = Tenant(team="T2", enterprise="E1")
CLOSED = ("approved", "answered", "denied", "declined", "expired", "cancelled", "void")


async def settle(store, row, status, now, **who):
    return await store.write(
        lambda tx: store.settle_request(tx, row, status, now, **who)
    )


async def found(store, tenant, ref):
    return await store.read(lambda tx: store.request(tx, tenant, ref))


async def test_request_is_read_back_as_it_was(store, ask, home):
    request = await ask()

    assert await found(store, home, request.ref) == request
    assert list((await found(store, home, request.ref)).data) == ["z", "a"]
    listed = await store.read(lambda tx: store.requests(tx, request.run))
    assert listed == [request]


async def test_settled_request_says_who_when_and_why(store, ask, home, now):
    request = await ask()

    done = await settle(
        store, request, "denied", now + 1, by="U2", name="Ben", reason="Not today"
    )

    assert done
    assert await found(store, home, request.ref) == replace(
        request,
        status="denied",
        decided_at=now + 1,
        decided_by="U2",
        decided_name="Ben",
        reason="Not today",
    )


@pytest.mark.parametrize("first", CLOSED)
async def test_closed_request_never_changes(store, ask, home, now, first):
    request = await ask()
    await settle(store, request, first, now)
    closed = await found(store, home, request.ref)

    assert not any([await settle(store, request, s, now + 1) for s in CLOSED])

    assert await found(store, home, request.ref) == closed


@pytest.mark.parametrize("status", CLOSED)
async def test_yes_needs_time_left_and_a_no_does_not(store, ask, home, status):
    request = await ask()

    late = await settle(store, request, status, request.expires_at + 1)
    in_time = await settle(store, request, status, request.expires_at)

    yes = status in ("approved", "answered")
    assert (late, in_time) == ((False, True) if yes else (True, False))


async def test_other_workspace_neither_sees_nor_settles(store, ask, home, now):
    request = await ask()
    stolen = replace(request, tenant=OTHER)

    assert not await settle(store, stolen, "approved", now)
    assert await found(store, OTHER, request.ref) is None
    assert await store.read(lambda tx: store.open_requests(tx, OTHER, 9)) == []
    assert await found(store, home, request.ref) == request


async def test_open_and_due_requests_come_by_urgency(store, ask, made, home, now):
    async def expiring(at):
        request = await ask()
        await store.write(
            lambda tx: tx.execute(
                "UPDATE requests SET expires_at = ? WHERE ref = ?", (at, request.ref)
            )
        )
        return request

    later, soon, over, closed = [await expiring(now + ms) for ms in (9, 0, -1, -5)]
    await settle(store, closed, "expired", now)

    def unit(tx):
        return (
            [ref for _, ref in store.open_requests(tx, home, 9)],
            [ref for _, ref in store.requests_due(tx, home, now, 9)],
            [ref for _, ref in store.requests_due(tx, home, now + 1, 1)],
        )

    assert await store.read(unit) == (
        [over.ref, soon.ref, later.ref],
        [over.ref],
        [over.ref],
    )


async def test_person_counts_once(store, ask, made):
    request = await ask()
    vote = made.vote(request, self_approved=True)
    again = made.vote(request, user="W2", decision="deny")
    other = made.vote(request, person="T1:U3", user="U3", at=vote.at + 1)

    counted = [
        await store.write(lambda tx, row=row: store.add_vote(tx, row))
        for row in (vote, again, other)
    ]

    assert counted == [True, False, True]
    votes = await store.read(lambda tx: store.votes(tx, request.ref))
    assert votes == [vote, other]


async def test_race_of_yes_and_no_has_one_winner(store, ask, home, now):
    """Two tasks of one process: SQLite serves one node (T19)."""
    for _ in range(50):
        request = await ask()

        won = await asyncio.gather(
            settle(store, request, "approved", now, by="U2"),
            settle(store, request, "denied", now, by="U3"),
        )

        assert sorted(won) == [False, True]
        closed = await found(store, home, request.ref)
        winner = ("approved", "U2") if won[0] else ("denied", "U3")
        assert (closed.status, closed.decided_by) == winner


async def test_ten_clicks_of_one_person_are_one_vote(store, ask, made):
    request = await ask()
    vote = made.vote(request)

    counted = await asyncio.gather(
        *(store.write(lambda tx: store.add_vote(tx, vote)) for _ in range(10))
    )

    assert sorted(counted) == [False] * 9 + [True]


async def test_what_concerned_a_person_lately_comes_newest_first(store, ask, home, now):
    """What they settled, and what was settled of theirs; each once."""
    own = await ask(requester="U2")
    for_others = await ask(requester="U1")
    both = await ask(requester="U2")
    still_open = await ask(requester="U2")
    nobodys = await ask(requester="U3")
    await settle(store, own, "denied", now + 1, by="U9")
    await settle(store, for_others, "denied", now + 3, by="U2")
    await settle(store, both, "cancelled", now + 2, by="U2")
    await settle(store, nobodys, "denied", now + 4, by="U9")

    def lately(user, limit, tenant=home):
        return lambda tx: [ref for _, ref in store.settled_of(tx, tenant, user, limit)]

    assert await store.read(lately("U2", 9)) == [for_others.ref, both.ref, own.ref]
    assert await store.read(lately("U2", 2)) == [for_others.ref, both.ref]
    assert await store.read(lately("U3", 9)) == [nobodys.ref]
    assert await store.read(lately("U2", 9, OTHER)) == []
    assert still_open.ref not in await store.read(lately("U2", 9))


async def test_looking_for_what_a_person_settled_reads_no_whole_table(store, home):
    plan = await store.read(
        lambda tx: [
            row["detail"]
            for row in tx.execute(
                "EXPLAIN QUERY PLAN SELECT run FROM requests WHERE enterprise = ?"
                " AND team = ? AND decided_by = ? AND decided_at IS NOT NULL"
                " ORDER BY decided_at DESC LIMIT 5",
                (home.enterprise, home.team, "U1"),
            )
        ]
    )

    assert len(plan) == 1
    assert "requests_settled" in plan[0]
