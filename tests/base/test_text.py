"""Values: text that is safe to store and to print, moments, ids; and the log, one line a decision."""

import json
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base import text
from recollect.base.clock import FixedClock, SystemClock
from recollect.base.ids import Mint, is_id
from recollect.base.log import FILE, Log, LogFollower, parse_line, read_last
from recollect.base.moment import Moment
from tests.values import NOW

# Lone surrogates, controls and all: what a transcript can hold.
ANY = st.text(st.characters())
SPOKEN = st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"]))
BIDI = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}


@given(ANY)
def test_what_is_storable_can_be_encoded_and_stays_as_it_is(raw: str):
    stored = text.storable(raw)
    stored.encode("utf-8")
    assert "\x00" not in stored
    assert len(stored) == len(raw)
    assert text.storable(stored) == stored


@given(SPOKEN)
def test_ordinary_text_is_stored_and_shown_untouched(raw: str):
    assert text.storable(raw) == raw
    assert text.visible(raw) == raw


@given(ANY)
def test_nothing_that_a_terminal_obeys_or_that_reorders_text_is_shown(raw: str):
    shown = text.visible(raw)
    left = {c for c in shown if unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"}} - {"\t", "\n"}
    assert left == set()
    assert [c for c in shown if unicodedata.bidirectional(c) in BIDI] == []
    assert text.visible(shown) == shown


@pytest.mark.parametrize(
    ("raw", "shown"),
    [("\x1b[31mred", "\\x1b[31mred"), ("\x9b2J", "\\x9b2J"), ("a\u202eb", "a\\u202eb"), ("\r", "\\x0d"),
     ("\U000e0041", "\\U000e0041"), ("tab\tand\nline", "tab\tand\nline"), ("👩\u200d💻", "👩\u200d💻")],
)  # fmt: skip
def test_a_control_is_shown_as_an_escape_that_can_be_read(raw: str, shown: str):
    assert text.visible(raw) == shown


@given(st.dictionaries(ANY, ANY))
def test_json_made_visible_still_says_the_same(value: dict[str, str]):
    document = text.json_visible(json.dumps(value, ensure_ascii=False, indent=2))
    assert text.visible(document) == document
    assert json.loads(document) == json.loads(json.dumps(value))


@given(ANY, st.integers(1, 50))
def test_a_clipped_text_keeps_its_limit_and_begins_as_before(raw: str, max_chars: int):
    clipped = text.clip(raw, max_chars)
    assert len(clipped) <= max_chars
    assert clipped == raw or raw.startswith(clipped.removesuffix("…"))


@given(ANY)
def test_one_line_is_one_line(raw: str):
    assert len(text.one_line(raw).splitlines()) <= 1
    assert text.one_line(text.one_line(raw)) == text.one_line(raw)


@pytest.mark.parametrize(
    ("body", "title"),
    [("# Deploy\nsteps", "Deploy"), ("\n\n  - use tabs", "use tabs"), ("", "Untitled"), ("###\n---\n", "Untitled"),
     ("word " * 30, "word " * 11 + "word…"), ("-n is never passed to make", "-n is never passed to make"),
     ("--frozen-lockfile in CI", "--frozen-lockfile in CI"), ("*.pb.go is generated", "*.pb.go is generated"),
     ("> - #releases is for bots", "#releases is for bots")],
)  # fmt: skip
def test_a_title_is_the_first_line_that_says_something(body: str, title: str):
    assert text.first_line_title(body) == title


@given(ANY, st.integers(2, 80))
def test_a_title_is_never_empty_nor_too_long(body: str, max_chars: int):
    assert 0 < len(text.first_line_title(body, max_chars)) <= max(max_chars, len("Untitled"))


# Moments

AWARE = st.datetimes(
    min_value=datetime(1900, 1, 1),  # noqa: DTZ001 - the zone is drawn apart
    max_value=datetime(2200, 1, 1),  # noqa: DTZ001
    timezones=st.timedeltas(timedelta(hours=-23), timedelta(hours=23)).map(timezone),
)
MOMENTS = AWARE.map(Moment.of)
NOON = Moment.of(datetime(2026, 2, 1, 12, 0, tzinfo=UTC))


@given(MOMENTS)
def test_what_is_printed_parses_back_to_the_same_moment(moment: Moment):
    assert Moment.parse(moment.iso()) == moment
    assert Moment.of(moment.datetime()) == moment


@given(MOMENTS, MOMENTS)
def test_moments_their_text_and_their_stamps_sort_alike(one: Moment, other: Moment):
    assert (one < other) == (one.iso() < other.iso())
    assert not (one < other) or one.stamp() <= other.stamp()


@given(AWARE)
def test_the_zone_a_time_was_told_in_does_not_matter(when: datetime):
    assert Moment.of(when) == Moment.of(when.astimezone(UTC))


@given(MOMENTS, st.integers(0, 3_650))
def test_days_added_are_days_counted_and_an_age_is_never_negative(moment: Moment, days: int):
    later = moment.plus(days=days)
    assert (later.days_since(moment), moment.days_since(later)) == (days, 0)


def test_the_forms_are_those_of_the_specification_and_a_naive_time_is_taken_as_utc():
    assert Moment.parse("2026-02-01T12:00:00") == NOON
    assert NOON.iso() == "2026-02-01T12:00:00.000000Z"
    assert NOON.stamp() == "20260201_120000"


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "1e9", "2026-02-30T00:00:00Z", "\x00"]
)
def test_what_is_no_time_is_refused(text: str):
    with pytest.raises(ValueError, match=r".*"):
        Moment.parse(text)


