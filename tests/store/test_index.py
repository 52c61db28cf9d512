"""The index file: whatever happens to the database, it never changes the answer that the database alone gives; a file
that is damaged, cut off or another's is never used."""

import shutil
import sys
import tempfile
import zlib
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from recollect.lifecycle import edits
from recollect.model.memory import Memory, Thread
from recollect.model.plan import Create, Plan, Say
from recollect.store import LocalStore, SqliteStore, Tuning, passage_index
from recollect.store.passage_index import PassageIndex, open_index
from tests.hostile.killed import count_calls, killed_at, moments
from tests.store.helpers import HOUSE, delete_plan, do, start, traces
from tests.values import NOW, act, messages, note, thread

WORDS = "redis cache solana night billing zeppelin 日本語 getUserName".split()
texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
picks = st.integers(0, 10_000)
MODEL, DIM = "m", 8


class PlainStore(SqliteStore):
    """Answers from the database alone."""

    def _open_index(self) -> PassageIndex | None:
        return None


def opened(path: Path, kind: type[SqliteStore] = SqliteStore) -> SqliteStore:
    return kind(path, Tuning(synchronous="OFF", busy_timeout_ms=150))


def build(store: LocalStore, model: str = MODEL) -> None:
    for _ in store.build_index(model):
        pass


def vector_of(text: str) -> bytes:
    """The same words, the same vector."""
    values = np.random.default_rng(zlib.crc32(text.encode())).normal(size=DIM)
    return np.asarray(values / np.linalg.norm(values), np.float32).tobytes()


def put_vectors(store: LocalStore, places: slice) -> None:
    waiting = store.vectorless(MODEL, 1_000)[places]
    store.put_vectors(MODEL, [(seq, vector_of(text)) for seq, text in waiting])


def check_same(store: LocalStore, plain: LocalStore, question: str) -> None:
    ours, truth = store.words(question), plain.words(question)
    assert [(t.term, t.passages) for t in ours.terms] == [(t.term, t.passages) for t in truth.terms]
    weights = {term.term: 1.0 + place for place, term in enumerate(truth.terms)}
    for kept in (2, 1_000):
        mine, best = ours.best(weights, kept), truth.best(weights, kept)
        scores = [
            sorted(sum(value for _, value in values) for values in found.values())
            for found in (mine, best)
        ]
        assert scores[0] == pytest.approx(scores[1], rel=1e-4)
        for passage in mine.keys() & best.keys():
            assert dict(mine[passage]) == pytest.approx(dict(best[passage]), rel=1e-4)
    passages = [*truth.best(weights, 1_000), 999]
    held = [
        {passage: sorted(terms) for passage, terms in one.terms_of(passages).items()}
        for one in (ours, truth)
    ]
    assert held[0] == held[1]

    asked = vector_of(question)
    few, some = (one.nearest(MODEL, asked, 3, ()).near.values() for one in (store, plain))
    lead, truly = (max((one.best for one in near), default=0) for near in (few, some))
    assert lead == pytest.approx(truly, abs=1e-4)
    near, exact = (
        one.nearest(MODEL, asked, 1_000, [1, -1, 999], voice=0.5) for one in (store, plain)
    )
    assert near.near.keys() == exact.near.keys()
    for unit, one in near.near.items():
        assert one == pytest.approx(exact.near[unit], abs=0.02)
    assert near.missing == exact.missing


