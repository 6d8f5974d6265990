import copy
import json
from pathlib import Path

import pytest

from bot.model.openai import (
    ModelCall,
    Reply,
    Unusable,
    Usage,
    address,
    append_results,
    balance,
    first_messages,
    headers,
    read_arguments,
    read_reply,
    request_body,
)

VECTORS = json.loads(
    (Path(__file__).parents[1] / "contract" / "vectors.json").read_text("utf-8")
)
TOOL = {"type": "function", "function": {"name": "restart", "parameters": {}}}
USER = {"role": "user", "content": "restart the api"}


def call(id="c1", name="restart", arguments='{"service":"api"}'):
    return {
        "id": id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def calling(*calls, **more):
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **more}


def result(id, content):
    return {"role": "tool", "tool_call_id": id, "content": content}


def body_of(message, **more):
    return {"choices": [{"index": 0, "message": message}], **more}


# -- what is sent -------------------------------------------------------------------


def test_a_request_offers_tools_and_lets_the_model_choose():
    assert request_body("m", [USER], [TOOL], {"temperature": 0}) == {
        "model": "m",
        "messages": [USER],
        "tools": [TOOL],
        "tool_choice": "auto",
        "temperature": 0,
    }


def test_without_tools_their_keys_are_left_out():
    assert request_body("m", [USER], []) == {"model": "m", "messages": [USER]}


@pytest.mark.parametrize("name", ["messages", "tools", "stream"])
def test_parameters_cannot_replace_what_is_sent(name):
    with pytest.raises(ValueError, match=name):
        request_body("m", [USER], [], {name: []})


def test_parameters_win_over_the_rest():
    body = request_body("m", [USER], [TOOL], {"model": "n", "tool_choice": "none"})

    assert (body["model"], body["tool_choice"]) == ("n", "none")


def test_a_request_is_always_balanced():
    halted = [USER, calling(call("a"), call("b")), result("a", "ok")]

    sent = request_body("m", halted, [])["messages"]

    assert sent == [*halted, result("b", "unresolved: restart")]


def test_a_run_begins_with_the_words_and_a_system_message_if_there_is_one():
    system = {"role": "system", "content": "be brief"}

    assert first_messages("be brief", "restart the api") == [system, USER]
    assert first_messages("", "restart the api") == [USER]


def test_the_key_is_a_bearer_and_may_be_absent():
    assert headers("sk-1") == {"Authorization": "Bearer sk-1"}
    assert headers(None) == headers("") == {}
    assert address("https://h/v1/") == "https://h/v1/chat/completions"


# -- what comes ---------------------------------------------------------------------


def test_a_text_is_the_last_word():
    message = {"role": "assistant", "content": "It is healthy.", "annotations": []}
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}

    assert read_reply(body_of(message, usage=usage, error=None)) == Reply(
        message=message,
        text="It is healthy.",
        calls=(),
        usage=Usage(prompt=5, completion=2, total=7),
    )


def test_calls_are_read_in_order_with_their_own_text():
    message = calling(call("a"), call("b", "status", "{ }"), reasoning_content="…")
    given = copy.deepcopy(message)

    reply = read_reply(body_of(message))

    assert reply.message == message == given
    assert reply.text == ""
    assert reply.calls == (
        ModelCall(id="a", name="restart", arguments='{"service":"api"}'),
        ModelCall(id="b", name="status", arguments="{ }"),
    )
    assert reply.usage == Usage()


@pytest.mark.parametrize(
    ("written", "text"),
    [(None, ""), ("", ""), ("{oops", "{oops"), ({"a": 1}, '{"a": 1}'), ([1], "[1]")],
)
def test_arguments_are_text_however_they_came(written, text):
    reply = read_reply(body_of(calling(call(arguments=written))))

    assert [c.arguments for c in reply.calls] == [text]


def test_a_call_without_arguments_has_none():
    written = {"id": "a", "function": {"name": "restart"}}

    assert read_reply(body_of(calling(written))).calls[0].arguments == ""


def test_a_refusal_is_what_the_model_says():
    message = {"role": "assistant", "content": None, "refusal": "I may not."}

    assert read_reply(body_of(message)).text == "I may not."


def test_a_message_without_a_role_is_the_assistants():
    reply = read_reply(body_of({"content": ""}))

    assert reply.message == {"role": "assistant", "content": ""}
    assert (reply.text, reply.calls) == ("", ())


