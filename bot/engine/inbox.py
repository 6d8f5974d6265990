"""What concerns one person: what waits for their yes, what they asked, how it ended.

Reads only. Who may answer is policy's word, with the people as looked up just now.
"""

from __future__ import annotations

from bot.core.policy import Rule, may_answer, needs_of
from bot.engine.parts import Parts
from bot.engine.reading import asked, open_views, views_of
from bot.ports import CallRow, CardView, RunRow, Tx

#: How many open requests are looked at, the most urgent ones.
MOST_OPEN = 500


async def waiting_for(
    parts: Parts, user: str, lookups: float
) -> tuple[list[CardView], bool]:
    """Every open request that this person's yes would count for; and whether there may
    be more, since somebody could not be looked up."""
    open_now = await open_views(parts, MOST_OPEN)
    rules = [rule for view in open_now for rule in rules_of(parts, view)]
    facts = await parts.people.facts([user], needs_of(rules), lookups)
    now = parts.clock.now()
    theirs: list[CardView] = []
    unsure = False
    for view in open_now:
        if view.request is None:
            continue
        about, rule = asked(view.request, view.run), parts.rule(view.call.tool)
        verdict = may_answer(about, rule, "approve", user, facts, now)
        unsure |= verdict.code == "identity_unverified"
        if verdict.ok:
            theirs.append(view)
    return theirs, unsure


async def asked_by(
    parts: Parts, user: str, limit: int
) -> tuple[list[tuple[RunRow, list[CallRow]]], int]:
    """The newest runs of a person that have not ended, each with the calls of its
    current turn; and how many such runs there are."""
    store, tenant = parts.store, parts.tenant

    def unit(tx: Tx) -> tuple[list[tuple[RunRow, list[CallRow]]], int]:
        rows = store.unfinished_of(tx, tenant, user, limit)
        found = [(row, store.calls(tx, row.id, row.state.turn)) for row in rows]
        return found, store.count_unfinished_of(tx, tenant, user)

    return await store.read(unit)


async def decided_lately(parts: Parts, user: str, limit: int) -> list[CardView]:
    """The requests that a person asked for or settled, the latest decision first."""
    store, tenant = parts.store, parts.tenant
    pairs = await store.read(lambda tx: store.settled_of(tx, tenant, user, limit))
    return await views_of(parts, pairs)


def rules_of(parts: Parts, view: CardView) -> list[Rule | None]:
    """The rule as it was when this was asked, and today's."""
    if not view.calls:
        return [Rule(name="no call yet", gate="deny")]  # it concerns whoever asked
    call = view.calls[0] if view.request is None else view.call
    then = call.rule if view.request is None else view.request.rule
    return [then, parts.rule(call.tool)]
