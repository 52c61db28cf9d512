"""Work that is done in a session becomes a thread a moment after the turn, by a real daemon, and the next session is
told of it when it starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.base.moment import Moment
from recollect.model.memory import Memory
from recollect.model.result import Scope
from tests.daemon.real import FORKS, LINUX, House, soon
from tests.daemon.test_service import Session

pytestmark = [pytest.mark.skipif(not LINUX, reason="looks at processes in /proc"), FORKS]


def write(path: Path, at: Moment, *lines: tuple[str, object]) -> None:
    with path.open("a", encoding="utf-8") as file:
        for number, (type, content) in enumerate(lines):
            said = {"type": type, "uuid": f"u{number}", "timestamp": at.plus(seconds=number).iso()}
            file.write(json.dumps({**said, "message": {"content": content}}) + "\n")


def threads(session: Session) -> list[Memory]:
    app = session.app()
    try:
        return [memory for memory, _ in app.reader(Scope.PROJECT).each()]
    finally:
        app.close()


def test_a_thread_appears_after_a_turn_and_the_next_session_sees_it(shared: House, tmp_path: Path):
    session = Session(shared, tmp_path / "work")
    transcript = tmp_path / "t.jsonl"
    session.hook("SessionStart", source="startup", transcript_path=str(transcript))
    file = str(session.project / "services" / "tax.py")
    edit = {"type": "tool_use", "id": "toolu_1", "name": "Edit", "input": {"file_path": file}}
    app = session.app()
    write(
        transcript,
        app.clock.now().plus(seconds=1),
        ("user", "The cart shows the wrong tax for customers in Quebec"),
        ("assistant", [edit]),
        ("user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok", "is_error": False}]),
        ("assistant", [{"type": "text", "text": "QST is added on top of GST now, and rounded half up per line."}]),
    )
    app.close()

    session.hook("Stop", transcript_path=str(transcript), prompt_id="p-1")

    assert soon(lambda: threads(session)), shared.log()
    (found,) = threads(session)
    assert found.title == "Cart shows wrong tax for customers in Quebec"
    assert [anchor.path for anchor in found.anchors] == ["services/tax.py"]

    _, printed = Session(shared, session.project, "s2").hook("SessionStart", source="startup")
    assert found.id in printed.decode()
    assert found.title in printed.decode()
