"""Measures the size of the house in a unit that density cannot cheat, and compares it with the merge base.

    python tools/ratchet.py            compare with the merge base of this branch and origin/main
    python tools/ratchet.py REVISION   compare with another revision

Counted are syntax nodes (not lines: a limit in lines is paid for in density), functions of a complexity over 10 and
over 15, and the characters of text tables that decide (patterns and word lists, which no test of nodes sees).

A figure may rise by the small allowance below without a word, so that nobody's first lines fail. Beyond it one
of the commits since the merge base must say why, in a line `size: REASON` of its message. Work that is not committed
yet is measured, too, but only told: its message can still be written.

Some figures have a limit of their own in pyproject.toml ([tool.ratchet]), which may fall and never rise.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tarfile
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "src/recollect"
MAX_FOLDER_FILES = 30
REASON = re.compile(r"(?mi)^size:[ \t]*\S.*$")

# How much each figure may rise in one change without a reason. Two hundred lines of ordinary code have about
# 700 nodes; the first function of a newcomer may be complex, but no function may be very complex.
ALLOWANCE = {
    "syntax nodes": 700,
    "functions of complexity over 10": 1,
    "functions of complexity over 15": 0,
    "characters of tables that decide": 500,
}

# Tables whose words or patterns decide what is kept, hidden or told. Wording and fitted weights are not among them.
TABLES_THAT_DECIDE = (
    "capture/data/*.toml",
    "integrations/foreign_memories.json",
    "model/command.json",
    "model/small_talk.json",
    "recall/rule_words.toml",
    "recall/search_words.json",
    "redact/secrets.json",
)

# Nodes that come with another one and that nobody reads: every name has a context, every sum an operator.
PUNCTUATION = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop, ast.arguments)

Sources = Mapping[str, str]
Graph = dict[str, set[str]]


@dataclass(frozen=True)
class Figure:
    """What was counted, and the places that make it up where those are few enough to name."""

    count: int
    places: tuple[str, ...] = ()


def main(arguments: list[str]) -> int:
    now = read_work_tree(ROOT)
    is_over_limit = report_limits(now)

    base = arguments[0] if arguments else find_base()
    if base is None:
        print("no git history to compare with: the size was not compared")
        return int(is_over_limit)
    rises = report_rises(base, now)
    if not rises:
        return int(is_over_limit)

    reasons = REASON.findall(git("log", "--format=%B", f"{base}..HEAD"))
    for reason in reasons:
        print(f"    {reason.strip()}")
    is_unexplained = not reasons and bool(list(rises_beyond_allowance(base, read_revision("HEAD"))))
    if is_unexplained:
        print(f"A rise needs a line 'size: REASON' in the message of a commit since {base[:12]}.")
    elif not reasons:
        print("The commit needs a line 'size: REASON' in its message.")
    return int(is_over_limit or is_unexplained)


def report_limits(sources: Sources) -> bool:
    """Print the figures that have a fixed limit; whether one is above it."""
    limits = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ratchet"]
    figures = measure_structure(sources)
    is_over = False
    for name, limit in limits.items():
        figure = figures[name]
        verdict = "ok"
        if figure.count > limit:
            verdict = "TOO MANY"
            is_over = True
        elif figure.count < limit:
            verdict = "lower the limit"
        print(f"{name.replace('_', ' '):<42} {figure.count:>9,} of {limit:,}  {verdict}")
        if figure.count > limit:
            for place in figure.places:
                print(f"    {place}")
    return is_over


def report_rises(base: str, sources: Sources) -> bool:
    """Print the size beside the base's; whether it rose beyond the allowance."""
    before, after = measure_size(read_revision(base)), measure_size(sources)
    has_risen = False
    for name, allowance in ALLOWANCE.items():
        change = after[name].count - before[name].count
        verdict = "ok"
        if change > allowance:
            verdict = f"MORE THAN {allowance:,} UP"
            has_risen = True
        print(f"{name:<42} {after[name].count:>9,} ({change:+,} since {base[:12]})  {verdict}")
        if change > allowance:
            for place in sorted(set(after[name].places) - set(before[name].places)):
                print(f"    {place}")
    return has_risen


def rises_beyond_allowance(base: str, sources: Sources) -> Iterator[str]:
    before, after = measure_size(read_revision(base)), measure_size(sources)
    for name, allowance in ALLOWANCE.items():
        if after[name].count - before[name].count > allowance:
            yield name


# What the figures are


def measure_size(sources: Sources) -> dict[str, Figure]:
    """The figures that are compared with the merge base."""
    nodes = 0
    complexities: dict[str, int] = {}
    for path, text in sources.items():
        if path.endswith(".py"):
            tree = ast.parse(text)
            nodes += sum(not isinstance(node, PUNCTUATION) for node in ast.walk(tree))
            complexities |= {
                f"{path}: {name}": n for name, n in function_complexities(tree).items()
            }
    over_10 = tuple(place for place, n in complexities.items() if n > 10)
    over_15 = tuple(place for place, n in complexities.items() if n > 15)
    tables = [text for path, text in sources.items() if is_table_that_decides(path)]
    return {
        "syntax nodes": Figure(nodes),
        "functions of complexity over 10": Figure(len(over_10), over_10),
        "functions of complexity over 15": Figure(len(over_15), over_15),
        "characters of tables that decide": Figure(sum(map(len, tables))),
    }


