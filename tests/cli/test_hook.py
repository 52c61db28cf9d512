"""`recollect hook` shows what an agent would get, `recollect logs` what was decided on the way."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from recollect import __version__
from recollect.app.core import App
from recollect.cli.extras import hook, logs
from recollect.ops import rules


def run(command: click.Command, *args: str, given: dict[str, Any] | None = None) -> Result:
    result = CliRunner().invoke(
        command, args, input=json.dumps(given or {}), catch_exceptions=False
    )
    assert result.exit_code == 0
    return result


def started(session: str) -> dict[str, Any]:
    return {"session_id": session, "cwd": str(Path.cwd()), "source": "startup"}


def ruled() -> None:
    app = App.open(Path.cwd())
    rules.add(app, "Use pnpm, never npm")
    app.close()


def test_what_was_printed_counts_as_shown_unless_one_only_looks():
    ruled()
    resumed = started("s-1") | {"source": "resume"}
    looked = run(hook, "SessionStart", "--no-record", given=started("s-1")).output
    again = run(hook, "SessionStart", given=resumed).output
    assert looked
    assert again
    assert run(hook, "SessionStart", given=resumed).output == ""


def test_the_log_tells_what_was_decided_in_a_session():
    ruled()
    for session in ("s-1", "s-2"):
        run(hook, "SessionStart", given=started(session))
    lines = run(logs, "--session", "s-2", "--json").output.splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["session-started"]
    assert json.loads(lines[0])["shown"] == "1"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_a_plugin_reaches_the_program_through_the_home():
    run(hook, "--prepare")
    program = Path(os.environ["RECOLLECT_HOME"]) / "bin" / "recollect"
    ran = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=True, timeout=60
    )
    assert ran.stdout == f"recollect {__version__}\n"
