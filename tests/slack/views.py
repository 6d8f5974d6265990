"""Views of runs in any state, made by the real machine; a test names what differs."""

from dataclasses import replace

from bot.core.digest import canonical
from bot.core.events import (
    Answered,
    Cancelled,
    Entering,
    Event,
    Expired,
    Interrupted,
    Planned,
    Reported,
    Returned,
    Started,
    Suspended,
    Voided,
)
from bot.core.machine import begin, step
from bot.core.policy import Rule, Who
from bot.core.run import DURABLE, Run
from bot.ports import (
    CallRow,
    CardView,
    MessageRow,
    RequestRow,
    RunRow,
    Tenant,
    VoteRow,
)

TENANT = Tenant(team="T0HOME")
AT = 1_798_640_520_000  # 30 Dec 2026 14:22 UTC
MINUTE = 60_000
ONCALL = Who(group="S0SRE", handle="@sre-oncall")
ARGUMENTS = {"service": "api", "region": "eu"}

ASK = Rule(
    name="restart",
    gate="ask",
    approvers=(ONCALL,),
    post_to="C0OPS",
    post_to_name="#ops",
    headline="Restart {service} in {region}",
    expires=1800,
)
ALLOW = Rule(name="status", gate="allow")


def signed(ref: str, decision: str) -> str:
    """A token as a control carries it, readable in a failing test."""
    return f"{ref}.{decision}"


def run_state(tool: str, arguments: str, gated: bool, events: tuple[Event, ...]) -> Run:
    plan = Planned(tool=tool, arguments=arguments, gate="Run it?" if gated else None)
    state, _ = begin(DURABLE, Started(calls=(plan,)))
    for event in events:
        state, _ = step(state, event)
    return state


def run_row(state: Run, **changes: object) -> RunRow:
    row = RunRow(
        id="run-ref-0123456789abcd",
        number=318,
        tenant=TENANT,
        requester="U0ADA",
        requester_name="Ada",
        requester_key="T0HOME:U0ADA",
        channel="C0OPS",
        words="restart",
        state=state,
        created_at=AT,
    )
    return replace(row, **changes)


def call_row(rule: Rule = ASK, **changes: object) -> CallRow:
    row = CallRow(
        run="run-ref-0123456789abcd",
        turn=1,
        ordinal=1,
        tool="restart",
        arguments=canonical(ARGUMENTS),
        arguments_digest="cs1:00",
        definition="cs1:00",
        acting="bot",
        rule=rule,
        ref="call-ref-0123456789abc",
    )
    return replace(row, **changes)


def request_row(rule: Rule = ASK, **changes: object) -> RequestRow:
    row = RequestRow(
        ref="request-ref-0123456789",
        tenant=TENANT,
        run="run-ref-0123456789abcd",
        turn=1,
        ordinal=1,
        number=1,
        gate=True,
        kind="approval",
        prompt="Run restart?",
        url=None,
        data=None,
        tool_id="x",
        rule=rule,
        call_digest="cs1:4c1f88a093d2ffffffff",
        question_digest="cs1:01",
        expiry="1800",
        created_at=AT,
        expires_at=AT + 30 * MINUTE,
    )
    return replace(row, **changes)


def vote_row(**changes: object) -> VoteRow:
    row = VoteRow(
        request="request-ref-0123456789",
        person="T0HOME:U0BEN",
        user="U0BEN",
        name="Ben",
        decision="approve",
        at=AT + 3 * MINUTE,
    )
    return replace(row, **changes)


def posted(view: CardView, *destinations: str) -> CardView:
    """The same view with the cards of its request at these places."""
    cards = [
        MessageRow(
            tenant=TENANT,
            kind="request",
            run=view.run.id,
            request=view.request.ref,
            destination=where,
            channel=where if where[0] in "CD" else f"D{where[1:]}",
            ts=f"{n}.0",
        )
        for n, where in enumerate(destinations, 1)
    ]
    return replace(view, messages=cards)


def card_view(
    events: tuple[Event, ...] = (),
    *,
    rule: Rule = ASK,
    tool: str = "restart",
    arguments: dict[str, object] | None = None,
    call: dict[str, object] | None = None,
    run: dict[str, object] | None = None,
    request: dict[str, object] | None = None,
    votes: tuple[VoteRow, ...] = (),
    others: tuple[RequestRow, ...] = (),
) -> CardView:
    """A direct run of one gated call, after these events."""
    text = canonical(ARGUMENTS if arguments is None else arguments)
    asked = request_row(rule, **(request or {}))
    state = run_state(tool, text, asked.gate, events)
    made = call_row(rule, **{"tool": tool, "arguments": text, **(call or {})})
    return CardView(
        run=run_row(state, **{"words": tool, **(run or {})}),
        calls=[made],
        requests=[asked, *others],
        votes=list(votes),
        messages=[],
        request=asked,
    )


