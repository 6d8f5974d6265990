from dataclasses import replace

from reading import buttons, faults, labels, references, words
from views import ASK, ENTER, EVERY, asked_by_tool, posted, signed, ungated_view

from bot.core.events import Returned
from bot.core.policy import Who
from bot.slack.render import lists


def listed(*views):
    """What `/runs` shows of these runs."""
    return [
        lists.Listed(run=replace(v.run, ended_at=ended(v)), calls=v.calls)
        for v in views
    ]


def ended(view):
    return view.calls[0].ended_at


def test_runs_are_listed_with_their_state():
    names = ("open", "running", "done", "unknown")
    drawn = lists.runs(listed(*(EVERY[name] for name in names), ungated_view()), signed)

    lines = [line for line in words(drawn).split("\n") if line.startswith("CS-318")]
    assert lines == [
        "CS-318 Restart api in eu · waiting for people · started <14:22>",
        "CS-318 Restart api in eu · running · started <14:22>",
        "CS-318 Restart api in eu · done <14:25>",
        "CS-318 Restart api in eu · outcome unknown · started <14:22>",
        "CS-318 status · starting · started <14:22>",
    ]
    assert faults(drawn) == []


def test_only_unfinished_runs_can_be_cancelled():
    views = [EVERY[name] for name in ("done", "open", "cancelled too late")]

    assert buttons(lists.runs(listed(*views), signed)) == [
        ("Cancel run", "cs_cancel", "run-ref-0123456789abcd.cancel")
    ]


def test_many_runs_are_counted_and_taken_by_slack():
    drawn = lists.runs(listed(*[EVERY["open"]] * 45), signed)

    assert words(drawn).startswith(
        "Your runs · 45\nThe first 20; 25 more are not shown."
    )
    assert len(labels(drawn)) == 20
    assert faults(drawn) == []


def test_typed_words_in_the_list_are_cleaned():
    row = replace(EVERY["open"].run, words="<!channel>\u202e\n" * 40)
    drawn = lists.runs([lists.Listed(run=row, calls=[])], signed)

    assert "⟨U+202E⟩" in words(drawn)
    assert faults(drawn) == []


def test_what_waits_is_listed():
    drawn = lists.approvals(
        [
            posted(EVERY["open"], "C0OPS"),
            posted(EVERY["open"], "U0CLEO", "U0BEN"),
            posted(asked_by_tool(), "C0ELSE"),
            asked_by_tool(),
        ],
        "U0BEN",
    )

    assert words(drawn).split("\n") == [
        "Waiting for you · 4",
        "Restart api in eu  Ada · until <14:52> · in #ops · CS-318",
        "Restart api in eu  Ada · until <14:52> · in your direct messages · CS-318",
        "countdown  Ada · until <14:52> · in <C0ELSE> · CS-318",
        "countdown  Ada · until <14:52> · CS-318",
    ]
    assert references(drawn) == set()
    assert faults(drawn) == []


def test_many_waiting_requests_are_counted():
    drawn = lists.approvals([EVERY["open"]] * 70, "U0BEN")

    assert "The first 20; 50 more are not shown." in words(drawn)
    assert faults(drawn) == []


def test_empty_lists_say_so():
    assert lists.approvals([], "U0BEN").text == "Nothing waits for you."
    assert lists.runs([], signed).text.startswith("You have no runs yet.")


def test_one_number_shows_its_state_without_controls_or_mentions():
    ran = ungated_view((ENTER, Returned(ordinal=1, execution=1, output="x")))
    for view in [*EVERY.values(), ungated_view(), ran]:
        drawn = lists.detail(view)

        assert labels(drawn) == []
        assert "details:" not in words(drawn)
        assert references(drawn) == set()
        assert faults(drawn) == []
    assert 'region  = "eu"' in words(lists.detail(EVERY["open"]))


def test_a_number_that_they_may_not_see_reveals_nothing():
    assert lists.nothing_under("CS-318").text == (
        "There is nothing under CS-318 that you may see."
    )
    assert faults(lists.nothing_under("<!here>" * 20)) == []
    assert faults(lists.nothing_under("")) == []


def test_a_card_in_the_bots_own_messages_is_said_to_be_there():
    view = asked_by_tool()
    view = replace(view, run=replace(view.run, channel="D0ADA"))

    drawn = lists.approvals([posted(view, "D0ADA")], "U0ADA")
    other = lists.approvals([posted(view, "D0ADA")], "U0BEN")

    assert "in your direct messages" in words(drawn)
    assert "direct" not in words(other)


def test_people_named_by_id_are_named_in_the_detail():
    rule = replace(ASK, approvers=(Who(user="U0BEN", handle="Ben"),))
    view = EVERY["open"]
    view = replace(view, request=replace(view.request, rule=rule))

    assert "Needs Ben." in words(lists.detail(view))
