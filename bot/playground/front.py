"""The door of the playground's one port: who may come in, and the page's own files.

Loopback names only, no foreign origin, the page token for `/ui/*`. The routes
behind it belong to `web_api.py`, `page_api.py` and `server.py`.
"""

import hmac
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import Any

from aiohttp import web

# Cards and views come back whole in calls; the largest is far below this.
BODY_MAX = 4 * 1024 * 1024
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
_TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
_TEXT = ("text/html", "text/javascript", "text/css")

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def guard(token: str, port: Callable[[], int]) -> Any:
    """The middleware that turns strangers away."""

    @web.middleware
    async def turn_away(request: web.Request, handler: Handler) -> web.StreamResponse:
        hosts = [f"{name}:{port()}" for name in ("127.0.0.1", "localhost")]
        if request.headers.get("Host") not in hosts:
            return _refused(403, "foreign_host")
        origin = request.headers.get("Origin")
        if origin is not None and origin not in [f"http://{one}" for one in hosts]:
            return _refused(403, "foreign_origin")
        if request.path.startswith("/ui/") and not _knows(request, token):
            return _refused(401, "token_required")
        return await handler(request)

    return turn_away


def _knows(request: web.Request, token: str) -> bool:
    given = request.headers.get("X-Playground-Token") or request.query.get("token", "")
    return hmac.compare_digest(given.encode(), token.encode())


def _refused(status: int, error: str) -> web.Response:
    return web.json_response({"ok": False, "error": error}, status=status)


async def page(request: web.Request) -> web.Response:
    """The page itself, or one of the files it consists of."""
    name = request.match_info.get("name", "index.html")
    kind = _TYPES.get(name[name.rfind(".") :])
    file = resources.files("bot.playground").joinpath("static", name)
    if kind is None or "/" in name or "\\" in name or not file.is_file():
        return web.Response(status=404, text="not found", headers=_HEADERS)
    return web.Response(
        body=file.read_bytes(),
        content_type=kind,
        charset="utf-8" if kind in _TEXT else None,
        headers=_HEADERS,
    )


def page_routes() -> list[web.RouteDef]:
    """The page and its files, which lie side by side."""
    return [web.get("/", page), web.get("/static/{name:[A-Za-z0-9_.-]+}", page)]
