"""The workspace as the page API shows it, and the conditions one can wait for."""

import copy
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bot.playground.blockkit import elements, texts
from bot.playground.seed import APP_ID, BOT_USER, TEAM_ID, Json
from bot.playground.state import Workspace

_SHOWN = ("ts", "user", "text", "thread_ts", "edited", "metadata")


def tool_log(path: Path | None) -> list[Json]:
    """What the demo tools have written about the work they did."""
    if path is None or not path.exists():
        return []
    entries = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue  # a line that is being written at this moment
    return entries


def page_state(workspace: Workspace, *, bot: str, tools: list[Json]) -> Json:
    """Everything the page shows, in the shape it documents."""
    return {
        "team": {"id": TEAM_ID, "domain": workspace.domain},
        "app": {"id": APP_ID, "bot_user_id": BOT_USER},
        "commands": list(workspace.app.commands),
        **_directory(workspace),
        "tool_log": tools,
        "bot": bot,
        "notifications": {
            user_id: list(workspace.notifications.get(user_id, []))
            for user_id, user in workspace.users.items()
            if not user.is_bot
        },
        "messages": {
            channel_id: [_message(one) for one in timeline.values()]
            for channel_id, timeline in workspace.messages.items()
        },
        "ephemeral": {
            user_id: [_ephemeral(one) for one in messages]
            for user_id, messages in workspace.ephemerals.items()
        },
        # Views change in place; a state that was read must not change any more.
        "views": copy.deepcopy(workspace.views),
        "home": copy.deepcopy(workspace.home),
    }


def _directory(workspace: Workspace) -> Json:
    return {
        "users": [
            {
                "id": one.id,
                "name": one.name,
                "real_name": one.real_name,
                "is_bot": one.is_bot,
                "deleted": one.deleted,
            }
            for one in workspace.users.values()
        ],
        "usergroups": [
            {"id": one.id, "handle": one.handle, "users": list(one.users)}
            for one in workspace.groups.values()
        ],
        "channels": [
            {
                "id": one.id,
                "name": one.name,
                "is_private": one.is_private,
                "is_im": one.is_im,
                "is_archived": one.is_archived,
                "members": list(one.members),
            }
            for one in workspace.channels.values()
        ],
    }


def _message(message: Json) -> Json:
    shown = {name: message[name] for name in _SHOWN if name in message}
    return shown | {"blocks": message.get("blocks", [])}


def _ephemeral(message: Json) -> Json:
    return _message(message) | {"channel": message["channel"]}


class BadCondition(Exception):
    """A condition that cannot be read."""


def holds(
    expression: str, workspace: Workspace, *, bot: str, tools: list[Json]
) -> bool:
    """Whether a condition of `/ui/wait` is true now."""
    kind, _, rest = expression.partition(":")
    if kind in ("message", "ephemeral", "notified"):
        return _contains(kind, rest, workspace)
    first, _, second = rest.partition(":")
    if kind == "settled" and second:
        message = workspace.messages.get(first, {}).get(second)
        return message is not None and not any(elements(message.get("blocks", [])))
    if kind == "view" and first:
        return bool(workspace.views.get(first))
    if kind == "home" and first:
        return first in workspace.home
    if kind == "tool" and second.isdecimal():
        return len([one for one in tools if one.get("tool") == first]) >= int(second)
    if expression == "bot:up":
        return bot == "up"
    raise BadCondition(f"not a condition: {expression}")


def _contains(kind: str, rest: str, workspace: Workspace) -> bool:
    place, _, tail = rest.partition(":")
    word, _, wanted = tail.partition(":")
    if word != "contains" or not place or not wanted:
        raise BadCondition(f"not a condition: {kind}:{rest}")
    found: Iterable[Json]
    if kind == "message":
        found = workspace.messages.get(place, {}).values()
    elif kind == "ephemeral":
        found = workspace.ephemerals.get(place, [])
    else:
        found = workspace.notifications.get(place, [])
    return any(wanted in text for one in found for text in readable(one))


def readable(message: Json) -> list[str]:
    """A message's text, and the words of its blocks taken together by block."""
    blocks: list[Any] = message.get("blocks", [])
    return [message["text"], *("".join(texts(block)) for block in blocks)]
