"""The same stories with no address of ours: everything comes through the sockets."""

import asyncio

import httpx
import pytest
from harness import ADA, BEN, CLEO, OPS, Bench, controls
from invariants import assert_invariants

from bot.errors import ConfigError

WORDS = "restart the api and tell me if it is healthy"


@pytest.fixture
async def socket(folder):
    async with Bench(folder, mode="socket", model=True) as made:
        yield made
        await made.quiet()
        await assert_invariants(made)


async def approve(bench, card) -> None:
    done = await bench.press(BEN, card, "approve")
    assert done["ok"], done
    await bench.quiet()


async def test_the_main_job(socket):
    reply = await socket.tool("restart service=api")
    card = await socket.card()
    assert "It has not run yet" in reply

    await socket.press(ADA, card, "approve")
    assert "your yes does not count" in (await socket.whispers(ADA))[-1]
    await socket.press(CLEO, card, "approve")
    await approve(socket, card)

    assert controls(await socket.card()) == []
    assert len(socket.ran("restart")) == 1


async def test_a_run_of_the_model(socket):
    await socket.type("/run", WORDS)
    await socket.quiet()
    card = next(c for c in await socket.cards() if "Approve" in controls(c))

    await approve(socket, card)

    assert [line["tool"] for line in socket.ran()] == ["restart", "status"]


async def test_a_mention_comes_as_an_event(socket):
    await socket.slack.message(ADA, OPS, f"<@{socket.slack.bot_user_id}> {WORDS}")
    await socket.quiet()

    assert any("Approve" in controls(c) for c in await socket.cards())


async def test_a_restart_while_the_card_waits(socket):
    await socket.tool("restart service=api")
    card = await socket.card()

    await socket.restart()
    await approve(socket, card)

    assert len(socket.ran("restart")) == 1


@pytest.mark.parametrize("what", ["refresh", "drop"])
async def test_connections_come_back_by_themselves(socket, what):
    await socket.slack.socket(what)
    await socket.connected()

    await socket.tool("restart service=api")
    await approve(socket, await socket.card())

    assert len(socket.ran("restart")) == 1


async def test_there_is_no_door_in_socket_mode(socket):
    async with httpx.AsyncClient(trust_env=False) as client:
        door = await client.post(f"{socket.url}/slack/events", content=b"x")
        ready = await client.get(f"{socket.url}/readyz")

    assert door.status_code == 404
    assert ready.status_code == 200


async def test_without_a_connection_it_is_not_ready(socket):
    for client in socket.bot.sockets._clients:
        client.auto_reconnect_enabled = False
        await client.disconnect()

    async with httpx.AsyncClient(trust_env=False) as client:
        ready = await client.get(f"{socket.url}/readyz")

    assert ready.status_code == 503
    assert ready.text == "down: no connection to slack\n"


async def test_a_refused_app_token_stops_the_start(folder):
    bench = Bench(folder, mode="socket")
    bench.slack.app_token = "xapp-1-A0CSIGN-1-wrong"
    async with asyncio.timeout(20):
        with pytest.raises(ConfigError) as refused:
            async with bench:
                pass

    assert "Slack refuses SLACK_APP_TOKEN: invalid_auth" in str(refused.value)
    await bench.stop()
