"""T72: a claim without a result is shown to people, and never run again by itself.

And cancelling: before, at the same time as the yes, and too late.
"""

import asyncio
import threading

import probe_tools
import pytest
from harness import ADA, BEN, CLEO, GENERAL, OPS, Bench, controls, text_in
from invariants import assert_invariants

from bot.core.digest import shown

CHOICES = ["It ran", "It did not run", "Run again, asks anew"]
UNGATED = """
[[tool]]
name = "pay"
gate = "allow"
"""


@pytest.fixture
def gate(monkeypatch):
    """Holds `pay` and `careful` inside until it is set."""
    held = threading.Event()
    for tool in ("pay", "careful"):
        monkeypatch.setitem(probe_tools.GATES, tool, held)
    yield held
    held.set()


async def inside(bench, tool="pay", times=1):
    while len(bench.ran(tool)) < times:  # noqa: ASYNC110  # the tool writes to a file
        await asyncio.sleep(0.005)


async def unknown(bench, gate, tool="pay amount=5", channel=OPS):
    """A call that was running when the process ended; the bot is back."""
    await bench.tool(tool, channel=channel)
    await bench.press(BEN, await bench.card(), "approve")
    await inside(bench, tool.split()[0])
    await bench.pull_plug()
    gate.set()
    await bench.start()
    return await bench.card()


async def outcomes(bench):
    return [o for (o,) in await bench.rows("SELECT outcome FROM calls")]


# -- what is shown --------------------------------------------------------------------


async def test_the_card_says_what_is_known_and_asks(bench, gate):
    card = await unknown(bench, gate)

    assert controls(card) == CHOICES
    words = text_in(card)
    assert words.startswith("Outcome unknown: Pay 5\n")
    assert "Ben approved. Started 08:00 UTC; the bot stopped before the tool" in words
    assert "It will not be started again by itself." in words
    assert "amount = 5" in words
    assert "acting as the bot" in words
    ((digest,),) = await bench.rows("SELECT call_digest FROM requests")
    assert shown(digest) in words
    told = "Outcome unknown: Pay 5. It may or may not have run. CS-1"
    assert (await bench.phone(ADA))[-1] == told
    assert (await bench.phone(BEN))[-1] == told
    assert await bench.phone(CLEO) == []


async def test_it_is_not_run_again_by_a_restart_or_by_time(bench, gate):
    await unknown(bench, gate)

    await bench.restart()
    await bench.quiet()
    await bench.pass_time(24 * 3600)
    await bench.restart()
    await bench.quiet()

    assert len(bench.ran("pay")) == 1
    assert controls(await bench.card()) == CHOICES
    assert await outcomes(bench) == [""]
    unknowns = [t for t in await bench.phone(ADA) if "Outcome unknown" in t]
    assert len(unknowns) == 1


async def test_both_lists_say_so(bench, gate):
    await unknown(bench, gate)

    assert "outcome unknown" in await bench.type("/runs")
    assert "Outcome unknown: Pay 5" in await bench.type("/approvals", "CS-1")


# -- who may say how it ended ---------------------------------------------------------

REPORTS = [
    ("ran", BEN, "Ben", "it ran", "ran"),
    ("not_run", BEN, "Ben", "it did not run", "did not run"),
    ("ran", ADA, "Ada", "it ran", "ran"),
    ("not_run", ADA, "Ada", "it did not run", "did not run"),
]


@pytest.mark.parametrize(("action", "user", "name", "says", "word"), REPORTS)
async def test_a_person_says_how_it_ended(bench, gate, action, user, name, says, word):
    card = await unknown(bench, gate)

    await bench.press(user, card, action)
    receipt = (await bench.whispers(user))[-1]

    assert receipt == f"You said that CS-1 {word}. Nothing was started."
    settled = await bench.card()
    assert controls(settled) == []
    assert f"The tool did not report back. {name} says {says}" in text_in(settled)
    assert len(bench.ran("pay")) == 1
    assert await outcomes(bench) == ["unknown"]
    assert await bench.rows("SELECT reported_by FROM calls") == [(user,)]
    assert (await bench.phone(ADA))[-1] == f"{name} says {says}: Pay 5. CS-1"
    assert "outcome unknown" in await bench.type("/runs")


