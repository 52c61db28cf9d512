"""The guards of conftest.py hold: checks that are known to fail when they should."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import hypothesis
import pytest

from tests import conftest


def test_every_test_has_a_home_of_its_own(tmp_path: Path):
    assert Path.home() == tmp_path / "home"
    assert os.environ["RECOLLECT_HOME"] == str(tmp_path / "home" / ".recollect")
    assert list(Path.home().iterdir()) == []


def test_a_test_starts_in_an_empty_folder_that_is_in_no_repository():
    here = Path.cwd()
    assert list(here.iterdir()) == []
    assert not [folder for folder in (here, *here.parents) if (folder / ".git").exists()]


def test_nothing_of_the_callers_settings_reaches_a_test():
    assert [name for name in os.environ if name.startswith(("MEMORY_", "GIT_"))] == []


def test_what_is_checked_is_the_same_each_run_and_only_exploring_draws_anew():
    checked, exploring = (hypothesis.settings.get_profile(name) for name in ("recollect", "recollect-explore"))
    assert (checked.derandomize, exploring.derandomize) == (True, False)
    assert checked.deadline is exploring.deadline is None


def test_a_connection_to_the_world_is_refused():
    with socket.socket() as outward, pytest.raises(RuntimeError, match="loopback only"):
        outward.connect(("192.0.2.1", 80))  # an address set apart for documentation
    _forgive()


def test_a_name_of_the_world_is_not_even_looked_up():
    with pytest.raises(RuntimeError, match="loopback only"):
        socket.getaddrinfo("example.org", 80)
    _forgive()


def test_loopback_can_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname()).close()


def _forgive() -> None:
    conftest._reached.clear()
