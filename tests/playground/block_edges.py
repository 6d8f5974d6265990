"""Every Block Kit rule with a block at its limit and one just beyond it."""

from typing import Any

from pretend_app import actions, button, field, section, text

Json = dict[str, Any]


def mrkdwn(words: str) -> Json:
    return {"type": "mrkdwn", "text": words}


def option(label: str = "One", value: str = "1", **more: Any) -> Json:
    return {"text": text(label), "value": value, **more}


def options(count: int) -> list[Json]:
    return [option(value=str(number)) for number in range(count)]


def rich(*elements: Json, kind: str = "rich_text_section", **more: Any) -> Json:
    part = {"type": kind, "elements": list(elements), **more}
    return {"type": "rich_text", "elements": [part]}


def said(words: str) -> Json:
    return {"type": "text", "text": words}


def confirm(**changes: Any) -> Json:
    given = {
        "title": text("Sure?"),
        "text": text("Really"),
        "confirm": text("Yes"),
        "deny": text("No"),
    }
    return given | changes


def select(kind: str = "static_select", **fields: Any) -> Json:
    return {"type": kind, "action_id": "s", **fields}


def typed(kind: str = "plain_text_input", **fields: Any) -> Json:
    return field({"type": kind, **fields})


def number(**fields: Any) -> Json:
    return typed("number_input", **({"is_decimal_allowed": False} | fields))