@pytest.mark.parametrize("second", ["ran", "not_run", "again"])
async def test_the_second_word_changes_nothing_and_hears_the_first(bench, gate, second):
    card = await unknown(bench, gate)
    await bench.press(BEN, card, "ran")
    await bench.quiet()

    await bench.forge(ADA, card, second)

    assert (await bench.whispers(ADA))[-1] == (
        "Ben said at 08:00 UTC that CS-1 ran. Your click changed nothing."
    )
    assert await bench.refusals() == ["outcome_known"]
    assert len(bench.ran("pay")) == 1
    assert await bench.rows("SELECT reported_by FROM calls") == [(BEN,)]


@pytest.mark.parametrize("action", ["ran", "not_run", "again"])
async def test_a_stranger_says_nothing(bench, gate, action):
    card = await unknown(bench, gate)

    await bench.press(CLEO, card, action)

    assert await bench.refusals() == ["not_approver"]
    (said,) = await bench.whispers(CLEO)
    assert said.startswith(f"CS-1: S0APPROVERS or {ADA} can ")
    assert said.endswith("Nothing changed.")
    assert controls(await bench.card()) == CHOICES


async def test_two_words_at_once_have_one_winner(bench, gate):
    card = await unknown(bench, gate)

    await asyncio.gather(
        *(bench.forge(u, card, a) for a in ("ran", "not_run") for u in (ADA, BEN))
    )
    await bench.quiet()

    assert await bench.refusals() == ["outcome_known"] * 3
    assert await outcomes(bench) == ["unknown"]


async def test_the_choices_work_after_a_restart(bench, gate):
    card = await unknown(bench, gate)
    await bench.restart()

    await bench.press(BEN, card, "not_run")

    assert "Ben says it did not run" in text_in(await bench.card())


async def test_when_slack_is_silent_nothing_is_taken(bench, gate):
    card = await unknown(bench, gate)
    bench.clock.advance(61)
    bench.slack.fault("users.info", "500")

    await bench.press(BEN, card, "ran")
    await bench.quiet()

    assert await bench.refusals() == ["identity_unverified"]
    assert await outcomes(bench) == [""]


async def test_from_another_place_nothing_is_taken(bench, gate):
    card = await unknown(bench, gate)

    await bench.forge(BEN, card, "again", channel=GENERAL)
    await bench.quiet()

    assert await bench.refusals() == ["wrong_message"]
    assert len(bench.ran("pay")) == 1


# -- run again ------------------------------------------------------------------------


async def test_run_again_asks_anew_and_then_runs_once(bench, gate):
    card = await unknown(bench, gate)

    await bench.press(ADA, card, "again")
    receipt = (await bench.whispers(ADA))[-1]
    old, anew = await bench.cards()

    assert receipt == "CS-1 is asked anew as CS-1.2. It has not run again."
    assert controls(old) == []
    assert "Asked anew as CS-1.2." in text_in(old)
    assert controls(anew) == ["Approve", "Deny", "Deny, say why"]
    assert len(bench.ran("pay")) == 1
    await bench.press(ADA, anew, "approve")  # who asked may not agree this time either
    assert await bench.refusals() == ["self_approval"]
    await bench.press(BEN, anew, "approve")
    await bench.quiet()

    assert len(bench.ran("pay")) == 2
    executions = [line["execution"] for line in bench.ran("pay")]
    assert len(set(executions)) == 2
    assert controls((await bench.cards())[1]) == []
    assert "Done" in text_in((await bench.cards())[1])
    assert (await bench.phone(ADA))[-1].endswith("Pay 5. CS-1.2")


async def test_a_new_request_has_a_new_digest(bench, gate):
    card = await unknown(bench, gate)

    await bench.press(BEN, card, "again")
    await bench.quiet()

    digests = await bench.rows("SELECT call_digest FROM requests")
    assert len(set(digests)) == 2


async def test_run_again_denied_leaves_the_first_outcome_unknown(bench, gate):
    card = await unknown(bench, gate)
    await bench.press(BEN, card, "again")
    await bench.quiet()

    await bench.press(BEN, (await bench.cards())[1], "deny")
    await bench.quiet()

    old, anew = await bench.cards()
    assert controls(old) == CHOICES
    assert controls(anew) == []
    assert "Denied by Ben 08:00 UTC. It did not run again." in text_in(anew)
    assert len(bench.ran("pay")) == 1
    assert (await bench.phone(ADA))[-1] == (
        "Ben denied: Pay 5. It did not run again. CS-1.2"
    )
    await bench.press(ADA, old, "not_run")
    await bench.quiet()
    assert controls((await bench.cards())[0]) == []
    assert await outcomes(bench) == ["unknown"]


