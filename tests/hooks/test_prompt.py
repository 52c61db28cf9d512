"""A prompt brings what bears on it, once, within its limits, and else nothing at all."""

import json
import re
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest

from recollect.app import embedding
from recollect.app.core import App
from recollect.app.embedding import fill_vectors
from recollect.app.session_ledger import find_session
from recollect.app.states import read_text
from recollect.base.clock import FixedClock
from recollect.base.errors import StoreBusy, StoreFull
from recollect.base.ids import Mint
from recollect.hooks.answer import Hooks
from recollect.model.passage import TURN, Record
from recollect.model.plan import Create, Plan
from recollect.model.result import Scope
from recollect.model.session import ShownMemory, StateRecord, Way, memory_of, turn_mark
from recollect.ops import memories, recall, rules
from recollect.ops.steering import save_focus
from recollect.recall.selection import Focus
from recollect.render import inject
from recollect.store import SqliteStore
from tests.hooks.talk import Another, Talk, events, log_of
from tests.ops.ask import holding, kept, made, pinned, set_to
from tests.ops.conftest import Opens
from tests.values import NOW, messages
from tests.values import thread as values_thread


def clock(app: App) -> FixedClock:
    assert isinstance(app.clock, FixedClock)
    return app.clock


def test_a_prompt_brings_the_memory_that_answers_it_and_the_person_sees_which(app: App, talk: Talk):
    id = pinned(app, "Deploys go through the staging cluster first", title="Deploys")
    pinned(app, "The logo is blue")
    said = talk.say("how do we deploy to staging?")
    line = next(line for line in said.context.splitlines() if id in line)
    assert line.startswith(f"- thread {id}#body.0 [agent] ")
    assert 0.5 <= float(line.split("] ")[1].split(":")[0]) <= 1
    assert line.endswith("Deploys go through the staging cluster first")
    assert "Loaded 1 relevant memory:" in said.context
    assert said.notice == "Recollect: told Claude Code 1 memory: Deploys"


def test_the_answer_is_given_before_anything_is_written(app: App, talk: Talk):
    id = pinned(app, "Deploys go through staging, not through npm")
    seen: list[object] = []

    def send(stdout: bytes) -> None:
        seen.extend((id in stdout.decode(), events(app), rules.listing(app).cards))

    talk.answer(
        "UserPromptSubmit",
        prompt="deploys go through staging? we use pnpm here, not npm",
        send=send,
    )
    assert seen == [True, [], ()]
    assert (events(app), len(rules.listing(app).cards)) == (["prompt"], 1)


def test_a_memory_is_brought_once_a_session_unless_the_agent_lost_it(
    app: App, talk: Talk, another: Another
):
    id = pinned(app, "Deploys go through staging")

    def is_brought(one: Talk = talk, **given: Any) -> bool:
        return id in one.say("deploys through staging?", **given).context

    assert is_brought(confirm=False)
    assert kept(app, id).frequency == 0, "the hook never confirmed"
    assert is_brought()
    assert not is_brought()
    assert "shown before" in log_of(app)
    later, first, _ = recall.why(app, id).recalls
    assert (first["event"], first["session"], first["delivered"]) == ("prompt", "s-1", True)
    assert later["dropped"] == [{"id": id, "reason": "shown before"}]
    assert is_brought(another("s-2"))
    talk.start("resume")
    assert not is_brought()
    for source in ("compact", "clear"):
        talk.start(source, confirm=False)
        assert is_brought()
        assert not is_brought()


@pytest.mark.parametrize("asked", [False, True])
def test_what_an_agent_is_shown_or_asks_for_is_counted_and_no_stronger(
    app: App, talk: Talk, asked: bool
):
    before = values_thread("Deploys go through staging", weight=0.5)
    app.commit(Scope.PROJECT, "test", lambda _: Plan((Create(before),)), lambda _: "kept")
    id = before.id
    talk.say("hello")

    if asked:
        talk.read(".ai/recall/deploys through staging")
    else:
        clock(app).at = NOW.plus(days=1)
        talk.say("deploys through staging?")

    used = kept(app, id)
    assert (used.frequency, used.last_session) == (1, 1)
    assert replace(used, frequency=0, last_session=before.last_session) == before
    assert app.reader(Scope.PROJECT).log(limit=5)[0].op == "test"  # counters are no plans


