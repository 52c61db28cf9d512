"""Every naughty string as an argument of a command: taken or refused with a code of the tree, never a crash."""

from __future__ import annotations

import pytest

from tests.cli.run import CODES, pinned, run
from tests.naughty import NAUGHTY

COMMANDS = {
    "pin": ("pin", "--dry-run", "--title", "{}", "--topics", "{}", "--", "{}"),
    "rule add": ("rule", "add", "--dry-run", "--topics", "{}", "--", "{}"),
    "search": ("search", "--topic", "{}", "--", "{}"),
    "edit": ("edit", "ID", "--dry-run", "--title", "{}", "--body", "{}", "--topics", "{}"),
    "show": ("show", "--json", "--", "{}"),
    "command": ("{}",),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_no_argument_crashes_a_command(name: str):
    id = pinned("An anchor.")

    for text in NAUGHTY:
        given = [part.replace("{}", text).replace("ID", id) for part in COMMANDS[name]]
        ran = run(*given, stdin=b"from standard input")

        assert ran.code in CODES, (text, ran.err)
        assert "\x1b" not in ran.out + ran.err


@pytest.mark.parametrize(
    "command",
    ["threads --topic", "log", "undo", "link ID", "merge ID", "purge --yes", "export", "import jsonl", "attach"],
)
def test_the_oddest_arguments_crash_no_other_command_either(command: str):
    id = pinned("An anchor.")
    words = [id if word == "ID" else word for word in command.split()]

    for text in ("", "\ud800", "a\x00b", "\x1b[2J", "-", "../../etc", "a" * 300, "日本", "'; DROP TABLE memory; --"):
        given = [*words, text] if words[-1].startswith("--") and words[-1] != "--yes" else [*words, "--", text]
        ran = run(*given)

        assert ran.code in CODES, (text, ran.err)
