"""A call's arguments: from typed words to checked values, and how to write them.

Pure. How a text becomes words is in `words.py`, how one value is read in `values.py`.
Every fault is a sentence for the person who wrote the words; values are checked by
jsonschema, which is given no way to fetch what a schema refers to.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator, ValidationError
from referencing import Registry
from referencing.exceptions import Unresolvable

from bot.contract.types import Tool, traits_of
from bot.tools.values import value_of
from bot.tools.wanted import WORDED, as_json, choices, resolved, types_of, wanted
from bot.tools.words import (
    NOTHING_STARTED,
    Refused,
    as_typed,
    parse_words,
    shortened,
)


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """Arguments that fit the tool's schema."""

    values: dict[str, Any]


_MOST_PROBLEMS = 5
_NO_DEFAULT = object()


def read_arguments(
    text: str, tool: Tool, command: str = "/tool"
) -> Arguments | Refused:
    """The arguments that a person typed for a tool, or what to tell them."""
    pairs = parse_words(text)
    if isinstance(pairs, Refused):
        return pairs
    return read_values(pairs, tool.name, tool.input_schema, command)


def read_values(
    pairs: list[tuple[str, str]],
    name: str,
    input_schema: dict[str, Any],
    command: str = "/tool",
) -> Arguments | Refused:
    """Raw values read by the schema and checked against it, or every fault in them."""
    schema = resolved(input_schema, input_schema)
    problems = [*_unknown(pairs, name, schema)]
    values: dict[str, Any] = {}
    for key, raw in pairs:
        wish = _wish(key, schema)
        try:
            values[key] = value_of(raw, wish, input_schema)
        except ValueError as error:
            words = f"{key} must be {wanted(wish, input_schema)}"
            problems.append(f"{_with_written(words, raw)}{_reason(error)}.")
    missing = [key for key in _required(schema) if key not in dict(pairs)]
    if not problems and not missing:
        problems = _faults(values, input_schema, dict(pairs))
    if missing:
        example = " ".join(f"{key}={_sample(key, schema)}" for key in _required(schema))
        need = f"{name} needs {_listed(missing)}. Example: {command} {name} {example}"
        if not problems:
            return Refused(text=need)
        problems.insert(0, need)
    if problems:
        lines = "\n".join(problems)
        return Refused(text=f"{lines} {NOTHING_STARTED}")
    return Arguments(values=values)


def argument_problems(values: object, input_schema: dict[str, Any]) -> list[str]:
    """What is wrong with arguments that did not come as words; [] when nothing is."""
    if not isinstance(values, dict):
        return ["The arguments must be a JSON object."]
    return _faults(values, input_schema, {})


def usage(tool: Tool) -> str:
    """How a tool is written, and what each argument takes, one per line."""
    schema = resolved(tool.input_schema, tool.input_schema)
    properties = _properties(schema)
    required = _required(schema)
    words = [tool.name]
    lines = []
    for key in sorted(properties, key=lambda key: key not in required):
        wish = resolved(properties[key], tool.input_schema)
        default = _default(key, wish, tool)
        unsaid = default is _NO_DEFAULT or default is None
        word = f"{key}={'…' if unsaid else _typed(default)}"
        words.append(word if key in required else f"[{word}]")
        line = f"{key}: {wanted(wish, tool.input_schema)}"
        if default is not _NO_DEFAULT:
            line += f"; left out: {as_json(default)}"
        if isinstance(wish.get("description"), str):
            line += f". {wish['description']}"
        lines.append(line)
    return "\n".join([" ".join(words), *lines])


def _default(key: str, wish: Mapping[str, Any], tool: Tool) -> object:
    """What an argument is when it is left out: by the function, else by the schema."""
    return traits_of(tool).defaults.get(key, wish.get("default", _NO_DEFAULT))


def _properties(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _required(schema: Mapping[str, Any]) -> list[str]:
    found = schema.get("required")
    return found if isinstance(found, list) else []


def _wish(key: str, schema: Mapping[str, Any]) -> object:
    """The schema of one argument."""
    properties = _properties(schema)
    return properties[key] if key in properties else schema.get("additionalProperties")


def _unknown(
    pairs: list[tuple[str, str]], name: str, schema: Mapping[str, Any]
) -> Iterator[str]:
    """A sentence for each key that the schema does not know.

    A schema that says nothing about further arguments takes them from a program, but
    for a person they are slips of the pen.
    """
    further = schema.get("additionalProperties")
    if further is True or isinstance(further, dict) or "patternProperties" in schema:
        return
    known = list(_properties(schema))
    for key, _ in pairs:
        if key in known:
            continue
        near = difflib.get_close_matches(key, known, n=1)
        if near:
            hint = f'Did you mean "{near[0]}"?'
        elif known:
            hint = f"It takes {_listed(known)}."
        else:
            hint = "It takes none."
        yield f'{name} has no argument "{shortened(key)}". {hint}'


def _sample(key: str, schema: dict[str, Any]) -> str:
    """A value to show for an argument: the author's own, else only its place."""
    wish = resolved(_wish(key, schema), schema)
    examples = wish.get("examples")
    if isinstance(examples, list) and examples:
        return _typed(examples[0])
    if "default" in wish and wish["default"] is not None:
        return _typed(wish["default"])
    members = choices(wish)
    if members:
        return _typed(members[0])
    types = types_of(wish, schema)
    if types == {"boolean"}:
        return "true"
    if types and types <= {"integer", "number"}:
        return _typed(wish.get("minimum", 1))
    return {frozenset(["array"]): "[…]", frozenset(["object"]): "{…}"}.get(types, "…")


def _typed(value: Any) -> str:
    return as_typed(value if isinstance(value, str) else as_json(value))


def _faults(
    values: dict[str, Any], input_schema: dict[str, Any], written: Mapping[str, str]
) -> list[str]:
    # An empty registry: jsonschema would otherwise fetch what a schema refers to.
    validator = Draft202012Validator(input_schema, registry=Registry())
    try:
        errors = list(islice(validator.iter_errors(values), _MOST_PROBLEMS))
    except (Unresolvable, RecursionError, ArithmeticError, re.error):
        return [
            "The input schema of this tool cannot be used; its author must mend it."
        ]
    return list(dict.fromkeys(_fault(error, input_schema, written) for error in errors))


def _fault(
    error: ValidationError, root: dict[str, Any], written: Mapping[str, str]
) -> str:
    path = list(error.absolute_path)
    place = _place(path)
    keyword = str(error.validator)
    if not path or keyword not in WORDED:
        subject = place or "The arguments"
        return f"{subject} cannot be taken: {shortened(error.message, 200)}."
    wish = resolved(error.schema, root)
    if len(path) == 1:
        # The whole of the argument's schema says more than the part that failed.
        whole = _wish(str(path[0]), resolved(root, root))
        wish = {**wish, **resolved(whole, root)}
    words = f"{place} must be {wanted(wish, root)}"
    raw = written.get(str(path[0]))
    return f"{words if raw is None else _with_written(words, raw)}."


def _place(path: list[str | int]) -> str:
    """`tags[0].name` for the path to a value."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    return "".join(steps).removeprefix(".")


def _with_written(words: str, raw: str) -> str:
    return f'{words}; you wrote "{shortened(raw)}"'


def _reason(error: ValueError) -> str:
    return f" ({error})" if error.args else ""


def _listed(names: list[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"{', '.join(names[:-1])} and {names[-1]}"
