import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from pretend_app import App, actions, button, client, playground, running_app, section

from bot.playground.server import Playground


@pytest.fixture
async def app() -> AsyncIterator[App]:
    async with running_app() as running:
        yield running


@pytest.fixture
async def slack(app: App, tmp_path: Path) -> AsyncIterator[Playground]:
    log = tmp_path / "demo.log"
    async with playground(app_url=app.url, token="t", demo_log=log) as running:
        yield running


@pytest.fixture
async def web(slack: Playground) -> AsyncIterator[aiohttp.ClientSession]:
    headers = {"X-Playground-Token": "t"}
    async with aiohttp.ClientSession(slack.url, headers=headers) as session:
        yield session


async def get(web: aiohttp.ClientSession, path: str, **query: str) -> Any:
    async with web.get(path, params=query) as answer:
        return await answer.json()


async def post(web: aiohttp.ClientSession, call: str, **body: Any) -> Any:
    body = {name.rstrip("_"): value for name, value in body.items()}
    async with web.post(f"/ui/{call}", json=body) as answer:
        return await answer.json()


# The door


@pytest.mark.parametrize("path", ["/ui/state", "/ui/stream", "/ui/log", "/ui/wait"])
async def test_page_api_needs_the_token(slack: Playground, path: str) -> None:
    async with aiohttp.ClientSession(slack.url) as session:
        async with session.get(path) as answer:
            assert answer.status == 401
        async with session.get(path, params={"token": "other"}) as answer:
            assert answer.status == 401


async def test_posts_need_the_token_too(slack: Playground, app: App) -> None:
    body = {"as": "U0ADA", "channel": "C0OPS", "command": "/tool", "text": ""}
    async with aiohttp.ClientSession(slack.url) as session:
        async with session.post("/ui/command", json=body) as answer:
            assert answer.status == 401
        async with session.post("/ui/command?token=t", json=body) as answer:
            assert (await answer.json())["ok"] is True

    assert len(app.received) == 1


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("Host", "evil.example"),
        ("Host", "127.0.0.1:1"),
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
    ],
)
@pytest.mark.parametrize("path", ["/", "/ui/state?token=t", "/api/api.test"])
async def test_strangers_are_turned_away(
    slack: Playground, path: str, header: str, value: str
) -> None:
    async with (
        aiohttp.ClientSession(slack.url) as session,
        session.get(path, headers={header: value}) as answer,
    ):
        assert answer.status == 403


async def test_own_origin_is_welcome(
    slack: Playground, web: aiohttp.ClientSession
) -> None:
    async with web.get("/ui/state", headers={"Origin": slack.url}) as answer:
        assert answer.status == 200


async def test_page_comes_with_its_policy(slack: Playground) -> None:
    async with aiohttp.ClientSession(slack.url) as session:
        async with session.get("/") as answer:
            assert answer.status == 200
            assert answer.content_type == "text/html"
            policy = answer.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'self'")
        for missing in ("/nothing.js", "/__init__.py", "/..%2fserver.py"):
            async with session.get(missing) as answer:
                assert answer.status == 404


async def test_only_loopback_is_listened_on(slack: Playground) -> None:
    assert slack.url.startswith("http://127.0.0.1:")


# Looking


async def test_state_has_the_documented_shape(
    slack: Playground, web: aiohttp.ClientSession
) -> None:
    await client(slack).chat_postMessage(
        channel="C0OPS",
        text="<@U0BEN> look",
        blocks=[section()],
        metadata={"event_type": "e", "event_payload": {}},
    )
    await client(slack).chat_postEphemeral(channel="C0OPS", user="U0ADA", text="psst")

    state = await get(web, "/ui/state")

    assert set(state) == {
        "team", "app", "commands", "users", "usergroups", "channels", "tool_log",
        "bot", "notifications", "messages", "ephemeral", "views", "home",
    }  # fmt: skip
    assert state["team"] == {"id": "T0HOME", "domain": "home"}
    assert state["app"] == {"id": "A0CSIGN", "bot_user_id": "U0CSIGN"}
    assert state["commands"][0]["command"] == "/tool"
    assert state["usergroups"] == [
        {"id": "S0APPROVERS", "handle": "approvers", "users": ["U0BEN"]}
    ]
    (message,) = state["messages"]["C0OPS"]
    assert set(message) == {"ts", "user", "text", "blocks", "metadata"}
    (note,) = state["notifications"]["U0BEN"]
    assert note == {
        "text": "<@U0BEN> look",
        "why": "mentioned",
        "channel": "C0OPS",
        "ts": message["ts"],
    }
    (private,) = state["ephemeral"]["U0ADA"]
    assert set(private) == {"channel", "ts", "user", "text", "blocks"}
    assert state["bot"] == "up"


