"""Focus, rating, suggestions and compaction; and age, which never hides: a thread of any age is found by every door."""

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import Mock

import pytest

from recollect.app import embedding
from recollect.app.core import App
from recollect.app.embedding import TimedQuestion, fill_vectors
from recollect.app.memory_search import load_focus
from recollect.base.clock import FixedClock
from recollect.base.errors import BadInput, ModelError
from recollect.mcp.server import BY_NAME, make_call
from recollect.model.memory import Memory, Rating, Status
from recollect.model.result import Found, Recalled, Scope
from recollect.ops import calls, health, memories, steering
from recollect.ops.hook_reply import sweep_old_answers
from recollect.ops.prompt_recall import search_unasked
from recollect.ops.recall import recall, search
from recollect.ops.steering import Verdict
from recollect.render.terminal import blocks
from recollect.wire import stub
from tests.hooks.talk import Talk
from tests.ops.ask import add, keep, kept, said, set_to, states
from tests.ops.conftest import Opens
from tests.ops.test_recall import as_object, text
from tests.ops.test_recall import shown as titles
from tests.values import NOW, note, rule, thread


def recalled(app: App, words: str) -> list[str]:
    found = recall(app, (words,), limit=5).found
    return [one.hit.memory.id for one in found.found]


def test_a_focus_is_confirmed_in_words_and_in_the_project(app: App):
    for name in ("login", "logout", "tokens"):
        add(app, name, topics=("authentication",))
    add(app, "bread", topics=("cellar",))
    told = steering.focus(app, "authentication")
    assert (
        told.summary == 'Focus set on "authentication" (weight=0.8). 3 threads will be prioritized.'
    )
    shown = json.loads(Path(".ai/focus.json").read_text(encoding="utf-8"))
    assert shown == {
        "active_focus": [{"topic": "authentication", "weight": 0.8, "set_at": NOW.iso()}],
        "last_updated": NOW.iso(),
    }


def test_what_is_in_focus_comes_whatever_the_question_or_the_prompt_says(app: App):
    login = add(
        app, "The session cookie", body="It expires at midnight.", topics=("authentication",)
    )
    bread = add(app, "Sourdough", body="Sourdough wants eleven hours in the cellar.")
    assert login not in recalled(app, "sourdough in the cellar")
    steering.focus(app, "authentication", weight=1)
    assert set(recalled(app, "sourdough in the cellar")) == {login, bread}
    prompt = TimedQuestion(app, "paint the fence", time.monotonic() + 60)
    assert [hit.memory.id for hit in search_unasked(app, prompt, seen=set(), limit=5).hits] == [
        login
    ]


@pytest.mark.parametrize(("given_weight", "held"), [(7, 1), (-2, 0), (0.4, 0.4), (float("inf"), 1)])
def test_a_weight_out_of_range_is_clamped_and_that_is_said(
    app: App, given_weight: float, held: float
):
    told = steering.focus(app, "x", weight=given_weight)
    assert told.facts["weight"] == held
    assert bool(told.notes) == (given_weight != held)


def test_a_focus_is_replaced_by_the_same_topic_and_cleared_by_name_or_all_at_once(
    app: App, open_app: Opens
):
    for topic in ("a", "B", "c"):
        steering.focus(app, topic, weight=0.2)
    steering.focus(app, "b", weight=0.9)
    steering.focus(open_app(dry_run=True), "d")
    assert [(point.topic, point.weight) for point in load_focus(app)] == [
        ("a", 0.2),
        ("c", 0.2),
        ("b", 0.9),
    ]
    assert steering.unfocus(app, "B").summary == 'Focus on "B" cleared.'
    with pytest.raises(BadInput) as refused:
        steering.unfocus(app, "b")
    assert '"a", "c"' in refused.value.hint
    assert (
        steering.unfocus(app).summary
        == "All focus cleared. Returning to similarity-based injection."
    )
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
    assert kept(app, id).ratings == (
        Rating(False, NOW, "it was redesigned"),
        Rating(True, NOW, None),
    )
    memories.undo(app)
    assert len(kept(app, id).ratings) == 1


