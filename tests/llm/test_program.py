"""A program that is run answers, or it does not; in either case it is over, and nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from recollect.llm import program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes of POSIX")
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="orphans are found in /proc")


def script(folder: Path, code: str, name: str = "answers") -> str:
    path = folder / name
    path.write_text(f"#!{sys.executable} -I\n" + textwrap.dedent(code), encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def run(folder: Path, code: str, *args: str, text: str = "hello", seconds: float = 30.0) -> program.Run:
    argv = (script(folder, code), *args)
    return program.run(
        argv, text=text, environ={"PATH": os.defpath, "ONLY": "this"}, folder=str(folder), seconds=seconds
    )


def alive(pid: int) -> bool:
    """A zombie that someone else has yet to wait for is not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return status != "Z"


def written(path: Path) -> int:
    """The number in a file that another process writes."""
    while not (path.exists() and path.read_text().endswith("\n")):
        time.sleep(0.01)
    return int(path.read_text())


def test_it_gets_the_text_and_answers(tmp_path: Path):
    ran = run(tmp_path, "import sys; print(sys.argv[1], sys.stdin.read().upper())", "said", text="grüße")

    assert ran == program.Run("said GRÜSSE\n".encode())


def test_it_is_given_its_environment_its_folder_and_no_descriptor_of_ours(tmp_path: Path):
    ours = os.open(tmp_path, os.O_RDONLY)
    os.set_inheritable(ours, True)
    code = """
        import os
        found = []
        for fd in range(3, 200):
            try:
                os.fstat(fd)
                found.append(fd)
            except OSError:
                pass
        print(found, os.environ.get("ONLY"), os.environ.get("HOME"), os.getcwd())
    """

    ran = run(tmp_path, code)
    os.close(ours)

    assert ran.out.decode().split() == ["[]", "this", "None", str(tmp_path)]


def test_it_leads_a_process_group_and_a_session_of_its_own(tmp_path: Path):
    ran = run(tmp_path, "import os; print(os.getpid() == os.getpgrp() == os.getsid(0))")

    assert ran.out == b"True\n"


def test_one_that_never_ends_is_ended(tmp_path: Path):
    ran = run(tmp_path, "import os, time; open('pid', 'w').write(f'{os.getpid()}\\n'); time.sleep(600)", seconds=2)

    assert ran.problem == "no answer in time"
    assert not alive(written(tmp_path / "pid"))


def test_one_that_closes_its_output_and_stays_is_ended(tmp_path: Path):
    code = "import os, time; open('pid', 'w').write(f'{os.getpid()}\\n'); os.close(1); time.sleep(600)"

    ran = run(tmp_path, code, seconds=2)

    assert ran.problem == "no answer in time"
    assert not alive(written(tmp_path / "pid"))


def test_one_that_ignores_every_signal_is_ended(tmp_path: Path):
    code = """
        import os, signal, time
        for number in range(1, 32):
            try: signal.signal(number, signal.SIG_IGN)
            except OSError: pass
        open('pid', 'w').write(f'{os.getpid()}\\n')
        time.sleep(600)
    """
    run(tmp_path, code, seconds=2)

    assert not alive(written(tmp_path / "pid"))


def test_a_flood_is_cut_and_its_source_ended(tmp_path: Path):
    code = "import os\nopen('pid', 'w').write(f'{os.getpid()}\\n')\nwhile True: os.write(1, b'x' * 65536)"

    ran = run(tmp_path, code)

    assert ran == program.Run(b"", "more than 1,000,000 bytes of output")
    assert not alive(written(tmp_path / "pid"))


def test_what_it_says_on_standard_error_goes_nowhere(tmp_path: Path):
    ran = run(tmp_path, "import sys\nfor _ in range(100000): print('x' * 100, file=sys.stderr)\nprint('done')")

    assert ran == program.Run(b"done\n")


@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("raise SystemExit(3)", "exit code 3"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", f"exit code {128 + signal.SIGSEGV}"),
    ],
)
def test_a_bad_end_is_a_problem_whatever_was_said(code: str, problem: str, tmp_path: Path):
    ran = run(tmp_path, "print('half', flush=True)\n" + code)

    assert ran.problem == problem


