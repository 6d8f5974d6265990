from collections.abc import AsyncIterator
from typing import Any

import pytest
from pretend_app import (
    Clock,
    actions,
    button,
    client,
    manifest,
    playground,
    refused,
    section,
    text,
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


async def test_posted_message_is_stored_as_slack_stores_it(
    slack: Playground, api: AsyncWebClient
) -> None:
    answer = await api.chat_postMessage(
        channel="C0OPS", text="hi", blocks=[section(), actions(button())]
    )

    stored = slack.workspace.messages["C0OPS"][answer["ts"]]
    assert stored["user"] == "U0CSIGN"
    assert stored["app_id"] == "A0CSIGN"
    assert stored["blocks"][0]["text"]["emoji"] is True
    assert stored["blocks"][0]["block_id"]
    assert answer["message"]["blocks"] == stored["blocks"]


async def test_posting_to_a_person_opens_the_direct_channel(
    slack: Playground, api: AsyncWebClient
) -> None:
    answer = await api.chat_postMessage(channel="U0BEN", text="hello")

    assert answer["channel"] == "D0BEN"
    assert slack.workspace.notifications["U0BEN"][0]["why"] == "direct"


async def test_post_is_refused_where_it_cannot_go(
    slack: Playground, api: AsyncWebClient
) -> None:
    for unknown in ("C0NOWHERE", "C0PRIVATE", "general", "U0CSIGN"):
        with refused("channel_not_found"):
            await api.chat_postMessage(channel=unknown, text="hello")
    slack.kick("C0GENERAL")
    with refused("not_in_channel"):
        await api.chat_postMessage(channel="C0GENERAL", text="hello")
    slack.archive("C0OPS")
    with refused("is_archived"):
        await api.chat_postMessage(channel="C0OPS", text="hello")
    slack.deactivate("U0CLEO")
    with refused("channel_not_found"):
        await api.chat_postMessage(channel="U0CLEO", text="hello")


async def test_public_scope_lets_the_bot_post_uninvited() -> None:
    scopes = ["chat:write", "chat:write.public"]
    async with playground(manifest=manifest(scopes=scopes)) as slack:
        slack.kick("C0GENERAL")
        answer = await client(slack).chat_postMessage(channel="C0GENERAL", text="hi")
        with refused("not_in_channel"):
            await client(slack).chat_postEphemeral(
                channel="C0GENERAL", user="U0ADA", text="hi"
            )

    assert answer["ok"]


async def test_direct_messages_need_the_messages_tab() -> None:
    home = {"messages_tab_enabled": False}
    async with playground(manifest=manifest(app_home=home)) as slack:
        with refused("messages_tab_disabled"):
            await client(slack).chat_postMessage(channel="U0ADA", text="hello")


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({}, "no_text"),
        ({"text": "", "blocks": []}, "no_text"),
        ({"text": "x", "blocks": "{"}, "invalid_blocks_format"),
        ({"text": "x", "blocks": '{"type": "divider"}'}, "invalid_blocks_format"),
        ({"text": "x", "blocks": [section("")]}, "invalid_blocks"),
        ({"text": "x", "blocks": [section("x" * 2700)] * 5}, "msg_blocks_too_long"),
        ({"text": "x", "attachments": [{"text": "a"}] * 101}, "too_many_attachments"),
        ({"text": "x", "markdown_text": "y"}, "markdown_text_conflict"),
        ({"markdown_text": "y"}, "invalid_arguments"),
        ({"text": "x", "thread_ts": "1.2"}, "cannot_reply_to_message"),
        ({"text": "x", "metadata": "no"}, "invalid_metadata_format"),
        ({"text": "x", "metadata": {"event_type": "e"}}, "invalid_metadata_format"),
        (
            {"text": "x", "metadata": {"event_type": "a b", "event_payload": {}}},
            "invalid_metadata_schema",
        ),
        (
            {
                "text": "x",
                "metadata": {
                    "event_type": "e",
                    "event_payload": {"a": {"b": {"c": 1}}},
                },
            },
            "invalid_metadata_schema",
        ),
        (
            {
                "text": "x",
                "metadata": {"event_type": "e", "event_payload": {"a": "x" * 8000}},
            },
            "metadata_too_large",
        ),
    ],
)
async def test_post_refuses_what_slack_refuses(
    api: AsyncWebClient, arguments: dict[str, Any], code: str
) -> None:
    with refused(code):
        await api.api_call("chat.postMessage", json={"channel": "C0OPS", **arguments})


async def test_text_of_a_message_may_sum_up_to_the_limit(api: AsyncWebClient) -> None:
    at_limit = [section("x" * 2640)] * 5

    assert (await api.chat_postMessage(channel="C0OPS", text="x", blocks=at_limit))[
        "ok"
    ]
    with refused("msg_blocks_too_long"):
        await api.chat_postMessage(
            channel="C0OPS", text="x", blocks=[*at_limit, section("x")]
        )


async def test_refused_block_is_named_by_its_place(api: AsyncWebClient) -> None:
    long = actions(button(text=text("x" * 76)))
    with refused("invalid_blocks") as body:
        await api.chat_postMessage(channel="C0OPS", text="x", blocks=[section(), long])

    where = "[json-pointer:/blocks/1/elements/0/text/text]"
    assert body["errors"] == [f"must be less than 76 characters {where}"]
    assert body["response_metadata"]["messages"] == [
        f"[ERROR] must be less than 76 characters {where}"
    ]


async def test_long_top_level_text_is_cut(
    slack: Playground, api: AsyncWebClient
) -> None:
    answer = await api.chat_postMessage(channel="C0OPS", text="x" * 40_001)

    assert len(slack.workspace.messages["C0OPS"][answer["ts"]]["text"]) == 40_000


async def test_replies_hang_on_a_root_only(api: AsyncWebClient) -> None:
    root = await api.chat_postMessage(channel="C0OPS", text="root")
    reply = await api.chat_postMessage(
        channel="C0OPS", text="reply", thread_ts=root["ts"]
    )

    assert reply["message"]["thread_ts"] == root["ts"]
    with refused("cannot_reply_to_message"):
        await api.chat_postMessage(channel="C0OPS", text="x", thread_ts=reply["ts"])
