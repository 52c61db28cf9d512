from __future__ import annotations

import pytest

from recollect.base.errors import BadInput
from recollect.model.memory import Rule, RuleType, Status
from recollect.ops import history, memories, rules
from recollect.ops.app import App
from tests.ops.ask import kept, made, pinned


def in_force(app: App) -> list[str]:
    return [card.memory.body for card in rules.listing(app).cards]


def test_a_rule_is_kept_and_listed(app: App):
    rule = kept(app, made(rules.add(app, " Use pnpm,\n never npm ", type=RuleType.CORRECTION, topics=("js",))))

    assert isinstance(rule, Rule)
    assert (rule.body, rule.rule_type, rule.topics) == ("Use pnpm, never npm", RuleType.CORRECTION, ("js",))
    assert in_force(app) == ["Use pnpm, never npm"]


@pytest.mark.parametrize("again", ["Use pnpm, never npm", "use PNPM, never npm", "  Use pnpm,\tnever npm\n"])
def test_the_same_rule_said_again_is_counted(app: App, again: str):
    first = made(rules.add(app, "Use pnpm, never npm"))

    done = rules.add(app, again)

    assert done.plan.touched() == (first,)
    assert kept(app, first).seen == 2
    assert len(in_force(app)) == 1


def test_a_rule_that_differs_is_another(app: App):
    rules.add(app, "Use pnpm, never npm")
    rules.add(app, "Use npm, never pnpm")

    assert len(in_force(app)) == 2


def test_the_users_rule_and_the_projects_are_two(app: App):
    rules.add(app, "Use tabs")
    rules.add(app, "Use tabs", user=True)

    assert in_force(app) == ["Use tabs", "Use tabs"]


def test_a_retired_rule_is_out_of_force_until_restored(app: App):
    rule = made(rules.add(app, "Use tabs"))

    rules.retire(app, rule)
    assert in_force(app) == []
    assert [c.memory.id for c in rules.listing(app, status=Status.ARCHIVED).cards] == [rule]

    memories.restore(app, (rule,))
    assert in_force(app) == ["Use tabs"]


def test_a_rule_said_again_after_it_was_retired_is_in_force(app: App):
    rules.retire(app, made(rules.add(app, "Use tabs")))

    rules.add(app, "Use tabs")

    assert in_force(app) == ["Use tabs"]


def test_retiring_twice_changes_nothing(app: App):
    rule = made(rules.add(app, "Use tabs"))
    rules.retire(app, rule)

    assert rules.retire(app, rule).change is None
    assert len(history.log(app).entries) == 2


def test_only_a_rule_can_be_retired(app: App):
    with pytest.raises(BadInput, match="not a rule"):
        rules.retire(app, pinned(app, "x"))


@pytest.mark.parametrize("text", ["", " \n", "x" * 2_001])
def test_a_rule_is_a_sentence(app: App, text: str):
    with pytest.raises(BadInput):
        rules.add(app, text)
