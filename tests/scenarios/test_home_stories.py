"""The Home tab: an inbox that is never blank, whose controls are its owner's alone."""

import json
from urllib.parse import urlencode

import pytest
from harness import ADA, BEN, CLEO, POLICY, Bench, controls, text_in
from invariants import assert_invariants

from bot.slack.render.home import NOTHING, UNSURE

CANNOT = "This card cannot be answered. /approvals shows what waits for you."
SORRY = "This page could not be drawn just now. Open it again in a minute."
HELLO = """
[[tool]]
name = "hello"
gate = "ask"
headline = "Say hello to {name}"
approvers = ["U0ADA"]
callers = ["U0ADA"]
self_approval = true
"""


async def asked(bench, words="restart service=api", **where):
    await bench.tool(words, **where)
    return await bench.card()


def labels(blocks):
    return controls({"blocks": blocks})


def element(blocks, action):
    """The control with this action id and the block that it is in."""
    return next(
        (block, one)
        for block in blocks
        if block["type"] == "actions"
        for one in block["elements"]
        if one["action_id"] == f"cs_home_{action}"
    )


async def forged(bench, user, blocks, action, **changes):
    """A signed click on somebody's Home tab, with a control of any tab."""
    block, control = element(blocks, action)
    body = {
        "type": "block_actions",
        "api_app_id": bench.slack.app_id,
        "team": {"id": changes.get("team", bench.slack.team_id)},
        "user": {"id": user, "team_id": bench.slack.team_id},
        "container": {"type": "view", "view_id": "V1"},
        "view": {"id": "V1", "type": changes.get("view", "home")},
        "trigger_id": "1.2.x",
        "actions": [
            {
                "type": "button",
                "action_id": changes.get("action_id", control["action_id"]),
                "block_id": block["block_id"],
                "value": changes.get("value", control["value"]),
            }
        ],
    }
    sent = await bench.send(urlencode({"payload": json.dumps(body)}).encode())
    assert sent.status_code == 200
    await bench.quiet()


async def opened(bench, **event):
    """The event that Slack sends when somebody looks at a tab of the app."""
    body = {
        "type": "event_callback",
        "team_id": event.pop("team", bench.slack.team_id),
        "api_app_id": bench.slack.app_id,
        "event_id": "Ev1",
        "event": {"type": "app_home_opened", "user": BEN, "tab": "home", **event},
    }
    json_type = {"Content-Type": "application/json"}
    sent = await bench.send(json.dumps(body).encode(), headers=json_type)
    assert sent.status_code == 200
    await bench.quiet()


# -- what is in it --------------------------------------------------------------------


@pytest.mark.parametrize("user", [ADA, BEN, CLEO])
async def test_with_nothing_to_show_it_is_not_blank(bench, user):
    text = text_in(await bench.home(user))

    assert text.startswith(NOTHING)
    assert "/tool lists what you can start" in text
    assert "version 0.1.0" in text


async def test_each_sees_what_concerns_them(bench):
    await asked(bench)

    bens = text_in(await bench.home(BEN))
    adas = text_in(await bench.home(ADA))
    cleos = text_in(await bench.home(CLEO))

    assert bens.startswith("Waiting for you · 1\nRestart api in eu?\nAda · since 08:00")
    assert 'service = "api"' in bens
    assert adas.startswith(
        f"{NOTHING}\nYou asked · 1\nCS-1 Restart api in eu · waiting for people"
    )
    assert labels(await bench.at_home(ADA)) == ["Cancel run"]
    assert cleos.startswith(NOTHING)
    assert "CS-1" not in cleos


async def test_looking_at_it_notifies_nobody(bench):
    await asked(bench)
    before = {user: await bench.phone(user) for user in (ADA, BEN, CLEO)}

    for user in (ADA, BEN, CLEO):
        await bench.home(user)

    assert {user: await bench.phone(user) for user in (ADA, BEN, CLEO)} == before


async def test_slack_silent_is_no_empty_list(bench):
    await asked(bench)
    bench.clock.advance(61)
    bench.slack.fault("usergroups.users.list", "500")

    assert text_in(await bench.home(BEN)).startswith(UNSURE)


