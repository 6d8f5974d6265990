import re
from pathlib import Path

import pytest

from bot.config import (
    Settings,
    default_settings,
    load,
    load_files,
    read_settings,
    settings_path,
)
from bot.core import keys
from bot.errors import ConfigError

TOKEN = "xoxb-1-2-secret0token"
SIGNING = "0123456789abcdef0123456789abcdef"
KEY = keys.generate()
SECRETS = {
    "SLACK_BOT_TOKEN": TOKEN,
    "SLACK_SIGNING_SECRET": SIGNING,
    "COUNTERSIGN_KEY": KEY,
}


@pytest.fixture
def write(tmp_path):
    def write(name, text, mode=0o644):
        path = tmp_path / name
        path.write_text(text)
        path.chmod(mode)
        return path

    return write


def settings_of(write, text, environ=None):
    return read_settings(write("countersign.toml", text), environ or {})


def problems_of(call, *args):
    with pytest.raises(ConfigError) as caught:
        call(*args)
    return str(caught.value)


def settings_problems(write, text, environ=None):
    return problems_of(settings_of, write, text, environ)


def test_an_empty_settings_file_has_safe_defaults(write, tmp_path):
    settings = settings_of(write, "")
    assert settings == settings_of(write, "")
    assert settings.tools == ()
    assert settings.policy_path == tmp_path / "policy.toml"
    assert settings.database_path == tmp_path / "countersign.db"
    assert settings.public_url is None
    assert settings.slash("tool") == "/tool"


def test_relative_paths_start_at_the_settings_file_wherever_we_are(
    write, tmp_path, monkeypatch
):
    write("countersign.toml", 'policy = "rules/p.toml"')
    monkeypatch.chdir(tmp_path)
    settings = read_settings(Path("countersign.toml"), {"COUNTERSIGN_DB": "x.db"})
    monkeypatch.chdir("/")
    assert settings.policy_path == tmp_path / "rules/p.toml"
    assert settings.database_path == tmp_path / "x.db"


def test_all_settings_are_read(write):
    settings = settings_of(
        write,
        """
        tools = ["ops.tools", "more"]
        database = "/var/lib/cs.db"
        public_url = "https://cs.example:8443/"
        command_prefix = "acme-"
        """,
    )
    assert settings.tools == ("ops.tools", "more")
    assert settings.database_path == Path("/var/lib/cs.db")
    assert settings.public_url == "https://cs.example:8443"
    assert settings.slash("tool") == "/acme-tool"


def test_the_environment_overrides_database_and_public_url(write):
    environ = {"COUNTERSIGN_DB": "/a.db", "COUNTERSIGN_PUBLIC_URL": "https://b.example"}
    settings = settings_of(write, 'database = "c.db"', environ)
    assert settings.database_path == Path("/a.db")
    assert settings.public_url == "https://b.example"


def test_a_bad_override_is_named_as_the_variable(write):
    said = settings_problems(
        write, "", {"COUNTERSIGN_DB": "", "COUNTERSIGN_PUBLIC_URL": "ftp://x"}
    )
    assert "COUNTERSIGN_DB is empty." in said
    assert "COUNTERSIGN_PUBLIC_URL must be https." in said
    assert "countersign.toml" not in said


@pytest.mark.parametrize(
    "url",
    [
        "https://cs.example",
        "http://127.0.0.1:3031",
        "http://localhost",
        "http://[::1]:1",
    ],
)
def test_a_public_url_is_https_or_loopback(write, url):
    assert settings_of(write, f'public_url = "{url}"').public_url == url


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://cs.example", "must be https"),
        ("http://127.0.0.1.evil.example", "must be https"),
        ("https://cs.example/bot", "has a path"),
        ("https://cs.example?x=1", "has a query"),
        ("https://cs.example?", "has a query"),
        ("https://cs.example#x", "has a query or a fragment"),
        ("https://me@cs.example", "has a user name"),
        ("https://", "is not an address"),
        ("https://cs.example:port", "is not an address"),
        ("https://cs example", "is not an address"),
        ("https://[::1", "is not an address"),
        ("cs.example", "is not an address"),
    ],
)
def test_a_public_url_that_browsers_could_misread_is_refused(write, url, why):
    assert why in settings_problems(write, f'public_url = "{url}"')