class Indexed(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "memory.db"
        self.writer, self.store, self.plain = (
            opened(self.path),
            opened(self.path),
            opened(self.path, PlainStore),
        )

    def memories(self) -> list[Memory]:
        return [memory for memory, _ in self.writer.each()]

    def has_memories(self) -> bool:
        return bool(self.memories())

    def pick(self, number: int) -> Memory:
        found = self.memories()
        return found[number % len(found)]

    @rule(
        title=texts,
        body=texts,
        said=st.lists(texts, max_size=3),
        topics=st.sets(st.sampled_from(WORDS), max_size=2),
    )
    def pin(self, title: str, body: str, said: list[str], topics: set[str]) -> None:
        new = thread(title, body=body, topics=tuple(sorted(topics)))
        do(
            self.writer,
            Create(new, messages(new, *said)),
            Create(note(title, body="\n\n".join([body * 60] * 3))),
        )

    @precondition(has_memories)
    @rule(
        number=picks,
        title=st.none() | texts,
        body=st.none() | texts,
        topic=st.none() | st.sampled_from(WORDS),
    )
    def revise(self, number: int, title: str | None, body: str | None, topic: str | None) -> None:
        old = self.pick(number)
        topics = old.topics if topic is None else (topic,)
        plan = edits.revise(
            old, title=old.title if title is None else title, body=old.body if body is None else body, topics=topics,
            now=NOW,
        )  # fmt: skip
        self.writer.apply(plan, act())

    @precondition(has_memories)
    @rule(number=picks, said=texts)
    def say(self, number: int, said: str) -> None:
        old = self.pick(number)
        if isinstance(old, Thread):
            self.writer.apply(Plan((Say(old.id, messages(old, said)),)), act())

    @precondition(has_memories)
    @rule(number=picks, how=st.sampled_from(["delete", "undo", "purge"]))
    def remove(self, number: int, how: str) -> None:
        old = self.pick(number)
        if how == "purge":
            for store in (self.store, self.plain):
                store.close()
            self.writer.purge((old.id,))
            assert not list(self.folder.glob("memory.index*"))
            self.store, self.plain = opened(self.path), opened(self.path, PlainStore)
            return
        done = act()
        self.writer.apply(delete_plan(self.writer, old), done)
        if how == "undo":
            self.writer.undo(done.change, act("undo"))

    @rule(first=st.integers(0, 3), count=st.integers(1, 9))
    def embed(self, first: int, count: int) -> None:
        put_vectors(self.writer, slice(first, first + count))

    @rule()
    def embed_all(self) -> None:
        put_vectors(self.writer, slice(None))

    @rule(model=st.sampled_from([MODEL, MODEL, "other"]))
    def build(self, model: str) -> None:
        build(self.writer, model)

    @rule(steps=st.integers(1, 4), change=st.booleans())
    def cut_off(self, steps: int, change: bool) -> None:
        """In the middle of the steps something is written, or it ends."""
        for done, _ in enumerate(self.writer.build_index(MODEL)):
            if done == steps and change:
                self.pin("redis", "night cache", ["solana"], set())
            elif done == steps:
                break

    @rule()
    def reindex(self) -> None:
        self.writer.reindex()

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = opened(self.path)

    @rule(question=texts.filter(bool))
    def ask(self, question: str) -> None:
        check_same(self.store, self.plain, question)

    @invariant()
    def the_answers_are_the_same(self) -> None:
        check_same(self.store, self.plain, "redis night")

    def teardown(self) -> None:
        assert self.writer.verify() == []
        for store in (self.writer, self.store, self.plain):
            store.close()
        shutil.rmtree(self.folder)


Indexed.TestCase.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
TestIndexed = Indexed.TestCase


@pytest.fixture
def full(path: Path) -> SqliteStore:
    store = opened(path)
    do(store, *HOUSE)
    put_vectors(store, slice(None))
    build(store)
    return store


def index_of(path: Path) -> Path:
    return path.with_suffix(".index")


def uses_index(path: Path) -> bool:
    with closing(opened(path)) as store:
        store.load_vectors(MODEL)
        return store._index_in_use() is not None


@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
@settings(max_examples=60, deadline=None)
def test_a_file_with_one_wrong_bit_is_not_used(
    tmp_path_factory: pytest.TempPathFactory, where: float, bit: int
):
    folder = tmp_path_factory.mktemp("flipped")
    with closing(opened(folder / "memory.db")) as store:
        do(store, *HOUSE)
        build(store)
    file, key = folder / "memory.index", store_key(folder / "memory.db")
    assert open_index(file, key)
    data = bytearray(file.read_bytes())
    data[int(where * len(data))] ^= 1 << bit
    (folder / "other.index").write_bytes(data)
    assert open_index(folder / "other.index", key) is None


def store_key(path: Path) -> str:
    with closing(opened(path)) as store:
        return store._index_key()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.999])
def test_a_file_that_was_cut_off_is_not_used(full: SqliteStore, path: Path, share: float):
    full.close()
    assert uses_index(path)
    data = index_of(path).read_bytes()
    index_of(path).unlink()
    index_of(path).write_bytes(data[: int(share * len(data))])
    assert not uses_index(path)


def test_the_file_of_another_state_of_the_database_is_not_used(
    full: SqliteStore, path: Path, tmp_path: Path
):
    backup, first = tmp_path / "backup.db", index_of(path).read_bytes()
    full.backup(backup)
    do(full, Create(note("Later", body="redis")))
    build(full)
    full.close()
    assert uses_index(path)
    shutil.copyfile(backup, path)
    assert not uses_index(path), "the backup is older than the file"
    index_of(path).unlink()
    index_of(path).write_bytes(first)
    assert uses_index(path), "this one was there when the backup was made"
    index_of(path).unlink()
    index_of(path).symlink_to(tmp_path / "elsewhere")
    assert not uses_index(path)


