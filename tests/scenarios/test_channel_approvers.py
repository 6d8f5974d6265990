"""Members of a channel as approvers and callers: asked, counted, refused, unknown."""

import pytest
from harness import ADA, BEN, CLEO, GENERAL, OPS, PRIVATE, Bench, controls, text_in
from invariants import assert_invariants

from bot.errors import ConfigError

RULE = """
[[tool]]
name = "pay"
gate = "ask"
approvers = ["#ops"]
headline = "Pay {amount}"
expires = "30m"
"""
THERE = f'{RULE}post_to = "#ops"\n'
BENS, CLEOS, ADAS = "D0BEN", "D0CLEO", "D0ADA"
UNKNOWN = (
    "Slack did not tell us just now who is in C0OPS, so your click was not counted."
    " Click again in a minute."
)


async def places(bench):
    """The channels in which some card can be answered."""
    await bench.quiet()
    everywhere = (OPS, GENERAL, PRIVATE, ADAS, BENS, CLEOS)
    found = [p for p in everywhere for c in await bench.cards(p) if controls(c)]
    return [place for place in found if place != GENERAL]


def members(bench, channel, *users):
    bench.slack.workspace.set_channel(channel, members=(*users, "U0CSIGN"))


async def test_few_members_are_asked_one_by_one_and_apps_are_not(folder):
    async with Bench(folder, policy=RULE) as bench:
        reply = await bench.tool("pay amount=5", channel=GENERAL)

        assert reply == (
            "CS-1: Pay 5. Asked of C0OPS in direct messages. It has not run yet."
        )
        assert await places(bench) == [BENS, CLEOS]  # Ada asked; the bot is no person
        card = await bench.card(BENS)
        assert "Needs one of #ops, not Ada." in text_in(card)
        assert await bench.phone(CLEO) == ["Approve? Pay 5. Ada asks. CS-1"]
        await bench.press(CLEO, await bench.card(CLEOS), "approve")
        await bench.quiet()
        assert len(bench.ran("pay")) == 1
        await assert_invariants(bench)


async def test_a_card_in_the_channel_names_it_and_rings_nobody(folder):
    async with Bench(folder, policy=THERE) as bench:
        await bench.tool("pay amount=5", channel=GENERAL)

        card = await bench.card()
        named = [e for e in elements(card) if e["type"] == "channel"]
        assert named == [{"type": "channel", "channel_id": OPS}]
        assert [await bench.phone(user) for user in (ADA, BEN, CLEO)] == [[], [], []]
        await bench.press(BEN, card, "approve")
        await bench.quiet()
        assert "Approved by Ben" in text_in(await bench.card())
        assert len(bench.ran("pay")) == 1
        await assert_invariants(bench)


def elements(card):
    return [
        element
        for block in card["blocks"]
        if block["type"] == "rich_text"
        for part in block["elements"]
        for element in part["elements"]
    ]


async def test_many_members_are_asked_in_the_channel(folder):
    async with Bench(folder, policy=RULE) as bench:
        members(bench, OPS, ADA, BEN, CLEO, *(f"U0MORE{n}" for n in range(30)))

        reply = await bench.tool("pay amount=5", channel=GENERAL)

        assert reply == "CS-1: Pay 5. Asked of C0OPS in #ops. It has not run yet."
        assert await places(bench) == [OPS]
        await bench.press(BEN, await bench.card(), "approve")
        await bench.quiet()
        assert len(bench.ran("pay")) == 1
        await assert_invariants(bench)


async def test_who_is_not_in_the_channel_is_refused_and_told_which(folder):
    async with Bench(folder, policy=THERE) as bench:
        await bench.tool("pay amount=5", channel=GENERAL)
        card = await bench.card()
        bench.slack.kick(OPS, BEN)
        bench.clock.advance(61)

        await bench.forge(BEN, card, "approve")

        (said,) = await bench.whispers(BEN) or await directly(bench, BEN)
        assert said == (
            "CS-1 can be answered by C0OPS."
            " You are not in that channel now. Nothing changed."
        )
        assert await bench.refusals() == ["not_approver"]
        assert bench.ran() == []
        await assert_invariants(bench)


async def directly(bench, user):
    await bench.quiet()
    return [text_in(m) for m in await bench.cards(f"D{user[1:]}")]


async def test_the_member_who_asked_does_not_approve_it(folder):
    async with Bench(folder, policy=THERE) as bench:
        await bench.tool("pay amount=5")
        await bench.press(ADA, await bench.card(), "approve")

        assert await bench.refusals() == ["self_approval"]
        assert bench.ran() == []
        await assert_invariants(bench)


