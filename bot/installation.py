"""Slack at start: who we are there, and the policy with everybody's ids.

What is in the way is added to a list of problems; what Slack does not say just now is
taken as it was remembered.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.config import Loaded
from bot.core.policy import (
    Needs,
    Rule,
    entries_of,
    needs_of,
    users_in,
    with_names,
)
from bot.errors import ConfigError, DeliveryError, Problem
from bot.ports import Clock, Identity, Store
from bot.slack import workspace
from bot.slack.courier import SlackCourier
from bot.slack.people import MOST_MEMBERS, SlackPeople
from bot.slack.resolve import Lookups, resolve

log = structlog.get_logger(__name__)

#: How long one Web API call may take, in seconds.
CALL_TIMEOUT = 10


@dataclass(frozen=True, kw_only=True)
class Ports:
    """The concrete ports of one bot. A test may hand in its own around them."""

    clock: Clock
    store: Store
    client: AsyncWebClient
    courier: SlackCourier


async def identity_now(ports: Ports, problems: list[Problem]) -> Identity | None:
    """Who we are, as Slack says now, else as it said last; a refusal is a fault."""
    store = ports.store
    known = await store.read(store.identity)
    try:
        found = await workspace.identity(ports.client, ports.clock.now())
    except ConfigError as error:
        problems += error.problems
        return None
    except DeliveryError as error:
        if not error.temporary:
            problems.append(_refused(error.code))
            return None
        if known is None:
            problems.append(_never_seen(error.code))
            return None
        log.warning("slack_unreachable", code=error.code, team=known.team_name)
        return known
    if known is not None and known.tenant != found.tenant:
        problems.append(_other_workspace(known, found))
        return None
    await store.write(lambda tx: store.save_identity(tx, found))
    return found


async def rules_now(
    loaded: Loaded,
    ports: Ports,
    identity: Identity | None,
    accept: Collection[str],
    problems: list[Problem],
) -> tuple[Rule, ...]:
    """The policy, its handles and channels resolved as far as Slack can be asked."""
    if identity is None:
        return ()
    store, tenant = ports.store, identity.tenant
    remembered = await store.read(lambda tx: store.names(tx, tenant))
    lookups = Lookups(
        groups=await _or_none(workspace.groups(ports.client, tenant)),
        channels=await _or_none(workspace.channels(ports.client, tenant)),
    )
    file = loaded.settings.policy_path.name
    resolved = resolve(loaded.policy.tool, lookups, remembered, accept, file)
    problems += resolved.problems
    for note in resolved.notes:
        log.info("policy_note", note=note)
    if not resolved.problems:
        for written, found in resolved.names.items():
            await store.write(
                lambda tx, w=written, f=found: store.save_name(tx, tenant, w, f)  # type: ignore[misc]  # bound per name
            )
    return await _named(resolved.rules, ports, identity)


async def _named(
    rules: tuple[Rule, ...], ports: Ports, identity: Identity
) -> tuple[Rule, ...]:
    """The rules with the names of the people in them, as far as they can be found."""
    people = SlackPeople(client=ports.client, tenant=identity.tenant, clock=ports.clock)
    try:
        channels = needs_of(rules).channels
        needs = Needs(channels=channels)
        facts = await people.facts(sorted(users_in(rules)), needs, CALL_TIMEOUT)
        for channel in sorted(channels - facts.channels.keys()):
            note = _uncounted(channel, people.crowded(channel), rules)
            log.warning("policy_note", note=note)
    finally:
        await people.close()
    for user, person in facts.people.items():
        if person.deleted:
            log.warning("policy_note", note=f"{user} is nobody in this workspace.")
    names = {user: person.name for user, person in facts.people.items()}
    return tuple(with_names(rule, names) for rule in rules)


def _uncounted(channel: str, crowded: bool, rules: tuple[Rule, ...]) -> str:
    """Why nobody counts as a member of a channel that the policy names."""
    named = (who.handle for who in entries_of(rules) if who.channel == channel)
    shown = next(named, "") or channel
    if crowded:
        return (
            f"{shown} has more than {MOST_MEMBERS:,} members, so nobody may do anything"
            " for being one of them. Name a smaller channel, or a user group."
        )
    return (
        f"Slack did not say who is in {shown}; until it does, being a member counts"
        f" for nothing. A private one needs the bot: /invite @Countersign in {shown}"
    )


async def _or_none(look_up: Any) -> Any:
    try:
        return await look_up
    except DeliveryError as error:
        log.warning("look_up_failed", code=error.code)
        return None


def _refused(code: str) -> Problem:
    return Problem(
        what=f"Slack refuses SLACK_BOT_TOKEN: {code}.",
        fix="install the app again and copy the Bot User OAuth Token (xoxb-…).",
    )


def _never_seen(code: str) -> Problem:
    return Problem(
        what=f"Slack cannot be reached ({code}), and this database has never seen it.",
        fix="check the network and SLACK_API_URL, then start again.",
    )


def _other_workspace(known: Identity, found: Identity) -> Problem:
    return Problem(
        what=(
            f"The database belongs to workspace {known.tenant.team} "
            f"({known.team_name}), the token to {found.tenant.team}."
        ),
        fix="use the token of that workspace, or another database.",
    )
