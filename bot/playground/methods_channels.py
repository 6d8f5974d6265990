"""The methods of `conversations.*`."""

from bot.playground.calls import Call, Method, Refusal, invalid_arguments
from bot.playground.methods_people import described, listed
from bot.playground.seed import BOT_USER, Channel, Json

HISTORY_MAX = 999


def _info(call: Call) -> Json:
    return {"channel": described(call.channel(right="read"))}


def _list(call: Call) -> Json:
    page, cursor = call.page(listed(call, None))
    return {
        "channels": [described(one) for one in page],
        "response_metadata": {"next_cursor": cursor},
    }


def _members(call: Call) -> Json:
    channel = call.channel(right="read")
    page, cursor = call.page(list(channel.members))
    return {"members": page, "response_metadata": {"next_cursor": cursor}}


def _readable(call: Call) -> Channel:
    channel = call.channel(right="history")
    if BOT_USER not in channel.members:
        raise Refusal("not_in_channel")
    return channel


def _shown(call: Call, message: Json) -> Json:
    """A message as history gives it: metadata in full only when asked for."""
    shown = dict(message)
    if "metadata" in shown and not call.flag("include_all_metadata"):
        shown["metadata"] = {"event_type": shown["metadata"]["event_type"]}
    return shown


def _within(call: Call, messages: list[Json]) -> list[Json]:
    oldest, latest = _moment(call, "oldest"), _moment(call, "latest")
    inclusive = call.flag("inclusive")
    kept = []
    for message in messages:
        at = _micros(message["ts"])
        after = oldest is None or at > oldest or (inclusive and at == oldest)
        before = latest is None or at < latest or (inclusive and at == latest)
        if after and before:
            kept.append(message)
    return kept


def _moment(call: Call, name: str) -> int | None:
    given = call.text(name)
    if given is None:
        return None
    try:
        return _micros(given)
    except ValueError as error:
        raise invalid_arguments(f"must be a timestamp: {name}") from error


def _micros(ts: str) -> int:
    seconds, _, micros = ts.partition(".")
    return int(seconds) * 1_000_000 + int(micros[:6].ljust(6, "0"))


def _history(call: Call) -> Json:
    channel = _readable(call)
    timeline = call.workspace.messages[channel.id].values()
    top = [one for one in timeline if one.get("thread_ts", one["ts"]) == one["ts"]]
    found = list(reversed(_within(call, top)))
    page, cursor = call.page(found, most=HISTORY_MAX)
    answer: Json = {
        "messages": [_shown(call, one) for one in page],
        "has_more": bool(cursor),
    }
    if cursor:
        answer["response_metadata"] = {"next_cursor": cursor}
    return answer


def _replies(call: Call) -> Json:
    channel = _readable(call)
    ts = call.need("ts")
    root = call.workspace.messages[channel.id].get(ts)
    if root is None:
        raise Refusal("thread_not_found")
    thread = call.workspace.thread(channel.id, root.get("thread_ts", ts))
    page, cursor = call.page([thread[0], *_within(call, thread[1:])], most=HISTORY_MAX)
    answer: Json = {
        "messages": [_shown(call, one) for one in page],
        "has_more": bool(cursor),
    }
    if cursor:
        answer["response_metadata"] = {"next_cursor": cursor}
    return answer


def _open(call: Call) -> Json:
    channel = call.channel() if call.text("channel") else _opened(call)
    shown = described(channel) if call.flag("return_im") else {"id": channel.id}
    return {"channel": shown}


def _opened(call: Call) -> Channel:
    users = call.names("users")
    if not users:
        raise Refusal("users_list_not_supplied")
    if len(users) > 1:
        raise Refusal("invalid_user_combination")
    user = call.workspace.users.get(users[0])
    if user is None or user.is_bot:
        raise Refusal("user_not_found")
    if user.deleted:
        raise Refusal("user_disabled")
    if user.is_stranger:
        raise Refusal("user_not_visible")
    return call.workspace.direct_channel(user.id)


def _join(call: Call) -> Json:
    channel = call.channel()
    if channel.is_private or channel.is_im:
        raise Refusal("method_not_supported_for_channel_type")
    if channel.is_archived:
        raise Refusal("is_archived")
    if BOT_USER in channel.members:
        return {"channel": described(channel), "warning": "already_in_channel"}
    call.workspace.set_channel(channel.id, members=(*channel.members, BOT_USER))
    return {"channel": described(call.workspace.channels[channel.id])}


METHODS = {
    "conversations.history": Method(run=_history),
    "conversations.info": Method(run=_info),
    "conversations.join": Method(run=_join),
    "conversations.list": Method(run=_list),
    "conversations.members": Method(run=_members),
    "conversations.open": Method(run=_open, scopes=("im:write",)),
    "conversations.replies": Method(run=_replies),
}
