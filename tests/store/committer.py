"""Commits names and prints each one after its write returned, until it is killed."""

from __future__ import annotations

import asyncio
import itertools
import sys
import time

from bot.core.keys import ring
from bot.ports import Tenant
from bot.store.sqlite import SqliteStore


class RealClock:
    def now(self) -> int:
        return int(time.time() * 1000)

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def main(path: str) -> None:
    store = await SqliteStore.open(path, ring((b"n" * 32,), "audit"), RealClock())
    home = Tenant(team="T1", enterprise="E1")
    counter = itertools.count()

    async def worker() -> None:
        while True:
            written = f"n{next(counter)}"
            await store.write(lambda tx, w=written: store.save_name(tx, home, w, "x"))
            sys.stdout.write(f"{written}\n")
            sys.stdout.flush()

    await asyncio.gather(*(worker() for _ in range(5)))


asyncio.run(main(sys.argv[1]))
