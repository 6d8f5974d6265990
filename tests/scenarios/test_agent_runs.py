"""Runs of a model as stories: the stand-in chooses, people agree, it goes on."""

import pytest
from harness import ADA, BEN, GENERAL, OPS, Bench, controls, text_in
from invariants import assert_invariants

WORDS = "restart the api and tell me if it is healthy"


@pytest.fixture
async def agent(folder):
    async with Bench(folder, model=True) as made:
        yield made
        await made.quiet()
        await assert_invariants(made)


async def run_card(bench, channel=OPS):
    await bench.quiet()
    cards = [c for c in await bench.cards(channel) if "turn" in text_in(c)]
    return cards[-1]


async def request_card(bench, channel=OPS):
    await bench.quiet()
    return next(c for c in await bench.cards(channel) if "Approve" in controls(c))


async def test_a_run_goes_through_approval_to_the_final_words(agent):
    reply = await agent.type("/run", WORDS)
    assert "CS-1 has begun" in reply
    card = await request_card(agent)
    assert 'service = "api"' in text_in(card)
    assert "waiting" in text_in(await run_card(agent))
    assert agent.ran() == []

    await agent.press(BEN, card, "approve")
    await agent.quiet()

    assert [line["tool"] for line in agent.ran()] == ["restart", "status"]
    done = text_in(await run_card(agent))
    assert "What the model says (not checked)" in done
    assert "healthy" in done
    assert any("Done in" in told for told in await agent.phone(ADA))


async def test_a_call_that_nobody_is_asked_about_is_written_down_as_ungated(agent):
    await agent.type("/run", WORDS)
    await agent.press(BEN, await request_card(agent), "approve")
    await agent.quiet()

    rows = await agent.rows("SELECT actor, body FROM audit WHERE action = 'ungated'")
    assert [actor for actor, _ in rows] == [ADA]
    assert "status" in rows[0][1]


async def test_denied_the_model_decides_again(agent):
    await agent.type("/run", WORDS)

    await agent.press(BEN, await request_card(agent), "deny")
    await agent.quiet()

    assert "restart" not in [line["tool"] for line in agent.ran()]
    assert "denied by Ben" in text_in(await run_card(agent))


async def test_a_restart_while_it_waits_changes_nothing(agent):
    await agent.type("/run", WORDS)
    card = await request_card(agent)

    await agent.restart()
    await agent.press(BEN, card, "approve")
    await agent.quiet()

    assert [line["tool"] for line in agent.ran()] == ["restart", "status"]


async def test_the_model_is_asked_balanced_questions(agent):
    await agent.type("/run", WORDS)
    await agent.press(BEN, await request_card(agent), "approve")
    await agent.quiet()

    for body in agent.asked():
        waiting = []
        for message in body["messages"]:
            if message["role"] == "tool":
                assert message["tool_call_id"] == waiting.pop(0)
                continue
            assert waiting == []
            waiting = [call["id"] for call in message.get("tool_calls") or []]
        assert waiting == []


async def test_cancel_stops_a_run(agent):
    await agent.type("/run", WORDS)
    await request_card(agent)

    await agent.press(ADA, await run_card(agent), "cancel")
    await agent.quiet()

    assert agent.ran() == []
    assert "Cancelled by" in text_in(await run_card(agent))
    assert all(controls(card) == [] for card in await agent.cards())


async def test_without_a_model_run_says_what_to_do(bench):
    reply = await bench.type("/run", WORDS)

    assert "No model is set" in reply
    assert "/tool works without one" in reply
    assert await bench.cards() == []


async def test_without_words_run_says_how(agent):
    assert "in your own words" in await agent.type("/run", "")


async def test_a_mention_in_a_thread_starts_a_run(agent):
    said = await agent.slack.message(ADA, GENERAL, "the api is slow")
    await agent.slack.message(
        ADA, GENERAL, f"<@{agent.slack.bot_user_id}> {WORDS}", said["ts"]
    )
    await agent.press(BEN, await request_card(agent), "approve")
    await agent.quiet()

    assert [line["tool"] for line in agent.ran()] == ["restart", "status"]
    assert any("CS-1 has begun" in reply for reply in await agent.replies(GENERAL))


async def test_words_under_a_card_decide_nothing(agent):
    await agent.tool("restart service=api")
    card = await request_card(agent)

    await agent.slack.message(
        BEN, OPS, f"<@{agent.slack.bot_user_id}> approve", card["ts"]
    )

    assert "Words do not count here" in (await agent.whispers(BEN))[-1]
    assert agent.ran() == []


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("500", "answered 500"),
        ("error:bad", "answered 400"),
    ],
)
async def test_a_failing_model_ends_the_run_with_a_reason(agent, fault, reason):
    agent.slack.fault("standin", fault)
    await agent.type("/run", WORDS)
    while not await agent.rows("SELECT 1 FROM runs WHERE ended_at IS NOT NULL"):
        agent.clock.advance(1)
        await agent.pause()

    card = text_in(await run_card(agent))
    assert "It stopped:" in card
    assert reason in card
    assert any("Stopped" in told for told in await agent.phone(ADA))
