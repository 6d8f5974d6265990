"""`init --slack`: from nothing to a bot in a real workspace, one step after the other.

Each answer is checked when it is given. A token that Slack takes is in `.env` at once,
so that the walk can be left at any step and gone on with later.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import click

from bot.cli.choices import Place, choose_channel, choose_person
from bot.cli.talk import asked, enter, of_slack, say, step, tell
from bot.cli.writing import FILES, KEY_HERE, File, append, make_folder, write_all
from bot.config import FILE, Settings, default_settings, read_settings
from bot.core.keys import generate
from bot.environment import SLACK_API, environment, one_secret, secret_fault
from bot.errors import ConfigError, DeliveryError, Problem
from bot.reading import Fault, address
from bot.slack.manifest import manifest
from bot.slack.standing import (
    Standing,
    app_token_problem,
    asking,
    missing_scopes,
    standing,
    token_problem,
)

BOT, APP, KEY = "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "COUNTERSIGN_KEY"
CREATE = "https://api.slack.com/apps?new_app=1&manifest_json="
LEFT = 130
ENV, POLICY = ".env", "policy.toml"


def walk(folder: Path, environ: Mapping[str, str]) -> None:
    """All the steps; what was given before is kept, and said."""
    try:
        _Walk(folder, environ).all()
    except (click.Abort, KeyboardInterrupt):
        click.echo(f"\nLeft. {_AGAIN}")
        sys.exit(LEFT)


_AGAIN = "What Slack has taken is kept; countersign init --slack goes on from there."


def create_link(settings: Settings) -> str:
    """The address where Slack offers to create the app, everything filled in."""
    made = json.dumps(manifest(settings, socket_mode=True), separators=(",", ":"))
    return f"{CREATE}{quote(made, safe='')}"


class _Walk:
    """One walk through the steps, in one folder."""

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self.folder = folder
        make_folder(folder)
        written, _ = write_all(folder, _ONLY_ENV, {KEY_HERE: generate()})
        self.written = written
        self.env, problems = environment(environ, folder)
        if problems:
            raise ConfigError(problems)
        self.settings = _settings(folder, environ)
        self.url = _slack_url(self.env)

    def all(self) -> None:
        """From the app to the files."""
        if not one_secret(self.env, KEY, self.folder):
            self._keep(KEY, generate())
        self._create_app()
        token, found = self._bot_token()
        self._app_token(found)
        place = Place(client=asking(token, self.url), tenant=found.tenant)
        channel = self._files(place)
        click.echo(_next(self.folder, self.settings, channel))

    # -- the steps ------------------------------------------------------------------

    def _create_app(self) -> None:
        if one_secret(self.env, BOT, self.folder):
            step(1, f"The app is there: {BOT} is set.")
            return
        step(1, "Create the app. This link has everything filled in; open it,")
        say("pick your workspace, press Create:")
        say(create_link(self.settings))
        say("(Your workspace asks an admin first? Send them")
        say("docs/for-your-slack-admin.md)")

    def _bot_token(self) -> tuple[str, Standing]:
        token = one_secret(self.env, BOT, self.folder)
        if token:
            step(2, f"{BOT} is set already; it is kept.")
            try:
                found = of_slack(lambda: standing(asking(token, self.url)))
            except DeliveryError as error:
                raise ConfigError([_kept(token_problem(error.code), BOT)]) from None
            return token, self._with_scopes(token, found)
        step(2, "Install App, then copy the Bot User OAuth Token (xoxb-…).")
        while True:
            token = _pasted(BOT)
            try:
                found = of_slack(lambda t=token: standing(asking(t, self.url)))  # type: ignore[misc]  # bound per try
                break
            except ConfigError as error:
                tell(error.problems)
            except DeliveryError as error:
                tell([token_problem(error.code)])
        self._keep(BOT, token)
        return token, self._with_scopes(token, found)

    def _with_scopes(self, token: str, found: Standing) -> Standing:
        """Say what it is connected to; wait for scopes that are missing."""
        say(f'Connected to "{found.team_name}" as @{found.bot_name}.')
        while found.scopes is not None:
            missing = list(missing_scopes(found.scopes))
            if not missing:
                say("No scope is missing.")
                break
            tell(missing)
            if enter('Press Enter when it is mended, or type "skip"') == "skip":
                break
            found = of_slack(lambda: standing(asking(token, self.url)))
        return found

    def _app_token(self, found: Standing) -> None:
        token = one_secret(self.env, APP, self.folder)
        if token:
            step(3, f"{APP} is set already; it is kept.")
            problem = self._app_problem(token, found)
            if problem is not None:
                raise ConfigError([_kept(problem, APP)])
        else:
            step(3, "Basic Information, App-Level Tokens, Generate; give it the scope")
            say("connections:write, and copy it (xapp-…).")
            token = _pasted(APP)
            while (problem := self._app_problem(token, found)) is not None:
                tell([problem])
                token = _pasted(APP)
            self._keep(APP, token)
        say("Socket Mode works. No public address is needed.")

    def _app_problem(self, token: str, found: Standing) -> Problem | None:
        client = asking(None, self.url)
        return of_slack(lambda: app_token_problem(client, token, found.app))

    def _files(self, place: Place) -> str | None:
        """Write what is missing; the channel that was chosen, if one was."""
        files: tuple[File, ...] = FILES
        filled: dict[str, str] = {}
        channel = None
        if os.path.lexists(self.folder / POLICY):
            step(4, f"{POLICY} is there; it is kept, so nothing is asked about")
            say("channel and people. countersign check looks at them.")
        else:
            chosen = choose_channel(4, place)
            person = choose_person(5, place, chosen)
            channel = chosen[0]
            filled = {
                "CHANNEL_HERE": json.dumps(channel, ensure_ascii=False),
                "PERSON_HERE": json.dumps(person),
            }
            files = _WITH_HELLO
        written, kept = write_all(self.folder, files, filled)
        written = [*written, *self.written]
        if written:
            click.echo(f"Written: {', '.join(map(_named, written))}")
        for name in kept:
            if name not in written:
                click.echo(f"Kept: {_named(name)}, which was there")
        return channel

    def _keep(self, name: str, value: str) -> None:
        """Put a secret into `.env`, where only its owner reads it."""
        if name in self.env:
            raise ConfigError([_empty(name)])
        append(self.folder / ENV, f"{name}={value}")
        self.env[name] = value


_ONLY_ENV = tuple(file for file in FILES if file[1] == ENV)
_WITH_HELLO = tuple(
    ("policy.slack.toml", name, mode) if name == POLICY else (source, name, mode)
    for source, name, mode in FILES
)


def _pasted(name: str) -> str:
    """A token of the right kind."""
    while True:
        text = asked("Paste it here (it is not shown)", hidden=True)
        fault = secret_fault(name, text)
        if fault is None:
            return text
        say(f"That {fault.what}.\n  fix: {fault.fix}")


def _settings(folder: Path, environ: Mapping[str, str]) -> Settings:
    path = folder / FILE
    if path.exists():
        return read_settings(path, environ)
    return default_settings(folder, environ)


def _slack_url(env: Mapping[str, str]) -> str:
    url = env.get("SLACK_API_URL", SLACK_API)
    try:
        address(url)
    except Fault as fault:
        what = f"SLACK_API_URL {fault.what}."
        raise ConfigError([Problem(what=what, fix=fault.fix)]) from None
    return url if url.endswith("/") else f"{url}/"


def _kept(problem: Problem, name: str) -> Problem:
    """A fault of something that is not ours to replace."""
    return Problem(
        what=problem.what,
        fix=f"take {name} out of {ENV} or the environment, then start this again.",
    )


def _empty(name: str) -> Problem:
    return Problem(
        what=f"{name} is there and empty.",
        fix=f"take it out of {ENV} or the environment, then start this again.",
    )


def _named(name: str) -> str:
    return f"{name} (only you can read it)" if name == ENV else name


def _next(folder: Path, settings: Settings, channel: str | None) -> str:
    where = "" if folder == Path() else f"  cd {folder}\n"
    hello = ""
    if channel is not None:
        hello = f"\nSay hello: in {channel} type {settings.slash('tool')} hello"
    return f"""
Next
{where}  countersign check   looks at all of it again, at any time
  countersign serve   runs the bot{hello}"""
