"""A bot with ports that kill its process at one named step (threat T62).

Run as a program it is a nursery: everything is imported once, and for each order, one
JSON line on stdin, it forks a process that serves the bot as `countersign serve` does.
It prints the child's process id, and how it ended once it has.

A step is "before X" or "after X". X is a named function of the store (before: inside
the transaction; after: its unit is committed), a call to Slack (`post`, `reply`,
`edit`, `last edit`, `look-up`; "lost X": sent, no answer), `effect` and `suspending` of
a tool, or `answer`, what Slack is told.
"""

import json
import os
import signal
import sys
import time
from functools import wraps
from pathlib import Path

import probe_tools
from aiohttp import web

from bot import app as assembly
from bot.cli.serve import run_service
from bot.clock import SystemClock
from bot.config import load
from bot.core.keys import read, ring
from bot.logs import setup
from bot.slack.courier import SlackCourier
from bot.slack.front import PATH
from bot.store.lock import Lock
from bot.store.sqlite import SqliteStore

#: Functions of the store that name a step.
WRITES = ("add_run", "add_request", "add_vote", "claim_call", "save_call")


class Fuse:
    """The one step at which this process ends."""

    def __init__(self, point: str) -> None:
        self._point = point

    def at(self, step: str) -> None:
        if step == self._point:
            # Not an exit: no `finally`, no `atexit`, nothing is flushed.
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, step, work):
        """The same function, with a step before and after it."""

        @wraps(work)
        def wrapped(*args, **kwargs):
            self.at(f"before {step}")
            result = work(*args, **kwargs)
            self.at(f"after {step}")
            return result

        return wrapped


class DeadlyStore(SqliteStore):
    """The real store; its named functions are steps."""

    fuse = Fuse("")
    _called: list[str]

    async def write(self, unit, deadline=None):
        called: list[str] = []

        def noted(tx):
            called.clear()
            self._called = called
            return unit(tx)

        result = await super().write(noted, deadline)
        for name in called:
            self.fuse.at(f"after {name}")
        return result


def _named(name: str):
    real = getattr(SqliteStore, name)

    def step(self, tx, *args, **kwargs):
        self.fuse.at(f"before {name}")
        self._called.append(name)
        return real(self, tx, *args, **kwargs)

    return step


for _name in WRITES:
    setattr(DeadlyStore, _name, _named(_name))


def until_there(path: Path):
    """A tool that holds goes on once this file is there, if `held` is beside it."""

    def hold(name: str) -> None:
        while path.with_name("held").exists() and not path.exists():
            time.sleep(0.01)

    return hold


def wire(client, fuse: Fuse) -> None:
    """Make the calls to Slack steps."""
    names = {"chat_postMessage": "post", "chat_update": "edit", "users_info": "look-up"}
    for method, step in names.items():
        setattr(client, method, _call(getattr(client, method), step, fuse))


def _call(method, step: str, fuse: Fuse):
    async def called(**arguments):
        name = _told_apart(step, arguments)
        fuse.at(f"before {name}")
        try:
            answer = await method(**arguments)
        except Exception:
            fuse.at(f"lost {name}")
            raise
        fuse.at(f"after {name}")
        return answer

    return called


def _told_apart(step: str, arguments: dict) -> str:
    """A reply in a thread is not a card, and one edit is the last of a good run."""
    if arguments.get("thread_ts"):
        return "reply"
    done = step == "edit" and "Done" in json.dumps(arguments["blocks"])
    return "last edit" if done else step


def answering(fuse: Fuse):
    """The HTTP answer as a step: the handler is done, not a byte is written."""

    @web.middleware
    async def middleware(request, handler):
        response = await handler(request)
        if request.path == PATH:
            fuse.at("before answer")
        return response

    return middleware


async def serve(loaded, port: int, fuse: Fuse) -> None:
    """What `bot.app.serve` does, with ports of ours."""
    clock = SystemClock()
    masters = read(loaded.secrets.key.get_secret_value())
    database = loaded.settings.database_path
    lock = await Lock.acquire(database, clock, on_wait=print, wait=5)
    store = await DeadlyStore.open(database, ring(masters, "audit"), clock)
    store.fuse = fuse
    client = assembly.web_client(loaded)
    wire(client, fuse)
    probe_tools.hold = until_there(loaded.settings.root / "go_on")
    probe_tools.note = fuse.around("effect", probe_tools.note)
    probe_tools.pending = fuse.around("suspending", probe_tools.pending)
    try:
        ports = assembly.Ports(
            clock=clock, store=store, client=client, courier=SlackCourier()
        )
        bot = await assembly.build(loaded, ports, ring(masters, "controls"))
        bot.site.middlewares.append(answering(fuse))
        await assembly.run(bot, "127.0.0.1", port)
    finally:
        await store.close()
        lock.release()


def live(order: dict) -> None:
    """Be the bot until the end."""
    log = os.open(order["log"], os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ |= order["environ"]
    loaded = load(Path(order["environ"]["COUNTERSIGN_CONFIG"]), os.environ)
    setup(loaded.secrets.values())
    run_service(serve(loaded, order["port"], Fuse(order["point"])), loaded)


def say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                live(json.loads(line))
                code = 0
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 1
            finally:
                os._exit(code)
        say(child)
        _, status = os.waitpid(child, 0)
        say(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
