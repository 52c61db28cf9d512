"""Plans, ledger marks, lessons, turn records and results: what each value promises."""

import json
import math
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from recollect.base.moment import Moment
from recollect.base.text import one_line
from recollect.model.codec import USAGE, canonical, content_hash, decode, decode_memory, encode
from recollect.model.command import How, Lesson, command_of, undressed_end
from recollect.model.memory import Bridge, BridgeType, Lane, Memory, Message
from recollect.model.passage import (
    MAX_CHARS,
    Record,
    Role,
    Span,
    asks_of_self,
    parts,
    read_record,
    spans,
    voice,
)
from recollect.model.plan import VERBS, Change, Plan, Update, change_json, change_of, inverse
from recollect.model.result import Result
from recollect.model.session import is_entered, ledger_mark, memory_of, turn_mark
from recollect.model.small_talk import is_small_talk, names_nothing
from tests.model import strategies
from tests.naughty import NAUGHTY
from tests.render.results import DARK, DONE, EVERY_CHANGE, RESULTS, shown
from tests.values import bridge, messages, note, renamed, rule, thread

THREAD_ID, TURN = "thread_20260201_083000_0000a1", "message_20260201_083000_0000000abc12"
MARK = ledger_mark(THREAD_ID, TURN, 40)


# Plans


@given(strategies.memories, strategies.texts)
def test_an_update_holds_what_differs_and_leads_there_and_back(memory: Memory, title: str):
    new = renamed(memory, title)
    update = Update.between(memory, new)
    assert (
        set(update.before) == set(update.after) == ({"title"} if title != memory.title else set())
    )
    assert decode_memory(encode(memory) | dict(update.after)) == new
    assert decode_memory(encode(new) | dict(update.before)) == memory
    assert Plan.of([Update.between(memory, memory)]) == Plan()
    assert not Plan()


def test_every_change_has_a_verb_comes_back_from_json_and_has_an_inverse():
    changes = EVERY_CHANGE.changes
    verbs = [change_json(change)["do"] for change in changes]
    assert len(verbs) == len(set(verbs)) == len(changes) == len(Change.__args__)
    for change in changes:
        assert (
            change_of({"do": VERBS[type(change)], **json.loads(json.dumps(encode(change)))})
            == change
        )
        assert inverse(inverse(change)) == change != inverse(change)
    touched = EVERY_CHANGE.touched()
    assert len(set(touched)) == len(touched)
    assert set(touched) >= {change_json(change).get("id", touched[0]) for change in changes}


def test_one_bridge_of_a_type_joins_two_memories_and_a_summary_has_the_lowest_lane():
    a, b = thread("a"), thread("b")
    assert bridge(a, b, weight=0.1).key == bridge(a, b, weight=0.9).key
    assert len({bridge(a, b).key, bridge(b, a).key, bridge(a, b, BridgeType.SIBLING).key}) == 3
    assert Lane.lowest(Lane.USER, Lane.AGENT, Lane.TOOL) is Lane.AGENT
    assert Lane.lowest(*Lane) is Lane.WEB


# The ledger


@pytest.mark.parametrize("entered", [MARK, turn_mark(THREAD_ID, TURN), THREAD_ID])
def test_a_passage_is_known_by_itself_its_turn_or_its_memory(entered: str):
    assert is_entered({entered}, MARK)
    assert memory_of(entered) == THREAD_ID


@pytest.mark.parametrize(
    "entered", [ledger_mark(THREAD_ID, TURN, 0), turn_mark(THREAD_ID), ledger_mark(THREAD_ID)]
)
def test_other_passages_of_the_thread_are_not_nor_is_all_of_it(entered: str):
    assert not is_entered({entered}, MARK)
    assert not is_entered({entered}, THREAD_ID)
    assert is_entered({THREAD_ID}, THREAD_ID)


# Lessons and records

_commands = st.text(
    st.characters(codec="ascii", exclude_characters="`\n", exclude_categories=["Cc"]), min_size=1
)
_errors = st.text(
    st.characters(codec="ascii", exclude_characters='"`\n', exclude_categories=["Cc"])
)
_words = st.text(st.sampled_from("ab .:\nAskedFoundSaid"), max_size=40)


