"""The policy file as it is written: who must agree to what (experience §8).

Rules here still name groups and channels by handle; `slack/resolve.py` turns them into
the rules that decisions are made with. Every key has a default that is safe: nobody
approves, nobody approves their own, nothing runs.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, StrictBool, StrictStr

from bot.errors import ConfigError, Problem
from bot.reading import (
    SECRET_TEXT,
    Fault,
    Model,
    Unreadable,
    checked,
    read_table,
    seconds,
)

USER_ID = re.compile(r"[UW][A-Z0-9]{2,}")
GROUP_ID = re.compile(r"S[A-Z0-9]{2,}")
CHANNEL_ID = re.compile(r"[CG][A-Z0-9]{2,}")
HEADLINE_MAX = 80
EXPIRES_MAX = 30 * 86_400

_NAME = re.compile(r"[A-Za-z0-9_.*-]{1,64}")
_HANDLE = re.compile(r"@[^\s@#<>,|]{1,80}")
_CHANNEL_NAME = re.compile(r"#[^\s@#<>,|]{1,80}")
_ENTRIES = (USER_ID, GROUP_ID, CHANNEL_ID, _HANDLE, _CHANNEL_NAME)
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def _name(text: str) -> str:
    if _NAME.fullmatch(text):
        return text
    raise Fault(
        "is not a tool's name or a pattern",
        "use 1 to 64 letters, digits, _, . and -, and * for any number of them.",
    )


def _headline(text: str) -> str:
    if len(text) > HEADLINE_MAX:
        raise Fault(f"is {len(text)} characters long", f"use {HEADLINE_MAX} at most.")
    if any(unicodedata.category(c) in _UNSEEN for c in text):
        raise Fault(
            "has a control character in it", "write it on one line, in letters."
        )
    if re.search(r"[{}]", _PLACEHOLDER.sub("", text)):
        raise Fault(
            "has braces that name no argument", "write {service} for an argument."
        )
    return text


# Controls, invisible formatting, line separators: nothing of them belongs in a title.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def _entry(text: str) -> str:
    """One entry of a list of people; what could be taken over is refused (T13)."""
    if any(form.fullmatch(text) for form in _ENTRIES):
        return text
    shown = text if len(text) <= 60 and text.isprintable() else "something"
    by_id = "in Slack open the person's profile, …, Copy member ID: U024BE7LH."
    if "@" in text:
        raise Fault(
            f"names {shown}, an e-mail address; it can change hands, an id cannot",
            by_id,
        )
    raise Fault(
        f"names {shown}, which is neither an id nor a group's @handle nor a #channel; "
        "anybody can take another name",
        by_id,
    )


def _post_to(text: str) -> str:
    if CHANNEL_ID.fullmatch(text) or _CHANNEL_NAME.fullmatch(text):
        return text
    raise Fault("is not a channel", 'write "#ops", or the id of a channel: C024BE91L.')


def _expires(text: str) -> str:
    if seconds(text) > EXPIRES_MAX:
        raise Fault("is longer than 30 days", 'write "30d" at most.')
    return text


Entry = Annotated[StrictStr, AfterValidator(_entry)]


class WrittenRule(Model):
    """One `[[tool]]` of the policy file."""

    name: Annotated[StrictStr, AfterValidator(_name)]
    gate: Literal["allow", "ask", "deny"]
    headline: Annotated[StrictStr, AfterValidator(_headline)] = ""
    approvers: tuple[Entry, ...] = ()
    callers: tuple[Entry, ...] | None = None  # None: every full member
    answerers: tuple[Entry, ...] | None = None  # None: the requester
    post_to: Annotated[StrictStr, AfterValidator(_post_to)] | None = None
    expires: Annotated[StrictStr, AfterValidator(_expires)] = "24h"
    self_approval: StrictBool = False

    @property
    def seconds(self) -> int:
        """How long a request under this rule stays open."""
        return seconds(self.expires)

    @property
    def exact(self) -> bool:
        """Whether it names one tool, not a pattern."""
        return "*" not in self.name

    def matches(self, tool: str) -> bool:
        """Whether a tool falls under this rule."""
        return fnmatchcase(tool, self.name)


class PolicyFile(Model):
    """A policy file: its rules in the order they were written."""

    default: Literal["deny"] = "deny"
    tool: tuple[WrittenRule, ...] = ()


class _Outer(Model):
    """The file without the insides of its rules, which are checked one by one."""

    default: Literal["deny"] = "deny"
    tool: tuple[dict[str, Any], ...] = ()


def read_policy(path: Path) -> PolicyFile:
    """The policy in a file, or a `ConfigError` with every problem of it."""
    try:
        policy, problems = policy_in(path)
    except Unreadable as unreadable:
        raise ConfigError([unreadable.problem]) from None
    if policy is None:
        raise ConfigError(problems)
    return policy


def policy_in(path: Path) -> tuple[PolicyFile | None, list[Problem]]:
    """The policy in a file, or every problem of it; `Unreadable` if there is none."""
    missing = Problem(
        what=f"There is no policy file at {path}.",
        fix="`countersign init` writes one; `policy` in the settings names another.",
    )
    table = read_table(path, missing)
    written = table.get("tool", [])
    if not isinstance(written, list) or not all(isinstance(t, dict) for t in written):
        what = f"{path.name}: the rules must be a list of tables."
        return None, [Problem(what=what, fix="write [[tool]] above each of them.")]
    outer = {**table, "tool": []}
    _, problems = checked(_Outer, outer, path.name)
    rules = []
    for number, inner in enumerate(written, start=1):
        label = f"{path.name}, tool {_called(inner, number)}"
        rule, found = checked(WrittenRule, inner, label)
        problems += found
        if rule is not None:
            rules.append(rule)
    problems += _twice(rules, path.name)
    return (None, problems) if problems else (PolicyFile(tool=tuple(rules)), [])


def ambiguous(rules: Iterable[WrittenRule], tools: Iterable[str]) -> list[Problem]:
    """Tools that two equally exact patterns match, so that neither can win."""
    patterns = [rule for rule in rules if not rule.exact]
    exact = {rule.name for rule in rules if rule.exact}
    problems = []
    for tool in tools:
        if tool in exact:
            continue
        matching = sorted(
            (rule.name for rule in patterns if rule.matches(tool)), key=_literal
        )
        if len(matching) > 1 and _literal(matching[-1]) == _literal(matching[-2]):
            first, second = matching[-2:]
            problems.append(
                Problem(
                    what=f'{tool} matches "{first}" and "{second}", equally exactly.',
                    fix=f'write a rule for "{tool}" itself.',
                )
            )
    return problems


def warnings(policy: PolicyFile, file: str) -> Iterator[str]:
    """What a policy says that is allowed, and probably not meant."""
    for rule in policy.tool:
        label = f'{file}, tool "{rule.name}"'
        if rule.gate == "ask" and not rule.approvers:
            yield f"{label}: it names no approvers, so nobody may approve it."
        if rule.gate != "deny" and rule.callers == ():
            yield f"{label}: callers is empty, so nobody may start it."


def placeholders(headline: str) -> tuple[str, ...]:
    """The arguments that a headline shows."""
    return tuple(dict.fromkeys(_PLACEHOLDER.findall(headline)))


def _literal(name: str) -> int:
    return len(name.replace("*", ""))


def _called(table: dict[str, Any], number: int) -> str:
    """How problems name a rule: by its name, if that is one."""
    name = table.get("name")
    usable = isinstance(name, str) and _NAME.fullmatch(name)
    return f'"{name}"' if usable and not SECRET_TEXT.search(str(name)) else f"{number}"


def _twice(rules: Iterable[WrittenRule], file: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for rule in rules:
        if rule.name in seen:
            what = f'{file}, tool "{rule.name}": there are two rules of this name.'
            yield Problem(what=what, fix="make them one.")
        seen.add(rule.name)
