"""The outbox: what is due, what must be drawn again, and which row stands where."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.errors import StoreError
from bot.ports import Tenant

OTHER = Tenant(team="T2", enterprise="E1")


async def add(store, *rows):
    return await store.write(lambda tx: [store.add_message(tx, row) for row in rows])


async def save(store, row):
    await store.write(lambda tx: store.save_message(tx, row))


async def get(store, tenant, message):
    return await store.read(lambda tx: store.message(tx, tenant, message))


async def due(store, tenant, now, limit=9):
    found = await store.read(lambda tx: store.messages_due(tx, tenant, now, limit))
    return [row.id for row in found]


async def test_message_is_read_back_as_it_was(store, ask, made, home):
    request = await ask()
    about = made.message(
        kind="news", run=request.run, request=request.ref, body={"of": ["ä", 1]}
    )
    alone = made.message(kind="notice")

    first, second = await add(store, about, alone)

    assert await get(store, home, first) == replace(about, id=first)
    assert await get(store, home, second) == replace(alone, id=second)
    listed = await store.read(lambda tx: store.messages(tx, request.run))
    assert listed == [replace(about, id=first)]


async def test_message_keeps_what_may_change(store, made, home, now):
    [number] = await add(store, made.message())
    changed = replace(
        made.message(id=number),
        channel="C7",
        ts="1.5",
        wanted=3,
        sent=2,
        due_at=now + 9,
        attempts=4,
        intent_at=now,
        state="stuck",
        error="is_archived",
        body={"a": 1},
    )

    await save(store, changed)

    assert await get(store, home, number) == changed


async def test_message_of_another_workspace_is_out_of_reach(store, made, home, now):
    [number] = await add(store, made.message(channel="C1", ts="1.1"))

    with pytest.raises(StoreError):
        await save(store, made.message(id=number, tenant=OTHER))
    assert await get(store, OTHER, number) is None
    assert await due(store, OTHER, now) == []
    at = await store.read(lambda tx: store.message_at(tx, OTHER, "C1", "1.1"))
    assert at is None


async def test_due_is_what_lives_and_was_not_drawn(store, made, home, now):
    rows = [
        made.message(due_at=now, destination="C1"),
        made.message(due_at=now - 2, destination="C2"),
        made.message(due_at=now + 1),
        made.message(due_at=now - 9, sent=1),
        made.message(due_at=now - 9, state="stuck"),
        made.message(due_at=now - 9, state="gone"),
    ]
    ids = await add(store, *rows)

    assert await due(store, home, now) == [ids[1], ids[0]]
    assert await due(store, home, now, 1) == [ids[1]]
    assert await store.read(lambda tx: store.next_due(tx, home)) == now - 2
    assert await store.read(lambda tx: store.next_due(tx, OTHER)) is None


async def test_redraw_reaches_the_cards_it_is_about(store, ask, made, home, now):
    request, other = await ask(), await ask()
    about = {"run": request.run, "sent": 1, "due_at": now - 5}
    rows = {
        "run": made.message(**about),
        "card": made.message(
            kind="request", request=request.ref, destination="C2", **about
        ),
        "news": made.message(kind="news", request=request.ref, **about),
        "stuck": made.message(kind="request", state="stuck", **about),
        "other": made.message(run=other.run, sent=1),
    }
    names = dict(zip(await add(store, *rows.values()), rows, strict=True))

    async def wanted(message):
        return (await get(store, home, message)).wanted

    await store.write(lambda tx: store.redraw(tx, request.run, request.ref, now))
    await store.write(lambda tx: store.redraw(tx, request.run, other.ref, now))
    await store.write(lambda tx: store.redraw(tx, request.run, None, now))

    counts = {name: await wanted(number) for number, name in names.items()}
    assert counts == {"run": 4, "card": 3, "news": 1, "stuck": 1, "other": 1}
    assert [names[i] for i in await due(store, home, now)] == ["run", "card"]


async def test_redraw_does_not_wait_for_a_later_time(store, ask, made, home, now):
    request = await ask()
    later = made.message(run=request.run, due_at=now + 60_000, channel="C1", ts="1.1")
    [number] = await add(store, later)

    await store.write(lambda tx: store.redraw(tx, request.run, None, now))

    assert await due(store, home, now) == [number]


async def test_redraw_leaves_what_is_not_posted_its_time(store, ask, made, home, now):
    request = await ask()
    later = made.message(run=request.run, due_at=now + 60_000)
    [number] = await add(store, later)

    await store.write(lambda tx: store.redraw(tx, request.run, None, now))

    assert await due(store, home, now) == []
    assert await due(store, home, now + 60_000) == [number]


async def test_redraw_keeps_its_place_in_the_queue(store, ask, made, home, now):
    request = await ask()
    old, new = await add(
        store,
        made.message(run=request.run, due_at=now - 60_000),
        made.message(due_at=now - 1, destination="C2"),
    )

    await store.write(lambda tx: store.redraw(tx, request.run, None, now))

    assert await due(store, home, now) == [old, new]


async def test_a_full_place_does_not_stand_before_another(store, made, home, now):
    crowd = [made.message(due_at=now - 60, destination="C1") for _ in range(30)]
    first, *_ = await add(store, *crowd)
    [other] = await add(store, made.message(due_at=now, destination="C2"))

    assert await due(store, home, now, 2) == [first, other]


async def test_words_wait_for_the_card_they_belong_under(store, ask, made, home, now):
    request = await ask()
    card, words = await add(
        store,
        made.message(run=request.run),
        made.message(run=request.run, kind="news", due_at=now - 9),
    )
    assert await due(store, home, now) == [card]

    await save(
        store, made.message(id=card, run=request.run, channel="C1", ts="1.1", sent=1)
    )

    assert await due(store, home, now) == [words]


async def test_one_unreadable_message_does_not_hide_the_others(store, made, home, now):
    bad, good = await add(
        store, made.message(destination="C1"), made.message(destination="C2")
    )
    sql = "UPDATE outbox SET body = '{' WHERE id = ?"
    await store.write(lambda tx: tx.execute(sql, (bad,)) and None)

    assert await due(store, home, now) == [good]


async def test_stuck_messages_of_this_workspace_are_revived(store, made, home, now):
    stuck = {"state": "stuck", "attempts": 8, "due_at": now + 9}
    mine, gone, other = await add(
        store,
        made.message(**stuck),
        made.message(state="gone"),
        made.message(tenant=OTHER, **stuck),
    )

    await store.write(lambda tx: store.revive(tx, home, now))

    assert await due(store, home, now) == [mine]
    assert (await get(store, home, mine)).attempts == 0
    assert (await get(store, home, gone)).state == "gone"
    assert (await get(store, OTHER, other)).state == "stuck"


async def test_redraw_while_a_card_is_on_its_way_is_not_lost(
    store, ask, made, home, now
):
    request = await ask()
    [number] = await add(store, made.message(run=request.run))
    taken = await get(store, home, number)
    await store.write(lambda tx: store.redraw(tx, request.run, None, now))

    await save(store, replace(taken, ts="1.1", channel="C1", sent=taken.wanted))

    assert await due(store, home, now) == [number]


async def test_one_row_stands_at_one_place(store, made, home):
    place = {"channel": "C1", "ts": "1.1"}
    [first] = await add(store, made.message(**place))

    with pytest.raises(StoreError, match="UNIQUE"):
        await add(store, made.message(**place))
    await add(store, made.message(tenant=OTHER, **place))
    await add(store, made.message(), made.message())  # not posted: no place yet

    def there(tx):
        return store.message_at(tx, home, "C1", "1.1")

    assert (await store.read(there)).id == first
    await save(store, made.message(id=first, state="gone", **place))
    assert await store.read(there) is None
    [second] = await add(store, made.message(**place))
    assert (await store.read(there)).id == second
