"""A look back after a turn, by a program that stands in for the model: proposals become one plan, once, and never
speak for a person."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.app import language_model, notices
from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.model.ask import Ask
from recollect.model.memory import Lane, Memory, Rule, Status
from recollect.model.plan import Create, Plan
from recollect.model.result import Done, Scope, Summary
from recollect.model.session import EventName
from recollect.ops import history, inbox, memories, notes, past_sessions, rules, turn_review
from tests.hooks.talk import log_of
from tests.jobs.work import run_model_jobs
from tests.llm.standin import StandIn
from tests.ops.conftest import Opens
from tests.ops.transcript import Transcript
from tests.values import act, thread


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path / "model", "[]")
    monkeypatch.setenv("MEMORY_LLM", "on")
    monkeypatch.setenv("MEMORY_LLM_COMMAND", made.command)
    return made


@pytest.fixture
def app(model: StandIn, open_app: Opens) -> App:
    return open_app(actor="agent")


@pytest.fixture
def session(app: App, tmp_path: Path) -> Transcript:
    return Transcript(app, tmp_path)


def spoke(session: Transcript, said: str = "the queue is Redis now, not Kafka", *more: object) -> None:
    """A whole turn, and its end."""
    session.line("user", said)
    for step in more:
        session.line("assistant", [step]) if isinstance(step, dict) else session.ran(str(step), "ok")
    session.line("assistant", [{"type": "text", "text": "Understood, I changed the configuration."}])
    session.event(EventName.TURN_ENDED)
    past_sessions.catch_up(session.app)


def rule(app: App, text: str = "The queue is Kafka") -> Rule:
    (id,) = rules.add(app, text).plan.touched()
    found = app.reader(Scope.PROJECT).exact(id)
    assert isinstance(found, Rule)
    return found


def kept(app: App, id: str) -> Memory:
    found = app.reader(Scope.PROJECT).exact(id)
    assert found is not None
    return found


def waiting(app: App) -> list[Memory]:
    return [card.memory for card in inbox.listing(app).cards]


def proposing(*objects: dict[str, str]) -> str:
    return json.dumps(objects)


def test_a_turn_is_looked_back_at_once(app: App, session: Transcript, model: StandIn):
    old = rule(app)
    spoke(session)

    assert turn_review.review_next(app)
    assert not turn_review.review_next(app)
    past_sessions.catch_up(app)
    assert not turn_review.review_next(app)

    assert len(model.calls) == 1
    assert "[person] the queue is Redis now, not Kafka\n\n[agent] Understood" in model.texts[0]
    assert f"## {old.id} (rule): The queue is Kafka" in model.texts[0]
    assert notices.waiting(app) == []


def test_a_turn_that_was_read_before_its_end_was_told_is_looked_back_at(app: App, session: Transcript, model: StandIn):
    session.line("user", "the queue is Redis now, not Kafka")
    session.line("assistant", [{"type": "text", "text": "Understood, I changed the configuration."}])
    session.event(EventName.PROMPT)
    past_sessions.catch_up(app)
    assert not turn_review.review_next(app)

    for _ in range(2):
        session.event(EventName.TURN_ENDED)
        past_sessions.catch_up(app)
        while turn_review.review_next(app):
            pass

    assert len(model.calls) == 1


def test_the_daemon_does_it_by_itself(app: App, session: Transcript, model: StandIn):
    spoke(session)
    run_model_jobs(app)
    assert sum("Known memories:" in text for text in model.texts) == 1


@pytest.mark.parametrize("lane", [Lane.AGENT, Lane.WEB])
def test_a_sentence_that_is_new_waits_in_the_inbox_in_the_lane_of_what_was_read(
    app: App, session: Transcript, model: StandIn, lane: Lane
):
    model.answers(proposing({"type": "devops", "content": "The queue is Redis."}))
    if lane is Lane.WEB:
        call = {"type": "tool_use", "id": "toolu_web", "name": "WebFetch", "input": {"url": "https://x.example"}}
        session.line("assistant", [call])
        session.line("user", [{"type": "tool_result", "tool_use_id": "toolu_web", "content": "Redis is great"}])
    spoke(session)

    turn_review.review_next(app)

    (new,) = waiting(app)
    assert (new.body, new.lane, new.status, new.group) == ("The queue is Redis.", lane, Status.CANDIDATE, "s-1")
    assert notices.waiting(app) == ["\U0001f501 Recollect: looked back: 1 proposal in the inbox."]


def test_a_rule_in_force_stays_until_a_person_accepts_the_other(app: App, session: Transcript, model: StandIn):
    old = rule(app)
    model.answers(proposing({"name": old.id, "content": "The queue is a stream of Redis"}))
    spoke(session)
    turn_review.review_next(app)
    assert kept(app, old.id) == old
    (new,) = waiting(app)
    inbox.accept(app, new.id)
    assert (kept(app, old.id).status, kept(app, old.id).superseded_by) == (Status.SUPERSEDED, new.id)


def test_one_undo_takes_everything_back(app: App, session: Transcript, model: StandIn):
    old = thread("The queue is Kafka", body="Kafka carries the queue.")
    app.writer(Scope.PROJECT).apply(Plan.of([Create(old)]), act())
    model.answers(proposing({"name": old.id, "content": "Redis carries the queue."}, {"content": "Kafka is gone."}))
    spoke(session)

    turn_review.review_next(app)
    assert kept(app, old.id).body == "Redis carries the queue."
    assert kept(app, old.id).lane is Lane.AGENT
    assert len(waiting(app)) == 1
    (change,) = [entry for _, entry in history.log(app).entries if entry.op == "review"]
    history.undo(app, change.change)

    assert (kept(app, old.id).body, kept(app, old.id).lane) == (old.body, old.lane)
    assert waiting(app) == []


def test_a_persons_edit_meanwhile_wins(app: App, session: Transcript, model: StandIn, monkeypatch: pytest.MonkeyPatch):
    old = thread("The queue is Kafka", body="Kafka carries the queue.")
    app.writer(Scope.PROJECT).apply(Plan.of([Create(old)]), act())
    model.answers(proposing({"name": old.id, "content": "Redis carries the queue."}))
    spoke(session)
    ask = language_model.answer_text

    def and_edit(app: App, question: Ask) -> str | None:
        said = ask(app, question)
        memories.edit(app, old.id, body="Mine.")
        return said

    monkeypatch.setattr(language_model, "answer_text", and_edit)
    turn_review.review_next(app)

    assert kept(app, old.id).body == "Mine."
    assert 'why="changed meanwhile"' in log_of(app)


def test_what_was_pinned_word_for_word_stays_so(app: App, session: Transcript, model: StandIn):
    pinned = memories.pin(app, "The queue is Kafka, word for word").plan.touched()[0]
    model.answers(proposing({"name": pinned, "content": "Redis"}))
    spoke(session)
    turn_review.review_next(app)
    assert kept(app, pinned).body == "The queue is Kafka, word for word"


def test_metadata_cannot_be_touched(app: App, session: Transcript, model: StandIn):
    old = thread("The queue is Kafka", body="Kafka carries the queue.")
    app.writer(Scope.PROJECT).apply(Plan.of([Create(old)]), act())
    meant = {"name": old.id, "content": "Redis.", "status": "archived", "pinned": "true", "topics": "x", "lane": "user"}
    model.answers(proposing(meant))
    spoke(session)

    turn_review.review_next(app)

    new = kept(app, old.id)
    assert (new.status, new.pinned, new.topics, new.title, new.lane) == (
        old.status, False, old.topics, old.title, Lane.AGENT,
    )  # fmt: skip


@pytest.mark.parametrize("command", ["recollect pin 'Redis'", "ai note save 'Redis'"])
def test_nothing_is_asked_where_the_agent_wrote_memory_itself(
    command: str, app: App, session: Transcript, model: StandIn
):
    spoke(session, "remember that", command)
    assert not turn_review.review_next(app)
    assert model.calls == []
    assert 'why="the agent wrote memory itself"' in log_of(app)


def test_nothing_is_asked_before_the_turn_is_over_or_where_nothing_was_said(
    app: App, session: Transcript, model: StandIn
):
    session.ran("make", "ok")
    session.event(EventName.TURN_ENDED)
    past_sessions.catch_up(app)
    assert not turn_review.review_next(app)

    session.line("user", "the queue is Redis now")
    session.line("assistant", [{"type": "text", "text": "Let me see."}])
    session.event(EventName.TOOLS_RAN)
    past_sessions.catch_up(app)

    assert not turn_review.review_next(app)


@pytest.mark.parametrize("name", ["MEMORY_LLM", "MEMORY_UPDATE"])
def test_switched_off_nothing_is_noted(
    name: str, model: StandIn, open_app: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(name, "off")
    app = open_app(actor="agent")
    spoke(Transcript(app, tmp_path))
    monkeypatch.setenv(name, "on")
    assert not turn_review.review_next(open_app(actor="agent"))
    assert model.calls == []


def test_a_model_that_fails_changes_nothing_and_is_not_asked_again(app: App, session: Transcript, model: StandIn):
    model.path.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    spoke(session)
    turn_review.review_next(app)
    model.answers(proposing({"content": "x y z"}))
    assert not turn_review.review_next(app)
    assert waiting(app) == []


def test_what_was_said_before_or_rejected_is_not_proposed_again(app: App, session: Transcript, model: StandIn):
    rule(app, "Use pnpm, never npm")
    model.answers(proposing({"content": "Use pnpm, never npm"}, {"content": "The queue is Redis."}))
    spoke(session)
    turn_review.review_next(app)
    (one,) = waiting(app)
    inbox.reject(app, one.id)

    spoke(session, "go on with the queue")
    turn_review.review_next(app)

    assert len(model.calls) == 2
    assert waiting(app) == []


def test_several_turns_that_wait_are_one_question(app: App, session: Transcript, model: StandIn):
    spoke(session)
    spoke(session, "and the cache is Valkey")
    while turn_review.review_next(app):
        pass
    assert len(model.calls) == 1
    assert "Redis now" in model.texts[0]
    assert "Valkey" in model.texts[0]


def test_for_a_note_of_ones_own_a_note_waits_in_the_vaults_inbox(app: App, session: Transcript, model: StandIn):
    note = notes.save(app, "The queue is Kafka.", title="queue").plan.touched()[0]
    model.answers(proposing({"name": note, "content": "The queue is Redis."}))
    spoke(session)
    turn_review.review_next(app)
    vault = app.home.root / "vault"
    assert "The queue is Kafka." in (vault / "queue.md").read_text(encoding="utf-8")
    (proposal,) = (vault / "_inbox").iterdir()
    assert "The queue is Redis." in proposal.read_text(encoding="utf-8")


def test_by_hand_it_is_shown_first_and_written_when_told_to(app: App, session: Transcript, model: StandIn):
    model.answers(proposing({"content": "The queue is Redis."}))
    spoke(session)

    shown = turn_review.review(app)
    assert isinstance(shown, Done)
    assert (shown.dry_run, shown.change) == (True, None)
    assert waiting(app) == []

    done = turn_review.review(app, run=True)
    assert isinstance(done, Done)
    assert done.change is not None
    assert len(waiting(app)) == 1


def test_a_dry_run_asks_nobody(model: StandIn, open_app: Opens, app: App, session: Transcript):
    spoke(session)
    told = turn_review.review(open_app(dry_run=True))
    assert isinstance(told, Summary)
    assert told.summary.startswith("2 messages of session s-1 would be reviewed")
    assert model.calls == []


def test_by_hand_it_says_what_is_missing(model: StandIn, app: App, open_app: Opens, session: Transcript, monkeypatch):
    assert turn_review.review(app).summary == "No session was read here yet."
    spoke(session)
    monkeypatch.setenv("MEMORY_LLM", "off")
    with pytest.raises(BadInput, match="Language models are switched off"):
        turn_review.review(open_app())
