"""A server on loopback makes the vectors; one that is down, late or talks nonsense is left alone and never believed."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from recollect.base.errors import BadInput, EndpointFailed
from recollect.embed import vector_server
from recollect.embed.embedder import load
from tests.embed.server import DIM, Server, serving, vector


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        yield found


def unit(text: str) -> Any:
    found = np.array(vector(text))
    return found / np.linalg.norm(found)


# What it gives


def test_vectors_come_from_the_server_at_length_one_and_in_order(server: Server):
    embedder = load(server.url)
    texts = [f"text number {number} of many" for number in range(30)]
    found = embedder.embed(texts)
    assert embedder.dim == DIM
    assert np.isfinite(embedder.embed(["\ud800", "", "\0"])).all()
    assert found.dtype == np.float32
    for row, text in zip(found, texts, strict=True):
        assert float(row @ unit(text)) == pytest.approx(1, abs=1e-5)
    assert all(len(asked["input"]) <= vector_server._BATCH_TEXTS for asked in server.asked)
    assert {asked["model"] for asked in server.asked} == {"test-model"}
    assert set(server.paths) == {"/v1/embeddings"}


def test_a_question_is_asked_alone_and_a_long_one_by_its_ends(server: Server):
    embedder = load(server.url)
    embedder.embed_one("how do we deploy")
    embedder.embed_one("first words " + "x " * 9_000 + " last words", 64)
    assert server.asked[-2]["input"] == ["how do we deploy"]
    [asked] = server.asked[-1]["input"]
    assert (asked[:11], asked[-10:]) == ("first words", "last words")
    assert len(asked) < 300


@pytest.mark.parametrize("path", ["", "/", "/v1", "/v1/", "/v1/embeddings"])
def test_an_address_may_be_written_in_each_usual_way(server: Server, path: str):
    first, other = (load(f"http://localhost:{server.port}{path}#{name}").id for name in ("m", "n"))
    assert server.paths[-1] == "/v1/embeddings"
    assert first.startswith("m@endpoint:")
    assert first != other


# The key


def test_a_key_is_shown_to_the_server_and_to_nobody_else(server: Server, tmp_path: Path):
    key = tmp_path / "embedding.key"
    key.write_text("sk-very-secret\n")
    key.chmod(0o600)
    embedder = load(server.url, key)
    assert server.headers[-1]["Authorization"] == "Bearer sk-very-secret"
    load(server.url, tmp_path / "not there")
    assert "Authorization" not in server.headers[-1]
    with pytest.raises(BadInput, match="in the open"):
        load("http://192.0.2.1/v1#m", key)
    assert "secret" not in embedder.id


@pytest.mark.skipif(os.name == "nt", reason="modes are not kept there")
@pytest.mark.parametrize(
    ("content", "mode", "said"),
    [
        (b"a\r\nX-Other: b", 0o600, "does not hold a key"),
        (b"\xff", 0o600, "be read"),
        (b"sk", 0o644, "by others"),
    ],
)
def test_a_key_that_is_none_or_open_to_others_is_refused(
    tmp_path: Path, content: bytes, mode: int, said: str
):
    (tmp_path / "key").write_bytes(content)
    (tmp_path / "key").chmod(mode)
    with pytest.raises(BadInput, match=said):
        load("http://127.0.0.1:9/v1#m", tmp_path / "key")


# What goes wrong


@pytest.mark.parametrize(
    "setting",
    ["http://", "http://:99/v1", "http://user:word@127.0.0.1/v1#m", "http://127.0.0.1:99999/v1", "http://[::1/v1",
     "http://127.0.0.1/v1?key=sk"],
)  # fmt: skip
def test_an_address_that_cannot_be_one_is_refused(setting: str):
    with pytest.raises(BadInput, match="MEMORY_EMBEDDING_MODEL"):
        load(setting)


def of_size(size: int, *, more: int = 0) -> Callable[[list[str]], Any]:
    return lambda texts: {
        "data": [{"index": n, "embedding": [0.5] * (size + n * more)} for n, _ in enumerate(texts)]
    }


def of_values(*values: Any) -> Callable[[list[str]], Any]:
    return lambda texts: {"data": [{"embedding": [value] * DIM} for value in values]}


NONE, WRONG = "holds no vectors", "a vector of finite numbers for each of 2"
ANSWERS: list[tuple[Any, str]] = [
    (of_size(32), "32 numbers, not 48"), (of_size(DIM, more=1), WRONG), (of_size(0), WRONG),
    (of_values(1), WRONG), (of_values(1, "x"), WRONG), (of_values(1, None), WRONG), (of_values(1, 1e300), WRONG),
    (of_values(1, True), WRONG), (lambda _: {"data": [{"embedding": "AAAA"}] * 2}, WRONG),
    (lambda _: b'{"data": [{"embedding": [NaN, 1]}, {"embedding": [1, 2]}]}', WRONG),
    (lambda _: b"", NONE), (lambda _: b"<html>busy</html>", NONE), (lambda _: b'{"data": [{"embedding": [NaN]', NONE),
    (lambda _: [], NONE), (lambda _: {"data": None}, NONE), (lambda _: {"data": [1, 2]}, NONE),
    (lambda _: b"[" * 100_000, NONE),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "said"), ANSWERS)
def test_an_answer_that_is_not_what_was_asked_for_is_never_used(
    server: Server, answer: Any, said: str
):
    embedder = load(server.url)
    server.answer = answer
    with pytest.raises(EndpointFailed, match=said):
        embedder.embed(["one", "another"])


@pytest.mark.parametrize(
    ("trouble", "said"),
    [(401, "401.*embedding.key"), (404, "404"), (307, "307"), ("stopped", "nothing listens there"),
     ("endless", "far too much")],
)  # fmt: skip
def test_a_refusal_is_told_with_its_reason(
    server: Server, monkeypatch: pytest.MonkeyPatch, trouble: int | str, said: str
):
    embedder = load(server.url)
    if isinstance(trouble, int):
        server.status = trouble
    elif trouble == "stopped":
        server.stop()
    else:
        monkeypatch.setattr(vector_server, "_MAX_ANSWER_BYTES", 500)
    with pytest.raises(EndpointFailed, match=said) as raised:
        embedder.embed_one("one")
    assert "tried again" in raised.value.hint


@pytest.mark.parametrize(("waits_s", "drips_s"), [(30, 0), (0, 0.05)])
@pytest.mark.parametrize("most_tokens", [None, 64])
def test_one_that_does_not_answer_in_time_is_not_waited_for(
    server: Server,
    monkeypatch: pytest.MonkeyPatch,
    waits_s: float,
    drips_s: float,
    most_tokens: int | None,
):
    embedder = load(server.url)
    monkeypatch.setattr(vector_server, "HURRIED_S", 0.3)
    monkeypatch.setattr(vector_server, "QUESTION_S", 0.3)
    server.waits_s, server.drips_s = waits_s, drips_s
    with pytest.raises(EndpointFailed, match="did not answer in time"):
        embedder.embed_one("one", most_tokens)


def test_one_that_failed_is_left_alone_for_a_while_and_then_asked_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    embedder = load(server.url)
    now_s = time.monotonic()
    clock = SimpleNamespace(monotonic=lambda: now_s)
    monkeypatch.setattr("recollect.embed.vector_server.time", clock)
    server.status = 503
    with pytest.raises(EndpointFailed, match="503"):
        embedder.embed_one("one")
    server.status, asked = 200, len(server.asked)
    with pytest.raises(EndpointFailed, match="503"):
        embedder.embed_one("one")
    assert len(server.asked) == asked, "it was not even asked"
    now_s += vector_server.LEFT_ALONE_S
    assert embedder.embed_one("one").shape == (DIM,)


def test_one_that_is_only_too_slow_for_a_hook_still_serves_the_rest(
    server: Server, monkeypatch: pytest.MonkeyPatch
):
    embedder = load(server.url)
    monkeypatch.setattr(vector_server, "HURRIED_S", 0.05)
    server.waits_s = 30
    with pytest.raises(EndpointFailed, match="in time"):
        embedder.embed_one("one", 64)
    server.go_on.set()
    assert embedder.embed(["one", "another"]).shape == (2, DIM)
