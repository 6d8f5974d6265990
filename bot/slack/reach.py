"""Whether the policy fits the workspace: are its people there, does a card reach them?

`reach` asks Slack, `judged` decides. A fault is what makes a rule useless or is surely
a mistake; a note is what works, though perhaps not as it was meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from slack_sdk.web.async_client import AsyncWebClient

from bot.core.policy import Facts, Needs, Person, Rule, Who, needs_of, users_in
from bot.errors import DeliveryError, Problem
from bot.policyfile import WrittenRule
from bot.ports import Clock, Tenant
from bot.slack import workspace
from bot.slack.calls import all_pages
from bot.slack.people import MOST_MEMBERS, SlackPeople
from bot.slack.resolve import Channel, Lookups, resolve

#: Of each group at most this many are looked up: enough to see that somebody is there.
SAMPLE = 20
_PATIENCE = 30.0  # seconds for one round of look-ups
_PAGE = 1_000
_NAMED = 5  # people that a sentence names before it counts the others


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What stands in the way of the policy, and what is only worth knowing."""

    faults: tuple[Problem, ...]
    notes: tuple[Problem, ...]


@dataclass(frozen=True, kw_only=True)
class Sight:
    """What was seen of a workspace; None where it could not be looked at."""

    tenant: Tenant
    facts: Facts = field(default_factory=Facts)
    crowded: frozenset[str] = frozenset()  # channels with too many to decide
    channels: Mapping[str, Channel] | None = None
    members: Mapping[str, frozenset[str]] = field(default_factory=dict)


async def reach(
    client: AsyncWebClient,
    tenant: Tenant,
    clock: Clock,
    written: Sequence[WrittenRule],
    remembered: Mapping[str, str],
    file: str,
) -> Findings:
    """Look at everybody and every channel that the rules name; `file` names them."""
    notes: list[Problem] = []
    faults: list[Problem] = []
    groups = await _look("user groups", workspace.groups(client, tenant), faults, notes)
    channels = await _look(
        "channels", workspace.channels(client, tenant), faults, notes
    )
    kept = [_askable(rule, groups is None, channels is None) for rule in written]
    lookups = Lookups(groups=groups, channels=channels)
    resolved = resolve(kept, lookups, remembered, file=file)
    faults += resolved.problems
    facts, crowded = await _facts(client, tenant, clock, resolved.rules)
    sight = Sight(
        tenant=tenant,
        facts=facts,
        crowded=crowded,
        channels=channels,
        members=await _members(client, resolved.rules, channels, notes),
    )
    whole = [
        len(rule.approvers) == len(found.approvers)
        for rule, found in zip(written, resolved.rules, strict=True)
    ]
    judgement = judged(resolved.rules, whole, sight)
    return Findings(
        faults=tuple(dict.fromkeys([*faults, *judgement.faults])),
        notes=tuple(dict.fromkeys([*notes, *judgement.notes])),
    )


# -- asking -------------------------------------------------------------------------


async def _look(
    what: str, asked: Any, faults: list[Problem], notes: list[Problem]
) -> Any:
    try:
        return await asked
    except DeliveryError as error:
        # A missing scope is named as such, with what to do about it.
        known = error.code == "missing_scope"
        (notes if known else faults).append(_not_looked(what, error.code))
        return None


def _not_looked(what: str, code: str) -> Problem:
    return Problem(
        what=f"Slack did not list the {what} ({code}); what names them is not checked.",
        fix="mend that, then run check again.",
    )


def _askable(rule: WrittenRule, no_groups: bool, no_channels: bool) -> WrittenRule:
    """The rule without the names that Slack cannot be asked about."""
    unasked = ("@" if no_groups else "") + ("#" if no_channels else "")
    changed: dict[str, object] = {}
    for key in ("approvers", "callers", "answerers"):
        entries = getattr(rule, key)
        if entries is not None:
            changed[key] = tuple(e for e in entries if e[0] not in unasked)
    if rule.post_to and rule.post_to[0] in unasked:
        changed["post_to"] = None
    return rule.model_copy(update=changed)


