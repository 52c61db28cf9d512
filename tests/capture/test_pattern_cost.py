"""No text stops capture: patterns read each text in one way, and texts made to be slow are through at once.

The limit of CPU time is a detector of hangs: what it allows is a hundred times what these texts take.
"""

import ast
import re
import subprocess
import sys
import unicodedata
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import recollect
from bench.pumps import ambiguities, neighbours
from recollect.base.text import composed
from recollect.capture import tables

PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
from recollect.capture.prompt_rules import find_rules
from recollect.model.command import command_of
from recollect.model.small_talk import names_nothing
from recollect.capture.turns import shortened
for word in sys.argv[1:]:
    for size in (200, 20_000):
        text = word * (size // len(word))
        for said in (text, f"please look at this {text}\\0 x and check it"):
            find_rules(said), command_of(said), names_nothing(said[:400]), shortened(said[:8_000])
"""
WORDS = (
    "wrong again ", "sorry but ", " ", "\n", "\t", "a. ", "?", "' ", '"', "` ", "<abc>", "BEGIN\n", "- a\n", "\u201c",
    "never use a. ", "unit e2e ", "\u4f60\u597d", "| head ", "requires to be ", "1 ", "a-", "/a", "we use a, not b. ",
)  # fmt: skip


# What is not a matter of one pattern: ends of a command that are taken off one by one, names of files that begin at
# each sign, marks that are put in order.
OTHER_WORK = """
import resource
resource.setrlimit(resource.RLIMIT_CPU, (15, 15))
from recollect.agents import agent
from recollect.app import plan_gate
from recollect.base.text import composed
from recollect.integrations.foreign_memories import words_key
from recollect.model.command import command_of
from recollect.vault.page import normal_name
for number in range(100):
    for end in ("> a ", "2>&1 ", "; true "):
        command_of(f"make {number} {end * 1_000}")
for sign in ("@", "@a", "a@"):
    list(plan_gate._NAMED.finditer(sign * 60_000))
gemini = agent("gemini")
for text in (" " * 400_000 + "x", "<hook_context>" * 60_000, "<hook_context> </hook_context>" * 30_000):
    gemini.read_prompt(text)
words_key("a" * 60_000), words_key("e\u0301" * 30_000)
normal_name("a" + "\u0301\u0327" * 100_000), composed("\u0301\u0327" * 100_000, "NFKC")
"""


CALLS = frozenset("compile search match fullmatch sub subn split findall finditer".split())


def all_patterns() -> list[tuple[str, tables.Pattern]]:
    found: list[tuple[str, tables.Pattern]] = []
    for code in tables.CODES:
        spoken = tables.language(code)
        found += [(f"{code} {one.name}", one.pattern) for one in spoken.signals]
        for named in (spoken.vetoes, spoken.whole_prompt, spoken.patterns):
            found += [(f"{code} {name}", pattern) for name, pattern in named.items()]
        found += [(f"{code} rewrite", pattern) for pattern, _ in spoken.rewrites]
    for path in sorted((Path(tables.__file__).parent / "data").glob("*.toml")):
        names = tables.table(path.name).get("patterns", {}) if path.stem not in tables.CODES else {}
        patterns = tables.Patterns(path.stem)
        found += [(f"{path.stem} {name}", getattr(patterns, name)) for name in names]
    return found


def source_patterns() -> list[tuple[str, re.Pattern[Any]]]:
    """Every pattern that the program writes out, at its use or as a constant, and those that its modules have made."""
    found: list[tuple[str, re.Pattern[Any]]] = []
    package = Path(recollect.__file__).parent
    for path in sorted(package.rglob("*.py")):
        place = str(path.relative_to(package))
        name = ".".join(["recollect", *path.relative_to(package).with_suffix("").parts])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and (pattern := written_pattern(node, name)) is not None:
                found.append((f"{place}:{node.lineno}", pattern))
        module = sys.modules.get(name)
        for name, value in vars(module).items() if module else ():
            if isinstance(value, re.Pattern):
                found.append((f"{place} {name}", value))
    return found


def written_pattern(call: ast.Call, module: str) -> re.Pattern[Any] | None:
    """Of `re.compile("...", flags)` and its like, also where a constant of the module is the text. None for other
    calls, and where the pattern is put together."""
    function = call.func
    if not (isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name)):
        return None
    if function.value.id != "re" or function.attr not in CALLS or not call.args:
        return None
    try:
        source = ast.literal_eval(call.args[0])
    except ValueError:
        source = constant(module, call.args[0])
    if source is None or isinstance(source, re.Pattern):
        return source
    flags = 0
    if function.attr == "compile" and len(call.args) > 1:
        flags = eval(ast.unparse(call.args[1]), {"re": re})
    return re.compile(source, flags)


def constant(module: str, named: ast.expr) -> Any:
    """What a name in capitals stands for."""
    if isinstance(named, ast.Name) and named.id.strip("_").isupper():
        return getattr(import_module(module), named.id, None)
    return None


def test_no_repeated_part_of_a_pattern_reads_a_text_in_two_ways() -> None:
    patterns = all_patterns()

    twice = [(name, word) for name, pattern in patterns for _, word in ambiguities(pattern)]

    assert len(patterns) > 300
    assert twice == []


def test_no_pattern_in_the_program_reads_a_text_in_two_ways() -> None:
    patterns = source_patterns()

    twice = [(place, word) for place, pattern in patterns for _, word in ambiguities(pattern)]

    assert len(patterns) > 200
    assert twice == []


def test_no_two_repeats_side_by_side_share_a_text() -> None:
    """They would cost the square of its length."""
    patterns = [*source_patterns(), *all_patterns()]

    sharing = {name for name, pattern in patterns if any(neighbours(pattern))}

    assert sharing == set()


def test_the_check_sees_repeats_side_by_side() -> None:
    assert list(neighbours(re.compile(r"a\s*b?\s*c")))
    assert list(neighbours(re.compile(r"a\s*(\s*c)")))
    assert list(neighbours(re.compile(r"a\s*(.*)", re.DOTALL))) == []
    assert not list(neighbours(re.compile(r"a\s*(?:b\s*)?c")))


def test_the_check_sees_a_part_that_reads_a_text_in_two_ways() -> None:
    assert [word for _, word in ambiguities(re.compile(r"^(?:(?:sorry(?: but)?|but) )*x"))]


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of CPU time")
def test_texts_made_to_be_slow_are_through_at_once() -> None:
    ended = subprocess.run([sys.executable, "-c", PROGRAM, *WORDS], check=False, timeout=300)

    assert ended.returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="no limits of CPU time")
def test_ends_signs_and_marks_by_the_thousand_are_through_at_once() -> None:
    ended = subprocess.run([sys.executable, "-c", OTHER_WORK], check=False, timeout=300)

    assert ended.returncode == 0


def test_a_name_is_the_same_however_its_accents_are_spelt() -> None:
    for name in ("caf\u00e9", "r\u00e9sum\u00e9 \u1ec7 " * 12):
        assert composed(unicodedata.normalize("NFD", name)) == name
    assert composed("\ufb01 \u2460", "NFKC") == "fi 1"
