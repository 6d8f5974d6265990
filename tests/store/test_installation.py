"""What was delivered before, who we are, and what names stand for."""

from __future__ import annotations

from bot.ports import Identity, Tenant

OTHER = Tenant(team="T2", enterprise="E1")


async def first(store, tenant, key, now):
    return await store.write(lambda tx: store.first_time(tx, tenant, key, now))


async def test_delivery_is_new_once_for_each_workspace(store, home, now):
    assert await first(store, home, "a", now) is None
    assert await first(store, home, "a", now) == ""
    assert await first(store, OTHER, "a", now) is None

    await store.write(lambda tx: store.remember(tx, home, "a", "run1"))

    assert await first(store, home, "a", now + 1) == "run1"
    assert await first(store, OTHER, "a", now + 1) == ""


async def test_delivery_of_a_unit_that_failed_is_still_new(store, home, now):
    def unit(tx):
        store.first_time(tx, home, "a", now)
        raise LookupError

    try:
        await store.write(unit)
    except LookupError:
        assert await first(store, home, "a", now) is None


async def test_old_deliveries_are_forgotten_in_passing(store, home, now):
    for number in range(30):
        await first(store, home, f"old{number}", now)
    await first(store, OTHER, "other", now)
    later = now + 15 * 60 * 1000
    await first(store, home, "on time", later)
    assert await first(store, home, "old0", later) == ""
    for number in range(2):
        await first(store, home, f"new{number}", later + 1)

    rows = await store.read(
        lambda tx: [row[0] for row in tx.execute("SELECT key FROM inbox ORDER BY key")]
    )

    assert rows == ["new0", "new1", "on time", "other"]


async def test_identity_is_the_one_seen_last(store, home):
    def seen(tenant, at, name="Acme"):
        return Identity(
            tenant=tenant, team_name=name, bot_user="U0", bot_id="B0", seen_at=at
        )

    assert await store.read(store.identity) is None
    for row in (seen(home, 1), seen(OTHER, 2), seen(home, 3, "Acme Inc")):
        await store.write(lambda tx, row=row: store.save_identity(tx, row))

    assert await store.read(store.identity) == seen(home, 3, "Acme Inc")


async def test_names_stand_for_what_was_kept_last(store, home):
    def unit(tx):
        store.save_name(tx, home, "#ops", "C1")
        store.save_name(tx, home, "@sre", "S1")
        store.save_name(tx, home, "#ops", "C2")
        store.save_name(tx, OTHER, "#ops", "C9")
        return store.names(tx, home)

    assert await store.write(unit) == {"#ops": "C2", "@sre": "S1"}
