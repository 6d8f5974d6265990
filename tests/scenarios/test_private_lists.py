"""/runs and /approvals: what somebody may see, said as it is, to them alone."""

import threading

import probe_tools
import pytest
from harness import ADA, BEN, CLEO, GENERAL, OPS, controls

NOTHING = "Nothing waits for you."


async def asked(bench, words="restart service=api", **where):
    await bench.tool(words, **where)
    return await bench.card()


async def listed(bench, user=ADA):
    """The newest private list of somebody, as a message that can be pressed."""
    state = await bench.slack.state()
    return state["ephemeral"][user][-1]


# -- /runs ----------------------------------------------------------------------------


async def test_no_runs_yet(bench):
    assert await bench.type("/runs") == (
        "You have no runs yet. /tool lists what you can start."
    )


async def approve(bench, card):
    await bench.press(BEN, card, "approve")


async def deny(bench, card):
    await bench.press(BEN, card, "deny")


async def expire(bench, card):
    await bench.pass_time(30 * 60 + 1)


async def cancel(bench, card):
    await bench.type("/runs")
    await bench.press(ADA, await listed(bench), "cancel")


async def nothing(bench, card):
    pass


@pytest.mark.parametrize(
    ("tool", "then", "state", "open_still"),
    [
        ("restart service=api", nothing, "waiting for people", True),
        ("restart service=api", approve, "done", False),
        ("fails why=disk", approve, "failed", False),
        ("restart service=api", deny, "denied", False),
        ("restart service=api", expire, "expired", False),
        ("restart service=api", cancel, "cancelled", False),
    ],
)
async def test_each_state_by_its_name(bench, tool, then, state, open_still):
    await then(bench, await asked(bench, tool))
    await bench.quiet()

    text = await bench.type("/runs")

    subject = "fails" if "fails" in tool else "Restart api in eu"
    assert f"CS-1 {subject} · {state} " in text
    assert controls(await listed(bench)) == (["Cancel run"] if open_still else [])


async def test_a_running_run_can_be_cancelled_once(bench, monkeypatch):
    gate = threading.Event()
    monkeypatch.setitem(probe_tools.GATES, "pay", gate)
    await bench.press(BEN, await asked(bench, "pay amount=5"), "approve")
    while not bench.ran("pay"):
        await bench.store.read(lambda tx: None)

    assert "CS-1 Pay 5 · running" in await bench.type("/runs")
    await bench.press(ADA, await listed(bench), "cancel")
    text = await bench.type("/runs")
    gate.set()
    await bench.quiet()

    assert "cancelled, still running" in text
    assert controls(await listed(bench)) == []


async def test_a_call_that_is_no_longer_valid(bench):
    await asked(bench)
    await bench.bot.runner.stop(0)
    await bench.press(BEN, (await bench.cards())[-1], "approve")
    bench.slack.set_group_members("S0APPROVERS")
    await bench.restart()
    await bench.quiet()

    assert "no longer valid" in await bench.type("/runs")


async def test_only_ones_own_runs_newest_first(bench):
    await asked(bench)
    await asked(bench, "pay amount=5", user=CLEO)
    await asked(bench, "pay amount=6")

    adas, cleos = await bench.type("/runs"), await bench.type("/runs", user=CLEO)

    assert adas.startswith("Your runs · 2")
    assert adas.index("CS-3") < adas.index("CS-1")
    assert "CS-2" not in adas
    assert cleos.startswith("Your runs · 1")
    assert "CS-2" in cleos


async def test_many_runs_are_counted(bench):
    for number in range(22):
        await bench.tool(f"pay amount={number + 1}")

    text = await bench.type("/runs")

    assert text.startswith("Your runs · 22\nThe first 20; 2 more are not shown.")
    assert "CS-22" in text
    assert "CS-3" in text
    assert "CS-2 " not in text


async def test_each_button_cancels_its_own_run(bench):
    for number in range(3):
        await bench.tool(f"pay amount={number + 1}")
    await bench.quiet()
    await bench.type("/runs")
    message = await listed(bench)
    blocks = [b for b in message["blocks"] if b["type"] == "actions"]

    await bench.slack.act(
        ADA,
        OPS,
        message["ts"],
        action_id="cs_cancel",
        block_id=blocks[1]["block_id"],
    )
    await bench.quiet()

    assert await bench.statuses() == ["open", "cancelled", "open"]


async def test_somebody_elses_list_cancels_nothing(bench):
    await asked(bench)
    await bench.type("/runs")
    message = {**await listed(bench), "channel": OPS}

    await bench.forge(CLEO, message, "cancel")
    await bench.quiet()

    assert await bench.statuses() == ["open"]
    assert len(await bench.refusals()) == 1


