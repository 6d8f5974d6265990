from datetime import UTC, datetime

import pytest

from bot.contract.expiry import is_expired, parse_rfc3339
from bot.contract.types import Request


@pytest.mark.parametrize(
    "text",
    [
        "9999-12-31T23:59:60Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:00-00:01",
        "0000-01-01T00:00:00Z",
    ],
)
def test_moments_outside_the_calendar_are_refused(text):
    with pytest.raises(ValueError, match="year"):
        parse_rfc3339(text)


@pytest.mark.parametrize("value", [None, 1893456000, b"2030-01-02T03:04:05Z"])
def test_only_text_is_parsed(value):
    with pytest.raises(ValueError, match="RFC 3339"):
        parse_rfc3339(value)


def test_a_leap_second_keeps_its_fraction():
    assert parse_rfc3339("2016-12-31T23:59:60.5Z") == datetime(
        2017, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC
    )


def test_now_without_time_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        is_expired(Request("a", "k", "p"), datetime(2030, 1, 1))  # noqa: DTZ001 - the point


def test_the_clock_is_read_when_no_time_is_given():
    assert is_expired(Request("a", "k", "p", expiresAt="2001-01-01T00:00:00Z"))
    assert not is_expired(Request("a", "k", "p", expiresAt="9998-01-01T00:00:00Z"))


def test_an_expiry_that_is_no_text_is_past():
    request = Request("a", "k", "p", expiresAt=4102444800)

    assert is_expired(request, datetime(2030, 1, 1, tzinfo=UTC))


def test_an_empty_expiry_is_none():
    request = Request("a", "k", "p", expiresAt="")

    assert not is_expired(request, datetime(2030, 1, 1, tzinfo=UTC))
