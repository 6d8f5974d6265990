"""What a Slack payload says: which workspace, who, where, which control. Pure.

Everything here was signed by Slack and checked for its shape at the door; it is still
only a claim about which row is meant, never authority (slack-facts §1.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.ports import Identity, Tenant

Json = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Pressed:
    """One control that somebody pressed, and where."""

    user: str
    action_id: str
    value: str
    channel: str
    ts: str
    private: bool  # on an ephemeral message
    ours: bool  # the message was posted by this app
    response_url: str


@dataclass(frozen=True, kw_only=True)
class Typed:
    """One slash command."""

    user: str
    channel: str
    command: str
    text: str
    response_url: str
    delivery: str  # names this very command: a repeat has the same


def same_installation(body: Json, identity: Identity) -> bool:
    """Whether a payload belongs to the workspace and the app that we serve (T22)."""
    app = str(body.get("api_app_id") or "")
    if identity.app and app != identity.app:
        return False
    team, enterprise = _owner(body)
    if team is None:
        return False
    mine = identity.tenant
    return team == mine.team and (enterprise or "") == mine.enterprise


def claimed(body: Json) -> Tenant:
    """The workspace that a payload says it comes from."""
    team, enterprise = _owner(body)
    return Tenant(team=str(team or ""), enterprise=str(enterprise or ""))


def _owner(body: Json) -> tuple[str | None, str | None]:
    if "command" in body:
        return body.get("team_id"), body.get("enterprise_id")
    if "team_id" in body:
        return body.get("team_id"), body.get("enterprise_id")
    team, enterprise = body.get("team") or {}, body.get("enterprise") or {}
    return team.get("id"), enterprise.get("id")


def pressed(body: Json, identity: Identity) -> Pressed:
    """The one control of a block_actions payload."""
    action = body["actions"][0]
    container = body.get("container") or {}
    channel = (body.get("channel") or {}).get("id") or container.get("channel_id")
    message = body.get("message") or {}
    return Pressed(
        user=str(body["user"]["id"]),
        action_id=action["action_id"],
        value=str(action.get("value") or ""),
        channel=str(channel or ""),
        ts=str(container.get("message_ts") or message.get("ts") or ""),
        private=container.get("is_ephemeral") is True,
        ours=_ours(message, identity),
        response_url=str(body.get("response_url") or ""),
    )


def _ours(message: Json, identity: Identity) -> bool:
    by_app = bool(identity.app) and message.get("app_id") == identity.app
    by_bot = message.get("bot_id") == identity.bot_id
    return by_app or by_bot


def typed(body: Json) -> Typed:
    """A slash command's fields."""
    user, trigger = str(body["user_id"]), str(body.get("trigger_id") or "")
    return Typed(
        user=user,
        channel=str(body["channel_id"]),
        command=str(body["command"]),
        text=str(body.get("text") or ""),
        response_url=str(body.get("response_url") or ""),
        delivery=f"command:{user}:{trigger}" if trigger else "",
    )
