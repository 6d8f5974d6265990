"""The app's manifest, from the commands and scopes that the code uses and the settings.

`manifest.yml` at the top of the repository is its output for default settings. Limits
of the manifest are Slack's (slack-facts §7); the tests hold them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

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
    """A slash command of ours, without the prefix of the settings."""

    name: str
    description: str
    usage_hint: str


COMMANDS = (
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
)
#: With them a post whose reply was lost is found again; without, it is repeated.
OPTIONAL_SCOPES = ("channels:history", "groups:history", "im:history")


def manifest(settings: Settings) -> dict[str, Any]:
    """The manifest as Slack reads it."""
    url = f"{settings.public_url or PLACEHOLDER}{EVENTS_PATH}"
    return {
        "display_information": {
            "name": "Countersign",
            "description": "Asks people before software acts, then carries on",
            "background_color": "#1f3a34",
        },
        "features": {
            "app_home": {
                "home_tab_enabled": False,
                "messages_tab_enabled": True,
                # People type the commands there, too.
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "Countersign", "always_online": True},
            "slash_commands": [
                _command(command, settings, url) for command in COMMANDS
            ],
        },
        "oauth_config": {
            "scopes": {"bot": list(SCOPES), "bot_optional": list(OPTIONAL_SCOPES)}
        },
        "settings": {
            "interactivity": {"is_enabled": True, "request_url": url},
            "org_deploy_enabled": False,
            "socket_mode_enabled": False,
            "token_rotation_enabled": False,
        },
    }


def as_yaml(value: dict[str, Any], comment: str = "") -> str:
    """A manifest in YAML, in the order of its keys, under a comment."""
    heading = [f"# {line}" for line in comment.splitlines()]
    return "\n".join([*heading, *_lines(value, "")]) + "\n"


def as_json(value: dict[str, Any]) -> str:
    """A manifest in JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _command(command: Command, settings: Settings, url: str) -> dict[str, Any]:
    drawn: dict[str, Any] = {
        "command": settings.command(command.name),
        "url": url,
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
