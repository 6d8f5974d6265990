"""What Slack, or somebody who listened, sends twice (T2, T7), and side doors (T6)."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import httpx
import pytest
from harness import ADA, BEN, Bench, click_payload

from bot.slack.front import MOST_REMEMBERED, REMEMBERED, Seen


@pytest.fixture
async def bench(tmp_path):
    async with Bench(tmp_path) as it:
        yield it


async def audit(bench, action):
    return await bench.rows("SELECT actor FROM audit WHERE action = ?", action)


def body_of(bench, user, card, action):
    payload = click_payload(bench.slack, user, card, f"cs_{action}", {})
    return urlencode({"payload": json.dumps(payload)}).encode()


async def test_the_same_bytes_again_have_no_effect_and_are_written_down(bench):
    await bench.tool("restart service=api")
    body = body_of(bench, BEN, await bench.card(), "approve")
    at = bench.clock.seconds()

    first = await bench.send(body, at=at)
    assert await audit(bench, "duplicate delivery") == []
    second = await bench.send(body, at=at)
    await bench.quiet()

    assert (first.status_code, second.status_code) == (200, 200)
    assert len(await bench.rows("SELECT user FROM votes")) == 1
    assert await audit(bench, "duplicate delivery") == [("bot",)]
    assert len(await bench.whispers(BEN)) == 1


async def test_the_same_click_under_another_signature_is_a_click(bench):
    await bench.tool("restart service=api")
    body = body_of(bench, BEN, await bench.card(), "approve")

    await bench.send(body)
    await bench.send(body, at=bench.clock.seconds() - 1)
    await bench.quiet()

    assert len(await bench.rows("SELECT user FROM votes")) == 1
    assert await audit(bench, "duplicate delivery") == []
    assert len(await bench.whispers(BEN)) == 2


async def test_a_body_that_was_refused_is_not_remembered(bench):
    await bench.tool("restart service=api")
    body = body_of(bench, BEN, await bench.card(), "approve")
    at = bench.clock.seconds()

    assert (await bench.send(body, at=at, secret="another")).status_code == 401
    assert (await bench.send(body, at=at)).status_code == 200
    await bench.quiet()

    assert len(await bench.rows("SELECT user FROM votes")) == 1
    assert await audit(bench, "duplicate delivery") == []


def test_signatures_are_remembered_for_ten_minutes():
    now = [0.0]
    seen = Seen(lambda: now[0])

    assert not seen.before("a")
    now[0] = REMEMBERED
    assert seen.before("a")
    now[0] = REMEMBERED + 1
    assert not seen.before("a")
    assert REMEMBERED == 600


def test_no_more_signatures_are_remembered_than_there_is_room_for():
    seen = Seen(lambda: 0.0)
    for number in range(MOST_REMEMBERED):
        assert not seen.before(str(number))
    assert seen.before("0")

    assert not seen.before("one more")

    assert not seen.before("0")


def test_what_we_failed_at_may_come_again():
    seen = Seen(lambda: 0.0)
    seen.before("a")
    seen.forget("a")
    assert not seen.before("a")


async def test_the_same_command_twice_is_two_runs_and_the_second_says_so(bench):
    first = await bench.tool("restart service=api")
    bench.clock.advance(4)
    second = await bench.tool("restart service=api")
    other = await bench.tool("restart service=web")

    assert "the same as" not in first
    assert "It is the same as run CS-1, started 4 s ago." in second, second
    assert "the same as" not in other
    assert len(await bench.rows("SELECT id FROM runs")) == 3


async def test_the_same_command_of_somebody_else_is_not_a_repeat(bench):
    await bench.tool("restart service=api", ADA)
    assert "the same as" not in await bench.tool("restart service=api", BEN)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"ssl_check=1", 200),
        (b"ssl_check=1&token=x", 200),
        (b"ssl_check=1&command=%2Ftool&text=restart+service%3Dapi", 401),
        (b"command=%2Ftool&ssl_check=1", 401),
        (b"ssl_check=0", 401),
    ],
)
async def test_an_unsigned_certificate_check_is_answered_and_does_nothing(
    bench, body, status
):
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        answer = await client.post(
            f"{bench.slack.app_url}/slack/events",
            content=body,
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )

    assert (answer.status_code, answer.content) == (status, b"")
    assert await bench.rows("SELECT id FROM runs") == []
