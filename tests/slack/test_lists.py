from dataclasses import replace

from reading import buttons, faults, labels, references, words
from views import EVERY, signed, ungated_view

from bot.slack.render import lists


def test_runs_are_listed_with_their_state():
    rows = [
        EVERY[name].run for name in ("open", "running", "done", "unknown", "denied")
    ]
    drawn = lists.runs(rows, signed)

    states = [line for line in words(drawn).split("\n") if line.startswith("CS-318")]
    assert [line.split("  ")[2].split(",")[0] for line in states] == [
        "waiting for people",
        "running",
        "done",
        "outcome unknown",
        "denied",
    ]
    assert faults(drawn) == []


def test_only_unfinished_runs_can_be_cancelled():
    rows = [EVERY[name].run for name in ("done", "open", "cancelled too late")]

    assert buttons(lists.runs(rows, signed)) == [
        ("Cancel run", "cs_cancel", "run-ref-0123456789abcd.cancel")
    ]


def test_many_runs_are_counted_and_taken_by_slack():
    drawn = lists.runs([EVERY["open"].run] * 45, signed)

    assert words(drawn).startswith(
        "Your runs · 45\nThe first 20; 25 more are not shown."
    )
    assert len(labels(drawn)) == 20
    assert faults(drawn) == []


def test_typed_words_in_the_list_are_cleaned():
    row = replace(EVERY["open"].run, words="<!channel>\u202e\n" * 40)
    drawn = lists.runs([row], signed)

    assert "⟨U+202E⟩" in words(drawn)
    assert faults(drawn) == []


def test_what_waits_is_listed():
    drawn = lists.approvals([EVERY["open"], EVERY["asked by a tool"]])

    assert words(drawn).split("\n") == [
        "Waiting for you · 2",
        "Restart api in eu  Ada · until <14:52> · #ops · CS-318",
        "countdown  Ada · until <14:52> · CS-318",
    ]
    assert references(drawn) == set()
    assert faults(drawn) == []


def test_many_waiting_requests_are_counted():
    drawn = lists.approvals([EVERY["open"]] * 70)

    assert "The first 20; 50 more are not shown." in words(drawn)
    assert faults(drawn) == []


def test_empty_lists_say_so():
    assert lists.approvals([]).text == "Nothing waits for you."
    assert lists.runs([], signed).text.startswith("You have no runs yet.")


def test_one_number_shows_its_state_without_controls_or_mentions():
    for view in [*EVERY.values(), ungated_view()]:
        drawn = lists.detail(view)

        assert labels(drawn) == []
        assert references(drawn) == set()
        assert faults(drawn) == []
    assert 'region  = "eu"' in words(lists.detail(EVERY["open"]))


def test_a_number_that_they_may_not_see_reveals_nothing():
    assert lists.nothing_under("CS-318").text == (
        "There is nothing under CS-318 that you may see."
    )
    assert faults(lists.nothing_under("<!here>" * 20)) == []
    assert faults(lists.nothing_under("")) == []
