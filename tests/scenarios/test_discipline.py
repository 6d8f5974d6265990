"""Whatever goes wrong in a listener: what is acknowledged is true, what is said too.

Design §7: an error before the acknowledgement ends in an apology, one after it in the
log; and no tool is entered before the consent that its rule asks for (T73).
"""

import asyncio
import threading

import pytest
import structlog
from harness import ADA, BEN, controls, text_in

from bot.slack import bolt

BUSY = "could not be recorded"


def broken(*args, **kwargs):
    raise RuntimeError("a fault of ours")


@pytest.fixture
def logged():
    with structlog.testing.capture_logs() as lines:
        yield lines


def events(lines):
    return [line["event"] for line in lines]


async def asked(bench, words="restart service=api"):
    await bench.tool(words)
    return await bench.card()


async def counted(bench):
    return await bench.rows("SELECT user, decision FROM votes")


class HeldUp:
    """The database thread, busy with something else until it is let go."""

    def __init__(self, bench) -> None:
        self._let_go = threading.Event()
        self._busy = threading.Event()
        self._task = asyncio.create_task(bench.store.write(self._unit))

    def _unit(self, tx) -> None:
        self._busy.set()
        self._let_go.wait(20)

    async def __aenter__(self):
        await asyncio.to_thread(self._busy.wait, 10)
        return self

    async def __aexit__(self, *exc) -> None:
        await self.release()

    async def release(self) -> None:
        self._let_go.set()
        await self._task


async def until_queued(bench) -> None:
    """Wait until the click's own work stands in front of the database thread."""
    while bench.store._queue.empty():  # noqa: ASYNC110  # another thread takes it
        await asyncio.sleep(0.005)


# -- before the acknowledgement -------------------------------------------------------


async def test_a_fault_before_the_acknowledgement_of_a_click_is_an_apology(
    bench, monkeypatch, logged
):
    card = await asked(bench)
    monkeypatch.setattr(bench.bot.parts.people, "facts", broken)

    done = await bench.press(BEN, card, "approve")

    assert (done["ok"], done["delivery"]["status"]) == (True, 200)
    assert BUSY in (await bench.whispers(BEN))[-1]
    assert await counted(bench) == []
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]
    assert "listener_failed" in events(logged)
    monkeypatch.undo()
    await bench.press(BEN, card, "deny")
    assert await counted(bench) == [(BEN, "deny")]


async def test_a_fault_before_the_acknowledgement_of_a_command_is_an_apology(
    bench, monkeypatch, logged
):
    monkeypatch.setattr(bench.bot.parts.people, "facts", broken)

    reply = await bench.tool("restart service=api")

    assert reply == (
        "Your request could not be recorded, so nothing was started."
        " Try again in a few seconds."
    )
    assert "a fault of ours" not in reply
    assert await bench.rows("SELECT count(*) FROM runs") == [(0,)]
    assert "listener_failed" in events(logged)


# -- after it -------------------------------------------------------------------------


async def test_a_fault_after_the_acknowledgement_changes_nothing(
    bench, monkeypatch, logged
):
    card = await asked(bench)
    with monkeypatch.context() as patch:
        patch.setattr(bench.bot.runner, "wake", broken)
        done = await bench.press(BEN, card, "approve")

    assert (done["ok"], done["delivery"]["status"]) == (True, 200)
    assert await counted(bench) == [(BEN, "approve")]
    assert "listener_failed" in events(logged)
    assert BUSY not in str(await bench.whispers(BEN))
    await bench.pass_time(1)  # the sweeper looks at what nobody was woken for
    assert len(bench.ran("restart")) == 1
    assert "Done" in text_in(await bench.card())


async def test_a_private_reply_that_cannot_be_drawn_changes_nothing(
    bench, monkeypatch, logged
):
    card = await asked(bench)
    with monkeypatch.context() as patch:
        patch.setattr(bench.bot.services.replies, "tell", broken)
        done = await bench.press(BEN, card, "deny")

    assert done["ok"]
    assert await counted(bench) == [(BEN, "deny")]
    assert "Denied by" in text_in(await bench.card())


