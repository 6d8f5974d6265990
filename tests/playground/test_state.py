from pretend_app import Clock, manifest

from bot.playground.seed import DEFAULT, App
from bot.playground.state import Workspace


def workspace(clock: Clock) -> Workspace:
    app = App(
        bot_token="xoxb-1",
        signing_secret="s" * 32,
        verification_token="v",
        manifest=manifest(),
    )
    return Workspace(DEFAULT, app, clock)


def test_time_stamps_rise_while_the_clock_stands_still() -> None:
    clock = Clock()
    space = workspace(clock)

    stamps = [space.next_ts() for _ in range(3)]
    clock.now -= 60
    stamps.append(space.next_ts())

    assert stamps == [f"1800000000.00000{n}" for n in range(4)]


def test_trigger_lives_three_seconds() -> None:
    clock = Clock()
    space = workspace(clock)
    in_time, late = space.new_trigger("U0ADA"), space.new_trigger("U0ADA")

    clock.now += 3.0
    spent = space.spend_trigger(in_time)
    clock.now += 0.1

    assert not isinstance(spent, str)
    assert spent.user == "U0ADA"
    assert space.spend_trigger(late) == "expired_trigger_id"


def test_trigger_is_spent_once() -> None:
    space = workspace(Clock())
    trigger = space.new_trigger("U0ADA")

    space.spend_trigger(trigger)

    assert space.spend_trigger(trigger) == "exchanged_trigger_id"
    assert space.spend_trigger("1.2.x") == "invalid_trigger_id"


def test_response_url_serves_five_times() -> None:
    space = workspace(Clock())
    path = space.new_return_path("C0OPS", "U0ADA")

    uses = [space.use_return_path(path) for _ in range(6)]

    assert [isinstance(one, str) for one in uses] == [False] * 5 + [True]
    assert uses[5] == "used_url"


def test_response_url_serves_thirty_minutes() -> None:
    clock = Clock()
    space = workspace(clock)
    path = space.new_return_path("C0OPS", "U0ADA")

    clock.now += 30 * 60
    assert not isinstance(space.use_return_path(path), str)
    clock.now += 1

    assert space.use_return_path(path) == "expired_url"


def test_every_change_is_announced() -> None:
    space = workspace(Clock())
    seen: list[int] = []

    with space.watched(lambda: seen.append(space.version)):
        space.post("C0OPS", "U0ADA", "hello")
        space.set_user("U0BEN", deleted=True)
    space.post("C0OPS", "U0ADA", "unwatched")

    assert seen == [1, 2]


def test_deleted_root_of_a_thread_leaves_a_tombstone() -> None:
    space = workspace(Clock())
    root = space.post("C0OPS", "U0ADA", "root")
    reply = space.post("C0OPS", "U0BEN", "reply", thread_ts=root["ts"])

    space.remove("C0OPS", root["ts"])
    space.remove("C0OPS", reply["ts"])

    assert [m.get("subtype") for m in space.messages["C0OPS"].values()] == ["tombstone"]


def test_reset_forgets_everything_but_the_order_of_time() -> None:
    space = workspace(Clock())
    before = space.post("C0OPS", "U0ADA", "hello")["ts"]
    space.set_group("S0APPROVERS", users=())

    space.reset()

    assert space.messages["C0OPS"] == {}
    assert space.groups["S0APPROVERS"].users == ("U0BEN",)
    assert space.next_ts() > before
