"""What `check` looks at beside Slack: tools, database, addresses, the model.

Each function adds what it found to the report. Nothing here changes anything, and
nothing waits for whoever holds the database.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from bot.cli.report import Report, counted
from bot.config import ModelSettings, Settings
from bot.core.policy import Rule, rule_for
from bot.environment import SLACK_API
from bot.errors import ModelError, Problem, StoreError
from bot.model import openai
from bot.model.chat import ChatModel
from bot.model.http import Endpoint
from bot.policyfile import PolicyFile, ambiguous, placeholders, warnings
from bot.ports import Clock, Identity
from bot.store.installation import Installation
from bot.store.lock import held_by
from bot.store.opening import read_whole, reading
from bot.tools.bound import command_problems
from bot.tools.loader import load_tools
from bot.tools.question import question

#: How long the model may take to say one word, in seconds.
MODEL_TIMEOUT = 20.0


def look_at_tools(
    settings: Settings, policy: PolicyFile | None, report: Report
) -> None:
    """The tool modules load; tools, rules and commands belong to each other."""
    loaded = load_tools(list(settings.tools), settings.root)
    report.fault(*loaded.problems)
    tools = {tool.name: tool for tool in loaded.toolkit.tools()}
    report.say(f"Tools: {', '.join(tools) or 'none'}.")
    if policy is None:
        return
    for warning in warnings(policy, settings.policy_path.name):
        report.note(Problem(what=warning, fix="name them in that rule."))
    report.fault(*ambiguous(policy.tool, tools))
    for rule in policy.tool:
        if rule.exact and rule.name in tools:
            taken = tools[rule.name].input_schema.get("properties", {})
            report.note(*_headline(rule.name, rule.headline, taken))
    plain = [Rule(name=rule.name, gate=rule.gate) for rule in policy.tool]
    report.note(*(_no_rule(name) for name in tools if rule_for(plain, name) is None))
    if loaded.problems:
        return  # what is missing now is missing for a reason that is known
    own = {**tools, question.name: question}
    useless = (r.name for r in policy.tool if not any(map(r.matches, own)))
    report.note(*map(_no_tool, useless))
    bound = settings.command
    report.fault(
        *command_problems(bound, loaded.toolkit.get, lambda name: rule_for(plain, name))
    )
    if settings.model is None:
        report.note(*(_no_model(c.name) for c in bound if c.prompt is not None))


def _headline(rule: str, headline: str, taken: Iterable[str]) -> list[Problem]:
    return [
        Problem(
            what=f"policy, {rule}: the headline shows {{{name}}}, no argument of it.",
            fix="mend the headline; the card says (see card) in its place.",
        )
        for name in placeholders(headline)
        if name not in taken
    ]


def _no_tool(rule: str) -> Problem:
    return Problem(
        what=f'policy: the rule "{rule}" matches no tool.',
        fix="mend its name, or take it out.",
    )


def _no_rule(tool: str) -> Problem:
    return Problem(
        what=f"{tool}: no rule, so it may not run.",
        fix=f'write a rule for "{tool}", with gate = "deny" if that is meant.',
    )


def _no_model(command: str) -> Problem:
    return Problem(
        what=f"{command} has a prompt, and no model is set, so it starts nothing.",
        fix="write [model] in the settings, or take the command out.",
    )


@dataclass(frozen=True, kw_only=True)
class Remembered:
    """What the database knows of the workspace from the last start."""

    identity: Identity | None = None
    names: Mapping[str, str] = field(default_factory=dict)


def look_at_database(settings: Settings, report: Report) -> Remembered:
    """The database is ours and whole; what it remembers of Slack."""
    path = settings.database_path
    try:
        holder = held_by(path)
        connection = reading(path)
        if connection is None:
            report.say(f"Database: {path} is not there yet; serve makes it.")
            return Remembered()
        with contextlib.closing(connection):
            read_whole(connection, path)
            remembered = _remembered(connection)
    except (StoreError, OSError, sqlite3.Error) as error:
        report.fault(_unusable(error))
        return Remembered()
    used = f", in use by {holder}" if holder else ""
    report.say(f"Database: {path} is whole{used}.")
    return remembered


def _remembered(connection: sqlite3.Connection) -> Remembered:
    kept = Installation()
    identity = kept.identity(connection)
    if identity is None:
        return Remembered()
    return Remembered(identity=identity, names=kept.names(connection, identity.tenant))


def _unusable(error: Exception) -> Problem:
    what, _, fix = str(error).partition("\n  fix: ")
    return Problem(what=what, fix=fix or "look at the file and its folder.")


def look_at_address(
    settings: Settings, socket_mode: bool, slack_url: str | None, report: Report
) -> None:
    """In HTTP mode Slack must be able to reach us under an address."""
    url = settings.public_url
    if socket_mode:
        report.say("Socket Mode: no public address is needed.")
    elif url is None:
        report.note(
            Problem(
                what="public_url is not set, so the manifest has no address of ours.",
                fix="set it in countersign.toml, or use Socket Mode: SLACK_APP_TOKEN.",
            )
        )
    elif slack_url == SLACK_API and urlsplit(url).scheme == "http":
        report.fault(
            Problem(
                what=f"public_url is {url}, which Slack cannot reach.",
                fix="give an https address, or use Socket Mode: SLACK_APP_TOKEN.",
            )
        )
    else:
        report.say(f"Address: {url}.")


async def look_at_model(
    settings: ModelSettings, key: str | None, clock: Clock, report: Report
) -> None:
    """The model answers a short question, as it would for a run."""
    endpoint = Endpoint(
        openai.address(settings.base_url),
        clock=clock,
        headers=openai.headers(key),
        timeout=min(MODEL_TIMEOUT, settings.timeout_seconds),
        retries=0,
    )
    model = ChatModel(endpoint, settings.name)
    try:
        reply = await model.ask(model.first(_QUESTION), [])
        report.say(f"Model: {settings.name} answers, {counted(reply.tokens, 'token')}.")
    except ModelError as error:
        report.fault(_model(settings, error))
    finally:
        await endpoint.aclose()


_QUESTION = "Answer with the one word: ready"


def _model(settings: ModelSettings, error: ModelError) -> Problem:
    fixes = {
        401: "put its key into OPENAI_API_KEY.",
        403: "put its key into OPENAI_API_KEY.",
        404: "mend base_url or name in [model].",
    }
    return Problem(
        what=f"[model] {settings.name} at {settings.base_url}: {error.reason}.",
        fix=fixes.get(
            error.status or 0, "see that it runs, and mend base_url in [model]."
        ),
    )
