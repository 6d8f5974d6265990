"""T3: what is not signed is not parsed, what is signed and malformed is a 400, and
nothing of either leaves a traceback."""

import os

import pytest
import pytest_asyncio
from harness import BEN, Bench
from invariants import assert_invariants
from wire import (
    CANARY,
    FORM,
    JSON,
    command_body,
    dump,
    form,
    logged,
    post,
    raw,
    settled,
    two_parts,
)

from bot.slack import front

# One bot for the whole table: nothing here may leave a trace in it.
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def bench(tmp_path_factory):
    folder = tmp_path_factory.mktemp("malformed")
    folder.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "PROBE_LOG", str(folder / "probe.jsonl"))
        async with Bench(folder) as made:
            yield made
            await settled(made)
            await assert_invariants(made)


# -- T3, not signed -------------------------------------------------------------------

STAMP, MAC = "X-Slack-Request-Timestamp", "X-Slack-Signature"


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"{", {"Content-Type": JSON}),
        (b"payload={bad", {}),
        (b"[" * 100_000, {"Content-Type": JSON}),
        (b"payload=" + b"[" * 100_000, {}),
        (b"\xff\xfe\xfa", {}),
        (b"\xff\xfe\xfa", {"Content-Type": JSON}),
        (b"payload={}", {"Content-Type": f"{FORM}; charset=bogus"}),
        (b"{}", {"Content-Type": f"{JSON}; charset=bogus"}),
        (b"payload={}", {"Content-Type": f"{FORM}; charset=utf-16"}),
        (b"payload=[]", {}),
        (b"payload=5", {}),
        (b"[]", {"Content-Type": JSON}),
        (b"payload={}", {STAMP: "abc"}),
        (b"payload={}", {STAMP: ""}),
        (b"payload={}", {STAMP: "１７００".encode()}),
        (b"payload={}", {STAMP: "9" * 5000}),
        (b"payload={}", {STAMP: "-1"}),
        (b"payload={}", {STAMP: "nan"}),
        (b"payload={}", {MAC: "v0=é".encode()}),
        (b"payload={}", {MAC: b"v0=\xff\xfe"}),
        (b"payload={}", {MAC: ""}),
        (b"", {}),
    ],
    ids=lambda given: ascii(given)[:40] if isinstance(given, bytes) else None,
)
async def test_what_is_not_signed_is_not_looked_into(bench, body, headers):
    stamp = str(int(bench.clock.seconds()))
    given = {"Content-Type": FORM, STAMP: stamp, MAC: "v0=" + "0" * 64, **headers}

    with logged() as lines:
        answer = await post(bench, body, given)

    assert (answer.status_code, answer.content) == (401, b"")
    assert "Traceback" not in lines()
    assert len(lines().splitlines()) == 1


async def test_without_its_two_headers_nothing_is_read(bench):
    with logged() as lines:
        answer = await post(bench, b"[" * 1000, {"Content-Type": JSON})
    assert answer.status_code == 401
    assert "Traceback" not in lines()


HEAD = b"POST /slack/events HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01" + CANARY.encode() + b"\r\n\r\n",
        b"GET /" + CANARY.encode() * 2000 + b" HTTP/1.1\r\n\r\n",
        HEAD + b"X-Slack-Signature: v0=\x00" + CANARY.encode() + b"\r\n\r\n",
        HEAD + b"X-A: " + CANARY.encode() * 2000 + b"\r\n\r\n",
        HEAD + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345",
        HEAD + b"Content-Length: " + CANARY.encode() + b"\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + CANARY.encode() + b"\r\n",
        HEAD + b"Transfer-Encoding: chunked, gzip\r\n\r\n",
        b"POST http://[:::/" + CANARY.encode() + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=lambda sent: ascii(sent[-20:]),
)
async def test_what_is_no_http_leaves_no_traceback_and_no_quote(bench, sent):
    with logged() as lines:
        answer = await raw(bench, sent)

    assert answer.split(b"\r\n")[0].endswith(b" 400 Bad Request")
    assert "Traceback" not in lines()
    assert CANARY not in lines()
    assert all(len(line.encode()) <= 300 for line in lines().splitlines())


async def test_a_chunk_that_is_none_ends_with_the_time_for_bodies(bench, monkeypatch):
    """The head was fine and is being handled when the bad part comes."""
    monkeypatch.setattr(front, "BODY_SECONDS", 0.2)
    head = HEAD + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
    with logged() as lines:
        answer = await two_parts(bench, head, CANARY.encode() + b"\r\n")
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert "Traceback" not in lines()
    assert CANARY not in lines()


