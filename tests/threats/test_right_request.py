"""T18 to T21: one click, one decision, on the request that it was made for.

SQLite serves one process (threat model §0.2), so the races here are between concurrent
tasks of one process: signed requests at the bot's own door, all under way at once.
"""

import asyncio
import json
import os
from urllib.parse import urlencode

import pytest
from harness import ADA, BEN, CLEO, GENERAL, OPS, Bench, click_payload, controls
from harness import text_in as words_in
from invariants import assert_invariants

from bot.engine.parts import new_ref

GROUP = "S0APPROVERS"
DIRECT = "D0BEN"
CANNOT = "This card cannot be answered. /approvals shows what waits for you."


async def asked(bench, words="restart service=api"):
    await bench.tool(words)
    return await bench.card()


async def votes(bench):
    return await bench.rows("SELECT user, decision FROM votes ORDER BY at")


def edits(bench, card):
    return [c for c in bench.calls("chat.update") if c["ts"] == card["ts"]]


# -- T18: double click ----------------------------------------------------------------


async def test_ten_times_the_same_click_is_one_yes(bench):
    card = await asked(bench)
    body = click_payload(bench.slack, BEN, card, "cs_approve", {})
    raw = urlencode({"payload": json.dumps(body)}).encode()
    now = bench.clock.seconds()

    answers = await asyncio.gather(*(bench.send(raw, at=now - n) for n in range(10)))
    await bench.quiet()

    assert [a.status_code for a in answers] == [200] * 10
    assert await votes(bench) == [(BEN, "approve")]
    assert len(bench.ran("restart")) == 1
    assert await bench.refusals() == ["duplicate_vote"] * 9
    drawn = [words_in(edit) for edit in edits(bench, card)]
    assert "Done" in drawn[-1]
    assert len([words for words in drawn if "Done" in words]) == 1
    assert await bench.rows("SELECT count(*) FROM audit WHERE action='approved'") == [
        (1,)
    ]


async def test_a_second_click_is_told_that_the_first_one_counts(bench):
    card = await asked(bench)
    await bench.press(BEN, card, "approve")
    await bench.quiet()

    await bench.forge(BEN, card, "approve")

    assert "Your yes was counted at" in await latest(bench, BEN)
    assert len(bench.ran("restart")) == 1


async def latest(bench, user):
    """The newest private words to somebody, in the channel or directly."""
    return (await bench.whispers(user))[-1]


# -- T19: approve and deny at once ----------------------------------------------------


async def race(bench, card, number):
    """Ben approves while Ada denies; who is first changes from round to round."""
    forged = [bench.forge(BEN, card, "approve"), bench.forge(ADA, card, "deny")]
    if number % 2:
        forged.reverse()
    answers = await asyncio.gather(*forged)
    assert [a.status_code for a in answers] == [200, 200]


async def race_often(bench, rounds):
    """Many requests are open; each is answered by two people at once."""
    for _ in range(rounds):
        await bench.tool("restart service=api")
    await bench.quiet(patience=rounds)
    cards = await bench.cards()
    for number, card in enumerate(cards):
        await race(bench, card, number)
    await bench.quiet(patience=rounds)
    statuses = await bench.statuses()
    assert len(statuses) == rounds
    assert set(statuses) == {"approved", "denied"}
    assert len(bench.ran("restart")) == statuses.count("approved")
    assert await bench.refusals() == ["already_answered"] * rounds
    assert len(await votes(bench)) == rounds
    await check_cards(bench, statuses)


async def check_cards(bench, statuses):
    """Each card shows what is stored, and each loser is told the truth."""
    told = await bench.whispers(ADA) + await bench.whispers(BEN)
    for number, (card, status) in enumerate(
        zip(await bench.cards(), statuses, strict=True), 1
    ):
        assert controls(card) == []
        words = words_in(card)
        loser = f"{'Ben' if status == 'approved' else 'Ada'} {status} CS-{number} at "
        (lost,) = [one for one in told if one.startswith(loser)]
        assert lost.endswith("Your click changed nothing.")
        if status == "approved":
            assert "Approved by Ben" in words
        else:
            assert "Denied by Ada" in words
            assert "It did not run." in words


