"""T62: killed at any moment under load, again and again; what was promised holds."""

import asyncio
import os
import random

import pytest
from crashbench import CrashBench
from harness import ADA, BEN, OPS, controls
from invariants import assert_invariants

SOAK = pytest.mark.skipif(
    not os.environ.get("COUNTERSIGN_SOAK"), reason="large counts: make soak"
)
#: Tools and what they are called with; the number makes each call its own.
CALLS = (
    "pay amount={}",
    "careful order={}",
    "restart service=s{}",
    "status service={}",
)
AT_ONCE = 6


class Load:
    """People who start runs and approve whatever they see, until the bot is gone."""

    def __init__(self, crash: CrashBench, seed: int) -> None:
        self._crash = crash
        self._random = random.Random(seed)
        self._started = 0
        self._pressed: set[str] = set()
        #: Refs of the requests whose approval Slack was told had arrived.
        self.acknowledged: set[str] = set()

    async def until_killed(self, seconds: float) -> None:
        tasks = [asyncio.create_task(self._asks()) for _ in range(AT_ONCE)]
        tasks.append(asyncio.create_task(self._approves()))
        await asyncio.sleep(seconds)
        await self._crash.kill()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _asks(self) -> None:
        while True:
            self._started += 1
            words = self._random.choice(CALLS).format(self._started)
            await self._crash.slack.command(ADA, OPS, "/tool", words)
            await asyncio.sleep(self._random.uniform(0.05, 0.3))

    async def _approves(self) -> None:
        while True:
            for card in await self._crash.cards():
                if "Approve" in controls(card) and card["ts"] not in self._pressed:
                    await self._approve(card)
            await asyncio.sleep(0.02)

    async def _approve(self, card: dict) -> None:
        value = next(
            element["value"]
            for block in card["blocks"]
            if block["type"] == "actions"
            for element in block["elements"]
            if element["action_id"] == "cs_approve"
        )
        done = await self._crash.press(BEN, card, "approve")
        if done["ok"]:
            self._pressed.add(card["ts"])
            self.acknowledged.add(value)


async def killed_again_and_again(crash: CrashBench, kills: int, seed: int) -> None:
    moments = random.Random(seed)
    load = Load(crash, seed)
    for _ in range(kills):
        await crash.doomed()
        await load.until_killed(moments.uniform(0.02, 0.6))
    await crash.start()
    await crash.quiet(patience=120)

    await no_acknowledged_vote_is_missing(crash, load.acknowledged)
    await unknown_only_where_a_claim_was_open(crash)
    ordinary = [line for line in crash.ran() if line["tool"] == "pay"]
    names = [line["execution"] for line in ordinary]
    assert len(set(names)) == len(names)
    assert names, "the load was too small to say anything"
    await assert_invariants(crash)


async def no_acknowledged_vote_is_missing(crash: CrashBench, values: set[str]) -> None:
    refs = {value.partition(".")[0] for value in values}
    kept = {ref for (ref,) in await crash.rows("SELECT request FROM votes")}
    sql = "SELECT request FROM audit WHERE action LIKE 'refused %'"
    refused = {ref for (ref,) in await crash.rows(sql)}
    known = {ref for (ref,) in await crash.rows("SELECT ref FROM requests")}
    assert refs <= known
    # Told "busy" is acknowledged too; the log then has a line for each.
    missing = refs - kept - refused
    assert len(missing) <= crash.log.read_text().count("listener_busy")


async def unknown_only_where_a_claim_was_open(crash: CrashBench) -> None:
    sql = "SELECT count(*) FROM calls WHERE claimed_at IS NULL AND outcome = 'ok'"
    assert await crash.rows(sql) == [(0,)]
    audited = await crash.rows("SELECT label, action FROM audit ORDER BY seq")
    for at, (label, action) in enumerate(audited):
        if action == "outcome unknown":
            before = [a for one, a in audited[:at] if one == label]
            open_claims = before.count("claimed") - before.count("outcome unknown")
            assert open_claims > 0
            assert not [a for a in before if a.startswith("call ")]


async def test_ten_kills_at_any_moment(crash):
    await killed_again_and_again(crash, kills=10, seed=62)


@SOAK
@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
async def test_five_hundred_kills(folder, nursery, seed):
    async with CrashBench(folder, nursery) as crash:
        await killed_again_and_again(crash, kills=50, seed=seed)
