"""What the commands say, from the wire to the reply: the words stand elsewhere."""

from harness import ADA, BEN, GENERAL, OPS, PRIVATE, Bench, text_in

POLICY = """
[[tool]]
name = "pay"
gate = "ask"
approvers = ["U0BEN"]
post_to = "#ops"
headline = "Pay {amount}"

[[tool]]
name = "restart"
gate = "ask"
approvers = ["U0BEN"]

[[tool]]
name = "status"
gate = "allow"
callers = []

[[tool]]
name = "fails"
gate = "deny"
"""


async def said_directly(bench, user):
    await bench.quiet()
    return [text_in(m) for m in await bench.cards(f"D{user[1:]}")]


async def test_a_denied_tool_and_one_without_a_rule_are_told_apart(folder):
    async with Bench(folder, policy=POLICY) as bench:
        denied = await bench.tool("fails why=disk")
        unruled = await bench.tool("countdown")

        assert denied == (
            "fails may not run: the policy denies it. Ask whoever keeps the policy."
        )
        assert unruled.startswith("countdown has no rule in the policy")


async def test_nobody_may_start_what_names_no_callers(folder):
    async with Bench(folder, policy=POLICY) as bench:
        assert (await bench.tool("status service=api")).startswith(
            "Nobody can start status: its rule names no callers."
        )


async def test_runs_are_listed_by_what_they_are_about(folder):
    async with Bench(folder, policy=POLICY) as bench:
        await bench.tool("pay amount=5")
        await bench.quiet()

        assert "CS-1 Pay 5 · waiting for people" in await bench.type("/runs")


async def test_what_waits_says_where_its_card_is(folder):
    async with Bench(folder, policy=POLICY) as bench:
        await bench.tool("pay amount=5", channel=GENERAL)
        reply = await bench.tool("restart service=api", channel=GENERAL)
        await bench.quiet()

        waiting = await bench.type("/approvals", user=BEN)

        assert reply.endswith(" in direct messages. It has not run yet.")
        assert " · in #ops · CS-1" in waiting
        assert " · in your direct messages · CS-2" in waiting


async def test_people_of_the_policy_are_named_on_a_card_that_mentions_nobody(folder):
    async with Bench(folder, policy=POLICY) as bench:
        await bench.tool("restart service=api", channel=GENERAL)
        await bench.quiet()

        (card,) = await said_directly(bench, BEN)
        assert "Needs Ben." in card
        assert "waiting: Ben" in text_in(await bench.card(GENERAL))
        assert "thread" not in card


async def test_a_run_card_that_went_elsewhere_is_not_said_to_be_the_requests(folder):
    async with Bench(folder, policy=POLICY) as bench:
        await bench.tool("pay amount=5", channel=PRIVATE)

        (told,) = [s for s in await said_directly(bench, ADA) if "could not go" in s]

        assert told == (
            f"The card of run CS-1 could not go to {PRIVATE}, so it went to you"
            f" directly. To fix it: /invite @Countersign in {PRIVATE}"
        )


async def test_an_archived_channel_takes_no_invitation(folder):
    async with Bench(folder, policy=POLICY) as bench:
        bench.slack.archive(OPS)
        await bench.tool("pay amount=5", channel=GENERAL)

        assert await said_directly(bench, ADA) == [
            "#ops is archived, so the card for CS-1 went to Ben directly."
        ]
