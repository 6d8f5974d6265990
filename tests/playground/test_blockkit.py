from typing import Any

import pytest
from block_edges import EDGES, mrkdwn, rich, said
from pretend_app import actions, button, field, modal, section, text

from bot.playground.blockkit import (
    TEXT_SUM_MAX,
    message_problems,
    stored,
    text_sum,
    view_problems,
)

Json = dict[str, Any]


@pytest.mark.parametrize(
    ("good", "bad"), [e[1:] for e in EDGES], ids=[e[0] for e in EDGES]
)
def test_rule_holds_on_both_sides_of_its_edge(good: Json, bad: Json) -> None:
    assert message_problems([good]) == []
    assert message_problems([bad]) != []


def test_fifty_blocks_pass_and_fifty_one_do_not() -> None:
    assert message_problems([{"type": "divider"}] * 50) == []
    assert message_problems([{"type": "divider"}] * 51) == [
        "[ERROR] no more than 50 items allowed [json-pointer:/blocks]"
    ]


def test_problem_names_place_and_limit() -> None:
    blocks = [section(), section(), actions(button(text=text("x" * 76)))]

    assert message_problems(blocks) == [
        "[ERROR] must be less than 76 characters "
        "[json-pointer:/blocks/2/elements/0/text/text]"
    ]


def test_block_id_is_unique_in_a_payload() -> None:
    twice = [section() | {"block_id": "b"}, section() | {"block_id": "b"}]

    assert message_problems(twice) == [
        "[ERROR] block_id already exists: b [json-pointer:/blocks/1]"
    ]


def test_same_action_id_may_stand_in_two_blocks() -> None:
    both = [actions(button("a")), actions(button("a"), block_id="other")]

    assert message_problems(both) == []


def test_only_one_element_takes_the_focus() -> None:
    one = field({"type": "plain_text_input", "focus_on_load": True}, "f0")
    two = field({"type": "plain_text_input", "focus_on_load": True}, "f1")

    assert message_problems([one]) == []
    assert message_problems([one, two]) != []


@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ({"title": text("x" * 24)}, {"title": text("x" * 25)}),
        ({"submit": text("x" * 24)}, {"submit": text("x" * 25)}),
        ({"close": text("x" * 24)}, {"close": text("x" * 25)}),
        ({"callback_id": "x" * 255}, {"callback_id": "x" * 256}),
        ({"private_metadata": "x" * 3000}, {"private_metadata": "x" * 3001}),
        ({"external_id": "x" * 255}, {"external_id": "x" * 256}),
        ({"blocks": [section()] * 100}, {"blocks": [section()] * 101}),
        ({"notify_on_close": True}, {"notify_on_close": 1}),
        ({"clear_on_close": True}, {"clear_on_open": True}),
    ],
)
def test_modal_rule_holds_on_both_sides_of_its_edge(good: Json, bad: Json) -> None:
    assert view_problems(modal() | good) == []
    assert view_problems(modal() | bad) != []


def test_modal_with_an_input_needs_a_submit_button() -> None:
    view = modal(field({"type": "plain_text_input"}))
    without = {name: part for name, part in view.items() if name != "submit"}

    assert view_problems(view) == []
    assert view_problems(without) != []


def test_home_view_has_no_title() -> None:
    home = {"type": "home", "blocks": [section()]}

    assert view_problems(home) == []
    assert view_problems(home | {"title": text("x")}) != []


def test_anything_that_is_no_block_is_a_problem_not_a_crash() -> None:
    for odd in (None, 1, "x", [], [[]], {"type": []}, {"type": {}}, {}):
        assert message_problems([odd]) != []


def test_stored_blocks_carry_ids_and_defaults() -> None:
    bare = {"type": "button", "text": text("Go")}
    given = [{"type": "section", "text": mrkdwn("x"), "accessory": bare}]

    kept = stored(given)

    assert kept[0]["text"]["verbatim"] is False
    assert kept[0]["accessory"]["text"]["emoji"] is True
    assert kept[0]["block_id"]
    assert kept[0]["accessory"]["action_id"]
    assert "block_id" not in given[0]


def test_text_sum_counts_every_kind_of_text() -> None:
    blocks = [
        section("x" * 100),
        rich(said("😀" * 10)),
        actions(button(text=text("ok"))),
    ]

    assert text_sum(blocks) == 100 + 20 + 2
    assert TEXT_SUM_MAX == 13_200
