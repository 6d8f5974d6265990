"""A card that Slack does not take: one reaction per class of refusal, somebody is told.

The classes are those of `bot/slack/failures.py`; the faults are the playground's.
"""

import itertools

import pytest
from harness import ADA, BEN, GENERAL, controls, text_in
from refusing import (
    POST,
    asked,
    direct,
    later,
    noted_calls,
    ready,
    rows,
    still,
)

NOT_SHOWN = "The card for CS-1 could not be shown to anybody"


@pytest.fixture
def calls(bench):
    return noted_calls(bench)


@pytest.mark.parametrize("code", ["ratelimited", "429"])
async def test_told_to_wait_nothing_is_sent_until_then(bench, calls, code):
    bench.slack.fault(POST, "429:30" if code == "429" else f"error:{code}", 1)

    await bench.tool("restart service=api")
    await still(bench)
    await bench.tool("status service=api", channel=GENERAL)
    await later(bench, 40)

    wait = 30 if code == "429" else 1
    assert calls[0] == (POST, 0.0)
    assert all(at >= wait for _, at in calls[1:])
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]
    assert len(await bench.cards(GENERAL)) == 1
    assert await rows(bench) == [("live", "", 0)]


async def test_a_workspace_that_sends_too_much_waits_a_minute(bench, calls):
    bench.slack.fault(POST, "error:message_limit_exceeded", 1)

    await bench.tool("restart service=api")
    await still(bench)
    await later(bench, 61)

    assert [at >= 60 for _, at in calls] == [False, True]
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]


@pytest.mark.parametrize(
    "code",
    [
        "channel_not_found",
        "not_in_channel",
        "is_archived",
        "restricted_action_read_only_channel",
        "a_code_that_nobody_has_heard_of",
    ],
)
async def test_a_place_that_takes_no_card_is_replaced_by_people(bench, calls, code):
    bench.slack.fault(POST, f"error:{code}", 1)

    await bench.tool("restart service=api")
    await bench.quiet()

    assert await bench.cards() == []
    assert await rows(bench) == [("gone", code, 0), ("live", "", 0)]
    told = [t for t in await bench.phone(ADA) if "#ops" in t and "went to" in t]
    assert len(told) == 1
    card = await bench.card(await direct(bench, BEN))
    assert controls(card) == ["Approve", "Deny", "Deny, say why"]
    await bench.press(BEN, card, "approve")
    await bench.quiet()
    assert len(bench.ran("restart")) == 1
    assert any("Ben approved" in t for t in await bench.phone(ADA))


async def test_a_card_that_can_go_nowhere_is_kept_and_tried_at_the_next_start(bench):
    bench.slack.fault(POST, "error:is_archived")

    await bench.tool("restart service=api")
    await bench.quiet()
    assert [row[0] for row in await rows(bench)] == ["gone", "stuck"]
    bench.slack.fault(POST, "")
    await bench.restart()
    await bench.quiet()

    assert controls(await bench.card(await direct(bench, BEN))) == [
        "Approve",
        "Deny",
        "Deny, say why",
    ]
    assert any("#ops" in t and "went to" in t for t in await bench.phone(ADA))


@pytest.mark.parametrize("code", ["invalid_blocks", "msg_blocks_too_long"])
async def test_what_slack_cannot_draw_can_be_refused_and_not_agreed_to(bench, code):
    bench.slack.fault(POST, f"error:{code}", 1)

    await bench.tool("restart service=api")
    card = await bench.card()

    assert controls(card) == ["Deny", "Deny, say why"]
    assert any(NOT_SHOWN in t for t in await bench.phone(ADA))
    await bench.press(BEN, card, "deny")
    assert controls(await bench.card()) == []
    assert bench.ran() == []


async def test_what_slack_cannot_draw_at_all_is_kept_and_told(bench, calls):
    bench.slack.fault(POST, "error:invalid_blocks", 2)

    await bench.tool("restart service=api")
    await bench.quiet()

    assert await bench.cards() == []
    assert await rows(bench) == [("stuck", "invalid_blocks", 0)]
    assert any(NOT_SHOWN in t for t in await bench.phone(ADA))
    assert len(calls) == 3  # the card, the smaller card, the words to Ada
    await bench.restart()
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]