@pytest.mark.parametrize(
    "fault", ["500", "error:fetch_members_failed", "error:channel_not_found"]
)
async def test_a_channel_that_cannot_be_looked_up_leaves_everybody_unverified(
    folder, fault
):
    async with Bench(folder, policy=THERE) as bench:
        await bench.tool("pay amount=5", channel=GENERAL)
        bench.clock.advance(61)
        bench.slack.fault("conversations.members", fault)

        await bench.press(BEN, await bench.card(), "approve")
        assert await bench.whispers(BEN) == [UNKNOWN]
        assert await bench.refusals() == ["identity_unverified"]
        assert await bench.statuses() == ["open"]
        bench.slack.fault("conversations.members", "")
        await bench.press(BEN, await bench.card(), "approve")
        await bench.quiet()

        assert len(bench.ran("pay")) == 1
        await assert_invariants(bench)


@pytest.mark.parametrize(
    ("count", "code"), [(1_000, ""), (1_001, "identity_unverified")]
)
async def test_a_thousand_members_count_and_one_more_is_too_many(folder, count, code):
    async with Bench(folder, policy=THERE) as bench:
        # The bot is one of them.
        members(bench, OPS, ADA, BEN, *(f"U0MORE{n}" for n in range(count - 3)))
        bench.clock.advance(61)
        await bench.tool("pay amount=5", channel=GENERAL)

        await bench.press(BEN, await bench.card(), "approve")
        await bench.quiet()

        assert await bench.refusals() == ([code] if code else [])
        assert len(bench.ran("pay")) == (0 if code else 1)
        await assert_invariants(bench)


async def test_a_start_says_which_channel_is_too_large(folder, capsys):
    async with Bench(folder, policy=THERE) as bench:
        members(bench, OPS, *(f"U0MORE{n}" for n in range(1_200)))
        await bench.restart()

        said = capsys.readouterr().out
        assert "#ops has more than 1,000 members" in said


async def test_a_channel_with_nobody_but_the_requester_and_apps_asks_nobody(folder):
    async with Bench(folder, policy=RULE) as bench:
        members(bench, OPS, ADA)

        reply = await bench.tool("pay amount=5", channel=GENERAL)

        assert reply == (
            "Nobody can approve this: C0OPS has no member except you."
            " Nothing was started."
        )
        assert await bench.statuses() == []


async def test_who_leaves_the_channel_before_it_runs_has_not_approved(folder):
    async with Bench(folder, policy=THERE) as bench:
        await bench.tool("pay amount=5", channel=GENERAL)
        await bench.quiet()
        await bench.bot.runner.stop(0)
        await bench.press(BEN, (await bench.cards())[-1], "approve")
        bench.slack.kick(OPS, BEN)
        await bench.restart()
        await bench.quiet()

        assert bench.ran() == []
        assert "no longer valid" in await bench.type("/runs")
        await assert_invariants(bench)


async def test_callers_may_be_the_members_of_a_channel(folder):
    policy = '[[tool]]\nname = "status"\ngate = "allow"\ncallers = ["C0OPS"]\n'
    async with Bench(folder, policy=policy) as bench:
        bench.slack.kick(OPS, CLEO)

        assert "without anybody's approval" in await bench.tool("status service=api")
        assert await bench.tool("status service=api", user=CLEO, channel=GENERAL) == (
            "status can be started by C0OPS."
            " You are not among them now. Nothing was started."
        )
        await bench.quiet()
        assert len(bench.ran("status")) == 1
        await assert_invariants(bench)


async def test_what_waits_for_the_members_of_a_channel_is_in_their_lists(folder):
    async with Bench(folder, policy=THERE) as bench:
        await bench.tool("pay amount=5", channel=GENERAL)
        await bench.quiet()

        assert (await bench.type("/approvals", user=BEN)).startswith("Waiting for you")
        assert "CS-1" in await bench.type("/approvals", "CS-1", user=CLEO)
        assert await bench.type("/approvals") == "Nothing waits for you."


async def test_a_private_channel_without_the_bot_stops_the_start(folder):
    with pytest.raises(ConfigError, match="approvers name #private, a channel the bot"):
        async with Bench(folder, policy=RULE.replace("#ops", "#private")):
            pass


async def test_a_channel_by_id_that_the_bot_does_not_see_counts_for_nothing(
    folder, capsys
):
    policy = THERE.replace('["#ops"]', f'["{PRIVATE}"]')
    async with Bench(folder, policy=policy) as bench:
        said = capsys.readouterr().out
        assert f"Slack did not say who is in {PRIVATE}" in said
        assert f"/invite @Countersign in {PRIVATE}" in said
        await bench.tool("pay amount=5", channel=GENERAL)
        await bench.press(BEN, await bench.card(), "approve")

        assert await bench.refusals() == ["identity_unverified"]
        bench.slack.invite(PRIVATE)
        await bench.press(BEN, await bench.card(), "approve")
        await bench.quiet()
        assert len(bench.ran("pay")) == 1
        await assert_invariants(bench)


async def test_a_card_that_cannot_go_there_goes_to_the_members(folder):
    async with Bench(folder, policy=THERE) as bench:
        bench.slack.kick(OPS)

        await bench.tool("pay amount=5", channel=GENERAL)

        assert await places(bench) == [BENS, CLEOS]
        (said,) = await directly(bench, ADA)
        assert (
            "could not go to #ops, so it went to the members of #ops directly" in said
        )
        await assert_invariants(bench)
