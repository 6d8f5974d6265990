"""Countersign: software asks people in Slack before it acts, and then carries on.

The names of the suspension contract that a program may import (contract §1), and the
version. Importing them needs no Slack, no network, no database and no key.
"""

from bot.contract.expiry import is_expired, parse_rfc3339
from bot.contract.suspend import (
    answer_declined,
    answer_output,
    auth_required,
    pending,
    pending_of,
)
from bot.contract.types import (
    Answer,
    Request,
    RunContext,
    Tool,
    ToolContext,
    ToolResult,
)
from bot.tools.define import define_tool, tool
from bot.tools.toolkit import Toolkit, create_toolkit
from bot.version import VERSION as __version__

__all__ = [
    "Answer",
    "Request",
    "RunContext",
    "Tool",
    "ToolContext",
    "ToolResult",
    "Toolkit",
    "__version__",
    "answer_declined",
    "answer_output",
    "auth_required",
    "create_toolkit",
    "define_tool",
    "is_expired",
    "parse_rfc3339",
    "pending",
    "pending_of",
    "tool",
]
