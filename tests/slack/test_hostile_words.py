"""Whatever anybody writes anywhere, it is shown literally and does nothing (T31)."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import boxes, faults, first_line, ours, references, words
from views import (
    APPROVED,
    ASK,
    AT,
    CANCEL,
    ENTER,
    LOST,
    NO,
    STARTED,
    YES,
    card_view,
    signed,
    vote_row,
)

from bot.core.events import Cancelled, Returned, Suspended
from bot.core.policy import Who
from bot.slack import limits
from bot.slack.render import lists, news, notices, request, run, starting

ATTACKS = [
    "<!channel>",
    "<!here>",
    "<@U0CEO>",
    "<!subteam^S0ALL>",
    "<https://evil.example|https://bank.example>",
    "<!date^0^{date}^https://evil.example|x>",
    "```\nout of the fence",
    ":white_check_mark: *Approved by @cfo*",
    "[ Approve ]",
    "> CS-318 · approved",
    "&lt;!channel&gt;",
    "\u202eevorppa",
    "a" + "\n" * 500 + "b",
    "Approved by Cleo 14:05.",
    "",
    " ",
    "\x00\ud83d",
]
WORDS = st.sampled_from(ATTACKS) | st.text(
    st.characters(exclude_categories=()), max_size=40
)
CANONICAL = st.sampled_from(ATTACKS[:-1]) | st.text(
    st.characters(exclude_categories=("Cs",)), max_size=40
)
SHORT = [a for a in ATTACKS if a.strip() and "\n\n" not in a]
VALUES = st.recursive(
    CANONICAL | st.integers() | st.booleans() | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(CANONICAL, inner, max_size=3)
    ),
    max_leaves=5,
)
STATES = {
    "open": ((), {}),
    "starting": ((YES,), APPROVED),
    "done": ((YES, ENTER, Returned(ordinal=1, execution=1, output="x")), APPROVED),
    "failed": (
        (YES, ENTER, Returned(ordinal=1, execution=1, output="x", is_error=True)),
        APPROVED,
    ),
    "unknown": ((YES, ENTER, LOST), APPROVED),
    "denied": ((NO,), {"status": "denied", "decided_at": AT, "decided_by": "U0BEN"}),
    "cancelled": ((Cancelled(),), {"status": "cancelled", "decided_at": AT}),
}


@st.composite
def views(draw, gate=None):
    """A view whose every untrusted text is hostile."""
    gated = draw(st.booleans()) if gate is None else gate
    events, settled = STATES[draw(st.sampled_from(sorted(STATES)))]
    if not gated:
        asked = Suspended(ordinal=1, execution=1, prompt=draw(WORDS), question="q")
        again = tuple(
            replace(e, execution=2) if isinstance(e, Returned) else e for e in events
        )
        lost = tuple(replace(e, execution=2) if e is LOST else e for e in again)
        events = (ENTER, asked, *lost)
    name = draw(WORDS)
    rule = replace(
        ASK,
        gate="ask" if gated else "allow",
        headline=draw(st.sampled_from(["", ASK.headline, "{a} {b}"])),
        approvers=(*ASK.approvers, Who(user="U0EVE", handle=draw(WORDS))),
    )
    started = {} if gated and not events else STARTED
    return card_view(
        events,
        rule=rule,
        tool=draw(CANONICAL),
        arguments=draw(st.dictionaries(CANONICAL, VALUES, max_size=4)),
        call={
            **started,
            "output": draw(WORDS),
            "ended_at": AT,
            "acting": draw(st.sampled_from(["bot", "requester U0ADA"])),
        },
        run={"requester_name": name, "words": draw(WORDS), **CANCEL}
        | {"cancelled_name": name},
        request={
            **settled,
            "gate": gated,
            "kind": draw(st.sampled_from(["approval", "wait"]) | CANONICAL),
            "prompt": draw(WORDS),
            "url": draw(st.none() | WORDS),
            "data": draw(st.none() | st.dictionaries(CANONICAL, VALUES, max_size=3)),
            "decided_name": name,
            "reason": draw(WORDS),
        },
        votes=(vote_row(name=name, decision="approve"),),
    )


def messages(view):
    """Everything that can be drawn of a view, with the references it may hold."""
    people = {"U0ADA", "U0BEN"}
    may_be_asked = (
        {"S0SRE", "U0EVE", "U0ADA"} if view.request.status == "open" else set()
    )
    yield request.card(view, signed, direct=False), may_be_asked
    yield request.card(view, signed, direct=True), set()
    yield request.minimal(view, signed, direct=False), set()
    yield run.card(view, signed), set()
    yield lists.detail(view), set()
    yield lists.runs([lists.Listed(run=view.run, calls=view.calls)], signed), set()
    yield lists.approvals([view], "U0BEN"), set()
    for card in ("run", "request"):
        yield news.undeliverable(view, "C0OPS", card=card, code="is_archived"), set()
        yield news.undeliverable(view, "C0X", card=card, code="x"), set()
        yield news.stuck(view, card=card), set()
    for tell in (news.decided, news.ended, news.decided_and_ended, news.unknown):
        yield tell(view), people
    yield starting.started(view), {"S0SRE", "U0EVE", "U0ADA"}
    for code in notices.REFUSALS:
        for decision in ("approve", "cancel"):
            said = notices.refusal(code, view=view, user="U0BEN", decision=decision)
            yield said, {"S0SRE", "U0EVE", "U0ADA"}
    yield notices.receipt(view, "approve"), set()


@settings(max_examples=60, deadline=None)
@given(views())
def test_no_text_becomes_markup_a_mention_or_a_fault(view):
    if request.fits(view) is not None:
        return
    for drawn, allowed in messages(view):
        assert faults(drawn) == []
        assert references(drawn) <= allowed
        assert len(drawn.text) <= limits.SECTION_TEXT * 5


@settings(max_examples=60, deadline=None)
@given(views(gate=True))
def test_notifications_are_short_and_ours(view):
    for drawn, _ in messages(view):
        if drawn.text.endswith("CS-318"):
            assert len(drawn.text) <= limits.NOTIFICATION
    number = request.card(view, signed, direct=False).text
    assert number.endswith("CS-318")


@pytest.mark.parametrize(
    "attack", [a for a in ATTACKS if a.strip() and "\n\n" not in a]
)
def test_an_attack_is_visible_literally_in_its_box(attack):
    view = card_view(
        request={"gate": False, "kind": "odd", "prompt": attack, "data": {"x": attack}}
    )
    drawn = request.card(view, signed, direct=False)
    seen = attack.replace("\u202e", "⟨U+202E⟩").replace("\x00", "⟨U+0000⟩")

    assert boxes(drawn)[0] == seen.replace("\ud83d", "⟨U+D83D⟩")
    assert attack not in ours(drawn)


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_argument_is_never_in_the_first_line_or_the_notification(attack):
    if "\ud83d" in attack or not attack.strip():
        return
    view = card_view(arguments={"service": attack, "region": "eu"})
    drawn = request.card(view, signed, direct=False)

    assert first_line(drawn) == "Restart (service: see card) in eu?"
    assert attack not in drawn.text


def test_two_calls_never_look_the_same():
    twins = [
        {"a": "1"},
        {"a": 1},
        {"a": 1.0},
        {"a": "1 "},
        {"a": ["1"]},
        {"a": '1"\nb = "2'},
        {"a": "1", "b": "2"},
        {'a = "1"\nb': "2"},
        {"\u0430": "1"},
        {"a": "1\u200b"},
        {"a": "1⟨U+200B⟩"},
        {"a": True},
        {"a": "é"},
        {"a": "e\u0301"},
    ]

    seen = {
        boxes(request.card(card_view(arguments=a), signed, direct=False))[0]
        for a in twins
    }
    assert len(seen) == len(twins)


def test_a_name_cannot_pass_for_our_words():
    name = "Ben\n14:05. It did not run."
    view = card_view(
        (YES,), request={**APPROVED, "decided_name": name}, votes=(vote_row(name=name),)
    )

    assert "Ben⟨newline⟩14:05." in words(request.card(view, signed, direct=False))


def test_a_group_handle_is_cleaned_like_a_name():
    rule = replace(ASK, approvers=(Who(group="S0SRE", handle="@ops\u202e" * 40),))
    drawn = request.card(card_view(rule=rule), signed, direct=True)

    assert "\u202e" not in words(drawn)
    assert faults(drawn) == []