def test_sessions_are_counted_by_their_first_message(app: App, talk: Talk, another: Another):
    talk.start()
    another("s-2").start()
    another("s-3").say("hello there")
    talk.say("hello there")
    talk.say("hello again")
    found = [find_session(app.reader(Scope.PROJECT), id) for id in ("s-1", "s-2", "s-3")]
    assert [session and session.number for session in found] == [2, 0, 1]


def test_sessions_that_speak_at_once_get_numbers_of_their_own(app: App, open_app: Opens):
    pinned(app, "Deploys go through staging")
    apps = [open_app(actor="agent") for _ in range(8)]
    for number, one in enumerate(apps):
        one.mint = Mint(FixedClock(NOW.plus(seconds=number)))
    with ThreadPoolExecutor(len(apps)) as pool:
        said = list(
            pool.map(
                lambda n: Talk(apps[n], session=f"s-{n}").say("deploys through staging?"), range(8)
            )
        )
    found = [find_session(app.reader(Scope.PROJECT), f"s-{n}") for n in range(8)]
    assert sorted(one.number for one in found if one) == list(range(1, 9))
    assert all("Deploys go through staging" in one.context for one in said)
    assert log_of(app).count("not-kept") == 0


def test_a_session_stays_with_its_project_wherever_the_agent_goes(app: App):
    asked: list[str] = []

    def open_app(
        project_folder: str, cwd: str, environ: Mapping[str, str]
    ) -> AbstractContextManager[App]:
        asked.append(project_folder)
        return nullcontext(app)

    hooks = Hooks(open_app, app.home.root, app.clock)
    for cwd in ("/shop", "/shop/deep/down", "/elsewhere"):
        body = json.dumps({"session_id": "s-1", "cwd": cwd, "prompt": "hello there"}).encode()
        hooks.answer("", "UserPromptSubmit", body, {}, cwd, time.monotonic() + 60)

    assert asked == ["/shop", "/shop", "/shop"]


def test_the_users_memories_go_by_a_count_of_all_projects(app: App, talk: Talk, another: Another):
    id = pinned(app, "Everywhere deploys go through staging", user=True)
    user = app.writer(Scope.USER)
    user.put(StateRecord("sessions", "41"))
    talk.say("deploys through staging?")
    another("s-2").say("deploys through staging?")
    assert read_text(user, "sessions") == "43"
    assert (kept(app, id).frequency, kept(app, id).last_session) == (2, 43)


@pytest.mark.parametrize(
    "given",
    [{"source": "schedule_wakeup"}, {"prompt": "<task-notification>\n<status>completed</status>"}],
)
def test_a_prompt_that_no_person_wrote_is_not_kept_and_recall_can_be_off(
    app: App, talk: Talk, given: dict[str, str]
):
    pinned(app, "Task notifications are completed in staging")
    assert talk.say(**({"prompt": "check the status of staging"} | given)).raw == b""
    assert (events(app), find_session(app.reader(Scope.PROJECT), "s-1")) == ([], None)
    set_to(app, "MEMORY_RECALL", "off")
    assert talk.say("are task notifications completed in staging?").raw == b""
    assert events(app) == ["prompt"], "switched off, it still counts"


def test_a_pause_is_told_in_a_clause_with_what_is_shown_and_never_alone(app: App, talk: Talk):
    pinned(app, "Deploys go through staging")
    pinned(app, "Invoices are sent on Mondays")
    talk.say("good morning")
    clock(app).at = NOW.plus(seconds=40 * 300)
    alone = talk.say("who wrote the bible?")
    clock(app).at = NOW.plus(seconds=80 * 300)
    after = talk.say("deploys through staging?")
    at_once = talk.say("when are invoices sent?")
    assert alone.raw == b""
    assert (
        "Loaded 1 relevant memory (session interrupted: 3 hours since the last prompt):"
        in after.context
    )
    assert "Loaded 1 relevant memory:" in at_once.context


