"""The stand-in model's script: from the words and the offered tools to its next step.

It calls, one a turn and in the order of the words, each offered tool that they name,
and then says how the calls ended. A required argument is the word after the tool's
name, or stands as name=value; what is not in the words is never made up.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

# Other words for the demo's tools.
SYNONYMS = {"healthy": "status"}
QUOTED_MAX = 200

_WORD = re.compile(r"""\w+=(?:"[^"]*"|'[^']*'|\S+)|"[^"]*"|\S+""")
_EDGES = ".,!?;:()\"'`“”‘’*_"
_ARTICLES = frozenset(("the", "a", "an", "my", "our", "of", "for"))
# Where the words of an argument end.
_STOPS = frozenset(
    (
        *("and", "then", "if", "whether", "when", "after", "because", "with", "in"),
        *("on", "at", "to", "is", "it", "its", "that", "this", "there", "me", "us"),
        *("please", "now", "again", "afterwards", "tell", "what", "how"),
    )
)
_LINKS = frozenset(("and", "then", "it"))


@dataclass(frozen=True, kw_only=True)
class Step:
    """A call that the words ask for, or the argument that it cannot do without."""

    tool: str
    arguments: Json
    lacks: str | None = None


@dataclass(frozen=True, kw_only=True)
class _Mention:
    """Where a tool is named: the words from `start` up to `end`."""

    tool: str
    start: int
    end: int
    by_name: bool


@dataclass(kw_only=True)
class _Words:
    """The words around one mention, and what earlier calls were given."""

    before: list[str]
    after: list[str]
    by_name: bool
    known: Json = field(default_factory=dict)


def steps(text: str, tools: list[Json]) -> list[Step]:
    """The calls that a text asks for; a call is made once, however often named."""
    words = [_bare(one) for one in _WORD.findall(text)]
    offered = {tool["function"]["name"]: tool["function"] for tool in tools}
    mentions = list(_mentions(words, list(offered)))
    found: list[Step] = []
    known: Json = {}
    for number, mention in enumerate(mentions):
        earlier = mentions[number - 1].end if number else 0
        later = mentions[number + 1].start if number + 1 < len(mentions) else None
        around = _Words(
            before=words[earlier : mention.start],
            after=words[mention.end : later],
            by_name=mention.by_name,
            known=known,
        )
        step = _step(offered[mention.tool], around)
        known = known | step.arguments
        if step not in found:
            found.append(step)
    return found


def _bare(word: str) -> str:
    name, equals, value = word.partition("=")
    if equals and name.isidentifier():
        return f"{name}={value.rstrip(_EDGES).lstrip(_EDGES)}"
    return word.strip(_EDGES)


def _mentions(words: list[str], names: list[str]) -> Iterator[_Mention]:
    longest_first = sorted(names, key=len, reverse=True)
    at = 0
    while at < len(words):
        mention = _mention_at(words, at, longest_first)
        if mention is None:
            at += 1
        else:
            yield mention
            at = mention.end


def _mention_at(words: list[str], at: int, names: list[str]) -> _Mention | None:
    word = words[at].lower()
    for name in names:
        end = at + 1 if word == name.lower() else _spelled(words, at, name)
        if end is not None:
            return _Mention(tool=name, start=at, end=end, by_name=True)
    meant = SYNONYMS.get(word)
    if meant in names:
        return _Mention(tool=meant, start=at, end=at + 1, by_name=False)
    return None


def _spelled(words: list[str], at: int, name: str) -> int | None:
    """Where a name of several parts ends that is written as so many words."""
    first, *rest = name.lower().split("_")
    if not rest or words[at].lower() != first:
        return None
    at += 1
    for part in rest:
        while at < len(words) and words[at].lower() in _ARTICLES:
            at += 1
        if at == len(words) or words[at].lower() != part:
            return None
        at += 1
    return at


def _step(function: Json, around: _Words) -> Step:
    parameters = function.get("parameters") or {}
    properties: Json = parameters.get("properties") or {}
    required = [name for name in properties if name in parameters.get("required", ())]
    arguments = _given_by_name(properties, [*around.before, *around.after])
    plain = _plain(around.after)
    for name in required:
        if name not in arguments:
            word = next(plain, None)
            if word is not None and word.lower() == name.lower():
                word = next(plain, None)
            value = _value(properties[name], word or _asked_before(around))
            arguments[name] = around.known.get(name) if value is None else value
        if arguments[name] is None:
            return Step(tool=function["name"], arguments={}, lacks=name)
    return Step(tool=function["name"], arguments=arguments)


def _given_by_name(properties: Json, words: list[str]) -> Json:
    given: Json = {}
    for word in words:
        name, equals, text = word.partition("=")
        if equals and name in properties:
            value = _value(properties[name], text)
            if value is not None:
                given[name] = value
    return given


def _plain(words: list[str]) -> Iterator[str]:
    """The words that may be arguments: up to the end of the phrase."""
    for word in words:
        if word.lower() in _STOPS:
            return
        if word and word.lower() not in _ARTICLES and "=" not in word:
            yield word


def _asked_before(around: _Words) -> str | None:
    """The thing of `is the api healthy`, which stands in front of the word."""
    if around.by_name:
        return None
    for word in reversed(around.before):
        if word.lower() in _LINKS or "=" in word:
            return None
        if word.lower() not in _STOPS | _ARTICLES:
            return word
    return None


def _value(schema: Json, word: str | None) -> Any:
    """A word as a value of a schema's type; None where it cannot be one."""
    if not word:
        return None
    kind = schema.get("type", "string")
    if kind == "string":
        return word
    try:
        if kind == "integer":
            return int(word)
        if kind == "number":
            return float(word)
    except ValueError:
        return None
    if kind == "boolean":
        return {"true": True, "yes": True, "false": False, "no": False}.get(
            word.lower()
        )
    return None


def closing_words(ended: list[tuple[str, str]], tools: list[Json]) -> str:
    """What the stand-in says at the end: how each call ended, in the tools' words."""
    if ended:
        return "\n".join(f"{name} ended with: {_brief(text)}" for name, text in ended)
    names = ", ".join(tool["function"]["name"] for tool in tools)
    if not names:
        return "I have no tools here, and without them I cannot do anything."
    return f"I am a stand-in and only call tools that I see named. I have: {names}."


def lacking(step: Step) -> str:
    """What the stand-in says when an argument is not in the words."""
    return f"I did not call {step.tool}: your words do not say which {step.lacks}."


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= QUOTED_MAX else f"{line[: QUOTED_MAX - 1]}…"
