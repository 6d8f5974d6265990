"""What `check` and the wizard say: facts, notes, faults with their fixes, a count.

A fault is one line, its fix another; never a value of a secret (experience §7.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from bot.errors import Problem


@dataclass(kw_only=True)
class Report:
    """Grows while things are looked at; each fault and note is kept once."""

    facts: list[str] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    faults: list[Problem] = field(default_factory=list)

    def say(self, fact: str) -> None:
        """Something that is as it should be."""
        self.facts.append(fact)

    def note(self, *problems: Problem) -> None:
        """Something that works, and is worth a look."""
        self.notes = list(dict.fromkeys([*self.notes, *problems]))

    def fault(self, *problems: Problem) -> None:
        """Something that must be mended."""
        self.faults = list(dict.fromkeys([*self.faults, *problems]))

    def lines(self) -> Iterator[str]:
        """All of it, the faults last, where they are seen."""
        yield from self.facts
        yield from _listed(f"Note: {p}" for p in self.notes)
        yield from _listed(str(p) for p in self.faults)
        yield ""
        yield self._count()

    def _count(self) -> str:
        noted = f" {counted(len(self.notes), 'note')}." if self.notes else ""
        if not self.faults:
            return f"No problems.{noted}"
        return f"{counted(len(self.faults), 'problem')}.{noted} Nothing was changed."


def counted(number: int, noun: str) -> str:
    """A number and its noun: "1 problem", "3 problems"."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _listed(texts: Iterable[str]) -> Iterator[str]:
    listed = list(texts)
    if listed:
        yield ""
    yield from listed
