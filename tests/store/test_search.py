"""Asking a store by words: which terms are asked, what they find, where it is, and that the cost stays bounded."""

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model.memory import Kind
from recollect.model.plan import Create, Remove, Update
from recollect.model.query import Query, TermEvidence, WordEvidence
from recollect.recall.selection import strength_factor
from recollect.store import SqliteStore, Store, Tuning, tokenizer
from recollect.store import search as words
from tests.model.strategies import texts
from tests.store.helpers import do, search
from tests.values import messages, note, renamed, rule, thread

MOST = words.MAX_POSTINGS
AUTH = thread("Auth", body="getUserName and user_name", topics=("auth", "billing"))
SAID = messages(AUTH, "auth fails at night", "billing page is slow", "日本語 billing")
DEPLOY = thread("Deploy", body="Solana validators run at night", days_old=2)
DEPLOYED = messages(DEPLOY, "restart the validators")
TABS = rule("Tabs", body="We use tabs here", topics=("style",), days_old=5)


@pytest.fixture
def house(store: Store) -> Store:
    do(store, Create(AUTH, SAID), Create(DEPLOY, DEPLOYED), Create(TABS))
    return store


def terms_asked(question: str, **counts: int) -> WordEvidence:
    """Of a store in which terms have counts of our choosing."""
    store = SqliteStore(None, Tuning())
    store._db.executemany("INSERT INTO term VALUES (?, ?)", counts.items())
    return store.words(question)


def known(evidence: WordEvidence) -> list[str]:
    return [found.term for found in evidence.terms if found.passages]


def stem(word: str) -> str:
    return tokenizer.terms(tokenizer.register(apsw.Connection(":memory:")), word)[0]


# Which terms are asked


def test_the_rarest_terms_are_asked_first_and_only_as_many_as_fit():
    vocabulary = {"rust": MOST - 1_000, "tokio": 10, "async_": 1, "server": 900, "python": MOST - 900}
    assert known(terms_asked("python rust server tokio", **vocabulary)) == ["tokio", "server", "rust"]
    assert known(terms_asked("tests", test=MOST * 10)) == ["test"], "a single term, however common"
    names = [f"word{chr(97 + i)}" for i in range(20)]
    assert len(known(terms_asked(" ".join(names), **{stem(n): 1 for n in names}))) == words.MAX_TERMS
    assert known(terms_asked("first " + "x " * 10_000 + " last", first=1, last=1)) == ["first"], "a pasted log"


def test_words_without_meaning_are_asked_only_where_there_is_nothing_else():
    stems = {stem(word) for word in words.STOP_WORDS}
    assert stems <= words.STOP_TERMS
    vocabulary = dict.fromkeys([*stems, "deploi"], 7)
    assert known(terms_asked("how do I use this for the very deploy please", **vocabulary)) == ["deploi"]
    assert known(terms_asked("how do this", **vocabulary))


def test_unknown_terms_are_named_and_are_nowhere():
    for question in ("", "   ", "🎉", "tokio", "AND OR", '"'):
        assert known(terms_asked(question, rust=1)) == []
    first, second = terms_asked("rust tokio", rust=1).terms
    assert (first.term, second) == ("rust", TermEvidence("tokio", 0, ()))


def test_words_are_looked_up_no_further_than_asked_for(house: Store):
    assert {term.term for term in house.words("billing night").terms} == {"bill", "night"}
    assert sum(len(term.rows) for term in house.words("billing night", most=2).terms) <= 2


