from dataclasses import replace

import pytest
from views import EVERY, card_view, request_row, run_row, run_state

from bot.core.events import Started
from bot.core.keys import generate, read, ring
from bot.core.machine import begin
from bot.core.run import DURABLE
from bot.playground.blockkit import view_problems
from bot.slack import limits
from bot.slack.ids import Form, action_id, control, form, form_id, form_token, signer
from bot.slack.render.forms import deny_why
from bot.slack.render.notices import (
    NOT_THEIRS,
    REFUSALS,
    not_opened,
    plain,
    refusal,
    too_long,
)

REF, OTHER = "r" * 22, "o" * 22
KEYS = ring(read(generate()), "controls")


def drawn(view=EVERY["open"]):
    return deny_why(view, form_id(REF, "deny_why"), "a token")


def of_a_model(view):
    state, _ = begin(DURABLE, Started())
    return replace(view, run=replace(view.run, state=state))


# -- the form -------------------------------------------------------------------------


def test_the_form_reads_as_designed():
    view = drawn()

    assert [view[part]["text"] for part in ("title", "submit", "close")] == [
        *("Deny CS-318", "Deny", "Back")
    ]
    (block,) = view["blocks"]
    assert block["label"]["text"] == "Why? Ada will read this."
    assert block["optional"] is True
    assert block["element"]["multiline"] is True
    assert block["element"]["max_length"] == 3_000


def test_the_form_of_a_run_of_the_model_says_that_the_model_reads_it():
    (block,) = drawn(of_a_model(EVERY["open"]))["blocks"]

    assert block["label"]["text"] == "Why? Ada and the model will read this."


def test_the_longest_number_fits_the_title():
    run = run_row(run_state("restart", "{}", True, ()), number=999_999_999)
    view = replace(card_view(), run=run, request=request_row(number=9_999))

    assert drawn(view)["title"]["text"] == "Deny CS-999999999.9999"
    assert len(drawn(view)["title"]["text"]) <= limits.LABEL


@pytest.mark.parametrize("name", [n for n, view in EVERY.items() if view.request])
def test_the_form_is_taken_by_slack(name):
    assert view_problems(drawn(EVERY[name])) == []
    assert view_problems(drawn(of_a_model(EVERY[name]))) == []


def test_a_name_cannot_break_the_label():
    run = replace(card_view().run, requester_name="A\n*da*\u202e <!here>" + "x" * 200)
    (block,) = drawn(replace(card_view(), run=run))["blocks"]
    label = block["label"]

    assert (label["type"], label["emoji"]) == ("plain_text", False)
    assert "\n" not in label["text"]
    assert "\u202e" not in label["text"]
    assert len(label["text"]) <= 80


# -- what stands in it when it was not taken ------------------------------------------


@pytest.mark.parametrize("code", sorted(REFUSALS))
@pytest.mark.parametrize("name", EVERY)
def test_every_refusal_can_stand_in_a_form(code, name):
    said = plain(code, view=EVERY[name], user="U0BEN", decision="deny")

    assert said
    assert "U0" not in said
    assert "S0" not in said
    assert len(said) <= 300


def test_a_refusal_says_the_same_in_a_form_as_on_a_card():
    for code in ("already_answered", "wrong_message", "busy"):
        view = EVERY["denied"]
        on_card = refusal(code, view=view, user="U0BEN", decision="deny")
        assert plain(code, view=view, user="U0BEN", decision="deny") == on_card.text


def test_names_in_a_form_are_not_escaped():
    run = replace(card_view().run, requester_name="<Ada & co>")
    view = replace(EVERY["expired"], run=run)

    assert "<Ada & co> can ask again." in plain("expired", view=view, decision="deny")


def test_what_only_a_form_says():
    assert not_opened(EVERY["open"]).text == (
        "The form for CS-318 did not open in time, so nothing changed."
        " Press the button again."
    )
    assert too_long(50_000, 3_000) == (
        "This is 50,000 characters long; the limit is 3,000. Nothing changed."
    )
    assert "CS-" not in NOT_THEIRS


# -- its token ------------------------------------------------------------------------


def test_a_form_reads_back_for_whom_it_was_drawn():
    token = form_token(KEYS, REF, "deny_why", "U0BEN")

    assert form(KEYS, form_id(REF, "deny_why"), token, "U0BEN") == Form(
        ref=REF, decision="deny", agrees=True, theirs=True
    )


@pytest.mark.parametrize(
    ("about", "user", "agrees", "theirs"),
    [
        (REF, "U0CLEO", True, False),
        (OTHER, "U0BEN", False, True),
        (OTHER, "U0CLEO", False, False),
        ("", "U0BEN", False, True),
    ],
)
def test_a_form_tells_what_does_not_fit(about, user, agrees, theirs):
    token = form_token(KEYS, REF, "deny_why", "U0BEN")
    found = form(KEYS, form_id(about, "deny_why"), token, user)

    assert (found.agrees, found.theirs) == (agrees, theirs)


def test_the_token_of_a_button_is_not_that_of_a_form():
    sign = signer(KEYS)
    name = form_id(REF, "deny_why")

    assert not form(KEYS, name, sign(REF, "deny_why"), "U0BEN").theirs
    assert not form(KEYS, name, sign(REF, "deny"), "U0BEN").theirs
    token = form_token(KEYS, REF, "deny_why", "U0BEN")
    assert control(KEYS, action_id("deny_why"), token) is None
    assert control(KEYS, action_id("deny"), token) is None


@pytest.mark.parametrize(
    ("callback", "token"),
    [
        ("", ""),
        ("cs_deny_why", ""),
        (f"cs_deny.{REF}", form_token(KEYS, REF, "deny_why", "U0BEN")),
        (f"cs_approve.{REF}", form_token(KEYS, REF, "deny_why", "U0BEN")),
        (f"cs_deny_why.{REF}", REF),
        (f"cs_deny_why.{REF}", f"{REF}."),
        (f"cs_deny_why.{REF}", form_token(KEYS, REF, "deny_why", "U0BEN") + "\n"),
        (f"cs_deny_why.{REF}", f'{{"ref": "{REF}"}}'),
    ],
)
def test_what_is_no_form_of_ours_reads_as_none(callback, token):
    assert form(KEYS, callback, token, "U0BEN") is None


def test_a_form_drawn_under_an_older_key_still_counts():
    new, old = generate(), generate()
    token = form_token(ring(read(old), "controls"), REF, "deny_why", "U0BEN")
    both = ring(read(f"{new} {old}"), "controls")
    name = form_id(REF, "deny_why")

    assert form(both, name, token, "U0BEN").theirs
    assert not form(ring(read(new), "controls"), name, token, "U0BEN").theirs
