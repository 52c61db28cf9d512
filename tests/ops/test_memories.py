"""Memories of any kind and the journal, through the operations; rules and the inbox."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.app import core, lookup, rule_keeping
from recollect.app.core import MAX_TITLE_CHARS, MAX_TOPICS, App
from recollect.base.errors import BadInput, Conflict, NotFound, UnknownId
from recollect.base.structs import replace
from recollect.base.text import NUL_SYMBOL, REPLACEMENT
from recollect.model.memory import BridgeType, Lane, Rule, RuleType, Status, Thread
from recollect.model.plan import Create
from recollect.model.result import Done, Scope
from recollect.model.session import EventName
from recollect.ops import memories, notes, past_sessions, recall, rules, transfer, upkeep
from recollect.ops.memories import (
    archive,
    delete,
    edit,
    link,
    log,
    merge,
    restore,
    show,
    split,
    threads,
    undo,
)
from recollect.ops.purge import erase
from recollect.ops.recall import search
from tests.cli.run import run
from tests.hooks.talk import Talk
from tests.jobs.test_lessons import session
from tests.ops.ask import holding, keep, kept, made, pinned, said, states, titles
from tests.ops.conftest import Opens
from tests.ops.test_vault_sync import put
from tests.ops.transcript import Transcript
from tests.values import NOW, act, messages, plan, thread

NOBODY = "thread_20200101_000000_000000"


def listed(app: App, **filters: object) -> list[str]:
    return [card.memory.title for card in threads(app, **filters).cards]  # type: ignore[arg-type]


def after(app: App, *, days: float) -> None:
    app.clock.at = NOW.plus(days=days)  # type: ignore[attr-defined]


def test_a_pin_is_kept_as_the_spec_says(app: App, open_app: Opens):
    done = memories.pin(
        app, "Deploys go through staging first.", topics=(" deploy ", "ops", "deploy", "")
    )
    pin = kept(app, made(done))
    assert done.summary == f"Pinned as {pin.id} (weight=1.30)"
    assert isinstance(pin, Thread)
    assert (pin.weight, pin.boost, pin.pinned) == (1.3, 0.3, True)
    assert (pin.tags, pin.origin, pin.topics) == (("pinned",), "agent_pin", ("deploy", "ops"))
    assert (pin.status, pin.lane, pin.group) == (Status.ACTIVE, Lane.USER, "")
    assert pin.created_at == pin.reinforced_at == pin.last_active_at == NOW
    assert [m.content for m in said(app, pin.id)] == ["Deploys go through staging first."]
    after(app, days=300)
    assert show(app, pin.id).card.strength == 1.3, "a pin does not fade"
    agent = open_app(actor="agent")
    assert kept(agent, pinned(agent, "x")).lane is Lane.AGENT


@pytest.mark.parametrize(
    ("boost", "weight"), [(-1, 1.0), (0.2, 1.2), (9, 1.5), (math.inf, 1.5), (-math.inf, 1.0)]
)
def test_the_boost_is_clamped(app: App, boost: float, weight: float):
    done = memories.pin(app, "x", boost=boost)
    assert kept(app, made(done)).weight == weight
    assert f"(weight={weight:.2f})" in done.summary


@pytest.mark.parametrize(
    ("text", "kept_text", "title"),
    [
        ("  leading and trailing  \n\n", None, "leading and trailing"),
        ("tabs\tand\r\nwindows lines\r\n", None, "tabs and"),
        ("\u202eright to left\u202c \x1b[31mred\x1b[0m", None, None),
        ("## Release checklist\n\n```\ncode  with   spaces\n```\n", None, "Release checklist"),
        ("\n\n  - first   point\n- second", None, "first point"),
        ("word " * 40, None, "word word word word word word word word word word word word…"),
        ("a\x00b\ud800c", f"a{NUL_SYMBOL}b{REPLACEMENT}c", None),  # what no database can hold
    ],
)
def test_a_pin_is_word_for_word_and_titled(
    app: App, text: str, kept_text: str | None, title: str | None
):
    pin = kept(app, pinned(app, text))
    assert pin.body == (kept_text or text)
    assert title in (None, pin.title)


@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        ("", {}, "nothing to pin"),
        ("\n\t \u3000", {}, "nothing to pin"),
        ("x", {"boost": math.nan}, "not a number"),
        ("x", {"title": "t" * (MAX_TITLE_CHARS + 1)}, "at most 200"),
        ("x", {"topics": ("t" * 81,)}, "at most 80"),
        ("x", {"topics": tuple(map(str, range(MAX_TOPICS + 1)))}, "at most 50"),
    ],
)
def test_what_cannot_be_pinned(app: App, text: str, options: dict[str, object], problem: str):
    with pytest.raises(BadInput, match=problem):
        memories.pin(app, text, **options)  # type: ignore[arg-type]


def test_many_are_archived_and_restored_as_one_change(app: App):
    ids = tuple(pinned(app, text) for text in "abc")
    assert archive(app, ids).summary == "Archived 3 memories."
    assert titles(app, "a") == set()
    assert set(listed(app, status=Status.ARCHIVED)) == {"a", "b", "c"}
    assert archive(app, ids[:1]).change is None, "it is archived already"
    assert restore(app, ids[:1]).summary == f"Restored {ids[0]}."
    assert listed(app, status=Status.ACTIVE) == ["a"]
    assert archive(app, (*ids, ids[0])).plan.touched() == ids[:1]
    assert len(log(app).entries) == 6


def test_a_deleted_memory_is_gone_with_its_bridges_and_other_ids_until_undone(app: App):
    a, b, c, d = (pinned(app, text) for text in ("alpha", "beta", "gamma", "delta"))
    link(app, a, b)
    link(app, b, c)
    merge(app, a, d)
    before = states(app)
    delete(app, (d, b))
    assert titles(app, "alpha beta gamma delta") == {"gamma"}
    assert show(app, c).bridges == ()
    for id in (a, b):
        with pytest.raises(UnknownId):
            show(app, id)
    undo(app)
    assert states(app) == before


def test_what_is_too_long_to_be_a_name_is_not_searched_for_and_not_repeated(
    app: App, monkeypatch: pytest.MonkeyPatch
):
    pinned(app, "a")
    monkeypatch.setattr(lookup, "find_like", lambda *_: pytest.fail("it was searched for"))
    with pytest.raises(UnknownId) as problem:
        show(app, "部署港口" * 250_000)
    assert len(problem.value.message) < 200


@pytest.mark.parametrize("put", [archive, restore, delete])
def test_nothing_is_done_when_one_of_many_is_unknown(
    app: App, put: Callable[[App, tuple[str, ...]], Done]
):
    a, everywhere = pinned(app, "a"), pinned(app, "b", user=True)
    before = states(app)
    with pytest.raises(UnknownId):
        put(app, (a, NOBODY))
    with pytest.raises(BadInput, match="some in yours"):
        put(app, (a, everywhere))
    assert states(app) == before


def test_edit_changes_what_is_given_and_no_more(app: App):
    id = pinned(app, "Old words.", title="Title", topics=("a",))
    before = states(app)
    assert edit(app, id, body="Old words.").change is None
    edit(app, id, body="New words.\n")
    assert (kept(app, id).title, kept(app, id).body, kept(app, id).topics) == (
        "Title",
        "New words.\n",
        ("a",),
    )
    edit(app, id, title=" New \n title ", topics="b, c,,b")
    assert (kept(app, id).title, kept(app, id).topics) == ("New title", ("b", "c"))
    assert titles(app, "new") == {"New title"}
    assert titles(app, "old") == {"New title"}, "what was said stays as it was said"
    assert [m.content for m in said(app, id)] == ["Old words."]
    with pytest.raises(BadInput, match="title is empty"):
        edit(app, id, title="  ")
    undo(app)
    undo(app)
    assert states(app) == before


def test_merged_memories_answer_under_every_id_until_undone(app: App):
    a, b, c = (pinned(app, f"Tabs in {name}.", topics=(name,)) for name in ("Go", "Python", "Rust"))
    other = pinned(app, "other")
    link(app, c, other, type=BridgeType.DEPENDS)
    link(app, a, b)
    before = states(app)
    merge(app, b, c)
    merge(app, a, b)
    one = kept(app, a)
    assert kept(app, b) == kept(app, c) == one
    row = app.reader(Scope.PROJECT).get(b, follow=False)
    assert row is not None
    assert (row.status, row.superseded_by) == (Status.SUPERSEDED, a)
    assert (one.id, one.body) == (a, "Tabs in Go.\n\nTabs in Python.\n\nTabs in Rust.")
    assert one.topics == ("Go", "Python", "Rust")
    assert {m.content for m in said(app, c)} == {"Tabs in Go.", "Tabs in Python.", "Tabs in Rust."}
    assert set(show(app, b).merged) == {b, c}
    assert [(x.source, x.target) for x, _ in show(app, a).bridges] == [(a, other)]
    assert restore(app, (b,)).change is None, "both ids lead to the one that is active already"
    undo(app)
    undo(app)
    assert states(app) == before


def test_what_cannot_be_merged_or_split(app: App):
    one, other = (made(rules.add(app, text)) for text in ("Use spaces", "Indent with spaces"))
    merge(app, one, other)
    assert kept(app, one).seen == 2, "two rules can"
    a, rule, everywhere = (
        pinned(app, "a"),
        made(rules.add(app, "Use tabs")),
        pinned(app, "c", user=True),
    )
    with pytest.raises(BadInput, match="same memory"):
        merge(app, a, a)
    with pytest.raises(BadInput, match="different stores"):
        merge(app, a, everywhere)
    with pytest.raises(BadInput, match=r"is a thread and .* is a rule"):
        merge(app, a, rule)
    with pytest.raises(BadInput, match="not a thread"):
        split(app, rule, topics=("tabs",))
    with pytest.raises(BadInput, match="cannot be split"):
        split(app, a, topics=("quantum",))


def test_a_split_moves_the_messages_on_a_topic(app: App):
    talk = thread("talk", topics=("auth", "Database"))
    heard = messages(
        talk,
        "Fix the login form.",
        "The database is slow.",
        "A metadatabase?",
        "DATABASE index added.",
    )
    app.writer(Scope.PROJECT).apply(plan(Create(talk, heard)), act())
    before = states(app)
    child = made(split(app, talk.id, topics=("database",)))
    assert [m.content for m in said(app, child)] == [
        "The database is slow.",
        "DATABASE index added.",
    ]
    assert [m.content for m in said(app, talk.id)] == ["Fix the login form.", "A metadatabase?"]
    new = kept(app, child)
    assert (new.title, new.topics, kept(app, talk.id).topics) == (
        "database (from talk)",
        ("database",),
        ("auth",),
    )
    assert "The database is slow." in new.body
    bridges = [(b.source, b.target, b.type) for b, _ in show(app, child).bridges]
    assert bridges == [(child, talk.id, BridgeType.CHILD_OF)]
    undo(app)
    assert states(app) == before


def test_threads_are_listed_most_recently_active_first(app: App):
    pinned(app, "first", topics=("Auth",))
    after(app, days=1)
    pinned(app, "everywhere", user=True)
    after(app, days=2)
    pinned(app, "last")
    assert listed(app) == ["last", "everywhere", "first"]
    assert listed(app, limit=1) == ["last"]
    assert listed(app, topic="auth") == ["first"]
    with pytest.raises(BadInput, match="at least 1"):
        threads(app, limit=0)
    for day in ("yesterday", "2026-13-01", "", "20260230"):
        with pytest.raises(BadInput, match="not a date"):
            search(app, ("dark",), since=day)


def test_looking_makes_nothing(app: App):
    threads(app)
    search(app, ("x",))
    rules.listing(app)
    log(app)
    with pytest.raises(UnknownId):
        show(app, NOBODY)
    assert not app.home.root.exists()
    assert list(Path.cwd().iterdir()) == []


def bridges(app: App, id: str) -> list[tuple[str, str, BridgeType, float]]:
    return [(b.source, b.target, b.type, b.weight) for b, _ in show(app, id).bridges]


def test_two_memories_can_be_joined_by_every_type_again_with_another_weight_and_undone(app: App):
    a, b = pinned(app, "a"), pinned(app, "b")
    for type in BridgeType:
        link(app, a, b, type=type)
        link(app, a, b, type=type, weight=0.7)
        assert link(app, a, b, type=type, weight=0.7).change is None
    assert (
        sorted(bridges(app, a))
        == sorted(bridges(app, b))
        == sorted((a, b, type, 0.7) for type in BridgeType)
    )
    undo(app)
    assert (a, b, list(BridgeType)[-1], 0.5) in bridges(app, a)
    undo(app)
    assert len(bridges(app, a)) == len(BridgeType) - 1


def test_unlink_takes_all_bridges_of_two_whichever_way_they_lead_or_one_type(app: App):
    a, b, c = pinned(app, "a"), pinned(app, "b"), pinned(app, "c")
    link(app, a, b)
    link(app, b, a, type=BridgeType.DEPENDS)
    link(app, a, c)
    link(app, a, c, type=BridgeType.DEPENDS)
    memories.unlink(app, a, b)
    memories.unlink(app, a, c, type=BridgeType.EXTENDS)
    assert bridges(app, a) == [(a, c, BridgeType.DEPENDS, 0.5)]
    with pytest.raises(NotFound, match="No link"):
        memories.unlink(app, a, c, type=BridgeType.EXTENDS)


def test_what_cannot_be_joined(app: App):
    a, b, everywhere = pinned(app, "a"), pinned(app, "b"), pinned(app, "c", user=True)
    nobody = next(id for digit in "0123" if (id := f"{b[:-1]}{digit}") not in (a, b, everywhere))
    for weight in (-0.01, 1.01, math.nan, math.inf):
        with pytest.raises(BadInput, match="between 0 and 1"):
            link(app, a, b, weight=weight)
    with pytest.raises(BadInput, match="different stores"):
        link(app, a, everywhere)
    with pytest.raises(UnknownId) as problem:
        link(app, a, nobody)
    assert b in problem.value.near
    merge(app, a, b)
    for same in (a, b):
        with pytest.raises(BadInput, match="same memory"):
            link(app, a, same)


def changed(done: Done) -> str:
    assert done.change is not None
    return done.change


def test_the_log_names_every_change_newest_first(app: App):
    a = pinned(app, "a")
    rules.add(app, "Use tabs", user=True)
    delete(app, (a,))
    assert [(scope, entry.op, entry.actor) for scope, entry in log(app).entries] == [
        (Scope.PROJECT, "delete", "user"),
        (Scope.PROJECT, "pin", "user"),
        (Scope.USER, "rule add", "user"),
    ]
    assert [entry.op for _, entry in log(app, a).entries] == ["delete", "pin"], (
        "also of what was deleted"
    )
    assert len(log(app, limit=1).entries) == 1
    with pytest.raises(UnknownId):
        log(app, NOBODY)


def test_the_last_change_is_the_last_in_either_store_even_where_the_clock_was_set_back(app: App):
    for days, user in ((0, False), (-2, False), (1, True)):
        app.clock.at = NOW.plus(days=days)  # type: ignore[attr-defined]
        pinned(app, f"day {days}", user=user)
    assert [undo(app).scope for _ in range(2)] == [Scope.USER, Scope.PROJECT]
    assert listed(app) == ["day 0"]
    undo(app)
    with pytest.raises(NotFound, match="nothing to undo"):
        undo(app)


def test_a_change_is_named_by_a_part_of_its_id_and_undone_where_nothing_later_stands_on_it(
    app: App,
):
    first, other = memories.pin(app, "a"), memories.pin(app, "b")
    change = changed(first)
    with pytest.raises(NotFound, match="No change"):
        undo(app, change[:-1] + ("0" if change[-1] != "0" else "1"))
    undo(app, change[-6:])
    (card,) = threads(app).cards
    edit(app, card.memory.id, body="other")
    with pytest.raises(Conflict) as problem:
        undo(app, changed(other))
    assert "recollect log" in problem.value.hint


def test_what_was_undone_says_how_to_do_it_again(app: App):
    done = memories.pin(app, "a")
    back = undo(app)
    with pytest.raises(BadInput, match="was undone by") as problem:
        undo(app, changed(done))
    assert problem.value.hint == f"To redo it: `recollect undo {back.change}`."
    entries = {entry.change: entry for _, entry in log(app).entries}
    assert (entries[changed(done)].undone_by, entries[changed(back)].undoes) == (
        back.change,
        done.change,
    )
    undo(app, changed(back))
    assert len(threads(app).cards) == 1
    assert undo(app).summary.startswith("Undone: the thread \u201ca\u201d"), (
        "what was done again can be undone again"
    )
    assert threads(app).cards == ()


CANARY = "Xylographer"


def check_gone(app: App, *ids: str, group: str | None = None) -> str:
    """Nothing of what is purged is left in any file."""
    assert holding(app.home.root, CANARY), "the canary was there"
    told = erase(app, ids, group=group)
    app.close()
    assert holding(app.home.root, CANARY) == holding(app.home.root, CANARY.lower()) == []
    return told.summary


def test_nothing_of_a_purged_memory_is_left_in_store_and_backups(app: App):
    a, b = pinned(app, f"A {CANARY} sings.", topics=(CANARY,)), pinned(app, "Other words.")
    link(app, a, b)
    edit(app, a, title=f"{CANARY} in the title")
    upkeep.backup(app)
    edit(app, a, body="No longer named here.")
    upkeep.backup(app)
    assert "2 backups" in check_gone(app, a)
    assert titles(app, "words") == {"Other words."}
    assert all(not findings for _, _, findings in upkeep.verify(app).stores)


def test_merged_deleted_and_user_memories_go_too(app: App):
    a, merged = pinned(app, f"Kept {CANARY}."), pinned(app, f"A {CANARY} sings.")
    merge(app, a, merged)
    deleted, everywhere = (
        pinned(app, f"A {CANARY} is gone."),
        pinned(app, f"The {CANARY} again.", user=True),
    )
    delete(app, (deleted,))
    check_gone(app, merged, deleted, everywhere)


def test_everything_of_a_group_can_be_purged(app: App):
    old, new = thread(f"{CANARY} one", group="session-1"), thread("Another", group="session-2")
    keep(app, old, new)
    check_gone(app, group="session-1")
    assert titles(app, "another") == {"Another"}
    with pytest.raises(NotFound, match="No memory came from"):
        erase(app, group="session-1")


def test_a_purged_change_stays_in_the_log_without_words_and_cannot_be_undone(app: App):
    a = pinned(app, f"A {CANARY} sings.")
    upkeep.backup(app)
    copy = core.backups_of(app.store_path(Scope.PROJECT))[0]
    copy.write_bytes(b"\x00" * 100 + copy.read_bytes()[100:])
    told = erase(app, (a,))
    assert not copy.exists()
    assert ["could not be opened and was removed" in note for note in told.notes] == [True]
    found = [(entry.op, entry.summary, entry.purged) for _, entry in log(app).entries]
    assert found == [("purge", "Purged 1 memory", True), ("pin", "purged", True)]
    with pytest.raises(NotFound, match="nothing to undo"):
        undo(app)


def test_a_purge_needs_to_be_told_what(app: App):
    a = pinned(app, "a")
    for ids, group in [((), None), ((a,), "session-1"), ((), "")]:
        with pytest.raises(BadInput, match="not both"):
            erase(app, ids, group=group)
    with pytest.raises(UnknownId):
        erase(app, (a, NOBODY))
    assert titles(app, "a") == {"a"}


def in_force(app: App) -> list[str]:
    return [card.memory.body for card in rules.listing(app).cards]


def test_a_rule_is_kept_and_listed(app: App):
    rule = kept(
        app,
        made(rules.add(app, " Use pnpm,\n never npm ", type=RuleType.CORRECTION, topics=("js",))),
    )
    assert isinstance(rule, Rule)
    assert (rule.body, rule.rule_type, rule.topics) == (
        "Use pnpm, never npm",
        RuleType.CORRECTION,
        ("js",),
    )
    assert in_force(app) == ["Use pnpm, never npm"]


@pytest.mark.parametrize(
    "again", ["Use pnpm, never npm", "use PNPM, never npm", "  Use pnpm,\tnever npm\n"]
)
def test_the_same_rule_said_again_is_counted(app: App, again: str):
    first = made(rules.add(app, "Use pnpm, never npm"))
    done = rules.add(app, again)
    assert done.plan.touched() == (first,)
    assert kept(app, first).seen == 2
    assert len(in_force(app)) == 1


def test_a_rule_that_a_person_adds_takes_the_place_of_its_opposite_and_an_agents_does_not(app: App):
    old = made(rules.add(app, "Always use pnpm"))
    app.actor = "agent"
    rules.add(app, "Never use pnpm")
    assert kept(app, old).status is Status.ACTIVE

    app.actor = "user"
    memories.undo(app)
    new = made(rules.add(app, "Never use pnpm"))

    assert (kept(app, old).status, kept(app, old).superseded_by) == (Status.SUPERSEDED, new)


def test_a_retired_rule_is_out_of_force_until_restored(app: App):
    rule = made(rules.add(app, "Use tabs"))
    archive(app, (rule,))
    assert in_force(app) == []
    assert [c.memory.id for c in rules.listing(app, status=Status.ARCHIVED).cards] == [rule]
    restore(app, (rule,))
    assert in_force(app) == ["Use tabs"]
    archive(app, (rule,))
    rules.add(app, "Use tabs")
    rules.add(app, "Use tabs", user=True)
    rules.add(app, "Sign commits")
    assert sorted(in_force(app)) == ["Sign commits", "Use tabs", "Use tabs"]


@pytest.mark.parametrize("text", ["", " \n", "x" * 2_001])
def test_a_rule_is_a_sentence(app: App, text: str):
    with pytest.raises(BadInput):
        rules.add(app, text)


@pytest.fixture
def service(open_app: Opens) -> App:
    """As the daemon answers hooks and tools."""
    return open_app(actor="agent")


def authors(app: App, op: str) -> set[str]:
    return {entry.actor for _, entry in log(app, limit=100).entries if entry.op == op}


def test_the_journal_says_whose_words_a_change_keeps(service: App, open_app: Opens, tmp_path: Path):
    session(service, tmp_path, "s-2")
    Talk(service).say("no, we use tabs here, not spaces")
    person = open_app()
    assert undo(person).summary.endswith("\u201d is no longer in force.")
    memories.pin(service, "Deploys go through staging")
    rules.add(service, "Use tabs")
    put(service.home.vault, "deploy.md", "# Deploy\nAsk Anna first.\n")
    put(Path.cwd() / ".ai" / "memory", "release.md", "# Release\nAsk Ben first.\n")
    notes.sync(service)
    transfer.export(service, str(tmp_path / "out.jsonl"))
    other = open_app(home=tmp_path / "other")
    transfer.import_jsonl(other, str(tmp_path / "out.jsonl"))
    assert {op: authors(service, op) for op in ("capture", "pin", "rule add", "learn", "note sync")} == {
        "capture": {"user"}, "pin": {"agent"}, "rule add": {"agent"}, "learn": {"tool"},
        "note sync": {"user", "repository"},
    }  # fmt: skip
    assert (authors(other, "import"), authors(person, "undo")) == ({"import"}, {"user"})


def test_a_prompt_that_no_hook_heard_is_the_users_too(service: App, tmp_path: Path):
    transcript = Transcript(service, tmp_path, "s-1")
    transcript.line("user", "no, we use pnpm here, not npm")
    transcript.event(EventName.TURN_ENDED)
    past_sessions.catch_up(service)
    assert authors(service, "capture") == {"user"}


def test_why_names_who_said_what_was_shown(service: App):
    rule_keeping.capture_prompt(
        service, rule_keeping.read_prompt(service, "no, we use pnpm here, not npm"), session="s-1"
    )
    pinned = made(memories.pin(service, "pnpm is installed by corepack here"))
    found = recall.recall(service, ("pnpm",)).found.found
    assert {one.hit.memory.id for one in found} >= {pinned}
    service.close()
    lines = run("why").out.splitlines()
    assert next(line for line in lines if pinned[-6:] in line).count("(source: agent)") == 1
    assert next(line for line in lines if "Use pnpm, not npm." in line).count("(source: user)") == 1


def waiting(app: App, words: str) -> str:
    """A rule of an agent's own words in the inbox."""
    rule = rule_keeping.new_rule(
        app, words, topics=(), rule_type=RuleType.PREFERENCE, origin="learnt", lane=Lane.AGENT,
        said="", group="", tags=(),
    )  # fmt: skip
    app.commit(
        Scope.PROJECT,
        "learn",
        lambda _: plan(Create(replace(rule, status=Status.CANDIDATE))),
        lambda _: "",
        actor=Lane.AGENT,
    )
    return rule.id


