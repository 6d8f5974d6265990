import asyncio
import gzip
import json

import httpx
import pytest
from aiohttp import web
from clock import FakeClock
from endpoint import KEY, breaks_off, drips, hangs, says, sends
from structlog.testing import capture_logs

from bot.errors import BotError, ModelError
from bot.model.http import LARGEST, Endpoint

PAUSES = [0.55, 1.05]  # base, doubled, and half of the jitter each time


async def failure(client, within=None):
    with pytest.raises(ModelError) as caught:
        await client.ask({"model": "m"}, within)
    return caught.value


def tasks_of_the_client():
    """Its attempts and timers; the server's tasks end in their own time."""
    names = ("Endpoint", "FakeClock")
    tasks = [task.get_coro().__qualname__ for task in asyncio.all_tasks()]
    return [name for name in tasks if name.startswith(names)]


async def test_a_body_is_posted_and_the_answer_parsed(server, client):
    server.answers = [says('{"choices": [1.0, "é"]}')]

    answered = await client.ask({"model": "m", "é": ["\ud800"]})

    assert answered == {"choices": [1.0, "é"]}
    (path, headers, body), *more = server.asked
    assert (path, more) == ("/v1/chat/completions", [])
    assert json.loads(body) == {"model": "m", "é": ["\ud800"]}
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert headers["Content-Type"] == "application/json"
    assert headers["Accept-Encoding"] == "identity"


async def test_an_endpoint_that_is_down_is_tried_three_times(unreachable, clock):
    error = await failure(unreachable)

    assert error.reason == "the model's endpoint could not be reached"
    assert clock.slept == [0.5, 1.0]
    assert error.temporary
    assert isinstance(error, BotError)


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
async def test_a_passing_status_is_tried_again(server, client, clock, status):
    server.answers = [says("busy", status), says("busy", status), says()]

    assert await client.ask({}) == {"ok": True}
    assert clock.slept == PAUSES


@pytest.mark.parametrize("status", [429, 500, 529])
async def test_the_last_attempt_names_its_status(server, client, status):
    server.answers = [says("<h1>Sorry</h1>", status)]

    error = await failure(client)

    assert error.reason == f"the model's endpoint answered {status}"
    assert (error.status, error.detail) == (status, "<h1>Sorry</h1>")
    assert len(server.asked) == 3


@pytest.mark.parametrize("status", [400, 404, 405, 409, 418, 422, 501, 505])
async def test_any_other_status_is_final(server, client, clock, status):
    server.answers = [says('{"error": {"message": "no such model"}}', status)]

    error = await failure(client)

    assert error.reason == f"the model's endpoint answered {status}"
    assert "no such model" in error.detail
    assert not error.temporary
    assert (len(server.asked), clock.slept) == (1, [])


@pytest.mark.parametrize("status", [401, 403])
async def test_what_a_refused_key_is_told_is_not_kept(server, client, status):
    server.answers = [says("canary: your account is …", status)]

    error = await failure(client)

    assert error.reason == f"the model's endpoint answered {status}"
    assert error.detail == ""
    assert len(server.asked) == 1


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(server, client, status):
    there = {"Location": f"{server.origin}/elsewhere"}
    server.answers = [says("moved", status, there), says()]

    error = await failure(client)

    assert error.reason == (
        f"the model's endpoint answered {status}, a redirect, which is not followed"
    )
    assert [path for path, _, _ in server.asked] == ["/v1/chat/completions"]


async def test_a_client_that_follows_redirects_does_not_follow_here(server, clock):
    server.answers = [says("", 302, {"Location": "/elsewhere"}), says()]
    async with httpx.AsyncClient(follow_redirects=True, trust_env=False) as http:
        await failure(Endpoint(server.url, clock=clock, http=http))

    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<html>Sign in</html>",
        '{"choices": [',
        "{'a': 1}",
        "NaN",
        '{"a":1,"a":2}',
        '"\\ud800"',
        "[" * 100_000,
        "1" * 5_000,
    ],
    ids=lambda text: text[:12],
)
async def test_what_is_not_json_is_tried_again(server, client, clock, text):
    server.answers = [says(text)]

    error = await failure(client)

    assert error.reason == (
        "the model's endpoint answered with something that is not JSON"
    )
    assert clock.slept == PAUSES
    assert len(error.detail) <= 201


async def test_bytes_that_are_no_text_are_not_json(server, client):
    async def answer(request):
        return web.Response(body=b'{"a": "\xff"}')

    server.answers = [answer, says()]

    assert await client.ask({}) == {"ok": True}


async def test_a_truncated_answer_is_tried_again(server, client, clock):
    server.answers = [breaks_off]

    error = await failure(client)

    assert error.reason == "the model's endpoint broke off its answer"
    assert clock.slept == PAUSES


async def test_a_truncated_answer_may_be_followed_by_a_whole_one(server, client):
    server.answers = [breaks_off, says()]

    assert await client.ask({}) == {"ok": True}


# -- size ---------------------------------------------------------------------------


async def test_an_answer_of_50_megabytes_is_cut_off_early(server, client, clock):
    sent = []
    server.answers = [sends(50, sent)]

    error = await failure(client)

    assert error.reason == "the model's endpoint sent more than 4 MiB"
    assert (len(server.asked), clock.slept) == (1, [])
    assert len(sent) < 50


async def test_an_answer_just_small_enough_is_read(server, client):
    server.answers = [says(json.dumps("x" * (LARGEST - 2)))]

    assert len(await client.ask({})) == LARGEST - 2


async def test_a_packed_answer_is_not_unpacked(server, client):
    packed = gzip.compress(b" " * 50_000_000 + b"{}")

    async def answer(request):
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    server.answers = [answer]

    error = await failure(client)
    assert error.reason == "the model's endpoint sent a packed answer, unasked"


