"""Which model makes the vectors is one setting; whatever it names, recall answers and says how."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.app.question_vector import TimedQuestion
from recollect.embed import shipped_id
from recollect.embed.embedder import load
from recollect.model.result import Embedding, Mark, Overview, Scope
from recollect.ops import health, recall, upkeep
from recollect.render import terminal, tools
from recollect.render.blocks import Line
from tests.embed import folders
from tests.embed.server import DIM, Server, serving
from tests.ops.ask import keep, pinned
from tests.ops.conftest import Opens
from tests.values import NOW, note


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def choosing(open_app: Opens, setting: str) -> App:
    """As a command would, with the model that the user's settings name."""
    home = Path.home() / ".recollect"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "agent.conf").write_text(f"MEMORY_EMBEDDING_MODEL={setting}\n")
    app = open_app()
    app._embedder = None
    return app


def counts(app: App) -> dict[str, int]:
    return app.reader(Scope.PROJECT).counts().vectors_by_model


# One setting


@pytest.mark.parametrize("kind", ["folder", "endpoint"])
def test_it_answers_by_words_and_vectors(open_app: Opens, server: Server, tmp_path: Path, kind: str):
    app = choosing(open_app, server.url if kind == "endpoint" else str(folders.save(tmp_path / "tiny")))
    id = pinned(app, "The deploy goes through staging")
    found = recall.recall(app, ("deploy through staging",)).found
    assert found.how == "words and vectors"
    assert [one.hit.memory.id for one in found.found] == [id]
    assert len(counts(app)) == 1


def test_no_secret_of_a_question_leaves_the_process(open_app: Opens, server: Server):
    app = choosing(open_app, server.url)
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    pinned(app, f"The deploy token is {secret}")
    recall.recall(app, ("staging", secret))
    TimedQuestion(app, f"deploy with {secret}", time.monotonic() + 30).vector()
    sent = json.dumps(server.asked)
    assert "deploy with" in sent
    assert secret not in sent


# What goes wrong


def test_an_endpoint_that_stops_answering_leaves_words_and_why_says_so(open_app: Opens, server: Server):
    app = choosing(open_app, server.url)
    id = pinned(app, "The deploy goes through staging")
    assert app.embedder.dim == DIM
    server.status = 500
    found = recall.recall(app, ("staging",)).found
    assert found.how.startswith("words alone: The embedding endpoint")
    assert [one.hit.memory.id for one in found.found] == [id]
    assert "500" in str(recall.why(app).recalls[0]["how"])


def test_a_hook_does_not_wait_for_an_endpoint_and_says_what_it_answered(open_app: Opens, server: Server):
    app = choosing(open_app, server.url)
    assert app.embedder.dim == DIM
    server.answer = lambda _: b"<html>"
    garbage = TimedQuestion(app, "how do we deploy", time.monotonic() + 30)
    assert (garbage.vector(), "holds no vectors" in garbage.how) == (None, True)
    server.waits_s = 20
    late = TimedQuestion(app, "how do we deploy", time.monotonic() + 0.3)
    assert (late.vector(), late.how.startswith("words alone")) == (None, True)


def test_a_model_that_cannot_be_used_is_said_by_status_and_doctor_and_recall(open_app: Opens, tmp_path: Path):
    app = choosing(open_app, str(folders.save(tmp_path / "odd", model_type="t5")))
    (tmp_path / "odd" / "model.safetensors").unlink()
    id = pinned(app, "The deploy goes through staging")

    found = recall.recall(app, ("staging",)).found
    [check] = [check for check in health.doctor(app).checks if check.name == "model"]
    overview = health.status(app)

    assert [one.hit.memory.id for one in found.found] == [id]
    assert "'t5'" in found.how
    assert (check.mark, "'t5'" in check.detail, "pip install" in check.repair) == (Mark.WARN, True, False)
    assert overview.embedding is not None
    assert "'t5'" in overview.embedding.problem
    assert any("words alone" in line for line in shown(overview))


def test_doctor_says_where_texts_are_sent(open_app: Opens, server: Server):
    app = choosing(open_app, "https://vectors.example.com/v1#m")
    app._embedder = load(server.url)
    [check] = [check for check in health.doctor(app).checks if check.name == "model"]
    assert "the text of every memory is sent to vectors.example.com" in check.detail


# Changing it


def test_reindex_gives_all_passages_their_new_vector_with_a_bar_and_removes_the_old(open_app: Opens, tmp_path: Path):
    before = open_app()
    keep(before, *(note(f"Thing number {number}") for number in range(70)))
    upkeep.reindex(before)
    without = upkeep.reindex(choosing(open_app, str(tmp_path / "gone")))
    assert any("is not there" in note for note in without.notes)
    app = choosing(open_app, str(folders.save(tmp_path / "tiny")))
    recall.recall(app, ("thing",))
    passages = counts(before)[shipped_id()]
    assert passages >= 70, "without a model, or by a recall with another, the old vectors stay"
    missing = tools._status(health.status(app))["passages_without_vector"]
    bar: list[tuple[float, float]] = []
    app.progress = lambda done, total, what="": bar.append((done, total))

    told = upkeep.reindex(app)

    ((model, made),) = counts(app).items()
    assert (model.partition(":")[0], made) == ("tiny", passages)
    assert told.summary == f"Indexed {passages} passages, made {missing} vectors, removed {passages} of another model."
    assert bar[-1] == (missing, missing)


# How far it is


def shown(overview: Overview) -> list[str]:
    return [block.text for block in terminal.blocks(overview, now=NOW) if isinstance(block, Line)]


@pytest.mark.parametrize("waiting", [900, 0])
def test_status_shows_how_far_a_change_is_until_all_is_done(waiting: int):
    embedding = Embedding("/m", "m:1", 1_200, 1_200 - waiting, waiting)
    lines = shown(Overview("1", "/h", None, None, (), 0, (), 0, embedding=embedding))
    assert any("900 of 1,200 passages are found by their words alone so far" in line for line in lines) is bool(waiting)
