"""Measures the size of the house, and fails when it has grown past the limits in pyproject.toml ([tool.ratchet]).

    python tools/ratchet.py

A figure may fall and never rise: when one is below its limit, lower the limit in the same commit. Data files
(tables of languages, learned weights, SQL) are not counted; Python is, comments and blank lines included.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Set
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "recollect"
MAX_FILE_LINES = 400
MAX_FOLDER_FILES = 30

Graph = dict[str, set[str]]


def main() -> int:
    limits = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ratchet"]
    found = measure(SOURCE, ROOT / "tests")
    worse = False
    for name, limit in limits.items():
        figure, examples = found[name]
        worse |= figure > limit
        verdict = "TOO MANY" if figure > limit else "lower the limit" if figure < limit else "ok"
        print(f"{name.replace('_', ' '):<42} {figure:>7,} of {limit:>7,}  {verdict}")
        for example in examples if figure > limit else ():
            print(f"    {example}")
    return int(worse)


def measure(source: Path, tests: Path) -> dict[str, tuple[int, list[str]]]:
    """Each figure, and what it counts where that is a list."""
    lines = {path: path.read_text(encoding="utf-8").count("\n") for path in sorted(source.rglob("*.py"))}
    long = [f"{path.relative_to(source)}: {n} lines" for path, n in lines.items() if n >= MAX_FILE_LINES]
    folders = Counter(path.parent for path in lines)
    full = [f"{folder.relative_to(source)}: {n} files" for folder, n in folders.items() if n > MAX_FOLDER_FILES]
    repeated, cycles = repeated_names(source), modules_in_cycles(import_graph(source))
    return {
        "source_lines": (sum(lines.values()), []),
        "test_lines": (sum(path.read_text(encoding="utf-8").count("\n") for path in tests.rglob("*.py")), []),
        "files_of_400_lines_or_more": (len(long), long),
        "folders_of_more_than_30_files": (len(full), full),
        "file_names_in_two_rooms": (len(repeated), repeated),
        "modules_in_import_cycles": (len(cycles), cycles),
    }


def repeated_names(source: Path) -> list[str]:
    rooms = defaultdict(set)
    for path in source.glob("*/**/*.py"):
        if not path.name.startswith("__"):
            rooms[path.name].add(path.relative_to(source).parts[0])
    return [f"{name}: {', '.join(sorted(where))}" for name, where in sorted(rooms.items()) if len(where) > 1]


def import_graph(source: Path) -> Graph:
    """Which module imports which, lazy imports included; imports for types alone are not."""
    names = {_module(source, path): path for path in source.rglob("*.py")}
    return {name: _imports(path, names.keys()) - {name} for name, path in names.items()}


def _module(source: Path, path: Path) -> str:
    parts = path.relative_to(source.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path, known: Set[str]) -> set[str]:
    found: set[str] = set()
    pending: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from package import module` reaches the module, and the package only where the name is its own.
            found |= {_nearest(f"{node.module}.{alias.name}", node.module, known) for alias in node.names}
        pending.extend(ast.iter_child_nodes(node))
    return {name for name in found if name in known}


def _nearest(module: str, package: str, known: Set[str]) -> str:
    return module if module in known else package


def modules_in_cycles(graph: Graph) -> list[str]:
    reach = {name: _reachable(name, graph) for name in graph}
    return sorted(name for name in graph if name in reach[name])


def _reachable(start: str, graph: Graph) -> set[str]:
    seen: set[str] = set()
    pending = [*graph[start]]
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending.extend(graph[name])
    return seen


if __name__ == "__main__":
    sys.exit(main())
