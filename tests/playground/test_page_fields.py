"""Form controls on the playground's page: what each draws, checks and sends."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from playwright.async_api import expect
from pretend_app import (
    App,
    actions,
    button,
    client,
    field,
    manifest,
    modal,
    playground,
    running_app,
    section,
    text,
)
from slack_sdk.web.async_client import AsyncWebClient
from view_parts import PageAt, described, dialog, kinds, opened

from bot.playground.server import Playground

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

OPS = "C0OPS"


@pytest_asyncio.fixture(loop_scope="session")
async def app() -> AsyncIterator[App]:
    async with running_app() as running:
        yield running


@pytest_asyncio.fixture(loop_scope="session")
async def slack(app: App) -> AsyncIterator[Playground]:
    shown = manifest(events=[])
    async with playground(app_url=app.url, manifest=shown) as running:
        yield running


@pytest.fixture
def api(slack: Playground) -> AsyncWebClient:
    return client(slack)


def option(name: str) -> dict[str, Any]:
    return {"text": text(name), "value": name.lower()}


EVERYTHING = modal(
    field({"type": "plain_text_input"}, "line", label=text("Name")),
    field({"type": "plain_text_input", "multiline": True}, "text", label=text("Why")),
    field(
        {"type": "number_input", "is_decimal_allowed": True},
        "number",
        label=text("Price"),
    ),
    field({"type": "email_text_input"}, "mail", label=text("E-mail")),
    field({"type": "url_text_input"}, "url", label=text("Link")),
    field({"type": "datepicker"}, "day", label=text("Day")),
    field({"type": "timepicker"}, "time", label=text("Hour")),
    field({"type": "datetimepicker"}, "when", label=text("Moment")),
    field(
        {"type": "radio_buttons", "options": [option("Window"), option("Aisle")]},
        "seat",
        label=text("Seat"),
    ),
    field(
        {"type": "checkboxes", "options": [option("Meal"), option("Bag")]},
        "extra",
        label=text("Extras"),
    ),
    field(
        {"type": "static_select", "options": [option("Rome"), option("Oslo")]},
        "city",
        label=text("City"),
    ),
    field(
        {"type": "multi_static_select", "options": [option("Mon"), option("Tue")]},
        "days",
        label=text("Days"),
    ),
)


async def test_every_element_sends_its_value(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url, timezone_id="UTC")
    await opened(slack, EVERYTHING)
    form = dialog(page)

    await form.get_by_label("Name").fill("Ada")
    await form.get_by_label("Why").fill("one\ntwo")
    await form.get_by_label("Price").fill("-2.5")
    await form.get_by_label("E-mail").fill("ada@example.com")
    await form.get_by_label("Link").fill("https://example.com/x")
    await form.get_by_label("Day", exact=True).fill("2027-01-15")
    await form.get_by_label("Hour").fill("08:30")
    await form.get_by_label("Moment").fill("2027-01-15T08:00")
    seat = form.get_by_role("radiogroup", name="Seat")
    await seat.get_by_role("radio", name="Aisle").check()
    extras = form.get_by_role("group", name="Extras")
    await extras.get_by_role("checkbox", name="Bag").check()
    await form.get_by_role("combobox", name="City").select_option("Oslo")
    days = form.get_by_role("group", name="Days")
    await days.get_by_role("checkbox", name="Mon").check()
    await days.get_by_role("checkbox", name="Tue").check()
    await form.get_by_role("button", name="Send").click()

    await expect(form).to_be_hidden()
    assert kinds(app) == ["view_submission"]
    values = app.payload()["view"]["state"]["values"]
    held = {name: next(iter(one.values())) for name, one in values.items()}
    for one in held.values():
        del one["type"]
    assert held == {
        "line": {"value": "Ada"},
        "text": {"value": "one\ntwo"},
        "number": {"value": "-2.5"},
        "mail": {"value": "ada@example.com"},
        "url": {"value": "https://example.com/x"},
        "day": {"selected_date": "2027-01-15"},
        "time": {"selected_time": "08:30"},
        "when": {"selected_date_time": 1_800_000_000},
        "seat": {"selected_option": stored("Aisle")},
        "extra": {"selected_options": [stored("Bag")]},
        "city": {"selected_option": stored("Oslo")},
        "days": {"selected_options": [stored("Mon"), stored("Tue")]},
    }


def stored(name: str) -> dict[str, Any]:
    """An option as the workspace keeps it."""
    return {"text": text(name) | {"emoji": True}, "value": name.lower()}


async def test_fields_begin_with_what_the_app_gave_them(
    slack: Playground, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    first = {"type": "plain_text_input", "initial_value": "api"}
    second = {"type": "plain_text_input", "placeholder": text("In your own words")}
    options = [option("Eu"), option("Us")]
    choice = {"type": "static_select", "options": options, "initial_option": options[1]}
    asked = {"label": text("Reason"), "optional": True, "hint": text("Nobody else.")}

    await opened(
        slack,
        modal(
            field(first, "a", label=text("Service")),
            field(second, "b", **asked),
            field(choice, "c", label=text("Region")),
        ),
    )

    form = dialog(page)
    await expect(form.get_by_label("Service")).to_have_value("api")
    await expect(form.get_by_role("combobox", name="Region")).to_have_value("us")
    reason = form.get_by_role("textbox", name="Reason (optional)")
    await expect(reason).to_have_attribute("placeholder", "In your own words")
    assert await described(reason) == "Nobody else."


LINE = {"type": "plain_text_input"}
NUMBER = {"type": "number_input", "is_decimal_allowed": False}
WRONG: list[tuple[dict[str, Any], str, str]] = [
    (LINE, "", "Please complete this required field."),
    (LINE | {"min_length": 3}, "ab", "Enter at least 3 characters."),
    (LINE | {"max_length": 3}, "abcd", "Enter at most 3 characters."),
    (NUMBER, "many", "Enter a number."),
    (NUMBER, "2.5", "Enter a whole number."),
    (NUMBER | {"min_value": "2"}, "1", "Enter 2 or more."),
    (NUMBER | {"max_value": "9"}, "10", "Enter 9 or less."),
    ({"type": "email_text_input"}, "ada@home", "Enter an email address."),
    (
        {"type": "url_text_input"},
        "ftp://x",
        "Enter a URL that starts with http:// or https://.",
    ),
]


async def test_client_says_what_is_wrong_and_sends_nothing(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    fields = [
        field(element, f"f{index}", label=text(f"Field {index}"))
        for index, (element, _, _) in enumerate(WRONG)
    ]
    await opened(slack, modal(*fields))
    boxes = [dialog(page).get_by_label(f"Field {index}") for index in range(len(WRONG))]

    for box, (_, typed, _) in zip(boxes, WRONG, strict=True):
        await box.fill(typed)
    await dialog(page).get_by_role("button", name="Send").click()

    await expect(boxes[0]).to_be_focused()
    for box, (_, typed, words) in zip(boxes, WRONG, strict=True):
        await expect(box).to_have_attribute("aria-invalid", "true")
        await expect(box).to_have_value(typed)
        assert await described(box) == words
    assert app.received == []


async def test_half_a_date_is_not_sent_as_none(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await opened(slack, modal(field({"type": "datepicker"}, optional=True)))
    day = dialog(page).get_by_label("Label")

    await day.press("0")
    await day.press("3")
    await dialog(page).get_by_role("button", name="Send").click()

    await expect(day).to_have_attribute("aria-invalid", "true")
    assert "Enter a date." in await described(day)
    assert app.received == []


async def test_enter_sends_an_input_that_dispatches(
    slack: Playground, app: App, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    await opened(
        slack, modal(field({"type": "plain_text_input"}, "q", dispatch_action=True))
    )

    await dialog(page).get_by_label("Label").fill("api")
    await dialog(page).get_by_label("Label").press("Enter")

    await app.until(1)
    assert kinds(app) == ["block_actions"]
    assert app.payload()["actions"][0]["value"] == "api"
    await expect(dialog(page)).to_be_visible()


async def test_only_so_many_of_a_list_can_be_chosen(
    slack: Playground, page_at: PageAt
) -> None:
    options = [option(name) for name in ("Mon", "Tue", "Wed")]
    many = {"type": "multi_static_select", "options": options, "max_selected_items": 2}
    page = await page_at(slack.page_url)
    await opened(slack, modal(field(many)))
    form = dialog(page)

    await form.get_by_role("checkbox", name="Mon").check()
    await form.get_by_role("checkbox", name="Wed").check()

    await expect(form.get_by_role("checkbox", name="Tue")).to_be_disabled()
    await form.get_by_role("checkbox", name="Mon").uncheck()
    await expect(form.get_by_role("checkbox", name="Tue")).to_be_enabled()


async def test_choice_in_a_message_is_sent_at_once(
    slack: Playground, app: App, api: AsyncWebClient, page_at: PageAt
) -> None:
    choice = {"type": "static_select", "action_id": "region", "options": [option("Eu")]}
    blocks = [section("Which region?") | {"accessory": choice}, actions(button())]
    await api.chat_postMessage(channel=OPS, text="card", blocks=blocks)
    page = await page_at(slack.page_url)
    card = page.get_by_role("article")
    region = card.get_by_role("combobox", name="Which region?")

    await region.select_option("Eu")
    await app.until(1)

    assert app.payload()["actions"][0]["selected_option"]["value"] == "eu"
    await expect(region).not_to_have_attribute("aria-busy", "true")
    await card.get_by_role("button", name="Go").click()
    await app.until(2)
    values = app.payload()["state"]["values"]
    assert next(iter(values.values()))["region"]["selected_option"]["value"] == "eu"
    await expect(region).to_have_value("eu")


async def test_unknown_elements_are_named_not_dropped(
    slack: Playground, page_at: PageAt
) -> None:
    page = await page_at(slack.page_url)
    strange = {"type": "users_select", "action_id": "who"}
    draw = """async blocks => {
      const { blockNodes } = await import("/static/blocks.js");
      const surface = { names: {}, mark: () => null, error: () => undefined };
      return blockNodes(blocks, surface).map((node) => node.textContent);
    }"""

    shown = await page.evaluate(
        draw,
        [
            section("Who?") | {"block_id": "a", "accessory": strange},
            {"type": "actions", "block_id": "b", "elements": [strange]},
            field(strange, "c"),
            {"type": "video", "block_id": "d"},
        ],
    )

    for words in shown[:3]:
        assert "A control of type “users_select”" in words
    assert shown[3].startswith("A block of type “video”")


async def test_modal_fits_a_phone(slack: Playground, page_at: PageAt) -> None:
    page = await page_at(slack.page_url, width=320, has_touch=True)
    await opened(slack, EVERYTHING)
    send = dialog(page).get_by_role("button", name="Send")

    await expect(send).to_be_in_viewport(ratio=1)
    sizes = "node => [node.scrollWidth > node.clientWidth, document.body.scrollWidth]"
    assert await dialog(page).evaluate(sizes) == [False, 320]
