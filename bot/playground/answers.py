"""What the app's answers do: messages in an ack, view answers, response URLs.

Changes to the workspace only. How the answers arrive is in `people.py` and
`server.py`.
"""

import json
from typing import Any

from bot.playground import views
from bot.playground.blockkit import stored
from bot.playground.calls import Refusal
from bot.playground.methods_chat import checked_blocks
from bot.playground.methods_views import checked_view
from bot.playground.seed import BOT_USER, SLACKBOT, Json
from bot.playground.state import ReturnPath, Workspace


def take_command_answer(
    workspace: Workspace, channel_id: str, user_id: str, typed: str, body: str
) -> None:
    """Show what an app answered a slash command with; nothing for an empty body."""
    content = _command_content(body)
    if content is None:
        return
    blocks = checked_blocks(content.get("blocks"))
    text = str(content.get("text") or "")
    if content.get("response_type") != "in_channel":
        if text or blocks:
            workspace.whisper(channel_id, user_id, text, blocks=blocks)
        return
    workspace.post(channel_id, user_id, typed)
    if text or blocks:
        workspace.post(channel_id, BOT_USER, text, blocks=blocks)


def _command_content(body: str) -> Json | None:
    if not body.strip():
        return None
    try:
        content = json.loads(body)
    except ValueError:
        return {"text": body}
    return content if isinstance(content, dict) else {"text": body}


def warn(workspace: Workspace, channel_id: str, user_id: str, words: str) -> None:
    """Let Slackbot tell a person privately that something failed."""
    workspace.whisper(channel_id, user_id, words, author=SLACKBOT)


def take_view_answer(
    workspace: Workspace, user_id: str, view: Json, body: str
) -> dict[str, str]:
    """Do what a view_submission was answered with; returns errors to be shown."""
    answer = _view_content(body)
    what = answer.get("response_action")
    if what is None:
        _close(workspace, user_id, view)
        return {}
    if what == "errors":
        return _view_errors(view, answer.get("errors"))
    if what == "clear":
        views.close_all(workspace, user_id)
        return {}
    if what not in ("update", "push"):
        raise Refusal("invalid_response_action")
    source = checked_view(answer.get("view"), "modal")
    stack = workspace.views.get(user_id, [])
    same = views.find_external(workspace, source.get("external_id", ""))
    if same is not None and not (what == "update" and same is view):
        raise Refusal("duplicate_external_id")
    if view not in stack:
        return {}  # the person closed it in the meantime
    if what == "update":
        views.update_view(workspace, user_id, view, source)
    elif len(stack) >= views.STACK_MAX:
        raise Refusal("push_limit_reached")
    else:
        views.push_modal(workspace, user_id, source)
    return {}


def _view_content(body: str) -> Json:
    if not body.strip():
        return {}
    try:
        answer = json.loads(body)
    except ValueError:
        raise Refusal("invalid_response_action") from None
    if answer == {}:
        return {}
    if not isinstance(answer, dict) or "response_action" not in answer:
        raise Refusal("invalid_response_action")
    return answer


def _view_errors(view: Json, errors: Any) -> dict[str, str]:
    inputs = [one["block_id"] for one in view["blocks"] if one["type"] == "input"]
    if not isinstance(errors, dict) or not errors:
        raise Refusal("invalid_response_action")
    if any(not isinstance(one, str) or not one for one in errors.values()):
        raise Refusal("invalid_response_action")
    if not set(errors) <= set(inputs):
        raise Refusal("invalid_response_action")
    return errors


def _close(workspace: Workspace, user_id: str, view: Json) -> None:
    stack = workspace.views.get(user_id, [])
    with workspace.change():
        workspace.views[user_id] = [one for one in stack if one is not view]


def take_return(workspace: Workspace, name: str, content: Json) -> None:
    """Do what was sent to a response URL, or refuse it."""
    path = workspace.use_return_path(name)
    if isinstance(path, str):
        raise Refusal(path)
    if content.get("delete_original") is True and path.ts is not None:
        _delete_original(workspace, path)
        return
    blocks = checked_blocks(content.get("blocks"))
    text = str(content.get("text") or "")
    if not (text or blocks):
        raise Refusal("no_text")
    if content.get("replace_original") is True and path.ts is not None:
        _replace_original(workspace, path, content, blocks)
    elif content.get("response_type") == "in_channel":
        _post_for_all(workspace, path, content, blocks)
    else:
        workspace.whisper(path.channel, path.user, text, blocks=blocks)


def _original(workspace: Workspace, path: ReturnPath) -> Json:
    ts = path.ts or ""
    if path.is_ephemeral:
        found = workspace.whispered(path.user, ts)
    else:
        found = workspace.messages[path.channel].get(ts)
    if found is None:
        raise Refusal("message_not_found")
    return found


def _delete_original(workspace: Workspace, path: ReturnPath) -> None:
    message = _original(workspace, path)
    if path.is_ephemeral:
        workspace.hush(path.user, message["ts"])
    else:
        workspace.remove(path.channel, message["ts"])


def _replace_original(
    workspace: Workspace, path: ReturnPath, content: Json, blocks: list[Any]
) -> None:
    message = _original(workspace, path)
    fields: Json = {"blocks": stored(blocks) or None}
    text = content.get("text")
    if text is not None:
        fields["text"] = str(text)
    changed = text is not None and text != message["text"]
    workspace.edit(message, fields, mark=changed and not path.is_ephemeral)


def _post_for_all(
    workspace: Workspace, path: ReturnPath, content: Json, blocks: list[Any]
) -> None:
    thread_ts = content.get("thread_ts")
    if thread_ts is not None and thread_ts not in workspace.messages[path.channel]:
        raise Refusal("cannot_reply_to_message")
    text = str(content.get("text") or "")
    workspace.post(path.channel, BOT_USER, text, blocks=blocks, thread_ts=thread_ts)
