"""T62: kill -9 at each step, then a start on the same database, which goes on alone.

Each test's name ends with the line of the table that it is.
"""

import re

import pytest
from harness import ADA, BEN, OPS, controls, text_in

WORDS = "restart service=api"
TOLD = re.compile(r"Ben approved\. Done in [\d.]+ m?s: Restart api in eu\. CS-1")


async def asked(crash, words=WORDS):
    """A healthy process posts the card; it is gone afterwards."""
    await crash.doomed()
    assert (await crash.slack.command(ADA, OPS, "/tool", words))["ok"]
    await crash.until("SELECT 1 FROM outbox WHERE ts <> '' AND sent = wanted")
    await crash.kill()
    return (await crash.cards())[-1]


async def typed(crash, words=WORDS):
    return await crash.slack.command(ADA, OPS, "/tool", words)


async def clicked(crash, card, action="approve"):
    return await crash.press(BEN, card, action)


async def runs(crash):
    return (await crash.rows("SELECT count(*) FROM runs"))[0][0]


def failed(done):
    """What the person saw: Slack's own word that the app did not answer."""
    return (done["ok"], done["error"]) == (False, "dispatch_failed")


# -- starting -------------------------------------------------------------------------


@pytest.mark.parametrize("point", ["before look-up", "before add_run"])
async def test_killed_before_anything_is_stored_leaves_nothing_k01(crash, point):
    await crash.doomed(point)

    assert failed(await typed(crash))
    await crash.died()
    await crash.start()
    await crash.quiet()

    assert await runs(crash) == 0
    assert await crash.cards() == []
    assert await crash.rows("SELECT count(*) FROM audit") == [(0,)]


@pytest.mark.parametrize("point", ["after add_run", "before answer"])
async def test_killed_before_the_reply_keeps_the_run_k02(crash, point):
    await crash.doomed(point)

    assert failed(await typed(crash))
    await crash.died()
    await crash.start()

    assert controls(await crash.card()) == ["Approve", "Deny", "Deny, say why"]
    (command,) = [e for e in crash.slack.log() if e["kind"] == "command"]
    again = await crash.send(command["request"]["body"].encode())
    await crash.quiet()
    assert again.status_code == 200
    assert await runs(crash) == 1
    assert len(await crash.cards()) == 1
    await clicked(crash, await crash.card())
    await crash.quiet()
    assert len(crash.ran("restart")) == 1


async def test_an_ungated_run_goes_on_by_itself_k02(crash):
    await crash.doomed("after add_run")

    assert failed(await typed(crash, "status service=api"))
    await crash.died()
    assert crash.ran() == []
    await crash.start()
    await crash.quiet()

    assert len(crash.ran("status")) == 1
    assert "done" in text_in(await crash.card())


# -- a tool that asks by itself -------------------------------------------------------


async def test_killed_in_the_entry_that_suspends_is_unknown_k06(crash):
    await crash.doomed("before suspending")

    await typed(crash, "countdown")
    await crash.died()
    await crash.start()
    await crash.pass_time(2)
    card = await crash.card()

    assert controls(card)[:3] == ["It ran", "It did not run", "Run again"]
    assert crash.ran() == []
    assert await crash.rows("SELECT count(*) FROM requests") == [(0,)]


async def test_killed_when_the_tools_request_is_kept_posts_its_card_k07(crash):
    await crash.doomed("after add_request")

    await typed(crash, "countdown")
    await crash.died()
    assert len(await crash.cards()) < 2
    await crash.start()
    card = await crash.card()

    assert controls(card) == ["Done", "Decline"]
    await crash.press(ADA, card, "done")
    await crash.quiet()
    assert len(crash.ran("countdown")) == 1


# -- posting --------------------------------------------------------------------------


async def test_killed_before_the_post_posts_it_k07(crash):
    await crash.doomed("before post")

    await typed(crash)
    await crash.died()
    assert await crash.cards() == []
    await crash.start()

    assert controls(await crash.card()) == ["Approve", "Deny", "Deny, say why"]
    assert len(await crash.cards()) == 1


