"""No secret reaches a file, whichever operation it comes through. What a secret is: tests/redact."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.ops import memories, recall, rules, transfer, upkeep
from tests.ops.ask import holding, kept, made, pinned
from tests.ops.conftest import Opens
from tests.ops.test_transfer import FILE, lines_of, write
from tests.redact.samples import SAMPLES, Sample
from tests.values import NOW

# One of each of a few kinds: every kind through one operation, not every operation.
FEW = tuple({s.kind: s for s in SAMPLES if len(s.text) < 80 and "\n" not in s.text and "," not in s.text}.values())[:12]


def test_every_kind_of_secret_is_kept_out_of_every_file(app: App, tmp_path: Path):
    for sample in SAMPLES:
        done = memories.pin(app, f"Note: {sample.text} (end)", title="a title")
        assert done.notes, sample.kind
    transfer.export(app, "out.jsonl")
    upkeep.backup(app)
    app.close()

    found = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert [s.kind for s in SAMPLES if any(s.secret.encode() in content for content in found)] == []


@pytest.mark.parametrize("sample", FEW, ids=lambda sample: sample.kind)
def test_a_secret_is_kept_out_of_every_argument(app: App, tmp_path: Path, sample: Sample):
    text = f"see {sample.text}"
    id = pinned(app, "x", title=text, topics=(text,))
    memories.edit(app, id, title=f"again {text}", body=text, topics=text)
    rules.add(app, text, topics=(text,))
    recall.search(app, (text,))

    app.close()
    assert holding(tmp_path, sample.secret) == []


def test_private_blocks_are_not_kept(app: App, tmp_path: Path):
    done = memories.pin(app, "before <private>my own business</private> after", title="<private>mine</private> title")
    app.close()
    assert holding(tmp_path, "my own business") == []
    assert kept(app, made(done)).body == "before [private] after"
    assert done.notes


def test_an_import_cannot_bring_secrets_in(app: App, open_app: Opens, tmp_path: Path):
    sample = FEW[0]
    pinned(app, "Plain words.")
    transfer.export(app, "clean.jsonl")
    lines = lines_of("clean.jsonl")
    lines[1]["memory"] |= {"body": sample.text, "title": sample.text, "topics": [sample.text], "group": sample.text}
    lines[1]["memory"]["ratings"] = [{"useful": True, "timestamp": NOW.iso(), "reason": sample.text}]
    lines[1]["memory"]["anchors"] = [{"path": sample.text, "hash": ""}]
    lines[1]["messages"][0] |= {"content": sample.text, "source": sample.text}
    write(lines)
    other = open_app(home=tmp_path / "other")

    transfer.import_jsonl(other, FILE)

    other.close()
    assert holding(tmp_path / "other", sample.secret) == []


def test_equal_secrets_get_equal_marks_in_one_home_and_others_elsewhere(open_app: Opens, tmp_path: Path):
    sample = FEW[0]

    def mark(home: Path) -> str:
        app = open_app(home=home)
        return kept(app, pinned(app, sample.text)).body

    assert mark(tmp_path / "one") == mark(tmp_path / "one") != mark(tmp_path / "two")


def test_the_journal_and_the_log_hold_no_words(app: App):
    a, b = pinned(app, "Xylographer one"), pinned(app, "Xylographer two")
    memories.link(app, a, b)
    app.close()

    logs = (app.home.logs / "recollect.log").read_text()
    assert "Xylographer" not in logs
    assert a in logs
