"""What sessions left is read in their transcripts: once, whole, and free of what is not theirs."""

from dataclasses import replace
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.app.rule_keeping import load_rules
from recollect.base.clock import FixedClock
from recollect.base.moment import Moment
from recollect.jobs import transcript_reader, transcripts
from recollect.model.memory import Status
from recollect.model.session import (
    Act,
    Ending,
    EventName,
    Outcome,
    Pointer,
    SessionPart,
    Speaker,
    ToolAction,
    ToolUse,
)
from recollect.ops import past_sessions, rules
from recollect.ops.past_sessions import catch_up
from recollect.render import inject
from tests.ops.transcript import Parts, Transcript, texts, told
from tests.values import NOW, rule


def breaks(_app: App, _part: SessionPart) -> transcripts.Writes:
    raise ZeroDivisionError


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> Parts:
    """What was shown to a job, beside one that always fails."""
    seen: Parts = []
    look = ("look", lambda _app, part: lambda: seen.append(part))
    monkeypatch.setattr(transcripts, "_turn_jobs", lambda: [("breaks", breaks), look])
    return seen


def say(
    transcript: Transcript, *prompts: str, event: EventName | None = EventName.TURN_ENDED
) -> None:
    for text in prompts:
        transcript.line("user", text)
    if event is not None:
        transcript.event(event)


def read_all(app: App, held: transcripts.ReadingState) -> None:
    held.compared_s = -transcripts.COMPARE_S
    while transcripts.read_some(app, held):
        pass


def test_a_call_and_its_result_are_one_act_without_secrets(
    app: App, transcript: Transcript, parts: Parts
):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    transcript.line("user", "please test")
    transcript.ran("pytest -q", "Exit code 1\n1 failed", failed=True)
    transcript.ran(f"curl -H 'Authorization: Bearer {secret}'", f"token: {secret}")
    transcript.event(EventName.TURN_ENDED)
    catch_up(app)
    assert secret not in repr(parts)
    said, ran, _ = told(parts)
    assert (said.speaker, said.text) == (Speaker.PERSON, "please test")
    assert ran.use is not None
    assert (ran.use.action, ran.use.what, ran.failed, ran.text) == (
        ToolAction.RUN, "pytest -q", True, "Exit code 1\n1 failed",
    )  # fmt: skip


def test_what_is_private_is_left_out_of_a_long_text_that_is_cut(
    app: App, transcript: Transcript, parts: Parts
):
    log = "a line of a log\n" * 5_000
    long = f"look at this\n{log}<private>\n{log}the blue vault\n</private>\nthanks for that"
    say(transcript, long)
    catch_up(app)
    assert texts(parts)[0].startswith("look at this")
    assert texts(parts)[0].endswith("thanks for that")
    assert "blue vault" not in repr(parts)


def test_a_rule_at_the_end_of_a_long_prompt_is_heard_unless_it_is_private(app: App):
    log = "2026-01-01 10:00:00 INFO a line of a log\n" * 5_000
    rules.capture(app, f"{log}<private>\n{log}We always use yarn here.\n</private>\n")
    assert load_rules(app.reader(app.scope), Status.ACTIVE, Status.CANDIDATE) == []
    rules.capture(app, f"{log}<private>\n{log}\n</private>\n\nWe always use pnpm here.")
    [kept] = load_rules(app.reader(app.scope), Status.ACTIVE, Status.CANDIDATE)
    assert kept.body == "Always use pnpm."


def test_nothing_is_taken_in_twice_and_what_went_before_is_known(
    app: App, transcript: Transcript, parts: Parts
):
    held = transcripts.ReadingState()
    say(transcript, "one")
    transcripts.read_some(app, held)
    say(transcript, "two")
    transcripts.read_some(app, held)
    say(transcript, "three", event=EventName.SESSION_ENDED)
    transcripts.read_some(
        app, transcripts.ReadingState()
    )  # another process, which remembers nothing
    catch_up(app)
    assert texts(parts) == ["one", "two", "three"]
    assert [act.text for act in parts[-1].acts] == ["one", "two", "three"]
    assert [part.ended for part in parts] == [False, False, True]


def test_what_we_put_in_is_not_taken_out_again(app: App, transcript: Transcript, parts: Parts):
    told = rule("Use pnpm", body="Use pnpm for everything in this repository.")
    block = inject.session_start([told], nonce="12345678", now=NOW).text
    transcript.line("user", f"look\n{block}")
    transcript.line(
        "attachment", "", attachment={"type": "hook_additional_context", "content": [block]}
    )
    echo = next(line for line in block.splitlines() if "pnpm" in line)
    transcript.replied(f"I remember:\n{echo}\nand go on")
    transcript.event(EventName.TURN_ENDED)
    catch_up(app)
    assert texts(parts) == ["look", "I remember:\nand go on"]


