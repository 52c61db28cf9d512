"""The log has one line a decision, redacted before it is cut; it is read by session, and watched while it grows."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.base.clock import FixedClock, SystemClock
from recollect.base.log import FILE, Log, LogFollower, parse_line, read_last
from tests.values import NOW


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path, FixedClock(NOW), max_bytes=4_000, redact=lambda text: text)


def test_the_newest_lines_come_last(log: Log, tmp_path: Path):
    for number in range(5):
        log.line("prompt", session="s-1", number=number)
    assert [parse_line(line)["number"] for line in read_last(tmp_path, limit=3)] == ["2", "3", "4"]


def test_only_those_of_a_session(log: Log, tmp_path: Path):
    log.line("prompt", session="abc-1")
    log.line("prompt", session="xyz-1", agent="abc")
    log.line("pin", change="c")
    assert [parse_line(line)["session"] for line in read_last(tmp_path, limit=9, session="abc")] == ["abc-1"]


def test_lines_are_read_across_the_files_that_were_turned_over(log: Log, tmp_path: Path):
    for number in range(40):
        log.line("prompt", number=number, text="x" * 100)
    assert (tmp_path / f"{FILE}.1").exists()
    numbers = [parse_line(line)["number"] for line in read_last(tmp_path, limit=12)]
    assert numbers == [str(number) for number in range(28, 40)]


def test_a_watcher_sees_every_line_once_while_the_log_is_turned_over(log: Log, tmp_path: Path):
    log.line("before")
    watcher, seen = LogFollower(tmp_path), []
    for number in range(60):
        log.line("prompt", number=number, text="x" * 100)
        seen += [parse_line(line)["number"] for line in watcher.read_new()]
    assert seen == [str(number) for number in range(60)]


def test_a_watcher_waits_for_a_log_that_is_not_there_and_for_lines_that_are_not_whole(tmp_path: Path):
    watcher = LogFollower(tmp_path)
    assert watcher.read_new() == []
    (tmp_path / FILE).write_text("2026 prompt session=s-1\n2026 prom")

    assert watcher.read_new() == ["2026 prompt session=s-1"]
    with (tmp_path / FILE).open("a") as file:
        file.write("pt x=1\n")
    assert watcher.read_new() == ["2026 prompt x=1"]


def test_there_may_be_no_log(tmp_path: Path):
    assert read_last(tmp_path / "nowhere", limit=5) == []


def test_a_line_is_read_into_its_parts():
    line = '2026-02-01T08:30:00Z prompt session=s-1 how="words alone: late" dropped=shown-before:2 empty=""'
    assert parse_line(line) == {
        "at": "2026-02-01T08:30:00Z", "event": "prompt", "session": "s-1", "how": "words alone: late",
        "dropped": "shown-before:2", "empty": "",
    }  # fmt: skip


def test_a_secret_that_stands_where_a_value_is_cut_is_redacted_whole(tmp_path: Path):
    secret = "s3cret-" + "x" * 20
    log = Log(tmp_path, SystemClock(), max_bytes=100_000, redact=lambda text: text.replace(secret, "[redacted]"))
    log.line("e", problem="p" * 190 + secret + "tail" * 1_000)
    line = (tmp_path / FILE).read_text(encoding="utf-8")
    assert "s3cret" not in line
    assert line.endswith("p" * 10 + "[redacted]\n")
    assert len(line) < 300
