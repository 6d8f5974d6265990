"""What a JSON Schema wants, in words for people, and which types it takes.

Pure, and only about describing: whether a value fits is jsonschema's word, in
`arguments.py`. It follows references inside the schema and no others.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: The keywords whose demands `wanted` puts into words.
WORDED = frozenset(
    {"type", "enum", "const", "anyOf", "oneOf"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minLength", "maxLength", "pattern", "minItems", "maxItems"}
)

# Schemas may refer to themselves; nobody reads words about the ninth level.
_DEEPEST = 8


def resolved(schema: object, root: Mapping[str, Any]) -> dict[str, Any]:
    """A schema with its own reference followed; {} for what is no object."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict):
            break
        reference = schema.get("$ref")
        if not isinstance(reference, str) or not reference.startswith("#/"):
            return schema
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        target = _pointed_at(root, reference)
        schema = {**target, **beside} if isinstance(target, dict) else target
    return {}


def types_of(
    schema: object, root: Mapping[str, Any], depth: int = _DEEPEST
) -> frozenset[str]:
    """The JSON types a schema takes; empty when it does not say."""
    if depth == 0:
        return frozenset()
    inner = resolved(schema, root)
    named = inner.get("type")
    if isinstance(named, str):
        return frozenset([named])
    if isinstance(named, list):
        return frozenset(named)
    members = choices(inner)
    if members:
        return frozenset(map(_json_type, members))
    each = [types_of(branch, root, depth - 1) for branch in branches(inner)]
    return frozenset().union(*each) if all(each) else frozenset()


def choices(schema: Mapping[str, Any]) -> list[Any]:
    """The values that a schema lists as the only ones."""
    if "const" in schema:
        return [schema["const"]]
    members = schema.get("enum")
    return members if isinstance(members, list) else []


def branches(schema: Mapping[str, Any]) -> list[Any]:
    """The alternatives of a schema."""
    found = schema.get("anyOf") or schema.get("oneOf") or []
    return found if isinstance(found, list) else []


def wanted(schema: object, root: Mapping[str, Any], depth: int = _DEEPEST) -> str:
    """What a schema wants, to stand behind "must be"."""
    inner = resolved(schema, root)
    members = choices(inner)
    if members:
        return _one_of(members)
    each: list[str] = []
    if "type" not in inner and depth > 0:
        each = [wanted(branch, root, depth - 1) for branch in branches(inner)]
    if not each:
        named = sorted(types_of(inner, root), key=list(_WORDS).index)
        each = [_of_type(name, inner) for name in named]
    return " or ".join(dict.fromkeys(each)) or "a value"


def as_json(value: Any) -> str:
    """A value as compact JSON, for people to read and to type."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


_WORDS = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a JSON list",
    "object": "a JSON object",
    "null": "null",
}


def _of_type(name: str, schema: Mapping[str, Any]) -> str:
    words = _WORDS[name]
    if name in ("integer", "number"):
        return words + _range(schema)
    if name == "string":
        counted = _count(schema, "minLength", "maxLength", "character")
        pattern = schema.get("pattern")
        return words + counted + (f" matching {pattern}" if pattern else "")
    if name == "array":
        return words + _count(schema, "minItems", "maxItems", "entr")
    return words


def _range(schema: Mapping[str, Any]) -> str:
    bounds = [
        f"{words} {schema[key]}"
        for key, words in (
            ("minimum", "of at least"),
            ("exclusiveMinimum", "above"),
            ("maximum", "of at most"),
            ("exclusiveMaximum", "below"),
        )
        if key in schema
    ]
    text = " and ".join(bounds)
    if len(bounds) == 2 and "minimum" in schema and "maximum" in schema:
        text = f"from {schema['minimum']} to {schema['maximum']}"
    if "multipleOf" in schema:
        text = f"{text} that is a multiple of {schema['multipleOf']}".strip()
    return f" {text}" if text else ""


def _count(schema: Mapping[str, Any], least: str, most: str, noun: str) -> str:
    low, high = schema.get(least), schema.get(most)
    if low is None and high is None:
        return ""
    if low == high:
        return f" of {low} {_plural(noun, low)}"
    if low is not None and high is not None:
        return f" of {low} to {high} {_plural(noun, high)}"
    if low is not None:
        return f" of at least {low} {_plural(noun, low)}"
    return f" of at most {high} {_plural(noun, high)}"


def _plural(noun: str, count: int | None) -> str:
    if noun == "entr":
        return "entry" if count == 1 else "entries"
    return noun if count == 1 else f"{noun}s"


def _one_of(members: list[Any], limit: int = 12) -> str:
    shown = [as_json(member) for member in members[:limit]]
    if len(members) == 1:
        return shown[0]
    more = len(members) - len(shown)
    return f"one of {', '.join(shown)}" + (f" and {more} more" if more else "")


def _json_type(value: object) -> str:
    for kind, name in (
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list, "array"),
        (dict, "object"),
    ):
        if isinstance(value, kind):
            return name
    return "null"


def _pointed_at(root: Mapping[str, Any], reference: str) -> object:
    """What a JSON Pointer into the schema leads to, or None."""
    found: object = root
    for step in reference[2:].split("/"):
        key = step.replace("~1", "/").replace("~0", "~")
        found = found.get(key) if isinstance(found, Mapping) else None
    return found
