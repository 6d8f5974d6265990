"""Takes what Slack has to say to the app, and logs what the app said to it.

Commands and interactions are sent once; events are sent again after a failure, up to
three times. The ways there are in `http.py` and `socket.py`, what answers mean in
`answers.py`.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from bot.playground.log import Log
from bot.playground.packet import COMMAND, EVENT, Delivery, Packet, Transport
from bot.playground.payloads import event_callback
from bot.playground.seed import Json
from bot.playground.state import Workspace

ACK_SECONDS = 3.0
RETRY_SECONDS = (1.0, 2.0, 4.0)


class Carrier:
    """Sends to the app by one transport."""

    def __init__(
        self,
        workspace: Workspace,
        log: Log,
        transport: Transport,
        *,
        retry_seconds: tuple[float, ...] = RETRY_SECONDS,
    ) -> None:
        self._workspace = workspace
        self._log = log
        self._transport = transport
        self._retry_seconds = retry_seconds
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Make ready to send."""
        await self._transport.open()

    async def close(self) -> None:
        """Drop what is still to be sent again, and end."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._transport.close()

    async def command(self, form: dict[str, str]) -> Delivery:
        """Send a slash command."""
        return await self._send(Packet(kind=COMMAND, payload=dict(form)))

    async def interaction(self, payload: Json) -> Delivery:
        """Send a click, a submitted or a closed view."""
        return await self._send(Packet(kind=payload["type"], payload=payload))

    async def event(self, event: Json) -> Delivery:
        """Send an event; after a failure it is sent again in the background."""
        payload = event_callback(self._workspace, event)
        # What is sent again is what was sent, whatever has become of the message.
        packet = Packet(kind=EVENT, payload=_frozen(payload))
        first = await self._send(packet)
        if first.error is not None and not first.no_retry:
            self._keep(self._again(packet, first))
        return first

    def announce(self, event: Json) -> None:
        """Send an event in the background, where nobody waits for the answer."""
        self._keep(self._announced(event))

    async def verify_url(self) -> Delivery:
        """Ask the app to prove that the URL is its own."""
        challenge = hashlib.sha256(str(self._workspace.clock()).encode()).hexdigest()
        payload = {
            "type": "url_verification",
            "token": self._workspace.app.verification_token,
            "challenge": challenge,
        }
        delivery = await self._send(Packet(kind=EVENT, payload=payload))
        if delivery.error is None and challenge not in delivery.body:
            return replace(delivery, error="challenge_failed")
        return delivery

    async def _announced(self, event: Json) -> None:
        await self.event(event)

    async def _again(self, packet: Packet, last: Delivery) -> None:
        for number, seconds in enumerate(self._retry_seconds, start=1):
            await asyncio.sleep(seconds)
            last = await self._send(replace(packet, attempt=number, last=last))
            if last.error is None or last.no_retry:
                return

    def _keep(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, packet: Packet) -> Delivery:
        # The log keeps what was sent, whatever becomes of the message in it.
        packet = replace(packet, payload=_frozen(packet.payload))
        written = self._transport.written(packet)
        entry = self._log.begin("app", packet.kind, written)
        started = time.perf_counter()
        delivery = await self._transport.send(written)
        self._log.end(
            entry,
            answer=delivery.body,
            status=delivery.status,
            started=started,
            problems=[delivery.error] if delivery.error else [],
        )
        return delivery


def _frozen(payload: Json) -> Json:
    copied: Json = json.loads(json.dumps(payload))
    return copied
