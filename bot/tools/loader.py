"""The tool modules named in the settings: import them, collect and check their tools.

Every fault of every module is collected, none is raised. The settings' folder stays
at the front of `sys.path`, because tools may import their neighbours when they run.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from jsonschema import Draft202012Validator, SchemaError

from bot.contract.types import Tool, traits_of
from bot.errors import Problem
from bot.tools.toolkit import Toolkit

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """The tools that were found, and every fault that stands in their way."""

    toolkit: Toolkit
    problems: tuple[Problem, ...]


def load_tools(
    modules: list[str], root: Path, *, pool: Executor | None = None
) -> Loaded:
    """Import these modules as seen from `root`, and take up the tools in them.

    A module's tools are those that stand in it under a name of their own, in the
    order of definition. `pool` is where plain functions run.
    """
    _put_first(str(root))
    importlib.invalidate_caches()
    problems: list[Problem] = []
    homes: dict[str, tuple[str, Tool]] = {}
    for name in modules:
        module = _imported(name, root)
        if isinstance(module, Problem):
            problems.append(module)
            continue
        tools = _tools_in(module)
        if not tools:
            problems.append(
                Problem(
                    what=f"The module {name} has no tools.",
                    fix="put @tool above its functions, or take it out of `tools`.",
                )
            )
        problems.extend(_take_up(name, tools, homes))
    toolkit = Toolkit((tool for _, tool in homes.values()), pool=pool)
    return Loaded(toolkit=toolkit, problems=tuple(problems))


def _take_up(
    module: str, tools: list[Tool], homes: dict[str, tuple[str, Tool]]
) -> Iterator[Problem]:
    """Add a module's usable tools to `homes`; yield what is wrong with the others."""
    for tool in tools:
        fault = _fault(module, tool)
        if fault is not None:
            yield fault
            continue
        home, known = homes.setdefault(tool.name, (module, tool))
        # One tool may be seen from two modules; two tools of one name may not, or
        # the second could stand in for one that needs consent.
        if known is not tool:
            where = f"twice in {home}" if home == module else f"in {home} and {module}"
            yield Problem(
                what=f"The tool {tool.name} is there {where}.",
                fix="give one of them another name.",
            )


def _put_first(folder: str) -> None:
    if sys.path[:1] != [folder]:
        sys.path.insert(0, folder)


def _imported(name: str, root: Path) -> ModuleType | Problem:
    if not all(part.isidentifier() for part in name.split(".")):
        return Problem(
            what=f'"{name}" in `tools` is not the name of a module.',
            fix="write it as Python imports it: ops.tools for ops/tools.py.",
        )
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        return _import_problem(name, root, error)


def _import_problem(name: str, root: Path, error: BaseException) -> Problem:
    said = next((line for line in str(error).splitlines() if line.strip()), "")
    last_line = f"{type(error).__name__}: {said}" if said else type(error).__name__
    fix = (
        'mend the module; `python -c "import ' + name + '"` shows the whole traceback.'
    )
    if isinstance(error, ModuleNotFoundError) and error.name:
        if f"{name}.".startswith(f"{error.name}."):
            place = Path(*name.split(".")).with_suffix(".py")
            fix = f"put it at {root / place}, or mend `tools` in the settings."
        else:
            fix = f"install what provides {error.name}, or mend the import."
    return Problem(
        what=f"The tool module {name} could not be imported: {last_line}", fix=fix
    )


def _tools_in(module: ModuleType) -> list[Tool]:
    found = [value for value in vars(module).values() if isinstance(value, Tool)]
    return list({id(tool): tool for tool in found}.values())


def _fault(module: str, tool: Tool) -> Problem | None:
    """What keeps a tool from being offered at all."""
    if not isinstance(tool.name, str) or not _NAME.fullmatch(tool.name):
        return Problem(
            what=f"{module}: {tool.name!r} cannot be the name of a tool.",
            fix="use 1 to 64 letters, digits, _, . and -, in @tool(name=…).",
        )
    unshown = traits_of(tool).unshown
    if unshown:
        return Problem(
            what=(
                f"{module}: {tool.name} has a default for {', '.join(unshown)} that "
                "cannot be shown to whoever agrees."
            ),
            fix="use text, a number, a list, a dict or None there.",
        )
    fault = _schema_fault(tool.input_schema)
    if fault is None:
        return None
    return Problem(
        what=f"{module}: the input schema of {tool.name} cannot be used: {fault}",
        fix="mend input_schema=…, or leave it out to have it inferred.",
    )


def _schema_fault(schema: object) -> str | None:
    if not isinstance(schema, dict) or schema.get("type") != "object":
        return 'it must be a dict with "type": "object".'
    try:
        json.dumps(schema, allow_nan=False)
        Draft202012Validator.check_schema(
            schema, format_checker=Draft202012Validator.FORMAT_CHECKER
        )
    except SchemaError as error:
        return f"{error.json_path}: {error.message}"
    except (TypeError, ValueError, RecursionError) as error:
        return f"it is not JSON: {error}"
    outside = next(_outside_references(schema), None)
    return outside and f"it refers to {outside}, which is not in it."


def _outside_references(schema: object) -> Iterator[str]:
    """References that could only be followed by fetching something."""
    if isinstance(schema, dict):
        reference = schema.get("$ref")
        if isinstance(reference, str) and not reference.startswith("#"):
            yield reference
        for inner in schema.values():
            yield from _outside_references(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from _outside_references(inner)
