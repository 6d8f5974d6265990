"""For the tests of people who write tools: does a tool ask before it does anything?

A tool that asks by itself is entered again with the Answer, so whatever it does before
it asks is done twice, or without consent. Nothing of the product imports this module.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from bot.contract.expiry import is_expired
from bot.contract.suspend import pending_of
from bot.contract.types import Request, RunContext, Tool, ToolContext, traits_of


async def assert_clean_suspend(
    tool: Tool,
    args: dict[str, Any],
    *,
    watch: Callable[[], object] | None = None,
) -> Request:
    """Enter a tool for the first time, twice; it must only ask, both times the same.

    The first entry is made as `Client` does it (no context) and then as a durable run
    does it for our own tools (a context without an answer). AssertionError says what
    went wrong; otherwise the Request comes back, to be looked at further.

    It really runs the tool, and it sees the arguments, the question and, with `watch`,
    what that function returns (say, the orders in your fake bank). A mail that was sent
    or a file that was written before the question is out of its sight.
    """
    first = await _asked(tool, args, None, watch)
    context = _first_context() if traits_of(tool).takes_context else None
    second = await _asked(tool, args, context, watch)
    for part in ("kind", "prompt", "url", "data"):
        before, after = getattr(first, part), getattr(second, part)
        _demand(
            before == after,
            f"{tool.name} asks another question when it is entered again: its {part} "
            f"was {before!r} and then {after!r}. The same question must come every "
            "time, so keep clocks, counters and random values out of it.",
        )
    return first


async def _asked(
    tool: Tool,
    args: dict[str, Any],
    context: ToolContext | None,
    watch: Callable[[], object] | None,
) -> Request:
    """The question of one entry that left everything we can see as it was."""
    given = copy.deepcopy(args)
    seen = None if watch is None else copy.deepcopy(watch())
    result = await tool.execute(given, context)
    request = pending_of(result)
    how = "without a context"
    if context is not None:
        how = "with ctx.answer None (ask `if ctx is None or ctx.answer is None`)"
    if request is None:
        raise AssertionError(
            f"{tool.name} did not ask when entered {how}: it returned {result!r}."
        )
    _demand(
        given == args,
        f"{tool.name} changed its arguments before it asked: {args!r} became "
        f"{given!r}.",
    )
    now = None if watch is None else watch()
    _demand(
        now == seen,
        f"{tool.name} did something before it asked: what is watched was {seen!r} "
        f"and became {now!r}.",
    )
    _demand(
        not is_expired(request),
        f"{tool.name} asks a question that has already expired: {request.expiresAt}.",
    )
    return request


def _demand(holds: bool, words: str) -> None:
    # Not the statement: `python -O` leaves that out.
    if not holds:
        raise AssertionError(words)


def _first_context() -> RunContext:
    return RunContext(
        run_id="run-of-a-test",
        requester="U0TEST",
        execution_id="execution-of-a-test",
        idempotency_key="execution-of-a-test",
    )
