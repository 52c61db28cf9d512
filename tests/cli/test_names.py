"""How a memory is named: part of its id or title, `last`, a number of the last list; and older names of commands."""

import inspect
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.app.core import App
from recollect.base.clock import SystemClock
from recollect.cli.op_command import command_of, values_from
from recollect.mcp.server import TOOLS, Tool, make_call
from recollect.ops.calls import parse_call
from recollect.ops.table import OPS, Op, Parameter
from tests.cli.run import pinned, run

ALIASES = [(alias, op.name) for op in OPS for alias in op.aliases]


def shown(name: str) -> str:
    ran = run("show", name, "--json")
    assert ran.code == 0, ran
    return str(ran.json["id"])


def test_any_unambiguous_part_of_an_id_or_a_title_stands_for_a_memory():
    deploy, smoke = pinned("Deploys go to staging first"), pinned("The smoke test is make smoke")
    for name in (deploy, deploy[-6:], deploy[7:], "Deploys go", "STAGING"):
        assert shown(name) == deploy
    assert shown("smoke test") == smoke
    assert shown("last") == smoke
    run("show", deploy)
    assert shown("last") == deploy, "the one made, changed or shown last"


def test_the_last_memory_is_one_that_is_still_there():
    ran = run("show", "last", "--json")
    assert (ran.code, ran.error["hint"][:24]) == (3, "`last` is the memory tha")
    kept = pinned("Deploys go to staging first")
    gone = pinned("The smoke test is make smoke")
    run("show", gone)
    run("undo")
    assert shown("last") == kept


def test_what_fits_several_is_refused_with_a_list_of_them():
    one, other = pinned("Deploy to staging"), pinned("Deploy to production")
    ran = run("forget", "deploy to", "--json")
    assert (ran.code, ran.error["type"]) == (3, "AmbiguousName")
    assert all(f"{id[-6:]}  {title}" in ran.error["message"] for id, title in
               ((one, "Deploy to staging"), (other, "Deploy to production")))  # fmt: skip
    assert shown("Deploy to staging") == one, "a whole title is no part"


def test_a_mistyped_id_is_told_which_was_meant():
    id = pinned("x")
    ran = run("show", id[:-1] + ("0" if id[-1] != "0" else "1"), "--json")
    assert (ran.code, ran.error["hint"]) == (3, f"Did you mean {id}?")


def test_a_number_stands_for_a_row_of_the_last_list():
    ids = [pinned(text) for text in ("First of all", "Second to none", "Third time lucky")]
    listed = run("threads").out.splitlines()[1:]
    assert [row.split()[0] for row in listed] == ["1", "2", "3"]
    for row in listed:
        assert shown(row.split()[0])[-6:] == row.split()[-1]
    assert run("show", "4").code == 3
    assert "A number is a row of the list that was printed last here" in run("show", "4").err
    run("search", "third lucky")
    assert shown("1") == ids[2]


@pytest.mark.parametrize(("alias", "name"), ALIASES)
def test_an_older_name_works_and_is_listed_nowhere(alias: str, name: str):
    words = alias.split(" --")[0].split()
    assert run(*words, "--help").code == 0
    assert f" {words[-1]} " not in run("--help").out
    assert all(
        f"  {' '.join(words)} " not in run("help", group).out
        for group in ("memories", "notes", "maintenance")
    )


def test_the_plural_takes_the_commands_of_the_singular():
    assert run("rules", "add", "Use pnpm").code == 0
    assert "Use pnpm" in run("rules").out


def test_help_shows_a_dozen_commands_and_names_the_groups_of_the_rest():
    said = run("--help").out
    everyday = said.partition("Everyday commands:\n")[2].partition("\n\n")[0].splitlines()
    assert [row.split()[0] for row in everyday] == (
        "ui install status recall rules inbox notes why undo import doctor demo".split()
    )
    listed = " ".join(
        run("help", group).out
        for group in ("memories", "notes", "maintenance", "teams", "agents", "developers")
    )
    assert all(op.name in listed for op in OPS)
    assert run("help").out == said
    assert run("help", "qwertz").code == 2


