"""The HTTP server as strangers meet it: how long they may take, and what is logged.

A connection that is idle or drips its headers is closed after `KEEPALIVE` seconds, and
after a refusal the rest of a body is waited for no longer than `LINGER`. Bodies are
never inflated: whoever wants one inflated is refused by the route (T4).
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
from typing import Any

import structlog
from aiohttp import http_exceptions, web

from bot.errors import NotStarted, Problem

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


async def bound(host: str, port: int) -> list[socket.socket]:
    """The address for ourselves, not open yet; `NotStarted` when it cannot be had."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        what = f"--host {host}: no machine of this name is known here."
        raise _not_had(what, _LOOPBACK) from None
    made: list[socket.socket] = []
    for family, kind, protocol, _, address in dict.fromkeys(found):
        try:
            made.append(_bind(socket.socket(family, kind, protocol), address))
        except OSError as error:
            if error.errno in _NOT_HERE and len(found) > 1:
                continue  # a name may have an address of a family that is off here
            close(made)
            raise _refused(error, host, port) from None
    if not made:
        raise _not_had(f"--host {host} is not an address of this machine.", _LOOPBACK)
    return made


def _bind(one: socket.socket, address: Any) -> socket.socket:
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if one.family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.bind(address)
    except OSError:
        one.close()
        raise
    return one


def close(sockets: list[socket.socket]) -> None:
    """Let go of an address."""
    for one in sockets:
        one.close()


def _refused(error: OSError, host: str, port: int) -> NotStarted:
    place = f"Port {port} on {host}"
    match error.errno:
        case errno.EADDRINUSE:
            fix = "stop what listens there, or choose another port with --port."
            return _not_had(f"{place} is in use.", fix)
        case errno.EACCES:
            fix = "choose a port above 1023 with --port."
            return _not_had(f"{place} is not for everybody to open.", fix)
        case errno.EADDRNOTAVAIL:
            what = f"--host {host} is not an address of this machine."
            return _not_had(what, _LOOPBACK)
        case _:
            what = f"{place} cannot be opened: {error.strerror}."
            return _not_had(what, _LOOPBACK)


_NOT_HERE = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)
_LOOPBACK = "give an address of this machine: --host 127.0.0.1"


def _not_had(what: str, fix: str) -> NotStarted:
    return NotStarted(str(Problem(what=what, fix=fix)))


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
