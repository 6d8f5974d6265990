"""An edit, news or a private reply that Slack does not take: none of it gets lost."""

import pytest
from harness import ADA, BEN, Bench, controls, text_in
from invariants import assert_invariants
from refusing import POST, UPDATE, asked, direct, noted_calls, rows, until


@pytest.fixture
def calls(bench):
    return noted_calls(bench)


# -- a card that is changed -----------------------------------------------------------


@pytest.mark.parametrize("fault", ["429:30", "500", "error:update_failed"])
async def test_an_edit_that_may_work_later_is_made_later(bench, calls, fault):
    card = await asked(bench)
    bench.slack.fault(UPDATE, fault, 1)

    await bench.press(BEN, card, "deny")
    await bench.quiet()
    await bench.pass_time(31)

    assert [m for m, _ in calls].count(UPDATE) == 2
    assert controls(await bench.card()) == []
    assert any("Ben denied" in t for t in await bench.phone(ADA))


async def test_a_deleted_card_is_posted_once_more(bench, calls):
    card = await asked(bench)
    bench.slack.fault(UPDATE, "error:message_not_found", 1)

    await bench.press(BEN, card, "deny")
    await bench.quiet()

    old, new = await bench.cards()
    assert old["ts"] == card["ts"]
    assert controls(new) == []
    assert "Denied by" in text_in(new)
    # The playground still has the old one: Slack would not.
    await bench.press(BEN, old, "approve")
    assert len(await bench.whispers(BEN)) == 2
    assert bench.ran() == []
    assert controls((await bench.cards())[0]) == []


async def test_a_card_that_is_deleted_again_and_again_is_let_go(bench, calls):
    card = await asked(bench)
    bench.slack.fault(UPDATE, "error:message_not_found")

    await bench.press(BEN, card, "approve")
    for _ in range(5):
        await bench.quiet()
        await redrawn(bench)

    posted = [at for method, at in calls if method == POST]
    assert len(posted) == 3  # the card, the card once more, the news
    edits = [at for method, at in calls if method == UPDATE]
    assert len(edits) <= 2
    assert await rows(bench) == [("gone", "message_not_found", 0)]
    assert len(bench.ran("restart")) == 1
    assert any("Ben approved" in t for t in await bench.phone(ADA))
    bench.slack.fault(UPDATE, "")


@pytest.mark.parametrize("code", ["edit_window_closed", "cant_update_message"])
async def test_a_card_that_cannot_be_changed_is_followed_up(folder, code):
    async with Bench(folder) as bench:
        card = await asked(bench)
        bench.slack.fault(UPDATE, f"error:{code}")

        await bench.press(BEN, card, "approve")
        await bench.quiet()

        (card,) = await bench.cards()
        assert controls(card) == [
            "Approve",
            "Deny",
            "Deny, say why",
        ]  # nothing can be done about it
        (followed,) = [r for r in await bench.replies() if r.startswith("Done")]
        bench.clock.advance(60)
        await bench.press(BEN, card, "deny")
        assert "approved CS-1" in (await bench.whispers(BEN))[-1]
        assert [r for r in await bench.replies() if r.startswith("Done")] == [followed]
        assert len(bench.ran("restart")) == 1
        assert any("Ben approved" in t for t in await bench.phone(ADA))
        bench.slack.fault(UPDATE, "")
        await bench.press(BEN, card, "deny")
        await bench.quiet()
        await assert_invariants(bench)


@pytest.mark.parametrize("code", ["is_archived", "is_inactive", "channel_not_found"])
async def test_an_open_card_in_a_dead_channel_goes_to_people(bench, code):
    card = await asked(bench)
    bench.slack.fault(UPDATE, f"error:{code}", 1)

    await redrawn(bench)

    moved = await bench.card(await direct(bench, BEN))
    assert controls(moved) == ["Approve", "Deny", "Deny, say why"]
    assert any("#ops" in t and "went to" in t for t in await bench.phone(ADA))
    await bench.press(BEN, card, "approve")
    await bench.quiet()
    assert bench.ran() == []
    assert controls((await bench.cards())[0]) == []
    await bench.press(BEN, moved, "approve")
    await bench.quiet()
    assert len(bench.ran("restart")) == 1


