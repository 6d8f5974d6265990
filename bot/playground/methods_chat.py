"""The methods of `chat.*` and `reactions.*`, with Slack's refusals."""

import json
import re
from typing import Any

from bot.playground.blockkit import TEXT_SUM_MAX, message_problems, stored, text_sum
from bot.playground.calls import Call, Method, Refusal, invalid_arguments
from bot.playground.checks import length
from bot.playground.seed import BOT_USER, SLACKBOT, Channel, Json
from bot.playground.state import Workspace

TEXT_CUT = 40_000
UPDATE_TEXT_MAX = 4000
ATTACHMENTS_MAX = 100
# The cap exists and is not published; a third-party project assumes this number.
METADATA_BYTES = 8000
_EVENT_TYPE = re.compile(r"[A-Za-z0-9_]{1,50}", re.ASCII)


def checked_blocks(blocks: Any) -> list[Any]:
    """The blocks of a message as given, or the refusal Slack would send."""
    if blocks is None:
        return []
    if not isinstance(blocks, list) or not all(isinstance(b, dict) for b in blocks):
        raise Refusal("invalid_blocks_format")
    if not blocks:
        return []
    problems = message_problems(blocks)
    if problems:
        raise Refusal(
            "invalid_blocks",
            errors=[one.removeprefix("[ERROR] ") for one in problems],
            response_metadata={"messages": problems},
        )
    if text_sum(blocks) > TEXT_SUM_MAX:
        raise Refusal("msg_blocks_too_long")
    return blocks


def _post_message(call: Call) -> Json:
    channel = _destination(call)
    content = _content(call)
    thread_ts = _thread(call, channel)
    message = call.workspace.post(
        channel.id,
        BOT_USER,
        content["text"],
        blocks=content["blocks"],
        thread_ts=thread_ts,
        more=content["more"],
    )
    return {"channel": channel.id, "ts": message["ts"], "message": dict(message)}


def _post_ephemeral(call: Call) -> Json:
    user_id = call.need("user")
    channel = _destination(call, uninvited=False)
    content = _content(call)
    user = call.workspace.users.get(user_id)
    if user is None or user.deleted or user_id not in channel.members:
        raise Refusal("user_not_in_channel")
    message = call.workspace.whisper(
        channel.id,
        user_id,
        content["text"],
        blocks=content["blocks"],
        thread_ts=_thread(call, channel),
    )
    return {"message_ts": message["ts"]}


def _destination(call: Call, *, uninvited: bool = True) -> Channel:
    """Where to post: a channel the bot may write to, or the DM with a person."""
    workspace = call.workspace
    wanted = call.need("channel")
    if wanted in workspace.users:
        channel = _direct(workspace, wanted)
    else:
        channel = call.channel()
    if channel.is_im and not workspace.app.takes_direct_messages:
        raise Refusal("messages_tab_disabled")
    if channel.is_archived:
        raise Refusal("is_archived")
    open_to_all = uninvited and "chat:write.public" in workspace.scopes
    if BOT_USER not in channel.members and not open_to_all:
        raise Refusal("not_in_channel")
    return channel


def _direct(workspace: Workspace, user_id: str) -> Channel:
    user = workspace.users[user_id]
    if user.is_bot or user.deleted or user.is_stranger:
        raise Refusal("channel_not_found")
    return workspace.direct_channel(user_id)


def _content(call: Call) -> Json:
    if call.text("markdown_text") is not None:
        if call.text("text") is not None or call.data("blocks"):
            raise Refusal("markdown_text_conflict")
        raise invalid_arguments("markdown_text is not in the playground's list")
    attachments = _attachments(call)
    blocks = checked_blocks(call.data("blocks"))
    text = call.text("text") or ""
    if not (text or blocks or attachments):
        raise Refusal("no_text")
    more: Json = {}
    if attachments:
        more["attachments"] = attachments
    metadata = _metadata(call)
    if metadata:
        more["metadata"] = metadata
    return {"text": text[:TEXT_CUT], "blocks": blocks, "more": more}


def _attachments(call: Call) -> list[Any] | None:
    attachments = call.data("attachments")
    if attachments is None:
        return None
    if not isinstance(attachments, list):
        raise invalid_arguments("must provide an array: attachments")
    if len(attachments) > ATTACHMENTS_MAX:
        raise Refusal("too_many_attachments")
    return attachments


def _thread(call: Call, channel: Channel) -> str | None:
    """The root to reply to; a reply to a reply or to nothing is refused."""
    thread_ts = call.text("thread_ts")
    if thread_ts is None:
        return None
    root = call.workspace.messages[channel.id].get(thread_ts)
    if root is None or root.get("thread_ts", thread_ts) != thread_ts:
        raise Refusal("cannot_reply_to_message")
    return thread_ts


def _metadata(call: Call) -> Json | None:
    """Metadata as given; `{}` means none."""
    metadata = call.data("metadata")
    if metadata is None:
        return None
    if metadata == {}:
        return {}
    if not isinstance(metadata, dict) or set(metadata) != {
        "event_type",
        "event_payload",
    }:
        raise Refusal("invalid_metadata_format")
    event_type, payload = metadata["event_type"], metadata["event_payload"]
    if not isinstance(event_type, str) or not isinstance(payload, dict):
        raise Refusal("invalid_metadata_format")
    if not _EVENT_TYPE.fullmatch(event_type) or not _fits_schema(payload):
        raise Refusal("invalid_metadata_schema")
    if len(json.dumps(metadata)) > METADATA_BYTES:
        raise Refusal("metadata_too_large")
    return metadata