def ungated_view(events: tuple[Event, ...] = (), **call: object) -> CardView:
    """A direct run that nobody had to agree to."""
    text = canonical({"service": "api"})
    made = call_row(ALLOW, **{"tool": "status", "arguments": text, **call})
    state = run_state("status", text, False, events)
    row = run_row(state, words="status")
    return CardView(run=row, calls=[made], requests=[], votes=[], messages=[])


# -- the usual states ----------------------------------------------------------

YES = Answered(request=1, ok=True)
NO = Answered(request=1, ok=False)
ENTER = Entering(ordinal=1)
APPROVED = {
    "status": "approved",
    "decided_at": AT + 3 * MINUTE,
    "decided_by": "U0BEN",
    "decided_name": "Ben",
}
STARTED = {"execution": "318-1.1", "claimed_at": AT + 3 * MINUTE + 200}


def approved(
    *events: Event, call: dict[str, object] | None = None, **more: object
) -> CardView:
    """Ben said yes; then these events happened."""
    request = {**APPROVED, **more.pop("request", {})}
    votes = more.pop("votes", (vote_row(),))
    return card_view((YES, *events), request=request, votes=votes, call=call, **more)


def settled(status: str, event: Event, **more: object) -> CardView:
    """A request that was closed without a yes."""
    request = {
        "status": status,
        "decided_at": AT + 3 * MINUTE,
        "decided_by": "U0BEN",
        "decided_name": "Ben",
        **more.pop("request", {}),
    }
    return card_view((event,), request=request, **more)


def done(output: str = "3 of 3 healthy") -> CardView:
    returned = Returned(ordinal=1, execution=1, output=output)
    ended = {**STARTED, "ended_at": AT + 3 * MINUTE + 41_400, "outcome": "ok"}
    return approved(ENTER, returned, call={**ended, "output": output})


def failed(output: str = "connection refused (incident 7f3a)") -> CardView:
    returned = Returned(ordinal=1, execution=1, output=output, is_error=True)
    ended = {**STARTED, "ended_at": AT + 3 * MINUTE + 12_500, "outcome": "error"}
    return approved(ENTER, returned, call={**ended, "output": output})


LOST = Interrupted(ordinal=1, execution=1, idempotent=False)
CANCEL = {
    "cancelled_by": "U0ADA",
    "cancelled_name": "Ada",
    "cancelled_at": AT + 8 * MINUTE,
}


def unknown(**more: object) -> CardView:
    return approved(ENTER, LOST, call=STARTED, **more)


def reported(*, ran: bool) -> CardView:
    word = "it ran" if ran else "it did not run"
    call = {
        **STARTED,
        "ended_at": AT + 20 * MINUTE,
        "outcome": "unknown",
        "output": f"outcome unknown: Cleo says {word}",
        "reported_by": "U0CLEO",
        "reported_name": "Cleo",
        "reported_at": AT + 20 * MINUTE,
    }
    event = Reported(ordinal=1, ran=ran, by="Cleo")
    return approved(ENTER, LOST, event, call=call)


def asked_by_tool(prompt: str = "Wait for it", **request: object) -> CardView:
    """An ungated tool that asked something of whoever started it."""
    question = Suspended(ordinal=1, execution=1, prompt=prompt, question="q1")
    changes = {"kind": "wait", "gate": False, "prompt": prompt, **request}
    rule = replace(ALLOW, name="countdown")
    return card_view(
        (ENTER, question),
        rule=rule,
        tool="countdown",
        arguments={"seconds": 3},
        call=STARTED,
        request=changes,
    )


EVERY = {
    "open": card_view(),
    "asked by a tool": asked_by_tool(),
    "starting": approved(),
    "running": approved(ENTER, call=STARTED),
    "done": done(),
    "failed": failed(),
    "unknown": unknown(),
    "said to have run": reported(ran=True),
    "said not to have run": reported(ran=False),
    "denied": settled("denied", NO),
    "expired": settled("expired", Expired(request=1)),
    "cancelled": settled("cancelled", Cancelled(), run=CANCEL),
    "void": settled("void", Voided(ordinal=1)),
    "void at the claim": approved(Voided(ordinal=1)),
    "cancelled before its start": approved(Cancelled(), run=CANCEL),
    "cancelled too late": approved(ENTER, Cancelled(), call=STARTED, run=CANCEL),
}
