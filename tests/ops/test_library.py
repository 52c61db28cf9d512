"""Lists with filters, links, edits that expect a version, history as differences, and what is put away in bulk."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.app.core import App
from recollect.base.errors import BadInput, Conflict, NotFound
from recollect.jobs import vault_sync
from recollect.lifecycle.differences import differences
from recollect.lifecycle.strength import apply_age
from recollect.model.codec import encode
from recollect.model.memory import Condition, Kind, Lane, Rating, Status
from recollect.model.plan import Create
from recollect.model.query import Aged, Query
from recollect.model.result import Cards, Difference, Done, Scope
from recollect.ops import library, memories, notes, rules
from recollect.ops.forget import forget
from recollect.ops.library import links, listing
from recollect.ops.memories import delete, edit, link, log, merge, show, undo
from recollect.ops.notes import restore
from recollect.ops.purge import erase
from recollect.ops.recall import search, why
from recollect.ops.steering import Verdict, rate
from recollect.recall.selection import is_muted
from recollect.render import terminal
from recollect.render.blocks import Line
from recollect.store import SqliteStore, Tuning
from tests.ops.ask import add, keep, kept, pinned
from tests.ops.conftest import Opens
from tests.ops.test_vault_sync import put
from tests.values import AGE, NOW, act, note, plan, rule, thread

BAD = tuple(Rating(False, NOW) for _ in range(10))
HOUSE = (
    thread("fresh", topics=("Auth",), tags=("login",), group="s1"),
    thread("old", days_old=40, lane=Lane.AGENT),
    thread("tired", days_old=14),
    thread("pinned", days_old=200, pinned=True),
    thread("gone", days_old=1, status=Status.ARCHIVED),
    rule("rule", days_old=2),
    rule("useless", days_old=3, ratings=BAD),
    rule("maybe", days_old=4, status=Status.CANDIDATE),
    rule("before", days_old=5, status=Status.SUPERSEDED),
    note("note", days_old=6, lane=Lane.REPOSITORY),
)
THEIRS = rule("everywhere", days_old=2.5)


@pytest.fixture
def house(app: App) -> App:
    keep(app, *HOUSE)
    keep(app, THEIRS, scope=Scope.USER)
    return app


@pytest.mark.parametrize(
    ("filters", "titles"),
    [
        ({}, "fresh gone rule everywhere useless maybe before note tired old pinned"),
        ({"kind": Kind.RULE}, "rule everywhere useless maybe before"),
        ({"status": Condition.ACTIVE}, "fresh rule everywhere useless note pinned"),
        ({"status": Condition.WAITING}, "maybe"),
        ({"status": Condition.ASLEEP}, "tired old"),
        ({"status": Condition.ARCHIVED}, "gone"),
        ({"status": Condition.REPLACED}, "before"),
        ({"status": Condition.MUTED}, "useless"),
        ({"status": Condition.MUTED, "kind": Kind.THREAD}, ""),
        ({"scope": Scope.USER}, "everywhere"),
        ({"scope": Scope.PROJECT, "kind": Kind.RULE}, "rule useless maybe before"),
        ({"topic": "auth"}, "fresh"),
        ({"tag": "LOGIN"}, "fresh"),
        ({"group": "s1"}, "fresh"),
        ({"source": Lane.AGENT}, "old"),
        ({"since": "2026-01-30"}, "fresh gone rule"),
        ({"until": "2026-01-19", "since": "2026-01-01"}, "tired"),
        ({"limit": 2}, "fresh gone"),
        ({"limit": 3, "offset": 3}, "everywhere useless maybe"),
        ({"limit": 3, "offset": 9}, "old pinned"),
        ({"offset": 99}, ""),
        ({"offset": -5, "limit": 1}, "fresh"),
    ],
)
def test_a_list_shows_what_the_filters_let_through(
    house: App, filters: dict[str, object], titles: str
):
    found = listing(house, **filters)  # type: ignore[arg-type]
    assert [card.memory.title for card in found.cards] == titles.split()
    assert found.total == (
        len(found.cards) if filters.keys().isdisjoint({"limit", "offset"}) else 11
    )


@pytest.mark.parametrize("condition", list(Condition))
def test_a_search_knows_the_same_conditions(house: App, condition: Condition):
    words = ("about", *(one.title for one in (*HOUSE, THEIRS)))
    found = search(house, words, condition=condition, limit=50).found
    stands = {one.hit.memory.id: one.condition for one in found}
    listed = [card.memory.id for card in listing(house).cards if card.condition is condition]
    assert stands == dict.fromkeys(listed, condition)
    agents = [
        one.hit.memory.title for one in search(house, words, source=Lane.AGENT, limit=50).found
    ]
    assert agents == ["old"]


def test_of_very_many_the_rest_is_not_counted(app: App, monkeypatch: pytest.MonkeyPatch):
    keep(app, *(thread(f"t{n}") for n in range(30)))
    keep(app, rule("r"), scope=Scope.USER)
    monkeypatch.setattr(library, "_COUNTED", 10)
    cut, whole = listing(app, limit=5, offset=5), listing(app, limit=5, offset=28)
    assert (cut.of, cut.is_cut, len(cut.cards)) == ("more than 11", True, 5)
    assert (whole.of, len(whole.cards)) == ("31", 3)


@pytest.mark.parametrize(
    "topic", ['a "quoted" one', "back\\slash", "tab\tin", "Grüße", "日本語", "<b>", "100%", "a,b'c"]
)
def test_any_topic_can_be_asked_for(app: App, topic: str):
    keep(app, thread("this", topics=("x", topic)), thread("other", topics=(f"{topic}s",)))
    assert [card.memory.title for card in listing(app, topic=topic).cards] == ["this"]


def test_pages_of_two_stores_leave_nothing_out(app: App):
    mine = [thread(f"m{n}", days_old=n / 7) for n in range(40)]
    theirs = [rule(f"t{n}", days_old=n / 3 + 0.1) for n in range(13)]
    keep(app, *mine)
    keep(app, *theirs, scope=Scope.USER)
    pages = [listing(app, limit=7, offset=offset) for offset in range(0, 60, 7)]
    assert {page.total for page in pages} == {53}
    listed = [card.memory for page in pages for card in page.cards]
    assert listed == sorted([*mine, *theirs], key=lambda one: one.last_active_at, reverse=True)
    said = [block.text for block in terminal.blocks(pages[0], now=NOW) if isinstance(block, Line)]
    assert said == ["7 of 53; `--offset 7` goes on."]


@given(
    weight=st.floats(0, 1.5), days=st.floats(-1, 60), pinned=st.booleans(), kind=st.sampled_from([thread, rule]),
    status=st.sampled_from(list(Status)),
)  # fmt: skip
def test_the_store_ages_as_the_program_does(
    weight: float, days: float, pinned: bool, kind: Any, status: Status
):
    memory = kind("x", days_old=days, weight=weight, pinned=pinned, status=status)
    now = apply_age(memory, now=NOW, rules=AGE).status
    with closing(SqliteStore(None, Tuning())) as store:
        store.apply(plan(Create(memory)), act())
        for wanted in (*((one,) for one in Status), (Status.SUSPENDED, Status.ARCHIVED)):
            aged = Aged(wanted, NOW, AGE.half_life_days, AGE.suspend_below, AGE.archive_after_days)
            assert bool(store.order(Query(aged=aged))) == (now in wanted)


def test_cards_say_how_a_memory_stands_and_give_its_version(house: App):
    cards = {card.memory.title: card for card in listing(house).cards}
    stands = {"fresh": "active", "tired": "asleep", "old": "asleep", "gone": "archived", "maybe": "waiting",
              "before": "replaced", "useless": "muted", "pinned": "active"}  # fmt: skip
    assert {title: str(cards[title].condition) for title in stands} == stands
    version = cards["rule"].version
    assert encode(show(house, cards["rule"].memory.id))["version"] == version
    rate(house, cards["rule"].memory.id, Verdict.USEFUL)
    assert show(house, cards["rule"].memory.id).card.version == version, "a rating changes no words"


def test_an_edit_that_expects_other_words_is_refused_and_loses_nothing(app: App, open_app: Opens):
    id = pinned(app, "Deploy on Monday", topics=("ops",))
    seen, other = show(app, id).card.version, open_app()
    edit(other, id, body="Deploy on Tuesday")
    with pytest.raises(Conflict, match="Deploy on Tuesday") as refusal:
        edit(app, id, body="Deploy on Friday", expect=seen)
    now = show(app, id).card
    assert (now.memory.body, now.memory.title) == ("Deploy on Tuesday", "Deploy on Tuesday")
    assert now.version in refusal.value.hint
    assert edit(app, id, body="Deploy on Tuesday", expect=seen).change is None, "it says so already"
    assert edit(app, id, topics="ops,days", expect=now.version).change
    assert edit(other, id, title="When").change
    assert edit(app, id, body="Deploy daily").change
    assert kept(app, id).title == "When", "a title of its own stays"


def test_a_field_that_is_not_edited_stays_as_it_is_when_written(
    app: App, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    id, other = pinned(app, "one", title="Title"), open_app()
    commit = app.commit

    def late(*given: Any, **more: Any) -> Done:
        edit(other, id, body="two")
        return commit(*given, **more)

    monkeypatch.setattr(app, "commit", late)
    edit(app, id, title="Other")
    assert (kept(app, id).title, kept(app, id).body) == ("Other", "two")


def test_a_waiting_rule_is_edited_only_as_it_was_seen(app: App):
    waiting = rule("Use tabs", body="Use tabs", status=Status.CANDIDATE)
    keep(app, waiting)
    with pytest.raises(Conflict, match="Use tabs"):
        rules.edit(app, waiting.id, "Use spaces", expect="0" * 16)
    assert kept(app, waiting.id) == waiting
    (card,) = rules.list_inbox(app).cards
    rules.edit(app, waiting.id, "Use spaces", expect=card.version)
    assert (kept(app, waiting.id).body, kept(app, waiting.id).status) == (
        "Use spaces",
        Status.ACTIVE,
    )


def said(app: App, id: str, limit: int = 20) -> list[list[Difference]]:
    return [list(entry.differences) for _, entry in log(app, id, diff=True, limit=limit).entries]


def test_history_says_what_each_change_did(app: App):
    a, b = add(app, "Alpha", "first", "second"), add(app, "Beta", "third")
    edit(app, a, title="Alef", topics="x,y")
    edit(app, a, body="one\ntwo\nthree\nfour\nfive\nsix")
    edit(app, a, body="one\ntwo\n3\nfour\nfive\nsix")
    rate(app, a, Verdict.NOT_USEFUL, reason="outdated")
    link(app, a, b)
    memories.archive(app, (a,))
    merge(app, a, b)
    merged, archived, linked, rated, changed, _, titled, created = said(app, a)
    assert created == [Difference(a, "created with 2 messages")]
    assert titled == [Difference(a, "title", "Alpha", "Alef"), Difference(a, "topics", "", "x, y")]
    assert [one.lines for one in changed] == [(" one", " two", "-three", "+3", " four", " five")]
    assert rated == [Difference(a, "rated", after="not useful: outdated")]
    assert linked == [Difference(a, f"linked to {b} (EXTENDS)")]
    assert archived == [Difference(a, "status", "active", "archived")]
    assert {one.what for one in merged} >= {"text", f"1 message moved here from {b}", f"holds {b}"}
    lines = [
        block.text
        for block in terminal.blocks(log(app, a, diff=True), now=NOW)
        if isinstance(block, Line)
    ]
    assert {"    -three", "    +3", f"  {a[-6:]}  title: Alpha -> Alef"} <= set(lines)
    assert "differences" not in str(encode(log(app, a)))


def test_a_deleted_memory_can_be_read_in_its_history_until_it_is_purged(app: App):
    id = pinned(app, "The key is under the mat, " * 5)
    delete(app, (id,))
    (gone, _) = said(app, id)
    assert gone[0].what == "deleted with 1 message"
    assert gone[0].lines[0].startswith("-The key is under the mat")
    erase(app, (id,))
    assert all(not entry.differences for _, entry in log(app, diff=True).entries)


def test_a_long_text_is_shown_in_part():
    was = "\n".join(f"line {n}" for n in range(5_000))
    change = {
        "do": "update",
        "id": "x",
        "before": {"body": was, "weight": 1},
        "after": {"body": "new", "weight": 2},
    }
    (one,) = differences(change)
    assert (one.what, len(one.lines), one.lines[-1]) == ("text", 61, " …")


def test_a_compaction_is_read_for_one_memory_alone(app: App):
    many = [thread(f"t{n}", days_old=n) for n in range(200)]
    keep(app, *many)
    memories.archive(app, tuple(one.id for one in many))
    assert said(app, many[150].id, 1) == [
        [Difference(many[150].id, "status", "active", "archived")]
    ]
    assert len(log(app, diff=True, limit=1).entries[0][1].differences) == 100, "of all, the first"


def test_a_memory_shows_its_files_and_whether_they_changed(app: App):
    Path("app.py").write_text("a = 1\n")
    Path("same.py").write_text("b = 1\n")
    id = pinned(app, "See app.py and same.py for the start.")
    assert show(app, id).files == (("app.py", False), ("same.py", False))
    Path("app.py").write_text("a = 2\n")
    assert encode(show(app, id))["files"] == [
        {"path": "app.py", "changed": True},
        {"path": "same.py", "changed": False},
    ]
    assert "app.py (changed since)" in [one.text for one in terminal.blocks(show(app, id), now=NOW)]  # type: ignore[union-attr]


def test_a_note_shows_where_its_file_is(app: App):
    put(app.home.vault, "anna.md", "# Ask Anna\n\nBefore a deploy.\n")
    assert show(app, read_note(app, "anna")).file == str(app.home.vault / "anna.md")
    assert "file" not in encode(show(app, pinned(app, "x")))


def read_note(app: App, name: str) -> str:
    vault_sync.refresh(app, Scope.USER)
    return app.find(name)[1].id


def test_links_are_followed_to_a_depth_and_the_strongest_first(app: App):
    a, b, c, d = (pinned(app, text) for text in ("alpha", "beta", "gamma", "delta"))
    for source, target, weight in ((a, b, 0.9), (b, c, 0.5), (c, d, 0.5), (a, d, 0.1)):
        link(app, source, target, weight=weight)
    for filters, nodes, edges in (
        ({}, [a, b, d, c], 4), ({"depth": 1}, [a, b, d], 2), ({"limit": 2}, [a, b], 1), ({"depth": 99}, [a, b, d, c], 4)
    ):  # fmt: skip
        facts: Any = links(app, a, **filters).facts
        assert [node["id"] for node in facts["nodes"]] == nodes
        assert len(facts["edges"]) == edges
    assert links(app, a, depth=1).summary.startswith("alpha -> beta (EXTENDS, 0.90)")
    assert "has no links" in links(app, pinned(app, "alone")).summary


@pytest.mark.parametrize(
    "fields", [{}, {"pinned": True}, {"outcomes": 50 * "+"}, {"ratings": (Rating(True, NOW),) * 20}]
)
def test_never_mutes_at_once_whatever_follows(app: App, fields: dict[str, Any]):
    told = rule("Use tabs", **fields)
    keep(app, told)
    done = rate(app, told.id, Verdict.NEVER)
    assert "will not be shown again" in done.summary
    app.writer(Scope.PROJECT).use([told.id], lambda one: replace(one, outcomes=50 * "+"))
    assert is_muted(kept(app, told.id))
    assert [card.memory.id for card in listing(app, status=Condition.MUTED).cards] == [told.id]
    assert why(app, told.id).unwanted
    lines = [
        one.text for one in terminal.blocks(why(app, told.id), now=NOW) if isinstance(one, Line)
    ]
    assert any(line.startswith("You said never to show it again") for line in lines)
    restore(app, (told.id,))
    assert not is_muted(kept(app, told.id))
    assert said(app, told.id)[1] == [Difference(told.id, "rated", after="never to be shown again")]
    rate(app, told.id, Verdict.NEVER)
    undo(app)
    assert not is_muted(kept(app, told.id))


def test_an_older_rating_can_be_undone_beside_a_newer_kind(app: App):
    id = pinned(app, "x")
    first = rate(app, id, Verdict.USEFUL)
    assert encode(kept(app, id))["ratings"] == [
        {"useful": True, "timestamp": NOW.iso(), "reason": None}
    ]
    rate(app, id, Verdict.NEVER)
    undo(app)
    undo(app, first.change)
    assert kept(app, id).ratings == ()


def test_many_of_both_stores_and_of_all_kinds_are_put_away_as_one_change(app: App):
    put(app.home.vault, "anna.md", "# Ask Anna\n\nBefore a deploy.\n")
    file = read_note(app, "anna")
    mine, theirs, pinned_rule, gone = (
        thread("mine"),
        rule("theirs"),
        rule("held", pinned=True),
        rule("gone", status=Status.ARCHIVED),
    )
    keep(app, mine, pinned_rule, gone)
    keep(app, theirs, scope=Scope.USER)
    done = forget(app, (mine.id, theirs.id, file, pinned_rule.id, gone.id, "nobody"))
    assert isinstance(done, Done)
    assert set(done.plan.touched()) == {mine.id, theirs.id, file}
    assert [note.split(". ")[0] for note in done.notes] == [
        f"{pinned_rule.id} is pinned, so it is never archived", f"{gone.id} is already archived",
        "No memory is called 'nobody'",
    ]  # fmt: skip
    assert not (app.home.vault / "anna.md").exists()
    assert {kept(app, id).status for id in (mine.id, theirs.id, file)} == {Status.ARCHIVED}
    undone = undo(app)
    assert {kept(app, id).status for id in (mine.id, theirs.id, file)} == {Status.ACTIVE}
    assert (app.home.vault / "anna.md").exists()
    with pytest.raises(BadInput, match="was undone by"):
        undo(app, done.change)
    undo(app, undone.change)
    assert kept(app, theirs.id).status is kept(app, mine.id).status is Status.ARCHIVED


def test_many_are_deleted_as_far_as_they_can_be(app: App):
    put(app.home.vault, "anna.md", "# Ask Anna\n\nBefore a deploy.\n")
    file, mine, theirs = read_note(app, "anna"), thread("mine"), rule("theirs")
    keep(app, mine)
    keep(app, theirs, scope=Scope.USER)
    done = forget(app, (mine.id, file, theirs.id), delete=True)
    assert "edit its file instead" in done.notes[0]
    assert [card.memory.id for card in listing(app).cards] == [file]
    undo(app, done.change)  # type: ignore[union-attr]
    assert {card.memory.id for card in listing(app).cards} == {file, mine.id, theirs.id}
    with pytest.raises(NotFound, match="'nobody'"):
        forget(app, ("nobody", "noone"), delete=True)
    app.dry_run = True
    assert forget(app, (mine.id, theirs.id)).change is None  # type: ignore[union-attr]


def test_a_hit_has_what_a_list_row_has(app: App):
    keep(app, rule("Use tabs", body="Use tabs in Go", topics=("go",)))
    (hit,) = encode(search(app, ("tabs", "go")))["hits"]
    assert (hit["topics"], hit["last_active_at"], hit["rule_type"]) == (
        ["go"],
        NOW.iso(),
        "preference",
    )


@pytest.fixture
def all_conditions(app: App) -> App:
    """Every kind in every status, young and old; and one of each that is muted."""
    for make in (thread, rule, note):
        for status in Status:
            keep(app, *(make(f"{status}", status=status, days_old=days) for days in (0, 20, 90)))
        keep(app, make("unwanted", ratings=(Rating(False, NOW, None, never=True),)))
    keep(app, thread("pinned", pinned=True, days_old=90))
    return app


@pytest.mark.parametrize("kind", [None, *Kind])
@pytest.mark.parametrize("condition", [*Condition])
def test_a_list_of_one_condition_has_all_that_stand_so_and_nothing_else(
    all_conditions: App, kind: Kind | None, condition: Condition
):
    everything = library.listing(all_conditions, kind=kind, limit=200).cards
    listed = library.listing(all_conditions, kind=kind, status=condition, limit=200).cards
    expected = {one.memory.id for one in everything if one.condition is condition}
    assert expected <= {one.memory.id for one in listed}
    also = {Condition.MUTED} if condition is Condition.ACTIVE else set()
    assert {one.condition for one in listed} <= {condition, *also}, "what is muted is active, too"


@pytest.mark.parametrize("listing", [memories.threads, rules.listing, notes.listing])
@pytest.mark.parametrize("status", [*Status])
def test_a_list_of_one_status_has_nothing_of_another(
    all_conditions: App, listing: Callable[..., Cards], status: Status
):
    found = listing(all_conditions, status=status, limit=200).cards
    assert {one.memory.status for one in found} == {status}
