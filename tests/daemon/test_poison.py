"""One line that hangs the interpreter costs that line: every other line and every other project is still heard.

Real hooks and a real daemon, which runs a copy of the package: in it, one word hangs the judging of a prompt for ever,
inside a call that never gives the interpreter back, and the watchdog waits for seconds instead of half a minute.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from recollect.app import rule_keeping
from recollect.app.states import SET_ASIDE, SetAsideLine
from recollect.daemon import watchdog
from recollect.model.result import Scope
from recollect.wire import stub
from recollect.wire.place import program_path
from tests.daemon.real import FORKS, LINUX, soon
from tests.daemon.test_faults import RULES, Scene

pytestmark = [FORKS, pytest.mark.skipif(not LINUX, reason="looks for processes in /proc")]

POISON = "From now on, name every queue after a poisonous frog."
HANG = """

_judge = read_prompt


def read_prompt(app, text):
    import re

    if "poisonous" in text:
        re.match("(a|a)+$", "a" * 99 + "b")
    return _judge(app, text)
"""


class PoisonedScene(Scene):
    """Two projects, `shop` and `depot`, and one daemon that a word hangs."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.package = root / "package"
        room = Path(stub.PACKAGE) / "recollect"
        shutil.copytree(room, self.package / "recollect", copy_function=os.symlink)
        self.replace_file(rule_keeping.__file__, lambda code: code + HANG)
        short = "STUCK_S = 4.0"
        self.replace_file(
            watchdog.__file__, lambda code: code.replace(f"STUCK_S = {watchdog.STUCK_S}", short)
        )
        stub.write_hook(str(self.house.home.root), sys.executable, str(self.package))

    def replace_file(self, original: str, change: Callable[[str], str]) -> None:
        source = Path(original)
        copy = self.package / source.relative_to(stub.PACKAGE)
        before = source.read_text(encoding="utf-8")
        copy.unlink()
        copy.write_text(change(before), encoding="utf-8")
        assert copy.read_text(encoding="utf-8") != before

    def cure(self) -> None:
        """As an upgrade would."""
        source = Path(rule_keeping.__file__)
        copy = self.package / source.relative_to(stub.PACKAGE)
        shutil.copyfile(source, copy)

    def enter(self, name: str) -> None:
        self.project = self.root / name
        self.project.mkdir(exist_ok=True)
        self.session = f"s-{name}"

    def say_text(self, text: str) -> None:
        """Whatever becomes of the hook's answer, the agent writes the line."""
        self.tell("UserPromptSubmit", prompt=text)
        self.write("user", text)
        self.write("assistant", "Understood.")
        self.tell("Stop")

    def reply(self, **fields: object) -> str:
        hook = self.send("UserPromptSubmit", **fields)
        assert hook.stdout is not None
        said = hook.stdout.read().decode()
        self.end(hook)
        return said

    def lines_set_aside(self) -> list[SetAsideLine]:
        with closing(self.app()) as app:
            if app.store_path(Scope.PROJECT) is None:
                return []
            return SET_ASIDE.read(app.reader(Scope.PROJECT))

    def run_command(self, *words: str) -> str:
        done = subprocess.run(
            [program_path(str(self.house.home.root)), *words],
            env=self.environ, cwd=self.project, capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
        return done.stdout

    def bodies(self) -> list[str]:
        return [body for body, _ in self.rules()]


@pytest.fixture
def scene() -> Iterator[PoisonedScene]:
    root = Path(tempfile.mkdtemp(prefix="p")).resolve()  # the path of a socket has to be short
    made = PoisonedScene(root)
    yield made
    for hook in list(made.in_flight):
        made.kill_hook(hook)
    made.house.end()
    shutil.rmtree(root)


def transcript_checks(scene: PoisonedScene) -> list[dict[str, str]]:
    told = json.loads(scene.run_command("doctor", "--json"))
    return [check for check in told["checks"] if check["name"] == "transcripts"]


def test_a_line_that_hangs_the_daemon_is_set_aside_and_can_be_tried_again(
    scene: PoisonedScene,
) -> None:
    scene.enter("shop")
    scene.say_text(RULES[0][0])
    assert soon(lambda: scene.bodies() == [RULES[0][1]]), scene.house.log()[-3000:]
    offset = scene.transcript.stat().st_size
    scene.say_text(POISON)
    scene.say_text(RULES[1][0])

    scene.enter("depot")
    scene.say_text(RULES[2][0])

    def is_set_aside() -> bool:
        """The other project goes on: its hooks start each next daemon."""
        if not scene.house.alive():
            scene.enter("depot")
            scene.tell("Stop")
        scene.enter("shop")
        return bool(scene.lines_set_aside())

    assert soon(is_set_aside, within_s=180), scene.house.log()[-3000:]
    assert [(line.path, line.offset) for line in scene.lines_set_aside()] == [
        (str(scene.transcript), offset)
    ]
    assert soon(lambda: scene.bodies() == [RULES[1][1], RULES[0][1]]), scene.bodies()

    scene.enter("depot")
    assert soon(lambda: scene.bodies() == [RULES[2][1]]), scene.bodies()
    asked = iter(range(1_000))

    def is_answered() -> bool:
        scene.session = f"s-asks-{next(asked)}"
        return "Decimal" in scene.reply(prompt="Do we use Decimal or float for money?")

    assert soon(is_answered), scene.house.log()[-3000:]

    scene.enter("shop")
    (check,) = transcript_checks(scene)
    assert str(scene.transcript) in check["detail"]
    assert "recollect catch-up --again" in check["repair"]

    scene.cure()
    scene.kill()
    told = scene.run_command("catch-up", "--again")

    assert "1 line read that had been set aside" in told
    assert any("poisonous frog" in body for body in scene.bodies())
    assert scene.lines_set_aside() == []
    assert transcript_checks(scene) == []
