"""A TOML file becomes a checked model, or a list of problems for people.

Shared by the settings and the policy file: reading, unknown keys with a near miss,
pydantic's errors in our words, secrets that were written where they do not belong.
Which keys there are, and what they mean, stands in `config.py` and `policyfile.py`.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Iterator, Mapping, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar, get_args
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from bot.errors import Problem

#: Where something stands in a file: keys and positions, outermost first.
Place = tuple[str | int, ...]
M = TypeVar("M", bound=BaseModel)

#: What is surely a credential wherever it stands (T48).
SECRET_TEXT = re.compile(
    r"xox[a-z](?:\.xox[a-z])?-|xapp-|sk-[A-Za-z0-9_-]{20}|gh[oprsu]_[A-Za-z0-9]{20}"
    r"|github_pat_|glpat-|AKIA[0-9A-Z]{16}|AIza[0-9A-Za-z_-]{30}"
    r"|hooks\.slack\.com/|-----BEGIN [A-Z ]*PRIVATE KEY"
)
_SECRET_KEY = re.compile(
    r"(?:(?<!max_)token|secret|password|passwd|api_?key|private_?key|(?:^|[_-])key)s?$",
    re.I,
)
_TWICE = re.compile(
    r"Cannot overwrite a value|Duplicate inline table key '([\w.-]{1,60})'|.* twice"
)
_TOML_KEY = re.compile(r"\s*(?:\[+\s*)?(?:\"([\w .-]{1,60})\"|([\w.-]{1,60}))\s*[]=]")
_TOML_PLACE = re.compile(r"(.*?) \(at (?:line (\d+), column \d+|end of document)\)")

_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}

_KINDS = {
    "string_type": "text in quotes",
    "int_type": "a whole number, without quotes",
    "bool_type": "true or false, without quotes",
    "tuple_type": "a list in [ ]",
    "dict_type": "a table",
    "model_type": "a table",
}


class Model(BaseModel):
    """What every model made from a file has in common."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=False, hide_input_in_errors=True
    )


class Fault(ValueError):
    """What a validator raises: the fault in words, and the way to mend it.

    `what` follows the name of the key, as in "is empty".
    """

    def __init__(self, what: str, fix: str) -> None:
        self.what, self.fix = what, fix
        super().__init__(what)


class Unreadable(Exception):
    """A file cannot be read at all; `problem` says why."""

    def __init__(self, what: str, fix: str) -> None:
        self.problem = Problem(what=what, fix=fix)
        super().__init__(what)


