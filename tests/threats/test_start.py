"""Starting for real: Slack away, tools that do not import, files that others can reach.

T50 from the outside, and what issue and design say about a start (design §9).
"""

import signal
import sqlite3
import stat
import time
from urllib.parse import urlencode

import httpx
import pytest
from harness import ADA, BEN, OPS, text_of_reply
from process import POLICY, SETTINGS, Serving, pretend_slack, written
from wire import signature

from bot.errors import ConfigError

# -- Slack at start --------------------------------------------------------------------


async def test_without_slack_it_starts_as_who_it_was(tmp_path):
    folder = written(tmp_path / "home")
    slack = pretend_slack(folder)
    serving = Serving(folder, slack)
    # Its addresses are known once it listens.
    async with slack:
        serving.environ["SLACK_API_URL"] = slack.api_url
        await serving.start()
        await slack.command(ADA, OPS, "/tool", "pay amount=5")
        assert await slack.wait_for("message:C0OPS:contains:pay", 10)
        assert "slack_unreachable" not in serving.log()
        assert await serving.stop() == 0

    await serving.start()
    try:
        assert '"event": "slack_unreachable"' in serving.log()
        said = await command(serving, slack, "/runs")
    finally:
        assert await serving.stop() == 0

    assert "CS-1" in said
    assert "Traceback" not in serving.log()


async def command(serving, slack, words):
    """A signed slash command, sent by hand: nobody else is there."""
    fields = {
        "command": words,
        "user_id": ADA,
        "team_id": slack.team_id,
        "channel_id": OPS,
        "api_app_id": slack.app_id,
        "trigger_id": "1",
    }
    body, stamp = urlencode(fields).encode(), int(time.time())
    headers = {
        "Content-Type": "application/x-www-form-urlencoded",
        "X-Slack-Request-Timestamp": str(stamp),
        "X-Slack-Signature": signature(slack.signing_secret, stamp, body),
    }
    url = f"http://127.0.0.1:{serving.port}/slack/events"
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=30) as client:
        answer = await client.post(url, content=body, headers=headers)
    assert answer.status_code == 200
    return text_of_reply(answer.text)


async def test_without_slack_a_new_database_does_not_start(tmp_path):
    folder = written(tmp_path / "home")
    code, said = await Serving(folder).refused()
    assert code == 2
    assert "Slack cannot be reached (unreachable)" in said
    assert "  fix: check the network and SLACK_API_URL" in said
    assert "1 problem. Nothing was started." in said


async def test_a_refused_token_does_not_start(tmp_path):
    folder = written(tmp_path / "home")
    async with pretend_slack(folder) as slack:
        serving = Serving(folder, slack, SLACK_BOT_TOKEN="xoxb-1-another")
        code, said = await serving.refused()
    assert code == 2
    assert "Slack refuses SLACK_BOT_TOKEN: invalid_auth." in said
    assert "  fix: install the app again" in said
    assert "xoxb-1-another" not in said


@pytest.mark.parametrize("fault", ["500", "429:30", "accept-then-drop"])
async def test_an_outage_is_no_refusal(bench, fault):
    await bench.tool("pay amount=5")
    card = await bench.card()
    await bench.stop()
    looked_up = ("auth.test", "bots.info", "usergroups.list", "conversations.list")
    for method in looked_up:
        assert bench.slack.fault(method, fault)["ok"]

    await bench.start()
    for method in looked_up:
        bench.slack.fault(method, "")
    await bench.press(BEN, card, "approve")

    await bench.quiet()
    assert len(bench.ran("pay")) == 1


@pytest.mark.parametrize(
    "code", ["invalid_auth", "token_revoked", "account_inactive", "token_expired"]
)
async def test_a_refusal_is_no_outage(bench, code):
    await bench.stop()
    bench.slack.fault("auth.test", f"error:{code}")

    with pytest.raises(ConfigError, match=f"SLACK_BOT_TOKEN: {code}"):
        await bench.start()

    bench.slack.fault("auth.test", "")
    await bench.start()