async def test_a_sender_that_hangs_up_leaves_no_traceback(bench):
    with logged() as lines:
        await two_parts(bench, HEAD + b"Content-Length: 100\r\n\r\nabc", None)
        # Its handler has ended when the next one has been answered.
        await post(bench, b"", {})
    assert "Traceback" not in lines()
    assert "hand" not in lines()


# -- T3, signed -----------------------------------------------------------------------

CLICK = {"type": "block_actions", "user": {"id": BEN}, "team": {"id": "T0HOME"}}
ACTION = {"type": "button", "action_id": "cs_approve", "block_id": "b"}


def click(**changed):
    return form({**CLICK, "actions": [ACTION], **changed})


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"payload=5", FORM),
        (b"payload=[]", FORM),
        (b"payload=null", FORM),
        (b"payload={bad", FORM),
        (b"payload=" + b"[" * 100_000, FORM),
        (b"payload=%22x%22", FORM),
        (b"[]", JSON),
        (b"[1, 2]", JSON),
        (b"5", JSON),
        (b"{", JSON),
        (b"[" * 100_000, JSON),
        (b"\xff\xfe\xfa", JSON),
        (b"\xff\xfe\xfa", FORM),
        (b"a=%ff", FORM),
        (b"", FORM),
        (b"&".join(b"a=1" for _ in range(65)), FORM),
        (b'{"type": "event_callback", "event": []}', JSON),
        (b'{"type": "event_callback", "event": {"type": 5}}', JSON),
        (b'{"type": 5}', JSON),
        (form(CLICK), FORM),
        (form({"type": "unheard_of"}), FORM),
        (click(actions=[ACTION, ACTION]), FORM),
        (click(actions=[]), FORM),
        (click(actions=[{}]), FORM),
        (click(actions=["x"]), FORM),
        (click(actions={"0": ACTION}), FORM),
        (click(actions=[{**ACTION, "action_id": 5}]), FORM),
        (click(user=None), FORM),
        (click(user={"id": 5}), FORM),
        (click(team="T0HOME"), FORM),
        (click(container=[]), FORM),
        (click(message="x"), FORM),
        (click(channel=[]), FORM),
        (click(view=[]), FORM),
        (click(view={}), FORM),
        (form({**CLICK, "type": "view_submission"}), FORM),
        (form({**CLICK, "type": "view_submission", "view": {"id": "V"}}), FORM),
        (b"command=/tool", FORM),
        (b"command=/tool&user_id=U1&team_id=T1", FORM),
    ],
    ids=lambda given: ascii(given[:48]) if isinstance(given, bytes) else "",
)
async def test_what_is_signed_and_malformed_is_a_bad_request(bench, body, content_type):
    before = dump(bench)

    with logged() as lines:
        answer = await bench.send(body, headers={"Content-Type": content_type})

    assert (answer.status_code, answer.content) == (400, b"")
    assert "Traceback" not in lines()
    assert dump(bench) == before


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"actions": [{**ACTION, "value": 5}]}, 200),
        ({"actions": [{**ACTION, "value": {"a": 1}}]}, 200),
        ({"actions": [{**ACTION, "type": "unheard_of"}]}, 200),
        ({"channel": {"id": 5}}, 200),
        ({"message": {"ts": 5, "app_id": []}}, 200),
        ({"container": {"message_ts": None, "is_ephemeral": "yes"}}, 200),
        ({"team": {"id": 5}}, 200),
        ({"team": None, "enterprise": None}, 200),
        ({"response_url": ["x"]}, 200),
        ({"state": []}, 200),
    ],
    ids=ascii,
)
async def test_an_odd_click_leads_nowhere(bench, changed, status):
    body = form({**CLICK, "api_app_id": "A0CSIGN", "actions": [ACTION], **changed})

    with logged() as lines:
        answer = await bench.send(body)
        await settled(bench)

    assert answer.status_code == status
    assert "Traceback" not in lines()
    assert bench.ran() == []


async def test_the_word_payload_in_a_command_is_harmless(bench):
    body, _ = command_body(bench, text="pay amount=1", payload="5")

    answer = await bench.send(body)

    assert answer.status_code == 200
    await bench.quiet()
    assert await bench.rows("SELECT count(*) FROM runs") == [(1,)]
