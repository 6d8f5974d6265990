"""What the engine works with, handed in by the assembly; and facts made from it.

No state of its own: the rows are the truth.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeVar

from bot.contract.types import Tool
from bot.core.digest import call_digest, canonical, definition_digest, rule_digest
from bot.core.policy import Rule, rule_for
from bot.ports import (
    Budget,
    CallRow,
    Clock,
    Courier,
    Model,
    People,
    RequestRow,
    Store,
    Tenant,
    Tx,
)
from bot.tools.toolkit import Toolkit

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Parts:
    """The ports, the policy and the tools of one running bot."""

    store: Store
    people: People
    courier: Courier
    clock: Clock
    tenant: Tenant
    rules: tuple[Rule, ...]
    toolkit: Toolkit
    prefix: str = ""  # of the commands that people type
    model: Model | None = None  # None: only direct calls can be started
    budget: Budget = field(default_factory=Budget)

    def rule(self, tool: str) -> Rule | None:
        """Today's rule for a tool."""
        return rule_for(self.rules, tool)

    def tool(self, name: str) -> Tool | None:
        """A tool that a rule other than `deny` matches; all others do not exist."""
        rule = self.rule(name)
        return None if rule is None or rule.gate == "deny" else self.toolkit.get(name)

    def offered(self) -> list[Tool]:
        """Every tool that may be run at all, in the order of the modules (T51)."""
        return [t for t in self.toolkit.tools() if self.tool(t.name) is not None]


def definition(tool: Tool) -> str:
    """The definition digest of a tool as it is loaded now."""
    return definition_digest(
        name=tool.name,
        source=tool.source,
        input_schema=tool.input_schema,
        version=tool.traits.version,
    )


@lru_cache(maxsize=1024)
def digest_of_rule(rule: Rule) -> str:
    """The rule digest; the same few rules are asked for again and again."""
    return rule_digest(rule.to_json())


def acting(tool: Tool, requester: str) -> str:
    """Whose account the tool uses: "bot", or "requester U…"."""
    return f"requester {requester}" if tool.traits.acts_as == "requester" else "bot"


def consent_digest(
    request: RequestRow, call: CallRow, definition_now: str, acting_now: str
) -> str:
    """The call digest as the stored rows and the loaded tool give it now."""
    return call_digest(
        enterprise=request.tenant.enterprise,
        team=request.tenant.team,
        run=request.run,
        turn=request.turn,
        ordinal=request.ordinal,
        tool=call.tool,
        definition=definition_now,
        arguments=call.arguments,
        acting=acting_now,
        kind=request.kind,
        prompt=request.prompt,
        data=request.data,
        url=request.url,
        expiry=request.expiry,
        rule=digest_of_rule(request.rule),
    )


def unchanged(parts: Parts, request: RequestRow, call: CallRow, requester: str) -> bool:
    """Whether what would run now is what the digest was made of (T26, T34)."""
    tool = parts.tool(call.tool)
    if tool is None:
        return False
    now = consent_digest(request, call, definition(tool), acting(tool, requester))
    return secrets.compare_digest(now, request.call_digest)


def complete(tool: Tool, given: Mapping[str, Any]) -> str:
    """The canonical arguments of a call: what is left out runs as well, so it is there.

    `NotCanonical` when there is no such text.
    """
    return canonical({**tool.traits.defaults, **given})


def new_ref() -> str:
    """128 random bits in base64url: 22 characters."""
    return base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")


async def committed(parts: Parts, unit: Callable[[Tx], T], deadline: float | None) -> T:
    """Commit a unit for somebody who waits; a caller that runs out of time learns
    how it ended all the same.

    A unit that was begun is always awaited, so nobody is told "busy" about a vote that
    counts; one that was not begun by the deadline raises `StoreBusy` (design §6).
    """
    task = asyncio.ensure_future(parts.store.write(unit, deadline))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        return await task
