"""Two steps of the wizard: which channel cards go to, and who sits at the keyboard.

Both are looked up before they are believed. The person is needed for the rule of
`hello`, which one person alone may approve.
"""

from __future__ import annotations

from dataclasses import dataclass

from slack_sdk.web.async_client import AsyncWebClient

from bot.cli.talk import asked, enter, of_slack, say, step, tell
from bot.clock import SystemClock
from bot.core.policy import Needs, Person
from bot.errors import DeliveryError, Problem
from bot.policyfile import CHANNEL_ID, USER_ID
from bot.ports import Tenant
from bot.slack import workspace
from bot.slack.people import SlackPeople
from bot.slack.reach import channel_members, not_counted
from bot.slack.resolve import Channel

_PATIENCE = 10.0


@dataclass(frozen=True, kw_only=True)
class Place:
    """The workspace that the wizard asks about."""

    client: AsyncWebClient
    tenant: Tenant


def choose_channel(number: int, place: Place) -> tuple[str, Channel]:
    """A channel in which the bot is: its name, "#ops", and itself."""
    step(number, "Which channel should cards go to? Its name, such as #ops.")
    wanted = asked("Channel")
    while True:
        try:
            known = of_slack(lambda: workspace.channels(place.client, place.tenant))
        except DeliveryError as error:
            tell([_not_listed(error.code)])
            wanted = enter("Press Enter when that is mended") or wanted
            continue
        name = _found(wanted, known)
        if name is not None and known[name].is_member:
            say(f"Cards go to #{name}.")
            return f"#{name}", known[name]
        shown = f"#{name}" if name else _shown(wanted)
        if name is not None:
            say(f"I am not in {shown} yet. Type there: /invite @Countersign")
        else:
            say(f"I see no channel {shown}. If it is private, type there:")
            say("/invite @Countersign")
        wanted = enter("Press Enter when I am in it, or name another one") or wanted


def choose_person(number: int, place: Place, channel: tuple[str, Channel]) -> str:
    """The id of whoever may approve `hello` alone."""
    step(number, "Who are you? You will be the one who may approve hello.")
    say("In Slack: your picture, Profile, the three dots, Copy member ID (U…).")
    while True:
        id = asked("Your member ID").lstrip("<@").rstrip(">").upper()
        person = _person(id, place)
        if person is not None:
            break
    say(f"You are {person.name}.")
    name, where = channel
    try:
        inside = of_slack(lambda: channel_members(place.client, where.id))
    except DeliveryError:
        return id  # check says so
    if id not in inside:
        say(f"You are not in {name} yet. Join it, to see the cards.")
    return id


def _found(wanted: str, known: dict[str, Channel]) -> str | None:
    """The name of the channel that was meant, by its name or its id."""
    if CHANNEL_ID.fullmatch(wanted):
        return next((name for name, c in known.items() if c.id == wanted), None)
    name = wanted.removeprefix("#").lower()
    return name if name in known else None


def _shown(wanted: str) -> str:
    return wanted if CHANNEL_ID.fullmatch(wanted) else f"#{wanted.removeprefix('#')}"


def _person(id: str, place: Place) -> Person | None:
    """Whoever has this id and can approve and start something; None after a word."""
    if not USER_ID.fullmatch(id):
        say("That is not a member ID. It starts with U or W: U024BE7LH.")
        return None
    found = of_slack(lambda: _looked_up(id, place))
    if found is None:
        say("Slack did not say just now who that is.")
        return None
    why = not_counted(found, place.tenant)
    if why is None and found.guest:
        why = "a guest, who may start nothing"
    if why is not None:
        say(f"That is {id}, {why}.")
        return None
    return found


async def _looked_up(id: str, place: Place) -> Person | None:
    people = SlackPeople(client=place.client, tenant=place.tenant, clock=SystemClock())
    try:
        return (await people.facts([id], Needs(), _PATIENCE)).people.get(id)
    finally:
        await people.close()


def _not_listed(code: str) -> Problem:
    return Problem(
        what=f"Slack did not list the channels: {code}.",
        fix="the scopes channels:read and groups:read are needed for it.",
    )
