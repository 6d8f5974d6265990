"""What the engine needs from outside, as shapes: rows, and the ports that keep them.

The rows are the truth; a wake-up only says "look at this run". Times are Unix
milliseconds (`int`) everywhere. Units of work are written in the engine as ordinary
functions of a `Tx`; the SQL behind each named function of `Store` stands in `store/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from bot.contract.types import Tool
from bot.core.policy import Facts, Needs, Rule
from bot.core.run import Run

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """The workspace that owns a row; every query carries it (T22)."""

    team: str
    enterprise: str = ""


@dataclass(frozen=True, kw_only=True)
class RunRow:
    """One run: who asked for what, where, and its state."""

    id: str  # 128 random bits, never shown
    number: int  # CS-318: a name, never a key
    tenant: Tenant
    requester: str
    requester_name: str
    requester_key: str  # Person.key: the same person under any of their ids
    channel: str  # where it was asked for
    words: str  # what was typed, or a tool's name
    state: Run
    created_at: int
    ended_at: int | None = None
    cancelled_by: str = ""  # person id
    cancelled_name: str = ""
    cancelled_at: int | None = None
    wake_at: int | None = None  # when to look at it again by itself
    thread: str = ""  # ts of the thread in which it was asked for
    text: str = ""  # the model's final words
    reason: str = ""  # why it ended without them, in a few words of ours
    tokens: int = 0  # spent so far
    worked_ms: int = 0  # time spent on the model and on tools, not on people


@dataclass(frozen=True, kw_only=True)
class ModelCall:
    """One call that a model asks for: its arguments as the text that it sent."""

    tool: str
    arguments: str


@dataclass(frozen=True, kw_only=True)
class ModelReply:
    """What a model answered: the message to keep, its words, its calls."""

    message: dict[str, Any]  # in the dialect's own shape, kept as it is
    text: str = ""
    calls: tuple[ModelCall, ...] = ()
    tokens: int = 0


@dataclass(frozen=True, kw_only=True)
class Budget:
    """What one run of a model may spend."""

    turns: int = 10
    calls_per_turn: int = 8
    calls: int = 40
    tokens: int = 200_000
    worked_ms: int = 30 * 60 * 1000


@dataclass(frozen=True, kw_only=True)
class CallRow:
    """One call in the ledger: exactly what may run, and what became of it."""

    run: str
    turn: int
    ordinal: int
    tool: str
    arguments: str  # canonical JSON text
    arguments_digest: str
    definition: str  # definition digest of the tool as it was
    acting: str  # "bot", or "requester U…"
    rule: Rule  # as it was when the call was planned
    ref: str  # 128 random bits: names this call in its own controls
    idempotent: bool = False  # as declared when it was planned
    execution: str = ""  # id of the latest execution, "318-1"
    claimed_at: int | None = None
    ended_at: int | None = None
    outcome: str = ""  # core.run.Outcome, once it has one
    output: str = ""
    reported_by: str = ""  # who closed an unknown outcome
    reported_name: str = ""
    reported_at: int | None = None


RequestStatus = Literal[
    "open", "approved", "answered", "denied", "declined", "expired", "cancelled", "void"
]


@dataclass(frozen=True, kw_only=True)
class RequestRow:
    """One request: what was asked, under which rule, and how it was settled."""

    ref: str  # 128 random bits: the key in every control
    tenant: Tenant
    run: str
    turn: int
    ordinal: int
    number: int  # within the run: the second one is CS-318.2
    gate: bool
    kind: str
    prompt: str
    url: str | None
    data: dict[str, Any] | None
    tool_id: str  # Request.id as the tool (or we) chose it; never a key
    rule: Rule
    call_digest: str
    question_digest: str
    expiry: str  # what the call digest says of it: expiresAt, or seconds
    created_at: int
    expires_at: int
    status: RequestStatus = "open"
    decided_at: int | None = None
    decided_by: str = ""
    decided_name: str = ""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class VoteRow:
    """One person's counted click on a request."""

    request: str
    person: str  # Person.key: one person counts once
    user: str
    name: str
    decision: str
    at: int
    self_approved: bool = False


MessageKind = Literal["request", "run", "news", "notice", "neutral"]


