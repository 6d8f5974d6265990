"""The way to the app over HTTP: signed POSTs to its one URL.

An answer counts within three seconds. What it means is in `answers.py`.
"""

import hashlib
import hmac
import json
import time
from urllib.parse import urlencode

import aiohttp

from bot.playground.packet import (
    COMMAND,
    EVENT,
    Delivery,
    Packet,
    failed,
    milliseconds,
)
from bot.playground.seed import App, Clock, Json

EVENTS_PATH = "/slack/events"
FORM = "application/x-www-form-urlencoded"
JSON = "application/json"


def signature(secret: str, timestamp: str, body: str) -> str:
    """Slack's v0 signature of a request."""
    signed = f"v0:{timestamp}:{body}".encode()
    return "v0=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


class Http:
    """Posts to the app as Slack does."""

    def __init__(
        self, app: App, clock: Clock, app_url: str, *, ack_seconds: float
    ) -> None:
        self.app_url = app_url
        self._app = app
        self._clock = clock
        self._ack_seconds = ack_seconds
        self._session: aiohttp.ClientSession | None = None

    async def open(self) -> None:
        """Make ready to send."""
        self._session = aiohttp.ClientSession()

    async def close(self) -> None:
        """End."""
        if self._session is not None:
            await self._session.close()

    def written(self, packet: Packet) -> Json:
        """The signed request of a packet."""
        body = _body(packet)
        stamp = str(int(self._clock()))
        headers = {
            "Content-Type": JSON if packet.kind == EVENT else FORM,
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature(self._app.signing_secret, stamp, body),
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        }
        if packet.last is not None:
            headers["X-Slack-Retry-Num"] = str(packet.attempt)
            headers["X-Slack-Retry-Reason"] = _reason(packet.last)
        url = self.app_url.rstrip("/") + EVENTS_PATH
        return {
            "url": url,
            "headers": headers,
            "body": body,
            "payload": packet.payload,
        }

    async def send(self, written: Json) -> Delivery:
        """Post it and wait for the answer."""
        if self._session is None:
            raise RuntimeError("the playground has not been started")
        started = time.perf_counter()
        try:
            async with self._session.post(
                written["url"],
                data=written["body"].encode(),
                headers=written["headers"],
                timeout=aiohttp.ClientTimeout(total=self._ack_seconds),
                allow_redirects=False,
            ) as answer:
                text = await answer.text(errors="replace")
        except TimeoutError:
            return failed("operation_timeout", started)
        except (aiohttp.ClientError, OSError):
            return failed("dispatch_failed", started)
        return Delivery(
            status=answer.status,
            ms=milliseconds(started),
            body=text,
            error=None if 200 <= answer.status < 300 else "dispatch_failed",
            no_retry=answer.headers.get("X-Slack-No-Retry") == "1",
        )


def _body(packet: Packet) -> str:
    if packet.kind == COMMAND:
        return urlencode(packet.payload)
    text = json.dumps(packet.payload)
    return text if packet.kind == EVENT else urlencode({"payload": text})


def _reason(last: Delivery) -> str:
    if last.status is not None:
        return "http_error"
    timed_out = last.error == "operation_timeout"
    return "http_timeout" if timed_out else "connection_failed"
