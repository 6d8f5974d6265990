from dataclasses import replace
from pathlib import Path

import pytest
from reading import buttons, faults, labels
from views import APPROVED, ENTER, NO, STARTED, YES, card_view, signed, vote_row

from bot.core.events import Suspended
from bot.core.keys import generate, read, ring
from bot.slack import kinds, limits
from bot.slack.ids import ACTIONS, FORMS, REQUEST_DECISIONS, control, signer
from bot.slack.kinds import KINDS, found, kind_named
from bot.slack.render import request as cards

NAMES = [name if name is not None else "never-heard-of" for name in KINDS]

QUESTION = Suspended(ordinal=1, execution=1, prompt="Ready?", question="q1")


def asked(name, *events, gate=False, **request):
    first = () if gate else (ENTER, QUESTION)
    changes = {"kind": name, "gate": gate, "prompt": "Ready?", **request}
    rule = replace(card_view().call.rule, gate="ask" if gate else "allow")
    return card_view(
        (*first, *events), rule=rule, request=changes, call={} if gate else STARTED
    )


@pytest.mark.parametrize("name", NAMES)
def test_its_card_is_taken_by_slack(name):
    for direct in (True, False):
        assert faults(cards.card(asked(name), signed, direct=direct)) == []


@pytest.mark.parametrize("name", NAMES)
def test_its_controls_lead_to_readable_decisions(name):
    keys = ring(read(generate()), "controls")
    view = asked(name, ref="A" * 22)
    drawn = cards.card(view, signer(keys), direct=False)

    read_back = [control(keys, action, value) for _, action, value in buttons(drawn)]
    assert [c.decision for c in read_back] == [
        choice.decision for choice in kind_named(name).choices
    ]
    assert {c.ref for c in read_back} == {"A" * 22}


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_agreed_to_and_refused(name):
    decisions = [choice.decision for choice in kind_named(name).choices]

    assert set(decisions) <= REQUEST_DECISIONS | set(FORMS)
    assert set(decisions) & {"approve", "done"}
    assert set(decisions) & {"deny", "decline"}


@pytest.mark.parametrize("name", NAMES)
def test_its_settled_cards_have_no_controls(name):
    yes = asked(name, YES, **APPROVED, reason="")
    yes = replace(yes, votes=[vote_row()])
    no = asked(name, NO, status="declined", decided_name="Ben", decided_at=1)

    for view in (yes, no):
        drawn = cards.card(view, signed, direct=False)
        assert labels(drawn) == []
        assert faults(drawn) == []


@pytest.mark.parametrize("name", NAMES)
def test_its_words_are_short_enough(name):
    kind = kind_named(name)
    face = kind.card(asked(name))

    assert all(len(choice.label) <= limits.LABEL for choice in kind.choices)
    assert len(face.text) <= limits.NOTIFICATION
    assert all(choice.decision in ACTIONS.values() for choice in kind.choices)


@pytest.mark.parametrize("name", ["Approval", "approval ", " approval", "", "approvаl"])
def test_any_other_name_gets_the_kind_for_all_others(name):
    assert kind_named(name) is KINDS[None]


def test_a_file_without_a_kind_is_an_error(tmp_path, monkeypatch):
    folder = tmp_path / "kinds_without_one"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "input.py").write_text("'''No KIND here.'''")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(TypeError, match=r"kinds_without_one\.input has no KIND"):
        found("kinds_without_one", [str(folder)])


def test_a_new_file_is_found_without_another_change(tmp_path, monkeypatch):
    folder = tmp_path / "more_kinds"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "other.py").write_text("from bot.slack.kinds.other import KIND")
    (folder / "sign.py").write_text(
        "from dataclasses import replace\n"
        "from bot.slack.kinds.other import KIND as OTHER\n"
        "KIND = replace(OTHER, name='sign')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert set(found("more_kinds", [str(folder)])) == {None, "sign"}


def test_one_name_in_two_files_is_an_error(tmp_path, monkeypatch):
    folder = tmp_path / "twice"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    for name in ("a", "b"):
        (folder / f"{name}.py").write_text("from bot.slack.kinds.other import KIND")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(TypeError, match="is there twice"):
        found("twice", [str(folder)])


def test_a_folder_needs_a_kind_for_all_others(tmp_path):
    with pytest.raises(TypeError, match="no kind for unknown names"):
        found("empty", [str(tmp_path)])


def test_every_file_of_the_folder_is_a_kind():
    files = {p.stem for p in Path(kinds.__file__).parent.glob("*.py")} - {"__init__"}

    assert files == {"other" if name is None else name for name in KINDS}
