"""The contracts in pyproject.toml can fail, cover every room, and match what is declared and documented."""

import ast
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TypeGuard

import hypothesis
import pytest

from tests import conftest
from tools import ratchet

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "recollect"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
BIN = Path(sys.executable).parent

DECIDING = {"recall", "capture", "lifecycle", "render", "redact", "model"}
# What a distribution is called when it is imported.
IMPORTED_AS = {"google-re2": "re2", "markdown-it-py": "markdown_it"}


def rooms() -> set[str]:
    return {path.parent.name for path in PACKAGE.glob("*/__init__.py")}


def imports(path: Path) -> set[str]:
    """The top-level names a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").partition(".")[0])
    return found


def declared() -> set[str]:
    extras = PROJECT["project"]["optional-dependencies"].values()
    listed = [*PROJECT["project"]["dependencies"], *(line for extra in extras for line in extra)]
    return {re.split(r"[<>=~! \[]", line)[0] for line in listed}


def pinned(lock: str) -> dict[str, str]:
    return dict(
        re.findall(r"^([a-z0-9-]+)==(\S+)", (ROOT / lock).read_text(encoding="utf-8"), re.MULTILINE)
    )


# Import contracts


@pytest.mark.parametrize("contract", ["pure-io", "pure-base"])
def test_every_room_that_decides_is_held_to_be_pure(contract: str):
    contracts = {c["id"]: c for c in PROJECT["tool"]["importlinter"]["contracts"]}
    held = {name.removeprefix("recollect.") for name in contracts[contract]["source_modules"]}
    assert held == DECIDING & rooms()


@pytest.mark.parametrize("room", sorted(DECIDING))
def test_no_room_that_decides_opens_a_file(room: str):
    """`open` needs no import, so the contracts cannot see it."""
    for path in (PACKAGE / room).rglob("*.py"):
        names = {n.id for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if _is_used(n)}
        assert not names & {"open", "input", "print", "exec", "eval", "__import__"}, path


def _is_used(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(
        node.ctx, ast.Load
    )  # a field may have such a name


# Room, line, contract; together in one copy, because building the graph takes seconds.
BREACHES = [
    ("base", "import recollect.model", "Every room stands in its row"),
    ("store", "import recollect.render", "Every room stands in its row"),
    ("ops", "import recollect.cli", "Every room stands in its row"),
    ("llm", "import recollect.agents", "Every room stands in its row"),
    ("lifecycle", "import time", "Rooms that decide touch no"),
    ("model", "import pathlib", "Rooms that decide touch no"),
    ("redact", "import os", "Rooms that decide touch no"),
    ("render", "import recollect.base.clock", "Rooms that decide take only"),
    ("cli", "import recollect.store", "Doors call operations"),
    ("ops", "import apsw", "apsw belongs to the store"),
    ("ops", "import click", "click belongs"),
    ("store", "import re2", "re2 belongs to redact"),
]
# The copy has to come before the installed package on the path.
LINT = "import sys; sys.path[:0] = ['src', '.']; from importlinter.cli import lint_imports_command as lint; lint()"


def test_every_breach_of_a_contract_is_found(tmp_path: Path):
    leave = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(PACKAGE, tmp_path / "src" / "recollect", ignore=leave)
    shutil.copytree(ROOT / "bench", tmp_path / "bench", ignore=leave)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for number, (room, line, _) in enumerate(BREACHES):
        (tmp_path / "src" / "recollect" / room / f"breach{number}.py").write_text(
            f"{line}\n", encoding="utf-8"
        )
    (tmp_path / "src" / "recollect" / "attic").mkdir()
    (tmp_path / "src" / "recollect" / "attic" / "__init__.py").touch()

    command = [sys.executable, "-c", LINT, "--no-logo", "--no-cache"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")

    assert found.returncode == 1, found.stdout + found.stderr
    assert "recollect.attic" in found.stdout, "a room that stands in no row"
    for number, (room, line, contract) in enumerate(BREACHES):
        assert re.search(re.escape(contract) + r".*BROKEN", found.stdout), contract
        assert (
            f"recollect.{room}.breach{number} -> {line.removeprefix('import ')}" in found.stdout
        ), found.stdout


# Bans


BANNED = [
    "import time\ntime.time()", "from time import time_ns", "from datetime import datetime\ndatetime.now()",
    "import datetime\ndatetime.date.today()", "import os\nos.environ", "from os import getenv", "import uuid",
    "import random", "import secrets", "import pickle",
]  # fmt: skip
PERMITTED = ["base/clock.py", "base/ids.py", "base/paths.py", "base/settings.py"]


def lint(file: str) -> str:
    """What ruff says of the bans, were this in `file`."""
    options = "check --select=TID251 --no-cache --output-format=concise -".split()
    command = [str(BIN / "ruff"), *options, f"--stdin-filename=src/recollect/{file}"]
    code = "\n".join(BANNED)
    return subprocess.run(
        command, input=code, cwd=ROOT, capture_output=True, text=True, encoding="utf-8"
    ).stdout


def test_every_stray_clock_environment_and_chance_is_found_but_where_it_belongs():
    found = lint("ops/threads.py")
    ends = [sum(code.count("\n") + 1 for code in BANNED[: n + 1]) for n in range(len(BANNED))]
    assert [line for line in ends if f".py:{line}:" not in found] == []
    assert [file for file in PERMITTED if "TID251" in lint(file)] == []


# Dependencies


def test_the_package_imports_only_what_it_declares():
    """Tools of the check are importable here, and would be missing at a user's."""
    outside = set().union(*(imports(path) for path in PACKAGE.rglob("*.py")))
    assert outside - sys.stdlib_module_names - {"recollect", "bench"} <= {
        IMPORTED_AS.get(d, d) for d in declared()
    }


