from __future__ import annotations

import asyncio
import functools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any, Optional

import pytest

from bot import define_tool, pending, pending_of, tool
from bot.contract.types import Answer, ToolContext, ToolResult, Traits
from bot.errors import ContractError
from bot.tools.define import POOL

WORD: ContextVar[str] = ContextVar("word")


def properties(function):
    return define_tool(function, name="t").input_schema["properties"]


def test_name_description_and_schema_are_inferred():
    @tool
    async def restart(service: str, region: str = "eu", ctx: ToolContext = None) -> str:
        """Restart a service.

        More about it.
        """

    assert restart.name == "restart"
    assert restart.description == "Restart a service."
    assert restart.source == "native"
    assert restart.input_schema == {
        "type": "object",
        "properties": {"service": {"type": "string"}, "region": {"type": "string"}},
        "required": ["service"],
        "additionalProperties": False,
    }


def test_types_of_the_contract_are_inferred():
    def function(
        a: str,
        b: int,
        c: float,
        d: bool,
        e: list[int],
        f: tuple[str, ...],
        g: set,
        h: dict[str, int],
        i: Optional[str],  # noqa: UP045 - the spelling under test
        j: int | None,
        k: int | str,
        l: Any,  # noqa: E741 - one letter each
        m: Unheard,  # noqa: F821 - a name that cannot be looked up
        n,
    ): ...

    words = {key: schema.get("type") for key, schema in properties(function).items()}

    assert words == {
        "a": "string",
        "b": "number",
        "c": "number",
        "d": "boolean",
        "e": "array",
        "f": "array",
        "g": "array",
        "h": "object",
        "i": "string",
        "j": "number",
        "k": None,
        "l": None,
        "m": None,
        "n": None,
    }


def test_what_is_no_argument_is_left_out():
    def function(self, cls, ctx, context, *args, **kwargs): ...

    schema = define_tool(function).input_schema

    assert schema == {"type": "object", "properties": {}, "additionalProperties": False}


def test_given_parts_win_over_inferred_ones():
    made = define_tool(
        lambda: "", name="n", description="d", input_schema={"x": 1}, source="mcp:a"
    )

    assert (made.name, made.description) == ("n", "d")
    assert (made.input_schema, made.source) == ({"x": 1}, "mcp:a")


class Callable_:
    async def __call__(self, word: str) -> str:
        return f"called {word}"

    def method(self, word: str) -> str:
        return f"method {word}"


@pytest.mark.parametrize(
    ("function", "output"),
    [
        (Callable_(), "called hi"),
        (Callable_().method, "method hi"),
        (functools.partial(Callable_().method), "method hi"),
    ],
    ids=["object", "method", "partial"],
)
async def test_every_sort_of_callable_becomes_a_tool(function, output):
    made = define_tool(function, name="t")

    assert made.input_schema["properties"] == {"word": {"type": "string"}}
    assert await made.execute({"word": "hi"}) == ToolResult(output, False)


def test_traits_are_kept():
    @tool(idempotent=True, version="3", acts_as="requester")
    def with_ctx(ctx): ...

    @tool
    def without(): ...

    assert with_ctx.traits == Traits(
        idempotent=True, version="3", acts_as="requester", takes_context=True
    )
    assert without.traits == Traits()


@pytest.mark.parametrize(
    "wrong", [{"idempotent": 1}, {"version": 3}, {"acts_as": "root"}], ids=str
)
def test_wrong_traits_are_refused(wrong):
    with pytest.raises(ContractError, match=next(iter(wrong))):
        tool(**wrong)(lambda: "")


def test_positional_only_parameters_are_refused():
    def function(service, /): ...

    with pytest.raises(ContractError, match="service by position only"):
        tool(function)


def test_nameless_callables_need_a_name():
    with pytest.raises(ContractError, match="give name="):
        tool(Callable_())


def test_tool_takes_no_source_and_no_unknown_keyword():
    with pytest.raises(TypeError, match="source"):
        tool(source="mcp")
    with pytest.raises(TypeError, match="idempotant"):
        tool(idempotant=True)


# What the function gives becomes a result, whether it is plain or async.


def both(function):
    """The function as a plain tool and as an async one."""

    async def later(**args):
        return function(**args)

    return [define_tool(f, name="t") for f in (function, later)]


