"""Secrets: from the environment, from files that it names, from a private `.env`.

The environment comes in as a mapping. Each secret NAME may be given as NAME_FILE; a
`.env` beside the settings counts as environment, and the real one wins. A value is
never part of a message, and the models hide it in every `repr` (T47, T48).
"""

from __future__ import annotations

import base64
import binascii
import os
import re
import shlex
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import SecretStr

from bot.errors import ConfigError, Problem
from bot.reading import Fault, Model, Unreadable, address

SLACK_API = "https://slack.com/api/"
#: What may also be given as NAME_FILE.
SECRETS = (
    "SLACK_BOT_TOKEN",
    "SLACK_SIGNING_SECRET",
    "SLACK_APP_TOKEN",
    "COUNTERSIGN_KEY",
    "OPENAI_API_KEY",
)

_LARGEST = 65_536
_LINE = re.compile(
    r"""\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*
    (?: '([^']*)' | "((?:[^"\\]|\\.)*)" | ([^\s'"#][^'"]*?)? )
    \s*(?:(?<=\s)\#.*)?""",
    re.X,
)
_WRITTEN = (
    'write NAME=value; a value with blanks, quotes or # in it as NAME="value", '
    "with a backslash before each double quote inside; a comment begins with #."
)
_TOKENS = {
    "xoxp-": "a user token, xoxp",
    "xapp-": "an app-level token, xapp",
    "xoxe": "a token that expires, xoxe (this version does not renew tokens)",
    "xoxa-": "a workspace token, xoxa",
    "xoxs-": "a token of a browser session, xoxs",
    "xoxc-": "a token of a browser session, xoxc",
}


class Secrets(Model):
    """What Slack, the keys and the model need; no `repr` shows a value."""

    bot_token: SecretStr
    signing_secret: SecretStr | None = None  # HTTP mode
    app_token: SecretStr | None = None  # its presence selects Socket Mode
    key: SecretStr  # as written; core.keys.read turns it into bytes
    slack_api_url: str = SLACK_API
    openai_api_key: SecretStr | None = None  # an endpoint of one's own may want none

    def values(self) -> tuple[str, ...]:
        """Every secret value, for what must keep them out of sight."""
        keys = self.key.get_secret_value().replace(",", " ").split()
        optional = (self.signing_secret, self.app_token, self.openai_api_key)
        return (
            self.bot_token.get_secret_value(),
            *keys,
            *(secret.get_secret_value() for secret in optional if secret is not None),
        )


def environment(
    environ: Mapping[str, str], base: Path
) -> tuple[dict[str, str], list[Problem]]:
    """The environment with a `.env` beneath it, and what is wrong with that file."""
    try:
        text = _private_text(base / ".env", ".env", missing_is_empty=True)
    except Unreadable as unreadable:
        return dict(environ), [unreadable.problem]
    below, problems = dotenv(text)
    for name in SECRETS:
        # One that the real environment gives in either way hides both ways here.
        if name in environ or f"{name}_FILE" in environ:
            below.pop(name, None)
            below.pop(f"{name}_FILE", None)
    return {**below, **environ}, problems


def dotenv(text: str) -> tuple[dict[str, str], list[Problem]]:
    """The variables of a `.env`: NAME=value, `export`, quotes, # comments."""
    values: dict[str, str] = {}
    problems = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(line)
        if found is None:
            what = f".env, line {number} is not NAME=value."
            problems.append(Problem(what=what, fix=_WRITTEN))
            continue
        name, single, double, bare = found.groups()
        if name in values:
            what = f".env, line {number} gives {name} a second time."
            problems.append(Problem(what=what, fix="keep one of the two lines."))
        if double is not None:
            double = re.sub(r"\\(.)", r"\1", double)
        values[name] = next((v for v in (single, double, bare) if v is not None), "")
    return values, problems


def secrets_in(
    env: Mapping[str, str], base: Path
) -> tuple[Secrets | None, list[Problem]]:
    """The secrets of this version, or every problem with them."""
    problems: list[Problem] = []
    given = {name: _given(env, name, base, problems) for name in SECRETS}
    for name, check in _CHECKS.items():
        text = given[name]
        if text is None or (name == "SLACK_SIGNING_SECRET" and _in_socket_mode(given)):
            continue
        try:
            check(text)
        except Fault as fault:
            problems.append(Problem(what=f"{name} {fault.what}.", fix=fault.fix))
    url = env.get("SLACK_API_URL", SLACK_API)
    try:
        address(url)
        if not url.endswith("/"):
            raise Fault("does not end with /", f"write it as {SLACK_API} is written.")
    except Fault as fault:
        problems.append(Problem(what=f"SLACK_API_URL {fault.what}.", fix=fault.fix))
    if problems:
        return None, problems
    return _made(given, url), []


def _in_socket_mode(given: Mapping[str, str | None]) -> bool:
    """No address of ours is called then, so nothing is signed (design §7)."""
    return bool((given["SLACK_APP_TOKEN"] or "").strip())


def read_secrets(environ: Mapping[str, str], base: Path) -> Secrets:
    """The secrets alone, or a `ConfigError` with every problem of them."""
    env, problems = environment(environ, base)
    secrets, found = secrets_in(env, base)
    if problems or secrets is None:
        raise ConfigError(problems + found)
    return secrets


def one_secret(env: Mapping[str, str], name: str, base: Path) -> str:
    """One secret by itself, "" when it is not set; `ConfigError` when it is no use."""
    problems: list[Problem] = []
    text = _given(env, name, base, problems)
    if text:
        fault = secret_fault(name, text)
        if fault is not None:
            problems.append(Problem(what=f"{name} {fault.what}.", fix=fault.fix))
    if problems or text is None:
        raise ConfigError(problems)
    return text