@pytest.mark.parametrize(
    ("point", "fault"), [("lost post", "accept-then-drop"), ("after post", "")]
)
async def test_a_post_whose_reply_is_not_kept_is_found_again_k08_k09(
    crash, point, fault
):
    await crash.doomed(point)
    crash.slack.fault("chat.postMessage", fault, 1 if fault else None)

    await typed(crash)
    await crash.died()
    (before,) = await crash.cards()
    await crash.start()
    await crash.quiet()

    (card,) = await crash.cards()
    assert card["ts"] == before["ts"]
    assert controls(card) == ["Approve", "Deny", "Deny, say why"]
    await clicked(crash, card)
    await crash.quiet()
    assert len(crash.ran("restart")) == 1
    assert len(await crash.cards()) == 1


# -- answering ------------------------------------------------------------------------


async def test_killed_before_the_vote_is_kept_is_not_acknowledged_k10(crash):
    card = await asked(crash)
    await crash.doomed("before add_vote")

    assert failed(await clicked(crash, card))
    await crash.died()
    await crash.start()
    await crash.quiet()
    assert controls((await crash.cards())[-1]) == ["Approve", "Deny", "Deny, say why"]
    assert await crash.rows("SELECT count(*) FROM votes") == [(0,)]
    assert crash.ran() == []

    assert (await clicked(crash, card))["ok"]
    await crash.quiet()
    assert len(crash.ran("restart")) == 1


@pytest.mark.parametrize("point", ["after add_vote", "before answer"])
async def test_killed_before_the_acknowledgement_keeps_the_vote_k11(crash, point):
    card = await asked(crash)
    await crash.doomed(point)

    assert failed(await clicked(crash, card))
    await crash.died()
    await crash.start()
    await crash.forge(BEN, card, "approve")

    whisper = (await crash.whispers(BEN))[-1]
    assert whisper.startswith("Your yes was counted at ")
    assert len(crash.ran("restart")) == 1
    assert await crash.rows("SELECT user, decision FROM votes") == [(BEN, "approve")]
    assert controls(await crash.card()) == []
    assert len(await crash.phone(ADA)) == 1


async def test_a_card_that_was_not_settled_is_settled_k12(crash):
    card = await asked(crash)
    await crash.doomed("before edit")

    assert (await clicked(crash, card, "deny"))["ok"]
    await crash.died()
    assert controls((await crash.cards())[-1]) == ["Approve", "Deny", "Deny, say why"]
    await crash.start()

    card = await crash.card()
    assert controls(card) == []
    assert "Denied by" in text_in(card)
    assert crash.ran() == []


async def test_a_decision_without_a_claim_is_carried_out_once_k13(crash):
    card = await asked(crash)
    await crash.doomed("before claim_call")

    await clicked(crash, card)
    await crash.died()
    assert crash.ran() == []
    await crash.start()
    await crash.quiet()

    (line,) = crash.ran("restart")
    assert line["args"] == {"service": "api", "region": "eu"}
    assert [t for t in await crash.phone(ADA) if TOLD.fullmatch(t)]


# -- running --------------------------------------------------------------------------

UNKNOWN = [
    ("after claim_call", 0),  # K14
    ("before effect", 0),  # K15
    ("after effect", 1),  # K16
    ("before save_call", 1),  # K16, in the transaction of the result
]


@pytest.mark.parametrize(("point", "lines"), UNKNOWN)
async def test_a_claim_without_a_result_is_unknown_k14_k15_k16(crash, point, lines):
    card = await asked(crash, "pay amount=5")
    await crash.doomed(point)

    await clicked(crash, card)
    await crash.died()
    await crash.start()
    card = await crash.card()

    assert len(crash.ran("pay")) == lines
    assert controls(card) == ["It ran", "It did not run", "Run again, asks anew"]
    assert "Outcome unknown" in text_in(card)
    assert ["Outcome unknown" in t for t in await crash.phone(ADA)] == [True]
    await crash.pass_time(24 * 3600)
    assert len(crash.ran("pay")) == lines

    await crash.press(BEN, await crash.card(), "again")
    anew = await crash.card()
    assert controls(anew) == ["Approve", "Deny", "Deny, say why"]
    assert len(crash.ran("pay")) == lines
    await clicked(crash, anew)
    await crash.quiet()
    requests = await crash.rows("SELECT number, status FROM requests ORDER BY number")
    assert requests == [(1, "approved"), (2, "approved")]
    assert len(crash.ran("pay")) == lines + 1


