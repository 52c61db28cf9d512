"""What is documented is what there is: pages made from the tables, and commands that exist."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from recollect.base.settings import SETTINGS
from recollect.cli.main import group_rows
from recollect.cli.op_command import command_of
from recollect.ops.table import OPS, Effect, Op
from tests.cli.run import parsed
from tools import make_tree
from tools.make_docs import man_page, operations_page

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "operations.md"
README = ROOT / "README.md"

by_name = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def commands_in(markdown: str) -> Iterator[str]:
    """The command lines of ours in its console blocks, without their prompt."""
    for block in re.findall(
        r"^```(?:console|sh|bash|text)\n(.*?)^```", markdown, re.MULTILINE | re.DOTALL
    ):
        for line in block.splitlines():
            found = re.match(r"(?:\$ )?(?:\./)?recollect (.+)", line)
            if found:
                yield found[1]


def test_the_page_of_operations_and_the_man_page_are_made_from_the_tables():
    assert text(PAGE) == operations_page(), "run: python tools/make_docs.py > docs/operations.md"
    assert text(ROOT / "docs" / "recollect.1") == man_page(), (
        "run: python tools/make_docs.py man > docs/recollect.1"
    )


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_every_setting_is_documented_with_its_default_and_reason(setting):
    (row,) = [line for line in text(PAGE).splitlines() if line.startswith(f"| `{setting.name}` |")]
    assert f"`{setting.default}`" in row
    assert setting.reason in row


@by_name
def test_every_operation_has_a_function_whose_every_parameter_is_explained(op: Op):
    assert callable(op.function)
    assert op.summary.endswith(".")
    for parameter in op.parameters:
        assert parameter.arg.help.endswith("."), parameter.name


@by_name
def test_every_operation_is_a_command_with_help(op: Op):
    help_text = command_of(op).get_help(click.Context(command_of(op), info_name=op.name))
    assert (op.name, op.summary) in group_rows(op.group)
    assert op.summary.split(";")[0].split(",")[0] in " ".join(help_text.split())
    assert "--json" in help_text
    assert ("--dry-run" in help_text) == (op.effect is not Effect.READ)
    assert ("--yes" in help_text) == bool(op.erases)


@by_name
def test_every_example_is_a_command_line_that_can_be_run(op: Op):
    assert op.example.startswith(op.name)
    parsed(op.example)


def test_no_two_operations_share_a_name_or_a_function():
    assert len({op.name for op in OPS}) == len({op.target for op in OPS}) == len(OPS)


def test_a_command_that_does_not_exist_is_noticed():
    assert list(commands_in("```console\n$ recollect pin x\n./recollect demo\nother\n```\n")) == [
        "pin x",
        "demo",
    ]
    for wrong in ("qwertz", "show x --colour red", "rule ad x", "pin"):
        with pytest.raises(click.UsageError):
            parsed(wrong)


def test_the_list_of_files_and_the_tree_are_made_from_the_files():
    architecture = text(make_tree.ARCHITECTURE)
    assert text(make_tree.FILES) == make_tree.files_page(), "run: python tools/make_tree.py"
    assert architecture == make_tree.with_tree(architecture), "run: python tools/make_tree.py"


def test_the_readme_begins_with_the_two_commands():
    assert "./recollect demo" in text(README)
    assert "./check" in text(README)


def test_links_of_the_readme_are_whole_and_lead_to_files_of_this_repository():
    """It is read on the package index, too, where a relative link leads nowhere."""
    urls = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]["urls"]
    links = re.findall(r"\]\(([^)]+)\)", text(README) + text(ROOT / "docs" / "HOWTO.md"))
    assert links
    for link in links:
        home, _, path = link.partition("/blob/main/")
        assert home == urls["Homepage"]
        file = path.partition("#")[0].partition("?")[0]
        assert (ROOT / file).is_file(), link
    assert urls["Homepage"] in man_page()


def test_every_command_shown_in_the_docs_exists():
    pages = [README, *sorted((ROOT / "docs").glob("*.md"))]
    wrong = []
    for page in pages:
        if page == PAGE:
            continue  # usage lines, made from the commands themselves
        for command in commands_in(text(page)):
            try:
                parsed(command)
            except (click.ClickException, click.exceptions.Exit) as problem:
                if not isinstance(problem, click.exceptions.Exit):
                    wrong.append((page.name, command, problem.format_message()))
    assert wrong == []
