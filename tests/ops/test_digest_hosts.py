"""Sessions of other agents are read in their transcripts by the same takers: recorded ones, other words in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.base.moment import Moment
from recollect.jobs import transcripts
from recollect.model.session import Act, Ending, EventName, Outcome, Pointer, SessionPart, Speaker, ToolAction
from recollect.ops import past_sessions, rules

PAYLOADS = Path(__file__).resolve().parent.parent / "agents" / "payloads"
every_host = pytest.mark.parametrize("host", ["codex", "gemini"])
CORRECTION = "no, we use pnpm here, not npm"
COMMAND = "npm run build"


@pytest.fixture
def left(app: App, tmp_path: Path, host: str) -> Path:
    """A session's transcript in which a correction is made, and the pointer to its end."""
    path = tmp_path / "left.jsonl"
    text = (PAYLOADS / host / "transcript.jsonl").read_text(encoding="utf-8")
    text = text.replace("Where is the file?", CORRECTION).replace("ls /nonexistent", COMMAND)
    path.write_text(text, encoding="utf-8")
    at = Moment(app.clock.now().micros - 5_000_000)
    pointer = Pointer(
        name=str(EventName.SESSION_ENDED), host=host, session="s-1", at=at, transcript=str(path), source="exit"
    )  # fmt: skip
    app.writer(app.scope).put(pointer)
    return path


@every_host
def test_a_session_is_read_alike_and_without_what_we_put_in(app: App, left: Path, monkeypatch: pytest.MonkeyPatch):
    seen: list[Act] = []

    def look(_app: App, part: SessionPart) -> transcripts.Writes:
        return lambda: seen.extend(part.new)

    jobs = transcripts._turn_jobs()
    monkeypatch.setattr(transcripts, "_turn_jobs", lambda: [*jobs, ("look", look)])

    past_sessions.catch_up(app)

    assert [card.memory.body for card in rules.listing(app).cards] == ["Use pnpm, not npm."], "no hook saw it"
    *_, outcome = app.reader(app.scope).records(Outcome)
    assert (outcome.kind, outcome.action) == (Ending.FAILURE, COMMAND)
    first, ran = seen[0], next(act for act in seen if act.use)
    assert (first.speaker, first.text) == (Speaker.PERSON, CORRECTION)
    assert ran.use is not None
    assert (ran.use.action, ran.use.what, ran.failed) == (ToolAction.RUN, COMMAND, True)
    assert "cannot access" in ran.text
    assert seen[-1].text == "It is not there."
    assert not [act for act in seen if "imperative mood" in act.text or "MK_" in act.text]
