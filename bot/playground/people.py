"""What people do in Slack's client: type, press, choose, submit, close, look at Home.

Each act is checked as the client would, sent to the app, and its answer carried out.
"""

from typing import Any

from bot.playground import views
from bot.playground.answers import take_command_answer, take_view_answer, warn
from bot.playground.calls import Refusal
from bot.playground.controls import (
    NotPossible,
    Values,
    chosen,
    client_problems,
    find,
)
from bot.playground.deliver import Carrier
from bot.playground.notify import mentions
from bot.playground.packet import Delivery
from bot.playground.payloads import (
    action,
    command_form,
    in_message,
    in_view,
    interaction,
    message_events,
    subscription,
)
from bot.playground.seed import BOT_USER, TEAM_ID, Channel, Json
from bot.playground.state import Workspace

_NOTHING_SENT: Json = {"ok": True}
_TROUBLE = "We had some trouble connecting. Try again?"


class People:
    """Acts on behalf of the people of a workspace."""

    def __init__(self, workspace: Workspace, carrier: Carrier) -> None:
        self.return_url = ""
        self._workspace = workspace
        self._carrier = carrier

    async def command(
        self, user_id: str, channel_id: str, command: str, text: str
    ) -> Json:
        """Type a slash command."""
        workspace = self._workspace
        channel = self._place(user_id, channel_id)
        self._app()
        if workspace.users[user_id].team_id != TEAM_ID:
            raise NotPossible("commands are for people of this workspace")
        if not any(one["command"] == command for one in workspace.app.commands):
            raise NotPossible(f"{command} is not a command of this app")
        path = workspace.new_return_path(channel.id, user_id)
        urls = {
            "response_url": self.return_url + path,
            "trigger_id": workspace.new_trigger(user_id),
        }
        form = command_form(workspace, user_id, channel, (command, text), urls)
        delivery = await self._carrier.command(form)
        outcome = delivery.outcome()
        if delivery.error is None:
            typed = f"{command} {text}".strip()
            outcome |= self._answered(channel.id, user_id, typed, delivery)
        if not outcome["ok"]:
            words = f'{command} failed with the error "{outcome["error"]}"'
            warn(workspace, channel.id, user_id, words)
        return outcome

    def _answered(
        self, channel_id: str, user_id: str, typed: str, delivery: Delivery
    ) -> Json:
        try:
            take_command_answer(
                self._workspace, channel_id, user_id, typed, delivery.body
            )
        except Refusal as refusal:
            return {
                "ok": False,
                "error": "invalid_command_response",
                "problems": refusal.body,
            }
        return {}

    async def message(
        self, user_id: str, channel_id: str, text: str, thread_ts: str | None = None
    ) -> Json:
        """Write a message, in a thread if there is a `thread_ts`."""
        workspace = self._workspace
        channel = self._place(user_id, channel_id)
        if channel.is_archived:
            raise NotPossible("this channel is archived")
        if not text:
            raise NotPossible("there is nothing to send")
        if thread_ts is not None:
            root = workspace.messages[channel.id].get(thread_ts)
            if root is None or root.get("thread_ts", thread_ts) != thread_ts:
                raise NotPossible("no such thread")
        message = workspace.post(channel.id, user_id, text, thread_ts=thread_ts)
        outcome: Json = {"ok": True, "ts": message["ts"]}
        for event in subscribed_events(workspace, channel.id, message):
            outcome |= (await self._carrier.event(event)).outcome()
        return outcome

    async def act(
        self,
        user_id: str,
        place: Json,
        action_id: str,
        block_id: str | None = None,
        value: Any = None,
    ) -> Json:
        """Press a button or change another element, in a message or a view.

        `place` holds `channel` and `ts`, or `view_id`.
        """
        self._person(user_id)
        self._app()
        if place.get("view_id") is not None:
            return await self._act_in_view(
                user_id, place["view_id"], (action_id, block_id), value
            )
        channel = self._place(user_id, place.get("channel", ""))
        ts = place.get("ts") or ""
        message = self._workspace.whispered(user_id, ts)
        private = message is not None and message["channel"] == channel.id
        if not private:
            message = self._workspace.messages[channel.id].get(ts)
        if message is None:
            raise NotPossible("no such message")
        block, element = find(message.get("blocks", []), action_id, block_id)
        held = chosen(element, value)
        given = self._remember(ts, user_id, block, element, held)
        if _only_typed(block):
            return _NOTHING_SENT
        part = in_message(channel, message, given, private=private)
        path = self._workspace.new_return_path(
            channel.id, user_id, ts=ts, is_ephemeral=private
        )
        part["response_url"] = self.return_url + path
        return await self._acted(user_id, part, self._entry(block, element, held))

    async def _act_in_view(
        self, user_id: str, view_id: str, ids: tuple[str, str | None], value: Any
    ) -> Json:
        view = self._own_view(user_id, view_id)
        block, element = find(view["blocks"], *ids)
        held = chosen(element, value)
        self._remember(view_id, user_id, block, element, held)
        views.refreshed(self._workspace, user_id, view)
        if _only_typed(block):
            return _NOTHING_SENT
        entry = self._entry(block, element, held)
        return await self._acted(user_id, in_view(view), entry)

    async def _acted(self, user_id: str, part: Json, entry: Json) -> Json:
        payload = interaction(self._workspace, "block_actions", user_id) | part
        payload["trigger_id"] = self._workspace.new_trigger(user_id)
        payload["actions"] = [entry]
        return (await self._carrier.interaction(payload)).outcome()

    def _entry(self, block: Json, element: Json, held: Json) -> Json:
        return action(block, element, held, self._workspace.next_ts())

    async def submit(self, user_id: str, view_id: str, values: Json) -> Json:
        """Fill a modal and submit it."""
        workspace = self._workspace
        self._app()
        view = self._top_view(user_id, view_id)
        self._fill(user_id, view, values)
        views.refreshed(workspace, user_id, view)
        problems = client_problems(view["blocks"], view["state"]["values"])
        if problems:
            words = "; ".join(f"{name}: {text}" for name, text in problems.items())
            raise NotPossible(words)
        payload = interaction(workspace, "view_submission", user_id)
        payload |= {
            "view": view,
            "trigger_id": workspace.new_trigger(user_id),
            "response_urls": [],
        }
        delivery = await self._carrier.interaction(payload)
        if delivery.error is not None:
            return delivery.outcome()
        try:
            errors = take_view_answer(workspace, user_id, view, delivery.body)
        except Refusal as refusal:
            trouble = {"ok": False, "error": _TROUBLE, "problems": refusal.body}
            return delivery.outcome() | trouble
        if errors:
            return delivery.outcome() | {"ok": False, "error": "view_errors"}
        return delivery.outcome()

    def _fill(self, user_id: str, view: Json, values: Json) -> None:
        for block_id, fields in values.items():
            if not isinstance(fields, dict):
                raise NotPossible(f"values of {block_id} must be an object")
            for action_id, value in fields.items():
                block, element = find(view["blocks"], action_id, block_id)
                held = chosen(element, value)
                self._remember(view["id"], user_id, block, element, held)

    async def close(self, user_id: str, view_id: str) -> Json:
        """Close a modal: the uppermost by *Cancel*, a root below others by its ✕."""
        workspace = self._workspace
        view = self._own_view(user_id, view_id)
        stack = workspace.views.get(user_id, [])
        if view not in stack:
            raise NotPossible("a Home view cannot be closed")
        whole = view is not stack[-1]
        if whole and view is not stack[0]:
            raise NotPossible("another view lies over this one")
        cleared = whole or view["clear_on_close"]
        if cleared:
            views.close_all(workspace, user_id)
        else:
            views.close_top(workspace, user_id)
        if not view["notify_on_close"] or not workspace.installed:
            return _NOTHING_SENT
        payload = interaction(workspace, "view_closed", user_id)
        payload |= {"view": view, "is_cleared": cleared}
        return (await self._carrier.interaction(payload)).outcome()

    async def open_home(self, user_id: str) -> Json:
        """Look at the app's Home tab."""
        workspace = self._workspace
        self._person(user_id)
        self._app()
        if not workspace.app.has_home:
            raise NotPossible("this app has no Home tab")
        event: Json = {
            "type": "app_home_opened",
            "user": user_id,
            "channel": workspace.direct_channel(user_id).id,
            "tab": "home",
            "event_ts": workspace.next_ts(),
        }
        if user_id in workspace.home:
            event["view"] = workspace.home[user_id]
        if "app_home_opened" not in workspace.app.events:
            return _NOTHING_SENT
        return (await self._carrier.event(event)).outcome()

    # What a person can see

    def _person(self, user_id: str) -> None:
        user = self._workspace.users.get(user_id)
        if user is None or user.is_bot:
            raise NotPossible(f"no such person: {user_id}")
        if user.deleted:
            raise NotPossible(f"{user.real_name} is deactivated")

    def _app(self) -> None:
        if not self._workspace.installed:
            raise NotPossible("the app is not installed any more")

    def _place(self, user_id: str, channel_id: str) -> Channel:
        self._person(user_id)
        if channel_id == f"D{user_id[1:]}":
            return self._workspace.direct_channel(user_id)
        channel = self._workspace.channels.get(channel_id)
        if channel is None or user_id not in channel.members:
            raise NotPossible(f"{user_id} is in no channel {channel_id}")
        return channel

    def _own_view(self, user_id: str, view_id: str) -> Json:
        found = views.find(self._workspace, view_id)
        if found is None or found[0] != user_id:
            raise NotPossible("no such view")
        return found[1]

    def _top_view(self, user_id: str, view_id: str) -> Json:
        view = self._own_view(user_id, view_id)
        stack = self._workspace.views.get(user_id, [])
        if not stack or view is not stack[-1]:
            raise NotPossible("this view is not the one in front")
        if view["submit"] is None:
            raise NotPossible("this view has no submit button")
        return view

    def _remember(
        self, surface: str, user_id: str, block: Json, element: Json, held: Json
    ) -> Values:
        workspace = self._workspace
        with workspace.change():
            given = workspace.inputs.setdefault((surface, user_id), {})
            if element["type"] not in ("button", "overflow"):
                given.setdefault(block["block_id"], {})[element["action_id"]] = held
        return given


def _only_typed(block: Json) -> bool:
    """Inputs keep what is typed to themselves unless they dispatch it."""
    return block["type"] == "input" and not block.get("dispatch_action", False)


def subscribed_events(
    workspace: Workspace, channel_id: str, message: Json
) -> list[Json]:
    """The events that the manifest subscribes to, of a new message."""
    if not workspace.installed:
        return []
    channel = workspace.channels[channel_id]
    found = mentions(message["text"], message.get("blocks", []))
    events = message_events(channel, message, BOT_USER in found.users)
    return [one for one in events if subscription(one) in workspace.app.events]
