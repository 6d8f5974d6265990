"""Alive and ready: two probes that say up or down, and nothing about the inside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aiohttp import web

#: "" when ready, else one word that says what is not.
Readiness = Callable[[], Awaitable[str]]


def routes(readiness: Readiness) -> list[web.RouteDef]:
    """`/healthz`: the process answers. `/readyz`: it can do its work."""

    async def alive(_: web.Request) -> web.Response:
        return web.Response(text="up\n")

    async def ready(_: web.Request) -> web.Response:
        why = await readiness()
        if why:
            return web.Response(status=503, text=f"down: {why}\n")
        return web.Response(text="up\n")

    return [web.get("/healthz", alive), web.get("/readyz", ready)]
