"""T4: what is large, compressed or slow holds nobody up and takes no room."""

import asyncio
import gzip
import json
import os
import resource
import sys
import zlib
from urllib.parse import urlencode

import httpx
import pytest
from harness import ADA, BEN, Bench, click_payload, controls
from invariants import assert_invariants
from process import Serving, pretend_slack, written
from wire import dump, logged, post, signature

from bot.slack import front
from bot.web import server

MIB = 1024 * 1024

# -- large ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "status"), [(MIB - 1, 401), (MIB, 401), (MIB + 1, 413), (3 * MIB, 413)]
)
async def test_a_body_has_a_size(bench, size, status):
    before = dump(bench)
    with logged() as lines:
        answer = await post(bench, b"x" * size, {})
    assert (answer.status_code, answer.content) == (status, b"")
    assert all(len(line) <= 300 for line in lines().splitlines())
    assert "Traceback" not in lines()
    assert dump(bench) == before


async def test_a_body_that_does_not_say_its_size_has_one_too(bench):
    async def pieces():
        for _ in range(48):
            yield b"x" * (MIB // 16)

    with logged() as lines:
        answer = await post(bench, pieces(), {})
    assert answer.status_code == 413
    assert "Traceback" not in lines()


@pytest.mark.parametrize("is_ascii", [True, False], ids=["escaped", "utf-8"])
async def test_our_own_largest_card_can_be_clicked(bench, is_ascii):
    """A click returns the whole card; no character takes more room than these."""
    card = await largest_card(bench, "\U0002000b")
    payload = click_payload(bench.slack, BEN, card, "cs_approve", {})
    text = json.dumps(payload, ensure_ascii=is_ascii)
    body = urlencode({"payload": text}).encode()
    assert 40_000 < len(body) < front.MOST_BYTES

    answer = await bench.send(body)

    assert answer.status_code == 200
    await bench.quiet()
    assert len(bench.ran("pay")) == 1


async def largest_card(bench, character):
    """The newest card when one more character would not fit."""
    fits, too_many = 1, 20_000
    while too_many - fits > 1:
        count = (fits + too_many) // 2
        before = await bench.rows("SELECT count(*) FROM runs")
        await bench.tool(f"pay amount=1 iban={character * count}")
        if await bench.rows("SELECT count(*) FROM runs") == before:
            too_many = count
        else:
            fits = count
    await bench.tool(f"pay amount=1 iban={character * fits}")
    card = await bench.card()
    assert character * fits in json.dumps(card, ensure_ascii=False)
    assert controls(card) == ["Approve", "Deny", "Deny, say why"]
    return card


# -- compressed -----------------------------------------------------------------------


@pytest.mark.parametrize("is_signed", [True, False])
@pytest.mark.parametrize(
    "encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "x-unheard"]
)
async def test_what_is_encoded_is_refused_unread(bench, encoding, is_signed):
    for body in (gzip.compress(b"payload={}"), b"never compressed"):
        with logged() as lines:
            if is_signed:
                answer = await bench.send(body, headers={"Content-Encoding": encoding})
            else:
                answer = await post(bench, body, {"Content-Encoding": encoding})
        assert (answer.status_code, answer.content) == (415, b"")
        assert lines() == ""


async def test_what_says_that_it_is_not_encoded_is_read(bench):
    headers = {"Content-Encoding": "identity"}
    answer = await bench.send(b"payload={}", headers=headers)
    assert answer.status_code == 400


@pytest.mark.skipif(
    not os.path.exists("/proc/self/status"), reason="needs /proc to see memory"
)
async def test_a_bomb_is_not_inflated(tmp_path):
    bomb = bomb_of(100 * MIB)
    assert len(bomb) < front.MOST_BYTES
    folder = written(tmp_path / "home")
    async with pretend_slack(folder) as slack, Serving(folder, slack) as serving:
        url = f"http://127.0.0.1:{serving.port}"
        before = peak(serving.process.pid)
        async with httpx.AsyncClient(
            trust_env=False, verify=False, timeout=30
        ) as client:
            for path in ("/slack/events", "/healthz", "/nowhere"):
                headers = {"Content-Encoding": "gzip"}
                answer = await client.post(url + path, content=bomb, headers=headers)
                assert answer.status_code in (404, 405, 415)
        assert peak(serving.process.pid) - before < 32 * MIB


def bomb_of(size):
    packer = zlib.compressobj(1, wbits=31)
    zeros = bytes(MIB)
    parts = [packer.compress(zeros) for _ in range(size // MIB)]
    return b"".join([*parts, packer.flush()])


def peak(pid):
    """The most memory that a process has had at once, in bytes."""
    with open(f"/proc/{pid}/status") as status:
        line = next(line for line in status if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


# -- slow -----------------------------------------------------------------------------

HEAD = b"POST /slack/events HTTP/1.1\r\nHost: x\r\n"
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
#: What is sent at once, and what then comes byte by byte.
SLOW = {
    "nothing": (b"", b""),
    "part of a line": (b"POST /sl", b""),
    "part of the head": (HEAD + b"X-A: ", b""),
    "a dripping head": (HEAD, b"X-A: " + b"a" * 1000),
    "nothing after an answer": (WHOLE, b""),
    "a dripping head after an answer": (WHOLE + HEAD, b"X-A: " + b"a" * 1000),
    "no body": (HEAD + b"Content-Length: 1000\r\n\r\n", b""),
    "a dripping body": (HEAD + b"Content-Length: 1000\r\n\r\n", b"a" * 1000),
    "dripping chunks": (
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n",
        b"1\r\na\r\n" * 200,
    ),
    "a dripping body that was refused": (
        HEAD + b"Content-Encoding: gzip\r\nContent-Length: 1000\r\n\r\n",
        b"a" * 1000,
    ),
    "a body that is too large": (HEAD + b"Content-Length: 3145728\r\n\r\n", b"a" * 99),
    "a body where none belongs": (
        b"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
        b"a" * 1000,
    ),
}


def test_slow_ones_are_gone_within_fifteen_seconds():
    """What the tests below see in small holds for the times that are used."""
    assert server.KEEPALIVE <= 10
    assert front.BODY_SECONDS + server.LINGER < 15


async def test_half_requests_are_closed_and_a_click_gets_through(folder, monkeypatch):
    monkeypatch.setattr(server, "KEEPALIVE", 1.0)
    monkeypatch.setattr(server, "LINGER", 0.3)
    monkeypatch.setattr(front, "BODY_SECONDS", 0.7)
    async with Bench(folder) as bench:
        await beside_half_requests(bench, each=10, every=0.05)
        await assert_invariants(bench)


@pytest.mark.soak
@pytest.mark.skipif(
    not os.environ.get("COUNTERSIGN_SOAK"), reason="large counts: make soak"
)
async def test_a_thousand_half_requests_are_closed(folder):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    async with Bench(folder) as bench:
        seconds = await beside_half_requests(bench, each=84, every=1.0)
        await assert_invariants(bench)
    sys.stdout.write(
        f"the last of 1,008 half-requests was gone after {seconds:.1f} s\n"
    )
    assert seconds < 15


async def beside_half_requests(bench, *, each, every):
    """Approve beside slow ones of every kind; after how long the last one was gone."""
    loop = asyncio.get_running_loop()
    await bench.tool("pay amount=5", user=ADA)
    card = await bench.card()
    begun = loop.time()
    with logged() as lines:
        kinds = [halves for halves in SLOW.values() for _ in range(each)]
        opened = await asyncio.gather(*(connected(bench) for _ in kinds))
        slow = [
            asyncio.create_task(half_request(*ends, *halves, every))
            for ends, halves in zip(opened, kinds, strict=True)
        ]
        await bench.press(BEN, card, "approve")
        assert len(bench._server.server.connections) > len(slow) // 2
        async with asyncio.timeout(10 * server.KEEPALIVE):
            answers = await asyncio.gather(*slow)
        lasted = loop.time() - begun
    await bench.quiet()
    assert len(bench.ran("pay")) == 1
    assert "Traceback" not in lines()
    for (name, (sent, _)), answer in zip(SLOW.items(), answers[::each], strict=True):
        assert answer.startswith(b"HTTP/1.1 ") == (b"\r\n\r\n" in sent), name
    return lasted


async def connected(bench):
    port = int(bench.slack.app_url.rpartition(":")[2])
    return await asyncio.open_connection("127.0.0.1", port)


async def half_request(reader, writer, sent, dripped, every):
    """Send slowly until the other end closes; what it said."""
    writer.write(sent)
    drip = asyncio.create_task(dripping(writer, dripped, every))
    try:
        return await reader.read()
    except ConnectionError:
        return b"HTTP/1.1 reset" if b"\r\n\r\n" in sent else b""
    finally:
        drip.cancel()
        await asyncio.gather(drip, return_exceptions=True)
        writer.close()


async def dripping(writer, data, every):
    for byte in data:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(every)


async def test_a_signed_body_that_comes_in_pieces_counts(bench):
    """Slow, but not too slow."""
    await bench.tool("pay amount=5")
    payload = click_payload(bench.slack, BEN, await bench.card(), "cs_approve", {})
    body = urlencode({"payload": json.dumps(payload)}).encode()
    stamp = int(bench.clock.seconds())

    async def pieces():
        for start in range(0, len(body), 500):
            yield body[start : start + 500]

    headers = {
        "X-Slack-Request-Timestamp": str(stamp),
        "X-Slack-Signature": signature(bench.slack.signing_secret, stamp, body),
        "Content-Type": "application/x-www-form-urlencoded",
    }
    answer = await post(bench, pieces(), headers)

    assert answer.status_code == 200
    await bench.quiet()
    assert len(bench.ran("pay")) == 1
