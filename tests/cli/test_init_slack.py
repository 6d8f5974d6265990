import asyncio
import json
import os
import socket
import stat
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
from click.testing import CliRunner
from office import Office
from typist import Typist

import bot
from bot.cli.init import command as init
from bot.cli.wizard import CREATE
from bot.cli.writing import FILES
from bot.config import default_settings, load
from bot.environment import dotenv
from bot.playground.child import Child
from bot.playground.seed import User
from bot.policyfile import WrittenRule
from bot.slack.manifest import manifest
from bot.tools.loader import load_tools

NAMES = {name for _, name, _ in FILES}


class Desk(Office):
    """A workspace, and an empty folder that is to become a bot."""

    def __init__(self, folder) -> None:
        super().__init__(folder)
        self.home = folder / "bot-of-ours"
        for name in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "COUNTERSIGN_KEY"):
            del self.environ[name]
        del self.environ["COUNTERSIGN_CONFIG"]

    @property
    def tokens(self) -> tuple[str, str]:
        return self.slack.bot_token, self.slack.app_token

    async def walk(self, *lines):
        """Go through the steps, typing this; the end of it is like Ctrl-C."""
        return await self.run(
            "init", "--slack", "--dir", str(self.home), input=Typist(*lines)
        )

    def bot(self) -> Child:
        """`countersign serve` in the new folder, as a process of its own."""
        port = free_port()
        kept = {k: v for k, v in os.environ.items() if k not in desk_secrets()}
        environ = {**kept, "SLACK_API_URL": self.slack.api_url, "PWD": str(self.home)}
        environ["PYTHONPATH"] = str(Path(bot.__file__).parents[1])
        settings = str(self.home / "countersign.toml")
        serve = ("serve", "--config", settings, "--port", str(port))
        arguments = (sys.executable, "-m", "bot", *serve)
        return Child(arguments, environ, f"http://127.0.0.1:{port}")

    async def message(self, words: str):
        """The bot's message in #ops that has these words, once it is there."""
        async with asyncio.timeout(30):
            while True:
                state = await self.slack.state()
                for message in state["messages"].get("C0OPS", []):
                    if words in json.dumps(message):
                        return message
                await self.slack.changed(10)

    def loaded(self):
        given = {"SLACK_API_URL": self.slack.api_url}
        return load(self.home / "countersign.toml", given)

    def env(self) -> dict[str, str]:
        values, problems = dotenv((self.home / ".env").read_text())
        assert problems == []
        return values

    async def check(self):
        self.environ["COUNTERSIGN_CONFIG"] = str(self.home / "countersign.toml")
        return await self.faults()


def desk_secrets():
    return {name for name in os.environ if name.startswith(("SLACK_", "COUNTERSIGN_"))}


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest_asyncio.fixture
async def desk(tmp_path, monkeypatch):
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    async with Desk(tmp_path) as made:
        yield made
    for name in set(sys.modules) - before:
        if name.startswith("ops"):
            del sys.modules[name]


async def test_the_walk_ends_with_a_bot_that_is_right(desk):
    ended = await desk.walk(*desk.tokens, "#ops", "U0ADA")
    assert ended.exit_code == 0, ended.output
    assert {str(p.relative_to(desk.home)) for p in desk.home.rglob("*.*")} >= NAMES
    assert 'Connected to "home" as @countersign.' in ended.output
    assert "No scope is missing." in ended.output
    assert "Socket Mode works. No public address is needed." in ended.output
    assert "in #ops type /tool hello" in ended.output
    loaded = desk.loaded()
    tools = load_tools(list(loaded.settings.tools), loaded.settings.root)
    assert (tools.problems, loaded.warnings) == ((), ())
    assert await desk.check() == []


async def test_one_person_alone_comes_to_an_approved_hello(desk):
    await desk.walk(*desk.tokens, "#ops", "U0ADA")
    serving = desk.bot()
    await serving.start()
    try:
        assert (await desk.slack.wait_for("bot:up", 20))["ok"]
        await desk.slack.command("U0ADA", "C0OPS", "/tool", "hello name=Ada")
        card = await desk.message("Say hello to Ada")
        await desk.slack.act("U0ADA", "C0OPS", card["ts"], action_id="cs_approve")
        assert await desk.message("Hello, Ada.")
    finally:
        await serving.stop()


async def test_whoever_installs_may_approve_hello_alone_and_nothing_else(desk):
    await desk.walk(*desk.tokens, "#ops", "U0ADA")
    hello, *others = desk.loaded().policy.tool
    assert hello == WrittenRule(
        name="hello",
        gate="ask",
        headline="Say hello to {name}",
        approvers=("U0ADA",),
        self_approval=True,
        post_to="#ops",
    )
    assert others
    assert not any(rule.self_approval for rule in others)
    text = (desk.home / "policy.toml").read_text()
    above = text[: text.index("self_approval")].splitlines()[-3:]
    assert all(line.startswith("# ") for line in above[1:])