# -- time ---------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [hangs, drips])
async def test_an_answer_that_does_not_end_ends_at_the_deadline(server, answer):
    clock = FakeClock()
    server.answers = [answer]
    client = Endpoint(server.url, clock=clock, timeout=120)
    asking = asyncio.create_task(failure(client))
    await server.came.wait()

    assert sorted(tasks_of_the_client()) == ["Endpoint._attempt", "FakeClock.sleep"]
    clock.advance(119)
    await asyncio.sleep(0)
    assert not asking.done()
    clock.advance(1)
    error = await asking

    assert error.reason == "the model's endpoint took longer than 120 s"
    assert len(server.asked) == 1
    assert tasks_of_the_client() == []
    await client.aclose()


async def test_less_time_may_be_left_than_the_deadline(server):
    clock = FakeClock()
    server.answers = [hangs]
    client = Endpoint(server.url, clock=clock)
    asking = asyncio.create_task(failure(client, within=7))
    await server.came.wait()
    clock.advance(7)

    assert (await asking).reason == "the model's endpoint took longer than 7 s"
    await client.aclose()


@pytest.mark.parametrize("within", [0, -5])
async def test_without_any_time_nothing_is_asked(server, client, within):
    assert (await failure(client, within)).reason.endswith("longer than 0 s")
    assert server.asked == []


@pytest.mark.parametrize(("within", "asked"), [(0.5, 1), (0.6, 2), (1.5, 2), (1.7, 3)])
async def test_no_pause_goes_beyond_the_deadline(server, client, within, asked):
    server.answers = [says("", 503)]

    error = await failure(client, within)

    assert error.reason == "the model's endpoint answered 503"
    assert len(server.asked) == asked


async def test_a_cancelled_question_leaves_nothing_behind(server):
    clock = FakeClock()
    server.answers = [hangs]
    client = Endpoint(server.url, clock=clock)
    asking = asyncio.create_task(client.ask({}))
    await server.came.wait()

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert tasks_of_the_client() == []
    await client.aclose()


# -- Retry-After --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "pause"),
    [
        ("0", None),
        ("5", 5),
        (" 5\t", 5),
        ("007", 7),
        ("60", 60),
        ("abc", 0.55),
        ("", 0.55),
        ("-1", 0.55),
        ("+5", 0.55),
        ("1.5", 0.55),
        ("5 s", 0.55),
        ("2147483648", 0.55),
        ("9" * 5_000, 0.55),
        ("Wed, 21 Oct 2037 07:28:00 GMT", 0.55),
    ],
)
async def test_retry_after_counts_as_digits_alone(server, client, clock, header, pause):
    server.answers = [says("", 429, {"Retry-After": header}), says()]

    assert await client.ask({}) == {"ok": True}
    assert clock.slept == ([] if pause is None else [pause])
    assert len(server.asked) == 2


async def test_digits_of_another_script_are_no_seconds(clock):
    def answers(request):
        headers = [(b"Retry-After", "٥".encode())]
        return httpx.Response(429, headers=headers)

    async with httpx.AsyncClient(transport=httpx.MockTransport(answers)) as http:
        client = Endpoint("http://x", clock=clock, http=http, jitter=lambda: 0)
        await failure(client)

    assert clock.slept == [0.5, 1.0]


@pytest.mark.parametrize("seconds", [61, 3_600, 2_147_483_647])
async def test_a_long_wait_is_not_waited(server, client, clock, seconds):
    server.answers = [says("", 429, {"Retry-After": str(seconds)}), says()]

    error = await failure(client)

    assert error.reason == (
        f"the model's endpoint answered 429 and asks to wait {seconds} s"
    )
    assert error.retry_after == seconds
    assert (len(server.asked), clock.slept) == (1, [])


async def test_a_wait_beyond_the_deadline_is_not_waited(server, client, clock):
    server.answers = [says("", 503, {"Retry-After": "50"})]

    error = await failure(client, within=90)

    # One pause of 50 s fits into 90 s, a second one does not.
    assert error.reason.endswith("answered 503 and asks to wait 50 s")
    assert clock.slept[0] == 50
    assert len(server.asked) == 2


# -- what is told -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ('{"user_id": "canary-1", "a": 1}', '{"user_id": «redacted», "a": 1}'),
        ('{"org_id":canary,"x":2}', '{"org_id":«redacted»,"x":2}'),
        ('{"organization": {"id": "canary"}}', '{"organization": «redacted»}'),
        ("account_id=canary; no", "account_id=«redacted» no"),
        ("Account_ID: 'canary a'", "Account_ID: «redacted»"),
        ('{"user_id": "canary \\" canary"}', '{"user_id": «redacted»}'),
        ('{"user_id": "canary', '{"user_id": «redacted»'),
        (f"bad key {KEY}!", "bad key «redacted»!"),
        ("x" * 201, "x" * 200 + "…"),
    ],
)
async def test_whom_the_endpoint_knows_us_as_is_redacted(server, client, body, kept):
    server.answers = [says(body, 400)]

    error = await failure(client)

    assert error.detail == kept


@pytest.mark.parametrize(
    "answer",
    [
        says(KEY, 401),
        says(KEY, 400),
        says(KEY, 500),
        says(KEY),
        says("", 302, {"Location": f"https://x/{KEY}"}),
        says("", 429, {"Retry-After": KEY}),
        breaks_off,
    ],
)
async def test_the_key_is_in_no_error_and_no_log(server, client, answer):
    server.answers = [answer]

    with capture_logs() as logs:
        error = await failure(client)

    told = [str(error), repr(error), error.detail, repr(vars(error)), repr(logs)]
    assert not any("canary" in text for text in told)
    assert error.__cause__ is None
    assert "canary" not in repr(client)