async def test_approve_and_deny_at_once_have_one_winner(bench):
    await race_often(bench, 50)


@pytest.mark.soak
@pytest.mark.skipif(
    not os.environ.get("COUNTERSIGN_SOAK"), reason="large counts: make soak"
)
@pytest.mark.parametrize("again", range(20))
async def test_a_thousand_races_have_a_thousand_winners(bench, again):
    await race_often(bench, 1000)


async def test_many_approvers_at_once_are_one_decision(bench):
    bench.slack.set_group_members(GROUP, BEN, CLEO)
    card = await asked(bench)

    await asyncio.gather(
        *(bench.forge(user, card, "approve") for user in (BEN, CLEO) for _ in range(3))
    )
    await bench.quiet()

    assert len(await votes(bench)) == 1
    assert len(bench.ran("restart")) == 1
    assert len(await bench.refusals()) == 5


# -- T20: stale buttons ---------------------------------------------------------------


async def approve(bench, card):
    await bench.press(BEN, card, "approve")


async def deny(bench, card):
    await bench.press(BEN, card, "deny")


async def expire(bench, card):
    await bench.pass_time(30 * 60 + 1)


async def cancel(bench, card):
    await bench.type("/runs")
    state = await bench.slack.state()
    await bench.press(ADA, state["ephemeral"][ADA][-1], "cancel")


async def void(bench, card):
    """The tool's rule is taken away, and the next click finds out."""
    text = (bench.folder / "policy.toml").read_text()
    bench.policy(text.replace('name = "restart"', 'name = "other"'))
    await bench.restart()
    await bench.press(BEN, card, "approve")


async def lose_the_edit(bench, card):
    """In Slack the card looks as it did when it was open."""
    await bench.quiet()
    kept = bench.slack.workspace.messages[card["channel"]][card["ts"]]
    bench.slack.workspace.edit(kept, {"blocks": card["blocks"]}, mark=False)
    bench.clock.advance(60)


STALE = [
    (approve, "already_answered", "Ben approved CS-1 at 08:00 UTC and it ran."),
    (deny, "already_answered", "Ben denied CS-1 at 08:00 UTC. It did not run."),
    (expire, "expired", "CS-1 expired at 08:30 UTC and did not run. Ada can ask"),
    (cancel, "cancelled", "Ada cancelled CS-1 at 08:00 UTC. It did not run."),
    (void, "void_changed", "CS-1 is no longer valid: "),
]


@pytest.mark.parametrize("action", ["approve", "deny"])
@pytest.mark.parametrize(("close", "code", "told"), STALE)
async def test_a_stale_card_is_refused_and_repaired(bench, close, code, told, action):
    bench.slack.set_group_members(GROUP, BEN, CLEO)
    card = await asked(bench)
    await close(bench, card)
    await lose_the_edit(bench, card)
    before = await bench.statuses(), await votes(bench), bench.ran()
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]

    await bench.press(CLEO, card, action)

    assert (await latest(bench, CLEO)).startswith(told)
    assert (await bench.refusals())[-1] == code
    assert (await bench.statuses(), await votes(bench), bench.ran()) == before
    assert controls(await bench.card()) == []


async def mark_done(bench, card):
    await bench.press(ADA, card, "done")


async def decline(bench, card):
    await bench.press(ADA, card, "decline")


async def expire_the_default(bench, card):
    await bench.pass_time(24 * 3600 + 1)


STALE_OTHER = [
    (mark_done, "already_answered", "Ada answered CS-1 at 08:00 UTC"),
    (decline, "already_answered", "Ada declined CS-1 at 08:00 UTC"),
    (expire_the_default, "expired", "CS-1 expired at"),
    (cancel, "cancelled", "Ada cancelled CS-1 at 08:00 UTC. It did not go on."),
]


