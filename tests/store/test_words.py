"""Full-text look-up: which terms are asked, and that the cost stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model.plan import Create, Plan, Remove, Update
from recollect.model.query import Query
from recollect.store import SqliteStore, Tuning, tokenizer, words
from recollect.store.migrate import schema
from tests.model.strategies import texts
from tests.values import act, messages, note, plan, renamed, thread


@pytest.fixture
def store() -> Iterator[SqliteStore]:
    store = SqliteStore(None, Tuning())
    yield store
    store.close()


class Vocabulary:
    """A database of terms with counts of our choosing."""

    def __init__(self, **counts: int) -> None:
        self._db = apsw.Connection(":memory:")
        self._analyse = tokenizer.register(self._db)
        self._db.execute(schema())
        self._db.executemany("INSERT INTO term VALUES (?, ?)", counts.items())

    def asked(self, question: str) -> words.Expression:
        expression = words.expression(self._db, self._analyse, question)
        assert expression is not None
        return expression

    def knows(self, question: str) -> bool:
        return words.expression(self._db, self._analyse, question) is not None


def test_the_rarest_terms_are_asked_first_and_only_as_many_as_fit() -> None:
    vocabulary = Vocabulary(rust=4_000, tokio=10, async_=1, server=900, python=4_500)

    asked = vocabulary.asked("python rust server tokio")

    assert asked.match == '"tokio" OR "server" OR "rust"'
    assert asked.postings == 4_910
    assert asked.newest_share == 1.0


def test_a_single_term_that_is_too_common_is_read_in_the_newest_part() -> None:
    asked = Vocabulary(test=50_000).asked("tests")

    assert asked.match == '"test"'
    assert asked.newest_share == pytest.approx(0.1)


def test_no_more_terms_are_asked_than_the_limit() -> None:
    names = [f"word{chr(97 + i)}" for i in range(20)]
    asked = Vocabulary(**{tokenizer_stem(n): 1 for n in names}).asked(" ".join(names))
    assert asked.match.count(" OR ") == words.MAX_TERMS - 1


def tokenizer_stem(word: str) -> str:
    return tokenizer.terms(tokenizer.register(apsw.Connection(":memory:")), word)[0]


def test_words_without_meaning_are_asked_only_where_there_is_nothing_else() -> None:
    vocabulary = Vocabulary(**{tokenizer_stem(word): 7 for word in (*words.STOP_WORDS, "deploy")})

    assert vocabulary.asked("how do I use this for the very deploy please").match == '"deploi"'
    assert vocabulary.knows("how do this")


def test_every_stop_word_is_known_by_its_term() -> None:
    assert {tokenizer_stem(word) for word in words.STOP_WORDS} <= words.STOP


def test_a_question_without_a_known_term_is_none() -> None:
    vocabulary = Vocabulary(rust=1)
    for question in ("", "   ", "🎉", "tokio", "AND OR", '"'):
        assert not vocabulary.knows(question)


def test_a_pasted_log_is_asked_by_its_beginning() -> None:
    vocabulary = Vocabulary(first=1, last=1)
    assert vocabulary.asked("first " + "x " * 10_000 + " last").match == '"first"'


def test_a_very_common_word_still_answers_with_the_newest(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MAX_POSTINGS", 50)
    many = [note(f"Note {i}", body="tests again") for i in range(400)]
    store.apply(Plan(tuple(map(Create, many))), act())

    found = {hit.memory.id for hit in store.search(Query(text="tests", limit=100))}

    assert found == {m.id for m in many[-50:]}


def test_a_rare_word_finds_the_oldest_among_many(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MAX_POSTINGS", 50)
    old = note("Oldest", body="tests on the zeppelin")
    store.apply(Plan((Create(old), *(Create(note(f"Note {i}", body="tests again")) for i in range(400)))), act())

    assert [hit.memory for hit in store.search(Query(text="tests of the zeppelin"))] == [old]


def test_a_word_in_the_title_says_more_than_one_in_the_body(store: SqliteStore) -> None:
    body = note("Something else", body="a line about redis, and then some")
    title = note("Redis", body="a line about caches, and then some")
    store.apply(plan(Create(body), Create(title)), act())

    assert [hit.memory for hit in store.search(Query(text="redis"))] == [title, body]


@given(st.lists(st.tuples(texts, texts, st.lists(texts, max_size=2)), min_size=1, max_size=4), texts)
@settings(max_examples=60)
def test_term_counts_are_the_indexs_own_after_any_edit(contents: list[tuple[str, str, list[str]]], title: str) -> None:
    store = SqliteStore(None, Tuning())
    for name, body, said in contents:
        memory = thread(name, body=body, topics=tuple(said))
        store.apply(plan(Create(memory, messages(memory, *said))), act())
        store.apply(plan(Update.between(memory, renamed(memory, title))), act())
    assert store.verify() == []
    for gone, held in list(store.each())[::2]:
        store.apply(plan(Remove(gone, held)), act())
    assert store.verify() == []
    store.close()


def test_terms_of_what_is_gone_are_forgotten(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db", Tuning())
    memory = note("Zeppelin")
    store.apply(plan(Create(memory)), act())
    store.apply(plan(Remove(memory)), act())
    store.close()

    db = apsw.Connection(str(tmp_path / "memory.db"))
    assert db.execute("SELECT * FROM term").fetchall() == []
    db.close()
