import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from bot.tools.loader import load_tools

TOOL = "from bot import tool\n"


@pytest.fixture
def load(tmp_path, monkeypatch):
    """Write modules into an empty folder and load them, leaving nothing behind."""
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def load(*names, **modules):
        for name, text in modules.items():
            (tmp_path / f"{name}.py").write_text(text)
        return load_tools(list(names or modules), tmp_path)

    yield load
    for name in set(sys.modules) - before:
        if getattr(sys.modules[name], "__file__", None) is None:
            continue
        if str(tmp_path) in sys.modules[name].__file__:
            del sys.modules[name]


def names(loaded):
    return [tool.name for tool in loaded.toolkit.tools()]


def only_problem(loaded):
    (problem,) = loaded.problems
    return problem


def test_tools_are_found_in_the_order_of_definition(load):
    loaded = load(
        kit_one=TOOL
        + "@tool\ndef zebra(): ...\n"
        + "@tool(name='ape')\ndef monkey(): ...\n"
        + "again = zebra\n"
        + "def not_a_tool(): ...\n",
        kit_two=TOOL + "from kit_one import zebra\n@tool\ndef bee(): ...\n",
    )

    assert loaded.problems == ()
    assert names(loaded) == ["zebra", "ape", "bee"]


async def test_loaded_tools_run_and_may_import_their_neighbours_later(load):
    loaded = load(
        "kit_late",
        kit_late=TOOL
        + "@tool\ndef late():\n    import kit_near\n    return kit_near.A",
        kit_near="A = 'near'",
    )

    assert (await loaded.toolkit.execute("late")).output == "near"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "import no_such_thing",
            "ModuleNotFoundError: No module named 'no_such_thing'",
        ),
        ("def f(:", "SyntaxError: invalid syntax (kit_bad.py, line 1)"),
        ("raise ValueError('first\\nsecond')", "ValueError: first"),
        ("raise SystemExit(2)", "SystemExit: 2"),
        ("assert False", "AssertionError"),
        (
            TOOL + "@tool(version=3)\ndef f(): ...",
            'ContractError: f: version must be a string, such as "3"',
        ),
    ],
)
def test_a_module_that_does_not_import_is_named_with_its_last_line(load, text, said):
    problem = only_problem(load(kit_bad=text))

    assert problem.what == f"The tool module kit_bad could not be imported: {said}"


def test_a_missing_module_is_told_where_it_would_be(load, tmp_path):
    problem = only_problem(load("kit_a.kit_b"))

    assert "No module named 'kit_a'" in problem.what
    assert str(tmp_path / "kit_a" / "kit_b.py") in problem.fix


def test_a_missing_dependency_is_told_apart_from_a_missing_module(load):
    problem = only_problem(load(kit_dep="import no_such_thing"))

    assert problem.fix == "install what provides no_such_thing, or mend the import."


@pytest.mark.parametrize("name", ["ops/tools.py", "", ".ops", "ops tools", "3d"])
def test_what_is_no_module_name_is_said(load, name):
    assert "is not the name of a module" in only_problem(load(name)).what


def test_every_fault_of_every_module_is_collected(load):
    loaded = load(
        kit_x="1/0",
        kit_y="",
        kit_z=TOOL + "@tool\ndef fine(): ...",
        kit_w="import no_such_thing",
    )

    assert [problem.what.split(" ")[3] for problem in loaded.problems] == [
        "kit_x",
        "has",
        "kit_w",
    ]
    assert names(loaded) == ["fine"]


def test_a_module_without_tools_is_a_problem(load):
    assert (
        only_problem(load(kit_none="x = 1")).what == "The module kit_none has no tools."
    )


def test_a_name_offered_twice_is_a_problem_and_the_first_stays(load):
    loaded = load(
        kit_p=TOOL + "@tool\ndef pay():\n    'First.'",
        kit_q=TOOL + "@tool\ndef pay():\n    'Second.'",
    )

    assert only_problem(loaded).what == "The tool pay is there in kit_p and kit_q."
    assert loaded.toolkit.get("pay").description == "First."


def test_a_name_twice_in_one_module_is_a_problem(load):
    loaded = load(
        kit_r=TOOL + "@tool\ndef a(): ...\n@tool(name='a')\ndef b(): ...",
    )

    assert only_problem(loaded).what == "The tool a is there twice in kit_r."


@pytest.mark.parametrize("name", ["", "two words", "ä", "x" * 65, "a\\n"])
def test_names_a_model_could_not_call_are_a_problem(load, name):
    loaded = load(kit_n=TOOL + f"@tool(name='{name}')\ndef f(): ...")

    assert "cannot be the name of a tool" in only_problem(loaded).what
    assert names(loaded) == []


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("[]", 'it must be a dict with "type": "object"'),
        ("{}", 'it must be a dict with "type": "object"'),
        ("{'type': 'object', 'properties': {'a': {'type': 'text'}}}", "'text' is not"),
        (
            "{'type': 'object', 'required': 'a'}",
            "$.required: 'a' is not of type 'array'",
        ),
        ("{'type': 'object', 'properties': {'a': {'pattern': '('}}}", "'regex'"),
        ("{'type': 'object', 'default': {1, 2}}", "it is not JSON"),
        (
            "{'type': 'object', 'properties': {'a': {'$ref': 'http://127.0.0.1/s'}}}",
            "it refers to http://127.0.0.1/s, which is not in it.",
        ),
    ],
)
def test_schemas_that_are_none_are_a_problem(load, schema, said):
    loaded = load(kit_s=TOOL + f"@tool(input_schema={schema})\ndef f(a): ...")

    problem = only_problem(loaded)
    assert problem.what.startswith("kit_s: the input schema of f cannot be used: ")
    assert said in problem.what
    assert names(loaded) == []


async def test_the_pool_is_handed_on(load, tmp_path):
    body = "return threading.current_thread().name"
    load(kit_pool=TOOL + f"import threading\n@tool\ndef where():\n    {body}")

    with ThreadPoolExecutor(1, thread_name_prefix="own") as pool:
        loaded = load_tools(["kit_pool"], tmp_path, pool=pool)
        result = await loaded.toolkit.execute("where")

    assert result.output == "own_0"
