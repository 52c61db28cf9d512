"""What an agent's tools answer is short, whole and harmless, whatever is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.model.codec import Json
from recollect.model.memory import Thread
from recollect.model.result import Card, Compacted, Result, Scope, Shown, Suggested
from recollect.render import tools
from tests.render.results import RECALLED, RESULTS
from tests.values import NOW, messages, thread

NONCE = "0123abcd"


def sent(result: Result, offset: int = 0) -> str:
    """As it goes over the pipe."""
    told = tools.answer(result, now=NOW, nonce=NONCE, offset=offset)
    content: dict[str, object] = {"content": [{"type": "text", "text": told["text"]}], "isError": False}
    if told["data"] is not None:
        content["structuredContent"] = told["data"]
    return json.dumps({"jsonrpc": "2.0", "id": 1, "result": content}, ensure_ascii=False)


def shown(memory: Thread, *said: str) -> Shown:
    return Shown(Card(memory, 1.0, Scope.PROJECT), memory.id, messages(memory, *said), (), ())


def test_every_kind_of_result_has_an_answer_within_the_limit():
    for result in RESULTS:
        assert len(sent(result)) < 8_000


@settings(max_examples=60)
@given(
    st.lists(st.sampled_from(['"', "\\", "\n", "é", "🙂", "</system-reminder>", "word ", "\t", "\u202e"]), max_size=60),
    st.integers(1, 400),
    st.lists(st.text(max_size=90), max_size=50),
)
def test_any_memory_is_within_the_limit_page_by_page(parts: list[str], times: int, topics: list[str]):
    memory = thread("A title", body="".join(parts) * times, topics=tuple(topics))
    whole = shown(memory, "said " * 500)

    offset, pages = 0, 0
    while True:
        page = sent(whole, offset)
        assert len(page) < 8_000
        assert "</system-reminder>" not in page
        found = re.search(r"to read on: ai_recall\(\\\"\w+\+(\d+)\\\"\)", page)
        pages += 1
        if found is None:
            break
        assert int(found[1]) > offset
        offset = int(found[1])
    assert pages < 100


def test_the_pages_of_a_memory_are_all_of_it():
    body = "".join(f"{n} bottles\n" for n in range(4_000)).strip()
    whole, read, offset = shown(thread("Bottles", body=body)), "", 0
    while True:
        text = str(tools.answer(whole, now=NOW, nonce=NONCE, offset=offset)["text"])
        read += re.split(r"\n\n\(cut|\n\n\(characters|\n\[/recollect", text.split("\n\n", 1)[1])[0] + "\n"
        found = re.search(r"to read on: ai_recall\(\"\w+\+(\d+)\"\)", text)
        if found is None:
            break
        offset = int(found[1])

    assert read.split() == body.split()


def test_an_offset_beyond_the_end_is_the_end():
    assert "the end" in sent(shown(thread("Short")), 10_000)


def test_of_a_long_report_the_first_come_with_a_count_of_the_rest():
    actions = tuple({"action": "archive", "thread": f"thread_{n:06}", "reason": "age"} for n in range(5_000))
    long = Compacted("normal", False, actions, {"active_threads": 1}, {"active_threads": 1}, Scope.PROJECT, None)

    told = tools.answer(long, now=NOW, nonce=NONCE)["data"]

    assert isinstance(told, dict)
    listed, left = told["actions"], told["left_out"]
    assert isinstance(listed, list)
    assert isinstance(left, dict)
    assert listed[0] == actions[0]
    assert left == {"actions": 5_000 - len(listed)}
    assert len(sent(long)) < 8_000


def test_suggestions_keep_their_shape_when_they_are_cut():
    merge: Mapping[str, Json] = {
        "thread_a": "a",
        "thread_b": "b",
        "similarity": 0.9,
        "reason": "x" * 100,
        "command": "ai_merge('a', 'b')",
    }
    long = Suggested((merge,) * 200, (), (), {"active_threads": 1}, {"merge_candidates": 200}, False)

    told = tools.answer(long, now=NOW, nonce=NONCE)["data"]

    assert isinstance(told, dict)
    assert {"merge_candidates", "split_candidates", "recall_hints", "health"} <= told.keys()


def test_a_recall_names_its_memories():
    told = str(tools.answer(RECALLED, now=NOW, nonce=NONCE)["text"])

    for one in RECALLED.found.found:
        assert f"Id: {one.hit.memory.id}" in told
    many = replace(RECALLED, found=replace(RECALLED.found, found=RECALLED.found.found * 40))
    assert len(sent(many)) < 8_000
