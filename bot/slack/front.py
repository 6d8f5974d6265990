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
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import structlog
from aiohttp import web
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest

log = structlog.get_logger(__name__)

PATH = "/slack/events"
#: A click returns the whole card, percent-encoded: less would refuse our own (T4).
MOST_BYTES = 1024 * 1024
BODY_SECONDS = 10.0
#: How old a request may be, and how far ahead of our clock, in seconds (T2).
OLDEST, NEWEST = 300, 60
MOST_FIELDS = 64

EVENTS = frozenset({"url_verification", "event_callback", "app_rate_limited"})
INTERACTIONS = frozenset(
    {"block_actions", "view_submission", "view_closed", "shortcut", "message_action"}
)


class Malformed(ValueError):
    """An authentic body that is not what Slack sends."""


class Door:
    """One aiohttp handler: verify, bound, parse, check, dispatch."""

    def __init__(
        self, app: AsyncApp, signing_secret: str, seconds: Callable[[], float]
    ) -> None:
        self._app = app
        self._secret = signing_secret.encode()
        self._seconds = seconds

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one POST to /slack/events."""
        if request.headers.get("Content-Encoding", "identity") != "identity":
            return web.Response(status=415)
        raw = await self._read(request)
        if isinstance(raw, web.Response):
            return raw
        if not self._authentic(request, raw):
            log.warning("request_refused", status=401, size=len(raw))
            return web.Response(status=401)
        try:
            body = parsed(raw, request.content_type)
        except Malformed as error:
            log.warning("request_malformed", status=400, what=str(error))
            return web.Response(status=400)
        return await self._dispatch(body)

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
        try:
            asked = AsyncBoltRequest(body=body, mode="socket_mode")
            answer = await self._app.async_dispatch(asked)
        except Exception:
            log.error("dispatch_failed", exc_info=True)
            return web.Response(status=500)
        return web.Response(
            status=answer.status,
            body=(answer.body or "").encode(),
            content_type=_content_type(answer.headers),
        )


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


def interaction(body: object) -> dict[str, Any]:
    """An interaction of the shape that Bolt and our handlers rely on."""
    if not isinstance(body, dict) or body.get("type") not in INTERACTIONS:
        raise Malformed("not an interaction")
    _require_id(body.get("user"), "user")
    if body["type"] == "block_actions":
        _check_actions(body)
    if body["type"].startswith("view_") and not isinstance(body.get("view"), dict):
        raise Malformed("no view")
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
