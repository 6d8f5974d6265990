import os

import pytest

from bot.core import keys
from bot.environment import dotenv, key_fault, read_secrets
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


def problems_of(call, *args):
    with pytest.raises(ConfigError) as caught:
        call(*args)
    return str(caught.value)


def test_secrets_are_read_and_never_shown(tmp_path):
    secrets = read_secrets(SECRETS, tmp_path)
    assert secrets.bot_token.get_secret_value() == TOKEN
    assert secrets.slack_api_url == "https://slack.com/api/"
    assert secrets.values() == (TOKEN, KEY, SIGNING)
    for shown in (repr(secrets), str(secrets), str(secrets.model_dump())):
        assert not any(value in shown for value in secrets.values())


@pytest.mark.parametrize(
    "bad", [None, "", "   ", SIGNING[:31], "g" * 32, SIGNING + "\n", f" {SIGNING}"]
)
def test_a_signing_secret_that_verifies_nothing_stops_the_start(tmp_path, bad):
    environ = {**SECRETS, "SLACK_SIGNING_SECRET": bad}
    if bad is None:
        del environ["SLACK_SIGNING_SECRET"]
    said = problems_of(read_secrets, environ, tmp_path)
    assert said.startswith("SLACK_SIGNING_SECRET is ")
    assert not (bad and bad.strip()) or bad.strip() not in said


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("", "is not set"),
        ("xoxp-1-canary", "is a user token, xoxp."),
        ("xapp-1-canary", "is an app-level token, xapp."),
        ("xoxe.xoxb-canary", "is a token that expires"),
        ("canary", "is not a bot token"),
        ("xoxb-", "is not a bot token"),
        ("xoxb-1-canary\nX: y", "is not a bot token"),
    ],
)
def test_another_token_than_the_bots_is_recognised(tmp_path, bad, why):
    said = problems_of(read_secrets, {**SECRETS, "SLACK_BOT_TOKEN": bad}, tmp_path)
    assert f"SLACK_BOT_TOKEN {why}" in said
    assert "starts with xoxb-" in said
    assert "canary" not in said


APP_TOKEN = "xapp-1-A0APP-1-canary"


def test_an_app_token_selects_socket_mode_and_needs_no_signing_secret(tmp_path):
    given = {**SECRETS, "SLACK_APP_TOKEN": APP_TOKEN}
    del given["SLACK_SIGNING_SECRET"]
    found = read_secrets(given, tmp_path)
    assert found.app_token.get_secret_value() == APP_TOKEN
    assert found.signing_secret is None
    assert APP_TOKEN in found.values()
    assert APP_TOKEN not in repr(found)
    assert read_secrets({**SECRETS, "SLACK_APP_TOKEN": ""}, tmp_path).app_token is None


@pytest.mark.parametrize(
    "bad", ["xoxb-1-canary", "xapp-", "canary", "xapp-1-canary\nX"]
)
def test_another_token_than_the_apps_is_recognised(tmp_path, bad):
    said = problems_of(read_secrets, {**SECRETS, "SLACK_APP_TOKEN": bad}, tmp_path)
    assert said.startswith("SLACK_APP_TOKEN is ")
    assert "canary" not in said


@pytest.mark.parametrize("given", [{}, {"OPENAI_API_KEY": ""}])
def test_a_model_may_need_no_key(tmp_path, given):
    assert read_secrets({**SECRETS, **given}, tmp_path).openai_api_key is None


def test_the_models_key_is_a_secret_like_the_others(tmp_path, write):
    key = "sk-canary"
    path = write("key", f"{key}\n", 0o600)
    for given in ({"OPENAI_API_KEY": key}, {"OPENAI_API_KEY_FILE": str(path)}):
        secrets = read_secrets({**SECRETS, **given}, tmp_path)
        assert secrets.openai_api_key.get_secret_value() == key
        assert secrets.values() == (TOKEN, KEY, SIGNING, key)
        assert key not in repr(secrets)


@pytest.mark.parametrize("bad", ["sk-canary x", " sk-canary", "sk-cänary", "canary\n"])
def test_a_model_key_that_no_header_carries_is_a_problem(tmp_path, bad):
    said = problems_of(read_secrets, {**SECRETS, "OPENAI_API_KEY": bad}, tmp_path)
    assert said.startswith("OPENAI_API_KEY has characters that no key has.")
    assert "nary" not in said


@pytest.mark.parametrize(
    "text",
    [
        KEY,
        KEY.rstrip("="),
        f"{KEY} {keys.generate()}",
        f"{KEY},{KEY}",
        "",
        " , ",
        "canary",
        "é" * 43,
        KEY[:-5],
        KEY.replace("=", "+"),
        f"{KEY} canary",
        KEY + "AAAA",
    ],
)
def test_a_key_is_judged_as_the_key_reader_judges_it(text):
    try:
        keys.read(text)
        usable = True
    except ValueError:
        usable = False
    assert (key_fault(text) is None) is usable


def test_a_bad_key_is_named_and_not_repeated(tmp_path):
    for bad in ("canary", "canarycanary", ""):
        said = problems_of(read_secrets, {**SECRETS, "COUNTERSIGN_KEY": bad}, tmp_path)
        assert said.startswith("COUNTERSIGN_KEY is ")
        assert "canary" not in said


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://slack.example/api/", "must be https"),
        ("https://slack.example/api", "does not end with /"),
        ("https://u:p@slack.example/api/", "has a user name"),
        ("", "is not an address"),
    ],
)
def test_the_api_address_is_checked(tmp_path, url, why):
    said = problems_of(read_secrets, {**SECRETS, "SLACK_API_URL": url}, tmp_path)
    assert f"SLACK_API_URL {why}" in said


