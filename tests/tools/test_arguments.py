import copy
import json
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import define_tool, tool
from bot.tools.arguments import (
    Arguments,
    argument_problems,
    read_arguments,
    usage,
)

SCHEMA = {
    "type": "object",
    "properties": {
        "service": {"type": "string", "examples": ["api"]},
        "region": {"enum": ["eu", "us"], "default": "eu", "description": "Where."},
        "seats": {"type": "integer", "minimum": 1, "maximum": 9},
        "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "force": {"type": "boolean"},
        "tags": {
            "type": "array",
            "items": {"type": "string", "maxLength": 3},
            "minItems": 1,
        },
        "limits": {
            "type": "object",
            "properties": {"cpu": {"type": "integer", "multipleOf": 2}},
            "required": ["cpu"],
        },
        "maybe": {"type": ["integer", "null"]},
        "either": {"anyOf": [{"type": "boolean"}, {"type": "integer"}]},
        "note": {"type": ["string", "null"], "minLength": 2, "maxLength": 4},
        "mixed": {"enum": [1, "1", "two", None, True]},
        "level": {"$ref": "#/$defs/Level"},
        "fixed": {"const": "yes"},
        "release": {"type": "string", "pattern": r"^v\d+$"},
        "both": {"type": "string", "allOf": [{"minLength": 3}]},
        "free": {},
    },
    "$defs": {"Level": {"title": "Level", "enum": ["low", "high"]}},
    "required": ["service"],
    "additionalProperties": False,
}


def restart(schema=SCHEMA):
    return define_tool(lambda **args: "", name="restart", input_schema=schema)


def one(schema):
    """A tool whose only argument, `x`, has this schema."""
    return restart({"type": "object", "properties": {"x": schema}})


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("region=us", "us"),
        ("seats=9", 9),
        ("share=0.5", 0.5),
        ("share=1", 1),
        ("share=1e-3", 0.001),
        ("force=true", True),
        ("force=false", False),
        ("""tags='["a", "b"]'""", ["a", "b"]),
        ("""tags=["a","b"]""", ["a", "b"]),
        ("""limits={"cpu":4}""", {"cpu": 4}),
        ("maybe=3", 3),
        ("maybe=null", None),
        ("either=true", True),
        ("either=7", 7),
        ("note=null", "null"),
        ("note=3.0", "3.0"),
        ("mixed=two", "two"),
        ("mixed=1", 1),
        ("mixed=null", None),
        ("mixed=true", True),
        ("level=high", "high"),
        ("fixed=yes", "yes"),
        ("free=api", "api"),
        ("free=1.0", 1.0),
        ("free=true", True),
        ('free={"a":[null]}', {"a": [None]}),
        ("free=NaN", "NaN"),
        ("free=v1.2", "v1.2"),
    ],
)
def test_values_are_read_by_their_type(words, value):
    key = words.partition("=")[0]
    read = read_arguments(f"service=api {words}", restart())

    assert read == Arguments(values={"service": "api", key: value})
    assert type(read.values[key]) is type(value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("seats=two", 'seats must be a whole number from 1 to 9; you wrote "two".'),
        ("seats=3.0", 'seats must be a whole number from 1 to 9; you wrote "3.0".'),
        ("seats=12", 'seats must be a whole number from 1 to 9; you wrote "12".'),
        ("seats=007", 'seats must be a whole number from 1 to 9; you wrote "007".'),
        ("seats=٣", 'seats must be a whole number from 1 to 9; you wrote "٣".'),
        ("seats=1_0", 'seats must be a whole number from 1 to 9; you wrote "1_0".'),
        ("seats=", 'seats must be a whole number from 1 to 9; you wrote "".'),
        ("share=0", 'share must be a number above 0 and of at most 1; you wrote "0".'),
        (
            "share=NaN",
            'share must be a number above 0 and of at most 1; you wrote "NaN".',
        ),
        ("share=1e999", '; you wrote "1e999" (too large).'),
        ("force=yes", 'force must be true or false; you wrote "yes".'),
        ("force=True", 'force must be true or false; you wrote "True".'),
        ("region=fr", 'region must be one of "eu", "us"; you wrote "fr".'),
        ("level=mid", 'level must be one of "low", "high"; you wrote "mid".'),
        ("fixed=no", 'fixed must be "yes"; you wrote "no".'),
        ("tags=[]", 'tags must be a JSON list of at least 1 entry; you wrote "[]".'),
        ("tags=a", 'you wrote "a" (not JSON: Expecting value).'),
        (
            """tags=["long"]""",
            "tags[0] must be text of at most 3 characters; you wrote",
        ),
        (
            """limits={"cpu":3}""",
            "limits.cpu must be a whole number that is a multiple",
        ),
        ("limits={}", "limits cannot be taken: 'cpu' is a required property."),
        ('limits={"cpu":2,"cpu":4}', '("cpu" is given twice in it).'),
        ('limits={"cpu":NaN}', "(NaN is not JSON)."),
        ('limits={"cpu":1e999}', "(too large)."),
        ('limits={"a":"\\ud800"}', "a character that no text can hold"),
        ('limits={"\\u0000":1}', "a character that no text can hold"),
        ("maybe=x", "maybe must be a whole number or null; you wrote"),
        ("either=x", "either must be true or false or a whole number; you wrote"),
        ("note=x", "note must be text of 2 to 4 characters or null; you wrote"),
        ("release=1", r'release must be text matching ^v\d+$; you wrote "1".'),
        ("both=x", 'both must be text of at least 3 characters; you wrote "x".'),
        ("free=[1", "free must be a value; you wrote"),
        ("regoin=eu", 'restart has no argument "regoin". Did you mean "region"?'),
    ],
)
def test_what_does_not_fit_is_said(words, said):
    refused = read_arguments(f"service=api {words}", restart())

    assert said in refused.text
    assert refused.text.endswith(" Nothing was started.")


