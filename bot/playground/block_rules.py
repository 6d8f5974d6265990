"""Which blocks, elements and composition objects are allowed where, and how big.

Slack's documented limits for the types that the bot posts, as data; every other
type is refused. The way to the rules is `blockkit.py`.
"""

import re
from typing import Any

from bot.playground.checks import (
    Check,
    array,
    boolean,
    by_type,
    choice,
    integer,
    problem,
    record,
    string,
)

TEXT_MAX = 3000
NUMERAL = re.compile(r"-?\d+(\.\d+)?", re.ASCII)


def plain(most: int = TEXT_MAX) -> Check:
    """A plain_text object."""
    return by_type({"plain_text": record({"text": string(most=most)}, _EMOJI)})


def words(most: int = TEXT_MAX) -> Check:
    """A plain_text or mrkdwn object."""
    body = {"text": string(most=most)}
    return by_type(
        {"plain_text": record(body, _EMOJI), "mrkdwn": record(body, _VERBATIM)}
    )


_EMOJI: dict[str, Check] = {"emoji": boolean}
_VERBATIM: dict[str, Check] = {"verbatim": boolean}
_ID = string(most=255)

CONFIRM = record(
    {
        "title": plain(100),
        "text": plain(300),
        "confirm": plain(30),
        "deny": plain(30),
    },
    {"style": choice("primary", "danger")},
)


def _option(text: Check, *, with_url: bool = False) -> Check:
    optional = {"description": plain(75)}
    if with_url:
        optional["url"] = string(most=3000)
    return record({"text": text, "value": string(most=150)}, optional)


OPTION = _option(plain(75))
CHOICE_OPTION = _option(words(75))
GROUP = record({"label": plain(75), "options": array(OPTION, most=100)})


def _initial_is_an_option(value: dict[str, Any], at: str, out: list[str]) -> None:
    options = [*value.get("options", [])]
    for group in value.get("option_groups", []):
        options += group["options"]
    chosen = [*value.get("initial_options", [])]
    if "initial_option" in value:
        chosen.append(value["initial_option"])
    for one in chosen:
        if one not in options:
            out.append(problem("initial option is not among the options", at))


def _options_or_groups(value: dict[str, Any], at: str, out: list[str]) -> None:
    if ("options" in value) == ("option_groups" in value):
        out.append(problem("give either options or option_groups", at))


def _lengths_in_order(value: dict[str, Any], at: str, out: list[str]) -> None:
    if value.get("min_length", 0) > value.get("max_length", TEXT_MAX):
        out.append(problem("min_length is above max_length", at))


def _numbers_in_order(value: dict[str, Any], at: str, out: list[str]) -> None:
    named = ("min_value", "initial_value", "max_value")
    given = [float(value[name]) for name in named if name in value]
    if given != sorted(given):
        out.append(problem("min_value, initial_value, max_value out of order", at))


def _numeral(value: Any, at: str, out: list[str]) -> None:
    if not isinstance(value, str) or not NUMERAL.fullmatch(value):
        out.append(problem("must be a numeral in a string", at))


_DISPATCH = record(
    {
        "trigger_actions_on": array(
            choice("on_enter_pressed", "on_character_entered"), most=2
        )
    }
)
_COMMON: dict[str, Check] = {"action_id": _ID, "focus_on_load": boolean}
_HELD: dict[str, Check] = {**_COMMON, "placeholder": plain(150)}
_TYPED: dict[str, Check] = {**_HELD, "dispatch_action_config": _DISPATCH}
_ASKED: dict[str, Check] = {"confirm": CONFIRM}

BUTTON = record(
    {"text": plain(75)},
    {
        "action_id": _ID,
        "value": string(most=2000, least=0),
        "url": string(most=3000),
        "style": choice("primary", "danger"),
        "confirm": CONFIRM,
        "accessibility_label": string(most=75),
    },
)
OVERFLOW = record(
    {"options": array(_option(plain(75), with_url=True), most=5)},
    {"action_id": _ID, **_ASKED},
)
CHECKBOXES = record(
    {"options": array(CHOICE_OPTION, most=10)},
    {**_COMMON, **_ASKED, "initial_options": array(CHOICE_OPTION)},
    _initial_is_an_option,
)
RADIO_BUTTONS = record(
    {"options": array(CHOICE_OPTION, most=10)},
    {**_COMMON, **_ASKED, "initial_option": CHOICE_OPTION},
    _initial_is_an_option,
)
_LISTED: dict[str, Check] = {
    "options": array(OPTION, most=100),
    "option_groups": array(GROUP, most=100),
}
STATIC_SELECT = record(
    {},
    {**_HELD, **_ASKED, **_LISTED, "initial_option": OPTION},
    _options_or_groups,
    _initial_is_an_option,
)
MULTI_STATIC_SELECT = record(
    {},
    {
        **_HELD,
        **_ASKED,
        **_LISTED,
        "initial_options": array(OPTION),
        "max_selected_items": integer(least=1, most=100),
    },
    _options_or_groups,
    _initial_is_an_option,
)
DATEPICKER = record(
    {},
    {
        **_HELD,
        **_ASKED,
        "initial_date": string(most=10, pattern=r"\d{4}-\d\d-\d\d"),
    },
)
TIMEPICKER = record(
    {},
    {
        **_HELD,
        **_ASKED,
        "initial_time": string(most=5, pattern=r"([01]\d|2[0-3]):[0-5]\d"),
        "timezone": string(most=100),
    },
)
DATETIMEPICKER = record(
    {},
    {
        **_COMMON,
        **_ASKED,
        "initial_date_time": integer(least=10**9, most=10**10 - 1),
    },
)
PLAIN_TEXT_INPUT = record(
    {},
    {
        **_TYPED,
        "initial_value": string(most=TEXT_MAX, least=0),
        "multiline": boolean,
        "min_length": integer(least=0, most=TEXT_MAX),
        "max_length": integer(least=1, most=TEXT_MAX),
    },
    _lengths_in_order,
)
LINE_INPUT = record({}, {**_TYPED, "initial_value": string(most=TEXT_MAX, least=0)})
NUMBER_INPUT = record(
    {"is_decimal_allowed": boolean},
    {
        **_TYPED,
        "initial_value": _numeral,
        "min_value": _numeral,
        "max_value": _numeral,
    },
    _numbers_in_order,
)

