"""The store's figures are complete, and the text they are taken on is what it claims to be."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.corpus import Corpus
from bench.report import percentile, share
from bench.store import run_store


def test_every_size_has_its_figures(tmp_path: Path):
    seen: list[tuple[int, int]] = []

    report = run_store(tmp_path, sizes=(20, 60), questions=5, progress=lambda *at: seen.append(at))

    assert report.passed
    assert [figures.memories for figures in report.sizes] == [20, 60]
    for figures in report.sizes:
        assert figures.grown.database_bytes > figures.bare_database_bytes > 0
        assert figures.asked.hits > 0
        assert figures.bare.hits > 0
    assert seen == sorted(seen)
    assert report.to_json()["sizes"][1]["asked"]["hits"] == report.sizes[1].asked.hits


def test_the_same_seed_tells_the_same_story():
    assert Corpus(3).text() == Corpus(3).text() != Corpus(4).text()


def test_a_text_has_its_words_and_names_among_them():
    corpus = Corpus(1)

    texts = [corpus.text(100) for _ in range(20)]

    assert all(len(text.split()) == 100 for text in texts)
    assert any("_" in text for text in texts)
    assert any("/" in text for text in texts)


def test_words_follow_zipf_so_that_some_are_common_and_most_are_rare():
    corpus = Corpus(1)
    counts: dict[str, int] = {}
    for _ in range(200):
        for word in corpus.text(100).lower().replace(".", " ").split():
            counts[word] = counts.get(word, 0) + 1

    ordered = sorted(counts.values(), reverse=True)

    assert ordered[0] > 20 * ordered[100]
    assert ordered[len(ordered) // 2] <= 2


@pytest.mark.parametrize(("percent", "value"), [(50, 2.0), (95, 4.0), (100, 4.0), (1, 1.0)])
def test_a_percentile_is_a_value_that_was_measured(percent: int, value: float):
    assert percentile([4.0, 1.0, 3.0, 2.0], percent) == value


def test_a_share_of_nothing_is_nothing():
    assert share(0, 0) == 0.0
    assert share(1, 3) == 0.3333
