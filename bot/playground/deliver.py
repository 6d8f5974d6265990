"""Carries signed requests to the app's one URL, under the 3-second rule.

Commands and interactions are sent once; events are sent again after a failure, up
to three times. What the answers mean is in `answers.py`.
"""

import asyncio
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import aiohttp

from bot.playground.log import Log
from bot.playground.payloads import event_callback
from bot.playground.seed import Json
from bot.playground.state import Workspace

EVENTS_PATH = "/slack/events"
ACK_SECONDS = 3.0
RETRY_SECONDS = (1.0, 2.0, 4.0)
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def signature(secret: str, timestamp: str, body: str) -> str:
    """Slack's v0 signature of a request."""
    signed = f"v0:{timestamp}:{body}".encode()
    return "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What came of a request to the app."""

    status: int | None
    ms: float
    body: str
    error: str | None = None
    no_retry: bool = False

    def shown(self) -> Json:
        """The delivery as the page API tells it."""
        return {"status": self.status, "ms": self.ms, "body": self.body}

    def outcome(self) -> Json:
        """The answer to whoever caused the delivery."""
        if self.error is None:
            return {"ok": True, "delivery": self.shown()}
        return {"ok": False, "error": self.error, "delivery": self.shown()}


class Carrier:
    """Sends to the app and logs what it said."""

    def __init__(
        self,
        workspace: Workspace,
        log: Log,
        app_url: str,
        *,
        ack_seconds: float = ACK_SECONDS,
        retry_seconds: tuple[float, ...] = RETRY_SECONDS,
    ) -> None:
        self.app_url = app_url
        self._workspace = workspace
        self._log = log
        self._ack_seconds = ack_seconds
        self._retry_seconds = retry_seconds
        self._session: aiohttp.ClientSession | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Make ready to send."""
        self._session = aiohttp.ClientSession()

    async def close(self) -> None:
        """Drop what is still to be sent again, and end."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._session is not None:
            await self._session.close()

    async def command(self, form: dict[str, str]) -> Delivery:
        """Send a slash command."""
        return await self._send("command", urlencode(form), FORM, form)

    async def interaction(self, payload: Json) -> Delivery:
        """Send a click, a submitted or a closed view."""
        text = json.dumps(payload)
        body = urlencode({"payload": text})
        # The log keeps what was sent, whatever becomes of the message in it.
        return await self._send(payload["type"], body, FORM, json.loads(text))

    async def event(self, event: Json) -> Delivery:
        """Send an event; after a failure it is sent again in the background."""
        envelope = event_callback(self._workspace, event)
        first = await self._send_event(envelope, {})
        if first.error is not None and not first.no_retry:
            self._keep(self._again(envelope, first))
        return first

    def announce(self, event: Json) -> None:
        """Send an event in the background, where nobody waits for the answer."""
        self._keep(self._announced(event))

    async def verify_url(self) -> Delivery:
        """Ask the app to prove that the URL is its own."""
        challenge = hashlib.sha256(str(self._workspace.clock()).encode()).hexdigest()
        payload = {
            "type": "url_verification",
            "token": self._workspace.app.verification_token,
            "challenge": challenge,
        }
        delivery = await self._send_event(payload, {})
        if delivery.error is None and challenge not in delivery.body:
            return Delivery(
                status=delivery.status,
                ms=delivery.ms,
                body=delivery.body,
                error="challenge_failed",
            )
        return delivery

    async def _announced(self, event: Json) -> None:
        await self.event(event)

    async def _again(self, envelope: Json, last: Delivery) -> None:
        for number, seconds in enumerate(self._retry_seconds, start=1):
            await asyncio.sleep(seconds)
            headers = {
                "X-Slack-Retry-Num": str(number),
                "X-Slack-Retry-Reason": _reason(last),
            }
            last = await self._send_event(envelope, headers)
            if last.error is None or last.no_retry:
                return

    async def _send_event(self, payload: Json, headers: dict[str, str]) -> Delivery:
        text = json.dumps(payload)
        return await self._send("event", text, JSON, json.loads(text), headers)

    def _keep(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(
        self,
        kind: str,
        body: str,
        content_type: str,
        payload: Json,
        more: dict[str, str] | None = None,
    ) -> Delivery:
        stamp = str(int(self._workspace.clock()))
        headers = {
            "Content-Type": content_type,
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature(
                self._workspace.app.signing_secret, stamp, body
            ),
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
            **(more or {}),
        }
        url = self.app_url.rstrip("/") + EVENTS_PATH
        request = {"url": url, "headers": headers, "body": body, "payload": payload}
        entry = self._log.begin("app", kind, request)
        started = time.perf_counter()
        delivery = await self._posted(url, body, headers, started)
        self._log.end(
            entry,
            answer=delivery.body,
            status=delivery.status,
            started=started,
            problems=[delivery.error] if delivery.error else [],
        )
        return delivery

    async def _posted(
        self, url: str, body: str, headers: dict[str, str], started: float
    ) -> Delivery:
        if self._session is None:
            raise RuntimeError("the playground has not been started")
        timeout = aiohttp.ClientTimeout(total=self._ack_seconds)
        try:
            async with self._session.post(
                url,
                data=body.encode(),
                headers=headers,
                timeout=timeout,
                allow_redirects=False,
            ) as answer:
                text = await answer.text(errors="replace")
        except TimeoutError:
            return Delivery(
                status=None, ms=_ms(started), body="", error="operation_timeout"
            )
        except (aiohttp.ClientError, OSError):
            return Delivery(
                status=None, ms=_ms(started), body="", error="dispatch_failed"
            )
        return Delivery(
            status=answer.status,
            ms=_ms(started),
            body=text,
            error=None if 200 <= answer.status < 300 else "dispatch_failed",
            no_retry=answer.headers.get("X-Slack-No-Retry") == "1",
        )


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)


def _reason(last: Delivery) -> str:
    if last.status is not None:
        return "http_error"
    timed_out = last.error == "operation_timeout"
    return "http_timeout" if timed_out else "connection_failed"