def test_every_dependency_is_documented_in_the_version_that_is_locked():
    documented = (ROOT / "docs" / "DEPENDENCIES.md").read_text(encoding="utf-8")
    for name in sorted(declared()):
        assert f"| {name} | {pinned('requirements.txt')[name]} |" in documented


def test_the_check_tests_the_versions_that_users_run():
    runtime, check = pinned("requirements.txt"), pinned("requirements-dev.txt")
    assert runtime.items() <= check.items()


def test_the_locks_name_no_index_and_no_path():
    for lock in ("requirements.txt", "requirements-dev.txt"):
        assert not re.search(
            r"://|index|find-links|file:|/(home|root|opt|Users)/", (ROOT / lock).read_text("utf-8")
        )


# The ratchet sees what it is there to see.


def figures(**files: str) -> dict[str, int]:
    sources = {name.replace("__", "/") + ".py": text for name, text in files.items()}
    measured = ratchet.measure_structure(sources) | ratchet.measure_size(sources)
    return {name: figure.count for name, figure in measured.items()}


def test_the_same_code_has_the_same_size_however_it_is_laid_out():
    dense = "x = [a for a in b if a]; y = f(x) if x else None\n"
    airy = "x = [\n    a\n    for a in b\n    if a\n]\n\n# Why.\ny = (\n    f(x)\n    if x\n    else None\n)\n"

    assert figures(a__one=dense)["syntax nodes"] == figures(a__one=airy)["syntax nodes"] > 10


def test_complexity_counts_every_way_through_a_function_and_inner_functions_by_themselves():
    ten = "def f(a):\n" + "    if a and a: pass\n" * 5
    inner = "def f(a):\n    def g(b):\n" + "        if b: pass\n" * 10
    twice = "class C:\n    def m(self, a):\n" + "        x = a if a else [b for b in a if b]\n" * 5
    found = figures(a__ten=ten, a__inner=inner, a__twice=twice, a__short="def f(): return 1\n")

    assert found["functions of complexity over 10"] == 3
    assert found["functions of complexity over 15"] == 1


def test_tables_that_decide_are_counted_and_weights_are_not():
    sources = {"capture/data/en.toml": "x" * 70, "capture/data/judge_weights.json": "y" * 90}

    assert ratchet.measure_size(sources)["characters of tables that decide"].count == 70


# What programs and the screen need, and fitted weights.
TABLES_THAT_DECIDE_NOTHING = tuple(
    """
    agents/*.json base/settings.json capture/data/*_weights.json cli/sample.json embed/everyday_texts.json
    embed/shipped_model/config.json mcp/tool_list.json ops/activity.json recall/floor.json render/wording.json
    web/words.json
    """.split()
)


