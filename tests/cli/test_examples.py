"""Every example in the help and every command in the guides runs, in a scratch home, as it is printed."""

import shlex
from pathlib import Path

import pytest

from recollect.agents import default_agent
from recollect.app.core import App
from recollect.model.memory import Status
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.ops.table import OPS
from tests.cli.run import run
from tests.jobs.test_lessons import session
from tests.ops.test_operations import theirs
from tests.test_docs import ROOT, commands_in, text
from tests.values import act, messages, plan, rule, thread

# What no example can do in a test, and why.
NOT_RUN = {
    "ui": "runs until it is stopped",
    "logs -f": "runs until it is stopped",
    "team": "needs a PostgreSQL server (tests/team)",
    "share": "needs a PostgreSQL server (tests/team)",
    "unshare": "needs a PostgreSQL server (tests/team)",
    "rule add --team": "needs a PostgreSQL server (tests/team)",
    "attach": "names a folder of another machine (tests/ops/test_upkeep.py)",
    "inbox settle": "needs two rules that may contradict each other (tests/ops/test_rule_standing.py)",
    "recall-agent": "asks a language model (tests/ops/test_recall_agent.py)",
    "review": "asks a language model (tests/ops/test_turn_questions.py)",
}


THREAD, RULE = "thread_20260201_083000_{}", "rule_20260201_083000_{}"


def is_run(command: str) -> bool:
    return not any(f"{command} ".startswith(f"{prefix} ") for prefix in NOT_RUN)


def prepare(*, waits: bool) -> None:
    """The memories, notes and files that examples speak of."""
    talk = thread("How we deploy", topics=("database", "deploy"), id=THREAD.format("cdd740"))
    waiting = rule("Use npm", status=Status.CANDIDATE, id=RULE.format("cdd740"))
    first = Create(talk, messages(talk, "The login form.", "The database."))
    first = Create(waiting) if waits else first
    other = Create(thread("The database", id=THREAD.format("0a31f2")))
    create(first, other)
    app = App.open(Path.cwd())
    session(app, Path.home(), "s-1")
    app.close()
    for command in (
        "rule add Use pnpm",
        "rule add Use tabs",
        "rule add Write tests first",
        "focus authentication",
        "link cdd740 0a31f2",
        "note save Always --always --project",
    ):
        assert run(*command.split()).code == 0, command
    for name in ("CLAUDE.md", "AGENTS.md"):
        Path(name).write_text("- Use tabs, never spaces\n", encoding="utf-8")
    Path("memory.jsonl").write_text(
        '{"type": "entity", "name": "A", "entityType": "x", "observations": ["b"]}',
        encoding="utf-8",
    )
    vault = Path.home() / "obsidian"
    vault.mkdir()
    vault.joinpath("deploy.md").write_text("# Deploy\nAsk Anna.\n", encoding="utf-8")
    fill_other_memories()


def create(*memories: Create) -> None:
    app = App.open(Path.cwd())
    app.writer(Scope.PROJECT).apply(plan(*memories), act())
    app.close()


def fill_other_memories() -> None:
    """Of the agent itself, and of other programs, where they keep them."""
    theirs(Path("theirs"))
    for name, found in (("claude-mem", "mem.db"), ("claude-recall", "recall.db")):
        folder = Path.home() / f".{name}"
        folder.mkdir()
        Path("theirs", found).rename(folder / f"{name}.db")
    app = App.open(Path.cwd())
    own = default_agent().own_memory(app.places)[1]
    app.close()
    own.mkdir(parents=True)
    own.joinpath("MEMORY.md").write_text(
        "# Notes\n\nDeploys go through staging.\n", encoding="utf-8"
    )


def execute(command: str) -> str:
    """Runs it as a shell would; what went wrong, if anything did."""
    args = [
        str(Path.home()) + arg[1:] if arg.startswith("~/") else arg
        for arg in shlex.split(command, comments=True)
    ]
    if "--purge" in args or "--project" in args[1:2]:
        args.append("--yes")
    ran = run(*args)
    return "" if ran.code == 0 else f"{command}: {ran.err}"


@pytest.mark.parametrize("example", [op.example for op in OPS if is_run(op.example)])
def test_every_example_in_the_help_runs(example: str):
    prepare(waits=example.startswith("inbox"))
    assert run("note", "save", "Ask Anna before a deploy").code == 0
    if example.startswith("import jsonl"):
        assert run("export", "memories.jsonl").code == 0
    assert execute(example) == ""


@pytest.mark.parametrize("page", ["README.md", "docs/HOWTO.md"])
def test_every_command_of_a_guide_runs_in_the_order_in_which_it_stands(page: str):
    prepare(waits=False)
    problems = []
    for command in filter(is_run, commands_in(text(ROOT / page))):
        assert run("rules").code == 0  # numbers stand for the rows of a list
        if "cdd740" in command and run("show", "cdd740").code:  # one was deleted above
            create(Create(thread("How we deploy", id=THREAD.format("cdd740"))))
        if command.startswith("why "):
            assert run("recall", "how", "we", "deploy").code == 0
        problems.append(execute(command))
    assert "\n".join(filter(None, problems)) == ""


def test_what_is_not_run_is_still_an_example_somewhere():
    pages = [*commands_in(text(ROOT / "README.md")), *commands_in(text(ROOT / "docs/HOWTO.md"))]
    examples = [*pages, *(op.example for op in OPS)]
    for prefix in NOT_RUN:
        assert any(f"{example} ".startswith(f"{prefix} ") for example in examples), prefix
