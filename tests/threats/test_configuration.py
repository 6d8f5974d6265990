"""T5, T48 and bad input at start: what cannot be right does not start, and says why."""

import pytest
from process import POLICY, SETTINGS, Serving, refused_here, written

SIGNING = "0123456789abcdef0123456789abcdef"
TOKEN = "xoxb-123456789012-abcdefabcdefabcdefabcdef"


def refused(folder, **environ):
    """Exit code and words of a start that fails; nothing may have been made by it."""
    before = sorted(path.name for path in folder.iterdir())
    code, said = refused_here(folder, **environ)
    assert sorted(path.name for path in folder.iterdir()) == before
    return code, said


def problems_in(said):
    """What is wrong, without the fixes; each must have one."""
    lines = [line for line in said.splitlines() if not line.startswith("Note: ")]
    *listed, last = lines
    what, fixes = listed[::2], listed[1::2]
    assert all(fix.startswith("  fix: ") for fix in fixes), said
    assert len(what) == len(fixes) > 0
    noun = "problem" if len(what) == 1 else "problems"
    assert last == f"{len(what)} {noun}. Nothing was started."
    return what


# -- T5: nothing that fails open -------------------------------------------------------


@pytest.mark.parametrize("signing", [None, "", "   ", SIGNING[:31], "g" * 32])
def test_a_signing_secret_that_protects_nothing(tmp_path, signing):
    folder = written(tmp_path / "home")
    code, said = refused(folder, SLACK_SIGNING_SECRET=signing)
    assert code == 2
    (what,) = problems_in(said)
    assert what.startswith("SLACK_SIGNING_SECRET ")
    assert not (signing or "").strip() or signing not in said


@pytest.mark.parametrize(
    "line", ["dev_mode = true", "verify = false", 'signing_secret = ""']
)
def test_no_setting_turns_the_signature_off(tmp_path, line):
    folder = written(tmp_path / "home", SETTINGS + line)
    code, said = refused(folder)
    assert code == 2
    (what,) = problems_in(said)
    assert line.split(" = ")[0] in what


async def test_an_empty_list_of_approvers_means_nobody(bench):
    bench.policy(
        """
        [[tool]]
        name = "pay"
        gate = "ask"
        approvers = []
        post_to = "#ops"
        """
    )
    await bench.restart()

    said = await bench.tool("pay amount=5")

    assert "nobody" in said.lower()
    await bench.quiet()
    assert await bench.cards() == []
    assert await bench.rows("SELECT count(*) FROM runs") == [(0,)]
    assert bench.ran() == []


async def test_a_group_without_members_means_nobody(bench):
    bench.slack.set_group_members("S0APPROVERS")

    said = await bench.tool("pay amount=5")

    assert "nobody" in said.lower()
    assert await bench.rows("SELECT count(*) FROM runs") == [(0,)]


# -- T48: secrets and keys -------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o602])
def test_a_secrets_file_that_others_can_reach(tmp_path, mode):
    folder = written(tmp_path / "home")
    file = folder / "token"
    file.write_text(TOKEN)
    file.chmod(mode)
    given = {"SLACK_BOT_TOKEN": None, "SLACK_BOT_TOKEN_FILE": str(file)}
    code, said = refused(folder, **given)
    assert code == 2
    assert problems_in(said)[0].startswith("SLACK_BOT_TOKEN_FILE: others can get at")
    assert "chmod 600 " in said
    assert TOKEN not in said


def test_a_dotenv_that_others_can_read(tmp_path):
    folder = written(tmp_path / "home")
    (folder / ".env").write_text(f"SLACK_BOT_TOKEN={TOKEN}\n")
    (folder / ".env").chmod(0o644)
    code, said = refused(folder, SLACK_BOT_TOKEN=None)
    assert code == 2
    assert problems_in(said)[0].startswith(".env: others can get at")
    assert TOKEN not in said


@pytest.mark.parametrize(
    "line",
    [
        f'slack_bot_token = "{TOKEN}"',
        f'SLACK_BOT_TOKEN = "{TOKEN}"',
        f'database = "{TOKEN}"',
        f'tools = ["{TOKEN}"]',
    ],
)
def test_a_token_in_the_settings_is_named_by_its_key(tmp_path, line):
    folder = written(tmp_path / "home", line)
    code, said = refused(folder)
    assert code == 2
    assert line.split(" = ")[0] in problems_in(said)[0]
    assert TOKEN not in said


