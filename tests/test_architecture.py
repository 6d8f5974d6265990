"""The shape of the package is a test, not a hope (style: floors, purity, sizes)."""

import ast
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
BOT = ROOT / "bot"

#: First part of a module's name below `bot` -> its floor. Imports only point down.
FLOORS = {
    "contract": 0,
    "errors": 0,
    "config": 0,
    "policyfile": 0,
    "bound": 0,
    "version": 0,
    "environment": 0,
    "reading": 0,
    "core": 1,
    "ports": 1,
    "tools": 2,
    "model": 2,
    "engine": 3,
    "store": 4,
    "slack": 5,
    "web": 5,
    "app": 6,
    "installation": 6,
    "cli": 6,
    "testing": 6,
    "clock": 6,
    "logs": 6,
    "__main__": 6,
    "playground": 7,
}
#: Packages are strangers to the others of their floor; loose modules may be seen.
PACKAGES = {
    "contract",
    "core",
    "tools",
    "model",
    "engine",
    "store",
    "slack",
    "web",
    "cli",
}
#: Modules that only compute: what touches the world may not be imported there.
PURE = [
    "core/*.py",
    "slack/render/*.py",
    "slack/kinds/[a-z]*.py",
    "slack/blocks.py",
    "slack/limits.py",
    "slack/payloads.py",
    "slack/resolve.py",
    "slack/manifest.py",
    "slack/ids.py",
    "store/rows.py",
    "tools/arguments.py",
    "tools/bound.py",
    "model/openai.py",
    "tools/words.py",
    "tools/values.py",
    "contract/*.py",
]
WORLD = {
    "aiohttp",
    "asyncio",
    "httpx",
    "io",
    "logging",
    "os",
    "pathlib",
    "random",
    "slack_bolt",
    "slack_sdk",
    "socket",
    "sqlite3",
    "sqlite_utils",
    "structlog",
    "subprocess",
    "threading",
    "time",
}
MOST_LINES = 400
MOST_FUNCTION_LINES = 60

FILES = sorted(BOT.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(BOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def imports_of(path: Path) -> list[str]:
    """Full names of what a module imports, relative imports resolved."""
    package = ["bot", *path.relative_to(BOT).parts[:-1]]
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[: len(package) - node.level + 1]
                module = ".".join([*base, *([node.module] if node.module else [])])
            else:
                module = node.module
            found += [f"{module}.{alias.name}" for alias in node.names]
    return found


def part_of(path: Path) -> str:
    first = path.relative_to(BOT).parts[0]
    return first.removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_only_point_down(path):
    part = part_of(path)
    if part == "__init__":
        return
    here = FLOORS[part]
    for name in imports_of(path):
        parts = name.split(".")
        if parts[0] != "bot":
            continue
        if parts[1] not in FLOORS:
            assert "demo" in path.parts or part in ("playground", "cli"), name
            continue
        there = FLOORS[parts[1]]
        assert there <= here, f"{name} is above {part}"
        if there == here and parts[1] != part:
            both_packages = part in PACKAGES and parts[1] in PACKAGES
            assert not both_packages, f"{part} and {parts[1]} are strangers"


def test_every_module_has_a_floor():
    parts = {part_of(path) for path in FILES} - {"__init__"}

    assert parts <= set(FLOORS)


def test_the_playground_imports_nothing_of_the_bot():
    for path in (BOT / "playground").rglob("*.py"):
        if "demo" in path.parts:
            continue
        for name in imports_of(path):
            assert not name.startswith("bot.") or name.startswith("bot.playground"), (
                f"{name_of(path)} imports {name}"
            )


def test_nothing_imports_the_playground():
    for path in FILES:
        if part_of(path) != "playground":
            assert not any(n.startswith("bot.playground") for n in imports_of(path))


@pytest.mark.parametrize(
    "path",
    sorted({path for pattern in PURE for path in BOT.glob(pattern)}),
    ids=name_of,
)
def test_pure_modules_import_nothing_of_the_world(path):
    for name in imports_of(path):
        assert name.split(".")[0] not in WORLD or name == "sqlite3.Row", name
    if part_of(path) != "contract":  # its Execute says how a tool is entered
        nodes = ast.walk(tree_of(path))
        assert not any(isinstance(n, ast.AsyncFunctionDef) for n in nodes)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_file_and_no_function_is_too_long(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < MOST_FUNCTION_LINES, node.name


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_no_import_hides_in_a_function_or_a_type_checking_block(path):
    tree = tree_of(path)
    top = set(tree.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            assert node in top, f"line {node.lineno}"


def below_slack() -> list[Path]:
    return [
        path for path in FILES if part_of(path) in ("core", "ports", "engine", "store")
    ]


@pytest.mark.parametrize("path", below_slack(), ids=name_of)
def test_the_engine_knows_no_chat_platform(path):
    assert "slack" not in path.read_text().lower()


def kinds() -> set[str]:
    folder = BOT / "slack" / "kinds"
    known = {p.stem for p in folder.glob("*.py")} - {"__init__", "other"}
    return known | {"input", "question", "authorization"}


@pytest.mark.parametrize("path", below_slack(), ids=name_of)
def test_no_request_kind_is_named_below_slack(path):
    if path == BOT / "core" / "policy.py":
        return
    literals = {
        node.value
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }

    assert not literals & kinds()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_every_module_says_what_lives_there(path):
    doc = ast.get_docstring(tree_of(path))

    assert doc
    assert len(doc.splitlines()) <= 30


def test_nobody_prints_outside_of_commands():
    for path in FILES:
        if part_of(path) in ("cli", "playground"):
            continue
        calls = [n for n in ast.walk(tree_of(path)) if isinstance(n, ast.Call)]
        assert not any(
            isinstance(c.func, ast.Name) and c.func.id == "print" for c in calls
        ), name_of(path)


def test_the_environment_is_read_by_commands_alone():
    for path in FILES:
        if part_of(path) in ("cli", "playground"):
            continue
        assert "os.environ" not in path.read_text(), name_of(path)


def test_answers_come_from_two_places_only():
    """What counts a vote is imported by the two modules that people answer in (T15)."""
    importers = {
        name_of(path)
        for path in FILES
        for name in imports_of(path)
        if name == "bot.engine.answering.answer"
    }

    assert importers == {"slack/handlers/actions.py", "slack/handlers/modals.py"}
    voters = {
        name_of(path)
        for path in FILES
        if "add_vote(" in path.read_text() and part_of(path) != "store"
    }
    assert voters == {"engine/answering.py", "ports.py"}


def test_the_standard_library_is_known():
    assert WORLD - {
        "aiohttp",
        "httpx",
        "slack_bolt",
        "slack_sdk",
        "sqlite_utils",
        "structlog",
    } <= set(sys.stdlib_module_names)
