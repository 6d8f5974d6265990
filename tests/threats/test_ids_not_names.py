"""T13: people are their ids; names, addresses and handles may come to mean others."""

from dataclasses import replace

import pytest
from harness import ADA, BEN, CLEO, OPS, POLICY, Bench, controls
from invariants import assert_invariants
from process import POLICY as SHORT_POLICY
from process import refused_here, written

from bot.errors import ConfigError

MALLORY = "U0MALLORY"


def looks_like_ben(bench):
    """Somebody with every name and the address of an approver."""
    workspace = bench.slack.workspace
    with workspace.change():
        workspace.users[MALLORY] = replace(workspace.users[BEN], id=MALLORY)
    bench.slack.invite(OPS, MALLORY)


@pytest.mark.parametrize("who", ['"@approvers"', '"U0BEN"'])
async def test_looking_like_an_approver_is_not_being_one(folder, who):
    policy = POLICY.replace('"@approvers"', who)
    async with Bench(folder, policy=policy) as bench:
        looks_like_ben(bench)
        await bench.tool("pay amount=5")
        card = await bench.card()

        await bench.press(MALLORY, card, "approve")
        await bench.press(MALLORY, card, "deny")

        await bench.quiet()
        assert await bench.refusals() == ["not_approver", "not_approver"]
        assert await bench.rows("SELECT count(*) FROM votes") == [(0,)]
        assert controls(await bench.card()) == ["Approve", "Deny", "Deny, say why"]
        await bench.press(BEN, card, "approve")
        await bench.quiet()
        assert len(bench.ran()) == 1
        assert await bench.rows("SELECT user FROM votes") == [(BEN,)]
        await assert_invariants(bench)


async def test_taking_the_name_of_another_changes_nothing_that_was_written(bench):
    """Cleo becomes "Ben" after Ben has approved; the rows go by id."""
    await bench.tool("pay amount=5")
    card = await bench.card()
    await bench.press(BEN, card, "approve")
    await bench.quiet()
    workspace = bench.slack.workspace
    with workspace.change():
        workspace.users[CLEO] = replace(workspace.users[BEN], id=CLEO)

    approved = "SELECT actor FROM audit WHERE action = 'approved'"
    assert await bench.rows(approved) == [(BEN,)]
    assert await bench.rows("SELECT user FROM votes") == [(BEN,)]
    await bench.forge(CLEO, card, "approve")
    await bench.quiet()
    assert await bench.rows("SELECT user FROM votes") == [(BEN,)]


@pytest.mark.parametrize(
    "who",
    ["ada@example.com", "Ada", "<@U0ADA>", "ada", "@ada@example.com", "mailto:ada@a.b"],
)
@pytest.mark.parametrize("key", ["approvers", "callers", "answerers"])
def test_a_name_or_an_address_in_the_policy_does_not_start(tmp_path, key, who):
    line = f'{key} = ["{who}"]'
    policy = SHORT_POLICY.replace('approvers = ["@approvers"]', line)
    code, said = refused_here(written(tmp_path / "home", policy=policy))
    assert code == 2
    assert f'"pay": {key}' in said
    assert who in said
    assert "1 problem. Nothing was started." in said


# -- handles --------------------------------------------------------------------------


def another_group_takes_the_handle(workspace):
    old = workspace.groups["S0APPROVERS"]
    with workspace.change():
        workspace.groups["S0APPROVERS"] = replace(old, handle="approvers-old")
        workspace.groups["S0NEW"] = replace(old, id="S0NEW", users=(CLEO,))


def another_channel_takes_the_name(workspace):
    old = workspace.channels[OPS]
    with workspace.change():
        workspace.channels[OPS] = replace(old, name="ops-old")
        workspace.channels["C0NEW"] = replace(old, id="C0NEW")
        workspace.messages["C0NEW"] = {}


@pytest.mark.parametrize(
    ("changed", "name", "was", "now"),
    [
        (another_group_takes_the_handle, "@approvers", "S0APPROVERS", "S0NEW"),
        (another_channel_takes_the_name, "#ops", OPS, "C0NEW"),
    ],
)
async def test_a_name_that_means_another_one_waits_for_a_yes(
    bench, changed, name, was, now
):
    await bench.stop()
    changed(bench.slack.workspace)

    with pytest.raises(ConfigError) as refused:
        await bench.start()
    for part in (name, was, now, f"--accept '{name}'"):
        assert part in str(refused.value)
    with pytest.raises(ConfigError):
        await bench.start(accept={"@another"})

    await bench.start(accept={name})
    remembered = "SELECT id FROM names WHERE written = ?"
    assert await bench.rows(remembered, name) == [(now,)]
    await bench.restart()  # the yes was for good


async def test_only_the_group_that_was_accepted_approves(bench):
    await bench.stop()
    another_group_takes_the_handle(bench.slack.workspace)
    await bench.start(accept={"@approvers"})
    await bench.tool("pay amount=5", user=ADA)
    card = await bench.card()

    await bench.press(BEN, card, "approve")
    await bench.quiet()
    assert bench.ran() == []
    await bench.press(CLEO, card, "approve")

    await bench.quiet()
    assert len(bench.ran()) == 1
