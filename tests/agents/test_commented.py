"""Comments and trailing commas stay where they are, whatever is put in beside them and cut out again."""

from __future__ import annotations

import pytest

from recollect.agents import commented
from recollect.base.errors import NotPlain

KEYS, NAME, SERVER = ("mcp",), "recollect", {"type": "local"}
HOOK = {"type": "command", "command": "ours"}
TEXTS = [
    '{\n  // with "quotes", and a }\n  "a": "http://x", /* b */\n  "mcp": {\n    "o": {"x": [1,],},\n  },\n}\n',
    '{"a": "/* no comment */, ]", "mcp": {}}',
    "// before\n{\n}\n// after\n",
    "",
]


def is_ours(command: str) -> bool:
    return command == "ours"


@pytest.mark.parametrize("text", TEXTS)
def test_a_member_goes_in_and_out_byte_for_byte(text: str):
    inserted = commented.member_insertion(text, KEYS, NAME, SERVER)
    after = commented.inserted(text, (inserted,))

    assert commented.member(after, KEYS, NAME) == SERVER
    assert commented.taken_back(after, (inserted,)) == text


@pytest.mark.parametrize("text", TEXTS[:2])
def test_a_member_is_cut_out_of_what_was_edited_since(text: str):
    after = commented.inserted(text, (commented.member_insertion(text, KEYS, NAME, SERVER),))
    edited = after.replace("{", "{ /* new */", 1)

    assert commented.without_member(edited, KEYS, NAME, keep=1) == text.replace("{", "{ /* new */", 1)


@pytest.mark.parametrize("text", TEXTS)
def test_hooks_go_in_and_out(text: str):
    inserted = commented.insertions(text, [("BeforeAgent", HOOK)])
    after = commented.inserted(text, inserted)

    assert [one.event for one in commented.standing(after, is_ours)] == ["BeforeAgent"]
    assert commented.taken_back(after, inserted) == text


@pytest.mark.parametrize("text", ['{"a": 1 "b": 2}', "[1]", '{"mcp": 3}'])
def test_what_is_not_clear_is_refused(text: str):
    with pytest.raises(NotPlain):
        commented.member_insertion(text, KEYS, NAME, SERVER)
