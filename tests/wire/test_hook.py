"""The hook law, over the faults: exit 0, a whole reply or nothing, nothing on stderr, gone by the deadline.

Every test runs the installed script in a process of its own, as an agent does.
"""

import json
import os
import shutil
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import __version__
from recollect.daemon import spool
from recollect.wire import client, frame, stub
from recollect.wire.hook import DEADLINES_MS, MAX_REPLY_BYTES, _arguments
from recollect.wire.place import Place, listen
from tests.wire.conftest import Ran, World
from tests.wire.echo import EchoServer

PROMPT = "UserPromptSubmit"
# More time than any agent's event has: most tests ask what is done, not how fast, on a machine with other work.
CALM_MS = 20_000
CALM = (PROMPT, "--deadline-ms", str(CALM_MS))
# Where it is waited for the end.
BRIEF_MS = 700
BRIEF = (PROMPT, "--deadline-ms", str(BRIEF_MS))
# Starting a shell and an interpreter, on a machine that does other things too. Who is not gone by its deadline stays
# for PATIENCE_S, so this tells the two apart.
SLACK_S = 20
BODY = json.dumps({"session_id": "s1", "prompt": "a secret plan"}).encode()


def lawful(ran: Ran, deadline_ms: int = CALM_MS) -> bool:
    return (ran.code, ran.err) == (0, b"") and ran.took_s < deadline_ms / 1000 + SLACK_S


def silent(ran: Ran, deadline_ms: int = CALM_MS) -> bool:
    return lawful(ran, deadline_ms) and ran.out == b""


def check_kept_at_the_end(world: World, *, sessions: list[str], body: bytes = BODY) -> None:
    """A hook that nobody answers ends in time, and the event is in the spool."""
    assert silent(world.hook(*BRIEF, body=body), BRIEF_MS)
    assert [said["session"] for said in spooled(world.place)] == sessions


def ok(body: bytes = b"") -> bytes:
    return frame.encode_reply(frame.OK, body)


def spooled(place: Place) -> list[dict[str, object]]:
    return [said for _, said in spool.drain(place)]


# With a daemon


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"",
        b"no json",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        BODY,
        b'{"prompt": "' + b"x" * 1_000_000 + b'"}',
    ],
    ids=lambda body: repr(body[:12]),
)
def test_the_payload_arrives_as_it_came_and_the_reply_is_printed_as_it_came(
    world: World, body: bytes
):
    reply = b'{"systemMessage": "\xc3\xa9\xff"}'
    with EchoServer(world.place, lambda *_: ok(reply)) as server:
        ran = world.hook(*CALM, body=body)
    assert lawful(ran)
    assert ran.out == reply
    assert server.requests[0][1] == body


def test_the_header_says_who_asks_and_from_where(world: World, tmp_path: Path):
    """A folder whose name is no text survives, and so much environment as fits."""
    passed = {
        "MEMORY_X": "3\n: 4%",
        "CLAUDE_PROJECT_DIR": "/a/b",
        "CLAUDE_CODE_SESSION_ID": "s1",
        "RECOLLECT_X": "",
    }
    odd = os.fsencode(tmp_path) + b"/\xff\n"
    os.mkdir(odd)
    environ = world.environ(
        **passed, ANTHROPIC_API_KEY="sk-secret", EDITOR="vi", MEMORY_LONG="x" * 100_000
    )
    with EchoServer(world.place) as server:
        world.hook("some-agent", *CALM, environ=environ, cwd=os.fsdecode(odd))

    header, _ = server.requests[0]
    assert os.fsencode(header.pop("cwd")) == odd
    assert [header.pop("pointer")] == os.listdir(world.place.spool + spool.FOLDER)
    assert header == {
        "protocol": "1", "version": __version__, "op": "hook", "home": world.home, "host": "some-agent",
        "event": PROMPT, "deadline_ms": str(CALM_MS), "transcript_bytes": "-1",
        **{"env-" + name: value for name, value in passed.items()},
    }  # fmt: skip


