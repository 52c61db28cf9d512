"""One line a decision, redacted before it is cut."""

from __future__ import annotations

from pathlib import Path

from recollect.base.clock import SystemClock
from recollect.base.log import FILE, Log

SECRET = "s3cret-" + "x" * 20


def written(folder: Path, **values: object) -> str:
    Log(folder, SystemClock(), max_bytes=100_000, redact=lambda text: text.replace(SECRET, "[redacted]")).line(
        "e", **values
    )
    return (folder / FILE).read_text(encoding="utf-8")


def test_a_secret_that_stands_where_a_value_is_cut_is_redacted_whole(tmp_path: Path):
    line = written(tmp_path, problem="p" * 190 + SECRET + "tail")

    assert "s3cret" not in line
    assert line.endswith("p" * 10 + "[redacted]\n")


def test_a_long_value_is_cut(tmp_path: Path):
    assert len(written(tmp_path, problem="p" * 100_000)) < 300
