"""A program that is run answers, or it does not; in either case it is over, and nothing of it is left. A fresh install
runs none."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from bench.calls import run_calls
from recollect.base.paths import find_program
from recollect.llm import model_calls
from tests.daemon.real import begin_first, soon

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX")
linux = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="orphans are found in /proc"
)


def script(folder: Path, code: str, name: str = "answers") -> str:
    path = folder / name
    path.write_text(f"#!{sys.executable} -I\n" + textwrap.dedent(code), encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def run(
    folder: Path, code: str, *args: str, text: str = "hello", seconds: float = 30.0
) -> model_calls.Run:
    argv = (script(folder, code), *args)
    return model_calls.run_program(
        argv,
        text=text,
        environ={"PATH": os.defpath, "ONLY": "this"},
        folder=str(folder),
        seconds=seconds,
    )


def alive(pid: int) -> bool:
    """A zombie that someone else has yet to wait for is not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return status != "Z"


def is_written(path: Path) -> bool:
    return path.exists() and path.read_text().endswith("\n")


def written(path: Path) -> int:
    """The number in a file that another process writes."""
    assert soon(lambda: is_written(path)), f"{path.name} was never written"
    return int(path.read_text())


def test_it_gets_the_text_its_arguments_environment_and_folder_and_no_descriptor_of_ours(
    tmp_path: Path,
):
    ours = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(ours, True)
    code = """
        import os, sys
        fds = [fd for fd in range(3, 200) if os.path.exists(f"/dev/fd/{fd}")]
        print(sys.argv[1], sys.stdin.read().upper(), len(fds), os.environ.get("ONLY"), os.environ.get("HOME"))
        print(os.getcwd(), os.getpid() == os.getpgrp() == os.getsid(0), file=sys.stdout)
    """
    ran = run(tmp_path, code, "said", text="gr\u00fc\u00dfe")
    os.close(ours)
    assert ran.out.decode().split() == [
        "said",
        "GR\u00dcSSE",
        "0",
        "this",
        "None",
        str(tmp_path),
        "True",
    ]


SLEEPS = "open('pid', 'w').write(f'{os.getpid()}\\n'); time.sleep(600)"
FLOODS = "open('pid', 'w').write(f'{os.getpid()}\\n')\nwhile True: os.write(1, b'x' * 65536)"
DEAF = "[signal.signal(number, signal.SIG_IGN) for number in range(1, 32) if number not in (9, 19)]"


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        (f"os.close(1); {SLEEPS}", "no answer in time"),
        (f"{DEAF}; {SLEEPS}", "no answer in time"),
        (FLOODS, "more than 1,000,000 bytes of output"),
    ],
    ids=["closes its output", "ignores every signal", "floods"],
)
def test_one_that_does_not_end_by_itself_is_ended(
    code: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    begin_first(monkeypatch, lambda: is_written(tmp_path / "pid"))
    ran = run(tmp_path, f"import os, signal, time; {code}", seconds=30 if code is FLOODS else 1)
    assert ran == model_calls.Run(b"", problem)
    assert not alive(written(tmp_path / "pid"))


@pytest.mark.parametrize("code", [3, 128 + signal.SIGSEGV])
def test_a_bad_end_is_a_problem_whatever_was_said(code: int, tmp_path: Path):
    end = (
        "raise SystemExit(3)"
        if code == 3
        else "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"
    )
    assert run(tmp_path, f"print('half', flush=True)\n{end}").problem == f"exit code {code}"


def test_one_that_does_not_read_makes_nobody_wait_and_its_standard_error_goes_nowhere(
    tmp_path: Path,
):
    code = "import os, sys; os.close(0); print('x' * 10_000_000, file=sys.stderr); print('deaf')"
    assert run(tmp_path, code, text="x" * 5_000_000) == model_calls.Run(b"deaf\n")


@pytest.mark.parametrize(
    ("argv", "folder", "problem"),
    [
        (("none",), "", "not found"),
        (("text",), "", "cannot be run"),
        (("/bin/true",), "none", "cannot be started (No such file or directory)"),
        (("/bin/true", "a\0b"), "", "cannot be started (embedded null byte)"),
    ],
)
def test_what_cannot_be_run_is_a_problem(
    argv: tuple[str, ...], folder: str, problem: str, tmp_path: Path
):
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o700)
    path, environ = str(tmp_path / argv[0]), {"PATH": os.defpath}
    ran = model_calls.run_program(
        (path, *argv[1:]), text="", environ=environ, folder=str(tmp_path / folder), seconds=30
    )
    assert ran.problem == problem


