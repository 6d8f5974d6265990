import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from bot import Tool, Toolkit, ToolResult, create_toolkit, define_tool, tool


def named(name, output="", **keywords):
    return define_tool(lambda: output, name=name, description=f"{name}!", **keywords)


async def test_the_first_tool_of_a_name_stays():
    first, second = named("a", "first"), named("a", "second")

    toolkit = await create_toolkit([first, named("b")], builtins=False)

    assert toolkit.register(second, named("c")) is toolkit
    assert [made.name for made in toolkit.tools()] == ["a", "b", "c"]
    assert toolkit.get("a") is first
    assert toolkit.get("z") is None


@pytest.mark.parametrize(
    ("builtins", "kept"),
    [
        (None, True),
        (True, True),
        ({}, True),
        ({"enabled": True}, True),
        ({"disabled": False}, True),
        ({"tools": {"question": True, "bash": False}}, True),
        (False, False),
        ({"disabled": True}, False),
        ({"enabled": False}, False),
        ({"tools": {"question": False}}, False),
    ],
    ids=str,
)
async def test_question_is_the_only_builtin_and_can_be_dropped(builtins, kept):
    toolkit = await create_toolkit(builtins=builtins)

    assert [made.name for made in toolkit.tools()] == (["question"] if kept else [])


async def test_a_builtin_gives_way_to_a_tool_of_its_name():
    own = named("question")

    toolkit = await create_toolkit([own])

    assert toolkit.tools() == [own]
    assert toolkit.get("question") is own


async def test_an_unknown_tool_is_an_error_result():
    result = await Toolkit().execute("restrat")

    assert result == ToolResult("Unknown tool: restrat", True)


async def test_missing_arguments_are_none_at_all():
    toolkit = Toolkit([define_tool(lambda **args: args, name="echo")])

    assert (await toolkit.execute("echo")).output == "{}"
    assert (await toolkit.execute("echo", {"a": 1})).output == '{"a": 1}'


async def test_arguments_that_are_no_object_do_not_enter_the_tool():
    entered = []
    toolkit = Toolkit([define_tool(lambda **args: entered.append(args), name="echo")])

    result = await toolkit.execute("echo", [1])

    assert result == ToolResult("invalid arguments for echo", True)
    assert entered == []


async def raising(args, ctx=None):
    raise RuntimeError("broken")


def plain(args, ctx=None):
    return ToolResult("not awaited", False)


async def words(args, ctx=None):
    return "words"


@pytest.mark.parametrize(
    ("execute", "is_error", "output"),
    [(raising, True, "broken"), (plain, True, "await"), (words, False, "words")],
)
async def test_hand_made_tools_never_raise(execute, is_error, output):
    toolkit = Toolkit([Tool("t", "", {}, "hand", execute)])

    result = await toolkit.execute("t")

    assert result.is_error is is_error
    assert output in result.output


async def test_cancelling_goes_through_the_toolkit():
    entered = asyncio.Event()

    async def waiting(args, ctx=None):
        entered.set()
        await asyncio.Event().wait()

    toolkit = Toolkit([Tool("t", "", {}, "hand", waiting)])
    task = asyncio.create_task(toolkit.execute("t"))
    await entered.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_plain_tools_run_in_the_pool_of_the_toolkit():
    @tool
    def where():
        return threading.current_thread().name

    wrapped = Tool("wrapped", "", {}, "hand", where.execute)
    with ThreadPoolExecutor(2, thread_name_prefix="tools") as pool:
        toolkit = await create_toolkit([where, wrapped], pool=pool)
        names = [(await toolkit.execute(name)).output for name in ("where", "wrapped")]

    assert all(name.startswith("tools_") for name in names)


async def test_a_call_cancelled_while_it_queues_never_runs():
    begin, entered = threading.Event(), []

    @tool
    def blocking():
        begin.wait(10)

    @tool
    def queued():
        entered.append("queued")

    with ThreadPoolExecutor(1) as pool:
        toolkit = Toolkit([blocking, queued], pool=pool)
        first = asyncio.create_task(toolkit.execute("blocking"))
        second = asyncio.create_task(toolkit.execute("queued"))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        begin.set()
        await first

    assert entered == []


def test_adapters_describe_the_tools():
    schema = {"type": "object", "properties": {}}
    toolkit = Toolkit([named("a", input_schema=schema)])
    described = {"name": "a", "description": "a!"}

    assert toolkit.to_openai() == [
        {"type": "function", "function": {**described, "parameters": schema}}
    ]
    assert toolkit.to_anthropic() == [{**described, "input_schema": schema}]
    assert toolkit.to_gemini() == [
        {"functionDeclarations": [{**described, "parameters": schema}]}
    ]


def test_changing_what_is_sent_leaves_the_tool_alone():
    toolkit = Toolkit([named("a", input_schema={"type": "object"})])

    toolkit.to_openai()[0]["function"]["parameters"]["type"] = "array"

    assert toolkit.get("a").input_schema == {"type": "object"}


async def test_a_toolkit_is_a_context():
    async with await create_toolkit() as toolkit:
        assert toolkit.skills_prompt() == ""
