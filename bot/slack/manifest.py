"""The app's manifest, from the commands and scopes that the code uses and the settings.

`manifest.yml` at the top of the repository is its output for default settings. Limits
of the manifest are Slack's (slack-facts §7); the tests hold them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from bot.bound import BoundCommand
from bot.config import Settings

#: Where Slack delivers to, below `public_url`.
EVENTS_PATH = "/slack/events"
#: Stands in the manifest until `public_url` is set.
PLACEHOLDER = "https://countersign.example"

NO_ADDRESS = (
    f"public_url is not set, so the addresses below say {PLACEHOLDER}.\n"
    "Set it in countersign.toml and print the manifest again."
)


@dataclass(frozen=True, kw_only=True)
class Command:
    """A slash command; of ours, without slash and prefix."""

    name: str
    description: str
    usage_hint: str


COMMANDS = (
    Command(
        name="run",
        description="Have something done, in your own words",
        usage_hint="restart the api and tell me if it is healthy",
    ),
    Command(
        name="tool",
        description="Call a tool; whoever must agree is asked first",
        usage_hint="restart service=api region=eu",
    ),
    Command(
        name="runs",
        description="Your runs, how they stand, and cancelling them",
        usage_hint="",
    ),
    Command(
        name="approvals",
        description="What waits for you",
        usage_hint="",
    ),
)
SCOPES = (
    "commands",
    "chat:write",
    "users:read",
    "usergroups:read",
    "channels:read",
    "groups:read",
    "app_mentions:read",
)
EVENTS = ("app_mention", "app_home_opened")
#: With them a post whose reply was lost is found again; without, it is repeated.
OPTIONAL_SCOPES = ("channels:history", "groups:history", "im:history")


def manifest(settings: Settings, *, socket_mode: bool = False) -> dict[str, Any]:
    """The manifest as Slack reads it; in Socket Mode it has no addresses."""
    url = f"{settings.public_url or PLACEHOLDER}{EVENTS_PATH}"
    address = {} if socket_mode else {"request_url": url}
    return {
        "display_information": {
            "name": "Countersign",
            "description": "Asks people before software acts, then carries on",
            "background_color": "#1f3a34",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                # People type the commands there, too.
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "Countersign", "always_online": True},
            "slash_commands": [
                _drawn(command, {} if socket_mode else {"url": url})
                for command in commands(settings)
            ],
        },
        "oauth_config": {
            "scopes": {"bot": list(SCOPES), "bot_optional": list(OPTIONAL_SCOPES)}
        },
        "settings": {
            "event_subscriptions": {**address, "bot_events": list(EVENTS)},
            "interactivity": {"is_enabled": True, **address},
            "org_deploy_enabled": False,
            "socket_mode_enabled": socket_mode,
            "token_rotation_enabled": False,
        },
    }


def commands(settings: Settings) -> Iterator[Command]:
    """Every command of the app, named as people type it."""
    for command in COMMANDS:
        yield replace(command, name=settings.slash(command.name))
    for bound in settings.command:
        yield Command(
            name=bound.name,
            description=bound.description or _described(bound),
            usage_hint=" ".join(bound.arguments),
        )


def as_yaml(value: dict[str, Any], comment: str = "") -> str:
    """A manifest in YAML, in the order of its keys, under a comment."""
    heading = [f"# {line}" for line in comment.splitlines()]
    return "\n".join([*heading, *_lines(value, "")]) + "\n"


def as_json(value: dict[str, Any]) -> str:
    """A manifest in JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _described(bound: BoundCommand) -> str:
    """What a command without a description of its own says of itself."""
    return f"Calls the tool {bound.tool}" if bound.tool else "Starts a run"


def _drawn(command: Command, address: dict[str, str]) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "command": command.name,
        **address,
        "description": command.description,
        # Arguments are to arrive as they were typed (design §7).
        "should_escape": False,
    }
    if command.usage_hint:
        drawn["usage_hint"] = command.usage_hint
    return drawn


def _lines(value: dict[str, Any], indent: str) -> Iterator[str]:
    for key, inner in value.items():
        if isinstance(inner, dict):
            yield f"{indent}{key}:"
            yield from _lines(inner, f"{indent}  ")
        elif isinstance(inner, list):
            yield f"{indent}{key}:"
            for item in inner:
                yield from _item(item, f"{indent}  ")
        else:
            yield f"{indent}{key}: {_scalar(inner)}"


def _item(item: Any, indent: str) -> Iterator[str]:
    if not isinstance(item, dict):
        yield f"{indent}- {_scalar(item)}"
        return
    first, *others = _lines(item, f"{indent}  ")
    yield f"{indent}- {first.lstrip()}"
    yield from others


def _scalar(value: str | bool) -> str:
    """A scalar; text that YAML might read as something else stands in quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    plain = re.fullmatch(r"[A-Za-z/](?:[A-Za-z0-9 _./,;-]|:(?=[A-Za-z0-9/]))*", value)
    word = value.lower() in {
        "true",
        "false",
        "yes",
        "no",
        "on",
        "off",
        "null",
        "y",
        "n",
    }
    if plain and not word and not value.endswith(" "):
        return value
    # A JSON string is a double-quoted YAML one.
    return json.dumps(value, ensure_ascii=False)
