"""What the workspace looks like at start: who we are in it, its groups and channels.

Each is one look at Slack, with every page of it; a failure is a `DeliveryError` whose
`temporary` tells an outage from a refusal. People are looked up in `people.py`.
"""

from __future__ import annotations

from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.errors import ConfigError, DeliveryError, Problem
from bot.ports import Identity, Tenant
from bot.slack.calls import Json, all_pages, answer
from bot.slack.resolve import Channel

_PAGE = 1_000
#: User groups are not part of every plan; without them there are none.
_NO_GROUPS = frozenset({"plan_upgrade_required", "paid_teams_only"})


async def identity(client: AsyncWebClient, now: int) -> Identity:
    """The installation behind the bot token, as Slack describes it now."""
    found = await answer(client.auth_test())
    if found.get("is_enterprise_install"):
        raise ConfigError([_ORGANISATION])
    bot = found.get("bot_id")
    if not bot:
        raise ConfigError([_NO_BOT])
    app = (await answer(client.bots_info(bot=bot))).get("bot") or {}
    return Identity(
        tenant=Tenant(
            team=_text(found, "team_id"),
            enterprise=str(found.get("enterprise_id") or ""),
        ),
        team_name=str(found.get("team") or ""),
        bot_user=_text(found, "user_id"),
        bot_id=str(bot),
        app=str(app.get("app_id") or ""),
        seen_at=now,
    )


async def groups(client: AsyncWebClient, tenant: Tenant) -> dict[str, str]:
    """Every active user group: handle -> id."""
    try:
        found = await answer(client.usergroups_list(team_id=tenant.team))
    except DeliveryError as error:
        if error.code in _NO_GROUPS:
            return {}
        raise
    listed = found.get("usergroups")
    if not isinstance(listed, list):
        raise DeliveryError("unreadable", temporary=True)
    return {_text(group, "handle"): _text(group, "id") for group in listed}


async def channels(client: AsyncWebClient, tenant: Tenant) -> dict[str, Channel]:
    """Every channel that the bot can see: name -> id, and whether it is a member."""

    async def page(cursor: str | None) -> Any:
        return await client.conversations_list(
            types="public_channel,private_channel",
            exclude_archived=True,
            team_id=tenant.team,
            cursor=cursor,
            limit=_PAGE,
        )

    listed = await all_pages(page, "channels")
    return {
        _text(channel, "name"): Channel(
            id=_text(channel, "id"), is_member=channel.get("is_member") is True
        )
        for channel in listed
    }


def _text(found: Json, key: str) -> str:
    value = found.get(key)
    if not isinstance(value, str) or not value:
        raise DeliveryError("unreadable", temporary=True)
    return value


_ORGANISATION = Problem(
    what="SLACK_BOT_TOKEN belongs to an installation for a whole organisation.",
    fix="install the app in one workspace and take the token from there.",
)
_NO_BOT = Problem(
    what="SLACK_BOT_TOKEN is not the token of a bot.",
    fix="OAuth & Permissions in the app's settings shows it; it starts with xoxb-.",
)