@pytest.mark.parametrize("url", ["postgresql://h/db", "postgres://h/db"])
def test_postgresql_is_not_supported_by_this_version(write, url):
    said = settings_problems(write, f'database = "{url}"')
    assert "which this version does not support" in said


def test_a_command_fits_into_32_characters(write):
    longest = "a" * 22
    settings = settings_of(write, f'command_prefix = "{longest}"')
    assert len(settings.slash("approvals")) == 32
    assert "22 at most" in settings_problems(write, f'command_prefix = "{longest}a"')
    for bad in ("Acme", "a b", "é", "/"):
        assert "command_prefix" in settings_problems(write, f'command_prefix = "{bad}"')


def test_an_unknown_key_is_an_error_with_what_was_probably_meant(write):
    said = settings_problems(write, 'tool = ["x"]\nwidth = 3')
    assert "countersign.toml: tool is a key that this version does not know." in said
    assert "did you mean tools?" in said
    assert "width is a key" in said
    assert said.endswith("2 problems. Nothing was started.")


def test_the_folder_is_not_a_setting(write):
    assert "root is a key" in settings_problems(write, 'root = "/"')


def test_a_wrong_type_says_what_is_right(write):
    said = settings_problems(write, 'tools = "ops.tools"\npolicy = 3')
    assert "tools must be a list in [ ]." in said
    assert "policy must be text in quotes." in said


def test_a_path_that_is_none_is_a_problem_not_a_crash(write):
    path = write("countersign.toml", 'policy = "a\\u0000b"')
    said = problems_of(load, path, SECRETS)
    assert "policy is empty" in said
    assert "is not a path" in said


def test_a_module_is_named_as_python_imports_it(write):
    assert "tools[2] is not the name of a module" in settings_problems(
        write, 'tools = ["a", "ops/tools.py"]'
    )


def test_a_syntax_error_names_file_and_line(write):
    said = settings_problems(write, '\n\ntools = ["a"\nx = 1\n')
    assert said.startswith("countersign.toml, line 4: ")
    assert settings_problems(write, "a = ").startswith("countersign.toml, line 1: ")


def test_a_file_that_is_not_text_is_named(write, tmp_path):
    (tmp_path / "countersign.toml").write_bytes(b"\xff\xfe")
    path = tmp_path / "countersign.toml"
    assert "is not UTF-8" in problems_of(read_settings, path, {})
    assert "cannot be read" in problems_of(read_settings, tmp_path, {})


def test_a_missing_settings_file_says_what_writes_one(tmp_path):
    said = problems_of(read_settings, tmp_path / "countersign.toml", {})
    assert "There is no settings file at" in said
    assert "`countersign init` writes one" in said


def test_the_settings_file_is_the_named_one_or_the_usual_one(tmp_path):
    environ = {"COUNTERSIGN_CONFIG": "/etc/cs.toml"}
    assert settings_path(Path("mine.toml"), environ) == Path("mine.toml")
    assert settings_path(None, environ) == Path("/etc/cs.toml")
    assert settings_path(None, {}) == Path("countersign.toml")
    assert isinstance(default_settings(tmp_path, {}), Settings)


# -- the model ----------------------------------------------------------------------

MODEL = """
[model]
style = "openai"
base_url = "http://127.0.0.1:8000/v1"
name = "our-model"
"""


def test_without_a_model_there_is_none(write):
    assert settings_of(write, "").model is None


def test_a_model_has_budgets_of_its_own_accord(write):
    model = settings_of(write, MODEL).model
    assert (model.style, model.name) == ("openai", "our-model")
    assert model.base_url == "http://127.0.0.1:8000/v1"
    assert model.timeout_seconds == 120
    assert (model.max_turns, model.max_calls_per_turn, model.max_calls) == (10, 8, 40)
    assert model.max_tokens == 200_000
    assert model.max_seconds == 30 * 60


