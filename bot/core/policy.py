"""Who may start, answer or refuse: a Verdict, from plain facts and a given time.

Rules are data, already resolved (groups and channels by id). Nothing here looks a
person up: `Facts` are what the shell found out just before. Threats T8 to T13, T16,
T20 and T25 are decided in this file; the words for each code are written elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Literal

Gate = Literal["allow", "ask", "deny"]
Decision = Literal["approve", "deny", "done", "decline"]

#: Kinds whose Answer counts as consent; anything else never does (T35).
APPROVAL = "approval"
#: The kind that only the requester may ever answer (design §8).
AUTHORIZATION = "authorization"

POSITIVE = frozenset({"approve", "done"})


@dataclass(frozen=True, kw_only=True)
class Who:
    """One entry of a list of people: a person, a user group or a channel, by id."""

    user: str | None = None
    group: str | None = None
    channel: str | None = None  # its members
    handle: str = ""  # for people: "@sre-oncall", "#ops", the name of a person


@dataclass(frozen=True, kw_only=True)
class Rule:
    """What the policy says about the tools whose name it matches."""

    name: str  # a tool's name, or a pattern with *
    gate: Gate
    approvers: tuple[Who, ...] = ()
    callers: tuple[Who, ...] | None = None  # None: every full member
    answerers: tuple[Who, ...] | None = None  # None: the requester
    post_to: str | None = None  # channel id
    post_to_name: str = ""  # "#ops"
    headline: str = ""  # "Restart {service} in {region}"
    expires: int = 86_400  # seconds
    self_approval: bool = False

    @property
    def kind(self) -> str:
        """The kind of the request that this rule's gate raises."""
        return APPROVAL

    def to_json(self) -> dict[str, Any]:
        """The rule as it is stored with a request."""
        value = asdict(self)
        for key in ("approvers", "callers", "answerers"):
            for who in value[key] or ():
                if who["channel"] is None:
                    del who["channel"]  # rules stored without it keep their digest
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Rule:
        """Read a stored rule back."""
        lists = {
            key: None if value[key] is None else tuple(Who(**w) for w in value[key])
            for key in ("approvers", "callers", "answerers")
        }
        return cls(**{**value, **lists})


@dataclass(frozen=True, kw_only=True)
class Person:
    """A person as looked up at that moment."""

    user: str
    team: str | None
    enterprise_user: str | None = None
    name: str = ""
    deleted: bool = False
    bot: bool = False
    guest: bool = False
    stranger: bool = False

    @property
    def key(self) -> str:
        """One person, however they are addressed (T12)."""
        return self.enterprise_user or f"{self.team}:{self.user}"


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What was found out about people; what is missing could not be found out."""

    people: Mapping[str, Person] = field(default_factory=dict)
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)
    channels: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def members(self, who: Who) -> frozenset[str] | None:
        """Whom an entry stands for; None when it could not be found out."""
        if who.user is not None:
            return frozenset({who.user})
        if who.group is not None:
            return self.groups.get(who.group)
        return self.channels.get(who.channel or "")


@dataclass(frozen=True, kw_only=True)
class Needs:
    """Whose members a decision needs to know, by id."""

    groups: frozenset[str] = frozenset()
    channels: frozenset[str] = frozenset()


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Policy's word: taken or not, and the code that says why."""

    ok: bool
    code: str = ""
    self_approved: bool = False


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a decision needs to know of a request."""

    kind: str
    gate: bool
    status: str  # "open", or one of the terminal states
    requester: str
    requester_key: str  # Person.key: the same person under any of their ids
    rule: Rule  # as stored when it was asked
    expires_at: int  # Unix milliseconds; equal is still in time
    tenant_team: str
    tenant_enterprise: str = ""


def rule_for(rules: Iterable[Rule], tool: str) -> Rule | None:
    """The most exact rule that matches a tool's name."""
    matching = [rule for rule in rules if fnmatchcase(tool, rule.name)]
    return max(matching, key=_exactness, default=None)


def _exactness(rule: Rule) -> tuple[bool, int]:
    return "*" not in rule.name, len(rule.name.replace("*", ""))


