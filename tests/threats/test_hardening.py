"""Faults that an attacker, a crash or a bad row could have used; none may return."""

import asyncio
import importlib
import json
import sys
import threading

import probe_tools
import pytest
from harness import ADA, BEN, CLEO, OPS, POLICY, Bench, controls, text_in
from invariants import assert_invariants

from bot import ToolResult, tool
from bot.engine.perform import KEPT_OUTPUT
from bot.slack import delivery
from bot.tools.loader import load_tools


async def until(condition, patience=10.0):
    async with asyncio.timeout(patience):
        while not condition():  # noqa: ASYNC110  # a file or a row, no one event
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("first", ["cancel", "foreign"])
async def test_a_click_before_its_card_is_recorded_silences_no_channel(bench, first):
    bench.slack.fault("chat.postMessage", "accept-then-drop", 1)
    await bench.tool("status service=api")
    await bench.quiet()
    state = await bench.slack.state()
    copies = [m for m in state["messages"][OPS] if m["user"] == bench.slack.bot_user_id]
    copy = {**copies[0], "channel": OPS}
    if first == "cancel" and "Cancel run" in controls(copy):
        await bench.forge(ADA, copy, "cancel")
    await bench.quiet()

    await bench.tool("restart service=api")
    await bench.quiet()

    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]


async def test_a_copy_posted_while_another_was_adopted_loses_its_controls(bench):
    """I9: the reply to a repeated post names a copy that is not the card."""
    await bench.tool("restart service=api")
    card = await bench.card()
    (row,) = await bench.rows("SELECT id, channel, ts FROM outbox WHERE kind='request'")
    desk = bench.bot.desk
    again = await desk.client.chat_postMessage(
        channel=OPS, text="copy", blocks=card["blocks"]
    )
    parts = bench.bot.parts
    message = await parts.store.read(
        lambda tx: parts.store.message(tx, parts.tenant, row[0])
    )

    await delivery._record(desk, message, OPS, again["ts"], sent=1)
    bench.bot.courier.wake()
    await bench.quiet()

    state = await bench.slack.state()
    copies = {m["ts"]: controls(m) for m in state["messages"][OPS]}
    assert copies[again["ts"]] == []
    assert copies[card["ts"]] == ["Approve", "Deny", "Deny, say why"]


async def entered_and_lost(bench, monkeypatch, words="careful order=1"):
    """A gated idempotent call was entered, and its worker is gone."""
    gate = threading.Event()
    name = words.split()[0]
    monkeypatch.setitem(probe_tools.GATES, name, gate)
    await bench.tool(words)
    card = await bench.card()
    await bench.slack.act(BEN, OPS, card["ts"], action_id="cs_approve")
    await until(lambda: bench.ran(name))
    for task in list(bench.bot.runner._moving.values()):
        task.cancel()
    await asyncio.sleep(0)
    gate.set()
    monkeypatch.delitem(probe_tools.GATES, name)
    return card


async def test_an_entered_call_never_ends_as_not_run(bench, monkeypatch):
    await entered_and_lost(bench, monkeypatch)
    bench.slack.set_group_members("S0APPROVERS", CLEO)
    bench.clock.advance(61)

    await bench.restart()
    await bench.quiet()

    card = await bench.card()
    assert "Outcome unknown" in text_in(card)
    assert "It ran" in controls(card)
    assert len(bench.ran("careful")) == 1


async def test_a_tool_that_became_idempotent_is_not_entered_again(folder, monkeypatch):
    module = folder / "growing.py"
    body = """
from bot import tool
import probe_tools
@tool{how}
def pay(amount: int) -> str:
    probe_tools.note("pay", {{"amount": amount}})
    probe_tools.hold("pay")
    return "paid"
"""
    module.write_text(body.format(how=""))
    async with Bench(folder, tools="growing") as bench:
        await entered_and_lost(bench, monkeypatch, "pay amount=1")
        await bench.stop()
        module.write_text(body.format(how="(idempotent=True)"))
        forget("growing")
        await bench.start()
        await bench.quiet()

        assert len(bench.ran("pay")) == 1
        assert "Outcome unknown" in text_in(await bench.card())
        await assert_invariants(bench)
    forget("growing")