def is_table_that_decides(path: str) -> bool:
    return any(Path(path).match(pattern) for pattern in TABLES_THAT_DECIDE)


def function_complexities(tree: ast.AST, prefix: str = "") -> dict[str, int]:
    """The cyclomatic complexity of every function; one inside another counts for itself."""
    found: dict[str, int] = {}
    for node in ast.iter_child_nodes(tree):
        name = prefix
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}.{node.name}" if prefix else node.name
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[name] = 1 + sum(map(decisions, inner_nodes(node)))
        found |= function_complexities(node, name)
    return found


def inner_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions and classes inside it."""
    for node in ast.iter_child_nodes(function):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
            yield from inner_nodes(node)


def decisions(node: ast.AST) -> int:
    """How many ways a node adds through its function."""
    match node:
        case ast.If() | ast.IfExp() | ast.For() | ast.AsyncFor() | ast.While():
            return 1
        case ast.ExceptHandler() | ast.Assert() | ast.match_case():
            return 1
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.comprehension():
            return 1 + len(node.ifs)
        case _:
            return 0


def measure_structure(sources: Sources) -> dict[str, Figure]:
    """The figures that have a limit in pyproject.toml."""
    modules = [path for path in sources if path.endswith(".py")]
    folders = Counter(str(Path(path).parent) for path in modules)
    full = [f"{folder}: {n} files" for folder, n in folders.items() if n > MAX_FOLDER_FILES]
    repeated = repeated_names(modules)
    cycles = modules_in_cycles(import_graph(sources))
    return {
        "folders_of_more_than_30_files": Figure(len(full), tuple(full)),
        "file_names_in_two_rooms": Figure(len(repeated), tuple(repeated)),
        "modules_in_import_cycles": Figure(len(cycles), tuple(cycles)),
    }


def repeated_names(modules: list[str]) -> list[str]:
    rooms: dict[str, set[str]] = defaultdict(set)
    for path in map(Path, modules):
        if len(path.parts) > 1 and not path.name.startswith("__"):
            rooms[path.name].add(path.parts[0])
    return [
        f"{name}: {', '.join(sorted(where))}"
        for name, where in sorted(rooms.items())
        if len(where) > 1
    ]


def import_graph(sources: Sources) -> Graph:
    """Which module imports which, lazy imports included; imports for types alone are not."""
    texts = {module_name(path): text for path, text in sources.items() if path.endswith(".py")}
    return {name: imported_modules(text, texts.keys()) - {name} for name, text in texts.items()}


def module_name(path: str) -> str:
    parts = Path("recollect", path).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(text: str, known: Set[str]) -> set[str]:
    found: set[str] = set()
    pending: list[ast.AST] = [ast.parse(text)]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            pending.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from package import module` reaches the module, and the package only where the name is its own.
            for alias in node.names:
                module = f"{node.module}.{alias.name}"
                found.add(module if module in known else node.module)
        pending.extend(ast.iter_child_nodes(node))
    return {name for name in found if name in known}


def modules_in_cycles(graph: Graph) -> list[str]:
    return sorted(name for name in graph if name in reachable(name, graph))


def reachable(start: str, graph: Graph) -> set[str]:
    seen: set[str] = set()
    pending = [*graph[start]]
    while pending:
        name = pending.pop()
        if name not in seen:
            seen.add(name)
            pending.extend(graph[name])
    return seen


# Where the sources come from


def is_counted(path: str) -> bool:
    return path.endswith(".py") or is_table_that_decides(path)


def read_work_tree(root: Path) -> dict[str, str]:
    package = root / PACKAGE
    paths = {str(path.relative_to(package).as_posix()): path for path in sorted(package.rglob("*"))}
    return {
        name: path.read_text(encoding="utf-8") for name, path in paths.items() if is_counted(name)
    }


def read_revision(revision: str) -> dict[str, str]:
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", revision, PACKAGE]
    packed = subprocess.run(command, check=True, capture_output=True).stdout
    sources: dict[str, str] = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        for member in archive:
            name = member.name.removeprefix(f"{PACKAGE}/")
            file = archive.extractfile(member) if is_counted(name) else None
            if file is not None:
                sources[name] = file.read().decode("utf-8")
    return sources


def find_base() -> str | None:
    """Where this branch left main; on main itself, the commit before the last."""
    head = git("rev-parse", "--verify", "--quiet", "HEAD")
    for main_branch in ("origin/main", "main"):
        base = git("merge-base", "HEAD", main_branch)
        if base and base != head:
            return base
    return git("rev-parse", "--verify", "--quiet", "HEAD^") or head or None


def git(*arguments: str) -> str:
    """What git prints; nothing where it fails, as in an archive without a history."""
    command = ["git", "-C", str(ROOT), *arguments]
    try:
        ran = subprocess.run(command, check=False, capture_output=True, text=True)
    except OSError:
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