async def test_the_link_creates_the_app_of_this_version(desk):
    said = (await desk.walk()).output
    (link,) = [word for word in said.split() if word.startswith(CREATE)]
    address = urlsplit(link)
    assert f"{address.scheme}://{address.netloc}{address.path}" == (
        "https://api.slack.com/apps"
    )
    asked = parse_qs(address.query, strict_parsing=True)
    wanted = manifest(default_settings(desk.home, {}), socket_mode=True)
    assert asked["new_app"] == ["1"]
    assert json.loads(asked["manifest_json"][0]) == wanted
    assert wanted["settings"]["socket_mode_enabled"] is True


async def test_the_link_has_the_prefix_of_settings_that_are_there(desk):
    desk.home.mkdir(mode=0o700)
    (desk.home / "countersign.toml").write_text('command_prefix = "acme-"')
    assert "acme-tool" in (await desk.walk()).output


async def test_no_token_is_shown_and_only_we_can_read_them(desk):
    ended = await desk.walk(*desk.tokens, "#ops", "U0ADA")
    bot, app = desk.tokens
    assert bot not in ended.output
    assert app not in ended.output
    assert stat.S_IMODE((desk.home / ".env").stat().st_mode) == 0o600
    env = desk.env()
    assert (env["SLACK_BOT_TOKEN"], env["SLACK_APP_TOKEN"]) == desk.tokens
    assert env["COUNTERSIGN_KEY"] not in ended.output


# -- what is pasted -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("xoxp-1-2", "That is a user token, xoxp."),
        ("xapp-1-A-1-b", "That is an app-level token, xapp."),
        ("0123456789abcdef0123456789abcdef", "That is not a bot token."),
        ("xoxb-1-2", "Slack refuses SLACK_BOT_TOKEN: invalid_auth."),
    ],
)
async def test_a_bot_token_that_is_none_is_named_and_asked_for_again(
    desk, pasted, said
):
    ended = await desk.walk(pasted, *desk.tokens, "#ops", "U0ADA")
    assert ended.exit_code == 0, ended.output
    assert said in ended.output
    assert pasted not in (desk.home / ".env").read_text()


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("xoxb-1-2", "That is the bot token, xoxb."),
        ("xapp-1-A0CSIGN-1-b", "Slack refuses SLACK_APP_TOKEN: invalid_auth."),
    ],
)
async def test_an_app_token_that_is_none_is_named_and_asked_for_again(
    desk, pasted, said
):
    bot, app = desk.tokens
    ended = await desk.walk(bot, pasted, app, "#ops", "U0ADA")
    assert ended.exit_code == 0, ended.output
    assert said in ended.output


async def test_an_app_token_without_its_scope_is_named(desk):
    bot, app = desk.tokens
    desk.slack.fault("apps.connections.open", "error:missing_scope", 1)
    ended = await desk.walk(bot, app, app, "#ops", "U0ADA")
    assert ended.exit_code == 0, ended.output
    assert "SLACK_APP_TOKEN has no connections:write." in ended.output


async def test_a_missing_scope_is_named_and_waited_for(desk):
    workspace = desk.slack.workspace
    whole = workspace.scopes
    workspace.scopes -= {"usergroups:read"}

    def reinstall():
        workspace.scopes = whole

    bot, app = desk.tokens
    ended = await desk.walk(bot, "", reinstall, "", app, "#ops", "U0ADA")
    assert ended.exit_code == 0, ended.output
    assert ended.output.count("SLACK_BOT_TOKEN has no usergroups:read: ") == 2
    assert "No scope is missing." in ended.output


async def test_a_missing_scope_can_be_left_missing(desk):
    desk.slack.workspace.scopes -= {"usergroups:read"}
    bot, app = desk.tokens
    ended = await desk.walk(bot, "skip", app, "#ops", "U0ADA")
    assert ended.exit_code == 0, ended.output
    assert "No scope is missing." not in ended.output


async def test_silence_of_slack_is_waited_out(desk):
    desk.slack.fault("auth.test", "500", 1)
    bot, app = desk.tokens
    ended = await desk.walk(bot, "", app, "#ops", "U0ADA")
    assert ended.exit_code == 0, ended.output
    assert "Slack cannot be reached (" in ended.output


# -- channel and person -------------------------------------------------------------


async def test_a_channel_without_the_bot_is_waited_for(desk):
    desk.slack.kick("C0OPS")

    def invite():
        members = desk.slack.workspace.channels["C0OPS"].members
        desk.slack.workspace.set_channel("C0OPS", members=(*members, "U0CSIGN"))

    ended = await desk.walk(*desk.tokens, "ops", "", invite, "", "U0ADA")
    assert ended.exit_code == 0, ended.output
    words = "I am not in #ops yet. Type there: /invite @Countersign"
    assert ended.output.count(words) == 2
    assert "Cards go to #ops." in ended.output


