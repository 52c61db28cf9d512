"""Desktop notices: off unless asked for, shown by the system's own program, and nobody ever waits for it."""

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from recollect.app import notices
from recollect.app.core import App
from tests.daemon.real import begin_first
from tests.hooks.talk import Talk
from tests.ops.ask import pinned
from tests.ops.conftest import Opens

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a stand-in for notify-send")


class Desktop:
    """A stand-in for `notify-send`, alone on PATH, that writes down what it was given."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder = folder
        self._bin = folder / "bin"
        self._bin.mkdir()
        self._said = folder / "said"
        monkeypatch.setenv("PATH", str(self._bin))
        self.does("")

    def does(self, more: str) -> None:
        program = self._bin / "notify-send"
        lines = [
            "#!/bin/sh",
            f'for one in "$@"; do printf "%s\\n" "$one" >> {self._said}; done',
            more,
            "",
        ]
        program.write_text("\n".join(lines))
        program.chmod(0o755)

    def gone(self) -> None:
        (self._bin / "notify-send").unlink()

    @property
    def said(self) -> list[str]:
        """The lines that were shown, once all of them are."""
        notices.waiting_toasts().join()
        given = self._said.read_text().splitlines() if self._said.exists() else []
        return [line for before, line in pairwise(given) if before == notices.NAME]


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desktop]:
    notices.waiting_toasts.cache_clear()
    yield Desktop(tmp_path, monkeypatch)
    notices.waiting_toasts().join()


@pytest.fixture
def app(open_app: Opens, monkeypatch: pytest.MonkeyPatch) -> App:
    monkeypatch.setenv("MEMORY_TOASTS", "on")
    return open_app()


def logged(app: App) -> str:
    path = app.home.logs / "recollect.log"
    return path.read_text() if path.exists() else ""


def test_a_session_and_what_a_prompt_recalls_are_shown(app: App, stand_in: Desktop):
    pinned(app, "Releases go through the staging cluster first", title="Releases")
    talk = Talk(app)
    talk.tell("SessionStart", source="resume")
    talk.say("hello")
    pinned(app, "The logo is blue", title="Logo")
    talk.say("is the logo blue?")
    talk.tell("SessionStart", source="compact")
    Talk(app, session="s-2").tell("SessionStart", source="startup")
    assert [line for line in stand_in.said if line.startswith("Session")] == [
        "Session 1",
        "Session 2",
    ]
    assert "Recalled: Logo" in stand_in.said


def test_nothing_is_shown_unless_it_was_switched_on(open_app: Opens, stand_in: Desktop):
    notices.toast(open_app(), "anything")
    assert stand_in.said == []


@pytest.mark.parametrize(
    "text",
    ["<b>bold</b> & co", "-h", "$(touch x); `touch y`", "a\nb\x1b[31m\u202ec", "x" * 100_000],
)
def test_a_line_is_shown_as_text_whatever_it_says(app: App, stand_in: Desktop, text: str):
    notices.toast(app, text)
    (line,) = stand_in.said
    assert not set(line) & set("<\x1b\u202e")
    assert len(line) <= notices.MAX_TOAST_CHARS
    assert not list(Path.cwd().glob("?"))


def test_one_that_hangs_is_ended_and_none_is_tried_soon(
    app: App, stand_in: Desktop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(notices, "TOAST_TIMEOUT_S", 0.1)
    stand_in.does("echo >> begun; exec /bin/sleep 600")
    begin_first(monkeypatch, (tmp_path / "bin" / "begun").exists)
    notices.toast(app, "one")
    notices.toast(app, "two")
    assert stand_in.said == ["one"]
    assert "notify-send did not end" in logged(app)


@pytest.mark.parametrize("trouble", ["missing", "fails", "no program"])
def test_trouble_is_logged_and_nothing_else(
    app: App, stand_in: Desktop, trouble: str, tmp_path: Path
):
    if trouble == "missing":
        stand_in.gone()
    elif trouble == "fails":
        stand_in.does("exit 3")
    else:
        (tmp_path / "bin" / "notify-send").write_bytes(b"\x00")
    notices.toast(app, "one")
    notices.waiting_toasts().join()
    assert logged(app).count("toast-not-shown") == 1


def test_more_than_can_be_shown_are_dropped(app: App, stand_in: Desktop, tmp_path: Path):
    held = tmp_path / "held"
    held.touch()
    stand_in.does(f"while [ -e {held} ]; do /bin/sleep 0.05; done")
    for number in range(200):
        notices.toast(app, f"line {number}")
    held.unlink()
    assert 1 <= len(stand_in.said) <= 25


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_no_line_is_ever_part_of_a_script(platform: str):
    line = '\'; "quoted" $(x) -h'
    argv, stdin = notices.call_for(line, platform)
    assert not any(line in part and part != line for part in argv)
    assert line in (*argv, stdin)
    if line in argv:
        assert argv[argv.index(line) - 1] in ("--", notices.NAME)
