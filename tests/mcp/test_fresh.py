"""A server that is the first of Recollect on a machine: no home, no daemon, nothing installed."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from recollect.wire.place import find_place
from tests.daemon.real import FORKS, LINUX, alive_in, soon
from tests.mcp.talk import talking

pytestmark = [FORKS, pytest.mark.skipif(not LINUX, reason="looks at processes in /proc")]


@pytest.fixture
def fresh(runtime: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the home will be."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
    home = Path(os.environ["RECOLLECT_HOME"])
    yield home
    for pid in alive_in(home):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    assert soon(lambda: not alive_in(home))


@pytest.mark.parametrize("there", ["no home", "an empty home"])
def test_the_first_call_starts_the_daemon_and_is_answered_by_it(fresh: Path, there: str):
    if there == "an empty home":
        fresh.mkdir(mode=0o700)

    with talking() as talk:
        said = talk.text("ai_pin", content="Said before anything was there.")

        assert "without it" not in said
        assert len(alive_in(fresh)) == 1
        assert "before anything" in talk.text("ai_recall", query="before anything was there")


def test_a_runtime_folder_that_becomes_another_s_meanwhile_is_no_obstacle(fresh: Path):
    """A server lives for days."""
    with talking() as talk:
        talk.pin("Said to the first daemon.")
        (first,) = alive_in(fresh)
        os.chmod(find_place(str(fresh), os.environ).runtime, 0o777)
        assert soon(lambda: first not in alive_in(fresh))

        assert "without it" not in talk.text("ai_pin", content="Said to the second.")
        assert len(alive_in(fresh)) == 1
        assert talk.data("ai_status")["memories"] == {"project": {"thread active": 2}}