def forget(name: str) -> None:
    sys.modules.pop(name, None)
    importlib.invalidate_caches()


async def test_run_again_runs_nothing_that_was_not_shown(folder, monkeypatch):
    module = folder / "grown.py"
    body = """
from bot import tool
import probe_tools
@tool
def pay(amount: int{more}) -> str:
    probe_tools.note("pay", {{"amount": amount}})
    probe_tools.hold("pay")
    return "paid"
"""
    module.write_text(body.format(more=""))
    async with Bench(folder, tools="grown") as bench:
        await entered_and_lost(bench, monkeypatch, "pay amount=1")
        await bench.stop()
        module.write_text(body.format(more=", force: bool = True"))
        forget("grown")
        await bench.start()
        card = await bench.card()

        await bench.press(ADA, card, "again")

        assert "cannot be run again" in (await bench.whispers(ADA))[-1]
        assert len(bench.ran("pay")) == 1
        await assert_invariants(bench)
    forget("grown")


async def test_every_steering_click_is_in_the_record(bench, monkeypatch):
    await entered_and_lost(bench, monkeypatch, "pay amount=1")
    await bench.restart()
    await bench.press(BEN, await bench.card(), "not_run")
    await bench.quiet()

    actions = await bench.rows("SELECT action, actor FROM audit ORDER BY seq")

    assert ("interrupted", "bot") in actions
    assert ("says not_run", BEN) in actions


async def test_a_cancel_while_running_is_in_the_record(bench, monkeypatch):
    gate = threading.Event()
    monkeypatch.setitem(probe_tools.GATES, "pay", gate)
    await bench.tool("pay amount=1")
    card = await bench.card()
    await bench.slack.act(BEN, OPS, card["ts"], action_id="cs_approve")
    await until(lambda: bench.ran("pay"))
    await bench.type("/runs")
    state = await bench.slack.state()
    listed = next(m for m in reversed(state["ephemeral"][ADA]) if controls(m))
    await bench.slack.act(ADA, listed["channel"], listed["ts"], action_id="cs_cancel")

    actions = await bench.rows("SELECT action, actor FROM audit")
    gate.set()
    await bench.quiet()

    assert ("cancel", ADA) in actions
    assert "after it had started" in text_in(await bench.card())


@pytest.mark.parametrize("error", [asyncio.CancelledError, GeneratorExit])
async def test_whatever_leaves_a_tool_is_a_result(bench, monkeypatch, error):
    async def execute(name, args=None, ctx=None):
        raise error

    monkeypatch.setattr(bench.bot.parts.toolkit, "execute", execute)
    await bench.tool("status service=api")
    await bench.quiet()

    card = await bench.card()
    assert "failed" in text_in(card)
    assert error.__name__ in text_in(card)


async def test_one_unreadable_row_holds_up_nobody(bench):
    await bench.tool("restart service=api")
    await bench.tool("restart service=web")
    await bench.quiet()
    await bench.store.write(
        lambda tx: (
            tx.execute(
                "UPDATE requests SET rule = '{\"x\": 1}' WHERE run ="
                " (SELECT id FROM runs WHERE number = 1)"
            )
            and None
        )
    )

    listed = await bench.type("/approvals", user=BEN)
    bench.clock.advance(30 * 60 + 1)
    await bench.bot.sweeper.sweep()

    statuses = dict(
        await bench.rows(
            "SELECT runs.number, status FROM requests JOIN runs ON runs.id = run"
        )
    )
    assert "Restart web in eu" in listed
    assert statuses == {1: "open", 2: "expired"}
    await bench.store.write(
        lambda tx: (
            tx.execute(
                "UPDATE requests SET rule = (SELECT rule FROM requests WHERE"
                " status = 'expired')"
            )
            and None
        )
    )
    await bench.restart()
    await bench.pass_time(1)


