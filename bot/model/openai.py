"""OpenAI's chat completions as a dialect: what is sent, and how a reply is read.

Pure, and strict: whatever is not a reply of this dialect is `Unusable`, with a few
words for people; it never raises, and never guesses what the model meant. How a
transcript grows and is kept balanced (contract §7, §13) stands here as well. Calls are
matched by position: ids that are missing or repeat are replaced by fresh ones, in the
assistant message and in the results, and in nothing else of a message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from bot.core.digest import NotCanonical, parsed

Message = dict[str, Any]

PATH = "/chat/completions"
#: What nobody may set beside the messages (contract §7).
_RESERVED = frozenset({"messages", "tools", "stream"})
_LONGEST_NAME = 256
_CODE = re.compile(r"[a-z][a-z_]{0,40}")


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """A tool that the model wants called; `arguments` is its own JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens of one reply; what the endpoint did not count is 0."""

    prompt: int = 0
    completion: int = 0
    total: int = 0


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One reply; without calls it is the model's last word.

    `message` goes into the transcript: the assistant message as it came, but for ids.
    """

    message: Message
    text: str
    calls: tuple[ModelCall, ...]
    usage: Usage


@dataclass(frozen=True, kw_only=True)
class Unusable:
    """What came cannot be used; `reason` says why in a few words."""

    reason: str


def address(base_url: str) -> str:
    """Where a request body is posted to."""
    return base_url.rstrip("/") + PATH


def headers(key: str | None) -> dict[str, str]:
    """The headers of this dialect; a local endpoint may want no key."""
    return {"Authorization": f"Bearer {key}"} if key else {}


