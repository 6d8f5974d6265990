"""Forms in tests: opening one from a card, sending it off, forging what is sent."""

import json
from urllib.parse import urlencode

BLOCK, FIELD = "cs_reason", "cs_words"


async def opened(bench, user, card):
    """Press *Deny, say why*; the form that this person then sees."""
    await bench.press(user, card, "deny_why")
    await bench.quiet()
    (view,) = await shown(bench, user)
    return view


async def shown(bench, user):
    """The forms that somebody has open, the uppermost last."""
    return (await bench.slack.state())["views"].get(user, [])


async def sent(bench, user, view, reason=None):
    """Fill the form in and send it off; the error in it, or "" when it closed."""
    done = await bench.slack.submit(user, view["id"], {BLOCK: {FIELD: reason}})
    assert done["ok"] or done["error"] == "view_errors", done
    assert done["delivery"]["status"] == 200
    await bench.quiet()
    return error_in(done["delivery"]["body"])


async def forged(bench, user, view, reason=None, *, kind="view_submission", **changes):
    """A signed payload of a form, with parts of its view or `team` changed."""
    team = changes.pop("team", bench.slack.team_id)
    values = {BLOCK: {FIELD: {"type": "plain_text_input", "value": reason}}}
    body = {
        "type": kind,
        "api_app_id": bench.slack.app_id,
        "team": {"id": team, "domain": "home"},
        "user": {"id": user, "team_id": team},
        "enterprise": None,
        "is_enterprise_install": False,
        "trigger_id": "1.2.ab",
        "view": {**view, "state": {"values": values}, **changes},
        "response_urls": [],
    }
    return await bench.send(urlencode({"payload": json.dumps(body)}).encode())


async def answered(bench, *arguments, **changes):
    """The error that a forged form is answered with, or "" when it would close."""
    answer = await forged(bench, *arguments, **changes)
    assert answer.status_code == 200
    await bench.quiet()
    return error_in(answer.text)


def error_in(body):
    if isinstance(body, str):
        body = json.loads(body) if body else {}
    if not body:
        return ""
    assert body["response_action"] == "errors"
    assert list(body["errors"]) == [BLOCK]
    return body["errors"][BLOCK]