@pytest.mark.parametrize("action", ["done", "decline"])
@pytest.mark.parametrize(("close", "code", "told"), STALE_OTHER)
async def test_a_stale_card_of_another_kind(bench, close, code, told, action):
    card = await asked(bench, "countdown")
    await close(bench, card)
    await lose_the_edit(bench, card)
    before = await bench.statuses(), await votes(bench), bench.ran()
    same = close.__name__.endswith(action)

    await bench.press(ADA, card, action)

    if same:  # the very same answer of the same person
        assert (await bench.refusals())[-1] == "duplicate_vote"
    else:
        assert (await latest(bench, ADA)).startswith(told)
        assert (await bench.refusals())[-1] == code
    assert (await bench.statuses(), await votes(bench), bench.ran()) == before
    assert controls(await shown(bench, card)) == []


async def shown(bench, card):
    await bench.quiet()
    return next(c for c in await bench.cards(card["channel"]) if c["ts"] == card["ts"])


async def test_a_card_whose_last_edit_got_stuck_is_repaired_by_a_click(bench):
    bench.slack.set_group_members(GROUP, BEN, CLEO)
    card = await asked(bench)
    bench.slack.fault("chat.update", "error:edit_window_closed")
    await bench.press(BEN, card, "approve")
    assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]
    bench.slack.fault("chat.update", "")
    bench.clock.advance(60)

    await bench.press(CLEO, card, "approve")

    assert (await bench.refusals())[-1] == "already_answered"
    assert controls(await shown(bench, card)) == []
    assert len(bench.ran("restart")) == 1


@pytest.mark.parametrize("action", ["approve", "deny"])
async def test_a_card_of_a_run_that_is_gone_becomes_neutral(bench, action):
    card = await asked(bench)
    sign = bench.bot.services.sign
    gone = bench.slack.workspace.post(
        OPS,
        bench.slack.bot_user_id,
        "Approve? Restart api in eu. Ada asks. CS-77",
        blocks=json.loads(json.dumps(card["blocks"])),
    )
    ref = new_ref()
    for block in gone["blocks"]:
        for element in block.get("elements", []) if block["type"] == "actions" else []:
            decision = element["action_id"].removeprefix("cs_")
            element["value"] = sign(ref, decision)
    old = {"channel": OPS, "ts": gone["ts"], "blocks": gone["blocks"]}

    await bench.press(BEN, old, action)

    assert await latest(bench, BEN) == CANNOT
    assert await bench.refusals() == ["unknown_request"]
    assert controls(await shown(bench, old)) == []
    assert "This copy of a card cannot be answered." in words_in(
        await shown(bench, old)
    )
    assert controls(await shown(bench, card)) == ["Approve", "Deny", "Deny, say why"]
    assert await bench.statuses() == ["open"]


# -- T21: tampered values, guessed ids ------------------------------------------------


