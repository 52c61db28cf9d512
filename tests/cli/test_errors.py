"""Every family of errors: its exit code, its words on standard error, and the same as JSON."""

import json
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from recollect import __version__
from recollect.base.errors import RecollectError
from recollect.cli import op_command
from tests.cli.run import CODES, Ran, pinned, run
from tests.naughty import NAUGHTY


def store() -> Path:
    return next((Path.home() / ".recollect" / "projects").glob("*/memory.db"))


def tree(top: type[RecollectError] = RecollectError) -> Iterator[type[RecollectError]]:
    yield top
    for below in top.__subclasses__():
        yield from tree(below)


@pytest.mark.parametrize("error", [*tree()], ids=lambda error: error.__name__)
def test_every_error_of_the_tree_ends_with_its_own_code(
    error: type[RecollectError], monkeypatch: pytest.MonkeyPatch
):
    def fails(*_: object, **__: object) -> int:
        problem = error.__new__(error)
        RecollectError.__init__(problem, "It did not work.", hint="Try again.")
        raise problem

    monkeypatch.setattr(op_command, "_run", fails)

    assert run("status") == Ran(error.exit_code, "", "recollect: It did not work.\n  Try again.\n")
    told = run("status", "--json").error
    assert (told["type"], told["exit_code"], told["hint"]) == (
        error.__name__,
        error.exit_code,
        "Try again.",
    )


def test_what_nobody_foresaw_is_one_line_and_exit_code_1(monkeypatch: pytest.MonkeyPatch):
    def fails(*_: object, **__: object) -> int:
        raise ZeroDivisionError("by \x1b[31mnothing")

    monkeypatch.setattr(op_command, "_run", fails)

    ran = run("status")
    assert ran.code == 1
    assert "ZeroDivisionError: by \\x1b[31mnothing" in ran.err
    assert "RECOLLECT_DEBUG=1" in ran.err

    monkeypatch.setenv("RECOLLECT_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run("status")


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("rul",), "There is no command 'rul'. Did you mean 'rule' or 'rules'?"),
        (("rule", "ad", "x"), "There is no command 'ad'. Did you mean 'add'?"),
        (("thread",), "Did you mean 'threads'"),
        (("qwertz",), "There is no command 'qwertz'."),
        (("pin",), "Missing argument 'TEXT..."),
        (("show", "a", "b"), "unexpected extra argument"),
        (("pin", "x", "--bost", "1"), "--boost"),
        (("pin", "x", "--boost", "much"), "'much' is not a valid float"),
        (("threads", "--status", "asleep"), "'asleep' is not one of"),
        (("threads", "--limit", "0"), "at least 1"),
    ],
)
def test_a_mistyped_command_is_told_what_was_meant(args: tuple[str, ...], said: str):
    for asked in (args, (*args, "--json")):
        ran = run(*asked)
        assert (ran.code, ran.out) == (2, "")
        assert said in (ran.error["message"] if "--json" in asked else ran.err)


def test_nothing_but_json_is_on_standard_output():
    id, other = pinned("One thing."), pinned("Another thing.")
    for args in [
        ("status",), ("threads",), ("show", id), ("search", "thing"), ("rule", "add", "Use tabs"), ("rule", "list"),
        ("link", id, other), ("unlink", id, other), ("merge", id, other), ("undo",), ("archive", id), ("restore", id),
        ("edit", id, "--title", "T"), ("delete", other), ("log",), ("backup",), ("reindex",), ("verify",),
        ("export", "x.jsonl"), ("import", "jsonl", "x.jsonl"), ("recover",), ("projects",), ("config",), ("doctor",),
        ("purge", id, "--yes"), ("demo",),
    ]:  # fmt: skip
        ran = run(*args, "--json")
        assert (ran.code, ran.err) == (0, ""), args
        json.loads(ran.out)


def test_no_argument_is_a_call_for_help():
    assert run("--version").out == f"recollect {__version__}\n"
    assert run() == run("--help")
    assert run("rule") == run("rule", "--help")


def test_damage_and_what_is_bad_have_exit_codes_of_their_own():
    pinned("x")
    assert (run("verify").code, run("doctor").code) == (0, 0)
    db = apsw.Connection(str(store()))
    db.execute("UPDATE memory SET title = 'forged'")
    db.close()
    found = run("verify", "--json")
    assert (found.code, found.json["clean"], run("verify").code) == (5, False, 5)
    store().chmod(0o644)
    ran = run("doctor")
    assert (ran.code, "BAD  project store" in ran.out) == (1, True)


# Every naughty string as an argument of a command: taken or refused with a code of the tree, never a crash.


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
    for text in NAUGHTY[::3]:  # the operations get all of them in tests/ops/test_operations.py
        given = [part.replace("{}", text).replace("ID", id) for part in COMMANDS[name]]
        ran = run(*given, stdin=b"from standard input")
        assert ran.code in CODES, (text, ran.err)
        assert "\x1b" not in ran.out + ran.err


def test_an_unknown_choice_names_the_help_of_its_command():
    said = run("rate", pinned("Deploys wait for the nightly run."), "good").err
    assert "`recollect rate --help` explains them." in said
