"""A table goes into a TOML text and out of it again, and not another byte differs."""

from __future__ import annotations

import tomllib

import pytest

from recollect.agents import toml_table
from recollect.base.errors import NotPlain

KEYS, NAME = ("mcp_servers",), "recollect"
SERVER = {"command": '/home/ada/it\'s "here"/bin/mcp', "args": []}
TEXTS = [
    "", "a = 1\n", "a = 1", "a = 1\r\n", "# only a comment\n", "[mcp_servers]\n",
    "[mcp_servers.other]\ncommand = 'x'\n\n", 'x = """\n[mcp_servers.recollect]\n"""\n[b]\nz = [\n[1],\n[2]]\n',
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_put_in_is_taken_back_byte_for_byte(text: str):
    inserted = toml_table.member_insertion(text, KEYS, NAME, SERVER)
    after = toml_table.inserted(text, (inserted,))

    assert toml_table.member(after, KEYS, NAME) == SERVER
    assert toml_table.taken_back(after, (inserted,)) == text


@pytest.mark.parametrize("text", [text for text in TEXTS if text.endswith("\n") or not text])
def test_a_table_is_cut_out_of_an_edited_text(text: str):
    after = toml_table.inserted(text, (toml_table.member_insertion(text, KEYS, NAME, SERVER),))
    edited = after + "\n# a note of theirs\n[projects.'/x']\ntrust_level = 'trusted'\n"

    cut = toml_table.without_member(edited, KEYS, NAME)

    assert cut == text + "\n# a note of theirs\n[projects.'/x']\ntrust_level = 'trusted'\n"


def test_tables_below_it_go_with_it():
    text = "[mcp_servers.recollect]\ncommand = 'x'\n[mcp_servers.recollect.env]\nA = 'b'\n[mcp_servers.recollected]\n"

    assert toml_table.without_member(text, KEYS, NAME) == "[mcp_servers.recollected]\n"


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers.recollect.command = 'x'\n",
        "mcp_servers = {recollect = {command = 'x'}}\n",
        "[mcp_servers]\nrecollect = {command = 'x'}\n",
    ],
)
def test_one_that_is_written_otherwise_is_not_cut(text: str):
    with pytest.raises(NotPlain):
        toml_table.without_member(text, KEYS, NAME)


def test_nothing_is_added_where_nothing_can_be():
    with pytest.raises(NotPlain):
        toml_table.member_insertion("mcp_servers = {}\n", KEYS, NAME, SERVER)


@pytest.mark.parametrize("text", ["a = \n", "[x\n", "a = 1\na = 2\n"])
def test_what_is_not_toml_is_refused_with_its_line(text: str):
    with pytest.raises(tomllib.TOMLDecodeError):
        tomllib.loads(text)
    with pytest.raises(NotPlain) as refused:
        toml_table.member(text, KEYS, NAME)

    assert refused.value.line >= 1
