import json
import re
from pathlib import Path

import pytest

from bot.config import Settings, default_settings
from bot.slack.manifest import NO_ADDRESS, as_json, as_yaml, manifest

ROOT = Path(__file__).parents[2]
COMMANDS = ["/run", "/tool", "/runs", "/approvals"]


def read_back(text):
    """What a YAML reader makes of the little YAML that we write."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    value, rest = block(lines, 0)
    assert rest == []
    return value


def depth(line):
    return len(line) - len(line.lstrip())


def block(lines, at):
    if lines[0].lstrip().startswith("- "):
        return listed(lines, at)
    found = {}
    while lines and depth(lines[0]) == at:
        key, _, inline = lines[0].strip().partition(":")
        lines = lines[1:]
        if inline:
            found[key] = scalar(inline.strip())
        else:
            found[key], lines = block(lines, depth(lines[0]))
    return found, lines


def listed(lines, at):
    found = []
    while lines and depth(lines[0]) == at and lines[0].lstrip().startswith("- "):
        first = lines[0].replace("- ", "  ", 1)
        if re.match(r"\s*\w+: ", first):
            item, lines = block([first, *lines[1:]], at + 2)
        else:
            item, lines = scalar(first.strip()), lines[1:]
        found.append(item)
    return found, lines


def scalar(text):
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"'):
        return json.loads(text)
    # What YAML would not read as this very text must have been quoted.
    assert re.fullmatch(r"[A-Za-z/][^#]*", text)
    assert ": " not in text
    assert not text.endswith(":")
    return text


@pytest.fixture
def made(tmp_path):
    return manifest(default_settings(tmp_path, {}))


def test_the_manifest_in_the_repository_is_the_one_for_default_settings(made):
    assert (ROOT / "manifest.yml").read_text() == as_yaml(made, NO_ADDRESS)


def test_yaml_and_json_say_the_same(made):
    assert read_back(as_yaml(made, "a comment\nof two lines")) == made
    assert json.loads(as_json(made)) == made


ODD = """yes
No
null
a: b
a:
a #b
1
#1
-
é
'
"
[x]
{x}
*x
https://x.example/a?b
chat:write"""


@pytest.mark.parametrize("text", ["", " a", "a ", "\n", "a\tb", *ODD.splitlines()])
def test_any_text_survives_yaml(text):
    value = {"a": [{"b": text, "c": {"d": text}}, {"b": True}], "e": [text, "x"]}
    assert read_back(as_yaml(value)) == value


def test_the_manifest_keeps_to_slacks_limits(made):
    """Every limit of slack-facts §7.1 that concerns a key that we write."""
    display = made["display_information"]
    assert 1 <= len(display["name"]) <= 35
    assert len(display["description"]) <= 140
    assert 4 <= len(display["background_color"]) <= 7
    features = made["features"]
    assert len(features["bot_user"]["display_name"]) <= 80
    assert 1 <= len(features["slash_commands"]) <= 5
    for command in features["slash_commands"]:
        assert set(command) <= {
            *("command", "url", "description", "usage_hint", "should_escape")
        }
        assert re.fullmatch(r"/[a-z0-9_-]{1,31}", command["command"])
        assert 1 <= len(command["description"]) <= 2_000
        assert len(command.get("usage_hint", "")) <= 1_000
        assert len(command["url"]) <= 3_000
    for scopes in made["oauth_config"]["scopes"].values():
        assert len(scopes) == len(set(scopes)) <= 255
        assert all(len(scope) <= 50 for scope in scopes)
    assert len(made["settings"]["interactivity"]["request_url"]) <= 3_500


def test_only_keys_that_slack_knows_are_written(made):
    """Slack rejects a key that it does not know, at every level."""
    assert set(made) == {
        *("display_information", "features", "oauth_config", "settings")
    }
    assert set(made["display_information"]) == {
        *("name", "description", "background_color")
    }
    assert set(made["features"]) == {"app_home", "bot_user", "slash_commands"}
    assert set(made["features"]["bot_user"]) == {"display_name", "always_online"}
    assert set(made["oauth_config"]["scopes"]) == {"bot", "bot_optional"}
    assert set(made["settings"]) == {
        "event_subscriptions",
        "interactivity",
        "org_deploy_enabled",
        "socket_mode_enabled",
        "token_rotation_enabled",
    }


def test_commands_scopes_and_switches_are_those_of_this_version(made):
    commands = made["features"]["slash_commands"]
    assert [command["command"] for command in commands] == COMMANDS
    assert not any(command["should_escape"] for command in commands)
    assert made["oauth_config"]["scopes"] == {
        "bot": [
            *("commands", "chat:write", "users:read"),
            *("usergroups:read", "channels:read", "groups:read", "app_mentions:read"),
        ],
        "bot_optional": ["channels:history", "groups:history", "im:history"],
    }
    assert made["features"]["app_home"] == {
        "home_tab_enabled": True,
        "messages_tab_enabled": True,
        "messages_tab_read_only_enabled": False,
    }
    assert made["settings"]["event_subscriptions"]["bot_events"] == [
        *("app_mention", "app_home_opened"),
    ]
    assert made["settings"]["socket_mode_enabled"] is False
    assert made["settings"]["interactivity"]["is_enabled"] is True


def test_address_and_prefix_come_from_the_settings():
    settings = Settings(public_url="https://cs.example/", command_prefix="acme-")
    made = manifest(settings)
    url = "https://cs.example/slack/events"
    commands = made["features"]["slash_commands"]
    assert {command["url"] for command in commands} == {url}
    assert made["settings"]["interactivity"]["request_url"] == url
    assert made["settings"]["event_subscriptions"]["request_url"] == url
    assert [command["command"] for command in commands] == [
        f"/acme-{name[1:]}" for name in COMMANDS
    ]


def test_the_longest_prefix_still_makes_commands_that_slack_takes():
    made = manifest(Settings(command_prefix="p" * 22))
    longest = max(len(c["command"]) for c in made["features"]["slash_commands"])
    assert longest == 32
