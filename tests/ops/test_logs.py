"""The log can be read by session, and watched while it grows and is turned over."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.base.clock import FixedClock
from recollect.base.log import FILE, Log
from recollect.ops import logs
from tests.values import NOW


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path, FixedClock(NOW), max_bytes=4_000, redact=lambda text: text)


def test_the_newest_lines_come_last(log: Log, tmp_path: Path):
    for number in range(5):
        log.line("prompt", session="s-1", number=number)

    assert [logs.parsed(line)["number"] for line in logs.last(tmp_path, limit=3)] == ["2", "3", "4"]


def test_only_those_of_a_session(log: Log, tmp_path: Path):
    log.line("prompt", session="abc-1")
    log.line("prompt", session="xyz-1", agent="abc")
    log.line("pin", change="c")

    assert [logs.parsed(line)["session"] for line in logs.last(tmp_path, limit=9, session="abc")] == ["abc-1"]


def test_lines_are_read_across_the_files_that_were_turned_over(log: Log, tmp_path: Path):
    for number in range(40):
        log.line("prompt", number=number, text="x" * 100)
    assert (tmp_path / f"{FILE}.1").exists()

    numbers = [logs.parsed(line)["number"] for line in logs.last(tmp_path, limit=12)]

    assert numbers == [str(number) for number in range(28, 40)]


def test_a_watcher_sees_every_line_once_while_the_log_is_turned_over(log: Log, tmp_path: Path):
    log.line("before")
    watcher, seen = logs.Follower(tmp_path), []
    for number in range(60):
        log.line("prompt", number=number, text="x" * 100)
        seen += [logs.parsed(line)["number"] for line in watcher.new()]

    assert seen == [str(number) for number in range(60)]


def test_a_watcher_waits_for_a_log_that_is_not_there_and_for_lines_that_are_not_whole(tmp_path: Path):
    watcher = logs.Follower(tmp_path)
    assert watcher.new() == []
    (tmp_path / FILE).write_text("2026 prompt session=s-1\n2026 prom")

    assert watcher.new() == ["2026 prompt session=s-1"]
    with (tmp_path / FILE).open("a") as file:
        file.write("pt x=1\n")
    assert watcher.new() == ["2026 prompt x=1"]


def test_there_may_be_no_log(tmp_path: Path):
    assert logs.last(tmp_path / "nowhere", limit=5) == []


def test_a_line_is_read_into_its_parts():
    line = '2026-02-01T08:30:00Z prompt session=s-1 how="words alone: late" dropped=shown-before:2 empty=""'
    assert logs.parsed(line) == {
        "at": "2026-02-01T08:30:00Z", "event": "prompt", "session": "s-1", "how": "words alone: late",
        "dropped": "shown-before:2", "empty": "",
    }  # fmt: skip
