"""Focus, rating, suggestions and compaction."""

import json
import os
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from recollect.app import question_vector
from recollect.app.core import App
from recollect.app.memory_search import load_focus
from recollect.app.question_vector import TimedQuestion
from recollect.base.clock import FixedClock
from recollect.base.errors import BadInput, ModelError
from recollect.model.memory import Rating, Status
from recollect.ops import memories, recall, steering
from recollect.ops.hook_reply import sweep_old_answers
from recollect.ops.prompt_recall import search_unasked
from recollect.ops.steering import Verdict
from tests.ops.ask import add, kept, said, states
from tests.ops.conftest import Opens
from tests.values import NOW


def recalled(app: App, words: str) -> list[str]:
    found = recall.recall(app, (words,), limit=5).found
    return [one.hit.memory.id for one in found.found]


def test_a_focus_is_confirmed_in_words_and_in_the_project(app: App):
    for name in ("login", "logout", "tokens"):
        add(app, name, topics=("authentication",))
    add(app, "bread", topics=("cellar",))
    told = steering.focus(app, "authentication")
    assert told.summary == 'Focus set on "authentication" (weight=0.8). 3 threads will be prioritized.'
    shown = json.loads(Path(".ai/focus.json").read_text(encoding="utf-8"))
    assert shown == {
        "active_focus": [{"topic": "authentication", "weight": 0.8, "set_at": NOW.iso()}],
        "last_updated": NOW.iso(),
    }


def test_what_is_in_focus_comes_whatever_the_question_or_the_prompt_says(app: App):
    login = add(app, "The session cookie", body="It expires at midnight.", topics=("authentication",))
    bread = add(app, "Sourdough", body="Sourdough wants eleven hours in the cellar.")
    assert login not in recalled(app, "sourdough in the cellar")
    steering.focus(app, "authentication", weight=1)
    assert set(recalled(app, "sourdough in the cellar")) == {login, bread}
    prompt = TimedQuestion(app, "paint the fence", time.monotonic() + 60)
    assert [hit.memory.id for hit in search_unasked(app, prompt, seen=set(), limit=5).hits] == [login]


@pytest.mark.parametrize(("given_weight", "held"), [(7, 1), (-2, 0), (0.4, 0.4), (float("inf"), 1)])
def test_a_weight_out_of_range_is_clamped_and_that_is_said(app: App, given_weight: float, held: float):
    told = steering.focus(app, "x", weight=given_weight)
    assert told.facts["weight"] == held
    assert bool(told.notes) == (given_weight != held)


def test_a_focus_is_replaced_by_the_same_topic_and_cleared_by_name_or_all_at_once(app: App, open_app: Opens):
    for topic in ("a", "B", "c"):
        steering.focus(app, topic, weight=0.2)
    steering.focus(app, "b", weight=0.9)
    steering.focus(open_app(dry_run=True), "d")
    assert [(point.topic, point.weight) for point in load_focus(app)] == [("a", 0.2), ("c", 0.2), ("b", 0.9)]
    assert steering.unfocus(app, "B").summary == 'Focus on "B" cleared.'
    with pytest.raises(BadInput) as refused:
        steering.unfocus(app, "b")
    assert '"a", "c"' in refused.value.hint
    assert steering.unfocus(app).summary == "All focus cleared. Returning to similarity-based injection."
    assert load_focus(app) == ()


@pytest.mark.parametrize(("topic", "weight"), [("   ", 1.0), ("x" * 500, 1.0), ("x", float("nan"))])
def test_a_topic_needs_a_few_words_and_a_weight_is_a_number(app: App, topic: str, weight: float):
    with pytest.raises(BadInput):
        steering.focus(app, topic, weight=weight)


def test_a_rating_says_what_it_did_and_can_be_undone(app: App):
    id = add(app, "old api")
    first = steering.rate(app, id, Verdict.NOT_USEFUL, reason="it was redesigned")
    second = steering.rate(app, id, Verdict.USEFUL)
    assert first.summary == f"Rated {id} as not useful. Relevance score: 1.00 → 0.75"
    assert second.summary == f"Rated {id} as useful. Relevance score: 0.75 → 0.80"
    assert kept(app, id).ratings == (Rating(False, NOW, "it was redesigned"), Rating(True, NOW, None))
    memories.undo(app)
    assert len(kept(app, id).ratings) == 1


