"""The Home tab as it is drawn: within Slack's limits, complete, and never blank."""

from dataclasses import replace

import pytest
from reading import buttons, faults, labels, objects, references, words
from views import EVERY, asked_by_tool, card_view, signed

from bot.core.keys import generate, read, ring
from bot.core.policy import POSITIVE
from bot.playground.blockkit import view_problems
from bot.slack.ids import ACTIONS, control, home_action_id, home_control, home_signer
from bot.slack.kinds import kind_named
from bot.slack.render import home
from bot.slack.render.lists import Listed
from bot.slack.render.message import Message, message

FOOT = (
    "/tool lists what you can start · /runs your runs · /approvals what waits for you"
)
OPEN = EVERY["open"]
KEYS = ring(read(generate()), "controls")


def page(**given):
    blank = {
        "waiting": [],
        "unsure": False,
        "asked": [],
        "asked_count": len(given.get("asked", ())),
        "decided": [],
        "hello": "",
        "sign": signed,
        "said": None,
        "prefix": "",
        "version": "1.2.3",
    }
    return home.Page(**{**blank, **given})


def listed(view):
    return Listed(run=view.run, calls=view.calls)


def drawn(**given):
    """The tab's blocks as a message, so that they can be read like one."""
    made = home.view(page(**given))
    assert view_problems(made) == []
    return Message(text="", blocks=made["blocks"])


def lines(found):
    return words(found).split("\n")


# -- what it says ---------------------------------------------------------------------


def test_with_nothing_to_show_it_says_so_and_how_to_go_on():
    assert lines(drawn()) == [home.NOTHING, f"{FOOT} · version 1.2.3"]


def test_commands_have_their_prefix():
    assert "/acme-tool lists" in words(drawn(prefix="acme-"))
    assert "/acme-runs" in words(
        Message(text="", blocks=home.failed(None, "acme-")["blocks"])
    )


def test_the_button_to_try_it_is_there_when_it_can_be_used():
    found = drawn(hello="ref")

    assert buttons(found) == [("Try it: say hello", "cs_home_hello", "ref.hello")]
    assert labels(drawn()) == []


def test_what_waits_is_shown_in_full_with_the_controls_of_its_kind():
    found = drawn(waiting=[OPEN])

    assert lines(found)[:6] == [
        "Waiting for you · 1",
        "Restart api in eu?",
        "Ada · since <14:22> · until <14:52> · CS-318 · 4c1f 88a0 93d2",
        "What will run",
        "restart",
        'region  = "eu"',
    ]
    ref = OPEN.request.ref
    assert buttons(found) == [
        (choice.label, home_action_id(choice.decision), f"{ref}.{choice.decision}")
        for choice in kind_named("approval").choices
    ]
    assert references(found) == set()
    assert faults(found) == []


def test_every_control_of_a_home_tab_has_an_id_of_its_own():
    plain = set(ACTIONS)

    assert all(home_action_id(decision) not in plain for decision in ACTIONS.values())


def test_look_alike_letters_are_warned_of_above_the_buttons():
    found = drawn(waiting=[card_view(arguments={"service": "аpi", "region": "eu"})])

    assert 'Contains a look-alike letter in "service"' in words(found)


@pytest.mark.parametrize("length", [2_000, 9_000])
def test_what_cannot_be_shown_in_full_cannot_be_agreed_to(length):
    long = card_view(arguments={"service": "a" * length, "region": "eu"})
    found = drawn(waiting=[long, OPEN])

    assert f"{home.TOO_LONG}, in #ops." in words(found)
    assert "a" * 100 not in words(found)
    first, second = [
        [e["action_id"] for e in block["elements"]]
        for block in found.blocks
        if block["type"] == "actions"
    ]
    assert not {home_action_id(decision) for decision in POSITIVE} & set(first)
    assert home_action_id("deny") in first
    assert home_action_id("approve") in second
    assert faults(found) == []


def test_ten_of_a_list_are_shown_and_the_rest_counted():
    waiting, asked = [OPEN] * 23, [listed(OPEN)] * 10
    found = drawn(waiting=waiting, asked=asked, asked_count=12)

    assert "Waiting for you · 23" in words(found)
    assert "The first 10; 13 more are not shown. /approvals lists more." in words(found)
    assert "You asked · 12" in words(found)
    assert "The first 10; 2 more are not shown. /runs lists more." in words(found)
    assert labels(found).count("Approve") == 10
    assert labels(found).count("Cancel run") == 10


