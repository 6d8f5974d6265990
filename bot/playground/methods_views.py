"""The methods of `views.*`, with Slack's refusals."""

import json
from typing import Any

from bot.playground import views
from bot.playground.blockkit import view_problems
from bot.playground.calls import Call, Method, Refusal, invalid_arguments
from bot.playground.seed import Json
from bot.playground.state import Trigger

VIEW_BYTES = 250_000


def checked_view(source: Any, kind: str) -> Json:
    """A view as given, or the refusal Slack would send."""
    if not isinstance(source, dict):
        raise invalid_arguments("must provide an object [json-pointer:/view]")
    if len(json.dumps(source)) > VIEW_BYTES:
        raise Refusal("view_too_large")
    problems = view_problems(source)
    if not problems and source["type"] != kind:
        problems = [f"[ERROR] must be a {kind} view [json-pointer:/view/type]"]
    if problems:
        raise Refusal("invalid_arguments", response_metadata={"messages": problems})
    return source


def _view(call: Call, kind: str) -> Json:
    if call.data("view") is None:
        raise invalid_arguments("missing required field: view")
    return checked_view(call.data("view"), kind)


def _trigger(call: Call) -> Trigger:
    found = call.workspace.spend_trigger(call.need("trigger_id"))
    if isinstance(found, str):
        raise Refusal(found)
    return found


def _check_external_id(call: Call, source: Json, own: Json | None = None) -> None:
    same = views.find_external(call.workspace, source.get("external_id", ""))
    if same is not None and same is not own:
        raise Refusal("duplicate_external_id")


def _open(call: Call) -> Json:
    source = _view(call, "modal")
    _check_external_id(call, source)
    trigger = _trigger(call)
    view = views.open_modal(call.workspace, trigger.user, source)
    return {"view": dict(view)}


def _push(call: Call) -> Json:
    source = _view(call, "modal")
    _check_external_id(call, source)
    trigger = _trigger(call)
    stack = call.workspace.views.get(trigger.user)
    if not stack:
        raise Refusal("invalid_trigger_id")
    if len(stack) >= views.STACK_MAX:
        raise Refusal("push_limit_reached")
    return {"view": dict(views.push_modal(call.workspace, trigger.user, source))}


def _update(call: Call) -> Json:
    user_id, view = _target(call)
    source = _view(call, view["type"])
    _check_external_id(call, source, own=view)
    _check_hash(call, view)
    return {"view": dict(views.update_view(call.workspace, user_id, view, source))}


def _target(call: Call) -> tuple[str, Json]:
    view_id, external_id = call.text("view_id"), call.text("external_id")
    if view_id is None and external_id is None:
        raise invalid_arguments("missing required field: view_id or external_id")
    if view_id is None:
        named = views.find_external(call.workspace, external_id or "")
        view_id = named["id"] if named else ""
    found = views.find(call.workspace, view_id)
    if found is None:
        raise Refusal("not_found")
    return found


def _check_hash(call: Call, view: Json) -> None:
    if call.text("hash") not in (None, view["hash"]):
        raise Refusal("hash_conflict")


def _publish(call: Call) -> Json:
    user_id = call.need("user_id")
    source = _view(call, "home")
    if not call.workspace.app.has_home:
        raise Refusal("not_enabled")
    if user_id not in call.workspace.users:
        raise invalid_arguments("no such user: user_id")
    old = call.workspace.home.get(user_id)
    _check_external_id(call, source, own=old)
    if old is not None:
        _check_hash(call, old)
    elif call.text("hash") is not None:
        raise Refusal("hash_conflict")
    return {"view": dict(views.publish(call.workspace, user_id, source))}


METHODS = {
    "views.open": Method(run=_open),
    "views.publish": Method(run=_publish),
    "views.push": Method(run=_push),
    "views.update": Method(run=_update),
}
