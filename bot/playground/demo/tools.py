"""The demo's tools. Nothing is restarted: each writes down what it would have done.

A tool is a function with `@tool` above it. Who may run it, and who must agree first,
is not its business: that stands in `policy.toml`.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

from bot import ToolContext, ToolResult, pending, tool


@tool
def restart(service: str, region: str = "eu") -> str:
    """Restart a service in a region."""
    # Here a real tool would call your cluster. When this line is reached, somebody has
    # agreed to exactly these arguments, and it is reached once.
    _done("restart", {"service": service, "region": region})
    return f"{service} in {region} restarted"


# `idempotent`: entering it twice does no harm, so after a crash in the middle it is
# entered again. Without it, people are asked whether it ran.
@tool(idempotent=True)
def status(service: str) -> str:
    """Say how a service is doing."""
    _done("status", {"service": service})
    return f"{service} is up"


# The one to try alone: harmless, so policy.toml lets Ada approve it for herself.
@tool
def hello(name: str = "world") -> str:
    """Say hello. It changes nothing."""
    _done("hello", {"name": name})
    return f"Hello, {name}."


# A tool can ask by itself, with any kind of question. It returns the question and ends;
# when somebody has answered, even days later, it is entered again with the answer.
@tool(idempotent=True)
def countdown(ctx: ToolContext | None = None) -> str | ToolResult:
    """Ask for a go, then launch."""
    if ctx is None or ctx.answer is None:
        return pending(
            kind="countdown",
            prompt="The rocket is ready. Press Done to let it go.",
            data={"from": 10, "rocket": "Countersign 1"},
        )
    _done("countdown", {})
    return "Lift-off"


def _done(name: str, args: dict[str, Any]) -> None:
    """Write down that the work is done, for the playground to show."""
    path = os.environ.get("COUNTERSIGN_DEMO_LOG")
    if not path:
        return
    line = json.dumps({"tool": name, "args": args, "at": time.time()})
    # One write of one line at the end of the file: it is there whole, or not at all.
    with open(path, "ab", buffering=0) as log:
        log.write(f"{line}\n".encode())
        os.fsync(log.fileno())