def test_every_event_has_its_deadline():
    for event, deadline_ms in (*DEADLINES_MS.items(), ("Stop", 150), ("OfALaterDay", 150)):
        assert _arguments([event]) == ("claude-code", event, deadline_ms, 0)


def test_an_answer_is_confirmed_once_it_is_printed_and_at_once_where_there_is_nothing_to_print(
    world: World,
):
    with EchoServer(world.place) as server:
        world.hook(*CALM, body=b"a reply")
        world.hook(*CALM, body=b"")
        server.settle()
    assert server.shown == [True, True]


def test_the_pointer_is_there_before_the_event_is_delivered_and_only_the_daemon_removes_it(
    world: World, tmp_path: Path
):
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("12345")
    body = json.dumps({"session_id": "s1", "transcript_path": str(transcript)}).encode()
    seen: list[list[str]] = []

    def look(header: dict[str, str], _body: bytes) -> bytes:
        transcript.write_text("1234567")  # the agent writes on
        seen.append(os.listdir(world.place.spool + spool.FOLDER))
        assert (header["transcript_bytes"], [header["pointer"]]) == ("5", seen[-1])
        return ok()

    with EchoServer(world.place, look):
        world.hook(*CALM, body=body)

    assert seen == [os.listdir(world.place.spool + spool.FOLDER)]


def test_a_hook_that_is_killed_at_any_moment_leaves_its_pointer(world: World):
    """The daemon says nothing, so the hook is still there to be killed; its pointer came first."""
    arrived = threading.Event()

    def hold(_header: dict[str, str], _body: bytes) -> None:
        arrived.set()

    with EchoServer(world.place, hold):
        hook = subprocess.Popen(
            [sys.executable, "-I", "-S", stub.code_path(world.home), *CALM],
            stdin=subprocess.PIPE,
            env=world.environ(),
        )
        with hook:
            assert hook.stdin is not None
            hook.stdin.write(BODY)
            hook.stdin.close()
            assert arrived.wait(60)
            assert spooled(world.place) == [], "its hook is still at it"
            hook.kill()

    assert [said["session"] for said in spooled(world.place)] == ["s1"]


@pytest.mark.parametrize("closed", [">&-", "<&-", "<&- >&-", "2>&-", "<&- >&- 2>&-", "| head -c 0"])
def test_closed_streams_do_no_harm(world: World, closed: str):
    with EchoServer(world.place, lambda *_: ok(b"reply")) as server:
        ran = world.hook(*CALM, shell=f'"$0" "$@" {closed} || :')
        server.settle()
    assert lawful(ran)
    assert len(server.requests) == 1
    assert server.shown == [ran.out == b"reply"] or closed.startswith("|")


def test_a_full_pipe_that_nobody_reads_holds_nobody_up(world: World):
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    try:
        while True:
            os.write(writes, bytes(4096))
    except BlockingIOError:
        pass
    os.set_blocking(writes, True)
    with EchoServer(world.place, lambda *_: ok(b"reply")) as server:
        assert silent(world.hook(*BRIEF, stdout=writes), BRIEF_MS)
        server.settle()
    os.close(reads)
    os.close(writes)
    # On a busy machine its time may be over before the reply comes: then nobody hears whether it was shown.
    assert server.shown in ([False], [])


@pytest.mark.parametrize(
    ("size", "is_printed"), [(MAX_REPLY_BYTES, True), (MAX_REPLY_BYTES + 1, False)]
)
def test_a_reply_is_printed_whole_or_where_a_pipe_might_cut_it_not_at_all(
    world: World, size: int, is_printed: bool
):
    with EchoServer(world.place, lambda *_: ok(b"x" * size)) as server:
        ran = world.hook(*CALM)
        server.settle()
    assert (lawful(ran), ran.out) == (True, b"x" * size if is_printed else b"")
    assert server.shown == [is_printed]


