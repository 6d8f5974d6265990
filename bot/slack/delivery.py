"""One message of the outbox carried to Slack: drawn from the store, sent, recorded.

A post is announced in its row before the call (`intent_at`), so that a reply that never
came is noticed: then the channel is searched for our own metadata before anything is
posted again (T23, T54). What a refusal leads to is decided in `fallback.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import structlog
from slack_sdk.web.async_client import AsyncWebClient

from bot.engine.parts import Parts
from bot.engine.reading import card_view
from bot.ports import CardView, MessageRow, Tx
from bot.slack.failures import FAILURES, Refusal, refusal
from bot.slack.ids import Sign
from bot.slack.people import SlackPeople
from bot.slack.render import news, request, run
from bot.slack.render.message import Message
from bot.slack.words import is_direct

log = structlog.get_logger(__name__)

EVENT_TYPE = "countersign_message"
#: How far back a lost post is searched for, in seconds before it was begun.
SEARCH_BACK = 5
SEARCH_LIMIT = 15

#: Neither the posts nor the edits may be interpreted by Slack (T31).
LITERAL: dict[str, Any] = {"parse": "none", "link_names": False}
QUIET: dict[str, Any] = {"unfurl_links": False, "unfurl_media": False, "mrkdwn": False}


@dataclass(frozen=True, kw_only=True)
class Desk:
    """What sending a message needs."""

    parts: Parts
    client: AsyncWebClient
    people: SlackPeople
    sign: Sign
    changed: Callable[[str], None] = lambda _: None  # a card of this run was drawn


async def deliver(desk: Desk, row: MessageRow) -> Refusal | None:
    """Send one message as the store says it should be now; a refusal is returned."""
    try:
        if row.kind == "neutral":
            await _neutralise(desk, row)
        elif row.kind in ("request", "run"):
            await _card(desk, row)
            desk.changed(row.run)
        else:
            await _words(desk, row)
    except FAILURES as error:
        return refusal(error)
    return None


async def change(
    desk: Desk, row: MessageRow, edit: Callable[[MessageRow], MessageRow]
) -> None:
    """Edit a row as it is now, not as it was when it was read."""

    def unit(tx: Tx) -> None:
        now = desk.parts.store.message(tx, desk.parts.tenant, row.id)
        if now is not None:
            desk.parts.store.save_message(tx, edit(now))

    await desk.parts.store.write(unit)


# -- cards ----------------------------------------------------------------------------


async def _card(desk: Desk, row: MessageRow) -> None:
    view = await view_of(desk, row)
    # As it is in this view: what is drawn now answers whatever was wanted until now.
    row = next((m for m in view.messages if m.id == row.id), row)
    drawn = draw(desk, row, view)
    if row.ts:
        await desk.client.chat_update(
            channel=row.channel,
            ts=row.ts,
            text=drawn.text,
            blocks=drawn.blocks,
            **LITERAL,
        )
        await change(desk, row, lambda now: replace(now, sent=row.wanted, attempts=0))
        return
    if row.intent_at is not None:
        found = await _find_lost(desk, row)
        if found is not None:
            await _record(desk, row, *found, sent=0)
            return
    await post_card(desk, row, drawn)


async def post_card(
    desk: Desk, row: MessageRow, drawn: Message, *, metadata: bool = True
) -> None:
    """Post a card for the first time and record where it is."""
    begun = desk.parts.clock.now()
    await change(desk, row, lambda now: replace(now, intent_at=now.intent_at or begun))
    extra: dict[str, Any] = {"metadata": _metadata(row)} if metadata else {}
    reply = await desk.client.chat_postMessage(
        channel=row.destination,
        text=drawn.text,
        blocks=drawn.blocks,
        **LITERAL,
        **QUIET,
        **extra,
    )
    await _record(desk, row, str(reply["channel"]), str(reply["ts"]), sent=row.wanted)


async def post_below(desk: Desk, row: MessageRow, drawn: Message) -> None:
    """Say in a card's thread what the card itself can no longer show."""
    await desk.client.chat_postMessage(
        channel=row.channel,
        thread_ts=row.ts,
        text=drawn.text,
        blocks=drawn.blocks,
        **LITERAL,
        **QUIET,
    )


async def _record(
    desk: Desk, row: MessageRow, channel: str, ts: str, *, sent: int
) -> None:
    """Write down where a card is. Every copy that is not the card gets neutralised."""
    parts = desk.parts

    def unit(tx: Tx) -> None:
        store, tenant = parts.store, parts.tenant
        now = store.message(tx, tenant, row.id)
        if now is None or (now.channel, now.ts) == (channel, ts):
            return
        there = store.message_at(tx, tenant, channel, ts)
        if now.ts:
            # A click has taken an earlier copy for the card while this one was posted.
            if there is None:
                _neutral(parts, tx, channel, ts)
            return
        if there is not None:
            # A click came before its place was known; the card goes there after all.
            store.save_message(tx, replace(there, state="gone"))
        placed = replace(now, channel=channel, ts=ts, sent=sent, attempts=0)
        store.save_message(tx, replace(placed, intent_at=None))

    await parts.store.write(unit)


def _neutral(parts: Parts, tx: Tx, channel: str, ts: str) -> None:
    row = MessageRow(
        tenant=parts.tenant,
        kind="neutral",
        channel=channel,
        ts=ts,
        due_at=parts.clock.now(),
    )
    parts.store.add_message(tx, row)


