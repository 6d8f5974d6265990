"""The Home tab: drawn when somebody opens it, and again when something in it changes.

Drawn from the store each time, for one person, whose controls work for nobody else. It
is never blank: whatever goes wrong, the page says so. Only what was drawn in the last
hour is kept in mind, and only to draw it again.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any

import structlog

from bot.core.policy import may_start, needs_of
from bot.engine.inbox import asked_by, decided_lately, waiting_for
from bot.engine.parts import new_ref
from bot.engine.starting import Wanted
from bot.slack.handlers.services import Services
from bot.slack.handlers.starts import Starts
from bot.slack.ids import HELLO, home_signer
from bot.slack.payloads import home_opened, same_installation
from bot.slack.render import home, starting
from bot.slack.render.lists import Listed
from bot.slack.render.message import Message
from bot.tools.arguments import Arguments, read_arguments

log = structlog.get_logger(__name__)

#: How long finding people out may take: nobody waits for an acknowledgement here.
LOOKUPS = 5.0
#: How long an opened tab is kept true, in seconds, and of how many people.
KEPT, MOST_KEPT = 3_600.0, 1_000


@dataclass(kw_only=True)
class _Tab:
    """What somebody looks at: which runs are in it, and what was said last."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    until: float = 0.0
    runs: frozenset[str] = frozenset()
    said: Message | None = None
    due: bool = False  # it is to be drawn anew, and that has not begun


class Home:
    """The listener for app_home_opened, and all that draws the tab."""

    def __init__(self, services: Services, starts: Starts) -> None:
        self._services = services
        self._starts = starts
        self._tabs: dict[str, _Tab] = {}

    async def opened(self, ack: Any, body: dict[str, Any]) -> None:
        """Acknowledge, then draw; nothing is stored."""
        user = home_opened(body)
        await ack()
        if user and same_installation(body, self._services.identity):
            self.show(user)

    async def busy(self, body: dict[str, Any], ack: Any) -> None:
        """There is nothing to apologise for: the tab stays as it was."""
        await ack()

    def show(self, user: str, said: Message | None = None) -> None:
        """Draw somebody's tab; `said` stands on top of it until it is opened again."""
        tab = self._tab(user)
        tab.said = said
        tab.until = self._services.parts.clock.monotonic() + KEPT
        self._draw(user, tab)

    def changed(self, run: str) -> None:
        """A card of this run was drawn anew: so are the tabs that it is in."""
        now = self._services.parts.clock.monotonic()
        for user, tab in list(self._tabs.items()):
            if run in tab.runs and tab.until > now:
                self._draw(user, tab)

    async def hello(self, user: str, ref: str) -> Message:
        """*Try it: say hello*, as /tool hello does it; one button starts it once."""
        parts = self._services.parts
        tool = parts.tool(HELLO)
        given = read_arguments("", tool) if tool is not None else None
        if tool is None or not isinstance(given, Arguments):
            return starting.not_started("no_rule", tool=HELLO)
        wanted = Wanted(
            requester=user,
            channel=user,
            tool=tool,
            arguments=given.values,
            delivery=f"home:{ref}",
        )
        return await self._starts.tool(wanted)

    # -- drawing -----------------------------------------------------------------------

    def _tab(self, user: str) -> _Tab:
        if user not in self._tabs and len(self._tabs) >= MOST_KEPT:
            now = self._services.parts.clock.monotonic()
            self._tabs = {u: t for u, t in self._tabs.items() if t.until > now}
        return self._tabs.setdefault(user, _Tab())

    def _draw(self, user: str, tab: _Tab) -> None:
        if not tab.due:
            tab.due = True
            self._services.tasks.spawn(self._published(user, tab), "home")

    async def _published(self, user: str, tab: _Tab) -> None:
        # One after the other: an older picture never replaces a newer one (T24).
        async with tab.lock:
            tab.due = False
            said = tab.said
            try:
                page = await self._page(user, said)
                tab.runs, view = page.runs, home.view(page)
            except Exception:
                log.error("home_failed", user=user, exc_info=True)
                view = home.failed(said, self._services.parts.prefix)
            taken = await self._services.replies.published(user, view)
        if not taken and said is not None:
            await self._services.replies.tell(user, "", "", said)

    async def _page(self, user: str, said: Message | None) -> home.Page:
        services, parts = self._services, self._services.parts
        waiting, unsure = await waiting_for(parts, user, LOOKUPS)
        asked, count = await asked_by(parts, user, home.MOST)
        decided = await decided_lately(parts, user, home.MOST_DECIDED)
        blank = not (waiting or unsure or asked or decided)
        return home.Page(
            waiting=waiting,
            unsure=unsure,
            asked=[Listed(run=run, calls=calls) for run, calls in asked],
            asked_count=count,
            decided=decided,
            hello=new_ref() if blank and await self._may_say_hello(user) else "",
            sign=home_signer(services.controls, user),
            said=said,
            prefix=parts.prefix,
            version=services.version,
        )

    async def _may_say_hello(self, user: str) -> bool:
        parts = self._services.parts
        tool, rule = parts.tool(HELLO), parts.rule(HELLO)
        if tool is None or not isinstance(read_arguments("", tool), Arguments):
            return False
        facts = await parts.people.facts([user], needs_of([rule]), LOOKUPS)
        return may_start(rule, user, facts, parts.tenant.team).ok