def test_every_table_is_counted_or_named_as_one_that_decides_nothing():
    tables = [
        path.relative_to(PACKAGE)
        for path in PACKAGE.rglob("*")
        if path.suffix in (".json", ".toml")
    ]
    patterns = (*ratchet.TABLES_THAT_DECIDE, *TABLES_THAT_DECIDE_NOTHING)

    assert [path for path in tables if not any(map(path.match, patterns))] == []
    assert [pattern for pattern in patterns if not any(one.match(pattern) for one in tables)] == []


class Change:
    """A scratch repository with one commit on main and a branch that adds to it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "-q", "-b", "main")
        (root / "pyproject.toml").write_text("[tool.ratchet]\n", encoding="utf-8")
        self.write("x = 1\n")
        self.commit("first")
        self.git("checkout", "-q", "-b", "topic")

    def write(self, text: str) -> None:
        path = self.root / ratchet.PACKAGE / "model" / "values.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    def git(self, *arguments: str) -> None:
        named = ("-c", "user.name=n", "-c", "user.email=n@example.com")
        subprocess.run(("git", "-C", str(self.root), *named, *arguments), check=True)


@pytest.fixture
def change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Change:
    monkeypatch.setattr(ratchet, "ROOT", tmp_path)
    return Change(tmp_path)


@pytest.mark.parametrize(
    ("lines", "message", "is_refused"),
    [
        pytest.param(20, "A few lines", False, id="first lines"),
        pytest.param(900, "Much more", True, id="no reason"),
        pytest.param(900, "Much more\n\nsize: a new room", False, id="a reason"),
        pytest.param(900, "Much more\n\nsize:  ", True, id="an empty reason"),
    ],
)
def test_a_rise_needs_a_reason_in_a_commit(
    change: Change, lines: int, message: str, is_refused: bool
):
    change.write("x = 1\n" * lines)
    change.commit(message)

    assert bool(ratchet.main([])) is is_refused


def test_a_rise_that_is_not_committed_is_told_and_refused_once_it_is(
    change: Change, capsys: pytest.CaptureFixture[str]
):
    change.write("x = 1\n" * 900)

    assert not ratchet.main([])
    assert "The commit needs a line 'size: REASON'" in capsys.readouterr().out
    change.commit("Much more")
    assert ratchet.main([])


def test_a_folder_of_31_files_is_one_too_many():
    found = figures(**{f"a__f{n}": "" for n in range(31)}, **{f"b__g{n}": "" for n in range(30)})
    assert found["folders_of_more_than_30_files"] == 1


def test_a_file_name_that_two_rooms_use_is_counted():
    assert figures(a__same="", b__same="", b__other="")["file_names_in_two_rooms"] == 1


def test_a_cycle_behind_a_lazy_import_is_found_and_one_of_types_alone_is_none():
    lazy = "def f():\n    from recollect.a import one\n"
    typed = (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from recollect.a import three\n"
    )
    found = figures(
        a__one="import recollect.a.two\n", a__two=lazy, a__three="from recollect.a import four\n",
        a__four=typed,
    )  # fmt: skip
    assert found["modules_in_import_cycles"] == 2


# The guards of conftest.py hold: checks that are known to fail when they should.


def test_every_test_has_a_home_and_an_empty_folder_of_its_own_and_nothing_of_the_callers(
    tmp_path: Path,
):
    assert Path.home() == tmp_path / "home"
    assert os.environ["RECOLLECT_HOME"] == str(tmp_path / "home" / ".recollect")
    here = Path.cwd()
    assert [*Path.home().iterdir(), *here.iterdir()] == []
    assert not [folder for folder in (here, *here.parents) if (folder / ".git").exists()]
    assert [name for name in os.environ if name.startswith(("MEMORY_", "GIT_"))] == []


def test_what_is_checked_is_the_same_each_run_and_only_exploring_draws_anew():
    checked, exploring = (
        hypothesis.settings.get_profile(name) for name in ("recollect", "recollect-explore")
    )
    assert (checked.derandomize, exploring.derandomize) == (True, False)
    assert checked.deadline is exploring.deadline is None


def test_the_world_is_neither_reached_nor_looked_up_and_loopback_is():
    with socket.socket() as outward, pytest.raises(RuntimeError, match="loopback only"):
        outward.connect(("192.0.2.1", 80))  # an address set apart for documentation
    with pytest.raises(RuntimeError, match="loopback only"):
        socket.getaddrinfo("example.org", 80)
    conftest._reached.clear()
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
