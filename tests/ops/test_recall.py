"""Recall, search and why through the operations, with the model that is shipped."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput, NotFound, UnknownId
from recollect.model.codec import encode
from recollect.model.memory import BridgeType, Kind, Status
from recollect.model.plan import Link, Plan
from recollect.model.query import Hit
from recollect.model.result import Found, Mark, Recalled, Scope
from recollect.ops import health, memories, steering, upkeep
from recollect.ops.purge import erase
from recollect.ops.recall import recall, search, why
from recollect.render.recall_text import recall_text
from tests.embed import folders
from tests.hooks.talk import Talk
from tests.ops.ask import holding, keep, kept, pinned, set_to, states
from tests.ops.conftest import Opens
from tests.values import NOW, act, bridge, note, rule, thread

COMPONENTS = {
    "match", "words", "cover", "near", "neighbours", "group", "length", "time", "strength", "relevance", "focus"
}  # fmt: skip
LOGIN = "OAuth login: users sign in with their Google account and get a session cookie."


def hits(answer: Found | Recalled) -> list[Hit]:
    found = answer.found if isinstance(answer, Recalled) else answer
    return [one.hit for one in found.found]


def shown(answer: Found | Recalled) -> list[str]:
    return [hit.memory.title for hit in hits(answer)]


def text(answer: Recalled) -> str:
    return recall_text(answer, now=NOW)


def as_object(answer: Found | Recalled) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(json.dumps(encode(answer)))
    return value


def part(hit: Hit, name: str) -> float:
    return dict(hit.components)[name]


def vectors(app: App) -> int:
    return app.reader(Scope.PROJECT).counts().vectors


@pytest.fixture
def office(app: App) -> App:
    """A few memories of different subjects, all active."""
    keep(
        app,
        thread("Google sign-in", body=LOGIN, topics=("auth",), group="monday"),
        thread(
            "Invoices",
            body="Invoices are rounded to whole cents before tax.",
            topics=("billing",),
            group="monday",
        ),
        thread("Cache", body="Redis evicts the oldest keys when memory is full.", days_old=3),
        rule("Use tabs", body="Indent with tabs, never with spaces.", days_old=20),
        note("Runbook", body="Restart the queue worker, then look at the dashboard.", days_old=40),
    )
    return app


def test_a_paraphrase_without_a_common_word_is_found_and_every_component_stands_with_its_hit(
    office: App,
):
    [first, *rest] = hits(recall(office, ("authentication",)))
    assert first.memory.title == "Google sign-in"
    assert part(first, "cover") == 0, "by its meaning, not by its words"
    assert part(first, "near") > 0.2
    for hit in (first, *rest):
        assert {name for name, _ in hit.components} == COMPONENTS
        assert all(np.isfinite(value) for _, value in hit.components)


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("redis", "Cache"),
        ("how are bills calculated", "Invoices"),
        ("indentation style", "Use tabs"),
        ("what to do when background jobs are stuck", "Runbook"),
        ("日本語", "Japanese"),
        ("табуляцию", "Russian"),
        ("sign every commit", "Everywhere"),
    ],
)
def test_words_and_meaning_find_every_kind_in_every_script_and_store(
    office: App, question: str, title: str
):
    keep(
        office,
        note("Japanese", body="設定は日本語です"),
        note("Russian", body="Мы используем табуляцию"),
    )
    keep(office, rule("Everywhere", body="Sign every commit."), scope=Scope.USER)
    assert shown(search(office, (question,)))[0] == title


def test_an_id_shows_that_memory_and_a_merged_one_what_it_became(office: App):
    a, b = pinned(office, "alpha"), pinned(office, "beta")
    memories.merge(office, a, b)
    for id in (a, b):
        answer = recall(office, (id,))
        assert [hit.memory.id for hit in hits(answer)] == [a]
        assert answer.found.how == "by id"
    with pytest.raises(UnknownId):
        recall(office, ("thread_20200101_000000_000000",))


def test_bridges_of_what_was_found_come_along_the_heaviest_first(app: App):
    ids = [pinned(app, f"Zeppelin number {name}.", title=name) for name in "abcdefgh"]
    for other in ids[1:]:
        memories.link(app, ids[0], other, type=BridgeType.EXTENDS)
    answer = recall(app, (ids[0],))
    assert (len(answer.bridges), answer.all_bridges) == (5, 7)
    weights = [bridge.weight for bridge, _, _ in answer.bridges]
    assert weights == sorted(weights, reverse=True)
    assert "## Related Bridges (5 of 7)\n\n- a -> b (EXTENDS, weight: " in text(answer)


@pytest.mark.parametrize("status", [Status.ARCHIVED, Status.SUPERSEDED, Status.CANDIDATE])
def test_a_bridge_tells_no_title_that_must_not_surface(app: App, status: Status):
    found, seen, unseen = thread("Zeppelin"), thread("Helium"), thread("Hydrogen", status=status)
    keep(app, found, seen, unseen)
    store = app.writer(Scope.PROJECT)
    store.apply(Plan((Link(bridge(found, seen)), Link(bridge(unseen, found, weight=0.9)))), act())
    answer = recall(app, ("zeppelin",), limit=1)
    assert "## Related Bridges (1 of 1)\n\n- Zeppelin -> Helium" in text(answer)
    assert "Hydrogen" not in text(answer) + json.dumps(as_object(answer))
    by_id = recall(app, (unseen.id,))
    assert [(source, target) for _, source, target in by_id.bridges] == [
        ("Hydrogen", "Zeppelin")
    ], "it was asked for"


def test_one_id_that_sleeps_in_both_stores_keeps_its_scope_and_wakes_in_each(app: App):
    ours = thread(
        "Zeppelin here", body="The zeppelin of this project flies on helium.", days_old=15
    )
    theirs = replace(
        ours, title="Zeppelin everywhere", body="Every zeppelin of the world flies on helium."
    )
    keep(app, ours)
    keep(app, theirs, scope=Scope.USER)
    found = recall(app, ("the zeppelin flies on helium",)).found.found
    expected = {("Zeppelin here", Scope.PROJECT, True), ("Zeppelin everywhere", Scope.USER, True)}
    assert {(one.hit.memory.title, one.scope, one.reactivated) for one in found} == expected
    for title, scope, _ in expected:
        awake = app.reader(scope).get(ours.id, follow=False)
        assert awake is not None
        assert (awake.title, awake.last_active_at) == (title, NOW)


# The time and the person that a question asks for


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ("what did we decide last week", "Of last week"),
        ("what did we decide before 2026-01-12", "Of December"),
        ("what did we decide on the release", ""),
    ],
)
def test_a_time_in_the_question_brings_up_the_memory_of_that_time(app: App, asked: str, first: str):
    for title, days in (("today", 0), ("last week", 9), ("December", 45)):  # today is a Sunday
        keep(
            app,
            note(f"Of {title}", body=f"We decided on the release, number {days}.", days_old=days),
        )
    answer = recall(app, (asked,))
    times = [part(hit, "time") for hit in hits(answer)]
    assert times[1:] == [0, 0]
    assert (shown(answer)[0], times[0] > 0) == (first, True) if first else times[0] == 0


def test_what_is_superseded_archived_or_in_the_inbox_neither_surfaces_nor_hides_the_live_one(
    app: App,
):
    statuses = (Status.SUPERSEDED, Status.ARCHIVED, Status.CANDIDATE)
    keep(
        app,
        *(thread(str(status), body=f"Zeppelin, {status}.", status=status) for status in statuses),
    )
    keep(
        app,
        *(
            thread(f"Z {i}", body=f"Zeppelin zeppelin {i}", status=Status.ARCHIVED)
            for i in range(420)
        ),
    )
    keep(
        app,
        thread("live", body="We settled on a zeppelin after a long talk about many other things."),
    )
    assert shown(recall(app, ("zeppelin",))) == ["live"]
    assert shown(search(app, ("zeppelin",))) == ["live"]
    assert set(shown(search(app, ("zeppelin",), include_inbox=True))) == {"live", "candidate"}


@pytest.mark.parametrize(
    ("filters", "titles"),
    [
        ({"kind": Kind.NOTE}, {"Runbook"}),
        ({"topic": "AUTH"}, {"Google sign-in"}),
        ({"group": "monday"}, {"Google sign-in", "Invoices"}),
        ({"since": "2026-01-10", "until": "2026-01-12"}, {"Use tabs"}),
        ({"scope": Scope.USER}, set()),
        ({"scope": Scope.PROJECT, "kind": Kind.RULE}, {"Use tabs"}),
    ],
)
def test_a_search_can_be_narrowed(office: App, filters: dict[str, Any], titles: set[str]):
    question = "google session cookie invoices redis keys tabs queue worker"
    assert set(shown(search(office, (question,), **filters))) == titles


NEAR = "users sign in with a Google account by OAuth login"


@pytest.fixture
def asleep(app: App) -> str:
    """A thread that has faded so far that it sleeps: 0.5 to the fifth of its weight."""
    sleeping = thread("Google sign-in", body=LOGIN, days_old=15)
    keep(app, sleeping)
    return sleeping.id


@pytest.mark.parametrize("by_id", [False, True])
def test_a_sleeping_thread_that_comes_near_wakes_once_and_that_can_be_undone(
    app: App, asleep: str, by_id: bool
):
    before = states(app)
    question = (asleep if by_id else NEAR,)
    answer, again = recall(app, question), recall(app, question)
    assert "### [SUSPENDED] Google sign-in" in text(answer)
    assert "Last active: 15 days ago" in text(answer)
    assert "-> Reactivated by this recall" in text(answer)
    assert [as_object(told)["hits"][0]["_reactivated"] for told in (answer, again)] == [True, False]
    assert "### [ACTIVE] Google sign-in" in text(again)
    awake = kept(app, asleep)
    assert (awake.status, awake.last_active_at) == (Status.ACTIVE, NOW)
    assert awake.weight == pytest.approx(0.5**5 + 0.1)
    woken = next(entry for _, entry in memories.log(app).entries)
    assert (woken.op, woken.actor) == ("recall", "user")
    memories.undo(app)
    assert states(app) == before


def test_what_is_searched_or_left_out_or_does_not_come_near_enough_sleeps_on(app: App, asleep: str):
    [searched] = hits(search(app, (NEAR,)))
    far = recall(app, ("authentication",))
    assert searched.memory.status is Status.SUSPENDED
    assert hits(far)[0].score <= 0.5
    assert not far.found.found[0].reactivated
    assert "### [SUSPENDED] Google sign-in" in text(far)
    assert hits(recall(app, ("OAuth login",), include_suspended=False)) == []
    assert kept(app, asleep).weight == 1.0


def test_why_tells_of_the_last_recall_of_one_and_of_a_memory_shown_or_left_out(office: App):
    assert why(office).recalls == ()
    first = recall(office, ("redis",)).found
    second = search(office, ("invoices tabs",), kind=Kind.THREAD)
    cache = first.found[0].hit
    tabs = next(
        memory.id for memory, _ in office.reader(Scope.PROJECT).each() if memory.kind is Kind.RULE
    )

    [last], [named] = why(office).recalls, why(office, first.id).recalls
    of_memory = why(office, cache.memory.id)

    assert (last["id"], last["query"]) == (second.id, "invoices tabs")
    assert {"id": tabs, "reason": "is a rule"} in last["dropped"]  # type: ignore[operator]
    assert (named["id"], named["query"]) == (first.id, "redis")
    logged: Any = named["hits"]
    assert logged[0]["id"] == of_memory.memory == cache.memory.id
    assert logged[0]["components"]["match"] == round(part(cache, "match"), 4)
    assert {recall["id"] for recall in of_memory.recalls} >= {first.id}
    with pytest.raises(NotFound, match="not part of any recall"):
        why(office, pinned(office, "Never asked for."))
    with pytest.raises(UnknownId):
        why(office, "thread_20200101_000000_000000")


def test_the_log_of_recalls_keeps_no_secret_and_nothing_of_a_purged_memory(
    app: App, tmp_path: Path
):
    id = pinned(app, "Deploys need a xylocarp.", title="Xylocarp")
    secret = "ghp_" + "a1B2" * 9
    search(app, ("deploy with", secret))
    recall(app, (f"what is {secret} for",))
    recall(app, ("deploys",))
    assert secret not in str(why(app).recalls)
    erase(app, (id,))
    app.close()
    assert [holding(tmp_path, word) for word in (secret, "Xylocarp", "xylocarp")] == [[], [], []]


def test_vectors_come_with_the_next_recall_whoever_wrote(open_app: Opens):
    app, other = open_app(), open_app()
    pinned(app, LOGIN)
    before = vectors(app)
    assert shown(recall(app, ("authentication",)))
    assert vectors(app) > before
    pinned(app, "Invoices are rounded to whole cents.", title="Invoices")
    assert "Invoices" in shown(recall(app, ("calculation of bills",))), (
        "in the same process, at once"
    )
    pinned(other, "The office cat is called Zorro.", title="Cat")
    assert shown(recall(app, ("what is the pet's name",)))[0] == "Cat", (
        "from another process, at once"
    )


def test_a_recall_makes_a_few_vectors_and_a_stopped_reindex_goes_on(app: App):
    keep(app, *(note(f"Note {i}", body=f"Zeppelin {i} flies.") for i in range(200)))
    found = search(app, ("zeppelin 99",))
    made = vectors(app)
    assert 0 < made < 80
    assert f"{200 - made} passages have no vector yet" in found.how
    assert "recollect reindex" in found.how
    assert shown(found)[0] == "Note 99", "found by its words"
    steps: list[tuple[float, float, str]] = []

    def stop(done: float, total: float, what: str = "") -> None:
        if vectors(app) > made:
            raise KeyboardInterrupt

    app.progress = stop
    with pytest.raises(KeyboardInterrupt):
        upkeep.reindex(app)
    left = 200 - vectors(app)
    app.progress = lambda done, total, what="": steps.append((done, total, what))

    assert 0 < left < 200 - made
    assert upkeep.reindex(app).facts["vectors"] == left
    assert vectors(app) == 200
    assert steps[-1] == (left, left, "vectors made")
    assert upkeep.reindex(app).facts["vectors"] == 0, "nothing is made twice"
    assert search(app, ("zeppelin",)).how == "words and vectors"
    assert upkeep.verify(app).clean


def test_without_its_model_words_answer_and_the_repair_is_named(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folders.shipped_without_weights(tmp_path / "shipped", monkeypatch)
    app._embedder = None
    keep(app, thread("Google sign-in", body=LOGIN, days_old=15))

    answer = recall(app, ("OAuth login users sign Google account session cookie",))
    told = upkeep.reindex(app)
    [check] = [check for check in health.doctor(app).checks if check.name == "model"]

    assert shown(answer) == ["Google sign-in"]
    assert answer.found.found[0].reactivated
    assert hits(answer)[0].score > 0.5, "what wakes a thread is the score that is shown"
    assert answer.found.how.startswith("words alone: The embedding model")
    assert text(answer).count("searched by words alone") == 1
    assert shown(search(app, ("authentication",))) == [], "its meaning is not known"
    assert vectors(app) == told.facts["vectors"] == 0
    assert "reinstall" in " ".join(told.notes)
    assert check.mark is not Mark.GOOD
    assert "reinstall" in check.repair


@pytest.mark.parametrize(
    "question", ["zeppelin " * 120_000, "z" * 1_000_000, bytes(range(256)).decode("latin-1")]
)
def test_a_very_long_or_odd_question_is_answered_and_not_repeated_at_length(
    office: App, question: str
):
    answer, found = recall(office, (question,)), search(office, (question,), explain=True)
    assert len(text(answer)) <= 8_000
    assert max(len(as_object(told)["query"]) for told in (answer, found)) <= 2_000
    assert len(str(why(office).recalls)) < 20_000


def test_an_empty_store_answers_with_nothing_and_makes_nothing_and_an_empty_question_is_refused(
    app: App,
):
    answer = recall(app, ("anything",))
    assert shown(answer) == []
    assert "## Matching Threads (0 found)" in text(answer)
    assert why(app).recalls == ()
    for question in ((), ("   ",), ("", "\n\t")):
        for ask in (recall, search):
            with pytest.raises(BadInput, match="empty"):
                ask(app, question)
    with pytest.raises(BadInput, match="at least 1"):
        recall(app, ("x",), limit=0)
    assert not app.home.root.exists()


def test_nothing_in_common_is_found_nothing_and_no_question_is_a_change(app: App):
    """Undo takes back what was done, not what was asked."""
    pinned(app, LOGIN)
    assert shown(search(app, ("qwxzv",))) == []
    assert search(app, ("qwxzv",)).how == "words and vectors", "searched, and found nothing"
    assert shown(recall(app, ("login",)))
    assert [entry.op for _, entry in memories.log(app).entries] == ["pin"]


# What answers a question, and what only comes nearest


@pytest.mark.parametrize(
    "nonsense",
    [
        "zzzzqqq",
        "quantum chromodynamics",
        "apple pie with cinnamon",
        "今天天气怎么样",
        "рецепт борща",
        "!!!",
    ],
)
@pytest.mark.parametrize("ask", [recall, search])
def test_nonsense_finds_nothing_and_the_nearest_is_named_as_no_match(
    office: App, ask: Callable[..., Found | Recalled], nonsense: str
):
    answer = ask(office, (nonsense,))
    assert hits(answer) == []
    data = as_object(answer)
    assert (data["matches"], data["hits"]) == (0, [])
    assert len(data.get("nearest", [])) <= 2
    if isinstance(answer, Recalled):
        assert "Nothing matches" in text(answer)
        assert "###" not in text(answer)


def test_where_nothing_answers_nothing_is_said_to_have_met_the_limit(app: App):
    for number in range(30):
        pinned(app, f"What we do about the order of part {number}", title=f"Part {number}")
    recall(app, ("what do we do about penguins",), limit=3)
    [last] = why(app).recalls
    assert last["hits"] == []
    assert "limit" not in repr(last)


def test_how_sure_an_answer_must_be_is_a_setting(office: App):
    assert shown(search(office, ("authentication",)))[0] == "Google sign-in"
    set_to(office, "MEMORY_ANSWER_FLOOR", "0.99")
    strict = search(office, ("authentication",))
    assert hits(strict) == []
    assert as_object(strict)["nearest"][0]["title"] == "Google sign-in"


def test_a_word_that_half_the_memories_have_is_still_found(app: App):
    keep(app, *(thread(f"Order {i}", body=f"The order service, part {i}.") for i in range(40)))
    assert len(hits(search(app, ("order",), limit=5))) == 5


def test_filters_need_no_words(office: App):
    assert shown(search(office, kind=Kind.RULE)) == ["Use tabs"]
    assert shown(search(office, topic="billing")) == ["Invoices"]
    with pytest.raises(BadInput):
        search(office)


@pytest.mark.parametrize(
    "asked",
    [
        "abc123",
        " abc123 ",
        "abc123+5",
        "thread_20250130_123456",
        "thread_20250130_123456_a\u2026",
        "#abc123",
        "abc123?",
        "(thread_20250130_123456_abc123).",
        "`abc123`",
    ],
)
def test_the_digits_that_lists_print_give_the_memory_whole(office: App, asked: str):
    hangar = thread("Hangar", body="The hangar has two doors, and the left one sticks.")
    hangar = replace(hangar, id="thread_20250130_123456_abc123")
    keep(office, hangar, note("Numbers", body="Build abc123 failed."))
    answer = recall(office, (asked,))
    assert answer.whole is not None
    assert answer.whole.card.memory.id == hangar.id
    assert "left one sticks" in text(answer)
    assert [hit.memory.id for hit in hits(search(office, (asked,)))] == [hangar.id]
    assert "left one sticks" in Talk(office).read(f".ai/recall/{asked}")


def test_digits_that_two_memories_end_in_list_both(app: App):
    ids = [f"thread_2025013{day}_123456_abc123" for day in (0, 1)]
    keep(app, *(replace(thread(f"Hangar {id[15]}"), id=id) for id in ids))
    assert {hit.memory.id for hit in hits(recall(app, ("abc123",)))} == set(ids)


def test_six_digits_that_are_no_memorys_are_words(office: App):
    keep(office, note("Numbers", body="Build 404404 failed on the linker."))
    assert shown(recall(office, ("404404",))) == ["Numbers"]


def test_a_recall_as_json_is_short_unless_all_of_it_is_asked_for(app: App):
    for number in range(12):
        keep(
            app,
            thread(f"Zeppelin {number}", body=f"Zeppelin {number} flies. " + "It is long. " * 90),
        )
    asked = ("zeppelin flies",)
    brief, full = as_object(recall(app, asked)), as_object(recall(app, asked, full=True))
    assert len(json.dumps(brief, indent=2, ensure_ascii=False)) <= 8_000
    assert brief["hits"][0]["passages"]
    assert brief["hits"][0]["relevance_score"] == 1.0
    assert "dropped" not in brief
    assert "components" not in brief["hits"][0]
    assert {"match", "near"} <= full["hits"][0]["components"].keys()
    assert full["dropped"]


# What strengthens


def weight(app: App, id: str) -> float:
    return memories.show(app, id).card.strength


def test_a_persons_recall_and_a_good_rating_strengthen_and_looking_does_not(app: App):
    used, other = thread("Google sign-in", body=LOGIN, days_old=6), thread("Cache", days_old=6)
    keep(app, used, other)
    before = weight(app, used.id)

    search(app, (NEAR,))
    memories.show(app, used.id)
    assert weight(app, used.id) == before
    recall(app, (NEAR,))
    recalled = weight(app, used.id)
    recall(app, (NEAR,))
    assert recalled == pytest.approx(before + 0.1) == weight(app, used.id), "once in five minutes"
    steering.rate(app, used.id, steering.Verdict.USEFUL)
    assert weight(app, used.id) == pytest.approx(before + 0.2)
    steering.rate(app, used.id, steering.Verdict.NOT_USEFUL)
    assert weight(app, used.id) == pytest.approx(before + 0.2)
    assert kept(app, other.id) == other
    assert kept(app, used.id).last_active_at == used.last_active_at


def test_what_focus_alone_lifts_does_not_wake(app: App):
    asleep = thread("Zeppelin", body="The hangar has two doors.", topics=("hangar",), days_old=15)
    keep(app, asleep, thread("Cache", body="Redis evicts the oldest keys when memory is full."))
    steering.focus(app, "hangar", weight=1.0)
    answer = recall(app, ("which keys does redis evict",))
    assert asleep.id in [hit.memory.id for hit in hits(answer)]
    assert kept(app, asleep.id) == asleep
