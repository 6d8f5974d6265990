from bot.core.policy import Rule, Who
from bot.policyfile import WrittenRule
from bot.slack.resolve import Channel, Lookups, resolve

NOW = Lookups(
    groups={"sre-oncall": "S1AA", "sre-leads": "S2AA"},
    channels={"ops": Channel(id="C1AA", is_member=True), "dev": Channel(id="C2AA")},
)
SILENT = Lookups()


def rule(**fields):
    return WrittenRule(**{"name": "restart", "gate": "ask", **fields})


def said(resolved):
    return [f"{problem.what} / {problem.fix}" for problem in resolved.problems]


def test_a_rule_gets_its_ids():
    written = rule(
        headline="Restart {service}",
        approvers=["@sre-oncall", "U1AA", "S2AA"],
        callers=["@sre-leads"],
        answerers=[],
        post_to="#ops",
        expires="30m",
        self_approval=True,
    )
    resolved = resolve([written], NOW, {})
    assert resolved.problems == ()
    assert resolved.rules == (
        Rule(
            name="restart",
            gate="ask",
            approvers=(
                Who(group="S1AA", handle="@sre-oncall"),
                Who(user="U1AA"),
                Who(group="S2AA", handle="@sre-leads"),
            ),
            callers=(Who(group="S2AA", handle="@sre-leads"),),
            answerers=(),
            post_to="C1AA",
            post_to_name="#ops",
            headline="Restart {service}",
            expires=1_800,
            self_approval=True,
        ),
    )
    assert resolved.names == {
        "@sre-oncall": "S1AA",
        "@sre-leads": "S2AA",
        "#ops": "C1AA",
    }
    assert "@sre-oncall is S1AA." in resolved.notes


def test_a_second_start_has_nothing_to_say():
    written = [rule(approvers=["@sre-oncall"], post_to="#ops")]
    first = resolve(written, NOW, {})
    second = resolve(written, NOW, first.names)
    assert (second.rules, second.notes) == (first.rules, ())
    assert second.names == first.names


def test_lists_that_are_not_written_stay_open():
    (found,) = resolve([rule()], NOW, {}).rules
    assert (found.approvers, found.callers, found.answerers) == ((), None, None)
    assert (found.post_to, found.post_to_name) == (None, "")


def test_an_unknown_handle_is_a_problem_with_a_near_miss():
    resolved = resolve([rule(approvers=["@sre-leeds"])], NOW, {})
    assert said(resolved) == [
        'policy.toml, tool "restart": approvers name @sre-leeds, which is not a '
        "user group here. / did you mean @sre-leads? Or make the group in Slack, then "
        "start again."
    ]


def test_problems_call_the_policy_by_the_name_of_its_file():
    written = [rule(approvers=["@sre-leeds"], post_to="#opps")]
    for said_of_it in said(resolve(written, NOW, {}, file="who.toml")):
        assert said_of_it.startswith('who.toml, tool "restart": ')


def test_a_group_that_is_gone_is_a_problem_even_when_it_was_remembered():
    resolved = resolve([rule(approvers=["@gone"])], NOW, {"@gone": "S9AA"})
    assert len(resolved.problems) == 1


def test_a_handle_that_means_another_group_stops_the_start_until_accepted():
    written, before = [rule(approvers=["@sre-oncall"])], {"@sre-oncall": "S9AA"}
    refused = resolve(written, NOW, before)
    assert said(refused) == [
        "policy.toml: @sre-oncall was the group S9AA and is now S1AA, another one. / "
        "if that is meant, start once with --accept '@sre-oncall'."
    ]
    assert "@sre-oncall" not in refused.names
    taken = resolve(written, NOW, before, {"@sre-oncall"})
    assert taken.problems == ()
    assert taken.rules[0].approvers == (Who(group="S1AA", handle="@sre-oncall"),)
    assert taken.names == {"@sre-oncall": "S1AA"}


def test_a_channel_name_that_means_another_channel_stops_the_start_too():
    written, before = [rule(post_to="#ops")], {"#ops": "C9AA"}
    assert "was the channel C9AA" in said(resolve(written, NOW, before))[0]
    # A group of the same name is another matter.
    assert resolve(written, NOW, before, {"@ops"}).problems
    assert resolve(written, NOW, before, {"#ops"}).rules[0].post_to == "C1AA"


def test_accepting_what_has_not_changed_is_noted():
    resolved = resolve([rule()], NOW, {}, {"@x"})
    assert resolved.notes == (
        "--accept @x: it means what it meant; there is nothing to accept.",
    )