def test_one_that_does_not_read_makes_nobody_wait(tmp_path: Path):
    ran = run(tmp_path, "import os; os.close(0); print('deaf')", text="x" * 5_000_000)

    assert ran == program.Run(b"deaf\n")


def test_what_cannot_be_run_is_a_problem(tmp_path: Path):
    (tmp_path / "text").write_text("no program")
    (tmp_path / "text").chmod(0o700)
    environ = {"PATH": os.defpath}

    missing = program.run((str(tmp_path / "none"),), text="", environ=environ, folder=str(tmp_path), seconds=30)
    garbage = program.run((str(tmp_path / "text"),), text="", environ=environ, folder=str(tmp_path), seconds=30)
    nowhere = program.run(("/bin/true",), text="", environ=environ, folder=str(tmp_path / "none"), seconds=30)
    broken = program.run(("/bin/true", "a\0b"), text="", environ=environ, folder=str(tmp_path), seconds=30)

    assert missing.problem == "not found"
    assert garbage.problem == "cannot be run"
    assert nowhere.problem == "cannot be started (No such file or directory)"
    assert broken.problem.startswith("cannot be started")


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
@pytest.mark.parametrize(("then", "problem"), [("print('done')", ""), ("time.sleep(600)", "no answer in time")])
def test_grandchildren_end_with_it_even_those_that_left_its_group(then: str, problem: str, tmp_path: Path):
    ran = run(tmp_path, ORPHANS + "    " + then, seconds=5 if problem else 30)

    assert ran.problem == problem
    assert [alive(written(tmp_path / name)) for name in ("pid0", "pid1")] == [False, False]


ASKER = """
import sys
from recollect.llm import program
program.run((sys.argv[1],), text="", environ={}, folder=sys.argv[2], seconds=600)
"""


@linux
def test_who_asks_may_be_killed_and_still_nothing_is_left(tmp_path: Path):
    """As a daemon may be: by `kill -9`, in the midst of a call."""
    code = ORPHANS + "    open('pid', 'w').write(f'{os.getpid()}\\n')\n    time.sleep(600)"
    asker = subprocess.Popen([sys.executable, "-c", ASKER, script(tmp_path, code), str(tmp_path)])
    pids = [written(tmp_path / name) for name in ("pid", "pid0", "pid1")]

    asker.kill()
    asker.wait()

    until = time.monotonic() + 30
    while any(map(alive, pids)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(map(alive, pids))


@linux
def test_the_keeper_may_be_killed_and_the_program_ends(tmp_path: Path):
    code = "import os, time; open('pid', 'w').write(f'{os.getpid()} {os.getppid()}\\n'); time.sleep(600)"
    asker = subprocess.Popen([sys.executable, "-c", ASKER, script(tmp_path, code), str(tmp_path)])
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text().endswith("\n"):
        time.sleep(0.01)
    pid, keeper = map(int, (tmp_path / "pid").read_text().split())

    os.kill(keeper, signal.SIGKILL)

    assert asker.wait(30) == 0
    until = time.monotonic() + 30
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not alive(pid)


# Which program a word names


def test_a_program_is_found_on_absolute_folders_of_the_path_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    here = script(tmp_path, "", "claude")
    (tmp_path / "other").mkdir()
    there = script(tmp_path / "other", "", "claude")

    assert program.find("claude", f".:{tmp_path / 'other'}", tmp_path) == there
    assert program.find("claude", ":.", tmp_path) == ""
    assert program.find("./claude", str(tmp_path), tmp_path) == ""
    assert program.find("~/claude", "", tmp_path) == here
    assert program.find(here, "", tmp_path) == here


def test_what_is_not_executable_is_no_program(tmp_path: Path):
    path = tmp_path / "claude"
    path.write_text("")
    path.chmod(0o600)

    assert program.find(str(path), "", tmp_path) == ""
    assert program.find("claude", str(tmp_path), tmp_path) == ""
    assert program.find(str(tmp_path), "", tmp_path) == ""
