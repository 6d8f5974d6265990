"""*Deny, say why* as stories: a form, one decision, and words that reach who asked."""

import contextlib
import json
import sqlite3

import pytest
from forms import answered, opened, sent, shown
from harness import ADA, BEN, CLEO, Bench, controls, text_in
from invariants import assert_invariants

WHY = "Wait until the backup is through."
GROUP = "S0APPROVERS"


@pytest.fixture
async def agent(folder):
    async with Bench(folder, model=True) as made:
        yield made
        await made.quiet()
        await assert_invariants(made)


async def asked(bench, words="restart service=api"):
    await bench.tool(words)
    return await bench.card()


async def decisions(bench):
    return await bench.rows("SELECT user, decision FROM votes ORDER BY at")


async def kept(bench):
    return await bench.rows("SELECT status, decided_by, reason FROM requests")


async def denials(bench):
    """Who denied, as the audit has it, and with which words."""
    rows = await bench.rows(
        "SELECT actor, body FROM audit WHERE action = 'denied' ORDER BY seq"
    )
    return [(actor, json.loads(body).get("reason")) for actor, body in rows]


async def output(bench):
    ((found,),) = await bench.rows("SELECT output FROM calls")
    return found


# -- a decision with words ------------------------------------------------------------


async def test_a_reason_is_on_the_card_and_in_the_reply_and_nothing_ran(bench):
    card = await asked(bench)
    view = await opened(bench, BEN, card)
    assert view["title"]["text"] == "Deny CS-1"
    assert await decisions(bench) == []

    assert await sent(bench, BEN, view, WHY) == ""

    settled = await bench.card()
    assert controls(settled) == []
    assert "Denied by Ben" in text_in(settled)
    assert "It did not run." in text_in(settled)
    assert text_in(settled).split("\n").count(WHY) == 1
    assert await shown(bench, BEN) == []
    assert bench.ran() == []
    assert await kept(bench) == [("denied", BEN, WHY)]
    assert await decisions(bench) == [(BEN, "deny")]
    assert await denials(bench) == [(BEN, WHY)]
    (told,) = [t for t in await bench.phone(ADA) if "denied" in t]
    assert told.startswith("Ben denied: Restart api in eu. It did not run.")
    state = await bench.slack.state()
    assert any(WHY in text_in(m) for m in state["messages"]["C0OPS"][1:])


async def test_the_result_has_the_words_as_data_on_its_second_line(bench):
    card = await asked(bench)
    await sent(bench, BEN, await opened(bench, BEN, card), 'Not "now"\nbut later')

    first, second = (await output(bench)).split("\n")
    assert first.startswith("declined/expired: ")
    assert json.loads(second) == {"by": BEN, "reason": 'Not "now"\nbut later'}


@pytest.mark.parametrize("reason", [None, "", " \n\t "])
async def test_without_words_it_is_a_plain_denial(bench, reason):
    card = await asked(bench)

    assert await sent(bench, BEN, await opened(bench, BEN, card), reason) == ""

    assert await kept(bench) == [("denied", BEN, "")]
    assert await denials(bench) == [(BEN, None)]
    assert "\n" not in await output(bench)
    assert "Denied by Ben" in text_in(await bench.card())


async def test_whoever_asked_may_deny_with_words_as_well(bench):
    card = await asked(bench)

    assert await sent(bench, ADA, await opened(bench, ADA, card), WHY) == ""

    assert await kept(bench) == [("denied", ADA, WHY)]
    assert await denials(bench) == [(ADA, WHY)]


async def test_a_long_reason_is_whole_on_the_card_and_cut_in_the_reply(bench):
    why = "because " * 300
    card = await asked(bench)

    assert await sent(bench, BEN, await opened(bench, BEN, card), why) == ""

    assert why.strip() in text_in(await bench.card())
    state = await bench.slack.state()
    reply = state["messages"]["C0OPS"][-1]
    assert reply["thread_ts"] != reply["ts"]
    assert why.strip() not in text_in(reply)
    assert "more characters)" in text_in(reply)


async def test_a_form_survives_a_restart(bench):
    card = await asked(bench)
    view = await opened(bench, BEN, card)

    await bench.restart()

    assert await sent(bench, BEN, view, WHY) == ""
    assert await kept(bench) == [("denied", BEN, WHY)]


async def test_a_tool_that_asks_for_approval_gets_the_words_as_well(bench):
    await bench.tool("asks kind=approval")
    card = await bench.card("D0BEN")
    assert controls(card) == ["Approve", "Deny", "Deny, say why"]

    await sent(bench, BEN, await opened(bench, BEN, card), WHY)

    assert bench.ran("asks") == []
    assert json.loads((await output(bench)).split("\n")[1])["reason"] == WHY


async def test_the_model_learns_why_and_decides_again(agent):
    await agent.type("/run", "restart the api and tell me if it is healthy")
    await agent.quiet()
    card = next(c for c in await agent.cards() if "Approve" in controls(c))
    view = await opened(agent, BEN, card)
    (block,) = view["blocks"]
    assert block["label"]["text"] == "Why? Ada and the model will read this."

    await sent(agent, BEN, view, WHY)

    (result,) = [m for m in agent.asked()[-1]["messages"] if m["role"] == "tool"][:1]
    assert json.loads(result["content"].split("\n")[1]) == {"by": BEN, "reason": WHY}
    assert "restart" not in [line["tool"] for line in agent.ran()]
    words = [text_in(c) for c in await agent.cards()]
    assert any("denied by Ben" in one for one in words)
    assert any(f"\n{WHY}\n" in one for one in words)