_CHOICES: dict[str, Check] = {
    "checkboxes": CHECKBOXES,
    "radio_buttons": RADIO_BUTTONS,
    "static_select": STATIC_SELECT,
    "multi_static_select": MULTI_STATIC_SELECT,
    "datepicker": DATEPICKER,
    "timepicker": TIMEPICKER,
}
IN_SECTION: dict[str, Check] = {"button": BUTTON, "overflow": OVERFLOW, **_CHOICES}
IN_ACTIONS: dict[str, Check] = {**IN_SECTION, "datetimepicker": DATETIMEPICKER}
IN_INPUT: dict[str, Check] = {
    **_CHOICES,
    "datetimepicker": DATETIMEPICKER,
    "plain_text_input": PLAIN_TEXT_INPUT,
    "email_text_input": LINE_INPUT,
    "url_text_input": LINE_INPUT,
    "number_input": NUMBER_INPUT,
}

_STYLE = record(
    {},
    dict.fromkeys(("bold", "italic", "strike", "code", "underline"), boolean),
)
_MENTION_STYLE = record(
    {},
    dict.fromkeys(
        ("bold", "italic", "strike", "highlight", "client_highlight"), boolean
    ),
)
_RICH_TEXT = record({"text": string(most=13_200)}, {"style": _STYLE})
_RICH_LINK = record(
    {"url": string(most=3000)},
    {"text": string(most=TEXT_MAX), "unsafe": boolean, "style": _STYLE},
)
INLINE = by_type(
    {
        "text": _RICH_TEXT,
        "link": _RICH_LINK,
        "user": record({"user_id": string(most=40)}, {"style": _MENTION_STYLE}),
        "usergroup": record(
            {"usergroup_id": string(most=40)}, {"style": _MENTION_STYLE}
        ),
        "channel": record({"channel_id": string(most=40)}, {"style": _MENTION_STYLE}),
        "broadcast": record(
            {"range": choice("here", "channel", "everyone")}, {"style": _STYLE}
        ),
        "emoji": record(
            {"name": string(most=100)},
            {"unicode": string(most=100), "style": _STYLE},
        ),
        "date": record(
            {
                "timestamp": integer(least=0, most=10**11),
                "format": string(most=TEXT_MAX),
            },
            {
                "url": string(most=3000),
                "fallback": string(most=TEXT_MAX),
                "style": _STYLE,
            },
        ),
    }
)
_BORDER: dict[str, Check] = {"border": integer(least=0, most=1)}
_RICH_SECTION = record({"elements": array(INLINE)})
_RICH_PARTS = by_type(
    {
        "rich_text_section": _RICH_SECTION,
        "rich_text_preformatted": record(
            {"elements": array(by_type({"text": _RICH_TEXT, "link": _RICH_LINK}))},
            {**_BORDER, "language": string(most=100)},
        ),
        "rich_text_quote": record({"elements": array(INLINE)}, _BORDER),
        "rich_text_list": record(
            {
                "style": choice("bullet", "ordered"),
                "elements": array(by_type({"rich_text_section": _RICH_SECTION})),
            },
            {
                **_BORDER,
                "indent": integer(least=0, most=8),
                "offset": integer(least=0, most=10**6),
            },
        ),
    }
)


def _text_or_fields(value: dict[str, Any], at: str, out: list[str]) -> None:
    if "text" not in value and "fields" not in value:
        out.append(problem("missing required field: text or fields", at))


_BLOCK: dict[str, Check] = {"block_id": _ID}
BLOCK = by_type(
    {
        "section": record(
            {},
            {
                **_BLOCK,
                "text": words(),
                "fields": array(words(2000), most=10),
                "accessory": by_type(IN_SECTION),
                "expand": boolean,
            },
            _text_or_fields,
        ),
        "header": record({"text": plain(150)}, _BLOCK),
        "context": record({"elements": array(words(), most=10)}, _BLOCK),
        "actions": record({"elements": array(by_type(IN_ACTIONS), most=25)}, _BLOCK),
        "divider": record({}, _BLOCK),
        "rich_text": record({"elements": array(_RICH_PARTS)}, _BLOCK),
        "input": record(
            {"label": plain(2000), "element": by_type(IN_INPUT)},
            {
                **_BLOCK,
                "hint": plain(2000),
                "optional": boolean,
                "dispatch_action": boolean,
            },
        ),
    }
)

_VIEW: dict[str, Check] = {
    "private_metadata": string(most=3000, least=0),
    "callback_id": string(most=255, least=0),
    "external_id": string(most=255, least=0),
}
VIEW_BLOCKS = array(BLOCK, most=100)
VIEW = by_type(
    {
        "modal": record(
            {"title": plain(24), "blocks": VIEW_BLOCKS},
            {
                **_VIEW,
                "submit": plain(24),
                "close": plain(24),
                "clear_on_close": boolean,
                "notify_on_close": boolean,
                "submit_disabled": boolean,
            },
        ),
        "home": record({"blocks": VIEW_BLOCKS}, _VIEW),
    }
)