def test_all_settings_of_a_model_are_read(write):
    model = settings_of(
        write,
        MODEL.replace("http://127.0.0.1:8000/v1", "https://models.example/v1/")
        + """
        timeout = "30s"
        max_turns = 3
        max_calls_per_turn = 1
        max_calls = 2
        max_tokens = 1000
        max_time = "2h"
        """,
    ).model
    assert model.base_url == "https://models.example/v1"
    assert (model.timeout_seconds, model.max_seconds) == (30, 7_200)
    assert (model.max_turns, model.max_calls_per_turn, model.max_calls) == (3, 1, 2)
    assert model.max_tokens == 1_000


def test_what_a_model_needs_is_asked_for_where_it_belongs(write):
    said = settings_problems(write, "[model]")
    for key in ("style", "base_url", "name"):
        assert f"model.{key} is missing.\n  fix: add {key} = …" in said
    assert said.endswith("3 problems. Nothing was started.")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('style = "anthropic"', 'style is "anthropic", which this version does not'),
        ('style = "cohere"', "style is something that this version does not know"),
        ("style = 3", "style is something that this version does not know"),
        ('base_url = "http://models.example/v1"', "base_url must be https"),
        ('base_url = "https://me:pw@models.example"', "base_url has a user name"),
        ('base_url = "https://models.example/v1?a=b"', "base_url has a query"),
        (
            'base_url = "https://models.example/v1/chat/completions/"',
            "base_url ends in /chat/completions",
        ),
        ('name = ""', "name is not the name of a model"),
        ('name = "a\\nb"', "name is not the name of a model"),
        ('timeout = "2 minutes"', "timeout is not a duration"),
        ('timeout = "0s"', "timeout is not a duration"),
        ('timeout = "11m"', "timeout is longer than 10m"),
        ("timeout = 120", "timeout must be text in quotes"),
        ("max_turns = 0", "max_turns is not from 1 to 1,000"),
        ('max_turns = "10"', "max_turns must be a whole number, without quotes"),
        ('max_tokens = "10"', "max_tokens must be a whole number, without quotes"),
        ("max_calls = 1.5", "max_calls must be a whole number"),
        ("max_calls = true", "max_calls must be a whole number"),
        ("max_calls_per_turn = 129", "max_calls_per_turn is not from 1 to 128"),
        ("max_tokens = -1", "max_tokens is not from 1 to 1,000,000,000"),
        ('max_time = "8d"', "max_time is longer than 7d"),
        ('api_key = "canary"', "api_key holds a secret"),
    ],
)
def test_a_fault_in_the_model_is_named(write, line, why):
    key = line.partition(" ")[0]
    kept = [row for row in MODEL.splitlines() if not row.startswith(f"{key} ")]
    said = settings_problems(write, "\n".join([*kept, line]))
    assert f"countersign.toml: model.{why}" in said
    assert said.endswith("1 problem. Nothing was started.")
    assert "canary" not in said


def test_an_unknown_key_of_the_model_is_compared_with_the_models_keys(write):
    said = settings_problems(write, f"{MODEL}\nmax_turn = 3\ncolour = 1")
    assert "did you mean max_turns?" in said
    assert "known: style, base_url, name, timeout, max_turns" in said
    assert "must be a table" in settings_problems(write, 'model = "gpt"')