def test_a_common_word_finds_the_newest_and_a_rare_one_the_oldest(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(words, "MAX_POSTINGS", 50)
    old = note("Oldest", body="tests on the zeppelin")
    many = [note(f"Note {i}", body=f"tests again {i}") for i in range(400)]
    do(store, Create(old), *map(Create, many))
    assert {hit.memory.id for hit in search(store, Query(text="tests", limit=100))} == {m.id for m in many[-50:]}
    assert [hit.memory for hit in search(store, Query(text="tests of the zeppelin"))] == [old]


# What they find


@pytest.mark.parametrize(
    ("asked", "title"),
    [
        ("validator", "Deploy"), ("running", "Deploy"), ("username", "Auth"), ("get user name", "Auth"),
        ("日本", "Auth"), ("語", "Auth"), ("style", "Tabs"), ("tabs", "Tabs"), ("nothing of this", ""), ("", ""),
    ],
)  # fmt: skip
def test_words_find_titles_bodies_topics_and_messages(house: Store, asked: str, title: str):
    assert [hit.memory.title for hit in search(house, Query(text=asked))] == ([title] if title else [])


def test_a_question_finds_the_turn_that_answers_and_the_hit_explains_itself(house: Store):
    hits = search(house, Query(text="billing page", turns=5))
    assert [hit.turn.content for hit in hits[:2] if hit.turn] == ["billing page is slow", "日本語 billing"]
    assert hits[0].shown == ("billing page is slow",)
    parts = dict(hits[0].components)
    assert hits[0].score == pytest.approx(parts["match"] * strength_factor(parts["strength"]) * parts["relevance"])


def test_a_word_in_the_title_says_more_than_one_in_the_body(store: Store):
    body = note("Something else", body="a line about redis, and then some")
    title = note("Redis", body="a line about caches, and then some")
    do(store, Create(body), Create(title))
    assert [hit.memory for hit in search(store, Query(text="redis"))] == [title, body]


def test_each_memory_is_one_hit_and_none_hides_the_others(store: Store):
    crowd = [thread(f"Tabs {i}", body=f"{i} " + "tabs " * 500) for i in range(300)]
    long = thread("Long", body="\n\n".join(["indent " + "x" * 1_100] * 300))
    rare = rule("Rare", body="We settled on tabs and an indent after a long talk about many other things")
    do(store, *(Create(m, messages(m, "tabs and spaces", "more tabs")) for m in crowd), Create(long), Create(rare))

    hits = search(store, Query(text="tabs", limit=3))
    assert len(hits) == len({hit.memory.id for hit in hits}) == 3
    assert [hit.memory for hit in search(store, Query(text="tabs", kinds=(Kind.RULE,)))] == [rare]
    assert {hit.memory.title for hit in search(store, Query(text="indent"))} == {"Long", "Rare"}


def test_memories_are_found_by_topic_title_or_id(store: Store):
    topical = thread("Login", topics=("Authentication",))
    titled = thread("Why authentication broke", body="Nothing of that.")
    headed = thread("The authentication flow", body="The authentication flow is slow.")
    spoken = thread("Login", body="It mentions authentication in passing.")
    do(store, *map(Create, (topical, titled, headed, spoken)))
    names = {s.seq: s.id for s in store.sketches()}

    assert {names[seq] for seq in store.about("authentication", 10)} == {topical.id, titled.id, headed.id}
    assert [names[seq] for seq in store.about(spoken.id, 10)] == [spoken.id]
    assert store.about("", 10) == store.about('"; DROP', 10) == []


# Where it is


def test_passages_make_up_units_and_units_are_read_in_the_order_asked_for(house: Store):
    passages = [seq for seq, _ in house.vectorless("m", 100)]
    owners = house.owners(passages)
    units = sorted({owner.unit for owner in owners.values()}, reverse=True)

    pieces, found = house.pieces(units), house.read_units([*units, 99, -99])

    assert sorted(piece.passage for piece in pieces) == passages
    assert all(owners[piece.passage].unit == piece.unit for piece in pieces)
    assert [unit for unit, _, _ in found] == units
    assert all(turn is None or turn.thread_id == memory.id for _, memory, turn in found)
    texts = {unit: memory.body if turn is None else turn.content for unit, memory, turn in found}
    assert set(texts.values()) == {*(m.body for m in (AUTH, DEPLOY, TABS)), *(m.content for m in (*SAID, *DEPLOYED))}
    for unit, text in texts.items():
        assert "".join(text[p.start : p.start + p.length] for p in pieces if p.unit == unit) == text


def test_the_turns_of_a_thread_and_the_memories_of_a_group_are_neighbours(house: Store):
    owners = house.owners([seq for seq, _ in house.vectorless("m", 100)])
    turns = {turn.id: unit for unit, _, turn in house.read_units([o.unit for o in owners.values()]) if turn}
    first, second, third = (turns[m.id] for m in SAID)
    do(house, *(Create(note(f"{i}", group=group)) for i, group in enumerate(("talk", "other", "talk", "talk", ""))))

    places = house.places([first, second, third, 4, 5, 6, 7, 8, 99], neighbours=9)

    assert {unit: (place.group, place.before, place.after) for unit, place in places.items()} == {
        first: (AUTH.id, (), (second,)), second: (AUTH.id, (first,), (third,)), third: (AUTH.id, (second,), ()),
        4: ("talk", (), (6,)), 5: ("other", (), ()), 6: ("talk", (4,), (7,)), 7: ("talk", (6,), ()), 8: ("", (), ()),
    }  # fmt: skip
    assert [(place.before, place.after) for place in house.places([6, 7], neighbours=1).values()] == [
        ((4,), (7,)),
        ((), ()),
    ]


# Counts of terms


@given(st.lists(st.tuples(texts, texts, st.lists(texts, max_size=2)), min_size=1, max_size=4), texts)
@settings(max_examples=40)
def test_term_counts_are_the_indexs_own_after_any_edit(contents: list[tuple[str, str, list[str]]], title: str):
    store = SqliteStore(None, Tuning())
    for name, body, said in contents:
        memory = thread(f"{name}.", body=body, topics=tuple(said))
        do(store, Create(memory, messages(memory, *said)))
        do(store, Update.between(memory, renamed(memory, title)))
    assert store.verify() == []
    for gone, held in store.each():
        do(store, Remove(gone, held))
    assert store.verify() == []
    assert store._every("SELECT * FROM term") == []
    store.close()


def test_evidence_counts_passages_also_of_the_transaction_it_is_asked_in(store: Store):
    do(store, *(Create(note(f"Note {i}", body="redis" if i % 2 else "caches")) for i in range(20)))
    with store.transaction():
        do(store, Create(thread("new", body="zeppelin")))
        within = store.words("zeppelin")
        do(store, Create(thread("newer", body="zeppelin")))

    assert [(term.term, term.passages) for term in within.terms] == [("zeppelin", 1)]
    found = store.words("zeppelin redis")
    assert found.passages == store.counts().passages == 22
    assert [(one.term, one.passages, len(one.rows)) for one in found.terms] == [("zeppelin", 2, 2), ("redi", 10, 10)]
    assert store.verify() == []


def strengths(term: TermEvidence) -> list[float]:
    return [strength * term.unit for _, strength in term.rows]


def test_a_term_is_as_strong_whatever_its_rarity(store: Store):
    """So that stores can be weighed together: the rarity is added later, from all of them."""
    do(store, Create(note("One", body="zeppelin")))
    [before] = store.words("zeppelin").terms
    do(store, *(Create(note(f"Note {i}", body="redis")) for i in range(200)))
    [after] = store.words("zeppelin").terms
    assert strengths(before) == pytest.approx(strengths(after), rel=0.2)


@given(st.lists(st.lists(st.sampled_from("redis cache test zeppelin".split()), min_size=1), min_size=1, max_size=12))
@settings(max_examples=40)
def test_every_strength_is_above_zero_and_below_its_ceiling(bodies: list[list[str]]):
    store = SqliteStore(None, Tuning())
    do(store, *(Create(note(f"n{i}", body=" ".join(body))) for i, body in enumerate(bodies)))
    found = store.words("redis cache test zeppelin")
    assert all(0 < strength <= 2.2001 for term in found.terms for strength in strengths(term))
    store.close()
