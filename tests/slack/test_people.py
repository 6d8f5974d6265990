import asyncio
from collections import Counter

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from slack_sdk.web.async_client import AsyncWebClient

from bot.config import default_settings
from bot.core.policy import Needs, Person, Who
from bot.errors import ConfigError, DeliveryError
from bot.playground.server import Playground
from bot.ports import Tenant
from bot.slack import workspace
from bot.slack.manifest import manifest
from bot.slack.people import SlackPeople, person
from bot.slack.resolve import Channel

TENANT = Tenant(team="T1", enterprise="E1")


class Clock:
    def __init__(self):
        self.time = 1_000.0

    def now(self):
        return int(self.time * 1000)

    def monotonic(self):
        return self.time

    async def sleep(self, seconds):
        self.time += seconds


class Slack:
    """A small Web API: each method answers what a test put there."""

    def __init__(self):
        self.answers = {}
        self.calls = Counter()
        self.open = asyncio.Event()
        self.open.set()
        self.arrived = asyncio.Event()

    def set(self, method, answer, **match):
        self.answers.setdefault(method, []).insert(0, (match, answer))

    async def handle(self, request):
        method = request.match_info["method"]
        args = {**request.query, **await request.post()}
        self.calls[method] += 1
        self.arrived.set()
        await self.open.wait()
        for match, answer in self.answers.get(method, ()):
            if all(args.get(key) == value for key, value in match.items()):
                if isinstance(answer, int):
                    return web.Response(status=answer)
                return web.json_response({"ok": True, **answer})
        return web.json_response({"ok": False, "error": "user_not_found"})


@pytest.fixture
async def slack():
    slack = Slack()
    app = web.Application()
    app.router.add_route("*", "/api/{method}", slack.handle)
    async with TestServer(app) as server:
        slack.client = AsyncWebClient(
            token="xoxb-test", base_url=str(server.make_url("/api/")), retry_handlers=[]
        )
        yield slack
        slack.open.set()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
async def people(slack, clock):
    people = SlackPeople(client=slack.client, tenant=TENANT, clock=clock)
    yield people
    await people.close()


def groups(*ids):
    return Needs(groups=frozenset(ids))


def user(id, **fields):
    return {"user": {"id": id, "team_id": "T1", "name": id.lower(), **fields}}


async def test_people_and_groups_are_looked_up_together(slack, people):
    slack.set("users.info", user("U1", profile={"display_name": "Ben"}), user="U1")
    slack.set("users.info", user("U2"), user="U2")
    slack.set("usergroups.users.list", {"users": ["U1"]}, usergroup="S1", team_id="T1")
    facts = await people.facts(["U1", "U2"], groups("S1"))
    assert facts.people["U1"] == Person(user="U1", team="T1", name="Ben")
    assert facts.people["U2"].name == "u2"
    assert facts.groups == {"S1": frozenset({"U1"})}


async def test_what_cannot_be_found_out_is_left_out(slack, people):
    slack.set("users.info", user("U1"), user="U1")
    slack.set("users.info", 500, user="U2")
    slack.set("users.info", {"user": None}, user="U3")
    slack.set("usergroups.users.list", {"ok": False, "error": "fatal_error"})
    facts = await people.facts(["U1", "U2", "U3"], groups("S1"))
    assert set(facts.people) == {"U1"}
    assert facts.groups == {}


async def test_nobody_and_no_group_are_answers_too(slack, people):
    slack.set("users.info", {"ok": False, "error": "user_not_found"}, user="U1")
    slack.set("usergroups.users.list", {"ok": False, "error": "no_such_subteam"})
    facts = await people.facts(["U1"], groups("S1"))
    assert facts.people["U1"].deleted
    assert facts.groups == {"S1": frozenset()}


async def test_nothing_answers_and_nothing_is_found_out(slack, clock):
    client = AsyncWebClient(
        token="xoxb-test", base_url="http://127.0.0.1:9/api/", retry_handlers=[]
    )
    people = SlackPeople(client=client, tenant=TENANT, clock=clock)
    assert (await people.facts(["U1"], groups("S1"))).people == {}


