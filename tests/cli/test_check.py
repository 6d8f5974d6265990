import socket
import sqlite3
import sys
from dataclasses import replace

import pytest
import pytest_asyncio
from office import RULE, Office

from bot.cli.report import Report
from bot.clock import SystemClock
from bot.core.keys import generate, read, ring
from bot.errors import Problem
from bot.playground.seed import User
from bot.ports import Identity, Tenant
from bot.slack.manifest import SCOPES
from bot.slack.standing import WITHOUT
from bot.store.lock import Lock
from bot.store.sqlite import SqliteStore


class Off(SystemClock):
    """A clock that is wrong by some seconds."""

    def __init__(self, seconds):
        self.seconds = seconds

    def now(self):
        return super().now() + self.seconds * 1000


@pytest_asyncio.fixture
async def office(tmp_path, monkeypatch):
    tmp_path.chmod(0o700)
    monkeypatch.setattr(sys, "path", list(sys.path))
    async with Office(tmp_path) as made:
        yield made


async def only(office, clock=None):
    """The one fault that there is."""
    (fault,) = await office.faults(clock)
    return fault


# -- as it should be ----------------------------------------------------------------


async def test_where_all_is_right_nothing_is_said_to_be_wrong(office):
    ended = await office.run("check")
    assert ended.exit_code == 0
    said = ended.output.splitlines()
    assert 'Slack: "home" as @countersign.' in said
    assert "Secrets: SLACK_BOT_TOKEN, SLACK_APP_TOKEN, COUNTERSIGN_KEY." in said
    assert said[-1] == "No problems."


async def test_no_value_of_a_secret_is_printed(office):
    office.slack.workspace.refuse_token("token_revoked")
    said = (await office.run("check")).output
    secrets = [v for k, v in office.environ.items() if "TOKEN" in k or "KEY" in k]
    assert not [secret for secret in secrets if secret in said]


async def test_looking_changes_nothing_anywhere(office):
    before = sorted(path.name for path in office.folder.iterdir())
    await office.run("check")
    after = {p.name for p in office.folder.iterdir()} - {"__pycache__"}
    assert sorted(after) == before
    called = {entry["kind"].partition(":")[2] for entry in office.slack.log()}
    assert called == {
        "api.test",
        "auth.test",
        "bots.info",
        "apps.connections.open",  # asked for an address, which is not connected to
        "usergroups.list",
        "usergroups.users.list",
        "conversations.list",
        "conversations.members",
        "users.info",
    }
    assert not (await office.slack.wait_for("bot:up", 0.05))["ok"]


async def test_faults_make_the_exit_code_and_are_counted(office):
    office.slack.kick("C0OPS")
    office.rule('"@approvers"', '"@approvers", "U0NOBODY"')
    ended = await office.run("check")
    assert ended.exit_code == 1
    assert ended.output.splitlines()[-1] == "2 problems. Nothing was changed."


async def test_a_note_is_no_fault(office):
    office.policy(f'{RULE}\n[[tool]]\nname = "gone"\ngate = "allow"\n')
    ended = await office.run("check")
    assert ended.exit_code == 0
    assert 'Note: policy: the rule "gone" matches no tool.\n  fix: ' in ended.output
    assert ended.output.endswith("No problems. 1 note.\n")


# -- tokens -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "token", "kind"),
    [
        ("SLACK_BOT_TOKEN", "xoxp-1-2", "a user token, xoxp"),
        ("SLACK_BOT_TOKEN", "xapp-1-2", "an app-level token, xapp"),
        ("SLACK_APP_TOKEN", "xoxb-1-2", "the bot token, xoxb"),
    ],
)
async def test_the_wrong_kind_of_token_is_named(office, name, token, kind):
    office.environ[name] = token
    assert (await only(office)).startswith(f"{name} is {kind}.\n  fix: ")


async def test_one_token_of_the_wrong_kind_hides_no_fault_of_the_other(office):
    office.environ["SLACK_APP_TOKEN"] = "xoxb-1-2"
    office.slack.workspace.refuse_token("token_revoked")
    assert len(await office.faults()) == 2


@pytest.mark.parametrize("code", ["token_revoked", "account_inactive"])
async def test_a_token_that_slack_refuses_is_named(office, code):
    office.slack.workspace.refuse_token(code)
    assert await only(office) == (
        f"Slack refuses SLACK_BOT_TOKEN: {code}.\n  fix: install the app again and "
        "copy the Bot User OAuth Token (xoxb-…)."
    )


