"""How text becomes terms."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.text import storable
from recollect.store import tokenizer
from tests.naughty import NAUGHTY

ANALYSE = tokenizer.register(apsw.Connection(":memory:"))


def terms(text: str) -> set[str]:
    return set(tokenizer.terms(ANALYSE, text))


# Texts, and questions of which every term is in the text.
MEET: list[tuple[str, str]] = [
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
]  # fmt: skip


@pytest.mark.parametrize(("said", "asked"), MEET)
def test_a_question_meets_the_text_in_other_spellings(said: str, asked: str):
    assert terms(asked)
    assert terms(asked) <= terms(said)


@pytest.mark.parametrize(
    ("said", "asked"), [("getUserName", "use"), ("日本語", "日語"), ("user_name", "usern"), ("running", "run_time")]
)
def test_what_is_not_there_is_not_met(said: str, asked: str):
    assert not terms(asked) <= terms(said)


def test_both_spellings_of_a_name_share_its_whole_and_signs_have_no_terms():
    assert terms("getUserName") & terms("get_user_name") >= {"getusernam", "user", "name"}
    assert terms("🎉 👩‍👩‍👧‍👦 -- ++ ()") == set()


@given(st.text(max_size=200))
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


@given(st.text(st.sampled_from("aB_1日本\u0301é.🎉ß İ\u3099ﾊﾟ"), max_size=40) | st.sampled_from(NAUGHTY))
def test_names_and_scripts_mixed_at_random_have_terms_too(text: str):
    assert all(terms(storable(text)))


@pytest.mark.parametrize("text", ["x" * 40_000, "日" * 2_000, "É" * 40_000, "a_" * 3_000 + "b", "aB" * 2_000])
def test_no_term_is_longer_than_the_index_can_hold(text: str):
    assert all(len(term) <= tokenizer.MAX_TERM_CHARS for term in terms(text))
