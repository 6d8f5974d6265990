"""Who may start, answer and refuse (T5, T8 to T13, T16, T20, T25, T35)."""

import pytest

from bot.core.policy import (
    Asked,
    Facts,
    Person,
    Rule,
    Who,
    may_answer,
    may_report,
    may_start,
    needs_of,
    rule_for,
    still_eligible,
)

NOW = 1_000_000


def person(user, **kwargs):
    return Person(user=user, team=kwargs.pop("team", "T1"), name=user, **kwargs)


def facts(*people, group=("UBEN",)):
    everybody = people or (person("UADA"), person("UBEN"), person("UCLEO"))
    groups = {} if group is None else {"S1": frozenset(group)}
    return Facts(people={p.user: p for p in everybody}, groups=groups)


def rule(**kwargs):
    kwargs.setdefault("approvers", (Who(group="S1", handle="@ops"),))
    return Rule(name="restart", gate=kwargs.pop("gate", "ask"), **kwargs)


def asked(**kwargs):
    kwargs.setdefault("rule", rule())
    defaults = {
        "kind": "approval",
        "gate": True,
        "status": "open",
        "requester": "UADA",
        "requester_key": "T1:UADA",
        "expires_at": NOW,
        "tenant_team": "T1",
    }
    return Asked(**(defaults | kwargs))


def click(user="UBEN", decision="approve", *, known=None, now=NOW, **kwargs):
    rule_now = kwargs.pop("rule_now", rule())
    return may_answer(asked(**kwargs), rule_now, decision, user, known or facts(), now)


def test_an_approver_may_approve():
    assert click().ok


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_a_stranger_may_neither_approve_nor_deny(decision):
    assert click("UCLEO", decision).code == "not_approver"


def test_the_requester_may_deny_but_not_approve():
    known = facts(group=("UADA", "UBEN"))

    assert click("UADA", known=known).code == "self_approval"
    assert click("UADA", "deny", known=known).ok


def test_the_requester_is_the_same_person_under_another_id():
    grid = person("W9", enterprise_user="W9")
    mine = {"requester": "UADA", "requester_key": "W9"}
    named = rule(approvers=(Who(user="W9"),))
    kwargs = {**mine, "rule": named, "rule_now": named, "known": facts(grid)}

    assert click("W9", **kwargs).code == "self_approval"
    assert click("W9", "deny", **kwargs).ok


def test_self_approval_needs_the_rule_to_say_so():
    own = rule(self_approval=True, approvers=(Who(user="UADA"),))

    verdict = click("UADA", rule=own, rule_now=own)

    assert verdict.ok
    assert verdict.self_approved


def test_self_approval_allowed_only_later_does_not_count():
    own = rule(self_approval=True, approvers=(Who(user="UADA"),))
    then = rule(approvers=(Who(user="UADA"),))

    assert click("UADA", rule=then, rule_now=own).code == "self_approval"


def test_nobody_approves_when_no_approvers_are_named():
    nobody = rule(approvers=())

    assert click(rule=nobody, rule_now=nobody).code == "not_approver"


def test_membership_that_could_not_be_looked_up_is_no_membership():
    assert click(known=facts(group=None)).code == "identity_unverified"


def test_a_person_who_could_not_be_looked_up_does_not_count():
    assert click(known=facts(person("UADA"))).code == "identity_unverified"


def test_a_named_approver_needs_no_group():
    named = rule(approvers=(Who(group="S1"), Who(user="UBEN")))

    assert click(rule=named, rule_now=named, known=facts(group=None)).ok


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ({"bot": True}, "bot_user"),
        ({"deleted": True}, "inactive_user"),
        ({"stranger": True}, "external_user"),
        ({"team": "T2"}, "external_user"),
        ({"team": None}, "external_user"),
        ({"guest": True}, "guest_user"),
    ],
)
@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_only_full_members_count(flags, code, decision):
    known = facts(person("UBEN", **flags))

    assert click("UBEN", decision, known=known).code == code


def test_a_guest_named_by_id_counts():
    named = rule(approvers=(Who(user="UBEN"),))

    assert click(rule=named, rule_now=named, known=facts(person("UBEN", guest=True))).ok


