from collections.abc import AsyncIterator

import pytest
from pretend_app import (
    Clock,
    client,
    playground,
    refused,
)
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.seed import Channel, User
from bot.playground.server import Playground


@pytest.fixture
async def slack() -> AsyncIterator[Playground]:
    async with playground(clock=Clock()) as running:
        yield running


@pytest.fixture
def api(slack: Playground) -> AsyncWebClient:
    return client(slack)


async def test_person_is_described_for_a_gate(
    slack: Playground, api: AsyncWebClient
) -> None:
    slack.workspace.add_user(
        User(
            id="U0EXT", name="eve", real_name="Eve", team_id="T0ELSE", is_stranger=True
        )
    )
    slack.deactivate("U0BEN")

    eve = (await api.users_info(user="U0EXT"))["user"]
    ben = (await api.users_info(user="U0BEN"))["user"]

    assert (eve["team_id"], eve["is_stranger"]) == ("T0ELSE", True)
    assert ben["deleted"] is True
    assert ben["profile"]["display_name"] == "Ben"
    assert (ben["is_bot"], ben["is_restricted"]) == (False, False)
    with refused("user_not_found"):
        await api.users_info(user="U0NOBODY")
    with refused("user_not_found"):
        await api.users_profile_get(user="U0NOBODY")


async def test_person_is_found_by_email(api: AsyncWebClient) -> None:
    found = await api.users_lookupByEmail(email="ben@example.com")

    assert found["user"]["id"] == "U0BEN"
    with refused("users_not_found"):
        await api.users_lookupByEmail(email="nobody@example.com")


async def test_group_lists_its_members(slack: Playground, api: AsyncWebClient) -> None:
    groups = await api.usergroups_list(include_users=True)
    assert groups["usergroups"][0]["handle"] == "approvers"
    assert groups["usergroups"][0]["users"] == ["U0BEN"]

    slack.set_group_members("S0APPROVERS", "U0CLEO")

    members = await api.usergroups_users_list(usergroup="S0APPROVERS")
    assert members["users"] == ["U0CLEO"]
    with refused("no_such_subteam"):
        await api.usergroups_users_list(usergroup="S0NONE")
    slack.workspace.set_group("S0APPROVERS", disabled=True)
    assert (await api.usergroups_list())["usergroups"] == []
    with refused("no_such_subteam"):
        await api.usergroups_users_list(usergroup="S0APPROVERS")


async def test_lists_come_in_pages(api: AsyncWebClient) -> None:
    seen: list[str] = []
    async for page in await api.users_list(limit=3):
        seen += [one["id"] for one in page["members"]]
        assert len(page["members"]) <= 3

    assert seen == ["U0ADA", "U0BEN", "U0CLEO", "U0CSIGN"]
    for cursor in ("nonsense", "bmV4dDo5OQ=="):
        with refused("invalid_cursor"):
            await api.users_list(cursor=cursor)


async def test_channels_are_listed_by_type(
    slack: Playground, api: AsyncWebClient
) -> None:
    slack.invite("C0PRIVATE")
    await api.conversations_open(users="U0ADA")

    public = await api.conversations_list()
    others = await api.users_conversations(types="private_channel,im")

    assert [one["id"] for one in public["channels"]] == ["C0GENERAL", "C0OPS"]
    assert [one["id"] for one in others["channels"]] == ["C0PRIVATE", "D0ADA"]
    with refused("invalid_types"):
        await api.conversations_list(types="mpim")


async def test_channel_tells_whether_it_is_shared(
    slack: Playground, api: AsyncWebClient
) -> None:
    slack.workspace.add_channel(
        Channel(id="C0EXT", name="ext", members=("U0ADA",), is_ext_shared=True)
    )

    shared = (await api.conversations_info(channel="C0EXT"))["channel"]
    ours = (await api.conversations_info(channel="C0OPS"))["channel"]

    assert (shared["is_ext_shared"], shared["is_member"]) == (True, False)
    assert (ours["is_ext_shared"], ours["is_member"]) == (False, True)
    with refused("channel_not_found"):
        await api.conversations_info(channel="C0PRIVATE")


