"""The shared vectors of the suspension contract, each one a test.

`vectors.json` is the contract's own file, whole; the lists about parts that do not
exist yet are not read here.
"""

import json
import re
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace

import pytest

import bot
from bot.contract.expiry import is_expired, parse_rfc3339
from bot.contract.suspend import (
    answer_declined,
    answer_output,
    auth_required,
    pending,
    pending_of,
)
from bot.contract.types import Answer, Request, ToolResult
from bot.tools.question import question, question_prompt

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text("utf-8"))
CALLS = {
    "pending": pending,
    "auth_required": auth_required,
    "answer_output": answer_output,
    "answer_declined": answer_declined,
}
WIRE_TYPES = [("request", Request), ("answer", Answer)]


def each(cases, name=lambda case: case["name"]):
    """Parametrize over a list of vectors, with readable ids."""
    return pytest.mark.parametrize(
        "case", [pytest.param(case, id=name(case)) for case in cases]
    )


def each_wire(suffix):
    """The vectors of both wire types, each with the type that it is about."""
    return pytest.mark.parametrize(
        ("made", "case"),
        [
            pytest.param(made, case, id=f"{word}: {case['name']}")
            for word, made in WIRE_TYPES
            for case in VECTORS[f"{word}_{suffix}"]
        ],
    )


def untagged(value):
    """A vector's metadata with its tags replaced by the objects they stand for."""
    if not isinstance(value, dict):
        return value
    if "$request" in value:
        return Request.from_wire(value["$request"])
    if "$foreign" in value:
        return SimpleNamespace(**value["$foreign"])
    return {key: untagged(inner) for key, inner in value.items()}


def compact(wire):
    return json.dumps(wire, ensure_ascii=False, separators=(",", ":"))


@each(VECTORS["pending_of"])
def test_pending_of_finds_only_requests(case):
    given = case["result"]
    result = None
    if "$absent" not in given:
        metadata = untagged(given.get("metadata"))
        result = ToolResult(given["output"], given["isError"], metadata)

    found = pending_of(result)

    assert (None if found is None else found.to_wire()) == case["expect"]
    assert found is None or type(found) is Request


@each_wire("wire")
def test_wire_form_is_canonical(made, case):
    value = made.from_wire(case["wire"])

    assert compact(value.to_wire()) == case["canonical"]


@pytest.mark.parametrize(
    ("made", "text", "wire"),
    [
        pytest.param(
            made, said["text"], case["wire"], id=f"{case['name']}: {said['port']}"
        )
        for word, made in WIRE_TYPES
        for case in VECTORS[f"{word}_wire"]
        for said in case["texts"]
    ],
)
def test_every_port_is_understood(made, text, wire):
    assert made.from_wire(json.loads(text)) == made.from_wire(wire)


@each_wire("wire_read")
def test_odd_but_readable_forms_are_read(made, case):
    assert made.from_wire(json.loads(case["text"])).to_wire() == case["wire"]


@each_wire("wire_invalid")
def test_bad_wire_form_names_the_key(made, case):
    with pytest.raises(ValueError, match=rf"\b{case['key']}\b"):
        made.from_wire(json.loads(case["text"]))


@each(VECTORS["producers"])
def test_producers_suspend(case):
    expect = case["expect"]

    result = CALLS[case["call"]](**case["kwargs"])

    request = result.metadata["pending"]
    wire = request.to_wire()
    if expect["id"] == "generated":
        assert re.fullmatch(r"pnd-[A-Za-z0-9_-]{22,60}", wire.pop("id"))
    assert wire == expect["request"]
    assert result == ToolResult(
        expect["output"], expect["isError"], {"pending": request}, None
    )


@each(VECTORS["producers_invalid"])
def test_unusable_requests_are_not_produced(case):
    assert case["raises"] == "ValueError"

    with pytest.raises(ValueError, match=r"\S"):
        CALLS[case["call"]](**case["kwargs"])


@each(VECTORS["answer_helpers"], lambda case: f"{case['call']} {case['args']}")
def test_answer_helpers(case):
    call = CALLS[case["call"]]

    if "raises" in case:
        expected = {"TypeError": TypeError, "ValueError": ValueError}[case["raises"]]
        with pytest.raises(expected):
            call(*case["args"])
    else:
        assert call(*case["args"]).to_wire() == case["wire"]


@each(VECTORS["expiry_parse"]["cases"], lambda case: repr(case["value"]))
def test_only_rfc3339_is_parsed(case):
    if case["valid"]:
        assert parse_rfc3339(case["value"]).isoformat() == case["utc"]
    else:
        with pytest.raises(ValueError, match=r"\S"):
            parse_rfc3339(case["value"])


@each(
    VECTORS["expiry_compare"]["cases"],
    lambda case: f"{case['expiresAt']} at {case['now']}",
)
def test_expiry_is_compared(case):
    request = Request("a", "input", "p", expiresAt=case["expiresAt"])

    assert is_expired(request, parse_rfc3339(case["now"])) is case["expired"]


@each(VECTORS["question_prompt"]["cases"], lambda case: repr(case["prompt"]))
async def test_question_asks_in_words(case):
    questions = case["questions"]

    asked = pending_of(await question.execute({"questions": questions}))

    assert question_prompt(questions) == case["prompt"]
    assert asked is not None
    assert (asked.kind, asked.prompt) == ("question", case["prompt"])
    assert asked.data == {"questions": questions}


@pytest.mark.parametrize(("word", "made"), WIRE_TYPES)
def test_fields_are_spelled_as_agreed(word, made):
    spelling = VECTORS["field_spelling"]
    full = {"id": "a", "kind": "k", "prompt": "p", "url": "u", "data": {}}
    full |= {"expiresAt": "e", "ok": False, "reason": "declined"}

    assert [f.name for f in fields(made)] == spelling[word]["python"]
    assert list(made.from_wire(full).to_wire()) == spelling["wire_keys"][word]


def test_names_are_those_of_the_package():
    for name, call in CALLS.items():
        assert getattr(bot, name) is call
