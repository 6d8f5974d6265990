"""What Slack sends, as data: slash commands, interactions and events.

Pure functions of the workspace, but for the trigger and response URL each of them
brings along, which are made by the caller.
"""

import secrets
from typing import Any

from bot.playground.controls import Values, state_values
from bot.playground.seed import (
    APP_ID,
    BOT_ID,
    BOT_USER,
    TEAM_ID,
    Channel,
    Json,
)
from bot.playground.state import Workspace


def channel_name(channel: Channel) -> str:
    """A channel's name as payloads carry it."""
    if channel.is_im:
        return "directmessage"
    return "privategroup" if channel.is_private else channel.name


def command_form(
    workspace: Workspace,
    user_id: str,
    channel: Channel,
    words: tuple[str, str],
    urls: Json,
) -> dict[str, str]:
    """The form of a slash command; `words` are the command and its text."""
    user = workspace.users[user_id]
    return {
        "token": workspace.app.verification_token,
        "team_id": TEAM_ID,
        "team_domain": workspace.domain,
        "channel_id": channel.id,
        "channel_name": channel_name(channel),
        "user_id": user_id,
        "user_name": user.name,
        "command": words[0],
        "text": words[1],
        "api_app_id": APP_ID,
        "is_enterprise_install": "false",
        "response_url": urls["response_url"],
        "trigger_id": urls["trigger_id"],
    }


def interaction(workspace: Workspace, kind: str, user_id: str) -> Json:
    """The fields that every interaction payload has."""
    user = workspace.users[user_id]
    return {
        "type": kind,
        "team": {"id": TEAM_ID, "domain": workspace.domain},
        "user": {
            "id": user.id,
            "username": user.name,
            "name": user.name,
            "team_id": user.team_id,
        },
        "api_app_id": APP_ID,
        "token": workspace.app.verification_token,
        "enterprise": None,
        "is_enterprise_install": False,
    }


def in_message(
    channel: Channel, message: Json, given: Values, *, private: bool
) -> Json:
    """The part of block_actions that tells of the message it comes from."""
    container = {
        "type": "message",
        "message_ts": message["ts"],
        "channel_id": channel.id,
        "is_ephemeral": private,
    }
    thread_ts = message.get("thread_ts")
    if thread_ts is not None and thread_ts != message["ts"]:
        container["thread_ts"] = thread_ts
    part: Json = {
        "container": container,
        "channel": {"id": channel.id, "name": channel_name(channel)},
        "state": {"values": state_values(message.get("blocks", []), given)},
    }
    if private:
        shown = {"type": "message", "ts": message["ts"], "app_id": APP_ID}
        return part | {"message": shown}
    return part | {"message": message}


def in_view(view: Json) -> Json:
    """The part of block_actions that tells of the view it comes from."""
    return {"container": {"type": "view", "view_id": view["id"]}, "view": view}


def action(block: Json, element: Json, held: Json, at: str) -> Json:
    """One entry of `actions`."""
    entry: Json = {
        "type": element["type"],
        "action_id": element["action_id"],
        "block_id": block["block_id"],
        "action_ts": at,
        **held,
    }
    if element["type"] == "button":
        entry["text"] = element["text"]
    return entry


def event_callback(workspace: Workspace, event: Json) -> Json:
    """The envelope around an event."""
    return {
        "token": workspace.app.verification_token,
        "team_id": TEAM_ID,
        "context_team_id": TEAM_ID,
        "context_enterprise_id": None,
        "api_app_id": APP_ID,
        "type": "event_callback",
        "event_id": f"Ev0{secrets.token_hex(5).upper()}",
        "event_time": int(workspace.clock()),
        "is_ext_shared_channel": False,
        "authorizations": [
            {
                "enterprise_id": None,
                "team_id": TEAM_ID,
                "user_id": BOT_USER,
                "is_bot": True,
                "is_enterprise_install": False,
            }
        ],
        "event": event,
    }


def message_events(channel: Channel, message: Json, mentioned: bool) -> list[Json]:
    """The events that a new message may cause, before subscriptions are looked at."""
    if BOT_USER not in channel.members:
        return []
    kinds = {"im": "im", "groups": "group", "channels": "channel"}
    shared: dict[str, Any] = {
        **message,
        "channel": channel.id,
        "event_ts": message["ts"],
    }
    found = [shared | {"channel_type": kinds[channel.family]}]
    # In a direct message, and of the bot's own messages, Slack sends no app_mention.
    if mentioned and not channel.is_im and message.get("bot_id") != BOT_ID:
        found.append({**shared, "type": "app_mention"})
    return found


def membership_event(channel: Channel, user_id: str, at: str) -> Json:
    """The event of somebody who has joined a channel."""
    return {
        "type": "member_joined_channel",
        "user": user_id,
        "channel": channel.id,
        "channel_type": "G" if channel.is_private else "C",
        "team": TEAM_ID,
        "event_ts": at,
    }


def revoked_event(at: str) -> Json:
    """The event of a bot token that is no longer good."""
    return {
        "type": "tokens_revoked",
        "tokens": {"oauth": [], "bot": [BOT_USER]},
        "event_ts": at,
    }


def uninstalled_event(at: str) -> Json:
    """The event of an app that was taken out of the workspace."""
    return {"type": "app_uninstalled", "event_ts": at}


def subscription(event: Json) -> str:
    """The name under which an app subscribes to an event."""
    if event["type"] == "message":
        kind = event["channel_type"]
        return {"channel": "message.channels", "group": "message.groups"}.get(
            kind, "message.im"
        )
    return str(event["type"])
