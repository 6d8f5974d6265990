"""Rules as written become rules to decide with: handles and channels get their ids.

Pure: what Slack has now and what was remembered at the last start come in as maps. A
handle that means another group than it did stops the start until it is confirmed,
since whoever renames groups could otherwise choose the approvers (T13).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from bot.core.policy import Rule, Who
from bot.errors import Problem
from bot.policyfile import CHANNEL_ID, GROUP_ID, USER_ID, WrittenRule


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A channel as the bot sees it now."""

    id: str
    is_member: bool = False  # whether the bot is in it


@dataclass(frozen=True, kw_only=True)
class Lookups:
    """What Slack has now; None where it could not be asked."""

    groups: Mapping[str, str] | None = None  # "sre-oncall" -> S…
    channels: Mapping[str, Channel] | None = None  # "ops" -> C…, and whether we are in


@dataclass(frozen=True, kw_only=True)
class Resolved:
    """The rules with ids, what stops the start, what is only said, what to remember."""

    rules: tuple[Rule, ...]
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    names: Mapping[str, str]  # as written -> id: "@sre-oncall" -> S…, "#ops" -> C…


def resolve(
    written: Iterable[WrittenRule],
    lookups: Lookups,
    remembered: Mapping[str, str],
    accept: Collection[str] = frozenset(),
    file: str = "policy.toml",
) -> Resolved:
    """The rules with every handle and channel name replaced by its id.

    `remembered` is `Resolved.names` of an earlier start. `accept` holds the names, "@…"
    or "#…", that may mean something else than they did; `file` is what problems call
    the policy. With problems, the rules are incomplete and must not be used.
    """
    work = _Work(
        lookups=lookups, remembered=remembered, accept=frozenset(accept), file=file
    )
    rules = tuple(work.rule(rule) for rule in written)
    for name in sorted(work.accept - work.accepted):
        work.note(
            f"--accept {name}: it means what it meant; there is nothing to accept."
        )
    return Resolved(
        rules=rules,
        problems=tuple(work.problems),
        notes=tuple(work.notes),
        names=work.names,
    )