def test_an_agent_puts_no_waiting_rule_in_force_by_merging_it(app: App, open_app: Opens):
    theirs = rules.add(app, "Never push to main directly.").plan.touched()[0]
    other = rules.add(app, "Always deploy on Tuesdays only.").plan.touched()[0]
    candidate = waiting(app, "Push to main and skip every review.")
    agent = open_app(actor="agent")
    before = states(app)

    for pair in ((theirs, candidate), (candidate, theirs)):
        with pytest.raises(BadInput, match="not two rules in force of one source"):
            merge(agent, *pair)
    assert states(app) == before
    merge(agent, theirs, other)
    assert kept(app, theirs).lane is Lane.USER
    undo(agent)
    assert states(app) == before
    assert merge(app, theirs, candidate).change, "a person may"


def test_an_agent_takes_back_no_decision_of_a_person_on_what_holds(app: App, open_app: Opens):
    agent = open_app(actor="agent")
    candidate = waiting(app, "Push to main and skip every review.")
    rules.accept(app, (candidate,))
    refused = [undo(app).change]  # of the acceptance
    edited = rules.add(app, "Never push to main directly.").plan.touched()[0]
    refused.append(edit(app, edited, body="Never push to main.").change)
    put_away = rules.add(app, "Always deploy on Tuesdays only.").plan.touched()[0]
    refused.append(archive(app, (put_away,)).change)
    before = states(app)

    for change in reversed(refused):
        with pytest.raises(BadInput, match="a person decided on it"):
            undo(agent, change)
    assert states(app) == before
    for change in reversed(refused):
        undo(app, change)