def by_approvers(kind: str) -> bool:
    """Whether a request of this kind is the approvers' to answer."""
    return kind == APPROVAL


def addressed(kind: str, rule: Rule) -> tuple[Who, ...] | None:
    """Who may say yes to a request of this kind; None means the requester alone."""
    if by_approvers(kind):
        return rule.approvers
    if kind == AUTHORIZATION:
        return None
    return rule.answerers


def may_start(rule: Rule | None, requester: str, facts: Facts, team: str) -> Verdict:
    """May this person run the tool that this rule is about?"""
    if rule is None or rule.gate == "deny":
        return Verdict(ok=False, code="no_rule")
    person = facts.people.get(requester)
    if person is None:
        return Verdict(ok=False, code="identity_unverified")
    named = _named(rule.callers, requester)
    code = _not_full_member(person, team, named)
    if code:
        return Verdict(ok=False, code=code)
    if rule.callers is None:
        return Verdict(ok=True)
    return _membership(rule.callers, person, facts, "not_caller")


def may_answer(
    asked: Asked,
    rule_now: Rule | None,
    decision: Decision,
    user: str,
    facts: Facts,
    now: int,
) -> Verdict:
    """May this person's click count, as the request and the policy are now?

    `now` is Unix milliseconds. The rule stored with the request and today's rule must
    both be satisfied: the stricter wins (T16).
    """
    if asked.status != "open":
        return Verdict(ok=False, code=closed_code(asked.status))
    if now > asked.expires_at:
        return Verdict(ok=False, code="expired")
    if rule_now is None or rule_now.gate == "deny":
        return Verdict(ok=False, code="void_changed")
    person = facts.people.get(user)
    if person is None:
        return Verdict(ok=False, code="identity_unverified")
    rules = _both(asked, rule_now)
    if decision in POSITIVE:
        return _may_agree(asked, rules, person, facts)
    return _may_refuse(asked, rules, person, facts)


def still_eligible(
    asked: Asked, rule_now: Rule | None, user: str, facts: Facts
) -> Verdict:
    """Would this person's yes, already counted, still count now? For the claim."""
    if rule_now is None or rule_now.gate == "deny":
        return Verdict(ok=False, code="void_changed")
    person = facts.people.get(user)
    if person is None:
        return Verdict(ok=False, code="identity_unverified")
    return _may_agree(asked, _both(asked, rule_now), person, facts)


def may_report(
    rule: Rule, requester: str, user: str, facts: Facts, team: str
) -> Verdict:
    """May this person cancel a run, or say how a call of unknown outcome ended?"""
    return _concerned(rule.approvers, requester, user, facts, team)


def may_see(rule: Rule, requester: str, user: str, facts: Facts, team: str) -> Verdict:
    """May this person look at a request: whoever asked, or could have answered it?"""
    entries = (*rule.approvers, *(rule.answerers or ()))
    return _concerned(entries, requester, user, facts, team)


def closed_code(status: str) -> str:
    """The refusal for a click on a request that is no longer open."""
    codes = {"expired": "expired", "cancelled": "cancelled", "void": "void_changed"}
    return codes.get(status, "already_answered")


def entries_of(rules: Iterable[Rule | None]) -> list[Who]:
    """Everybody whom these rules name, in whichever list."""
    return [
        who
        for rule in rules
        if rule is not None
        for who in (*rule.approvers, *(rule.callers or ()), *(rule.answerers or ()))
    ]


def needs_of(rules: Iterable[Rule | None]) -> Needs:
    """Every group and channel whose members a decision under these rules needs."""
    return needs_among(entries_of(rules))


def needs_among(entries: Iterable[Who]) -> Needs:
    """The groups and channels among these entries."""
    entries = list(entries)
    return Needs(
        groups=frozenset(who.group for who in entries if who.group),
        channels=frozenset(who.channel for who in entries if who.channel),
    )


def users_in(rules: Iterable[Rule]) -> frozenset[str]:
    """Every person that these rules name by id."""
    return frozenset(who.user for who in entries_of(rules) if who.user)


