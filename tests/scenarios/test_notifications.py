"""Who is told what, once, and nobody else: the phones of three people (experience §2).

Ada asks, Ben may agree, Cleo is in the channel and concerned by nothing. What each of
them was told is compared in full, so a notification too many fails as well.
"""

import asyncio
import re
import threading

import probe_tools
import pytest
from harness import ADA, BEN, CLEO, GENERAL, OPS, Bench
from invariants import assert_invariants

GROUP = "S0APPROVERS"
ASKED = "Approve? Restart api in eu. Ada asks. CS-1"
ASKED_PAY = "Approve? Pay 5. Ada asks. CS-1"

RULE = """
[[tool]]
name = "pay"
gate = "ask"
headline = "Pay {amount}"
"""


async def phones(bench):
    """Everything that anybody was told, durations left out."""
    await bench.quiet()
    return {
        user: [re.sub(r"in \d.*? s:", "in … s:", t) for t in await bench.phone(user)]
        for user in (ADA, BEN, CLEO)
    }


async def asked(bench, words="restart service=api", **where):
    await bench.tool(words, **where)
    return await bench.card(OPS)


async def mentioned(bench, channel=OPS):
    """Everybody whom the newest card refers to, people and groups."""
    card = await bench.card(channel)
    return [
        element.get("user_id") or element.get("usergroup_id")
        for block in card["blocks"]
        if block["type"] == "rich_text"
        for part in block["elements"]
        for element in part["elements"]
        if element["type"] in ("user", "usergroup")
    ]


# -- asked ----------------------------------------------------------------------------


async def test_asked_in_a_channel_the_group_is_told(bench):
    await asked(bench)

    assert await phones(bench) == {ADA: [], BEN: [ASKED], CLEO: []}
    assert await mentioned(bench) == [GROUP]


async def test_asked_in_a_channel_people_named_by_id_are_told(folder):
    policy = f'{RULE}approvers = ["{BEN}"]\npost_to = "#ops"\n'
    async with Bench(folder, policy=policy) as bench:
        await asked(bench, "pay amount=5")

        assert await phones(bench) == {ADA: [], BEN: [ASKED_PAY], CLEO: []}
        assert await mentioned(bench) == [BEN]
        await assert_invariants(bench)


async def test_up_to_five_people_are_mentioned(folder):
    many = ", ".join(f'"{user}"' for user in (BEN, "U01", "U02", "U03", "U04", CLEO))
    policy = f'{RULE}approvers = [{many}]\npost_to = "#ops"\n'
    async with Bench(folder, policy=policy) as bench:
        await asked(bench, "pay amount=5")

        assert await mentioned(bench) == [BEN, "U01", "U02", "U03", "U04"]
        assert await phones(bench) == {ADA: [], BEN: [ASKED_PAY], CLEO: []}
        await assert_invariants(bench)


async def test_asked_directly_each_is_told_by_a_message_of_their_own(folder):
    policy = f'{RULE}approvers = ["{BEN}", "{CLEO}"]\n'
    async with Bench(folder, policy=policy) as bench:
        await bench.tool("pay amount=5", channel=GENERAL)

        told = await phones(bench)

        assert told == {ADA: [], BEN: [ASKED_PAY], CLEO: [ASKED_PAY]}
        state = await bench.slack.state()
        assert [n["why"] for n in state["notifications"][BEN]] == ["direct"]
        assert await mentioned(bench, "D0BEN") == []
        await assert_invariants(bench)


async def test_the_requester_who_must_answer_is_told(bench):
    await asked(bench, "countdown")

    assert await phones(bench) == {
        ADA: ["countdown asks something of Ada. CS-1"],
        BEN: [],
        CLEO: [],
    }


# -- decided, done --------------------------------------------------------------------


async def test_decided_and_done_at_once_is_one_reply(bench):
    await bench.press(BEN, await asked(bench), "approve")

    assert await phones(bench) == {
        ADA: ["Ben approved. Done in … s: Restart api in eu. CS-1"],
        BEN: [ASKED],
        CLEO: [],
    }


