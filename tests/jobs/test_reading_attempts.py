"""A line of a transcript that ends the process is set aside, and everything around it is still read."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.app import rule_keeping
from recollect.app.core import App
from recollect.app.states import READ_ATTEMPTS, SET_ASIDE, Memo
from recollect.base.clock import FixedClock
from recollect.capture.prompt_text import Draft
from recollect.jobs import transcript_reader, transcripts
from recollect.model.memory import Kind
from recollect.model.query import Query
from recollect.ops import health
from tests.hooks.talk import Talk

POISON = "Never use the poisonous word."
RULES = ("We always use pnpm here.", POISON, "Never push to main directly.")


class Died(BaseException):
    """Stands for the end of the process: nothing that comes after it runs."""


@pytest.fixture
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = rule_keeping.read_prompt

    def read_prompt(app: App, text: str) -> Draft:
        if "poisonous" in text:
            raise Died
        return judge(app, text)

    monkeypatch.setattr(rule_keeping, "read_prompt", read_prompt)


def write_transcript(path: Path, session: str, cwd: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for number, text in enumerate(RULES):
            line = {
                "type": "user", "uuid": f"{session}-{number}", "sessionId": session, "cwd": str(cwd),
                "timestamp": f"2026-03-01T09:00:0{number}Z", "message": {"role": "user", "content": text},
            }  # fmt: skip
            file.write(json.dumps(line) + "\n")


def read_after_restart(app: App) -> bool:
    """As a daemon does that has just started; False: it did not survive."""
    try:
        while transcripts.work(app, Memo()):
            pass
    except Died:
        return False
    return True


def announce(app: App, session: str, path: Path) -> None:
    talk = Talk(app, session=session)
    talk.transcript = str(path)
    talk.tell("Stop")
    assert isinstance(app.clock, FixedClock)
    app.clock.at = app.clock.at.plus(seconds=5)


def bodies(app: App) -> set[str]:
    return {rule.body for rule in app.reader(app.scope).find(Query(kinds=(Kind.RULE,), limit=50))}


def test_a_line_that_ends_the_process_twice_is_set_aside_and_the_rest_is_read(
    app: App, poisoned: None, tmp_path: Path
) -> None:
    path = tmp_path / "s-1.jsonl"
    write_transcript(path, "s-1", Path.cwd())
    announce(app, "s-1", path)

    lives = [read_after_restart(app) for _ in range(3)]

    assert lives == [False, False, True]
    assert not any("poisonous" in body for body in bodies(app))
    assert any("pnpm" in body for body in bodies(app))
    assert any("push to main" in body for body in bodies(app))
    (line,) = SET_ASIDE.read(app.reader(app.scope))
    assert (line.path, line.offset) == (str(path), len(path.read_bytes().splitlines(True)[0]))


def test_the_doctor_names_the_place_and_never_the_text(
    app: App, poisoned: None, tmp_path: Path
) -> None:
    path = tmp_path / "s-1.jsonl"
    write_transcript(path, "s-1", Path.cwd())
    announce(app, "s-1", path)
    while not read_after_restart(app):
        pass

    checks = [check for check in health.doctor(app).checks if check.name == "transcripts"]

    assert [str(path) in check.detail for check in checks] == [True]
    assert "poisonous" not in checks[0].detail


def test_an_error_is_no_death(app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s-1.jsonl"
    write_transcript(path, "s-1", Path.cwd())
    announce(app, "s-1", path)

    def fail(*_given: object, **_named: object) -> None:
        raise OSError("the disk went away")

    with monkeypatch.context() as patch:
        patch.setattr(transcript_reader, "read_piece", fail)
        for _ in range(5):
            with pytest.raises(OSError, match="disk"):
                transcripts.work(app, Memo())

    assert read_after_restart(app)
    assert SET_ASIDE.read(app.reader(app.scope)) == []
    assert any("poisonous" in body for body in bodies(app))


def test_nothing_is_left_of_an_attempt_that_went_well(app: App, tmp_path: Path) -> None:
    path = tmp_path / "s-1.jsonl"
    write_transcript(path, "s-1", Path.cwd())
    announce(app, "s-1", path)

    assert read_after_restart(app)

    assert READ_ATTEMPTS.find_all(app.reader(app.scope)) == {}


def test_a_process_that_never_comes_back_to_the_interpreter_ends_and_its_report_stays(
    tmp_path: Path,
) -> None:
    report = tmp_path / "stuck.log"
    start = (
        "import re, sys; from pathlib import Path; from recollect.daemon.watchdog import Watchdog\n"
        "Watchdog(Path(sys.argv[1]), lambda: 0.0, stuck_s=1.0).start()\n"
    )

    def run(program: str) -> int:
        command = [sys.executable, "-c", program, str(report)]
        return subprocess.run(command, timeout=60, check=False).returncode

    assert run(f"{start}re.match('(a|a)+$', 'a' * 60 + 'b')") == 1
    said = report.read_text(encoding="ascii")
    assert re.search(r"line \d+ in match", said)

    assert run(start) == 0
    assert report.read_text(encoding="ascii") == said, "the next daemon leaves it for doctor"
