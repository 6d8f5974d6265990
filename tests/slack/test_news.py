from dataclasses import replace

import pytest
from reading import faults, quotes, references, words
from views import (
    ASK,
    EVERY,
    NO,
    asked_by_tool,
    card_view,
    failed,
    settled,
    ungated_view,
)

from bot.core.policy import Who
from bot.slack import limits
from bot.slack.render import news

TOLD = [
    (news.decided, "starting", "Ben approved: Restart api in eu. Starting. CS-318"),
    (news.decided, "denied", "Ben denied: Restart api in eu. It did not run. CS-318"),
    (news.decided, "done", "Ben approved: Restart api in eu. CS-318"),
    (news.decided, "expired", "Expired, did not run: Restart api in eu. CS-318"),
    (news.ended, "done", "Done in 41 s: Restart api in eu. CS-318"),
    (news.ended, "failed", "Failed: Restart api in eu. CS-318"),
    (news.ended, "expired", "Expired, did not run: Restart api in eu. CS-318"),
    (news.ended, "cancelled", "Cancelled, did not run: Restart api in eu. CS-318"),
    (news.ended, "void", "No longer valid, did not run: Restart api in eu. CS-318"),
    (news.ended, "said to have run", "Cleo says it ran: Restart api in eu. CS-318"),
    (
        news.decided_and_ended,
        "done",
        "Ben approved. Done in 41 s: Restart api in eu. CS-318",
    ),
    (
        news.decided_and_ended,
        "failed",
        "Ben approved. Failed: Restart api in eu. CS-318",
    ),
    (
        news.decided_and_ended,
        "denied",
        "Ben denied: Restart api in eu. It did not run. CS-318",
    ),
    (
        news.unknown,
        "unknown",
        "Outcome unknown: Restart api in eu. It may or may not have run. CS-318",
    ),
]


@pytest.mark.parametrize(("tell", "name", "said"), TOLD)
def test_news_say_what_happened(tell, name, said):
    drawn = tell(EVERY[name])

    assert drawn.text == said
    assert words(drawn).endswith(said)
    assert faults(drawn) == []


def test_whoever_asked_is_told_and_nobody_else():
    for tell, name in [
        (news.decided, "starting"),
        (news.decided, "denied"),
        (news.decided, "failed"),
        (news.ended, "done"),
        (news.ended, "expired"),
        (news.ended, "cancelled"),
        (news.ended, "void"),
        (news.decided_and_ended, "done"),
    ]:
        assert references(tell(EVERY[name])) == {"U0ADA"}, name


def test_of_failures_and_unknown_outcomes_the_approver_is_told_too():
    for tell, name in [
        (news.ended, "failed"),
        (news.decided_and_ended, "failed"),
        (news.unknown, "unknown"),
    ]:
        assert references(tell(EVERY[name])) == {"U0ADA", "U0BEN"}, name


@pytest.mark.parametrize("tell", [news.decided, news.ended, news.decided_and_ended])
@pytest.mark.parametrize("name", EVERY)
def test_news_can_be_told_of_every_state(tell, name):
    drawn = tell(EVERY[name])

    assert faults(drawn) == []
    assert len(drawn.text) <= limits.NOTIFICATION
    assert "did not" not in drawn.text or name not in ("done", "failed", "unknown")


def test_no_result_and_no_words_of_a_tool_are_in_the_news():
    said = words(news.ended(failed("Approved. Nothing to do")))

    assert "Nothing to do" not in said


def test_a_prompt_is_in_no_notification():
    view = asked_by_tool(prompt="Approved. Nothing to do")

    for tell in (news.decided, news.ended, news.unknown, news.stuck):
        assert "Nothing" not in tell(view).text


def test_a_reason_goes_with_the_refusal():
    view = settled("denied", NO, request={"reason": "After the backup."})

    assert quotes(news.decided(view)) == ["After the backup."]
    assert "backup" not in news.decided(view).text


def test_news_of_an_ungated_run_need_no_request():
    assert news.ended(ungated_view()).text.endswith(": status. CS-318")
    assert references(news.ended(ungated_view())) == {"U0ADA"}


