"""The wire as anybody can write to it: requests of every kind, and what is logged.

Signed requests can also be sent by `Bench.send`; what is here may be wrong in any way.
"""

import asyncio
import contextlib
import hmac
import io
import json
import logging
import sqlite3
from urllib.parse import urlencode

import httpx
import structlog
from harness import click_payload

from bot.logs import setup

FORM = "application/x-www-form-urlencoded"
JSON = "application/json"
#: Stands in every body of ours, and in no log.
CANARY = "canary-5f1c"


@contextlib.contextmanager
def logged(*secrets):
    """Log as `serve` does, into the text that this yields; afterwards as before."""
    root = logging.getLogger()
    before = root.handlers, root.level
    levels = {
        name: logging.getLogger(name).level
        for name in (
            *("slack_bolt", "slack_sdk", "httpx", "httpcore", "aiohttp.access"),
            *("asyncio", "slack_sdk.web.async_base_client"),
        )
    }
    out = io.StringIO()
    setup(secrets, stream=out, console=False)
    try:
        yield out.getvalue
    finally:
        root.handlers, root.level = before
        logging.captureWarnings(False)
        structlog.reset_defaults()
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def signature(secret, stamp, body, version="v0"):
    base = f"v0:{stamp}:".encode() + body
    return f"{version}=" + hmac.new(secret.encode(), base, "sha256").hexdigest()


async def post(bench, body, headers, path="/slack/events"):
    async with httpx.AsyncClient(trust_env=False, verify=False, timeout=30) as client:
        url = f"{bench.slack.app_url}{path}"
        return await client.post(url, content=body, headers=headers)


async def raw(bench, data):
    """Send bytes as they are; everything that comes back until the end."""
    port = int(bench.slack.app_url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        async with asyncio.timeout(10):
            return await reader.read()
    finally:
        writer.close()


def dump(bench):
    """Everything in the database, as text."""
    path = bench.folder / "countersign.db"
    reader = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    with contextlib.closing(reader):
        return "\n".join(reader.iterdump())


# -- one body of each kind -------------------------------------------------------------


def command_body(bench, command="/tool", text="pay amount=1", **changed):
    """A slash command, valid but for its signature."""
    fields = {
        "command": command,
        "text": text,
        "user_id": "U0ADA",
        "team_id": bench.slack.team_id,
        "channel_id": "C0OPS",
        "api_app_id": bench.slack.app_id,
        "trigger_id": "1.2.abc",
        "response_url": "",
        "canary": CANARY,
    }
    given = {k: v for k, v in (fields | changed).items() if v is not None}
    return urlencode(given).encode(), FORM


def click_body(bench, card, action="cs_approve", user="U0BEN", **changes):
    """A click on a control of a card."""
    payload = click_payload(bench.slack, user, card, action, changes)
    return form({**payload, "canary": CANARY}), FORM


def view_body(bench, kind="view_submission", metadata="", **changed):
    """A submitted or closed modal that is none of ours."""
    payload = {
        "type": kind,
        "api_app_id": bench.slack.app_id,
        "team": {"id": bench.slack.team_id},
        "enterprise": None,
        "user": {"id": "U0BEN", "team_id": bench.slack.team_id},
        "view": {
            "id": "V1",
            "type": "modal",
            "callback_id": "cs_approve",
            "private_metadata": metadata,
            "state": {"values": {}},
            "blocks": [],
        },
        "canary": CANARY,
    }
    return form(payload | changed), FORM


def event_body(bench, text="approve", **changed):
    """A message event."""
    envelope = {
        "type": "event_callback",
        "team_id": bench.slack.team_id,
        "api_app_id": bench.slack.app_id,
        "event_id": "Ev1",
        "event_time": 1,
        "authorizations": [],
        "event": {
            "type": "app_mention",
            "user": "U0BEN",
            "channel": "C0OPS",
            "text": text,
            "ts": "1.1",
        },
        "canary": CANARY,
    }
    return json.dumps(envelope | changed).encode(), JSON


def form(payload):
    return urlencode({"payload": json.dumps(payload)}).encode()


async def two_parts(bench, first, second):
    """Send bytes, and more when they are being handled; `None` hangs up instead."""
    port = int(bench.slack.app_url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(first)
        async with asyncio.timeout(10):
            await handling(bench, True)
            if second is not None:
                writer.write(second)
                return await reader.readline()
            writer.transport.abort()
            await handling(bench, False)
            return b""
    finally:
        writer.close()


async def handling(bench, wanted):
    """Wait until some request is with our handlers, or until none is."""
    connections = bench._server.server.connections
    while wanted != any(c._current_request for c in connections):
        await asyncio.sleep(0.005)
        connections = bench._server.server.connections


async def settled(bench):
    """Wait for private replies too, those that are tried once more included."""
    async with asyncio.timeout(10):
        while bench.bot.services.tasks.busy:
            bench.clock.advance(5)
            await asyncio.sleep(0.005)
    await bench.quiet()