@pytest.mark.parametrize("is_written_anew", [False, True])
def test_all_of_a_long_piece_that_nobody_told_of_is_read(
    app: App,
    transcript: Transcript,
    parts: Parts,
    monkeypatch: pytest.MonkeyPatch,
    is_written_anew: bool,
):
    monkeypatch.setattr(transcripts, "MOST_BYTES", 500)
    held = transcripts.ReadingState()
    before, after = [f"before {n}" for n in range(4)], [f"after {n}" for n in range(8)]
    say(transcript, *before)
    read_all(app, held)
    if is_written_anew:
        transcript.path.unlink()
    say(transcript, *after, event=None)
    read_all(app, held)
    assert texts(parts) == before + after


def test_a_line_that_is_not_whole_yet_waits(app: App, transcript: Transcript, parts: Parts):
    held = transcripts.ReadingState()
    say(transcript, "one")
    read_all(app, held)
    whole = transcript.path.read_bytes()
    say(transcript, "two", event=None)
    rest = transcript.path.read_bytes()[len(whole) :]
    transcript.path.write_bytes(whole + rest[:20])
    for _ in range(2):
        held.compared_s = -transcripts.COMPARE_S
        assert not transcripts.read_some(app, held), "it is not looked at for ever"
    transcript.path.write_bytes(whole + rest)
    read_all(app, held)
    assert texts(parts) == ["one", "two"]


@pytest.mark.parametrize("keeps_session", [True, False], ids=["old session ids", "new session ids"])
def test_what_a_fork_copied_is_known_and_what_led_to_it(
    app: App, transcript: Transcript, parts: Parts, keeps_session: bool
):
    transcript.line("user", "one")
    transcript.ran("make", "ok")
    transcript.event(EventName.TURN_ENDED)
    catch_up(app)
    fork = Transcript(app, transcript.path.parent, "s-2")
    text = transcript.path.read_text()
    fork.path.write_text(
        text if keeps_session else text.replace('"s-1"', '"s-2"').replace("s-1-u", "x-")
    )
    fork.number = transcript.number
    fork.line("user", "two")
    fork.event(EventName.TURN_ENDED)
    catch_up(app)
    assert texts(parts) == ["one", "ok", "two"]
    assert [act.text for act in parts[-1].acts] == ["one", "ok", "two"]


def test_pointers_of_a_time_that_is_not_yet_are_not_waited_for(
    app: App, transcript: Transcript, parts: Parts
):
    say(transcript, "one")
    app.clock = FixedClock(app.clock.now().plus(days=-1))
    catch_up(app)
    assert texts(parts) == ["one"]


def test_the_cursor_of_a_transcript_that_its_agent_tidied_away_goes(
    app: App, transcript: Transcript, parts: Parts
):
    say(transcript, "one", event=EventName.SESSION_ENDED)
    catch_up(app)
    transcript.path.unlink()
    catch_up(app)
    assert transcripts.live_transcripts(app.reader(app.scope)) == []


def test_two_acts_are_one_only_where_they_say_the_same_at_the_same_time():
    said = Act(id="a", at=NOW, speaker=Speaker.PERSON, text="go on")
    ran = Act(id="t1", at=NOW, speaker=Speaker.TOOL, use=ToolUse(ToolAction.RUN, what="make"))
    others = [
        said, ran, replace(said, at=NOW.plus(seconds=1)), replace(said, text="stop"), replace(ran, id="t2"),
        replace(said, at=Moment(0)), replace(said, at=Moment(0), id="b"),
    ]  # fmt: skip
    assert len({transcript_reader.act_key(act) for act in others}) == len(others)
    assert transcript_reader.act_key(said) == transcript_reader.act_key(replace(said, id="copy"))


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
def test_a_session_is_read_alike_and_without_what_we_put_in(
    app: App, left: Path, monkeypatch: pytest.MonkeyPatch
):
    seen: list[Act] = []

    def look(_app: App, part: SessionPart) -> transcripts.Writes:
        return lambda: seen.extend(part.new)

    jobs = transcripts._turn_jobs()
    monkeypatch.setattr(transcripts, "_turn_jobs", lambda: [*jobs, ("look", look)])

    past_sessions.catch_up(app)

    assert [card.memory.body for card in rules.listing(app).cards] == ["Use pnpm, not npm."], (
        "no hook saw it"
    )
    *_, outcome = app.reader(app.scope).records(Outcome)
    assert (outcome.kind, outcome.action) == (Ending.FAILURE, COMMAND)
    first, ran = seen[0], next(act for act in seen if act.use)
    assert (first.speaker, first.text) == (Speaker.PERSON, CORRECTION)
    assert ran.use is not None
    assert (ran.use.action, ran.use.what, ran.failed) == (ToolAction.RUN, COMMAND, True)
    assert "cannot access" in ran.text
    assert seen[-1].text == "It is not there."
    assert not [act for act in seen if "imperative mood" in act.text or "MK_" in act.text]