def test_a_missing_argument_comes_with_an_example():
    refused = read_arguments("", restart())

    assert refused.text == "restart needs service. Example: /tool restart service=api"


def test_all_faults_are_said_at_once():
    refused = read_arguments("seats=two servise=api", restart(), command="/ops-tool")

    assert refused.text.splitlines() == [
        "restart needs service. Example: /ops-tool restart service=api",
        'restart has no argument "servise". Did you mean "service"?',
        'seats must be a whole number from 1 to 9; you wrote "two". '
        "Nothing was started.",
    ]


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, 'restart has no argument "q". It takes none.'),
        ({"service": {}, "at": {}}, 'restart has no argument "q". It takes service'),
    ],
)
def test_an_unknown_argument_is_told_what_there_is(properties, said):
    refused = read_arguments("q=1", restart({"properties": properties}))

    assert said in refused.text


@pytest.mark.parametrize(
    ("further", "value"), [(True, "7"), ({"type": "integer"}, 7)], ids=str
)
def test_further_arguments_are_taken_when_the_schema_says_so(further, value):
    schema = {"type": "object", "additionalProperties": further}
    expected = 7 if further is True else value

    assert read_arguments("x=7", restart(schema)) == Arguments(values={"x": expected})


def test_unbalanced_quotes_reach_the_person():
    refused = read_arguments('service="api', restart())

    assert "A quote in service has no partner" in refused.text


def test_a_long_value_is_not_repeated_in_full():
    refused = read_arguments(f"service=api seats={'x' * 30_000}", restart())

    assert len(refused.text) < 200


@pytest.mark.parametrize("depth", [100, 15_000])
def test_deep_nesting_is_refused(depth):
    refused = read_arguments(f"x={'[' * depth}{']' * depth}", one({"type": "array"}))

    assert "nested too deeply" in refused.text


def test_endless_digits_are_refused():
    refused = read_arguments(f"x={'9' * 5000}", one({"type": "integer"}))

    assert refused.text.startswith("x must be a whole number; you wrote")


@pytest.fixture
def short_patience():
    """Connections of this test give up soon, so that it fails and does not hang."""
    socket.setdefaulttimeout(1)
    yield
    socket.setdefaulttimeout(None)


@pytest.mark.usefixtures("short_patience")
def test_nothing_is_fetched_for_a_schema():
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema"

        refused = read_arguments("x=a", one({"$ref": address}))

        with pytest.raises(BlockingIOError):
            server.accept()
    assert "its author must mend it" in refused.text


@pytest.mark.parametrize(
    "broken",
    [
        {"$ref": "#/$defs/nowhere"},
        {"allOf": [{"pattern": "("}]},
        {"allOf": [{"$ref": "#/properties/x"}]},
    ],
    ids=str,
)
def test_a_schema_that_cannot_be_used_refuses(broken):
    refused = read_arguments("x=a", one(broken))

    assert "its author must mend it" in refused.text


def test_reading_leaves_the_schema_as_it_was():
    schema = copy.deepcopy(SCHEMA)

    read_arguments("service=api seats=12 both=x tags=[]", restart(schema))
    usage(restart(schema))

    assert schema == SCHEMA


@pytest.mark.parametrize(
    ("values", "problems"),
    [
        ({"service": "api", "seats": 3}, []),
        ({}, ["The arguments cannot be taken: 'service' is a required property."]),
        ({"service": 3}, ["service must be text."]),
        (
            {"service": "a", "tags": [1]},
            ["tags[0] must be text of at most 3 characters."],
        ),
        ([], ["The arguments must be a JSON object."]),
    ],
)
def test_arguments_of_a_model_are_checked_by_the_same_schema(values, problems):
    assert argument_problems(values, SCHEMA) == problems


def test_usage_shows_words_and_types():
    made = restart(
        {
            "type": "object",
            "properties": {
                "region": SCHEMA["properties"]["region"],
                "service": {"type": "string"},
                "title": {"type": "string", "default": "two words"},
                "tags": {"type": "array"},
            },
            "required": ["service"],
        }
    )

    assert usage(made).splitlines() == [
        "restart service=… [region=eu] [title='two words'] [tags=…]",
        "service: text",
        'region: one of "eu", "us"; left out: "eu". Where.',
        'title: text; left out: "two words"',
        "tags: a JSON list",
    ]


def test_usage_shows_what_is_taken_when_it_is_left_out():
    @tool
    def book(city: str, nights: int = 20, late: bool = False, note: str | None = None):
        """Book a room."""

    shown, *lines = usage(book).splitlines()

    assert shown == "book city=… [nights=20] [late=false] [note=…]"
    assert "nights: a number; left out: 20" in lines


def test_the_default_of_the_function_is_shown_before_that_of_the_schema():
    schema = {
        "type": "object",
        "properties": {"mode": {"enum": ["fast", "slow"], "default": "fast"}},
    }

    @tool(input_schema=schema)
    def move(mode: str = "slow"):
        """Move."""

    assert usage(move).splitlines()[0] == "move [mode=slow]"


def test_a_listed_value_is_no_default():
    schema = {"type": "object", "properties": {"mode": {"enum": ["fast", "slow"]}}}

    assert usage(restart(schema)).splitlines()[0] == "restart [mode=…]"


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**50), 10**50)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON_VALUES)
def test_json_values_are_read_as_they_are(value):
    text = json.dumps(value, separators=(",", ":"))
    read = read_arguments(f"x='{text}'", one({}))

    assert read == Arguments(values={"x": value})