@pytest.mark.parametrize("second", ["ran", "not_run", "again"])
async def test_after_run_again_the_old_choices_are_gone(bench, gate, second):
    card = await unknown(bench, gate)
    await bench.press(BEN, card, "again")
    await bench.quiet()

    await bench.forge(ADA, card, second)

    assert await bench.refusals() == ["outcome_known"]
    assert "changed nothing" in (await bench.whispers(ADA))[-1]
    assert await bench.statuses() == ["approved", "open"]
    assert len(await bench.cards()) == 2


async def test_a_rule_that_is_gone_lets_nothing_run_again(bench, gate):
    card = await unknown(bench, gate)
    text = (bench.folder / "policy.toml").read_text()
    bench.policy(text.replace('name = "pay"', 'name = "other"'))
    await bench.restart()

    await bench.press(BEN, card, "again")

    assert await bench.refusals() == ["cannot_run_again"]
    assert (await bench.whispers(BEN))[-1].startswith("CS-1 cannot be run again")
    await bench.press(BEN, card, "ran")
    await bench.quiet()
    assert await outcomes(bench) == ["unknown"]


async def test_an_ungated_call_has_its_choices_on_the_run_card(folder, gate):
    async with Bench(folder, policy=UNGATED) as bench:
        await bench.tool("pay amount=5")
        await inside(bench)
        await bench.pull_plug()
        gate.set()
        await bench.start()
        await bench.pass_time(2)
        card = await bench.card()
        assert controls(card)[:3] == ["It ran", "It did not run", "Run again"]

        await bench.press(ADA, card, "again")
        await bench.quiet()

        assert len(bench.ran("pay")) == 2
        assert "done" in text_in(await bench.card())
        await assert_invariants(bench)


# -- a tool declared idempotent -------------------------------------------------------


async def test_an_idempotent_tool_is_entered_again_with_the_same_key(bench, gate):
    await bench.tool("careful order=7")
    await bench.press(BEN, await bench.card(), "approve")
    for times in (1, 2):
        await inside(bench, "careful", times)
        await bench.pull_plug()
        await bench.start()
    await inside(bench, "careful", 3)
    gate.set()
    await bench.quiet()

    keys = {line["key"] for line in bench.ran("careful")}
    assert len(bench.ran("careful")) == 3
    assert len(keys) == 1
    assert None not in keys
    assert "Done" in text_in(await bench.card())


async def test_three_entries_are_the_most(bench, gate):
    await bench.tool("careful order=7")
    await bench.press(BEN, await bench.card(), "approve")
    for times in (1, 2, 3):
        await inside(bench, "careful", times)
        await bench.pull_plug()
        await bench.start()
    gate.set()

    card = await bench.card()

    assert controls(card) == CHOICES
    assert len(bench.ran("careful")) == 3
    assert any("Outcome unknown" in t for t in await bench.phone(ADA))


# -- cancel ---------------------------------------------------------------------------


async def private_list(bench, user=ADA):
    await bench.type("/runs", user=user)
    state = await bench.slack.state()
    return state["ephemeral"][user][-1]


async def test_cancelled_from_the_run_card(bench):
    await bench.tool("restart service=api", channel=GENERAL)

    await bench.press(ADA, await bench.card(GENERAL), "cancel")

    assert (await bench.whispers(ADA))[-1] == "You cancelled CS-1. It did not run."
    assert controls(await bench.card(GENERAL)) == []
    card = await bench.card()
    assert controls(card) == []
    assert "Cancelled by Ada 08:00 UTC. It did not run." in text_in(card)
    assert await bench.statuses() == ["cancelled"]
    assert bench.ran() == []
    assert (await bench.phone(ADA))[-1] == (
        "Cancelled, did not run: Restart api in eu. CS-1"
    )


async def test_an_approver_may_cancel_and_a_stranger_may_not(bench):
    await bench.tool("restart service=api", channel=GENERAL)
    card = await bench.card(GENERAL)

    await bench.press(CLEO, card, "cancel")
    assert await bench.refusals() == ["not_approver"]
    assert "can cancel it" in (await bench.whispers(CLEO))[-1]
    assert await bench.statuses() == ["open"]
    await bench.press(BEN, card, "cancel")
    await bench.quiet()

    assert await bench.statuses() == ["cancelled"]
    assert "Cancelled by Ben" in text_in(await bench.card())


