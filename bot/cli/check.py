"""The command `check`: everything that can be wrong, each fault with its fix.

It looks at files, tools, database, Slack and the model, changes nothing, and never
connects the socket. Exit code 1 when there is a fault; notes do not count.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import click

from bot.cli.endings import CONFIG_OPTION, FAULT
from bot.cli.report import Report, counted
from bot.cli.surroundings import (
    Remembered,
    look_at_address,
    look_at_database,
    look_at_model,
    look_at_tools,
)
from bot.clock import SystemClock
from bot.config import Settings, load_files, read_settings, settings_path
from bot.environment import SECRETS, SLACK_API, environment, one_secret, secrets_in
from bot.errors import ConfigError, DeliveryError, Problem
from bot.policyfile import PolicyFile
from bot.ports import Clock
from bot.reading import Fault, address
from bot.slack.reach import reach
from bot.slack.standing import (
    CLOCK_WRONG,
    Standing,
    app_token_problem,
    asking,
    clock_ahead,
    clock_problem,
    lacking_options,
    missing_scopes,
    silence,
    standing,
    token_problem,
)


@click.command()
@CONFIG_OPTION
def command(config: Path | None) -> None:
    """Look at everything that can be wrong; change nothing."""
    # A look-up that fails is said in the report, not beside it.
    logging.getLogger("bot").addHandler(logging.NullHandler())
    report = asyncio.run(examined(config, os.environ, SystemClock()))
    for line in report.lines():
        click.echo(line)
    if report.faults:
        sys.exit(FAULT)


async def examined(
    config: Path | None, environ: Mapping[str, str], clock: Clock
) -> Report:
    """Look at everything, as far as what is there allows it."""
    report = Report()
    given = _given(config, environ, report)
    remembered = Remembered()
    if given.settings is not None:
        look_at_tools(given.settings, given.policy, report)
        remembered = look_at_database(given.settings, report)
        look_at_address(given.settings, given.socket_mode, given.slack_url, report)
    await _look_at_slack(given, remembered, clock, report)
    if given.settings is not None and given.settings.model is not None:
        await look_at_model(given.settings.model, given.model_key, clock, report)
    return report


@dataclass(frozen=True, kw_only=True)
class _Given:
    """What could be read of files and environment; what could not is None."""

    settings: Settings | None
    policy: PolicyFile | None
    slack_url: str | None = None
    socket_mode: bool = False  # whether an app token is given, usable or not
    bot_token: str | None = field(default=None, repr=False)
    app_token: str | None = field(default=None, repr=False)
    model_key: str | None = field(default=None, repr=False)


def _given(config: Path | None, environ: Mapping[str, str], report: Report) -> _Given:
    path = settings_path(config, environ)
    env, problems = environment(environ, path.parent)
    report.fault(*problems)
    settings, policy = _files(config, environ, report)
    _, lacking = secrets_in(env, path.parent)
    report.fault(*lacking)
    _say_what_is_set(settings, env, report)

    def usable(name: str) -> str | None:
        try:
            return one_secret(env, name, path.parent) or None
        except ConfigError:
            return None  # said with the others

    return _Given(
        settings=settings,
        policy=policy,
        slack_url=_slack_url(env),
        socket_mode=_is_set(env, "SLACK_APP_TOKEN"),
        bot_token=usable("SLACK_BOT_TOKEN"),
        app_token=usable("SLACK_APP_TOKEN"),
        model_key=usable("OPENAI_API_KEY"),
    )


def _slack_url(env: Mapping[str, str]) -> str | None:
    url = env.get("SLACK_API_URL", SLACK_API)
    try:
        address(url)
    except Fault:
        return None
    return url if url.endswith("/") else None


def _files(
    config: Path | None, environ: Mapping[str, str], report: Report
) -> tuple[Settings | None, PolicyFile | None]:
    """Settings and policy; the settings alone when the policy has faults."""
    try:
        return load_files(config, environ)
    except ConfigError as error:
        report.fault(*error.problems)
    try:
        return read_settings(settings_path(config, environ), environ), None
    except ConfigError:
        return None, None  # for reasons that were said


def _say_what_is_set(
    settings: Settings | None, env: Mapping[str, str], report: Report
) -> None:
    """The names of what is set, never a value (T48)."""
    if settings is not None:
        given = [
            k for k in type(settings).model_fields if k in settings.model_fields_set
        ]
        report.say(f"Settings: {', '.join(given) or 'none'}; the rest by default.")
    secret = [name for name in SECRETS if _is_set(env, name)]
    report.say(f"Secrets: {', '.join(secret) or 'none'}.")


def _is_set(env: Mapping[str, str], name: str) -> bool:
    return bool(env.get(name, "").strip() or env.get(f"{name}_FILE"))


# -- Slack --------------------------------------------------------------------------


async def _look_at_slack(
    given: _Given, remembered: Remembered, clock: Clock, report: Report
) -> None:
    url = given.slack_url
    if url is None:
        return
    try:
        await _look_at_clock(url, clock, report)
        found = await _look_at_bot_token(given.bot_token, url, remembered, report)
        await _look_at_app_token(given.app_token, url, found, report)
    except DeliveryError as error:
        report.fault(silence(error.code))
        return
    settings, policy, token = given.settings, given.policy, given.bot_token
    if found is None or settings is None or policy is None or token is None:
        return
    rules, file = policy.tool, settings.policy_path.name
    client = asking(token, url)
    fits = await reach(client, found.tenant, clock, rules, remembered.names, file)
    report.fault(*fits.faults)
    report.note(*fits.notes)
    if not fits.faults:
        report.say(f"Policy: {counted(len(rules), 'rule')}, looked up in Slack.")


async def _look_at_clock(url: str, clock: Clock, report: Report) -> None:
    ahead = await clock_ahead(asking(None, url), clock)
    if ahead is None:
        return
    problem = clock_problem(ahead)
    if problem is None:
        report.say(f"Clock: {abs(ahead):.0f} s off Slack's.")
    elif abs(ahead) > CLOCK_WRONG:
        report.fault(problem)
    else:
        report.note(problem)


async def _look_at_bot_token(
    token: str | None, url: str, remembered: Remembered, report: Report
) -> Standing | None:
    if token is None:
        return None
    try:
        found = await standing(asking(token, url))
    except ConfigError as error:
        report.fault(*error.problems)
        return None
    except DeliveryError as error:
        if error.temporary:
            raise
        report.fault(token_problem(error.code))
        return None
    report.say(f'Slack: "{found.team_name}" as @{found.bot_name}.')
    if found.scopes is not None:
        report.fault(*missing_scopes(found.scopes))
        lacking = lacking_options(found.scopes)
        report.note(*([lacking] if lacking else []))
    known = remembered.identity
    if known is not None and known.tenant != found.tenant:
        report.fault(_other_workspace(known.team_name, found.team_name))
    return found


async def _look_at_app_token(
    token: str | None, url: str, found: Standing | None, report: Report
) -> None:
    if token is None:
        return
    app = found.app if found is not None else ""
    problem = await app_token_problem(asking(None, url), token, app)
    report.fault(*([problem] if problem else []))


def _other_workspace(known: str, found: str) -> Problem:
    return Problem(
        what=f'The database belongs to workspace "{known}", the token to "{found}".',
        fix="use the token of that workspace, or another database.",
    )
