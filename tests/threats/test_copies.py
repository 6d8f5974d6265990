"""T23, T24: copies of a card never count twice, and one card never moves another."""

import itertools

import pytest
from harness import ADA, BEN, CLEO, GENERAL, OPS, Bench, controls, text_in
from invariants import assert_invariants

from bot import app as assembly

DIRECT = "D0BEN"
CANNOT = "This card cannot be answered. /approvals shows what waits for you."

DIRECT_POLICY = """
[[tool]]
name = "pay"
gate = "ask"
approvers = ["@approvers"]
headline = "Pay {amount}"
"""


def without_history(bench):
    """The workspace did not grant the optional scopes."""
    scopes = bench.slack.workspace.scopes
    bench.slack.workspace.scopes = frozenset(s for s in scopes if "history" not in s)


async def asked(bench, words="restart service=api"):
    await bench.tool(words)
    return await bench.card()


async def later(bench):
    """Everything that was put off has been tried again."""
    await bench.quiet()
    for _ in range(6):
        await bench.pass_time(30)


async def lost(bench):
    """A card whose reply was lost, after everything that follows from it."""
    bench.slack.fault("chat.postMessage", "accept-then-drop", 1)
    await bench.tool("restart service=api")
    await later(bench)
    return await bench.cards()


async def actionable(bench, channel=OPS):
    return [c for c in await bench.cards(channel) if "Approve" in controls(c)]


async def votes(bench):
    return await bench.rows("SELECT user, decision FROM votes")


# -- T23: the reply to a post is lost -------------------------------------------------


async def test_with_history_a_lost_post_is_found_again(bench):
    (card,) = await lost(bench)

    assert len(bench.calls("chat.postMessage")) == 1
    assert len(bench.calls("conversations.history")) == 1
    await bench.press(BEN, card, "approve")
    await bench.quiet()
    assert len(bench.ran("restart")) == 1
    assert controls(await bench.card()) == []
    assert (await bench.phone(BEN)) == ["Approve? Restart api in eu. Ada asks. CS-1"]


async def test_without_history_the_orphan_is_neutralised_by_its_first_click(bench):
    without_history(bench)
    orphan, live = await lost(bench)
    assert len(await actionable(bench)) == 2

    await bench.press(BEN, orphan, "approve")
    await bench.quiet()

    assert await bench.refusals() == ["superseded"]
    assert (await bench.whispers(BEN))[-1] == (
        "This is an older copy of CS-1. /approvals CS-1 shows the live one."
    )
    assert await votes(bench) == []
    orphan, live = await bench.cards()
    assert controls(orphan) == []
    assert "This copy of a card cannot be answered." in text_in(orphan)
    assert controls(live) == ["Approve", "Deny", "Deny, say why"]
    await bench.press(BEN, live, "approve")
    await bench.quiet()
    assert len(bench.ran("restart")) == 1


async def test_an_orphan_of_a_settled_request_changes_nothing(bench):
    without_history(bench)
    orphan, live = await lost(bench)
    await bench.press(BEN, live, "approve")
    await bench.quiet()

    await bench.press(BEN, orphan, "approve")
    await bench.quiet()

    assert await actionable(bench) == []
    assert await votes(bench) == [(BEN, "approve")]
    assert len(bench.ran("restart")) == 1


async def test_the_orphans_neutral_form_survives_further_clicks(bench):
    without_history(bench)
    orphan, _ = await lost(bench)
    await bench.press(BEN, orphan, "approve")
    await bench.quiet()

    for user in (BEN, CLEO):
        await bench.forge(user, orphan, "approve")
    await bench.quiet()

    assert await bench.refusals() == ["superseded"] * 3
    assert controls((await bench.cards())[0]) == []


