"""Every exception we raise on purpose, drawn as a tree.

BotError
├── ConfigError      settings, policy or secrets that cannot be used
├── NotStarted       what a start needs of this machine is not to be had
├── ContractError    a Request, Answer or tool that breaks the contract
├── StoreError       the database cannot be used, or did not take a write
│   ├── StoreBusy    it was not begun in time; nothing changed, try again
│   └── Locked       another process holds this database
├── ModelError       the model gave no reply that is of use
├── ToolError        a tool cannot be found, loaded or called
└── DeliveryError    Slack did not take a message

An answer that is not taken (not allowed, already settled, expired) is a
`Verdict`, never an exception.
"""

from __future__ import annotations

from dataclasses import dataclass


class BotError(Exception):
    """The root of everything Countersign raises on purpose."""

    #: Whether trying the same thing again later may work.
    temporary = False


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One fault that a person can mend: what is wrong, and what to do about it."""

    what: str
    fix: str

    def __str__(self) -> str:
        return f"{self.what}\n  fix: {self.fix}"


class ConfigError(BotError):
    """Settings, policy or secrets cannot be used; `problems` lists every fault."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__(counted([str(problem) for problem in problems]))


class NotStarted(BotError):
    """The database, the address or the port cannot be had; `said` is the problem."""

    def __init__(self, said: str) -> None:
        super().__init__(counted([said]))


def counted(said: list[str]) -> str:
    """Problems as a start that fails says them: each in its lines, and how many."""
    noun = "problem" if len(said) == 1 else "problems"
    return "\n".join([*said, f"{len(said)} {noun}. Nothing was started."])


class ContractError(BotError):
    """A Request, an Answer or a tool breaks the suspension contract."""


class StoreError(BotError):
    """The database cannot be used, or did not take a write."""


class StoreBusy(StoreError):
    """A unit of work was not begun before its deadline; nothing changed."""

    temporary = True


class Locked(StoreError):
    """Another process holds this database; `holder` says which one."""

    temporary = True

    def __init__(self, path: str, holder: str) -> None:
        self.holder = holder
        super().__init__(f"{path} is in use by {holder}.")


class ModelError(BotError):
    """The model gave no reply that is of use; `reason` says why in a few words.

    `detail` is the start of what the endpoint said, redacted: for the log, not for
    people in a chat. It never holds the key, and is empty where one was refused.
    """

    def __init__(
        self,
        reason: str,
        *,
        status: int | None = None,
        detail: str = "",
        retry_after: int | None = None,  # seconds, when the endpoint named them
        temporary: bool = False,
    ) -> None:
        self.reason = reason
        self.status = status
        self.detail = detail
        self.retry_after = retry_after
        self.temporary = temporary
        super().__init__(reason)


class ToolError(BotError):
    """A tool cannot be found, loaded or called with these arguments."""


class DeliveryError(BotError):
    """Slack did not take a message; `code` is Slack's word for it."""

    def __init__(self, code: str, *, temporary: bool = False) -> None:
        self.code = code
        self.temporary = temporary
        super().__init__(code)
