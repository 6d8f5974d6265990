"""The verified, bounded door in front of Bolt: raw bytes in, a checked dict out.

Nothing is parsed before the signature over the raw bytes is right (T1, T3), and nothing
malformed reaches Bolt, which would raise (threat-model §0.4). Bolt gets the parsed body
the way its Socket Mode adapter hands it over, so both transports are one path and the
word `payload` in a command is harmless.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import parse_qsl

import structlog
from aiohttp import web
from slack_bolt.async_app import AsyncApp

from bot.slack.bolt import dispatched

log = structlog.get_logger(__name__)

PATH = "/slack/events"
#: A click returns the whole card, percent-encoded: less would refuse our own (T4).
MOST_BYTES = 1024 * 1024
BODY_SECONDS = 10.0
#: How old a request may be, and how far ahead of our clock, in seconds (T2).
OLDEST, NEWEST = 300, 60
MOST_FIELDS = 64
#: How long accepted bodies are remembered, in seconds, and how many.
REMEMBERED, MOST_REMEMBERED = 600, 20_000

EVENTS = frozenset({"url_verification", "event_callback", "app_rate_limited"})
INTERACTIONS = frozenset(
    {"block_actions", "view_submission", "view_closed", "shortcut", "message_action"}
)


class Malformed(ValueError):
    """An authentic body that is not what Slack sends."""


class Door:
    """One aiohttp handler: verify, bound, parse, check, dispatch."""

    def __init__(
        self,
        app: AsyncApp,
        signing_secret: str,
        seconds: Callable[[], float],
        repeated: Callable[[], Awaitable[None]],
    ) -> None:
        self._app = app
        self._secret = signing_secret.encode()
        self._seconds = seconds
        self._seen = Seen(seconds)
        #: Called for a body that was accepted before.
        self._repeated = repeated

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one POST to /slack/events."""
        if request.headers.get("Content-Encoding", "identity") != "identity":
            return web.Response(status=415)
        raw = await self._read(request)
        if isinstance(raw, web.Response):
            return raw
        if not self._authentic(request, raw):
            if _is_certificate_check(raw):
                return web.Response()
            log.warning("request_refused", status=401, size=len(raw))
            return web.Response(status=401)
        signature = request.headers["X-Slack-Signature"]
        if self._seen.before(signature):
            await self._repeated()
            return web.Response()
        try:
            body = parsed(raw, request.content_type)
        except Malformed as error:
            self._seen.forget(signature)
            log.warning("request_malformed", status=400, what=str(error))
            return web.Response(status=400)
        answer = await self._dispatch(body)
        if answer.status >= 500:
            self._seen.forget(signature)
        return answer

    async def _read(self, request: web.Request) -> bytes | web.Response:
        if request.content_length is not None and request.content_length > MOST_BYTES:
            return web.Response(status=413)
        try:
            async with asyncio.timeout(BODY_SECONDS):
                return await request.read()
        except TimeoutError:
            return web.Response(status=408)
        except web.HTTPRequestEntityTooLarge:
            return web.Response(status=413)
        except (web.RequestPayloadError, ConnectionError):
            # The body broke off, or is not what its headers say.
            return web.Response(status=400)

    def _authentic(self, request: web.Request, raw: bytes) -> bool:
        stamp = request.headers.get("X-Slack-Request-Timestamp", "")
        given = request.headers.get("X-Slack-Signature", "")
        if not (stamp.isascii() and stamp.isdigit() and len(stamp) <= 12):
            return False
        age = self._seconds() - int(stamp)
        if age > OLDEST or age < -NEWEST:
            return False
        base = b"v0:" + stamp.encode() + b":" + raw
        right = "v0=" + hmac.new(self._secret, base, hashlib.sha256).hexdigest()
        return hmac.compare_digest(
            right.encode(), given.encode(errors="surrogateescape")
        )

    async def _dispatch(self, body: dict[str, Any]) -> web.Response:
        answer = await dispatched(self._app, body)
        if answer is None:
            return web.Response(status=500)
        return web.Response(
            status=answer.status,
            body=(answer.body or "").encode(),
            content_type=_content_type(answer.headers),
        )


class Seen:
    """The signatures of accepted bodies, for as long as one could be sent again (T2).

    Kept in memory: after a restart a repeat meets handlers that are idempotent anyway.
    """

    def __init__(self, seconds: Callable[[], float]) -> None:
        self._seconds = seconds
        self._times: OrderedDict[str, float] = OrderedDict()

    def before(self, signature: str) -> bool:
        """Whether this body was accepted before; from now on it was."""
        now = self._seconds()
        then = self._times.get(signature)
        if then is not None and now - then <= REMEMBERED:
            return True
        while self._times:
            oldest = next(iter(self._times.values()))
            if now - oldest <= REMEMBERED and len(self._times) < MOST_REMEMBERED:
                break
            self._times.popitem(last=False)
        self._times[signature] = now
        return False

    def forget(self, signature: str) -> None:
        """What was not accepted after all, or failed here, may come again."""
        self._times.pop(signature, None)


