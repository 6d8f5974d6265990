"""RFC 3339 in, expired or not out (contract §17).

Stricter than `datetime.fromisoformat`, which takes many other forms. When an
expiry counts, and what then happens, is decided by whoever asks.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from bot.contract.types import Request

_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?"
    r"(?:[Zz]|([+-])(\d\d):(\d\d))",
    re.ASCII,
)


def parse_rfc3339(text: str) -> datetime:
    """The moment an RFC 3339 text names, in UTC; ValueError for any other text."""
    match = _RFC3339.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("not an RFC 3339 time, such as 2030-01-31T12:00:00Z")
    year, month, day, hour, minute, second = map(int, match.groups()[:6])
    if second > 60:
        raise ValueError("a minute has no second above 60")
    # Cut, never rounded: an expiry must not move to a later moment.
    microsecond = int((match[7] or "")[:6].ljust(6, "0"))
    local = datetime(
        year,
        month,
        day,
        hour,
        minute,
        min(second, 59),
        microsecond,
        tzinfo=_zone(match[8], match[9], match[10]),
    )
    try:
        moment = local.astimezone(UTC)
        return moment + timedelta(seconds=1) if second == 60 else moment
    except OverflowError as error:
        raise ValueError("that moment is outside the years 1 to 9999") from error


def is_expired(request: Request, now: datetime | None = None) -> bool:
    """Whether the Request is past its expiry; an unreadable expiry is past."""
    moment = datetime.now(UTC) if now is None else now
    if moment.utcoffset() is None:
        raise ValueError("now must carry its time zone")
    if request.expiresAt is None or request.expiresAt == "":
        return False
    try:
        return moment > parse_rfc3339(request.expiresAt)
    except ValueError:
        return True


def _zone(sign: str | None, hours: str, minutes: str) -> timezone:
    if sign is None:
        return UTC
    if int(hours) > 23 or int(minutes) > 59:
        raise ValueError("an offset goes from -23:59 to +23:59")
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if sign == "-" else offset)
