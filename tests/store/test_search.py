"""How text becomes terms, which of them are asked, what they find, where it is; any text can be stored, comes back byte
for byte and can be asked for; and the cost stays bounded."""

from contextlib import closing

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.base.text import one_line, storable
from recollect.model.memory import Kind
from recollect.model.plan import Alias, Create, Link, Remove, Update
from recollect.model.query import Query, TermEvidence, WordEvidence
from recollect.recall.selection import strength_factor
from recollect.store import SqliteStore, Store, Tuning, tokenizer
from recollect.store import search as words
from tests.model.strategies import texts
from tests.naughty import NAUGHTY
from tests.store.helpers import AUTH, DEPLOY, DEPLOYED, SAID, TABS, do, search
from tests.values import act, bridge, messages, note, plan, renamed, rule, thread

MOST = words.MAX_POSTINGS
ANALYSE = tokenizer.register(apsw.Connection(":memory:"))


def terms(text: str) -> set[str]:
    return set(tokenizer.terms(ANALYSE, text))


# Terms


# Texts, and questions of which every term is in the text.
@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("the validators are running", "validator runs"), ("Connections were refused", "connection refuse"),
        ("naïve café Ångström", "naive cafe angstrom"), ("NAIVE", "naïve"), ("getUserName()", "getusername"),
        ("getUserName()", "get user name"), ("getUserName()", "GETUSERNAME"), ("HTTPServerError", "http server error"),
        ("parseXMLFile2", "parse xml file"), ("user_name", "user name"), ("user_name", "username"),
        ("MAX_RETRY_COUNT = 3", "maxretrycount"), ("get_user_names", "getusernames"),
        ("src/recollect/store/sqlite.py", "store sqlite py"), ("C:\\Users\\me\\app.config.ts", "config"),
        ("node_modules/.bin", "node modules bin"), ("kebab-case-name", "kebab case name"), ("v1.2.3", "v1"),
        ("日本語テキスト", "日本"), ("日本語テキスト", "本語"), ("日本語テキスト", "語"), ("日本語テキスト", "日"),
        ("한국어 문장", "국어"), ("中文分词测试", "分词"), ("𠮷野家", "𠮷野"), ("useStateフック", "フック"),
        ("useStateフック", "usestate"), ("a日b本c", "日"), ("a日b本c", "b"), ("Redis を使う", "redis"),
        ("שלום עולם", "עולם"), ("مرحبا بالعالم", "مرحبا"), ("Привет мир", "привет"), ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("🎉 party 🎉", "party"),
    ],
)  # fmt: skip
def test_a_question_meets_the_text_in_other_spellings(said: str, asked: str):
    assert set() < terms(asked) <= terms(said)


@given(
    word=st.text(st.sampled_from("中文分词日本語한국어フック𠮷𪚥"), min_size=1),
    before=st.sampled_from(["", "go ", "é "]),
)
def test_each_character_of_chinese_stands_at_its_bytes_with_the_pair_it_begins(
    word: str, before: str
):
    tokens = ANALYSE(f"{before}{word}".encode())[len(before.split()) :]
    ends = [len(f"{before}{word[:at]}".encode()) for at in range(len(word) + 1)]
    assert tokens == [
        (ends[at], ends[at + 1], *dict.fromkeys([word[at], word[at : at + 2]]))
        for at in range(len(word))
    ]


def test_what_is_not_there_is_not_met_both_spellings_of_a_name_share_its_whole_and_signs_have_no_terms():
    for said, asked in (
        ("getUserName", "use"),
        ("日本語", "日語"),
        ("user_name", "usern"),
        ("running", "run_time"),
    ):
        assert not terms(asked) <= terms(said)
    assert terms("getUserName") & terms("get_user_name") >= {"getusernam", "user", "name"}
    assert terms("🎉 👩‍👩‍👧‍👦 -- ++ ()") == set()