def test_after_two_bad_ratings_a_thread_sinks_and_can_return(app: App):
    assert isinstance(app.clock, FixedClock)
    bad = add(
        app, "Deploys go through staging", body="Deploys go through the staging cluster first."
    )
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
        question(app, "what no other test asks").vector()


def test_not_all_of_a_long_question_is_embedded_nothing_in_a_hurry_and_the_same_once(
    app: App, monkeypatch: pytest.MonkeyPatch
):
    embed_one = Mock(wraps=app.embedder.embed_one)
    monkeypatch.setattr(app.embedder, "embed_one", embed_one)
    hurried = question(app, "staging deploys", embedding.VECTORS_NEED_S - 0.01)
    assert hurried.vector() is None
    assert hurried.how == "words alone: too little time was left for vectors"
    long = "at the beginning " + "x = 1\n" * 200_000 + " at the end"
    first, again = (question(app, long).vector() for _ in range(2))
    assert (first is not None, first) == (True, again)
    ((asked, tokens),) = [call.args for call in embed_one.call_args_list]
    assert (asked[:16], asked[-10:], tokens) == (
        "at the beginning",
        "at the end",
        embedding.MAX_TOKENS,
    )
    assert len(asked) < 5_000


@pytest.mark.parametrize(
    ("days", "stays"), [(-0.9, True), (0.9, True), (-1.1, False), (1.1, False), (3_650, False)]
)
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
    assert one["command"] == f'ai_merge(a="{one["thread_a"]}", b="{one["thread_b"]}")'
    assert told.totals == {"merge_candidates": 1, "split_candidates": 0}
    assert (told.health["active_threads"], told.health["context_pressure"]) == (3, 0.3)


def test_a_thread_that_drifted_is_suggested_to_be_split(app: App):
    id = add(
        app, "talk", "The login form.", "The database.", drift=("login", "ui", "database", "ops")
    )
    [one] = steering.suggestions(app).split_candidates
    assert one["thread_id"] == id
    assert one["reason"] == "Thread drifted from 'login' to 'ops'"
    assert one["topics_to_split"] == ["ops", "database", "ui"]


def test_with_a_context_there_are_hints_of_what_nobody_was_shown(app: App):
    add(
        app,
        "Tokens",
        body="JWT tokens expire after an hour in the login service.",
        topics=("JWT tokens",),
    )
    add(app, "Cookies", body="Login cookies are signed.", topics=("cookies",), frequency=3)
    assert steering.suggestions(app, "apple pie with cinnamon").recall_hints == ()
    [hint] = steering.suggestions(app, "login tokens").recall_hints
    assert hint == {
        "topic": "JWT tokens",
        "last_mentioned": "just now",
        "thread_count": 1,
        "command": 'ai_recall(query="JWT tokens")',
    }
    assert steering.suggestions(app).recall_hints == ()


def test_a_thread_of_a_session_is_hinted_at_until_it_was_recalled(app: App):
    turns = add(
        app, "Tokens", body="JWT tokens expire after an hour.", topics=("jwt",), activations=4
    )
    [hint] = steering.suggestions(app, "how long do tokens live").recall_hints
    assert hint["topic"] == "jwt"
    _by_tool(app, turns)
    assert steering.suggestions(app, "how long do tokens live").recall_hints == ()


def test_suggestions_can_be_done_and_each_undone(app: App):
    a = add(app, "Deploys", STAGING, body=STAGING)
    b = add(app, "Deploying", AGAIN, body=AGAIN)
    talk = add(
        app, "talk", "The login form.", "The database.", drift=("login", "ui", "ops", "database")
    )
    before = states(app)
    told = steering.suggestions(app, apply=True)
    assert len(told.applied) == 2
    assert kept(app, a) == kept(app, b)
    assert len(said(app, talk)) == 1
    memories.undo(app)
    memories.undo(app)
    assert states(app) == before


