from collections.abc import AsyncIterator
from typing import Any

import pytest
from pretend_app import (
    Clock,
    client,
    playground,
    refused,
    section,
)
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.server import Playground


@pytest.fixture
async def slack() -> AsyncIterator[Playground]:
    async with playground(clock=Clock()) as running:
        yield running


@pytest.fixture
def api(slack: Playground) -> AsyncWebClient:
    return client(slack)


def rich(words: str) -> dict[str, Any]:
    part = {"type": "rich_text_section", "elements": [{"type": "text", "text": words}]}
    return {"type": "rich_text", "elements": [part]}


async def test_update_with_text_alone_removes_the_blocks(
    slack: Playground, api: AsyncWebClient
) -> None:
    posted = await api.chat_postMessage(channel="C0OPS", text="a", blocks=[section()])

    await api.chat_update(channel="C0OPS", ts=posted["ts"], text="b")

    stored = slack.workspace.messages["C0OPS"][posted["ts"]]
    assert stored["text"] == "b"
    assert "blocks" not in stored
    assert stored["edited"]["user"] == "U0CSIGN"


async def test_update_with_blocks_alone_keeps_text_and_shows_no_mark(
    slack: Playground, api: AsyncWebClient
) -> None:
    posted = await api.chat_postMessage(channel="C0OPS", text="a", blocks=[section()])

    given = {"channel": "C0OPS", "ts": posted["ts"], "blocks": [section("new")]}
    await api.api_call("chat.update", json=given)

    stored = slack.workspace.messages["C0OPS"][posted["ts"]]
    assert stored["text"] == "a"
    assert stored["blocks"][0]["text"]["text"] == "new"
    assert "edited" not in stored


async def test_update_keeps_metadata_until_it_is_cleared(
    slack: Playground, api: AsyncWebClient
) -> None:
    metadata = {"event_type": "request", "event_payload": {"id": "r1"}}
    posted = await api.chat_postMessage(channel="C0OPS", text="a", metadata=metadata)
    stored = slack.workspace.messages["C0OPS"][posted["ts"]]

    await api.chat_update(channel="C0OPS", ts=posted["ts"], text="b")
    assert stored["metadata"] == metadata
    await api.chat_update(channel="C0OPS", ts=posted["ts"], text="c", metadata={})

    assert "metadata" not in stored


async def test_update_refuses_what_slack_refuses(
    slack: Playground, api: AsyncWebClient
) -> None:
    posted = await api.chat_postMessage(channel="C0OPS", text="a", blocks=[rich("x")])
    theirs = (await slack.message("U0ADA", "C0OPS", "mine"))["ts"]
    private = await api.chat_postEphemeral(channel="C0OPS", user="U0ADA", text="psst")

    async def update(ts: str, **arguments: Any) -> None:
        await api.api_call(
            "chat.update", json={"channel": "C0OPS", "ts": ts, **arguments}
        )

    with refused("message_not_found"):
        await update("1.2", text="b")
    with refused("message_not_found"):
        await update(private["message_ts"], text="b")
    with refused("cant_update_message"):
        await update(theirs, text="b")
    with refused("no_text"):
        await update(posted["ts"])
    with refused("msg_too_long"):
        await update(posted["ts"], text="x" * 4001)
    with refused("invalid_blocks"):
        await update(posted["ts"], text="b", blocks=[section("")])
    with refused("block_mismatch"):
        await update(posted["ts"], text="b", blocks=[section()])
    slack.archive("C0OPS")
    with refused("is_inactive"):
        await update(posted["ts"], text="b")


async def test_edit_notifies_nobody(slack: Playground, api: AsyncWebClient) -> None:
    posted = await api.chat_postMessage(channel="C0OPS", text="a")

    await api.chat_update(channel="C0OPS", ts=posted["ts"], text="<@U0BEN> look")

    assert slack.workspace.notifications == {}


async def test_bot_deletes_its_own_messages_only(
    slack: Playground, api: AsyncWebClient
) -> None:
    posted = await api.chat_postMessage(channel="C0OPS", text="a")
    theirs = (await slack.message("U0ADA", "C0OPS", "mine"))["ts"]

    await api.chat_delete(channel="C0OPS", ts=posted["ts"])

    with refused("message_not_found"):
        await api.chat_delete(channel="C0OPS", ts=posted["ts"])
    with refused("cant_delete_message"):
        await api.chat_delete(channel="C0OPS", ts=theirs)


async def test_permalink_leads_to_a_message(api: AsyncWebClient) -> None:
    posted = await api.chat_postMessage(channel="C0OPS", text="a")

    link = await api.chat_getPermalink(channel="C0OPS", message_ts=posted["ts"])

    assert link["permalink"].endswith("/archives/C0OPS/p1800000000000000")
    with refused("message_not_found"):
        await api.chat_getPermalink(channel="C0OPS", message_ts="1.2")
    with refused("channel_not_found"):
        await api.chat_getPermalink(channel="C0PRIVATE", message_ts="1.2")


async def test_ephemeral_message_reaches_one_person_in_the_channel(
    slack: Playground, api: AsyncWebClient
) -> None:
    await api.chat_postEphemeral(channel="C0OPS", user="U0ADA", text="psst <@U0ADA>")

    assert [one["text"] for one in slack.workspace.ephemerals["U0ADA"]] == [
        "psst <@U0ADA>"
    ]
    assert slack.workspace.messages["C0OPS"] == {}
    assert slack.workspace.notifications == {}
    slack.kick("C0OPS", "U0BEN")
    with refused("user_not_in_channel"):
        await api.chat_postEphemeral(channel="C0OPS", user="U0BEN", text="psst")
    with refused("no_text"):
        await api.api_call(
            "chat.postEphemeral", json={"channel": "C0OPS", "user": "U0ADA"}
        )


async def test_reactions_are_given_once(api: AsyncWebClient) -> None:
    posted = await api.chat_postMessage(channel="C0OPS", text="a")
    given = {"channel": "C0OPS", "name": "eyes", "timestamp": posted["ts"]}

    await api.reactions_add(**given)

    with refused("already_reacted"):
        await api.reactions_add(**given)
    await api.reactions_remove(**given)
    with refused("no_reaction"):
        await api.reactions_remove(**given)
    with refused("message_not_found"):
        await api.reactions_add(**(given | {"timestamp": "1.2"}))