@pytest.mark.parametrize(
    "reply",
    [
        *(
            frame.encode_reply(kind, b"not for printing")
            for kind in (frame.BUSY, frame.ERROR, "a kind of a later day")
        ),
        *(
            ok(b"another magic").replace(b"RCL1", b"RCL9"),
            b"",
            b"HTTP/1.1 200 OK\r\n\r\nhello",
            b"\n" * 1_000_000,
        ),
    ],
    ids=lambda reply: repr(reply[:24]),
)
def test_what_is_no_good_reply_is_not_printed_and_the_event_is_kept(world: World, reply: bytes):
    with EchoServer(world.place, lambda *_: reply):
        ran = world.hook(*CALM, body=BODY)
    assert (lawful(ran), ran.out) == (True, b"")
    assert [said["session"] for said in spooled(world.place)] == ["s1"]


@pytest.mark.parametrize("kind", [frame.OK, frame.UNKEPT])
def test_an_answer_is_printed_whether_its_event_could_be_written_or_not(world: World, kind: str):
    with EchoServer(world.place, lambda *_: frame.encode_reply(kind, b"remembered")) as server:
        ran = world.hook(*CALM, body=BODY)
        server.settle()
    assert (lawful(ran), ran.out, server.shown) == (True, b"remembered", [True])


def test_a_stopped_daemon_is_given_up_in_time(world: World):
    """The system still accepts connections for it, and as many bytes as the socket's buffer takes."""
    with listen(world.place, "t" * 64):
        check_kept_at_the_end(world, sessions=["s1"])
        check_kept_at_the_end(world, body=bytes(1_000_000), sessions=["s1", ""])


@pytest.mark.parametrize(
    "answer",
    [ok(b"half of it")[:-3], frame.encode_reply(frame.RETIRING), None],
    ids=["half", "retires", "silence"],
)
def test_what_never_becomes_an_answer_is_given_up_in_time_and_the_event_is_kept(
    world: World, answer: bytes | None
):
    with EchoServer(world.place, lambda *_: answer):
        check_kept_at_the_end(world, sessions=["s1"])


@pytest.mark.parametrize(
    "first", [frame.encode_reply(frame.RETIRING), b""], ids=["retires", "dies over an event"]
)
def test_a_daemon_that_gives_up_is_asked_once_more(world: World, first: bytes):
    answers = [ok(b"the next one"), first]
    with EchoServer(world.place, lambda *_: answers.pop()):
        assert world.hook(*CALM).out == b"the next one"


def test_loopback_serves_where_there_are_no_unix_sockets(world: World):
    place = Place(world.home, world.place.runtime, tcp=True)
    with EchoServer(place) as server:
        ran = world.hook(*CALM, body=b"hello", environ=world.environ(RECOLLECT_TRANSPORT="tcp"))
        server.settle()
    assert (ran.out, server.shown) == (b"hello", [True])


def test_a_daemon_that_listens_elsewhere_is_found(world: World):
    """Its runtime folder may be another: started from a desktop, asked from a plain terminal."""
    elsewhere = Place(world.home, world.runtime + "/other")
    with EchoServer(elsewhere):
        client.announce(elsewhere, os.getpid(), "0.1.0")
        ran = world.hook(*CALM, body=b"hello")
    assert ran.out == b"hello"


@pytest.mark.parametrize("is_tcp", [True, False], ids=["the daemon", "the hook"])
def test_a_daemon_that_listens_in_another_way_is_found(world: World, is_tcp: bool):
    """A variable of one project's settings must not hide the daemon from it, or from all others."""
    place = Place(world.home, world.place.runtime, tcp=is_tcp)
    environ = world.environ() if is_tcp else world.environ(RECOLLECT_TRANSPORT="tcp")
    with EchoServer(place) as server:
        client.announce(place, os.getpid(), "0.1.0")
        ran = world.hook(*CALM, body=b"hello", environ=environ)
        server.settle()
    assert ran.out == b"hello"


# Without one