async def test_an_answer_is_used_for_less_than_a_minute(slack, people, clock):
    slack.set("users.info", user("U1"))
    await people.facts(["U1"], Needs())
    clock.time += 59.9
    slack.set("users.info", user("U1", deleted=True))
    assert not (await people.facts(["U1"], Needs())).people["U1"].deleted
    assert slack.calls["users.info"] == 1
    clock.time += 0.1
    assert (await people.facts(["U1"], Needs())).people["U1"].deleted
    assert slack.calls["users.info"] == 2


async def test_an_answer_is_as_old_as_its_question(slack, people, clock):
    slack.set("users.info", user("U1"))
    slack.open.clear()
    asked = asyncio.create_task(people.facts(["U1"], Needs()))
    await slack.arrived.wait()
    clock.time += 60
    slack.open.set()
    assert (await asked).people == {}


async def test_a_failure_is_not_remembered_and_ends_what_was_known(
    slack, people, clock
):
    slack.set("users.info", user("U1"))
    await people.facts(["U1"], Needs())
    clock.time += 61
    slack.set("users.info", 503)
    assert (await people.facts(["U1"], Needs())).people == {}
    slack.set("users.info", user("U1"))
    assert set((await people.facts(["U1"], Needs())).people) == {"U1"}


async def test_those_who_ask_the_same_at_once_share_one_call(slack, people):
    slack.set("users.info", user("U1"))
    slack.open.clear()
    asked = [asyncio.create_task(people.facts(["U1"], Needs())) for _ in range(20)]
    await slack.arrived.wait()
    slack.open.set()
    assert all("U1" in facts.people for facts in await asyncio.gather(*asked))
    assert slack.calls["users.info"] == 1


async def test_one_deadline_holds_for_everything_and_the_question_goes_on(
    slack, people
):
    slack.set("users.info", user("U1"))
    slack.set("usergroups.users.list", {"users": ["U1"]})
    slack.open.clear()
    facts = await people.facts(["U1", "U2"], groups("S1"), timeout=0.05)
    assert (facts.people, facts.groups) == ({}, {})
    waiting = asyncio.create_task(people.facts(["U1"], groups("S1")))
    slack.open.set()
    facts = await waiting
    assert "U1" in facts.people
    assert slack.calls == {"users.info": 2, "usergroups.users.list": 1}


async def test_one_who_gives_up_does_not_take_the_answer_from_others(slack, people):
    slack.set("users.info", user("U1"))
    slack.open.clear()
    impatient = asyncio.create_task(people.facts(["U1"], Needs()))
    patient = asyncio.create_task(people.facts(["U1"], Needs()))
    await slack.arrived.wait()
    impatient.cancel()
    await asyncio.wait({impatient})
    slack.open.set()
    assert "U1" in (await patient).people


async def test_an_empty_group_is_a_group_without_members(slack, people):
    slack.set("usergroups.users.list", {"users": []})
    assert (await people.facts([], groups("S1"))).groups == {"S1": frozenset()}
    await people.facts([], groups("S1"))
    assert slack.calls["usergroups.users.list"] == 1


def page(key, items, following):
    return {key: items, "response_metadata": {"next_cursor": following}}


async def test_every_page_of_a_group_counts(slack, people):
    slack.set("usergroups.users.list", page("users", ["U1"], "two"))
    slack.set("usergroups.users.list", page("users", ["U2"], ""), cursor="two")
    assert (await people.facts([], groups("S1"))).groups == {
        "S1": frozenset({"U1", "U2"})
    }


async def test_a_group_of_which_a_page_is_missing_is_not_known(slack, people):
    slack.set("usergroups.users.list", page("users", ["U1"], "two"))
    slack.set("usergroups.users.list", 500, cursor="two")
    assert (await people.facts([], groups("S1"))).groups == {}


async def test_a_cursor_that_leads_nowhere_ends(slack, people):
    slack.set("usergroups.users.list", page("users", ["U1"], "again"))
    assert (await people.facts([], groups("S1"))).groups == {}
    assert slack.calls["usergroups.users.list"] == 2