async def test_the_card_is_settled_before_its_news_are_posted(bench):
    """While the card still mentions the group, a reply would tell all of it."""
    card = await asked(bench)

    await bench.press(BEN, card, "approve")
    await bench.quiet()

    kinds = [
        (e["kind"], e["request"]["args"].get("thread_ts"))
        for e in bench.slack.log()
        if e["kind"] in ("api:chat.update", "api:chat.postMessage")
    ]
    reply = kinds.index(("api:chat.postMessage", card["ts"]))
    assert ("api:chat.update", None) in kinds[:reply]
    assert await bench.phone(BEN) == [ASKED]


async def test_a_busy_channel_does_not_turn_that_order_round(bench):
    for _ in range(6):
        await bench.tool("pay amount=5")
    card = await bench.card()

    await bench.press(BEN, card, "deny")

    told = await phones(bench)
    assert told[BEN] == [f"Approve? Pay 5. Ada asks. CS-{n + 1}" for n in range(6)]
    assert told[ADA] == ["Ben denied: Pay 5. It did not run. CS-6"]


async def test_a_slow_call_is_decided_first_and_done_later(bench, monkeypatch):
    gate = threading.Event()
    monkeypatch.setitem(probe_tools.GATES, "pay", gate)
    await bench.press(BEN, await asked(bench, "pay amount=5"), "approve")
    while not bench.ran("pay"):  # noqa: ASYNC110  # the tool writes to a file
        await asyncio.sleep(0.005)
    bench.clock.advance(10)
    assert (await bench.slack.wait_for("notified:U0ADA:contains:Starting", 5))["ok"]
    bench.clock.advance(31)
    gate.set()

    assert await phones(bench) == {
        ADA: ["Ben approved: Pay 5. Starting. CS-1", "Done in … s: Pay 5. CS-1"],
        BEN: [ASKED_PAY],
        CLEO: [],
    }
    assert "Done in 41 s: Pay 5. CS-1" in await bench.phone(ADA)


@pytest.mark.parametrize(
    ("action", "user", "told"),
    [
        ("deny", BEN, "Ben denied: Restart api in eu. It did not run. CS-1"),
        ("deny", ADA, "Ada denied: Restart api in eu. It did not run. CS-1"),
    ],
)
async def test_denied(bench, action, user, told):
    await bench.press(user, await asked(bench), action)

    assert await phones(bench) == {ADA: [told], BEN: [ASKED], CLEO: []}


async def test_failed_tells_who_asked_and_who_approved(bench):
    await bench.press(BEN, await asked(bench, "fails why=disk"), "approve")

    failed = "Ben approved. Failed: fails. CS-1"
    assert await phones(bench) == {
        ADA: [failed],
        BEN: ["Approve? fails. Ada asks. CS-1", failed],
        CLEO: [],
    }


async def test_other_approvers_hear_nothing_of_a_failure(bench):
    bench.slack.set_group_members(GROUP, BEN, CLEO)
    await bench.press(BEN, await asked(bench, "fails why=disk"), "approve")

    failed = "Ben approved. Failed: fails. CS-1"
    assert await phones(bench) == {
        ADA: [failed],
        BEN: ["Approve? fails. Ada asks. CS-1", failed],
        CLEO: ["Approve? fails. Ada asks. CS-1"],
    }


async def test_outcome_unknown_tells_both(bench, monkeypatch):
    gate = threading.Event()
    monkeypatch.setitem(probe_tools.GATES, "pay", gate)
    await bench.press(BEN, await asked(bench, "pay amount=5"), "approve")
    while not bench.ran("pay"):  # noqa: ASYNC110  # the tool writes to a file
        await asyncio.sleep(0.005)
    await bench.pull_plug()
    gate.set()
    await bench.start()

    unknown = "Outcome unknown: Pay 5. It may or may not have run. CS-1"
    assert await phones(bench) == {ADA: [unknown], BEN: [ASKED_PAY, unknown], CLEO: []}

    await bench.press(BEN, await bench.card(), "ran")
    assert (await phones(bench))[ADA][1:] == ["Ben says it ran: Pay 5. CS-1"]
    assert (await phones(bench))[CLEO] == []


