"""Who is told about a new message, and why: pure functions over messages.

As far as Slack's behaviour is known: direct messages, mentions by id, and replies in
a thread that somebody follows. Edits and ephemeral messages tell nobody, so
they never come here.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bot.playground.seed import Channel, Group

Json = dict[str, Any]

_USER = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^>]*)?>")
_GROUP = re.compile(r"<!subteam\^(S[A-Z0-9]+)(?:\|[^>]*)?>")
_ALL = re.compile(r"<!(?:here|channel|everyone)(?:\|[^>]*)?>")


@dataclass(frozen=True, kw_only=True)
class Mentions:
    """Whom a message names by reference."""

    users: frozenset[str]
    groups: frozenset[str]
    everybody: bool


def mentions(text: str, blocks: list[Json]) -> Mentions:
    """The references in a message's text and in its blocks."""
    written = [text, *_mrkdwn(blocks)]
    named = list(_named(blocks))
    return Mentions(
        users=frozenset(
            [one for text in written for one in _USER.findall(text)]
            + [one["user_id"] for one in named if one["type"] == "user"]
        ),
        groups=frozenset(
            [one for text in written for one in _GROUP.findall(text)]
            + [one["usergroup_id"] for one in named if one["type"] == "usergroup"]
        ),
        everybody=any(_ALL.search(text) for text in written)
        or any(one["type"] == "broadcast" for one in named),
    )


def told(
    message: Json,
    channel: Channel,
    thread: Iterable[Json],
    groups: Mapping[str, Group],
) -> dict[str, str]:
    """Each member who is told of this new message, with the reason."""
    author = message.get("user")
    others = [one for one in channel.members if one != author]
    if channel.is_im:
        return dict.fromkeys(others, "direct")
    found = mentions(message["text"], message.get("blocks", []))
    named = set(others) if found.everybody else _people(found, groups)
    following = _followers(thread, groups)
    return {
        one: "mentioned" if one in named else "thread"
        for one in others
        if one in named or one in following
    }


def _people(found: Mentions, groups: Mapping[str, Group]) -> set[str]:
    people = set(found.users)
    for group_id in found.groups:
        if group_id in groups and not groups[group_id].disabled:
            people.update(groups[group_id].users)
    return people


def _followers(thread: Iterable[Json], groups: Mapping[str, Group]) -> set[str]:
    """Those who wrote in a thread or were mentioned in it, its root included."""
    people: set[str] = set()
    for one in thread:
        people.add(one.get("user", ""))
        people |= _people(mentions(one["text"], one.get("blocks", [])), groups)
    return people


def _mrkdwn(part: Any) -> Iterator[str]:
    if isinstance(part, list):
        for one in part:
            yield from _mrkdwn(one)
    elif isinstance(part, dict):
        if part.get("type") == "mrkdwn":
            yield part["text"]
        for content in part.values():
            yield from _mrkdwn(content)


def _named(part: Any) -> Iterator[Json]:
    if isinstance(part, list):
        for one in part:
            yield from _named(one)
    elif isinstance(part, dict):
        if part.get("type") in ("user", "usergroup", "broadcast"):
            yield part
        for content in part.values():
            yield from _named(content)