def test_without_a_model_suggestions_go_on_and_say_so_and_compaction_refuses(
    app: App, monkeypatch: pytest.MonkeyPatch
):
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
    monkeypatch.setattr(
        steering, "_find_close", lambda *given: (close(*given), memories.merge(app, b, a))[0]
    )
    told = steering.compact(app)
    assert not [action for action in told.actions if action["action"] == "merge"]
    assert kept(app, a).id == b


ACTIVE, SUSPENDED, ARCHIVED = Status.ACTIVE, Status.SUSPENDED, Status.ARCHIVED


@dataclass(frozen=True)
class Case:
    days: int
    status: Status
    said: str
    near: str  # a question that comes nearer than 0.5, so that whoever sleeps wakes
    far: str  # one that does not

    @property
    def memory(self) -> Memory:
        return thread(f"Day {self.days}", body=self.said, days_old=self.days)


CASES = [
    Case(1, ACTIVE, "The invoice export writes amounts with a decimal comma for the German office.",
         "how does the invoice export write amounts for the German office", "bookkeeping abroad"),
    Case(14, SUSPENDED, "Passwords are hashed with argon2 since the security audit.",
         "since when are passwords hashed with argon2", "security findings"),
    Case(40, ARCHIVED, "The search index is rebuilt every night at two.",
         "when is the search index rebuilt at night", "nightly job"),
    Case(180, ARCHIVED, "Log lines are sampled one in ten on the edge proxies.",
         "how are log lines sampled on the edge proxies", "sampling"),
    Case(400, ARCHIVED, "The first schema had UUID keys, which made the joins slow.",
         "why did UUID keys in the first schema make the joins slow", "UUID"),
]  # fmt: skip


def _by_recall(app: App, asked: str) -> str:
    return text(recall(app, (asked,)))


def _by_search(app: App, asked: str) -> str:
    (first, *_) = as_object(search(app, (asked,)))["hits"]
    return f"### [{first['status'].upper()}] {first['title']}\nMatch score: {first['score']:.2f}"


def _by_virtual_read(app: App, asked: str) -> str:
    return Talk(app).read(f".ai/recall/{asked}")


def _by_tool(app: App, asked: str) -> str:
    asked_for = make_call(BY_NAME["ai_recall"], {"query": asked})
    call = calls.parse_call(json.dumps({**asked_for, "for": "agent"}).encode())
    return str(json.loads(calls.run_call(app, call))["text"])


@pytest.fixture
def aged(app: App) -> dict[int, Memory]:
    """One thread of each age, all with their vectors."""
    found = {case.days: case.memory for case in CASES}
    keep(app, *found.values())
    fill_vectors(app.writer(Scope.PROJECT), app.embedder, 100)  # a hook waits for none
    return found


@pytest.mark.parametrize("door", [_by_recall, _by_search, _by_virtual_read, _by_tool])
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.days} days")
@pytest.mark.parametrize("question", ["near", "far"])
def test_a_thread_of_any_age_is_found_and_a_near_match_wakes_it(
    app: App, aged: dict[int, Memory], case: Case, door: Callable[[App, str], str], question: str
):
    first = door(app, getattr(case, question)).partition("### ")[2].partition("### ")[0]
    assert first.startswith(f"[{case.status.upper()}] Day {case.days}"), "as it was before"
    score = float(first.partition("Match score: ")[2].split()[0])
    assert score > 0.5 or question == "far"
    wakes = score > 0.5 and case.status is not ACTIVE and door is not _by_search
    assert ("-> Reactivated by this recall" in first) is wakes
    after = kept(app, aged[case.days].id)
    assert (after.last_active_at == NOW) is wakes
    is_stronger = wakes or (case.status is ACTIVE and door is _by_recall and score > 0.5)
    assert (after.reinforced_at == NOW) is is_stronger, "a person asked, and it answered"


