"""A transcript is read on from its cursor, and an act that was taken in once is known wherever it is met again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents import Cursor
from recollect.base.clock import FixedClock
from recollect.base.moment import Moment
from recollect.model.act import Act, Deed, Doing, Sitting, Speaker
from recollect.model.session import EventName, Session
from recollect.ops import cursors, digest
from recollect.ops.app import App
from recollect.ops.cursors import Followed
from recollect.ops.here import scope_here
from tests.ops.test_digest import Transcript, look, told
from tests.values import NOW


@pytest.fixture
def sittings(monkeypatch: pytest.MonkeyPatch) -> list[Sitting]:
    from tests.ops.test_digest import _seen

    _seen.clear()
    monkeypatch.setattr(digest, "_takers", lambda: [("look", look)])
    return _seen


@pytest.fixture
def transcript(app: App, tmp_path: Path) -> Transcript:
    return Transcript(app, tmp_path)


@given(st.text(max_size=20), st.text(max_size=20), st.integers(0, 10**12), st.booleans())
def test_a_cursor_is_read_back_as_it_was_written(path: str, session: str, offset: int, ended: bool):
    class Sessions:
        kept: dict[str, str] = {}  # noqa: RUF012

        def put_state(self, name: str, value: str) -> None:
            self.kept[name] = value

        def state(self, name: str) -> str | None:
            return self.kept.get(name)

    class Store:
        sessions = Sessions()

    one = Followed(
        path=path, session=session, agent="a", cwd="/x", cursor=Cursor(offset, "m"), ended=ended, read_at=NOW
    )  # fmt: skip
    cursors.put(Store(), one)  # type: ignore[arg-type]

    assert cursors.find(Store(), path) == one  # type: ignore[arg-type]


def test_what_was_written_without_a_word_to_us_is_read_at_the_next_look(
    app: App, transcript: Transcript, sittings: list[Sitting]
):
    transcript.line("user", "one")
    transcript.event(EventName.TURN_ENDED)
    digest.digest(app)
    transcript.line("user", "two")

    digest.digest(app)
    digest.digest(app)

    assert [act.text for act in told(sittings)] == ["one", "two"]


@pytest.mark.parametrize("is_written_anew", [False, True])
def test_all_of_a_long_piece_that_nobody_told_of_is_read(
    app: App, transcript: Transcript, sittings: list[Sitting], monkeypatch: pytest.MonkeyPatch, is_written_anew: bool
):
    monkeypatch.setattr(digest, "MOST_BYTES", 500)
    held = digest.Held()
    for number in range(10):
        transcript.line("user", f"before {number}")
    transcript.event(EventName.TURN_ENDED)
    while digest.some(app, held):
        pass
    if is_written_anew:
        transcript.path.unlink()
    for number in range(20):
        transcript.line("user", f"after {number}")
    held.compared_s.clear()

    while digest.some(app, held):
        pass

    expected = [f"before {n}" for n in range(10)] + [f"after {n}" for n in range(20)]
    assert [act.text for act in told(sittings)] == expected


def test_a_line_that_is_not_whole_yet_waits(app: App, transcript: Transcript, sittings: list[Sitting]):
    held = digest.Held()
    transcript.line("user", "one")
    transcript.event(EventName.TURN_ENDED)
    while digest.some(app, held):
        pass
    whole = transcript.path.read_bytes()
    transcript.line("user", "two")
    rest = transcript.path.read_bytes()[len(whole) :]
    transcript.path.write_bytes(whole + rest[:20])
    held.compared_s.clear()
    assert not digest.some(app, held)
    held.compared_s.clear()
    assert not digest.some(app, held), "it is not looked at for ever"

    transcript.path.write_bytes(whole + rest)
    held.compared_s.clear()
    digest.some(app, held)

    assert [act.text for act in told(sittings)] == ["one", "two"]


@pytest.mark.parametrize("keeps_session", [True, False], ids=["old session ids", "new session ids"])
def test_what_a_fork_copied_is_known_and_tells_what_went_before(
    app: App, transcript: Transcript, sittings: list[Sitting], keeps_session: bool
):
    transcript.line("user", "one")
    transcript.ran("make", "ok")
    transcript.event(EventName.TURN_ENDED)
    digest.digest(app)
    fork = Transcript(app, transcript.path.parent, "s-2")
    text = transcript.path.read_text()
    fork.path.write_text(text if keeps_session else text.replace('"s-1"', '"s-2"').replace("s-1-u", "x-"))
    fork.number = transcript.number
    fork.line("user", "two")
    fork.event(EventName.TURN_ENDED)

    digest.digest(app)

    assert [act.text for act in told(sittings)] == ["one", "ok", "two"]
    assert [act.text for act in sittings[-1].acts] == ["one", "ok", "two"]


def test_a_transcript_that_was_written_anew_is_not_taken_in_twice(
    app: App, transcript: Transcript, sittings: list[Sitting]
):
    for text in ("one", "two"):
        transcript.line("user", text)
    transcript.event(EventName.TURN_ENDED)
    digest.digest(app)
    lines = transcript.path.read_text().splitlines(keepends=True)
    transcript.path.write_text(lines[1] + lines[0])
    transcript.line("user", "three")
    transcript.event(EventName.TURN_ENDED)

    digest.digest(app)

    assert [act.text for act in told(sittings)] == ["one", "two", "three"]


def test_a_session_starts_where_its_transcript_starts(app: App, transcript: Transcript, sittings: list[Sitting]):
    """Not when it was first heard of: then its first prompt would be taken for another session's."""
    transcript.line("user", "said before anyone listened")
    first = Moment(app.clock.now().micros + 1_000)
    sessions = app.writing(scope_here(app)).sessions
    sessions.put_session(Session(id="s-1", host="claude-code", started_at=NOW.plus(days=2)), at=NOW)
    transcript.event(EventName.TURN_ENDED)

    digest.digest(app)

    assert [act.text for act in told(sittings)] == ["said before anyone listened"]
    started = sessions.session("s-1")
    assert started is not None
    assert started.started_at == first