# -- secrets where they do not belong (T48) -----------------------------------------


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ('database = "xoxb-1-canary"', "database"),
        ('tools = ["a", "xapp-1-canary"]', "tools[2]"),
        ('slack_bot_token = "canary"', "slack_bot_token"),
        (
            '[slack]\nsigning_secret = "canary0123456789abcdef0123456789"',
            "signing_secret",
        ),
        ('admin_password = "canary"', "admin_password"),
        ('COUNTERSIGN_KEY = "canary"', "COUNTERSIGN_KEY"),
        ('command_prefix = "ghp_canarycanarycanarycanary"', "command_prefix"),
        ('public_url = "https://hooks.slack.com/canary"', "public_url"),
        ('"xoxb-canary" = 1', "(a key)"),
        ('[a.b]\nc = [{d = "sk-canarycanarycanarycanary"}]', "a.b.c[1].d"),
    ],
)
def test_a_secret_in_the_settings_is_an_error_that_does_not_repeat_it(write, line, key):
    said = settings_problems(write, line)
    assert f"{key} holds a secret" in said
    assert "canary" not in said


# -- a key that stands twice ---------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "key"),
    [
        ('policy = "a"\n\npolicy = "b"', 3, "policy"),
        ('"policy" = "a"\npolicy = [\n1,\n]\n', 2, "policy"),
        ("[a]\nx = 1\n[a]\n", 3, "a"),
        ("a = {b = 1, b = 2}", 1, "b"),
        ('xoxb-1 = "a"\nxoxb-1 = "b"', 2, "a key"),
    ],
)
def test_a_key_that_stands_twice_is_named_with_its_line(write, text, line, key):
    said = problems_of(load_files, write("countersign.toml", text), {})
    begins = f"countersign.toml, line {line}: {key} stands here for the second time.\n"
    assert said.startswith(f"{begins}  fix: keep one of the two.\n")


def test_a_rule_without_its_own_beginning_is_told_apart(write):
    path = write("countersign.toml", "")
    write("policy.toml", '[[tool]]\nname = "a"\ngate = "ask"\nname = "b"\n')
    said = problems_of(load_files, path, {})
    assert "policy.toml, line 4: name stands here for the second time." in said
    assert "each rule begins with [[tool]]" in said


# -- everything together ------------------------------------------------------------


def test_everything_is_loaded(write, tmp_path):
    path = write("countersign.toml", 'tools = ["a"]')
    write("policy.toml", '[[tool]]\nname = "a"\ngate = "ask"')
    loaded = load(path, SECRETS)
    assert loaded.settings.root == tmp_path
    assert [rule.name for rule in loaded.policy.tool] == ["a"]
    assert loaded.warnings == (
        'policy.toml, tool "a": it names no approvers, so nobody may approve it.',
    )
    assert load_files(path, {}) == (loaded.settings, loaded.policy)
    assert TOKEN not in repr(loaded)


def test_all_problems_of_everything_are_reported_at_once(write):
    path = write("countersign.toml", 'policy = "p.toml"\nwidth = 1')
    write("p.toml", '[[tool]]\nname = "a"\ngate = "no"\naprovers = []')
    write(".env", "nonsense", 0o600)
    said = problems_of(load, path, {"SLACK_BOT_TOKEN": "xoxp-1"})
    for part in (
        ".env, line 1",
        "width is a key",
        'p.toml, tool "a": gate',
        "did you mean approvers?",
        "SLACK_BOT_TOKEN is a user token",
        "SLACK_SIGNING_SECRET is not set",
        "COUNTERSIGN_KEY is not set",
    ):
        assert part in said
    assert said.endswith("7 problems. Nothing was started.")
    # One line for the fault and one for the fix, each time.
    assert re.fullmatch(r"(?:[^ ].*\n  fix: .*\n){7}7 problems.*", said)


def test_a_missing_policy_and_a_missing_settings_file_are_told_with_the_rest(
    write, tmp_path
):
    said = problems_of(load, write("countersign.toml", ""), {})
    assert "There is no policy file at" in said
    assert "4 problems." in said
    said = problems_of(load, tmp_path / "no.toml", {})
    assert "There is no settings file at" in said
    assert "SLACK_BOT_TOKEN is not set" in said


def test_dotenv_overrides_settings_too(write):
    write(".env", "COUNTERSIGN_DB=from-env.db", 0o600)
    assert settings_of(write, "").database == "from-env.db"