@pytest.mark.parametrize(("now", "code"), [(NOW, ""), (NOW + 1, "expired")])
def test_the_moment_of_expiry_is_still_in_time(now, code):
    assert click(now=now).code == code


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("approved", "already_answered"),
        ("answered", "already_answered"),
        ("denied", "already_answered"),
        ("declined", "already_answered"),
        ("expired", "expired"),
        ("cancelled", "cancelled"),
        ("void", "void_changed"),
    ],
)
def test_a_closed_request_says_how_it_was_closed(status, code):
    assert click(status=status).code == code


def test_both_rules_must_be_satisfied():
    now = rule(approvers=(Who(user="UCLEO"),))

    assert click("UBEN", rule_now=now).code == "rule_changed"
    assert click("UCLEO", rule_now=now).code == "rule_changed"
    assert click("UADA", "approve", rule_now=now).code == "self_approval"


@pytest.mark.parametrize("now", [None, rule(gate="deny")])
def test_a_request_whose_rule_is_gone_is_void(now):
    assert click(rule_now=now).code == "void_changed"
    assert still_eligible(asked(), now, "UBEN", facts()).code == "void_changed"


def test_a_gate_that_was_lifted_leaves_the_old_rule_standing():
    lifted = rule(gate="allow", approvers=())

    assert click(rule_now=lifted).ok


def test_an_approver_who_left_is_no_longer_eligible():
    left = facts(group=("UCLEO",))

    assert still_eligible(asked(), rule(), "UBEN", facts()).ok
    assert still_eligible(asked(), rule(), "UBEN", left).code == "not_approver"


@pytest.mark.parametrize("kind", ["countdown", "input", "Approval", "approv\u0430l"])
def test_other_kinds_are_the_requesters_to_answer(kind):
    assert click("UADA", "done", kind=kind, gate=False).ok
    assert click("UBEN", "done", kind=kind, gate=False).code == "not_approver"


def test_answerers_may_be_named_for_other_kinds():
    named = rule(answerers=(Who(user="UCLEO"),))
    kwargs = {"kind": "countdown", "gate": False, "rule": named, "rule_now": named}

    assert click("UCLEO", "done", **kwargs).ok
    assert click("UADA", "done", **kwargs).code == "not_approver"
    assert click("UADA", "decline", **kwargs).ok


def test_only_the_requester_ever_signs_in():
    named = rule(answerers=(Who(user="UCLEO"),))
    kwargs = {"kind": "authorization", "gate": False, "rule": named, "rule_now": named}

    assert click("UADA", "done", **kwargs).ok
    assert click("UCLEO", "done", **kwargs).code == "not_approver"


# -- starting -------------------------------------------------------------------------


def test_a_tool_without_a_rule_may_not_run():
    assert may_start(None, "UADA", facts(), "T1").code == "no_rule"
    assert may_start(rule(gate="deny"), "UADA", facts(), "T1").code == "no_rule"


def test_every_full_member_may_start_by_default():
    assert may_start(rule(), "UCLEO", facts(), "T1").ok


def test_callers_narrow_who_may_start():
    narrow = rule(callers=(Who(group="S1"),))

    assert may_start(narrow, "UBEN", facts(), "T1").ok
    assert may_start(narrow, "UADA", facts(), "T1").code == "not_caller"


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ({"guest": True}, "guest_user"),
        ({"bot": True}, "bot_user"),
        ({"deleted": True}, "inactive_user"),
        ({"team": "T2"}, "external_user"),
    ],
)
def test_others_start_nothing(flags, code):
    assert may_start(rule(), "UX", facts(person("UX", **flags)), "T1").code == code


def test_a_guest_named_as_caller_may_start():
    narrow = rule(callers=(Who(user="UX"),))

    assert may_start(narrow, "UX", facts(person("UX", guest=True)), "T1").ok


def test_an_unknown_person_starts_nothing():
    assert may_start(rule(), "UX", facts(), "T1").code == "identity_unverified"


# -- steering -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("user", "code"), [("UADA", ""), ("UBEN", ""), ("UCLEO", "not_approver")]
)
def test_requester_and_approvers_may_cancel_and_report(user, code):
    assert may_report(rule(), "UADA", user, facts(), "T1").code == code


def test_a_deactivated_requester_cancels_nothing():
    known = facts(person("UADA", deleted=True))

    assert may_report(rule(), "UADA", "UADA", known, "T1").code == "inactive_user"


# -- rules ----------------------------------------------------------------------------


