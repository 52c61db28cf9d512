"""What a language model is asked about a turn, by a program that stands in for it: later, once, only where models are
on; and what a model words itself never speaks for a person."""

import json
from pathlib import Path

import pytest

from recollect.app import language_model, notices, rule_keeping
from recollect.app.core import App
from recollect.app.states import read_text
from recollect.base.errors import BadInput
from recollect.capture import model_questions
from recollect.jobs import runner, transcripts
from recollect.model.ask import Ask
from recollect.model.memory import LEARNING_TAG, Kind, Lane, Memory, Rule, Status
from recollect.model.query import Query
from recollect.model.result import Done, Scope, Summary
from recollect.model.session import EventName, StateRecord
from recollect.ops import memories, notes, past_sessions, rules, turn_questions
from tests.hooks.talk import log_of
from tests.jobs.work import run_model_jobs
from tests.llm.standin import StandIn
from tests.ops.ask import keep, kept, made, pinned
from tests.ops.conftest import Opens
from tests.ops.transcript import Transcript
from tests.values import thread

UNSURE = "I'd rather have snake case in the column names of the new tables"
FACT = "The staging database is only reachable through the bastion host."
KAFKA = thread("The queue is Kafka", body="Kafka carries the queue.")


@pytest.fixture(autouse=True)
def unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the judge makes of a certain sentence is its own tests' matter: here it is unsure of this one. No other
    job looks at the turns."""
    monkeypatch.setattr(model_questions, "is_unsure", lambda draft: "snake case" in draft.text)
    monkeypatch.setattr(transcripts, "JOBS", (runner.job("questions noted"),))


@pytest.fixture
def app(model: StandIn, open_app: Opens) -> App:
    return open_app(actor="agent")


def ends(session: Transcript, event: EventName = EventName.TURN_ENDED) -> None:
    session.event(event)
    past_sessions.catch_up(session.app)


def spoke(
    session: Transcript, said: str = "the queue is Redis now, not Kafka", *commands: str
) -> None:
    """A whole turn, and its end."""
    session.line("user", said)
    for command in commands:
        session.ran(command, "ok")
    session.replied("Understood, I changed the configuration.")
    ends(session)


def all_rules(app: App) -> list[Rule]:
    found = [
        one
        for scope in Scope
        for one in app.reader(scope).find(Query(kinds=(Kind.RULE,), limit=100))
    ]
    return [one for one in found if isinstance(one, Rule)]


def waiting(app: App) -> list[Memory]:
    return [card.memory for card in rules.list_inbox(app).cards]


@pytest.fixture
def quoting(model: StandIn, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    monkeypatch.setenv("MEMORY_UPDATE", "off")
    model.answers(quote("snake case in the column names"))
    return model


def quote(words: str) -> str:
    return json.dumps({"rule": True, "quote": words, "type": "preference"})


def test_an_unsure_prompt_is_asked_about_once_and_becomes_a_rule(
    quoting: StandIn, app: App, transcript: Transcript
):
    transcript.line("user", "please run the tests")
    spoke(transcript, UNSURE)
    state = read_text(app.reader(app.scope), "questions") or ""
    assert (str(transcript.path) in state, "snake" in state) == (True, False), (
        "a pointer is kept, never words"
    )

    run_model_jobs(app)
    run_model_jobs(app)
    spoke(transcript, "thanks")
    run_model_jobs(app)

    [text] = quoting.texts
    assert UNSURE in text
    [rule] = [one for one in all_rules(app) if one.status is Status.ACTIVE]
    assert (rule.lane, rule.group) == (Lane.USER, "s-1")
    assert "snake case in the column names" in rule.body.lower()
    assert notices.waiting(app) == [
        notices.rules_line([notices.NotedRule(rule.body, is_everywhere=True)])
    ]


@pytest.mark.parametrize("answer", ["no", quote("nobody said this"), None])
def test_an_answer_without_a_rule_changes_nothing(
    answer: str | None, quoting: StandIn, app: App, transcript: Transcript
):
    spoke(transcript, UNSURE)
    before = all_rules(app)
    if answer is None:
        quoting.path.unlink()
    else:
        quoting.answers(answer)
    run_model_jobs(app)
    assert len(quoting.calls) == (answer is not None)
    assert all_rules(app) == before


def test_what_is_days_old_or_cannot_be_read_again_asks_nobody(
    quoting: StandIn, app: App, transcript: Transcript
):
    spoke(transcript, UNSURE)
    transcript.path.rename(transcript.path.with_suffix(".gone"))
    run_model_jobs(app)
    transcript.path.with_suffix(".gone").rename(transcript.path)
    spoke(transcript, f"{UNSURE}, please")
    app.clock.at = app.clock.now().plus(seconds=4 * 86_400)  # type: ignore[attr-defined]
    run_model_jobs(app)
    for state in ("{", "[[1]]", "null", '{"waiting": 1}'):
        app.writer(app.scope).put(StateRecord("questions", state))
        assert not turn_questions.ask_next(app)
    assert quoting.calls == []


def test_a_hook_asks_nobody(app: App, model: StandIn):
    """What a prompt waits for never asks; the asking is the job's."""
    rule_keeping.capture_prompt(app, rule_keeping.read_prompt(app, UNSURE), session="s-1")
    assert model.calls == []


