"""T62, the order that must hold: a commit first, then what others are told or do.

At each step another connection looks at the database file: what it sees is committed.
"""

import contextlib
import re
import shutil
import sqlite3
import subprocess

import probe_tools
import pytest
from aiohttp import web
from harness import ADA, BEN, OPS

VOTES = "SELECT count(*) FROM votes"
CLAIMED = "SELECT count(*) FROM calls WHERE claimed_at IS NOT NULL AND outcome = ''"
RESULTS = "SELECT count(*) FROM calls WHERE outcome = 'ok'"
RUNS = "SELECT count(*) FROM runs"


def committed(bench, sql: str) -> int:
    uri = f"file:{bench.folder / 'countersign.db'}?mode=ro"
    with contextlib.closing(sqlite3.connect(uri, uri=True)) as reader:
        return reader.execute(sql).fetchone()[0]


def answered(bench, monkeypatch, sql: str) -> list[int]:
    """What is committed each time before the first byte of an answer is written."""
    seen: list[int] = []
    real = web.Response.prepare

    async def prepare(self, request):
        if request.path == "/slack/events":
            seen.append(committed(bench, sql))
        return await real(self, request)

    monkeypatch.setattr(web.Response, "prepare", prepare)
    return seen


async def test_a_run_is_committed_before_the_reply_to_its_command(bench, monkeypatch):
    seen = answered(bench, monkeypatch, RUNS)

    await bench.tool("restart service=api")

    assert seen == [1]


@pytest.mark.parametrize("action", ["approve", "deny"])
async def test_a_vote_is_committed_before_its_acknowledgement(
    bench, monkeypatch, action
):
    await bench.tool("restart service=api")
    card = await bench.card()
    seen = answered(bench, monkeypatch, VOTES)

    await bench.press(BEN, card, action)

    assert seen == [1]


async def test_a_claim_is_committed_before_its_tool_is_entered(bench, monkeypatch):
    seen: list[int] = []
    real = probe_tools.note

    def note(*args, **kwargs):
        seen.append(committed(bench, CLAIMED))
        real(*args, **kwargs)

    monkeypatch.setattr(probe_tools, "note", note)
    await bench.tool("pay amount=5")
    await bench.press(BEN, await bench.card(), "approve")
    await bench.quiet()

    assert seen == [1]


async def test_a_result_is_committed_before_anybody_is_told(bench, monkeypatch):
    seen: list[int] = []
    client = bench.bot.desk.client

    def looking(method):
        async def called(**arguments):
            if "Done" in str(arguments):
                seen.append(committed(bench, RESULTS))
            return await method(**arguments)

        return called

    for name in ("chat_update", "chat_postMessage"):
        monkeypatch.setattr(client, name, looking(getattr(client, name)))
    await bench.tool("pay amount=5")
    await bench.press(BEN, await bench.card(), "approve")
    await bench.quiet()

    assert seen
    assert set(seen) == {1}


# -- the same, as the kernel sees it --------------------------------------------------


@pytest.fixture
def traced(tmp_path):
    """A system-call trace of a process, or a reason for having none."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("no strace on this machine")
    trace = tmp_path / "calls.txt"
    tried = subprocess.run([strace, "-f", "-o", trace, "true"], capture_output=True)
    if tried.returncode != 0:
        pytest.skip("system calls may not be traced here")

    @contextlib.contextmanager
    def of(process: int):
        calls = "trace=fdatasync,fsync,pwrite64,write,sendto,recvfrom"
        command = [strace, "-f", "-y", "-s", "64", "-e", calls, "-o", trace]
        with subprocess.Popen(
            [*command, "-p", str(process)], stderr=subprocess.PIPE, text=True
        ) as watching:
            if "attached" not in watching.stderr.readline():
                pytest.skip("another process may not be traced here")
            yield trace
            watching.terminate()

    return of


STEPS = {
    "synced": re.compile(r"f(?:data)?sync\(\d+<[^>]*countersign\.db-wal>"),
    "kept": re.compile(r"pwrite64\(\d+<[^>]*countersign\.db-wal>"),
    "click": re.compile(r"recvfrom\(.*POST /slack/events"),
    "answer": re.compile(r"sendto\(.*HTTP/1\.1 200"),
    "tool": re.compile(r"write\(\d+<[^>]*probe\.jsonl>"),
    "told": re.compile(r"sendto\(.*POST /api/chat\.postMessage"),
}


SYNCED = "kept synced"


def steps(trace: str) -> list[str]:
    """The calls that matter, in order, a row of equal ones as one."""
    found = [
        name
        for line in trace.splitlines()
        for name, shape in STEPS.items()
        if shape.search(line)
    ]
    return [s for at, s in enumerate(found) if at == 0 or s != found[at - 1]]


async def test_what_is_promised_is_on_the_disk_first(crash, traced):
    await crash.doomed()
    await crash.slack.command(ADA, OPS, "/tool", "pay amount=5")
    await crash.until("SELECT 1 FROM outbox WHERE ts <> '' AND sent = wanted")
    (card,) = await crash.cards()

    with traced(crash.child) as trace:
        await crash.press(BEN, card, "approve")
        await crash.until("SELECT 1 FROM outbox WHERE kind = 'news' AND sent = wanted")
    await crash.kill()

    found = steps(trace.read_text())
    click, tool = found.index("click"), found.index("tool")
    answer, told = found.index("answer"), found.index("told", tool)
    assert found[click:answer] == ["click", "kept", "synced"]
    # The courier commits as well: where it stands now.
    assert SYNCED in " ".join(found[answer:tool])
    assert SYNCED in " ".join(found[tool:told])