@dataclass(kw_only=True)
class _Work:
    """One resolution under way: what was found and what there is to say about it."""

    lookups: Lookups
    remembered: Mapping[str, str]
    accept: frozenset[str]
    file: str
    accepted: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)

    def rule(self, written: WrittenRule) -> Rule:
        """One rule with ids."""
        label = f'{self.file}, tool "{written.name}"'
        channel, name = self._channel(written.post_to, label)
        return Rule(
            name=written.name,
            gate=written.gate,
            approvers=self._whos(written.approvers, f"{label}: approvers"),
            callers=self._optional(written.callers, f"{label}: callers"),
            answerers=self._optional(written.answerers, f"{label}: answerers"),
            post_to=channel,
            post_to_name=name,
            headline=written.headline,
            expires=written.seconds,
            self_approval=written.self_approval,
        )

    def note(self, text: str) -> None:
        """Say something once, however many rules it concerns."""
        if text not in self.notes:
            self.notes.append(text)

    def _optional(
        self, entries: tuple[str, ...] | None, place: str
    ) -> tuple[Who, ...] | None:
        return None if entries is None else self._whos(entries, place)

    def _whos(self, entries: tuple[str, ...], place: str) -> tuple[Who, ...]:
        whos = (self._who(entry, place) for entry in entries)
        return tuple(who for who in whos if who is not None)

    def _who(self, entry: str, place: str) -> Who | None:
        if USER_ID.fullmatch(entry):
            return Who(user=entry)
        if GROUP_ID.fullmatch(entry):
            return self._group_by_id(entry)
        if CHANNEL_ID.fullmatch(entry):
            return self._channel_by_id(entry)
        if entry.startswith("#"):
            where = f"{place} name"
            id = self._id(
                entry, self._channel_ids(), lambda: self._no_channel(entry, where)
            )
            return None if id is None else Who(channel=id, handle=entry)
        group = self._id(
            entry, self.lookups.groups, lambda: self._no_group(entry, place)
        )
        return None if group is None else Who(group=group, handle=entry)

    def _group_by_id(self, group: str) -> Who:
        known = self.lookups.groups
        if known is None:
            return Who(group=group)
        handle = next((h for h, id in known.items() if id == group), None)
        if handle is None:
            self.note(f"{group} is not an active user group here; it has no members.")
            return Who(group=group)
        return Who(group=group, handle=f"@{handle}")

    def _channel_by_id(self, channel: str) -> Who:
        name = self._name_of(channel)
        return Who(channel=channel, handle=f"#{name}" if name else "")

    def _channel_ids(self) -> Mapping[str, str] | None:
        known = self.lookups.channels
        return None if known is None else {name: c.id for name, c in known.items()}

    def _name_of(self, channel: str) -> str | None:
        known = self.lookups.channels or {}
        return next((name for name, c in known.items() if c.id == channel), None)

    def _channel(self, post_to: str | None, label: str) -> tuple[str | None, str]:
        """The id and the name of the channel where cards go."""
        if post_to is None:
            return None, ""
        if CHANNEL_ID.fullmatch(post_to):
            name = self._name_of(post_to)
            self._look_inside(f"#{name}" if name else post_to, post_to)
            return post_to, f"#{name}" if name else ""
        where = f"{label}: post_to names"
        id = self._id(
            post_to, self._channel_ids(), lambda: self._no_channel(post_to, where)
        )
        if id is not None:
            self._look_inside(post_to, id)
        return id, post_to

    def _look_inside(self, shown: str, channel: str) -> None:
        """Say so when the bot is not where cards are to go: they will fall back."""
        known = self.lookups.channels
        if known is None:
            return
        if not any(c.id == channel and c.is_member for c in known.values()):
            self.note(
                f"{shown}: the bot is not a member, so cards cannot be posted there "
                f"and go elsewhere. To mend it: in {shown} type /invite @Countersign"
            )

    def _id(
        self,
        name: str,
        known: Mapping[str, str] | None,
        unknown: Callable[[], None],
    ) -> str | None:
        """The id behind "@handle" or "#name"; a changed one must be accepted."""
        before = self.remembered.get(name)
        if known is None:
            return self._as_remembered(name, before)
        now = known.get(name[1:])
        if now is None and name.startswith("#") and before is not None:
            # A private channel that the bot has left is not listed: not a fault.
            now = before
        if now is None:
            self._once(name, unknown)
            return None
        if before not in (None, now):
            if name not in self.accept:
                self._once(name, lambda: self._changed(name, before, now))
                return None
            self.accepted.add(name)
            self.note(f"{name} is {now} from now on; it was {before}.")
        elif before is None:
            self.note(f"{name} is {now}.")
        self.names[name] = now
        return now

    def _as_remembered(self, name: str, before: str | None) -> str | None:
        if before is None:
            self._once(name, lambda: self._unasked(name))
            return None
        self.note(f"Slack did not say what {name} is now; {before} is used, as before.")
        self.names[name] = before
        return before

    def _once(self, name: str, say: Callable[[], None]) -> None:
        if name not in self.failed:
            self.failed.add(name)
            say()

    def _problem(self, what: str, fix: str) -> None:
        self.problems.append(Problem(what=what, fix=fix))

    def _no_group(self, name: str, place: str) -> None:
        near = _near(name, self.lookups.groups or {})
        guess = f"did you mean @{near}? Or make" if near else "make"
        self._problem(
            f"{place} name {name}, which is not a user group here.",
            f"{guess} the group in Slack, then start again.",
        )

    def _no_channel(self, name: str, where: str) -> None:
        near = _near(name, self.lookups.channels or {})
        guess = f"did you mean #{near}? A" if near else "a"
        self._problem(
            f"{where} {name}, a channel the bot cannot see.",
            f"{guess} private channel needs /invite @Countersign typed in it.",
        )

    def _changed(self, name: str, before: str | None, now: str) -> None:
        kind = "group" if name.startswith("@") else "channel"
        self._problem(
            f"{self.file}: {name} was the {kind} {before} and is now {now}, "
            "another one.",
            f"if that is meant, start once with --accept '{name}'.",
        )

    def _unasked(self, name: str) -> None:
        self._problem(
            f"{self.file}: what {name} is cannot be found out: Slack did not say.",
            "start again when Slack answers, or write the id in its place.",
        )


def _near(name: str, known: Iterable[str]) -> str | None:
    close = difflib.get_close_matches(name[1:], sorted(known), n=1, cutoff=0.6)
    return close[0] if close else None