async def test_tool_log_is_read_from_its_file(
    slack: Playground, web: aiohttp.ClientSession
) -> None:
    entry = {
        "tool": "restart",
        "args": {"service": "api"},
        "at": "2026-01-01T00:00:00Z",
    }
    assert slack.demo_log is not None
    slack.demo_log.write_text(json.dumps(entry) + '\n{"half')

    assert (await get(web, "/ui/state"))["tool_log"] == [entry]
    assert (await slack.wait_for("tool:restart:1", 0))["ok"]
    assert not (await slack.wait_for("tool:restart:2", 0))["ok"]


async def states(stream: aiohttp.StreamReader) -> AsyncIterator[Any]:
    while True:
        assert await stream.readline() == b"event: state\n"
        yield json.loads((await stream.readline()).removeprefix(b"data: "))
        assert await stream.readline() == b"\n"


async def test_stream_gives_the_state_and_then_every_change(
    slack: Playground, web: aiohttp.ClientSession
) -> None:
    timeout = aiohttp.ClientTimeout(total=10)
    async with web.get("/ui/stream", timeout=timeout) as answer:
        assert answer.content_type == "text/event-stream"
        seen = states(answer.content)
        assert (await anext(seen))["messages"]["C0OPS"] == []

        for number in range(50):
            slack.workspace.post("C0OPS", "U0ADA", f"message {number}")

        later = await anext(seen)
        while len(later["messages"]["C0OPS"]) < 50:
            later = await anext(seen)


async def test_log_tells_both_directions(
    slack: Playground, web: aiohttp.ClientSession
) -> None:
    await post(web, "command", as_="U0ADA", channel="C0OPS", command="/tool", text="x")
    await client(slack).auth_test()

    first, second = await get(web, "/ui/log")
    rest = await get(web, "/ui/log", since=str(first["n"]))

    assert (first["to"], first["kind"], first["status"]) == ("app", "command", 200)
    assert first["request"]["payload"]["command"] == "/tool"
    assert first["request"]["headers"]["X-Slack-Signature"].startswith("v0=")
    assert (second["to"], second["kind"]) == ("slack", "api:auth.test")
    assert rest == [second]
    assert set(first) == {
        "n", "to", "kind", "request", "answer", "status", "ms", "problems",
    }  # fmt: skip


# Acting


async def test_acts_answer_when_the_delivery_is_finished(
    slack: Playground, web: aiohttp.ClientSession, app: App
) -> None:
    app.says("")
    posted = await client(slack).chat_postMessage(
        channel="C0OPS", text="card", blocks=[actions(button())]
    )
    ts = posted["ts"]

    pressed = await post(
        web, "act", as_="U0BEN", channel="C0OPS", ts=ts, action_id="press"
    )
    absent = await post(
        web, "act", as_="U0BEN", channel="C0OPS", ts=ts, action_id="other"
    )

    assert pressed["ok"] is True
    assert pressed["delivery"]["status"] == 200
    assert set(pressed["delivery"]) == {"status", "ms", "body"}
    assert absent["ok"] is False
    assert "delivery" not in absent
    assert len(app.received) == 1


async def test_message_is_written_in_a_thread(
    slack: Playground, web: aiohttp.ClientSession
) -> None:
    root = await post(web, "message", as_="U0ADA", channel="C0OPS", text="root")
    await post(
        web, "message", as_="U0BEN", channel="C0OPS", text="r", thread_ts=root["ts"]
    )
    lost = await post(
        web, "message", as_="U0BEN", channel="C0OPS", text="r", thread_ts="1.2"
    )

    assert len(slack.workspace.thread("C0OPS", root["ts"])) == 2
    assert slack.workspace.notifications["U0ADA"][0]["why"] == "thread"
    assert lost["ok"] is False


async def test_views_are_submitted_closed_and_opened(
    slack: Playground, web: aiohttp.ClientSession, app: App
) -> None:
    app.says("")
    api = client(slack)
    view = {"type": "modal", "title": {"type": "plain_text", "text": "A"}}
    view |= {"submit": {"type": "plain_text", "text": "Go"}, "blocks": [section()]}
    for call in ("submit", "close"):
        opened = await api.views_open(
            trigger_id=slack.workspace.new_trigger("U0ADA"), view=view
        )
        done = await post(
            web, call, as_="U0ADA", view_id=opened["view"]["id"], values={}
        )
        assert done["ok"] is True
        assert slack.workspace.views["U0ADA"] == []

    assert (await post(web, "open-home", as_="U0ADA"))["ok"] is True
    assert app.event()["event"]["type"] == "app_home_opened"


