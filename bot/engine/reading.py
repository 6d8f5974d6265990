"""Rows put together for those who draw or decide, inside one transaction."""

from __future__ import annotations

from functools import partial

import structlog

from bot.core.policy import Asked
from bot.engine.parts import Parts
from bot.ports import CardView, RequestRow, RunRow, Tx, VoteRow

log = structlog.get_logger(__name__)

#: How many requests are read at once.
BATCH = 25


def card_view(parts: Parts, tx: Tx, run: str, request: str = "") -> CardView:
    """Everything that a card of this run, or of one of its requests, shows.

    `KeyError` when the workspace has no such run or request.
    """
    row = parts.store.run(tx, parts.tenant, run)
    if row is None:
        raise KeyError(run)
    requests = parts.store.requests(tx, run)
    about = next((r for r in requests if r.ref == request), None)
    if request and about is None:
        raise KeyError(request)
    return CardView(
        run=row,
        calls=parts.store.all_calls(tx, run),
        requests=requests,
        votes=_votes(parts, tx, requests),
        messages=parts.store.messages(tx, run),
        request=about or (requests[-1] if requests else None),
        prefix=parts.prefix,
    )


def _votes(parts: Parts, tx: Tx, requests: list[RequestRow]) -> list[VoteRow]:
    return [vote for r in requests for vote in parts.store.votes(tx, r.ref)]


async def open_views(parts: Parts, limit: int) -> list[CardView]:
    """The open requests of the workspace, the most urgent first."""
    pairs = await parts.store.read(
        lambda tx: parts.store.open_requests(tx, parts.tenant, limit)
    )
    return await views_of(parts, pairs)


async def views_of(parts: Parts, pairs: list[tuple[str, str]]) -> list[CardView]:
    """The views of these runs and requests.

    Read in small batches, since clicks wait for the same thread; one that cannot be
    read is logged and left out.
    """
    views: list[CardView] = []
    for start in range(0, len(pairs), BATCH):
        batch = pairs[start : start + BATCH]
        views += await parts.store.read(partial(_readable, parts, batch))
    return views


def _readable(parts: Parts, pairs: list[tuple[str, str]], tx: Tx) -> list[CardView]:
    views: list[CardView] = []
    for run, ref in pairs:
        try:
            views.append(card_view(parts, tx, run, ref))
        except Exception:
            log.error("request_unreadable", run=run, exc_info=True)
    return views


def asked(request: RequestRow, run: RunRow) -> Asked:
    """What policy needs to know of a request."""
    return Asked(
        kind=request.kind,
        gate=request.gate,
        status=request.status,
        requester=run.requester,
        requester_key=run.requester_key,
        rule=request.rule,
        expires_at=request.expires_at,
        tenant_team=request.tenant.team,
        tenant_enterprise=request.tenant.enterprise,
    )