async def _facts(
    client: AsyncWebClient, tenant: Tenant, clock: Clock, rules: Sequence[Rule]
) -> tuple[Facts, frozenset[str]]:
    """Everybody whom the rules name, and some of every group, a few at a time.

    With them the channels that have too many members for any of them to count.
    """
    people = SlackPeople(client=client, tenant=tenant, clock=clock)
    try:
        needs = needs_of(rules)
        named = await people.facts([], needs, _PATIENCE)
        crowded = frozenset(c for c in needs.channels if people.crowded(c))
        wanted = set(users_in(rules))
        for members in (*named.groups.values(), *named.channels.values()):
            wanted.update(sorted(members)[:SAMPLE])
        found: dict[str, Person] = {}
        listed = sorted(wanted)
        for start in range(0, len(listed), SAMPLE):
            part = listed[start : start + SAMPLE]
            found |= (await people.facts(part, Needs(), _PATIENCE)).people
        return replace(named, people=found), crowded
    finally:
        await people.close()


async def channel_members(client: AsyncWebClient, channel: str) -> frozenset[str]:
    """Everybody in a channel that the bot can see."""

    async def page(cursor: str | None) -> Any:
        return await client.conversations_members(
            channel=channel, cursor=cursor, limit=_PAGE
        )

    return frozenset(await all_pages(page, "members"))


async def _members(
    client: AsyncWebClient,
    rules: Iterable[Rule],
    channels: Mapping[str, Channel] | None,
    notes: list[Problem],
) -> dict[str, frozenset[str]]:
    """Who is in each channel that cards go to, where the bot is a member."""
    ours = {c.id for c in (channels or {}).values() if c.is_member}
    found: dict[str, frozenset[str]] = {}
    for channel in sorted({rule.post_to for rule in rules if rule.post_to} & ours):
        try:
            found[channel] = await channel_members(client, channel)
        except DeliveryError as error:
            notes.append(_not_looked(f"members of {channel}", error.code))
    return found


# -- deciding -----------------------------------------------------------------------


def judged(rules: Sequence[Rule], whole: Sequence[bool], sight: Sight) -> Findings:
    """What is to be said of rules; `whole` is false for one that misses approvers."""
    faults: list[Problem] = []
    notes: list[Problem] = []
    for rule, complete in zip(rules, whole, strict=True):
        if rule.gate == "deny":
            continue
        faults += _unusable(rule, sight)
        faults += _crowded(rule, sight.crowded)
        notes += _unknown(rule, sight)
        outside = list(_outside(rule, sight))
        faults += outside
        if complete and rule.approvers:
            lost, some = _deaf(rule, sight)
            faults += _nobody(rule, sight)
            faults += lost if not outside else []
            notes += some
    return Findings(faults=tuple(faults), notes=tuple(notes))


def _unusable(rule: Rule, sight: Sight) -> Iterator[Problem]:
    """People whom a rule names and who cannot do what it lets them."""
    lists = {
        "approvers": rule.approvers,
        "callers": rule.callers or (),
        "answerers": rule.answerers or (),
    }
    for key, entries in lists.items():
        for who in entries:
            found = sight.facts.people.get(who.user or "")
            why = not_counted(found, sight.tenant) if found else None
            if why:
                yield Problem(
                    what=f"{_rule(rule)}: {key} name {_person(found, who)}, {why}.",
                    fix="take that id out, or put another one in its place.",
                )


def _crowded(rule: Rule, crowded: frozenset[str]) -> Iterator[Problem]:
    """Channels whose members are to decide, and are too many for it."""
    for channel in sorted(needs_of([rule]).channels & crowded):
        yield Problem(
            what=f"{_rule(rule)}: {channel} has more than {MOST_MEMBERS:,} members, "
            "so none of them counts.",
            fix="name a smaller channel, or a user group.",
        )


