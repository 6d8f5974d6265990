"""The command `tools`: every tool, and what the policy says about it.

It imports the tool modules, and needs neither Slack nor secrets.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from bot.cli.endings import CONFIG_OPTION, problems_end
from bot.config import load_files
from bot.contract.types import Tool, traits_of
from bot.core.policy import Rule, rule_for
from bot.errors import ConfigError
from bot.policyfile import WrittenRule, ambiguous, placeholders
from bot.tools.loader import load_tools


@click.command()
@CONFIG_OPTION
def command(config: Path | None) -> None:
    """List the tools and the rule for each of them."""
    with problems_end():
        settings, policy = load_files(config, os.environ)
        loaded = load_tools(list(settings.tools), settings.root)
        tools = loaded.toolkit.tools()
        for line in listing(tools, policy.tool):
            click.echo(line)
        names = [tool.name for tool in tools]
        problems = [*loaded.problems, *ambiguous(policy.tool, names)]
        if problems:
            raise ConfigError(problems)


def listing(tools: Iterable[Tool], rules: Iterable[WrittenRule]) -> Iterator[str]:
    """What is said about tools under these rules, line by line."""
    written = {rule.name: rule for rule in rules}
    names = []
    for tool in tools:
        names.append(tool.name)
        rule = _rule(written, tool.name)
        if rule is None:
            yield f"{tool.name}: no rule, so it may not run"
            continue
        yield f"{tool.name}: {_gate(rule)}"
        yield from (f"    {detail}" for detail in _details(tool, rule))
    if not names:
        yield "There are no tools: `tools` in the settings names no module with any."
    for name, rule in written.items():
        if not any(rule.matches(tool) for tool in names):
            yield f'rule "{name}": matches no tool'


def _rule(written: dict[str, WrittenRule], tool: str) -> WrittenRule | None:
    plain = (Rule(name=rule.name, gate=rule.gate) for rule in written.values())
    found = rule_for(plain, tool)
    return None if found is None else written[found.name]


def _gate(rule: WrittenRule) -> str:
    """The rule in a few words: who agrees, and where that is asked."""
    if rule.gate == "deny":
        return "deny, so it may not run"
    words: list[str] = [rule.gate]
    if rule.gate == "ask" or rule.approvers:
        words.append(_people(rule.approvers) or "nobody may approve it")
    if rule.post_to:
        words.append(rule.post_to)
    return ", ".join(words)


def _details(tool: Tool, rule: WrittenRule) -> Iterator[str]:
    if not rule.exact:
        yield f'by the rule "{rule.name}"'
    if rule.gate == "deny":
        return
    if rule.headline:
        yield f'"{rule.headline}"'
        taken = tool.input_schema.get("properties", {})
        for name in placeholders(rule.headline):
            if name not in taken:
                yield f"the headline shows {{{name}}}, which {tool.name} does not take"
    if rule.gate == "ask":
        own = ", people may approve their own" if rule.self_approval else ""
        yield f"open for {rule.expires}, then denied{own}"
    if rule.callers is not None:
        yield f"started by {_people(rule.callers) or 'nobody'}"
    if rule.answerers is not None:
        yield f"its questions are answered by {_people(rule.answerers) or 'nobody'}"
    yield from _traits(tool)


def _traits(tool: Tool) -> Iterator[str]:
    traits = traits_of(tool)
    if traits.idempotent:
        yield "idempotent: after a crash it is entered again by itself"
    if traits.version is not None:
        yield f"version {traits.version}"


def _people(entries: Iterable[str]) -> str:
    return ", ".join(entries)
