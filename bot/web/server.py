"""The HTTP server as strangers meet it: how long they may take, and what is logged.

A connection that is idle or drips its headers is closed after `KEEPALIVE` seconds, and
after a refusal the rest of a body is waited for no longer than `LINGER`. Bodies are
never inflated: whoever wants one inflated is refused by the route (T4).
"""

from __future__ import annotations

import logging
from typing import Any

import structlog
from aiohttp import http_exceptions, web

log = structlog.get_logger(__name__)

#: Bounds idle and dripping headers (T4), in seconds.
KEEPALIVE = 10.0
#: How long the rest of a refused body is read and ignored, so that the sender sees why.
LINGER = 2.0

#: What the other end did wrong, not we.
_THEIRS = (
    http_exceptions.HttpProcessingError,
    web.RequestPayloadError,
    ConnectionError,
)


def server(site: web.Application) -> web.AppRunner:
    """The runner that serves our routes."""
    return web.AppRunner(
        site,
        keepalive_timeout=KEEPALIVE,
        lingering_time=LINGER,
        auto_decompress=False,
        access_log=None,
        logger=_Discreet(logging.getLogger("aiohttp.server")),
    )


class _Discreet(logging.LoggerAdapter[logging.Logger]):
    """aiohttp quotes what it could not read, with a traceback; that is not logged.

    Anybody can send such bytes, signed or not (T1, T3).
    """

    def exception(
        self, msg: object, *args: object, exc_info: Any = True, **kwargs: Any
    ) -> None:
        """A fault of ours in full; of what strangers sent only its kind."""
        if isinstance(exc_info, _THEIRS):
            log.warning("request_unreadable", why=type(exc_info).__name__)
        else:
            super().exception(msg, *args, exc_info=exc_info, **kwargs)