async def test_a_settled_card_in_a_dead_channel_is_let_go_and_its_end_told(bench):
    card = await asked(bench)
    for method in (POST, UPDATE):
        bench.slack.fault(method, "error:is_archived", 1)

    await bench.press(BEN, card, "deny")
    await bench.quiet()

    assert await rows(bench) == [("gone", "is_archived", 0)]
    assert await rows(bench, "notice") == []
    assert [t for t in await bench.phone(ADA) if "Ben denied" in t]
    # What the archived channel still shows is dead; here it can be pressed.
    await bench.press(BEN, card, "approve")
    await bench.quiet()
    assert bench.ran() == []


async def test_an_edit_that_slack_cannot_draw_becomes_a_smaller_one(bench):
    card = await asked(bench)
    bench.slack.fault(UPDATE, "error:invalid_blocks", 1)

    await bench.press(BEN, card, "deny")

    card = await bench.card()
    assert controls(card) == []
    assert "Denied by" in text_in(card)


async def redrawn(bench) -> None:
    """Have every card drawn anew."""
    now = bench.clock.now()
    ((run,),) = await bench.rows("SELECT id FROM runs")
    await bench.store.write(lambda tx: bench.store.redraw(tx, run, None, now))
    bench.bot.courier.wake()
    await bench.quiet()


# -- words ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code", ["cannot_reply_to_message", "message_not_found", "is_archived"]
)
async def test_news_that_the_thread_does_not_take_go_to_the_requester(bench, code):
    card = await asked(bench)
    bench.slack.fault(POST, f"error:{code}", 1)

    await bench.press(BEN, card, "deny")
    await bench.quiet()

    assert await bench.replies() == []
    (told,) = await bench.phone(ADA)
    assert told.startswith("Ben denied")
    assert (await bench.cards(await direct(bench, ADA)))[-1]["text"] == told


async def test_news_that_slack_cannot_draw_go_as_plain_text(bench):
    card = await asked(bench)
    bench.slack.fault(POST, "error:invalid_blocks", 1)

    await bench.press(BEN, card, "deny")
    await bench.quiet()

    assert await bench.replies() == [
        "Ben denied: Restart api in eu. It did not run. CS-1"
    ]
    assert await rows(bench, "news") == [("live", "", 0)]


@pytest.mark.parametrize(
    "code", ["missing_scope", "metadata_too_large", "edit_window_closed"]
)
async def test_news_that_cannot_be_told_now_are_told_at_the_next_start(bench, code):
    card = await asked(bench)
    bench.slack.fault(POST, f"error:{code}", 1)

    await bench.press(BEN, card, "deny")
    await bench.quiet()
    assert await rows(bench, "news") == [("stuck", code, 0)]
    assert await bench.phone(ADA) == []
    await bench.restart()
    await bench.quiet()

    assert len(await bench.phone(ADA)) == 1
    assert len(await bench.cards()) == 1


@pytest.mark.parametrize("fault", ["500", "429:5"])
async def test_news_are_told_once_it_works(bench, fault):
    card = await asked(bench)
    bench.slack.fault(POST, fault, 1)

    await bench.press(BEN, card, "deny")
    await bench.quiet()
    await bench.pass_time(6)

    assert len(await bench.phone(ADA)) == 1


# -- private replies ------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["500", "error:gone", "accept-then-drop"])
async def test_a_private_reply_finds_another_way(bench, fault):
    card = await asked(bench)
    bench.slack.fault("response_url", fault)

    await bench.press(ADA, card, "approve")

    assert "your yes does not count" in (await bench.whispers(ADA))[-1]


async def test_a_private_reply_that_nothing_carries_is_tried_once_more(bench):
    card = await asked(bench)
    for method in ("response_url", "chat.postEphemeral", POST):
        bench.slack.fault(method, "500", 1)

    before = (await bench.slack.state())["ephemeral"][ADA]
    await bench.press(ADA, card, "approve")

    async def tried() -> bool:
        return POST not in bench.slack._exchange.faults

    await until(tried)
    assert (await bench.slack.state())["ephemeral"][ADA] == before
    bench.clock.advance(5.1)

    assert "your yes does not count" in (await bench.whispers(ADA))[-1]
