"""What a Slack payload says: which workspace, who, where, which control. Pure.

Everything here was signed by Slack and checked for its shape at the door; it is still
only a claim about which row is meant, never authority (slack-facts §1.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bot.ports import Identity, Tenant
from bot.slack.ids import REASON_BLOCK, REASON_FIELD

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
    home: bool  # on the Home tab of whoever pressed it
    ours: bool  # the message was posted by this app
    response_url: str
    trigger: str  # lets us open one form within seconds


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """A form that somebody filled in and sent off."""

    user: str
    callback_id: str
    token: str
    reason: str  # as it was typed
    block: str  # where an error can be shown; "" when there is no such place


@dataclass(frozen=True, kw_only=True)
class Typed:
    """One slash command."""

    user: str
    channel: str
    command: str
    text: str
    response_url: str
    delivery: str  # names this very command: a repeat has the same


@dataclass(frozen=True, kw_only=True)
class Mentioned:
    """Somebody named the app in a message."""

    user: str
    channel: str
    text: str
    thread: str  # ts of the thread it belongs to, or that it may begin
    event: str  # names this very event: a repeat has the same


def mentioned(body: Json) -> Mentioned | None:
    """An app_mention of a person; None for one of another app, or without a place."""
    event = body.get("event") or {}
    fields = {key: event.get(key) for key in ("user", "channel", "ts")}
    if event.get("bot_id") or not all(isinstance(v, str) for v in fields.values()):
        return None
    return Mentioned(
        user=str(fields["user"]),
        channel=str(fields["channel"]),
        text=str(event.get("text") or ""),
        thread=str(event.get("thread_ts") or fields["ts"]),
        event=str(body.get("event_id") or fields["ts"]),
    )


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
        home=_is_home(container, body.get("view") or {}),
        ours=_ours(message, identity),
        response_url=str(body.get("response_url") or ""),
        trigger=str(body.get("trigger_id") or ""),
    )


def submitted(body: Json) -> Submitted:
    """The form of a view_submission payload."""
    view = body["view"]
    fields = view["state"]["values"].get(REASON_BLOCK)
    typed = (fields or {}).get(REASON_FIELD, {}).get("value")
    return Submitted(
        user=str(body["user"]["id"]),
        callback_id=view["callback_id"],
        token=view["private_metadata"],
        reason=typed if isinstance(typed, str) else "",
        block=REASON_BLOCK if fields is not None else "",
    )


def home_opened(body: Json) -> str:
    """Who opened the Home tab; "" when it was another tab of the app."""
    event = body.get("event") or {}
    user = event.get("user")
    return user if event.get("tab") == "home" and isinstance(user, str) else ""


def _is_home(container: Json, view: Json) -> bool:
    return container.get("type") == "view" and view.get("type") == "home"


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