@pytest.mark.parametrize("command", ["rules", "rule", "rule add", "inbox accept", "ui", "delete"])
def test_help_takes_a_commands_name_as_well_as_a_groups(command: str):
    assert run("help", *command.split()).out == run(*command.split(), "--help").out
    assert run("help", *command.split()).out.startswith(f"Usage: recollect {command} ")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("nots", "There is no command 'nots'. Did you mean 'notes' or 'note'?"),
        ("maintenence", "Did you mean 'maintenance'?"),
        ("inbox acept", "There is no command 'acept'. Did you mean 'accept'?"),
    ],
)
def test_help_on_an_unknown_word_names_near_ones(asked: str, said: str):
    ran = run("help", *asked.split())
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_pin_takes_words_and_no_name_of_what_is_remembered():
    id = pinned("Deploys go to staging first")
    run("threads")
    for name in ("1", id[-6:], id):
        ran = run("pin", name)
        assert ran.code == 2
        assert f"{name} is the thread \u201cDeploys go to staging first\u201d" in ran.err
        assert f"`recollect show {id[-6:]}` shows it." in ran.err
    ran = run("pin", "7")
    assert ran.code == 2
    assert "7 is a number of a list, and `pin` keeps new words. Nothing was kept." in ran.err
    assert len(run("threads", "--json").json) == 1
    assert run("pin", "7", "--title", "Shards").code == 0, "it is meant as a text"
    assert run("pin", "port 5433").code == 0


def test_a_rule_that_is_pinned_by_its_number_is_told_how_it_is_protected():
    run("rule", "add", "Use pnpm")
    run("rules")
    ran = run("pin", "1")
    assert ran.code == 2
    assert "1 is the rule \u201cUse pnpm\u201d" in ran.err
    assert "`recollect appreciate " in ran.err


def test_a_rule_for_every_project_says_so_when_it_comes_and_when_it_is_undone():
    assert run("rule", "add", "Use pnpm", "--user").out.endswith("is in force in every project.\n")
    assert run("undo").out.startswith(
        "Undone: the rule \u201cUse pnpm\u201d is no longer in force.\nIt was for every project.\n"
    )
    assert run("rule", "add", "Use pnpm").out.endswith("is in force.\n")


def test_undo_in_another_project_leaves_that_one_alone_and_says_where_changes_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    change = run("rule", "add", "Use pnpm", "--json").json["change"]
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    for args in (("undo",), ("undo", change), ("undo", change[-6:])):
        ran = run(*args)
        assert ran.code == 3
        assert " in other, nor in what holds in every project." in ran.err
        assert "in that project's folder: `recollect projects`." in ran.err


def test_undo_says_when_the_last_change_was_made_if_that_is_long_ago(
    monkeypatch: pytest.MonkeyPatch,
):
    run("rule", "add", "Use pnpm")
    assert "last change" not in run("undo", "--dry-run").out
    later = App.open(Path.cwd()).clock.now().plus(days=3)
    monkeypatch.setattr(SystemClock, "now", lambda _: later)
    assert " and was the last change in work.\n" in run("undo").out


