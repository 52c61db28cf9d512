"""Plans, ledger marks, lessons, turn records and results: what each value promises."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.base.text import one_line
from recollect.model.codec import decode_memory, encode
from recollect.model.command import How, Lesson
from recollect.model.memory import BridgeType, Lane, Memory
from recollect.model.passage import Record, Role, parts, read_record
from recollect.model.plan import VERBS, Change, Plan, Update, change_json, change_of, inverse
from recollect.model.result import Result
from recollect.model.session import is_entered, ledger_mark, memory_of, turn_mark
from tests.model import strategies
from tests.render.results import DARK, DONE, EVERY_CHANGE, RESULTS, shown
from tests.values import bridge, renamed, thread

THREAD, TURN = "thread_20260201_083000_0000a1", "message_20260201_083000_0000000abc12"
MARK = ledger_mark(THREAD, TURN, 40)


# Plans


@given(strategies.memories, strategies.texts)
def test_an_update_holds_what_differs_and_leads_there_and_back(memory: Memory, title: str):
    new = renamed(memory, title)
    update = Update.between(memory, new)
    assert set(update.before) == set(update.after) == ({"title"} if title != memory.title else set())
    assert decode_memory(encode(memory) | dict(update.after)) == new
    assert decode_memory(encode(new) | dict(update.before)) == memory
    assert Plan.of([Update.between(memory, memory)]) == Plan()
    assert not Plan()


def test_every_change_has_a_verb_comes_back_from_json_and_has_an_inverse():
    changes = EVERY_CHANGE.changes
    verbs = [change_json(change)["do"] for change in changes]
    assert len(verbs) == len(set(verbs)) == len(changes) == len(Change.__args__)
    for change in changes:
        assert change_of({"do": VERBS[type(change)], **json.loads(json.dumps(encode(change)))}) == change
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


@pytest.mark.parametrize("entered", [MARK, turn_mark(THREAD, TURN), THREAD])
def test_a_passage_is_known_by_itself_its_turn_or_its_memory(entered: str):
    assert is_entered({entered}, MARK)
    assert memory_of(entered) == THREAD


@pytest.mark.parametrize("entered", [ledger_mark(THREAD, TURN, 0), turn_mark(THREAD), ledger_mark(THREAD)])
def test_other_passages_of_the_thread_are_not_nor_is_all_of_it(entered: str):
    assert not is_entered({entered}, MARK)
    assert not is_entered({entered}, THREAD)
    assert is_entered({THREAD}, THREAD)


# Lessons and records

_commands = st.text(st.characters(codec="ascii", exclude_characters="`\n", exclude_categories=["Cc"]), min_size=1)
_errors = st.text(st.characters(codec="ascii", exclude_characters='"`\n', exclude_categories=["Cc"]))
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
    made = Record(asked="why does\nit fail?", found="The clock.", changed="a.py, b.py", said="One.\n\nFound: nothing.")
    text = made.text()
    assert text == "Asked: why does it fail?\nFound: The clock.\nChanged: a.py, b.py\nSaid: One.\n\nFound: nothing."
    assert [part.role for part in parts(text)] == [Role.ASKED, Role.FOUND, Role.CHANGED, Role.SAID]


@given(asked=_words, found=_words, ended=_words, said=_words)
def test_a_record_is_read_back(asked: str, found: str, ended: str, said: str):
    made = Record(asked=one_line(asked), found=one_line(found), ended=one_line(ended), said=said.strip())
    assert (read_record(made.text()) or Record()) == made


# Results


@pytest.mark.parametrize("result", RESULTS, ids=lambda result: type(result).__name__)
def test_every_result_is_json(result: Result):
    value = encode(result)
    assert json.loads(json.dumps(value, allow_nan=False)) == value


def test_a_memory_in_json_can_be_read_back_and_a_write_names_its_change_and_ids():
    extra = {"strength", "scope", "asked", "messages", "bridges", "merged"}
    assert decode_memory({name: part for name, part in encode(shown()).items() if name not in extra}) == DARK
    value = encode(DONE)
    assert (value["change"], value["dry_run"], value["notes"]) == ("change_1", False, ["Kept out: bearer."])
    assert value["ids"] == list(EVERY_CHANGE.touched())