def with_names(rule: Rule, names: Mapping[str, str]) -> Rule:
    """The same rule, its people with their names beside their ids; nothing else."""

    def named(entries: tuple[Who, ...] | None) -> tuple[Who, ...] | None:
        if entries is None:
            return None
        return tuple(
            replace(who, handle=names.get(who.user, "")) if who.user else who
            for who in entries
        )

    return replace(
        rule,
        approvers=named(rule.approvers) or (),
        callers=named(rule.callers),
        answerers=named(rule.answerers),
    )


# -- the parts ----------------------------------------------------------------------


def _both(asked: Asked, rule_now: Rule) -> tuple[Rule, ...]:
    """The rules that must be satisfied; a gate that was lifted asks nothing more."""
    lifted = asked.gate and rule_now.gate == "allow"
    return (asked.rule,) if lifted else (asked.rule, rule_now)


def _may_agree(
    asked: Asked, rules: tuple[Rule, ...], person: Person, facts: Facts
) -> Verdict:
    lists = [addressed(asked.kind, rule) for rule in rules]
    named = all(_named(entries, person.user) for entries in lists)
    own = _is_requester(asked, person)
    code = _not_full_member(person, asked.tenant_team, named or own)
    if code:
        return Verdict(ok=False, code=code)
    if by_approvers(asked.kind) and own and not all(r.self_approval for r in rules):
        return Verdict(ok=False, code="self_approval")
    verdicts = [_addressed_to(entries, person, facts, own) for entries in lists]
    refused = [verdict for verdict in verdicts if not verdict.ok]
    if refused and len(refused) < len(verdicts) and refused[0].code == "not_approver":
        # One of the two rules asks this person, the other does not.
        return Verdict(ok=False, code="rule_changed")
    if refused:
        return refused[0]
    return Verdict(ok=True, self_approved=by_approvers(asked.kind) and own)


def _concerned(
    entries: tuple[Who, ...], requester: str, user: str, facts: Facts, team: str
) -> Verdict:
    person = facts.people.get(user)
    if person is None:
        return Verdict(ok=False, code="identity_unverified")
    code = _not_full_member(person, team, user == requester or _named(entries, user))
    if code:
        return Verdict(ok=False, code=code)
    if user == requester:
        return Verdict(ok=True)
    return _membership(entries, person, facts, "not_approver")


def _may_refuse(
    asked: Asked, rules: tuple[Rule, ...], person: Person, facts: Facts
) -> Verdict:
    """The requester, the approvers and the answerers may refuse; nobody else."""
    entries = [
        who for rule in rules for who in (*rule.approvers, *(rule.answerers or ()))
    ]
    own = _is_requester(asked, person)
    code = _not_full_member(
        person, asked.tenant_team, own or _named(entries, person.user)
    )
    if code:
        return Verdict(ok=False, code=code)
    if own:
        return Verdict(ok=True)
    return _membership(entries, person, facts, "not_approver")


def _addressed_to(
    entries: tuple[Who, ...] | None, person: Person, facts: Facts, own: bool
) -> Verdict:
    """Whether one rule asks this person; None asks the requester alone."""
    if entries is not None:
        return _membership(entries, person, facts, "not_approver")
    return Verdict(ok=True) if own else Verdict(ok=False, code="not_approver")


def _is_requester(asked: Asked, person: Person) -> bool:
    """Whether this is whoever asked, by whichever of their ids (T9, T12)."""
    return person.user == asked.requester or person.key == asked.requester_key


def _membership(
    entries: Iterable[Who], person: Person, facts: Facts, refusal: str
) -> Verdict:
    unknown = False
    for who in entries:
        members = facts.members(who)
        if members is None:
            unknown = True
        elif person.user in members:
            return Verdict(ok=True)
    return Verdict(ok=False, code="identity_unverified" if unknown else refusal)


def _named(entries: Iterable[Who] | None, user: str) -> bool:
    return any(who.user == user for who in entries or ())


def _not_full_member(person: Person, team: str, named: bool) -> str:
    """Why this is not a full, active, internal human; "" when it is (T11)."""
    if person.bot:
        return "bot_user"
    if person.deleted:
        return "inactive_user"
    if person.stranger or person.team != team:
        return "external_user"
    if person.guest and not named:
        return "guest_user"
    return ""
