import pytest

from bot.core import policy
from bot.errors import ConfigError
from bot.policyfile import PolicyFile, WrittenRule, ambiguous, read_policy, warnings


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


def policy_of(write, text):
    return read_policy(write("policy.toml", text))


def rule_of(write, lines):
    return policy_of(write, f'[[tool]]\nname = "t"\n{lines}\n').tool[0]


def rule_problems(write, lines):
    return problems_of(rule_of, write, lines)


def test_a_policy_is_read_with_its_defaults(write):
    policy = policy_of(write, 'default = "deny"\n[[tool]]\nname = "a"\ngate = "ask"')
    (rule,) = policy.tool
    assert rule == WrittenRule(name="a", gate="ask")
    assert rule.approvers == ()
    assert rule.callers is None
    assert rule.answerers is None
    assert rule.seconds == 86_400
    assert rule.self_approval is False
    assert policy_of(write, "") == PolicyFile()


def test_every_key_of_a_rule_is_read(write):
    rule = rule_of(
        write,
        """
        gate = "ask"
        headline = "Restart {service} in {region}"
        approvers = ["@sre-oncall", "U024BE7LH", "S0614TZR7", "#ops", "C0614TZR7"]
        callers = ["W012A3CDE"]
        answerers = []
        post_to = "#ops"
        expires = "30m"
        self_approval = true
        """,
    )
    assert rule.approvers == (
        *("@sre-oncall", "U024BE7LH", "S0614TZR7", "#ops", "C0614TZR7"),
    )
    assert rule.callers == ("W012A3CDE",)
    assert rule.answerers == ()
    assert rule.post_to == "#ops"
    assert rule.seconds == 1_800
    assert rule.self_approval is True


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ('aprovers = ["U1AA"]', "did you mean approvers?"),
        ("quorum = 2", "quorum is a key that this version does not know"),
        ('remind = ["10m"]', "remind is a key"),
        ('severity = "high"', "severity is a key"),
        ('on_expiry = "halt"', "on_expiry is a key"),
        ("self_approval = 1", "self_approval must be true or false"),
        ('self_approval = "no"', "self_approval must be true or false"),
        ('approvers = "@sre"', "approvers must be a list"),
        ('approvers = ["ada@example.com"]', "names ada@example.com, an e-mail address"),
        ('approvers = ["ada"]', "names ada, which is neither an id"),
        ('approvers = ["Ada Lovelace"]', "neither an id"),
        ('approvers = ["#"]', "names #, which is neither an id"),
        ('approvers = ["@"]', "names @"),
        ('approvers = ["U1"]', "neither an id"),
        ('approvers = ["u024be7lh"]', "neither an id"),
        ("approvers = [3]", "approvers[1] must be text"),
        ('callers = ["ada@example.com"]', "an e-mail address"),
        ('post_to = "ops"', "post_to is not a channel"),
        ('post_to = "U024BE7LH"', "post_to is not a channel"),
        ('expires = "1"', "is not a duration"),
        ('expires = "0m"', "is not a duration"),
        ('expires = "1h30m"', "is not a duration"),
        ('expires = "31d"', "is longer than 30 days"),
        ("expires = 30", "expires must be text"),
        (f'headline = "{"x" * 81}"', "is 81 characters long"),
        ('headline = "a\\nb"', "has a control character"),
        ('headline = "a\\u202Eb"', "has a control character"),
        ('headline = "Restart {service"', "has braces that name no argument"),
        ('headline = "Restart {}"', "has braces that name no argument"),
        ('headline = "Restart {a.b}"', "has braces that name no argument"),
    ],
)
def test_a_fault_in_a_rule_is_named_with_the_rule(write, line, why):
    said = rule_problems(write, f'gate = "ask"\n{line}')
    assert said.startswith('policy.toml, tool "t": ')
    assert why in said
    assert said.endswith("1 problem. Nothing was started.")


def test_a_gate_is_required_and_one_of_three(write):
    assert "gate is missing" in rule_problems(write, "")
    assert '"allow", "ask" or "deny"' in rule_problems(write, 'gate = "maybe"')


def test_the_only_default_is_deny(write):
    said = problems_of(policy_of, write, 'default = "allow"')
    assert "policy.toml: default" in said


def test_rules_are_a_list_of_tables(write):
    assert "[[tool]]" in problems_of(policy_of, write, '[tool]\nname = "a"')
    assert "tools is a key" in problems_of(policy_of, write, '[[tools]]\nname = "a"')


@pytest.mark.parametrize("name", ["", "a b", "a?", "a[bc]", "é", "x" * 65])
def test_a_rules_name_is_a_tool_name_or_a_pattern(write, name):
    said = problems_of(policy_of, write, f'[[tool]]\nname = "{name}"\ngate = "ask"')
    assert "policy.toml, tool 1: name is not a tool's name" in said


def test_two_rules_of_one_name_are_a_problem(write):
    text = '[[tool]]\nname = "a*"\ngate = "ask"\n' * 2
    assert 'tool "a*": there are two rules' in problems_of(policy_of, write, text)


def test_all_faults_of_all_rules_are_reported_together(write):
    text = '[[tool]]\nname = "a"\ngate = "x"\n[[tool]]\nname = "b"\nfoo = 1\n'
    assert "3 problems." in problems_of(policy_of, write, text)


@pytest.mark.parametrize(
    ("names", "tool", "clash"),
    [
        (["a*", "*a"], "aa", True),
        (["a*b", "ab*"], "ab", True),
        (["a*", "*a", "aa"], "aa", False),
        (["a*", "ab*"], "abc", False),
        (["a*", "*a"], "ab", False),
        (["*", "**"], "x", True),
    ],
)
def test_two_patterns_that_are_equally_exact_for_a_tool_are_a_problem(
    names, tool, clash
):
    rules = [WrittenRule(name=name, gate="ask") for name in names]
    assert bool(ambiguous(rules, [tool])) is clash
    # Where there is no problem, the order in the file makes no difference.
    plain = [policy.Rule(name=name, gate="ask") for name in names]
    found = policy.rule_for(plain, tool), policy.rule_for(reversed(plain), tool)
    assert (found[0] == found[1]) is not clash


def test_nobody_may_approve_is_said_and_is_no_error(write):
    rule_of(write, 'gate = "ask"\ncallers = []')
    said = list(
        warnings(
            read_policy(
                write("policy.toml", '[[tool]]\nname = "t"\ngate = "ask"\ncallers = []')
            ),
            "policy.toml",
        )
    )
    assert said == [
        'policy.toml, tool "t": it names no approvers, so nobody may approve it.',
        'policy.toml, tool "t": callers is empty, so nobody may start it.',
    ]


@pytest.mark.parametrize(
    "lines",
    [
        'gate = "xoxb-canary"',
        'gate = "ask"\napprovers = ["xoxp-canary"]',
        'gate = "ask"\nheadline = "xoxb-canary"',
        'gate = "ask"\ntoken = "canary"',
    ],
)
def test_a_secret_in_the_policy_is_an_error_that_does_not_repeat_it(write, lines):
    said = rule_problems(write, lines)
    assert 'policy.toml, tool "t":' in said
    assert "holds a secret" in said
    assert "canary" not in said


def test_a_secret_as_a_rules_name_is_not_repeated(write):
    said = problems_of(
        policy_of, write, '[[tool]]\nname = "xoxb-canary"\ngate = "ask"\nx = 1'
    )
    assert "policy.toml, tool 1: name holds a secret" in said
    assert "canary" not in said
