from __future__ import annotations

import pytest

from recollect.app.core import App
from recollect.base.errors import ModelError
from recollect.embed.embedder import Embedder
from recollect.model.memory import Status
from recollect.ops import memories, steering
from tests.ops.ask import add, kept, said, states

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
    assert isinstance(one["similarity"], float)
    assert one["similarity"] > 0.85
    assert one["reason"] == "Both about deploy"
    assert one["command"] == f"ai_merge('{one['thread_a']}', '{one['thread_b']}')"
    assert told.totals == {"merge_candidates": 1, "split_candidates": 0}
    assert told.health["active_threads"] == 3
    assert told.health["context_pressure"] == 0.3


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

    def none(_app: App) -> Embedder:
        raise ModelError("There is no model.", hint="Install it.")

    monkeypatch.setattr(App, "embedder", property(none))

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

    def meanwhile(*args: object) -> object:
        found = close(*args)  # type: ignore[arg-type]
        memories.merge(app, b, a)
        return found

    monkeypatch.setattr(steering, "_find_close", meanwhile)

    told = steering.compact(app)

    assert not [action for action in told.actions if action["action"] == "merge"]
    assert kept(app, a).id == b
