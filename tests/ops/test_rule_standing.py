"""No stated rule vanishes: what becomes of the rules that are known when another one is stated, at every door."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.app.core import App
from recollect.app.rule_keeping import load_rules
from recollect.base.clock import FixedClock
from recollect.base.errors import BadInput
from recollect.base.structs import replace
from recollect.capture.rule_standing import Surroundings, paired_ids, state_rule
from recollect.jobs.rule_contexts import with_contexts
from recollect.model.memory import Rule, Status
from recollect.model.plan import Create, Plan, Update
from recollect.model.result import Scope
from recollect.ops import imports, memories, rules
from tests.hooks.talk import Talk
from tests.ops.ask import keep, kept, made
from tests.ops.conftest import Opens
from tests.values import NOW, note, rule


def in_force(app: App) -> list[str]:
    return sorted(card.memory.body for card in rules.listing(app).cards)


def pairs(app: App) -> list[tuple[str, str]]:
    """The pairs that the inbox shows: the rule and what it may contradict."""
    cards = rules.list_inbox(app).cards
    return [(card.memory.body, other.body) for card in cards for other in card.contradicts]


def advance(app: App) -> None:
    app.clock = FixedClock(app.clock.now().plus(seconds=1))


SIX = [
    "Never edit api/gen.",
    "Never edit web/gen.",
    "No api deploy on Fridays.",
    "No web deploy on Mondays.",
    "Tests go in a folder of their own.",
    "Tests go next to the source.",
]


def test_of_six_rules_about_six_things_six_are_in_force(app: App):
    for words in SIX:
        rules.add(app, words)
    assert in_force(app) == sorted(SIX)


def test_what_is_said_to_an_agent_about_another_path_day_or_place_stays(app: App):
    talk = Talk(app)
    for words in (
        "never edit files in api/gen",
        "never edit files in web/gen",
        "never deploy the api on Fridays",
        "never deploy the web app on Mondays",
    ):
        talk.say(words)
        talk.tell("Stop")
    assert len(in_force(app)) + len(rules.list_inbox(app).cards) == 4
    assert not [one for one in all_rules(app) if one.status is Status.SUPERSEDED]


def all_rules(app: App) -> list[Rule]:
    return load_rules(app.reader(Scope.PROJECT), *Status)


def test_spellings_of_one_rule_are_one_with_a_count(app: App):
    for words in ("Use pnpm", "use pnpm.", "Please use `pnpm`", "USE  PNPM!"):
        rules.add(app, words)
    (only,) = all_rules(app)
    assert (only.body, only.seen) == ("Use pnpm", 4)


def test_spellings_that_an_older_version_kept_apart_become_one_when_it_is_said_again(app: App):
    keep(app, rule("a", body="Use pnpm.", days_old=2), rule("b", body="use pnpm", days_old=1))
    rules.add(app, "Use pnpm")
    assert in_force(app) == ["Use pnpm."]


def test_a_supersession_is_named_with_its_undo_and_can_be_undone(app: App):
    talk = Talk(app)
    talk.say("from now on store all timestamps in UTC")
    talk.tell("Stop")
    talk.say("from now on store all timestamps in local time")
    assert talk.tell("Stop").notice == (
        'Recollect: noted "Store all timestamps in local time",'
        ' instead of "Store all timestamps in UTC" \u00b7 undo: recollect undo'
    )
    memories.undo(app)
    assert in_force(app) == ["Store all timestamps in UTC."]


def test_two_choices_in_one_prompt_are_both_heard_and_the_later_one_holds(app: App):
    talk = Talk(app)
    talk.say("remember:\n- Use tabs\n- Use spaces")
    notice = talk.tell("Stop").notice
    assert in_force(app) == ["Use spaces"]
    assert '"Use spaces", instead of "Use tabs" (undo: recollect undo ' in notice
    memories.undo(app)
    assert in_force(app) == ["Use tabs"]


def test_a_pair_within_one_prompt_is_named(app: App):
    talk = Talk(app)
    talk.say("remember:\n- We deploy on Tuesdays\n- We deploy on Wednesdays")
    assert 'which may contradict "We deploy on Tuesdays"' in talk.tell("Stop").notice
    assert pairs(app) == [("We deploy on Wednesdays", "We deploy on Tuesdays")]


def test_the_undo_of_a_notice_takes_back_the_rule_that_it_names(app: App):
    talk = Talk(app)
    talk.say("remember: Use pnpm\nremember: use pnpm.")
    assert talk.tell("Stop").notice.endswith("undo: recollect undo")
    memories.undo(app)
    assert in_force(app) == []

    rules.add(app, "Use pnpm")
    talk.say("remember:\n- Ask before a release\n- use pnpm")
    command = talk.tell("Stop").notice.rpartition("undo: recollect undo ")[2]
    memories.undo(app, command)
    assert in_force(app) == ["Use pnpm"]


@pytest.mark.parametrize("call", ["", "remember: "])
def test_who_changes_back_within_a_session_gets_the_first_rule_back(app: App, call: str):
    talk = Talk(app)
    for words in ("Use pnpm, not npm.", "Use npm, not pnpm.", "Use pnpm, not npm."):
        talk.say(f"{call}{words}")
        talk.tell("Stop")
        advance(app)
    assert in_force(app) == ["Use pnpm, not npm."]


def test_a_rule_that_is_private_as_a_whole_is_refused_in_words(app: App):
    with pytest.raises(BadInput, match="Nothing is left of the rule"):
        rules.add(app, "<private>the code is 1234</private>")


AMENDED = (
    ("Always keep the timeout of the payment service at 30 seconds.", "30", "60"),
    ("Always regenerate the client in api/gen with make client before a commit.", "api/gen", "web/gen"),
    ("Never deploy the shop on a Friday without asking Anna.", "Friday", "Monday"),
    ("Always honour the clause qz1x in reviews.", "qz1x", "qz2x"),
)  # fmt: skip


@pytest.mark.parametrize(("told", "old", "new"), AMENDED)
def test_a_rule_that_amends_what_the_session_was_told_is_no_echo_of_it(
    app: App, told: str, old: str, new: str
):
    rules.add(app, told)
    advance(app)
    talk = Talk(app)
    assert told in str(talk.tell("SessionStart", source="startup"))

    talk.say(f"From now on {told.replace(old, new)}")
    talk.tell("Stop")

    waiting = [card.memory.body for card in rules.list_inbox(app).cards]
    assert told.replace(old, new) in in_force(app) + waiting


def test_what_only_quotes_what_the_session_was_told_is_kept_as_no_rule(app: App):
    """Here of another memory: a rule that the person stated would count again."""
    words = "Always restart the tax service after a change of the rates."
    keep(app, note("Tax", body=f"Anna writes: {words} She said so twice."))
    talk = Talk(app)
    assert words in str(talk.say("What did Anna write about the tax service and the rates?"))

    talk.say(words)
    talk.tell("Stop")

    assert in_force(app) == []


def test_rule_add_names_what_it_replaces(app: App):
    rules.add(app, "The port is 5432")
    done = rules.add(app, "The port is 5433")
    assert (
        "It replaces \u201cThe port is 5432\u201d; `recollect undo` takes that back." in done.notes
    )
    assert in_force(app) == ["The port is 5433"]


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        (rules.Keep.BOTH, ["Use npm, too", "Use pnpm"]),
        (rules.Keep.NEWER, ["Use npm, too"]),
        (rules.Keep.OLDER, ["Use pnpm"]),
    ],
)
def test_two_that_may_contradict_each_other_both_stand_until_a_person_decides(
    app: App, keep: rules.Keep, left: list[str]
):
    older = made(rules.add(app, "Use pnpm"))
    advance(app)
    done = rules.add(app, "Use npm, too")
    newer = made(done)
    assert any("may contradict" in note for note in done.notes)
    assert in_force(app) == ["Use npm, too", "Use pnpm"]
    assert pairs(app) == [("Use npm, too", "Use pnpm")]

    rules.settle(app, older, newer, keep=keep)
    assert (in_force(app), pairs(app)) == (left, [])
    with pytest.raises(BadInput):
        rules.settle(app, older, newer, keep=keep)

    memories.undo(app)
    assert in_force(app) == ["Use npm, too", "Use pnpm"]
    assert pairs(app) == [("Use npm, too", "Use pnpm")]


def test_a_project_rule_leaves_one_for_every_project_in_force_and_shows_the_pair(
    app: App, open_app: Opens, tmp_path: Path
):
    wide = made(rules.add(app, "Use tabs", user=True))
    advance(app)
    here = made(rules.add(app, "Use spaces"))
    assert in_force(app) == ["Use spaces", "Use tabs"]
    assert pairs(app) == [("Use spaces", "Use tabs")]
    rules.settle(app, here, wide, keep=rules.Keep.NEWER)
    assert in_force(app) == ["Use spaces"]
    assert kept(app, wide).status is Status.ARCHIVED
    memories.undo(app)
    assert in_force(app) == ["Use spaces", "Use tabs"]


def test_an_agents_word_puts_no_rule_out_of_force(open_app: Opens, app: App):
    rules.add(app, "Use tabs")
    agent = open_app(actor="agent")
    rules.add(agent, "Use spaces")
    assert in_force(app) == ["Use spaces", "Use tabs"]
    assert pairs(app) == [("Use spaces", "Use tabs")]


def test_rules_that_differ_by_a_number_are_two_when_they_are_imported(app: App, tmp_path: Path):
    listed = tmp_path / "AGENTS.md"
    listed.write_text(
        "- Use port 5432 for the prod database\n- Use port 5433 for the staging database\n"
        "- use port 5433 for the staging database.\n",
        encoding="utf-8",
    )
    imports.rules_file(app, str(listed))
    assert len(rules.list_inbox(app).cards) == 2


def test_what_is_accepted_in_another_spelling_is_counted_and_what_it_contradicts_is_named(app: App):
    known = made(rules.add(app, "Use pnpm"))
    again = rule("again", body="use pnpm.", status=Status.CANDIDATE)
    other = rule("other", body="Use yarn, not pnpm.", status=Status.CANDIDATE)
    keep(app, again, other)
    rules.accept(app, (again.id,))
    assert (in_force(app), kept(app, known).seen) == (["Use pnpm"], 2)
    done = rules.accept(app, (other.id,))
    assert in_force(app) == ["Use yarn, not pnpm."]
    assert any("It replaces \u201cUse pnpm\u201d" in note for note in done.notes)


def test_a_change_of_mind_that_names_the_old_thing_takes_its_place(app: App):
    talk = Talk(app)
    talk.say("no, we use pnpm here, not npm")
    talk.tell("Stop")
    rules.add(app, "We switched to bun, not pnpm")
    assert in_force(app) == ["We switched to bun, not pnpm"]


def test_what_waits_says_what_it_may_contradict_as_json(app: App):
    rules.add(app, "Use pnpm")
    advance(app)
    rules.add(app, "Use npm, too")
    (card,) = rules.list_inbox(app).cards
    assert json.loads(json.dumps(card.as_json()))["contradicts"][0]["body"] == "Use pnpm"
    assert with_contexts(app, [card])


# The law: whatever is stated in whatever order, every rule is in force, waits, or gave way to one about the same thing.


class Stated(NamedTuple):
    thing: str  # what it is about
    words: str


def _pool() -> list[Stated]:
    """Rules about things of every kind, three about each: it, its opposite and it in another spelling."""
    things = (
        [f"edit {path}" for path in ("api/gen", "web/gen", "src/a.py", "src/b.py", "*.sql")]
        + [f"deploy on {day}s" for day in ("Monday", "Friday")]
        + [f"deploy to {place}" for place in ("prod", "staging", "QA")]
        + [f"call port {port}" for port in ("5432", "5433")]
        + [f"ask {person} for a review" for person in ("Anna", "Ben")]
        + [f"rename {name}" for name in ("parse_header", "parseFooter", "AUTH_TOKEN")]
        + [f"write {words}" for words in ("docstrings", "comments in tests", "docs in German")]
    )
    return [
        Stated(thing, words)
        for thing in things
        for words in (f"Always {thing}.", f"Never {thing}", f"please never {thing}!")
    ]


@given(st.lists(st.sampled_from(_pool()), max_size=12))
def test_every_stated_rule_is_in_force_or_waits_or_gave_way_to_one_about_the_same_thing(
    stated: list[Stated],
):
    known: dict[str, Rule] = {}
    thing_of: dict[str, str] = {}
    for number, (thing, words) in enumerate(stated):
        said_at = NOW.plus(seconds=number)
        new = replace(rule(words, body=words), created_at=said_at, last_active_at=said_at)
        plan = state_rule(new, Surroundings(known=_standing(known)), is_sure=True)
        _apply(plan, known)
        told = plan.changes[0]
        id = told.memory.id if isinstance(told, Create) else getattr(told, "id", "")
        assert thing_of.setdefault(id, thing) == thing, "counted as known for another thing"
    for id, kept_rule in known.items():
        if kept_rule.status is Status.SUPERSEDED:
            assert thing_of[kept_rule.superseded_by or ""] == thing_of[id]
        else:
            assert kept_rule.status is Status.ACTIVE
        assert not paired_ids(kept_rule) or kept_rule.status is Status.ACTIVE


def _standing(known: dict[str, Rule]) -> list[Rule]:
    return [one for one in known.values() if one.status in (Status.ACTIVE, Status.CANDIDATE)]


def _apply(plan: Plan, known: dict[str, Rule]) -> None:
    for change in plan.changes:
        if isinstance(change, Create) and isinstance(change.memory, Rule):
            known[change.memory.id] = change.memory
        elif isinstance(change, Update):
            old = known[change.id]
            superseded_by = change.after.get("superseded_by", old.superseded_by)
            known[change.id] = replace(
                old,
                status=Status(str(change.after.get("status", old.status))),
                superseded_by=str(superseded_by) if superseded_by else None,
            )


def test_a_pair_that_words_tell_is_shown_before_those_that_are_only_near_in_meaning():
    near = [rule(f"n{number}", body=f"Keep the code of part {number} tidy.") for number in range(3)]
    opposite = rule("o", body="Use tabs.")
    among = Surroundings(known=near, elsewhere=[opposite], near={one.id: 0.95 for one in near})
    plan = state_rule(rule("new", body="Use spaces."), among, is_sure=True)
    (told,) = plan.changes
    assert isinstance(told, Create)
    assert opposite.id in paired_ids(told.memory)


def test_a_waiting_rule_of_another_store_is_no_pair(app: App):
    keep(app, rule("w", body="Use tabs", status=Status.CANDIDATE), scope=Scope.USER)
    rules.add(app, "Use spaces")
    assert pairs(app) == []
