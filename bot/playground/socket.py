"""The way to the app over Socket Mode: its WebSockets, envelopes and acknowledgements.

Each payload goes to any one of the app's connections. An acknowledgement counts on
the connection that carried the envelope. `refresh`, `drop` and `silence` are what the
network and Slack do to connections.
"""

import asyncio
import json
import time
import uuid
from typing import Any

from aiohttp import WSMessage, WSMsgType, web

from bot.playground.log import Log
from bot.playground.packet import (
    COMMAND,
    EVENT,
    Delivery,
    Packet,
    failed,
    milliseconds,
)
from bot.playground.seed import APP_ID, Json
from bot.playground.state import Workspace

PATH = "/link/"
CONNECTIONS_MAX = 10
# How long a connection is given to go by itself after `disconnect`.
LEAVE_SECONDS = 1.0
CLOSE_SECONDS = 1.0
# What may be answered with content; of the rest an acknowledgement is enough.
_ANSWERED = (COMMAND, "view_submission")
_TYPES = {COMMAND: "slash_commands", EVENT: "events_api"}
_OVER = (WSMsgType.CLOSE, WSMsgType.CLOSING, WSMsgType.CLOSED, WSMsgType.ERROR)


class Connection:
    """One WebSocket of the app, with the envelopes that wait for its word."""

    def __init__(self, socket: web.WebSocketResponse, request: web.Request) -> None:
        self.socket = socket
        self.waiting: dict[str, asyncio.Future[str]] = {}
        self.ended = asyncio.Event()
        self.leaving = False
        self.silent = False
        self._request = request

    def drop(self) -> None:
        """Break the TCP connection without a word."""
        if self._request.transport is not None:
            self._request.transport.abort()

    def end(self) -> None:
        """Let everything go that waits for this connection."""
        self.ended.set()
        for waiting in self.waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionResetError("the connection is gone"))


