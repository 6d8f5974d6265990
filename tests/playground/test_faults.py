from collections.abc import AsyncIterator
from dataclasses import replace

import aiohttp
import pytest
from pretend_app import (
    Clock,
    client,
    playground,
    refused,
)
from slack_sdk.errors import SlackApiError
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


async def test_rate_limit_is_a_429_with_a_wait(
    slack: Playground, api: AsyncWebClient
) -> None:
    slack.fault("chat.postMessage", "429:7", 1)

    with pytest.raises(SlackApiError) as caught:
        await api.chat_postMessage(channel="C0OPS", text="x")

    assert caught.value.response.status_code == 429
    assert caught.value.response.headers["Retry-After"] == "7"
    assert caught.value.response["error"] == "ratelimited"
    assert (await api.chat_postMessage(channel="C0OPS", text="x"))["ok"]


async def test_error_fault_lasts_until_it_is_ended(
    slack: Playground, api: AsyncWebClient
) -> None:
    slack.fault("auth.test", "error:token_revoked")
    for _ in range(2):
        with refused("token_revoked"):
            await api.auth_test()

    slack.fault("auth.test", "")

    assert (await api.auth_test())["ok"]


async def test_fault_ends_after_so_many_times(
    slack: Playground, api: AsyncWebClient
) -> None:
    slack.fault("auth.test", "error:token_revoked", 2)
    for _ in range(2):
        with refused("token_revoked"):
            await api.auth_test()

    assert (await api.auth_test())["ok"]


async def test_server_error_does_nothing(
    slack: Playground, api: AsyncWebClient
) -> None:
    slack.fault("chat.postMessage", "500")

    with pytest.raises(SlackApiError) as caught:
        await api.chat_postMessage(channel="C0OPS", text="x")

    assert caught.value.response.status_code == 500
    assert slack.workspace.messages["C0OPS"] == {}


async def test_hanging_call_is_never_answered(
    slack: Playground, api: AsyncWebClient
) -> None:
    slack.fault("chat.postMessage", "hang")
    timeout = aiohttp.ClientTimeout(total=0.2)
    headers = {"Authorization": f"Bearer {slack.bot_token}"}

    async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
        with pytest.raises(TimeoutError):
            await session.post(
                f"{slack.api_url}chat.postMessage",
                json={"channel": "C0OPS", "text": "x"},
            )

    assert slack.log()[0]["answer"] is None
    assert slack.workspace.messages["C0OPS"] == {}


async def test_accepted_call_takes_effect_without_an_answer(
    slack: Playground, api: AsyncWebClient
) -> None:
    slack.fault("chat.postMessage", "accept-then-drop", 1)

    with pytest.raises(aiohttp.ServerDisconnectedError):
        await api.chat_postMessage(channel="C0OPS", text="x")

    assert len(slack.workspace.messages["C0OPS"]) == 1


@pytest.mark.parametrize(
    "words", ["429", "429:x", "500:x", "sleep", "error:", "hang:1", "429:-1"]
)
async def test_fault_that_means_nothing_is_refused(
    slack: Playground, words: str
) -> None:
    assert slack.fault("chat.postMessage", words)["ok"] is False


async def test_fault_of_no_method_is_refused(slack: Playground) -> None:
    assert slack.fault("chat.shout", "500")["ok"] is False


async def test_seed_sets_faults_that_come_back_with_a_reset() -> None:
    seed = replace(DEFAULT, faults={"auth.test": "error:account_inactive"})
    async with playground(seed=seed) as slack:
        slack.fault("auth.test", "")
        await client(slack).auth_test()
        await slack.reset()
        with refused("account_inactive"):
            await client(slack).auth_test()


async def test_calls_are_logged_without_the_token(
    slack: Playground, api: AsyncWebClient
) -> None:
    await api.chat_postMessage(channel="C0OPS", text="x")

    entry = slack.log()[0]
    assert (entry["to"], entry["kind"]) == ("slack", "api:chat.postMessage")
    assert entry["request"]["headers"]["Authorization"] == "Bearer …"
    assert entry["status"] == 200
    assert entry["answer"]["ok"] is True
    assert slack.bot_token not in str(slack.log())