def read_table(path: Path, missing: Problem) -> dict[str, Any]:
    """The table in a TOML file; `Unreadable` says what is in the way."""
    try:
        text = path.read_bytes().decode()
        return tomllib.loads(text)
    except FileNotFoundError:
        raise Unreadable(missing.what, missing.fix) from None
    except OSError as error:
        raise Unreadable(
            f"{path} cannot be read: {error.strerror}.", "make it a file we may read."
        ) from None
    except UnicodeDecodeError:
        raise Unreadable(f"{path} is not UTF-8 text.", "save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise _syntax(path, text, str(error)) from None
    except ValueError:  # a path with a NUL in it
        raise Unreadable(f"{path.name!r} is not a path.", missing.fix) from None
    except RecursionError:
        raise Unreadable(f"{path} is nested too deeply.", "flatten it.") from None


def _syntax(path: Path, text: str, said: str) -> Unreadable:
    found = _TOML_PLACE.fullmatch(said)
    line = (found and found[2]) or str(len(text.splitlines()))
    why = found[1] if found else "it is not TOML"
    if SECRET_TEXT.search(why):
        why = "it is not TOML"
    if twice := _TWICE.match(why):
        return _twice(path, text, int(line), twice[1])
    return Unreadable(
        f"{path.name}, line {line}: {why[:1].lower()}{why[1:]}.",
        f"mend line {line}; text stands in quotes, lists in [ ].",
    )


def _twice(path: Path, text: str, line: int, name: str | None) -> Unreadable:
    """A key that stands twice; `line` is where its second value ends."""
    lines = text.splitlines()[:line]
    keys = [(n, _TOML_KEY.match(one)) for n, one in enumerate(lines, 1)]
    named = [(n, key[1] or key[2]) for n, key in keys if key]
    if name is None and named:
        line, name = named[-1]
    called = "a key" if not name or SECRET_TEXT.search(name) else name
    more = "; each rule begins with [[tool]]" if "[[tool]]" in text else ""
    return Unreadable(
        f"{path.name}, line {line}: {called} stands here for the second time.",
        f"keep one of the two{more}.",
    )


def checked(
    model: type[M],
    table: Mapping[str, Any],
    label: str,
    kept: Mapping[str, str] | None = None,
) -> tuple[M | None, list[Problem]]:
    """The model of a table, or every problem in it; `label` names the table.

    `kept` gives names to keys that did not come from this table (an environment
    variable that overrides one).
    """
    names = kept or {}
    leaks = list(leaked(table))
    problems = [_leak(label, place, names) for place in leaks]
    try:
        made = model.model_validate(table)
    except ValidationError as error:
        for detail in error.errors(include_url=False, include_input=False):
            # Nothing more is said about a value that looks like a secret.
            if not any(detail["loc"][: len(leak)] == leak for leak in leaks):
                problems.append(_problem(model, detail, label, names))
        return None, problems
    return (None if problems else made), problems


def leaked(value: object, place: Place = ()) -> Iterator[Place]:
    """The places of values that look like a secret, or are called one."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            here = (*place, str(key))
            named = isinstance(inner, str) and _SECRET_KEY.search(str(key))
            if named or SECRET_TEXT.search(str(key)):
                yield here
            else:
                yield from leaked(inner, here)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaked(inner, (*place, index))
    elif isinstance(value, str) and SECRET_TEXT.search(value):
        yield place


def seconds(text: str) -> int:
    """A duration as people write it, "30m", in seconds; `Fault` for anything else."""
    if not re.fullmatch(r"[1-9][0-9]{0,6}[smhd]", text):
        raise Fault(
            "is not a duration",
            'write a number with s, m, h or d: "30m", "24h", "7d".',
        )
    return int(text[:-1]) * _SECONDS[text[-1]]


def near(word: str, known: Collection[str]) -> str | None:
    """What was probably meant."""
    close = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.7)
    return close[0] if close else None


def address(text: str) -> SplitResult:
    """An operator's address: https, or http on a loopback host; `Fault` otherwise."""
    fix = "write it as https://host, or http://127.0.0.1:PORT on this machine."
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise Fault("is not an address", fix) from None
    if not host or re.search(r"[\s\x00-\x20\x7f\\]", text):
        raise Fault("is not an address", fix)
    if "@" in parts.netloc:
        raise Fault("has a user name in it", fix)
    if "?" in text or "#" in text:
        raise Fault("has a query or a fragment", fix)
    if parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)):
        return parts
    raise Fault("must be https", fix)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, without asking any name server."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _leak(label: str, place: Place, names: Mapping[str, str]) -> Problem:
    subject = names.get(str(place[0])) or f"{label}: {_spelled(place)}"
    return Problem(
        what=f"{subject} holds a secret, which must not stand here.",
        fix="take it out, make a new one, and put that into the environment or .env.",
    )


def _problem(
    model: type[BaseModel],
    detail: ErrorDetails,
    label: str,
    names: Mapping[str, str],
) -> Problem:
    place, kind = detail["loc"], detail["type"]
    context = detail.get("ctx", {})
    name = names.get(str(place[0]), "") if place else ""
    subject = name or f"{label}: {_spelled(place)}"
    if kind == "extra_forbidden":
        return _unknown(model, place, subject)
    if kind == "missing":
        return Problem(
            what=f"{subject} is missing.", fix=f"add {_spelled(place[-1:])} = …"
        )
    if isinstance(fault := context.get("error"), Fault):
        return Problem(what=f"{subject} {fault.what}.", fix=fault.fix)
    if kind == "literal_error":
        expected = context["expected"].replace("'", '"')
        return Problem(
            what=f"{subject} is something that this version does not know.",
            fix=f"write {expected}.",
        )
    wanted = _KINDS.get(kind, "written differently")
    return Problem(what=f"{subject} must be {wanted}.", fix="mend its value.")


def _unknown(model: type[BaseModel], place: Place, subject: str) -> Problem:
    known = list(_holder(model, place).model_fields)
    meant = near(str(place[-1]), known)
    return Problem(
        what=f"{subject} is a key that this version does not know.",
        fix=f"did you mean {meant}?"
        if meant
        else f"take it out; known: {_list(known)}.",
    )


def _holder(model: type[BaseModel], place: Place) -> type[BaseModel]:
    """The model, of those inside of a model, that the last key of a place stands in."""
    for key in place[:-1]:
        if isinstance(key, str) and key in model.model_fields:
            model = next(_models(model.model_fields[key].annotation), model)
    return model


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _models(inner)


def _spelled(place: Place) -> str:
    """A place in words; a key that holds a token itself is not repeated."""
    words = ""
    for part in place:
        if isinstance(part, int):
            words += f"[{part + 1}]"
        else:
            shown = "(a key)" if SECRET_TEXT.search(part) else part[:60]
            words += f".{shown}" if words else shown
    return words or "the whole file"


def _list(words: Sequence[str]) -> str:
    return ", ".join(words)
