from __future__ import annotations

import sys
from pathlib import Path

import pytest

from recollect.base.errors import BadInput
from recollect.cli.editor import read, written_out
from tests.cli.run import pinned, run
from tests.cli.terminal import at_terminal
from tests.values import thread

needs_pty = pytest.mark.skipif(sys.platform == "win32", reason="no pty there")


def editor(script: str) -> dict[str, str]:
    """An editor that runs a line of Python over the text `t`."""
    file = Path.cwd() / "editor.py"
    file.write_text(
        "import os, sys\n"
        "path = sys.argv[1]\n"
        "t = open(path, encoding='utf-8', newline='').read()\n"
        f"{script}\n"
        "open(path, 'w', encoding='utf-8', newline='').write(t)\n"
        "os.utime(path, (1, 1))\n"
    )
    return {"EDITOR": f'"{sys.executable}" "{file}"', "VISUAL": ""}


def edited(id: str, script: str) -> tuple[int, str]:
    code, shown = at_terminal("edit", id, env=editor(script))
    return code, shown.decode()


def shown(id: str) -> tuple[str, str, list[str]]:
    memory = run("show", id, "--json").json
    return memory["title"], memory["body"], memory["topics"]


@needs_pty
def test_a_memory_is_edited_in_the_users_editor():
    id = pinned("Old words.\n\nMore.", "--title", "Old: title", "--topics", "a,b")

    code, said = edited(id, "t = t.replace('Old: title', 'New: title').replace('a, b', 'a, c').replace('More', 'Less')")

    assert (code, f"Changed {id}." in said) == (0, True)
    assert shown(id) == ("New: title", "Old words.\n\nLess.", ["a", "c"])


@needs_pty
@pytest.mark.parametrize("body", ["no newline", "one newline\n", "three\n\n\n", "windows\r\nlines\r\n", "  spaces  "])
def test_what_the_person_did_not_touch_stays_as_it_was(body: str):
    id = run("pin", "-", "--title", "Old", "--json", stdin=body.encode()).json["ids"][0]

    code, _ = edited(id, "t = t.replace('Title: Old', 'Title: New')")

    assert code == 0
    assert shown(id)[:2] == ("New", body)


@needs_pty
def test_an_editor_that_saves_nothing_changes_nothing():
    id = pinned("Old words.")

    code, said = edited(id, "sys.exit(0)")

    assert (code, "Nothing to change." in said) == (0, True)
    assert len(run("log", "--json").json) == 1


@needs_pty
@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("t = t.replace('--- the body', '')", "line that divides"),
        ("t = t.replace('Title:', 'Name:')", "is missing"),
        ("t = t.replace('Title: x', 'Title:')", "title is empty"),
        ("t = ''", "line that divides"),
        ("sys.exit(3)", "Editing failed"),
    ],
)
def test_an_edit_that_cannot_be_taken_changes_nothing(script: str, said: str):
    id = pinned("words", "--title", "x")

    code, shown_at_terminal = edited(id, script)

    assert (code, said in shown_at_terminal) == (2, True), shown_at_terminal
    assert shown(id)[:2] == ("x", "words")


@needs_pty
def test_an_editor_that_is_not_there_is_named():
    id = pinned("words")

    code, said = at_terminal("edit", id, env={"EDITOR": "no-such-editor", "VISUAL": ""})

    assert code == 2
    assert b"EDITOR" in said


def test_without_a_terminal_options_are_asked_for():
    ran = run("edit", pinned("words"))

    assert ran.code == 2
    assert "--body" in ran.err


def test_what_is_written_out_is_read_back():
    for body in ("", "x", "x\n", "a\n--- the body begins below this line ---\nb", "Title: y\n"):
        memory = thread("A: title", topics=("a", "b c"), body=body)

        assert read(written_out(memory)) == {"title": "A: title", "topics": "a, b c", "body": body}


def test_a_head_without_its_lines_is_refused():
    with pytest.raises(BadInput, match="missing"):
        read("Title: x\n--- the body begins below this line ---\nbody\n")
