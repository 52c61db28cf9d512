"""The benchmark of past sessions: what it reads is what an agent writes, and every figure is measured."""

from __future__ import annotations

from pathlib import Path

from bench.history import run_history
from bench.past_sessions import AS_NOW, Sessions
from recollect.agents import DEFAULT_HOST, Tail, agent, utterances
from recollect.agents.transcript import Voice
from recollect.base.moment import Moment

BEGUN = Moment.parse("2026-01-05T09:00:00Z")


def test_made_up_sessions_are_read_like_real_ones(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    Sessions(1, "/home/dev/shop", AS_NOW).write(path, BEGUN, 400_000)

    said = list(utterances(DEFAULT_HOST, Tail(path)))
    lines = path.read_bytes().splitlines()

    spoken = {Voice.PROMPT, Voice.REPLY, Voice.TOOL_CALL, Voice.TOOL_RESULT}
    assert {one.voice for one in said} == {*spoken, Voice.QUEUED}
    assert all(one.at is not None for one in said)
    passed_over = sum(len(raw) for raw in lines if not agent(DEFAULT_HOST).may_speak(raw))
    assert passed_over > 0.3 * path.stat().st_size


def test_a_folder_of_real_transcripts_is_measured_and_left_as_it_is(tmp_path: Path):
    folder = tmp_path / "real"
    Sessions(1, "/home/dev/shop", AS_NOW).write(folder / "s.jsonl", BEGUN, 200_000)
    before = (folder / "s.jsonl").read_bytes()

    report = run_history(tmp_path / "place", mb=1, seed=1, progress=lambda _done, _total: None, real=folder)

    (figures,) = report.figures
    assert (figures.transcripts, figures.mb) == ("real", 0.2)
    assert figures.acts > 10
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {"s.jsonl": before}