def test_without_a_daemon_a_pointer_is_left_and_what_was_said_is_nowhere_on_the_disk(world: World):
    assert silent(world.hook(*CALM, body=BODY))
    (said,) = spooled(world.place)
    assert (said["event"], said["session"], "prompt" in said) == (PROMPT, "s1", False)
    files = [
        path
        for top in (world.home, world.runtime)
        for path in Path(top).rglob("*")
        if path.is_file()
    ]
    assert not [path for path in files if b"secret plan" in path.read_bytes()]


@pytest.mark.parametrize(("value", "blocks"), [("1", True), ("", False), ("0", False)])
def test_a_blocked_hook_does_nothing_at_all(world: World, value: str, blocks: bool):
    with EchoServer(world.place) as server:
        ran = world.hook(*CALM, environ=world.environ(BLOCK_HOOK_AGENTS=value))
    assert (lawful(ran), ran.out, len(server.requests)) == (
        (True, b"", 0) if blocks else (True, b"{}", 1)
    )
    assert Path(world.place.spool).exists() is not blocks


def test_a_payload_too_large_for_a_frame_is_read_to_its_end_and_pointed_to(world: World):
    with EchoServer(world.place) as server:
        ran = world.hook(
            *CALM, body=bytes(20_000_000), environ=world.environ(CLAUDE_CODE_SESSION_ID="s9")
        )
    assert (lawful(ran), ran.out, server.requests) == (True, b"", [])
    assert [said["session"] for said in spooled(world.place)] == ["s9"]


def test_a_stdin_that_never_ends_is_left(world: World):
    reads, writes = os.pipe()
    os.write(writes, b'{"session_id":')
    with EchoServer(world.place) as server:
        assert silent(world.hook(*BRIEF, stdin=reads), BRIEF_MS)
    os.close(reads)
    os.close(writes)
    assert server.requests == []
    (said,) = spooled(world.place)
    assert (said["event"], said["session"]) == (PROMPT, ""), "of what came, as much as can be told"


# Places


SOCKETS: dict[str, Callable[[Path], object]] = {
    "a stale socket": lambda path: listen(Place("", str(path.parent)), "t" * 64).close(),
    "a file": Path.touch,
    "a folder": Path.mkdir,
    "a dangling link": lambda path: path.symlink_to("nowhere"),
}


@pytest.mark.parametrize("leave", SOCKETS.values(), ids=SOCKETS)
def test_whatever_stands_in_the_socket_s_place_does_no_harm(
    world: World, leave: Callable[[Path], object]
):
    Path(world.place.runtime).mkdir(mode=0o700)
    leave(Path(world.place.socket))
    assert silent(world.hook(*CALM, body=BODY))
    assert len(spooled(world.place)) == 1


def test_a_home_that_cannot_be_written_or_was_taken_away_under_the_hook_does_no_harm(world: World):
    """A folder in the lock's place stands for a read-only disk, which root could not see otherwise."""
    Path(world.place.spawn_lock).mkdir()
    assert silent(world.hook(*CALM, body=BODY))
    assert len(spooled(world.place)) == 1
    moved = shutil.copy(stub.code_path(world.home), world.runtime)
    shutil.rmtree(world.home)
    assert silent(world.hook(*CALM, shell=f'"{sys.executable}" -I -S "{moved}" "$@"'))
    assert not Path(world.home).exists()


@pytest.mark.parametrize(
    "changes",
    [
        {"HOME": "", "PATH": "", "LANG": "C", "LC_ALL": "C"},
        {"HOME": "/nonexistent", "RECOLLECT_HOME": "/nonexistent", "LANG": "no_SUCH.locale"},
        {
            "PYTHONSTARTUP": "/nonexistent",
            "PYTHONPATH": "/nonexistent",
            "PYTHONHOME": "/nonexistent",
        },
        {
            "PYTHONINSPECT": "1",
            "PYTHONVERBOSE": "2",
            "PYTHONWARNINGS": "error",
            "PYTHONIOENCODING": "no-such",
        },
        {"PYTHONMALLOC": "no-such", "PYTHONHASHSEED": "no-such", "PYTHONPLATLIBDIR": "no-such"},
        {f"MEMORY_{number}": "x" for number in range(200)},
    ],
    ids=lambda changes: " ".join(list(changes)[:4]),
)
def test_an_odd_environment_changes_nothing(world: World, changes: dict[str, str]):
    with EchoServer(world.place):
        ran = world.hook(*CALM, body="é".encode(), environ=world.environ(**changes))
    assert (lawful(ran), ran.out) == (True, "é".encode())