async def test_only_the_home_tab_is_drawn_and_only_for_our_workspace(bench):
    await opened(bench, tab="messages")
    await opened(bench, team="T0OTHER")
    await opened(bench, user=None)
    assert bench.calls("views.publish") == []

    await opened(bench)
    await opened(bench)  # delivered again: drawn again, the same

    assert {call["user_id"] for call in bench.calls("views.publish")} == {BEN}


async def test_something_that_cannot_be_read_is_said_and_not_left_blank(bench):
    await asked(bench)
    good = await bench.rows("SELECT state FROM runs")

    def set_state(state):
        return lambda tx: tx.execute("UPDATE runs SET state = ?", (state,))

    await bench.store.write(set_state("{}"))
    blocks = await bench.home(ADA)
    await bench.store.write(set_state(good[0][0]))

    assert text_in(blocks).startswith(SORRY)
    assert "You asked · 1" in text_in(await bench.home(ADA))


# -- deciding on it -------------------------------------------------------------------


async def test_approved_on_home_it_runs_once_and_both_places_say_so(bench):
    await asked(bench)
    await bench.home(BEN)

    blocks = await bench.press_home(BEN, "approve")

    assert text_in(blocks).startswith(
        f"You approved CS-1: Restart api in eu. Its card shows how it ends.\n{NOTHING}"
    )
    assert "Decided lately\nRestart api in eu  Approved by Ben" in text_in(blocks)
    assert labels(blocks) == []
    assert len(bench.ran("restart")) == 1
    assert "Approved by Ben" in text_in(await bench.card())
    assert await bench.phone(BEN) == ["Approve? Restart api in eu. Ada asks. CS-1"]
    assert await bench.whispers(BEN) == []


async def test_denied_on_home_it_does_not_run(bench):
    await asked(bench)
    await bench.home(BEN)

    blocks = await bench.press_home(BEN, "deny")

    assert "Denied by Ben" in text_in(blocks)
    assert await bench.statuses() == ["denied"]
    assert bench.ran() == []


async def test_denied_with_a_reason_from_home(bench):
    await asked(bench)
    await bench.home(BEN)

    await bench.press_home(BEN, "deny_why")
    ((view,),) = [v for v in (await bench.slack.state())["views"].values() if v]
    values = {"cs_reason": {"cs_words": "the backup runs"}}
    assert (await bench.slack.submit(BEN, view["id"], values))["ok"]

    assert "Denied by Ben" in text_in(await bench.at_home(BEN))
    assert await bench.statuses() == ["denied"]
    assert "the backup runs" in text_in(await bench.card())


async def test_a_question_of_a_tool_is_answered_on_home(bench):
    await asked(bench, "countdown")
    await bench.home(ADA)

    await bench.press_home(ADA, "done")

    assert len(bench.ran("countdown")) == 1


async def test_each_control_is_about_its_own_request(bench):
    for amount in (1, 2, 3):
        await bench.tool(f"pay amount={amount}")
    blocks = await bench.home(BEN)
    assert text_in(blocks).startswith("Waiting for you · 3")

    await bench.press_home(BEN, "approve", entry=1)

    assert [line["args"]["amount"] for line in bench.ran("pay")] == [2]


async def test_own_runs_are_cancelled_on_home(bench):
    await asked(bench)
    await bench.home(ADA)

    blocks = await bench.press_home(ADA, "cancel")

    assert text_in(blocks).startswith("You cancelled CS-1. It did not run.")
    assert await bench.statuses() == ["cancelled"]
    assert labels(blocks) == []


async def test_a_request_without_a_card_anywhere_stays_answerable(bench):
    """Its card cannot be posted; the inbox does not depend on it."""
    bench.slack.fault("chat.postMessage", "500")
    await bench.tool("restart service=api")
    await bench.home(BEN)

    await bench.press_home(BEN, "approve")
    bench.slack.fault("chat.postMessage", "")

    assert len(bench.ran("restart")) == 1
    await bench.pass_time(400)


# -- refusals -------------------------------------------------------------------------


