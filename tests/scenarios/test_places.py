"""Where cards go, where they go instead, and who hears of it."""

import pytest
from harness import ADA, BEN, CLEO, GENERAL, OPS, PRIVATE, Bench, controls, text_in
from invariants import assert_invariants

GROUP = "S0APPROVERS"
BENS, CLEOS, ADAS = "D0BEN", "D0CLEO", "D0ADA"

RULE = """
[[tool]]
name = "pay"
gate = "ask"
approvers = ["@approvers"]
headline = "Pay {amount}"
expires = "30m"
"""
NOT_SHOWN = (
    "The card for CS-1 could not be shown to anybody: Pay 5."
    " It has not run. /runs can cancel it."
)


def posting_to(place):
    return f'{RULE}post_to = "{place}"\n'


async def said_directly(bench, user):
    """What the bot wrote to somebody directly, cards and news."""
    await bench.quiet()
    return [text_in(m) for m in await bench.cards(f"D{user[1:]}")]


async def every_card(bench):
    """The channels in which some card can be answered."""
    await bench.quiet()
    places = (OPS, GENERAL, PRIVATE, ADAS, BENS, CLEOS)
    return [p for p in places for c in await bench.cards(p) if "Approve" in controls(c)]


async def told_of_the_detour(bench, place, instead):
    """Ada heard, once, that the card went elsewhere, and from where to where."""
    (said,) = await said_directly(bench, ADA)
    assert place in said
    assert "CS-1" in said
    assert said.partition(f"went to {instead} directly.")[1]
    assert len(await bench.phone(ADA)) == 1


# -- without post_to: the approvers' direct messages ----------------------------------


async def test_without_a_channel_each_approver_is_asked_directly(folder):
    async with Bench(folder, policy=RULE) as bench:
        bench.slack.set_group_members(GROUP, BEN, CLEO, ADA)

        reply = await bench.tool("pay amount=5", channel=GENERAL)

        assert "in direct messages" in reply
        assert await every_card(bench) == [BENS, CLEOS]  # Ada asked: she may not
        (card,) = await bench.cards(BENS)
        assert GROUP not in str(card["blocks"])  # a mention would tell all of them
        for user in (BEN, CLEO):
            assert await bench.phone(user) == ["Approve? Pay 5. Ada asks. CS-1"]
        assert await bench.phone(ADA) == []
        await assert_invariants(bench)


async def test_answered_by_one_all_copies_are_settled(folder):
    async with Bench(folder, policy=RULE) as bench:
        bench.slack.set_group_members(GROUP, BEN, CLEO)
        await bench.tool("pay amount=5", channel=GENERAL)
        await bench.quiet()

        await bench.press(CLEO, await bench.card(CLEOS), "approve")

        for place in (BENS, CLEOS):
            assert controls(await bench.card(place)) == []
            assert "Approved by Cleo" in text_in(await bench.card(place))
        assert len(bench.ran("pay")) == 1
        assert len(await bench.phone(BEN)) == 1  # an edit tells nobody
        (told,) = await bench.phone(ADA)
        assert told.startswith("Cleo approved. Done in ")
        await assert_invariants(bench)


async def test_too_many_approvers_are_asked_where_it_was_asked(folder):
    async with Bench(folder, policy=RULE) as bench:
        many = [f"U0EXTRA{n}" for n in range(20)]
        bench.slack.set_group_members(GROUP, BEN, *many)

        await bench.tool("pay amount=5", channel=GENERAL)

        assert await every_card(bench) == [GENERAL]
        assert await bench.phone(BEN) == ["Approve? Pay 5. Ada asks. CS-1"]
        await assert_invariants(bench)


async def test_one_approver_who_cannot_be_written_to_does_not_matter(folder):
    async with Bench(folder, policy=RULE) as bench:
        bench.slack.set_group_members(GROUP, BEN, CLEO)
        bench.slack.deactivate(CLEO)

        await bench.tool("pay amount=5", channel=GENERAL)

        assert await every_card(bench) == [BENS]
        assert await bench.phone(ADA) == []
        await bench.press(BEN, await bench.card(BENS), "approve")
        await bench.quiet()
        assert len(bench.ran("pay")) == 1
        await assert_invariants(bench)


