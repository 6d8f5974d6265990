"""T1: nothing is read that Slack did not sign."""

import pytest
from harness import controls
from wire import (
    CANARY,
    click_body,
    command_body,
    dump,
    event_body,
    logged,
    post,
    signature,
    view_body,
)

KINDS = ("command", "click", "view", "event")


def body_of(kind, bench, card):
    match kind:
        case "command":
            return command_body(bench)
        case "click":
            return click_body(bench, card)
        case "view":
            return view_body(bench)
    return event_body(bench)


# -- T1 -------------------------------------------------------------------------------


def unsigned(secret, stamp, body):
    return {}


def wrong_secret(secret, stamp, body):
    return signed_as(stamp, signature("f" * 32, stamp, body))


def for_another_body(secret, stamp, body):
    return signed_as(stamp, signature(secret, stamp, body + b" "))


def another_version(secret, stamp, body):
    return signed_as(stamp, signature(secret, stamp, body, version="v1"))


def of_another_time(secret, stamp, body):
    return signed_as(stamp, signature(secret, stamp - 1, body))


def signed_as(stamp, mac):
    return {"X-Slack-Request-Timestamp": str(stamp), "X-Slack-Signature": mac}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "forged",
    [unsigned, wrong_secret, for_another_body, another_version, of_another_time],
)
async def test_a_forged_callback_is_turned_away_unread(bench, kind, forged):
    await bench.tool("pay amount=5")
    card = await bench.card()
    body, content_type = body_of(kind, bench, card)
    stamp = int(bench.clock.seconds())
    headers = forged(bench.slack.signing_secret, stamp, body)
    before = dump(bench)

    with logged() as lines:
        answer = await post(bench, body, {"Content-Type": content_type, **headers})

    assert (answer.status_code, answer.content) == (401, b"")
    await bench.quiet()
    assert dump(bench) == before
    assert bench.ran() == []
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]
    (line,) = lines().splitlines()
    assert len(line.encode()) <= 300
    assert "request_refused" in line
    for part in (CANARY, headers.get("X-Slack-Signature", "v0="), "amount", "cs_"):
        assert part not in line


async def test_the_same_bodies_count_when_they_are_signed(bench):
    """Else the forgeries above would prove nothing."""
    await bench.tool("pay amount=5")
    card = await bench.card()

    for kind in KINDS:
        body, content_type = body_of(kind, bench, card)
        answer = await bench.send(body, headers={"Content-Type": content_type})
        assert answer.status_code == 200, kind
    await bench.quiet()

    assert [line["args"]["amount"] for line in bench.ran()] == [5]
    assert await bench.rows("SELECT count(*) FROM runs") == [(2,)]


@pytest.mark.parametrize(("off", "status"), [(-299, 200), (-301, 401), (61, 401)])
async def test_a_callback_has_its_time(bench, off, status):
    await bench.tool("pay amount=5")
    body, _ = click_body(bench, await bench.card())

    answer = await bench.send(body, at=bench.clock.seconds() + off)

    await bench.quiet()
    assert answer.status_code == status
    assert len(bench.ran()) == (status == 200)