# -- when time runs out ---------------------------------------------------------------


async def test_a_write_whose_turn_comes_too_late_is_not_begun(bench):
    card = await asked(bench)
    before = await bench.rows("SELECT count(*) FROM audit")

    async with HeldUp(bench):
        click = asyncio.create_task(bench.press(BEN, card, "approve"))
        await until_queued(bench)
        bench.clock.advance(3)
    done = await click

    assert (done["ok"], done["delivery"]["status"]) == (True, 200)
    whispers = await bench.whispers(BEN)
    assert BUSY in whispers[-1]
    assert await counted(bench) == []
    assert await bench.rows("SELECT count(*) FROM audit") == before
    await bench.press(BEN, card, "approve")
    await bench.quiet()
    assert len(bench.ran("restart")) == 1


async def test_out_of_time_before_the_write_says_busy_and_records_nothing(
    bench, monkeypatch, logged
):
    card = await asked(bench)
    monkeypatch.setattr(bolt, "TOTAL", 0.1)

    async with HeldUp(bench):
        done = await bench.press(BEN, card, "approve")

    assert (done["ok"], done["delivery"]["status"]) == (True, 200)
    assert BUSY in (await bench.whispers(BEN))[-1]
    assert await counted(bench) == []
    assert "listener_busy" in events(logged)


@pytest.fixture
def slow_write(bench, monkeypatch):
    """A write that has begun when the listener's time runs out, and then succeeds."""
    monkeypatch.setattr(bolt, "TOTAL", 0.2)

    def slowly(name):
        real, let_go = getattr(bench.store, name), threading.Event()

        def step(*args):
            let_go.wait(0.5)  # as long as a slow disk might take
            return real(*args)

        monkeypatch.setattr(bench.store, name, step)

    return slowly


async def test_a_vote_that_was_begun_counts_and_the_person_is_told(bench, slow_write):
    card = await asked(bench)
    slow_write("add_vote")

    done = await bench.press(BEN, card, "approve")

    assert (done["ok"], done["delivery"]["status"]) == (True, 200)
    assert await counted(bench) == [(BEN, "approve")]
    whispers = await bench.whispers(BEN)
    assert "You approved CS-1" in whispers[-1]
    assert BUSY not in str(whispers)
    assert len(bench.ran("restart")) == 1


async def test_a_run_that_was_begun_exists_and_the_person_is_told(bench, slow_write):
    slow_write("add_run")

    reply = await bench.tool("restart service=api")

    assert "CS-1" in reply
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]


# -- T73 ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "tool"),
    [
        ("pay amount=5", "pay"),
        ("restart service=api", "restart"),
        ("fails why=disk", "fails"),
        ("careful order=7", "careful"),
        ('greedy payee={"iban":"DE1"}', "greedy"),
    ],
)
async def test_a_gated_tool_is_entered_once_and_only_after_the_yes(bench, words, tool):
    entries: list[str] = []
    real = bench.bot.parts.toolkit.execute

    async def execute(name, *args):
        entries.append(name)
        return await real(name, *args)

    bench.bot.parts.toolkit.execute = execute
    card = await asked(bench, words)
    await bench.press(ADA, card, "approve")
    await bench.pass_time(60)
    assert entries == []

    await bench.press(BEN, card, "approve")
    await bench.quiet()
    await bench.pass_time(60)

    assert entries == [tool]
    # What suspends by itself has asked, and done nothing yet.
    assert len(bench.ran(tool)) == (0 if tool == "greedy" else 1)


async def test_a_gated_tool_is_not_entered_by_a_no_or_by_nobody(bench):
    await bench.press(BEN, await asked(bench, "pay amount=1"), "deny")
    await bench.tool("pay amount=2")
    await bench.pass_time(24 * 3600)

    assert bench.ran() == []
