from dataclasses import replace
from typing import Any

from bot.playground.notify import mentions, told
from bot.playground.seed import BOT_USER, DEFAULT, Channel

GROUPS = {one.id: one for one in DEFAULT.usergroups}
OPS = next(one for one in DEFAULT.channels if one.id == "C0OPS")
DM = Channel(id="D0ADA", name="directmessage", members=("U0ADA", BOT_USER), is_im=True)


def message(text: str = "", *blocks: dict[str, Any], user: str = BOT_USER) -> Any:
    return {"user": user, "text": text, "blocks": list(blocks)}


def rich(*elements: dict[str, Any]) -> dict[str, Any]:
    part = {"type": "rich_text_section", "elements": list(elements)}
    return {"type": "rich_text", "elements": [part]}


def who(new: Any, *thread: Any, channel: Channel = OPS) -> dict[str, str]:
    people = told(new, channel, thread, GROUPS)
    return {one: why for one, why in people.items() if one != BOT_USER}


def test_message_that_mentions_nobody_tells_nobody() -> None:
    assert who(message("Restart the api")) == {}


def test_direct_message_tells_its_person() -> None:
    assert who(message("hello"), channel=DM) == {"U0ADA": "direct"}


def test_own_message_tells_its_author_nothing() -> None:
    assert who(message("hi <@U0ADA> <@U0BEN>", user="U0ADA")) == {"U0BEN": "mentioned"}
    assert who(message("hi", user="U0ADA"), channel=DM) == {}


def test_mention_in_rich_text_tells_the_named() -> None:
    block = rich({"type": "user", "user_id": "U0CLEO"})

    assert who(message("words", block)) == {"U0CLEO": "mentioned"}


def test_mention_in_mrkdwn_tells_the_named() -> None:
    block = {"type": "section", "text": {"type": "mrkdwn", "text": "ask <@U0BEN|ben>"}}

    assert who(message("words", block)) == {"U0BEN": "mentioned"}


def test_mention_in_plain_text_tells_nobody() -> None:
    block = {"type": "section", "text": {"type": "plain_text", "text": "ask <@U0BEN>"}}

    assert who(message("&lt;@U0BEN&gt;", block)) == {}


def test_group_mention_reaches_its_members_only() -> None:
    block = rich({"type": "usergroup", "usergroup_id": "S0APPROVERS"})

    assert who(message("words", block)) == {"U0BEN": "mentioned"}
    assert who(message("<!subteam^S0APPROVERS|@approvers>")) == {"U0BEN": "mentioned"}


def test_disabled_group_reaches_nobody() -> None:
    groups = {"S0APPROVERS": replace(GROUPS["S0APPROVERS"], disabled=True)}

    assert told(message("<!subteam^S0APPROVERS>"), OPS, (), groups) == {}


def test_broadcast_reaches_every_member() -> None:
    everyone = dict.fromkeys(("U0ADA", "U0BEN", "U0CLEO"), "mentioned")

    assert who(message("<!here>")) == everyone
    assert (
        who(message("x", rich({"type": "broadcast", "range": "channel"}))) == everyone
    )


def test_person_outside_the_channel_is_not_told() -> None:
    small = replace(OPS, members=("U0ADA", BOT_USER))

    assert who(message("<@U0BEN> <!subteam^S0APPROVERS>"), channel=small) == {}


def test_reply_reaches_those_who_wrote_in_the_thread() -> None:
    thread = [message("root", user="U0ADA"), message("reply", user="U0CLEO")]

    assert who(message("news"), *thread) == {"U0ADA": "thread", "U0CLEO": "thread"}


def test_reply_reaches_those_mentioned_in_the_thread() -> None:
    root = message("x", rich({"type": "usergroup", "usergroup_id": "S0APPROVERS"}))

    assert who(message("news"), root) == {"U0BEN": "thread"}


def test_broadcast_makes_no_follower() -> None:
    assert who(message("news"), message("<!channel>")) == {}


def test_mention_outranks_following() -> None:
    thread = [message("root", user="U0ADA")]

    assert who(message("<@U0ADA> done"), *thread) == {"U0ADA": "mentioned"}


def test_mentions_are_found_by_id() -> None:
    found = mentions("<@W0GRID> @ben <@U0ADA>", [])

    assert found.users == {"W0GRID", "U0ADA"}
    assert not found.everybody