@pytest.mark.parametrize("columns", [60, 80])
def test_lists_fit_the_terminal_and_no_cell_takes_a_second_line(
    columns: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("COLUMNS", str(columns))
    ids = []
    for number in range(3):
        ids.append(
            pinned(
                f"A title that is much longer than the terminal is wide: {number} " + "word " * 20
            )
        )
        run(
            "rule",
            "add",
            f"Never use the tool number {number}, which is older than the other one and slower "
            * 2,
        )
        run(
            "note",
            "save",
            "Words.",
            "--title",
            f"A note with a title that goes on and on, number {number}",
        )
    for args in (("threads",), ("rules",), ("inbox", "list"), ("notes",), ("log",)):
        lines = run(*args).out.splitlines()
        assert max(map(len, lines)) <= columns, args
    rows = [row.split() for row in run("threads").out.splitlines()[1:]]
    assert [(row[0], row[-1]) for row in rows] == [
        (str(n), id[-6:]) for n, id in enumerate(reversed(ids), 1)
    ]


Completes = Callable[[str], list[str]]


@pytest.fixture
def completed(monkeypatch: pytest.MonkeyPatch) -> Completes:
    """What bash would offer for the last word of a line."""

    def offered(line: str) -> list[str]:
        monkeypatch.setenv("_RECOLLECT_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(line.count(" ")))
        ran = run()
        monkeypatch.delenv("_RECOLLECT_COMPLETE")
        assert ran.err == ""
        return [row.partition(",")[2] for row in ran.out.splitlines() if row]

    return offered


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_gets_a_script_it_can_read(shell: str):
    ran = run("completion", shell)
    assert ran.code == 0
    assert "_RECOLLECT_COMPLETE" in ran.out
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=ran.out.encode(), check=True)


def test_commands_options_and_choices_are_completed(completed: Completes):
    assert completed("recollect th") == ["threads"]
    assert completed("recollect rule ") == ["add"]
    assert "--boost" in completed("recollect pin --")
    assert completed("recollect threads --status a") == ["active", "archived"]


def test_ids_are_completed_wherever_one_is_wanted(completed: Completes):
    id = pinned("x")
    for place in ("show ", "merge ", f"merge {id} ", "link ", "delete ", "log ", "edit ", "purge "):
        assert id in completed(f"recollect {place}{id[:8] if place == 'show ' else ''}"), place
    assert completed("recollect show rule_") == []


# One default for one parameter: the command line, the tools and the help say what the function says.


BY_OP = {op.name: op for op in OPS}

# Deliberate differences. A tool that is told null leaves the value out, so that the function's own default holds.
SPELT_AS_NULL: dict[tuple[str, str], Any] = {("ai_pin", "topics"): (), ("ai_split", "topics"): ()}


def function_defaults(op: Op) -> dict[str, Any]:
    given = list(inspect.signature(op.function).parameters.values())[1:]
    return {one.name: one.default for one in given if one.default is not inspect.Parameter.empty}


def parsed(op: Op, *options: str) -> dict[str, Any]:
    """What a command hands to its function when nothing but what it must have is given."""
    wanted = op.parameters
    needed = [_sample(one) for one in wanted if one.required and one.positional]
    needed += [
        part
        for one in wanted
        if one.required and not one.positional
        for part in (_flag(one), _sample(one))
    ]
    command = command_of(op)
    params = command.make_context(op.name, [*options, *needed]).params
    return values_from(wanted, params)


def _sample(one: Parameter) -> str:
    choices = [str(member) for member in one.type] if hasattr(one.type, "__members__") else []
    return choices[0] if choices else "1"


def _flag(one: Parameter) -> str:
    return f"--{one.name.replace('_', '-')}"


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_a_command_uses_its_functions_defaults_and_every_switch_can_be_set_both_ways(
    op: Op, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("recollect.cli.op_command._from_stdin", lambda: "-")  # which `-` stands for
    taken = parsed(op)
    assert {name: taken[name] for name in function_defaults(op)} == function_defaults(op)
    for one in op.parameters:
        if one.type is bool:
            flag = _flag(one).replace("--", "--no-", 1) if one.default else _flag(one)
            assert parsed(op, flag)[one.name] is not one.default


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_names_the_functions_own_defaults(tool: Tool):
    defaults = function_defaults(BY_OP[tool.op])
    for name, schema in tool.arguments.items():
        if (
            "default" not in schema or name == "dry_run"
        ):  # a mode of every write: off unless it is asked for
            assert schema.get("default", False) is False
            continue
        wanted = defaults[tool.renamed.get(name, name)]
        if schema["default"] != wanted:
            assert SPELT_AS_NULL[tool.name, name] == wanted
            assert schema["default"] is None


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_without_options_calls_its_function_with_the_functions_own_defaults(tool: Tool):
    needed: dict[str, Any] = {
        name: schema["type"] == "boolean" or "x"
        for name, schema in tool.arguments.items()
        if "default" not in schema
    }
    defaults = function_defaults(BY_OP[tool.op])
    as_null = {
        name: None for name, schema in tool.arguments.items() if schema.get("default", ...) is None
    }
    for given in (needed, needed | as_null):
        call = parse_call(json.dumps(make_call(tool, given)).encode())
        assert not call.dry_run
        assert {name: value for name, value in call.values.items() if name in defaults} == {}
