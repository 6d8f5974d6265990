"""The stand-in model: an OpenAI-style endpoint, so that `/run` needs no key.

Reads a request of chat completions, strictly, and writes its answer. What it does in
a turn is in `script.py`. The same request is always given the same answer.
"""

import json
from typing import Any

from aiohttp import web

from bot.playground.exchange import Exchange, Fault, Reply, shown_headers
from bot.playground.script import Step, closing_words, lacking, steps
from bot.playground.seed import Clock, Json
from bot.playground.web_api import STANDIN

NAME = "stand-in"
PATH = "/standin/v1"
_CHARACTERS_A_TOKEN = 4
_ROLES = ("system", "developer", "user", "assistant", "tool")


class BadRequest(Exception):
    """A request that a real endpoint would refuse; the words say why."""


class StandIn:
    """Answers on behalf of a model; takes any key."""

    def __init__(self, exchange: Exchange, clock: Clock) -> None:
        self._exchange = exchange
        self._clock = clock

    def routes(self) -> list[web.RouteDef]:
        """Where it is found."""
        return [
            web.post(f"{PATH}/chat/completions", self._complete),
            web.get(f"{PATH}/models", self._models),
        ]

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        body = _read(raw)
        shown = {
            "http": request.method,
            "headers": shown_headers(request),
            "args": body if body is not None else raw.decode(errors="replace"),
        }
        return await self._exchange.serve(
            request, (STANDIN, STANDIN), shown, lambda: self._reply(body), model_refusal
        )

    def _reply(self, body: Any) -> Reply:
        try:
            return Reply(body=completion(body, int(self._clock())))
        except BadRequest as error:
            return _refused(400, "invalid_request_error", str(error))

    async def _models(self, request: web.Request) -> web.StreamResponse:
        model = {"id": NAME, "object": "model", "created": 0, "owned_by": "playground"}
        listed = {"object": "list", "data": [model]}
        shown = {"http": request.method, "headers": shown_headers(request), "args": {}}
        return await self._exchange.serve(
            request,
            (STANDIN, f"{STANDIN}:models"),
            shown,
            lambda: Reply(body=listed),
            model_refusal,
        )


def model_refusal(fault: Fault) -> Reply:
    """How such an endpoint says no."""
    if fault.kind == "429":
        reply = _refused(429, "rate_limit_exceeded", "too many requests")
        reply.headers["Retry-After"] = fault.detail
        return reply
    if fault.kind == "500":
        return _refused(500, "server_error", "the server had an error")
    return _refused(400, fault.detail, f"the fault {fault.detail} was asked for")


def _refused(status: int, code: str, words: str) -> Reply:
    error = {"message": words, "type": code, "param": None, "code": code}
    return Reply(status=status, body={"error": error})


def _read(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None


def completion(body: Any, now: int) -> Json:
    """The answer to a request of chat completions."""
    messages, tools = _checked(body)
    turn = _turn(messages, tools)
    made = len(_calls(messages))
    if isinstance(turn, Step):
        call = {
            "id": f"call_{made + 1}",
            "type": "function",
            "function": {"name": turn.tool, "arguments": json.dumps(turn.arguments)},
        }
        message: Json = {"role": "assistant", "content": None, "tool_calls": [call]}
    else:
        message = {"role": "assistant", "content": turn}
    reason = "tool_calls" if isinstance(turn, Step) else "stop"
    read, written = _tokens([messages, tools]), _tokens(message)
    return {
        "id": f"chatcmpl-{len(messages)}",
        "object": "chat.completion",
        "created": now,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
        },
    }


def _tokens(value: Any) -> int:
    """About as many tokens as a model would count; no model is here to count them."""
    return len(json.dumps(value)) // _CHARACTERS_A_TOKEN + 1


def _turn(messages: list[Json], tools: list[Json]) -> Step | str:
    """The next call, or the closing words."""
    last = max(n for n, one in enumerate(messages) if one["role"] == "user")
    calls, results = _calls(messages[last:]), _results(messages[last:])
    ended = [(call["function"]["name"], results[call["id"]]) for call in calls]
    planned = steps(_text(messages[last]), tools)
    if len(calls) >= len(planned):
        return closing_words(ended, tools)
    step = planned[len(calls)]
    if step.lacks is None:
        return step
    said = [closing_words(ended, tools)] if ended else []
    return "\n".join([*said, lacking(step)])


def _calls(messages: list[Json]) -> list[Json]:
    found: list[Json] = []
    for message in messages:
        if message["role"] == "assistant":
            found += message.get("tool_calls") or []
    return found


def _results(messages: list[Json]) -> dict[str, str]:
    return {
        one["tool_call_id"]: _text(one) for one in messages if one["role"] == "tool"
    }


def _text(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content)
    return content if isinstance(content, str) else ""


# What a real endpoint would refuse


def _checked(body: Any) -> tuple[list[Json], list[Json]]:
    if not isinstance(body, dict):
        raise BadRequest("the body must be a JSON object")
    if not isinstance(body.get("model"), str):
        raise BadRequest("model must be a string")
    if body.get("stream"):
        raise BadRequest("stream is not supported")
    messages, tools = body.get("messages"), body.get("tools") or []
    if not isinstance(messages, list) or not all(_is_message(one) for one in messages):
        raise BadRequest("messages must be an array of messages")
    if not any(one["role"] == "user" for one in messages):
        raise BadRequest("messages hold none of the role user")
    if not isinstance(tools, list) or not all(_is_tool(one) for one in tools):
        raise BadRequest("tools must be an array of functions")
    _check_pairs(messages)
    return messages, [] if body.get("tool_choice") == "none" else tools


def _is_message(message: Any) -> bool:
    return isinstance(message, dict) and message.get("role") in _ROLES


def _is_tool(tool: Any) -> bool:
    if not isinstance(tool, dict) or tool.get("type") != "function":
        return False
    function = tool.get("function")
    return isinstance(function, dict) and isinstance(function.get("name"), str)


def _check_pairs(messages: list[Json]) -> None:
    """Every call must have its result right after it, and every result its call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                raise BadRequest("a tool message answers no call before it")
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            raise BadRequest(f"calls without a result: {', '.join(waiting)}")
        waiting = [_call_id(call) for call in _calls([message])]
    if waiting:
        raise BadRequest(f"calls without a result: {', '.join(waiting)}")


def _call_id(call: Any) -> str:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise BadRequest("tool_calls must be an array of function calls")
    if not isinstance(call.get("id"), str):
        raise BadRequest("a call must have an id")
    found: str = call["id"]
    return found
