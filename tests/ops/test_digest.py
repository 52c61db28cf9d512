"""What sessions left is read in their transcripts: once, whole, and free of what is not theirs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.base.moment import Moment
from recollect.model.act import Act, Deed, Sitting, Speaker
from recollect.model.ledger import Pointer
from recollect.model.session import EventName
from recollect.ops import digest
from recollect.ops.app import App
from recollect.ops.here import scope_here
from recollect.render import inject
from tests.values import rule

_seen: list[Sitting] = []


def look(_app: App, sitting: Sitting) -> digest.Writes:
    return lambda: _seen.append(sitting)


def breaks(_app: App, _sitting: Sitting) -> digest.Writes:
    raise ZeroDivisionError


@pytest.fixture
def sittings(monkeypatch: pytest.MonkeyPatch) -> list[Sitting]:
    _seen.clear()
    monkeypatch.setattr(digest, "_takers", lambda: [("breaks", breaks), ("look", look)])
    return _seen


class Transcript:
    def __init__(self, app: App, folder: Path, session: str = "s-1") -> None:
        self.app, self.session = app, session
        self.path = folder / f"{session}.jsonl"
        self.number = 0

    def line(self, type: str, content: object, **more: object) -> None:
        self.number += 1
        at = Moment(self.app.clock.now().micros + 1_000 * self.number).iso()
        said = {
            "type": type, "uuid": f"{self.session}-u{self.number}", "timestamp": at, "sessionId": self.session,
            "message": {"content": content}, **more,
        }  # fmt: skip
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(said) + "\n")

    def ran(self, command: str, output: str, *, failed: bool = False) -> None:
        id = f"toolu_{self.session}_{self.number}"
        self.line("assistant", [{"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}])
        result = {"type": "tool_result", "tool_use_id": id, "content": output, "is_error": failed}
        self.line("user", [result])

    def event(self, name: EventName) -> None:
        at = Moment(self.app.clock.now().micros - 5_000_000 + self.number)
        sessions = self.app.writing(scope_here(self.app)).sessions
        pointer = Pointer(
            name=str(name), host="claude-code", session=self.session, at=at, prompt=f"p{self.number}",
            transcript=str(self.path),
        )  # fmt: skip
        sessions.receive(pointer)


@pytest.fixture
def transcript(app: App, tmp_path: Path) -> Transcript:
    return Transcript(app, tmp_path)


def told(sittings: list[Sitting]) -> list[Act]:
    return [act for sitting in sittings for act in sitting.new]


def test_a_call_and_its_result_are_one_act(app: App, transcript: Transcript, sittings: list[Sitting]):
    transcript.line("user", "please test")
    transcript.ran("pytest -q", "Exit code 1\n1 failed", failed=True)
    transcript.event(EventName.TURN_ENDED)

    digest.digest(app)

    said, ran = told(sittings)
    assert (said.speaker, said.text) == (Speaker.PERSON, "please test")
    assert ran.doing is not None
    assert (ran.doing.deed, ran.doing.what, ran.failed, ran.text) == (
        Deed.RUN, "pytest -q", True, "Exit code 1\n1 failed",
    )  # fmt: skip


def test_nothing_is_taken_in_twice_and_what_went_before_is_known(
    app: App, transcript: Transcript, sittings: list[Sitting]
):
    held = digest.Held()
    transcript.line("user", "one")
    transcript.event(EventName.TURN_ENDED)
    digest.some(app, held)
    transcript.line("user", "two")
    transcript.event(EventName.TURN_ENDED)
    digest.some(app, held)
    transcript.line("user", "three")
    transcript.event(EventName.SESSION_ENDED)
    digest.some(app, digest.Held())  # another process, which remembers nothing
    digest.digest(app)

    assert [act.text for act in told(sittings)] == ["one", "two", "three"]
    assert [act.text for act in sittings[-1].acts] == ["one", "two", "three"]
    assert [sitting.ended for sitting in sittings] == [False, False, True]


def test_a_taker_that_breaks_keeps_no_other_from_its_work(app: App, transcript: Transcript, sittings: list[Sitting]):
    transcript.line("user", "one")
    transcript.event(EventName.TURN_ENDED)

    digest.digest(app)

    assert [act.text for act in told(sittings)] == ["one"]


def test_what_we_put_in_is_not_taken_out_again(app: App, transcript: Transcript, sittings: list[Sitting]):
    block = inject.rules_again(
        [rule("Use pnpm", body="Use pnpm for everything in this repository.")], nonce="12345678"
    ).text
    transcript.line("user", f"look\n{block}")
    transcript.line("attachment", "", attachment={"type": "hook_additional_context", "content": [block]})
    echo = next(line for line in block.splitlines() if "pnpm" in line)
    transcript.line("assistant", [{"type": "text", "text": f"I remember:\n{echo}\nand go on"}])
    transcript.event(EventName.TURN_ENDED)

    digest.digest(app)

    assert [act.text for act in told(sittings)] == ["look", "I remember:\nand go on"]


def test_no_secret_reaches_a_taker(app: App, transcript: Transcript, sittings: list[Sitting]):
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    transcript.ran(f"curl -H 'Authorization: Bearer {secret}'", f"token: {secret}")
    transcript.event(EventName.TURN_ENDED)

    digest.digest(app)

    assert secret not in repr(sittings)
    assert told(sittings)
