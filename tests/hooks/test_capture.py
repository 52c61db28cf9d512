"""What a person says in a prompt is kept as a rule, and they are told so in one line."""

from __future__ import annotations

from recollect.ops import inbox, rules
from recollect.ops.app import App
from tests.hooks.talk import Talk


def in_force(app: App) -> list[str]:
    return [card.memory.body for card in rules.listing(app).cards]


def test_a_rule_said_in_a_prompt_is_there_in_the_next_session(app: App, talk: Talk):
    said = talk.say("no, we use pnpm here, not npm")

    assert said.notice == 'Recollect: noted "Use pnpm, not npm" \u00b7 undo: recollect undo'
    assert "Use pnpm, not npm." in Talk(app, session="s-2").start().context


def test_what_is_no_rule_is_answered_without_a_word_of_it(app: App, talk: Talk):
    said = talk.say("should we use tabs?")

    assert "noted" not in said.notice
    assert in_force(app) == []


def test_what_no_person_wrote_is_never_captured(app: App, talk: Talk):
    talk.say("<task-notification>\nwe always use tabs here\n</task-notification>\nwe always use tabs here")

    assert in_force(app) == []


PLAN = "Implement the following plan:\n\n# Move to pnpm\n\nwe always use tabs here\nno, we use pnpm here, not npm"


def test_a_plan_that_is_handed_on_states_no_rule(app: App, talk: Talk):
    said = talk.say(PLAN)

    assert "noted" not in said.notice
    assert (in_force(app), inbox.listing(app).cards) == ([], ())


def test_what_a_person_adds_to_a_plan_is_heard(app: App, talk: Talk):
    talk.say(f"{PLAN}\n\nUser feedback on this plan: we use make here, not just")

    assert in_force(app) == ["Use make, not just."]


def test_words_typed_beside_what_an_ide_wrote_are_heard_alone(app: App, talk: Talk):
    opened = "<ide_selection>The user selected:\nwe always use tabs here\n</ide_selection>"
    talk.say(f"{opened}\nno, we use pnpm here, not npm")

    assert in_force(app) == ["Use pnpm, not npm."]


def test_what_is_unsure_waits_and_is_not_told(app: App, talk: Talk):
    said = talk.say("bei uns Tabs, nicht Spaces")

    assert "noted" not in said.notice
    assert len(inbox.listing(app).cards) == 1
    assert "Tabs" not in Talk(app, session="s-2").start().context


def test_a_prompt_that_has_no_time_left_is_answered_and_left_to_its_transcript(app: App, talk: Talk):
    talk.transcript = "/home/ada/session.jsonl"
    talk.say("we use tabs here", left_s=0.01)

    assert in_force(app) == []