def test_learnings_wait_in_the_inbox_in_the_lane_of_who_said_them(
    app: App, model: StandIn, transcript: Transcript
):
    transcript.line("user", FACT)
    ends(transcript, EventName.SESSION_ENDED)
    run_model_jobs(app)
    assert model.calls == [], "it is too short to teach anything"
    learnt = {
        FACT: "x", "The billing tests need redis to be up.": "Billing's tests need a redis that is up.",
        "words that nobody ever said": "Something that nobody ever said there.",
    }  # fmt: skip
    model.answers(
        json.dumps([{"learning": said, "quote": quoted} for quoted, said in learnt.items()]), "[]"
    )
    for number in range(10):
        transcript.replied(f"I read file {number} of it.")
    transcript.replied("The billing tests need redis to be up.")
    for _ in range(2):
        ends(transcript, EventName.SESSION_ENDED)
        run_model_jobs(app)

    found = {(one.body, one.lane, one.status) for one in all_rules(app) if LEARNING_TAG in one.tags}
    assert found == {
        (FACT, Lane.USER, Status.CANDIDATE),
        ("Billing's tests need a redis that is up.", Lane.AGENT, Status.CANDIDATE),
    }
    extracted = "\U0001f50d Recollect: extracted 2 learnings"
    assert f"{extracted} \u00b7 2 wait in the inbox: recollect inbox" in notices.waiting(app)
    assert len(model.calls) == 1, "nothing was said since"


def reviewed(transcript: Transcript, model: StandIn, *proposals: dict[str, str]) -> App:
    model.answers(json.dumps(proposals))
    spoke(transcript)
    run_model_jobs(transcript.app)
    return transcript.app


def test_turns_are_reviewed_once_however_often_their_end_is_told(
    app: App, transcript: Transcript, model: StandIn
):
    old = made(rules.add(app, "The queue is Kafka"))
    transcript.line("user", "the queue is Redis now, not Kafka")
    transcript.replied("Understood, I changed the configuration.")
    ends(transcript, EventName.PROMPT)
    assert not turn_questions.ask_next(app), "it is not over"
    ends(transcript)
    spoke(transcript, "and the cache is Valkey")

    for _ in range(2):
        ends(transcript)
        run_model_jobs(app)

    [text] = model.texts
    assert "[person] the queue is Redis now, not Kafka\n\n[agent] Understood" in text
    assert "Valkey" in text
    assert f"## {old} (rule): The queue is Kafka" in text
    assert notices.waiting(app) == []


def test_a_new_sentence_waits_in_the_inbox_in_the_lane_of_its_source(
    app: App, transcript: Transcript, model: StandIn
):
    transcript.called("WebFetch", {"url": "https://x.example"}, "Redis is great")
    reviewed(transcript, model, {"type": "devops", "content": "The queue is Redis."})
    (new,) = waiting(app)
    assert (new.body, new.lane, new.status, new.group) == (
        "The queue is Redis.",
        Lane.WEB,
        Status.CANDIDATE,
        "s-1",
    )
    assert notices.waiting(app) == [
        "\U0001f501 Recollect reviewed the last turn: 1 proposal in the inbox."
    ]


def test_a_rule_in_force_stays_until_a_person_accepts_the_other(
    app: App, transcript: Transcript, model: StandIn
):
    old = kept(app, made(rules.add(app, "The queue is Kafka")))
    reviewed(transcript, model, {"name": old.id, "content": "The queue is a stream of Redis"})
    assert kept(app, old.id) == old
    (new,) = waiting(app)
    rules.accept(app, (new.id,))
    assert (kept(app, old.id).status, kept(app, old.id).superseded_by) == (
        Status.SUPERSEDED,
        new.id,
    )


def test_words_alone_are_changed_and_one_undo_takes_everything_back(
    app: App, transcript: Transcript, model: StandIn
):
    keep(app, KAFKA)
    meant = {
        "content": "Redis carries it.",
        "status": "archived",
        "pinned": "true",
        "topics": "x",
        "lane": "user",
    }
    reviewed(transcript, model, {"name": KAFKA.id, **meant}, {"content": "Kafka is gone."})
    new = kept(app, KAFKA.id)
    assert (new.body, new.lane, len(waiting(app))) == ("Redis carries it.", Lane.AGENT, 1)
    assert (new.status, new.pinned, new.topics, new.title) == (
        KAFKA.status,
        False,
        KAFKA.topics,
        KAFKA.title,
    )
    (change,) = [entry for _, entry in memories.log(app).entries if entry.op == "review"]
    memories.undo(app, change.change)
    old = kept(app, KAFKA.id)
    assert (old.body, old.lane, waiting(app)) == (KAFKA.body, KAFKA.lane, [])