def test_a_prompt_without_content_gets_nothing(app: App, talk: Talk):
    prompts = ("hi", "yes", "ok go on", "commit this", "danke, weiter", "谢谢", "/compact", "2")
    for prompt in prompts:
        pinned(app, f"{prompt}: deploys go through staging")
    assert [talk.say(prompt).raw for prompt in prompts] == [b""] * len(prompts)
    assert events(app) == ["prompt"] * len(prompts)
    assert log_of(app).count("nothing to look for") == len(prompts)


@pytest.mark.parametrize(
    ("prompt", "reason"),
    [
        ("what is the capital of Peru?", "nothing in common"),
        ("which cluster is the cheapest to rent?", r"below the floor \(0\.[0-4]\d < 0\.50\)"),
    ],
)
def test_a_prompt_that_nothing_bears_on_gets_nothing_and_why_says_so(
    app: App, talk: Talk, prompt: str, reason: str
):
    id = pinned(app, "Deploys go through the staging cluster first")
    fill_vectors(app.writer(Scope.PROJECT), app.embedder, 100)
    assert talk.say(prompt).raw == b""
    (told,) = recall.why(app, id).recalls
    dropped = {drop["id"]: drop["reason"] for drop in told["dropped"]}  # type: ignore[union-attr, index, call-overload]
    assert re.fullmatch(reason, str(dropped[id]))


def test_the_floor_is_a_setting_and_who_asks_gets_an_answer_below_it(
    app: App, talk: Talk, another: Another
):
    id = pinned(app, "Deploys go through the staging cluster first")
    assert id not in talk.say("how is the cluster backed up at night?").context
    found = recall.recall(app, ("how is the cluster backed up",)).found.found
    assert [one.hit.memory.id for one in found] == [id]
    set_to(app, "MEMORY_RECALL_FLOOR", "0")
    assert id in another("s-2").say("how is the cluster backed up at night?").context
    set_to(app, "MEMORY_RECALL_FLOOR", "1")
    assert id not in another("s-3").say("deploys go through the staging cluster?").context


def test_another_passage_of_a_thread_may_still_come_and_shows_what_answers(app: App, talk: Talk):
    thread = two_turns(app)
    first = talk.say("why does the nightly build fail with an expired token?").context
    again = talk.say("why does the nightly build fail with an expired token?").context
    second = talk.say("which port does the billing sandbox listen on?").context
    assert "The clock in the container is an hour behind" in first
    assert "make nightly" not in first, "a command"
    assert "why does the nightly build fail?" not in first, "an earlier question"
    assert thread not in again
    assert "port 8443" in second
    marks = [*inject.marks_shown(first), *inject.marks_shown(second)]
    assert len(set(marks)) == 2
    assert {memory_of(mark) for mark in marks} == {thread}


def test_a_session_is_not_told_of_its_own_turns_until_it_has_lost_them(
    app: App, talk: Talk, another: Another
):
    thread = two_turns(app)
    asked = "why does the nightly build fail with an expired token?"
    talk.start()
    store = app.writer(Scope.PROJECT)
    for turn in store.messages(thread):
        store.put(ShownMemory(turn_mark(thread, turn.id), Way.OWN, NOW, session="s-1"))
    assert talk.say(asked).raw == b""
    assert thread in another("s-2").say(asked).context
    talk.start("compact")
    assert thread in talk.say(asked).context
    assert {sight.way for sight in store.records(ShownMemory, session="s-1")} == {Way.TOLD, Way.OWN}