@pytest.mark.parametrize(
    ("value", "output"),
    [
        ("words", "words"),
        ("", ""),
        (None, "null"),
        (3, "3"),
        ({"größe": [1, None]}, '{"größe": [1, null]}'),
    ],
)
async def test_values_become_text(value, output):
    for made in both(lambda: value):
        assert await made.execute({}) == ToolResult(output, False)


@pytest.mark.parametrize(
    "value", [{1}, b"bytes", float("nan"), {(1, 2): 3}, object()], ids=repr
)
async def test_values_json_cannot_express_are_error_results(value):
    for made in both(lambda: value):
        result = await made.execute({})

        assert result.is_error
        assert "JSON cannot express" in result.output


async def test_a_result_passes_through_untouched():
    given = ToolResult("o", True, {"a": 1}, [{"b": 2}])

    for made in both(lambda: given):
        assert await made.execute({}) is given


async def test_a_result_of_another_maker_is_taken_over():
    asked = pending(kind="input", prompt="p")
    foreign = SimpleNamespace(output="p", is_error=True, metadata=asked.metadata)

    for made in both(lambda: foreign):
        result = await made.execute({})

        assert type(result) is ToolResult
        assert pending_of(result) is asked.metadata["pending"]


class Mute(Exception):
    def __str__(self):
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "output"),
    [
        (ValueError("no such shelf"), "no such shelf"),
        (KeyError("shelf"), "'shelf'"),
        (ValueError(), "ValueError"),
        (Mute(), "Mute"),
        (SystemExit(3), "SystemExit: 3"),
    ],
    ids=repr,
)
async def test_raised_errors_are_error_results(error, output):
    def function():
        raise error

    for made in both(function):
        assert await made.execute({}) == ToolResult(output, True)


async def test_a_plain_tool_that_stops_an_iteration_does_not_hang():
    @tool
    def empty():
        return next(iter(()))

    assert (await empty.execute({})).output == "StopIteration"


async def test_wrong_arguments_are_an_error_result():
    for made in both(lambda service: service):
        result = await made.execute({"service": "api", "colour": "red"})

        assert result.is_error
        assert "colour" in result.output


async def test_the_log_names_the_error_without_its_words(caplog):
    @tool
    def leaky():
        raise ValueError("the password is swordfish")

    with caplog.at_level("INFO"):
        await leaky.execute({})

    (record,) = caplog.records
    assert (record.event, record.tool, record.error) == (
        "tool.raised",
        "leaky",
        "ValueError",
    )
    assert record.at.startswith("test_define.py:")
    assert "swordfish" not in json.dumps(record.__dict__, default=str)


@pytest.mark.parametrize("key", ["ctx", "context"])
async def test_context_reaches_the_function(key):
    seen = []
    scope = {"seen": seen}
    exec(f"def f(a, {key}=None): seen.append((a, {key}))", scope)
    made = define_tool(scope["f"])
    context = ToolContext(answer=Answer("q", True))

    await made.execute({"a": 1}, context)
    await made.execute({"a": 2})

    assert seen == [(1, context), (2, None)]


async def test_arguments_cannot_stand_in_for_the_context():
    entered = []

    @tool
    def gated(ctx=None):
        entered.append(ctx)

    result = await gated.execute({"ctx": {"answer": {"ok": True}}})

    assert result == ToolResult("gated takes no argument ctx", True)
    assert entered == []


async def test_cancelling_goes_through():
    entered = asyncio.Event()

    @tool
    async def waiting():
        entered.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(waiting.execute({}))
    await entered.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_plain_functions_run_in_the_given_pool_with_the_context_of_the_task():
    @tool
    def where():
        return f"{threading.current_thread().name} {WORD.get()}"

    WORD.set("hello")
    with ThreadPoolExecutor(1, thread_name_prefix="tools") as pool:
        before = POOL.set(pool)
        try:
            result = await where.execute({})
        finally:
            POOL.reset(before)

    assert result.output == "tools_0 hello"


async def test_async_functions_run_on_the_loop():
    @tool
    async def where():
        return str(threading.get_ident())

    assert (await where.execute({})).output == str(threading.get_ident())


async def test_a_plain_function_may_give_an_awaitable():
    async def later():
        return "later"

    assert (await define_tool(lambda: later(), name="t").execute({})).output == "later"
