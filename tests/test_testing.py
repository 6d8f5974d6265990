import itertools

import pytest

from bot import pending, tool
from bot.testing import assert_clean_suspend


def asks(**question):
    return pending(**{"kind": "input", "prompt": "Which city?", **question})


async def test_a_clean_tool_gives_its_request_back():
    @tool
    async def book(city: str, ctx=None):
        if ctx is None or ctx.answer is None:
            return asks(data={"city": city})
        return "booked"

    request = await assert_clean_suspend(book, {"city": "Leeds"})

    assert (request.kind, request.prompt) == ("input", "Which city?")
    assert request.data == {"city": "Leeds"}


async def test_a_tool_that_does_not_ask_fails():
    @tool
    def book():
        return "booked"

    with pytest.raises(AssertionError, match="book did not ask"):
        await assert_clean_suspend(book, {})


async def test_a_tool_that_takes_every_context_for_an_answer_fails():
    @tool
    def book(ctx=None):
        return asks() if ctx is None else "booked"

    with pytest.raises(AssertionError, match=r"ctx is None or ctx\.answer is None"):
        await assert_clean_suspend(book, {})


@pytest.mark.parametrize("part", ["kind", "prompt", "url", "data"])
async def test_a_question_that_changes_fails(part):
    counter = itertools.count()

    @tool
    def book():
        value = f"{next(counter)}"
        return asks(**{part: {"n": value} if part == "data" else value})

    with pytest.raises(AssertionError, match=f"its {part} was"):
        await assert_clean_suspend(book, {})


async def test_a_tool_that_changes_its_arguments_fails():
    @tool
    def book(cities: list):
        cities.append("York")
        return asks()

    given = {"cities": ["Leeds"]}
    with pytest.raises(AssertionError, match="book changed its arguments"):
        await assert_clean_suspend(book, given)

    assert given == {"cities": ["Leeds"]}


async def test_a_watched_side_effect_fails():
    orders = []

    @tool
    def book():
        orders.append("Leeds")
        return asks()

    with pytest.raises(AssertionError, match="book did something before it asked"):
        await assert_clean_suspend(book, {}, watch=lambda: orders)


async def test_a_question_born_expired_fails():
    @tool
    def book():
        return asks(expiresAt="2001-01-01T00:00:00Z")

    with pytest.raises(AssertionError, match="already expired"):
        await assert_clean_suspend(book, {})