# -- forms that decide nothing --------------------------------------------------------


@pytest.mark.parametrize("typed", [None, WHY])
async def test_closing_the_form_decides_nothing(bench, typed):
    card = await asked(bench)
    view = await opened(bench, BEN, card)

    assert (await bench.slack.close_view(BEN, view["id"]))["ok"]
    closing = {"kind": "view_closed", "is_cleared": True}
    assert await answered(bench, BEN, view, typed, **closing) == ""

    assert await kept(bench) == [("open", "", "")]
    assert await decisions(bench) == []
    assert controls(await bench.card()) == controls(card)
    await bench.press(BEN, card, "approve")
    await bench.quiet()
    assert len(bench.ran("restart")) == 1


async def test_a_stranger_is_refused_before_a_form_opens(bench):
    card = await asked(bench)

    await bench.press(CLEO, card, "deny_why")
    (said,) = await bench.whispers(CLEO)

    assert said.startswith(f"CS-1 can be answered by {GROUP}.")
    assert await bench.refusals() == ["not_approver"]
    assert await shown(bench, CLEO) == []
    assert bench.calls("views.open") == []


async def test_an_answered_request_opens_no_form(bench):
    card = await asked(bench)
    await bench.press(BEN, card, "approve")
    await bench.quiet()

    await bench.forge(ADA, card, "deny_why")
    await bench.quiet()

    assert (await bench.whispers(ADA))[-1].startswith("Ben approved CS-1 at ")
    assert bench.calls("views.open") == []


@pytest.mark.parametrize(
    "fault",
    [
        "error:expired_trigger_id",
        "error:trigger_expired",
        "error:exchanged_trigger_id",
        "error:invalid_trigger_id",
        "error:internal_error",
        "429:30",
        "500",
        "accept-then-drop",
    ],
)
async def test_a_form_that_does_not_open_says_to_press_again(bench, fault):
    card = await asked(bench)
    assert bench.slack.fault("views.open", fault, 1)["ok"]

    await bench.press(BEN, card, "deny_why")

    assert await bench.whispers(BEN) == [
        "The form for CS-1 did not open in time, so nothing changed."
        " Press the button again."
    ]
    assert len(bench.calls("views.open")) == 1
    assert await kept(bench) == [("open", "", "")]
    assert await sent(bench, BEN, await opened(bench, BEN, card), WHY) == ""


# -- somebody was faster --------------------------------------------------------------


async def test_of_two_open_forms_the_first_one_counts(bench):
    card = await asked(bench)
    of_ben = await opened(bench, BEN, card)
    of_ada = await opened(bench, ADA, card)

    assert await sent(bench, ADA, of_ada, "I changed my mind.") == ""
    error = await sent(bench, BEN, of_ben, WHY)

    assert error.startswith("Ada denied CS-1 at ")
    assert error.endswith("It did not run. Your click changed nothing.")
    assert await bench.refusals() == ["already_answered"]
    assert await kept(bench) == [("denied", ADA, "I changed my mind.")]
    assert len(await shown(bench, BEN)) == 1  # what was typed is not lost
    assert WHY not in text_in(await bench.card())


async def test_the_same_form_twice_counts_once(bench):
    card = await asked(bench)
    view = await opened(bench, BEN, card)
    assert await sent(bench, BEN, view, WHY) == ""

    error = await answered(bench, BEN, view, "Another reason.")

    assert error.startswith("Your no was counted at ")
    assert await bench.refusals() == ["duplicate_vote"]
    assert await kept(bench) == [("denied", BEN, WHY)]


async def test_approved_while_the_form_was_open(bench):
    bench.slack.set_group_members(GROUP, BEN, CLEO)
    card = await asked(bench)
    view = await opened(bench, CLEO, card)
    await bench.press(BEN, card, "approve")
    await bench.quiet()

    error = await sent(bench, CLEO, view, WHY)

    assert error.startswith("Ben approved CS-1 at ")
    assert error.endswith("and it ran. Your click changed nothing.")
    assert await bench.refusals() == ["already_answered"]
    assert len(bench.ran("restart")) == 1


async def test_cancelled_while_the_form_was_open(bench):
    card = await asked(bench)
    view = await opened(bench, BEN, card)
    await bench.type("/runs")
    state = await bench.slack.state()
    listed = state["ephemeral"][ADA][-1]
    await bench.press(ADA, listed, "cancel")
    await bench.quiet()

    error = await sent(bench, BEN, view, WHY)

    assert error.startswith("Ada cancelled CS-1 at ")
    assert error.endswith("It did not run.")
    assert await bench.refusals() == ["cancelled"]
    assert (await kept(bench))[0][0] == "cancelled"
    assert controls(await bench.card()) == []


# -- a store that is busy -------------------------------------------------------------


@contextlib.contextmanager
def locked(bench):
    """Another program writes for a long time."""
    path = bench.folder / "countersign.db"
    other = sqlite3.connect(path, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
    finally:
        other.execute("ROLLBACK")
        other.close()


async def test_what_cannot_be_recorded_stays_in_the_form(bench):
    card = await asked(bench)
    view = await opened(bench, BEN, card)

    with locked(bench):
        done = await bench.slack.submit(
            BEN, view["id"], {"cs_reason": {"cs_words": WHY}}
        )

    assert done["error"] == "view_errors"
    assert "Your click could not be recorded" in done["delivery"]["body"]
    assert await kept(bench) == [("open", "", "")]
    assert await sent(bench, BEN, view, WHY) == ""
    assert await kept(bench) == [("denied", BEN, WHY)]