def _unknown(rule: Rule, sight: Sight) -> Iterator[Problem]:
    """What a rule names and Slack said nothing about."""
    needs, facts = needs_of([rule]), sight.facts
    unknown = (
        (users_in([rule]) - facts.people.keys())
        | (needs.groups - facts.groups.keys())
        | (needs.channels - facts.channels.keys() - sight.crowded)
    )
    for id in sorted(unknown):
        yield Problem(
            what=f"{_rule(rule)}: Slack did not say just now who {id} is.",
            fix="run check again in a minute.",
        )


def not_counted(person: Person, tenant: Tenant) -> str | None:
    """Why somebody's click would not count; None when it would."""
    if person.deleted and person.team is None:
        return "whom nobody here has as an id"
    if person.deleted:
        return "whose account is not active"
    if person.bot:
        return "an app, which cannot answer"
    if person.stranger or person.team != tenant.team:
        return "somebody of another workspace"
    return None


def _nobody(rule: Rule, sight: Sight) -> Iterator[Problem]:
    """Groups and channels of approvers in which there is nobody who could approve."""
    for who in rule.approvers:
        members = sight.facts.members(who)
        if who.user or members is None:
            continue
        seen = [sight.facts.people.get(user) for user in sorted(members)[:SAMPLE]]
        # Guests count where they are named by id, not as members.
        useless = (p and (p.guest or not_counted(p, sight.tenant)) for p in seen)
        if len(members) <= SAMPLE and all(useless):
            word = "no member" if not members else "no active member"
            shown = who.handle or who.group or who.channel
            yield Problem(
                what=f"{_rule(rule)}: {shown} has {word}.",
                fix="put somebody in there in Slack, or name another one.",
            )


def _outside(rule: Rule, sight: Sight) -> Iterator[Problem]:
    """The bot is not in the channel where the cards of a rule are to go."""
    if rule.post_to is None or sight.channels is None:
        return
    if not any(c.id == rule.post_to and c.is_member for c in sight.channels.values()):
        shown = _channel(rule)
        yield Problem(
            what=f"{shown}: the bot is not a member, so cards cannot be posted there.",
            fix=f"in {shown} type /invite @Countersign",
        )


def _deaf(rule: Rule, sight: Sight) -> tuple[list[Problem], list[Problem]]:
    """Approvers who do not see the channel of a rule: all is a fault, some a note."""
    inside = sight.members.get(rule.post_to or "")
    if inside is None:
        return [], []
    may = _approvers(rule, sight.facts)
    missing = [user for user in may if user not in inside]
    if not missing:
        return [], []
    fix = f"invite them: in {_channel(rule)} type /invite and their names"
    if len(missing) == len(may):
        none = f"{_rule(rule)}: none of its approvers is in {_channel(rule)}."
        return [Problem(what=none, fix=fix)], []
    some = f"{_rule(rule)}: not in {_channel(rule)}: {_names(missing, sight.facts)}."
    return [], [Problem(what=some, fix=fix)]


def _approvers(rule: Rule, facts: Facts) -> list[str]:
    """Everybody who may approve under a rule, as far as it is known, each once."""
    found: dict[str, None] = {}
    for who in rule.approvers:
        found.update(dict.fromkeys(sorted(facts.members(who) or ())))
    gone = {user for user, p in facts.people.items() if p.deleted or p.bot}
    return [user for user in found if user not in gone]


def _names(users: Sequence[str], facts: Facts) -> str:
    shown = [_person(facts.people.get(user), Who(user=user)) for user in users[:_NAMED]]
    more = len(users) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _person(person: Person | None, who: Who) -> str:
    if person is None or person.name in ("", person.user):
        return str(who.user)
    return f"{person.name} ({person.user})"


def _channel(rule: Rule) -> str:
    return rule.post_to_name or str(rule.post_to)


def _rule(rule: Rule) -> str:
    return f'policy, the rule for "{rule.name}"'