async def test_who_is_in_a_channel(slack, people, clock):
    slack.set("conversations.members", page("members", ["U1"], "two"), channel="C1")
    slack.set("conversations.members", page("members", ["U2"], ""), cursor="two")
    assert await people.in_channel("U2", "C1") is True
    assert await people.in_channel("U3", "C1") is False
    assert slack.calls["conversations.members"] == 2
    slack.set("conversations.members", 500)
    assert await people.in_channel("U1", "C2") is None


def channels(*ids):
    return Needs(channels=frozenset(ids))


async def test_the_members_of_a_channel_are_looked_up_with_the_rest(slack, people):
    slack.set("conversations.members", page("members", ["U1"], "two"), channel="C1")
    slack.set("conversations.members", page("members", ["U2"], ""), cursor="two")
    facts = await people.facts([], channels("C1"))
    assert facts.channels == {"C1": frozenset({"U1", "U2"})}
    assert facts.groups == {}
    await people.facts([], channels("C1"))
    assert slack.calls["conversations.members"] == 2
    assert not people.crowded("C1")


@pytest.mark.parametrize("answer", [500, {"ok": False, "error": "channel_not_found"}])
async def test_a_channel_that_cannot_be_looked_up_is_left_out(slack, people, answer):
    slack.set("conversations.members", answer)
    assert (await people.facts([], channels("C1"))).channels == {}
    assert not people.crowded("C1")


@pytest.mark.parametrize(("count", "known"), [(1_000, True), (1_001, False)])
async def test_of_a_crowded_channel_nobody_is_known(slack, people, count, known):
    members = [f"U{n}" for n in range(count)]
    slack.set("conversations.members", page("members", members[:1_000], "two"))
    # No third page is asked for: two are enough to know that there are too many.
    last = page("members", members[1_000:], "" if known else "three")
    slack.set("conversations.members", last, cursor="two")
    facts = await people.facts([], channels("C1"))
    assert facts.channels == ({"C1": frozenset(members)} if known else {})
    assert people.crowded("C1") is not known
    assert slack.calls["conversations.members"] == 2


async def test_the_people_of_a_list_come_once_and_in_order(slack, people):
    slack.set("usergroups.users.list", {"users": ["U3", "U2"]}, usergroup="S1")
    slack.set("usergroups.users.list", 500, usergroup="S2")
    slack.set("conversations.members", {"members": ["U3", "U4"]}, channel="C1")
    slack.set("conversations.members", 500, channel="C2")
    named = (Who(user="U3"), Who(group="S2"), Who(group="S1"), Who(user="U9"))
    entries = (*named, Who(channel="C2"), Who(channel="C1"))
    assert await people.members_of(entries) == ["U3", "U2", "U9", "U4"]
    assert await people.members_of(()) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, {}),
        ({"is_bot": True}, {"bot": True}),
        ({"is_app_user": True}, {"bot": True}),
        ({"deleted": True}, {"deleted": True}),
        ({"is_invited_user": True}, {"deleted": True}),
        ({"is_restricted": True}, {"guest": True}),
        ({"is_ultra_restricted": True}, {"guest": True}),
        ({"is_stranger": True}, {"stranger": True}),
        ({"is_admin": True, "is_owner": True}, {}),
        ({"team_id": "T2"}, {"team": "T2"}),
        ({"team_id": None}, {"team": None}),
        ({"team_id": ""}, {"team": None}),
        (
            {"team_id": "T2", "enterprise_user": {"id": "W1", "enterprise_id": "E1"}},
            {"team": "T1", "enterprise_user": "W1"},
        ),
        (
            {"team_id": "T2", "enterprise_user": {"id": "W1", "enterprise_id": "E2"}},
            {"team": "T2", "enterprise_user": "W1"},
        ),
        ({"real_name": "Ben B"}, {"name": "Ben B"}),
        ({"profile": {"display_name": ""}, "real_name": "Ben B"}, {"name": "Ben B"}),
    ],
)
def test_what_a_user_object_says(fields, expected):
    found = user("U1", **fields)["user"]
    plain = {"user": "U1", "team": "T1", "name": "u1"}
    assert person("U1", found, TENANT) == Person(**{**plain, **expected})


def test_without_an_organisation_nobody_is_of_it():
    found = user("U1", team_id="T2", enterprise_user={"id": "W1", "enterprise_id": ""})
    assert person("U1", found["user"], Tenant(team="T1")).team == "T2"


