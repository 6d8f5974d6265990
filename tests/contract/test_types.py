from dataclasses import fields

import pytest

from bot.contract.types import (
    Answer,
    Request,
    RunContext,
    Tool,
    ToolContext,
    ToolResult,
    Traits,
    traits_of,
)


async def no_op(args, ctx=None):
    return ToolResult("", False)


@pytest.mark.parametrize(
    ("made", "names"),
    [
        (ToolResult, "output is_error metadata parts"),
        (Request, "id kind prompt url data expiresAt"),
        (Answer, "id ok data reason"),
        (ToolContext, "signal timeout answer"),
        (Tool, "name description input_schema source execute traits"),
    ],
)
def test_fields_stand_in_the_order_of_the_contract(made, names):
    assert [field.name for field in fields(made)] == names.split()


def test_traits_do_not_count_in_comparison():
    plain = Tool("a", "", {}, "native", no_op)
    declared = Tool("a", "", {}, "native", no_op, Traits(version="3"))

    assert plain == declared
    assert plain.traits == Traits()


def test_tools_of_other_makers_have_empty_traits():
    assert traits_of(object()) == Traits()
    assert traits_of(Tool("a", "", {}, "x", no_op, traits={"version": "3"})) == Traits()
    declared = Traits(version="3")
    assert traits_of(Tool("a", "", {}, "x", no_op, declared)) is declared


def test_run_context_is_a_tool_context():
    first = Answer("q-1", True)
    context = RunContext(
        run_id="r",
        requester="U1",
        execution_id="e",
        idempotency_key="k",
        answer=first,
        answers=(first,),
    )

    assert isinstance(context, ToolContext)
    assert (context.signal, context.timeout, context.answer) == (None, None, first)


def test_only_objects_are_read():
    for made in (Request, Answer):
        with pytest.raises(ValueError, match="must be an object"):
            made.from_wire([])


def test_a_reason_is_kept_only_beside_a_no():
    said = {"id": "a", "reason": "declined"}

    assert Answer.from_wire({**said, "ok": False}).reason == "declined"
    assert Answer.from_wire({**said, "ok": True}).reason is None
    assert (
        Answer.from_wire({**said, "ok": False, "reason": ["declined"]}).reason is None
    )
    assert Answer("a", True, reason="declined").to_wire() == {"id": "a", "ok": True}
