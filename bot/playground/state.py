"""The workspace as it is now: one object, and one way to change it.

Messages, ephemerals, notifications, triggers, response URLs, and what scripts may
do to people, groups and channels. Views are in `views.py`; nothing here knows HTTP.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from bot.playground.blockkit import stored
from bot.playground.notify import told
from bot.playground.seed import (
    APP_ID,
    BOT_ID,
    BOT_NAME,
    BOT_USER,
    SLACKBOT,
    TEAM_ID,
    App,
    Channel,
    Clock,
    Group,
    Json,
    Seed,
    User,
)

TRIGGER_SECONDS = 3.0
RETURN_SECONDS = 30 * 60.0
RETURN_USES = 5
TICKET_SECONDS = 30.0
# What calls with a token that is no longer good are answered.
UNINSTALLED = "account_inactive"
REVOKED = "token_revoked"


@dataclass(frozen=True, kw_only=True)
class Trigger:
    """A trigger id: who made it, when, and whether it was spent."""

    user: str
    created: float
    used: bool = False


@dataclass(frozen=True, kw_only=True)
class ReturnPath:
    """A response URL: what it belongs to, when it was made, how often it was used."""

    channel: str
    user: str
    created: float
    ts: str | None = None
    is_ephemeral: bool = False
    uses: int = 0


class Workspace:
    """People, channels, messages and views; everything is kept in memory."""

    def __init__(self, seed: Seed, app: App, clock: Clock) -> None:
        self.app = app
        self.clock = clock
        self.version = 0
        self._seed = seed
        self._last_ts = 0
        self._listeners: list[Callable[[], None]] = []
        self.on_bot_post: Callable[[str, Json], None] | None = None
        self.socket_url = ""
        self._load(seed)

    def _load(self, seed: Seed) -> None:
        bot = User(
            id=BOT_USER,
            name=BOT_NAME,
            real_name=BOT_NAME,
            display_name=BOT_NAME,
            is_bot=True,
        )
        self.domain = seed.team_domain
        self.scopes = self.app.scopes(seed.optional_scopes)
        self.users: dict[str, User] = {one.id: one for one in (*seed.users, bot)}
        self.groups: dict[str, Group] = {one.id: one for one in seed.usergroups}
        self.channels: dict[str, Channel] = {one.id: one for one in seed.channels}
        self.messages: dict[str, dict[str, Json]] = {one: {} for one in self.channels}
        self.ephemerals: dict[str, list[Json]] = {}
        self.notifications: dict[str, list[Json]] = {}
        self.views: dict[str, list[Json]] = {}
        self.home: dict[str, Json] = {}
        self.inputs: dict[tuple[str, str], dict[str, Json]] = {}
        self.triggers: dict[str, Trigger] = {}
        self.return_paths: dict[str, ReturnPath] = {}
        self.tickets: dict[str, float] = {}
        # Set when the app is uninstalled or its token revoked: what calls are told.
        self.refuses_token: str | None = None

    @property
    def installed(self) -> bool:
        """Whether the app is still in the workspace."""
        return self.refuses_token != UNINSTALLED

    @contextmanager
    def change(self) -> Iterator[None]:
        """The one way to change the workspace: whoever watches is told afterwards."""
        yield
        self.version += 1
        for listener in list(self._listeners):
            listener()

    @contextmanager
    def watched(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call `listener` after every change while the block runs."""
        self._listeners.append(listener)
        try:
            yield
        finally:
            self._listeners.remove(listener)

    def reset(self) -> None:
        """Go back to the seed; time stamps go on rising."""
        with self.change():
            self._load(self._seed)

    def next_ts(self) -> str:
        """A time stamp above every earlier one."""
        self._last_ts = max(self._last_ts + 1, int(self.clock() * 1_000_000))
        seconds, micros = divmod(self._last_ts, 1_000_000)
        return f"{seconds}.{micros:06d}"

    # Messages

    def post(
        self,
        channel_id: str,
        author: str,
        text: str,
        *,
        blocks: list[Any] | None = None,
        thread_ts: str | None = None,
        more: Json | None = None,
    ) -> Json:
        """Add a message to a channel and tell those who are to be told."""
        message = self._message(author, text, blocks or [], thread_ts) | (more or {})
        timeline = self.messages[channel_id]
        thread = self.thread(channel_id, thread_ts) if thread_ts else []
        with self.change():
            timeline[message["ts"]] = message
            if thread_ts and thread_ts in timeline:
                root = timeline[thread_ts]
                root["thread_ts"] = thread_ts
                root["reply_count"] = root.get("reply_count", 0) + 1
            self._notify(channel_id, message, thread)
        if author == BOT_USER and self.on_bot_post is not None:
            self.on_bot_post(channel_id, message)
        return message

    def _message(
        self, author: str, text: str, blocks: list[Any], thread_ts: str | None
    ) -> Json:
        message: Json = {
            "type": "message",
            "user": author,
            "ts": self.next_ts(),
            "text": text,
            "team": TEAM_ID,
        }
        if blocks:
            message["blocks"] = stored(blocks)
        if author == BOT_USER:
            message |= {"bot_id": BOT_ID, "app_id": APP_ID}
        if thread_ts:
            message["thread_ts"] = thread_ts
        return message

    def _notify(self, channel_id: str, message: Json, thread: list[Json]) -> None:
        reasons = told(message, self.channels[channel_id], thread, self.groups)
        for user_id, why in reasons.items():
            if user_id in self.users and not self.users[user_id].is_bot:
                entry = {
                    "text": message["text"],
                    "why": why,
                    "channel": channel_id,
                    "ts": message["ts"],
                }
                self.notifications.setdefault(user_id, []).append(entry)

    def thread(self, channel_id: str, root: str) -> list[Json]:
        """A thread's root and its replies, oldest first."""
        return [
            one
            for ts, one in self.messages[channel_id].items()
            if ts == root or one.get("thread_ts") == root
        ]

    def edit(self, message: Json, fields: Json, *, mark: bool) -> None:
        """Replace fields of a stored message; a field of None is taken away."""
        with self.change():
            for name, value in fields.items():
                if value is None:
                    message.pop(name, None)
                else:
                    message[name] = value
            if mark:
                message["edited"] = {"user": message["user"], "ts": self.next_ts()}

    def remove(self, channel_id: str, ts: str) -> None:
        """Delete a message; the root of a thread leaves a tombstone."""
        timeline = self.messages[channel_id]
        with self.change():
            if len(self.thread(channel_id, ts)) > 1:
                timeline[ts] = {
                    "type": "message",
                    "subtype": "tombstone",
                    "user": SLACKBOT,
                    "ts": ts,
                    "thread_ts": ts,
                    "text": "This message was deleted.",
                }
            else:
                del timeline[ts]

    # Ephemerals: per person, in no history

    def whisper(
        self,
        channel_id: str,
        user_id: str,
        text: str,
        *,
        blocks: list[Any] | None = None,
        author: str = BOT_USER,
        thread_ts: str | None = None,
    ) -> Json:
        """Show a message to one person only."""
        message = self._message(author, text, blocks or [], thread_ts)
        message["channel"] = channel_id
        with self.change():
            self.ephemerals.setdefault(user_id, []).append(message)
        return message

    def whispered(self, user_id: str, ts: str) -> Json | None:
        """The ephemeral message that a person sees, if it is still there."""
        for one in self.ephemerals.get(user_id, []):
            if one["ts"] == ts:
                return one
        return None

    def hush(self, user_id: str, ts: str) -> None:
        """Take an ephemeral message away."""
        with self.change():
            self.ephemerals[user_id] = [
                one for one in self.ephemerals.get(user_id, []) if one["ts"] != ts
            ]

    # Triggers and response URLs

    def new_trigger(self, user_id: str) -> str:
        """A trigger id for something that a person has just done."""
        trigger_id = f"{secrets.randbelow(10**10)}.77.{secrets.token_hex(16)}"
        with self.change():
            self.triggers[trigger_id] = Trigger(user=user_id, created=self.clock())
        return trigger_id

    def spend_trigger(self, trigger_id: str) -> str | Trigger:
        """The trigger, now spent, or the code with which Slack refuses it."""
        trigger = self.triggers.get(trigger_id)
        if trigger is None:
            return "invalid_trigger_id"
        if trigger.used:
            return "exchanged_trigger_id"
        if self.clock() - trigger.created > TRIGGER_SECONDS:
            return "expired_trigger_id"
        with self.change():
            self.triggers[trigger_id] = replace(trigger, used=True)
        return trigger

    def new_return_path(
        self,
        channel_id: str,
        user_id: str,
        *,
        ts: str | None = None,
        is_ephemeral: bool = False,
    ) -> str:
        """The random end of a response URL."""
        name = secrets.token_urlsafe(18)
        with self.change():
            self.return_paths[name] = ReturnPath(
                channel=channel_id,
                user=user_id,
                created=self.clock(),
                ts=ts,
                is_ephemeral=is_ephemeral,
            )
        return name

    def use_return_path(self, name: str) -> str | ReturnPath:
        """The context of a response URL, used once more, or why it is spent."""
        path = self.return_paths.get(name)
        if path is None:
            return "invalid_url"
        if self.clock() - path.created > RETURN_SECONDS:
            return "expired_url"
        if path.uses >= RETURN_USES:
            return "used_url"
        with self.change():
            self.return_paths[name] = replace(path, uses=path.uses + 1)
        return path

    def new_ticket(self) -> str:
        """The right to open one connection."""
        name = secrets.token_urlsafe(18)
        self.tickets[name] = self.clock()
        return name

    def use_ticket(self, name: str) -> bool:
        """Whether a ticket was good; it is not any more."""
        made = self.tickets.pop(name, None)
        return made is not None and self.clock() - made <= TICKET_SECONDS

    def refuse_token(self, code: str) -> None:
        """From now on refuse the bot's token with this code."""
        with self.change():
            self.refuses_token = code

    # People, groups and channels

    def direct_channel(self, user_id: str) -> Channel:
        """The direct message channel of the bot with a person, opened if need be."""
        channel_id = f"D{user_id[1:]}"
        if channel_id not in self.channels:
            with self.change():
                self.channels[channel_id] = Channel(
                    id=channel_id,
                    name="directmessage",
                    members=(user_id, BOT_USER),
                    is_im=True,
                )
                self.messages[channel_id] = {}
        return self.channels[channel_id]

    def set_user(self, user_id: str, **fields: Any) -> None:
        """Change fields of a person: `deleted=True` deactivates them."""
        with self.change():
            self.users[user_id] = replace(self.users[user_id], **fields)

    def set_group(self, group_id: str, **fields: Any) -> None:
        """Change fields of a user group, its members for instance."""
        with self.change():
            self.groups[group_id] = replace(self.groups[group_id], **fields)

    def set_channel(self, channel_id: str, **fields: Any) -> None:
        """Change fields of a channel: `is_archived=True` archives it."""
        with self.change():
            self.channels[channel_id] = replace(self.channels[channel_id], **fields)

    def add_user(self, user: User) -> None:
        """Let another person into the workspace."""
        with self.change():
            self.users[user.id] = user

    def add_channel(self, channel: Channel) -> None:
        """Make another channel."""
        with self.change():
            self.channels[channel.id] = channel
            self.messages[channel.id] = {}
