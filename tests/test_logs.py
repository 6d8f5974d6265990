import io
import json
import logging

import pytest
import structlog

from bot.logs import HIDDEN, redactor, setup

SECRET = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def lines():
    """The lines written, after which logging is as it was."""
    root = logging.getLogger()
    before = root.handlers, root.level
    out = io.StringIO()
    setup([SECRET, "", "xoxb-known"], stream=out)
    yield lambda: [json.loads(line) for line in out.getvalue().splitlines()]
    root.handlers, root.level = before
    logging.captureWarnings(False)
    structlog.reset_defaults()
    for name in ("slack_bolt", "slack_sdk", "aiohttp.access", "asyncio"):
        logging.getLogger(name).setLevel(logging.NOTSET)
    logging.getLogger("slack_sdk.web.async_base_client").setLevel(logging.NOTSET)


def test_an_event_is_one_json_line_with_its_fields(lines):
    structlog.get_logger("bot.x").info("run.started", run="r1")
    (line,) = lines()
    assert line.pop("timestamp")
    assert line == {"event": "run.started", "run": "r1", "level": "info"}


def test_standard_records_come_out_the_same_way(lines):
    extra = {"event": "tool.raised", "tool": "restart"}
    logging.getLogger("bot.tools").warning("a tool raised", extra=extra)
    (line,) = lines()
    assert (line["event"], line["tool"]) == ("tool.raised", "restart")


def test_no_secret_is_written_however_it_comes(lines):
    log = structlog.get_logger()
    log.info("a", value=SECRET, deep={"x": [f"Bearer {SECRET}"]})
    log.info(f"b {SECRET}")
    logging.getLogger("lib").warning("%s and xapp-1-other", "xoxb-known")
    try:
        raise RuntimeError(f"https://hooks.slack.com/commands/T1/2/canary {SECRET}")
    except RuntimeError:
        log.exception("c")
    written = json.dumps(lines())
    assert len(lines()) == 4
    for leaked in (SECRET, "xoxb-known", "xapp-1-other", "canary"):
        assert leaked not in written
    assert HIDDEN in written
    assert "RuntimeError" in written


def test_libraries_that_log_bodies_are_held_back(lines):
    for name in ("slack_bolt.AsyncApp", "app:AsyncApp"):
        # Bolt gives its loggers the level of the root.
        logging.getLogger(name).setLevel(logging.DEBUG)
        logging.getLogger(name).info("the body")
        logging.getLogger(name).warning("Unhandled request: the body")
        logging.getLogger(name).error("wrong")
    logging.getLogger("slack_sdk.web").info("the body")
    logging.getLogger("slack_boltless").info("ours")
    assert [line["event"] for line in lines()] == ["wrong", "wrong", "ours"]


def test_people_get_readable_lines():
    out = io.StringIO()
    root = logging.getLogger()
    before = root.handlers, root.level
    try:
        setup([SECRET], stream=out, console=True)
        structlog.get_logger().info("ready", port=3000, secret=SECRET)
    finally:
        root.handlers, root.level = before
        logging.captureWarnings(False)
        structlog.reset_defaults()
    assert "ready" in out.getvalue()
    assert "port=3000" in out.getvalue()
    assert SECRET not in out.getvalue()


def test_a_secret_that_contains_another_is_cut_out_whole():
    assert redactor(["abc", "abcdef"])("x abcdef y abc") == f"x {HIDDEN} y {HIDDEN}"
    assert redactor([])("nothing to hide") == "nothing to hide"
