"""Age never hides: threads of one day to more than a year are asked for through every door, and found."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from recollect.app.core import App
from recollect.app.question_vector import fill_vectors
from recollect.base.clock import FixedClock
from recollect.lifecycle.compaction import Strategy
from recollect.mcp.server import BY_NAME, make_call
from recollect.model.memory import Memory, Status
from recollect.model.result import Found, Recalled, Scope
from recollect.ops import calls, health, memories, steering
from recollect.ops.recall import recall, search
from recollect.render.terminal import blocks
from tests.hooks.talk import Talk
from tests.ops.ask import keep, kept, set_to
from tests.ops.test_recall import as_object, text
from tests.ops.test_recall import shown as titles
from tests.values import NOW, note, rule, thread

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
         "since when are passwords hashed with argon2", "audit findings"),
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
    return f"### [{first['status'].upper()}] {first['title']}"


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
    wakes = question == "near" and case.status is not ACTIVE and door is not _by_search
    assert first.startswith(f"[{(ACTIVE if wakes else case.status).upper()}] Day {case.days}")
    assert ("-> Reactivated by this recall" in first) is wakes
    assert not wakes or kept(app, aged[case.days].id).last_active_at == NOW


def test_what_a_recall_woke_stays_awake_for_a_half_life_and_can_be_put_back_to_sleep_by_age(app: App):
    old = CASES[-1].memory
    keep(app, old)
    (woken,) = recall(app, (old.id,)).found.found
    assert (woken.hit.memory.status, woken.reactivated) == (ACTIVE, True)

    def status_after(days: float) -> Status:
        app.clock = FixedClock(NOW.plus(days=days))
        return memories.show(app, old.id).card.memory.status

    assert [status_after(days) for days in (0.01, 2.9, 3.1, 32.9, 33.1)] == [
        ACTIVE, ACTIVE, SUSPENDED, SUSPENDED, ARCHIVED,
    ]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.days} days")
def test_an_old_thread_comes_up_unasked_when_a_prompt_is_about_it(app: App, aged: dict[int, Memory], case: Case):
    assert aged[case.days].id in Talk(app).say(case.near).context


def test_sleeping_and_archived_threads_can_be_left_out_and_are_counted(app: App, aged: dict[int, Memory]):
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


# Ranking


def test_of_equal_matches_the_fresher_comes_first(app: App):
    said = "The nightly build runs on the small machine."
    keep(app, thread("Old", body=said, group="a", days_old=9), thread("New", body=said, group="b", days_old=2))
    assert titles(recall(app, ("nightly build on the small machine",))) == ["New", "Old"]


# What was put away on purpose


def _archived_by_a_person(app: App) -> None:
    for card in memories.threads(app).cards:
        memories.archive(app, (card.memory.id,))


def _archived_by_a_compaction(app: App) -> None:
    steering.compact(app, strategy=Strategy.NORMAL)


ZEPPELINS = ("The zeppelin hangar has two doors.", "The zeppelin crew lands before noon.")


@pytest.mark.parametrize("put_away", [_archived_by_a_person, _archived_by_a_compaction])
def test_what_was_put_away_on_purpose_stays_away_and_is_counted(app: App, put_away: Callable[[App], None]):
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
    virtual, tool = _by_virtual_read(app, "the zeppelin hangar"), _by_tool(app, "the zeppelin hangar")
    assert "2 archived memories also match: `recollect recall --archived`" in virtual
    assert "2 archived memories also match: archived=true" in tool
    assert "zeppelin" not in Talk(app).say("where do we land the zeppelin, and is the hangar open?").context


@pytest.mark.parametrize("ask", [recall, search])
def test_who_asks_for_what_was_put_away_gets_it_and_wakes_nothing(app: App, ask: Callable[..., Found | Recalled]):
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
    keep(app, note("Hangar", body="The zeppelin hangar is closed.", status=ARCHIVED), scope=Scope.USER)
    keep(app, rule("Waiting", body="A zeppelin needs two ropes.", status=Status.CANDIDATE))

    found = search(app, ("zeppelin",))

    assert titles(found) == []
    assert dict(found.left_out) == {ARCHIVED: 2, Status.CANDIDATE: 1}
    said = [getattr(block, "text", "") for block in blocks(found, now=NOW)]
    assert "1 candidate memory also matches: search --status candidate" in said


def test_only_what_the_limit_would_have_shown_is_counted(app: App):
    keep(app, *(thread(f"Away {n}", body=f"Zeppelin number {n} flies.", status=ARCHIVED) for n in range(9)))
    keep(app, thread("Hats", body="Hats are sold on Mondays."))
    assert dict(recall(app, ("zeppelin",), limit=3).found.left_out) == {ARCHIVED: 3}
    assert dict(recall(app, ("hats sold on Mondays",), limit=1).found.left_out) == {}


def test_lists_and_counts_show_what_age_has_done(app: App):
    old, awake = thread("old", days_old=20), thread("awake")
    keep(app, old, awake, rule("r", days_old=900), *(thread(f"gone {n}", days_old=90) for n in range(30)))

    def listed(status: Status) -> list[str]:
        return [card.memory.id for card in memories.threads(app, status=status, limit=2).cards]

    assert (listed(Status.ACTIVE), listed(Status.SUSPENDED), len(listed(Status.ARCHIVED))) == ([awake.id], [old.id], 2)
    counts = {row[:2]: row[2] for row in health.status(app).stores[0][2].by_kind_and_status}
    numbers = {("thread", "active"): 1, ("thread", "suspended"): 1, ("thread", "archived"): 30, ("rule", "active"): 1}
    assert counts == numbers


def test_a_thread_that_sleeps_by_age_can_be_restored_and_the_figures_of_age_are_settings(app: App):
    old, older = thread("old", days_old=20), thread("older", days_old=41)
    keep(app, old, older)

    memories.restore(app, (old.id,))

    assert memories.show(app, old.id).card.memory.status is Status.ACTIVE
    assert memories.show(app, older.id).card.memory.status is Status.ARCHIVED
    set_to(app, "MEMORY_ARCHIVE_AFTER_DAYS", "60")
    assert memories.show(app, older.id).card.memory.status is Status.SUSPENDED
