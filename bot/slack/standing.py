"""How Slack sees the app's tokens: whose they are, what they may do, and its clock.

For whoever sets a bot up or looks after it. Asking changes nothing in the workspace; an
app token is only asked whether it could open a connection.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Iterable, Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot.errors import DeliveryError, Problem
from bot.ports import Clock, Tenant
from bot.slack import workspace
from bot.slack.calls import answer
from bot.slack.manifest import OPTIONAL_SCOPES, SCOPES

#: Slack refuses nobody for this yet; callbacks are refused by us beyond the second.
CLOCK_ODD, CLOCK_WRONG = 60, 300  # seconds
CALL_TIMEOUT = 10  # seconds

#: What does not work without a scope.
WITHOUT = {
    "commands": "nobody can type its commands",
    "chat:write": "it cannot post anything",
    "users:read": "it can look nobody up, so nobody may start or answer anything",
    "usergroups:read": "it cannot look up the user groups of the policy",
    "channels:read": "it cannot find public channels, or see who reads them",
    "groups:read": "it cannot find private channels, or see who reads them",
    "app_mentions:read": "@Countersign in a thread is not heard",
}
_APP_IN_TOKEN = re.compile(r"xapp-\d+-(A[A-Z0-9]+)-")


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A bot token as Slack describes it."""

    tenant: Tenant
    team_name: str
    bot_user: str
    bot_name: str
    app: str = ""  # empty where it could not be found out
    scopes: frozenset[str] | None = None  # None where Slack did not say


def asking(token: str | None, url: str) -> AsyncWebClient:
    """A client for a few questions."""
    return AsyncWebClient(
        token=token, base_url=url, timeout=CALL_TIMEOUT, retry_handlers=[]
    )


async def standing(client: AsyncWebClient) -> Standing:
    """Whose token this is; `DeliveryError` or `ConfigError` when it is no use."""
    headers: dict[str, str] = {}
    found = await answer(_keeping(client.auth_test(), headers))
    tenant = Tenant(
        team=str(found.get("team_id") or ""),
        enterprise=str(found.get("enterprise_id") or ""),
    )
    app = ""
    try:
        # It also refuses what is no bot, and what is a whole organisation's.
        app = (await workspace.identity(client, 0)).app
    except DeliveryError as error:
        if error.code != "missing_scope":
            raise
    listed = headers.get("x-oauth-scopes")
    return Standing(
        tenant=tenant,
        team_name=str(found.get("team") or tenant.team),
        bot_user=str(found.get("user_id") or ""),
        bot_name=str(found.get("user") or ""),
        app=app,
        scopes=None if listed is None else frozenset(_words(listed)),
    )


async def app_token_problem(
    client: AsyncWebClient, token: str, app: str
) -> Problem | None:
    """What keeps Socket Mode from working; `DeliveryError` while Slack is silent."""
    try:
        await answer(client.apps_connections_open(app_token=token))
    except DeliveryError as error:
        if error.temporary:
            raise
        return _app_refused(error.code)
    named = _APP_IN_TOKEN.match(token)
    if named and app and named[1] != app:
        return Problem(
            what=f"SLACK_APP_TOKEN belongs to the app {named[1]}, the bot to {app}.",
            fix=f"take both tokens from one app. {_APP_TOKEN}",
        )
    return None


async def clock_ahead(client: AsyncWebClient, clock: Clock) -> float | None:
    """By how many seconds our clock is ahead of Slack's; None if it did not say."""
    headers: dict[str, str] = {}
    asked = clock.now()
    await answer(_keeping(client.api_test(), headers))
    ours = (asked + clock.now()) / 2000
    try:
        theirs = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except ValueError:
        return None
    # The header says whole seconds, cut off.
    return ours - (theirs + 0.5)


def missing_scopes(scopes: frozenset[str]) -> Iterator[Problem]:
    """Each scope that the bot cannot do without and does not have."""
    for scope in SCOPES:
        if scope not in scopes:
            lacking = WITHOUT.get(scope, "the manifest asks for it")
            yield Problem(
                what=f"SLACK_BOT_TOKEN has no {scope}: {lacking}.",
                fix=f"{_PLACE}: add {scope}, then Reinstall to Workspace.",
            )


def lacking_options(scopes: frozenset[str]) -> Problem | None:
    """The optional scopes that were not granted."""
    lacking = [scope for scope in OPTIONAL_SCOPES if scope not in scopes]
    if not lacking:
        return None
    return Problem(
        what=(
            f"SLACK_BOT_TOKEN has no {', '.join(lacking)}, which are optional: a card "
            "whose post got lost on the way is posted a second time."
        ),
        fix=f"nothing, or {_PLACE}, then Reinstall to Workspace.",
    )


def clock_problem(ahead: float) -> Problem | None:
    """A clock that differs enough from Slack's to be said."""
    if abs(ahead) <= CLOCK_ODD:
        return None
    word = "ahead of" if ahead > 0 else "behind"
    what = f"The clock of this machine is {abs(ahead):.0f} s {word} Slack's"
    if abs(ahead) > CLOCK_WRONG:
        what += ", so requests of Slack are refused and cards expire at wrong times"
    return Problem(what=f"{what}.", fix="set it by the network: timedatectl set-ntp 1")


def token_problem(code: str) -> Problem:
    """Slack refuses the bot token."""
    return Problem(
        what=f"Slack refuses SLACK_BOT_TOKEN: {code}.",
        fix="install the app again and copy the Bot User OAuth Token (xoxb-…).",
    )


def silence(code: str) -> Problem:
    """Slack could not be asked at all."""
    return Problem(
        what=f"Slack cannot be reached ({code}).",
        fix="check the network and SLACK_API_URL, then try again.",
    )


def _app_refused(code: str) -> Problem:
    if code == "missing_scope":
        return Problem(
            what="SLACK_APP_TOKEN has no connections:write.",
            fix=f"{_APP_TOKEN}, make a new token with that scope.",
        )
    return Problem(
        what=f"Slack refuses SLACK_APP_TOKEN: {code}.",
        fix=f"{_APP_TOKEN}, make one with connections:write and copy it (xapp-…).",
    )


_APP_TOKEN = "Basic Information, App-Level Tokens"  # noqa: S105  # where it is shown
_PLACE = "OAuth & Permissions, Bot Token Scopes"


async def _keeping(
    call: Awaitable[AsyncSlackResponse], headers: dict[str, str]
) -> AsyncSlackResponse:
    """The response, its headers kept aside under names in lower case."""
    response = await call
    headers.update({name.lower(): value for name, value in response.headers.items()})
    return response


def _words(listed: str) -> Iterable[str]:
    return (word.strip() for word in listed.split(",") if word.strip())
