"""What patterns are unsure of is asked of a language model, later, once, and only where models are on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.app import notices, rule_keeping
from recollect.app.core import App
from recollect.jobs import job_table, llm_questions, transcripts
from recollect.model.memory import LEARNING_TAG, Kind, Lane, Rule, Status
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import EventName
from recollect.ops import past_sessions
from tests.jobs.work import run_model_jobs
from tests.llm.standin import StandIn
from tests.ops.ask import holding
from tests.ops.conftest import Opens
from tests.ops.transcript import Transcript

UNSURE = "I'd rather have snake case in the column names of the new tables"
FACT = "The staging database is only reachable through the bastion host."


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path / "model", answered("snake case in the column names"))
    monkeypatch.setenv("MEMORY_LLM", "on")
    monkeypatch.setenv("MEMORY_LLM_COMMAND", made.command)
    monkeypatch.setattr(transcripts, "JOBS", (job_table.job("doubts noted"),))
    return made


@pytest.fixture
def app(model: StandIn, open_app: Opens) -> App:
    return open_app()


@pytest.fixture
def transcript(app: App, tmp_path: Path) -> Transcript:
    return Transcript(app, tmp_path)


@pytest.fixture(autouse=True)
def unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the judge makes of a certain sentence is its own tests' matter: here it is unsure of this one alone."""
    from recollect.capture import unsure_prompts

    monkeypatch.setattr(unsure_prompts, "is_unsure", lambda draft: "snake case" in draft.text)


def answered(quote: str, *, rule: bool = True) -> str:
    return json.dumps({"rule": rule, "quote": quote, "type": "preference"})


def rules(app: App) -> list[Rule]:
    found = [one for scope in Scope for one in app.reader(scope).find(Query(kinds=(Kind.RULE,), limit=100))]
    return [one for one in found if isinstance(one, Rule)]


def told(transcript: Transcript, *prompts: str) -> None:
    for prompt in prompts:
        transcript.line("user", prompt)
    transcript.event(EventName.TURN_ENDED)
    past_sessions.catch_up(transcript.app)


def work(app: App) -> None:
    run_model_jobs(app)


def test_a_prompt_that_is_unsure_is_asked_and_becomes_a_rule_in_the_persons_lane(
    app: App, model: StandIn, transcript: Transcript
):
    told(transcript, "please run the tests", UNSURE)
    work(app)

    [text] = model.texts
    assert UNSURE in text
    [rule] = [one for one in rules(app) if one.status is Status.ACTIVE]
    assert (rule.lane, rule.group) == (Lane.USER, "s-1")
    assert "snake case in the column names" in rule.body.lower()
    assert notices.waiting(app) == [notices.rules_line([rule.body])]


def test_what_waits_for_an_answer_is_kept_as_a_pointer_never_as_words(app: App, transcript: Transcript):
    told(transcript, UNSURE)
    state = app.reader(app.scope).state("doubts")
    assert state is not None
    assert str(transcript.path) in state
    assert "snake" not in state


def test_it_is_asked_once_however_often_the_job_runs(app: App, model: StandIn, transcript: Transcript):
    told(transcript, UNSURE)
    work(app)
    work(app)
    told(transcript, "thanks")
    work(app)

    assert len(model.calls) == 1


@pytest.mark.parametrize(
    "answer", ["", "no", answered("nobody said this"), answered("snake case in", rule=False), "{}"]
)
def test_an_answer_that_names_no_rule_changes_nothing(answer: str, app: App, model: StandIn, transcript: Transcript):
    model.answers(answer)
    told(transcript, UNSURE)
    before = rules(app)
    work(app)

    assert len(model.calls) == 1
    assert rules(app) == before


def test_a_model_that_is_gone_changes_nothing(app: App, model: StandIn, transcript: Transcript):
    told(transcript, UNSURE)
    before = rules(app)
    model.path.unlink()
    work(app)
    assert rules(app) == before


def test_a_transcript_that_is_gone_asks_nobody(app: App, model: StandIn, transcript: Transcript):
    told(transcript, UNSURE)
    transcript.path.unlink()
    work(app)
    assert model.calls == []


def test_what_is_days_old_asks_nobody(app: App, model: StandIn, transcript: Transcript):
    told(transcript, UNSURE)
    app.clock.at = app.clock.now().plus(seconds=4 * 86_400)  # type: ignore[attr-defined]
    work(app)
    assert model.calls == []


def test_with_models_off_nothing_is_noted_and_nobody_asked(
    model: StandIn, open_app: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_LLM", "off")
    app = open_app()
    told(Transcript(app, tmp_path), UNSURE)
    work(app)

    assert app.reader(app.scope).state("doubts") is None
    assert model.calls == []


def test_no_secret_of_a_prompt_reaches_the_model(app: App, model: StandIn, transcript: Transcript):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    told(transcript, f"{UNSURE}, and push with {token}")
    work(app)
    assert len(model.calls) == 1
    assert holding(model.folder, token) == []


def test_a_broken_state_is_an_empty_one(app: App, model: StandIn):
    for state in ("{", "[[1]]", "null", '[["classify", "x"]]', '{"a": 1}'):
        app.writer(app.scope).put_state("doubts", state)
        assert not llm_questions.ask_next(app)
    assert model.calls == []


# Learnings


def session(transcript: Transcript) -> None:
    transcript.line("user", FACT)
    for number in range(10):
        transcript.replied(f"I read file {number} of it.")
    transcript.replied("The billing tests need redis to be up.")
    transcript.event(EventName.SESSION_ENDED)
    past_sessions.catch_up(transcript.app)


def test_learnings_of_a_session_wait_in_the_inbox_in_the_lane_of_who_said_them(
    app: App, model: StandIn, transcript: Transcript
):
    learnt = [
        {"learning": "x", "quote": FACT},
        {"learning": "Billing's tests need a redis that is up.", "quote": "The billing tests need redis to be up."},
        {"learning": "Something that nobody ever said there.", "quote": "words that nobody ever said"},
    ]
    model.answers(json.dumps(learnt))
    session(transcript)
    work(app)

    found = {one.body: one for one in rules(app) if LEARNING_TAG in one.tags}
    assert {(body, one.lane, one.status) for body, one in found.items()} == {
        (FACT, Lane.USER, Status.CANDIDATE),
        ("Billing's tests need a redis that is up.", Lane.AGENT, Status.CANDIDATE),
    }
    assert "Recollect: 2 wait in the inbox: recollect inbox" in notices.waiting(app)


def test_a_session_that_taught_nothing_costs_one_call_and_says_nothing(
    app: App, model: StandIn, transcript: Transcript
):
    model.answers("[]")
    session(transcript)
    work(app)
    assert len(model.calls) == 1
    assert notices.waiting(app) == []


def test_a_short_session_is_not_asked_about(app: App, model: StandIn, transcript: Transcript):
    transcript.line("user", "hello")
    transcript.event(EventName.SESSION_ENDED)
    past_sessions.catch_up(app)
    work(app)
    assert model.calls == []


def test_a_hook_asks_nobody(app: App, model: StandIn):
    """What a prompt waits for never asks; the asking is the job's."""
    rule_keeping.capture_prompt(app, rule_keeping.read_prompt(app, UNSURE), session="s-1")
    assert model.calls == []