# name, a block at the limit, a block beyond it
EDGES: list[tuple[str, Json, Json]] = [
    ("section text", section("x" * 3000), section("x" * 3001)),
    (
        "section text in two-unit characters",
        section("😀" * 1500),
        section("😀" * 1501),
    ),
    ("section text empty", section("x"), section("")),
    (
        "section fields",
        {"type": "section", "fields": [text("x")] * 10},
        {"type": "section", "fields": [text("x")] * 11},
    ),
    (
        "section field length",
        {"type": "section", "fields": [mrkdwn("x" * 2000)]},
        {"type": "section", "fields": [mrkdwn("x" * 2001)]},
    ),
    (
        "section needs text or fields",
        {"type": "section", "fields": [text("x")]},
        {"type": "section"},
    ),
    (
        "block_id length",
        section() | {"block_id": "b" * 255},
        section() | {"block_id": "b" * 256},
    ),
    (
        "header text",
        {"type": "header", "text": text("x" * 150)},
        {"type": "header", "text": text("x" * 151)},
    ),
    (
        "header takes plain text only",
        {"type": "header", "text": text("x")},
        {"type": "header", "text": mrkdwn("x")},
    ),
    (
        "context elements",
        {"type": "context", "elements": [mrkdwn("x")] * 10},
        {"type": "context", "elements": [mrkdwn("x")] * 11},
    ),
    (
        "context not empty",
        {"type": "context", "elements": [text("x")]},
        {"type": "context", "elements": []},
    ),
    (
        "context holds texts only",
        {"type": "context", "elements": [text("x")]},
        {"type": "context", "elements": [button()]},
    ),
    (
        "actions elements",
        actions(*(button(f"a{n}") for n in range(25))),
        actions(*(button(f"a{n}") for n in range(26))),
    ),
    (
        "actions take no text input",
        actions(button()),
        actions({"type": "plain_text_input"}),
    ),
    (
        "action_id unique in a block",
        actions(button("a"), button("b")),
        actions(button("a"), button("a")),
    ),
    (
        "button text",
        actions(button(text=text("x" * 75))),
        actions(button(text=text("x" * 76))),
    ),
    (
        "button text empty",
        actions(button(text=text("x"))),
        actions(button(text=text(""))),
    ),
    (
        "button value",
        actions(button(value="v" * 2000)),
        actions(button(value="v" * 2001)),
    ),
    ("button action_id", actions(button("a" * 255)), actions(button("a" * 256))),
    ("button url", actions(button(url="u" * 3000)), actions(button(url="u" * 3001))),
    ("button style", actions(button(style="danger")), actions(button(style="green"))),
    (
        "button accessibility label",
        actions(button(accessibility_label="x" * 75)),
        actions(button(accessibility_label="x" * 76)),
    ),
    (
        "confirm title",
        actions(button(confirm=confirm(title=text("x" * 100)))),
        actions(button(confirm=confirm(title=text("x" * 101)))),
    ),
    (
        "confirm text",
        actions(button(confirm=confirm(text=text("x" * 300)))),
        actions(button(confirm=confirm(text=text("x" * 301)))),
    ),
    (
        "confirm button",
        actions(button(confirm=confirm(confirm=text("x" * 30)))),
        actions(button(confirm=confirm(confirm=text("x" * 31)))),
    ),
    (
        "deny button",
        actions(button(confirm=confirm(deny=text("x" * 30)))),
        actions(button(confirm=confirm(deny=text("x" * 31)))),
    ),
    (
        "confirm is plain text",
        actions(button(confirm=confirm())),
        actions(button(confirm=confirm(text=mrkdwn("x")))),
    ),
    (
        "overflow options",
        actions(select("overflow", options=options(5))),
        actions(select("overflow", options=options(6))),
    ),
    (
        "checkboxes options",
        actions(select("checkboxes", options=options(10))),
        actions(select("checkboxes", options=options(11))),
    ),
    (
        "radio options",
        actions(select("radio_buttons", options=options(10))),
        actions(select("radio_buttons", options=options(11))),
    ),
    (
        "select options",
        actions(select(options=options(100))),
        actions(select(options=options(101))),
    ),
    (
        "multi select options",
        actions(select("multi_static_select", options=options(100))),
        actions(select("multi_static_select", options=options(101))),
    ),
    (
        "option groups",
        actions(
            select(option_groups=[{"label": text("g"), "options": options(1)}] * 100)
        ),
        actions(
            select(option_groups=[{"label": text("g"), "options": options(1)}] * 101)
        ),
    ),
    (
        "options of a group",
        actions(select(option_groups=[{"label": text("g"), "options": options(100)}])),
        actions(select(option_groups=[{"label": text("g"), "options": options(101)}])),
    ),
    (
        "group label",
        actions(
            select(option_groups=[{"label": text("g" * 75), "options": options(1)}])
        ),
        actions(
            select(option_groups=[{"label": text("g" * 76), "options": options(1)}])
        ),
    ),
    (
        "options or groups, not both",
        actions(select(options=options(1))),
        actions(
            select(
                options=options(1),
                option_groups=[{"label": text("g"), "options": options(1)}],
            )
        ),
    ),
    (
        "option text",
        actions(select(options=[option("x" * 75)])),
        actions(select(options=[option("x" * 76)])),
    ),
    (
        "option value",
        actions(select(options=[option(value="x" * 150)])),
        actions(select(options=[option(value="x" * 151)])),
    ),
    (
        "option description",
        actions(select(options=[option(description=text("x" * 75))])),
        actions(select(options=[option(description=text("x" * 76))])),
    ),
    (
        "initial option is an option",
        actions(select(options=[option()], initial_option=option())),
        actions(select(options=[option()], initial_option=option("Two"))),
    ),
    (
        "initial options are options",
        actions(select("checkboxes", options=[option()], initial_options=[option()])),
        actions(
            select("checkboxes", options=[option()], initial_options=[option("Two")])
        ),
    ),
    (
        "max_selected_items",
        actions(
            select("multi_static_select", options=options(1), max_selected_items=1)
        ),
        actions(
            select("multi_static_select", options=options(1), max_selected_items=0)
        ),
    ),
    (
        "placeholder",
        actions(select(options=options(1), placeholder=text("x" * 150))),
        actions(select(options=options(1), placeholder=text("x" * 151))),
    ),
    (
        "date",
        actions(select("datepicker", initial_date="2026-01-31")),
        actions(select("datepicker", initial_date="31.1.2026")),
    ),
    (
        "time",
        actions(select("timepicker", initial_time="23:59")),
        actions(select("timepicker", initial_time="24:00")),
    ),
    (
        "date and time",
        actions(select("datetimepicker", initial_date_time=10**10 - 1)),
        actions(select("datetimepicker", initial_date_time=10**10)),
    ),
    (
        "input label",
        typed() | {"label": text("x" * 2000)},
        typed() | {"label": text("x" * 2001)},
    ),
    (
        "input hint",
        typed() | {"hint": text("x" * 2000)},
        typed() | {"hint": text("x" * 2001)},
    ),
    ("input label is plain text", typed(), typed() | {"label": mrkdwn("x")}),
    ("input takes no button", typed(), field(button())),
    ("min_length", typed(min_length=3000), typed(min_length=3001)),
    ("min_length from zero", typed(min_length=0), typed(min_length=-1)),
    ("max_length", typed(max_length=3000), typed(max_length=3001)),
    ("max_length from one", typed(max_length=1), typed(max_length=0)),
    (
        "lengths in order",
        typed(min_length=5, max_length=5),
        typed(min_length=6, max_length=5),
    ),
    ("initial value", typed(initial_value="x" * 3000), typed(initial_value="x" * 3001)),
    ("decimals said", number(), typed("number_input")),
    ("bounds are strings", number(min_value="1"), number(min_value=1)),
    ("bounds are numerals", number(max_value="-1.5"), number(max_value="1e5")),
    (
        "bounds in order",
        number(min_value="1", max_value="1"),
        number(min_value="2", max_value="1"),
    ),
    (
        "dispatch words",
        typed(dispatch_action_config={"trigger_actions_on": ["on_enter_pressed"]}),
        typed(dispatch_action_config={"trigger_actions_on": ["on_hover"]}),
    ),
    ("rich text not empty", rich(said("x")), rich(said(""))),
    ("rich text section not empty", rich(said("x")), rich()),
    (
        "rich text styles",
        rich(said("x") | {"style": {"bold": True}}),
        rich(said("x") | {"style": {"blink": True}}),
    ),
    (
        "preformatted holds text",
        rich(said("x"), kind="rich_text_preformatted"),
        rich({"type": "user", "user_id": "U1"}, kind="rich_text_preformatted"),
    ),
    (
        "mentions are by id",
        rich({"type": "user", "user_id": "U1"}),
        rich({"type": "user", "name": "ada"}),
    ),
    (
        "broadcast range",
        rich({"type": "broadcast", "range": "here"}),
        rich({"type": "broadcast", "range": "all"}),
    ),
    (
        "lists hold sections",
        rich(
            {"type": "rich_text_section", "elements": [said("x")]},
            kind="rich_text_list",
            style="bullet",
        ),
        rich(said("x"), kind="rich_text_list", style="bullet"),
    ),
    (
        "border",
        rich(said("x"), kind="rich_text_quote", border=1),
        rich(said("x"), kind="rich_text_quote", border=2),
    ),
    (
        "emoji is of plain text",
        {"type": "section", "text": text("x") | {"emoji": False}},
        {"type": "section", "text": mrkdwn("x") | {"emoji": False}},
    ),
    (
        "verbatim is of mrkdwn",
        {"type": "section", "text": mrkdwn("x") | {"verbatim": True}},
        {"type": "section", "text": text("x") | {"verbatim": True}},
    ),
    (
        "expand is a boolean",
        section() | {"expand": True},
        section() | {"expand": "true"},
    ),
    ("unknown field", {"type": "divider"}, {"type": "divider", "color": "red"}),
    ("unknown type", {"type": "divider"}, {"type": "markdown", "text": "x"}),
]