def test_unknown_keys_are_errors_everywhere(tmp_path):
    folder = written(
        tmp_path / "home",
        SETTINGS + 'toolz = ["x"]\n',
        'defualt = "deny"\n' + POLICY.replace("approvers =", "aprovers ="),
    )
    code, said = refused(folder)
    assert code == 2
    whats = "\n".join(problems_in(said))
    for key in ("toolz", "defualt", "aprovers"):
        assert key in whats
    assert "approvers" in said


# -- bad input at start ----------------------------------------------------------------


async def test_everything_that_is_missing_is_listed_at_once(tmp_path):
    folder = written(tmp_path / "home", None, None)
    serving = Serving(folder)
    for name in ("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "COUNTERSIGN_KEY"):
        del serving.environ[name]
    code, said = await serving.refused()
    assert code == 2
    whats = problems_in(said)
    assert len(whats) == 4
    for part in (
        "There is no settings file at countersign.toml.",
        "SLACK_BOT_TOKEN is not set.",
        "SLACK_SIGNING_SECRET is not set.",
        "COUNTERSIGN_KEY is not set.",
    ):
        assert part in whats


async def test_everything_that_is_malformed_is_listed_at_once(tmp_path):
    folder = written(
        tmp_path / "home",
        'tools = "probe_tools"\ncommand_prefix = "Ä"\n',
        '[[tool]]\nname = "pay"\ngate = "perhaps"\n\n'
        '[[tool]]\nname = "b"\ngate = "ask"\nexpires = "soon"\napprovers = ["Ben"]\n',
    )
    serving = Serving(
        folder,
        SLACK_BOT_TOKEN="xoxp-1-2-3",
        SLACK_SIGNING_SECRET="short",
        COUNTERSIGN_KEY="tooshort",
        SLACK_API_URL="ftp://slack.example/",
    )
    code, said = await serving.refused()
    assert code == 2
    whats = "\n".join(problems_in(said))
    for part in (
        *("tools", "command_prefix", '"pay"', "gate", "expires", "approvers"),
        *("SLACK_BOT_TOKEN", "SLACK_SIGNING_SECRET", "COUNTERSIGN_KEY"),
        "SLACK_API_URL",
    ):
        assert part in whats
    assert len(problems_in(said)) == 9


@pytest.mark.parametrize(
    ("settings", "policy", "named"),
    [
        ("tools = [", POLICY, "countersign.toml"),
        ("\xff", POLICY, "countersign.toml"),
        (SETTINGS, "[[tool]\n", "policy.toml"),
        (SETTINGS, None, "policy.toml"),
        (SETTINGS, '[tool]\nname = "pay"\n', "policy.toml"),
        (SETTINGS, POLICY + POLICY, "policy.toml"),
        (SETTINGS, '[[tool]]\ngate = "ask"\n', "policy.toml"),
        (SETTINGS, 'default = "allow"\n', "policy.toml"),
        ('database = "postgresql://x/y"', POLICY, "countersign.toml"),
    ],
    ids=ascii,
)
def test_a_file_that_cannot_be_used_is_named(tmp_path, settings, policy, named):
    folder = written(tmp_path / "home", None, policy)
    (folder / "countersign.toml").write_text(settings, encoding="latin-1")
    code, said = refused(folder)
    assert code == 2
    assert all(named in what for what in problems_in(said))


@pytest.mark.parametrize(
    ("token", "why"),
    [
        ("", "is not set"),
        ("  ", "is not set"),
        ("xoxp-1-2-3", "a user token"),
        ("xapp-1-A-2-b", "an app-level token"),
        ("token", "is not a bot token"),
        (f"{TOKEN}\n", "is not a bot token"),
    ],
)
def test_a_malformed_token_is_not_repeated(tmp_path, token, why):
    folder = written(tmp_path / "home")
    code, said = refused(folder, SLACK_BOT_TOKEN=token)
    assert code == 2
    (what,) = problems_in(said)
    assert what.startswith("SLACK_BOT_TOKEN ")
    assert why in what
    assert len(token) < 6 or token.strip() not in said
