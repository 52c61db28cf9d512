"""A session goes on, whatever becomes of us."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Mapping
from typing import Any

from tests.daemon.real import soon
from tests.e2e.client import RULE, VALIDATORS, World, one_model
from tests.e2e.stand_in import says


def daemon(world: World) -> Mapping[str, Any]:
    """What the daemon tells of itself; nothing where there is none."""
    return dict(world.json("daemon", "status", check=False))


def daemon_pid(world: World) -> int:
    """0 when there is none."""
    return int(daemon(world).get("pid") or 0)


def test_a_daemon_killed_in_mid_session_is_replaced(installed: World):
    installed.recollect("rule", "add", RULE)

    with installed.session(says("Good day."), says("Yes."), says("Still.")) as session:
        assert session.say("hello") == "Good day."
        killed = daemon_pid(installed)
        os.kill(killed, signal.SIGKILL)
        assert session.say("are you there?") == "Yes."
        assert soon(lambda: daemon_pid(installed) not in (0, killed)), "no other daemon came"
        installed.recollect("pin", VALIDATORS)
        assert session.say("how do solana validators restart?") == "Still."

    assert session.asked[0].holds(RULE) == 1
    assert session.asked[-1].holds("vestibule") == 1


@one_model
def test_what_no_daemon_heard_is_read_from_the_transcript_later(world: World):
    import fcntl  # not on Windows, where there is no world

    world.recollect("install", "--user")
    world.recollect("daemon", "start")

    with world.session(says("Good day.")) as session:
        session.say("hello")
        world.recollect("daemon", "stop")
        session.service.script(says("Yes."))
        with (world.home / ".recollect" / "spawn.lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # so that no hook can start another
            assert session.say("we use pnpm here, not npm") == "Yes."
        world.recollect("daemon", "start")
        assert soon(lambda: daemon(world)["unanswered"] >= 2), "the prompt and the end of its turn"
        assert soon(lambda: "pnpm" in world.recollect("rule", "list").stdout)

    assert daemon(world)["lost"] == daemon(world)["spooled"] == 0


@one_model
def test_a_session_works_when_our_home_has_gone(installed: World):
    installed.recollect("daemon", "stop")
    shutil.rmtree(installed.home / ".recollect")
    session = installed.run("hello", says("Good day."))
    assert len(session.asked) == 1
