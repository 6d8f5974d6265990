"""Private replies and forms: to the person who just acted, from memory.

Sent by the click's own task right after the acknowledgement: by `response_url`, else as
an ephemeral message, else directly; once more within ten seconds when all of it fails;
never after a restart. Nothing is said here that the card does not also say (design §6).
A form is opened once or not at all: what allows it is good for seconds and one use.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx
import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.ports import Clock
from bot.slack.failures import FAILURES, refusal
from bot.slack.render.message import Message

log = structlog.get_logger(__name__)

SLACK_HOOKS = "https://hooks.slack.com"
AGAIN_AFTER = 5.0  # seconds
TIMEOUT = 5.0  # seconds, for one attempt


class Replies:
    """Carries private replies; a lost one is logged and nothing else."""

    def __init__(
        self, client: AsyncWebClient, http: httpx.AsyncClient, clock: Clock
    ) -> None:
        self._client = client
        self._http = http
        self._clock = clock
        self._origin = _reply_origin(client.base_url)

    async def tell(
        self, user: str, channel: str, response_url: str, said: Message
    ) -> None:
        """Say something to one person, where they just acted.

        Without a user and a channel, by `response_url` alone.
        """
        for wait in (0.0, AGAIN_AFTER):
            if wait:
                await self._clock.sleep(wait)
            if await self._try(user, channel, response_url, said):
                return
        log.warning("reply_lost", user=user)

    async def published(self, user: str, view: dict[str, Any]) -> bool:
        """Show somebody their Home tab; False when Slack did not take it."""
        try:
            await self._client.views_publish(user_id=user, view=view)
        except FAILURES as error:
            log.warning("home_refused", user=user, code=refusal(error).code)
            return False
        return True

    async def opened(self, trigger: str, view: dict[str, Any]) -> bool:
        """Show a form to whoever just acted; False when it did not come up."""
        if not trigger:
            return False
        try:
            await self._client.views_open(trigger_id=trigger, view=view)
        except FAILURES as error:
            log.info("form_not_opened", code=refusal(error).code)
            return False
        return True

    async def _try(
        self, user: str, channel: str, response_url: str, said: Message
    ) -> bool:
        if self._trusted(response_url) and await self._by_url(response_url, said):
            return True
        if channel and await self._call(
            self._client.chat_postEphemeral, channel=channel, user=user, said=said
        ):
            return True
        return bool(user) and await self._call(
            self._client.chat_postMessage, channel=user, said=said
        )

    def _trusted(self, response_url: str) -> bool:
        """Only Slack's own host, or the origin that stands in for it (T49)."""
        try:
            parts = urlsplit(response_url)
        except ValueError:
            return False
        return f"{parts.scheme}://{parts.netloc}" == self._origin

    async def _by_url(self, response_url: str, said: Message) -> bool:
        body = {
            "response_type": "ephemeral",
            "replace_original": False,
            "blocks": said.blocks,
            "text": said.text,
        }
        try:
            answer = await self._http.post(response_url, json=body, timeout=TIMEOUT)
        except httpx.HTTPError as error:
            log.info("reply_refused", by="response_url", code=type(error).__name__)
            return False
        if not _taken(answer):
            log.info("reply_refused", by="response_url", code=answer.status_code)
            return False
        return True

    async def _call(self, method: Any, *, said: Message, **arguments: str) -> bool:
        try:
            await method(
                text=said.text,
                blocks=said.blocks,
                parse="none",
                link_names=False,
                **arguments,
            )
        except FAILURES as error:
            log.info("reply_refused", by=method.__name__, code=type(error).__name__)
            return False
        return True


def _taken(answer: httpx.Response) -> bool:
    """Slack says "ok" or, with the same status, why not."""
    return answer.status_code == 200 and '"ok":false' not in answer.text.replace(
        " ", ""
    )


def _reply_origin(base_url: str) -> str:
    parts = urlsplit(base_url)
    origin = f"{parts.scheme}://{parts.netloc}"
    return SLACK_HOOKS if origin == "https://slack.com" else origin
