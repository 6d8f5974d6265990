import math

import pytest

from bot.contract.suspend import pending, pending_of
from bot.contract.types import Request, ToolResult


def test_generated_ids_do_not_repeat():
    ids = {
        pending(kind="input", prompt="p").metadata["pending"].id for _ in range(1000)
    }

    assert len(ids) == 1000


def circle():
    data = {}
    data["self"] = data
    return data


def deep():
    data = {}
    for _ in range(100_000):
        data = {"a": data}
    return data


@pytest.mark.parametrize(
    "data",
    [
        {1: "numeric key"},
        {"a": {2: "numeric key inside"}},
        {"a": [{None: "no key"}]},
        {"a": math.nan},
        {"a": math.inf},
        {"a": {1, 2}},
        {"a": b"bytes"},
        {"a": "\ud800"},
        circle(),
        "text",
    ],
    ids=lambda data: str(type(data).__name__),
)
def test_data_that_is_no_json_is_refused(data):
    with pytest.raises(ValueError, match=r"\S"):
        pending(kind="input", prompt="p", data=data)


def test_data_nested_without_end_is_refused():
    with pytest.raises(ValueError, match="cannot be written as JSON"):
        pending(kind="input", prompt="p", data=deep())


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": None},
        {"kind": 3},
        {"prompt": None},
        {"prompt": "\udfff"},
        {"url": 5},
        {"url": 0},
        {"id": 7},
        {"expiresAt": ""},
        {"expiresAt": 1893456000},
    ],
    ids=str,
)
def test_wrong_parts_of_a_request_are_refused(wrong):
    with pytest.raises(ValueError, match=r"\S"):
        pending(**{"kind": "input", "prompt": "p", **wrong})


def test_pending_takes_keywords_only():
    with pytest.raises(TypeError):
        pending("input", "p")


class Explosive:
    @property
    def metadata(self):
        raise RuntimeError("read me not")


class ExplosiveRequest:
    kind = "input"
    prompt = "p"

    @property
    def id(self):
        raise RuntimeError("read me not")


@pytest.mark.parametrize(
    "result",
    [
        Explosive(),
        ToolResult("p", True, {"pending": ExplosiveRequest()}),
        ToolResult("p", True, {"pending": Request}),
        {"metadata": {"pending": {"id": "a", "kind": "k", "prompt": "p"}}},
        "text",
        7,
    ],
)
def test_pending_of_never_raises(result):
    assert pending_of(result) is None


def test_pending_of_gives_back_the_same_request():
    result = pending(kind="input", prompt="p")

    assert pending_of(result) is result.metadata["pending"]
