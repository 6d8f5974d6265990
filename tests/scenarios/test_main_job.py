"""The main job as small stories: asked, refused, approved, run once, told."""

import asyncio
import re
import threading

import probe_tools
from harness import ADA, BEN, CLEO, GENERAL, OPS, Bench, controls, text_in
from invariants import assert_invariants

from bot.config import default_settings
from bot.slack.manifest import manifest


async def test_ben_approves_and_the_tool_runs_once(bench):
    reply = await bench.tool("restart service=api")
    card = await bench.card()
    assert "S0APPROVERS" in reply
    assert "in #ops" in reply
    assert controls(card) == ["Approve", "Deny", "Deny, say why"]
    assert 'service = "api"' in text_in(card)
    assert 'region  = "eu"' in text_in(card)
    assert bench.ran() == []

    await bench.press(BEN, card, "approve")
    card = await bench.card()

    assert controls(card) == []
    assert "Done" in text_in(card)
    assert [line["args"] for line in bench.ran()] == [
        {"service": "api", "region": "eu"}
    ]
    (told,) = await bench.phone(ADA)
    assert re.fullmatch(
        r"Ben approved\. Done in 0\.\d s: Restart api in eu\. CS-1", told
    )
    assert await bench.phone(BEN) == ["Approve? Restart api in eu. Ada asks. CS-1"]
    assert await bench.phone(CLEO) == []


async def test_ada_cannot_approve_her_own_request(bench):
    await bench.tool("restart service=api")
    card = await bench.card()

    await bench.press(ADA, card, "approve")

    assert "your yes does not count" in (await bench.whispers(ADA))[-1]
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]
    assert bench.ran() == []


async def test_a_stranger_changes_nothing(bench):
    await bench.tool("restart service=api")
    card = await bench.card()

    for action in ("approve", "deny"):
        await bench.press(CLEO, card, action)

    whispers = await bench.whispers(CLEO)
    assert len(whispers) == 2
    assert all("Nothing changed" in w for w in whispers)
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]


async def test_denied_means_it_did_not_run(bench):
    await bench.tool("restart service=api")

    await bench.press(BEN, await bench.card(), "deny")
    card = await bench.card()

    assert controls(card) == []
    assert "Denied by" in text_in(card)
    assert "It did not run" in text_in(card)
    assert bench.ran() == []
    assert await bench.phone(ADA) == [
        "Ben denied: Restart api in eu. It did not run. CS-1"
    ]


async def test_the_requester_may_deny(bench):
    await bench.tool("restart service=api")

    await bench.press(ADA, await bench.card(), "deny")

    assert "Denied by" in text_in(await bench.card())
    assert bench.ran() == []


async def test_a_restart_while_the_card_waits_changes_nothing(bench):
    await bench.tool("restart service=api")
    card = await bench.card()

    await bench.restart()
    await bench.press(BEN, card, "approve")
    await bench.quiet()

    assert len(bench.ran("restart")) == 1
    assert len(await bench.cards()) == 1


async def test_an_ungated_tool_runs_at_once_and_says_so(bench):
    await bench.tool("status service=api")

    card = await bench.card()

    assert "ungated: status" in text_in(card)
    assert "done" in text_in(card)
    assert len(bench.ran("status")) == 1
    assert len(await bench.phone(ADA)) == 1


async def test_asked_elsewhere_the_run_has_a_card_where_it_was_asked(bench):
    await bench.tool("restart service=api", channel=GENERAL)
    await bench.quiet()

    run_card = await bench.card(GENERAL)
    request_card = await bench.card(OPS)
    assert controls(run_card) == ["Cancel run"]
    assert "waiting: @approvers" in text_in(run_card)

    await bench.press(BEN, request_card, "approve")

    assert controls(await bench.card(GENERAL)) == []
    assert "done" in text_in(await bench.card(GENERAL))


async def test_a_kind_nobody_knows_is_answered_by_the_requester(bench):
    await bench.tool("countdown")
    card = await bench.card()
    assert controls(card) == ["Done", "Decline"]

    await bench.press(BEN, card, "done")
    assert controls(await bench.card()) == ["Done", "Decline"]
    await bench.press(ADA, card, "done")

    assert controls(await bench.card()) == []
    assert len(bench.ran("countdown")) == 1