def test_a_working_folder_full_of_traps_is_not_looked_into(world: World, tmp_path: Path):
    trap = "raise SystemExit(open('sprung', 'w').write('x'))"
    for name in (
        "json",
        "os",
        "posix",
        "_socket",
        "time",
        "marshal",
        "recollect",
        "sitecustomize",
        "encodings",
    ):
        (tmp_path / f"{name}.py").write_text(trap)
    environ = world.environ(PYTHONPATH=str(tmp_path), XDG_RUNTIME_DIR=world.runtime)

    asked = world.hook(*CALM, environ=environ, cwd=str(tmp_path), body=BODY)

    assert silent(asked)
    assert not (tmp_path / "sprung").exists()
    assert len(spooled(world.place)) == 1


def test_a_working_folder_that_is_gone_is_no_folder(world: World, tmp_path: Path):
    gone = tmp_path / "gone"
    gone.mkdir()
    with EchoServer(world.place) as server:
        # Shells complain of it themselves, before any line of ours.
        shell = f'rmdir "$PWD"; "{sys.executable}" -I -S "$0.pyc" "$@"'
        ran = world.hook(*CALM, cwd=str(gone), shell=shell)

    assert (lawful(ran), ran.out) == (True, b"{}")
    assert server.requests[0][0]["cwd"] == ""


@pytest.mark.parametrize(
    "words", [[], ["a", "b", "c"], ["--deadline-ms"], ["Stop", "--deadline-ms", "soon"], [""]]
)
def test_a_wrong_call_does_no_harm(world: World, words: list[str]):
    assert silent(world.hook(*words))


def test_hooks_with_few_resources_do_no_harm(world: World):
    for limit in ("-n 11", "-n 12", "-v 30000", "-f 0", "-u 1"):
        ran = world.hook(*CALM, shell=f'ulimit {limit} 2>/dev/null; "$0" "$@" || :', body=BODY)
        assert silent(ran), limit


# A daemon that asks for time

# The deadline holds from before Python has started, which takes its time beside busy processes: it is long enough for
# the request to come, and what is answered comes only after it.
WAITED_MS = 3_000
PATIENT = (PROMPT, "--deadline-ms", str(WAITED_MS), "--patience-ms", "30000")


def test_what_a_hook_is_told_to_wait_for_is_printed_after_its_own_deadline(world: World):
    def later(_header: dict[str, str], _body: bytes) -> bytes:
        time.sleep(WAITED_MS / 1000)
        return ok(b"chosen")

    with EchoServer(world.place, later, first=frame.encode_reply(frame.WAIT, b"25000")) as server:
        ran = world.hook(*PATIENT)
        server.settle()

    assert (ran.code, ran.out, ran.err, server.shown) == (0, b"chosen", b"", [True])
    assert server.requests[0][0]["patience_ms"] == "30000"


@pytest.mark.parametrize(
    ("told", "patience_ms", "limit_ms"),
    [(b"1500", 8_000, 1_500), (None, 8_000, BRIEF_MS)]
    + [(told, 1_200, 1_200) for told in (b"", b"soon", b"-1", b"99999999999999999999")],
)
def test_nobody_is_waited_for_longer_than_was_said_nor_than_the_agent_lets(
    world: World, told: bytes | None, patience_ms: int, limit_ms: int
):
    first = b"" if told is None else frame.encode_reply(frame.WAIT, told)
    with EchoServer(world.place, lambda *_: None, first=first):
        ran = world.hook(*BRIEF, "--patience-ms", str(patience_ms))
    assert silent(ran, limit_ms)
    assert len(spooled(world.place)) == 1