def two_turns(app: App) -> str:
    records = (
        Record(
            asked="why does the nightly build fail?",
            found="The clock in the container is an hour behind, so the token looks expired.",
            ran="make nightly (failed); make nightly",
            ended="The nightly build passes again.",
        ),
        Record(
            asked="where does the billing sandbox listen?",
            found="The billing sandbox listens on port 8443 behind the proxy.",
            ran="curl -k https://localhost:8443/health",
        ),
    )
    thread = values_thread("Nightly work", body="", days_old=9)
    said = tuple(
        replace(one, source=TURN)
        for one in messages(thread, *(record.text() for record in records))
    )
    app.commit(
        Scope.PROJECT, "test", lambda _: Plan.of([Create(thread, said)]), lambda _: "two turns"
    )
    fill_vectors(app.writer(Scope.PROJECT), app.embedder, 100)
    return thread.id


def test_how_much_a_prompt_brings_is_a_setting(app: App, talk: Talk, another: Another):
    for number in range(7):
        text = f"Staging deploys {number} " + "\U0001f600 wide words about staging deploys " * 20
        memories.pin(app, text, title=f"{number} " + "a long title of staging deploys " * 5)
    set_to(app, "MEMORY_RECALL_FLOOR", "0")
    usual = talk.say("staging deploys").context
    set_to(app, "MEMORY_PROMPT_HITS", "1")
    one = another("s-2").say("staging deploys").context
    set_to(app, "MEMORY_PROMPT_HITS", "7")
    set_to(app, "MEMORY_PROMPT_CHARS", "700")
    short = another("s-3").say("staging deploys").context
    assert [said.count("\n- thread") for said in (usual, one)] == [3, 1]
    assert 0 < len(short) <= 700 < len(usual) <= inject.PROMPT_CHARS
    assert usual[-1] == short[-1] == "]"


def test_with_little_time_words_answer_alone_and_when_it_is_over_nothing_is_said(
    app: App, talk: Talk
):
    id = pinned(app, "Deploys go through staging")
    over = talk.say("deploys through staging?", left_s=-1)
    assert (over.context, over.notice) == ("", "")
    assert "the time was over" in log_of(app)
    little = talk.say("deploys through staging?", left_s=embedding.VECTORS_NEED_S - 0.001)
    assert (id in little.context and "too little time" in log_of(app)) or log_of(app).count(
        "the time was over"
    ) == 2


def test_found_nothing_and_could_not_search_are_told_apart(
    app: App, talk: Talk, monkeypatch: pytest.MonkeyPatch
):
    pinned(app, "Deploys go through staging")
    assert talk.say("zzz qqq").notice == ""
    monkeypatch.setattr(
        SqliteStore, "words", Mock(side_effect=StoreBusy("Another process holds it."))
    )
    refused = talk.say("deploys through staging?")
    assert refused.notice == "Recollect could not search: Another process holds it."


@pytest.mark.parametrize("problem", [StoreBusy, StoreFull])
def test_a_store_that_cannot_be_written_still_answers(
    app: App, talk: Talk, monkeypatch: pytest.MonkeyPatch, problem: type[StoreBusy]
):
    id = pinned(app, "Deploys go through staging")
    monkeypatch.setattr(
        SqliteStore, "transaction", Mock(side_effect=problem("It cannot be written."))
    )
    assert id in talk.say("deploys through staging?", confirm=False).context
    assert "not-kept of=prompt" in log_of(app)
    assert not talk.answer("UserPromptSubmit", prompt="deploys through staging?").is_kept


def test_a_prompt_of_a_megabyte_is_answered_and_leaves_no_secret_behind(app: App, talk: Talk):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    id = pinned(app, "Deploys go through staging")
    assert (
        id
        in talk.say(
            "x = 1\n" * 200_000 + f"how do deploys go through staging with {secret}?"
        ).context
    )
    app.close()
    assert holding(app.home.root, secret) == []


def test_focus_lifts_what_the_work_is_about_and_rules_are_brought_beside_threads(
    app: App, talk: Talk
):
    plain = pinned(app, "Login errors are logged to stderr", topics=("logs",))
    lifted = pinned(app, "Login errors are counted by type", topics=("metrics",))
    rule = made(rules.add(app, "Login errors are never swallowed"))
    save_focus(app, [Focus("metrics", 1.0, NOW)])
    context = talk.say("where do login errors go?").context
    assert context.index(lifted) < context.index(plain)
    assert f"- rule {rule}" in context
