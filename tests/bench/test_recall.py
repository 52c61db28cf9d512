"""The recall benchmark reads what it should, refuses the rest, and holds the figures of the project's own suite."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import suites
from bench.recall import COMPARED, OURS, RecallReport, run_recall
from bench.systems import BASELINES, Baselines, RecallAgent
from recollect.base.errors import BadInput, NotFound
from recollect.store.engine import silent
from tests.cli.run import run
from tests.llm.standin import StandIn

# A little under what it reached when this was written: .936, .659 and .932. One question of forty-four is .023.
LEAST = {"recall@5": 0.92, "any@1": 0.63, "all@10": 0.93}

DOCS = [
    {"id": "7", "text": "The cache is written by the worker.", "group": "a", "date": "2026-02-01"},
    {"id": "8", "text": "Deploys wait for the canary.", "group": "a"},
]
TASK: dict[str, Any] = {
    "task": "small",
    "docs": DOCS,
    "queries": [{"id": "q", "text": "who writes the cache?", "gold": ["7"], "type": "t"}],
}


def written(folder: Path, *lines: object, name: str = "small.jsonl") -> Path:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n"
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["small.jsonl", "small.jsonl.gz", "small"])
def test_a_suite_is_read_gzipped_or_not_and_named_after_its_file(name: str, tmp_path: Path):
    suite = suites.read(written(tmp_path, TASK, "", TASK, name=name))
    assert suite.name == "small"
    assert suite.documents == 4
    assert suite.questions == 2
    assert suite.tasks[0].documents[0].at is not None
    assert suite.tasks[0].documents[1].at is None


BAD = {
    "no JSON": "{",
    "no object": "[]",
    "no documents": {"task": "t", "queries": []},
    "text that is none": TASK | {"docs": [{"id": "7", "text": 7}]},
    "no gold": TASK | {"queries": [{"id": "q", "text": "?", "gold": []}]},
    "unknown gold": TASK | {"queries": [{"id": "q", "text": "?", "gold": ["9"]}]},
    "an id twice": TASK | {"docs": [*DOCS, {"id": "7", "text": "other"}]},
    "no date": TASK | {"docs": [DOCS[0] | {"date": "soon"}]},
    "too deep": "[" * 100_000,
}


@pytest.mark.parametrize("line", BAD.values(), ids=BAD)
def test_a_line_that_is_wrong_is_named_with_its_file(line: object, tmp_path: Path):
    with pytest.raises(BadInput, match=r"small\.jsonl, line 2: "):
        suites.read(written(tmp_path, TASK, line))


def test_a_file_that_is_not_there_or_not_whole_is_refused(tmp_path: Path):
    cut = tmp_path / "cut.jsonl.gz"
    cut.write_bytes(written(tmp_path, TASK, name="small.jsonl.gz").read_bytes()[:-12])
    empty = written(tmp_path, "")

    with pytest.raises(NotFound):
        suites.read(tmp_path / "none.jsonl")
    with pytest.raises(NotFound):
        suites.read(tmp_path)
    for path in (cut, empty):
        with pytest.raises(BadInput, match=path.name):
            suites.read(path)


def ranked(question: str, vector: list[float]) -> dict[str, tuple[int, ...]]:
    texts = [
        "the cache is written by the worker",
        "deploys wait for the canary",
        "caches of the canary",
    ]
    # The first document has two passages, the second of them far from everything.
    vectors = np.array([[1, 0], [0, -1], [0.6, 0.8], [0, 1]], np.float32)
    baselines = Baselines(texts, vectors, [0, 0, 1, 2])
    found = baselines.rank(question, np.array(vector, np.float32))
    baselines.close()
    assert tuple(found) == BASELINES
    return {system: ranking.documents for system, ranking in found.items()}


def test_words_are_stemmed_vectors_take_the_nearest_passage_and_a_mix_puts_first_what_both_put_high():
    assert set(ranked("which caching?", [1, 0])["fts5"]) == {0, 2}
    assert ranked("cache", [1, 0])["dense"] == (0, 1, 2)
    assert [ranked("canary caches", [0, 1])[mix][0] for mix in ("rrf60", "convex")] == [2, 2]


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> RecallReport:
    folder, cache = tmp_path_factory.mktemp("bench"), tmp_path_factory.mktemp("cache")
    return run_recall(folder, [suites.read(suites.OWN)], cache=cache, progress=silent)


@pytest.mark.parametrize("measure", LEAST)
def test_the_own_suite_is_answered_as_well_as_before(own: RecallReport, measure: str):
    assert own.of("own", OURS).measures[measure] >= LEAST[measure]


@pytest.mark.parametrize("measure", COMPARED)
def test_recall_is_behind_no_baseline_beyond_chance(own: RecallReport, measure: str):
    assert own.of("own", OURS).differences["all"][measure].high >= 0


def test_the_command_prints_a_table_or_a_list_and_keeps_its_vectors_at_home(tmp_path: Path):
    file = str(written(tmp_path, TASK))
    shown, listed = (
        run("bench", "recall", file),
        run("bench", "recall", file, "--sample", "1", "--json"),
    )
    assert shown.code == listed.code == 0, shown.err + listed.err
    assert "any@1" in shown.out
    assert "ahead, tuned any@1 baseline" in shown.out
    assert [one["any@1"] for one in listed.json["figures"] if one["system"] == OURS] == [1.0]
    [floor] = listed.json["floor"]
    assert floor["queries"] == 1
    assert floor["unrelated"] == suites.read(suites.OWN).questions
    assert list((tmp_path / "home" / ".recollect" / "cache").iterdir())


TURNS = ["Who writes the cache?", "The worker does, every night.", "Deploys wait for the canary."]


def test_dated_documents_are_turns_of_threads_and_found_one_by_one_among_others(tmp_path: Path):
    docs = [
        {"id": str(n), "text": text, "group": "a", "date": f"2026-02-0{n}"}
        for n, text in enumerate(TURNS, start=1)
    ]
    alone = {"id": "4", "text": "Lunch is at noon.", "group": "b", "date": "2026-02-04"}
    asked = [
        ("what do deploys wait for?", ["3"]),
        ("when is lunch?", ["4"]),
        ("who writes the cache?", ["1", "2"]),
    ]
    queries = [{"id": text, "text": text, "gold": gold, "type": ""} for text, gold in asked]
    suite = suites.read(
        written(tmp_path, {"task": "t", "docs": [*docs, alone], "queries": queries})
    )
    others = [suites.read(suites.OWN), suite]
    report = run_recall(tmp_path, [suite], cache=tmp_path, progress=silent, others=others, among=20)
    ours = report.of("small", OURS)
    assert ours.measures["recall@5"] == 1.0
    assert [question.held for question in suite.tasks[0].questions] == [False, True, False]
    assert set(ours.halves) == {"tuned", "held"}
    around = suites.draw_distractors(suite, others, 20)
    assert 5 <= len(around) < others[0].documents
    assert not {document.text for document in around} & {*TURNS, "Lunch is at noon."}


def agent_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> tuple[RecallReport, StandIn]:
    model = StandIn(tmp_path / "model", answer)
    for name, value in {
        "LLM": "on",
        "LLM_COMMAND": model.command,
        "RECALL_SCHEME": "single",
    }.items():
        monkeypatch.setenv(f"MEMORY_{name}", value)
    agent = RecallAgent(tmp_path)
    (tmp_path / "bench").mkdir()
    suite = suites.read(written(tmp_path, TASK, TASK))
    report = run_recall(tmp_path / "bench", [suite], cache=tmp_path, progress=silent, agent=agent)
    agent.close()
    assert agent.asked == 2
    return report, model


def test_the_recall_agent_is_one_system_more_and_its_silence_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    report, model = agent_report(tmp_path, monkeypatch, "Something else entirely.")
    assert report.fell_back == 2
    assert report.of("small", "recall-agent").measures == report.of("small", OURS).measures
    assert "who writes the cache?" in model.texts[0]
    assert "written by the worker" in model.texts[0]
