"""Who somebody is, and who is in a group or channel, as Slack says now.

`ports.People` over the Web API. What could not be found out is left out, so that
policy refuses; an answer is used for 60 s at most. What people may do is decided in
`core/policy.py`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.core.policy import Facts, Needs, Person, Who, needs_among
from bot.errors import DeliveryError
from bot.ports import Clock, Tenant
from bot.slack.calls import Json, all_pages, answer
from bot.slack.fresh import Fresh

# A look-up that takes longer helps nobody who is waiting, and must not stay for ever.
_LONGEST = 10.0
_PAGE = 1_000
#: Of a channel with more members than this nobody counts as one of them (design §8).
MOST_MEMBERS = 1_000
_SLACKBOT = "USLACKBOT"
#: Answers that leave no doubt: there is no such person, or group, here (any more).
_NOBODY = frozenset({"user_not_found", "user_not_visible", "user_disabled"})
_NO_GROUP = "no_such_subteam"

_logger = logging.getLogger(__name__)


class SlackPeople:
    """Looks people, user groups and channel members up, and remembers for a minute."""

    def __init__(self, *, client: AsyncWebClient, tenant: Tenant, clock: Clock) -> None:
        self._client = client
        self._tenant = tenant
        self._people: Fresh[str, Person] = Fresh(
            self._careful(self._person), clock.monotonic
        )
        self._groups: Fresh[str, frozenset[str]] = Fresh(
            self._careful(self._group), clock.monotonic
        )
        self._channels: Fresh[str, frozenset[str]] = Fresh(
            self._careful(self._members), clock.monotonic
        )
        # Of the channels whose members may decide: no more than it takes to see that
        # there are too many.
        self._rosters: Fresh[str, frozenset[str]] = Fresh(
            self._careful(self._roster), clock.monotonic
        )

    async def facts(
        self, users: Sequence[str], needs: Needs, timeout: float | None = None
    ) -> Facts:
        """All of them at once; `timeout` in seconds is for everything together."""
        people, groups, channels = set(users), set(needs.groups), set(needs.channels)
        begun = self._people.begin(people) | self._groups.begin(groups)
        await _wait(begun | self._rosters.begin(channels), timeout)
        rosters = self._rosters.found(channels)
        return Facts(
            people=self._people.found(people),
            groups=self._groups.found(groups),
            channels={c: m for c, m in rosters.items() if len(m) <= MOST_MEMBERS},
        )

    def crowded(self, channel: str) -> bool:
        """Whether a channel, just looked up, has too many members to decide."""
        members = self._rosters.get(channel)
        return members is not None and len(members) > MOST_MEMBERS

    async def in_channel(
        self, user: str, channel: str, timeout: float | None = None
    ) -> bool | None:
        """Whether somebody is in a channel; None when it could not be found out."""
        await _wait(self._channels.begin({channel}), timeout)
        members = self._channels.get(channel)
        return None if members is None else user in members

    async def members_of(
        self, entries: Iterable[Who], timeout: float | None = None
    ) -> list[str]:
        """The people that these entries name, each once, in order.

        Groups and channels that could not be looked up add nobody.
        """
        listed = list(entries)
        facts = await self.facts([], needs_among(listed), timeout)
        found: dict[str, None] = {}
        for who in listed:
            members = facts.members(who) or frozenset()
            found.update(dict.fromkeys(sorted(members)))
        return list(found)

    async def close(self) -> None:
        """Give up what is under way."""
        await self._people.close()
        await self._groups.close()
        await self._channels.close()
        await self._rosters.close()

    def _careful(
        self, ask: Callable[[str], Awaitable[Any]]
    ) -> Callable[[str], Awaitable[Any]]:
        """`ask`, in bounded time, with None for whatever goes wrong."""

        async def asked(key: str) -> Any:
            try:
                async with asyncio.timeout(_LONGEST):
                    return await ask(key)
            except Exception as error:  # whatever it is, it means: not found out
                code = getattr(error, "code", type(error).__name__)
                _logger.warning(
                    "a look-up failed",
                    extra={"event": "people.unknown", "id": key, "code": code},
                )
                return None

        return asked

    async def _person(self, user: str) -> Person:
        try:
            data = await answer(self._client.users_info(user=user))
        except DeliveryError as error:
            if error.code not in _NOBODY:
                raise
            return Person(user=user, team=None, name=user, deleted=True)
        found = data.get("user")
        if not isinstance(found, dict):
            raise DeliveryError("unreadable", temporary=True)
        return person(user, found, self._tenant)

    async def _group(self, group: str) -> frozenset[str]:
        async def page(cursor: str | None) -> Any:
            # The team is needed with an organisation's token, ignored with another.
            return await self._client.usergroups_users_list(
                usergroup=group, team_id=self._tenant.team, cursor=cursor
            )

        try:
            return frozenset(await all_pages(page, "users"))
        except DeliveryError as error:
            if error.code != _NO_GROUP:
                raise
            return frozenset()

    async def _roster(self, channel: str) -> frozenset[str]:
        return await self._members(channel, MOST_MEMBERS + 1)

    async def _members(self, channel: str, enough: int | None = None) -> frozenset[str]:
        async def page(cursor: str | None) -> Any:
            return await self._client.conversations_members(
                channel=channel, cursor=cursor, limit=_PAGE
            )

        return frozenset(await all_pages(page, "members", enough))


def person(user: str, found: Json, tenant: Tenant) -> Person:
    """What policy needs to know of a user object; doubt counts against them."""
    in_grid = _mapping(found.get("enterprise_user"))
    profile = _mapping(found.get("profile"))
    team = found.get("team_id") or None
    # One of our own organisation counts as one of our workspace.
    if tenant.enterprise and in_grid.get("enterprise_id") == tenant.enterprise:
        team = tenant.team
    name = profile.get("display_name") or found.get("real_name") or found.get("name")
    return Person(
        user=user,
        team=team,
        enterprise_user=in_grid.get("id") or None,
        name=str(name or user),
        deleted=_flag(found, "deleted") or _flag(found, "is_invited_user"),
        bot=user == _SLACKBOT or _flag(found, "is_bot") or _flag(found, "is_app_user"),
        guest=_flag(found, "is_restricted") or _flag(found, "is_ultra_restricted"),
        stranger=_flag(found, "is_stranger"),
    )


async def _wait(tasks: set[asyncio.Task[None]], timeout: float | None) -> None:
    if tasks:
        # Not gather: the questions go on for others when we stop waiting.
        await asyncio.wait(tasks, timeout=timeout)


def _flag(found: Json, key: str) -> bool:
    return found.get(key, False) not in (False, None)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