def secret_fault(name: str, text: str) -> Fault | None:
    """What is wrong with the text of a secret, as far as it can be seen."""
    try:
        _CHECKS[name](text)
    except Fault as fault:
        return fault
    return None


def key_fault(text: str) -> str | None:
    """What is wrong with a COUNTERSIGN_KEY, as `core.keys.read` would find it."""
    words = text.replace(",", " ").split()
    for word in words:
        padded = word + "=" * (-len(word) % 4)
        try:
            size = len(base64.b64decode(padded, altchars=b"-_", validate=True))
        except (binascii.Error, ValueError):
            return "is not base64"
        if size != 32:
            return f"is {size} bytes long, not 32"
    return None if words else "is empty"


def _made(given: Mapping[str, str | None], url: str) -> Secrets:
    values = {name: SecretStr(text or "") for name, text in given.items()}
    return Secrets(
        bot_token=values["SLACK_BOT_TOKEN"],
        signing_secret=values["SLACK_SIGNING_SECRET"] or None,
        app_token=values["SLACK_APP_TOKEN"] or None,
        key=values["COUNTERSIGN_KEY"],
        slack_api_url=url,
        openai_api_key=values["OPENAI_API_KEY"] or None,
    )


def _given(
    env: Mapping[str, str], name: str, base: Path, problems: list[Problem]
) -> str | None:
    """A secret's text; "" when it is not set, None when it could not be read."""
    file = f"{name}_FILE"
    if name in env and file in env:
        what = f"{name} and {file} are both set."
        problems.append(Problem(what=what, fix="unset one of them."))
        return None
    if file not in env:
        return env.get(name, "")
    try:
        text = _private_text(base / env[file], file)
    except Unreadable as unreadable:
        problems.append(unreadable.problem)
        return None
    return text.removesuffix("\n").removesuffix("\r")


def _private_text(path: Path, name: str, *, missing_is_empty: bool = False) -> str:
    """The text of a regular file that only its owner may read."""
    try:
        # Not blocking: opening a named pipe would wait for its writer.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        if missing_is_empty:
            return ""
        raise Unreadable(
            f"{name} names a file that is not there.", f"write it, or unset {name}."
        ) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "this is no path"
        raise Unreadable(
            f"{name}: the file cannot be read: {why}.", "mend its path or mode."
        ) from None
    try:
        _demand_private(handle, path, name)
        return _decoded(os.read(handle, _LARGEST + 1), name)
    finally:
        os.close(handle)


def _demand_private(handle: int, path: Path, name: str) -> None:
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode):
        raise Unreadable(f"{name}: this is no regular file.", "name a plain file.")
    if state.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = stat.S_IMODE(state.st_mode)
        raise Unreadable(
            f"{name}: others can get at the file (its mode is {mode:04o}).",
            f"chmod 600 {shlex.quote(str(path))}",
        )


def _decoded(content: bytes, name: str) -> str:
    if len(content) > _LARGEST:
        raise Unreadable(f"{name}: the file is too large.", "name the right file.")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unreadable(
            f"{name}: the file is not UTF-8 text.", "name the right file."
        ) from None


def _bot_token(text: str) -> None:
    fix = "OAuth & Permissions in the app's settings shows it; it starts with xoxb-."
    if not text.strip():
        raise Fault("is not set", fix)
    kind = next((word for start, word in _TOKENS.items() if text.startswith(start)), "")
    if kind:
        raise Fault(f"is {kind}", f"the bot token starts with xoxb-: {fix}")
    if not re.fullmatch(r"xoxb-[A-Za-z0-9._-]+", text):
        raise Fault("is not a bot token", fix)


def _signing_secret(text: str) -> None:
    fix = (
        "Basic Information in the app's settings shows it: 32 characters, 0-9 and a-f."
    )
    if not text.strip():
        raise Fault("is not set", fix)
    if not re.fullmatch(r"[0-9A-Fa-f]+", text):
        raise Fault("is not a signing secret", fix)
    if len(text) < 32:
        raise Fault(f"is too short: {len(text)} characters", fix)


def _app_token(text: str) -> None:
    fix = (
        "Basic Information, App-Level Tokens, with the scope connections:write; it "
        "starts with xapp-. Without it the bot waits for Slack over HTTP."
    )
    if not text.strip():
        return
    others = {**_TOKENS, "xoxb-": "the bot token, xoxb"}
    del others["xapp-"]
    kind = next((word for start, word in others.items() if text.startswith(start)), "")
    if kind:
        raise Fault(f"is {kind}", f"the app token starts with xapp-: {fix}")
    if not re.fullmatch(r"xapp-[A-Za-z0-9-]+", text):
        raise Fault("is not an app-level token", fix)


def _key(text: str) -> None:
    fix = "`countersign init` makes one: 32 random bytes in base64url."
    if not text.strip():
        raise Fault("is not set", fix)
    found = key_fault(text)
    if found is not None:
        raise Fault(found, fix)


def _model_key(text: str) -> None:
    # It goes into a header as it is.
    if text and not re.fullmatch(r"[!-~]+", text):
        raise Fault(
            "has characters that no key has", "copy it again, without blanks around it."
        )


_CHECKS: dict[str, Callable[[str], None]] = {
    "SLACK_BOT_TOKEN": _bot_token,
    "SLACK_SIGNING_SECRET": _signing_secret,
    "SLACK_APP_TOKEN": _app_token,
    "COUNTERSIGN_KEY": _key,
    "OPENAI_API_KEY": _model_key,
}
