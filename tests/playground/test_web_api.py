from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from pretend_app import (
    Clock,
    client,
    manifest,
    playground,
    refused,
)
from slack_sdk.web.async_client import AsyncWebClient

from bot.playground.seed import DEFAULT
from bot.playground.server import Playground


@pytest.fixture
async def slack() -> AsyncIterator[Playground]:
    async with playground(clock=Clock()) as running:
        yield running


@pytest.fixture
def api(slack: Playground) -> AsyncWebClient:
    return client(slack)


async def test_caller_is_known_by_token(slack: Playground) -> None:
    with refused("not_authed"):
        await client(slack, "").auth_test()
    with refused("invalid_auth"):
        await client(slack, "xoxb-other").auth_test()
    with refused("not_allowed_token_type"):
        await client(slack, "xapp-1").auth_test()


async def test_auth_test_names_bot_and_scopes(api: AsyncWebClient) -> None:
    answer = await api.auth_test()

    assert answer["user_id"] == "U0CSIGN"
    assert answer["bot_id"] == "B0CSIGN"
    assert answer["team_id"] == "T0HOME"
    assert "chat:write" in answer.headers["x-oauth-scopes"].split(",")


async def test_unknown_method_is_refused(api: AsyncWebClient) -> None:
    with refused("unknown_method"):
        await api.api_call("chat.shout")


async def test_method_without_its_scope_names_it() -> None:
    async with playground(manifest=manifest(scopes=["commands"])) as slack:
        with refused("missing_scope") as body:
            await client(slack).chat_postMessage(channel="C0OPS", text="hello")

    assert body["needed"] == "chat:write"
    assert body["provided"] == "commands"


@pytest.mark.parametrize(
    ("method", "arguments", "scope"),
    [
        ("chat.update", {"channel": "C0OPS", "ts": "1", "text": "x"}, "chat:write"),
        ("chat.delete", {"channel": "C0OPS", "ts": "1"}, "chat:write"),
        (
            "chat.postEphemeral",
            {"channel": "C0OPS", "user": "U0ADA", "text": "x"},
            "chat:write",
        ),
        ("users.info", {"user": "U0ADA"}, "users:read"),
        ("users.list", {}, "users:read"),
        ("users.lookupByEmail", {"email": "ada@example.com"}, "users:read.email"),
        ("users.conversations", {}, "channels:read"),
        ("usergroups.list", {}, "usergroups:read"),
        ("usergroups.users.list", {"usergroup": "S0APPROVERS"}, "usergroups:read"),
        ("conversations.info", {"channel": "C0OPS"}, "channels:read"),
        ("conversations.members", {"channel": "C0OPS"}, "channels:read"),
        ("conversations.list", {"types": "private_channel"}, "groups:read"),
        ("conversations.history", {"channel": "C0OPS"}, "channels:history"),
        ("conversations.replies", {"channel": "C0OPS", "ts": "1"}, "channels:history"),
        ("conversations.open", {"users": "U0ADA"}, "im:write"),
    ],
)
async def test_each_scope_is_needed(
    method: str, arguments: dict[str, Any], scope: str
) -> None:
    all_others = [
        one for one in manifest()["oauth_config"]["scopes"]["bot"] if one != scope
    ]
    async with playground(manifest=manifest(scopes=all_others)) as slack:
        with refused("missing_scope") as body:
            await client(slack).api_call(method, params=arguments)

    assert body["needed"] == scope


async def test_optional_scopes_are_granted_unless_the_seed_says_no() -> None:
    declared = manifest(scopes=[], bot_optional=["users:read"])
    async with playground(manifest=declared) as slack:
        await client(slack).users_info(user="U0ADA")
    without = replace(DEFAULT, optional_scopes=frozenset())
    async with playground(manifest=declared, seed=without) as slack:
        with refused("missing_scope"):
            await client(slack).users_info(user="U0ADA")


async def test_missing_argument_is_named(api: AsyncWebClient) -> None:
    with refused("invalid_arguments") as body:
        await api.api_call("users.info")

    assert body["response_metadata"]["messages"] == [
        "[ERROR] missing required field: user"
    ]


async def test_query_form_and_json_are_the_same(slack: Playground) -> None:
    url = f"{slack.api_url}chat.postMessage"
    blocks = '[{"type": "divider"}]'
    given = {"channel": "C0OPS", "text": "hi", "blocks": blocks}
    headers = {"Authorization": f"Bearer {slack.bot_token}"}
    async with aiohttp.ClientSession() as session:
        for how in (
            session.get(url, params=given, headers=headers),
            session.post(url, data=given, headers=headers),
            session.post(url, json=given, headers=headers),
            session.post(url, data=given | {"token": slack.bot_token}),
        ):
            async with how as answer:
                assert (await answer.json())["ok"] is True

    posted = slack.workspace.messages["C0OPS"].values()
    assert [one["blocks"][0]["type"] for one in posted] == ["divider"] * 4


async def test_bodies_that_are_no_arguments_are_refused(slack: Playground) -> None:
    url = f"{slack.api_url}auth.test"
    async with aiohttp.ClientSession() as session:
        for body, kind, code in (
            (b"{", "application/json", "invalid_json"),
            (b"[1]", "application/json", "json_not_object"),
            (b"x", "text/plain", "invalid_post_type"),
        ):
            async with session.post(
                url, data=body, headers={"Content-Type": kind}
            ) as answer:
                assert answer.status == 200
                assert (await answer.json())["error"] == code


async def test_small_methods_answer(api: AsyncWebClient) -> None:
    assert (await api.api_test(foo="bar"))["args"]["foo"] == "bar"
    assert (await api.team_info())["team"]["domain"] == "home"
    assert (await api.bots_info(bot="B0CSIGN"))["bot"]["user_id"] == "U0CSIGN"
    with refused("bot_not_found"):
        await api.bots_info(bot="B0OTHER")
    with refused("my_error"):
        await api.api_test(error="my_error")
