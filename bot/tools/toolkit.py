"""Tools under their names: find one, run it, list them for a model (contract §6).

Which tools a run may call is policy's matter, and checking arguments against a
schema is done before; here every known tool runs with what it is given.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import Any, Self

from bot.contract.types import Tool, ToolContext, ToolResult
from bot.tools.define import POOL, failure, result_of
from bot.tools.question import question


class Toolkit:
    """Tools by name, in the order they came; the first of a name stays."""

    def __init__(
        self, tools: Iterable[Tool] = (), *, pool: Executor | None = None
    ) -> None:
        self._tools: dict[str, Tool] = {}
        self._pool = pool
        self.register(*tools)

    def register(self, *tools: Tool) -> Self:
        """Add tools whose names are still free."""
        for tool in tools:
            self._tools.setdefault(tool.name, tool)
        return self

    def tools(self) -> list[Tool]:
        """All tools, in order."""
        return list(self._tools.values())

    def get(self, name: str) -> Tool | None:
        """The tool of that name."""
        return self._tools.get(name)

    async def execute(
        self,
        name: str,
        args: dict[str, Any] | None = None,
        ctx: ToolContext | None = None,
    ) -> ToolResult:
        """Run a tool; whatever it raises, short of a cancel, is an error result."""
        tool = self.get(name)
        if tool is None:
            return ToolResult(f"Unknown tool: {name}", True)
        if args is not None and not isinstance(args, dict):
            return ToolResult(f"invalid arguments for {name}", True)
        before = POOL.set(self._pool or POOL.get())
        try:
            return result_of(name, await tool.execute(args or {}, ctx))
        except (Exception, SystemExit) as error:
            return failure(name, error)
        finally:
            POOL.reset(before)

    def skills_prompt(self) -> str:
        """Words for the system prompt: none, for there are no skills here."""
        return ""

    def to_openai(self) -> list[dict[str, Any]]:
        """The tools as an OpenAI request lists them."""
        return [
            {"type": "function", "function": _described(tool, "parameters")}
            for tool in self.tools()
        ]

    def to_anthropic(self) -> list[dict[str, Any]]:
        """The tools as an Anthropic request lists them."""
        return [_described(tool, "input_schema") for tool in self.tools()]

    def to_gemini(self) -> list[dict[str, Any]]:
        """The tools as a Gemini request lists them, in one element."""
        described = [_described(tool, "parameters") for tool in self.tools()]
        return [{"functionDeclarations": described}]

    async def close(self) -> None:
        """Tools are functions and hold nothing open; the pool is its maker's."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()


async def create_toolkit(
    extra_tools: Iterable[Tool] | None = None,
    builtins: bool | Mapping[str, Any] | None = None,
    *,
    pool: Executor | None = None,
) -> Toolkit:
    """A toolkit of these tools and the built-in `question`, unless it is dropped.

    `pool` is where plain functions run; without one, in asyncio's own.
    """
    extra = list(extra_tools or ())
    taken = {tool.name for tool in extra}
    own = [question] if _wants_question(builtins) else []
    # A built-in stands first, but gives way to a tool of the same name.
    return Toolkit([*(t for t in own if t.name not in taken), *extra], pool=pool)


def _wants_question(builtins: bool | Mapping[str, Any] | None) -> bool:
    if builtins is False:
        return False
    if not isinstance(builtins, Mapping):
        return True
    if builtins.get("disabled") is True or builtins.get("enabled") is False:
        return False
    tools = builtins.get("tools")
    return not (isinstance(tools, Mapping) and tools.get("question") is False)


def _described(tool: Tool, schema_key: str) -> dict[str, Any]:
    # A copy, since hooks may change what is sent, and consent covers the schema.
    return {
        "name": tool.name,
        "description": tool.description,
        schema_key: copy.deepcopy(tool.input_schema),
    }
