"""docs/SECURITY.md lists every file of ours that starts a process. A new one fails here until it is listed, with the
reason why it is safe."""

import ast
import re
from pathlib import Path

import pytest

from tests.team.people import ROOT

SOURCE = ROOT / "src" / "recollect"
PAGE = (ROOT / "docs" / "SECURITY.md").read_text(encoding="utf-8")
MODULES = frozenset({
    "subprocess", "_posixsubprocess", "multiprocessing", "pty", "webbrowser", "popen2", "commands", "_winapi",
    "concurrent.futures.process",
})  # fmt: skip
CALLS = re.compile(
    r"(?:fork|forkpty|exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?|system|popen|startfile|"
    r"create_subprocess_(?:exec|shell)|subprocess_(?:exec|shell)|ProcessPoolExecutor)"
)
# Of other libraries, and of objects whose methods have such a name.
OTHER_CALLS = frozenset({("click", "edit"), ("click", "launch")})


def starts_of_process(source: str) -> list[str]:
    """What in a module starts a process, or may."""
    found = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names):
                found += [one.name for one in names if one.name.split(".")[0] in MODULES]
            case ast.ImportFrom(module=str(module), names=names):
                named = {module, module.split(".")[0], *(f"{module}.{one.name}" for one in names)}
                found += sorted(named & MODULES)
                if module in ("os", "posix", "asyncio", "concurrent.futures"):
                    found += [one.name for one in names if CALLS.fullmatch(one.name)]
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                is_ours = name in ("os", "posix", "system", "asyncio", "loop", "futures")
                if (is_ours and CALLS.fullmatch(attribute)) or (name, attribute) in OTHER_CALLS:
                    found.append(f"{name}.{attribute}")
            case ast.Call(
                func=ast.Name(id="__import__") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                found += [name] if name in MODULES else []
            case _:
                pass
    return found


def files_that_start_processes() -> set[str]:
    return {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if starts_of_process(path.read_text(encoding="utf-8"))
    }


def listed_files() -> set[str]:
    section = PAGE.split("## Places that start a process")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([\w/]+\.py)` \|", section, re.MULTILINE))


def test_every_file_that_starts_a_process_is_listed_with_the_reason_why_it_is_safe():
    assert files_that_start_processes() == listed_files()


def test_no_file_names_git_as_a_program():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.List | ast.Tuple) and node.elts:
                first = node.elts[0]
                is_git = isinstance(first, ast.Constant) and first.value == "git"
                assert not (is_git and starts_of_process(path.read_text(encoding="utf-8"))), path


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess", "from subprocess import run", "import os\nos.system('x')", "from os import execv",
        "import os\nos.fork()", "import os\nos.posix_spawn('x', [], {})", "import multiprocessing.pool as pool",
        "import webbrowser", "def f():\n    import subprocess as s\n    s.run(['x'])", "import click\nclick.edit('x')",
        "from importlib import import_module\nimport importlib\nimportlib.import_module('subprocess')",
        "__import__('pty')", "from concurrent.futures import ProcessPoolExecutor", "import os\nos.spawnlp(0, 'x')",
        "from multiprocessing import Process", "import asyncio\nasyncio.create_subprocess_exec('x')",
    ],
)  # fmt: skip
def test_a_new_start_of_a_process_would_be_noticed(source: str):
    assert starts_of_process(source)


def test_every_test_and_file_that_the_page_names_is_there():
    for name in re.findall(r"`((?:tests|agents|base|ops|vault|integrations)/[\w/.]*)`", PAGE):
        assert Path(ROOT, name).exists() or (SOURCE / name).exists(), name