@given(
    st.text(max_size=200)
    | st.text(st.sampled_from("aB_1日本\u0301é.🎉ß İ\u3099ﾊﾟ"), max_size=40)
    | st.sampled_from(NAUGHTY)
)
def test_any_text_has_terms_in_order_inside_it(text: str):
    utf8 = storable(text).encode()
    last = 0
    for start, end, *found in ANALYSE(utf8):
        assert last <= start < end <= len(utf8)
        assert utf8[start:end].decode(), "no character is cut in two"
        assert found
        assert all(term and term == term.strip() and len(term.split()) == 1 for term in found)
        assert len(set(found)) == len(found), "counted once where it stands"
        last = start


# Which terms are asked


def terms_asked(question: str, **counts: int) -> WordEvidence:
    """Of a store in which terms have counts of our choosing."""
    store = SqliteStore(None, Tuning())
    store._db.executemany("INSERT INTO term VALUES (?, ?)", counts.items())
    return store.words(question)


def known(question: str, **counts: int) -> list[str]:
    return [found.term for found in terms_asked(question, **counts).terms if found.passages]


def test_the_rarest_terms_are_asked_first_and_only_as_many_as_fit():
    vocabulary = {
        "rust": MOST - 1_000,
        "tokio": 10,
        "async_": 1,
        "server": 900,
        "python": MOST - 900,
    }
    assert known("python rust server tokio", **vocabulary) == ["tokio", "server", "rust"]
    assert known("tests", test=MOST * 10) == ["test"], "a single term, however common"
    names = [f"word{chr(97 + i)}" for i in range(20)]
    assert (
        len(known(" ".join(names), **{term: 1 for name in names for term in terms(name)}))
        == words.MAX_TERMS
    )
    assert known("first " + "x " * 10_000 + " last", first=1, last=1) == ["first"], "a pasted log"


def test_words_without_meaning_are_asked_only_where_there_is_nothing_else():
    stems = {term for word in words.STOP_WORDS for term in terms(word)}
    assert stems <= words.STOP_TERMS
    vocabulary = dict.fromkeys([*stems, "deploi"], 7)
    assert known("how do I use this for the very deploy please", **vocabulary) == ["deploi"]
    assert known("how do this", **vocabulary)


def test_unknown_terms_are_named_and_are_nowhere():
    for question in ("", "   ", "🎉", "tokio", "AND OR", '"'):
        assert known(question, rust=1) == []
    first, second = terms_asked("rust tokio", rust=1).terms
    assert (first.term, second) == ("rust", TermEvidence("tokio", 0, ()))


def test_words_are_looked_up_no_further_than_asked_for(house: Store):
    assert {term.term for term in house.words("billing night").terms} == {"bill", "night"}
    assert sum(len(term.rows) for term in house.words("billing night", most=2).terms) <= 2