def _fits_schema(payload: Json) -> bool:
    return all(_is_flat(one) or _is_level(one) for one in payload.values())


def _is_flat(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _is_level(value: Any) -> bool:
    if isinstance(value, list):
        return all(_is_flat(one) or isinstance(one, dict) for one in value) and all(
            _is_level(one) for one in value if isinstance(one, dict)
        )
    return isinstance(value, dict) and all(_is_flat(one) for one in value.values())


def _own_message(call: Call, ts_name: str, refusal: str) -> tuple[Channel, Json]:
    channel = call.channel()
    message = call.workspace.messages[channel.id].get(call.need(ts_name))
    if message is None or message["user"] == SLACKBOT:
        raise Refusal("message_not_found")
    if message["user"] != BOT_USER:
        raise Refusal(refusal)
    return channel, message


def _update(call: Call) -> Json:
    channel, message = _own_message(call, "ts", "cant_update_message")
    if channel.is_archived:
        raise Refusal("is_inactive")
    text, blocks = call.text("text"), call.data("blocks")
    attachments = _attachments(call)
    if text is None and not blocks and not attachments:
        raise Refusal("no_text")
    if text is not None and length(text) > UPDATE_TEXT_MAX:
        raise Refusal("msg_too_long")
    fields = _updated_blocks(message, text, blocks)
    if attachments is not None:
        fields["attachments"] = attachments or None
    metadata = _metadata(call)
    if metadata is not None:
        fields["metadata"] = metadata or None
    mark = text is not None and text != message["text"]
    if text is not None:
        fields["text"] = text
    call.workspace.edit(message, fields, mark=mark)
    return {
        "channel": channel.id,
        "ts": message["ts"],
        "text": message["text"],
        "message": dict(message),
    }


def _updated_blocks(message: Json, text: str | None, blocks: Any) -> Json:
    """Text alone removes the blocks; blocks alone leave the text."""
    if blocks is None:
        return {"blocks": None} if text is not None else {}
    checked = checked_blocks(blocks)
    was_rich = _has_rich_text(message.get("blocks", []))
    # The exact rule is not known; a rich_text block must stay one somewhere.
    if checked and was_rich and not _has_rich_text(checked):
        raise Refusal("block_mismatch")
    return {"blocks": stored(checked) or None}


def _has_rich_text(blocks: list[Json]) -> bool:
    return any(one["type"] == "rich_text" for one in blocks)


def _delete(call: Call) -> Json:
    channel, message = _own_message(call, "ts", "cant_delete_message")
    call.workspace.remove(channel.id, message["ts"])
    return {"channel": channel.id, "ts": message["ts"]}


def _permalink(call: Call) -> Json:
    ts = call.need("message_ts")
    channel = call.channel()
    if ts not in call.workspace.messages[channel.id]:
        raise Refusal("message_not_found")
    domain = call.workspace.domain
    link = f"https://{domain}.slack.com/archives/{channel.id}/p{ts.replace('.', '')}"
    return {"channel": channel.id, "permalink": link}


def _reacted(call: Call) -> tuple[Json, str, list[Json]]:
    channel = call.channel()
    name = call.need("name")
    message = call.workspace.messages[channel.id].get(call.need("timestamp"))
    if message is None:
        raise Refusal("message_not_found")
    reactions = [dict(one) for one in message.get("reactions", [])]
    return message, name, reactions


def _add_reaction(call: Call) -> Json:
    message, name, reactions = _reacted(call)
    same = [one for one in reactions if one["name"] == name]
    if any(BOT_USER in one["users"] for one in same):
        raise Refusal("already_reacted")
    users = [*(same[0]["users"] if same else []), BOT_USER]
    others = [one for one in reactions if one["name"] != name]
    added = {"name": name, "users": users, "count": len(users)}
    call.workspace.edit(message, {"reactions": [*others, added]}, mark=False)
    return {}


def _remove_reaction(call: Call) -> Json:
    message, name, reactions = _reacted(call)
    mine = [r for r in reactions if r["name"] == name and BOT_USER in r["users"]]
    if not mine:
        raise Refusal("no_reaction")
    users = [one for one in mine[0]["users"] if one != BOT_USER]
    left = [one for one in reactions if one["name"] != name]
    if users:
        left.append({"name": name, "users": users, "count": len(users)})
    call.workspace.edit(message, {"reactions": left or None}, mark=False)
    return {}


METHODS = {
    "chat.postMessage": Method(run=_post_message, scopes=("chat:write",)),
    "chat.postEphemeral": Method(run=_post_ephemeral, scopes=("chat:write",)),
    "chat.update": Method(run=_update, scopes=("chat:write",)),
    "chat.delete": Method(run=_delete, scopes=("chat:write",)),
    "chat.getPermalink": Method(run=_permalink),
    "reactions.add": Method(run=_add_reaction),
    "reactions.remove": Method(run=_remove_reaction),
}
