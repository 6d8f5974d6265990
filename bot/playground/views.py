"""Modals and Home views: each person's stack, hashes, and what was typed into them.

Changes to the workspace only; the methods of `views.*` are in `methods_views.py`.
"""

import secrets

from bot.playground.blockkit import stored
from bot.playground.controls import Values, state_values
from bot.playground.seed import APP_ID, BOT_ID, TEAM_ID, Json
from bot.playground.state import Workspace

STACK_MAX = 3


def find(workspace: Workspace, view_id: str) -> tuple[str, Json] | None:
    """The view of this id with the person who sees it, modal or Home."""
    for user_id, stack in workspace.views.items():
        for view in stack:
            if view["id"] == view_id:
                return user_id, view
    for user_id, view in workspace.home.items():
        if view["id"] == view_id:
            return user_id, view
    return None


def find_external(workspace: Workspace, external_id: str) -> Json | None:
    """The view that the app gave this id of its own."""
    everyone = [*workspace.home.values()]
    for stack in workspace.views.values():
        everyone += stack
    for view in everyone:
        if external_id and view["external_id"] == external_id:
            return view
    return None


def _built(workspace: Workspace, source: Json, view_id: str) -> Json:
    return {
        "id": view_id,
        "team_id": TEAM_ID,
        "type": source["type"],
        "blocks": stored(source["blocks"]),
        "private_metadata": source.get("private_metadata", ""),
        "callback_id": source.get("callback_id", ""),
        "hash": f"{int(workspace.clock())}.{secrets.token_hex(4)}",
        "title": source.get("title"),
        "submit": source.get("submit"),
        "close": source.get("close"),
        "clear_on_close": source.get("clear_on_close", False),
        "notify_on_close": source.get("notify_on_close", False),
        "external_id": source.get("external_id", ""),
        "app_id": APP_ID,
        "app_installed_team_id": TEAM_ID,
        "bot_id": BOT_ID,
        "previous_view_id": None,
        "root_view_id": view_id,
        "state": {"values": {}},
    }


def _new_id() -> str:
    return f"V0{secrets.token_hex(5).upper()}"


def open_modal(workspace: Workspace, user_id: str, source: Json) -> Json:
    """Show a modal to a person, in place of any modal they had open."""
    view = _built(workspace, source, _new_id())
    with workspace.change():
        workspace.views[user_id] = [view]
    return refreshed(workspace, user_id, view)


def push_modal(workspace: Workspace, user_id: str, source: Json) -> Json:
    """Lay a modal over the one that a person sees."""
    stack = workspace.views[user_id]
    view = _built(workspace, source, _new_id())
    view["previous_view_id"] = stack[-1]["id"]
    view["root_view_id"] = stack[0]["id"]
    with workspace.change():
        stack.append(view)
    return refreshed(workspace, user_id, view)


def update_view(workspace: Workspace, user_id: str, view: Json, source: Json) -> Json:
    """Put another content in a view; what was typed stays where the ids do."""
    fresh = _built(workspace, source, view["id"])
    for kept in ("previous_view_id", "root_view_id"):
        fresh[kept] = view[kept]
    with workspace.change():
        view.clear()
        view.update(fresh)
    return refreshed(workspace, user_id, view)


def publish(workspace: Workspace, user_id: str, source: Json) -> Json:
    """Put a view on a person's Home tab."""
    old = workspace.home.get(user_id)
    if old is not None:
        return update_view(workspace, user_id, old, source)
    view = _built(workspace, source, _new_id())
    with workspace.change():
        workspace.home[user_id] = view
    return refreshed(workspace, user_id, view)


def close_top(workspace: Workspace, user_id: str) -> None:
    """Take the uppermost modal of a person away."""
    with workspace.change():
        workspace.views[user_id].pop()


def close_all(workspace: Workspace, user_id: str) -> None:
    """Take all modals of a person away."""
    with workspace.change():
        workspace.views[user_id] = []


def refreshed(workspace: Workspace, user_id: str, view: Json) -> Json:
    """The view with `state.values` as they are now."""
    given: Values = workspace.inputs.get((view["id"], user_id), {})
    with workspace.change():
        view["state"] = {"values": state_values(view["blocks"], given)}
    return view
