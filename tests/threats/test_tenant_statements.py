"""T22, as far as the text can show it: every statement is bound to the workspace.

What a text cannot show, that an id which binds a statement came out of a bound row, is
written down in `UNBOUND` and tried out in `test_workspaces.py`.
"""

import ast
import inspect
import re
from pathlib import Path

import bot
from bot.ports import Store

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
    ("runs.py", "all_calls"): "by the id of a run",
    ("runs.py", "transcript"): "by the id of a run",
    ("runs.py", "add_transcript"): "by the id of a run, out of its row",
    ("runs.py", "_SAVE_CALL"): "by the id of a run, out of the call's row",
    ("runs.py", "_NEXT_ENTRY"): "by the id of a run, out of the call's row",
    ("runs.py", "_CLAIM"): "by the id of a run, out of the call's row",
}


#: The methods of the store behind those that go by an id.
BY_ID = {
    "add_transcript",
    "all_calls",
    "calls",
    "messages",
    "redraw",
    "requests",
    "transcript",
    "votes",
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
    for name, method in inspect.getmembers(Store, inspect.isfunction):
        taken = set(inspect.signature(method).parameters)
        if "tx" in taken and name not in {*BY_ID, "identity"}:
            assert taken & {"tenant", "row"}, name


def test_who_we_are_is_read_before_there_is_a_handler():
    """The one statement that looks across workspaces."""
    users = [
        path.name
        for path in sorted(STORE.parent.rglob("*.py"))
        if "store.identity" in path.read_text()
    ]
    assert users == ["installation.py"]


async def test_ids_of_rows_cannot_be_guessed_or_meet(bench):
    """What the statements that go by an id alone rest on."""
    for _ in range(2):
        await bench.tool("pay amount=1")
    found = await bench.rows(
        "SELECT id FROM runs UNION ALL SELECT ref FROM requests"
        " UNION ALL SELECT ref FROM calls"
    )
    ids = [one for (one,) in found]
    assert len(set(ids)) == 6
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{22}", one) for one in ids)