def test_pointers_of_a_time_that_is_not_yet_are_not_waited_for(
    app: App, transcript: Transcript, sittings: list[Sitting]
):
    transcript.line("user", "one")
    transcript.event(EventName.TURN_ENDED)
    app.clock = FixedClock(app.clock.now().plus(days=-1))

    digest.digest(app)

    assert [act.text for act in told(sittings)] == ["one"]


def test_the_cursor_of_a_transcript_that_its_agent_tidied_away_goes(
    app: App, transcript: Transcript, sittings: list[Sitting]
):
    transcript.line("user", "one")
    transcript.event(EventName.SESSION_ENDED)
    digest.digest(app)
    transcript.path.unlink()

    digest.digest(app)

    assert cursors.load(app.reading(scope_here(app))) == []


def test_two_acts_are_one_only_where_they_say_the_same_at_the_same_time():
    said = Act(id="a", at=NOW, speaker=Speaker.PERSON, text="go on")
    ran = Act(id="t1", at=NOW, speaker=Speaker.TOOL, doing=Doing(Deed.RUN, what="make"))
    others = [
        said, ran, Act(id="a", at=NOW.plus(seconds=1), speaker=Speaker.PERSON, text="go on"),
        Act(id="a", at=NOW, speaker=Speaker.PERSON, text="stop"),
        Act(id="t2", at=NOW, speaker=Speaker.TOOL, doing=ran.doing),
        Act(id="a", at=Moment(0), speaker=Speaker.PERSON, text="go on"),
        Act(id="b", at=Moment(0), speaker=Speaker.PERSON, text="go on"),
    ]  # fmt: skip

    assert len({cursors.act_key(act) for act in others}) == len(others)
    assert cursors.act_key(said) == cursors.act_key(Act(id="copy", at=NOW, speaker=Speaker.PERSON, text="go on"))
