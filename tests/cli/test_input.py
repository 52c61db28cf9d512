"""What is piped or typed at the command line, what is asked of a person there, and what is gone."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.model.memory import Status
from recollect.model.plan import Create
from recollect.model.result import Scope
from tests.cli.run import at_terminal, needs_pty, pinned, program, run, with_keys
from tests.values import act, plan, rule

posix = pytest.mark.skipif(
    sys.platform == "win32", reason="modes, links, shells and pipes are another matter there"
)


def body(id: str) -> str:
    return str(run("show", id, "--json").json["body"])


def test_a_dash_reads_standard_input():
    ran = run("pin", "-", "--json", stdin="Two\nlines, é and 日本\n".encode())
    assert body(ran.json["ids"][0]) == "Two\nlines, é and 日本\n"
    assert run("rule", "add", "-", stdin=b"Use tabs\n").code == 0
    id = pinned("x")
    assert run("edit", id, "--body", "-", stdin=b"new").code == 0
    assert body(id) == "new"


def test_ten_megabytes_on_standard_input_are_refused_in_words():
    ran = run("pin", "-", stdin=b"x" * 10_000_000)
    assert ran.code == 2
    assert "10,000,000 characters; at most 150,000 are kept" in ran.err
    assert run("pin", "-", stdin=b"x" * 20_000_001).code == 2


@posix
def test_streams_that_are_closed_are_empty():
    closed = [sys.executable, "-m", "recollect"]

    def run_closed(command: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["sh", "-c", f'"$@" {command}', "sh", *closed], capture_output=True, timeout=60
        )

    read = run_closed("pin - <&-")
    assert (read.returncode, b"nothing to pin" in read.stderr) == (2, True)
    asked = run_closed("purge x <&-")
    assert (asked.returncode, b"nobody is there to ask" in asked.stderr) == (2, True)
    assert run_closed("status >&-").returncode == 0
    assert run_closed("show nothing 2>&- >&- <&-").returncode == 3


@posix
def test_a_folder_that_is_gone_is_named():
    gone = Path.cwd() / "gone"
    gone.mkdir()
    os.chdir(gone)
    shutil.rmtree(gone)
    ran = run("threads")
    assert ran.code == 3
    assert "The current folder no longer exists." in ran.err
    assert run("--help").code == 0


@posix
def test_a_reader_that_leaves_early_is_no_failure():
    """The reader is gone before the first line."""
    read, write = os.pipe()
    os.close(read)
    for args in (["config"], ["config", "--json"], ["--help"], ["pin", "--help"]):
        done = subprocess.run(
            [sys.executable, "-m", "recollect", *args],
            stdout=write,
            stderr=subprocess.PIPE,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, b"")
    os.close(write)


def test_any_locale_can_print_any_text():
    id = pinned("日本 é 🎉")
    done = program(
        "show",
        id,
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
    )
    assert "日本 é 🎉" in done.stdout.decode("utf-8")


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
    code, said = edited(
        id,
        "t = t.replace('Old: title', 'New: title').replace('a, b', 'a, c').replace('More', 'Less')",
    )
    assert (code, f"Changed {id[-6:]}." in said) == (0, True)
    assert shown(id) == ("New: title", "Old words.\n\nLess.", ["a", "c"])


@needs_pty
@pytest.mark.parametrize(
    "body", ["no newline", "one newline\n", "three\n\n\n", "windows\r\nlines\r\n", "  spaces  "]
)
def test_what_the_person_did_not_touch_stays_as_it_was(body: str):
    id = run("pin", "-", "--title", "Old", "--json", stdin=body.encode()).json["ids"][0]
    code, _ = edited(id, "t = t.replace('Title: Old', 'Title: New')")
    assert code == 0
    assert shown(id)[:2] == ("New", body)


@needs_pty
@pytest.mark.parametrize(
    ("script", "said"),
    [("t = t.replace('Title: x', 'Title:')", "title is empty"), ("t = ''", "must begin with the lines"),
     ("sys.exit(3)", "Editing failed"), ("", "EDITOR")],
)  # fmt: skip
def test_an_edit_that_cannot_be_taken_changes_nothing(script: str, said: str):
    id = pinned("words", "--title", "x")
    code, told = at_terminal(
        "edit", id, env=editor(script) if script else {"EDITOR": "no-such-editor", "VISUAL": ""}
    )
    # The terminal wraps its lines, the sooner the longer the path of the editor is.
    assert (code, said in " ".join(told.decode().split())) == (2, True), told
    assert shown(id)[:2] == ("x", "words")


def test_without_a_terminal_options_are_asked_for():
    ran = run("edit", pinned("words"))
    assert ran.code == 2
    assert "--body" in ran.err


# What waits is gone through with one key each.


@pytest.fixture
def waiting() -> list[str]:
    app = App.open(Path.cwd())
    for text in ("Use conventional commits.", "Use snapshot tests.", "Use guard clauses."):
        app.writer(Scope.USER).apply(
            plan(Create(rule(text, body=text, status=Status.CANDIDATE))), act()
        )
    app.close()
    return [card["body"] for card in run("inbox", "--json").json]


def in_force() -> set[str]:
    return {card["body"] for card in run("rule", "list", "--json").json}


@needs_pty
def test_one_key_decides_and_others_do_nothing(waiting: list[str]):
    code, shown = with_keys("inbox", keys=[b"x", b"a", b"r", b"s"])
    assert (code, in_force()) == (0, {waiting[0]})
    assert [card["body"] for card in run("inbox", "--json").json] == waiting[2:]
    assert "2 decided, 1 left." in shown


@needs_pty
def test_a_rule_is_put_in_other_words(waiting: list[str]):
    with_keys("inbox", keys=[b"e", b"Write commits as Conventional Commits.\n", b"q"])
    assert in_force() == {"Write commits as Conventional Commits."}


@needs_pty
@pytest.mark.parametrize(
    ("key", "left"),
    [
        (b"b", {"Use pnpm", "Use npm, too"}),
        (b"n", {"Use npm, too"}),
        (b"o", {"Use pnpm"}),
        (b"s", {"Use pnpm", "Use npm, too"}),
    ],
)
def test_one_key_decides_on_two_rules_that_may_contradict_each_other(key: bytes, left: set[str]):
    run("rule", "add", "Use pnpm", "--user")
    run("rule", "add", "Use npm, too", "--user")
    code, shown = with_keys("inbox", keys=[b"x", key])
    assert (code, in_force()) == (0, left)
    assert "These two may contradict each other" in shown
    assert bool(run("inbox", "--json").json) == (key == b"s")


def test_the_list_says_how_to_decide_on_two_rules_that_may_contradict_each_other():
    run("rule", "add", "Use pnpm", "--user")
    run("rule", "add", "Use npm, too", "--user")
    (card,) = run("inbox", "--json").json
    newer, older = card["id"][-6:], card["contradicts"][0]["id"][-6:]
    assert f"recollect inbox settle {newer} {older} --keep both|newer|older" in run("inbox").out
    for command in ("accept", "reject"):  # the row's number, for the commands of rules that wait
        ran = run("inbox", command, "1")
        assert ran.code == 2
        assert "is in force. It waits because it may contradict" in ran.err
        assert "--keep both|newer|older` decides on the two." in ran.err
    assert run("inbox", "settle", newer, older, "--keep", "older").code == 0
    assert in_force() == {"Use pnpm"}


def test_without_a_terminal_it_is_a_list(waiting: list[str]):
    assert run("inbox").out == run("inbox", "list").out
    assert all(words in run("inbox").out for words in waiting)


# `install` at a terminal asks which of the agents found here shall call us.


@pytest.fixture
def agents_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codex and Gemini CLI were used here; no program of the machine's is found."""
    monkeypatch.setenv("PATH", f"/usr/bin{os.pathsep}/bin")
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in (".codex", ".gemini"):
        (Path.home() / name).mkdir()


