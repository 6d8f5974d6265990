"""Starting something for somebody, and what they are told: however they asked for it.

What starts is durable before the answer; the rest is woken and goes on by itself.
"""

from __future__ import annotations

from bot.engine.starting import Begun, Refused, Wanted, WantedRun, start, start_run
from bot.slack.handlers.services import Services
from bot.slack.render import starting
from bot.slack.render.message import Message


class Starts:
    """Starts direct calls and runs of the model."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def tool(self, wanted: Wanted) -> Message:
        """Call one tool."""
        services = self._services
        begun = await start(
            services.parts, wanted, services.lookups, services.deadline()
        )
        if isinstance(begun, Refused):
            return starting.not_started(
                begun.code,
                tool=begun.tool,
                rule=begun.rule,
                text=begun.text,
                user=wanted.requester,
            )
        self._go_on(begun)
        return starting.started(begun.view, begun.like)

    async def run(self, wanted: WantedRun) -> Message:
        """Ask the model for its first turn."""
        services = self._services
        begun = await start_run(
            services.parts, wanted, services.lookups, services.deadline()
        )
        if isinstance(begun, Refused):
            return starting.not_started(
                begun.code, text=begun.text, prefix=services.parts.prefix
            )
        self._go_on(begun)
        return starting.run_started(begun.view)

    def _go_on(self, begun: Begun) -> None:
        self._services.runner.wake(begun.view.run.id)
        self._services.parts.courier.wake()
