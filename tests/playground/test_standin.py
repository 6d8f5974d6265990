"""The stand-in model: what it calls for which words, and the shape of its answers."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from pretend_app import Clock, playground

from bot.playground.script import Step, steps
from bot.playground.server import Playground
from bot.playground.standin import BadRequest, completion


def offered(name: str, required: tuple[str, ...] = (), **types: str) -> dict[str, Any]:
    properties = {one: {"type": kind} for one, kind in types.items()}
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": "",
            "parameters": {
                "type": "object",
                "properties": properties,
                "required": list(required),
            },
        },
    }


RESTART = offered("restart", ("service",), service="string", region="string")
STATUS = offered("status", ("service",), service="string")
DEPLOY = offered(
    "deploy",
    ("service", "version"),
    service="string",
    version="string",
    count="integer",
)
FLIGHT = offered("book_flight")
LIST = offered("list_repositories")
BOOK = offered("book", ("seats",), seats="integer", window="boolean", price="number")
TOOLS = [STATUS, RESTART, DEPLOY, FLIGHT, LIST, BOOK]


def calls(text: str, tools: list[dict[str, Any]] = TOOLS) -> list[tuple[str, Any]]:
    return [(one.tool, one.lacks or one.arguments) for one in steps(text, tools)]


API = {"service": "api"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("restart the api", [("restart", API)]),
        ("Restart api.", [("restart", API)]),
        ("please restart an “api” now", [("restart", API)]),
        ("restart the service api", [("restart", API)]),
        ("restart service=api region=us", [("restart", API | {"region": "us"})]),
        ('restart service="api"', [("restart", API)]),
        ("restart api color=red", [("restart", API)]),
        ("restart", [("restart", "service")]),
        ("restart it", [("restart", "service")]),
        ("restart and hope", [("restart", "service")]),
        ("Ada wants a restart", [("restart", "service")]),
        (
            "restart the api and tell me if it is healthy",
            [("restart", API), ("status", API)],
        ),
        (
            "restart the api, then status",
            [("restart", API), ("status", API)],
        ),
        (
            "restart web and tell me the status of the api",
            [("restart", {"service": "web"}), ("status", API)],
        ),
        ("is the api healthy?", [("status", API)]),
        ("is it healthy?", [("status", "service")]),
        ("status of the api: is it healthy?", [("status", API)]),
        (
            "restart api and restart web",
            [("restart", API), ("restart", {"service": "web"})],
        ),
        ("deploy the api 1.2.3", [("deploy", API | {"version": "1.2.3"})]),
        (
            "deploy api version 1.2.3 and tell me if it is healthy",
            [("deploy", API | {"version": "1.2.3"}), ("status", API)],
        ),
        ("deploy api", [("deploy", "version")]),
        (
            "deploy api 1 count=two",
            [("deploy", API | {"version": "1"})],
        ),
        ("deploy api 1 count=2", [("deploy", API | {"version": "1", "count": 2})]),
        ("book a flight", [("book_flight", {})]),
        ("book_flight and list my repositories", [
            ("book_flight", {}),
            ("list_repositories", {}),
        ]),
        ("book 3", [("book", {"seats": 3})]),
        ("book three", [("book", "seats")]),
        ("book seats=2 window=yes price=1.5", [
            ("book", {"seats": 2, "window": True, "price": 1.5}),
        ]),
        ("restarted", []),
        ("make me a coffee", []),
        ("", []),
    ],
)  # fmt: skip
def test_words_name_tools_and_arguments(
    text: str, expected: list[tuple[str, Any]]
) -> None:
    assert calls(text) == expected


def test_only_offered_tools_are_called() -> None:
    assert calls("restart the api and tell me if it is healthy", [RESTART]) == [
        ("restart", API)
    ]
    assert calls("restart the api", []) == []


def test_nothing_is_made_up_for_shapes_that_words_cannot_give() -> None:
    listed = offered("sort", ("names",), names="array")

    assert steps("sort names", [listed]) == [
        Step(tool="sort", arguments={}, lacks="names")
    ]


# Turns


def asked(text: Any, *more: dict[str, Any], **fields: Any) -> dict[str, Any]:
    first = {"role": "system", "content": "You call tools."}
    user = {"role": "user", "content": text}
    return {
        "model": "any",
        "messages": [first, user, *more],
        "tools": TOOLS,
        **fields,
    }


def message(body: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = completion(body, 7)["choices"][0]["message"]
    return found


def result(call_id: str, words: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": words}


def test_one_call_a_turn_then_the_closing_words() -> None:
    words = "restart the api and tell me if it is healthy"

    first = message(asked(words))
    restarted = [first, result("call_1", "api in eu restarted")]
    second = message(asked(words, *restarted))
    both = [*restarted, second, result("call_2", "api is up")]
    last = message(asked(words, *both))

    assert [one["id"] for one in first["tool_calls"]] == ["call_1"]
    assert first["content"] is None
    assert first["tool_calls"][0]["function"]["name"] == "restart"
    assert json.loads(first["tool_calls"][0]["function"]["arguments"]) == API
    assert second["tool_calls"][0]["id"] == "call_2"
    assert second["tool_calls"][0]["function"]["name"] == "status"
    assert last == {
        "role": "assistant",
        "content": "restart ended with: api in eu restarted\n"
        "status ended with: api is up",
    }


def test_answer_has_the_shape_of_its_style_and_is_always_the_same() -> None:
    body = asked("restart the api")

    answer = completion(body, 7)

    assert answer == completion(json.loads(json.dumps(body)), 7)
    assert answer["object"] == "chat.completion"
    assert (answer["model"], answer["created"]) == ("any", 7)
    assert answer["choices"][0]["index"] == 0
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    usage = answer["usage"]
    assert usage["prompt_tokens"] > 10
    assert usage["completion_tokens"] > 0
    parts = usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["total_tokens"] == parts
    closing = completion(asked("coffee"), 7)
    assert closing["choices"][0]["finish_reason"] == "stop"


def test_only_the_last_words_of_the_person_count() -> None:
    first = message(asked("restart the api"))
    earlier = [first, result("call_1", "api in eu restarted")]
    again = {"role": "user", "content": [{"type": "text", "text": "status of web"}]}

    call = message(asked("restart the api", *earlier, again))["tool_calls"][0]

    assert call["id"] == "call_2"
    assert json.loads(call["function"]["arguments"]) == {"service": "web"}


def test_what_it_cannot_do_is_said() -> None:
    assert "which service" in message(asked("restart"))["content"]
    assert "status, restart, deploy" in message(asked("coffee"))["content"]
    assert "no tools" in message(asked("restart the api", tools=[]))["content"]
    none = asked("restart the api", tool_choice="none")
    assert "no tools" in message(none)["content"]


def test_long_results_are_quoted_briefly() -> None:
    first = message(asked("restart the api"))
    long = result("call_1", "line\n" * 1000)

    said = message(asked("restart the api", first, long))["content"]

    assert len(said) < 250
    assert said.endswith("…")
    assert "\n" not in said


FIRST = message(asked("restart the api"))


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        {},
        {"model": "any"},
        asked("x", model=None),
        asked("x", messages="x"),
        asked("x", messages=[{"role": "system", "content": "x"}]),
        asked("x", {"role": "wizard", "content": "x"}),
        asked("x", tools=[{"type": "function"}]),
        asked("x", stream=True),
        asked("restart the api", FIRST),
        asked("restart the api", FIRST, result("call_9", "x")),
        asked("restart the api", FIRST, {"role": "user", "content": "x"}),
        asked("restart the api", result("call_1", "x")),
        asked("x", {"role": "assistant", "tool_calls": [{"id": "call_1"}]}),
    ],
)
def test_request_that_a_real_endpoint_refuses_is_refused(body: Any) -> None:
    with pytest.raises(BadRequest):
        completion(body, 7)


# Over HTTP


@pytest.fixture
async def slack() -> AsyncIterator[Playground]:
    async with playground(clock=Clock()) as running:
        yield running


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=5)
    async with aiohttp.ClientSession(timeout=timeout) as made:
        yield made


async def test_any_key_or_none_will_do(
    slack: Playground, session: aiohttp.ClientSession
) -> None:
    for headers in ({}, {"Authorization": "Bearer sk-very-secret"}):
        async with session.post(
            f"{slack.model_url}/chat/completions",
            json=asked("restart the api"),
            headers=headers,
        ) as answer:
            body = await answer.json()
        assert answer.status == 200
        assert body["choices"][0]["message"]["tool_calls"]
    async with session.get(f"{slack.model_url}/models") as answer:
        assert (await answer.json())["data"][0]["id"] == "stand-in"

    entry = slack.log()[0]
    assert (entry["to"], entry["kind"], entry["status"]) == ("slack", "standin", 200)
    assert entry["request"]["args"]["model"] == "any"
    assert "very-secret" not in str(slack.log())


async def test_bad_request_is_refused_in_the_style(
    slack: Playground, session: aiohttp.ClientSession
) -> None:
    url = f"{slack.model_url}/chat/completions"
    async with session.post(url, data=b"{") as answer:
        assert answer.status == 400
        assert (await answer.json())["error"]["code"] == "invalid_request_error"
    assert slack.log()[0]["problems"] == ["invalid_request_error"]


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("429:7", 429, "rate_limit_exceeded"),
        ("500", 500, "server_error"),
        ("error:context_length_exceeded", 400, "context_length_exceeded"),
    ],
)
async def test_model_fails_as_told(
    slack: Playground,
    session: aiohttp.ClientSession,
    fault: str,
    status: int,
    code: str,
) -> None:
    url = f"{slack.model_url}/chat/completions"
    assert slack.fault("standin", fault, 1)["ok"]

    async with session.post(url, json=asked("x")) as answer:
        assert answer.status == status
        assert (await answer.json())["error"]["code"] == code
        assert answer.headers.get("Retry-After") == ("7" if status == 429 else None)
    async with session.post(url, json=asked("x")) as answer:
        assert answer.status == 200


async def test_model_may_hang_or_break_off(
    slack: Playground, session: aiohttp.ClientSession
) -> None:
    url = f"{slack.model_url}/chat/completions"
    slack.fault("standin", "hang", 1)
    soon = aiohttp.ClientTimeout(total=0.1)
    with pytest.raises(TimeoutError):
        await session.post(url, json=asked("x"), timeout=soon)
    slack.fault("standin", "accept-then-drop", 1)
    with pytest.raises(aiohttp.ServerDisconnectedError):
        await session.post(url, json=asked("x"))