async def view_of(desk: Desk, row: MessageRow) -> CardView:
    """The newest state of what a message shows."""
    parts = desk.parts
    return await parts.store.read(lambda tx: card_view(parts, tx, row.run, row.request))


def draw(desk: Desk, row: MessageRow, view: CardView) -> Message:
    """A card, from the store as it is now (T24)."""
    if row.kind == "run":
        part = row.body.get("part")
        return run.answer(view) if part == "answer" else run.card(view, desk.sign)
    return request.card(view, desk.sign, direct=is_direct(row))


def _metadata(row: MessageRow) -> dict[str, Any]:
    payload = {"message": str(row.id), "run": row.run}
    return {"event_type": EVENT_TYPE, "event_payload": payload}


async def _find_lost(desk: Desk, row: MessageRow) -> tuple[str, str] | None:
    """Look for a post whose reply never came; None when it is not there, or unseen."""
    channel = row.channel or row.destination
    if channel.startswith(("U", "W")):
        # The id of a direct message is only known from the reply that was lost.
        return None
    try:
        history = await desk.client.conversations_history(
            channel=channel,
            oldest=str((row.intent_at or 0) // 1000 - SEARCH_BACK),
            limit=SEARCH_LIMIT,
            include_all_metadata=True,
        )
    except FAILURES as error:
        log.info("lost_post_not_searched", message=row.id, code=refusal(error).code)
        return None
    for message in history.get("messages") or []:
        metadata = message.get("metadata") or {}
        payload = metadata.get("event_payload") or {}
        if payload == _metadata(row)["event_payload"]:
            return channel, str(message["ts"])
    return None


# -- words ----------------------------------------------------------------------------


async def _neutralise(desk: Desk, row: MessageRow) -> None:
    drawn = request.neutral(desk.parts.prefix)
    await desk.client.chat_update(
        channel=row.channel, ts=row.ts, text=drawn.text, blocks=drawn.blocks, **LITERAL
    )
    await change(desk, row, lambda now: replace(now, sent=row.wanted))


async def _words(desk: Desk, row: MessageRow) -> None:
    """News in the card's thread, or a notice to whoever asked; doubling is harmless."""
    view = await view_of(desk, row)
    what = str(row.body["what"])
    if what == "decided_and_ended" and row.sent:
        what = "ended"  # the decision was told before the end could join it
    if what == "link":
        drawn = news.link(view, await _address(desk, row, view))
    else:
        drawn = WORDS[what](view, row.body)
    for channel, thread in await _where(desk, row, view):
        await desk.client.chat_postMessage(
            channel=channel,
            thread_ts=thread,
            text=drawn.text,
            blocks=None if row.body.get("plain") else drawn.blocks,
            **LITERAL,
            **QUIET,
        )
    await change(desk, row, lambda now: replace(now, sent=row.wanted))


WORDS: dict[str, Callable[[CardView, dict[str, Any]], Message]] = {
    "decided": lambda view, _: news.decided(view),
    "ended": lambda view, _: news.ended(view),
    "decided_and_ended": lambda view, _: news.decided_and_ended(view),
    "unknown": lambda view, _: news.unknown(view),
    "run_ended": lambda view, _: news.run_ended(view),
    "undeliverable": lambda view, body: news.undeliverable(
        view, str(body["place"]), card=str(body["card"]), code=str(body["code"])
    ),
    "stuck": lambda view, body: news.stuck(view, card=str(body["card"])),
}
#: News that concern the approvers too, wherever the requester is told.
FOR_ALL = frozenset({"unknown", "ended", "decided_and_ended"})


async def _where(
    desk: Desk, row: MessageRow, view: CardView
) -> list[tuple[str, str | None]]:
    """The thread of the card where the requester can read it, else a direct message."""
    requester = view.run.requester
    if row.body["what"] == "link" and not row.body.get("direct"):
        return [(view.run.channel, view.run.thread)]
    if row.kind == "notice" or row.body.get("direct"):
        return [(requester, None)]
    card = _thread_card(row, view)
    if card is None:
        return [(requester, None)]
    thread = (card.channel, card.ts)
    if card.destination == requester:
        return [thread]
    shared = not card.channel.startswith("D")
    if shared and await _reads_there(desk, requester, card.channel, view):
        return [thread]
    told: list[tuple[str, str | None]] = [(requester, None)]
    failed = view.run.state.ending is None or view.run.state.ending.value == "error"
    if row.body["what"] in FOR_ALL and failed:
        return [*told, thread]
    return told


async def _address(desk: Desk, row: MessageRow, view: CardView) -> str:
    """The permalink of a run's card."""
    card = next(m for m in view.messages if m.kind == "run" and m.ts)
    reply = await desk.client.chat_getPermalink(
        channel=card.channel, message_ts=card.ts
    )
    return str(reply["permalink"])


def _thread_card(row: MessageRow, view: CardView) -> MessageRow | None:
    """The card under which this news belongs: of its request, else of the run."""
    placed = [m for m in view.messages if m.ts and m.state == "live"]
    about = [m for m in placed if m.kind == "request" and m.request == row.request]
    own = [m for m in placed if m.kind == "run"]
    here = [m for m in about if m.channel == view.run.channel]
    shared = [m for m in about if not m.channel.startswith("D")]
    return next(iter([*here, *shared, *own, *about]), None)


async def _reads_there(
    desk: Desk, requester: str, channel: str, view: CardView
) -> bool:
    if channel == view.run.channel:
        return True
    return bool(await desk.people.in_channel(requester, channel))
