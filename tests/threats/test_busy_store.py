"""T59: a locked database costs nobody their answer in time, and no vote its truth."""

import ast
import asyncio
import contextlib
import re
import sqlite3
import threading
from pathlib import Path

import httpx
import pytest
from harness import ADA, BEN, OPS, controls, text_of_reply
from probe_tools import GATES
from wire import command_body

import bot

#: What `busy` says to whoever clicked, and to whoever typed.
CLICK_LOST = "Your click could not be recorded, so nothing changed."
CLICK_LOST_IN_FULL = f"{CLICK_LOST} Click again in a few seconds."
COMMAND_LOST = "Your request could not be recorded, so nothing was started."


@contextlib.contextmanager
def locked(bench):
    """Another program writes for a long time."""
    path = bench.folder / "countersign.db"
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield other
    finally:
        if other.in_transaction:
            other.execute("ROLLBACK")
        other.close()


@pytest.mark.parametrize("action", ["approve", "deny"])
async def test_a_click_on_a_locked_database_is_busy_and_a_later_one_counts(
    bench, action
):
    await bench.tool("pay amount=5")
    card = await bench.card()

    with locked(bench):
        answer = await bench.forge(BEN, card, action)
        assert (answer.status_code, answer.content) == (200, b"")
        told = await bench.slack.wait_for(f"ephemeral:{BEN}:contains:{CLICK_LOST}", 5)
        assert told["ok"], await bench.slack.state()
    assert await bench.rows("SELECT count(*) FROM votes") == [(0,)]
    assert await bench.statuses() == ["open"]
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]

    await bench.press(BEN, card, action)

    await bench.quiet()
    assert await bench.rows("SELECT decision FROM votes") == [(action,)]
    assert len(bench.ran()) == (action == "approve")


async def test_a_command_on_a_locked_database_starts_nothing_and_says_so(bench):
    with locked(bench):
        answer = await bench.send(command_body(bench)[0])
        assert text_of_reply(answer.text).startswith(COMMAND_LOST)
    assert await bench.rows("SELECT count(*) FROM runs") == [(0,)]

    await bench.tool("pay amount=5")
    assert await bench.rows("SELECT count(*) FROM runs") == [(1,)]


async def test_many_clicks_on_a_locked_database_are_all_answered(bench):
    """While it is still locked, each of them."""
    await bench.tool("pay amount=5")
    card = await bench.card()

    with locked(bench):
        answers = await asyncio.gather(
            *(bench.forge(who, card, "approve") for who in (BEN, ADA) * 10)
        )

    assert {answer.status_code for answer in answers} == {200}
    assert set(await bench.whispers(BEN)) == {CLICK_LOST_IN_FULL}
    assert await bench.statuses() == ["open"]


async def test_the_loop_goes_on_while_the_database_waits(bench):
    """A click waits for the thread; a probe that comes later is answered first."""
    await bench.tool("pay amount=5")
    card = await bench.card()
    begun, go_on = threading.Event(), threading.Event()

    def holding(tx):
        begun.set()
        assert go_on.wait(10)

    held = asyncio.create_task(bench.store.write(holding))
    await asyncio.to_thread(begun.wait, 10)
    click = asyncio.create_task(bench.forge(BEN, card, "approve"))
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=30) as client:
        answer = await client.get(f"{bench.slack.app_url}/healthz")
    assert answer.status_code == 200
    assert not click.done()
    go_on.set()
    await held

    assert (await click).status_code == 200
    await bench.quiet()
    assert len(bench.ran()) == 1


async def test_nobody_waits_for_a_thread_that_is_held_up(bench):
    """A slow disk, say: the answer comes in time, and what it says stays true."""
    await bench.tool("pay amount=5")
    card = await bench.card()
    begun, go_on = threading.Event(), threading.Event()

    def holding(tx):
        begun.set()
        assert go_on.wait(10)

    held = asyncio.create_task(bench.store.write(holding))
    await asyncio.to_thread(begun.wait, 10)
    clicked, typed = await asyncio.gather(
        bench.forge(BEN, card, "approve"), bench.send(command_body(bench)[0])
    )
    assert not held.done()
    go_on.set()
    await held

    assert (clicked.status_code, clicked.content) == (200, b"")
    assert text_of_reply(typed.text).startswith(COMMAND_LOST)
    assert (await bench.whispers(BEN))[-1].startswith(CLICK_LOST)
    assert await bench.rows("SELECT count(*) FROM votes") == [(0,)]
    assert await bench.rows("SELECT count(*) FROM runs") == [(1,)]
    await bench.press(BEN, card, "approve")
    await bench.quiet()
    assert len(bench.ran()) == 1


