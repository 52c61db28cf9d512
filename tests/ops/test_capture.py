"""What people say becomes rules: in force, waiting, counted, superseded."""

import json
from dataclasses import replace

import pytest

from recollect.app import rule_keeping
from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.capture import dictated_rules
from recollect.model.memory import Lane, Rule, RuleType, Status
from recollect.model.result import Scope
from recollect.ops import health, memories, rules
from recollect.render import inject
from tests.naughty import NAUGHTY
from tests.ops.ask import keep, kept, pinned, states
from tests.ops.conftest import Opens
from tests.values import NOW, rule

# German has patterns alone: what is unsure there does not change when the learned judge is taught anew.
UNSURE = "bei uns Tabs, nicht Spaces"


def kept_rules(app: App) -> list[Rule]:
    return [card.memory for card in rules.listing(app).cards if isinstance(card.memory, Rule)]


def in_force(app: App) -> list[str]:
    return [rule.body for rule in kept_rules(app)]


def waiting(app: App) -> list[str]:
    return [card.memory.id for card in rules.list_inbox(app).cards]


def hear(app: App, text: str, session: str = "s", days_ago: float | None = None) -> str:
    """As a prompt of a session."""
    at = None if days_ago is None else NOW.plus(days=-days_ago)
    return rule_keeping.capture_prompt(
        app, rule_keeping.read_prompt(app, text), session=session, at=at
    )


def test_what_a_person_says_becomes_a_rule_in_their_lane_or_everywhere(app: App):
    rules.capture(app, "no, we use pnpm here, not npm")
    (rule,) = kept_rules(app)
    assert (rule.body, rule.rule_type, rule.lane) == (
        "Use pnpm, not npm.",
        RuleType.CORRECTION,
        Lane.USER,
    )
    rules.capture(app, "in all my projects i want type hints on every public function")
    assert {card.scope for card in rules.listing(app).cards} == {Scope.PROJECT, Scope.USER}


def test_a_rule_keeps_the_words_it_was_made_from_without_secrets_and_only_so_many(app: App):
    hear(app, "Look at cart.py. no, we use pnpm here, not npm")
    (rule,) = kept_rules(app)
    assert (rule.body, rule.said) == ("Use pnpm, not npm.", "no, we use pnpm here, not npm")
    hear(app, f"never push with the token ghp_{'a1B2' * 9}, " + "or without asking me first, " * 30)
    assert all("ghp_" not in one.said and len(one.said) <= 400 for one in kept_rules(app))


def test_what_is_unsure_waits_and_is_in_force_once_accepted(app: App):
    rules.capture(app, UNSURE)
    assert in_force(app) == []
    (id,) = waiting(app)
    rules.accept(app, (id,))
    assert in_force(app) == ["Bei uns Tabs, nicht Spaces."]
    assert waiting(app) == []


def test_a_waiting_rule_can_be_reworded_or_rejected(app: App):
    rules.capture(app, UNSURE)
    rules.capture(app, "hier Dayjs statt Moment")
    second, first = waiting(app)
    rules.edit(app, first, "Use tabs, not spaces")
    rules.reject(app, (second,))
    assert in_force(app) == ["Use tabs, not spaces"]
    assert kept(app, second).status is Status.ARCHIVED
    with pytest.raises(BadInput):
        rules.accept(app, (second,))


def test_several_waiting_rules_are_accepted_or_rejected_in_one_change(app: App):
    for words in (UNSURE, "hier Dayjs statt Moment"):
        rules.capture(app, words)
    ids = tuple(waiting(app))
    done = rules.reject(app, ids)
    assert (waiting(app), done.summary) == ([], "2 rules are archived; `restore` brings them back.")
    memories.undo(app)
    assert rules.accept(app, (*ids, ids[0])).summary == "2 rules are in force."
    assert len(in_force(app)) == 2
    memories.undo(app)
    assert waiting(app) == list(ids)
    with pytest.raises(BadInput):
        rules.accept(app, (ids[0], pinned(app, "not a rule")))
    assert waiting(app) == list(ids), "all or none"


