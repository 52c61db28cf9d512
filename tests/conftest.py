"""What holds for every test: its own home, its own folder, no network, and no trace left behind.

The network guard watches this process. Programs that a test starts inherit the private home, not the guard.
"""

import ipaddress
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis.configuration import set_hypothesis_home_dir

ROOT = Path(__file__).resolve().parent.parent
# Taken before any test changes it.
REAL_RECOLLECT = Path.home() / ".recollect"
OURS = ("MEMORY_", "RECOLLECT_", "GIT_", "XDG_")
# Chance, the editor, colours and the agent's own variables would make a test's answer the user's.
OTHERS = (
    "BLOCK_HOOK_AGENTS", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_SESSION_ID", "CLAUDE_CONFIG_DIR", "CLAUDE_ENV_FILE",
    "CLAUDE_PROJECT_DIR", "COLUMNS", "EDITOR", "FORCE_COLOR", "NO_COLOR", "VISUAL",
)  # fmt: skip
MADE_BY_TOOLS = {".git", ".agents", ".venv", ".cache", "__pycache__"}

set_hypothesis_home_dir(ROOT / ".cache" / "hypothesis")
# No deadline: a shared machine is slow at times, and a slow example is not a wrong one. The same examples each run: a
# change is judged by itself, not by chance. `--hypothesis-profile recollect-explore` draws others.
hypothesis.settings.register_profile("recollect", deadline=None, derandomize=True)
hypothesis.settings.register_profile(
    "recollect-explore", deadline=None, derandomize=False, print_blob=True
)
hypothesis.settings.load_profile("recollect")


# A shell ignores SIGINT for what it starts in the background, and programs that tests start and end would, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# `nohup` ignores SIGHUP in the same way. The tests are still not to end with the terminal, but the programs that they
# start inherit that a signal is ignored, not that a function takes it.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


def set_time_zone(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Of this process, and of those that it starts."""
    monkeypatch.setenv("TZ", name)
    if hasattr(time, "tzset"):
        time.tzset()


@pytest.fixture(autouse=True)
def private_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A home, a Recollect home and an empty working folder of the test's own."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir(mode=0o700)
    work.mkdir()
    for name in list(os.environ):
        if name.startswith(OURS) or name in OTHERS:
            monkeypatch.delenv(name)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.setenv("RECOLLECT_HOME", str(home / ".recollect"))
    set_time_zone(monkeypatch, "UTC")
    monkeypatch.chdir(work)
    umask = os.umask(0o022)
    yield
    os.umask(umask)


# The network


class NetworkReached(RuntimeError):
    """A test tried to leave the machine."""


_reached: list[str] = []


def _stays_here(host: object) -> bool:
    if host in (None, "", "localhost", b"localhost"):
        return True
    try:
        address = ipaddress.ip_address(host.decode() if isinstance(host, bytes) else str(host))
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def _watch(event: str, args: tuple[Any, ...]) -> None:
    match event:
        case "socket.connect" | "socket.sendto" | "socket.sendmsg":
            ours, address = args
            if ours.family not in (socket.AF_INET, socket.AF_INET6) or address is None:
                return
            host = address[0]
        case "socket.getaddrinfo" | "socket.gethostbyname":
            host = args[0]
        case _:
            return
    if not _stays_here(host):
        _reached.append(f"{event} {host}")
        raise NetworkReached(f"{event} to {host!r}: tests may reach loopback only")


sys.addaudithook(_watch)


@pytest.fixture(autouse=True)
def no_network(private_world: None) -> Iterator[None]:
    """Fails the test even where its code swallowed the refusal."""
    _reached.clear()
    yield
    assert not _reached, f"reached for the network: {_reached}"


# The tree


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--guard-tree",
        action="store_true",
        help="fail when the clone, or a ~/.recollect that was not there, has changed by the end",
    )
    parser.addoption(
        "--agents",
        action="store_true",
        help="also drive the real agents that tests/agents_e2e is about",
    )


def _tree() -> dict[str, tuple[int, int]]:
    seen = {}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in MADE_BY_TOOLS]
        for name in files:
            path = Path(folder, name)
            stat = path.lstat()
            seen[str(path.relative_to(ROOT))] = (stat.st_size, stat.st_mtime_ns)
    return seen


def _is_guard(config: pytest.Config) -> bool:
    return config.getoption("--guard-tree") is True and not hasattr(config, "workerinput")


_before = pytest.StashKey[tuple[dict[str, tuple[int, int]], bool]]()


def pytest_sessionstart(session: pytest.Session) -> None:
    if _is_guard(session.config):
        session.config.stash[_before] = (_tree(), REAL_RECOLLECT.exists())


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if not _is_guard(session.config):
        return
    tree, had_home = session.config.stash[_before]
    now = _tree()
    changed = sorted(path for path in tree.keys() | now.keys() if tree.get(path) != now.get(path))
    # One that was there may belong to a Recollect at work, so only its coming into being counts.
    if not had_home and REAL_RECOLLECT.exists():
        changed.append(str(REAL_RECOLLECT))
    if changed:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        session.config.stash[_changed] = changed


_changed = pytest.StashKey[list[str]]()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    for path in config.stash.get(_changed, []):
        terminalreporter.write_line(
            f"CHANGED {path}: by a test, or by you during the run; either way this run proves nothing",
            red=True,
        )
