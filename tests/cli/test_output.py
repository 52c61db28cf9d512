"""What reaches a terminal, and what reaches a pipe."""

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.base.text import storable
from recollect.cli import extras, output
from recollect.model.plan import Create
from recollect.model.result import Scope
from tests.cli.run import at_terminal, needs_pty, parsed, pinned, program, run
from tests.embed import folders
from tests.llm.standin import StandIn
from tests.naughty import NAUGHTY
from tests.values import act, plan, thread
from tools import make_picture

# What a terminal obeys or what reorders a line, apart from the colours that are ours.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
)


def remember_everything_naughty() -> dict[str, str]:
    """The ids, by text."""
    short = [storable(text) for text in NAUGHTY if len(text) < 400]
    found = {text: thread(f"t {text}", body=f"a {text} b", topics=(text,)) for text in short}
    app = App.open(Path.cwd())
    app.writer(Scope.PROJECT).apply(
        plan(*map(Create, found.values())), act(summary=" ".join(short))
    )
    app.close()
    return {text: memory.id for text, memory in found.items()}


@needs_pty
def test_nothing_that_is_stored_or_repeated_in_an_error_can_command_the_terminal():
    escapes = remember_everything_naughty()["\x1b]0;title\x07"]
    stored = [
        ("threads", "--limit", "1000"),
        ("search", "b", "--limit", "1000"),
        ("show", escapes),
        ("log",),
    ]
    repeated = [
        ("show", "\x1b]0;title\x07\u202e"),
        ("\x1b[2J",),
        ("pin", "x", "--boost", "\x1b[2J\x9b31m"),
    ]
    for args in (*stored, *repeated):
        code, given = at_terminal(*args)
        shown = given.decode("utf-8").replace("\r\n", "\n")
        assert (code == 0) == (args in stored) == ("\x1b[" in shown), "only results have colours"
        assert UNSAFE.findall(COLOUR.sub("", shown)) == []
    assert "\\x1b]0;title\\x07" in run("show", escapes).out


def test_a_pipe_gets_no_escapes_and_json_comes_back_as_it_was():
    ids = remember_everything_naughty()
    for args in [
        ("threads", "--limit", "1000"),
        ("log", "--limit", "1000"),
        ("config",),
        ("status",),
        ("doctor",),
    ]:
        assert UNSAFE.findall(run(*args).out) == []
        assert UNSAFE.findall(run(*args, "--json").out) == []
    listed = {card["id"]: card["body"] for card in run("threads", "--limit", "1000", "--json").json}
    assert listed == {id: f"a {text} b" for text, id in ids.items()}


@needs_pty
def test_colours_know_when_to_stay_away():
    pinned("x")
    assert b"\x1b[" in at_terminal("threads")[1]
    assert b"\x1b" not in at_terminal("threads", env={"NO_COLOR": "1"})[1]
    assert b"\x1b[" in at_terminal("threads", env={"NO_COLOR": ""})[1]
    assert b"\x1b[3" not in at_terminal("threads", env={"TERM": "dumb"})[1]
    assert b"\x1b" not in program("threads").stdout


@needs_pty
def test_a_purge_asks_a_person():
    id = pinned("x")
    code, shown = at_terminal("purge", id, typed=b"n\n")
    assert (code, b"cannot be undone. Go on?" in shown) == (130, True)
    assert run("show", id).code == 0
    assert at_terminal("purge", id, typed=b"y\n")[0] == 0
    assert run("show", id).code == 3


def test_a_table_in_a_pipe_is_aligned():
    pinned("first")
    pinned("second")
    head, *rows = run("threads").out.splitlines()
    assert (
        len(
            {row.index(word) for row, word in zip(rows, ("second", "first"), strict=True)}
            | {head.index("TITLE")}
        )
        == 1
    )


# What is loaded for help, and the demo.


LOADED = """
import sys
sys.argv = ["recollect", *sys.argv[1:]]
from recollect.cli import main
try:
    main()
except SystemExit:
    print(" ".join(sys.modules), file=sys.stderr)
"""


def loaded_by(*args: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *args], capture_output=True, text=True, timeout=60
    )
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.parametrize("args", [("--help",), ("--version",), ("rule",), ("pin", "--help")])
def test_help_loads_no_database(args: tuple[str, ...]):
    heavy = {"apsw", "re2", "recollect.store", "recollect.redact"}
    heavy |= (
        set() if "pin" in args else {"recollect.app.core", "json"}
    )  # a command's own help comes from its function
    assert not loaded_by(*args) & heavy


