from __future__ import annotations

import json
from pathlib import Path

from bench.capture import run_capture


def labelled(path: Path, *rows: tuple[str, str]) -> Path:
    lines = [
        json.dumps({"id": str(n), "prompt": said, "kind": kind, "scope": "project", "rule": "Use tabs."})
        for n, (said, kind) in enumerate(rows)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_figures_are_of_the_file_and_stand_beside_simple_patterns(tmp_path: Path):
    file = labelled(
        tmp_path / "p.jsonl", ("we use tabs here", "preference"), ("should we use tabs?", "none"), ("hm", "devops")
    )

    (figures,) = run_capture([file]).figures

    ours, simple = figures.score("stored or inbox"), figures.score("simple patterns")
    assert (ours.heard, ours.precision, ours.recall) == (1, 1.0, 0.5)
    assert simple.precision < 1.0
    assert figures.recall_by_class == {"preference": 1.0, "correction": 0.0, "devops": 0.0}
