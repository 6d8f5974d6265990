"""T25: a request counts until its expiry, to the millisecond, and never again."""

import pytest
from harness import ADA, BEN, Bench, controls, text_in
from invariants import assert_invariants

START = 1_800_000_000_000  # 2027-01-15T08:00:00Z, the clock of every test
MINUTE, DAY = 60_000, 86_400_000

POLICY = """
[[tool]]
name = "asks_until"
gate = "allow"
"""


async def asked(bench, words="restart service=api"):
    await bench.tool(words)
    return await bench.card()


async def times(bench):
    return (await bench.rows("SELECT created_at, expires_at FROM requests"))[-1]


def move_to(bench, moment):
    """Only the wall clock: the sweeper sleeps on, so the click is what finds out."""
    bench.clock.shift((moment - bench.clock.now()) / 1000)
    assert bench.clock.now() == moment


# -- at the instant -------------------------------------------------------------------


async def test_at_the_very_moment_a_yes_still_counts(bench):
    card = await asked(bench)
    created, expires = await times(bench)
    assert expires == created + 30 * MINUTE
    move_to(bench, expires)

    await bench.press(BEN, card, "approve")
    await bench.quiet()

    assert await bench.statuses() == ["approved"]
    assert len(bench.ran("restart")) == 1


@pytest.mark.parametrize("action", ["approve", "deny"])
async def test_a_millisecond_later_it_has_expired(bench, action):
    card = await asked(bench)
    _, expires = await times(bench)
    move_to(bench, expires + 1)

    await bench.press(BEN, card, action)
    await bench.quiet()

    assert await bench.refusals() == ["expired"]
    assert await bench.statuses() == ["expired"]
    assert await bench.rows("SELECT count(*) FROM votes") == [(0,)]
    assert bench.ran() == []
    card = await bench.card()
    assert controls(card) == []
    assert "Nobody answered until 08:30 UTC. It did not run." in text_in(card)
    assert (await bench.whispers(BEN))[-1] == (
        "CS-1 expired at 08:30 UTC and did not run. Ada can ask again."
    )


async def test_at_the_moment_the_sweeper_leaves_it_open(bench):
    await asked(bench)

    await bench.pass_time(30 * 60)
    assert await bench.statuses() == ["open"]
    await bench.pass_time(0.001)

    assert await bench.statuses() == ["expired"]
    assert (await bench.phone(ADA))[-1] == (
        "Expired, did not run: Restart api in eu. CS-1"
    )


async def test_a_clock_that_moves_back_revives_nothing(bench):
    card = await asked(bench)
    await bench.pass_time(30 * 60 + 1)
    bench.clock.shift(-3600)

    await bench.forge(BEN, card, "approve")
    await bench.quiet()

    assert await bench.refusals() == ["expired"]
    assert await bench.statuses() == ["expired"]
    assert bench.ran() == []


async def test_a_clock_that_moves_back_and_a_restart_revive_nothing(bench):
    card = await asked(bench)
    await bench.pass_time(30 * 60 + 1)
    bench.clock.shift(-3600)
    await bench.restart()

    await bench.forge(BEN, card, "approve")
    await bench.quiet()

    assert await bench.statuses() == ["expired"]
    assert bench.ran() == []


async def test_what_expired_while_the_bot_was_down_is_told_at_the_start(bench):
    await asked(bench)
    await bench.stop()
    bench.clock.advance(30 * 60 + 1)

    await bench.start()
    await bench.pass_time(1)

    assert await bench.statuses() == ["expired"]
    assert controls(await bench.card()) == []
    assert (await bench.phone(ADA))[-1] == (
        "Expired, did not run: Restart api in eu. CS-1"
    )


# -- what a tool says of its own request ----------------------------------------------