@pytest.mark.parametrize(
    ("call", "body"),
    [
        ("command", {}),
        ("command", {"as": "U0ADA", "channel": "C0OPS", "command": 5, "text": ""}),
        ("message", {"as": "U0ADA", "channel": "C0OPS"}),
        ("act", {"as": "U0ADA", "channel": "C0OPS", "ts": 1.5, "action_id": "a"}),
        ("submit", {"as": "U0ADA", "view_id": "V", "values": []}),
        ("bot", {"do": "dance"}),
        ("fault", {"method": "auth.test", "fault": "500", "times": "2"}),
    ],
)
async def test_body_that_makes_no_sense_is_refused(
    web: aiohttp.ClientSession, call: str, body: dict[str, Any]
) -> None:
    async with web.post(f"/ui/{call}", json=body) as answer:
        assert answer.status == 400
        assert (await answer.json())["ok"] is False
    async with web.post(f"/ui/{call}", data=b"{") as answer:
        assert answer.status == 400
    async with web.post(f"/ui/{call}", json=[]) as answer:
        assert answer.status == 400


async def test_fault_is_set_over_the_page(
    slack: Playground, web: aiohttp.ClientSession
) -> None:
    given = {"method": "auth.test", "fault": "error:token_revoked", "times": 1}

    assert (await post(web, "fault", **given))["ok"] is True
    assert not (await post(web, "fault", method="auth.test", fault="never"))["ok"]

    async with web.get("/api/auth.test", params={"token": slack.bot_token}) as answer:
        assert (await answer.json())["error"] == "token_revoked"
    assert (await client(slack).auth_test())["ok"]


async def test_attached_bot_is_neither_killed_nor_started(
    slack: Playground, web: aiohttp.ClientSession
) -> None:
    slack.workspace.post("C0OPS", "U0ADA", "hello")

    for call, body in (
        ("bot", {"do": "kill"}),
        ("bot", {"do": "start"}),
        ("reset", {}),
    ):
        answer = await post(web, call, **body)
        assert answer["ok"] is False
        assert "attached" in answer["error"]
    assert slack.workspace.messages["C0OPS"] == {}


# Waiting


async def test_wait_ends_when_the_condition_holds(
    slack: Playground, web: aiohttp.ClientSession
) -> None:
    condition = "message:C0OPS:contains:Approved: by Ben"
    waiting = asyncio.create_task(
        get(web, "/ui/wait", **{"for": condition, "timeout": "10"})
    )
    slack.workspace.post("C0OPS", "U0ADA", "text", blocks=[section("Approved: by Ben")])

    assert await waiting == {"ok": True}


async def test_wait_says_when_time_is_up(web: aiohttp.ClientSession) -> None:
    for condition in (
        "message:C0OPS:contains:x",
        "ephemeral:U0ADA:contains:x",
        "notified:U0ADA:contains:x",
        "settled:C0OPS:1.2",
        "view:U0ADA",
        "home:U0ADA",
        "tool:restart:1",
    ):
        answer = await get(web, "/ui/wait", **{"for": condition, "timeout": "0"})
        assert answer["ok"] is False
        assert condition in answer["error"]


@pytest.mark.parametrize(
    "condition",
    ["", "message:C0OPS", "message:C0OPS:contains:", "tool:restart", "bot:x"],
)
async def test_condition_that_cannot_be_read_is_refused(
    web: aiohttp.ClientSession, condition: str
) -> None:
    async with web.get("/ui/wait", params={"for": condition}) as answer:
        assert answer.status == 400


async def test_every_condition_can_hold(slack: Playground) -> None:
    api = client(slack)
    card = await api.chat_postMessage(
        channel="C0OPS", text="<@U0BEN> card", blocks=[actions(button())]
    )
    await api.chat_postEphemeral(channel="C0OPS", user="U0ADA", text="psst")
    modal = {
        "type": "modal",
        "title": {"type": "plain_text", "text": "A"},
        "blocks": [section()],
    }
    trigger = slack.workspace.new_trigger("U0ADA")
    await api.views_open(trigger_id=trigger, view=modal)
    await api.views_publish(
        user_id="U0ADA", view={"type": "home", "blocks": [section()]}
    )

    assert not (await slack.wait_for(f"settled:C0OPS:{card['ts']}", 0))["ok"]
    await api.chat_update(channel="C0OPS", ts=card["ts"], text="done")

    for condition in (
        f"settled:C0OPS:{card['ts']}",
        "ephemeral:U0ADA:contains:psst",
        "notified:U0BEN:contains:card",
        "view:U0ADA",
        "home:U0ADA",
        "bot:up",
    ):
        assert (await slack.wait_for(condition, 1))["ok"], condition
