import pytest

from bot.contract.suspend import pending_of
from bot.contract.types import Answer, RunContext, ToolContext, ToolResult
from bot.tools.question import question, question_prompt

ASKED = {"questions": [{"question": "Tea?", "options": ["yes", 2]}]}


@pytest.mark.parametrize(
    ("data", "output"),
    [
        ({"answers": ["Größe", {"a": 1}]}, '{"answers":["Größe",{"a":1}]}'),
        ({}, "{}"),
        (None, "{}"),
    ],
)
async def test_the_answer_is_given_back_as_json(data, output):
    context = ToolContext(answer=Answer("q", True, data))

    assert await question.execute(ASKED, context) == ToolResult(output, False)


async def test_a_context_without_an_answer_asks_as_none_does():
    context = RunContext(
        run_id="r", requester="U1", execution_id="e", idempotency_key="e"
    )

    for given in (None, context):
        asked = pending_of(await question.execute(ASKED, given))

        assert (asked.prompt, asked.data) == ("Tea? (options: yes, 2)", ASKED)


def test_the_header_is_not_shown():
    assert question_prompt([{"question": "Name?", "header": "Who"}]) == "Name?"


@pytest.mark.parametrize(
    "questions", ["Tea?", ["Tea?"], [{}], [{"question": "Tea?", "options": "yes"}]]
)
async def test_questions_of_another_shape_are_an_error_result(questions):
    result = await question.execute({"questions": questions})

    assert result.is_error
    assert pending_of(result) is None