def test_the_most_exact_rule_wins():
    rules = [
        Rule(name="*", gate="deny"),
        Rule(name="github.*", gate="ask"),
        Rule(name="github.get_*", gate="allow"),
        Rule(name="github.get_secret", gate="deny"),
    ]

    assert rule_for(rules, "github.merge").name == "github.*"
    assert rule_for(rules, "github.get_issue").name == "github.get_*"
    assert rule_for(rules, "github.get_secret").name == "github.get_secret"
    assert rule_for(rules, "pay").name == "*"
    assert rule_for(rules[1:], "pay") is None


def test_a_rule_survives_being_stored():
    full = rule(
        callers=(Who(user="U1"),),
        answerers=(),
        post_to="C1",
        post_to_name="#ops",
        headline="Restart {service}",
        expires=60,
        self_approval=True,
    )

    assert Rule.from_json(full.to_json()) == full


def test_every_group_and_channel_of_a_rule_is_looked_up():
    both = rule(
        callers=(Who(group="S2"), Who(channel="C1")),
        answerers=(Who(group="S3"), Who(user="U1"), Who(channel="C2")),
    )

    needs = needs_of([both, None])

    assert needs.groups == {"S1", "S2", "S3"}
    assert needs.channels == {"C1", "C2"}


# -- members of a channel -----------------------------------------------------------

OPS = (Who(channel="C1", handle="#ops"),)


def in_ops(*members, known=True):
    found = facts()
    channels = {"C1": frozenset(members)} if known else {}
    return Facts(people=found.people, channels=channels)


@pytest.mark.parametrize("decision", ["approve", "deny"])
def test_a_member_of_a_channel_of_approvers_may_answer(decision):
    only = rule(approvers=OPS)
    about = {"rule": only, "rule_now": only}

    assert click("UBEN", decision, known=in_ops("UBEN"), **about).ok
    assert (
        click("UCLEO", decision, known=in_ops("UBEN"), **about).code == "not_approver"
    )


def test_a_channel_that_was_not_looked_up_is_doubt_and_not_a_no():
    only = rule(approvers=OPS)
    about = {"rule": only, "rule_now": only, "known": in_ops(known=False)}

    assert click("UBEN", **about).code == "identity_unverified"
    # Whoever is named otherwise needs no word of Slack about the channel.
    both = rule(approvers=(*OPS, Who(user="UBEN")))
    about |= {"rule": both, "rule_now": both}
    assert click("UBEN", **about).ok


def test_being_in_the_channel_makes_nobody_their_own_approver():
    only = rule(approvers=OPS)
    known = in_ops("UADA", "UBEN")

    assert click("UADA", rule=only, rule_now=only, known=known).code == "self_approval"


@pytest.mark.parametrize(
    ("member", "code"),
    [
        (person("UBEN", guest=True), "guest_user"),
        (person("UBEN", bot=True), "bot_user"),
        (person("UBEN", team="T9"), "external_user"),
        (person("UBEN", deleted=True), "inactive_user"),
    ],
)
def test_members_who_are_not_full_members_of_the_workspace_do_not_count(member, code):
    only = rule(approvers=OPS)
    known = Facts(people={"UBEN": member}, channels={"C1": frozenset({"UBEN"})})

    assert click("UBEN", rule=only, rule_now=only, known=known).code == code


def test_members_of_a_channel_may_start_and_answer_what_a_tool_asks():
    only = rule(gate="allow", callers=OPS, answerers=OPS)
    known = in_ops("UBEN")

    assert may_start(only, "UBEN", known, "T1").ok
    assert may_start(only, "UCLEO", known, "T1").code == "not_caller"
    about = {"rule": only, "rule_now": only, "known": known, "kind": "input"}
    assert click("UBEN", "done", gate=False, **about).ok
    assert click("UCLEO", "done", gate=False, **about).code == "not_approver"


def test_a_rule_of_before_there_were_channels_keeps_its_text():
    stored = rule().to_json()

    assert stored["approvers"] == ({"user": None, "group": "S1", "handle": "@ops"},)
    full = rule(approvers=OPS)
    assert Rule.from_json(full.to_json()) == full


def test_one_person_is_one_person_under_two_ids():
    one = Person(user="U1", team="T1", enterprise_user="W1")
    two = Person(user="W1", team="T1", enterprise_user="W1")

    assert one.key == two.key
