"""What our dependencies do by themselves, and what this product therefore does itself.

Canaries (threat-model §0.4): when an upgrade changes one of these, its test says so,
and what is built around it can be looked at again.
"""

import asyncio
import contextlib
import logging
import os
import sqlite3
import stat
import time

import httpx
import pytest
from aiohttp import ServerDisconnectedError, web
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app
from slack_bolt.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient
from sqlite_utils import Database
from wire import FORM, JSON, form, signature

from bot.app import web_client
from bot.config import Loaded, Settings
from bot.environment import Secrets
from bot.policyfile import PolicyFile
from bot.web import server

SECRET = "0123456789abcdef0123456789abcdef"
STAMP, MAC = "X-Slack-Request-Timestamp", "X-Slack-Signature"


async def authorize(**_):
    return AuthorizeResult(
        enterprise_id=None, team_id="T1", bot_token="xoxb-1", bot_user_id="UB"
    )


class BareBolt:
    """An app on Bolt alone, with what it was clicked with."""

    def __init__(self):
        self.clicks = []
        self.app = AsyncApp(
            client=AsyncWebClient(token="xoxb-1"),
            signing_secret=SECRET,
            authorize=authorize,
            process_before_response=True,
        )
        self.app.action("go")(self.clicked)

    async def clicked(self, ack, body):
        self.clicks.append(body)
        await ack()


@pytest.fixture
async def bolt(caplog):
    """A bare app, and a way to send to it."""
    caplog.set_level(logging.INFO)
    bare = BareBolt()
    runner = web.AppRunner(bare.app.web_app("/slack/events"))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events"

    async def send(body, content_type=FORM, headers=None):
        given = {"Content-Type": content_type, **(headers or {})}
        async with httpx.AsyncClient(
            trust_env=False, verify=False, timeout=30
        ) as client:
            return await client.post(url, content=body, headers=given)

    bare.send = send
    yield bare
    await runner.cleanup()


def signed(body, *, off=0):
    stamp = int(time.time()) + off
    return {
        STAMP: str(stamp),
        MAC: signature(SECRET, stamp, body),
    }


def click(team="T1", user_team="T1"):
    action = {"type": "button", "action_id": "go", "block_id": "b", "value": "v"}
    return form(
        {
            "type": "block_actions",
            "team": {"id": team},
            "user": {"id": "U1", "team_id": user_team},
            "actions": [action],
        }
    )


# -- 1, 2, 4, 5: Bolt -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "content_type", "headers"),
    [
        (b"{", JSON, {}),
        (b"[" * 100_000, JSON, {}),
        (b"\xff\xfe\xfa", FORM, {}),
        (b"a=1", f"{FORM}; charset=bogus", {}),
        (b"payload=[]", FORM, {}),
        (b"payload=5", FORM, {}),
        (
            b"a=1",
            FORM,
            {STAMP: "abc", MAC: "v0="},
        ),
        (b"a=1", FORM, {STAMP: "", MAC: "v0="}),
        (b"a=1", FORM, {STAMP: "now", MAC: "v0=é".encode()}),
    ],
    ids=["json", "nested", "utf-8", "charset", "list", "number", "ts", "no ts", "mac"],
)
async def test_bolt_parses_before_it_verifies(bolt, body, content_type, headers):
    """Fact 1; hence `Door`, which verifies raw bytes and hands over a checked dict."""
    if headers.get(STAMP) == "now":
        headers = {**headers, STAMP: str(int(time.time()))}
    answer = await bolt.send(body, content_type, headers)
    assert answer.status_code == 500


async def test_bolt_logs_the_whole_body_of_a_bad_signature(bolt, caplog):
    """Fact 2; hence `logs._HELD_BACK`, and a door in front of it."""
    body = b"text=" + b"x" * 900_000
    answer = await bolt.send(body, headers={**signed(body), MAC: "v0=1"})
    assert answer.status_code == 401
    assert any(len(record.getMessage()) > 900_000 for record in caplog.records)


@pytest.mark.parametrize("off", [0, -270, 299])
async def test_bolt_takes_the_same_body_as_often_as_it_comes(bolt, off):
    """Fact 4; hence a narrower window ahead, and handlers that may be repeated."""
    body = click()
    headers = signed(body, off=off)
    for _ in range(3):
        assert (await bolt.send(body, headers=headers)).status_code == 200
    assert len(bolt.clicks) == 3


@pytest.mark.parametrize(
    ("team", "user_team"), [("T1", "T1"), ("T2", "T2"), ("T1", "T2")]
)
async def test_bolt_does_not_look_whose_workspace_it_is(bolt, team, user_team):
    """Fact 5; hence `payloads.same_installation`, and policy on a person's team."""
    body = click(team, user_team)
    assert (await bolt.send(body, headers=signed(body))).status_code == 200
    assert bolt.clicks[0]["team"]["id"] == team


async def test_bolt_takes_a_parsed_body_as_its_socket_mode_does(bolt):
    """What the door relies on: one path for both transports, nothing verified anew."""
    payload = {
        "type": "block_actions",
        "team": {"id": "T1"},
        "user": {"id": "U1"},
        "actions": [{"type": "button", "action_id": "go", "block_id": "b"}],
    }
    asked = SocketModeRequest(type="interactive", envelope_id="e", payload=payload)
    answer = await run_async_bolt_app(bolt.app, asked)
    assert answer.status == 200
    assert bolt.clicks == [payload]