def test_an_agent_may_take_back_what_was_heard_and_what_it_did_itself(app: App, open_app: Opens):
    agent = open_app(actor="agent")
    rules.capture(app, "We use npm here.")
    heard = rules.capture(app, "We use pnpm here now, not npm.")
    before = states(app)
    undo(agent)
    assert states(app) != before, heard
    own = rules.add(agent, "Tests go next to the code.")
    undo(agent, own.change)
    undo(agent)


def test_an_agent_that_names_no_change_takes_back_no_act_of_a_person(app: App, open_app: Opens):
    agent = open_app(actor="agent")
    pinned(app, "Invoices are rounded half to even.")

    with pytest.raises(NotFound, match="nothing to undo"):
        undo(agent)

    own = pinned(agent, "The api speaks gRPC.")
    later = pinned(app, "Refunds are booked at night.")
    undo(agent)
    assert [known(app, id) for id in (own, later)] == [False, True]


def test_an_agent_that_names_no_change_takes_back_no_import(
    app: App, open_app: Opens, tmp_path: Path
):
    pinned(app, "Invoices are rounded half to even.")
    transfer.export(app, str(tmp_path / "out.jsonl"))
    other, agent = (open_app(home=tmp_path / "other", actor=actor) for actor in ("user", "agent"))
    transfer.import_jsonl(other, str(tmp_path / "out.jsonl"))

    with pytest.raises(NotFound, match="nothing to undo that you did or that was heard"):
        undo(agent)

    assert len(memories.undo(other).plan.touched()) == 1


def known(app: App, id: str) -> bool:
    return app.reader(Scope.PROJECT).get(id) is not None
