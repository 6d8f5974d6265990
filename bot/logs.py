"""How the service logs: one line per event on stderr, with every known secret cut out.

JSON lines, or readable ones on a terminal. An event has a fixed name and fields that
hold ids, never what people wrote. Libraries that log what they were sent are held back.
"""

from __future__ import annotations

import logging
import re
import sys
from collections.abc import Callable, Iterable
from typing import TextIO

import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

HIDDEN = "[hidden]"

_PATTERNS = re.compile(
    r"xox[a-z](?:\.xox[a-z])?-[\w.-]+|xapp-[\w-]+|(?<=hooks\.slack\.com/)[^\s\"']+"
    r"|(?<=Bearer )[^\s\"']+"
)
# Below these levels, whole bodies are in what these loggers say: Bolt quotes a request
# that it cannot verify (INFO), and one that nobody handles (WARNING).
_HELD_BACK = {
    "slack_bolt": logging.ERROR,
    "slack_sdk": logging.WARNING,
    # It logs every address, and a response_url is a secret (T47).
    "httpx": logging.WARNING,
    "httpcore": logging.WARNING,
    "aiohttp.access": logging.WARNING,
    "asyncio": logging.WARNING,
}


def setup(
    secrets: Iterable[str] = (),
    *,
    stream: TextIO | None = None,
    console: bool | None = None,
) -> None:
    """Send every log line of this process to `stream` (stderr), in one form.

    `console` is for people; when it is not given, a terminal decides.
    """
    out = stream or sys.stderr
    for_people = out.isatty() if console is None else console
    shared: list[Processor] = [
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    handler = logging.StreamHandler(out)
    handler.addFilter(_not_held_back)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *_drawing(for_people, out.isatty()),
                _last(redactor(secrets)),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.INFO)
    for name, level in _HELD_BACK.items():
        logging.getLogger(name).setLevel(level)
    # Without a level of its own this one writes out every call, only to drop it.
    logging.getLogger("slack_sdk.web.async_base_client").setLevel(logging.WARNING)
    logging.captureWarnings(True)


def redactor(secrets: Iterable[str]) -> Callable[[str], str]:
    """A function that cuts these values, and whatever looks like a token, out."""
    # The longest first: one secret may be a part of another.
    known = sorted({s for s in secrets if s}, key=len, reverse=True)
    values = re.compile("|".join(map(re.escape, known))) if known else None

    def redacted(text: str) -> str:
        if values is not None:
            text = values.sub(HIDDEN, text)
        return _PATTERNS.sub(HIDDEN, text)

    return redacted


def _drawing(for_people: bool, colors: bool) -> list[Processor]:
    if for_people:
        return [structlog.dev.ConsoleRenderer(colors=colors)]
    return [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(ensure_ascii=False, default=str),
    ]


def _last(redacted: Callable[[str], str]) -> Processor:
    """The last step: it sees the whole line, traceback and all."""

    def cut(_: WrappedLogger, __: str, line: EventDict) -> str:
        return redacted(str(line))

    return cut


def _not_held_back(record: logging.LogRecord) -> bool:
    # Bolt gives its loggers the root's level, and names one after the program's file.
    name = "slack_bolt" if record.name.endswith(":AsyncApp") else record.name
    family = next(
        (f for f in _HELD_BACK if name == f or name.startswith(f"{f}.")), None
    )
    return family is None or record.levelno >= _HELD_BACK[family]
