"""The strip "Try this" ticks its steps off from the states that the page receives."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page

from bot.playground.server import Playground

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PageAt = Callable[..., Awaitable[Page]]
RAN = {"tool": "restart", "args": {}, "at": 0}
FOLLOW = """async states => {
  const { remembered, steps } = await import("/static/steps.js");
  let memory = { seen: 0, downAt: null, plugged: false };
  return states.map((state) => {
    memory = remembered(memory, state);
    return steps(state, memory).map((step) => (step.done ? "x" : ".")).join("");
  });
}"""


@pytest_asyncio.fixture(loop_scope="session")
async def slack() -> AsyncIterator[Playground]:
    async with Playground(manifest={}) as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def page(slack: Playground, page_at: PageAt) -> Page:
    return await page_at(slack.page_url)


def state(
    *, told: str = "", private: str = "", ran: int = 0, bot: str = "up", text: str = ""
) -> dict[str, Any]:
    return {
        "app": {"bot_user_id": "U0CSIGN"},
        "bot": bot,
        "tool_log": [RAN] * ran,
        "notifications": {"U0BEN": [{"text": told}] if told else []},
        "ephemeral": {"U0ADA": [{"text": private}] if private else []},
        "messages": {"C0OPS": [{"user": "U0CSIGN", "text": text}] if text else []},
    }


async def test_each_step_ticks_when_its_trace_is_there(page: Page) -> None:
    asked = "Approve? Restart api in eu. Ada asks. CS-1"
    refusal = "You asked for CS-1, so your yes does not count."

    ticks = await page.evaluate(
        FOLLOW,
        [
            state(),
            state(told=asked),
            state(told=asked, private=refusal),
            state(told=asked, private=refusal, ran=1),
            state(told=asked, private=refusal, ran=1, bot="down"),
            state(told=asked, private=refusal, ran=1),
            state(told=asked, private=refusal, ran=2),
            state(told=asked, private=refusal, ran=2, text="Done: greet. CS-3"),
        ],
    )

    assert ticks == [
        ".....", "x....", "xx...", "xxx..", "xxx..", "xxx..", "xxxx.", "xxxxx",
    ]  # fmt: skip


async def test_second_restart_without_the_plug_pulled_is_no_step(page: Page) -> None:
    ticks = await page.evaluate(FOLLOW, [state(ran=1), state(ran=2)])

    assert ticks == ["x.x..", "x.x.."]


async def test_new_workspace_forgets_that_the_plug_was_pulled(page: Page) -> None:
    states = [state(ran=1, bot="down"), state(ran=2), state(), state(ran=1)]

    ticks = await page.evaluate(FOLLOW, states)

    assert ticks == ["x.x..", "x.xx.", ".....", "x.x.."]


async def test_own_tool_is_noticed_in_blocks_too(page: Page) -> None:
    named = state() | {
        "messages": {
            "C0OPS": [{"user": "U0CSIGN", "text": "", "blocks": [{"text": "greet"}]}]
        }
    }

    assert json.dumps(await page.evaluate(FOLLOW, [named])) == '["....x"]'
