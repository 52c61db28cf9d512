"""What was asked is told without its secrets and private parts: in the answer, in its file, in `why`, in the log."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest

from recollect.ops import recalls
from recollect.ops.app import App
from tests.cli.run import run
from tests.hooks.talk import Talk
from tests.hooks.test_look_up import Door, every_door, through_file
from tests.ops.ask import holding, pinned
from tests.redact.samples import SAMPLES, Sample

FEW = tuple({s.kind: s for s in SAMPLES if len(s.text) < 80 and "\n" not in s.text}.values())[:4]
TOKEN = next(s for s in SAMPLES if s.kind == "github-token")
several_lines = pytest.mark.parametrize("sample", [s for s in SAMPLES if "\n" in s.text][:6], ids=lambda s: s.kind)


@every_door
@pytest.mark.parametrize("sample", FEW, ids=lambda sample: sample.kind)
def test_a_secret_in_a_question_is_told_by_no_answer_and_kept_in_no_file(
    app: App, talk: Talk, tmp_path: Path, door: Door, sample: Sample
):
    pinned(app, "Validators restart at night")

    text = door(app, talk, quote(f"validators {sample.text}", safe="") if door is through_file else sample.text)

    assert "# Memory Recall: " in text
    assert sample.secret not in text
    app.close()
    assert holding(tmp_path, sample.secret) == []


@several_lines
def test_a_secret_of_several_lines_is_not_told_either(app: App, talk: Talk, tmp_path: Path, sample: Sample):
    text = through_file(app, talk, quote(sample.text, safe=""))

    assert sample.secret not in text
    assert sample.secret.replace("\n", " ") not in text


@every_door
def test_what_is_private_in_a_question_is_not_told(app: App, talk: Talk, tmp_path: Path, door: Door):
    pinned(app, "Validators restart at night")
    question = "validators <private>my own business</private> at <private>home"

    text = door(app, talk, question)

    assert "validators [private] at [private]" in text
    app.close()
    assert holding(tmp_path, "my own business") == []
    assert holding(tmp_path, "at <private>home") == []


@every_door
@pytest.mark.parametrize("before", [270, 290, 299])
def test_a_secret_that_stands_where_a_long_question_is_cut_is_not_told_by_half(
    app: App, talk: Talk, tmp_path: Path, door: Door, before: int
):
    pinned(app, "Validators restart at night")
    lead = ("validators " * 40)[: before - 1]

    text = door(app, talk, f"{lead} {TOKEN.secret} and more words")

    app.close()
    assert TOKEN.secret[:8] not in text
    assert holding(tmp_path, TOKEN.secret[:8]) == []


def test_why_a_search_and_a_prompt_answered_is_told_without_the_secret(app: App, talk: Talk, tmp_path: Path):
    pinned(app, "Validators restart at night")
    asked = f"when do validators restart, the token is {TOKEN.secret}"

    talk.say(asked)
    told = json.dumps([dict(one) for one in recalls.why(app).recalls])
    recalls.search(app, (asked,))
    app.close()
    printed = run("why")
    searched = run("search", asked, "--json")

    for text in (told, printed.out, searched.out):
        assert "when do validators restart" in text
        assert TOKEN.secret not in text
    assert holding(tmp_path, TOKEN.secret) == []