@given(_commands, _commands, st.sampled_from(How), _errors)
def test_a_lesson_is_read_back_as_it_was_written(failed: str, fix: str, how: How, error: str):
    written = Lesson(failed, failed if how is How.READ_AGAIN else fix, how, error)
    assert Lesson.read(written.sentence()) == written


def test_other_words_are_no_lesson_and_no_record():
    assert Lesson.read("Use pnpm, never npm.") is None
    assert Lesson.read("`npm test` fails here; `pnpm test` works. Also run curl.") is None
    assert read_record("We use tabs.\nAsked: by whom?") is read_record("") is None


def test_the_parts_of_a_record_are_in_order_and_labels_inside_what_was_said_are_words():
    made = Record(
        asked="why does\nit fail?",
        found="The clock.",
        changed="a.py, b.py",
        said="One.\n\nFound: nothing.",
    )
    text = made.text()
    assert (
        text
        == "Asked: why does it fail?\nFound: The clock.\nChanged: a.py, b.py\nSaid: One.\n\nFound: nothing."
    )
    assert [part.role for part in parts(text)] == [Role.ASKED, Role.FOUND, Role.CHANGED, Role.SAID]


@given(asked=_words, found=_words, ended=_words, said=_words)
def test_a_record_is_read_back(asked: str, found: str, ended: str, said: str):
    made = Record(
        asked=one_line(asked), found=one_line(found), ended=one_line(ended), said=said.strip()
    )
    assert (read_record(made.text()) or Record()) == made


# Results


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_result_is_json(result: Result):
    value = encode(result)
    assert json.loads(json.dumps(value, allow_nan=False)) == value


def test_a_memory_in_json_can_be_read_back_and_a_write_names_its_change_and_ids():
    extra = {
        "strength",
        "relevance_score",
        "scope",
        "condition",
        "version",
        "asked",
        "messages",
        "bridges",
        "merged",
    }
    assert (
        decode_memory({name: part for name, part in encode(shown()).items() if name not in extra})
        == DARK
    )
    value = encode(DONE)
    assert (value["change"], value["dry_run"], value["notes"]) == (
        "change_1",
        False,
        ["Kept out: bearer."],
    )
    assert value["ids"] == list(EVERY_CHANGE.touched())


# What a command does, told apart from how it is dressed.


@pytest.mark.parametrize(
    ("text", "family", "verb", "words", "dress"),
    [
        ("npm test", "js", "test", (), ()),
        ("pnpm run test", "js", "test", (), ()),
        ("npm run build -- --watch", "js", "build", ("--", "--watch"), ()),
        ("PYTHONPATH=src pytest -q tests", "pytest", "", ("-q", "tests"), ("PYTHONPATH=src",)),
        ("uv run pytest", "pytest", "", (), ("uv run",)),
        ("python -m pytest", "pytest", "", (), ("python -m",)),
        ("cd web && npm ci", "js", "ci", (), ("cd web",)),
        ("docker-compose up -d", "docker", "compose up", ("-d",), ()),
        ("docker compose up -d db", "docker", "compose up", ("-d", "db"), ()),
        ("docker compose exec api pytest", "pytest", "", (), ("docker compose exec api",)),
        (
            "kubectl --context staging get pods",
            "kubectl",
            "get",
            ("--context", "staging", "pods"),
            (),
        ),
        ("cargo +stable build", "cargo", "build", ("+stable",), ()),
        ("./gradlew test", "gradle", "test", (), ()),
        (".venv/bin/pip install -e .", "pip", "install", ("-e", "."), (".venv/bin",)),
        ("python3 manage.py migrate", "python", "manage.py migrate", (), ()),
        ("git -C api push", "git", "push", ("-C", "api"), ()),
    ],
)
def test_a_command_is_read(
    text: str, family: str, verb: str, words: tuple[str, ...], dress: tuple[str, ...]
):
    command = command_of(text)
    assert command is not None
    assert (command.family, command.verb, command.words, command.dress) == (
        family,
        verb,
        words,
        dress,
    )


