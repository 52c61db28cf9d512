"""Makes docs/FILES.md and the tree in docs/ARCHITECTURE.md from the heads of the source files.

    python tools/make_tree.py

A file's head is the first sentence of its docstring, so a new file shows up by saying what it is.
"""

from __future__ import annotations

import ast
import re
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "recollect"
FILES = ROOT / "docs" / "FILES.md"
ARCHITECTURE = ROOT / "docs" / "ARCHITECTURE.md"
BEGIN, END = "<!-- tree: made by tools/make_tree.py -->\n", "<!-- end of tree -->\n"
# Top to bottom, as the layers stand.
ROOMS = (
    "cli daemon mcp web hooks ops jobs integrations app recall capture lifecycle render store embed llm vault agents "
    "redact model base wire"
).split()


def main() -> None:
    FILES.write_text(files_page(), encoding="utf-8")
    ARCHITECTURE.write_text(with_tree(ARCHITECTURE.read_text(encoding="utf-8")), encoding="utf-8")


def files_page() -> str:
    """Every file of every room, with its first sentence."""
    lines = [
        "# Every file\n\nMade from the files' heads by `python tools/make_tree.py`. "
        "Rooms stand in the order of the layers.\n"
    ]
    for room in _rooms():
        lines.append(
            f"\n## {room}\n\n{_head(SOURCE / room / '__init__.py')}\n\n| file | what it is |\n|---|---|\n"
        )
        lines += [
            f"| `{path.relative_to(SOURCE / room)}` | {_head(path)} |\n" for path in _files(room)
        ]
    return "".join(lines)


def with_tree(page: str) -> str:
    """The page with its tree made anew: one paragraph per room, naming its files."""
    before, rest = page.split(BEGIN)
    tree = "".join(_paragraph(room) for room in _rooms())
    return f"{before}{BEGIN}```\n{tree}```\n{END}{rest.split(END)[1]}"


def _paragraph(room: str) -> str:
    names = " ".join(
        path.relative_to(SOURCE / room).with_suffix("").as_posix() for path in _files(room)
    )
    indent = " " * 14
    wrapped = textwrap.wrap(
        names, 118, initial_indent=f"{room:<14}", subsequent_indent=indent, break_on_hyphens=False
    )
    return "\n".join(wrapped) + "\n"


def _rooms() -> list[str]:
    built = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    return [*(room for room in ROOMS if room in built), *sorted(built - set(ROOMS))]


def _files(room: str) -> list[Path]:
    return sorted(path for path in (SOURCE / room).rglob("*.py") if path.name != "__init__.py")


def _head(path: Path) -> str:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    paragraph = " ".join(text.split("\n\n")[0].split())
    return re.split(r"(?<=[.!?]) (?=[A-Z`])", paragraph)[0].replace("|", "\\|")


if __name__ == "__main__":
    main()