NOT_ASKED = None
TABLE = {
    "2026-02-30T00:00:00Z": NOT_ASKED,  # no such day
    "2027-02-01T00:00:00": NOT_ASKED,  # no offset
    "2027-02-01": NOT_ASKED,
    "2027-02-01 00:00:00Z": NOT_ASKED,
    "1800003600": NOT_ASKED,
    "tomorrow": NOT_ASKED,
    "2027-01-15T07:59:59Z": NOT_ASKED,  # past
    "2027-01-15T07:59:59.999Z": NOT_ASKED,
    "2027-01-15T08:59:61Z": NOT_ASKED,
    "2027-01-15T24:00:00Z": NOT_ASKED,
    "２０27-01-15T09:00:00Z": NOT_ASKED,
    "": START + DAY,  # nothing said: the rule's, by default 24 h
    "2027-01-15T08:00:00Z": START,  # now; equal is still in time
    "2027-01-15T09:00:00Z": START + 60 * MINUTE,
    "2027-01-15t09:00:00z": START + 60 * MINUTE,
    "2027-01-15T11:00:00+02:00": START + 60 * MINUTE,
    "2027-01-15T08:59:60Z": START + 60 * MINUTE,  # a leap second
    "2027-01-15T09:00:00.0019Z": START + 60 * MINUTE + 1,  # cut, never rounded
    "2027-02-14T08:00:00Z": START + 30 * DAY,
    "2027-02-14T08:00:01Z": START + 30 * DAY,  # one second beyond the limit
    "9999-12-31T23:59:59Z": START + 30 * DAY,
}


async def test_the_table_of_expiries(folder):
    async with Bench(folder, policy=POLICY) as bench:
        for expires, expected in TABLE.items():
            before = len(await bench.statuses())
            bench.clock.shift(START / 1000 - bench.clock.seconds())
            await bench.tool(f'asks_until expires="{expires}"')
            while bench.bot.runner.moving:
                await bench.store.read(lambda tx: None)
            outcome, output = (await bench.rows("SELECT outcome, output FROM calls"))[
                -1
            ]
            if expected is NOT_ASKED:
                assert len(await bench.statuses()) == before, expires
                assert outcome == "expired", expires
                assert output == "declined/expired: Until then?", expires
            else:
                assert await times(bench) == (START, expected), expires
                assert outcome == "", expires
        await bench.quiet()
        assert bench.ran() == []
        await assert_invariants(bench)


async def test_what_is_not_asked_is_told(folder):
    async with Bench(folder, policy=POLICY) as bench:
        await bench.tool("asks_until expires=tomorrow")

        card = await bench.card()

        assert controls(card) == []
        assert "Expired. It did not go on." in text_in(card)
        assert await bench.phone(ADA) == ["Expired, did not go on: asks_until. CS-1"]
        assert len(await bench.cards()) == 1
        await assert_invariants(bench)


async def test_beyond_thirty_days_is_cut_and_the_card_says_so(folder):
    async with Bench(folder, policy=POLICY) as bench:
        await bench.tool("asks_until expires=9999-12-31T23:59:59Z")
        card = await bench.card()
        assert (
            "until 14 Feb 08:00 UTC, then declined (the limit of 30 days)"
            in text_in(card)
        )

        await bench.pass_time(30 * 86_400)
        assert (await bench.statuses()) == ["open"]
        await bench.pass_time(0.001)

        assert (await bench.statuses()) == ["expired"]
        assert controls((await bench.cards())[-1]) == []
        await assert_invariants(bench)


async def test_the_longest_that_a_rule_may_wait_says_so_too(folder):
    policy = """
    [[tool]]
    name = "pay"
    gate = "ask"
    approvers = ["@approvers"]
    post_to = "#ops"
    expires = "30d"
    """
    async with Bench(folder, policy=policy) as bench:
        card = await asked(bench, "pay amount=5")

        assert "until 14 Feb 08:00 UTC, then denied (the limit of 30 days)" in text_in(
            card
        )
        assert await times(bench) == (START, START + 30 * DAY)
        await assert_invariants(bench)


async def test_a_late_answer_to_a_tools_own_request_does_not_go_on(folder):
    async with Bench(folder, policy=POLICY) as bench:
        await bench.tool("asks_until expires=2027-01-15T08:10:00Z")
        card = await bench.card()
        move_to(bench, START + 10 * MINUTE + 1)

        await bench.press(ADA, card, "done")
        await bench.quiet()

        assert await bench.refusals() == ["expired"]
        assert (await bench.whispers(ADA))[-1] == (
            "CS-1 expired at 08:10 UTC and did not go on. Ada can ask again."
        )
        assert bench.ran() == []
        await assert_invariants(bench)


async def test_an_answer_in_time_to_a_tools_own_request_goes_on(folder):
    async with Bench(folder, policy=POLICY) as bench:
        await bench.tool("asks_until expires=2027-01-15T08:10:00Z")
        await bench.quiet()
        move_to(bench, START + 10 * MINUTE)

        await bench.press(ADA, (await bench.cards())[-1], "done")
        await bench.quiet()

        assert len(bench.ran("asks_until")) == 1
        await assert_invariants(bench)
