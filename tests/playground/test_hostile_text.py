"""Text that tools and people write cannot become anything but text on the page.

`mrkdwn.js` and `blocks.js` run in a real Chromium, each line of the tables alone and
then whole messages through the server.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import Page, expect
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.server import Playground

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PageAt = Callable[..., Awaitable[Page]]
RENDER = """async texts => {
  const { render } = await import("/static/mrkdwn.js");
  const names = {
    groups: new Map(), short: (id) => id, group: (id) => id, channel: (id) => `#${id}`,
  };
  return texts.map((text) => {
    const box = document.createElement("div");
    box.append(...render(text, names));
    return [
      [...box.querySelectorAll("p, pre, blockquote")]
        .map((node) => node.textContent).join("\\n"),
      [...box.querySelectorAll(":not(p)")].map((node) => node.localName).join(" "),
    ];
  });
}"""

# What is written, the words that are shown, the elements that were made of it.
TABLE = [
    ("plain", "plain", ""),
    ("*b* _i_ ~s~ `c`", "b i s c", "strong em s code"),
    ("*b _i_*", "b i", "strong em"),
    ("2*3*4 a_b_c", "2*3*4 a_b_c", ""),
    ("* no * _ no _", "* no * _ no _", ""),
    ("`*c*`", "*c*", "code"),
    ("```<b>\n*x*```", "<b>\n*x*", "pre"),
    ("```never closed", "```never closed", ""),
    ("> said", "said", "blockquote"),
    ("&gt; said", "said", "blockquote"),
    ("&amp;lt;b&amp;gt;", "&lt;b&gt;", ""),
    ("&lt;https://x.example&gt;", "<https://x.example>", "a"),
    ("<https://x.example|y>", "y", "a"),
    ("<https://x.example|<b>y</b>>", "<https://x.example|<b>y</b>>", "a"),
    ("<javascript:alert(1)|y>", "<javascript:alert(1)|y>", ""),
    ("<JaVaScRiPt:alert(1)>", "<JaVaScRiPt:alert(1)>", ""),
    ("<data:text/html,x|y>", "<data:text/html,x|y>", ""),
    ("<file:///etc/passwd|y>", "<file:///etc/passwd|y>", ""),
    ("<!date^0^{time}^javascript:alert(1)|y>", None, "time"),
    ("<!date^x^{time}|y>", "y", "time"),
    ("<!date^9^{no_such}|y>", "{no_such}", "time"),
    ("<@U0ADA> <@U0ADA|Boss>", "@U0ADA @U0ADA", "span span"),
    ("<!subteam^S1|@all> <#C1|x>", "@S1 #C1", "span span"),
    ("<!channel> <!constructor>", "@channel <!constructor>", "span"),
    ("<@U0ADA><script>x</script>", "@U0ADA<script>x</script>", "span"),
    ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>", ""),
    ("<svg/onload=alert(1)>", "<svg/onload=alert(1)>", ""),
    (":toString: :constructor: :no_such:", ":toString: :constructor: :no_such:", ""),
    ("<>", "<>", ""),
    ("<|x>", "<|x>", ""),
]
HOSTILE = '<script>window.hit = 1</script><img src=x onerror="window.hit = 1">*x*'
LONG = ["*a", " *a", "<", "`", "http://%", "_*~a", "```", "<a", "&gt; *", "<@U|", "["]


@pytest_asyncio.fixture(loop_scope="session")
async def slack() -> AsyncIterator[Playground]:
    scopes = {"oauth_config": {"scopes": {"bot": ["chat:write"]}}}
    async with Playground(manifest=scopes) as running:
        yield running


@pytest.fixture
def bot(slack: Playground) -> AsyncWebClient:
    return AsyncWebClient(token=slack.bot_token, base_url=slack.api_url)


async def test_mrkdwn_makes_only_what_it_knows(
    slack: Playground, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)

    made = await page.evaluate(RENDER, [text for text, _, _ in TABLE])

    wanted = [[words, elements] for _, words, elements in TABLE]
    found = [
        [None if words is None else text, elements]
        for (text, elements), (words, _) in zip(made, wanted, strict=True)
    ]
    assert found == wanted


async def test_long_hostile_lines_are_read_at_once(
    slack: Playground, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    lines = [(piece * 60_000)[:60_000] for piece in LONG]

    took = await page.evaluate(
        """async lines => {
          const { parse } = await import("/static/mrkdwn.js");
          const start = performance.now();
          for (const line of lines) parse(line);
          return performance.now() - start;
        }""",
        lines,
    )

    # Quadratic work on these lines takes minutes, linear work a fraction of a second.
    assert took < 5_000


async def test_hostile_message_text_is_shown_literally(
    slack: Playground, bot: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await bot.chat_postMessage(channel="C0OPS", text=f"see {HOSTILE}")

    shown = page.get_by_role("article")
    await expect(shown).to_contain_text("<script>window.hit = 1</script><img src=x")
    assert await page.evaluate("window.hit") is None
    assert await shown.locator("script, img").count() == 0


async def test_hostile_rich_text_is_shown_literally(
    slack: Playground, bot: AsyncWebClient, page_at: PageAt
) -> None:
    text = {"type": "text", "text": f"{HOSTILE} <!channel> <https://x.example|y> :x:"}
    parts: list[dict[str, Any]] = [
        {"type": kind, "elements": [text]}
        for kind in ("rich_text_section", "rich_text_quote", "rich_text_preformatted")
    ]
    page = await page_at(slack.page_url)
    blocks = [{"type": "rich_text", "elements": parts}]
    await bot.chat_postMessage(channel="C0OPS", text="t", blocks=blocks)

    shown = page.get_by_role("article")
    await expect(shown.get_by_text(text["text"])).to_have_count(3)
    assert await page.evaluate("window.hit") is None
    assert await shown.locator("script, img, a, strong").count() == 0


async def test_links_open_outside_without_a_way_back(
    slack: Playground, bot: AsyncWebClient, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await bot.chat_postMessage(channel="C0OPS", text="<https://x.example/a|here>")

    link = page.get_by_role("article").get_by_role("link", name="here")
    await expect(link).to_have_attribute("rel", "noopener noreferrer")
    await expect(link).to_have_attribute("target", "_blank")


async def test_unknown_blocks_and_images_show_a_placeholder(
    slack: Playground, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)

    words = await page.evaluate(
        """async () => {
          const { blockNodes } = await import("/static/blocks.js");
          const image = {type: "image", image_url: "https://x.example/i.png",
                         alt_text: "a chart"};
          const made = blockNodes([
            {type: "carousel"}, {type: "input"}, {}, image,
            {type: "actions", elements: [{type: "static_select"}]},
            {type: "rich_text", elements: [{type: "constructor"}]},
          ], { names: {}, mark: () => null });
          const loads = made.flatMap((node) => [...node.querySelectorAll("img")]);
          return [...made.map((node) => node.textContent), loads.length];
        }"""
    )

    assert [
        name in text
        for name, text in zip(
            ("carousel", "input", "none", "a chart", "static_select", "constructor"),
            words,
            strict=False,
        )
    ] == [True] * 6
    assert words[-1] == 0