@pytest.mark.parametrize("history", [True, False])
async def test_a_click_before_the_second_attempt_adopts_the_first(bench, history):
    if not history:
        without_history(bench)
    bench.slack.fault("chat.postMessage", "accept-then-drop", 1)
    await bench.tool("restart service=api")
    shown = await bench.slack.wait_for("message:C0OPS:contains:Approve?", 5)
    assert shown["ok"]
    (card,) = await bench.cards()

    await bench.press(BEN, card, "approve")
    await later(bench)

    assert await votes(bench) == [(BEN, "approve")]
    assert len(await bench.cards()) == 1
    assert controls(await bench.card()) == []
    assert len(bench.ran("restart")) == 1


async def lost_and_waiting(bench):
    """A card whose reply was lost, and no second attempt yet."""
    bench.slack.fault("chat.postMessage", "accept-then-drop", 1)
    await bench.tool("restart service=api")
    await bench.slack.wait_for("message:C0OPS:contains:Approve?", 5)
    (card,) = await bench.cards()
    return card


async def test_what_another_app_posted_is_never_adopted(bench):
    card = await lost_and_waiting(bench)
    foreign = {"type": "message", "ts": card["ts"], "user": "U0X", "bot_id": "B0X"}

    await bench.forge(BEN, card, "approve", message=foreign)

    assert await bench.refusals() == ["wrong_message"]
    assert await votes(bench) == []
    await later(bench)
    assert len(await bench.cards()) == 1


async def test_a_card_in_another_channel_is_never_adopted(bench):
    card = await lost_and_waiting(bench)

    await bench.forge(BEN, card, "approve", channel=GENERAL)
    await bench.quiet()

    assert await bench.refusals() == ["wrong_message"]
    assert await votes(bench) == []


async def test_a_restart_between_the_post_and_its_reply(bench):
    await lost_and_waiting(bench)

    await bench.restart()
    card = await bench.card()

    assert len(await bench.cards()) == 1
    await bench.press(BEN, card, "approve")
    await bench.quiet()
    assert len(bench.ran("restart")) == 1


async def test_the_same_token_from_another_channel(bench):
    card = await asked(bench)
    copy = bench.slack.workspace.post(
        GENERAL, CLEO, "Look at this", blocks=card["blocks"]
    )

    for changes in (
        {"channel": GENERAL},  # the same ts, elsewhere
        {"channel": GENERAL, "ts": copy["ts"]},
        {"ts": "1800000000.999999"},  # the right channel, another message
    ):
        await bench.forge(BEN, card, "approve", message={}, **changes)
    await bench.quiet()

    assert await bench.refusals() == ["wrong_message"] * 3
    assert set(await bench.whispers(BEN)) == {CANNOT}
    assert await votes(bench) == []
    assert await bench.statuses() == ["open"]
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]


async def test_a_card_of_ours_shared_elsewhere_loses_its_controls(bench):
    card = await asked(bench)
    shared = bench.slack.workspace.post(
        GENERAL, bench.slack.bot_user_id, card["text"], blocks=card["blocks"]
    )

    await bench.press(BEN, {"channel": GENERAL, "ts": shared["ts"]}, "approve")
    await bench.quiet()

    assert await bench.refusals() == ["wrong_message"]
    assert await votes(bench) == []
    assert await actionable(bench, GENERAL) == []
    assert len(await actionable(bench)) == 1


# -- T23: cards in direct messages ----------------------------------------------------


@pytest.mark.parametrize("history", [True, False])
async def test_a_lost_card_in_direct_messages(folder, history):
    async with Bench(folder, policy=DIRECT_POLICY) as bench:
        if not history:
            without_history(bench)
        bench.slack.fault("chat.postMessage", "accept-then-drop", 1)
        await bench.tool("pay amount=5")
        await later(bench)
        cards = await bench.cards(DIRECT)
        assert len(cards) == 2

        for card in cards:
            await bench.press(BEN, card, "approve")
            await bench.quiet()

        assert await actionable(bench, DIRECT) == []
        assert await votes(bench) == [(BEN, "approve")]
        assert len(bench.ran("pay")) == 1
        assert await bench.refusals() == ["superseded"] * (len(cards) - 1)
        await assert_invariants(bench)