def test_of_two_that_contradict_each_other_the_later_one_is_in_force_when_both_are_accepted(
    app: App,
):
    rules.add(app, "Use npm")
    said = ("Use pnpm, not npm", "Use npm, not pnpm")
    first, second = (rule(words, body=words, status=Status.CANDIDATE) for words in said)
    keep(app, first, replace(second, created_at=NOW.plus(seconds=1)))
    rules.accept(app, (second.id, first.id))
    assert in_force(app) == ["Use npm, not pnpm"]
    assert kept(app, first.id).superseded_by == second.id


def test_the_same_said_again_is_counted(app: App):
    rules.capture(app, "we use tabs here")
    rules.capture(app, "btw, we use tabs")
    (rule,) = kept_rules(app)
    assert rule.seen == 2


def test_nothing_of_what_we_injected_is_captured_again(app: App):
    rule = Rule(id="rule_20260201_083000_abc123", title="t", body="We always use tabs here", created_at=NOW,
                reinforced_at=NOW, last_active_at=NOW)  # fmt: skip
    ours = inject.session_start([rule], nonce="0123abcd", now=NOW).text
    before = states(app)
    rules.capture(app, f"{ours}\nwhat does this mean?")
    assert states(app) == before


def test_a_secret_in_a_rule_is_not_kept(app: App):
    secret = "ghp_" + "x7Kq9LmP2vRtY4wZ8nBc1dFg3hJs5aQe6uTi"
    rules.capture(app, f"in this project we deploy with the token {secret}")
    assert in_force(app)
    assert secret not in "".join(in_force(app))


def test_lines_are_answered_one_each_and_exactly_so(open_app: Opens):
    app = open_app(dry_run=True)
    said = "ok fix it. And we always use Decimal for money here, never float. don't touch auth.py in this PR"
    lines = [json.dumps({"id": 1, "prompt": said}), "garbage", "[1]", '{"id": "x"}', '{"id": 2, "prompt": 3}',
             '{"id": NaN, "prompt": ""}', "[" * 100_000, '{"id": 3, "prompt": "\\ud800 hi"}',
             '{"id": 4, "prompt": NaN}']  # fmt: skip
    told = rules.capture(app, "\n".join(lines), jsonl=True)
    rows = [json.loads(line) for line in told.summary.split("\n")]
    assert len(rows) == len(lines)
    assert all(
        list(row) == ["id", "kind", "scope", "rule", "action", "reason", "rules"] for row in rows
    )
    assert [row["kind"] for row in rows[1:]] == ["none"] * 8
    assert (rows[-1]["id"], rows[-1]["reason"], rows[5]["id"]) == (4, "no prompt in it", None)
    first, *_ = rows[0]["rules"]
    assert list(first) == ["rule", "span", "kind", "scope", "action", "reason"]
    assert (first["action"], first["span"]) == (
        "stored",
        "And we always use Decimal for money here, never float.",
    )
    assert all(one["span"] in said for one in rows[0]["rules"])
    assert all(row["reason"] for row in rows)
    assert in_force(app) == []


def test_any_text_is_answered(open_app: Opens):
    app = open_app(dry_run=True)
    assert all(rules.capture(app, text, explain=True).summary for text in NAUGHTY)


def test_explain_says_in_sentences_what_happens_to_each_one_and_stores_nothing(app: App):
    text = "fix the bug. we use tabs here. should we use jest?"
    told = rules.capture(app, text, explain=True).summary.split("\n")
    assert told[0] == "Would be in force: Use tabs. (preference, for this project)"
    assert told[1] == '"fix the bug." is not a rule: nothing in it is meant to last.'
    assert told[2].startswith('"we use tabs here." is a rule: it reads like one (what we do; ')
    assert told[3] == '"should we use jest?" is not a rule: it is a question.'
    assert (
        len(rules.capture(app, text, explain=True, numbers=True).summary.split("\n"))
        == len(told) + 3
    )
    assert in_force(app) == []


def test_status_tells_what_was_dropped_and_why(app: App):
    hear(app, "should we use tabs?")
    rules.capture(app, "should we use spaces?")
    hear(app, "we use tabs here")
    assert health.status(app).captured == {"dropped: a question": 2, "stored": 1}


