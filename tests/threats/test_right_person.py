"""T8 to T11: only the right person's click counts, as things are when it counts."""

import asyncio

import pytest
from harness import ADA, BEN, CLEO, OPS, Bench, controls, text_in
from invariants import assert_invariants

GROUP = "S0APPROVERS"

POLICY = """
[[tool]]
name = "pay"
gate = "ask"
approvers = ["@approvers"]
post_to = "#ops"
headline = "Pay {amount}"
expires = "30m"
"""


async def votes(bench):
    return await bench.rows("SELECT user, decision, self_approved FROM votes")


async def asked(bench, words="restart service=api"):
    await bench.tool(words)
    return await bench.card()


async def said_in_vain(bench):
    """Wait until the bot has given up saying something to a closed account."""
    while bench.bot.services.tasks.busy:
        bench.clock.advance(1)
        await asyncio.sleep(0.005)
    await bench.quiet()


def redrawn(bench, card):
    """How often a card was edited."""
    return [c for c in bench.calls("chat.update") if c["ts"] == card["ts"]]


# -- T8: wrong user -------------------------------------------------------------------


@pytest.mark.parametrize("action", ["approve", "deny"])
async def test_a_stranger_is_refused_and_the_card_stays_as_it_is(bench, action):
    card = await asked(bench)

    await bench.press(CLEO, card, action)
    (said,) = await bench.whispers(CLEO)

    assert await bench.refusals() == ["not_approver"]
    assert said == (
        f"CS-1 can be answered by {GROUP}. You are not in that group now."
        " Nothing changed."
    )
    assert await votes(bench) == []
    assert await bench.statuses() == ["open"]
    assert (await bench.card())["blocks"] == card["blocks"]
    assert redrawn(bench, card) == []
    assert await bench.whispers(BEN) == []


async def test_a_stranger_is_refused_from_the_cache_as_well(bench):
    card = await asked(bench)
    await bench.press(CLEO, card, "approve")
    before = len(bench.calls("usergroups.users.list"))

    await bench.press(CLEO, card, "approve")
    await bench.press(CLEO, card, "deny")
    await bench.quiet()

    assert len(bench.calls("usergroups.users.list")) == before
    assert await bench.refusals() == ["not_approver"] * 3
    assert await votes(bench) == []


async def test_who_clicked_comes_from_the_payload_and_not_from_the_card(bench):
    """Ben's own card, sent back by Cleo: being able to see it is no authority."""
    card = await asked(bench)

    answer = await bench.forge(CLEO, card, "approve")
    await bench.quiet()

    assert answer.status_code == 200
    assert await bench.refusals() == ["not_approver"]
    assert await votes(bench) == []


# -- T9: self-approval ----------------------------------------------------------------


async def test_the_requester_cannot_approve(bench):
    card = await asked(bench)

    await bench.press(ADA, card, "approve")

    assert (await bench.whispers(ADA))[-1].startswith(
        f"You asked for CS-1, so your yes does not count. {GROUP} can agree; you can"
    )
    assert await bench.refusals() == ["self_approval"]
    assert await votes(bench) == []
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]


async def test_being_in_the_group_does_not_help_the_requester(bench):
    bench.slack.set_group_members(GROUP, ADA, BEN)
    card = await asked(bench)

    await bench.press(ADA, card, "approve")

    assert await bench.refusals() == ["self_approval"]
    assert bench.ran() == []


async def test_the_requester_may_deny_and_that_is_the_end(bench):
    card = await asked(bench)

    await bench.press(ADA, card, "deny")
    await bench.quiet()

    assert await bench.statuses() == ["denied"]
    assert await votes(bench) == [(ADA, "deny", 0)]
    assert bench.ran() == []


