"""What a function's signature says about its arguments, as a JSON Schema (contract §6).

Only the few types of the contract are inferred; anything else accepts everything, and
a tool that needs more gives its own `input_schema`.
"""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Mapping
from functools import partial
from types import NoneType, SimpleNamespace, UnionType
from typing import Any

from bot.errors import ContractError

#: Parameters that receive the context of the call.
CONTEXTS = ("ctx", "context")

_LEFT_OUT = (*CONTEXTS, "self", "cls")
_JSON_TYPES: tuple[tuple[type, str], ...] = (
    (str, "string"),
    (int, "number"),
    (float, "number"),
    (bool, "boolean"),
    (list, "array"),
    (tuple, "array"),
    (set, "array"),
    (dict, "object"),
)


def named_parameters(
    name: str, function: Callable[..., Any]
) -> dict[str, inspect.Parameter]:
    """The parameters of a tool's function, all of which can be given by keyword."""
    named = {}
    for key, parameter in inspect.signature(function).parameters.items():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ContractError(f"{name} takes {key} by position only; drop the /")
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            named[key] = parameter
    return named


def inferred_schema(
    function: Callable[..., Any], parameters: Mapping[str, inspect.Parameter]
) -> dict[str, Any]:
    """The JSON Schema of the arguments that these parameters take."""
    shown = {key: p for key, p in parameters.items() if key not in _LEFT_OUT}
    names = _global_names(function)
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            key: _type_schema(_looked_up(parameter.annotation, names))
            for key, parameter in shown.items()
        },
    }
    required = [key for key, p in shown.items() if p.default is p.empty]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema


def defaults(parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """What these parameters are when left out, so that people can be shown it.

    A tuple is given to the tool as the list that is shown. What JSON cannot say is in
    `unshown` in place of here.
    """
    said = {key: _as_json(value) for key, value in _given(parameters).items()}
    return {key: value for key, value in said.items() if value is not _UNSHOWN}


def unshown(parameters: Mapping[str, inspect.Parameter]) -> tuple[str, ...]:
    """The parameters whose default JSON cannot say: nobody could agree to it."""
    values = _given(parameters)
    return tuple(key for key, value in values.items() if _as_json(value) is _UNSHOWN)


_UNSHOWN = object()


def _given(parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    return {
        key: parameter.default
        for key, parameter in parameters.items()
        if key not in _LEFT_OUT and parameter.default is not parameter.empty
    }


def _as_json(value: object) -> Any:
    """The value as JSON says it, or `_UNSHOWN` when that would be another value."""
    try:
        said = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return _UNSHOWN
    same = list(value) if isinstance(value, tuple) else value
    plain = type(value) in (str, int, float, bool, list, dict, tuple, type(None))
    return said if plain and said == same else _UNSHOWN


def _type_schema(annotation: Any) -> dict[str, Any]:
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, UnionType):
        members = [t for t in typing.get_args(annotation) if t is not NoneType]
        return _type_schema(members[0]) if len(members) == 1 else {}
    kind = annotation if origin is None else origin
    return next(({"type": word} for known, word in _JSON_TYPES if kind is known), {})


def _looked_up(annotation: Any, names: dict[str, Any]) -> Any:
    """An annotation with its names replaced; one that cannot be is no type."""
    holder = SimpleNamespace(__annotations__={"it": annotation})
    # Each alone, since one name that only a type checker knows must not cost the
    # others their types; and evaluating an annotation may raise anything.
    try:
        return typing.get_type_hints(holder, globalns=names)["it"]
    except Exception:
        return None


def _global_names(function: Callable[..., Any]) -> dict[str, Any]:
    """The names that annotations of a function, however wrapped, refer to."""
    inner: Any = inspect.unwrap(function)
    while isinstance(inner, partial):
        inner = inspect.unwrap(inner.func)
    if not hasattr(inner, "__globals__"):
        inner = type(inner).__call__
    names: dict[str, Any] = getattr(inner, "__globals__", {})
    return names