async def test_what_runs_meanwhile_is_recorded_afterwards(bench, monkeypatch):
    """The tool returns while the database is locked: its result is not lost."""
    gate = threading.Event()
    monkeypatch.setitem(GATES, "pay", gate)
    await bench.tool("pay amount=5")
    card = await bench.card()
    await bench.slack.act(BEN, OPS, card["ts"], action_id="cs_approve")
    async with asyncio.timeout(10):
        while not bench.ran("pay"):  # noqa: ASYNC110  # the tool writes to a file
            await asyncio.sleep(0.01)
    with locked(bench):
        gate.set()
        await asyncio.to_thread(bench.store._thread.join, 1.2)
    async with asyncio.timeout(10):
        while bench.bot.runner.moving:  # it tries by the clock
            bench.clock.advance(1)
            await asyncio.sleep(0.01)
    await bench.quiet()
    assert await bench.rows("SELECT outcome FROM calls") == [("ok",)]
    assert len(bench.ran("pay")) == 1


# -- units are plain functions ---------------------------------------------------------

HANDS_OVER = re.compile(r"store\.(write|read)\(|committed\(")
SOURCES = [
    path
    for path in sorted(Path(bot.__file__).parent.rglob("*.py"))
    if HANDS_OVER.search(path.read_text())
]


def handed_over(tree):
    """Every unit that a module gives to the store, and the scopes around it."""
    for scope in scopes(tree, ()):
        for node in own_nodes(scope[-1]):
            if isinstance(node, ast.Call) and (place := unit_of(node)) is not None:
                yield place, scope


def unit_of(call):
    name = ast.unparse(call.func)
    if name.endswith(("store.write", "store.read")) and call.args:
        return call.args[0]
    return call.args[1] if name == "committed" and len(call.args) > 1 else None


def scopes(node, outer):
    here = (*outer, node)
    yield here
    for one in own_nodes(node):
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from scopes(one, here)


def own_nodes(node):
    """What stands in a scope, without the insides of those in it."""
    waiting = list(ast.iter_child_nodes(node))
    while waiting:
        one = waiting.pop()
        yield one
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting += ast.iter_child_nodes(one)


def kind_of(unit, scope):
    """What a unit is: "plain", or why not."""
    if isinstance(unit, ast.Lambda):
        names = {n.id for n in ast.walk(unit.body) if isinstance(n, ast.Name)}
        called = [found(name, scope) for name in sorted(names)]
        bad = any(isinstance(one, ast.AsyncFunctionDef) for one in called)
        return "a lambda that calls async def" if bad else "plain"
    if isinstance(unit, ast.Attribute):
        return "plain" if ast.unparse(unit) in PLAIN_METHODS else ast.unparse(unit)
    if isinstance(unit, ast.Call) and ast.unparse(unit.func) == "partial":
        return kind_of(unit.args[0], scope)
    if not isinstance(unit, ast.Name):
        return f"{ast.unparse(unit)} is not understood"
    meant = found(unit.id, scope)
    if isinstance(meant, ast.ClassDef):
        body = [one for one in meant.body if getattr(one, "name", "") == "__call__"]
        meant = body[0]
    if isinstance(meant, ast.FunctionDef | ast.arg):
        return "plain"
    return f"{ast.unparse(unit)} is {type(meant).__name__}"


#: Methods of the store that are units by themselves.
PLAIN_METHODS = {"store.identity"}


def found(name, scope):
    """What a name stands for: a def, a class whose object it is, or an argument."""
    for level in reversed(scope):
        for one in own_nodes(level):
            if getattr(one, "name", "") == name:
                return one
            if isinstance(one, ast.arg) and one.arg == name:
                return one
            if isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == name:
                made = one.value
                if isinstance(made, ast.Call) and isinstance(made.func, ast.Name):
                    return found(made.func.id, scope)
    return None


def test_a_unit_is_never_a_coroutine_function():
    units = [
        (path.name, unit.lineno, kind_of(unit, scope))
        for path in SOURCES
        for unit, scope in handed_over(ast.parse(path.read_text()))
    ]
    assert len(units) > 25
    assert [one for one in units if one[2] != "plain"] == []


def test_the_check_of_units_can_tell():
    """Else the test above might see nothing."""
    module = """
async def bad(tx): ...
def good(tx): ...
class Unit:
    async def __call__(self, tx): ...
async def f(parts):
    unit = Unit()
    await parts.store.write(bad)
    await parts.store.write(good)
    await parts.store.write(lambda tx: bad(tx))
    await parts.store.write(lambda tx: good(tx))
    await parts.store.read(partial(good, 1))
    await parts.store.read(partial(bad, 1))
    await parts.store.read(bad(1))
    await committed(parts, unit, None)
"""
    kinds = [kind_of(unit, scope) for unit, scope in handed_over(ast.parse(module))]
    assert sorted(kinds) == [
        "a lambda that calls async def",
        "bad is AsyncFunctionDef",
        "bad is AsyncFunctionDef",
        "bad(1) is not understood",
        "plain",
        "plain",
        "plain",
        "unit is AsyncFunctionDef",
    ]