# Ids

START = Moment.of(datetime(2026, 2, 1, 8, 30, tzinfo=UTC))
STEPS = st.lists(st.integers(-5_000_000, 5_000_000), max_size=50)


def test_an_id_says_its_kind_and_its_second_in_utc():
    id = Mint(FixedClock(START)).draw("thread")
    assert id.startswith("thread_20260201_083000_")
    assert is_id(id)


@given(STEPS)
def test_ids_rise_even_when_the_clock_is_set_back(steps: list[int]):
    clock = FixedClock(START)
    mint = Mint(clock)
    drawn = []
    for step in steps:
        clock.at = Moment(clock.at.micros + step)
        drawn.append(mint.draw("rule"))

    assert drawn == sorted(set(drawn))
    assert all(map(is_id, drawn))


@given(st.integers(1, 10**9))
def test_ids_of_two_processes_sort_by_the_millisecond(later_ms: int):
    first = Mint(FixedClock(START)).draw("note")
    second = Mint(FixedClock(Moment(START.micros + later_ms * 1_000))).draw("note")
    assert first < second


def test_an_instant_that_runs_out_of_ids_borrows_from_the_next_second():
    mint = Mint(FixedClock(START))
    # Drawing the sixteen million before it would take minutes.
    mint._last = (START.micros // 1_000_000, 0xFFFFFE)
    assert mint.draw("thread") == "thread_20260201_083000_ffffff"
    assert mint.draw("thread") == "thread_20260201_083001_000000"
    assert mint.draw("thread") == "thread_20260201_083001_000001"


@pytest.mark.parametrize(
    "text",
    ["", "thread", "thread_20260201_083000_abc12", "Thread_20260201_083000_abc123", "../etc/passwd",
     "thread_20260201_083000_abc123\n", "thread_20260201_083000_abc123 ", "thread_2026020１_083000_abc12g"],
)  # fmt: skip
def test_what_only_looks_like_an_id_is_none(text: str):
    assert not is_id(text)


# The log


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path, FixedClock(NOW), max_bytes=4_000, redact=lambda text: text)


def test_the_newest_lines_come_last(log: Log, tmp_path: Path):
    assert read_last(tmp_path / "nowhere", limit=5) == []
    for number in range(5):
        log.line("prompt", session="s-1", number=number)
    assert [parse_line(line)["number"] for line in read_last(tmp_path, limit=3)] == ["2", "3", "4"]


def test_only_those_of_a_session(log: Log, tmp_path: Path):
    log.line("prompt", session="abc-1")
    log.line("prompt", session="xyz-1", agent="abc")
    log.line("pin", change="c")
    assert [
        parse_line(line)["session"] for line in read_last(tmp_path, limit=9, session="abc")
    ] == ["abc-1"]


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


def test_a_watcher_waits_for_a_log_that_is_not_there_and_for_lines_that_are_not_whole(
    tmp_path: Path,
):
    watcher = LogFollower(tmp_path)
    assert watcher.read_new() == []
    (tmp_path / FILE).write_text("2026 prompt session=s-1\n2026 prom")

    assert watcher.read_new() == ["2026 prompt session=s-1"]
    with (tmp_path / FILE).open("a") as file:
        file.write("pt x=1\n")
    assert watcher.read_new() == ["2026 prompt x=1"]


def test_a_line_is_read_into_its_parts():
    line = '2026-02-01T08:30:00Z prompt session=s-1 how="words alone: late" dropped=shown-before:2 empty=""'
    assert parse_line(line) == {
        "at": "2026-02-01T08:30:00Z", "event": "prompt", "session": "s-1", "how": "words alone: late",
        "dropped": "shown-before:2", "empty": "",
    }  # fmt: skip


def test_a_secret_that_stands_where_a_value_is_cut_is_redacted_whole(tmp_path: Path):
    secret = "s3cret-" + "x" * 20
    log = Log(
        tmp_path,
        SystemClock(),
        max_bytes=100_000,
        redact=lambda text: text.replace(secret, "[redacted]"),
    )
    log.line("e", problem="p" * 190 + secret + "tail" * 1_000)
    line = (tmp_path / FILE).read_text(encoding="utf-8")
    assert "s3cret" not in line
    assert line.endswith("p" * 10 + "[redacted]\n")
    assert len(line) < 300


def test_words_are_joined_as_in_a_sentence():
    assert text.join_words(["tabs"]) == "tabs"
    assert text.join_words(("tabs", "spaces")) == "tabs and spaces"
    assert text.join_words(["tabs", "spaces", "line ends"]) == "tabs, spaces and line ends"
