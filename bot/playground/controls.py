"""Interactive elements: finding one, giving it a value, and reading all values.

This is what Slack's client does with buttons, selects and inputs before anything is
sent, its own checks included. Where they are posted and sent is elsewhere.
"""

import re
from typing import Any
from urllib.parse import urlsplit

from bot.playground.blockkit import elements
from bot.playground.checks import length

Json = dict[str, Any]
Values = dict[str, dict[str, Json]]

_NUMERAL = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = re.compile(r"([01]\d|2[0-3]):[0-5]\d", re.ASCII)

_TYPED = ("plain_text_input", "email_text_input", "url_text_input", "number_input")
_ONE_OF = ("static_select", "radio_buttons", "overflow")
_MANY_OF = ("checkboxes", "multi_static_select")
_PICKED = {
    "datepicker": ("selected_date", "initial_date"),
    "timepicker": ("selected_time", "initial_time"),
    "datetimepicker": ("selected_date_time", "initial_date_time"),
}
# Buttons and overflow menus keep no state.
_STATELESS = ("button", "overflow")


class NotPossible(Exception):
    """A person could not do this in Slack's client; the words say why."""


def find(blocks: list[Json], action_id: str, block_id: str | None) -> tuple[Json, Json]:
    """The block and the element with this action_id."""
    for block, element in elements(blocks):
        if element["action_id"] == action_id and block_id in (None, block["block_id"]):
            return block, element
    raise NotPossible(f"no element {action_id} here")


def chosen(element: Json, value: Any) -> Json:
    """What an element holds once a person has given it this value."""
    kind = element["type"]
    if kind == "button":
        return {name: element[name] for name in ("value", "style") if name in element}
    if kind in _TYPED:
        return {"value": None if value in (None, "") else str(value)}
    if kind in _ONE_OF:
        one = None if value is None else _option(element, value)
        return {"selected_option": one}
    if kind in _MANY_OF:
        many = [_option(element, one) for one in value or []]
        limit = element.get("max_selected_items", len(many))
        if len(many) > limit:
            raise NotPossible(f"at most {limit} may be chosen")
        return {"selected_options": many}
    return {_PICKED[kind][0]: _picked(kind, value)}


def _option(element: Json, value: Any) -> Json:
    options = [*element.get("options", [])]
    for group in element.get("option_groups", []):
        options += group["options"]
    for option in options:
        if option["value"] == value:
            found: Json = option
            return found
    raise NotPossible(f"no option {value}")


def _picked(kind: str, value: Any) -> Any:
    if value is None:
        return None
    if kind == "datetimepicker":
        if isinstance(value, bool) or not isinstance(value, int):
            raise NotPossible("a date and time is a number of seconds")
        return value
    shape = _DATE if kind == "datepicker" else _TIME
    if not isinstance(value, str) or not shape.fullmatch(value):
        raise NotPossible(f"not a value of a {kind}: {value}")
    return value


def initial(element: Json) -> Json:
    """What an element holds before anybody touches it."""
    kind = element["type"]
    if kind in _TYPED:
        return {"value": element.get("initial_value")}
    if kind in _ONE_OF:
        return {"selected_option": element.get("initial_option")}
    if kind in _MANY_OF:
        return {"selected_options": element.get("initial_options", [])}
    field, given = _PICKED[kind]
    return {field: element.get(given)}


def state_values(blocks: list[Json], given: Values) -> Values:
    """`state.values`: every stateful element with what it holds now."""
    values: Values = {}
    for block, element in elements(blocks):
        if element["type"] in _STATELESS:
            continue
        block_id, action_id = block["block_id"], element["action_id"]
        held = given.get(block_id, {}).get(action_id)
        if held is None:
            held = initial(element)
        entry = {"type": element["type"], **held}
        values.setdefault(block_id, {})[action_id] = entry
    return values


def client_problems(blocks: list[Json], values: Values) -> dict[str, str]:
    """What the client would say under each input block before it sends a form."""
    problems: dict[str, str] = {}
    for block in blocks:
        if block["type"] != "input":
            continue
        element = block["element"]
        held = values[block["block_id"]][element["action_id"]]
        words = _complaint(block, element, held)
        if words:
            problems[block["block_id"]] = words
    return problems


def _complaint(block: Json, element: Json, held: Json) -> str | None:
    content = next(value for name, value in held.items() if name != "type")
    if content in (None, [], ""):
        return None if block.get("optional") else "Please complete this required field."
    kind = element["type"]
    if kind == "plain_text_input":
        return _length_complaint(element, content)
    if kind == "number_input":
        return _number_complaint(element, content)
    if kind == "email_text_input" and not _EMAIL.fullmatch(content):
        return "Enter an email address."
    if kind == "url_text_input" and not _is_url(content):
        return "Enter a URL that starts with http:// or https://."
    return None


def _length_complaint(element: Json, content: str) -> str | None:
    if length(content) < element.get("min_length", 0):
        return f"Enter at least {element['min_length']} characters."
    if length(content) > element.get("max_length", 3000):
        return f"Enter at most {element.get('max_length', 3000)} characters."
    return None


def _number_complaint(element: Json, content: str) -> str | None:
    if not _NUMERAL.fullmatch(content):
        return "Enter a number."
    if "." in content and not element["is_decimal_allowed"]:
        return "Enter a whole number."
    if float(content) < float(element.get("min_value", "-inf")):
        return f"Enter {element['min_value']} or more."
    if float(content) > float(element.get("max_value", "inf")):
        return f"Enter {element['max_value']} or less."
    return None


def _is_url(content: str) -> bool:
    try:
        parts = urlsplit(content)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)