def _is_certificate_check(raw: bytes) -> bool:
    """Slack's look at our certificate is unsigned; it is answered, no more (T6)."""
    return len(raw) < 200 and raw.startswith(b"ssl_check=1") and b"command" not in raw


def _content_type(headers: dict[str, Any]) -> str:
    values = headers.get("content-type") or ["text/plain"]
    return str(values[0]).partition(";")[0]


# -- parsing, after the signature was right -------------------------------------------


def parsed(raw: bytes, content_type: str) -> dict[str, Any]:
    """The body of an authentic request; `Malformed` says what is wrong with it."""
    if content_type == "application/json":
        return _event(_json(raw))
    fields = _form(raw)
    if "payload" in fields and "command" not in fields:
        return interaction(_json(fields["payload"]))
    if "command" in fields or "ssl_check" in fields:
        return command(fields)
    raise Malformed("neither a command nor a payload")


def checked(kind: str, payload: object) -> dict[str, Any]:
    """A payload of Socket Mode, checked as those of the front door are."""
    if kind == "command":
        if not isinstance(payload, dict):
            raise Malformed("not a command")
        return command({k: v for k, v in payload.items() if isinstance(v, str)})
    return _event(payload) if kind == "event" else interaction(payload)


def interaction(body: object) -> dict[str, Any]:
    """An interaction of the shape that Bolt and our handlers rely on."""
    if not isinstance(body, dict) or body.get("type") not in INTERACTIONS:
        raise Malformed("not an interaction")
    _require_id(body.get("user"), "user")
    if body["type"] == "block_actions":
        _check_actions(body)
    if body["type"].startswith("view_") and not isinstance(body.get("view"), dict):
        raise Malformed("no view")
    if body["type"] == "view_submission":
        _check_submission(body["view"])
    for key in ("team", "enterprise", "channel", "container", "message", "view"):
        if not isinstance(body.get(key), dict | None):
            raise Malformed(f"{key} is not an object")
    if isinstance(body.get("view"), dict) and not isinstance(
        body["view"].get("type"), str
    ):
        raise Malformed("a view without a type")
    return body


def command(fields: dict[str, str]) -> dict[str, Any]:
    """A slash command with the fields that we read."""
    if "ssl_check" in fields and "command" not in fields:
        return dict(fields)
    for key in ("command", "user_id", "team_id", "channel_id"):
        if not fields.get(key):
            raise Malformed(f"no {key}")
    return {"text": "", **fields}


def _check_actions(body: dict[str, Any]) -> None:
    actions = body.get("actions")
    if not isinstance(actions, list) or len(actions) != 1:
        raise Malformed("not exactly one action")
    action = actions[0]
    if not isinstance(action, dict):
        raise Malformed("the action is not an object")
    for key in ("type", "action_id", "block_id"):
        if not isinstance(action.get(key), str):
            raise Malformed(f"the action has no {key}")


def _check_submission(view: dict[str, Any]) -> None:
    for key in ("id", "callback_id", "private_metadata"):
        if not isinstance(view.get(key), str):
            raise Malformed(f"the view has no {key}")
    state = view.get("state")
    values = state.get("values") if isinstance(state, dict) else None
    if not isinstance(values, dict):
        raise Malformed("the view has no values")
    for fields in values.values():
        one_of_ours = isinstance(fields, dict) and all(
            isinstance(field, dict) for field in fields.values()
        )
        if not one_of_ours:
            raise Malformed("a value is not an object")


def _event(body: object) -> dict[str, Any]:
    """An event of the shape that Bolt reads before any listener (its internals)."""
    if not isinstance(body, dict) or body.get("type") not in EVENTS:
        raise Malformed("not an event")
    event = body.get("event")
    typed = isinstance(event, dict) and isinstance(event.get("type"), str)
    if body["type"] == "event_callback" and not typed:
        raise Malformed("an event without a type")
    granted = body.get("authorizations")
    lists = isinstance(granted, list) and all(isinstance(g, dict) for g in granted)
    if granted is not None and not lists:
        raise Malformed("authorizations are not a list of objects")
    inner = event if isinstance(event, dict) else {}
    for key in ("channel", "user", "team", "item", "message", "view"):
        if not isinstance(inner.get(key), str | dict | None):
            raise Malformed(f"{key} of the event is no id and no object")
    return body


def _require_id(value: object, what: str) -> None:
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        raise Malformed(f"no {what}")


def _json(text: bytes | str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Malformed("not JSON") from None


def _form(raw: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(
            raw.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise Malformed("not a form") from None
    return dict(pairs)
