"""What a workspace starts from: people, groups, channels, and the app installed in it.

The built-in seed, the reading of a seed file, and the reading of the app's manifest.
What happens to them afterwards is in `state.py`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Clock = Callable[[], float]

TEAM_ID = "T0HOME"
APP_ID = "A0CSIGN"
BOT_USER = "U0CSIGN"
BOT_ID = "B0CSIGN"
BOT_NAME = "countersign"
SLACKBOT = "USLACKBOT"


class SeedError(Exception):
    """A seed file cannot be used; the words say why."""


@dataclass(frozen=True, kw_only=True)
class User:
    """A person or a bot user, with the fields that a gate looks at."""

    id: str
    name: str
    real_name: str
    display_name: str = ""
    email: str = ""
    team_id: str = TEAM_ID
    tz: str = "Europe/Berlin"
    is_bot: bool = False
    deleted: bool = False
    is_restricted: bool = False
    is_ultra_restricted: bool = False
    is_stranger: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """A user group."""

    id: str
    handle: str
    name: str = ""
    users: tuple[str, ...] = ()
    disabled: bool = False


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A public or private channel, or a direct message channel with one person."""

    id: str
    name: str
    members: tuple[str, ...] = ()
    is_private: bool = False
    is_im: bool = False
    is_archived: bool = False
    is_ext_shared: bool = False

    @property
    def family(self) -> str:
        """The word that names this kind of channel in a scope."""
        if self.is_im:
            return "im"
        return "groups" if self.is_private else "channels"


@dataclass(frozen=True, kw_only=True)
class Seed:
    """Everything a workspace holds before anything happens."""

    team_domain: str
    users: tuple[User, ...]
    usergroups: tuple[Group, ...]
    channels: tuple[Channel, ...]
    optional_scopes: frozenset[str] | None = None
    faults: dict[str, str] = field(default_factory=dict)


_PEOPLE = ("U0ADA", "U0BEN", "U0CLEO")


def _person(user_id: str, name: str) -> User:
    return User(
        id=user_id,
        name=name.lower(),
        real_name=name,
        display_name=name,
        email=f"{name.lower()}@example.com",
    )


DEFAULT = Seed(
    team_domain="home",
    users=tuple(
        _person(user_id, name)
        for user_id, name in zip(_PEOPLE, ("Ada", "Ben", "Cleo"), strict=True)
    ),
    usergroups=(
        Group(id="S0APPROVERS", handle="approvers", name="Approvers", users=("U0BEN",)),
    ),
    channels=(
        Channel(id="C0GENERAL", name="general", members=(*_PEOPLE, BOT_USER)),
        Channel(id="C0OPS", name="ops", members=(*_PEOPLE, BOT_USER)),
        Channel(id="C0PRIVATE", name="private", members=_PEOPLE, is_private=True),
    ),
)


def read_seed(path: Path) -> Seed:
    """The seed that a JSON file describes; what it leaves out is the built-in one's."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        optional = data.get("optional_scopes")
        return Seed(
            team_domain=data.get("team", {}).get("domain", DEFAULT.team_domain),
            users=_each(User, data, "users", DEFAULT.users),
            usergroups=_each(Group, data, "usergroups", DEFAULT.usergroups),
            channels=_each(Channel, data, "channels", DEFAULT.channels),
            optional_scopes=None if optional is None else frozenset(optional),
            faults=dict(data.get("faults", {})),
        )
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise SeedError(f"{path}: {error}") from error


def _each(
    record: Callable[..., Any], data: Json, name: str, otherwise: tuple[Any, ...]
) -> tuple[Any, ...]:
    if name not in data:
        return otherwise
    return tuple(
        record(**{k: tuple(v) if isinstance(v, list) else v for k, v in one.items()})
        for one in data[name]
    )


@dataclass(frozen=True, kw_only=True)
class App:
    """The installed app: its secrets and what its manifest declares."""

    bot_token: str
    signing_secret: str
    verification_token: str
    manifest: Json
    app_token: str = ""  # without one, no connection is opened

    def scopes(self, granted_optional: frozenset[str] | None) -> frozenset[str]:
        """The granted bot scopes; None grants all the optional ones."""
        declared = self.manifest.get("oauth_config", {}).get("scopes", {})
        optional = frozenset(declared.get("bot_optional", ()))
        granted = optional if granted_optional is None else granted_optional & optional
        return (frozenset(declared.get("bot", ())) - optional) | granted

    @property
    def commands(self) -> tuple[Json, ...]:
        """The slash commands that people can type."""
        declared = self.manifest.get("features", {}).get("slash_commands", ())
        return tuple(
            {
                "command": one["command"],
                "description": one.get("description", ""),
                "usage_hint": one.get("usage_hint", ""),
            }
            for one in declared
        )

    @property
    def events(self) -> frozenset[str]:
        """The event types that are delivered."""
        settings = self.manifest.get("settings", {})
        return frozenset(settings.get("event_subscriptions", {}).get("bot_events", ()))

    @property
    def socket_mode(self) -> bool:
        """Whether the app is reached by its own WebSockets."""
        return bool(self.manifest.get("settings", {}).get("socket_mode_enabled"))

    @property
    def has_home(self) -> bool:
        """Whether the manifest turns the Home tab on."""
        return bool(self._home_setting("home_tab_enabled", default=False))

    @property
    def takes_direct_messages(self) -> bool:
        """Whether the Messages tab is there; it is unless the manifest says no."""
        return bool(self._home_setting("messages_tab_enabled", default=True))

    def _home_setting(self, name: str, *, default: bool) -> Any:
        home = self.manifest.get("features", {}).get("app_home", {})
        return home.get(name, default)