def test_what_a_person_edited_meanwhile_or_pinned_stays_as_it_is(
    app: App, transcript: Transcript, model: StandIn, monkeypatch: pytest.MonkeyPatch
):
    keep(app, KAFKA)
    pin = pinned(app, "The queue is Kafka, word for word")
    ask = language_model.answer_text

    def and_edit(app: App, question: Ask) -> str | None:
        answer = ask(app, question)
        memories.edit(app, KAFKA.id, body="Mine.")
        return answer

    monkeypatch.setattr(language_model, "answer_text", and_edit)
    reviewed(
        transcript,
        model,
        {"name": KAFKA.id, "content": "Redis carries it."},
        {"name": pin, "content": "Redis"},
    )

    assert [kept(app, id).body for id in (KAFKA.id, pin)] == [
        "Mine.",
        "The queue is Kafka, word for word",
    ]
    assert ('why="changed meanwhile"' in log_of(app), "why=pinned" in log_of(app)) == (True, True)


def test_nothing_is_asked_of_silence_or_where_the_agent_wrote_memory(
    app: App, transcript: Transcript, model: StandIn
):
    transcript.ran("make", "ok")
    ends(transcript)
    spoke(transcript, "remember that", "recollect pin 'Redis'")
    run_model_jobs(app)
    assert model.calls == []
    assert 'why="the agent wrote memory itself"' in log_of(app)


@pytest.mark.parametrize("name", ["MEMORY_LLM", "MEMORY_UPDATE"])
def test_switched_off_nothing_is_noted(
    name: str, model: StandIn, open_app: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(name, "off")
    app = open_app(actor="agent")
    spoke(Transcript(app, tmp_path), UNSURE if name == "MEMORY_LLM" else "the queue is Redis now")
    assert read_text(app.reader(app.scope), "questions") is None
    run_model_jobs(app)
    assert model.calls == []


def test_a_model_that_fails_changes_nothing_and_is_not_asked_again(
    app: App, transcript: Transcript, model: StandIn
):
    program = model.path.read_text()
    model.path.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    spoke(transcript)
    run_model_jobs(app)
    model.path.write_text(program)
    model.answers('[{"content": "x y z"}]')
    run_model_jobs(app)
    assert (waiting(app), model.calls) == ([], [])


def test_what_was_said_before_or_rejected_is_not_proposed_again(
    app: App, transcript: Transcript, model: StandIn
):
    rules.add(app, "Use pnpm, never npm")
    reviewed(
        transcript, model, {"content": "Use pnpm, never npm"}, {"content": "The queue is Redis."}
    )
    (one,) = waiting(app)
    rules.reject(app, (one.id,))
    spoke(transcript, "go on with the queue")
    run_model_jobs(app)
    assert len(model.calls) == 2
    assert waiting(app) == []


def test_for_a_note_of_ones_own_a_note_waits_in_the_vaults_inbox(
    app: App, transcript: Transcript, model: StandIn
):
    note = notes.save(app, "The queue is Kafka.", title="queue").plan.touched()[0]
    reviewed(transcript, model, {"name": note, "content": "The queue is Redis."})
    assert "The queue is Kafka." in (app.home.vault / "queue.md").read_text(encoding="utf-8")
    (proposal,) = (app.home.vault / "_inbox").iterdir()
    assert "The queue is Redis." in proposal.read_text(encoding="utf-8")


def test_by_hand_a_review_is_shown_first_and_written_when_told_to(
    app: App,
    open_app: Opens,
    transcript: Transcript,
    model: StandIn,
    monkeypatch: pytest.MonkeyPatch,
):
    model.answers('[{"content": "The queue is Redis."}]')
    assert turn_questions.review(app).summary == "No session was read here yet."
    spoke(transcript)
    told = turn_questions.review(open_app(dry_run=True))
    assert isinstance(told, Summary)
    assert told.summary.startswith("2 messages of session s-1 would be reviewed")
    assert model.calls == [], "a dry run asks nobody"

    shown = turn_questions.review(app)
    assert isinstance(shown, Done)
    assert (shown.dry_run, shown.change, waiting(app)) == (True, None, [])
    done = turn_questions.review(app, run=True)
    assert isinstance(done, Done)
    assert (done.change is not None, len(waiting(app))) == (True, 1)
    monkeypatch.setenv("MEMORY_LLM", "off")
    with pytest.raises(BadInput, match="Language models are switched off"):
        turn_questions.review(open_app())