def token(card, action):
    return next(
        element["value"]
        for block in card["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
        if element["action_id"] == f"cs_{action}"
    )


def flipped(value, at):
    """A token with one bit of one of its characters' six changed."""
    digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return value[:at] + digits[digits.index(value[at]) ^ 1] + value[at + 1 :]


TAMPERED = {
    "the approve token with the deny action": lambda good: ("deny", good),
    "an action that we never made": lambda good: ("buy", good),
    "the first bit of the ref": lambda good: ("approve", flipped(good, 0)),
    "a bit of the ref": lambda good: ("approve", flipped(good, 9)),
    "the first bit of the mac": lambda good: ("approve", flipped(good, 23)),
    "a bit of the mac": lambda good: ("approve", flipped(good, 40)),
    "no token": lambda good: ("approve", ""),
    "a token of 10,000": lambda good: ("approve", "A" * 10_000),
    "10,000 after the token": lambda good: ("approve", good + "A" * 10_000),
    "a good ref without a mac": lambda good: ("approve", good.split(".")[0]),
    "a good ref with an empty mac": lambda good: ("approve", good.split(".")[0] + "."),
    "SQL": lambda good: ("approve", "' OR 1=1; DROP TABLE requests; --"),
    "SQL in the ref": lambda good: ("approve", f"%{good[1:22]}.{good[23:]}"),
    "JSON": lambda good: ("approve", '{"ref": "' + good + '", "\\u0000": [1]}'),
    "a number": lambda good: ("approve", "1"),
    "Request.id": lambda good: ("approve", "R1"),
    "a NUL": lambda good: ("approve", good[:-1] + "\x00"),
    "a line feed after it": lambda good: ("approve", good + "\n"),
    "another script's digits": lambda good: ("approve", good[:-1] + "１"),
}


async def test_a_tampered_control_is_an_unknown_request(bench, caplog):
    card = await asked(bench)
    good = token(card, "approve")
    tampered = [change(good) for change in TAMPERED.values()]

    for action, value in tampered:
        answer = await bench.forge(
            BEN, card, "approve", action_id=f"cs_{action}", value=value
        )
        assert answer.status_code == 200
    await bench.quiet()

    assert await bench.refusals() == ["unknown_request"] * len(tampered)
    assert await votes(bench) == []
    assert await bench.statuses() == ["open"]
    assert bench.ran() == []
    assert not [r for r in caplog.records if r.exc_info]
    # The real card is as it was, and its own control still counts.
    await bench.press(BEN, await shown(bench, card), "approve")
    await bench.quiet()
    assert len(bench.ran("restart")) == 1


async def test_what_cannot_be_answered_is_told_in_the_same_words(bench):
    card = await asked(bench)
    other = await asked(bench)
    await bench.forge(BEN, card, "approve", value="")
    await bench.forge(BEN, card, "approve", value=token(other, "approve"))
    path = bench.slack.workspace.new_return_path(OPS, BEN, ts=card["ts"])
    back = f"{bench.slack.url}/response/{path}"
    await bench.forge(BEN, card, "approve", team="T0OTHER", response_url=back)

    assert await bench.whispers(BEN) == [CANNOT] * 3
    assert (await bench.refusals())[:2] == ["unknown_request", "wrong_message"]
    assert await votes(bench) == []


async def test_two_tools_that_choose_one_id_have_two_requests(bench):
    await bench.tool("asks kind=approval")
    await bench.tool("asks kind=approval")
    await bench.quiet()
    first, second = await bench.cards(DIRECT)  # the rule names no channel
    assert await bench.rows("SELECT tool_id FROM requests") == [("R1",), ("R1",)]
    assert token(first, "approve") != token(second, "approve")

    await bench.press(BEN, first, "approve")
    await bench.quiet()

    assert await bench.statuses() == ["approved", "open"]
    assert controls(await shown(bench, first)) == []
    assert controls(await shown(bench, second)) == ["Approve", "Deny", "Deny, say why"]
    assert len(bench.ran("asks")) == 1


async def test_two_requests_of_another_kind_with_one_id(bench):
    first = await asked(bench, "asks kind=wish")
    second = await asked(bench, "asks kind=wish")

    await bench.press(ADA, second, "decline")
    await bench.press(ADA, first, "done")
    await bench.quiet()

    assert await bench.statuses() == ["answered", "declined"]
    assert len(bench.ran("asks")) == 1


async def test_the_token_of_a_request_is_no_token_of_its_run(bench):
    """A ref names one row; its mac is bound to one decision about it."""
    await bench.tool("restart service=api", channel=GENERAL)
    run_card = await bench.card(GENERAL)
    request_card = await bench.card(OPS)

    for card, action, value in (
        (run_card, "cancel", token(request_card, "approve")),
        (run_card, "cancel", token(request_card, "deny")),
        (request_card, "approve", token(run_card, "cancel")),
    ):
        await bench.forge(BEN, card, action, value=value)
    await bench.quiet()

    assert await bench.refusals() == ["unknown_request"] * 3
    assert await bench.statuses() == ["open"]


async def test_a_control_made_with_another_key_is_unknown(folder):
    async with Bench(folder) as bench:
        card = await asked(bench)
        other = bench.bot.services.controls.newest
        assert other.secret.hex() not in token(card, "approve")
        forged = token(card, "approve").split(".")[0] + "." + "A" * 22

        await bench.forge(BEN, card, "approve", value=forged)
        await bench.quiet()

        assert await bench.refusals() == ["unknown_request"]
        await assert_invariants(bench)
