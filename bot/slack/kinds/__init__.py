"""One file per kind of request, found by listing this folder.

A file here without a `KIND`, two files for one name, or none for the others is an
error at import: a kind that nobody can see must not pass unnoticed.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping

from bot.slack.kind import Kind


def found(package: str, path: Iterable[str]) -> dict[str | None, Kind]:
    """The kinds of the modules in a folder, by name; `TypeError` for a bad one."""
    kinds: dict[str | None, Kind] = {}
    for module in sorted(pkgutil.iter_modules(path), key=lambda one: one.name):
        kind = getattr(
            importlib.import_module(f"{package}.{module.name}"), "KIND", None
        )
        if not isinstance(kind, Kind):
            raise TypeError(f"{package}.{module.name} has no KIND")
        if kind.name in kinds:
            raise TypeError(f"{package}.{module.name}: {kind.name!r} is there twice")
        kinds[kind.name] = kind
    if None not in kinds:
        raise TypeError(f"{package} has no kind for unknown names")
    return kinds


KINDS: Mapping[str | None, Kind] = found(__name__, __path__)


def kind_named(name: str) -> Kind:
    """The kind with exactly this name, or the one for all others (T35)."""
    return KINDS.get(name, KINDS[None])