@pytest.mark.parametrize(
    "end",
    [
        "",
        " 2>&1 | tail -20",
        " || true",
        "; echo done",
        " > out.txt",
        " 2>&1 | grep -i fail || true",
    ],
)
def test_what_only_hides_the_end_is_taken_off(end: str):
    assert undressed_end(f"npm test{end}") == "npm test"


@pytest.mark.parametrize("text", ["", "   ", "$(foo)", "(((", "&&"])
def test_where_there_is_no_program_there_is_no_command(text: str):
    assert command_of(text) is None


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str):
    command = command_of(text)
    assert command is None or command.family


# Prompts that name nothing to look for are told from those that do, in each language that is supported.


@pytest.mark.parametrize(
    "prompt",
    [
        "", "?", "👍", "2", "hi", "Hello there!", "yes", "ok go on", "Thanks a lot :)", "commit this",
        "commit and push",
        "looks good, continue", "try again", "yeah, do it", "/compact", "/review", "[Image #1]", "option 3",
        "fix it", "danke, mach weiter", "passt so", "guten Morgen", "sí, por favor", "dale, sigue", "muchas gracias",
        "oui, vas-y", "s'il te plaît continue", "merci", "sim, pode continuar", "bom dia", "obrigado",
        "да, давай дальше", "спасибо", "хорошо, продолжай", "好的，请继续", "谢谢", "はい、お願いします", "了解です",
        "được rồi, tiếp tục đi", "cảm ơn bạn", "buongiorno", "vai avanti, grazie", "goedemorgen", "ga verder",
        "dzień dobry", "tak, kontynuuj", "お疲れ様です", "수고하십니다",
    ],
)  # fmt: skip
def test_greetings_thanks_and_nods_are_small_talk(prompt: str):
    assert is_small_talk(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "install lodash", "why does the nightly build fail?", "push it to staging", "yes, but keep the old parser",
        "/fix the login redirect loop", "/etc/hosts is wrong", "3000", "look at #1234", "run the migrations again",
        "und jetzt die Tests", "arregla el buscador", "corrige la recherche", "conserta a busca", "почини поиск",
        "修复搜索", "検索を直して", "sửa tìm kiếm giúp tôi", "correggi la ricerca", "repareer de zoekbalk",
        "popraw wyszukiwarkę", "ok " * 300,
    ],
)  # fmt: skip
def test_whatever_names_a_matter_is_not(prompt: str):
    assert not is_small_talk(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "commit this and update the changelog",
        "push it to a branch, and create a PR",
        "fix the failing tests",
    ],
)
def test_a_chore_of_every_project_names_nothing(prompt: str):
    assert names_nothing(prompt)


@pytest.mark.parametrize(
    "prompt", ["which branch is merged last?", "fix the failing tests in the importer"]
)
def test_a_question_or_a_matter_is_no_chore(prompt: str):
    assert not names_nothing(prompt)


# Every value as JSON and back, and what is refused.


[MESSAGE], BRIDGE, THREAD = (
    messages(thread("release"), "hello"),
    bridge(thread("a"), thread("b")),
    thread("release"),
)


@given(strategies.memories)
def test_a_memory_comes_back_from_json_as_it_went(memory: Memory):
    data = encode(memory)
    assert decode_memory(json.loads(json.dumps(data))) == memory
    assert canonical(data) == canonical(dict(reversed(data.items())))
    assert decode_memory(data | {"weight": 1}).weight == 1.0, "a whole number is a figure, too"


@given(strategies.messages | strategies.bridges)
def test_a_message_and_a_bridge_come_back_from_json_as_they_went(value: Message | Bridge):
    assert decode(type(value), json.loads(json.dumps(encode(value)))) == value