async def test_the_control_of_somebody_elses_tab_is_refused(bench):
    bench.slack.set_group_members("S0APPROVERS", BEN, CLEO)
    await asked(bench)
    bens = await bench.home(BEN)
    await bench.home(CLEO)

    # Cleo may approve as well, with her own control and not with Ben's.
    await forged(bench, CLEO, bens, "approve")

    assert await bench.refusals() == ["unknown_request"]
    assert await bench.statuses() == ["open"]
    assert bench.ran() == []
    assert text_in(await bench.at_home(CLEO)).startswith(CANNOT)
    assert "cannot be answered" not in text_in(await bench.at_home(BEN))


async def test_somebody_elses_run_is_not_cancelled_with_their_control(bench):
    await asked(bench)
    adas = await bench.home(ADA)

    await forged(bench, CLEO, adas, "cancel")

    assert await bench.statuses() == ["open"]
    assert await bench.refusals() == ["unknown_request"]


async def test_a_control_of_a_card_is_not_one_of_a_tab(bench):
    card = await asked(bench)
    blocks = await bench.home(BEN)
    _, plain = next(
        (b, e)
        for b in card["blocks"]
        if b["type"] == "actions"
        for e in b["elements"]
        if e["action_id"] == "cs_approve"
    )

    card_at_home = {"action_id": "cs_approve", "value": plain["value"]}
    await forged(bench, BEN, blocks, "approve", **card_at_home)
    await forged(bench, BEN, blocks, "approve", value=plain["value"])
    await forged(bench, BEN, blocks, "approve", view="modal")
    _, own = element(blocks, "approve")
    on_card = {"action_id": "cs_home_approve", "value": own["value"]}
    await bench.forge(BEN, card, "approve", **on_card)
    await bench.quiet()

    assert await bench.refusals() == ["unknown_request"] * 4
    assert await bench.statuses() == ["open"]


async def test_a_decision_is_the_one_of_its_control(bench):
    await asked(bench)
    blocks = await bench.home(BEN)
    _, deny = element(blocks, "deny")

    await forged(bench, BEN, blocks, "approve", value=deny["value"])

    assert await bench.statuses() == ["open"]


async def test_what_was_decided_meanwhile_is_said(bench):
    bench.slack.set_group_members("S0APPROVERS", BEN, CLEO)
    card = await asked(bench)
    blocks = await bench.home(BEN)
    await bench.press(CLEO, card, "deny")
    await bench.quiet()

    await forged(bench, BEN, blocks, "approve")

    text = text_in(await bench.at_home(BEN))
    assert text.startswith("Cleo denied CS-1 at 08:00 UTC. It did not run.")
    assert await bench.refusals() == ["already_answered"]


async def test_who_left_the_group_approves_nothing_on_home(bench):
    await asked(bench)
    await bench.home(BEN)
    bench.slack.set_group_members("S0APPROVERS", CLEO)
    bench.clock.advance(61)

    blocks = await bench.press_home(BEN, "approve")

    assert "You are not in that group now. Nothing changed." in text_in(blocks)
    assert NOTHING in text_in(blocks)
    assert await bench.statuses() == ["open"]


async def test_after_its_time_a_yes_on_home_is_too_late(bench):
    await asked(bench)
    await bench.home(BEN)
    bench.clock.shift(30 * 60 + 1)

    blocks = await bench.press_home(BEN, "approve")

    assert "CS-1 expired" in text_in(blocks)
    assert bench.ran() == []


async def test_a_click_of_another_workspace_draws_nothing(bench):
    await asked(bench)
    blocks = await bench.home(BEN)
    before = len(bench.calls("views.publish"))

    await forged(bench, BEN, blocks, "approve", team="T0OTHER")

    assert await bench.statuses() == ["open"]
    assert len(bench.calls("views.publish")) == before


async def test_when_home_cannot_be_drawn_the_answer_comes_directly(bench):
    await asked(bench)
    await bench.home(BEN)
    bench.slack.fault("views.publish", "error:fatal_error")

    await bench.press_home(BEN, "approve")

    said = [text_in(message) for message in await bench.cards("D0BEN")]
    assert any(text.startswith("You approved CS-1") for text in said)


# -- kept true ------------------------------------------------------------------------


async def test_what_settles_elsewhere_settles_on_the_open_tabs(bench):
    card = await asked(bench)
    await bench.home(BEN)
    await bench.home(ADA)

    await bench.press(BEN, card, "approve")

    assert labels(await bench.at_home(BEN)) == []
    assert "Approved by Ben" in text_in(await bench.at_home(ADA))
    assert labels(await bench.at_home(ADA)) == []