@pytest.mark.parametrize("scope", SCOPES)
async def test_each_missing_scope_is_named_with_what_needs_it(office, scope):
    office.slack.workspace.scopes -= {scope}
    assert await only(office) == (
        f"SLACK_BOT_TOKEN has no {scope}: {WITHOUT[scope]}.\n"
        f"  fix: OAuth & Permissions, Bot Token Scopes: add {scope}, then Reinstall to "
        "Workspace."
    )


async def test_scopes_that_are_optional_are_a_note(office):
    office.slack.workspace.scopes -= {"im:history", "groups:history"}
    report = await office.examined()
    assert report.faults == []
    (note,) = report.notes
    assert "has no groups:history, im:history, which are optional" in note.what


async def test_an_app_token_without_its_scope_is_named(office):
    office.slack.fault("apps.connections.open", "error:missing_scope")
    assert await only(office) == (
        "SLACK_APP_TOKEN has no connections:write.\n  fix: Basic Information, "
        "App-Level Tokens, make a new token with that scope."
    )


async def test_an_app_token_that_slack_refuses_is_named(office):
    office.environ["SLACK_APP_TOKEN"] = "xapp-1-A0CSIGN-1-f"
    assert "Slack refuses SLACK_APP_TOKEN: invalid_auth." in await only(office)


async def test_tokens_of_two_apps_are_named(office):
    app = office.slack.workspace.app
    other = office.environ["SLACK_APP_TOKEN"].replace("A0CSIGN", "A0OTHER")
    office.slack.workspace.app = replace(app, app_token=other)
    office.environ["SLACK_APP_TOKEN"] = other
    assert (
        "SLACK_APP_TOKEN belongs to the app A0OTHER, the bot to A0CSIGN."
        in await only(office)
    )


async def test_silence_of_slack_is_named_and_the_rest_is_looked_at(office):
    office.environ["SLACK_API_URL"] = f"http://127.0.0.1:{free_port()}/api/"
    office.settings('tools = ["nowhere"]')
    faults = await office.faults()
    assert "The tool module nowhere could not be imported" in faults[0]
    assert faults[1].startswith("Slack cannot be reached (unreachable).\n  fix: ")


# -- people and channels ------------------------------------------------------------


async def test_a_channel_without_the_bot_is_named(office):
    office.slack.kick("C0OPS")
    assert await only(office) == (
        "#ops: the bot is not a member, so cards cannot be posted there.\n"
        "  fix: in #ops type /invite @Countersign"
    )


async def test_a_channel_that_is_not_there_is_named(office):
    office.rule('"#ops"', '"#opps"')
    assert "post_to names #opps, a channel the bot cannot see." in await only(office)


async def test_an_unknown_group_is_named_with_a_near_one(office):
    office.rule("@approvers", "@aprovers")
    fault = await only(office)
    assert "approvers name @aprovers, which is not a user group here." in fault
    assert "did you mean @approvers?" in fault


@pytest.mark.parametrize("key", ["approvers", "callers", "answerers"])
async def test_an_unknown_person_is_named(office, key):
    written = f'{key} = ["U0NOBODY", "U0BEN"]'
    given = 'approvers = ["@approvers"]'
    office.rule(given, written if key == "approvers" else f"{given}\n{written}")
    assert await only(office) == (
        f'policy, the rule for "greet": {key} name U0NOBODY, whom nobody here has as '
        "an id.\n  fix: take that id out, or put another one in its place."
    )


async def test_a_deactivated_approver_is_named(office):
    office.rule('"@approvers"', '"U0CLEO", "U0BEN"')
    office.slack.deactivate("U0CLEO")
    assert "approvers name Cleo (U0CLEO), whose account is not active." in (
        await only(office)
    )


async def test_approvers_who_do_not_count_are_named(office):
    office.slack.workspace.add_user(
        User(id="U0FAR", name="far", real_name="Far", team_id="T0FAR")
    )
    office.rule('"@approvers"', '"@approvers", "U0FAR", "U0CSIGN"')
    first, second = await office.faults()
    assert "Far (U0FAR), somebody of another workspace." in first
    assert "countersign (U0CSIGN), an app, which cannot answer." in second


async def test_an_empty_group_is_named(office):
    office.slack.set_group_members("S0APPROVERS")
    assert '"greet": @approvers has no member.' in await only(office)


