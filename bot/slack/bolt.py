"""The AsyncApp, our own authorize, and the one decorator around every listener.

Listeners do four things in this order: read the payload, call the engine (which
writes), acknowledge, hand off. Whatever goes wrong before the acknowledgement ends in
an apology, whatever goes wrong afterwards in the log; nothing after `ack` may raise
(slack-facts M1, M8).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import structlog
from slack_bolt.async_app import AsyncApp, AsyncBoltRequest
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import StoreError
from bot.ports import Identity

log = structlog.get_logger(__name__)

#: All that happens before the acknowledgement, in seconds; Slack waits for 3.
TOTAL = 2.5
#: Of these, finding people out, and when a write must have begun.
LOOKUPS, WRITE_BEGUN = 1.2, 2.2

Listener = Callable[..., Awaitable[None]]
#: Says that nothing was recorded: for a payload, with the way to acknowledge it.
Apology = Callable[[dict[str, Any], Any], Awaitable[None]]


def make_app(client: AsyncWebClient, identity: Identity) -> AsyncApp:
    """A Bolt app for one installation; it reads no environment and calls no auth.test.

    The signature is checked by our own front door, on the raw bytes.
    """

    async def authorize(**_: Any) -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=identity.tenant.enterprise or None,
            team_id=identity.tenant.team,
            bot_token=client.token,
            bot_id=identity.bot_id,
            bot_user_id=identity.bot_user,
        )

    return AsyncApp(
        client=client,
        authorize=authorize,
        process_before_response=True,
        signing_secret="verified by the front door",  # noqa: S106  # never used: see above
        ssl_check_enabled=True,
        url_verification_enabled=True,
    )


async def dispatched(app: AsyncApp, body: dict[str, Any]) -> BoltResponse | None:
    """What the listeners answer to a checked body; None when Bolt itself failed.

    The body is handed over as Bolt's Socket Mode adapter does it, whatever way it came.
    """
    try:
        asked = AsyncBoltRequest(body=body, mode="socket_mode")
        return await app.async_dispatch(asked)
    except Exception:
        log.error("dispatch_failed", exc_info=True)
        return None


def guarded(listener: Listener, apology: Apology) -> Listener:
    """The discipline of every listener, in one place."""

    @wraps(listener)
    async def listen(ack: Any, body: dict[str, Any]) -> None:
        acknowledged = False

        async def acking(*args: Any, **kwargs: Any) -> Any:
            nonlocal acknowledged
            acknowledged = True
            return await ack(*args, **kwargs)

        try:
            async with asyncio.timeout(TOTAL):
                await listener(ack=acking, body=body)
        except (StoreError, TimeoutError) as error:
            log.warning("listener_busy", error=type(error).__name__, acked=acknowledged)
        except Exception:
            log.error("listener_failed", acked=acknowledged, exc_info=True)
        if not acknowledged:
            await apology(body, ack)

    return listen