# -- /approvals -----------------------------------------------------------------------


async def test_nothing_waits(bench):
    for user in (ADA, BEN, CLEO):
        assert await bench.type("/approvals", user=user) == NOTHING


async def test_it_waits_for_those_who_may_agree_and_for_nobody_else(bench):
    await asked(bench, channel=GENERAL)

    assert await bench.type("/approvals", user=BEN) == (
        "Waiting for you · 1\nRestart api in eu  Ada · until 08:30 UTC · in #ops · CS-1"
    )
    assert await bench.type("/approvals") == NOTHING  # hers, so not hers to approve
    assert await bench.type("/approvals", user=CLEO) == NOTHING


async def test_what_the_requester_must_answer_waits_for_the_requester(bench):
    await asked(bench, "countdown")

    assert (await bench.type("/approvals")).startswith("Waiting for you · 1")
    assert await bench.type("/approvals", user=BEN) == NOTHING


async def test_what_is_settled_waits_no_longer(bench):
    card = await asked(bench)
    await bench.press(BEN, card, "deny")
    await bench.quiet()

    assert await bench.type("/approvals", user=BEN) == NOTHING


async def test_what_ran_out_waits_no_longer_even_before_the_sweep(bench):
    await asked(bench)
    bench.clock.shift(30 * 60 + 1)

    assert await bench.type("/approvals", user=BEN) == NOTHING


async def test_the_most_urgent_comes_first(bench):
    await asked(bench, "fails why=disk")  # 24 hours
    await asked(bench)  # 30 minutes

    text = await bench.type("/approvals", user=BEN)

    assert text.index("CS-2") < text.index("CS-1")


async def test_slack_silent_is_no_empty_list(bench):
    await asked(bench)
    bench.clock.advance(61)
    bench.slack.fault("usergroups.users.list", "500")

    text = await bench.type("/approvals", user=BEN)

    assert text != NOTHING
    assert "more may wait for you. Try again in a minute." in text


@pytest.mark.parametrize("written", ["CS-1", "1", "cs-1", "CS-1.1", " CS-1 "])
@pytest.mark.parametrize("user", [ADA, BEN])
async def test_those_concerned_see_it_in_full(bench, user, written):
    await asked(bench)

    text = await bench.type("/approvals", written, user=user)

    assert 'service = "api"' in text
    assert "Ada asks, in run CS-1." in text
    assert controls(await listed(bench, user)) == []


@pytest.mark.parametrize("written", ["CS-1", "CS-1.1", "CS-9", "CS-1.2", "R1", "CS-0"])
async def test_nobody_else_learns_whether_it_exists(bench, written):
    await asked(bench)

    assert await bench.type("/approvals", written, user=CLEO) == (
        f"There is nothing under {written} that you may see."
    )


async def test_what_does_not_exist_reads_the_same_for_all(bench):
    await asked(bench)

    for user in (ADA, BEN, CLEO):
        for written in ("CS-9", "CS-1.2", "'; DROP TABLE runs; --"):
            assert await bench.type("/approvals", written, user=user) == (
                f"There is nothing under {written} that you may see."
            )


async def test_who_left_the_group_sees_it_no_longer(bench):
    await asked(bench)
    bench.slack.set_group_members("S0APPROVERS", CLEO)
    bench.clock.advance(61)

    assert "that you may see" in await bench.type("/approvals", "CS-1", user=BEN)
    assert "Ada asks" in await bench.type("/approvals", "CS-1", user=CLEO)


async def test_a_settled_one_says_how_it_ended(bench):
    card = await asked(bench)
    await bench.press(BEN, card, "approve")
    await bench.quiet()

    text = await bench.type("/approvals", "CS-1", user=BEN)

    assert "Approved by Ben 08:00 UTC. Done 08:00 UTC" in text
    assert "api in eu restarted" in text


async def test_an_ungated_run_is_the_requesters_to_see(bench):
    await asked(bench, "status service=api")

    assert "done" in await bench.type("/approvals", "CS-1")
    assert "that you may see" in await bench.type("/approvals", "CS-1", user=CLEO)


async def test_lists_are_said_to_one_person_and_notify_nobody(bench):
    await asked(bench)
    before = {user: await bench.phone(user) for user in (ADA, BEN, CLEO)}

    await bench.type("/approvals", user=BEN)
    await bench.type("/approvals", "CS-1", user=BEN)
    await bench.type("/runs", user=BEN)

    state = await bench.slack.state()
    assert len(state["ephemeral"][BEN]) == 3
    assert CLEO not in state["ephemeral"]
    assert {user: await bench.phone(user) for user in (ADA, BEN, CLEO)} == before