SAID = {"role": "assistant", "content": "hi"}
RUBBISH = [
    (None, "is not an object"),
    ([], "is not an object"),
    ("hello", "is not an object"),
    (3, "is not an object"),
    ({}, "has no list of choices"),
    ({"choices": None}, "has no list of choices"),
    ({"choices": {"0": {}}}, "has no list of choices"),
    ({"choices": []}, "has no choices"),
    ({"choices": ["hi"]}, "has no message"),
    ({"choices": [{}]}, "has no message"),
    ({"choices": [{"message": None}]}, "has no message"),
    ({"choices": [{"message": "hi"}]}, "has no message"),
    ({"choices": [{"text": "hi"}]}, "has no message"),
    (body_of(SAID, error={"message": "canary"}), "is an error"),
    ({"error": "canary no such model"}, "is an error"),
    ({"error": {"code": "canary 1", "type": 3}}, "is an error"),
    ({"error": {"code": 404, "type": "not_found"}}, "is an error: not_found"),
    ({"error": {"code": "model_not_found"}}, "is an error: model_not_found"),
    (body_of({"role": "user", "content": "hi"}), "is not the assistant's"),
    (body_of({"role": None, "content": "hi"}), "is not the assistant's"),
    (body_of({"role": "tool", "content": "approved"}), "is not the assistant's"),
    (body_of({"role": "assistant"}), "is empty"),
    (body_of({"role": "assistant", "content": None}), "is empty"),
    (body_of({"content": None, "tool_calls": []}), "is empty"),
    (body_of({"content": 3}), "has a content that is not text"),
    (body_of({"content": ["hi"]}), "has a content that is not text"),
    (body_of({"refusal": {}}), "has a refusal that is not text"),
    (body_of({"content": "\ud83d"}), "cannot be kept as JSON"),
    (body_of({"content": "a", "b": float("nan")}), "cannot be kept as JSON"),
    (body_of({"content": "a", "b": {1, 2}}), "cannot be kept as JSON"),
]
MALFORMED = [
    "restart",
    {"restart": {}},
    [None],
    ["restart"],
    [{}],
    [{"id": "a"}],
    [{"id": "a", "function": None}],
    [{"id": "a", "function": "restart"}],
    [{"id": "a", "function": {}}],
    [{"id": "a", "function": {"name": None}}],
    [{"id": "a", "function": {"name": ""}}],
    [{"id": "a", "function": {"name": ["restart"]}}],
    [{"id": "a", "function": {"name": "r" * 257}}],
    [{"id": "a", "type": "custom", "function": {"name": "restart"}}],
    [call("a"), {"id": "b", "type": "function"}],
]


@pytest.mark.parametrize(("body", "why"), RUBBISH)
def test_rubbish_is_named_and_never_raises(body, why):
    assert read_reply(body) == Unusable(reason=f"the model's reply {why}")


@pytest.mark.parametrize("calls", MALFORMED)
def test_malformed_calls_are_not_guessed_at(calls):
    for content in (None, "I restarted it."):
        body = body_of({"role": "assistant", "content": content, "tool_calls": calls})
        why = "the model's reply has malformed tool calls"
        assert read_reply(body) == Unusable(reason=why)


@pytest.mark.parametrize(
    ("usage", "read"),
    [
        (None, Usage()),
        ("many", Usage()),
        ({}, Usage()),
        ({"prompt_tokens": "5", "completion_tokens": 2.5, "total_tokens": -1}, Usage()),
        ({"prompt_tokens": True}, Usage()),
        ({"prompt_tokens": 5}, Usage(prompt=5, total=5)),
        ({"total_tokens": 9}, Usage(total=9)),
        (
            {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 1},
            Usage(prompt=5, completion=2, total=7),
        ),
    ],
)
def test_usage_counts_what_is_counted(usage, read):
    assert read_reply(body_of(SAID, usage=usage)).usage == read


# -- arguments ----------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "  \n", "{}", " { } ", "null", " null\n"])
def test_nothing_is_no_arguments(text):
    assert read_arguments(text, "pay") == {}


def test_an_object_is_the_arguments():
    assert read_arguments('{"a": [1, 1.0, "1"]}', "pay") == {"a": [1, 1.0, "1"]}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"amount": 10',
        "amount=10",
        "[]",
        "[1]",
        '"{}"',
        "0",
        "false",
        "NaN",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": 1, "a": 2}',
        '{"a": "\\ud800"}',
        '{"a": "\ud800"}',
        "{} {}",
        '```json\n{"a": 1}\n```',
        '{"a":' * 200_000,
        '{"a":' * 100 + "1" + "}" * 100,
        '{"a": ' + "1" * 5_000 + "}",
    ],
    ids=lambda text: ascii(text[:16]),
)
def test_anything_else_is_no_arguments_at_all(text):
    assert read_arguments(text, "pay") == Unusable(reason="invalid arguments for pay")


