"""`[[command]]` in the settings: what can be wrong without any tool being known."""

import pytest

from bot.bound import OWN, BoundCommand
from bot.config import read_settings
from bot.errors import ConfigError
from bot.slack.manifest import COMMANDS, commands, manifest

DEPLOY = 'name = "/deploy"\ntool = "deploy"\narguments = ["service", "version"]\n'


@pytest.fixture
def settings(tmp_path):
    def read(*tables, before=""):
        text = before + "".join(f"[[command]]\n{table}\n" for table in tables)
        (tmp_path / "countersign.toml").write_text(text)
        return read_settings(tmp_path / "countersign.toml", {})

    return read


def test_a_command_is_read(settings):
    (found,) = settings(DEPLOY).command

    assert found == BoundCommand(
        name="/deploy", tool="deploy", arguments=("service", "version")
    )


def test_our_own_names_are_those_of_the_manifest():
    assert set(OWN) == {command.name for command in COMMANDS}


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ('tool = "x"', "command[1].name is missing"),
        ('name = "deploy"\ntool = "x"', "command[1].name is not a command"),
        ('name = "/Deploy"\ntool = "x"', "is not a command"),
        ('name = "/a b"\ntool = "x"', "is not a command"),
        ('name = "/"\ntool = "x"', "is not a command"),
        (f'name = "/{"a" * 32}"\ntool = "x"', "is 33 characters long"),
        ('name = "/x"', "command[1] has neither of tool and prompt"),
        ('name = "/x"\ntool = "x"\nprompt = "y"', "has both of tool and prompt"),
        ('name = "/x"\nprompt = " "', "command[1].prompt is empty"),
        (f'name = "/x"\nprompt = "{"a" * 2001}"', "is 2,001 characters long"),
        ('name = "/x"\nprompt = "do {it}"', "shows {it} in its prompt, which is no"),
        (
            'name = "/x"\nprompt = "do"\narguments = ["it"]',
            "takes it, which its prompt",
        ),
        ('name = "/x"\nprompt = "do {"', "has braces that name no argument"),
        ('name = "/x"\nprompt = "do {}"', "has braces that name no argument"),
        ('name = "/x"\nprompt = "{a.b}"\narguments = ["a"]', "has braces that name"),
        ('name = "/x"\nprompt = "{a!r}"\narguments = ["a"]', "has braces that name"),
        ('name = "/x"\nprompt = "{a:9}"\narguments = ["a"]', "has braces that name"),
        ('name = "/x"\ntool = "x"\narguments = ["a", "a"]', "names a twice"),
        ('name = "/x"\ntool = "x"\narguments = ["a b"]', "is not the name of an arg"),
        ('name = "/x"\ntool = "x"\nargument = ["a"]', "did you mean arguments?"),
        (f'name = "/x"\ntool = "x"\ndescription = "{"a" * 201}"', "is 201 characters"),
        ('name = "/tool"\ntool = "x"', "the command /tool is one of ours"),
    ],
)
def test_a_fault_is_named_with_its_place(settings, table, why):
    with pytest.raises(ConfigError) as caught:
        settings(table)

    assert why in str(caught.value)
    assert "countersign.toml" in str(caught.value)


def test_two_commands_of_one_name_are_a_problem(settings):
    with pytest.raises(ConfigError, match="the command /deploy is there twice"):
        settings(DEPLOY, DEPLOY)


def test_more_commands_than_slack_takes_are_a_problem(settings):
    many = [f'name = "/x{n}"\ntool = "x"' for n in range(47)]

    assert len(settings(*many[:46]).command) == 46
    with pytest.raises(ConfigError, match="there are 47 commands; Slack allows 46"):
        settings(*many)


def test_the_prefix_is_for_our_own_alone(settings):
    """A name is taken as it is written, so with a prefix `/tool` is free."""
    found = settings('name = "/tool"\ntool = "x"', before='command_prefix = "acme-"\n')

    names = [command.name for command in commands(found)]
    assert names == [
        "/acme-run",
        "/acme-tool",
        "/acme-runs",
        "/acme-approvals",
        "/tool",
    ]
    with pytest.raises(ConfigError, match="/acme-tool is one of ours"):
        settings('name = "/acme-tool"\ntool = "x"', before='command_prefix = "acme-"\n')


def test_commands_stand_in_the_manifest(settings):
    look = 'name = "/look"\nprompt = "look"\ndescription = "Look after it"\n'
    made = manifest(settings(DEPLOY, look))

    *_, deploy, other = made["features"]["slash_commands"]
    assert deploy == {
        "command": "/deploy",
        "url": "https://countersign.example/slack/events",
        "description": "Calls the tool deploy",
        "should_escape": False,
        "usage_hint": "service version",
    }
    assert other["description"] == "Look after it"
    assert "usage_hint" not in other
