"""The outbox's sender: what is due is carried to Slack, one at a time per channel.

Rows are the truth: a wake-up only says that something is due. A card is drawn from the
store when it is sent, one message per channel is in flight, and so an older picture
never overwrites a newer one (T24). Pauses that Slack asks for hold for everything.
"""

from __future__ import annotations

import asyncio

import structlog

from bot.errors import StoreError
from bot.ports import CardView, MessageRow
from bot.slack.delivery import Desk, deliver
from bot.slack.failures import Failure, Refusal, refusal
from bot.slack.fallback import react, react_again
from bot.slack.render import request, run

log = structlog.get_logger(__name__)

BATCH = 200
#: Slack takes about one post per second and channel, with bursts (slack-facts §4.1).
BURST, PACE = 4, 1.0
#: Edits of run cards: one card this often, all of a workspace so many a minute.
EDIT_EVERY, EDITS_PER_MINUTE, MINUTE = 3.0, 30, 60.0
#: More lanes than this are not kept in mind once they have rested.
MOST_LANES = 1_000
#: Longest sleep without a wake-up, in seconds.
LONGEST_SLEEP = 60.0
#: A dead token is tried again after so many seconds.
DEAD_TOKEN = 60.0


class SlackCourier:
    """ports.Courier over the Web API."""

    def __init__(self) -> None:
        self._desk: Desk | None = None
        self._woken = asyncio.Event()
        self._busy: dict[str, asyncio.Task[None]] = {}
        self._paused_until = 0.0
        self._spent: dict[str, tuple[float, float]] = {}  # channel -> tokens, since
        self._edits = RunEdits()
        #: Slack's word for why our token is refused; "" while it works.
        self.token_error = ""

    def unfit(self, view: CardView) -> str | None:
        """Why this request cannot be shown in full on a card (T29)."""
        return request.fits(view)

    def spills(self, words: str) -> bool:
        """Whether a model's final words need a message of their own."""
        return run.spills(words)

    def wake(self) -> None:
        """Something may be due."""
        self._woken.set()

    async def run(self, desk: Desk) -> None:
        """Send for ever what is due."""
        self._desk = desk
        while True:
            self._woken.clear()
            try:
                wait = await self._round(desk)
            except Exception:
                # One fault must not end the carrying of everything else.
                log.error("outbox_put_off", exc_info=True)
                wait = 1.0
            await self._sleep(desk, wait)

    @property
    def busy(self) -> bool:
        """Whether a message is on its way."""
        return bool(self._busy)

    @property
    def woken(self) -> bool:
        """Whether a wake-up has not been looked into yet."""
        return self._woken.is_set()

    async def drain(self) -> None:
        """Wait for what is in flight."""
        if self._busy:
            await asyncio.gather(*self._busy.values(), return_exceptions=True)

    async def _sleep(self, desk: Desk, wait: float) -> None:
        woken = asyncio.create_task(self._woken.wait())
        slept = asyncio.create_task(desk.parts.clock.sleep(wait))
        try:
            await asyncio.wait([woken, slept], return_when=asyncio.FIRST_COMPLETED)
        finally:
            woken.cancel()
            slept.cancel()
            await asyncio.gather(woken, slept, return_exceptions=True)

    async def _round(self, desk: Desk) -> float:
        """Begin what is due in every free channel; seconds until the next is due."""
        clock, store = desk.parts.clock, desk.parts.store
        paused = self._paused_until - clock.monotonic()
        if paused > 0:
            return paused
        tenant, now = desk.parts.tenant, clock.now()
        rows = await store.read(lambda tx: store.messages_due(tx, tenant, now, BATCH))
        waits: list[float] = []
        for row in rows:
            lane = lane_of(row)
            if lane in self._busy:
                continue
            wait = self._pace(lane, clock.monotonic())
            wait = max(wait, self._edits.wait(row, clock.monotonic()))
            if wait > 0:
                waits.append(wait)
                continue
            self._busy[lane] = asyncio.create_task(self._send(desk, lane, row))
        due = await store.read(lambda tx: store.next_due(tx, tenant))
        later = (due - clock.now()) / 1000 if due is not None else LONGEST_SLEEP
        if later > 0:
            waits.append(later)
        return min([*waits, LONGEST_SLEEP])

    def _pace(self, lane: str, now: float) -> float:
        """0 when this channel may have another message now, else how long to wait."""
        tokens, since = self._spent.get(lane, (float(BURST), now))
        tokens = min(BURST, tokens + (now - since) / PACE)
        if tokens < 1:
            return (1 - tokens) * PACE
        if len(self._spent) > MOST_LANES:
            rested = {k: v for k, v in self._spent.items() if now - v[1] < BURST * PACE}
            self._spent = rested
        self._spent[lane] = (tokens - 1, now)
        return 0.0

    async def _send(self, desk: Desk, lane: str, row: MessageRow) -> None:
        try:
            refused = await deliver(desk, row)
            if refused is None:
                self.token_error = ""
            else:
                await self._refused(desk, row, refused)
        except Exception:
            log.error("message_failed", message=row.id, exc_info=True)
            await self._set_aside(desk, row)
        finally:
            del self._busy[lane]
            self.wake()

    async def _refused(self, desk: Desk, row: MessageRow, refused: Refusal) -> None:
        self._heed(desk, refused)
        try:
            await react(desk, row, refused)
        except Exception as error:
            # Faults of ours are raised again.
            second = refusal(error)
            self._heed(desk, second)
            await react_again(desk, row, second)

    def _heed(self, desk: Desk, refused: Refusal) -> None:
        """Pause everything when Slack says that it takes nothing at the moment."""
        if refused.kind is Failure.WAIT:
            self._pause(desk, max(refused.wait, 1.0))
        elif refused.kind is Failure.TOKEN:
            self.token_error = refused.code
            log.error("token_refused", code=refused.code)
            self._pause(desk, DEAD_TOKEN)

    async def _set_aside(self, desk: Desk, row: MessageRow) -> None:
        """A message that makes us fail must not hold up the others."""
        try:
            await react(desk, row, Refusal(kind=Failure.AMBIGUOUS, code="internal"))
        except StoreError:
            log.warning("message_not_recorded", message=row.id, exc_info=True)

    def _pause(self, desk: Desk, seconds: float) -> None:
        until = desk.parts.clock.monotonic() + seconds
        self._paused_until = max(self._paused_until, until)


class RunEdits:
    """When a run's card may be edited: every 3 s, and 30 times a minute in all.

    Request cards are never held back by it: settling one always goes first.
    """

    def __init__(self) -> None:
        self._last: dict[int, float] = {}
        self._recent: list[float] = []

    def wait(self, row: MessageRow, now: float) -> float:
        """0 when this edit may go out now (and then it counts), else how long not."""
        if row.kind != "run" or not row.ts:
            return 0.0
        self._recent = [at for at in self._recent if now - at < MINUTE]
        own = self._last.get(row.id, now - EDIT_EVERY) + EDIT_EVERY - now
        shared = 0.0
        if len(self._recent) >= EDITS_PER_MINUTE:
            shared = self._recent[0] + MINUTE - now
        if own > 0 or shared > 0:
            return max(own, shared)
        self._last = {k: at for k, at in self._last.items() if now - at < MINUTE}
        self._last[row.id] = now
        self._recent.append(now)
        return 0.0


def lane_of(row: MessageRow) -> str:
    """Messages of one lane are sent one after the other."""
    if row.kind in ("news", "notice"):
        return f"words {row.run}"
    return row.channel or row.destination