def test_a_common_word_finds_the_newest_and_a_rare_one_the_oldest(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(words, "MAX_POSTINGS", 50)
    old = note("Oldest", body="tests on the zeppelin")
    many = [note(f"Note {i}", body=f"tests again {i}") for i in range(400)]
    do(store, Create(old), *map(Create, many))
    assert {hit.memory.id for hit in search(store, Query(text="tests", limit=100))} == {
        m.id for m in many[-50:]
    }
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
    assert [hit.memory.title for hit in search(house, Query(text=asked))] == (
        [title] if title else []
    )


def test_a_question_finds_the_turn_that_answers_and_the_hit_explains_itself(house: Store):
    hits = search(house, Query(text="billing page", turns=5))
    assert [hit.turn.content for hit in hits[:2] if hit.turn] == [
        "billing page is slow",
        "日本語 billing",
    ]
    assert hits[0].shown == ("billing page is slow",)
    parts = dict(hits[0].components)
    assert hits[0].score == pytest.approx(
        parts["match"] * strength_factor(parts["strength"]) * parts["relevance"]
    )


def test_a_word_in_the_title_says_more_than_one_in_the_body(store: Store):
    body = note("Something else", body="a line about redis, and then some")
    title = note("Redis", body="a line about caches, and then some")
    do(store, Create(body), Create(title))
    assert [hit.memory for hit in search(store, Query(text="redis"))] == [title, body]


def test_each_memory_is_one_hit_and_none_hides_the_others(store: Store):
    crowd = [thread(f"Tabs {i}", body=f"{i} " + "tabs " * 500) for i in range(300)]
    long = thread("Long", body="\n\n".join(["indent " + "x" * 1_100] * 300))
    rare = rule(
        "Rare", body="We settled on tabs and an indent after a long talk about many other things"
    )
    do(
        store,
        *(Create(m, messages(m, "tabs and spaces", "more tabs")) for m in crowd),
        Create(long),
        Create(rare),
    )
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
    assert {names[seq] for seq in store.about("authentication", 10)} == {
        topical.id,
        titled.id,
        headed.id,
    }
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
    assert set(texts.values()) == {
        *(m.body for m in (AUTH, DEPLOY, TABS)),
        *(m.content for m in (*SAID, *DEPLOYED)),
    }
    for unit, text in texts.items():
        assert "".join(text[p.start : p.start + p.length] for p in pieces if p.unit == unit) == text


def test_the_turns_of_a_thread_and_the_memories_of_a_group_are_neighbours(house: Store):
    owners = house.owners([seq for seq, _ in house.vectorless("m", 100)])
    turns = {
        turn.id: unit
        for unit, _, turn in house.read_units([o.unit for o in owners.values()])
        if turn
    }
    first, second, third = (turns[m.id] for m in SAID)
    do(
        house,
        *(
            Create(note(f"{i}", group=group))
            for i, group in enumerate(("talk", "other", "talk", "talk", ""))
        ),
    )
    places = house.places([first, second, third, 4, 5, 6, 7, 8, 99], neighbours=9)
    assert {unit: (place.group, place.before, place.after) for unit, place in places.items()} == {
        first: (AUTH.id, (), (second,)), second: (AUTH.id, (first,), (third,)), third: (AUTH.id, (second,), ()),
        4: ("talk", (), (6,)), 5: ("other", (), ()), 6: ("talk", (4,), (7,)), 7: ("talk", (6,), ()), 8: ("", (), ()),
    }  # fmt: skip
    few = house.places([6, 7], neighbours=1)
    assert [(place.before, place.after) for place in few.values()] == [((4,), (7,)), ((), ())]


# Counts of terms


def test_evidence_counts_passages_also_of_the_transaction_it_is_asked_in(store: Store):
    do(store, *(Create(note(f"Note {i}", body="redis" if i % 2 else "caches")) for i in range(20)))
    with store.transaction():
        do(store, Create(thread("new", body="zeppelin")))
        within = store.words("zeppelin")
        do(store, Create(thread("newer", body="zeppelin")))
    assert [(term.term, term.passages) for term in within.terms] == [("zeppelin", 1)]
    found = store.words("zeppelin redis")
    assert found.passages == store.counts().passages == 22
    assert [(one.term, one.passages, len(one.rows)) for one in found.terms] == [
        ("zeppelin", 2, 2),
        ("redi", 10, 10),
    ]


def strengths(term: TermEvidence) -> list[float]:
    return [strength * term.unit for _, strength in term.rows]


def test_a_term_is_as_strong_whatever_its_rarity(store: Store):
    """So that stores can be weighed together: the rarity is added later, from all of them."""
    do(store, Create(note("One", body="zeppelin")))
    [before] = store.words("zeppelin").terms
    do(store, *(Create(note(f"Note {i}", body="redis")) for i in range(200)))
    [after] = store.words("zeppelin").terms
    assert strengths(before) == pytest.approx(strengths(after), rel=0.2)


@given(
    st.lists(
        st.lists(st.sampled_from("redis cache test zeppelin".split()), min_size=1),
        min_size=1,
        max_size=12,
    )
)
@settings(max_examples=40)
def test_every_strength_is_above_zero_and_below_its_ceiling(bodies: list[list[str]]):
    with closing(SqliteStore(None, Tuning())) as store:
        do(store, *(Create(note(f"n{i}", body=" ".join(body))) for i, body in enumerate(bodies)))
        found = store.words("redis cache test zeppelin")
        assert all(0 < strength <= 2.2001 for term in found.terms for strength in strengths(term))


# Any text


@given(
    st.lists(st.tuples(texts, texts, st.lists(texts, max_size=2)), min_size=1, max_size=4), texts
)
@settings(max_examples=50)
def test_any_text_is_kept_and_asked_for_and_term_counts_are_the_indexs_own_after_any_edit(
    contents: list[tuple[str, str, list[str]]], title: str
):
    with closing(SqliteStore(None, Tuning())) as store:
        made = [thread(f"{name}.", body=body, topics=tuple(said)) for name, body, said in contents]
        do(
            store,
            *(
                Create(one, messages(one, *said))
                for one, (_, _, said) in zip(made, contents, strict=True)
            ),
        )
        assert [memory for memory, _ in store.each()] == made
        for text in (title, *(body for _, body, _ in contents)):
            search(store, Query(text=text, topic=text))
        for one in made:
            do(store, Update.between(one, renamed(one, title)))
        assert store.verify() == []
        for gone, held in store.each():
            do(store, Remove(gone, held))
        assert (store.verify(), store._every("SELECT * FROM term")) == ([], [])


def has_words(text: str) -> bool:
    """And is not so long that only its beginning is asked for."""
    return any(c.isalnum() for c in text) and len(text) < 1_000 and max(text) < "\ud800"


def test_naughty_text_comes_back_byte_for_byte_and_can_be_asked_for_everywhere(store: Store):
    kept = {}
    for raw in NAUGHTY:
        text, short = storable(raw), storable(raw)[:600]  # very long titles have their own test
        memory = thread(
            short,
            body=text,
            topics=(short, short),
            tags=(text,),
            drift=(text,),
            group=text,
            origin=text,
        )
        kept[raw] = memory
        store.apply(
            plan(Create(memory, messages(memory, text, f"x {text}"))), act(text, summary=text)
        )

    for raw, memory in kept.items():
        asked = storable(raw)
        assert store.get(memory.id) == memory, repr(raw[:40])
        assert [message.content for message in store.messages(memory.id)] == [asked, f"x {asked}"]
        assert store.log(limit=1, memory=memory.id)[0].summary == asked
        hits = search(store, Query(text=asked, limit=1_000 if has_words(raw) else 5))
        assert all(said.rstrip("\u2026") in hit.text for hit in hits for said in hit.shown)
        if has_words(raw):
            found = {one_line(hit.memory.body).casefold() for hit in hits}
            assert one_line(memory.body).casefold() in found, repr(raw)
        if asked:
            assert memory in store.find(Query(topic=asked[:600], group=asked, limit=1_000)), repr(
                raw[:40]
            )
            assert store.log(limit=3, memory=asked) == store.log(limit=3, change=asked) == []
        assert store.get(asked) is None
        assert store.find(Query(like=asked))

    assert store.verify() == []
    assert store.reindex() > len(NAUGHTY)


def test_ids_of_any_shape_can_be_bridged_and_named(store: Store):
    strange = {
        m.id: m for m in (thread("t", id=storable(text)) for text in NAUGHTY if len(text) < 400)
    }
    _, first, second, *_ = strange.values()
    do(store, *map(Create, strange.values()), Link(bridge(first, second)), Alias("'; --", first.id))
    assert all(store.get(id) == memory for id, memory in strange.items())
    assert store.get("'; --") == first
    assert store.bridges(second.id)[0].source == first.id


@pytest.mark.parametrize(
    "word",
    ["a" * 33_000, "É" * 33_000, "日" * 2_000, "aB" * 2_000, "a_" * 2_000, "\u023a" * 17_000],
)
def test_a_title_that_is_one_endless_word_is_sound_and_found(store: Store, word: str):
    assert all(len(term) <= tokenizer.MAX_TERM_CHARS for term in terms(word))
    endless = thread(word)
    do(store, Create(endless))
    assert store.verify() == []
    assert [hit.memory for hit in search(store, Query(text=word))] == [endless]
    do(store, Remove(endless))


def test_a_body_of_a_million_characters_is_kept_whole(store: Store):
    long = thread("long", body="A line of some words that says very little. \n" * 22_000)
    do(store, Create(long))
    assert store.get(long.id) == long
    [hit] = search(store, Query(text="little words"))
    assert sum(map(len, hit.shown)) <= 1_200