def test_the_playgrounds_api_address_is_taken(tmp_path):
    url = "http://127.0.0.1:3030/api/"
    found = read_secrets({**SECRETS, "SLACK_API_URL": url}, tmp_path)
    assert found.slack_api_url == url


def with_file(name, path):
    return {
        **{k: v for k, v in SECRETS.items() if k != name},
        f"{name}_FILE": str(path),
    }


def test_a_secret_comes_from_a_private_file(write, tmp_path):
    path = write("token", f"{TOKEN}\n", 0o600)
    environ = with_file("SLACK_BOT_TOKEN", path)
    assert read_secrets(environ, tmp_path).bot_token.get_secret_value() == TOKEN
    environ["SLACK_BOT_TOKEN_FILE"] = "token"
    assert read_secrets(environ, tmp_path).bot_token.get_secret_value() == TOKEN


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o610])
def test_a_secrets_file_that_others_can_get_at_is_refused(write, tmp_path, mode):
    path = write("token", TOKEN, mode)
    said = problems_of(read_secrets, with_file("SLACK_BOT_TOKEN", path), tmp_path)
    assert f"its mode is {mode:04o}" in said
    assert f"fix: chmod 600 {path}" in said
    assert TOKEN not in said


def test_what_is_no_plain_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for path in (tmp_path / "pipe", tmp_path):
        said = problems_of(read_secrets, with_file("COUNTERSIGN_KEY", path), tmp_path)
        assert "COUNTERSIGN_KEY_FILE: this is no regular file" in said
    nul = with_file("COUNTERSIGN_KEY", "a\0b")
    assert "this is no path" in problems_of(read_secrets, nul, tmp_path)
    absent = with_file("COUNTERSIGN_KEY", tmp_path / "no")
    assert "is not there" in problems_of(read_secrets, absent, tmp_path)


def test_a_secret_given_twice_is_a_problem(write, tmp_path):
    path = write("token", TOKEN, 0o600)
    environ = {**SECRETS, "SLACK_BOT_TOKEN_FILE": str(path)}
    said = problems_of(read_secrets, environ, tmp_path)
    assert "SLACK_BOT_TOKEN and SLACK_BOT_TOKEN_FILE are both set." in said


def env_file(write, values, mode=0o600):
    lines = [f"{name}={value}" for name, value in values.items()]
    return write(".env", "\n".join(lines), mode)


def test_a_private_dotenv_counts_as_environment(write, tmp_path):
    env_file(write, SECRETS)
    assert read_secrets({}, tmp_path).values() == (TOKEN, KEY, SIGNING)


def test_the_real_environment_wins_over_dotenv(write, tmp_path):
    env_file(write, SECRETS)
    other = write("token", "xoxb-other", 0o600)
    for environ in (
        {"SLACK_BOT_TOKEN": "xoxb-other"},
        {"SLACK_BOT_TOKEN_FILE": str(other)},
    ):
        found = read_secrets(environ, tmp_path)
        assert found.bot_token.get_secret_value() == "xoxb-other"


def test_an_empty_variable_hides_the_one_in_dotenv(write, tmp_path):
    env_file(write, {**SECRETS, "SLACK_APP_TOKEN": APP_TOKEN})
    assert read_secrets({}, tmp_path).app_token is not None
    assert read_secrets({"SLACK_APP_TOKEN": ""}, tmp_path).app_token is None


def test_a_dotenv_that_others_can_read_is_refused(write, tmp_path):
    env_file(write, SECRETS, 0o644)
    said = problems_of(read_secrets, {}, tmp_path)
    assert ".env: others can get at the file (its mode is 0644)." in said
    assert TOKEN not in said


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b", "b"),
        ("  export A = b  ", "b"),
        ("A=", ""),
        ("A= # nothing", ""),
        ("A=b # comment's here", "b"),
        ("A=b#c", "b#c"),
        ("A=b=c==", "b=c=="),
        ("A=two words", "two words"),
        ("A='b # \"c'", 'b # "c'),
        (r'A="b \"c\" \\ # d" # e', r'b "c" \ # d'),
        ("A=''", ""),
    ],
)
def test_a_line_of_dotenv(line, value):
    assert dotenv(f"# first\n\n{line}\n") == ({"A": value}, [])


@pytest.mark.parametrize(
    "line",
    ["canary", "A b=canary", "1A=canary", 'A="canary', "A='canary' x", "=canary"],
)
def test_a_malformed_line_of_dotenv_is_named_by_its_number_alone(line):
    values, problems = dotenv(f"B=c\n{line}\n")
    assert values == {"B": "c"}
    assert [p.what for p in problems] == [".env, line 2 is not NAME=value."]
    assert problems[0].fix.startswith("write NAME=value; a value with blanks")


def test_what_the_fix_of_a_malformed_line_proposes_is_read():
    assert dotenv('NAME="a \\"b\\" #c"\n# said') == ({"NAME": 'a "b" #c'}, [])


def test_a_name_that_dotenv_gives_twice_is_a_problem():
    _, problems = dotenv("A=canary\nA=canary2")
    assert [p.what for p in problems] == [".env, line 2 gives A a second time."]