async def test_declined_is_the_end_of_it(bench):
    await bench.tool("countdown")

    await bench.press(ADA, await bench.card(), "decline")

    assert controls(await bench.card()) == []
    assert bench.ran() == []


async def test_nobody_answers_and_it_did_not_run(bench):
    await bench.tool("restart service=api")
    card = await bench.card()

    await bench.pass_time(30 * 60 + 1)
    await bench.forge(BEN, card, "approve")

    card = await bench.card()
    assert controls(card) == []
    assert "Nobody answered" in text_in(card)
    assert "expired" in (await bench.whispers(BEN))[-1]
    assert bench.ran() == []
    assert any("Expired" in text for text in await bench.phone(ADA))


async def test_ada_cancels_from_her_list(bench):
    await bench.tool("restart service=api")
    await bench.quiet()
    await bench.type("/runs")
    state = await bench.slack.state()
    listed = {**state["ephemeral"][ADA][-1]}

    await bench.press(ADA, listed, "cancel")

    card = await bench.card()
    assert controls(card) == []
    assert "Cancelled by" in text_in(card)
    assert bench.ran() == []


async def test_a_failure_is_told_to_both(bench):
    await bench.tool("fails why=disk")

    await bench.press(BEN, await bench.card(), "approve")
    await bench.quiet()

    assert "disk" in text_in(await bench.card())
    assert any("Failed" in t for t in await bench.phone(ADA))
    assert any("Failed" in t for t in await bench.phone(BEN))


async def test_a_slow_tool_is_told_twice(bench, monkeypatch):
    gate = threading.Event()
    monkeypatch.setitem(probe_tools.GATES, "pay", gate)
    await bench.tool("pay amount=5")
    card = await bench.card()
    await bench.slack.act(BEN, OPS, card["ts"], action_id="cs_approve")
    while not bench.ran("pay"):  # noqa: ASYNC110  # the tool writes to a file
        await asyncio.sleep(0.01)

    bench.clock.advance(11)
    done = await bench.slack.wait_for("notified:U0ADA:contains:Starting", 5)
    assert done["ok"], await bench.phone(ADA)
    gate.set()
    await bench.quiet()

    assert len(await bench.phone(ADA)) == 2
    assert len(bench.ran("pay")) == 1


async def test_a_direct_call_that_asks_where_it_was_typed_is_one_message(bench):
    await bench.tool("countdown")
    await bench.quiet()

    assert len(await bench.cards()) == 1
    await bench.press(ADA, await bench.card(), "done")
    await bench.quiet()

    (card,) = await bench.cards()
    assert "lift-off" in text_in(card)


async def test_a_slow_ungated_call_shows_that_it_has_begun(bench, monkeypatch):
    gate = threading.Event()
    monkeypatch.setitem(probe_tools.GATES, "status", gate)
    await bench.tool("status service=api")
    while not bench.ran("status"):  # noqa: ASYNC110  # the tool writes to a file
        await asyncio.sleep(0.01)
    assert await bench.cards() == []

    bench.clock.advance(1.5)
    bench.bot.courier.wake()
    seen = await bench.slack.wait_for("message:C0OPS:contains:status", 5)
    gate.set()
    await bench.quiet()

    assert seen["ok"]
    assert len(await bench.cards()) == 1


async def test_the_news_of_a_quick_call_stands_in_the_thread_of_its_card(bench):
    await bench.tool("status service=api")
    await bench.quiet()

    (told,) = await bench.replies()
    assert told.startswith("Done in")
    assert len(await bench.phone(ADA)) == 1


async def test_commands_are_named_with_their_prefix(folder):
    made = Bench(folder)
    settings = folder / "countersign.toml"
    settings.write_text(settings.read_text() + 'command_prefix = "cs-"\n')
    made.slack.workspace.app.manifest.clear()
    made.slack.workspace.app.manifest.update(
        manifest(
            default_settings(folder, {}).model_copy(update={"command_prefix": "cs-"})
        )
    )
    async with made as bench:
        reply = await bench.type("/cs-tool", "restrat")
        assert "/cs-tool lists them" in reply
        await bench.type("/cs-tool", "restart service=api")
        await bench.press(BEN, await bench.card(), "deny")

        assert "/cs-approvals CS-1" in text_in(await bench.card())
        await assert_invariants(bench)