def test_slackbot_is_a_bot():
    assert person("USLACKBOT", user("USLACKBOT")["user"], TENANT).bot


def test_display_names_and_addresses_make_nobody_an_approver():
    """T13: who somebody is comes from the id that was asked for alone."""
    found = user("U1", profile={"display_name": "Ada", "email": "ada@example.com"})
    assert person("U9", found["user"], TENANT).user == "U9"


# -- the workspace at start ---------------------------------------------------------


async def test_the_installation_is_described(slack):
    slack.set(
        "auth.test",
        {"team_id": "T1", "team": "Acme", "user_id": "UB", "bot_id": "B1"}
        | {"enterprise_id": "E1", "is_enterprise_install": False},
    )
    slack.set("bots.info", {"bot": {"id": "B1", "app_id": "A1"}}, bot="B1")
    found = await workspace.identity(slack.client, 5)
    assert found.tenant == TENANT
    assert (found.bot_user, found.bot_id, found.app) == ("UB", "B1", "A1")
    assert (found.team_name, found.seen_at) == ("Acme", 5)


async def test_a_refused_token_and_a_silent_slack_are_told_apart(slack):
    slack.set("auth.test", {"ok": False, "error": "invalid_auth"})
    with pytest.raises(DeliveryError, match="invalid_auth") as refused:
        await workspace.identity(slack.client, 0)
    assert not refused.value.temporary
    slack.set("auth.test", 503)
    with pytest.raises(DeliveryError) as silent:
        await workspace.identity(slack.client, 0)
    assert silent.value.temporary


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"team_id": "T1", "user_id": "U1"}, "not the token of a bot"),
        (
            {"team_id": "E1", "bot_id": "B", "is_enterprise_install": True},
            "organisation",
        ),
    ],
)
async def test_a_token_that_is_not_one_workspaces_bot_is_refused(slack, answer, why):
    slack.set("auth.test", answer)
    with pytest.raises(ConfigError, match=why):
        await workspace.identity(slack.client, 0)


async def test_a_plan_without_user_groups_has_none(slack):
    slack.set("usergroups.list", {"ok": False, "error": "plan_upgrade_required"})
    assert await workspace.groups(slack.client, TENANT) == {}
    slack.set("usergroups.list", {"ok": False, "error": "missing_scope"})
    with pytest.raises(DeliveryError, match="missing_scope"):
        await workspace.groups(slack.client, TENANT)


async def test_every_page_of_channels_is_read(slack):
    one = {"id": "C1", "name": "ops", "is_member": True}
    two = {"id": "C2", "name": "dev", "is_member": False}
    slack.set("conversations.list", page("channels", [one], "two"), team_id="T1")
    slack.set("conversations.list", page("channels", [two], ""), cursor="two")
    assert await workspace.channels(slack.client, TENANT) == {
        "ops": Channel(id="C1", is_member=True),
        "dev": Channel(id="C2"),
    }


async def test_the_scopes_of_the_manifest_are_enough_in_the_playground(tmp_path, clock):
    made = manifest(default_settings(tmp_path, {}))
    async with Playground(manifest=made) as slack:
        url = f"http://127.0.0.1:{slack.port}/api/"
        client = AsyncWebClient(token=slack.bot_token, base_url=url)
        found = await workspace.identity(client, 0)
        assert (found.bot_user, found.app) == (slack.bot_user_id, slack.app_id)
        assert await workspace.groups(client, found.tenant) == {
            "approvers": "S0APPROVERS"
        }
        channels = await workspace.channels(client, found.tenant)
        assert channels["ops"] == Channel(id="C0OPS", is_member=True)
        assert "private-without-the-bot" not in channels
        people = SlackPeople(client=client, tenant=found.tenant, clock=clock)
        facts = await people.facts(["U0BEN", "U0NOBODY"], groups("S0APPROVERS"))
        assert facts.people["U0BEN"].team == found.tenant.team
        assert facts.people["U0NOBODY"].deleted
        assert facts.groups == {"S0APPROVERS": frozenset({"U0BEN"})}
        assert await people.in_channel("U0ADA", "C0OPS") is True