# -- ids ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ids", "named"),
    [
        (["a", "b"], ["a", "b"]),
        ([None, None], ["call_0", "call_1"]),
        (["", 7], ["call_0", "call_1"]),
        (["a", "a", "a"], ["a", "call_0", "call_1"]),
        ([None, "call_0"], ["call_1", "call_0"]),
        (["call_1", "call_1", ""], ["call_1", "call_0", "call_2"]),
        (["a", "b", "a", "b"], ["a", "b", "call_0", "call_1"]),
    ],
)
def test_missing_and_repeated_ids_become_fresh_ones(ids, named):
    message = calling(*(call(id, f"t{n}") for n, id in enumerate(ids)))
    given = copy.deepcopy(message)

    reply = read_reply(body_of(message))
    grown = append_results([USER], message, [f"r{n}" for n in range(len(ids))])

    assert message == given
    assert [c.id for c in reply.calls] == named
    assert [c.name for c in reply.calls] == [f"t{n}" for n in range(len(ids))]
    assert grown[1] == reply.message
    assert grown[2:] == [result(id, f"r{n}") for n, id in enumerate(named)]
    assert balance(grown) == grown


def test_a_call_without_an_id_key_gets_one():
    written = {"function": {"name": "restart"}}

    assert read_reply(body_of(calling(written))).message["tool_calls"] == [
        {"function": {"name": "restart"}, "id": "call_0"}
    ]


# -- the transcript -----------------------------------------------------------------


def test_results_follow_their_calls_in_call_order():
    before = [USER]
    message = calling(call("b"), call("a"))

    grown = append_results(before, message, ["first", "second"])

    assert grown == [USER, message, result("b", "first"), result("a", "second")]
    assert before == [USER]


@pytest.mark.parametrize("results", [[], ["a"], ["a", "b", "c"]])
def test_there_is_one_result_for_each_call(results):
    with pytest.raises(ValueError, match="zip"):
        append_results([], calling(call("a"), call("b")), results)


def test_a_last_word_has_no_results():
    assert append_results([USER], SAID, []) == [USER, SAID]


def test_a_missing_result_is_unresolved():
    later = {"role": "user", "content": "and now?"}
    halted = [USER, calling(call("a", "gate"), call("b", "pay")), later]

    assert balance(halted) == [
        *halted[:2],
        result("a", "unresolved: gate"),
        result("b", "unresolved: pay"),
        later,
    ]


def test_results_are_put_in_call_order():
    message = calling(call("a"), call("b"), call("c"))
    given = [message, result("c", "3"), result("a", "1")]

    assert balance(given) == [
        message,
        result("a", "1"),
        result("b", "unresolved: restart"),
        result("c", "3"),
    ]


@pytest.mark.parametrize(
    "stray",
    [
        [result("a", "approved")],
        [SAID, result("a", "approved")],
        [calling(call("a")), result("a", "1"), result("a", "approved")],
        [calling(call("a")), result("a", "1"), result("z", "approved")],
        [calling(call("a")), result("a", "1"), USER, result("a", "approved")],
    ],
)
def test_a_result_of_no_call_is_left_out(stray):
    assert balance(stray) == [m for m in stray if m.get("content") != "approved"]


def test_what_stands_behind_equal_ids_is_matched_by_position():
    halted = [calling(call("a"), call("a")), result("a", "1"), result("a", "2")]

    assert balance(halted) == [
        calling(call("a"), call("call_0")),
        result("a", "1"),
        result("call_0", "2"),
    ]


def test_balancing_changes_nothing_that_it_was_given():
    halted = [calling(call("a"), call("a")), result("a", "1"), result("z", "2")]
    given = copy.deepcopy(halted)

    balance(halted)

    assert halted == given


def test_a_transcript_in_pieces_does_not_raise():
    odd = [
        {},
        {"role": "assistant", "tool_calls": "x"},
        calling(None, {"id": "a"}, {"id": "b", "function": 3}),
        {"role": "tool"},
        {"role": "user", "tool_calls": [call()]},
    ]

    assert [m.get("content") for m in balance(odd) if m.get("role") == "tool"] == [
        "unresolved: None",
        "unresolved: None",
    ]


def transcripts(value):
    """Every whole OpenAI transcript of the contract's vectors."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "messages_openai" and isinstance(inner, list):
                yield inner
            else:
                yield from transcripts(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from transcripts(inner)


@pytest.mark.parametrize("messages", list(transcripts(VECTORS)))
def test_the_contracts_transcripts_are_balanced_or_become_so(messages):
    balanced = balance(messages)

    counts = {
        index: len(message["tool_calls"])
        for index, message in enumerate(balanced)
        if message.get("tool_calls")
    }
    for index, n in counts.items():
        ids = [c["id"] for c in balanced[index]["tool_calls"]]
        told = balanced[index + 1 : index + 1 + n]
        assert [m.get("tool_call_id") for m in told] == ids
    assert len(balanced) >= len(messages)
    assert [m for m in balanced if m in messages] == messages
    assert balance(balanced) == balanced


def test_there_are_transcripts_in_the_vectors():
    assert len(list(transcripts(VECTORS))) >= 10
