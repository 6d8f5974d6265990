"""The slash commands: /run, /tool and those of the settings start something, /runs and
/approvals show what there is.

The private reply rides in the acknowledgement. What starts a run is durable before it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Awaitable, Callable
from typing import Any

from bot.bound import BoundCommand
from bot.contract.types import Tool
from bot.core.display import shown
from bot.core.policy import may_see, may_start, needs_of
from bot.engine.foreign import note_foreign
from bot.engine.inbox import rules_of, waiting_for
from bot.engine.parts import Parts
from bot.engine.reading import card_view
from bot.engine.starting import Wanted, WantedRun
from bot.ports import CallRow, CardView, RunRow, Tx
from bot.slack.handlers.services import Services
from bot.slack.handlers.starts import Starts
from bot.slack.payloads import Typed, claimed, same_installation, typed
from bot.slack.render import lists, starting
from bot.slack.render.message import Message, message
from bot.tools.arguments import Arguments, read_arguments, usage
from bot.tools.bound import prompt_words, tool_arguments
from bot.tools.words import Refused as NotTaken

#: How many of somebody's runs are looked at for /runs.
MOST_RUNS = 50
NUMBER = re.compile(r"(?:CS-)?(\d{1,9})(?:\.(\d{1,4}))?", re.IGNORECASE)

Reply = Callable[[Typed], Awaitable[Message]]


class Commands:
    """The listeners for slash commands."""

    def __init__(self, services: Services, starts: Starts) -> None:
        self._services = services
        self._starts = starts

    def listeners(self) -> dict[str, Callable[..., Awaitable[None]]]:
        """Command as it is typed -> listener."""
        prefix = self._services.parts.prefix
        ours: dict[str, Reply] = {
            "run": self._run,
            "tool": self._tool,
            "runs": self._runs,
            "approvals": self._approvals,
        }
        replies = {f"/{prefix}{name}": reply for name, reply in ours.items()}
        replies |= {one.name: self._bound(one) for one in self._services.bound}
        return {name: self._answering(reply) for name, reply in replies.items()}

    async def unknown(self, ack: Any, body: dict[str, Any]) -> None:
        """A command that an older manifest may still have."""
        tool = f"/{self._services.parts.prefix}tool"
        said = f"This command is not known here. {tool} lists what you can start."
        await ack(text=said)

    async def busy(self, body: dict[str, Any], ack: Any) -> None:
        """The command could not be recorded; nothing was started."""
        said = starting.busy()
        await ack(text=said.text, blocks=said.blocks)

    def _answering(self, reply: Reply) -> Callable[..., Awaitable[None]]:
        async def listen(ack: Any, body: dict[str, Any]) -> None:
            services, command = self._services, typed(body)
            if same_installation(body, services.identity):
                said = await reply(command)
            else:
                tenant, deadline = claimed(body), services.deadline()
                await note_foreign(services.parts, tenant, command.user, deadline)
                said = starting.not_here()
            await ack(text=said.text, blocks=said.blocks, response_type="ephemeral")

        return listen

    # -- /run --------------------------------------------------------------------------

    async def _run(self, command: Typed) -> Message:
        words = command.text.strip()
        if not words:
            return starting.run_usage(command.command)
        return await self._start_run(command, words)

    async def _start_run(self, command: Typed, words: str) -> Message:
        wanted = WantedRun(
            requester=command.user,
            channel=command.channel,
            words=words,
            delivery=command.delivery,
        )
        return await self._starts.run(wanted)

    # -- /tool -------------------------------------------------------------------------

    async def _tool(self, command: Typed) -> Message:
        words = command.text.split(None, 1)
        if not words:
            return await self._offers(command)
        name, rest = words[0], words[1] if len(words) > 1 else ""
        parts = self._services.parts
        tool = parts.tool(name)
        if tool is None:
            return self._no_tool(name, command.command)
        given = read_arguments(rest, tool, command.command)
        return await self._start(command, tool, given)

    async def _start(
        self, command: Typed, tool: Tool, given: Arguments | NotTaken
    ) -> Message:
        if not isinstance(given, Arguments):
            return message(shown(given.text))
        wanted = Wanted(
            requester=command.user,
            channel=command.channel,
            tool=tool,
            arguments=given.values,
            delivery=command.delivery,
        )
        return await self._starts.tool(wanted)

    def _no_tool(self, name: str, command: str) -> Message:
        parts = self._services.parts
        if parts.toolkit.get(name) is not None:
            denied = parts.rule(name) is not None
            return starting.not_started("denied" if denied else "no_rule", tool=name)
        offered = [tool.name for tool in parts.offered()]
        near = difflib.get_close_matches(name, offered, n=1)
        return starting.unknown_tool(name, near[0] if near else None, command)

    async def _offers(self, command: Typed) -> Message:
        """The tools that this person may start, each with its usage."""
        parts = self._services.parts
        tools = parts.offered()
        rules = [parts.rule(tool.name) for tool in tools]
        facts = await parts.people.facts(
            [command.user], needs_of(rules), self._services.lookups
        )
        return starting.tools(
            [
                starting.Offer(usage=usage(tool), about=tool.description)
                for tool, rule in zip(tools, rules, strict=True)
                if may_start(rule, command.user, facts, parts.tenant.team).ok
            ],
            command.command,
        )

    # -- the workspace's own -----------------------------------------------------------

    def _bound(self, bound: BoundCommand) -> Reply:
        """What to do when a command of the settings is typed."""

        async def reply(command: Typed) -> Message:
            if bound.tool is None:
                words = prompt_words(bound, command.text)
                if isinstance(words, NotTaken):
                    return message(shown(words.text))
                return await self._start_run(command, words)
            tool = self._services.parts.tool(bound.tool)
            if tool is None:
                return starting.not_started("no_rule", tool=bound.tool)
            given = tool_arguments(bound, tool, command.text)
            return await self._start(command, tool, given)

        return reply

    # -- /runs -------------------------------------------------------------------------

    async def _runs(self, command: Typed) -> Message:
        parts = self._services.parts

        def unit(tx: Tx) -> list[lists.Listed]:
            rows = parts.store.runs_of(tx, parts.tenant, command.user, MOST_RUNS)
            return [lists.Listed(run=row, calls=_calls(parts, tx, row)) for row in rows]

        found = await parts.store.read(unit)
        return lists.runs(found, self._services.sign, parts.prefix)

    # -- /approvals --------------------------------------------------------------------

    async def _approvals(self, command: Typed) -> Message:
        text = command.text.strip()
        if not text:
            services = self._services
            waiting, unsure = await waiting_for(
                services.parts, command.user, services.lookups
            )
            return lists.approvals(waiting, command.user, unsure=unsure)
        number = NUMBER.fullmatch(text)
        view = None
        if number is not None:
            view = await self._numbered(int(number[1]), int(number[2] or 1))
        if view is None or not await self._may_see(view, command.user):
            return lists.nothing_under(text)
        return lists.detail(view)

    async def _numbered(self, number: int, part: int) -> CardView | None:
        parts = self._services.parts

        def unit(tx: Tx) -> CardView | None:
            run = parts.store.run_numbered(tx, parts.tenant, number)
            if run is None:
                return None
            requests = parts.store.requests(tx, run.id)
            about = next((r.ref for r in requests if r.number == part), None)
            if about is None and (requests or part > 1):
                return None
            return card_view(parts, tx, run.id, about or "")

        return await parts.store.read(unit)

    async def _may_see(self, view: CardView, user: str) -> bool:
        """The requester, and whoever could have refused it, now."""
        parts = self._services.parts
        rules = rules_of(parts, view)
        facts = await parts.people.facts(
            [user], needs_of(rules), self._services.lookups
        )
        return any(
            may_see(rule, view.run.requester, user, facts, parts.tenant.team).ok
            for rule in rules
            if rule is not None
        )


def _calls(parts: Parts, tx: Tx, run: RunRow) -> list[CallRow]:
    return parts.store.calls(tx, run.id, run.state.turn)