# -- with a channel that takes no card ------------------------------------------------


async def test_a_private_channel_without_the_bot_by_id(folder):
    async with Bench(folder, policy=posting_to(PRIVATE)) as bench:
        await bench.tool("pay amount=5", channel=GENERAL)

        assert await every_card(bench) == [BENS]
        await told_of_the_detour(bench, PRIVATE, "@approvers")
        await bench.press(BEN, await bench.card(BENS), "approve")
        await bench.quiet()
        assert len(bench.ran("pay")) == 1
        await assert_invariants(bench)


async def test_a_private_channel_that_the_bot_was_removed_from(folder):
    async with Bench(folder, policy=RULE) as bench:
        bench.slack.invite(PRIVATE)
        bench.policy(posting_to("#private"))
        await bench.restart()
        bench.slack.kick(PRIVATE)
        await bench.restart()

        reply = await bench.tool("pay amount=5", channel=GENERAL)

        assert "in #private" in reply
        assert await every_card(bench) == [BENS]
        await told_of_the_detour(bench, "#private", "@approvers")
        await assert_invariants(bench)


@pytest.mark.parametrize("trouble", ["archived", "removed"])
async def test_a_public_channel_that_takes_no_card(folder, trouble):
    async with Bench(folder, policy=posting_to("#ops")) as bench:
        if trouble == "archived":
            bench.slack.archive(OPS)
        else:
            bench.slack.kick(OPS)

        await bench.tool("pay amount=5", channel=GENERAL)

        assert await every_card(bench) == [BENS]
        await told_of_the_detour(bench, "#ops", "@approvers")
        assert await bench.phone(BEN) == ["Approve? Pay 5. Ada asks. CS-1"]
        await assert_invariants(bench)


async def test_people_named_by_id_are_called_by_name(folder):
    policy = posting_to("#ops").replace('"@approvers"', f'"{BEN}", "{CLEO}"')
    async with Bench(folder, policy=policy) as bench:
        bench.slack.archive(OPS)

        await bench.tool("pay amount=5", channel=GENERAL)

        assert await every_card(bench) == [BENS, CLEOS]
        await told_of_the_detour(bench, "#ops", "Ben and Cleo")
        await assert_invariants(bench)


async def test_a_channel_that_is_back_takes_the_next_card(folder):
    async with Bench(folder, policy=posting_to("#ops")) as bench:
        bench.slack.kick(OPS)
        await bench.tool("pay amount=5", channel=GENERAL)
        await bench.quiet()
        bench.slack.invite(OPS)

        await bench.tool("pay amount=6", channel=GENERAL)

        assert await every_card(bench) == [OPS, BENS]
        await assert_invariants(bench)


# -- the run's own channel ------------------------------------------------------------


async def test_asked_where_the_bot_is_not_the_run_card_comes_directly(bench):
    await bench.tool("pay amount=5", channel=PRIVATE)
    await bench.quiet()

    cards = [c for c in await bench.cards(ADAS) if controls(c) == ["Cancel run"]]

    assert len(cards) == 1
    assert "waiting: @approvers" in text_in(cards[0])
    said = [one for one in await said_directly(bench, ADA) if "could not go" in one]
    assert len(said) == 1
    assert "went to you directly." in said[0]
    assert await every_card(bench) == [OPS]
    await bench.press(ADA, cards[0], "cancel")
    await bench.quiet()
    assert await bench.statuses() == ["cancelled"]


async def test_a_question_to_the_requester_comes_directly_too(bench):
    await bench.tool("countdown", channel=PRIVATE)
    await bench.quiet()
    cards = [c for c in await bench.cards(ADAS) if "Done" in controls(c)]

    assert len(cards) == 1
    await bench.press(ADA, cards[0], "done")
    await bench.quiet()

    assert len(bench.ran("countdown")) == 1
    assert not [c for c in await bench.cards(ADAS) if controls(c)]


