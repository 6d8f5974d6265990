"""What an administrator does in a workspace, for scripts and tests.

People, groups, channels, and the app itself: its token revoked, or uninstalled.
"""

from bot.playground.deliver import Carrier
from bot.playground.payloads import (
    membership_event,
    revoked_event,
    subscription,
    uninstalled_event,
)
from bot.playground.seed import BOT_USER, Json
from bot.playground.state import REVOKED, UNINSTALLED, Workspace


class Administrator:
    """The part of the playground that changes who and what is there."""

    def __init__(self, workspace: Workspace, carrier: Carrier) -> None:
        self.workspace = workspace
        self._carrier = carrier

    def deactivate(self, user_id: str) -> None:
        """Deactivate a person."""
        self.workspace.set_user(user_id, deleted=True)

    def set_group_members(self, group_id: str, *user_ids: str) -> None:
        """Say who is in a user group."""
        self.workspace.set_group(group_id, users=user_ids)

    def archive(self, channel_id: str) -> None:
        """Archive a channel."""
        self.workspace.set_channel(channel_id, is_archived=True)

    def invite(self, channel_id: str, user_id: str = BOT_USER) -> None:
        """Put somebody, by default the bot, into a channel."""
        workspace = self.workspace
        members = workspace.channels[channel_id].members
        if user_id in members:
            return
        workspace.set_channel(channel_id, members=(*members, user_id))
        channel = workspace.channels[channel_id]
        event = membership_event(channel, user_id, workspace.next_ts())
        if BOT_USER in channel.members and self._subscribed(event):
            self._carrier.announce(event)

    def kick(self, channel_id: str, user_id: str = BOT_USER) -> None:
        """Take somebody, by default the bot, out of a channel."""
        members = self.workspace.channels[channel_id].members
        left = tuple(one for one in members if one != user_id)
        self.workspace.set_channel(channel_id, members=left)

    async def revoke_tokens(self) -> Json:
        """Revoke the bot's token, and tell the app if it wants to know."""
        self.workspace.refuse_token(REVOKED)
        return await self._tell(revoked_event(self.workspace.next_ts()))

    async def uninstall(self) -> Json:
        """Take the app out of the workspace; both its events are sent."""
        self.workspace.refuse_token(UNINSTALLED)
        told = await self._tell(revoked_event(self.workspace.next_ts()))
        last = await self._tell(uninstalled_event(self.workspace.next_ts()))
        return last if "delivery" in last else told

    async def _tell(self, event: Json) -> Json:
        if not self._subscribed(event):
            return {"ok": True}
        return (await self._carrier.event(event)).outcome()

    def _subscribed(self, event: Json) -> bool:
        return subscription(event) in self.workspace.app.events