def test_the_demo_shows_the_main_job_and_leaves_nothing(tmp_path: Path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    before = sorted(tmp_path.rglob("*"))
    done = program(
        "demo",
        env={**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    said = done.stdout.decode()
    assert [line[0] for line in said.splitlines() if re.match(r"\d+\. ", line)] == list("12345")
    for words in (
        'noted "Use pnpm, not npm"',
        "`pnpm test` fails here",
        "is waiting in the inbox again.",
        "recollect install",
    ):
        assert words in said
    told = said.partition("what the agent is given")[2]
    assert "Use pnpm, not npm." in told, "the next session is told"
    assert "Running the tests - Asked: run the tests" in told, "a failed command is no open work"
    assert sorted(tmp_path.rglob("*")) == before


def test_the_full_demo_keeps_a_password_out_and_its_commands_exist():
    said, steps = run("demo", "--full").out, run("demo", "--full", "--json").json
    assert "Kept out: url-password" in said
    assert said.count("correct-" + "horse") == 1, "only in the command that was typed"
    for step in steps:
        if not step["command"].startswith(">"):
            parsed(step["command"].split("recollect ", 1)[1])


def test_an_installed_program_without_a_clone_says_where_the_benchmarks_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(extras, "_CLONE", tmp_path)
    ran = run("bench", "recall")
    assert (ran.code, "Clone the repository" in ran.err) == (1, True)


def test_the_picture_in_the_readme_is_what_the_demo_prints():
    svg = make_picture.PICTURE.read_text(encoding="utf-8")
    drawn = "".join(
        html.unescape(part) for part in re.findall(r"<text [^>]*>(.*?)</text>", svg, re.DOTALL)
    )
    printed = "".join(text for text, _ in make_picture.demo_lines())
    assert "".join(drawn.split()).endswith("".join(printed.split())), (
        "run: python tools/make_picture.py"
    )


def test_a_progress_bar_names_what_it_counts_with_rate_and_time_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    now = iter([0.0, 0.1, 10.0, 20.0])
    monkeypatch.setattr("recollect.cli.output.time.monotonic", lambda: next(now))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    bar = output.Bar()
    for done in (0, 50, 400):
        bar(done, 400, "MB of 3 sessions")
    assert capsys.readouterr().err.split("\033[K")[1].strip() == (
        f"{'██':░<20} 50 of 400 MB of 3 sessions, 5.1 MB/s, 69 s left"
    )


# `recall` and `search` at the command line: without a model, what was archived, and the recall agent.


LINE = "2 archived memories also match: --archived"
REINSTALL = "pip install --force-reinstall recollect"


@pytest.mark.parametrize("fault", ["the shipped file is gone", "the setting names no model"])
def test_without_a_model_words_answer_and_doctor_says_what_to_mend(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    is_misnamed = fault == "the setting names no model"
    if is_misnamed:
        monkeypatch.setenv("MEMORY_EMBEDDING_MODEL", str(tmp_path / "none.safetensors"))
    else:
        folders.shipped_without_weights(tmp_path / "shipped", monkeypatch)
    id = pinned("Zeppelins fly on helium.")

    for command in ("recall", "search"):
        shown, listed = run(command, "zeppelins"), run(command, "zeppelins", "--json")
        assert (shown.code, listed.code, listed.err) == (0, 0, ""), shown.err
        assert "Zeppelins fly on helium." in shown.out
        assert (shown.out + shown.err).lower().count("searched by words alone") == 1
        assert ("MEMORY_EMBEDDING_MODEL" in shown.out + shown.err) is is_misnamed
        assert [hit["id"] for hit in listed.json["hits"]] == [id]
        assert listed.json["how"].startswith("words alone: ")
    doctor = run("doctor", "--json")
    [check] = [check for check in doctor.json["checks"] if check["name"] == "model"]
    assert (doctor.code, check["mark"]) == (0, "warn"), "words serve: it is no failure"
    assert "words alone" in check["detail"]
    assert ("`shipped`" in check["repair"], REINSTALL in check["repair"]) == (
        is_misnamed,
        not is_misnamed,
    )
    assert check["repair"] in run("doctor").out


@pytest.mark.parametrize("command", ["recall", "search"])
def test_archived_memories_are_counted_and_shown_on_request(command: str):
    away = {
        pinned("The zeppelin hangar has two doors."),
        pinned("The zeppelin crew lands before noon."),
    }
    assert run("archive", *away).code == 0
    plain, whole = run(command, "zeppelin"), run(command, "zeppelin", "--archived")
    facts = run(command, "zeppelin", "--json").json
    assert LINE in plain.out.splitlines()
    assert (facts["hits"], facts["left_out"]) == ([], {"archived": 2})
    assert LINE not in whole.out
    assert "archived" in whole.out.lower()
    assert {
        hit["id"] for hit in run(command, "zeppelin", "--archived", "--json").json["hits"]
    } == away


@pytest.fixture
def chooser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path / "model", "NONE")
    for name, value in {
        "LLM": "on",
        "LLM_COMMAND": made.command,
        "RECALL_SCHEME": "single",
    }.items():
        monkeypatch.setenv(f"MEMORY_{name}", value)
    return made


def test_names_come_one_a_line_and_nothing_is_an_empty_answer(chooser: StandIn):
    first, second = pinned("Deploys go first"), pinned("Anna signs")
    chooser.answers(f"{second}\n{first}", "NONE")
    some = run("recall-agent", stdin=b"how do we deploy?")
    none = run("recall-agent", stdin=b"how do we deploy?")
    assert (some.code, some.out) == (0, f"{second}\n{first}\n")
    assert (none.code, none.out) == (0, "")


def test_no_answer_is_an_error_and_says_where_to_look(chooser: StandIn):
    pinned("Deploys go first")
    chooser.answers("I would rather not.")
    done = run("recall-agent", "how do we deploy?")
    assert done.code == 2
    assert "recollect logs" in done.err