async def test_cancelled_twice(bench):
    await bench.tool("restart service=api")
    await bench.quiet()
    listed = await private_list(bench)
    await bench.press(ADA, listed, "cancel")
    await bench.quiet()

    await bench.press(ADA, listed, "cancel")

    assert (await bench.whispers(ADA))[-1] == (
        "Ada cancelled CS-1 at 08:00 UTC. It did not run."
    )
    assert await bench.refusals() == ["cancelled"]


async def test_cancelled_after_the_end(bench):
    await bench.tool("restart service=api")
    await bench.quiet()
    listed = await private_list(bench)
    await bench.press(BEN, await bench.card(), "approve")
    await bench.quiet()

    await bench.press(ADA, listed, "cancel")

    assert (await bench.whispers(ADA))[-1] == (
        "CS-1 has ended. Your click changed nothing."
    )
    assert await bench.refusals() == ["ended"]
    assert "Done" in text_in(await bench.card())


async def test_cancel_and_approve_at_once_have_one_winner(bench):
    rounds = 50
    for _ in range(rounds):
        await bench.tool("restart service=api", channel=GENERAL)
    await bench.quiet(patience=60)
    run_cards, cards = await bench.cards(GENERAL), await bench.cards(OPS)

    for number in range(rounds):
        pair = [
            bench.forge(BEN, cards[number], "approve"),
            bench.forge(ADA, run_cards[number], "cancel"),
        ]
        if number % 2:
            pair.reverse()
        answers = await asyncio.gather(*pair)
        assert [a.status_code for a in answers] == [200, 200]
    await bench.quiet(patience=60)

    statuses = await bench.statuses()
    assert set(statuses) <= {"approved", "cancelled"}
    ended = await outcomes(bench)
    assert ended.count("ok") == len(bench.ran("restart"))
    assert ended.count("ok") + ended.count("cancelled") == rounds
    for status, ending in zip(statuses, ended, strict=True):
        assert (status, ending) != ("cancelled", "ok")
    for card in [*await bench.cards(GENERAL), *await bench.cards(OPS)]:
        assert controls(card) == []


async def test_cancelled_too_late_and_then_done(bench, gate):
    await bench.tool("pay amount=5", channel=GENERAL)
    await bench.press(BEN, await bench.card(), "approve")
    await inside(bench)
    await bench.press(ADA, (await bench.cards(GENERAL))[-1], "cancel")
    told = await bench.slack.wait_for("ephemeral:U0ADA:contains:You cancelled", 5)
    assert told["ok"]
    assert "cancelled, still running" in await bench.type("/runs")
    gate.set()
    await bench.quiet()

    assert "You cancelled CS-1. It had started by then and may have taken effect." in (
        await bench.whispers(ADA)
    )
    card = await bench.card()
    assert controls(card) == []
    assert "Done" in text_in(card)
    assert "Cancelled by Ada 08:00 UTC, after it had started." in text_in(card)
    assert await outcomes(bench) == ["ok"]
    assert controls(await bench.card(GENERAL)) == []


async def test_cancelled_too_late_and_then_lost(bench, gate):
    await bench.tool("pay amount=5", channel=GENERAL)
    await bench.press(BEN, await bench.card(), "approve")
    await inside(bench)
    await bench.press(ADA, (await bench.cards(GENERAL))[-1], "cancel")
    await bench.slack.wait_for("ephemeral:U0ADA:contains:You cancelled", 5)
    await bench.pull_plug()
    gate.set()
    await bench.start()

    card = await bench.card()

    assert controls(card) == ["It ran", "It did not run"]
    assert "It may have taken effect." in text_in(card)
    await bench.press(ADA, card, "not_run")
    await bench.quiet()
    assert controls(await bench.card()) == []
    assert len(bench.ran("pay")) == 1


async def test_an_unknown_outcome_of_a_cancelled_run_cannot_run_again(bench, gate):
    card = await unknown(bench, gate, channel=GENERAL)
    await bench.press(ADA, (await bench.cards(GENERAL))[-1], "cancel")
    await bench.quiet()
    assert controls(await bench.card()) == ["It ran", "It did not run"]

    await bench.forge(ADA, card, "again")
    await bench.quiet()

    assert await bench.refusals() == ["cannot_run_again"]
    assert await bench.statuses() == ["approved"]
    assert len(bench.ran("pay")) == 1