class Sockets:
    """The app's connections, as one transport."""

    def __init__(self, workspace: Workspace, log: Log, *, ack_seconds: float) -> None:
        self._workspace = workspace
        self._log = log
        self._ack_seconds = ack_seconds
        self._open: list[Connection] = []
        self._turn = 0

    @property
    def listening(self) -> int:
        """How many connections would hear of a payload."""
        return len([one for one in self._usable() if not one.silent])

    async def open(self) -> None:
        """Nothing to make ready: the app comes to us."""

    async def close(self) -> None:
        """Close every connection."""
        await asyncio.gather(*(one.socket.close() for one in self._open))

    # The app's side: it connects, and answers

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Serve one WebSocket until it ends."""
        if not self._workspace.use_ticket(request.query.get("ticket", "")):
            gone = {"ok": False, "error": "invalid_ticket"}
            return web.json_response(gone, status=403)
        socket = web.WebSocketResponse(autoping=False, timeout=CLOSE_SECONDS)
        await socket.prepare(request)
        if len(self._open) >= CONNECTIONS_MAX:
            # Which connection Slack turns away is not known; here it is the new one.
            await self._tell(socket, _disconnect("too_many_websockets"))
            await socket.close()
            return socket
        connection = Connection(socket, request)
        self._open.append(connection)
        try:
            await self._tell(socket, self._hello())
            await self._listen(connection)
        except ConnectionError:
            pass  # it ended before or while it was spoken to
        finally:
            self._open.remove(connection)
            connection.end()
        return socket

    async def _listen(self, connection: Connection) -> None:
        while True:
            message = await connection.socket.receive()
            if message.type in _OVER:
                return
            if connection.silent:
                continue
            if message.type is WSMsgType.PING:
                await connection.socket.pong(message.data)
            elif message.type in (WSMsgType.TEXT, WSMsgType.BINARY):
                self._take(connection, message)

    def _take(self, connection: Connection, message: WSMessage) -> None:
        """Hear the app's word on an envelope; anything else is noted as a problem."""
        frame = _object(message.data)
        waiting = connection.waiting.get(str(frame.get("envelope_id")))
        if waiting is None or waiting.done():
            self._note("slack", "ack", message.data, ["unknown_envelope"])
            return
        payload = frame.get("payload")
        waiting.set_result("" if payload is None else json.dumps(payload))

    # Our side

    def written(self, packet: Packet) -> Json:
        """The envelope of a packet."""
        envelope: Json = {
            "envelope_id": str(uuid.uuid4()),
            "type": _TYPES.get(packet.kind, "interactive"),
            "payload": packet.payload,
            "accepts_response_payload": packet.kind in _ANSWERED,
        }
        if packet.kind == EVENT:
            envelope["retry_attempt"] = packet.attempt
            envelope["retry_reason"] = "timeout" if packet.attempt else ""
        return {
            "url": self._workspace.socket_url,
            "headers": {},
            "envelope_id": envelope["envelope_id"],
            "body": json.dumps(envelope),
            "payload": packet.payload,
        }

    async def send(self, written: Json) -> Delivery:
        """Send an envelope over one of the connections and wait for its word."""
        started = time.perf_counter()
        usable = self._usable()
        if not usable:
            return failed("dispatch_failed", started)
        self._turn += 1
        connection = usable[self._turn % len(usable)]
        try:
            async with asyncio.timeout(self._ack_seconds):
                body = await _answer(connection, written)
        except TimeoutError:
            return failed("operation_timeout", started)
        except ConnectionError:
            return failed("dispatch_failed", started)
        return Delivery(status=200, ms=milliseconds(started), body=body)

    def _usable(self) -> list[Connection]:
        return [one for one in self._open if not one.leaving]

    # What can happen to connections

    async def refresh(self) -> int:
        """Ask every connection to leave, then close those that did not."""
        leaving = self._usable()
        await asyncio.gather(*(self._retire(one) for one in leaving))
        return len(leaving)

    async def _retire(self, connection: Connection) -> None:
        connection.leaving = True
        try:
            if not connection.silent:
                await self._tell(connection.socket, _disconnect("refresh_requested"))
            await asyncio.wait_for(connection.ended.wait(), LEAVE_SECONDS)
        except (TimeoutError, ConnectionError):
            await connection.socket.close()

    async def drop(self) -> int:
        """Break every connection without a word."""
        dropped = list(self._open)
        for connection in dropped:
            connection.drop()
        await asyncio.gather(*(one.ended.wait() for one in dropped))
        return len(dropped)

    async def silence(self) -> int:
        """Let every connection stay open and dead: what goes to it is lost."""
        for connection in self._open:
            connection.silent = True
        return len(self._open)

    # Frames of our own

    def _hello(self) -> Json:
        return {
            "type": "hello",
            "num_connections": len(self._open),
            "debug_info": {
                "host": "playground",
                "build_number": 1,
                "approximate_connection_time": 3600,
            },
            "connection_info": {"app_id": APP_ID},
        }

    async def _tell(self, socket: web.WebSocketResponse, frame: Json) -> None:
        self._note("app", frame["type"], frame, [])
        await socket.send_str(json.dumps(frame))

    def _note(self, to: str, kind: str, frame: Any, problems: list[str]) -> None:
        """Log a frame that has no answer."""
        shown = frame.decode(errors="replace") if isinstance(frame, bytes) else frame
        entry = self._log.begin(to, kind, {"body": shown})
        now = time.perf_counter()
        self._log.end(entry, answer=None, status=None, started=now, problems=problems)


async def _answer(connection: Connection, written: Json) -> str:
    waiting: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    connection.waiting[written["envelope_id"]] = waiting
    try:
        if not connection.silent:
            await connection.socket.send_str(written["body"])
        return await waiting
    finally:
        del connection.waiting[written["envelope_id"]]


def _disconnect(reason: str) -> Json:
    return {
        "type": "disconnect",
        "reason": reason,
        "debug_info": {"host": "playground"},
    }


def _object(text: str | bytes) -> Json:
    try:
        frame = json.loads(text)
    except ValueError:
        return {}
    return frame if isinstance(frame, dict) else {}