async def test_what_runs_out_is_taken_off_the_open_tabs(bench):
    await asked(bench)
    await bench.home(BEN)

    await bench.pass_time(30 * 60 + 1)

    assert labels(await bench.at_home(BEN)) == []


async def test_a_tab_that_was_opened_long_ago_is_left_alone(bench):
    card = await asked(bench, "fails why=disk")  # waits for a day
    await bench.home(BEN)
    before = len(bench.calls("views.publish"))
    bench.clock.advance(3_601)

    await bench.press(BEN, card, "deny")
    await bench.quiet()

    assert len(bench.calls("views.publish")) == before


async def test_what_was_said_goes_when_the_tab_is_opened_again(bench):
    await asked(bench)
    await bench.home(BEN)
    assert "You denied CS-1" in text_in(await bench.press_home(BEN, "deny"))

    assert "You denied" not in text_in(await bench.home(BEN))


async def test_after_a_restart_the_controls_of_before_still_work(bench):
    await asked(bench)
    await bench.home(BEN)

    await bench.restart()
    blocks = await bench.press_home(BEN, "approve")

    assert "You approved CS-1" in text_in(blocks)
    assert len(bench.ran("restart")) == 1


# -- try it ---------------------------------------------------------------------------


async def test_the_lone_installer_says_hello_and_approves_it(folder):
    async with Bench(folder, policy=HELLO) as bench:
        assert labels(await bench.home(ADA)) == ["Try it: say hello"]

        blocks = await bench.press_home(ADA, "hello")

        assert "CS-1: Say hello to world. Asked of" in text_in(blocks)
        assert "Approve" in labels(blocks)
        assert await bench.phone(ADA) == ["Approve? Say hello to world. Ada asks. CS-1"]
        assert bench.ran() == []
        blocks = await bench.press_home(ADA, "approve")
        assert len(bench.ran("hello")) == 1
        assert "Decided lately" in text_in(blocks)
        assert labels(blocks) == []
        card = await bench.card("D0ADA", 0)
        assert "Hello, world." in text_in(card)
        await assert_invariants(bench)


async def test_one_button_says_hello_once(folder):
    async with Bench(folder, policy=HELLO) as bench:
        blocks = await bench.home(ADA)

        for _ in range(3):
            await forged(bench, ADA, blocks, "hello")

        assert await bench.statuses() == ["open"]
        await assert_invariants(bench)


async def test_hello_without_a_gate_runs_at_once(folder):
    policy = '[[tool]]\nname = "hello"\ngate = "allow"\n'
    async with Bench(folder, policy=policy) as bench:
        await bench.home(CLEO)
        blocks = await bench.press_home(CLEO, "hello")

        assert "It runs without anybody's approval" in text_in(blocks)
        assert len(bench.ran("hello")) == 1
        await bench.pass_time(2)
        assert "Hello, world." in text_in(await bench.card("D0CLEO"))
        await assert_invariants(bench)


async def test_hello_is_offered_only_to_whom_it_is_of_use(folder):
    async with Bench(
        folder, policy=HELLO + POLICY.split('default = "deny"')[1]
    ) as bench:
        assert labels(await bench.home(BEN)) == []  # he may not start it
        await asked(bench)
        assert labels(await bench.home(ADA)) == ["Cancel run"]  # something is there


async def test_hello_pressed_by_somebody_else_starts_nothing(folder):
    async with Bench(folder, policy=HELLO) as bench:
        blocks = await bench.home(ADA)
        await forged(bench, BEN, blocks, "hello")

        assert await bench.statuses() == []
        assert await bench.refusals() == ["unknown_request"]


async def test_hello_that_is_no_longer_allowed_starts_nothing(folder):
    async with Bench(folder, policy=HELLO) as bench:
        blocks = await bench.home(ADA)
        bench.policy(HELLO.replace("U0ADA", "U0BEN"))
        await bench.restart()
        await forged(bench, ADA, blocks, "hello")

        assert "Nothing was started." in text_in(await bench.at_home(ADA))
        assert await bench.statuses() == []
