from __future__ import annotations

from pathlib import Path

from bench.threads import SHIPPED, read, run_threads, score


def test_figures_stand_beside_never_grouping_and_grouping_by_session(tmp_path: Path):
    some = [session for session in read(SHIPPED) if session.id in ("shop-1", "shop-2")]

    (figures,) = run_threads(tmp_path, some).figures

    ours, never, by_session = (figures.score(name) for name in ("words and files", "never grouped", "by session"))
    assert ours.f1 > max(never.f1, by_session.f1)
    assert never.purity == 1.0
    assert figures.junk_kept == 0
    assert figures.kept == 1.0


def test_scores_are_those_of_a_small_example():
    keys = [("p", "s", n) for n in range(4)]
    topics = dict(zip(keys, "aabb", strict=True))

    half = score("x", topics, dict(zip(keys, "1112", strict=True)))

    assert (half.purity, half.coverage) == (0.75, 0.75)
    assert half.precision == round((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4, 4)
    assert half.recall == 0.75
    assert score("x", topics, dict(zip(keys, "1122", strict=True))).f1 == 1.0
