"""The settings file, and everything that a start needs, read and checked together.

Settings are `countersign.toml`; two variables may override it. `load` reads settings,
policy and secrets and reports every problem of all three at once (design §9). It is
handed the environment as a mapping and never looks at the real one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, PrivateAttr, StrictInt, StrictStr

from bot.bound import LONGEST, OWN, BoundCommand, clashes
from bot.environment import Secrets, environment, secrets_in
from bot.errors import ConfigError, Problem
from bot.policyfile import PolicyFile, policy_in, warnings
from bot.reading import (
    Fault,
    Model,
    Unreadable,
    address,
    checked,
    read_table,
    seconds,
)

FILE = "countersign.toml"
#: Variables that override a setting, by the name of the setting.
OVERRIDES = {"database": "COUNTERSIGN_DB", "public_url": "COUNTERSIGN_PUBLIC_URL"}

_PREFIX_MAX = LONGEST - len("/") - max(len(name) for name in OWN)


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
            f"use {_PREFIX_MAX} at most: Slack allows a command {LONGEST} characters.",
        )
    return text


def _style(style: Any) -> Any:
    if style == "anthropic":
        raise Fault(
            'is "anthropic", which this version does not support',
            'write "openai" and give an endpoint of that style.',
        )
    return style


def _base_url(text: str) -> str:
    address(text)
    if text.rstrip("/").endswith("/chat/completions"):
        raise Fault(
            "ends in /chat/completions, which is added by itself",
            "leave that out: https://host/v1.",
        )
    return text.rstrip("/")


def _model_name(text: str) -> str:
    if not text.strip() or len(text) > 200 or not text.isprintable():
        raise Fault("is not the name of a model", "write it as its endpoint does.")
    return text


def _up_to(most: int) -> AfterValidator:
    def checked(number: int) -> int:
        if not 1 <= number <= most:
            raise Fault(f"is not from 1 to {most:,}", "mend the number.")
        return number

    return AfterValidator(checked)


def _lasting(most: str) -> AfterValidator:
    def checked(text: str) -> str:
        if seconds(text) > seconds(most):
            raise Fault(f"is longer than {most}", f'write "{most}" at most.')
        return text

    return AfterValidator(checked)


class ModelSettings(Model):
    """`[model]`: where the model of `/run` is, and what one run of it may spend."""

    style: Annotated[Literal["openai"], BeforeValidator(_style)]
    base_url: Annotated[StrictStr, AfterValidator(_base_url)]
    name: Annotated[StrictStr, AfterValidator(_model_name)]
    timeout: Annotated[StrictStr, _lasting("10m")] = "120s"  # one reply, retries too
    max_turns: Annotated[StrictInt, _up_to(1_000)] = 10
    max_calls_per_turn: Annotated[StrictInt, _up_to(128)] = 8
    max_calls: Annotated[StrictInt, _up_to(10_000)] = 40
    max_tokens: Annotated[StrictInt, _up_to(1_000_000_000)] = 200_000
    max_time: Annotated[StrictStr, _lasting("7d")] = "30m"  # without people's time

    @property
    def timeout_seconds(self) -> int:
        """How long one reply may take."""
        return seconds(self.timeout)

    @property
    def max_seconds(self) -> int:
        """How long model and tools may work for one run."""
        return seconds(self.max_time)


class Settings(Model):
    """`countersign.toml`, checked; relative paths start at `root`."""

    _root: Path = PrivateAttr(default=Path())

    tools: tuple[Annotated[StrictStr, AfterValidator(_module)], ...] = ()
    policy: Annotated[StrictStr, AfterValidator(_path)] = "policy.toml"
    database: Annotated[StrictStr, AfterValidator(_database)] = "countersign.db"
    public_url: Annotated[StrictStr, AfterValidator(_public_url)] | None = None
    command_prefix: Annotated[StrictStr, AfterValidator(_prefix)] = ""
    command: tuple[BoundCommand, ...] = ()
    model: ModelSettings | None = None  # without one, /tool works and /run does not

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

    def slash(self, name: str) -> str:
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
        warnings=(
            *warnings(policy, settings.policy_path.name),
            *_unmodelled(settings),
        ),
    )


def _unmodelled(settings: Settings) -> Iterator[str]:
    """Commands that can start nothing until a model is set."""
    for command in settings.command:
        if command.prompt is not None and settings.model is None:
            yield f"{command.name} has a prompt, and there is no [model] for it."


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
        taken = clashes(settings.command, settings.command_prefix)
        problems += [replace(one, what=f"{path.name}: {one.what}") for one in taken]
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
