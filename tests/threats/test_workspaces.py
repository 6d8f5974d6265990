"""T22: a callback of another workspace reads, changes and shows nothing of ours."""

import asyncio
import threading
from dataclasses import replace

import pytest
from harness import ADA, BEN, OPS, click_payload, controls, text_of_reply
from probe_tools import GATES
from wire import command_body, event_body, logged, settled, view_body

from bot.ports import MessageRow, Tenant, VoteRow

AWAY = Tenant(team="T0AWAY")
CANNOT = "This card cannot be answered. /approvals shows what waits for you."
NOT_HERE = "This command cannot be used here."
TABLES = (
    *("runs", "calls", "executions", "requests", "votes", "outbox", "inbox"),
    *("installation", "names", "audit"),
)


async def rows_of(bench, team):
    """Everything that a workspace owns."""
    return {
        table: await bench.rows(f"SELECT * FROM {table} WHERE team = ?", team)
        for table in TABLES
    }


def without_refusals(rows):
    """A payload of another app may name our team: then the note is a row of ours."""
    notes = [row for row in rows["audit"] if "refused wrong_workspace" not in row]
    return {**rows, "audit": notes}


#: How a payload of somebody else differs from ours: in a click, in a command.
FOREIGN = {
    "another team": {"team": "T0AWAY"},
    "our team in an organisation": {"enterprise": "E0ORG"},
    "another team of an organisation": {"team": "T0AWAY", "enterprise": "E0ORG"},
    "only an organisation": {"team": None, "enterprise": "E0ORG"},
    "another app": {"app": "A0OTHER"},
    "no app": {"app": ""},
}


def tenant_of(changes):
    team = changes.get("team", "T0HOME") or ""
    return changes.get("enterprise") or "", team


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
async def test_a_click_from_elsewhere_is_refused_and_sees_nothing(bench, foreign):
    await bench.tool("pay amount=5")
    card = await bench.card()
    await nothing_happens(bench, card, "approve", foreign)
    await nothing_happens(bench, card, "deny", foreign)
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]
    assert bench.ran() == []


async def test_no_control_of_ours_works_elsewhere(bench):
    await bench.tool("countdown")
    await bench.tool("pay amount=5", channel="C0GENERAL")
    fallback, run_card = await bench.card(), await bench.card("C0GENERAL")
    for card, action in [
        (fallback, "done"),
        (fallback, "decline"),
        (run_card, "cancel"),
    ]:
        await nothing_happens(bench, card, action, FOREIGN["another team"])
    assert bench.ran() == []


async def test_an_unknown_outcome_is_not_reported_from_elsewhere(bench, monkeypatch):
    gate = threading.Event()
    monkeypatch.setitem(GATES, "pay", gate)
    await bench.tool("pay amount=5")
    await bench.slack.act(BEN, OPS, (await bench.card())["ts"], action_id="cs_approve")
    await in_the_tool(bench)
    await bench.pull_plug()
    gate.set()
    await bench.start()
    card = await bench.card()

    for action in ("ran", "not_run", "again"):
        await nothing_happens(bench, card, action, FOREIGN["another team"])

    assert len(controls(await bench.card())) == 3
    assert len(bench.ran("pay")) == 1


async def in_the_tool(bench):
    while not bench.ran("pay"):  # noqa: ASYNC110  # the tool writes to a file
        await asyncio.sleep(0.01)


async def nothing_happens(bench, card, action, foreign):
    """The click is refused in the words for an unknown card, to its sender alone."""
    before = without_refusals(await rows_of(bench, "T0HOME"))
    theirs = await bench.rows("SELECT count(*) FROM audit")
    path = bench.slack.workspace.new_return_path(card["channel"], BEN)
    since = len(bench.slack.log())
    url = f"{bench.slack.url}/response/{path}"

    with logged() as lines:
        answer = await bench.forge(BEN, card, action, response_url=url, **foreign)
        await settled(bench)

    assert (answer.status_code, answer.content) == (200, b"")
    assert (await bench.whispers(BEN))[-1] == CANNOT
    assert [entry["kind"] for entry in bench.slack.log()[since:]] == ["response_url"]
    noted = await newest_audit(bench)
    assert noted == (*tenant_of(foreign), "refused wrong_workspace", BEN, "", "")
    assert await bench.rows("SELECT count(*) FROM audit") == [(theirs[0][0] + 1,)]
    assert without_refusals(await rows_of(bench, "T0HOME")) == before
    assert lines() == ""