async def test_another_channel_can_be_named_instead(desk):
    ended = await desk.walk(*desk.tokens, "#private", "C0GENERAL", "U0ADA")
    assert ended.exit_code == 0, ended.output
    assert "I see no channel #private." in ended.output
    assert {rule.post_to for rule in desk.loaded().policy.tool} == {"#general"}


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("Ada", "That is not a member ID."),
        ("U0NOBODY", "That is U0NOBODY, whom nobody here has as an id."),
        ("U0CSIGN", "That is U0CSIGN, an app, which cannot answer."),
        ("U0CLEO", "That is U0CLEO, whose account is not active."),
        ("U0GUEST", "That is U0GUEST, a guest, who may start nothing."),
    ],
)
async def test_somebody_who_could_not_approve_is_not_taken(desk, typed, said):
    desk.slack.deactivate("U0CLEO")
    desk.slack.workspace.add_user(
        User(id="U0GUEST", name="guest", real_name="Guest", is_restricted=True)
    )
    ended = await desk.walk(*desk.tokens, "#ops", typed, "U0BEN")
    assert ended.exit_code == 0, ended.output
    assert said in ended.output
    assert desk.loaded().policy.tool[0].approvers == ("U0BEN",)


async def test_whoever_is_not_in_the_channel_is_told(desk):
    desk.slack.kick("C0OPS", "U0ADA")
    ended = await desk.walk(*desk.tokens, "#ops", "U0ADA")
    assert "You are not in #ops yet." in ended.output


# -- left and gone on with ----------------------------------------------------------


async def test_it_can_be_left_at_every_step_and_gone_on_with(desk):
    bot, app = desk.tokens
    for lines in ((), (bot,), (app,), ("#ops",)):
        left = await desk.walk(*lines)
        assert left.exit_code == 130, left.output
        assert "Left. What Slack has taken is kept;" in left.output
        assert not (desk.home / "policy.toml").exists()
    key = desk.env()["COUNTERSIGN_KEY"]
    ended = await desk.walk("#ops", "U0ADA")
    assert ended.exit_code == 0, ended.output
    assert "SLACK_BOT_TOKEN is set already; it is kept." in ended.output
    assert "SLACK_APP_TOKEN is set already; it is kept." in ended.output
    assert CREATE not in ended.output
    assert desk.env()["COUNTERSIGN_KEY"] == key
    assert await desk.check() == []


async def test_a_second_walk_asks_nothing_and_changes_nothing(desk):
    await desk.walk(*desk.tokens, "#ops", "U0ADA")
    before = {name: (desk.home / name).read_bytes() for name in NAMES}
    ended = await desk.walk()
    assert ended.exit_code == 0, ended.output
    assert "Kept: policy.toml, which was there" in ended.output
    assert before == {name: (desk.home / name).read_bytes() for name in NAMES}


async def test_it_goes_on_from_what_init_wrote(desk):
    CliRunner().invoke(init, ["--dir", str(desk.home)])
    mine = (desk.home / "policy.toml").read_bytes()
    key = desk.env()["COUNTERSIGN_KEY"]
    ended = await desk.walk(*desk.tokens)
    assert ended.exit_code == 0, ended.output
    assert (desk.home / "policy.toml").read_bytes() == mine
    assert desk.env()["COUNTERSIGN_KEY"] == key
    assert desk.loaded().secrets.app_token is not None


async def test_what_is_in_the_environment_is_used_and_not_written(desk):
    desk.environ["SLACK_BOT_TOKEN"], app = desk.tokens
    ended = await desk.walk(app, "#ops", "U0ADA")
    assert ended.exit_code == 0, ended.output
    assert "SLACK_BOT_TOKEN" not in desk.env()


async def test_a_kept_token_that_slack_refuses_is_never_replaced(desk):
    await desk.walk(*desk.tokens)
    desk.slack.workspace.refuse_token("token_revoked")
    before = (desk.home / ".env").read_bytes()
    ended = await desk.walk("xoxb-new")
    assert ended.exit_code == 2
    assert "Slack refuses SLACK_BOT_TOKEN: token_revoked." in ended.stderr
    assert "take SLACK_BOT_TOKEN out of .env or the environment" in ended.stderr
    assert (desk.home / ".env").read_bytes() == before


async def test_a_dotenv_that_others_can_read_ends_it_before_a_token_is_asked_for(desk):
    desk.home.mkdir(mode=0o700)
    (desk.home / ".env").write_text("X=1")
    (desk.home / ".env").chmod(0o644)
    ended = await desk.walk(*desk.tokens)
    assert ended.exit_code == 2
    assert "chmod 600" in ended.stderr
    assert (desk.home / ".env").read_text() == "X=1"


async def test_an_empty_line_in_dotenv_is_a_fault_in_words(desk):
    desk.home.mkdir(mode=0o700)
    path = desk.home / ".env"
    path.write_text("SLACK_BOT_TOKEN=")
    path.chmod(0o600)
    ended = await desk.walk(*desk.tokens)
    assert ended.exit_code == 2
    assert "SLACK_BOT_TOKEN is there and empty." in ended.stderr
    # What was there is as it was, and the key stands below it, on a line of its own.
    assert path.read_text().startswith("SLACK_BOT_TOKEN=\nCOUNTERSIGN_KEY=")