WRONGS: list[tuple[str, list[Any]]] = [
    ("kind", ["threads", 1, None, []]), ("id", [7]), ("title", [None, ["a"]]), ("body", [{"a": 1}, True]),
    ("topics", ["a,b", [1], {"a": 1}, None]), ("tags", [[None]]), ("status", ["asleep", 1]), ("lane", ["root", None]),
    ("weight", [math.nan, math.inf, -math.inf, "1", True, None, 10**400]), ("boost", [False, [0.1]]),
    ("pinned", [1, "true", None]), ("seen", [True, 1.0, -1, "1", 2**53]), ("frequency", [math.nan]),
    ("ratings", [{}, [1], ["useful"], [{}], [{"useful": 1, "timestamp": "2026-02-01T00:00:00Z", "reason": None}],
                 [{"useful": True, "timestamp": "soon", "reason": None}]]),
    ("anchors", [[{"hash": "a"}], [{"path": 1, "hash": ""}], [[]]]), ("superseded_by", [0, False]), ("group", [None]),
    ("origin", [1]), ("reinforced_at", [[]]), ("last_active_at", [1.5]), ("drift", ["a"]),
    ("created_at", [0, "", "yesterday", "2026-13-01T00:00:00Z", None, "9999-12-31T23:59:59-12:00",
                    "0001-01-01T00:00:00+12:00"]),
]  # fmt: skip
OTHER_WRONGS: list[tuple[Any, str, list[Any]]] = [
    (MESSAGE, "at", [5]), (MESSAGE, "content", [None]), (MESSAGE, "thread_id", [True]), (MESSAGE, "source", [[]]),
    (MESSAGE, "id", [1]), (BRIDGE, "type", ["LIKES"]), (BRIDGE, "weight", [True, math.nan]),
    (BRIDGE, "source", [None]), (BRIDGE, "more", [1]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("built", "field", "values"), [*((THREAD, *one) for one in WRONGS), *OTHER_WRONGS]
)
def test_a_wrong_value_is_refused_by_the_name_of_its_field(
    built: Any, field: str, values: list[Any]
):
    kind = Memory if built is THREAD else type(built)
    for value in values:
        with pytest.raises(ValueError, match=f"^{field}: "):
            decode(kind, encode(built) | {field: value})


@pytest.mark.parametrize("field", ["id", "title", "body", "created_at", "kind"])
def test_a_missing_field_is_named(field: str):
    data = encode(THREAD)
    del data[field]
    with pytest.raises(ValueError, match=f"^{field}: missing$"):
        decode_memory(data)


@pytest.mark.parametrize(
    ("memory", "foreign"),
    [
        (thread("a"), "rule_type"),
        (rule("a"), "drift"),
        (note("a"), "drift"),
        (thread("a"), "hash"),
        (rule("a"), ""),
    ],
)
def test_a_field_of_another_kind_is_refused_by_name(memory: Memory, foreign: str):
    with pytest.raises(ValueError, match=f"^{foreign}: no such field of a {memory.kind}$"):
        decode_memory(encode(memory) | {foreign: []})


def test_what_may_be_left_out_has_a_default():
    born = "2026-02-01T08:30:00Z"
    read = decode_memory(
        {"kind": "rule", "id": "rule_1", "title": "t", "body": "b", "created_at": born}
    )
    assert read.reinforced_at == read.last_active_at == read.created_at == Moment.parse(born)
    assert (read.weight, read.topics, read.pinned) == (1.0, (), False)


def test_a_rule_without_the_words_it_came_from_is_spelt_as_if_there_were_no_such_field():
    bare = rule("a")
    worded = replace(bare, said="a, please")
    assert "said" not in encode(bare)
    assert content_hash(worded) != content_hash(bare)
    assert [decode_memory(encode(one)) for one in (bare, worded)] == [bare, worded]


@given(strategies.memories)
def test_use_does_not_change_the_content_and_other_words_do(memory: Memory):
    used = replace(memory, frequency=1, last_session=2, activations=3, weight=0.5)
    assert content_hash(used) == content_hash(memory)
    for field in ("title", "body", "id", "origin", "group"):
        other: dict[str, Any] = {field: getattr(memory, field) + "."}
        assert content_hash(replace(memory, **other)) != content_hash(memory)
    assert set(encode(memory)) >= USAGE


# Passages lose no text and never grow beyond their limit; each has a voice.


# Long enough to be cut, with breaks of every kind in odd places.
_pieces = st.sampled_from(
    [
        "word ",
        "x" * 700,
        "\n\n",
        "\n",
        ". ",
        "。",
        "日本",
        " " * 900,
        "\u2028",
        "?",
        "\t",
        "a\n \nb",
    ]
)
long_texts = st.lists(_pieces | st.text(max_size=30), max_size=60).map("".join) | st.sampled_from(
    NAUGHTY
)


def check_covers(text: str, found: tuple[Span, ...]) -> None:
    end = 0
    for span in found:
        assert span.start == end
        assert span.length <= MAX_CHARS
        end += span.length
    assert text[end:].strip() == "", "only blanks at the end may be left out"
    assert "".join(span.of(text) for span in found) == text[:end]


@given(long_texts, long_texts)
@example("", "")
@example("x" * (MAX_CHARS * 3), "a " * MAX_CHARS)
@example("\n" * (MAX_CHARS * 2 + 1), "x" * MAX_CHARS + "\n\n")
def test_passages_cover_body_and_messages_in_order_without_overlap(body: str, said: str):
    owner = thread("t", body=body)
    [message] = messages(owner, said)
    found = spans(owner, (message,))
    assert found, "a memory without text is still found by its title"
    check_covers(body, tuple(span for span in found if not span.message_id))
    own = tuple(span for span in found if span.message_id)
    if said in body:
        assert own == ()
    else:
        check_covers(said, own)


def test_long_text_is_cut_at_a_paragraph_before_a_sentence_before_a_word():
    def first(text: str) -> str:
        return spans(thread("t", body=text), ())[0].of(text)

    assert first("p" * (2 * MAX_CHARS // 3) + "\n\n" + "One two three. " * 60).endswith("p\n\n")
    assert first("s" * (2 * MAX_CHARS // 3) + ". " + "word " * 200).endswith("s. ")
    assert first("word " * 400).endswith("word ")
    assert first("x" * 4_000) == "x" * MAX_CHARS


# Voice


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("I moved the cache to Redis and we kept my keys.", 100, 100),
        ("I'm moving my notes; that's what we agreed on.", 100, 100),
        ("Yesterday I moved the whole cache of the second cluster over to Redis.", 40, 60),
        ("Redis evicts the oldest keys when its memory is full.", 0, 0),
        (
            "To set this up, you should open the panel, choose your plan, and follow the steps. I can help.",
            20,
            40,
        ),
        ("", 0, 0),
        ("I", 75, 75),
        ("weapon museum mystery use i18n item hour busy", 0, 0),  # only whole words count
    ],
)
def test_a_text_is_as_personal_as_its_share_of_first_persons(text: str, least: int, most: int):
    assert least <= voice(text) <= most


@pytest.mark.parametrize(
    "question",
    [
        "what did I move?", "Where is MY car", "which plan do I have", "do I usually use tabs",
        "What have I said of it", "when I moved the cache", "which one was mine", "did I write it myself",
        "what was I reading",
    ],
)  # fmt: skip
def test_a_question_about_its_asker_is_known(question: str):
    assert asks_of_self(question)


@pytest.mark.parametrize(
    "question",
    [
        "", "what is a cache", "how do I run the tests", "can I delete this branch", "tell me about tabs",
        "what did we decide", "who wrote mystery", "i18n", "what did Ina use",
    ],
)  # fmt: skip
def test_a_question_about_a_thing_is_not_about_its_asker(question: str):
    assert not asks_of_self(question)


@given(st.text(max_size=200) | st.sampled_from(NAUGHTY))
def test_any_text_has_a_voice_in_any_case(text: str):
    assert 0 <= voice(text) <= 100
    assert asks_of_self(text) in (True, False)
    ascii_only = text.encode("ascii", "ignore").decode()
    assert voice(ascii_only.upper()) == voice(ascii_only.lower())


@pytest.mark.parametrize("piece", ["i ", "x", "my", "do i ", " "])
def test_a_megabyte_does_not_explode(piece: str):
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()
    voice(text)
    asks_of_self(text)
    assert time.process_time() - began < 30
