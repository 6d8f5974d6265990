"""How a bot ends and who comes next: one process per database, and SIGTERM in order."""

import asyncio
import os
import re
import socket
import sys

import httpx
from crashbench import ROOT
from harness import ADA, BEN, OPS, controls, text_in

#: `countersign serve` that is only less patient than the real one.
IMPATIENT = """
import sys
from bot.cli import main
from bot.store.lock import Lock

Lock.acquire.__func__.__kwdefaults__["wait"] = 0.5
sys.argv[0] = "countersign"
main()
"""


async def test_a_second_serve_says_who_holds_the_database_and_gives_up(crash):
    await crash.doomed()
    # Taken by us: had it been opened, the fault would be another one.
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        second = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", IMPATIENT, "serve", "--port", str(port)),
            stderr=asyncio.subprocess.PIPE,
            cwd=crash.folder,
            env={
                **os.environ,
                **crash.environ,
                "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]),
            },
        )
        _, said = await second.communicate()

    holder = f"process {crash.child} on {socket.gethostname()} since "
    waiting, *_, fault, _, _ = said.decode().splitlines()
    assert second.returncode == 75
    assert '"event": "waiting_for_database"' in waiting
    assert holder in waiting
    assert re.search(rf"countersign\.db is in use by {holder}.* UTC\.$", fault)
    assert "Traceback" not in said.decode()
    await crash.kill()


async def test_a_second_serve_takes_over_when_the_first_one_dies(crash):
    await crash.doomed()
    await crash.slack.command(ADA, OPS, "/tool", "restart service=api")
    await crash.until("SELECT 1 FROM outbox WHERE ts <> '' AND sent = wanted")
    (card,) = await crash.cards()
    first = crash.slack.app_url

    async def dies() -> None:
        await crash.until(lambda: "waiting_for_database" in crash.log.read_text())
        async with httpx.AsyncClient(trust_env=False) as http:
            assert (await http.get(f"{first}/healthz")).status_code == 200
        await crash.kill()

    death = asyncio.create_task(dies())
    async with crash.served():
        await death
        assert (await crash.press(BEN, card, "approve"))["ok"]
        done = await crash.slack.wait_for("notified:U0ADA:contains:Done", 10)
        assert done["ok"], crash.log.read_text()

    assert len(crash.ran("restart")) == 1


async def test_told_to_stop_a_running_tool_gets_its_time(crash):
    (crash.folder / "held").touch()
    await crash.doomed()
    await crash.slack.command(ADA, OPS, "/tool", "pay amount=5")
    await crash.until("SELECT 1 FROM outbox WHERE ts <> '' AND sent = wanted")
    (card,) = await crash.cards()
    await crash.press(BEN, card, "approve")
    await crash.until(lambda: crash.ran("pay"))

    stopping = asyncio.create_task(crash.told_to_stop())
    await closed(crash.slack.app_url)
    assert not stopping.done()
    assert crash.seen("SELECT outcome FROM calls") == [("",)]
    (crash.folder / "go_on").touch()

    assert await stopping == 0
    assert crash.seen("SELECT outcome FROM calls") == [("ok",)]
    await crash.start()
    card = await crash.card()
    assert controls(card) == []
    assert "Done" in text_in(card)
    assert len(crash.ran("pay")) == 1
    assert [t for t in await crash.phone(ADA) if "Done" in t]


async def test_told_to_stop_with_nothing_to_do_ends_at_once(crash):
    await crash.doomed()
    await crash.slack.command(ADA, OPS, "/tool", "restart service=api")

    assert await crash.told_to_stop() == 0

    assert crash.seen("SELECT clean FROM marker") == [(1,)]
    await crash.start()
    assert controls(await crash.card()) == ["Approve", "Deny", "Deny, say why"]


async def closed(url: str) -> None:
    """Wait until nothing listens there any more."""
    port = int(url.rpartition(":")[2])
    async with asyncio.timeout(10):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                return
            writer.close()
            await asyncio.sleep(0.01)
