"""Commands that change much, in several processes at once: each is done or refused, what was purged is gone, and the
store is sound."""

import subprocess
import sys
from pathlib import Path

from tests.agent_sessions import WRITERS
from tests.cli.run import run
from tests.hostile.test_kills import filled
from tests.ops.ask import holding
from tests.values import NOW

__all__ = ["filled"]


def at_once(*commands: tuple[str, ...]) -> str:
    """What all of them said that went wrong."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "recollect", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for command in commands
    ]
    return "".join(one.communicate(timeout=240)[1].decode() for one in running)


def test_an_undo_beside_a_compaction_of_another_process(filled: None):
    everything = run("list", "--json", "--limit", "1000").json
    said = at_once(("compact", "--strategy", "aggressive"), ("undo",), ("undo",), ("compact",))

    assert "Traceback" not in said
    assert run("verify").code == 0
    listed = run("list", "--json", "--limit", "1000").json
    assert {one["title"] for one in listed} <= {one["title"] for one in everything}


def test_a_purge_beside_an_import_leaves_no_word_and_the_import_is_whole(filled: None):
    assert run("pin", "The zeppelin is moored at dawn.").code == 0
    assert holding(Path.home(), "zeppelin")
    (pinned,) = run("recall", "zeppelin", "--json").json["hits"][:1]
    said = ("no, we use pnpm here, not npm", "pnpm install", "The packages come with pnpm now.")
    for number in range(8):
        at = NOW.plus(days=number - 200)
        WRITERS["codex"](Path.home(), Path.cwd(), f"s-{number}", at, said)

    wrong = at_once(
        ("import", "sessions"), ("purge", pinned["id"], "--yes"), ("compact",), ("reindex",)
    )

    assert "Traceback" not in wrong
    assert run("doctor").code in (0, 1)
    assert run("import", "sessions").code == 0
    assert run("sessions", "--json").json["total"] == 8
    assert not holding(Path.home(), "zeppelin")
    assert run("verify").code == 0