async def test_a_lost_card_in_direct_messages_is_adopted(folder):
    async with Bench(folder, policy=DIRECT_POLICY) as bench:
        bench.slack.fault("chat.postMessage", "accept-then-drop")
        await bench.tool("pay amount=5")
        await bench.slack.wait_for(f"message:{DIRECT}:contains:Approve?", 5)
        bench.slack.fault("chat.postMessage", "")
        (card,) = await bench.cards(DIRECT)

        await bench.press(BEN, card, "approve")
        await later(bench)
        assert len(await bench.cards(DIRECT)) == 1

        assert await votes(bench) == [(BEN, "approve")]
        assert len(bench.ran("pay")) == 1
        assert await actionable(bench, DIRECT) == []
        await assert_invariants(bench)


async def test_somebody_elses_direct_card_is_not_mine(folder):
    async with Bench(folder, policy=DIRECT_POLICY) as bench:
        bench.slack.set_group_members("S0APPROVERS", BEN, CLEO)
        await bench.tool("pay amount=5")
        await bench.quiet()
        (bens,), (cleos,) = await bench.cards(DIRECT), await bench.cards("D0CLEO")

        await bench.press(CLEO, cleos, "approve")
        await bench.quiet()

        # Both copies are settled, and the other one is told the truth.
        assert (
            await actionable(bench, DIRECT) == await actionable(bench, "D0CLEO") == []
        )
        await bench.forge(BEN, bens, "approve")
        await bench.quiet()
        assert await bench.refusals() == ["already_answered"]
        assert len(bench.ran("pay")) == 1
        await assert_invariants(bench)


# -- T24: several requests ------------------------------------------------------------

ORDERS = list(itertools.permutations(range(5)))[::17]  # 8 of 120, both ends of it


@pytest.mark.parametrize("at", range(len(ORDERS)))
async def test_five_requests_in_one_channel_do_not_touch_each_other(bench, at):
    for number in range(5):
        await bench.tool(f"pay amount={number + 1}")
    await bench.quiet()
    cards = await bench.cards()
    said = ["approve" if (at + 1) >> n & 1 else "deny" for n in range(5)]
    want = {"approve": "approved", "deny": "denied"}
    expected = ["open"] * 5

    for n in ORDERS[at]:
        await bench.press(BEN, cards[n], said[n])
        await bench.quiet()
        expected[n] = want[said[n]]

        assert await bench.statuses() == expected
        shown = [controls(c) for c in await bench.cards()]
        assert shown == [
            ["Approve", "Deny", "Deny, say why"] if s == "open" else []
            for s in expected
        ]

    approved = {n + 1 for n in range(5) if said[n] == "approve"}
    assert {line["args"]["amount"] for line in bench.ran("pay")} == approved
    assert len(bench.ran("pay")) == len(approved)


@pytest.mark.parametrize("fault", ["429:5", "hang", "accept-then-drop", "500"])
async def test_a_delayed_edit_never_brings_buttons_back(bench, monkeypatch, fault):
    """The edit of the decision is held up while the final state comes about."""
    monkeypatch.setattr(assembly, "CALL_TIMEOUT", 0.3)  # of a call that hangs
    await bench.restart()
    card = await asked(bench)
    bench.slack.fault("chat.update", fault, 1)

    await bench.press(BEN, card, "approve")
    await later(bench)

    assert len(bench.ran("restart")) == 1
    card = await bench.card()
    assert controls(card) == []
    assert "Done" in text_in(card)
    edits = [text_in(c) for c in bench.calls("chat.update") if c["ts"] == card["ts"]]
    assert "Done" in edits[-1]


async def test_an_edit_that_fails_again_and_again_ends_in_the_newest_state(bench):
    bench.slack.fault("chat.update", "500", 5)
    card = await asked(bench)

    await bench.press(ADA, card, "deny")
    await later(bench)

    assert controls(await bench.card()) == []
    assert "Denied by Ada" in text_in(await bench.card())
    assert len(bench.calls("chat.update")) >= 6
