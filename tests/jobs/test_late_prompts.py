"""A prompt is seen by its hook and in the transcript, in either order, and is captured once."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.app import notices
from recollect.app.core import App
from recollect.app.states import SESSIONS
from recollect.base.clock import FixedClock
from recollect.model.memory import Kind, Rule
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.model.session import EventName
from recollect.ops import past_sessions
from tests.hooks.talk import Talk
from tests.ops.transcript import Transcript

SAID = "we use tabs here, not spaces"


@pytest.fixture
def transcript(app: App, tmp_path: Path) -> Transcript:
    return Transcript(app, tmp_path)


@pytest.fixture
def talk(app: App, transcript: Transcript) -> Talk:
    talk = Talk(app, session="s-1")
    talk.transcript = str(transcript.path)
    return talk


def seen(app: App) -> list[int]:
    found = app.reader(Scope.PROJECT).find(Query(kinds=(Kind.RULE,), limit=10))
    return [rule.seen for rule in found if isinstance(rule, Rule)]


def read(app: App, transcript: Transcript) -> None:
    app.clock = FixedClock(app.clock.now().plus(seconds=10))
    transcript.event(EventName.TURN_ENDED)
    told = past_sessions.catch_up(app)
    assert told.facts["read"]


@pytest.mark.parametrize(
    ("hook", "written"),
    [
        (SAID, SAID),
        (
            f"/style {SAID}",
            f"<command-message>style</command-message>\n<command-name>/style</command-name>\n"
            f"<command-args>{SAID}</command-args>",
        ),
        (f"{SAID} [Image #1]", [{"type": "text", "text": f"{SAID} [Image #1]"}, {"type": "image"}]),
        (
            f"<ide_opened_file>cart.py</ide_opened_file>\n{SAID}",
            [{"type": "text", "text": "<ide_opened_file>cart.py</ide_opened_file>"}, {"type": "text", "text": SAID}],
        ),
    ],
)
def test_both_know_a_prompt_by_what_the_person_typed(
    app: App, transcript: Transcript, talk: Talk, hook: str, written: object
):
    talk.say(hook)
    transcript.line("user", written)
    read(app, transcript)

    assert seen(app) == [1]
    assert notices.waiting(app) == [], "the hook has told of it"


def test_transcript_first(app: App, transcript: Transcript, talk: Talk):
    """The daemon was held up in the middle of the hook."""
    transcript.line("user", SAID)
    read(app, transcript)

    said = talk.say(SAID)

    assert seen(app) == [1]
    assert "Use tabs, not spaces" in said.notice, "what was captured without it is told here"
    assert SESSIONS.read(app.reader(Scope.PROJECT)) == 1


@pytest.mark.parametrize("is_missed", [False, True])
def test_the_same_words_said_twice_are_two(app: App, transcript: Transcript, talk: Talk, is_missed: bool):
    for number in range(2):
        if number or not is_missed:
            talk.say(SAID)
        transcript.line("user", SAID)
    read(app, transcript)

    assert seen(app) == [2]


def test_a_notice_that_was_not_delivered_waits_for_the_next_prompt(app: App, transcript: Transcript, talk: Talk):
    talk.say(SAID, confirm=False)
    assert len(notices.waiting(app)) == 1
    said = talk.say("thanks")
    assert "Use tabs, not spaces" in said.notice
    assert notices.waiting(app) == []
