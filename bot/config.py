"""The settings file, and everything that a start needs, read and checked together.

Settings are `countersign.toml`; two variables may override it. `load` reads settings,
policy and secrets and reports every problem of all three at once (design §9). It is
handed the environment as a mapping and never looks at the real one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, PrivateAttr, StrictStr

from bot.environment import Secrets, environment, secrets_in
from bot.errors import ConfigError, Problem
from bot.policyfile import PolicyFile, policy_in, warnings
from bot.reading import Fault, Model, Unreadable, address, checked, read_table

FILE = "countersign.toml"
#: Variables that override a setting, by the name of the setting.
OVERRIDES = {"database": "COUNTERSIGN_DB", "public_url": "COUNTERSIGN_PUBLIC_URL"}

# Slack allows 32 characters, slash included; "/approvals" is the longest of ours.
_PREFIX_MAX = 32 - len("/approvals")


def _module(name: str) -> str:
    if all(part.isidentifier() for part in name.split(".")):
        return name
    raise Fault(
        "is not the name of a module",
        "write it as in an import: ops.tools for ops/tools.py.",
    )


def _path(text: str) -> str:
    if not text.strip() or "\0" in text:
        raise Fault("is empty", "give the path of a file.")
    return text


def _database(text: str) -> str:
    if re.match(r"postgres(ql)?(\+\w+)?://", text):
        raise Fault(
            "is a PostgreSQL address, which this version does not support",
            "give the path of a file, such as countersign.db.",
        )
    if "://" in text:
        raise Fault(
            "is an address, not a file",
            "give the path of a file, such as countersign.db.",
        )
    return _path(text)


def _public_url(text: str) -> str:
    parts = address(text)
    if parts.path.strip("/"):
        raise Fault("has a path", "give scheme and host alone: https://host.")
    return f"{parts.scheme}://{parts.netloc}"


def _prefix(text: str) -> str:
    if not re.fullmatch(r"[a-z0-9_-]*", text):
        raise Fault(
            "has characters that a command cannot have",
            "use lower-case letters, digits, - and _.",
        )
    if len(text) > _PREFIX_MAX:
        raise Fault(
            f"is {len(text)} characters long",
            f"use {_PREFIX_MAX} at most: Slack allows a command 32 characters.",
        )
    return text


class Settings(Model):
    """`countersign.toml`, checked; relative paths start at `root`."""

    _root: Path = PrivateAttr(default=Path())

    tools: tuple[Annotated[StrictStr, AfterValidator(_module)], ...] = ()
    policy: Annotated[StrictStr, AfterValidator(_path)] = "policy.toml"
    database: Annotated[StrictStr, AfterValidator(_database)] = "countersign.db"
    public_url: Annotated[StrictStr, AfterValidator(_public_url)] | None = None
    command_prefix: Annotated[StrictStr, AfterValidator(_prefix)] = ""

    @property
    def root(self) -> Path:
        """The folder of the settings file."""
        return self._root

    @property
    def policy_path(self) -> Path:
        """Where the policy file is."""
        return self.root / self.policy

    @property
    def database_path(self) -> Path:
        """Where the database is."""
        return self.root / self.database

    def command(self, name: str) -> str:
        """A command of ours as it is typed here: "/tool", or "/acme-tool"."""
        return f"/{self.command_prefix}{name}"


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """All that a start needs; `warnings` are said, and stop nothing."""

    settings: Settings
    policy: PolicyFile
    secrets: Secrets
    warnings: tuple[str, ...] = ()


def settings_path(config: Path | None, environ: Mapping[str, str]) -> Path:
    """Which settings file: `--config`, else COUNTERSIGN_CONFIG, else the usual one."""
    return config or Path(environ.get("COUNTERSIGN_CONFIG") or FILE)


def load(config: Path | None, environ: Mapping[str, str]) -> Loaded:
    """Settings, policy and secrets, or a `ConfigError` with every problem of them."""
    path = settings_path(config, environ)
    env, problems = environment(environ, path.parent)
    settings, policy, found = _files(path, env)
    secrets, lacking = secrets_in(env, path.parent)
    problems += found + lacking
    if problems or settings is None or policy is None or secrets is None:
        raise ConfigError(problems)
    return Loaded(
        settings=settings,
        policy=policy,
        secrets=secrets,
        warnings=tuple(warnings(policy, settings.policy_path.name)),
    )


def load_files(
    config: Path | None, environ: Mapping[str, str]
) -> tuple[Settings, PolicyFile]:
    """Settings and policy, for what needs no secrets."""
    path = settings_path(config, environ)
    env, problems = environment(environ, path.parent)
    settings, policy, found = _files(path, env)
    problems += found
    if problems or settings is None or policy is None:
        raise ConfigError(problems)
    return settings, policy


def read_settings(path: Path, environ: Mapping[str, str]) -> Settings:
    """The settings alone, for what needs neither policy nor secrets."""
    env, problems = environment(environ, path.parent)
    settings = None
    try:
        settings, found = _settings_in(read_table(path, _missing(path)), path, env)
        problems += found
    except Unreadable as unreadable:
        problems.append(unreadable.problem)
    if problems or settings is None:
        raise ConfigError(problems)
    return settings


def default_settings(root: Path, environ: Mapping[str, str]) -> Settings:
    """The settings where there is no settings file."""
    settings, problems = _settings_in({}, root / FILE, environ)
    if settings is None:
        raise ConfigError(problems)
    return settings


def _files(
    path: Path, env: Mapping[str, str]
) -> tuple[Settings | None, PolicyFile | None, list[Problem]]:
    """Settings and policy as far as they go, and every problem of both."""
    settings, policy = None, None
    problems: list[Problem] = []
    try:
        table = read_table(path, _missing(path))
        settings, problems = _settings_in(table, path, env)
        policy, found = policy_in(path.parent / _policy_name(table))
        problems += found
    except Unreadable as unreadable:
        problems.append(unreadable.problem)
    return settings, policy, problems


def _settings_in(
    table: dict[str, Any], path: Path, env: Mapping[str, str]
) -> tuple[Settings | None, list[Problem]]:
    kept = {key: name for key, name in OVERRIDES.items() if name in env}
    given = {key: env[name] for key, name in kept.items()}
    settings, problems = checked(Settings, {**table, **given}, path.name, kept)
    if settings is not None:
        settings._root = path.absolute().parent
    return settings, problems


def _policy_name(table: Mapping[str, Any]) -> str:
    """Where to look for a policy even when the settings have faults."""
    name = table.get("policy")
    return name if isinstance(name, str) and name else "policy.toml"


def _missing(path: Path) -> Problem:
    return Problem(
        what=f"There is no settings file at {path}.",
        fix="`countersign init` writes one; --config names another.",
    )