async def test_a_group_of_people_who_left_is_named(office):
    office.slack.deactivate("U0BEN")
    assert '"greet": @approvers has no active member.' in await only(office)


async def test_approvers_who_see_no_card_are_named(office):
    office.slack.kick("C0OPS", "U0BEN")
    assert '"greet": none of its approvers is in #ops.' in await only(office)

    office.slack.set_group_members("S0APPROVERS", "U0BEN", "U0CLEO")
    report = await office.examined()
    assert report.faults == []
    (note,) = report.notes
    assert '"greet": not in #ops: Ben (U0BEN).' in note.what


async def test_whom_slack_does_not_describe_is_a_note(office):
    office.rule('"@approvers"', '"U0BEN"')
    office.slack.fault("users.info", "500")
    report = await office.examined()
    assert report.faults == []
    (note,) = report.notes
    assert note.what.endswith('"greet": Slack did not say just now who U0BEN is.')


async def test_nothing_is_asked_for_rules_that_never_run(office):
    office.rule('gate = "ask"', 'gate = "deny"')
    office.slack.kick("C0OPS")
    assert await office.faults() == []


# -- the clock ----------------------------------------------------------------------


@pytest.mark.parametrize(("seconds", "word"), [(400, "ahead of"), (-400, "behind")])
async def test_a_clock_that_is_off_is_named(office, seconds, word):
    fault = await only(office, Off(seconds))
    assert f" s {word} Slack's, so requests of Slack are refused" in fault


async def test_a_clock_that_is_a_little_off_is_a_note(office):
    report = await office.examined(Off(100))
    assert report.faults == []
    assert [" s ahead of Slack's." in note.what for note in report.notes] == [True]
    assert (await office.examined(Off(50))).notes == []


# -- the model ----------------------------------------------------------------------


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def with_model(office, base_url):
    office.settings(
        'tools = ["office_tools"]\n[model]\nstyle = "openai"\n'
        f'name = "stand-in"\nbase_url = "{base_url}"\n'
    )


async def test_a_model_that_answers_is_said(office):
    with_model(office, office.slack.model_url)
    report = await office.examined()
    assert report.faults == []
    assert any(fact.startswith("Model: stand-in answers, ") for fact in report.facts)


async def test_a_model_that_cannot_be_reached_is_named(office):
    base_url = f"http://127.0.0.1:{free_port()}/v1"
    with_model(office, base_url)
    assert await only(office) == (
        f"[model] stand-in at {base_url}: the model's endpoint could not be reached.\n"
        "  fix: see that it runs, and mend base_url in [model]."
    )


async def test_a_model_that_refuses_is_named(office):
    with_model(office, office.slack.model_url)
    office.slack.fault("standin", "error:no_such_model")
    assert "the model's endpoint answered 400" in await only(office)


# -- the database -------------------------------------------------------------------


async def a_database(office, **names):
    keys = ring(read(generate()), "audit")
    path = office.folder / "countersign.db"
    store = await SqliteStore.open(path, keys, SystemClock())
    tenant = Tenant(team=names.pop("team", "T0HOME"))
    identity = Identity(
        tenant=tenant, team_name="other", bot_user="U", bot_id="B", app="A", seen_at=1
    )
    await store.write(lambda tx: store.save_identity(tx, identity))
    for name, id in names.items():
        await store.write(
            lambda tx, n=name, i=id: store.save_name(tx, tenant, f"@{n}", i)
        )
    return store


async def test_a_database_of_another_program_is_named(office):
    path = office.folder / "countersign.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE things (name)")
    other.close()
    path.chmod(0o600)
    before = path.read_bytes()
    assert await only(office) == (
        f"{path} is a database of another program.\n  fix: choose another path"
    )
    assert path.read_bytes() == before


async def test_what_is_no_database_is_named(office):
    path = office.folder / "countersign.db"
    path.write_text("not a database")
    path.chmod(0o600)
    assert "is not a SQLite database." in await only(office)


async def test_a_database_that_others_may_read_is_named(office):
    await (await a_database(office)).close()
    (office.folder / "countersign.db").chmod(0o644)
    assert "Others may read or write" in await only(office)


async def test_a_database_of_another_workspace_is_named(office):
    await (await a_database(office, team="T0OTHER")).close()
    assert 'belongs to workspace "other", the token to "home".' in await only(office)