def calls_us(name: str) -> bool:
    path = Path.home() / name
    return path.exists() and "/bin/hook" in path.read_text()


def test_install_says_what_it_found_and_what_to_do_where_no_agent_is(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("PATH", f"/usr/bin{os.pathsep}/bin")
    # The second time there is a folder, but only of our making.
    for said in (run("install").out, run("install").out):
        assert "Claude Code was not found on this machine" in said
        assert "No agent was found at all. Recollect works with Claude Code, Codex" in said
        assert "now calls" not in said
        assert "Claude Code will call Recollect once it is installed (" in said
    (Path.home() / ".claude" / "projects").mkdir()
    said = run("install").out
    assert "Claude Code already calls Recollect (" in said
    assert "not found" not in said


@pytest.mark.usefixtures("agents_here")
def test_install_names_the_agents_that_are_here_where_the_usual_one_is_not():
    said = run("install").out
    assert "Claude Code was not found on this machine" in said
    assert (
        "On this machine: Codex, Gemini CLI. `recollect install --agent codex --agent gemini` connects what is here."
    ) in said


def test_join_without_a_server_says_where_it_looked_and_what_to_check():
    address = "postgresql://ada:swordfish@127.0.0.1:1/memory"
    for command in ("join", "create"):
        ran = run("team", command, "acme", address)
        assert ran.code == 12
        assert "The team's server (127.0.0.1:1) cannot be reached" in ran.err
        assert "Check the host and the port in the address, that the server runs" in ran.err
        assert "swordfish" not in ran.out + ran.err
        assert "when the server answers again" not in ran.err


@needs_pty
@pytest.mark.usefixtures("agents_here")
@pytest.mark.parametrize(("keys", "ends"), [([b"n\n", b"y\n"], 0), ([b"n\n", b"n\n"], 130)])
def test_only_those_that_a_person_chooses_are_installed(keys: list[bytes], ends: int):
    code, shown = with_keys("install", keys=keys)
    assert (code, "Codex was found" in shown) == (ends, True), shown
    called = [
        calls_us(name)
        for name in (".codex/hooks.json", ".gemini/settings.json", ".claude/settings.json")
    ]
    assert called == [False, ends == 0, False]
    assert (Path.home() / ".recollect" / "bin").exists() is (ends == 0)
