"""T22: a callback of another workspace reads, changes and shows nothing of ours."""

import ast
import asyncio
import inspect
import re
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from harness import ADA, BEN, OPS, controls, text_of_reply
from probe_tools import GATES
from wire import JSON, command_body, event_body, logged, settled, view_body

import bot
from bot.ports import MessageRow, Store, Tenant, VoteRow

AWAY = Tenant(team="T0AWAY")
CANNOT = "This card cannot be answered. /approvals shows what waits for you."
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
    assert controls(await bench.card()) == ["Approve", "Deny"]
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
    before = await rows_of(bench, "T0HOME")
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
    after = await rows_of(bench, "T0HOME")
    if tenant_of(foreign)[1] == "T0HOME":
        before.pop("audit")
        after.pop("audit")
    assert after == before
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


@pytest.mark.parametrize("foreign", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize(
    ("command", "text"),
    [
        ("/tool", "status service=api"),
        ("/tool", "pay amount=1"),
        ("/tool", ""),
        ("/tool", "nonsense"),
        ("/runs", ""),
        ("/approvals", ""),
        ("/approvals", "CS-1"),
    ],
)
async def test_a_command_from_elsewhere_is_refused(bench, command, text, foreign):
    await bench.tool("pay amount=5")
    await bench.quiet()
    before = await rows_of(bench, "T0HOME")
    team, enterprise = foreign.get("team", "T0HOME"), foreign.get("enterprise")
    app = foreign.get("app", bench.slack.app_id)
    body, _ = command_body(
        bench, command, text, team_id=team or "T", enterprise_id=enterprise
    )
    if app != bench.slack.app_id:
        body, _ = command_body(bench, command, text, api_app_id=app)

    answer = await bench.send(body)

    await settled(bench)
    assert answer.status_code == 200
    assert text_of_reply(answer.text) == CANNOT
    assert (await newest_audit(bench))[2:4] == ("refused wrong_workspace", ADA)
    after = await rows_of(bench, "T0HOME")
    if app != bench.slack.app_id or team == "T0HOME":
        before.pop("audit")
        after.pop("audit")
    assert after == before
    assert bench.ran() == []


@pytest.mark.parametrize("team", ["T0HOME", "T0AWAY"])
async def test_views_and_events_carry_no_decision(bench, team):
    """A token of ours in a tampered view, and the word itself in an event (T15)."""
    await bench.tool("pay amount=5")
    card = await bench.card()
    tokens = [e["value"] for b in card["blocks"] for e in b.get("elements", [])
              if e.get("action_id") == "cs_approve"]  # fmt: skip
    before = await rows_of(bench, "T0HOME")
    where = {"id": team}
    sent = [
        view_body(bench, "view_submission", tokens[0], team=where),
        view_body(bench, "view_closed", tokens[0], team=where),
        event_body(bench, "approve", team_id=team),
        event_body(bench, tokens[0], team_id=team),
    ]

    for body, content_type in sent:
        answer = await bench.send(body, headers={"Content-Type": content_type})
        assert (answer.status_code, answer.content) == (200, b"")
        assert content_type or JSON

    await settled(bench)
    assert await rows_of(bench, "T0HOME") == before
    assert controls(await bench.card()) == ["Approve", "Deny"]


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


# -- the statements themselves ---------------------------------------------------------

STORE = Path(bot.__file__).parent / "store"
STATEMENT = re.compile(r"\s*(SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH)\b")
BOUND = re.compile(
    r"enterprise = \? AND team = \?|INSERT INTO \w+ \([^)]*\benterprise,\s+team\b"
)
#: Statements that do not name the workspace themselves, and by what they are bound.
#: A run's id and a request's ref are 128 random bits, unique in the file; they reach
#: these statements out of a row that a bound statement gave.
UNBOUND = {
    ("audit.py", "head"): "one chain for the file; it holds a row's MAC alone",
    ("audit.py", "verify"): "one chain for the file; no handler reaches it",
    ("installation.py", "identity"): "who we are, at start; no handler reaches it",
    ("opening.py", "close"): "the file itself",
    ("opening.py", "_was_clean"): "the file itself",
    ("opening.py", "_set_up"): "the file itself",
    ("outbox.py", "_REDRAW"): "by the id of a run",
    ("outbox.py", "messages"): "by the id of a run",
    ("requests.py", "requests"): "by the id of a run",
    ("requests.py", "votes"): "by the ref of a request",
    ("runs.py", "calls"): "by the id of a run",
    ("runs.py", "_SAVE_CALL"): "by the id of a run, out of the call's row",
    ("runs.py", "_NEXT_ENTRY"): "by the id of a run, out of the call's row",
    ("runs.py", "_CLAIM"): "by the id of a run, out of the call's row",
}


def statements():
    """Every SQL statement of the store: file, where it stands in it, text."""
    for path in sorted(STORE.glob("*.py")):
        for owner in ast.parse(path.read_text()).body:
            inside = owner.body if isinstance(owner, ast.ClassDef) else [owner]
            for node in inside:
                for text in texts(node):
                    yield path.name, name_of(node), text


def texts(node):
    constants = (one for one in ast.walk(node) if isinstance(one, ast.Constant))
    return [
        one.value
        for one in constants
        if isinstance(one.value, str) and STATEMENT.match(one.value)
    ]


def name_of(node):
    if isinstance(node, ast.Assign):
        return node.targets[0].id
    return getattr(node, "name", "")


def test_every_statement_is_bound_to_the_workspace():
    found = list(statements())
    unbound = {(file, name) for file, name, text in found if not BOUND.search(text)}
    assert len(found) > 35
    assert unbound == set(UNBOUND)


def test_no_statement_stands_outside_the_store():
    others = [p for p in STORE.parent.rglob("*.py") if p.parent.name != "migrations"]
    for path in others:
        if path.parent == STORE or "playground" in path.parts:
            continue
        found = [t for t in texts(ast.parse(path.read_text())) if " FROM " in t]
        assert found == [], path


def test_what_a_handler_can_ask_the_store_names_the_workspace():
    """By the tenant itself, by a row that carries it, or by an id of such a row."""
    by_id = {"calls", "requests", "votes", "messages", "redraw"}
    by_row = {"row"}
    for name, method in inspect.getmembers(Store, inspect.isfunction):
        taken = set(inspect.signature(method).parameters)
        if "tx" not in taken or name in by_id:
            continue
        if name == "identity":  # read by the assembly alone, before a handler exists
            users = [p for p in STORE.parent.rglob("*.py") if ".identity(" in
                     p.read_text() or "store.identity" in p.read_text()]  # fmt: skip
            assert [p.name for p in users] == ["app.py"]
            continue
        assert "tenant" in taken or taken & by_row, name


async def test_ids_of_rows_cannot_be_guessed_or_meet(bench):
    """What the statements that go by an id alone rest on."""
    await bench.tool("pay amount=1")
    await bench.tool("pay amount=1")
    ids = [*await bench.rows("SELECT id FROM runs"), *await bench.rows(
        "SELECT ref FROM requests"), *await bench.rows("SELECT ref FROM calls")]  # fmt: skip
    assert len({one for (one,) in ids}) == 6
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", one) for (one,) in ids)
