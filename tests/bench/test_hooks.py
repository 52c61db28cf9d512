"""The hook benchmark counts what happened, each of its verdicts can fail, and it leaves nothing running."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench import hook_crowd, hook_pace, hook_trials, processes
from bench.fault import Arrange, Call, Fault
from bench.hook_faults import FAULTS
from bench.hook_trials import run_faults
from bench.house import House, payload
from recollect.wire import stub

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")

FEW = 20


def silent(_more: int) -> None:
    pass


def arranging(function: Callable[[House], Call]) -> Arrange:
    """A fault that needs no taking away."""

    @contextmanager
    def arranged(house: House) -> Iterator[Call]:
        yield function(house)

    return arranged


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> House:
    """A home with memories that nobody uses: growing one takes two processes and the model."""
    root = tmp_path_factory.mktemp("grown")
    found = House(str(root), str(root / "runtime"), str(root / "work"))
    found.furnish()
    hook_pace.grow(found, 0, FEW, silent)
    return found


@pytest.fixture
def house(grown: House, tmp_path: Path) -> Iterator[House]:
    """A copy of it, of the same project."""
    with tempfile.TemporaryDirectory(prefix="rcl-") as runtime:
        found = House(str(tmp_path / "house"), runtime, grown.project)
        found.user.mkdir(parents=True)
        shutil.copytree(grown.home.root, found.home.root)
        stub.write_hook(str(found.home.root), sys.executable)
        yield found
        found.stop()
        found.clear()


def test_no_event_of_several_sessions_is_lost(house: House):
    seen: list[int] = []
    crowd = hook_crowd.run_crowd(house, sessions=2, events=4, step=seen.append)
    assert crowd.non_zero_exits == crowd.malformed == crowd.lost == 0
    assert crowd.in_store + crowd.in_spool == 8
    assert sum(seen) == 8


def test_an_event_that_was_never_sent_counts_as_lost(house: House):
    """Else nothing lost would mean nothing."""
    house.start()
    for number in range(3):
        house.run("Stop", payload(house, "Stop", "crowd-0", number))
    with hook_crowd.Kept(house) as kept:
        assert kept.missing({f"crowd-0-{number}" for number in range(4)}) == {"crowd-0-3"}


@pytest.mark.parametrize(
    "name",
    [
        "payload empty", "BLOCK_HOOK_AGENTS", "Python removed", "locks unusable", "hook killed while spooling",
        "home replaced", "clock set back by years", "clock set forward by years",
    ],
)  # fmt: skip
def test_a_fault_is_tried_as_often_as_asked(name: str, house: House):
    (fault,) = [one for one in FAULTS if one.name == name]
    (trial,) = run_faults(house, 2, silent, (fault,))
    assert (trial.fault, trial.runs) == (name, 2)
    assert trial.non_zero_exits == trial.malformed == trial.stderr_bytes == trial.left_behind == 0
    assert processes.having(f"RECOLLECT_HOME={house.root}/fault/.recollect") == []
    assert not Path(house.root, "fault").exists()


def test_a_hook_that_does_wrong_is_found_out(house: House, monkeypatch: pytest.MonkeyPatch):
    """One that fails, prints half a thing, complains, is late and leaves a process."""
    monkeypatch.setattr(hook_trials, "_GONE_WITHIN_S", 0.1)

    @arranging
    def wrong(at: House) -> Call:
        script = Path(stub.script_path(str(at.home.root)))
        script.write_text(
            "#!/bin/sh\nsleep 60 >&- 2>&- <&- &\nsleep 0.4\necho '{'\necho no >&2\nexit 3\n"
        )
        return Call(lambda _: b"{}")

    (trial,) = run_faults(house, 1, silent, (Fault("all of it", wrong),))

    assert (trial.non_zero_exits, trial.malformed, trial.stderr_bytes) == (1, 1, 3)
    assert (trial.past_deadline, trial.left_behind) == (1, 1)
    assert not trial.passed
