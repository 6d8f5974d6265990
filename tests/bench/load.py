"""Signed clicks, made beforehand, sent over kept-alive connections by one process."""

import asyncio
import hmac
import json
import pickle
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit


class Load(NamedTuple):
    """Requests as bytes, and over how many connections they go."""

    requests: list[bytes]
    connections: int


@dataclass(frozen=True)
class Measured:
    """What a load took."""

    per_second: float
    median: float


async def clicks(subject, count: int) -> list[bytes]:
    """So many signed clicks of Ben's on requests that are open."""
    made = []
    for n in range(count):
        payload = await subject.parked_click(n)
        body = urlencode({"payload": json.dumps(payload)}).encode()
        made.append(signed(body, subject.secret))
    return made


def signed(body: bytes, secret: str) -> bytes:
    """One POST as it goes over the wire."""
    stamp = str(int(time.time()))
    base = b"v0:" + stamp.encode() + b":" + body
    mac = hmac.new(secret.encode(), base, "sha256").hexdigest()
    head = (
        "POST /slack/events HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        "Content-Type: application/x-www-form-urlencoded\r\n"
        f"X-Slack-Request-Timestamp: {stamp}\r\nX-Slack-Signature: v0={mac}\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def hammer(url: str, load: Load) -> Measured:
    """Send everything from a process of its own, which is not measured."""
    with tempfile.NamedTemporaryFile() as file:
        pickle.dump((url, tuple(load)), file)
        file.flush()
        client = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bench.load",
            file.name,
            stdout=asyncio.subprocess.PIPE,
        )
        told, _ = await client.communicate()
    return Measured(**json.loads(told))


async def send(url: str, load: Load) -> Measured:
    """Send everything, each connection one after the other."""
    parts = urlsplit(url)
    waiting = list(reversed(load.requests))
    took: list[float] = []

    async def connection() -> None:
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        while waiting:
            request = waiting.pop()
            begun = time.perf_counter()
            writer.write(request)
            await answered(reader)
            took.append(time.perf_counter() - begun)
        writer.close()
        await writer.wait_closed()

    begun = time.perf_counter()
    await asyncio.gather(*(connection() for _ in range(load.connections)))
    spent = time.perf_counter() - begun
    return Measured(len(load.requests) / spent, statistics.median(took))


async def answered(reader: asyncio.StreamReader) -> None:
    """Read one answer; anything but 200 ends the measuring."""
    head = await reader.readuntil(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(head.decode())
    length = next(
        (
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ),
        0,
    )
    await reader.readexactly(length)


if __name__ == "__main__":
    address, work = pickle.loads(Path(sys.argv[1]).read_bytes())
    print(json.dumps(asdict(asyncio.run(send(address, Load(*work))))))
