import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import bot

ROOT = Path(__file__).parents[2]
CONTRACT = (
    "ToolResult Request Answer ToolContext Tool Toolkit create_toolkit define_tool "
    "tool pending auth_required pending_of answer_output answer_declined "
    "parse_rfc3339 is_expired"
)


def test_all_is_what_the_module_has():
    public = {
        name
        for name, value in vars(bot).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }

    assert {*public, "__version__"} == set(bot.__all__)
    assert {*CONTRACT.split(), "RunContext", "__version__"} == set(bot.__all__)


def test_version_is_that_of_the_distribution():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))

    assert bot.__version__ == settings["project"]["version"]


def test_importing_bot_loads_nothing_heavy():
    heavy = (
        "slack_bolt slack_sdk aiohttp httpx sqlite3 _sqlite3 sqlite_utils jsonschema"
    )
    heavy += " pydantic cryptography structlog click"
    code = f"import sys, bot; print(*set({heavy.split()}) & set(sys.modules))"

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == []
