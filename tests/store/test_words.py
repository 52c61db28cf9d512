"""Full-text look-up: which terms are asked, and that the cost stays bounded."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model.evidence import TermEvidence, WordEvidence
from recollect.model.plan import Create, Plan, Remove, Update
from recollect.model.query import Query
from recollect.store import Store, Tuning, tokenizer, words
from tests.model.strategies import texts
from tests.store.asking import search
from tests.values import act, messages, note, plan, renamed, thread

MOST = words.MAX_POSTINGS


class Vocabulary:
    """A database of terms with counts of our choosing."""

    def __init__(self, **counts: int) -> None:
        self._store = Store(None, Tuning())
        self._store._db.executemany("INSERT INTO term VALUES (?, ?)", counts.items())

    def asked(self, question: str) -> list[str]:
        """The terms that are looked up: those that the store knows."""
        return [found.term for found in self.evidence(question).terms if found.passages]

    def evidence(self, question: str) -> WordEvidence:
        return self._store.words(question)


def test_the_rarest_terms_are_asked_first_and_only_as_many_as_fit() -> None:
    vocabulary = Vocabulary(rust=MOST - 1_000, tokio=10, async_=1, server=900, python=MOST - 900)
    assert vocabulary.asked("python rust server tokio") == ["tokio", "server", "rust"]


def test_a_single_term_that_is_too_common_is_asked_all_the_same() -> None:
    assert Vocabulary(test=MOST * 10).asked("tests") == ["test"]


def test_no_more_terms_are_asked_than_the_limit() -> None:
    names = [f"word{chr(97 + i)}" for i in range(20)]
    assert len(Vocabulary(**{tokenizer_stem(n): 1 for n in names}).asked(" ".join(names))) == words.MAX_TERMS


def tokenizer_stem(word: str) -> str:
    return tokenizer.terms(tokenizer.register(apsw.Connection(":memory:")), word)[0]


def test_words_without_meaning_are_asked_only_where_there_is_nothing_else() -> None:
    vocabulary = Vocabulary(**{tokenizer_stem(word): 7 for word in (*words.STOP_WORDS, "deploy")})
    assert vocabulary.asked("how do I use this for the very deploy please") == ["deploi"]
    assert vocabulary.asked("how do this")


def test_every_stop_word_is_known_by_its_term() -> None:
    assert {tokenizer_stem(word) for word in words.STOP_WORDS} <= words.STOP_TERMS


def test_a_question_without_a_known_term_has_no_evidence() -> None:
    vocabulary = Vocabulary(rust=1)
    for question in ("", "   ", "🎉", "tokio", "AND OR", '"'):
        assert vocabulary.asked(question) == []


def test_a_term_that_is_not_known_is_named_and_stands_nowhere() -> None:
    [known, unknown] = Vocabulary(rust=1).evidence("rust tokio").terms
    assert (known.term, unknown.term) == ("rust", "tokio")
    assert (unknown.passages, unknown.rows) == (0, ())


def test_a_pasted_log_is_asked_by_its_beginning() -> None:
    vocabulary = Vocabulary(first=1, last=1)
    assert vocabulary.asked("first " + "x " * 10_000 + " last") == ["first"]


def test_a_very_common_word_still_answers_with_the_newest(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MAX_POSTINGS", 50)
    many = [note(f"Note {i}", body=f"tests again {i}") for i in range(400)]
    store.apply(Plan(tuple(map(Create, many))), act())
    found = {hit.memory.id for hit in search(store, Query(text="tests", limit=100))}
    assert found == {m.id for m in many[-50:]}


def test_a_rare_word_finds_the_oldest_among_many(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "MAX_POSTINGS", 50)
    old = note("Oldest", body="tests on the zeppelin")
    store.apply(Plan((Create(old), *(Create(note(f"Note {i}", body="tests again")) for i in range(400)))), act())
    assert [hit.memory for hit in search(store, Query(text="tests of the zeppelin"))] == [old]


def test_a_word_in_the_title_says_more_than_one_in_the_body(store: Store) -> None:
    body = note("Something else", body="a line about redis, and then some")
    title = note("Redis", body="a line about caches, and then some")
    store.apply(plan(Create(body), Create(title)), act())
    assert [hit.memory for hit in search(store, Query(text="redis"))] == [title, body]


@given(st.lists(st.tuples(texts, texts, st.lists(texts, max_size=2)), min_size=1, max_size=4), texts)
@settings(max_examples=60)
def test_term_counts_are_the_indexs_own_after_any_edit(contents: list[tuple[str, str, list[str]]], title: str) -> None:
    store = Store(None, Tuning())
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
    store = Store(tmp_path / "memory.db", Tuning())
    memory = note("Zeppelin")
    store.apply(plan(Create(memory)), act())
    store.apply(plan(Remove(memory)), act())
    store.close()

    db = apsw.Connection(str(tmp_path / "memory.db"))
    assert db.execute("SELECT * FROM term").fetchall() == []
    db.close()


def strengths(term: TermEvidence) -> list[float]:
    return [strength * term.unit for _, strength in term.rows]


def test_a_term_stands_as_strongly_whatever_its_rarity(store: Store) -> None:
    """So that stores can be weighed together: the rarity is put to it later, from all of them."""
    alone = note("One", body="zeppelin")
    store.apply(plan(Create(alone)), act())
    [before] = store.words("zeppelin").terms
    store.apply(Plan(tuple(Create(note(f"Note {i}", body="redis")) for i in range(200))), act())
    [after] = store.words("zeppelin").terms

    assert before.passages == after.passages == 1
    assert strengths(before) == pytest.approx(strengths(after), rel=0.2)


def test_words_are_found_in_the_transaction_that_wrote_them(store: Store) -> None:
    with store.transaction():
        store.apply(plan(Create(thread("redis", body="zeppelin"))), act())
        within = store.words("zeppelin")
        store.apply(plan(Create(thread("cache", body="zeppelin"))), act())

    assert [(one.term, one.passages) for one in within.terms] == [("zeppelin", 1)]
    assert [(one.term, one.passages) for one in store.words("zeppelin").terms] == [("zeppelin", 2)]
    assert store.verify() == []


def test_evidence_counts_all_passages_and_those_of_each_term(store: Store) -> None:
    store.apply(Plan(tuple(Create(note(f"Note {i}", body="redis" if i % 2 else "caches")) for i in range(20))), act())
    found = store.words("redis")
    assert found.passages == store.counts().passages == 20
    assert [(term.term, term.passages, len(term.rows)) for term in found.terms] == [("redi", 10, 10)]


@given(st.lists(st.lists(st.sampled_from("redis cache test zeppelin".split()), min_size=1), min_size=1, max_size=12))
@settings(max_examples=40)
def test_every_strength_is_a_number_above_zero_and_below_its_ceiling(bodies: list[list[str]]) -> None:
    store = Store(None, Tuning())
    store.apply(Plan(tuple(Create(note("x", body=" ".join(body))) for body in bodies)), act())
    found = store.words("redis cache test zeppelin")
    assert all(0 < strength <= 2.2001 for term in found.terms for strength in strengths(term))
    store.close()