# What agents call stays harmless whatever becomes of Python or the package


def test_what_was_written_is_private_and_writing_again_changes_nothing(
    world: World, tmp_path: Path
):
    package = str(tmp_path / "broken")
    for _ in range(2):
        assert stub.is_current(world.home, sys.executable, package)
        modes = {
            path.name: stat.S_IMODE(path.stat().st_mode)
            for path in Path(world.home, "bin").iterdir()
        }
        assert modes == dict.fromkeys(("hook", "hook.pyc", "mcp", "recollect"), 0o700)
        stub.write_hook(world.home, sys.executable, package)


def test_a_hook_that_would_be_written_otherwise_is_noticed(world: World, tmp_path: Path):
    package = str(tmp_path / "broken")
    script, code = Path(stub.script_path(world.home)), Path(stub.code_path(world.home))
    assert not stub.is_current(world.home, "/other/python", package)
    assert not stub.is_current(world.home, sys.executable, "/other/package")
    for change in (script.unlink, code.unlink, lambda: code.write_bytes(b"")):
        change()
        assert not stub.is_current(world.home, sys.executable, package)
        stub.write_hook(world.home, sys.executable, package)


@pytest.mark.parametrize("name", ["py thon", "py'thon", 'py"thon', "py$HOME", "py\nthon", "é"])
def test_any_name_of_python_and_home_is_called_as_it_is(tmp_path: Path, runtime: str, name: str):
    home = tmp_path / name
    home.mkdir()
    python = tmp_path / f"its {name}"
    python.write_text('#!/bin/sh\nprintf %s "$4"\n')
    python.chmod(0o700)

    stub.write_hook(str(home), str(python))

    assert (
        subprocess.run([stub.script_path(str(home)), "Stop"], capture_output=True).stdout == b"Stop"
    )


NO_PYTHON = {"gone": None, "forbidden": (b"", 0o600), "not a program": (b"\x7fELF nonsense", 0o700)}
NO_PYTHON["crashes"] = (b"#!/bin/sh\necho oops >&2\nkill -SEGV $$\n", 0o700)


@pytest.mark.parametrize("fate", [*NO_PYTHON, "of another version", "half"])
def test_no_python_no_harm(tmp_path: Path, world: World, fate: str):
    python = tmp_path / "python"
    python.symlink_to(sys.executable)
    stub.write_hook(world.home, str(python))
    code = Path(stub.code_path(world.home))
    if fate == "of another version":
        code.write_bytes(b"\0\0\r\n" + code.read_bytes()[4:])
    elif fate == "half":
        code.write_bytes(code.read_bytes()[:1000])
    else:
        python.unlink()
        if left := NO_PYTHON[fate]:
            python.write_bytes(left[0])
            python.chmod(left[1])

    ran = world.hook("Stop", body=b"hello")

    assert (ran.code, ran.out, ran.err) == (0, b"", b"")


def test_removing_leaves_nothing_of_ours_and_what_stands_beside_it(world: World):
    mine = Path(world.home, "bin", "mine")
    mine.write_text("")
    stub.remove_hook(world.home)
    assert os.listdir(mine.parent) == ["mine"]
    mine.unlink()
    stub.remove_hook(world.home)
    assert os.listdir(world.home) == []


# What any Python has loaded before the first line, what is built into it, and one extension.
LIGHT = set(
    "_json binascii _socket marshal posix time sys _signal errno _thread _codecs _weakref".split()
)


def test_with_a_daemon_a_hook_loads_next_to_nothing(world: World):
    with EchoServer(world.place):
        hook = loaded(world, stub.code_path(world.home), "Stop")
    bare = loaded(world, "-c", "pass")
    assert hook - bare <= LIGHT


def loaded(world: World, *arguments: str) -> set[str]:
    """The modules that Python says it imported."""
    said = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        env=world.environ(),
    ).stderr
    return {line.rpartition("|")[2].strip() for line in said.splitlines()[1:]}
