"""What a refusal of Slack means for us: one class per reaction (slack-facts §4.2).

Pure tables. What is then done about it stands in `delivery.py` and `courier.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError

#: Everything that a Web API call can fail with.
FAILURES = (SlackClientError, aiohttp.ClientError, OSError, TimeoutError)


class Failure(StrEnum):
    """How Slack's refusal of a message is taken."""

    WAIT = "wait"  # too fast, or a passing state: the same again, later
    HERE = "permanent here"  # never in this place: go elsewhere
    BUG = "our bug"  # Slack does not take what we drew
    METADATA = "metadata"  # the same without metadata
    MISSING = "missing"  # the message is not there any more
    FIXED = "fixed"  # the message can no longer be edited
    AMBIGUOUS = "ambiguous"  # it may have happened: look before doing it again
    TOKEN = "token dead"  # noqa: S105  # a class of failure, not a secret
    SETUP = "configuration"  # a scope or a switch of the app is missing


_CODES = {
    Failure.WAIT: (
        "ratelimited rate_limited message_limit_exceeded external_channel_migrating "
        "streaming_state_conflict"
    ),
    Failure.HERE: (
        "channel_not_found not_in_channel is_archived is_inactive restricted_action "
        "restricted_action_read_only_channel restricted_action_thread_only_channel "
        "restricted_action_non_threadable_channel restricted_action_thread_locked "
        "cannot_reply_to_message user_not_in_channel user_disabled user_not_found "
        "user_not_visible cannot_dm_bot"
    ),
    Failure.BUG: (
        "msg_too_long msg_blocks_too_long invalid_blocks invalid_blocks_format no_text "
        "too_many_attachments view_too_large block_mismatch invalid_arguments"
    ),
    Failure.METADATA: (
        "metadata_too_large invalid_metadata_format invalid_metadata_schema "
        "metadata_must_be_sent_from_app"
    ),
    Failure.MISSING: "message_not_found",
    Failure.FIXED: "cant_update_message edit_window_closed",
    Failure.AMBIGUOUS: (
        "update_failed fatal_error internal_error service_unavailable request_timeout"
    ),
    Failure.TOKEN: (
        "invalid_auth not_authed token_revoked token_expired account_inactive "
        "access_denied accesslimited ekm_access_denied team_access_not_granted "
        "org_login_required team_added_to_org enterprise_is_restricted"
    ),
    Failure.SETUP: "missing_scope messages_tab_disabled not_allowed_token_type",
}
_CLASS_OF = {code: kind for kind, codes in _CODES.items() for code in codes.split()}


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """One failed call: its class, Slack's word for it, and how long to wait."""

    kind: Failure
    code: str
    wait: float = 0.0  # seconds, when Slack named them
    needed: str = ""  # the scope that is missing


def refusal(error: BaseException) -> Refusal:
    """What a failed Web API call means. A code that we do not know is *permanent here*.

    A reply that never came, or was no JSON, is ambiguous: the call may have happened.
    """
    if isinstance(error, SlackApiError):
        return _api_refusal(error)
    if isinstance(error, aiohttp.ClientConnectorError):
        return Refusal(kind=Failure.WAIT, code="unreachable", wait=2.0)
    if isinstance(error, FAILURES):
        return Refusal(kind=Failure.AMBIGUOUS, code=type(error).__name__)
    raise error


def _api_refusal(error: SlackApiError) -> Refusal:
    response = error.response
    status = int(getattr(response, "status_code", 200) or 200)
    data = getattr(response, "data", None)
    body = data if isinstance(data, dict) else {}
    code = str(body.get("error") or f"http_{status}")
    if status == 429 or code in ("ratelimited", "rate_limited"):
        return Refusal(kind=Failure.WAIT, code="ratelimited", wait=_retry_after(error))
    if code == "message_limit_exceeded":
        return Refusal(kind=Failure.WAIT, code=code, wait=60.0)
    if status >= 500 or not body:
        return Refusal(kind=Failure.AMBIGUOUS, code=code)
    kind = _CLASS_OF.get(code, Failure.HERE)
    return Refusal(kind=kind, code=code, needed=str(body.get("needed") or ""))


def _retry_after(error: SlackApiError) -> float:
    headers = getattr(error.response, "headers", None) or {}
    value = str(headers.get("Retry-After", headers.get("retry-after", "")))
    return float(value) if value.isdecimal() else 1.0