async def test_a_rule_may_let_the_requester_approve_and_the_audit_says_so(folder):
    async with Bench(folder, policy=POLICY + "self_approval = true\n") as bench:
        bench.slack.set_group_members(GROUP, ADA)
        card = await asked(bench, "pay amount=5")

        await bench.press(ADA, card, "approve")
        card = await bench.card()

        assert "their own request" in text_in(card)
        assert len(bench.ran("pay")) == 1
        assert await votes(bench) == [(ADA, "approve", 1)]
        ((body,),) = await bench.rows("SELECT body FROM audit WHERE action='approved'")
        assert '"self":true' in body
        await assert_invariants(bench)


async def test_the_owner_of_the_account_that_is_used_cannot_approve(folder):
    async with Bench(folder, policy=POLICY.replace("pay", "mine", 1)) as bench:
        bench.slack.set_group_members(GROUP, ADA, BEN)
        card = await asked(bench, "mine what=x")
        assert "acting as Ada" in text_in(card)

        await bench.press(ADA, card, "approve")
        await bench.quiet()

        assert await bench.refusals() == ["self_approval"]
        assert bench.ran() == []
        await assert_invariants(bench)


async def test_no_other_surface_offers_the_requester_a_yes(bench):
    await asked(bench)
    await bench.type("/approvals")
    await bench.type("/approvals", "CS-1")
    await bench.type("/runs")

    state = await bench.slack.state()

    offered = {label for m in state["ephemeral"][ADA] for label in controls(m)}
    assert offered == {"Cancel run"}


# -- T10: membership changed ----------------------------------------------------------


async def test_removed_before_the_click(bench):
    card = await asked(bench)
    bench.slack.set_group_members(GROUP, CLEO)
    bench.clock.advance(60)

    await bench.press(BEN, card, "approve")
    await bench.quiet()

    assert await bench.refusals() == ["not_approver"]
    assert await votes(bench) == []
    assert bench.ran() == []


async def test_joined_after_the_card_was_posted(bench):
    card = await asked(bench)
    bench.slack.set_group_members(GROUP, CLEO)
    bench.clock.advance(60)

    await bench.press(CLEO, card, "approve")
    await bench.quiet()

    assert await bench.statuses() == ["approved"]
    assert len(bench.ran("restart")) == 1


async def test_what_slack_said_is_used_for_less_than_a_minute(bench):
    card = await asked(bench)
    bench.slack.set_group_members(GROUP, CLEO)
    bench.clock.advance(59)

    await bench.press(CLEO, card, "approve")
    assert await bench.refusals() == ["not_approver"]
    bench.clock.advance(1)
    await bench.press(CLEO, card, "approve")
    await bench.quiet()

    assert await bench.statuses() == ["approved"]


async def test_the_wall_clock_does_not_freshen_what_slack_said(bench):
    card = await asked(bench)
    bench.slack.set_group_members(GROUP, CLEO)
    bench.clock.advance(61)
    bench.clock.shift(-61)

    await bench.press(BEN, card, "approve")
    await bench.quiet()

    assert await bench.refusals() == ["not_approver"]


@pytest.mark.parametrize("fault", ["429:30", "500", "hang", "error:fatal_error"])
async def test_slack_silent_about_the_group_counts_nothing(bench, fault):
    card = await asked(bench)
    bench.clock.advance(61)
    bench.slack.fault("usergroups.users.list", fault)

    await bench.press(BEN, card, "approve")
    if fault != "hang":  # each of these takes as long as a look-up may
        await bench.press(CLEO, card, "approve")
        await bench.press(CLEO, card, "deny")

    assert set(await bench.refusals()) == {"identity_unverified"}
    assert (await bench.whispers(BEN))[-1] == (
        f"Slack did not tell us just now who is in {GROUP}, so your click was not"
        " counted. Click again in a minute."
    )
    assert await votes(bench) == []
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]

    bench.slack.fault("usergroups.users.list", "")
    if fault == "hang":
        await bench.bot.desk.people.close()  # the question that nobody answers
    await bench.press(BEN, card, "approve")
    await bench.quiet()
    assert await bench.statuses() == ["approved"]


async def test_an_empty_group_is_nobody(bench):
    card = await asked(bench)
    bench.slack.set_group_members(GROUP)
    bench.clock.advance(61)

    await bench.press(BEN, card, "approve")
    await bench.quiet()

    assert await bench.refusals() == ["not_approver"]
    assert await votes(bench) == []