@pytest.mark.parametrize(
    ("point", "lines"), [("after claim_call", 0), ("after effect", 1)]
)
async def test_an_idempotent_tool_is_entered_again_with_the_same_key(
    crash, point, lines
):
    card = await asked(crash, "careful order=7")
    await crash.doomed(point)

    await clicked(crash, card)
    await crash.died()
    await crash.start()
    card = await crash.card()

    assert controls(card) == []
    entries = crash.ran("careful")
    assert len(entries) == lines + 1
    assert len({line["key"] for line in entries}) == 1


async def test_a_tool_that_kills_the_bot_each_time_is_not_entered_for_ever(crash):
    card = await asked(crash, "careful order=7")
    for _ in range(3):
        await crash.doomed("after effect")
        if not crash.ran():
            await clicked(crash, card)
        await crash.died()

    await crash.start()
    card = await crash.card()

    assert len(crash.ran("careful")) == 3
    assert controls(card) == ["It ran", "It did not run", "Run again, asks anew"]


async def test_a_kept_result_is_told_once_and_not_run_again_k17(crash):
    card = await asked(crash)
    await crash.doomed("after save_call")

    await clicked(crash, card)
    await crash.died()
    assert await crash.phone(ADA) == []
    await crash.start()
    await crash.quiet()

    assert len(crash.ran("restart")) == 1
    (told,) = await crash.phone(ADA)
    assert TOLD.fullmatch(told)
    assert "Done" in text_in(await crash.card())


@pytest.mark.parametrize("point", ["before last edit", "after last edit"])
async def test_the_card_shows_the_result_once_k18_k19(crash, point):
    card = await asked(crash)
    await crash.doomed(point)

    await clicked(crash, card)
    await crash.died()
    await crash.start()
    await crash.quiet()

    (card,) = await crash.cards()
    assert controls(card) == []
    assert "Done" in text_in(card)
    assert len(crash.ran("restart")) == 1
    # The news may have been on its way as well: told at least once, and the same.
    told = await crash.phone(ADA)
    assert told
    assert all(TOLD.fullmatch(t) for t in told)


@pytest.mark.parametrize(("point", "times"), [("before reply", 1), ("after reply", 2)])
async def test_the_news_of_the_result_are_not_lost_k18_k19(crash, point, times):
    """News are told at least once; the result itself stands on the card, once."""
    card = await asked(crash)
    await crash.doomed(point)

    await clicked(crash, card)
    await crash.died()
    await crash.start()
    await crash.quiet()

    told = await crash.phone(ADA)
    assert len(told) == times
    assert all(TOLD.fullmatch(t) for t in told)
    assert len(await crash.cards()) == 1
    assert len(crash.ran("restart")) == 1


async def test_choices_that_the_old_card_cannot_show_get_a_card_of_their_own(crash):
    card = await asked(crash, "pay amount=5")
    await crash.doomed("after claim_call")
    await clicked(crash, card)
    await crash.died()

    crash.slack.fault("chat.update", "error:edit_window_closed", 1)
    await crash.start()
    anew = await crash.card()

    assert anew["ts"] != card["ts"]
    assert controls(anew) == ["It ran", "It did not run", "Run again, asks anew"]
    await crash.press(BEN, anew, "not_run")
    assert controls(await crash.card()) == []
    assert crash.ran() == []


async def test_serve_itself_goes_on_with_what_a_killed_process_left(crash):
    card = await asked(crash)
    await crash.doomed("after add_vote")
    await clicked(crash, card)
    await crash.died()

    async with crash.served() as process:
        done = await crash.slack.wait_for(f"settled:{OPS}:{card['ts']}", 10)
        assert done["ok"], crash.log.read_text()
        told = await crash.slack.wait_for("notified:U0ADA:contains:Done", 10)
        assert told["ok"], crash.log.read_text()

    assert process.returncode == 0
    assert len(crash.ran("restart")) == 1
