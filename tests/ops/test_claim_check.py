"""Whether what a memory names is there: looked for, never run, and silent where nobody can say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.model.result import Scope
from recollect.ops import rules, validate
from tests.ops.ask import kept, made
from tests.values import rule


@pytest.fixture(autouse=True)
def tree() -> Path:
    root = Path.cwd()
    (root / "src").mkdir()
    (root / "src/there.py").write_text("x = 1\n")
    (root / "package.json").write_text(json.dumps({"scripts": {"build": "touch RAN"}}))
    (root / "Makefile").write_text("CC := gcc\nall: lint\nlint test:\n\ttouch RAN $(CC)\n")
    return root


def missing(app: App, text: str, scope: Scope = Scope.PROJECT) -> tuple[str, ...]:
    return validate.outdated_claims(app, scope, rule("x", body=text))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Look at `src/there.py`", ()),
        ("Look at `src/gone.py`", ("src/gone.py is not there",)),
        ("Look at src/gone.py and src/gone.py", ("src/gone.py is not there",)),
        ("`npm run build`", ()),
        ("`npm run deploy`", ("package.json has no script deploy",)),
        ("`make lint`, `make test`, `make all`", ()),
        ("`make release`", ("the Makefile has no target release",)),
        ("`no-such-program-here --flag`", ("there is no program no-such-program-here",)),
        ("`sh -c true`, `cd -P x`", ()),
        # Nobody can say
        ("`other/gone.py` of another repository", ()),
        ("The branch `origin/main`", ()),
        ("`../outside/gone.py`", ()),
        ("The route `/api/users/`", ()),
    ],
)
def test_what_is_not_there_is_told(app: App, text: str, found: tuple[str, ...]):
    assert missing(app, text) == found


def test_a_makefile_that_says_less_than_it_means_is_believed(app: App, tree: Path):
    for text in ("include more.mk\nall:\n", "%.o: %.c\n\tcc\n", "$(TARGETS): x\n"):
        (tree / "Makefile").write_text(text)
        assert missing(app, "`make release`") == ()
    (tree / "package.json").write_text("{broken")
    (tree / "Makefile").unlink()
    assert missing(app, "`make release` and `npm run nothing`") == ()


def test_a_file_that_was_there_when_it_was_said_is_known_to_be_gone_or_changed(app: App, tree: Path):
    (tree / "top.toml").write_text("a")
    memory = kept(app, made(rules.add(app, "Settings are in top.toml and src/there.py")))
    assert validate.outdated_claims(app, Scope.PROJECT, memory) == ()
    (tree / "top.toml").unlink()
    (tree / "src/there.py").write_text("x = 2\n")
    assert validate.outdated_claims(app, Scope.PROJECT, memory) == ("top.toml is gone", "src/there.py changed since")


def test_of_the_users_memories_only_whole_paths_are_looked_for(app: App, tmp_path: Path):
    text = f"`src/gone.py`, `make release`, `npm run nothing`, `{tmp_path}/gone/x.py`"
    assert missing(app, text, Scope.USER) == (f"{tmp_path}/gone/x.py is not there",)


def test_nothing_that_a_memory_says_is_run(app: App, tree: Path):
    orders = "`make all` `npm run build` `touch RAN -c` `./src/there.py now` `sh -c 'touch RAN'`\n```\n$ touch RAN\n```"
    missing(app, orders)
    assert not (tree / "RAN").exists()