def test_what_a_recall_woke_stays_awake_for_a_half_life_and_can_be_put_back_to_sleep_by_age(
    app: App,
):
    old = CASES[-1].memory
    keep(app, old)
    (woken,) = recall(app, (old.id,)).found.found
    assert (woken.hit.memory.status, woken.reactivated) == (ARCHIVED, True)

    def status_after(days: float) -> Status:
        app.clock = FixedClock(NOW.plus(days=days))
        return memories.show(app, old.id).card.memory.status

    assert [status_after(days) for days in (0.01, 2.9, 3.1, 32.9, 33.1)] == [
        ACTIVE, ACTIVE, SUSPENDED, SUSPENDED, ARCHIVED,
    ]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.days} days")
def test_an_old_thread_comes_up_unasked_when_a_prompt_is_about_it(
    app: App, aged: dict[int, Memory], case: Case
):
    assert aged[case.days].id in Talk(app).say(case.near).context


def test_sleeping_and_archived_threads_can_be_left_out_and_are_counted(
    app: App, aged: dict[int, Memory]
):
    for case in CASES[1], CASES[2]:
        answer = recall(app, (case.near,), include_suspended=False, limit=1)
        assert case.memory.title not in {one.hit.memory.title for one in answer.found.found}
        assert dict(answer.found.left_out) == {case.status: 1}
        assert as_object(answer)["left_out"] == {str(case.status): 1}


def test_a_search_can_ask_for_one_status(app: App, aged: dict[int, Memory]):
    asked = (" ".join(case.said for case in CASES),)
    for status in (ACTIVE, SUSPENDED, ARCHIVED):
        found = {one.hit.memory.title for one in search(app, asked, status=status, limit=20).found}
        assert found == {case.memory.title for case in CASES if case.status is status}


def test_of_equal_matches_the_fresher_comes_first(app: App):
    said = "The nightly build runs on the small machine."
    keep(
        app,
        thread("Old", body=said, group="a", days_old=9),
        thread("New", body=said, group="b", days_old=2),
    )
    assert titles(recall(app, ("nightly build on the small machine",))) == ["New", "Old"]


def _archived_by_a_person(app: App) -> None:
    for card in memories.threads(app).cards:
        memories.archive(app, (card.memory.id,))


ZEPPELINS = ("The zeppelin hangar has two doors.", "The zeppelin crew lands before noon.")


@pytest.mark.parametrize("put_away", [_archived_by_a_person, steering.compact])
def test_what_was_put_away_on_purpose_stays_away_and_is_counted(
    app: App, put_away: Callable[[App], object]
):
    keep(app, *(thread(said[:14], body=said, days_old=200) for said in ZEPPELINS))
    put_away(app)
    keep(app, thread("Airships", body="Airships and balloons are listed in the same table."))
    answer = recall(app, ("the zeppelin hangar and the zeppelin crew",))
    found = search(app, ("zeppelin",))
    line = "2 archived memories also match: --archived"
    assert titles(answer) == ["Airships"]
    assert line in text(answer).splitlines()
    assert line in [getattr(block, "text", "") for block in blocks(found, now=NOW)]
    assert as_object(found)["left_out"] == {"archived": 2}
    virtual, tool = (
        _by_virtual_read(app, "the zeppelin hangar"),
        _by_tool(app, "the zeppelin hangar"),
    )
    assert "2 archived memories also match: `recollect recall --archived`" in virtual
    assert "2 archived memories also match: archived=true" in tool
    assert (
        "zeppelin"
        not in Talk(app).say("where do we land the zeppelin, and is the hangar open?").context
    )


@pytest.mark.parametrize("ask", [recall, search])
def test_who_asks_for_what_was_put_away_gets_it_and_wakes_nothing(
    app: App, ask: Callable[..., Found | Recalled]
):
    keep(app, *(thread(said[:14], body=said) for said in ZEPPELINS))
    _archived_by_a_person(app)
    answer = ask(app, ("the zeppelin hangar has two doors",), archived=True)
    assert set(titles(answer)) == {"The zeppelin h", "The zeppelin c"}
    assert as_object(answer)["left_out"] == {}
    hits = as_object(answer)["hits"]
    assert {hit["status"] for hit in hits} == {"archived"}
    assert not any(hit["_reactivated"] for hit in hits)
    assert {card.memory.status for card in memories.threads(app).cards} == {ARCHIVED}


