import json
import sys
from pathlib import Path

import pytest

from bot import Answer, ToolContext, pending_of
from bot.config import load_files
from bot.contract.types import traits_of
from bot.playground import demo
from bot.playground.demo import tools
from bot.policyfile import WrittenRule
from bot.tools.loader import load_tools

FOLDER = Path(demo.__file__).parent


@pytest.fixture
def log(tmp_path, monkeypatch):
    path = tmp_path / "demo.log"
    monkeypatch.setenv("COUNTERSIGN_DEMO_LOG", str(path))

    def read():
        return [json.loads(line) for line in path.read_text().splitlines()]

    read.path = path
    return read


def test_the_demo_loads_with_the_rules_that_the_guides_promise(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    settings, policy = load_files(FOLDER / "countersign.toml", {})
    loaded = load_tools(list(settings.tools), settings.root)
    assert loaded.problems == ()
    names = {tool.name: traits_of(tool).idempotent for tool in loaded.toolkit.tools()}
    assert names == {
        "restart": False,
        "status": True,
        "hello": False,
        "countdown": True,
    }
    assert policy.tool == (
        WrittenRule(
            name="restart",
            gate="ask",
            headline="Restart {service} in {region}",
            approvers=("@approvers",),
            post_to="#ops",
            expires="30m",
        ),
        WrittenRule(name="status", gate="allow"),
        WrittenRule(name="countdown", gate="allow"),
        WrittenRule(
            name="hello",
            gate="ask",
            headline="Say hello to {name}",
            approvers=("U0ADA",),
            self_approval=True,
            post_to="#ops",
        ),
    )
    # One person's own yes counts for a greeting, and for nothing else.
    assert [rule.name for rule in policy.tool if rule.self_approval] == ["hello"]


async def test_work_that_is_done_is_written_down(log):
    result = await tools.restart.execute({"service": "api"})
    assert (result.output, result.is_error) == ("api in eu restarted", False)
    await tools.status.execute({"service": "api"})
    restart, status = log()
    assert isinstance(restart.pop("at"), float)
    assert restart == {"tool": "restart", "args": {"service": "api", "region": "eu"}}
    assert status["tool"] == "status"


async def test_saying_hello_is_written_down(log):
    result = await tools.hello.execute({"name": "Ada"})
    assert result.output == "Hello, Ada."
    (line,) = log()
    assert (line["tool"], line["args"]) == ("hello", {"name": "Ada"})


async def test_the_countdown_asks_first_and_writes_nothing_until_answered(log):
    asked = pending_of(await tools.countdown.execute({}))
    assert asked.kind == "countdown"
    assert asked.data
    assert not log.path.exists()
    answered = ToolContext(answer=Answer(asked.id, True))
    assert (await tools.countdown.execute({}, answered)).output == "Lift-off"
    (line,) = log()
    assert (line["tool"], line["args"]) == ("countdown", {})


async def test_without_a_log_the_tools_work_too(monkeypatch):
    monkeypatch.delenv("COUNTERSIGN_DEMO_LOG", raising=False)
    result = await tools.restart.execute({"service": "api", "region": "us"})
    assert result.output == "api in us restarted"
