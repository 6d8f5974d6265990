"""What the bot's process is given: secrets, environment, settings file, manifest.

Made anew for each start of the playground, in a temporary directory of its own.
Running the process is `child.py`'s business.
"""

import asyncio
import base64
import json
import secrets
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from bot.playground.seed import Json
from bot.playground.standin import NAME as MODEL_NAME
from bot.playground.standin import PATH as MODEL_PATH

SETTINGS = "countersign.toml"
POLICY = "policy.toml"
# These would turn the child into another kind of app. Empty and not absent, since a
# `.env` beside the settings of the current folder fills in what is absent. An app
# token selects Socket Mode, which has no use for a signing secret.
_EMPTIED = ("SLACK_CLIENT_ID", "SLACK_CLIENT_SECRET")
_OF_MODES = ("SLACK_SIGNING_SECRET", "SLACK_APP_TOKEN")
# These would lead it off this machine.
_REMOVED = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
MANIFEST_SECONDS = 60.0
# The demo's model: our own, so that `/run` needs no key.
_MODEL = """
# The model behind /run: the playground's stand-in, at a port of this start. It only
# does what the words name. Any endpoint of the same style may stand here.
[model]
style = "openai"
base_url = "{base_url}"
name = "{name}"
"""


class LaunchError(Exception):
    """The bot cannot be given what it needs; the words are for the person."""


@dataclass(frozen=True, kw_only=True)
class Launch:
    """The files, secrets and addresses of one start."""

    directory: Path
    settings: Path
    port: int
    app_url: str
    bot_token: str
    signing_secret: str  # empty in Socket Mode
    app_token: str  # empty in HTTP mode
    key: str

    @property
    def database(self) -> Path:
        """The database of this start."""
        return self.directory / "countersign.db"

    @property
    def demo_log(self) -> Path:
        """Where the demo tools write down the work they did."""
        return self.directory / "demo.log"

    def given(self) -> dict[str, str]:
        """The variables that this start gives to the bot."""
        values = {
            "SLACK_API_URL": f"http://127.0.0.1:{self.port}/api/",
            "SLACK_BOT_TOKEN": self.bot_token,
            "SLACK_SIGNING_SECRET": self.signing_secret,
            "SLACK_APP_TOKEN": self.app_token,
            "COUNTERSIGN_KEY": self.key,
            "COUNTERSIGN_DB": str(self.database),
            "COUNTERSIGN_DEMO_LOG": str(self.demo_log),
            "COUNTERSIGN_CONFIG": str(self.settings),
            "COUNTERSIGN_PUBLIC_URL": self.app_url,
        }
        return {name: value for name, value in values.items() if value}

    def environment(self, inherited: Mapping[str, str]) -> dict[str, str]:
        """The child's whole environment."""
        given = dict.fromkeys((*_EMPTIED, *_OF_MODES), "") | self.given()
        refused = {*_REMOVED, *(f"{name}_FILE" for name in given)}
        kept = {k: v for k, v in inherited.items() if k.upper() not in refused}
        return kept | given

    def exports(self) -> str:
        """The same for a shell, one `export` line each."""
        return "\n".join(
            f"export {name}={shlex.quote(value)}"
            for name, value in self.given().items()
        )

    def serve_arguments(self, host: str, port: int) -> tuple[str, ...]:
        """The command that serves the app."""
        rest = ("serve", "--host", host, "--port", str(port))
        return (sys.executable, "-m", "bot", *rest)


def prepared(
    directory: Path,
    folder: Path,
    *,
    port: int,
    app_url: str,
    bot_token: str,
    app_token: str | None = None,
) -> Launch:
    """A start in `directory`, with the settings of `folder` or else the demo's.

    With an app token it is one in Socket Mode.
    """
    settings = folder / SETTINGS
    if not settings.is_file():
        settings = directory / SETTINGS
        demo = resources.files("bot.playground").joinpath("demo")
        for name in (SETTINGS, POLICY):
            text = demo.joinpath(name).read_text(encoding="utf-8")
            (directory / name).write_text(text, encoding="utf-8")
        with settings.open("a", encoding="utf-8") as file:
            base_url = f"http://127.0.0.1:{port}{MODEL_PATH}"
            file.write(_MODEL.format(base_url=base_url, name=MODEL_NAME))
    return Launch(
        directory=directory,
        settings=settings,
        port=port,
        app_url=app_url,
        bot_token=bot_token,
        signing_secret="" if app_token else secrets.token_hex(16),
        app_token=app_token or "",
        key=base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
    )


async def manifest_of(environment: dict[str, str]) -> Json:
    """The manifest that the bot prints for its settings."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "manifest", "--json"),
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), MANIFEST_SECONDS)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode != 0:
        raise LaunchError(err.decode(errors="replace").strip())
    try:
        manifest = json.loads(out)
    except ValueError as error:
        raise LaunchError(f"the manifest is not JSON: {error}") from error
    if not isinstance(manifest, dict):
        raise LaunchError("the manifest is not an object")
    return manifest