# -- not decided ----------------------------------------------------------------------


async def test_expired(bench):
    await asked(bench)
    await bench.pass_time(30 * 60 + 1)

    assert await phones(bench) == {
        ADA: ["Expired, did not run: Restart api in eu. CS-1"],
        BEN: [ASKED],
        CLEO: [],
    }


@pytest.mark.parametrize("user", [ADA, BEN])
async def test_cancelled(bench, user):
    await asked(bench, channel=GENERAL)
    await bench.press(user, await bench.card(GENERAL), "cancel")

    assert await phones(bench) == {
        ADA: ["Cancelled, did not run: Restart api in eu. CS-1"],
        BEN: [ASKED],
        CLEO: [],
    }


async def test_void(bench):
    card = await asked(bench)
    text = (bench.folder / "policy.toml").read_text()
    bench.policy(text.replace('name = "restart"', 'name = "other"'))
    await bench.restart()
    await bench.press(BEN, card, "approve")

    assert await phones(bench) == {
        ADA: ["No longer valid, did not run: Restart api in eu. CS-1"],
        BEN: [ASKED],
        CLEO: [],
    }


async def test_another_kind_answered_declined_and_expired(bench):
    told = "countdown asks something of Ada. CS-{}"
    await bench.press(ADA, await asked(bench, "countdown"), "done")
    await bench.quiet()
    await bench.press(ADA, await asked(bench, "countdown"), "decline")
    await bench.quiet()
    await asked(bench, "countdown")
    await bench.pass_time(24 * 3600 + 1)

    assert await phones(bench) == {
        ADA: [
            told.format(1),
            "Ada answered. Done in … s: countdown. CS-1",
            told.format(2),
            "Ada declined: countdown. It did not go on. CS-2",
            told.format(3),
            "Expired, did not go on: countdown. CS-3",
        ],
        BEN: [],
        CLEO: [],
    }


async def test_an_ungated_call_tells_who_asked(bench):
    await bench.tool("status service=api")

    assert await phones(bench) == {
        ADA: ["Done in … s: status. CS-1"],
        BEN: [],
        CLEO: [],
    }


# -- nobody else, and nothing twice ---------------------------------------------------


async def test_the_requester_outside_the_channel_is_told_directly(bench):
    bench.slack.kick(OPS, ADA)
    await bench.press(BEN, await asked(bench, channel=GENERAL), "approve")

    assert await phones(bench) == {
        ADA: ["Ben approved. Done in … s: Restart api in eu. CS-1"],
        BEN: [ASKED],
        CLEO: [],
    }
    state = await bench.slack.state()
    assert [n["why"] for n in state["notifications"][ADA]] == ["direct"]


async def test_edits_and_private_words_tell_nobody(bench):
    card = await asked(bench)
    for user, action in ((ADA, "approve"), (CLEO, "approve"), (CLEO, "deny")):
        await bench.press(user, card, action)
    await bench.restart()
    await bench.quiet()

    assert await phones(bench) == {ADA: [], BEN: [ASKED], CLEO: []}


async def test_a_settled_card_and_its_thread_name_people_without_telling_them(bench):
    await bench.press(BEN, await asked(bench), "approve")
    await bench.quiet()

    assert await mentioned(bench) == []
    await bench.forge(CLEO, await card_with_buttons(bench), "approve")
    assert (await phones(bench))[CLEO] == []


async def card_with_buttons(bench):
    """The settled card as a client with a lost edit still shows it."""
    (first,) = [
        c
        for c in bench.calls("chat.postMessage")
        if c["channel"] == OPS and "thread_ts" not in c
    ]
    return {**await bench.card(), "blocks": numbered(first["blocks"])}


def numbered(blocks):
    return [{"block_id": f"b{n}", **block} for n, block in enumerate(blocks)]


async def test_nothing_is_told_again_after_a_restart(bench):
    await bench.press(BEN, await asked(bench), "approve")
    before = await phones(bench)

    await bench.restart()
    await bench.pass_time(60)

    assert await phones(bench) == before