def test_rules_and_notes_that_were_archived_are_counted_too(app: App):
    keep(app, rule("No smoking", body="Nobody smokes near the zeppelin.", status=ARCHIVED))
    keep(
        app,
        note("Hangar", body="The zeppelin hangar is closed.", status=ARCHIVED),
        scope=Scope.USER,
    )
    keep(app, rule("Waiting", body="A zeppelin needs two ropes.", status=Status.CANDIDATE))
    found = search(app, ("zeppelin",))
    assert titles(found) == []
    assert dict(found.left_out) == {ARCHIVED: 2, Status.CANDIDATE: 1}
    said = [getattr(block, "text", "") for block in blocks(found, now=NOW)]
    assert "1 candidate memory also matches: `recollect inbox`" in said


@pytest.mark.parametrize("door", [_by_virtual_read, _by_tool])
def test_an_agent_is_told_of_no_option_that_it_does_not_have(
    app: App, door: Callable[[App, str], str]
):
    keep(app, rule("Waiting", body="A zeppelin needs two ropes.", status=Status.CANDIDATE))
    keep(app, rule("Replaced", body="A zeppelin needs one rope.", status=Status.SUPERSEDED))
    told = door(app, "zeppelin")
    assert "1 candidate memory also matches: it waits in the inbox until the person decides" in told
    assert "1 superseded memory also matches: a newer one replaces it" in told
    assert "--status" not in told


def test_an_agent_is_told_the_path_of_the_program_where_it_stands(app: App):
    keep(app, thread("Zeppelin", body="The zeppelin flies.", status=ARCHIVED))
    assert "`recollect recall --archived`" in _by_virtual_read(app, "zeppelin")
    stub.write_hook(str(app.home.root), sys.executable)
    path = f"{app.home.root}/bin/recollect"
    assert os.access(path, os.X_OK)
    assert f"`{path} recall --archived`" in _by_virtual_read(app, "zeppelin")


def test_only_what_the_limit_would_have_shown_is_counted(app: App):
    keep(
        app,
        *(
            thread(f"Away {n}", body=f"Zeppelin number {n} flies.", status=ARCHIVED)
            for n in range(9)
        ),
    )
    keep(app, thread("Hats", body="Hats are sold on Mondays."))
    assert dict(recall(app, ("zeppelin",), limit=3).found.left_out) == {ARCHIVED: 3}
    assert dict(recall(app, ("hats sold on Mondays",), limit=1).found.left_out) == {}


def test_lists_and_counts_show_what_age_has_done(app: App):
    old, awake = thread("old", days_old=20), thread("awake")
    keep(
        app,
        old,
        awake,
        rule("r", days_old=900),
        *(thread(f"gone {n}", days_old=90) for n in range(30)),
    )

    def listed(status: Status) -> list[str]:
        return [card.memory.id for card in memories.threads(app, status=status, limit=2).cards]

    assert (listed(Status.ACTIVE), listed(Status.SUSPENDED), len(listed(Status.ARCHIVED))) == (
        [awake.id],
        [old.id],
        2,
    )
    counts = {row[:2]: row[2] for row in health.status(app).stores[0][2].by_kind_and_status}
    numbers = {
        ("thread", "active"): 1,
        ("thread", "suspended"): 1,
        ("thread", "archived"): 30,
        ("rule", "active"): 1,
    }
    assert counts == numbers


def test_a_thread_that_sleeps_by_age_can_be_restored_and_the_figures_of_age_are_settings(app: App):
    old, older = thread("old", days_old=20), thread("older", days_old=41)
    keep(app, old, older)
    memories.restore(app, (old.id,))
    assert memories.show(app, old.id).card.memory.status is Status.ACTIVE
    assert memories.show(app, older.id).card.memory.status is Status.ARCHIVED
    set_to(app, "MEMORY_ARCHIVE_AFTER_DAYS", "60")
    assert memories.show(app, older.id).card.memory.status is Status.SUSPENDED