@dataclass(frozen=True, kw_only=True)
class MessageRow:
    """One message that we post or change: a row of the outbox (design §6).

    A card (`request`, `run`) keeps its row for life: `wanted` counts what happened to
    it, `sent` is the count that was drawn last; they differ while an edit is due.
    `news` is a reply in the thread of a card, `notice` a message to one person,
    `neutral` takes the controls off a message that we posted and do not know.
    """

    id: int = 0  # given by the store
    tenant: Tenant
    kind: MessageKind
    run: str = ""
    request: str = ""  # ref, for a request card and for news about one
    destination: str = ""  # channel or user id that it is meant for
    channel: str = ""  # where it really is, once posted
    ts: str = ""
    wanted: int = 1
    sent: int = 0
    due_at: int = 0
    attempts: int = 0
    intent_at: int | None = None  # a post was begun and its reply is not recorded
    state: Literal["live", "stuck", "gone"] = "live"
    error: str = ""  # why it is stuck, in the platform's own word
    body: dict[str, Any] = field(default_factory=dict)  # of news: what it tells


@dataclass(frozen=True, kw_only=True)
class AuditRow:
    """One state change, written in the same transaction (T74)."""

    action: str
    actor: str  # person id, or "bot"
    request: str = ""  # ref, or run id where there is no request
    label: str = ""  # CS-318.2
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The installation as it was described to us last."""

    tenant: Tenant
    team_name: str
    bot_user: str
    bot_id: str
    app: str = ""
    seen_at: int = 0


@dataclass(frozen=True, kw_only=True)
class CardView:
    """All that a card or a thread reply is drawn from, read in one transaction."""

    run: RunRow
    calls: Sequence[CallRow]  # of all turns, in the order of turns and calls
    requests: Sequence[RequestRow]  # all of the run, oldest first
    votes: Sequence[VoteRow]  # of those requests
    messages: Sequence[MessageRow]  # where its cards are
    request: RequestRow | None = None  # the one that the card is about
    prefix: str = ""  # of our commands: "/" + prefix + "approvals"

    @property
    def call(self) -> CallRow:
        """The call that the card is about (a direct run has just one)."""
        if self.request is None:
            return self.calls[0]
        wanted = (self.request.turn, self.request.ordinal)
        return next(c for c in self.calls if (c.turn, c.ordinal) == wanted)

    @property
    def current(self) -> Sequence[CallRow]:
        """The calls of the current turn."""
        return [c for c in self.calls if c.turn == self.run.state.turn]


class Tx(Protocol):
    """One transaction, as a unit of work sees it."""

    def execute(self, sql: str, parameters: Sequence[object] = ...) -> Any:
        """Run one statement; transaction words are refused."""
        ...


class Store(Protocol):
    """Where runs and requests are kept."""

    async def write(self, unit: Callable[[Tx], T], deadline: float | None = None) -> T:
        """Commit one unit of work and return what it returned.

        `deadline` is a time of the injected monotonic clock, in seconds: a unit not
        begun by then raises `StoreBusy`; once begun it is always awaited.
        """
        ...

    async def read(self, unit: Callable[[Tx], T]) -> T:
        """Run a unit that only reads."""
        ...

    # runs and calls
    def next_number(self, tx: Tx, tenant: Tenant) -> int: ...
    def add_run(self, tx: Tx, row: RunRow) -> None: ...
    def run(self, tx: Tx, tenant: Tenant, run: str) -> RunRow | None: ...
    def run_numbered(self, tx: Tx, tenant: Tenant, number: int) -> RunRow | None: ...
    def save_run(self, tx: Tx, row: RunRow) -> None: ...
    def runs_of(
        self, tx: Tx, tenant: Tenant, requester: str, limit: int
    ) -> list[RunRow]: ...
    def unfinished(self, tx: Tx, tenant: Tenant) -> list[str]: ...
    def unfinished_of(
        self, tx: Tx, tenant: Tenant, requester: str, limit: int
    ) -> list[RunRow]: ...
    def count_unfinished_of(self, tx: Tx, tenant: Tenant, requester: str) -> int: ...
    def runs_due(self, tx: Tx, tenant: Tenant, now: int, limit: int) -> list[str]: ...
    def add_call(self, tx: Tx, row: CallRow) -> None: ...
    def save_call(self, tx: Tx, row: CallRow) -> None: ...
    def claim_call(self, tx: Tx, row: CallRow, execution: str, now: int) -> bool: ...
    def calls(self, tx: Tx, run: str, turn: int) -> list[CallRow]: ...
    def all_calls(self, tx: Tx, run: str) -> list[CallRow]: ...
    def transcript(self, tx: Tx, run: str) -> list[dict[str, Any]]: ...
    def add_transcript(
        self, tx: Tx, run: RunRow, messages: Sequence[Mapping[str, Any]]
    ) -> None: ...
    def call_by_ref(self, tx: Tx, tenant: Tenant, ref: str) -> CallRow | None: ...

    # requests and votes
    def add_request(self, tx: Tx, row: RequestRow) -> None: ...
    def request(self, tx: Tx, tenant: Tenant, ref: str) -> RequestRow | None: ...
    def requests(self, tx: Tx, run: str) -> list[RequestRow]: ...
    def settle_request(
        self,
        tx: Tx,
        row: RequestRow,
        status: RequestStatus,
        now: int,
        by: str = ...,
        name: str = ...,
        reason: str = ...,
    ) -> bool: ...
    def open_requests(
        self, tx: Tx, tenant: Tenant, limit: int
    ) -> list[tuple[str, str]]: ...
    def requests_due(
        self, tx: Tx, tenant: Tenant, now: int, limit: int
    ) -> list[tuple[str, str]]: ...
    def settled_of(
        self, tx: Tx, tenant: Tenant, user: str, limit: int
    ) -> list[tuple[str, str]]: ...
    def add_vote(self, tx: Tx, row: VoteRow) -> bool: ...
    def votes(self, tx: Tx, request: str) -> list[VoteRow]: ...

    # the outbox
    def add_message(self, tx: Tx, row: MessageRow) -> int: ...
    def save_message(self, tx: Tx, row: MessageRow) -> None: ...
    def message(self, tx: Tx, tenant: Tenant, message: int) -> MessageRow | None: ...
    def messages(self, tx: Tx, run: str) -> list[MessageRow]: ...
    def message_at(
        self, tx: Tx, tenant: Tenant, channel: str, ts: str
    ) -> MessageRow | None: ...
    def messages_due(
        self, tx: Tx, tenant: Tenant, now: int, limit: int
    ) -> list[MessageRow]: ...
    def next_due(self, tx: Tx, tenant: Tenant) -> int | None: ...
    def redraw(self, tx: Tx, run: str, request: str | None, now: int) -> None: ...
    def revive(self, tx: Tx, tenant: Tenant, now: int) -> None: ...

    # the rest
    def first_time(self, tx: Tx, tenant: Tenant, key: str, now: int) -> str | None: ...
    def remember(self, tx: Tx, tenant: Tenant, key: str, value: str) -> None: ...
    def audit(self, tx: Tx, tenant: Tenant, row: AuditRow, now: int) -> None: ...
    def identity(self, tx: Tx) -> Identity | None: ...
    def save_identity(self, tx: Tx, row: Identity) -> None: ...
    def names(self, tx: Tx, tenant: Tenant) -> dict[str, str]: ...
    def save_name(self, tx: Tx, tenant: Tenant, written: str, id: str) -> None: ...


class People(Protocol):
    """Who somebody is, and who is in a group or channel, as of now."""

    async def facts(
        self, users: Sequence[str], needs: Needs, timeout: float | None = None
    ) -> Facts:
        """Look all of them up at once; what could not be found out is left out.

        What was looked up less than 60 s ago is used as it is. `timeout` is in
        seconds, for everything together.
        """
        ...


class Model(Protocol):
    """Who chooses the calls of a run; its messages are its dialect's own."""

    def first(self, words: str) -> list[dict[str, Any]]:
        """The messages with which a run begins."""
        ...

    def results(
        self, message: Mapping[str, Any], outputs: Sequence[str]
    ) -> list[dict[str, Any]]:
        """The messages that give a turn's results back, one per call, in order."""
        ...

    async def ask(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Tool]
    ) -> ModelReply:
        """Ask for the next turn; `ModelError` with a short reason when it fails."""
        ...


class Courier(Protocol):
    """What carries cards and words to people."""

    def unfit(self, view: CardView) -> str | None:
        """Why this request cannot be shown in full, as a sentence; None when it can."""
        ...

    def spills(self, words: str) -> bool:
        """Whether a model's final words need a message of their own."""
        ...

    def wake(self) -> None:
        """Something in the outbox is due."""
        ...


class Clock(Protocol):
    """The one source of time."""

    def now(self) -> int:
        """Wall time in Unix milliseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds that only move forward."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Let that much time pass."""
        ...
