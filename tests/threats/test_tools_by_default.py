"""T51: the tools that exist are those that the policy lets run, and no others."""

import pytest
from harness import ADA, BEN, Bench
from invariants import assert_invariants

#: What agents usually bring along.
BUILT_IN = (
    *("bash", "shell", "read", "write", "edit", "grep", "glob", "webfetch"),
    *("websearch", "apply_patch", "todowrite", "task", "question"),
)

POLICY = """
[[tool]]
name = "pay"
gate = "ask"
approvers = ["@approvers"]
post_to = "#ops"

[[tool]]
name = "st*"
gate = "allow"

[[tool]]
name = "fails"
gate = "deny"
"""


@pytest.fixture
async def bench(folder):
    async with Bench(folder, policy=POLICY) as made:
        yield made
        await made.quiet()
        await assert_invariants(made)


async def test_the_tools_are_those_of_the_policy(bench):
    offered = [tool.name for tool in bench.bot.parts.offered()]
    assert sorted(offered) == ["pay", "status"]
    loaded = {tool.name for tool in bench.bot.parts.toolkit.tools()}
    assert {"restart", "fails", "talks"} <= loaded  # they are there, and not offered
    assert not loaded & set(BUILT_IN)


async def test_the_list_shows_those_and_no_others(bench):
    said = await bench.tool("")
    assert "pay" in said
    assert "status" in said
    for name in ("restart", "fails", "talks", *BUILT_IN):
        assert name not in said.replace("status", "").split()


@pytest.mark.parametrize("name", BUILT_IN)
async def test_no_tool_comes_by_itself(bench, name):
    said = await bench.tool(f"{name} command=id", user=ADA)
    assert said.startswith(f'There is no tool "{name}".')
    assert await bench.rows("SELECT count(*) FROM runs") == [(0,)]


@pytest.mark.parametrize(
    "words", ["talks output=x", "fails why=x", "restart service=a"]
)
@pytest.mark.parametrize("user", [ADA, BEN])
async def test_a_tool_without_a_rule_or_with_a_deny_does_not_run(bench, words, user):
    said = await bench.tool(words, user=user)

    await bench.quiet()
    assert words.split()[0] in said
    assert await bench.rows("SELECT count(*) FROM runs") == [(0,)]
    assert await bench.cards() == []
    assert bench.ran() == []


async def test_an_empty_policy_lets_nothing_run(folder):
    async with Bench(folder, policy="") as bench:
        assert bench.bot.parts.offered() == []
        await bench.tool("pay amount=1")
        assert await bench.rows("SELECT count(*) FROM runs") == [(0,)]
        await assert_invariants(bench)


async def test_a_pattern_brings_no_tool_into_being(folder):
    async with Bench(folder, policy='[[tool]]\nname = "*"\ngate = "allow"\n') as bench:
        loaded = {tool.name for tool in bench.bot.parts.toolkit.tools()}
        assert {tool.name for tool in bench.bot.parts.offered()} == loaded
        assert not loaded & set(BUILT_IN)
        await assert_invariants(bench)
