"""Who could agree to a call, and where they are asked when no channel is named.

Apps are among the members of a channel, so those of a small one are looked up one by
one: whoever asks must learn at once when nobody is there who could approve.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from bot.core.policy import Facts, Needs, Rule, needs_of
from bot.engine.parts import Parts

#: More approvers than this are not asked one by one.
MOST_DIRECT = 20
#: Of more members than this it is not looked up who each of them is.
MOST_LOOKED_AT = 30


async def facts_about(
    parts: Parts, users: Sequence[str], rules: Iterable[Rule | None], lookups: float
) -> Facts:
    """What these rules need for asking somebody; `lookups` seconds for all of it."""
    rules = list(rules)
    began = parts.clock.monotonic()
    facts = await parts.people.facts(users, needs_of(rules), lookups)
    asked = {
        who.channel for rule in rules if rule is not None for who in rule.approvers
    }
    members = {u for c in asked for u in facts.channels.get(c or "", ())}
    left = lookups - (parts.clock.monotonic() - began)
    if not members or len(members) > MOST_LOOKED_AT or left <= 0:
        return facts
    more = await parts.people.facts(sorted(members), Needs(), left)
    return replace(facts, people={**more.people, **facts.people})


def approvers_among(rule: Rule, facts: Facts, requester: str) -> tuple[str, ...] | None:
    """Everybody who could approve; None when some of them could not be looked up."""
    found: dict[str, None] = {}
    for who in rule.approvers:
        members = facts.members(who)
        if members is None:
            return None
        found |= dict.fromkeys(sorted(members))
    if not rule.self_approval:
        found.pop(requester, None)
    gone = {u for u, p in facts.people.items() if p.deleted or p.bot or p.stranger}
    return tuple(user for user in found if user not in gone)


def places_for(rule: Rule, people: tuple[str, ...] | None) -> tuple[str, ...]:
    """Where cards go when the rule names no channel for them.

    To each approver, when they are few; else into the channels whose members may
    approve. None of both: where it was asked.
    """
    if rule.post_to:
        return ()
    if people is not None and len(people) <= MOST_DIRECT:
        return people
    channels = (who.channel for who in rule.approvers if who.channel)
    return tuple(dict.fromkeys(channels))
