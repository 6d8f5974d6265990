"""The records of the suspension contract (§2), and what a durable run hands a tool.

Plain dataclasses, compared by value, their fields in the contract's order. Their
JSON keys are spelled in `wire.py`; how they are made is in `suspend.py` and
`tools/define.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, Self

from bot.contract.wire import (
    answer_fields,
    answer_wire,
    request_fields,
    request_wire,
)

Reason = Literal["declined", "cancelled", "expired"]
ActsAs = Literal["bot", "requester"]


@dataclass
class ToolResult:
    """What one execution of a tool gave: words for the model, or a suspension."""

    output: str
    is_error: bool
    metadata: dict[str, Any] | None = None
    parts: list[dict[str, Any]] | None = None


@dataclass
class Request:
    """What a suspended tool asks of a person."""

    id: str
    kind: str
    prompt: str
    url: str | None = None
    data: dict[str, Any] | None = None
    expiresAt: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """This Request as a JSON object; absent values are left out."""
        return request_wire(self)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        """The Request that a JSON object describes, or a ValueError naming the key."""
        return cls(**request_fields(wire))


@dataclass
class Answer:
    """What comes back for a Request; `reason` only advises, `ok` decides."""

    id: str
    ok: bool
    data: dict[str, Any] | None = None
    reason: Reason | None = None

    def to_wire(self) -> dict[str, Any]:
        """This Answer as a JSON object; absent values are left out."""
        return answer_wire(self.id, self.ok, self.data, self.reason)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        """The Answer that a JSON object describes, or a ValueError naming the key."""
        return cls(**answer_fields(wire))


@dataclass
class ToolContext:
    """What a tool may be given beside its arguments; `timeout` is in seconds."""

    signal: Any = None
    timeout: float | None = None
    answer: Answer | None = None


@dataclass(kw_only=True)
class RunContext(ToolContext):
    """What our own tools are given in durable runs, on every entry.

    `answer` is the Answer to this call's latest own question, None before there is
    one. Consent that the policy asked for is never in here: it is not data.
    """

    #: The run, unique for ever.
    run_id: str
    #: The Slack id of the person who asked for the run.
    requester: str
    #: This entry of the call; another entry has another one.
    execution_id: str
    #: The same on every entry after a crash; for the system that does the work.
    idempotency_key: str
    #: The Answers to this call's own questions so far, oldest first.
    answers: tuple[Answer, ...] = ()


class Execute(Protocol):
    """How a tool is entered: arguments, and a context or None."""

    async def __call__(
        self, args: dict[str, Any], ctx: ToolContext | None = None, /
    ) -> ToolResult: ...


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What `@tool` knows of a tool beyond the contract; empty for other makers'."""

    #: It may be entered again with the same idempotency key after a crash.
    idempotent: bool = False
    #: Declared by its author; a new one makes waiting approvals void.
    version: str | None = None
    #: Whose identity it works under, shown to whoever approves.
    acts_as: ActsAs = "bot"
    #: Made by our `@tool` and takes a ctx: durable runs always give it a RunContext.
    takes_context: bool = False
    #: What its parameters are when they are left out, as far as JSON can say it.
    defaults: Mapping[str, Any] = field(default_factory=dict)
    #: Parameters whose default JSON cannot say, so that nobody could be shown it.
    unshown: tuple[str, ...] = ()


@dataclass
class Tool:
    """Something a run can call."""

    name: str
    description: str
    input_schema: dict[str, Any]
    source: str
    execute: Execute
    traits: Traits = field(default_factory=Traits, compare=False)


def traits_of(tool: object) -> Traits:
    """The traits of a tool of any maker: empty when it carries none of ours."""
    traits = getattr(tool, "traits", None)
    return traits if isinstance(traits, Traits) else Traits()
