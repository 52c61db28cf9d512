"""Every prompt's rule is kept exactly once, whatever happens to the daemon, the disk, the clock or the session.

Real hooks, called as an agent calls them, and real daemons. Each row of FAULTS is one kind of trouble, met by a few
prompts that each state a rule; at the end a daemon has come up again and everything must be there, once.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import apsw
import pytest

from recollect.app import notices
from recollect.app.core import App
from recollect.app.states import CAPTURED, SESSIONS, read_text
from recollect.base import project as projects
from recollect.base.clock import SystemClock
from recollect.base.moment import Moment
from recollect.base.settings import load
from recollect.daemon import control, spool
from recollect.model.memory import Kind, Rule, Status
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.wire import client, stub
from tests.daemon.real import FORKS, LINUX, PATIENCE_S, House, has_ended, soon

pytestmark = [FORKS, pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")]

RULES = (
    ("We use pnpm here, not npm.", "Use pnpm, not npm."),
    ("From now on, put tests in tests/unit.", "Put tests in tests/unit."),
    ("Always use Decimal for money, never float.", "Always use Decimal for money, never float."),
    ("Never push to main directly.", "Never push to main directly."),
    ("From now on, name branches after the ticket.", "Name branches after the ticket."),
    ("Always pin the versions of docker images.", "Always pin the versions of docker images."),
)
SUMMARY = "This session is being continued from a previous conversation."


class Scene:
    """A home, a project, and an agent with one session, whose transcript is written as the agent would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "run").mkdir(mode=0o700)
        self.environ = {
            "HOME": str(root),
            "PATH": os.environ["PATH"],
            "XDG_RUNTIME_DIR": str(root / "run"),
        }
        self.project = root / "shop"
        self.project.mkdir()
        self.house = House(root / ".recollect", self.environ)
        stub.write_hook(str(self.house.home.root), sys.executable)
        self.session = "s-1"
        self.said: list[str] = []
        self.sessions = {self.session}
        self.lines = 0
        self.shift_s = 0
        self.in_flight: list[subprocess.Popen[bytes]] = []

    # The agent

    @property
    def transcript(self) -> Path:
        return self.root / f"{self.session}.jsonl"

    def write(self, role: str, text: str, **more: object) -> None:
        self.lines += 1
        at = Moment(SystemClock().now().micros + self.shift_s * 1_000_000 + self.lines)
        line = {
            "type": role, "uuid": f"u{self.lines}", "sessionId": self.session, "timestamp": at.iso(),
            "cwd": str(self.project), "message": {"role": role, "content": text}, **more,
        }  # fmt: skip
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def send(self, event: str, **fields: object) -> subprocess.Popen[bytes]:
        payload = {
            "session_id": self.session, "cwd": str(self.project), "hook_event_name": event,
            "transcript_path": str(self.transcript), "prompt_id": f"p{len(self.said)}", **fields,
        }  # fmt: skip
        body, end = os.pipe()
        os.write(
            end, json.dumps(payload).encode()
        )  # before the hook begins: it waits for it no longer than it may
        os.close(end)
        # In a group of its own, so that it can be killed with the interpreter that its script starts.
        hook = subprocess.Popen(
            [stub.script_path(str(self.house.home.root)), event], stdin=body, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**self.environ, "CLAUDE_PROJECT_DIR": str(self.project)}, cwd=self.project,
            start_new_session=True,
        )  # fmt: skip
        os.close(body)
        self.in_flight.append(hook)
        return hook

    def kill_hook(self, hook: subprocess.Popen[bytes]) -> None:
        with suppress(ProcessLookupError):
            os.killpg(hook.pid, signal.SIGKILL)
        for end in (hook.stdout, hook.stderr):
            if end is not None:
                end.close()
        hook.wait()
        self.in_flight.remove(hook)

    def tell(self, event: str, **fields: object) -> None:
        self.end(self.send(event, **fields))

    def end(self, hook: subprocess.Popen[bytes]) -> None:
        """The hook law holds in every fault."""
        assert hook.stdout is not None
        assert hook.stderr is not None
        with hook:
            out, err = hook.stdout.read(), hook.stderr.read()
        self.in_flight.remove(hook)
        assert (hook.returncode, err) == (0, b"")
        assert not out or isinstance(json.loads(out), dict)

    def say(
        self, meanwhile: Callable[[], None] = lambda: None, *, written_before: bool = False
    ) -> None:
        """The next rule: the hook, and the line in the transcript, in either order."""
        text = RULES[len(self.said)][0]
        self.said.append(text)
        if written_before:
            self.write("user", text)
        hook = self.send("UserPromptSubmit", prompt=text)
        meanwhile()
        self.end(hook)
        if not written_before:
            self.write("user", text)
        self.write("assistant", "Understood.")

    def turn(self, meanwhile: Callable[[], None] = lambda: None, **how: bool) -> None:
        self.say(meanwhile, **how)
        self.tell("Stop")

    # The daemon

    def start(self) -> None:
        """One answers: what a process that is just dying takes does not count."""

        def answers() -> bool:
            client.forget_starts(self.house.place)
            client.ensure_daemon(
                self.house.place, sys.executable, stub.PACKAGE, time.monotonic() + PATIENCE_S
            )
            return control.status(self.house.place, PATIENCE_S) is not None

        assert soon(answers), self.house.log()

    def kill(self) -> None:
        """Those that there are: a hook may start the next one at once."""
        pids = set(self.house.alive())
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        assert soon(lambda: all(map(has_ended, pids)))

    def signal(self, number: signal.Signals) -> None:
        for pid in self.house.alive():
            os.kill(pid, number)

    @contextmanager
    def no_daemon(self) -> Iterator[None]:
        """None is running, and no hook can start one."""
        import fcntl

        self.kill()
        with open(self.house.place.spawn_lock, "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Another process writes for so long that no hook can wait for it."""
        with closing(self.app()) as app:
            path = app.store_path(Scope.PROJECT)
        other = apsw.Connection(str(path))
        other.set_busy_timeout(PATIENCE_S * 1_000)
        other.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")
            other.close()

    # What is kept

    def app(self) -> App:
        home = self.house.home
        found = projects.find(self.project, self.root)
        return App(
            home=home, project=found, settings=load(home.conf, None, {}), clock=SystemClock()
        )

    def rules(self) -> list[tuple[str, int]]:
        """Each with how often it was heard."""
        with closing(self.app()) as app:
            if app.store_path(Scope.PROJECT) is None:
                return []
            found = app.reader(Scope.PROJECT).find(
                Query(kinds=(Kind.RULE,), statuses=tuple(Status), limit=100)
            )
            return sorted((rule.body, rule.seen) for rule in found if isinstance(rule, Rule))

    def assert_kept_once(self, *, unaided: bool = True) -> None:
        """A daemon comes up and reads what is left; then every rule is there once, and the counters agree. `unaided`:
        before any other event points it at the transcript."""
        self.start()
        if not unaided:
            self.read_to_the_end()
        expected = sorted((RULES[number][1], 1) for number in range(len(self.said)))
        assert soon(lambda: [body for body, _ in self.rules()] == [body for body, _ in expected]), (
            self.rules(), self.house.status(), self.house.log()[-3000:],
        )  # fmt: skip
        assert soon(lambda: self.house.status()["spooled"] == 0)
        if unaided:
            self.read_to_the_end()
        assert self.rules() == expected
        assert self.house.status()["lost"] == 0
        with closing(self.app()) as app:
            counted = CAPTURED.read(app.reader(app.scope))
            assert sum(counted.get(kept, 0) for kept in ("stored", "inbox")) == len(self.said), (
                counted
            )
            assert SESSIONS.read(app.reader(Scope.PROJECT)) == len(self.sessions)

    def read_to_the_end(self) -> None:
        """The digest has looked at everything that was told of so far, also by hooks that nobody answered in time."""
        self.tell("Stop", prompt_id="the last look")
        with closing(self.app()) as app:

            def is_read() -> bool:
                store = app.reader(
                    Scope.PROJECT
                )  # each time: what is read where there is no store yet stays empty
                last = (
                    []
                    if spool.count_files(self.house.place.spool + spool.FOLDER)
                    else store.events(limit=10_000)
                )
                return bool(last) and int(read_text(store, "digested") or 0) >= last[-1][0]

            assert soon(is_read), self.house.log()[-3000:]


@pytest.fixture
def scene() -> Iterator[Scene]:
    # Not tmp_path: the path of a socket has to be short.
    root = Path(tempfile.mkdtemp(prefix="f")).resolve()
    made = Scene(root)
    yield made
    for hook in list(made.in_flight):
        made.kill_hook(hook)
    made.signal(signal.SIGCONT)
    made.house.end()
    shutil.rmtree(root)


# One kind of trouble each


def no_daemon(scene: Scene) -> None:
    with scene.no_daemon():
        for _ in range(3):
            scene.turn()


def no_daemon_and_no_start_of_a_session(scene: Scene) -> None:
    """The first prompt of a fresh install; its line is a second older than the event."""
    scene.kill()
    scene.shift_s = -1
    with scene.no_daemon():
        scene.turn(written_before=True)
    scene.turn(written_before=True)
    scene.shift_s = 0


def daemon_starting(scene: Scene) -> None:
    """Each prompt meets a daemon in another moment of its start."""
    for pause_s in (0.0, 0.1):
        scene.kill()
        client.start(scene.house.place, sys.executable, stub.PACKAGE)
        time.sleep(pause_s)
        scene.turn()


def paused_in_mid_request(scene: Scene) -> None:
    for pause_s in (0.01, 0.06):
        scene.start()

        def pause(pause_s: float = pause_s) -> None:
            time.sleep(pause_s)
            scene.signal(signal.SIGSTOP)

        scene.say(pause)
        scene.signal(signal.SIGCONT)
        scene.tell("Stop")


def paused_before_the_request(scene: Scene) -> None:
    scene.start()
    scene.signal(signal.SIGSTOP)
    scene.turn()
    scene.signal(signal.SIGCONT)


def killed_in_mid_request(scene: Scene) -> None:
    for pause_s in (0.0, 0.02, 0.06):
        scene.start()

        def kill(pause_s: float = pause_s) -> None:
            time.sleep(pause_s)
            scene.kill()

        scene.turn(kill)


def killed_after_reply(scene: Scene) -> None:
    for _ in range(3):
        scene.start()
        scene.say()
        scene.kill()
        scene.tell("Stop")


def hook_killed(scene: Scene) -> None:
    """By the agent, in the middle of it, or by a system that is short of memory."""
    scene.start()
    for pause_s in (0.03, 0.06, 0.1):
        text = RULES[len(scene.said)][0]
        scene.said.append(text)
        hook = scene.send("UserPromptSubmit", prompt=text)
        time.sleep(pause_s)
        scene.kill_hook(hook)
        scene.write("user", text)
        scene.write("assistant", "Understood.")
    scene.tell("Stop")


def eight_busy_processes(scene: Scene) -> None:
    scene.start()
    with ExitStack() as stack:
        for _ in range(8):
            busy = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(busy.kill)
        for _ in range(3):
            scene.turn()


def clock_set_back(scene: Scene) -> None:
    """An hour ago it was an hour later: what was written then is of the future now."""
    scene.shift_s = 3_600
    with scene.no_daemon():
        scene.turn()
        later = time.time() + 3_600
        for path in [*Path(scene.house.place.spool).rglob("*"), scene.transcript]:
            os.utime(path, (later, later))
    scene.start()
    scene.turn()
    scene.shift_s = 0
    scene.turn()


def written_before_the_event(scene: Scene) -> None:
    scene.start()
    scene.turn(written_before=True)
    with scene.no_daemon():
        scene.turn(written_before=True)


def written_long_after_the_event(scene: Scene) -> None:
    """Other hooks of the same event hold the agent up; ours has long been answered."""
    scene.start()
    text = RULES[len(scene.said)][0]
    scene.said.append(text)
    scene.tell("UserPromptSubmit", prompt=text)
    scene.read_to_the_end()
    scene.write("user", text)
    scene.write("assistant", "Understood.")
    scene.tell("Stop")


def resumed(scene: Scene) -> None:
    scene.start()
    scene.tell("SessionStart", source="startup")
    scene.turn()
    scene.tell("SessionEnd", reason="other")
    scene.read_to_the_end()
    scene.kill()
    scene.start()
    scene.tell("SessionStart", source="resume")
    scene.turn()
    with scene.no_daemon():
        scene.turn()


def _fork(scene: Scene, *, keeps_session_ids: bool) -> None:
    text = scene.transcript.read_text(encoding="utf-8")
    before, scene.session = scene.session, f"s-{len(scene.sessions) + 1}"
    scene.sessions.add(scene.session)
    scene.transcript.write_text(
        text if keeps_session_ids else text.replace(before, scene.session), encoding="utf-8"
    )


def forked(scene: Scene) -> None:
    """A fork's transcript begins with a copy of the other's; its lines name either session."""
    scene.start()
    scene.turn()
    for keeps_session_ids in (False, True):
        _fork(scene, keeps_session_ids=keeps_session_ids)
        scene.tell("SessionStart", source="fork")
        scene.turn()
    with scene.no_daemon():
        _fork(scene, keeps_session_ids=False)
        scene.turn()


def forked_before_its_line_was_read(scene: Scene) -> None:
    """A slow agent writes the line when the daemon has looked already; the fork's copy of it is read first."""
    scene.start()
    text = RULES[len(scene.said)][0]
    scene.said.append(text)
    scene.tell("UserPromptSubmit", prompt=text)
    scene.read_to_the_end()
    scene.write("user", text)
    scene.write("assistant", "Understood.")
    _fork(scene, keeps_session_ids=False)
    scene.tell("SessionStart", source="fork")
    scene.turn()
    scene.read_to_the_end()


def compacted(scene: Scene) -> None:
    scene.start()
    scene.turn()
    scene.tell("PreCompact", trigger="auto")
    scene.write("user", f"{SUMMARY} The user said: {RULES[0][0]}", isCompactSummary=True)
    scene.tell("SessionStart", source="compact")
    scene.turn()


def no_pointer_at_all(scene: Scene) -> None:
    """The runtime folder could not be written; the transcript goes on, and is known from before."""
    scene.start()
    scene.turn()
    scene.read_to_the_end()
    with scene.no_daemon():
        scene.turn()
        shutil.rmtree(scene.house.place.spool)


def database_locked(scene: Scene) -> None:
    """Nothing comes after the prompt."""
    scene.start()
    scene.turn()
    with scene.locked():
        scene.say()


def killed_between_reply_and_write(scene: Scene) -> None:
    scene.start()
    scene.turn()
    with scene.locked():
        scene.say()
        scene.kill()


# Before any other event points the daemon at the transcript.
UNAIDED = (
    database_locked, hook_killed, killed_after_reply, killed_between_reply_and_write, no_daemon, no_pointer_at_all,
)  # fmt: skip
# One after the other, in one home: a daemon takes seconds to start and to read what is left.
AIDED = (
    (no_daemon_and_no_start_of_a_session, paused_in_mid_request, written_long_after_the_event),
    (daemon_starting, killed_in_mid_request),
    (resumed, compacted),
    (forked,),
    (forked_before_its_line_was_read,),
    (clock_set_back,),
    (eight_busy_processes, written_before_the_event, paused_before_the_request),
)


@pytest.mark.parametrize("fault", UNAIDED, ids=lambda fault: fault.__name__)
def test_every_rule_is_kept_exactly_once(scene: Scene, fault: Callable[[Scene], None]):
    fault(scene)
    scene.assert_kept_once(unaided=True)


@pytest.mark.parametrize(
    "faults", AIDED, ids=lambda faults: " ".join(fault.__name__ for fault in faults)
)
def test_every_rule_is_kept_exactly_once_by_the_next_event(
    scene: Scene, faults: tuple[Callable[[Scene], None], ...]
):
    for fault in faults:
        fault(scene)
    scene.assert_kept_once(unaided=False)


# The disk


@pytest.fixture
def small_disk(scene: Scene) -> Iterator[Path]:
    """The home on a disk of its own, of a few megabytes."""
    home = scene.house.home.root
    kept = scene.root / "kept"
    shutil.copytree(home, kept)
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m,mode=700", "none", home], capture_output=True
    ).returncode:
        pytest.skip("cannot mount a disk here")
    shutil.copytree(kept, home, dirs_exist_ok=True)
    yield home
    scene.house.end()
    subprocess.run(["umount", "--lazy", home], check=True)