# Nothing is left


ORPHANS = """
    import os, subprocess, sys, time
    def grandchild(leave):
        if os.fork() == 0:
            if leave: os.setsid()
            if os.fork() == 0:
                open(f'pid{leave}', 'w').write(f'{os.getpid()}\\n')
                os.close(1)
                time.sleep(600)
            os._exit(0)
    grandchild(0); grandchild(1)
    while not (os.path.exists('pid0') and os.path.exists('pid1')): time.sleep(0.01)
"""


@linux
@pytest.mark.parametrize(
    ("then", "problem"), [("print('done')", ""), ("time.sleep(600)", "no answer in time")]
)
def test_grandchildren_end_with_it_even_those_that_left_its_group(
    then: str, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    pids = (tmp_path / "pid0", tmp_path / "pid1")
    begin_first(monkeypatch, lambda: all(map(is_written, pids)))
    ran = run(tmp_path, ORPHANS + "    " + then, seconds=2 if problem else 30)
    assert ran.problem == problem
    assert [alive(written(path)) for path in pids] == [False, False]


ASKER = """
import sys
from recollect.base.paths import find_program
from recollect.llm import model_calls
model_calls.run_program((sys.argv[1],), text="", environ={}, folder=sys.argv[2], seconds=600)
"""


@linux
def test_who_asks_may_be_killed_and_still_nothing_is_left(tmp_path: Path):
    """As a daemon may be: by `kill -9`, in the midst of a call."""
    code = ORPHANS + "    open('pid', 'w').write(f'{os.getpid()}\\n')\n    time.sleep(600)"
    asker = subprocess.Popen([sys.executable, "-c", ASKER, script(tmp_path, code), str(tmp_path)])
    pids = [written(tmp_path / name) for name in ("pid", "pid0", "pid1")]
    asker.kill()
    asker.wait()
    assert soon(lambda: not any(map(alive, pids)))


@linux
def test_the_keeper_may_be_killed_and_the_program_ends(tmp_path: Path):
    code = f"import os, time; open('keeper', 'w').write(f'{{os.getppid()}}\\n'); {SLEEPS}"
    asker = subprocess.Popen([sys.executable, "-c", ASKER, script(tmp_path, code), str(tmp_path)])
    keeper, pid = written(tmp_path / "keeper"), written(tmp_path / "pid")
    os.kill(keeper, signal.SIGKILL)
    assert asker.wait(30) == 0
    assert soon(lambda: not alive(pid))


# Which program a word names


def test_a_program_is_found_on_absolute_folders_of_the_path_alone_and_only_if_it_can_be_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    here = script(tmp_path, "", "claude")
    (tmp_path / "other").mkdir()
    there = script(tmp_path / "other", "", "claude")
    (tmp_path / "plain").touch(0o600)

    assert find_program("claude", f".:{tmp_path / 'other'}", tmp_path) == there
    assert find_program("~/claude", "", tmp_path) == find_program(here, "", tmp_path) == here
    for word, path in (
        ("claude", ":."),
        ("./claude", str(tmp_path)),
        ("plain", str(tmp_path)),
        (str(tmp_path), ""),
    ):
        assert find_program(word, path, tmp_path) == ""


def test_a_fresh_install_calls_nobody_and_one_that_is_switched_on_keeps_within_its_budget(
    tmp_path: Path,
):
    """That the second calls at all shows that the first could fail."""
    report = run_calls(tmp_path, sessions=4, calls_per_day=2, progress=lambda _done, _total: None)
    off, on = report.figures
    assert (off.models, off.calls, off.booked) == ("off", 0, 0)
    assert (on.models, on.calls, on.booked) == ("on", 2, 2)
    assert report.passed