# -- 6: aiohttp -----------------------------------------------------------------------


def test_aiohttp_waits_an_hour_for_headers_unless_it_is_told():
    """Fact 6; hence `web/server.py`. That its times hold is tried in T4."""
    site = web.Application()

    async def handlers():
        ours, plain = server.server(site), web.AppRunner(web.Application())
        await ours.setup()
        await plain.setup()
        made = ours.server(), plain.server()
        await ours.cleanup()
        await plain.cleanup()
        return made

    ours, plain = asyncio.run(handlers())
    assert plain._keepalive_timeout >= 3600
    assert plain._lingering_time == 10
    assert ours._keepalive_timeout == server.KEEPALIVE
    assert ours._lingering_time == server.LINGER


# -- 7: the Web API client -------------------------------------------------------------


@contextlib.asynccontextmanager
async def unreliable(answer):
    """A Web API that takes every call and then does what `answer` says."""
    calls = []

    async def take(request):
        calls.append(await request.read())
        if answer == "drop":
            request.transport.close()
            return web.Response()
        return web.json_response({"ok": False}, status=answer)

    site = web.Application()
    site.router.add_post("/api/{method}", take)
    runner = web.AppRunner(site, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/api/", calls
    finally:
        await runner.cleanup()


def ours(url):
    secrets = Secrets(
        bot_token="xoxb-1", signing_secret=SECRET, key="k", slack_api_url=url
    )
    return web_client(Loaded(settings=Settings(), policy=PolicyFile(), secrets=secrets))


def theirs(url):
    return AsyncWebClient(token="xoxb-1", base_url=url)


@pytest.mark.parametrize(
    ("client", "answer", "sent"),
    [
        (theirs, "drop", 2),
        (theirs, 500, 1),
        (theirs, 429, 1),
        (ours, "drop", 1),
        (ours, 500, 1),
        (ours, 429, 1),
    ],
)
async def test_only_their_client_sends_again_by_itself(client, answer, sent):
    """Fact 7; hence `retry_handlers=[]` and an outbox that looks before it repeats."""
    async with unreliable(answer) as (url, calls):
        with contextlib.suppress(SlackApiError, ServerDisconnectedError):
            await client(url).chat_postMessage(channel="C1", text="once")
    assert len(calls) == sent


# -- 8: sqlite-utils -------------------------------------------------------------------


def test_sqlite_utils_leaves_files_to_the_umask(tmp_path):
    """Fact 8; hence `store/files.py` makes the file first."""
    before = os.umask(0o022)
    try:
        db = Database(tmp_path / "plain.db")
        db.conn.execute("PRAGMA journal_mode = WAL")
        db["t"].insert({"a": 1})
    finally:
        os.umask(before)
    modes = {p.suffix: stat.S_IMODE(p.stat().st_mode) for p in tmp_path.iterdir()}
    db.close()
    assert modes == dict.fromkeys((".db", ".db-wal", ".db-shm"), 0o644)


def test_sqlite_utils_sets_nothing_that_power_loss_needs(tmp_path):
    """Hence `opening.SETTINGS`, read back."""
    db = Database(tmp_path / "plain.db")
    found = {
        name: db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "busy_timeout", "foreign_keys")
    }
    db.close()
    assert found == {
        "journal_mode": "delete",
        "synchronous": 2,
        "busy_timeout": 5000,
        "foreign_keys": 0,
    }


@pytest.fixture
def pending(tmp_path):
    """One pending request, and two connections that both see it."""
    path = tmp_path / "plain.db"
    one, two = (Database(sqlite3.connect(path, isolation_level=None)) for _ in "ab")
    one["requests"].insert({"id": "r", "status": "pending"}, pk="id")
    yield one, two
    one.close()
    two.close()


def test_an_upsert_overwrites_an_answer_without_a_word(pending):
    """Hence none of what people decide about is ever upserted."""
    one, two = pending
    one["requests"].update("r", {"status": "denied"})
    two["requests"].upsert({"id": "r", "status": "approved"}, pk="id")
    assert one["requests"].get("r")["status"] == "approved"


def test_looking_first_and_updating_then_lets_two_win(pending):
    """Hence decisions are one conditional update whose row count is checked."""
    seen = [db["requests"].get("r")["status"] for db in pending]
    assert seen == ["pending", "pending"]
    for db, decision in zip(pending, ("denied", "approved"), strict=True):
        db["requests"].update("r", {"status": decision})  # says nothing
    assert pending[0]["requests"].get("r")["status"] == "approved"


def test_a_conditional_update_lets_one_win(pending):
    """What `store/requests.py` rests on."""
    sql = "UPDATE requests SET status = ? WHERE id = 'r' AND status = 'pending'"
    counts = [
        db.conn.execute(sql, (decision,)).rowcount
        for db, decision in zip(pending, ("denied", "approved"), strict=True)
    ]
    assert counts == [1, 0]
    assert pending[1]["requests"].get("r")["status"] == "denied"