def test_ten_long_ones_stay_below_slacks_limits():
    long = card_view(arguments={"service": "a" * 1_900, "region": "eu"})
    found = drawn(
        waiting=[long] * 10, asked=[listed(OPEN)] * 10, decided=[*EVERY.values()][7:12]
    )

    assert labels(found).count("Approve") == 5
    assert words(found).count(home.TOO_LONG) == 5
    assert len(found.blocks) <= 100
    assert faults(found) == []


def test_doubt_is_no_empty_list():
    assert home.UNSURE in words(drawn(unsure=True))
    assert home.NOTHING not in words(drawn(unsure=True))
    assert home.UNSURE in words(drawn(unsure=True, waiting=[OPEN]))


def test_own_runs_can_be_cancelled_while_that_is_of_use():
    found = drawn(asked=[listed(OPEN), listed(EVERY["cancelled too late"])])

    assert buttons(found) == [
        ("Cancel run", "cs_home_cancel", "run-ref-0123456789abcd.cancel")
    ]
    assert "You asked · 2" in words(found)


@pytest.mark.parametrize("name", sorted(set(EVERY) - {"open", "asked by a tool"}))
def test_what_was_decided_says_how_and_what_became_of_it(name):
    found = drawn(decided=[EVERY[name]])

    assert "Decided lately" in words(found)
    assert "CS-318" in words(found)
    assert labels(found) == []
    assert faults(found) == []


def test_decided_lately_reads_like_the_card():
    assert (
        "Restart api in eu  Approved by Ben <14:25>. Done <14:25>, 41 s. · CS-318"
        in (words(drawn(decided=[EVERY["done"]])))
    )


def test_what_a_person_did_last_is_answered_on_top():
    said = message("You approved CS-318.")

    assert lines(drawn(said=said))[0] == "You approved CS-318."
    failed = home.failed(said, "")
    assert view_problems(failed) == []
    assert lines(Message(text="", blocks=failed["blocks"])) == [
        "You approved CS-318.",
        "This page could not be drawn just now. Open it again in a minute.",
        FOOT,
    ]


def test_hostile_words_are_literal():
    asking = replace(OPEN.run, requester_name="<!here> *x*\u202e", words="<@U1>\n")
    hostile = replace(asked_by_tool(prompt="<!channel> *Approve*"), run=asking)
    theirs = Listed(run=asking, calls=[])
    found = drawn(waiting=[hostile], asked=[theirs])

    assert "<!channel> *Approve*" in words(found)
    assert "⟨U+202E⟩" in words(found)
    assert not any(o["type"] == "mrkdwn" for o in objects(found.blocks))
    assert faults(found) == []


def test_the_runs_that_are_in_it_are_known():
    other = replace(OPEN, run=replace(OPEN.run, id="other"))

    assert page(waiting=[OPEN], decided=[other]).runs == {OPEN.run.id, "other"}
    assert page(asked=[listed(OPEN)]).runs == {OPEN.run.id}


def test_own_runs_are_called_by_what_they_are_about():
    assert "CS-318 Restart api in eu · waiting for people · started <14:22>" in (
        lines(drawn(asked=[listed(OPEN)]))
    )


# -- whose its controls are -----------------------------------------------------------

REF = "r" * 22


def test_a_control_works_for_the_person_it_was_drawn_for_alone():
    token = home_signer(KEYS, "U0ADA")(REF, "approve")

    found = home_control(KEYS, "cs_home_approve", token, "U0ADA")
    assert (found.ref, found.decision) == (REF, "approve")
    assert home_control(KEYS, "cs_home_approve", token, "U0BEN") is None
    assert home_control(KEYS, "cs_home_deny", token, "U0ADA") is None
    forged = f"{token[:-2]}{'B' if token[-2] == 'A' else 'A'}{token[-1]}"
    assert home_control(KEYS, "cs_home_approve", forged, "U0ADA") is None
    other = ring(read(generate()), "controls")
    assert home_control(other, "cs_home_approve", token, "U0ADA") is None


def test_a_control_of_a_card_is_none_of_a_tab_and_the_other_way_round():
    token = home_signer(KEYS, "U0ADA")(REF, "approve")

    assert control(KEYS, "cs_approve", token) is None
    assert control(KEYS, "cs_home_approve", token) is None
    assert home_control(KEYS, "cs_approve", token, "U0ADA") is None


@pytest.mark.parametrize("value", [None, 1, "", "x.y", f"{REF}.", [REF]])
def test_what_is_no_token_of_ours_is_nothing(value):
    assert home_control(KEYS, "cs_home_approve", value, "U0ADA") is None
    assert home_control(KEYS, value, f"{REF}.{REF}", "U0ADA") is None