def test_the_notice_is_one_line_and_short(app: App):
    said = hear(app, f"ab jetzt immer {'sehr ' * 30}lange Namen nehmen")
    assert said.startswith('Recollect: noted "')
    assert len(said.split('"')[1]) <= 60
    assert "\n" not in said


TABS = "use tabs for indentation in this repo"


@pytest.mark.parametrize(
    ("said", "days_ago", "seen"),
    [
        (
            [(2, f"never {TABS}"), (9, f"always {TABS}")],
            2,
            1,
        ),  # an older word does not put a newer one out of force
        ([(2, f"always {TABS}"), (9, f"always {TABS}")], 2, 2),  # counted, and not made younger
        (
            [(9, f"always {TABS}"), (6, f"never {TABS}"), (3, f"always {TABS}")],
            3,
            1,
        ),  # taken back and said anew
    ],
)
def test_what_was_said_last_is_in_force(
    app: App, said: list[tuple[int, str]], days_ago: int, seen: int
):
    for days, text in said:
        hear(app, text, days_ago=days)
    (rule,) = kept_rules(app)
    assert (rule.created_at, rule.last_active_at, rule.seen) == (NOW.plus(days=-days_ago),) * 2 + (
        seen,
    )


def test_what_was_rejected_after_it_was_said_stays_rejected(app: App):
    hear(app, UNSURE, days_ago=5)
    (id,) = waiting(app)
    rules.reject(app, (id,))
    hear(app, UNSURE, days_ago=1)
    assert waiting(app) == []
    rules.capture(app, UNSURE)
    assert len(waiting(app)) == 1


OPENAPI = (
    "always regenerate the client after changing openapi.yaml",
    "whenever the openapi file changes, always regenerate the client",
    "from now on regenerate the client each time openapi.yaml changes",
    "remember: the client must be regenerated after every openapi.yaml change",
)


def test_four_wordings_of_one_rule_are_one_memory(app: App):
    for number, text in enumerate(OPENAPI):
        hear(app, text, session=f"s-{number}")
    (rule,) = kept_rules(app)
    assert rule.seen == 4
    assert waiting(app) == []


def test_what_waits_comes_into_force_when_another_session_asks_for_it_again(app: App):
    hear(app, UNSURE, session="s-1")
    hear(app, UNSURE, session="s-1")
    assert in_force(app) == []
    hear(app, UNSURE, session="s-2")
    assert in_force(app) == ["Bei uns Tabs, nicht Spaces."]
    assert waiting(app) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "from now on store all timestamps in UTC",
            "from now on store all timestamps in local time",
        ),
        ("never push to main", "from now on push straight to main"),
        ("we use spaces here", "no, we use tabs here"),
    ],
)
def test_the_opposite_takes_the_place_of_what_stood_and_the_chain_is_kept(
    app: App, old: str, new: str
):
    rules.capture(app, old)
    (before,) = kept_rules(app)
    rules.capture(app, new)
    (after,) = kept_rules(app)
    gone = kept(app, before.id)
    assert (gone.status, gone.superseded_by) == (Status.SUPERSEDED, after.id)


def test_an_unsure_opposite_waits_and_says_what_it_may_contradict(app: App):
    rules.capture(app, "from now on push after every commit")
    (old,) = kept_rules(app)
    rules.capture(app, "do not push until i say so")
    assert len(in_force(app)) == 1
    (card,) = rules.list_inbox(app).cards
    assert [other.id for other in card.contradicts] == [old.id]
    rules.accept(app, (card.memory.id,))
    assert len(in_force(app)) == 2, "both stand until a person decides"
    rules.settle(app, card.memory.id, old.id, keep=rules.Keep.NEWER)
    assert in_force(app) == ["Do not push until i say so."]
    assert kept(app, old.id).superseded_by == card.memory.id


def test_a_long_dictated_list_is_kept_up_to_a_limit_and_the_notice_says_how_many_are_left(app: App):
    items = "".join(f"- use tool{number} for job{number}\n" for number in range(400))

    notice = hear(app, f"remember:\n{items}")

    assert len(in_force(app)) == dictated_rules.MAX_RULES
    assert f"{400 - dictated_rules.MAX_RULES} more rules dictated at once not kept" in notice
