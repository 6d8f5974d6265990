"""One call of the Web API: its arguments, its refusals, and what a method is.

Arguments come from a query, a form or JSON and are read here the way Slack reads
them. How a call reaches its method is in `web_api.py`.
"""

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.playground.seed import BOT_USER, Channel, Json
from bot.playground.state import Workspace

LIMIT_DEFAULT = 100
LIMIT_MAX = 1000
KINDS = {"channels": "public_channel", "groups": "private_channel", "im": "im"}


class Refusal(Exception):
    """Slack's answer is `ok: false` with this code and these further fields."""

    def __init__(self, code: str, **fields: Any) -> None:
        super().__init__(code)
        self.body: Json = {"ok": False, "error": code, **fields}


def invalid_arguments(*words: str) -> Refusal:
    """The refusal that names what is wrong with the arguments."""
    messages = [f"[ERROR] {one}" for one in words]
    return Refusal("invalid_arguments", response_metadata={"messages": messages})


@dataclass(frozen=True, kw_only=True)
class Call:
    """A call that got past authentication, with its arguments."""

    workspace: Workspace
    args: Json

    def text(self, name: str) -> str | None:
        """An argument as text, or None when it is absent or empty."""
        value = self.args.get(name)
        if value in (None, ""):
            return None
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, list | dict):
            raise invalid_arguments(f"must be a string: {name}")
        return str(value)

    def need(self, name: str) -> str:
        """An argument that the method cannot do without."""
        value = self.text(name)
        if value is None:
            raise invalid_arguments(f"missing required field: {name}")
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """An argument as yes or no."""
        value = self.text(name)
        return default if value is None else value.lower() in ("1", "true")

    def data(self, name: str) -> Any:
        """An argument that may be JSON in a string; None when absent."""
        value = self.args.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return json.loads(value)
        except ValueError:
            return value

    def names(self, name: str) -> list[str]:
        """An argument that is a list, or a text with commas."""
        value = self.args.get(name)
        if isinstance(value, list):
            return [str(one) for one in value]
        return [one.strip() for one in (self.text(name) or "").split(",") if one]

    def require(self, *scopes: str) -> None:
        """Refuse unless the app holds every one of these scopes."""
        missing = [one for one in scopes if one not in self.workspace.scopes]
        if missing:
            raise Refusal(
                "missing_scope",
                needed=",".join(missing),
                provided=",".join(sorted(self.workspace.scopes)),
            )

    def channel(self, name: str = "channel", *, right: str | None = None) -> Channel:
        """The channel an argument names, as far as the bot may know of it.

        `right` is the second half of the scope that this kind of channel needs.
        """
        found = self.workspace.channels.get(self.need(name))
        if right is not None:
            self._require_right(found, right)
        hidden = found is not None and (found.is_private or found.is_im)
        if found is None or (hidden and BOT_USER not in found.members):
            raise Refusal("channel_not_found")
        return found

    def _require_right(self, found: Channel | None, right: str) -> None:
        if found is not None and BOT_USER in found.members:
            self.require(f"{found.family}:{right}")
            return
        public = found is not None and found.family == "channels"
        if public or not any(
            f"{one}:{right}" in self.workspace.scopes for one in KINDS
        ):
            self.require(f"channels:{right}")

    def page(self, items: list[Any], *, most: int = LIMIT_MAX) -> tuple[list[Any], str]:
        """The part of a list that was asked for, and the cursor of the next part."""
        start = _cursor_start(self.text("cursor"))
        if start > len(items):
            raise Refusal("invalid_cursor")
        end = start + self.limit(most)
        if end >= len(items):
            return items[start:], ""
        return items[start:end], base64.b64encode(f"next:{end}".encode()).decode()

    def limit(self, most: int) -> int:
        """How many items a page may hold."""
        given = self.text("limit")
        if given is None or given == "0":
            return LIMIT_DEFAULT
        if not given.isascii() or not given.isdecimal():
            raise Refusal("invalid_limit")
        return min(int(given), most)


def _cursor_start(cursor: str | None) -> int:
    if cursor is None:
        return 0
    try:
        word, start = base64.b64decode(cursor, validate=True).decode().split(":")
        if word == "next" and start.isdecimal():
            return int(start)
    except ValueError:
        pass
    raise Refusal("invalid_cursor")


@dataclass(frozen=True, kw_only=True)
class Method:
    """A Web API method: what it does and which scopes it always needs."""

    run: Callable[[Call], Json]
    scopes: tuple[str, ...] = ()
    app_level: bool = False  # whether it wants the app's own token, xapp