async def newest_audit(bench):
    (row,) = await bench.rows(
        "SELECT enterprise, team, action, actor, request, label FROM audit"
        " ORDER BY seq DESC LIMIT 1"
    )
    return row


async def test_people_of_ours_are_not_told_what_somebody_did_elsewhere(bench):
    """The same ids of a person and a channel are others there."""
    await bench.tool("pay amount=5")
    card = await bench.card()
    since = len(bench.slack.log())

    await bench.forge(BEN, card, "approve", team="T0AWAY", response_url="")
    await settled(bench)

    assert bench.slack.log()[since:] == []
    assert await bench.whispers(BEN) == []


COMMANDS = [
    ("/tool", "status service=api"),
    ("/tool", "pay amount=1"),
    ("/tool", ""),
    ("/tool", "nonsense"),
    ("/runs", ""),
    ("/approvals", ""),
    ("/approvals", "CS-1"),
]


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
async def test_a_command_from_elsewhere_is_refused(bench, foreign):
    await bench.tool("pay amount=5")
    await bench.quiet()
    before = without_refusals(await rows_of(bench, "T0HOME"))
    names = {"team": "team_id", "enterprise": "enterprise_id", "app": "api_app_id"}
    changed = {names[part]: value or "" for part, value in foreign.items()}
    # Slack always names a team in a command; without one it is a bad request.
    changed["team_id"] = changed.get("team_id") or bench.slack.team_id

    for command, text in COMMANDS:
        body, _ = command_body(bench, command, text, **changed)
        answer = await bench.send(body)
        assert answer.status_code == 200
        assert text_of_reply(answer.text) == NOT_HERE
        noted = await newest_audit(bench)
        assert noted[2:] == ("refused wrong_workspace", ADA, "", "")

    await settled(bench)
    assert without_refusals(await rows_of(bench, "T0HOME")) == before
    assert bench.ran() == []


@pytest.mark.parametrize("team", ["T0HOME", "T0AWAY"])
async def test_views_and_events_carry_no_decision(bench, team):
    """A token of ours in a tampered view, and the word itself in an event (T15)."""
    await bench.tool("pay amount=5")
    card = await bench.card()
    click = click_payload(bench.slack, BEN, card, "cs_approve", {})
    token = click["actions"][0]["value"]
    before = await rows_of(bench, "T0HOME")
    where = {"id": team}
    sent = [
        view_body(bench, "view_submission", token, team=where),
        view_body(bench, "view_closed", token, team=where),
        event_body(bench, "approve", team_id=team),
        event_body(bench, token, team_id=team),
    ]

    for body, content_type in sent:
        answer = await bench.send(body, headers={"Content-Type": content_type})
        assert (answer.status_code, answer.content) == (200, b"")

    await settled(bench)
    after = await rows_of(bench, "T0HOME")
    noted = [row for row in after["audit"] if row not in before["audit"]]
    # The submission alone claims to answer something, so it is noted as refused.
    if team == "T0HOME":
        assert [row[4:6] for row in noted] == [("refused unknown_request", BEN)]
    else:
        assert noted == []
    assert {**after, "audit": before["audit"]} == before
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]


# -- rows of a second workspace in the same file ---------------------------------------


@pytest.fixture
async def planted(bench):
    """Rows of another workspace that look like ours, and must never be seen."""
    await bench.tool("pay amount=666")
    await bench.quiet()
    refs = await plant(bench)
    before = await rows_of(bench, "T0AWAY")
    assert all(before[table] for table in ("runs", "calls", "requests", "outbox"))
    yield refs
    await settled(bench)
    assert await rows_of(bench, "T0AWAY") == before
    await bench.store.write(uproot)


