"""The guards of conftest.py hold: checks that are known to fail when they should."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import hypothesis
import pytest

from tests import conftest


def test_every_test_has_a_home_and_an_empty_folder_of_its_own_and_nothing_of_the_callers(tmp_path: Path):
    assert Path.home() == tmp_path / "home"
    assert os.environ["RECOLLECT_HOME"] == str(tmp_path / "home" / ".recollect")
    here = Path.cwd()
    assert [*Path.home().iterdir(), *here.iterdir()] == []
    assert not [folder for folder in (here, *here.parents) if (folder / ".git").exists()]
    assert [name for name in os.environ if name.startswith(("MEMORY_", "GIT_"))] == []


def test_what_is_checked_is_the_same_each_run_and_only_exploring_draws_anew():
    checked, exploring = (hypothesis.settings.get_profile(name) for name in ("recollect", "recollect-explore"))
    assert (checked.derandomize, exploring.derandomize) == (True, False)
    assert checked.deadline is exploring.deadline is None


def test_the_world_is_neither_reached_nor_looked_up_and_loopback_is():
    with socket.socket() as outward, pytest.raises(RuntimeError, match="loopback only"):
        outward.connect(("192.0.2.1", 80))  # an address set apart for documentation
    with pytest.raises(RuntimeError, match="loopback only"):
        socket.getaddrinfo("example.org", 80)
    conftest._reached.clear()
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()
