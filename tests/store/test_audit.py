"""The audit chain: whatever is done to a row, verifying names the first bad one."""

from __future__ import annotations

import hashlib

import pytest

from bot.core.keys import mac, ring
from bot.ports import AuditRow
from bot.store import audit

COLUMNS = (
    *("seq", "at", "enterprise", "team", "action", "actor", "request", "label"),
    *("body", "actor_digest", "request_digest", "body_digest", "key", "previous"),
    "mac",
)


@pytest.fixture
async def chain(store, home, now):
    """Three rows."""

    def unit(tx):
        for number in range(1, 4):
            row = AuditRow(
                action="request.settled",
                actor=f"U{number}",
                request=f"ref{number}",
                label=f"CS-{number}.1",
                body={"status": "approved", "votes": [number]},
            )
            store.audit(tx, home, row, now + number)

    await store.write(unit)
    return store


async def do(store, sql, *parameters):
    await store.write(lambda tx: tx.execute(sql, parameters) and None)


async def fault(store, keys):
    return await store.read(lambda tx: audit.verify(tx, keys))


async def test_untouched_chain_verifies(chain, keys):
    assert await fault(chain, keys) is None


async def test_chain_goes_on_under_a_newer_key(chain, keys, home, now):
    newer = ring((b"z" * 32, b"n" * 32), "audit")
    row = AuditRow(action="run.ended", actor="bot")
    await chain.write(lambda tx: audit.append(tx, newer, home, row, now))

    assert await fault(chain, newer) is None
    assert (await fault(chain, keys)).seq == 4


@pytest.mark.parametrize("column", COLUMNS)
async def test_change_in_any_column_is_found(chain, keys, column):
    if column in ("seq", "at"):
        change = f"{column} = {column} + 10"
    else:
        change = f"{column} = 'x' || substr({column}, 2)"
    await do(chain, f"UPDATE audit SET {change} WHERE seq = 2")

    assert (await fault(chain, keys)).seq == 2


@pytest.mark.parametrize("seq", [1, 2])
async def test_missing_row_is_found(chain, keys, seq):
    await do(chain, "DELETE FROM audit WHERE seq = ?", seq)

    assert await fault(chain, keys) == audit.Fault(seq=seq, reason="the row is missing")


async def test_tail_that_was_cut_off_needs_a_head_kept_elsewhere(chain, keys):
    kept = await chain.read(audit.head)
    await do(chain, "DELETE FROM audit WHERE seq = 3")

    assert await fault(chain, keys) is None
    assert await chain.read(audit.head) != kept


async def test_row_that_was_pulled_up_into_a_gap_is_found(chain, keys):
    await do(chain, "DELETE FROM audit WHERE seq = 2")
    await do(chain, "UPDATE audit SET seq = 2 WHERE seq = 3")

    assert (await fault(chain, keys)).seq == 2


async def test_swapped_rows_are_found(chain, keys):
    for old, new in ((2, 9), (3, 2), (9, 3)):
        await do(chain, "UPDATE audit SET seq = ? WHERE seq = ?", new, old)

    assert (await fault(chain, keys)).seq == 2


async def test_row_of_another_history_is_found(chain, keys, home, now):
    """Made by us, with the right key and number, but after something else."""

    def other_history(tx):
        kept = tx.execute("SELECT * FROM audit ORDER BY seq").fetchall()
        tx.execute("DELETE FROM audit")
        for number in range(3):
            row = AuditRow(action="other", actor="U9")
            audit.append(tx, keys, home, row, now + number)
        marks = ", ".join("?" * len(COLUMNS))
        tx.execute("DELETE FROM audit WHERE seq < 3")
        for row in kept[:2]:
            tx.execute(f"INSERT INTO audit VALUES ({marks})", tuple(row))

    await chain.write(other_history)

    expected = audit.Fault(seq=3, reason="it does not follow the row before it")
    assert await fault(chain, keys) == expected


async def test_chain_cannot_fork(chain):
    def copy(tx):
        columns = ", ".join(COLUMNS[1:])
        tx.execute(
            f"INSERT INTO audit (seq, {columns}) SELECT 9, {columns} FROM audit"
            " WHERE seq = 3"
        )

    with pytest.raises(Exception, match="UNIQUE"):
        await chain.write(copy)


async def test_other_key_does_not_verify(chain):
    assert (await fault(chain, ring((b"w" * 32,), "audit"))).seq == 1
    assert (await fault(chain, ring((b"n" * 32,), "controls"))).seq == 1


async def test_chain_made_anew_with_another_key_is_found(chain, keys, home, now):
    """Even when its rows claim the right key."""
    wrong = ring((b"w" * 32,), "audit")

    def rewrite(tx):
        tx.execute("DELETE FROM audit")
        for number in range(3):
            row = AuditRow(action="request.settled", actor="U9")
            audit.append(tx, wrong, home, row, now + number)
        tx.execute("UPDATE audit SET key = ?", (keys.newest.id,))

    await chain.write(rewrite)

    assert (await fault(chain, keys)).seq == 1


async def test_row_made_without_the_key_is_found(chain, keys, now):
    def forge(tx):
        seq, previous = audit.head(tx)
        values = {
            "seq": seq + 1,
            "at": now,
            "enterprise": "E1",
            "team": "T1",
            "action": "request.settled",
            "actor": "U9",
            "request": "ref",
            "label": "CS-9",
            "body": "{}",
            "key": keys.newest.id,
            "previous": previous,
        }
        for name in ("actor", "request", "body"):
            values[f"{name}_digest"] = hashlib.sha256(b"x").hexdigest()
        text = "".join(str(v) for v in values.values())
        values["mac"] = hashlib.sha256(text.encode()).hexdigest()
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO audit ({', '.join(values)}) VALUES ({marks})"
        tx.execute(sql, list(values.values()))

    await chain.write(forge)

    assert (await fault(chain, keys)).seq == 4


async def test_erased_content_and_persons_leave_the_chain_whole(chain, keys):
    erase = "UPDATE audit SET actor = NULL, label = NULL, body = NULL WHERE seq = 2"
    await do(chain, erase)

    assert await fault(chain, keys) is None
    await do(chain, "UPDATE audit SET action = 'x' WHERE seq = 2")
    assert (await fault(chain, keys)).seq == 2


async def test_digest_of_an_actor_cannot_be_guessed(chain, keys):
    def digest(tx):
        return tx.execute("SELECT actor_digest FROM audit WHERE seq = 1").fetchone()[0]

    found = await chain.read(digest)

    assert found == mac(keys.newest, "audit 1 actor", "U1")
    assert found not in hashlib.sha256(b"U1").hexdigest()


async def test_row_of_a_unit_that_failed_does_not_exist(chain, keys, home, now):
    def unit(tx):
        chain.audit(tx, home, AuditRow(action="x", actor="U1"), now)
        raise LookupError

    with pytest.raises(LookupError):
        await chain.write(unit)
    await chain.write(
        lambda tx: chain.audit(tx, home, AuditRow(action="y", actor="U1"), now)
    )

    assert await fault(chain, keys) is None
    assert (await chain.read(audit.head))[0] == 4
