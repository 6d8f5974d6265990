"""Commands of the settings, typed in Slack: they do what /tool and /run would do."""

import pytest
from harness import ADA, BEN, POLICY, Bench, controls, text_in
from invariants import assert_invariants

from bot.errors import ConfigError

SETTINGS = """
command_prefix = "cs-"

[[command]]
name = "/bounce"
tool = "restart"
arguments = ["service", "region"]

[[command]]
name = "/settle"
tool = "pay"
arguments = ["amount"]

[[command]]
name = "/look"
prompt = "restart the {service} and tell me if it is {state}"
arguments = ["service", "state"]
"""
MISSING = """
[[command]]
name = "/gone"
tool = "nothing"

[[command]]
name = "/odd"
tool = "restart"
arguments = ["pods"]
"""


@pytest.fixture
async def bound(folder):
    async with Bench(folder, settings=SETTINGS, model=True) as made:
        yield made
        await made.quiet()
        await assert_invariants(made)


async def test_its_words_become_the_arguments_of_its_tool(bound):
    reply = await bound.type("/bounce", "api us")

    assert "Restart api in us. Asked of" in reply
    card = await bound.card()
    assert 'region  = "us"' in text_in(card)
    await bound.press(BEN, card, "approve")
    await bound.quiet()
    assert [line["args"] for line in bound.ran()] == [
        {"service": "api", "region": "us"}
    ]


async def test_what_may_be_left_out_may_be_left_out(bound):
    await bound.type("/bounce", "'the api'")
    await bound.press(BEN, await bound.card(), "approve")
    await bound.quiet()

    (line,) = bound.ran()
    assert line["args"] == {"service": "the api", "region": "eu"}


async def test_too_many_words_start_nothing_and_are_told_in_private(bound):
    reply = await bound.type("/bounce", "api us now")

    assert reply == (
        "Write /bounce SERVICE REGION: it takes 1 to 2 words, and there were 3."
        " What has blanks in it stands in quotes."
        " For example: /bounce api 'us now' Nothing was started."
    )
    assert await bound.statuses() == []
    assert await bound.cards() == []


async def test_a_word_of_the_wrong_type_starts_nothing(bound):
    assert await bound.type("/settle", "much") == (
        'amount must be a number; you wrote "much". Nothing was started.'
    )
    assert await bound.statuses() == []


async def test_hostile_words_are_shown_as_they_are(bound):
    await bound.type("/bounce", "'<!channel> *x* &lt;'")

    card = await bound.card()
    assert '"<!channel> *x* &lt;"' in text_in(card)
    assert await bound.phone(ADA) == []


async def test_a_prompt_starts_a_run_with_the_words_filled_in(bound):
    reply = await bound.type("/look", "api healthy")

    assert "CS-1 has begun" in reply
    await bound.quiet()
    said = bound.asked()[0]["messages"][-1]["content"]
    assert said == "restart the api and tell me if it is healthy"
    cards = [c for c in await bound.cards() if "Approve" in controls(c)]
    await bound.press(BEN, cards[0], "approve")
    await bound.quiet()
    assert [line["tool"] for line in bound.ran()] == ["restart", "status"]


async def test_a_prompt_without_its_words_starts_nothing(bound):
    reply = await bound.type("/look", "api")

    assert reply.startswith("Write /look SERVICE STATE: it takes 2 words")
    await bound.quiet()
    assert bound.asked() == []


async def test_a_prompt_without_a_model_says_what_to_set(folder):
    async with Bench(folder, settings=SETTINGS) as bench:
        assert "No model is set" in await bench.type("/look", "api healthy")
        await assert_invariants(bench)


async def test_one_delivery_starts_one_run_however_often_it_comes(bound):
    body = (
        b"command=%2Fbounce&text=api&user_id=U0ADA&team_id=T0HOME&channel_id=C0OPS"
        b"&trigger_id=1.2.same&api_app_id=A0CSIGN&is_enterprise_install=false"
    )
    for _ in range(2):
        assert (await bound.send(body)).status_code == 200
    await bound.quiet()

    assert await bound.statuses() == ["open"]


async def test_callers_hold_for_a_command_as_for_tool(folder):
    rule = f'[[tool]]\nname = "restart"\ngate = "allow"\ncallers = ["{BEN}"]\n'
    settings = SETTINGS.split('[[command]]\nname = "/settle"')[0]
    async with Bench(folder, settings=settings, policy=rule) as bench:
        reply = await bench.type("/bounce", "api")

        assert "can be started by" in reply
        await bench.type("/bounce", "api", user=BEN)
        await bench.quiet()
        assert len(bench.ran()) == 1
        await assert_invariants(bench)


async def test_every_fault_of_the_commands_is_said_at_start(folder):
    with pytest.raises(ConfigError) as caught:
        async with Bench(folder, settings=MISSING, policy=POLICY):
            pass

    said = str(caught.value)
    assert "the command /gone names the tool nothing, which there is not" in said
    assert "the command /odd takes pods, which restart does not" in said
    assert "the command /odd cannot work: restart needs service" in said


async def test_the_prefix_is_for_our_own_alone(bound):
    assert "Tools that you can start" in await bound.type("/cs-tool")
    offered = {one["command"] for one in (await bound.slack.state())["commands"]}
    assert {"/bounce", "/settle", "/look", "/cs-tool", "/cs-run"} <= offered