async def plant(bench):
    """Copy our only run, with its request and card, into another workspace."""
    store, ours = bench.store, bench.bot.parts.tenant

    def unit(tx):
        (run,) = store.runs_of(tx, ours, ADA, 5)
        (request,) = store.requests(tx, run.id)
        (call,) = store.calls(tx, run.id, 1)
        copy = replace(run, id="away-run", tenant=AWAY, requester_name="Eve", wake_at=0)
        asked = replace(request, ref="R" * 22, tenant=AWAY, run=copy.id)
        store.add_run(tx, copy)
        store.add_call(tx, replace(call, run=copy.id, ref="C" * 22))
        store.add_request(tx, asked)
        card = MessageRow(
            tenant=AWAY,
            kind="request",
            run=copy.id,
            request=asked.ref,
            destination=OPS,
            channel=OPS,
            ts="1.000666",
            due_at=0,
        )
        store.add_message(tx, card)
        store.add_message(tx, replace(card, ts="", channel=""))
        vote = {"user": BEN, "name": "Ben", "decision": "deny", "at": 1}
        store.add_vote(tx, VoteRow(request=asked.ref, person=f"T0HOME:{BEN}", **vote))
        store.save_name(tx, AWAY, "@approvers", "S0EVIL")
        store.first_time(tx, AWAY, f"command:{ADA}:1.2.abc", 1)
        store.remember(tx, AWAY, f"command:{ADA}:1.2.abc", copy.id)
        known = store.identity(tx)
        store.save_identity(tx, replace(known, tenant=AWAY, app="A0EVIL", seen_at=1))
        return {"run": copy.id, "request": asked.ref, "call": "C" * 22}

    return await bench.store.write(unit)


def uproot(tx):
    for table in (*TABLES[4:0:-1], "outbox", "runs", "inbox", "installation", "names"):
        tx.execute(f"DELETE FROM {table} WHERE team = 'T0AWAY'")


async def test_another_workspaces_rows_are_in_no_list(bench, planted):
    assert (await bench.type("/runs")).count("CS-1") == 1
    assert (await bench.type("/approvals", user=BEN)).count("CS-1") == 1
    assert "Eve" not in await bench.type("/approvals", "CS-1", user=BEN)


async def test_another_workspaces_runs_do_not_count(bench, planted):
    body, _ = command_body(bench, text="pay amount=7")  # their trigger id, too
    await bench.send(body)
    await bench.quiet()

    numbers = "SELECT number FROM runs WHERE team = 'T0HOME' ORDER BY number"
    assert await bench.rows(numbers) == [(1,), (2,)]


async def test_another_workspaces_requests_do_not_run_out_here(bench, planted):
    with logged() as lines:
        await bench.pass_time(24 * 3600)
        await bench.restart()
        await bench.pass_time(1)
    assert "Traceback" not in lines()
    assert await bench.rows("SELECT status FROM requests WHERE team='T0HOME'") == [
        ("expired",)
    ]


async def test_another_workspaces_vote_does_not_count_here(bench, planted):
    """The same person has said no there, to a request that looks the same."""
    await bench.press(BEN, await bench.card(), "approve")
    await bench.quiet()
    assert [line["args"]["amount"] for line in bench.ran()] == [666]


@pytest.mark.parametrize(
    ("action", "named"),
    [
        ("approve", "request"),
        ("deny", "request"),
        ("done", "request"),
        ("cancel", "run"),
        ("ran", "call"),
        ("again", "call"),
    ],
)
@pytest.mark.parametrize("ts", ["1.000666", None], ids=["their card", "our card"])
async def test_another_workspaces_refs_are_unknown(bench, planted, action, named, ts):
    """Even with a token that is right, and on the place that their row names."""
    card = await bench.card()
    token = bench.bot.services.sign(planted[named], action)
    changes = {"value": token, "action_id": f"cs_{action}", "ts": ts or card["ts"]}

    await bench.forge(BEN, card, "approve", **changes)
    await settled(bench)

    assert (await bench.whispers(BEN))[-1] == CANNOT
    assert (await newest_audit(bench))[2] == "refused unknown_request"
    assert bench.ran() == []