async def test_members_come_in_pages(api: AsyncWebClient) -> None:
    first = await api.conversations_members(channel="C0OPS", limit=3)
    cursor = first["response_metadata"]["next_cursor"]
    rest = await api.conversations_members(channel="C0OPS", limit=3, cursor=cursor)

    assert first["members"] + rest["members"] == ["U0ADA", "U0BEN", "U0CLEO", "U0CSIGN"]
    assert rest["response_metadata"]["next_cursor"] == ""
    with refused("channel_not_found"):
        await api.conversations_members(channel="C0NONE")


async def test_history_runs_backwards_without_replies(api: AsyncWebClient) -> None:
    root = await api.chat_postMessage(channel="C0OPS", text="root")
    await api.chat_postMessage(channel="C0OPS", text="reply", thread_ts=root["ts"])
    last = await api.chat_postMessage(channel="C0OPS", text="last")

    all_of_it = await api.conversations_history(channel="C0OPS")
    newer = await api.conversations_history(channel="C0OPS", oldest=root["ts"])
    first_page = await api.conversations_history(channel="C0OPS", limit=1)

    assert [one["text"] for one in all_of_it["messages"]] == ["last", "root"]
    assert [one["ts"] for one in newer["messages"]] == [last["ts"]]
    assert first_page["has_more"] is True


async def test_history_gives_metadata_only_when_asked(api: AsyncWebClient) -> None:
    metadata = {"event_type": "request", "event_payload": {"id": "r1"}}
    await api.chat_postMessage(channel="C0OPS", text="a", metadata=metadata)

    short = await api.conversations_history(channel="C0OPS")
    full = await api.conversations_history(channel="C0OPS", include_all_metadata=True)

    assert short["messages"][0]["metadata"] == {"event_type": "request"}
    assert full["messages"][0]["metadata"] == metadata


async def test_history_is_for_members(slack: Playground, api: AsyncWebClient) -> None:
    slack.kick("C0GENERAL")

    with refused("not_in_channel"):
        await api.conversations_history(channel="C0GENERAL")
    with refused("channel_not_found"):
        await api.conversations_history(channel="C0PRIVATE")


async def test_thread_is_read_from_its_root(api: AsyncWebClient) -> None:
    root = await api.chat_postMessage(channel="C0OPS", text="root")
    await api.chat_postMessage(channel="C0OPS", text="reply", thread_ts=root["ts"])

    thread = await api.conversations_replies(channel="C0OPS", ts=root["ts"])

    assert [one["text"] for one in thread["messages"]] == ["root", "reply"]
    with refused("thread_not_found"):
        await api.conversations_replies(channel="C0OPS", ts="1.2")


async def test_opening_a_direct_channel_needs_somebody_there(
    slack: Playground, api: AsyncWebClient
) -> None:
    opened = await api.conversations_open(users="U0ADA")
    assert opened["channel"]["id"] == "D0ADA"
    slack.deactivate("U0CLEO")

    with refused("users_list_not_supplied"):
        await api.api_call("conversations.open", json={})
    with refused("user_not_found"):
        await api.conversations_open(users="U0NOBODY")
    with refused("user_disabled"):
        await api.conversations_open(users="U0CLEO")
    with refused("channel_not_found"):
        await api.conversations_open(channel="D0NOBODY")


async def test_bot_joins_public_channels(
    slack: Playground, api: AsyncWebClient
) -> None:
    slack.kick("C0GENERAL")

    await api.conversations_join(channel="C0GENERAL")

    assert "U0CSIGN" in slack.workspace.channels["C0GENERAL"].members
    with refused("channel_not_found"):
        await api.conversations_join(channel="C0PRIVATE")
    slack.archive("C0OPS")
    with refused("is_archived"):
        await api.conversations_join(channel="C0OPS")
