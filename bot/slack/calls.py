"""Reading from the Web API: a plain dict or a `DeliveryError`, and all pages of a list.

Slack's error text holds the whole response body, so only its code goes any further.
How posting fails is the courier's matter.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.errors import DeliveryError
from bot.slack.failures import FAILURES, Failure, refusal

Json = dict[str, Any]

_MOST_PAGES = 200


async def answer(call: Awaitable[AsyncSlackResponse]) -> Json:
    """What a call answered; every failure is a `DeliveryError`."""
    try:
        response = await call
    except FAILURES as error:
        found = refusal(error)
        passing = found.kind in (Failure.WAIT, Failure.AMBIGUOUS)
        raise DeliveryError(found.code, temporary=passing) from None
    if not isinstance(response.data, dict):
        raise DeliveryError("unreadable", temporary=True)
    return response.data


async def all_pages(
    page: Callable[[str | None], Awaitable[AsyncSlackResponse]],
    key: str,
    enough: int | None = None,
) -> list[Any]:
    """The list under `key` of every page; `page` takes a cursor.

    With `enough`, of no more pages than it takes to have so many.
    """
    items: list[Any] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        data = await answer(page(cursor))
        found = data.get(key)
        if not isinstance(found, list):
            raise DeliveryError("unreadable", temporary=True)
        items += found
        if enough is not None and len(items) >= enough:
            return items
        following = (data.get("response_metadata") or {}).get("next_cursor")
        if not following:
            return items
        if following == cursor:
            raise DeliveryError("unreadable", temporary=True)
        cursor = following
    raise DeliveryError("too_many_pages")