async def test_the_second_page_of_a_group_counts(bench):
    many = [f"U0EXTRA{n}" for n in range(100)]
    bench.slack.set_group_members(GROUP, *many, BEN)
    card = await asked(bench)

    await bench.press(BEN, card, "approve")
    await bench.quiet()

    pages = bench.calls("usergroups.users.list")
    assert [bool(page.get("cursor")) for page in pages] == [False, True]
    assert await bench.statuses() == ["approved"]


async def test_without_its_second_page_a_group_is_not_known(bench):
    many = [f"U0EXTRA{n}" for n in range(100)]
    bench.slack.set_group_members(GROUP, BEN, *many)
    card = await asked(bench)
    bench.clock.advance(61)
    bench.slack.fault("usergroups.users.list", "500")

    await bench.press(BEN, card, "approve")
    await bench.quiet()

    assert await bench.refusals() == ["identity_unverified"]


# -- T10: between click and run -------------------------------------------------------


async def approved_and_not_begun(bench):
    """Ben's yes is committed, and the process ends before the call is claimed."""
    card = await asked(bench)
    await bench.bot.runner.stop(0)
    await bench.press(BEN, card, "approve")
    assert await bench.statuses() == ["approved"]
    return card


async def test_removed_between_the_click_and_the_claim(bench):
    await approved_and_not_begun(bench)
    bench.slack.set_group_members(GROUP, CLEO)

    await bench.restart()
    card = await bench.card()

    assert bench.ran() == []
    assert await bench.statuses() == ["approved"]  # terminal states never change
    assert await bench.rows("SELECT outcome FROM calls") == [("void",)]
    assert controls(card) == []
    assert "No longer valid" in text_in(card)
    assert "It did not run." in text_in(card)
    assert (await bench.phone(ADA))[-1] == (
        "No longer valid, did not run: Restart api in eu. CS-1"
    )
    ((body,),) = await bench.rows("SELECT body FROM audit WHERE action='call void'")
    assert '"code":"not_approver"' in body


async def test_still_a_member_at_the_claim(bench):
    await approved_and_not_begun(bench)

    await bench.restart()
    await bench.quiet()

    assert len(bench.ran("restart")) == 1


@pytest.mark.parametrize("silent", ["usergroups.users.list", "users.info"])
async def test_slack_silent_at_the_claim_and_then_not(bench, silent):
    await approved_and_not_begun(bench)
    bench.slack.fault(silent, "500")

    await bench.restart()
    await bench.quiet()
    assert bench.ran() == []
    bench.slack.fault(silent, "")
    await bench.pass_time(4)
    assert bench.ran() == []  # it was put off for five seconds
    await bench.pass_time(1)

    assert len(bench.ran("restart")) == 1
    assert "Done" in text_in(await bench.card())


async def test_slack_silent_at_the_claim_is_asked_less_and_less_often(bench):
    await approved_and_not_begun(bench)
    bench.slack.fault("usergroups.users.list", "500")
    await bench.restart()
    await bench.quiet()

    waits = []
    for _ in range(6):
        ((wake_at,),) = await bench.rows("SELECT wake_at FROM runs")
        waits.append((wake_at - bench.clock.now()) / 1000)
        await bench.pass_time(waits[-1])

    assert waits == [5, 5, 10, 20, 40, 60]
    assert bench.ran() == []


async def test_slack_silent_until_the_expiry_makes_the_call_void(bench):
    await approved_and_not_begun(bench)
    bench.slack.fault("usergroups.users.list", "500")
    await bench.restart()
    await bench.quiet()

    for _ in range(30):
        await bench.pass_time(60)
    assert await bench.rows("SELECT outcome FROM calls") == [("",)]
    await bench.pass_time(60)

    assert await bench.rows("SELECT outcome FROM calls") == [("void",)]
    assert bench.ran() == []
    assert (await bench.phone(ADA))[-1] == (
        "No longer valid, did not run: Restart api in eu. CS-1"
    )


