"""Rows put together for those who draw or decide, inside one transaction."""

from __future__ import annotations

from bot.core.policy import Asked
from bot.engine.parts import Parts
from bot.ports import CardView, RequestRow, RunRow, Tx, VoteRow


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
        calls=parts.store.calls(tx, run, row.state.turn),
        requests=requests,
        votes=_votes(parts, tx, requests),
        messages=parts.store.messages(tx, run),
        request=about or (requests[-1] if requests else None),
        prefix=parts.prefix,
    )


def _votes(parts: Parts, tx: Tx, requests: list[RequestRow]) -> list[VoteRow]:
    return [vote for r in requests for vote in parts.store.votes(tx, r.ref)]


def asked(request: RequestRow, run: RunRow) -> Asked:
    """What policy needs to know of a request."""
    return Asked(
        kind=request.kind,
        gate=request.gate,
        status=request.status,
        requester=run.requester,
        rule=request.rule,
        expires_at=request.expires_at,
        tenant_team=request.tenant.team,
        tenant_enterprise=request.tenant.enterprise,
    )