def test_after_two_bad_ratings_a_thread_sinks_and_can_return(app: App):
    assert isinstance(app.clock, FixedClock)
    bad = add(app, "Deploys go through staging", body="Deploys go through the staging cluster first.")
    other = add(app, "Deploys at night", body="Deploys through staging happen at night, mostly.")
    question = "deploys go through staging"
    assert recalled(app, question)[0] == bad
    for _ in range(2):
        steering.rate(app, bad, Verdict.NOT_USEFUL)
    assert recalled(app, question) == [other, bad]
    for _ in range(8):
        steering.rate(app, bad, Verdict.USEFUL)
    assert recalled(app, question)[0] == bad


def question(app: App, text: str, seconds: float = 60) -> TimedQuestion:
    return TimedQuestion(app, text, time.monotonic() + seconds)


def test_what_goes_wrong_in_the_model_is_raised(app: App, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(app.embedder, "embed_one", Mock(side_effect=KeyError("beside")))
    with pytest.raises(KeyError, match="beside"):
        question(app, "staging deploys").vector()


def test_not_all_of_a_long_question_is_embedded_and_nothing_in_a_hurry(app: App, monkeypatch: pytest.MonkeyPatch):
    embed_one = Mock(wraps=app.embedder.embed_one)
    monkeypatch.setattr(app.embedder, "embed_one", embed_one)
    hurried = question(app, "staging deploys", question_vector.VECTORS_NEED_S - 0.01)
    assert hurried.vector() is None
    assert hurried.how == "words alone: too little time was left for vectors"
    question(app, "at the beginning " + "x = 1\n" * 200_000 + " at the end").vector()
    ((asked, tokens),) = [call.args for call in embed_one.call_args_list]
    assert (asked[:16], asked[-10:], tokens) == ("at the beginning", "at the end", question_vector.MAX_TOKENS)
    assert len(asked) < 5_000


@pytest.mark.parametrize(("days", "stays"), [(-0.9, True), (0.9, True), (-1.1, False), (1.1, False), (3_650, False)])
def test_what_is_of_another_day_goes_on_both_sides_of_now(tmp_path: Path, days: float, stays: bool):
    """On the far side stands what was written before the clock was set back."""
    path = tmp_path / "recalls" / "session" / "answer.md"
    path.parent.mkdir(parents=True)
    path.write_text("words", encoding="utf-8")
    at_ns = NOW.plus(days=days).micros * 1_000
    for each in (path, path.parent):
        os.utime(each, ns=(at_ns, at_ns))
    sweep_old_answers(path.parent.parent, NOW)
    assert path.exists() is stays


STAGING = "Deploys always go through the staging cluster before they reach production."
AGAIN = "Deploys always go through the staging cluster before they reach production!"


def all_messages(app: App) -> set[str]:
    return {m.content for _, store in app.scopes() for _, spoken in store.each() for m in spoken}


def test_threads_that_say_the_same_are_suggested_to_be_merged(app: App):
    a = add(app, "Deploys", body=STAGING, topics=("deploy",))
    b = add(app, "Deploying", body=AGAIN, topics=("deploy", "ops"))
    add(app, "Bread", body="Sourdough wants eleven hours in the cellar.")
    told = steering.suggestions(app)
    [one] = told.merge_candidates
    assert {one["thread_a"], one["thread_b"]} == {a, b}
    assert float(str(one["similarity"])) > 0.85
    assert one["reason"] == "Both about deploy"
    assert one["command"] == f"ai_merge('{one['thread_a']}', '{one['thread_b']}')"
    assert told.totals == {"merge_candidates": 1, "split_candidates": 0}
    assert (told.health["active_threads"], told.health["context_pressure"]) == (3, 0.3)


def test_a_thread_that_drifted_is_suggested_to_be_split(app: App):
    id = add(app, "talk", "The login form.", "The database.", drift=("login", "ui", "database", "ops"))
    [one] = steering.suggestions(app).split_candidates
    assert one["thread_id"] == id
    assert one["reason"] == "Thread drifted from 'login' to 'ops'"
    assert one["topics_to_split"] == ["ops", "database", "ui"]


def test_with_a_context_there_are_hints_of_what_nobody_was_shown(app: App):
    add(app, "Tokens", body="JWT tokens expire after an hour in the login service.", topics=("JWT tokens",))
    add(app, "Cookies", body="Login cookies are signed.", topics=("cookies",), frequency=3)
    [hint] = steering.suggestions(app, "login tokens").recall_hints
    assert hint == {
        "topic": "JWT tokens", "last_mentioned": "just now", "thread_count": 1, "command": "ai_recall('JWT tokens')",
    }  # fmt: skip
    assert steering.suggestions(app).recall_hints == ()


def test_suggestions_can_be_done_and_each_undone(app: App):
    a = add(app, "Deploys", STAGING, body=STAGING)
    b = add(app, "Deploying", AGAIN, body=AGAIN)
    talk = add(app, "talk", "The login form.", "The database.", drift=("login", "ui", "ops", "database"))
    before = states(app)
    told = steering.suggestions(app, apply=True)
    assert len(told.applied) == 2
    assert kept(app, a) == kept(app, b)
    assert len(said(app, talk)) == 1
    memories.undo(app)
    memories.undo(app)
    assert states(app) == before


def test_without_a_model_suggestions_go_on_and_say_so_and_compaction_refuses(app: App, monkeypatch: pytest.MonkeyPatch):
    add(app, "Deploys", body=STAGING)
    add(app, "Deploying", body=AGAIN)
    problem = ModelError("There is no model.", hint="Install it.")
    monkeypatch.setattr(App, "embedder", property(Mock(side_effect=problem)))
    assert "There is no model." in steering.suggestions(app).notes[0]
    with pytest.raises(ModelError):
        steering.compact(app)


def test_compaction_merges_archives_and_fades_in_one_change(app: App):
    a, b = add(app, "Deploys", STAGING, body=STAGING), add(app, "Deploying", AGAIN, body=AGAIN)
    old = add(app, "old", body="Something quite different.", days_old=20)
    other = add(app, "Bread", "z", body="Sourdough wants eleven hours in the cellar.")
    before, spoken = states(app), all_messages(app)
    told = steering.compact(app)
    assert [dict(action) for action in told.actions] == [
        {"action": "merge", "threads": [a, b], "similarity": told.actions[0].get("similarity")},
        {"action": "archive", "thread": old, "reason": "age"},
    ]
    assert told.before == {"active_threads": 3, "total_weight": 3.0}
    assert told.after == {"active_threads": 2, "total_weight": 1.8}
    assert told.summary == "Compaction complete. 3 → 2 active threads."
    assert kept(app, b).id == a
    assert kept(app, old).status is Status.ARCHIVED
    assert kept(app, other).weight == 0.9
    assert all_messages(app) == spoken
    assert steering.suggestions(app).health["active_threads"] == 2
    memories.undo(app)
    assert states(app) == before


def test_nothing_is_made_where_there_is_nothing(app: App):
    told = steering.suggestions(app, "anything")
    assert told.health == {
        "active_threads": 0, "context_pressure": 0.0, "recommendation": "Healthy state, no action needed",
    }  # fmt: skip
    assert steering.compact(app).summary == "Compaction complete. 0 → 0 active threads."
    assert not app.home.root.exists()


def test_a_merge_in_between_is_taken_into_account(app: App, monkeypatch: pytest.MonkeyPatch):
    """Another process merges the two while this one compares them."""
    a, b = add(app, "Deploys", STAGING, body=STAGING), add(app, "Deploying", AGAIN, body=AGAIN)
    close = steering._find_close
    monkeypatch.setattr(steering, "_find_close", lambda *given: (close(*given), memories.merge(app, b, a))[0])
    told = steering.compact(app)
    assert not [action for action in told.actions if action["action"] == "merge"]
    assert kept(app, a).id == b