async def test_the_database_of_another_workspace_does_not_start(bench):
    away = "UPDATE installation SET team = 'T0AWAY', team_name = 'Away'"
    await bench.store.write(lambda tx: tx.execute(away).rowcount)
    await bench.stop()

    with pytest.raises(ConfigError, match=r"belongs to workspace T0AWAY \(Away\)"):
        await bench.start()

    bench.slack.fault("auth.test", "500")  # as it was: for what is checked last
    with sqlite3.connect(bench.folder / "countersign.db") as writer:
        writer.execute("UPDATE installation SET team = 'T0HOME'")
    writer.close()
    await bench.start()


# -- tools -----------------------------------------------------------------------------


async def test_tools_that_do_not_import_are_named_with_their_last_line(tmp_path):
    folder = written(
        tmp_path / "home", 'tools = ["broken", "absent", "needy", "wordy"]\n'
    )
    (folder / "broken.py").write_text("import os\n\nraise ValueError('no such town')\n")
    (folder / "needy.py").write_text("import a_library_nobody_has\n")
    (folder / "wordy.py").write_text("def half(:\n")
    async with pretend_slack(folder) as slack:
        code, said = await Serving(folder, slack).refused()
    assert code == 2
    for part in (
        "The tool module broken could not be imported: ValueError: no such town",
        "The tool module absent could not be imported: ModuleNotFoundError: ",
        "The tool module needy could not be imported: ModuleNotFoundError: "
        "No module named 'a_library_nobody_has'",
        "The tool module wordy could not be imported: SyntaxError: ",
        "4 problems. Nothing was started.",
    ):
        assert part in said
    assert said.count("  fix: ") == 4


async def test_tools_handles_and_channels_are_told_together(tmp_path):
    policy = POLICY.replace("@approvers", "@nobody").replace("#ops", "#nowhere")
    folder = written(tmp_path / "home", 'tools = ["absent"]\n', policy)
    async with pretend_slack(folder) as slack:
        code, said = await Serving(folder, slack).refused()
    assert code == 2
    assert "absent" in said
    assert "@nobody" in said
    assert "#nowhere" in said
    assert "3 problems. Nothing was started." in said


# -- T50: files ------------------------------------------------------------------------

DEEP = SETTINGS + 'database = "made/by us/countersign.db"\n'


def modes(folder):
    """The modes of everything below a folder."""
    return {
        path.relative_to(folder).as_posix(): stat.S_IMODE(path.lstat().st_mode)
        for path in sorted(folder.rglob("*"))
    }


async def test_only_we_may_read_what_we_make_whatever_the_umask(tmp_path):
    folder = written(tmp_path / "home", DEEP)
    data = folder / "made/by us"
    async with pretend_slack(folder) as slack:
        serving = Serving(folder, slack, umask=0)
        async with serving:
            await slack.command(ADA, OPS, "/tool", "pay amount=5")
            await slack.wait_for("message:C0OPS:contains:pay", 10)
            names = {"countersign.db" + end for end in ("", "-wal", "-shm", ".lock")}
            assert modes(data) == dict.fromkeys(names, 0o600)
            # Killed, so that the log stays; then started, and ended with a checkpoint.
            await serving.stop(signal.SIGKILL)
            assert modes(data) == dict.fromkeys(names, 0o600)
            await serving.start()
            assert modes(data) == dict.fromkeys(names, 0o600)
            assert await serving.stop() == 0
            assert modes(data) == {
                "countersign.db": 0o600,
                "countersign.db.lock": 0o600,
            }
            await serving.start()
            assert modes(data) == dict.fromkeys(names, 0o600)
    assert {modes(folder)[name] for name in ("made", "made/by us")} == {0o700}


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda db: db.chmod(0o644), "Others may read or write "),
        (lambda db: db.parent.chmod(0o777), "Others may write to "),
        (lambda db: linked(db), " is a symbolic link."),
    ],
    ids=["loose", "open folder", "link"],
)
async def test_what_others_could_reach_is_not_opened(tmp_path, spoil, words):
    folder = written(tmp_path / "home", DEEP)
    database = folder / "made/by us/countersign.db"
    database.parent.mkdir(parents=True, mode=0o700)
    database.touch(0o600)
    spoil(database)
    before = modes(folder)

    code, said = await Serving(folder).refused()

    assert code == 1
    assert words in said
    assert "  fix: " in said
    assert modes(folder) == before
    assert all(path.stat().st_size == 0 for path in database.parent.iterdir())


def linked(database):
    database.rename(database.with_name("elsewhere.db"))
    database.symlink_to("elsewhere.db")