def request_body(
    model: str,
    messages: Sequence[Message],
    tools: Sequence[Mapping[str, Any]],
    params: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The body of one request: always balanced, tools only where there are some."""
    given = dict(params or {})
    if refused := sorted(_RESERVED & given.keys()):
        raise ValueError(f"request parameters may not set {', '.join(refused)}")
    body: dict[str, Any] = {"model": model, "messages": balance(messages)}
    if tools:
        body |= {"tools": list(tools), "tool_choice": "auto"}
    return body | given


def first_messages(system: str, words: str) -> list[Message]:
    """The messages that a run begins with; an empty system message is left out."""
    first = [{"role": "system", "content": system}] if system else []
    return [*first, {"role": "user", "content": words}]


# -- reading a reply ----------------------------------------------------------------


def read_reply(body: object) -> Reply | Unusable:
    """The reply in the body of an answer, or why there is none."""
    try:
        message = _message(body)
        text = _text(message)
        written = _written_calls(message)
        if not written and text is None:
            raise _Rubbish("is empty")
        _demand_json(message)
        message = _with_ids(message)
        calls = tuple(_call(call) for call in _written_calls(message))
    except _Rubbish as rubbish:
        return Unusable(reason=f"the model's reply {rubbish}")
    return Reply(message=message, text=text or "", calls=calls, usage=_usage(body))


def read_arguments(text: str, name: str) -> dict[str, Any] | Unusable:
    """The arguments of a call of `name`: one JSON object, or nothing, which is {}.

    Anything else is unusable, so that no tool runs with what the model did not send.
    """
    if not text.strip():
        return {}
    try:
        value = parsed(text)
    except NotCanonical:
        value = text
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    return Unusable(reason=f"invalid arguments for {name}")


class _Rubbish(Exception):
    """Why a reply is of no use; its text follows "the model's reply"."""


def _message(body: object) -> Message:
    """The assistant message in a body."""
    if not isinstance(body, dict):
        raise _Rubbish("is not an object")
    if body.get("error"):
        raise _Rubbish(f"is an error{_code(body['error'])}")
    choices = body.get("choices")
    if not isinstance(choices, list):
        raise _Rubbish("has no list of choices")
    if not choices:
        raise _Rubbish("has no choices")
    message = choices[0].get("message") if isinstance(choices[0], dict) else None
    if not isinstance(message, dict):
        raise _Rubbish("has no message")
    if message.get("role", "assistant") != "assistant":
        raise _Rubbish("is not the assistant's")
    return {"role": "assistant", **message}


def _demand_json(message: Message) -> None:
    """Refuse what could not be kept, wherever it came from."""
    try:
        json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError):
        raise _Rubbish("cannot be kept as JSON") from None


def _code(error: object) -> str:
    """The error's own code, where it is one word and not a sentence."""
    given = error if isinstance(error, dict) else {}
    for code in (given.get("code"), given.get("type")):
        if isinstance(code, str) and _CODE.fullmatch(code):
            return f": {code}"
    return ""


def _text(message: Message) -> str | None:
    """What the model says, a refusal included; None when it says nothing."""
    for key in ("content", "refusal"):
        said = message.get(key)
        if isinstance(said, str):
            return said
        if said is not None:
            raise _Rubbish(f"has a {key} that is not text")
    return None


def _written_calls(message: Message) -> list[Message]:
    """The tool calls as they stand in a message, each of the right form."""
    calls = message.get("tool_calls")
    if calls is None:
        return []
    if not isinstance(calls, list) or not all(map(_well_formed, calls)):
        raise _Rubbish("has malformed tool calls")
    return calls


def _well_formed(call: object) -> bool:
    if not isinstance(call, dict) or call.get("type", "function") != "function":
        return False
    function = call.get("function")
    name = function.get("name") if isinstance(function, dict) else None
    return isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME


def _call(call: Message) -> ModelCall:
    function = call["function"]
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    elif not isinstance(arguments, str):  # some endpoints send the object itself
        arguments = json.dumps(arguments)
    return ModelCall(id=call["id"], name=function["name"], arguments=arguments)


def _usage(body: object) -> Usage:
    usage = body.get("usage") if isinstance(body, dict) else None
    given = usage if isinstance(usage, dict) else {}
    prompt = _tokens(given.get("prompt_tokens"))
    completion = _tokens(given.get("completion_tokens"))
    total = max(_tokens(given.get("total_tokens")), prompt + completion)
    return Usage(prompt=prompt, completion=completion, total=total)


def _tokens(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        return 0
    return max(value, 0)


# -- the transcript -----------------------------------------------------------------


def append_results(
    messages: Sequence[Message], reply_message: Message, results: Sequence[str]
) -> list[Message]:
    """The transcript after a turn: the assistant message, then its calls' results.

    `results` are in call order, one for each call; `ValueError` when they are not.
    """
    message = _with_ids(reply_message)
    ids = [call["id"] for call in _calls_in(message)]
    told = [_result(id, said) for id, said in zip(ids, results, strict=True)]
    return [*messages, message, *told]


def balance(messages: Sequence[Message]) -> list[Message]:
    """The same transcript with one result for each call, in call order (contract §13).

    A missing one says `unresolved: <tool>`; one that belongs to no call is left out.
    """
    balanced: list[Message] = []
    place = 0
    while place < len(messages):
        message = messages[place]
        place += 1
        if message.get("role") == "tool":
            continue  # it stands behind no call of its own
        balanced.append(_with_ids(message))
        calls = _calls_in(message)
        if not calls:
            continue
        given = list(_results_at(messages, place))
        place += len(given)
        ids = [call["id"] for call in _calls_in(balanced[-1])]
        balanced += _paired(calls, ids, given)
    return balanced


def _paired(
    calls: Sequence[Message], ids: Sequence[str], given: Sequence[Message]
) -> Iterator[Message]:
    """One result for each call, under its new id; equal ids are taken in order."""
    left = list(given)
    for call, id in zip(calls, ids, strict=True):
        wanted = _id(call.get("id"))
        found = next((r for r in left if _id(r.get("tool_call_id")) == wanted), None)
        if found is None:
            function = call.get("function")
            name = function.get("name") if isinstance(function, dict) else None
            yield _result(id, f"unresolved: {name}")
        else:
            left.remove(found)
            yield {**found, "tool_call_id": id}


def _results_at(messages: Sequence[Message], place: int) -> Iterator[Message]:
    """The tool messages that stand together from a place on."""
    for message in messages[place:]:
        if message.get("role") != "tool":
            return
        yield message


def _result(id: str, said: str) -> Message:
    return {"role": "tool", "tool_call_id": id, "content": said}


def _calls_in(message: Message) -> list[Message]:
    """The calls of a message that is already in a transcript."""
    calls = message.get("tool_calls")
    if message.get("role") != "assistant" or not isinstance(calls, list):
        return []
    return [call for call in calls if isinstance(call, dict)]


def _with_ids(message: Message) -> Message:
    """The message with a unique id on each call; as it is when they have one."""
    calls = _calls_in(message)
    ids = list(_unique([_id(call.get("id")) for call in calls]))
    if ids == [call.get("id") for call in calls]:
        return message
    named = [{**call, "id": id} for call, id in zip(calls, ids, strict=True)]
    return {**message, "tool_calls": named}


def _unique(ids: Sequence[str]) -> Iterator[str]:
    """The ids, with `call_0`, `call_1`, … for what is missing or came before."""
    fresh = _fresh(frozenset(ids))
    seen: set[str] = set()
    for id in ids:
        named = next(fresh) if not id or id in seen else id
        seen.add(named)
        yield named


def _fresh(taken: Iterable[str]) -> Iterator[str]:
    return (id for n in count() if (id := f"call_{n}") not in taken)


def _id(value: object) -> str:
    return value if isinstance(value, str) else ""