def undeliverable(view, where, card="request", code="not_in_channel"):
    return news.undeliverable(view, where, card=card, code=code)


def test_a_card_that_went_elsewhere_is_told():
    drawn = undeliverable(EVERY["open"], "C0OPS")

    assert drawn.text == (
        "The card for CS-318 could not go to #ops, so it went to @sre-oncall directly."
        " To fix it: /invite @Countersign in #ops"
    )
    assert references(drawn) == set()
    assert faults(drawn) == []


def test_a_long_notice_keeps_its_notification_short():
    rule = replace(
        ASK, post_to_name="#" + "o" * 50, approvers=(Who(group="S0", handle="s" * 50),)
    )
    drawn = undeliverable(card_view(rule=rule), "C0OPS")

    assert len(drawn.text) <= limits.NOTIFICATION
    assert "To fix it: /invite" in words(drawn)


def test_a_channel_known_by_id_alone_is_drawn_by_slack():
    rule = replace(ASK, post_to="C0SECRET", post_to_name="")
    drawn = undeliverable(card_view(rule=rule), "C0SECRET")

    assert words(drawn) == (
        "The card for CS-318 could not go to <C0SECRET>, so it went to @sre-oncall"
        " directly. To fix it: /invite @Countersign in <C0SECRET>"
    )
    assert drawn.text == "The card for CS-318 could not go to C0SECRET."
    assert faults(drawn) == []


def test_a_run_card_that_went_elsewhere_is_told_apart():
    view = EVERY["open"]
    view = replace(view, run=replace(view.run, channel="C0ELSE"))
    drawn = undeliverable(view, "C0ELSE", card="run")

    assert words(drawn) == (
        "The card of run CS-318 could not go to <C0ELSE>, so it went to you directly."
        " To fix it: /invite @Countersign in <C0ELSE>"
    )
    assert "could not go to the channel you asked in" in drawn.text


def test_an_archived_channel_takes_no_invitation():
    drawn = undeliverable(EVERY["open"], "C0OPS", code="is_archived")

    assert drawn.text == (
        "#ops is archived, so the card for CS-318 went to @sre-oncall directly."
    )


def test_a_channel_that_takes_no_posts_of_ours_takes_no_invitation_either():
    drawn = undeliverable(EVERY["open"], "C0OPS", code="restricted_action")

    assert "Slack does not let Countersign post there." in words(drawn)
    assert "/invite" not in words(drawn)


def test_a_card_that_went_to_people_named_by_id_names_them():
    people = tuple(Who(user=f"U0{n}", handle=n) for n in ("ADA", "Ben", "Cleo"))
    drawn = undeliverable(card_view(rule=replace(ASK, approvers=people)), "C0OPS")

    assert "so it went to Ben and Cleo directly." in words(drawn)


def test_a_run_card_that_nobody_gets_is_told_apart():
    said = words(news.stuck(EVERY["open"], card="run"))

    assert said.startswith("The card of run CS-318 could not be shown to anybody")


def test_a_card_that_nobody_gets_is_told():
    drawn = news.stuck(EVERY["open"])

    assert "could not be shown to anybody: Restart api in eu." in drawn.text
    assert "It has not run. /runs can cancel it." in words(drawn)


def test_a_long_headline_keeps_the_number():
    rule = type(ASK)(name="x", gate="ask", approvers=ASK.approvers, headline="Do " * 60)
    drawn = news.decided(card_view(rule=rule))

    assert len(drawn.text) <= limits.NOTIFICATION
    assert drawn.text.endswith("CS-318")
    assert "more characters)" in drawn.text


def test_who_got_a_card_of_a_channel_of_approvers_are_its_members():
    rule = replace(ASK, approvers=(Who(channel="C0X", handle="#crew"),))
    drawn = undeliverable(card_view(rule=rule), "C0OPS", code="is_archived")

    assert words(drawn).endswith(" went to the members of #crew directly.")
    assert references(drawn) == set()
