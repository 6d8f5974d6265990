"""A function becomes a Tool: its schema from its signature, its outcome a result.

Contract §6. An exception of the function becomes an error result, cancelling goes
through. Plain functions run in a worker thread of the pool in `POOL`; whoever puts
the service together hands a toolkit that pool.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import typing
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import ContextVar, copy_context
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, overload

from bot.contract.types import ActsAs, Tool, ToolContext, ToolResult, Traits
from bot.errors import ContractError
from bot.tools.signature import (
    CONTEXTS,
    defaults,
    inferred_schema,
    named_parameters,
    unshown,
)

#: Where plain functions run; None is asyncio's own pool.
POOL: ContextVar[Executor | None] = ContextVar("tool_pool", default=None)

Function = Callable[..., Any]

_logger = logging.getLogger(__name__)


@overload
def define_tool(
    fn: Function,
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: dict[str, Any] | None = None,
    source: str = "native",
    idempotent: bool = False,
    version: str | None = None,
    acts_as: ActsAs = "bot",
) -> Tool: ...
@overload
def define_tool(
    fn: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: dict[str, Any] | None = None,
    source: str = "native",
    idempotent: bool = False,
    version: str | None = None,
    acts_as: ActsAs = "bot",
) -> Callable[[Function], Tool]: ...
def define_tool(
    fn: Function | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: dict[str, Any] | None = None,
    source: str = "native",
    idempotent: bool = False,
    version: str | None = None,
    acts_as: ActsAs = "bot",
) -> Tool | Callable[[Function], Tool]:
    """A Tool made of a function, directly or as a decorator."""

    def made(function: Function) -> Tool:
        known_as = name if name is not None else _own_name(function)
        parameters = named_parameters(known_as, function)
        contexts = tuple(key for key in CONTEXTS if key in parameters)
        return Tool(
            name=known_as,
            description=_summary(function) if description is None else description,
            input_schema=(
                inferred_schema(function, parameters)
                if input_schema is None
                else input_schema
            ),
            source=source,
            execute=_entry(known_as, function, contexts),
            traits=replace(
                _traits(known_as, idempotent, version, acts_as, bool(contexts)),
                defaults=defaults(parameters),
                unshown=unshown(parameters),
            ),
        )

    return made if fn is None else made(fn)


@overload
def tool(
    fn: Function,
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: dict[str, Any] | None = None,
    idempotent: bool = False,
    version: str | None = None,
    acts_as: ActsAs = "bot",
) -> Tool: ...
@overload
def tool(
    fn: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    input_schema: dict[str, Any] | None = None,
    idempotent: bool = False,
    version: str | None = None,
    acts_as: ActsAs = "bot",
) -> Callable[[Function], Tool]: ...
def tool(fn: Function | None = None, **keywords: Any) -> Any:
    """`define_tool` for a tool of this process, whose source is `native`."""
    if "source" in keywords:
        raise TypeError("tool() takes no source; use define_tool()")
    return define_tool(fn, **keywords)


def result_of(name: str, value: object) -> ToolResult:
    """What a tool returned, as a result: text, a ToolResult of any maker, or JSON."""
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, str):
        return ToolResult(value, False)
    output, is_error = getattr(value, "output", None), getattr(value, "is_error", None)
    if isinstance(output, str) and isinstance(is_error, bool):
        return ToolResult(
            output,
            is_error,
            getattr(value, "metadata", None),
            getattr(value, "parts", None),
        )
    try:
        return ToolResult(json.dumps(value, ensure_ascii=False, allow_nan=False), False)
    except (TypeError, ValueError, RecursionError):
        kind = type(value).__name__
        return ToolResult(f"{name} returned {kind} that JSON cannot express", True)


def failure(name: str, error: BaseException) -> ToolResult:
    """The error result for an exception that left a tool."""
    kind = type(error).__name__
    # Never its text: it may quote arguments, which do not belong in a log.
    event = {"event": "tool.raised", "tool": name, "error": kind, "at": _place(error)}
    _logger.info("a tool raised", extra=event)
    try:
        words = str(error)
    except Exception:
        words = ""
    if isinstance(error, SystemExit):
        return ToolResult(f"{kind}: {words}", True)
    return ToolResult(words or kind, True)


def _entry(
    name: str, function: Function, contexts: tuple[str, ...]
) -> Callable[..., Any]:
    """The coroutine function that enters `function` and never raises an Exception."""
    on_the_loop = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        type(function).__call__
    )

    async def execute(args: dict[str, Any], ctx: ToolContext | None = None) -> Any:
        try:
            clash = sorted(set(args) & set(contexts))
            if clash:
                return ToolResult(f"{name} takes no argument {clash[0]}", True)
            call = partial(function, **args, **dict.fromkeys(contexts, ctx))
            value = call() if on_the_loop else await _in_thread(name, call)
            if inspect.isawaitable(value):
                value = await value
        except (Exception, SystemExit) as error:
            return failure(name, error)
        return result_of(name, value)

    return execute


async def _in_thread(name: str, call: Callable[[], object]) -> object:
    """What a plain function gives, called in the pool with this task's context."""

    def outcome() -> object:
        # Caught in the thread: a StopIteration that reaches a future leaves its
        # waiter waiting for ever.
        try:
            return call()
        except (Exception, SystemExit) as error:
            return failure(name, error)

    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(POOL.get(), copy_context().run, outcome)


def _own_name(function: Function) -> str:
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        raise ContractError(f"{function!r} has no name of its own; give name=")
    return name


def _summary(function: Function) -> str:
    lines = inspect.cleandoc(function.__doc__ or "").splitlines()
    return lines[0] if lines else ""


def _traits(
    name: str, idempotent: bool, version: str | None, acts_as: ActsAs, takes: bool
) -> Traits:
    """Checked here because consent depends on them and modules are not type-checked."""
    if not isinstance(idempotent, bool):
        raise ContractError(f"{name}: idempotent must be True or False")
    if version is not None and not isinstance(version, str):
        raise ContractError(f'{name}: version must be a string, such as "3"')
    if acts_as not in typing.get_args(ActsAs):
        raise ContractError(f'{name}: acts_as must be "bot" or "requester"')
    return Traits(
        idempotent=idempotent, version=version, acts_as=acts_as, takes_context=takes
    )


def _place(error: BaseException) -> str:
    """File and line where an exception began, for the log."""
    trace = error.__traceback__
    if trace is None:
        return ""
    while trace.tb_next is not None:
        trace = trace.tb_next
    return f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
