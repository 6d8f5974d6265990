"""What one run of a model may spend, and calls that cannot be used (SPEC §10, T67)."""

import json

import pytest
from harness import Bench, text_in
from invariants import assert_invariants

from bot.ports import ModelCall, ModelReply

STATUS = ("status", '{"service": "api"}')


def scripted(bench, *calls, tokens=0, seconds=0.0):
    """Have the model ask for the same calls at every turn; the list of what it saw."""
    seen = []
    made = [ModelCall(tool=name, arguments=text) for name, text in calls]

    async def ask(messages, tools):
        seen.append(list(messages))
        bench.clock.advance(seconds)
        listed = [
            {
                "id": f"{len(seen)}-{at}",
                "type": "function",
                "function": {"name": call.tool, "arguments": call.arguments},
            }
            for at, call in enumerate(made)
        ]
        said = {"role": "assistant", "content": None, "tool_calls": listed}
        return ModelReply(message=said, calls=tuple(made), tokens=tokens)

    bench.bot.parts.model.ask = ask
    return seen


async def ended(bench):
    """Run it to its end; why it ended."""
    await bench.type("/run", "look after the api")
    await bench.quiet()
    await assert_invariants(bench)
    return (await bench.rows("SELECT reason FROM runs WHERE ended_at NOT NULL"))[0][0]


@pytest.mark.parametrize(
    ("limit", "asked", "why"),
    [
        ("max_turns = 2", 2, "limit: 2 turns"),
        ("max_turns = 3", 3, "limit: 3 turns"),
        ("max_calls = 4", 2, "limit: 4 calls"),
        ("max_calls = 5", 3, "limit: 5 calls"),
        ("max_tokens = 200", 2, "limit: 200 tokens"),
        ("max_tokens = 201", 3, "limit: 201 tokens"),
        ('max_time = "2m"', 2, "limit: 2 min of work"),
        ('max_time = "3m"', 3, "limit: 3 min of work"),
    ],
)
async def test_a_model_that_never_ends_is_stopped_at_each_limit(
    folder, limit, asked, why
):
    async with Bench(folder, model=True, more=f"{limit}\n") as bench:
        seen = scripted(bench, STATUS, STATUS, tokens=100, seconds=60)

        assert await ended(bench) == why
        assert len(seen) == asked
        assert len(bench.ran("status")) == 2 * asked
        assert f"It stopped: {why}" in text_in((await bench.cards())[0])


async def test_calls_of_one_turn_beyond_the_limit_do_not_run(folder):
    more = "max_turns = 2\nmax_calls_per_turn = 2\n"
    async with Bench(folder, model=True, more=more) as bench:
        seen = scripted(bench, STATUS, STATUS, STATUS)
        await ended(bench)

        assert len(bench.ran("status")) == 2 * 2
        results = [m["content"] for m in seen[1] if m["role"] == "tool"]
        assert len(results) == 3
        assert "too many calls in one turn" in results[2]
        assert "too many calls" not in results[0] + results[1]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (("status", '{"service": "api"'), "invalid arguments for status"),
        (("status", "null and void"), "invalid arguments for status"),
        (("status", '["api"]'), "invalid arguments for status"),
        (("status", "{}"), "invalid arguments for status"),
        (("status", '{"service": 5}'), "invalid arguments for status"),
        (("status", '{"service": "a", "more": 1}'), "invalid arguments for status"),
        (("status", '{"service": "a", "service": "b"}'), "invalid arguments"),
        (("nuke", "{}"), "unknown tool: nuke"),
    ],
)
async def test_a_call_that_cannot_be_used_never_runs_and_the_model_is_told(
    folder, call, told
):
    async with Bench(folder, model=True, more="max_turns = 2\n") as bench:
        seen = scripted(bench, call)
        await ended(bench)

        assert bench.ran() == []
        assert await bench.rows("SELECT 1 FROM requests") == []
        results = [m["content"] for m in seen[1] if m["role"] == "tool"]
        assert len(results) == 1
        assert told in json.dumps(results)