@pytest.mark.parametrize("more", [0, 1])
async def test_a_huge_result_is_kept_with_a_count(bench, monkeypatch, more):
    async def execute(name, args=None, ctx=None):
        return ToolResult("x" * (KEPT_OUTPUT + more), False)

    monkeypatch.setattr(bench.bot.parts.toolkit, "execute", execute)
    await bench.tool("status service=api")
    await bench.quiet()

    ((output, state),) = await bench.rows(
        "SELECT output, runs.state FROM calls JOIN runs ON runs.id = run"
    )
    assert output.endswith("more characters)") is bool(more)
    assert len(output) <= KEPT_OUTPUT + 100
    assert len(state) <= KEPT_OUTPUT + 2_000


def test_a_default_that_cannot_be_shown_is_refused_at_start(folder):
    (folder / "hidden.py").write_text(
        "import enum\nfrom bot import tool\n"
        "class Mode(enum.Enum):\n    WIPE = 1\n"
        "@tool\ndef wipe(x: str, mode: Mode = Mode.WIPE) -> str:\n    return x\n"
    )

    loaded = load_tools(["hidden"], folder)
    forget("hidden")

    assert "default for mode" in loaded.problems[0].what


def test_defaults_are_shown_as_the_tool_gets_them():
    @tool
    def many(a: tuple = ("p", "q"), b: str | None = None, c: dict = {}) -> str:  # noqa: B006
        return ""

    assert many.traits.defaults == {"a": ["p", "q"], "b": None, "c": {}}
    assert many.traits.unshown == ()


@pytest.mark.parametrize(
    "body",
    [
        {"type": "block_actions", "actions": 5},
        {"type": "view_submission", "view": 3},
        {"type": "x", "command": ["/tool"]},
        {"type": "event_callback", "event": {"type": "m"}, "authorizations": 5},
        {"type": "event_callback", "event": {"type": "m"}, "authorizations": [5]},
        {"type": "event_callback", "event": {"type": "m", "channel": 5}},
        {"type": "event_callback", "event": {"type": ["m"]}},
        [],
    ],
)
async def test_json_of_no_event_is_turned_away(bench, body):
    answer = await bench.send(
        json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )

    assert answer.status_code == 400


async def test_run_again_of_an_ungated_call_is_the_requesters(folder, monkeypatch):
    policy = POLICY.replace(
        'name = "pay"\ngate = "ask"', 'name = "pay"\ngate = "allow"'
    )
    gate = threading.Event()
    monkeypatch.setitem(probe_tools.GATES, "pay", gate)
    async with Bench(folder, policy=policy) as bench:
        await bench.tool("pay amount=1")
        await until(lambda: bench.ran("pay"))
        for task in list(bench.bot.runner._moving.values()):
            task.cancel()
        await asyncio.sleep(0)
        gate.set()
        await bench.restart()
        card = await bench.card()

        await bench.press(BEN, card, "again")
        assert "cannot be run again" in (await bench.whispers(BEN))[-1]
        await bench.press(ADA, card, "again")
        await bench.quiet()

        assert len(bench.ran("pay")) == 2
        assert "says again" in str(await bench.rows("SELECT action FROM audit"))
        await assert_invariants(bench)


@pytest.mark.parametrize("address", ["http://[", "https://hooks.slack.com.evil/x", "x"])
async def test_an_address_that_is_not_slacks_is_not_called(bench, address):
    await bench.tool("restart service=api")
    card = await bench.card()

    await bench.forge(CLEO, card, "approve", response_url=address)

    assert "Nothing changed" in (await bench.whispers(CLEO))[-1]