async def test_typed_in_the_bots_own_messages(bench):
    await bench.tool("pay amount=5", channel=ADAS)
    await bench.press(BEN, await bench.card(OPS), "approve")
    await bench.quiet()

    assert len(bench.ran("pay")) == 1
    assert (await bench.phone(ADA))[-1].startswith("Ben approved. Done in ")
    assert not [c for c in await bench.cards(ADAS) if controls(c)]


# -- who asked is not where the card is -----------------------------------------------


async def test_a_requester_outside_the_cards_channel_is_told_directly(bench):
    bench.slack.kick(OPS, ADA)
    await bench.tool("pay amount=5", channel=GENERAL)
    card = await bench.card(OPS)

    await bench.press(BEN, card, "approve")
    told = await said_directly(bench, ADA)

    assert any("Ben approved. Done in " in one for one in told)
    assert await bench.replies(OPS) == []
    assert [t for t in await bench.phone(ADA) if t.startswith("Ben approved.")] != []


async def test_slack_silent_about_the_channel_tells_directly(bench):
    await bench.tool("pay amount=5", channel=GENERAL)
    card = await bench.card(OPS)
    bench.slack.fault("conversations.members", "500")

    await bench.press(BEN, card, "deny")

    assert any("Ben denied: Pay 5." in m for m in await said_directly(bench, ADA))
    assert await bench.replies(OPS) == []


async def test_of_a_failure_both_hear_each_in_their_place(bench):
    bench.slack.kick(OPS, ADA)
    await bench.tool("fails why=disk", channel=GENERAL)

    await bench.press(BEN, await bench.card(OPS), "approve")
    await bench.quiet()

    assert [t for t in await bench.phone(ADA) if "Failed" in t] != []
    assert [t for t in await bench.phone(BEN) if "Failed" in t] != []


# -- nobody can be reached ------------------------------------------------------------


async def test_nobody_reachable_is_told_and_tried_again_at_the_next_start(folder):
    async with Bench(folder, policy=posting_to("#ops")) as bench:
        bench.slack.archive(OPS)
        bench.slack.deactivate(BEN)

        await bench.tool("pay amount=5", channel=GENERAL)

        assert await every_card(bench) == []
        assert NOT_SHOWN in await said_directly(bench, ADA)
        assert await bench.statuses() == ["open"]
        assert ("stuck",) in await bench.rows("SELECT state FROM outbox")
        assert controls(await bench.card(GENERAL)) == ["Cancel run"]

        await bench.restart()
        assert await every_card(bench) == []
        assert (await said_directly(bench, ADA)).count(NOT_SHOWN) == 1

        bench.slack.workspace.set_user(BEN, deleted=False)
        await bench.restart()
        assert await every_card(bench) == [BENS]
        await bench.press(BEN, await bench.card(BENS), "approve")
        await bench.quiet()
        assert len(bench.ran("pay")) == 1
        await assert_invariants(bench)


async def test_what_nobody_could_be_shown_can_be_cancelled(folder):
    async with Bench(folder, policy=posting_to("#ops")) as bench:
        bench.slack.archive(OPS)
        bench.slack.deactivate(BEN)
        await bench.tool("pay amount=5", channel=GENERAL)
        await bench.quiet()
        await bench.type("/runs", channel=GENERAL)
        state = await bench.slack.state()

        await bench.press(ADA, state["ephemeral"][ADA][-1], "cancel")
        await bench.quiet()

        assert await bench.statuses() == ["cancelled"]
        assert bench.ran() == []
        await assert_invariants(bench)


async def test_all_in_reach_are_tried_again(folder):
    """Of several approvers none could be written to; later the first one can."""
    async with Bench(folder, policy=RULE) as bench:
        bench.slack.set_group_members(GROUP, BEN, CLEO)
        bench.slack.deactivate(BEN)
        bench.slack.deactivate(CLEO)
        await bench.tool("pay amount=5", channel=GENERAL)
        assert await every_card(bench) == []

        bench.slack.workspace.set_user(BEN, deleted=False)
        await bench.restart()

        assert await every_card(bench) == [BENS]
        await assert_invariants(bench)