def test_a_file_is_private_and_a_purge_leaves_nothing_of_it(full: SqliteStore, path: Path):
    assert index_of(path).stat().st_mode & 0o777 == 0o600
    assert traces(path.parent, "valid"), "a word of a memory"
    under_way = full.build_index(MODEL)
    next(under_way)
    with closing(opened(path)) as other:
        other.purge(tuple(memory.id for memory, _ in other.each()))
    assert list(under_way) is not None
    assert not traces(path.parent, "valid")
    assert not list(path.parent.glob("memory.index*")), (
        "nor does a build that had begun before bring it back"
    )
    full.close()


@pytest.mark.parametrize("steps", [1, 2, 5])
def test_killed_in_the_middle_the_store_is_as_it_was_and_the_next_build_is_whole(
    full: SqliteStore, path: Path, steps: int
):
    code = """
import os, signal, sys
from pathlib import Path
from recollect.store import SqliteStore, Tuning
store = SqliteStore(Path(sys.argv[1]), Tuning())
for done, _ in enumerate(store.build_index("m"), start=1):
    if done == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
"""
    before = full._index_key()
    start(code, str(path), str(steps)).communicate(timeout=60)
    assert full._index_key() == before or steps == 5
    assert uses_index(path)
    build(full)
    assert uses_index(path)
    assert not list(path.parent.glob("memory.index.*")), "what was left is removed"
    full.close()


BUILD = """
from pathlib import Path
from recollect.store import SqliteStore, Tuning
store = SqliteStore(Path(sys.argv[1]), Tuning())
for _ in store.build_index("m"):
    pass
store.close()
"""
TOUCHES_FILES = r"store/(search|passage_index|database)|program"


def test_killed_at_any_call_that_touches_the_disk_the_answers_are_the_same(
    full: SqliteStore, path: Path, tmp_path: Path
):
    told = tmp_path / "calls"
    calls = count_calls(told, str(path), within=TOUCHES_FILES, program=BUILD)
    for call in moments(calls, 12, "index"):
        before = full._index_key()

        killed_at(call, told, str(path), within=TOUCHES_FILES, program=BUILD)

        with closing(opened(path)) as store, closing(opened(path, PlainStore)) as plain:
            assert store._index_key() == before or uses_index(path), call
            check_same(store, plain, "redis night")
            build(store)
        assert uses_index(path)
        assert not list(path.parent.glob("memory.index.*")), "what was left is removed"
    full.close()


@pytest.mark.skipif(sys.platform == "win32", reason="sets a limit of the process")
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_disk_that_takes_no_more_costs_the_build_alone(
    full: SqliteStore, path: Path, tmp_path: Path, share: float
):
    room = int(share * index_of(path).stat().st_size)
    limit = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))\n"
    index_of(path).unlink()
    before = full._index_key()

    with pytest.raises(AssertionError, match="File too large"):
        killed_at(-1, tmp_path / "calls", str(path), program=BUILD.replace("for", limit + "for", 1))

    assert full._index_key() == before
    assert not list(path.parent.glob("memory.index*"))
    with closing(opened(path)) as store, closing(opened(path, PlainStore)) as plain:
        check_same(store, plain, "redis night")
        build(store)
    assert uses_index(path)
    full.close()


def test_a_large_store_gets_a_file_and_a_new_one_when_much_has_come(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("recollect.store.search.INDEXED_FROM", 50)
    with closing(opened(path)) as store:
        do(store, *(Create(note(f"Note {i}", body=f"redis {i}")) for i in range(49)))
        assert not store.lacks_index(MODEL)
        do(store, Create(note("One more")))
        assert store.lacks_index(MODEL)
        build(store)
        assert not store.lacks_index(MODEL)
        put_vectors(store, slice(None))
        do(store, *(Create(note(f"More {i}", body=f"redis {i}")) for i in range(55)))
        assert store.lacks_index(MODEL)
    with closing(SqliteStore(None, Tuning())) as held:
        assert not held.lacks_index(MODEL)
        assert list(held.build_index(MODEL)) == []


def test_many_postings_are_read_from_the_rarest_on(
    full: SqliteStore, monkeypatch: pytest.MonkeyPatch
):
    """Beyond the cap a common term counts only in passages that rarer ones have found, or in the newest."""
    monkeypatch.setattr(passage_index, "MAX_POSTINGS", 20)
    old = note("Oldest", body="tests on the zeppelin")
    do(full, Create(old), *(Create(note(f"Note {i}", body=f"tests again {i}")) for i in range(60)))
    build(full)
    full.load_vectors(MODEL)
    both = full.words("tests zeppelin")
    [(_, values)] = both.best({"zeppelin": 1.0, "test": 1.0}, 10).items()
    assert {term for term, _ in values} == {"zeppelin", "test"}
    assert len(full.words("tests").best({"test": 1.0}, 400)) == 20
    full.close()