async def test_a_restart_while_the_claim_waits(bench):
    await approved_and_not_begun(bench)
    bench.slack.fault("usergroups.users.list", "500")
    await bench.restart()
    await bench.quiet()

    await bench.restart()
    await bench.quiet()
    assert bench.ran() == []
    bench.slack.fault("usergroups.users.list", "")
    await bench.pass_time(60)

    assert len(bench.ran("restart")) == 1


async def test_removed_while_the_claim_waits(bench):
    await approved_and_not_begun(bench)
    bench.slack.fault("usergroups.users.list", "500")
    await bench.restart()
    await bench.quiet()

    bench.slack.set_group_members(GROUP)
    bench.slack.fault("usergroups.users.list", "")
    await bench.pass_time(60)

    assert bench.ran() == []
    assert await bench.rows("SELECT outcome FROM calls") == [("void",)]


async def test_deactivated_between_the_click_and_the_claim(bench):
    await approved_and_not_begun(bench)
    bench.slack.deactivate(BEN)

    await bench.restart()
    await bench.quiet()

    assert bench.ran() == []
    ((body,),) = await bench.rows("SELECT body FROM audit WHERE action='call void'")
    assert '"code":"inactive_user"' in body


# -- T11: not a full, active, internal human ------------------------------------------

NOT_FULL = [
    ({"deleted": True}, "inactive_user", "Your account is not active here"),
    ({"is_bot": True}, "bot_user", "Apps cannot answer CS-1"),
    ({"is_stranger": True}, "external_user", "People of other workspaces cannot"),
    ({"team_id": "T0OTHER"}, "external_user", "People of other workspaces cannot"),
    ({"team_id": ""}, "external_user", "People of other workspaces cannot"),
    ({"is_restricted": True}, "guest_user", "Guests cannot answer CS-1"),
    ({"is_ultra_restricted": True}, "guest_user", "Guests cannot answer CS-1"),
]


@pytest.mark.parametrize(("fields", "code", "words"), NOT_FULL)
async def test_only_full_members_count(bench, fields, code, words):
    card = await asked(bench)
    bench.slack.workspace.set_user(BEN, **fields)

    for action in ("approve", "deny"):
        answer = await bench.forge(BEN, card, action)
        assert answer.status_code == 200
    await said_in_vain(bench)

    assert await bench.refusals() == [code, code]
    assert await votes(bench) == []
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]
    if not fields.get("deleted"):  # nothing can be said to a closed account
        assert words in (await bench.whispers(BEN))[-1]


async def test_a_person_slack_says_nothing_about_counts_for_nothing(bench):
    card = await asked(bench)
    bench.slack.fault("users.info", "500")

    await bench.press(BEN, card, "approve")
    await bench.quiet()

    assert await bench.refusals() == ["identity_unverified"]
    assert await votes(bench) == []


@pytest.mark.parametrize("flag", ["is_restricted", "is_ultra_restricted"])
async def test_a_guest_whom_the_policy_names_counts(folder, flag):
    named = POLICY.replace('"@approvers"', f'"{BEN}"')
    async with Bench(folder, policy=named) as bench:
        bench.slack.workspace.set_user(BEN, **{flag: True})
        card = await asked(bench, "pay amount=5")

        await bench.press(BEN, card, "approve")
        await bench.quiet()

        assert await bench.statuses() == ["approved"]
        assert len(bench.ran("pay")) == 1
        await assert_invariants(bench)


async def test_a_deactivated_person_whom_the_policy_names_does_not(folder):
    named = POLICY.replace('"@approvers"', f'"{BEN}"')
    async with Bench(folder, policy=named) as bench:
        card = await asked(bench, "pay amount=5")
        bench.slack.deactivate(BEN)
        bench.clock.advance(60)

        await bench.forge(BEN, card, "approve")
        await said_in_vain(bench)

        assert await bench.refusals() == ["inactive_user"]
        assert (await bench.cards(OPS))[0]["blocks"] == card["blocks"]
        await assert_invariants(bench)