@pytest.mark.parametrize("code", ["metadata_too_large", "invalid_metadata_schema"])
async def test_refused_metadata_is_left_out(bench, calls, code):
    bench.slack.fault(POST, f"error:{code}", 1)

    card = await asked(bench)

    assert [method for method, _ in calls] == [POST, POST]
    assert controls(card) == ["Approve", "Deny", "Deny, say why"]
    assert "metadata" not in card


@pytest.mark.parametrize("fault", ["500", "error:internal_error", "error:fatal_error"])
async def test_what_may_have_happened_is_looked_for_before_it_is_repeated(
    bench, calls, fault
):
    bench.slack.fault(POST, fault, 2)

    await bench.tool("restart service=api")
    for _ in range(3):
        await bench.quiet()
        await bench.pass_time(2)

    (_, first), (_, second), (_, third) = calls
    assert second - first >= 1
    assert third - second >= 2
    searched = [
        e for e in bench.slack.log() if e["kind"] == "api:conversations.history"
    ]
    assert len(searched) == 2
    assert len(await bench.cards()) == 1
    assert await rows(bench) == [("live", "", 0)]


async def test_a_post_whose_answer_was_lost_is_found_and_not_repeated(bench, calls):
    bench.slack.fault(POST, "accept-then-drop", 1)

    await bench.tool("restart service=api")
    await bench.quiet()
    await bench.pass_time(2)

    assert [method for method, _ in calls if method == POST] == [POST]
    (card,) = await bench.cards()
    assert controls(card) == ["Approve", "Deny", "Deny, say why"]
    await bench.press(BEN, card, "approve")
    assert "Done" in text_in(await bench.card())


async def test_a_hanging_call_is_given_up_and_looked_for(bench, calls):
    bench.slack.fault(POST, "hang", 1)
    bench.bot.desk.client.timeout = 0.1  # seconds, of real time

    await bench.tool("restart service=api")
    await bench.quiet()
    await bench.pass_time(2)

    assert len(calls) == 2
    assert len(await bench.cards()) == 1
    assert await rows(bench) == [("live", "", 0)]


async def test_slack_in_ruins_for_hours_loses_nothing(bench, calls):
    bench.slack.fault(POST, "500")
    await bench.tool("restart service=api")
    for _ in range(40):
        await bench.quiet()
        await bench.pass_time(301)

    states = await rows(bench)
    assert states == [("stuck", "no_reply", 19)]
    bench.slack.fault(POST, "")
    await bench.restart()
    await bench.quiet()
    card = await bench.card()
    assert controls(card) == []
    assert "Nobody answered" in text_in(card)
    assert any("Expired" in t for t in await bench.phone(ADA))


@pytest.mark.parametrize(
    "code", ["token_revoked", "invalid_auth", "account_inactive", "accesslimited"]
)
async def test_a_dead_token_stops_all_sending_until_it_works_again(bench, calls, code):
    assert (await ready(bench)).status_code == 200
    bench.slack.fault(POST, f"error:{code}")

    await bench.tool("restart service=api")
    await bench.tool("status service=api", channel=GENERAL)
    await still(bench)
    down = await ready(bench)
    assert (down.status_code, down.text.split(":")[0]) == (503, "down")
    assert code not in down.text
    await later(bench, 130)
    rounds = sorted({round(at) for _, at in calls})  # one call for each channel
    assert rounds[0] == 0
    assert [b - a >= 60 for a, b in itertools.pairwise(rounds)] == [True, True]

    bench.slack.fault(POST, "")
    await later(bench, 65)
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]
    assert len(await bench.cards(GENERAL)) == 1
    assert (await ready(bench)).status_code == 200
    assert [row[0] for row in await rows(bench)] == ["live"]


async def test_a_missing_scope_is_told_and_tried_at_the_next_start(bench, calls):
    bench.slack.fault(POST, "error:missing_scope", 1)

    await bench.tool("restart service=api")
    await bench.quiet()

    assert await rows(bench) == [("stuck", "missing_scope", 0)]
    assert any(NOT_SHOWN in t for t in await bench.phone(ADA))
    await bench.restart()
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]