async def test_a_handle_that_means_another_group_is_named(office):
    await (await a_database(office, approvers="S0BEFORE")).close()
    assert "@approvers was the group S0BEFORE and is now S0APPROVERS" in (
        await only(office)
    )


async def test_a_database_in_use_is_said_and_left_alone(office):
    path = office.folder / "countersign.db"
    lock = await Lock.acquire(path, SystemClock(), on_wait=print)
    store = await a_database(office)
    try:
        report = await office.examined()
        await store.write(lambda tx: tx.execute("SELECT 1"))
    finally:
        await store.close()
        lock.release()
    assert report.faults == []
    assert any("is whole, in use by process " in fact for fact in report.facts)
    free = await office.examined()
    assert any(fact.endswith("is whole.") for fact in free.facts)


# -- files --------------------------------------------------------------------------


async def test_a_module_that_does_not_import_is_named(office):
    office.settings('tools = ["office_tools", "office_broken"]')
    office.write("office_broken.py", "raise ValueError('no cluster')")
    assert "office_broken could not be imported: ValueError: no cluster" in (
        await only(office)
    )


async def test_a_typo_in_the_policy_is_named(office):
    office.rule("approvers =", "aprovers =")
    fault = await only(office)
    assert fault.startswith('policy.toml, tool "greet": aprovers is a key that')
    assert "did you mean approvers?" in fault


async def test_a_typo_in_the_settings_hides_no_fault_of_the_tokens(office):
    office.settings("tolls = []")
    office.slack.workspace.refuse_token("token_revoked")
    first, second = await office.faults()
    assert "did you mean tools?" in first
    assert "Slack refuses SLACK_BOT_TOKEN" in second


async def test_an_empty_folder_is_no_traceback(office, tmp_path):
    office.environ = {"COUNTERSIGN_CONFIG": str(tmp_path / "no.toml")}
    office.environ["SLACK_API_URL"] = office.slack.api_url
    faults = await office.faults()
    assert [fault.split("\n")[0] for fault in faults] == [
        f"There is no settings file at {tmp_path}/no.toml.",
        "SLACK_BOT_TOKEN is not set.",
        "SLACK_SIGNING_SECRET is not set.",
        "COUNTERSIGN_KEY is not set.",
    ]


async def test_an_address_of_slack_that_is_none_is_a_fault_and_not_asked(office):
    office.environ["SLACK_API_URL"] = "nowhere"
    assert "SLACK_API_URL" in await only(office)


async def test_tools_and_rules_without_each_other_are_notes(office):
    office.policy('[[tool]]\nname = "other"\ngate = "ask"\n')
    report = await office.examined()
    assert report.faults == []
    assert {note.what for note in report.notes} == {
        'policy.toml, tool "other": it names no approvers, so nobody may approve it.',
        'policy: the rule "other" matches no tool.',
        "greet: no rule, so it may not run.",
    }


COMMAND = 'tools = ["office_tools"]\n[[command]]\nname = "/deploy"\n'


async def test_a_command_for_a_tool_that_is_not_there_is_named(office):
    office.settings(f'{COMMAND}tool = "deploy"\n')
    assert "/deploy names the tool deploy, which there is not." in await only(office)


async def test_a_command_with_a_prompt_and_no_model_is_a_note(office):
    office.settings(f'{COMMAND}prompt = "deploy it"\n')
    report = await office.examined()
    assert report.faults == []
    (note,) = report.notes
    assert note.what.startswith("/deploy has a prompt, and no model is set")


async def test_a_headline_with_what_the_tool_does_not_take_is_a_note(office):
    office.rule("Greet {name}", "Greet {whom}")
    (note,) = (await office.examined()).notes
    assert "the headline shows {whom}" in note.what


async def test_an_address_is_wanted_over_http_alone(office):
    del office.environ["SLACK_APP_TOKEN"]
    office.environ["SLACK_SIGNING_SECRET"] = "a" * 32
    (note,) = (await office.examined()).notes
    assert note.what.startswith("public_url is not set")
    office.environ["COUNTERSIGN_PUBLIC_URL"] = "https://cs.example"
    report = await office.examined()
    assert (report.notes, "Address: https://cs.example." in report.facts) == ([], True)


def test_every_scope_of_the_manifest_has_its_reason():
    assert set(WITHOUT) == set(SCOPES)


def test_a_problem_stands_once_in_a_report():
    report = Report()
    report.fault(Problem(what="a", fix="b"), Problem(what="a", fix="b"))
    assert len(report.faults) == 1