def test_on_a_full_disk_every_rule_is_kept_once_there_is_room_again(scene: Scene, small_disk: Path):
    scene.start()
    scene.turn()
    ballast = small_disk / "ballast"
    with suppress(OSError), ballast.open("wb") as file:
        while True:
            file.write(bytes(4096))
            file.flush()
    scene.turn()
    scene.turn()
    ballast.unlink()

    scene.assert_kept_once()


def test_in_a_home_that_cannot_be_written_every_rule_is_kept_once_it_can(
    scene: Scene, small_disk: Path
):
    scene.start()
    scene.turn()
    scene.kill()
    subprocess.run(["mount", "-o", "remount,ro", small_disk], check=True)
    scene.turn()
    scene.turn()
    subprocess.run(["mount", "-o", "remount,rw", small_disk], check=True)

    scene.assert_kept_once()


# What the person is told


def test_what_was_captured_too_late_for_its_hook_is_told_at_the_next_prompt(scene: Scene):
    with scene.no_daemon():
        scene.turn()
    scene.start()
    assert soon(lambda: len(scene.rules()) == 1)
    app = scene.app()
    try:
        assert [line for line in notices.waiting(app) if "Use pnpm, not npm" in line]
        hook = scene.send("UserPromptSubmit", prompt="thanks")
        assert hook.stdout is not None
        told = json.loads(hook.stdout.read() or b"{}")
        scene.end(hook)
        assert "Use pnpm, not npm" in told.get("systemMessage", ""), told
        assert soon(lambda: notices.waiting(app) == [])
    finally:
        app.close()