def test_with_slack_silent_the_remembered_ids_are_used():
    written = [rule(approvers=["@sre-oncall"], post_to="#ops")]
    remembered = {"@sre-oncall": "S1AA", "#ops": "C1AA"}
    resolved = resolve(written, SILENT, remembered)
    assert resolved.problems == ()
    assert resolved.rules == resolve(written, NOW, remembered).rules
    assert len(resolved.notes) == 2
    assert resolved.names == remembered


def test_with_slack_silent_and_nothing_remembered_there_is_no_start():
    resolved = resolve([rule(approvers=["@sre-oncall"], post_to="#ops")], SILENT, {})
    assert len(resolved.problems) == 2
    assert "cannot be found out: Slack did not say" in said(resolved)[0]


def test_one_unknown_name_in_many_rules_is_one_problem():
    written = [rule(name=name, approvers=["@no"], callers=["@no"]) for name in "abc"]
    assert len(resolve(written, NOW, {}).problems) == 1


def test_a_channel_without_the_bot_is_noted_and_no_problem():
    for post_to in ("#dev", "C2AA"):
        resolved = resolve([rule(post_to=post_to)], NOW, {})
        assert resolved.problems == ()
        assert resolved.rules[0].post_to == "C2AA"
        assert any("#dev: the bot is not a member" in note for note in resolved.notes)


def test_a_channel_that_cannot_be_seen_is_a_problem_unless_it_was_remembered():
    written = [rule(post_to="#opps")]
    assert "did you mean #ops?" in said(resolve(written, NOW, {}))[0]
    resolved = resolve(written, NOW, {"#opps": "C7AA"})
    assert resolved.problems == ()
    assert resolved.rules[0].post_to == "C7AA"
    assert "#opps: the bot is not a member" in resolved.notes[0]


def test_a_channel_by_id_gets_its_name():
    (found,) = resolve([rule(post_to="C1AA")], NOW, {}).rules
    assert (found.post_to, found.post_to_name) == ("C1AA", "#ops")
    (found,) = resolve([rule(post_to="C1AA")], SILENT, {}).rules
    assert (found.post_to, found.post_to_name) == ("C1AA", "")


def test_a_group_id_that_is_not_known_has_no_members_and_says_so():
    resolved = resolve([rule(approvers=["S9AA"])], NOW, {})
    assert resolved.rules[0].approvers == (Who(group="S9AA"),)
    assert resolved.notes == (
        "S9AA is not an active user group here; it has no members.",
    )


# -- channels whose members may do something ------------------------------------------


def test_channels_in_the_lists_get_their_ids():
    written = rule(approvers=["#ops", "C2AA", "@sre-oncall"], callers=["#dev"])
    resolved = resolve([written], NOW, {})
    assert resolved.problems == ()
    (found,) = resolved.rules
    assert found.approvers == (
        Who(channel="C1AA", handle="#ops"),
        Who(channel="C2AA", handle="#dev"),
        Who(group="S1AA", handle="@sre-oncall"),
    )
    assert found.callers == (Who(channel="C2AA", handle="#dev"),)
    assert resolved.names["#ops"] == "C1AA"
    # Its members are looked up without the bot being one of them.
    assert not any("not a member" in note for note in resolved.notes)


def test_an_unknown_channel_in_a_list_is_a_problem_with_a_near_miss():
    assert said(resolve([rule(approvers=["#opps"])], NOW, {})) == [
        'policy.toml, tool "restart": approvers name #opps, a channel the bot '
        "cannot see. / did you mean #ops? A private channel needs /invite "
        "@Countersign typed in it."
    ]


def test_a_channel_name_taken_over_by_another_stops_the_start():
    written = ("#ops",)
    refused = resolve([rule(approvers=written)], NOW, {"#ops": "C9AA"})
    assert said(refused) == [
        "policy.toml: #ops was the channel C9AA and is now C1AA, another one. / "
        "if that is meant, start once with --accept '#ops'."
    ]
    taken = resolve([rule(approvers=written)], NOW, {"#ops": "C9AA"}, {"#ops"})
    assert taken.rules[0].approvers == (Who(channel="C1AA", handle="#ops"),)


def test_with_slack_silent_channels_are_as_remembered():
    written = [rule(answerers=["#ops", "C9AA"])]
    resolved = resolve(written, SILENT, {"#ops": "C1AA"})
    assert resolved.rules[0].answerers == (
        Who(channel="C1AA", handle="#ops"),
        Who(channel="C9AA"),
    )
    assert resolve(written, SILENT, {}).problems
