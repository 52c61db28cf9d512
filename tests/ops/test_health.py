from __future__ import annotations

import os
import subprocess
import sys

import pytest

from recollect import __version__
from recollect.app import recovery
from recollect.app.core import App
from recollect.model.result import Check, Mark, Scope
from recollect.ops import health, rules, upkeep
from recollect.wire.place import expected_runtime
from tests.ops.ask import files, pinned
from tests.ops.conftest import Opens
from tests.wire.conftest import runtime
from tests.wire.test_place import SQUATTED, squat

__all__ = ["runtime"]

posix = pytest.mark.skipif(sys.platform == "win32", reason="modes, links, shells and pipes are another matter there")


def test_status_counts_what_is_remembered(app: App):
    assert health.status(app).stores == ()

    pinned(app, "a")
    pinned(app, "b")
    rules.add(app, "Use tabs", user=True)

    told = health.status(app)
    assert [(scope, counts.by_kind_and_status) for scope, _, counts in told.stores] == [
        (Scope.PROJECT, (("thread", "active", 2),)),
        (Scope.USER, (("rule", "active", 1),)),
    ]
    assert (told.version, told.project, told.backups, told.settings_problems) == (__version__, "work", 0, 0)


def test_a_new_installation_is_healthy(app: App):
    assert health.doctor(app).healthy
    assert upkeep.verify(app).stores == ()
    assert upkeep.reindex(app).summary == "Indexed 0 passages."
    assert upkeep.backup(app).facts["files"] == []
    assert not app.home.root.exists(), "and looking made nothing"


@posix
@pytest.mark.parametrize("what", ["home", "project store"])
def test_doctor_sees_what_others_can_read(app: App, what: str):
    pinned(app, "a")
    path = app.home.root if what == "home" else app.store_path(Scope.PROJECT)
    assert path is not None
    path.chmod(0o755)
    checkup = health.doctor(app)
    (bad,) = [check for check in checkup.checks if check.mark is Mark.BAD]
    assert (bad.name, not checkup.healthy) == (what, True)
    assert bad.repair.startswith("chmod ")


def runtime_check(app: App) -> Check:
    (found,) = [check for check in health.doctor(app).checks if check.name == "runtime"]
    return found


@posix
@SQUATTED
def test_doctor_names_what_keeps_the_runtime_folder_from_being_used_and_what_mends_it(
    app: App, runtime: str, monkeypatch: pytest.MonkeyPatch, how: str
):
    monkeypatch.setenv("TMPDIR", runtime)
    folder = expected_runtime(str(app.home.root), os.environ)
    squat(folder, how)

    found = runtime_check(app)

    assert found.mark is Mark.WARN
    assert found.detail.startswith(folder)
    assert found.detail.endswith(f"{app.home.root}/run is used instead")
    subprocess.run(["/bin/sh", "-c", found.repair.removeprefix("sudo ")], check=True)
    assert runtime_check(app) == Check("runtime", Mark.GOOD, folder)


@posix
def test_doctor_sees_where_hooks_can_meet_the_daemon_nowhere(app: App, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    app.home.prepare()
    (app.home.root / "run").write_text("")
    found = runtime_check(app)
    assert found.mark is Mark.BAD
    subprocess.run(["/bin/sh", "-c", found.repair], check=True)
    found = runtime_check(app)
    assert (found.mark, "TMPDIR" in found.repair) == (Mark.WARN, True)


@posix
def test_doctor_asks_for_a_backup_until_there_is_one_which_is_private(app: App):
    pinned(app, "a")
    assert {c.name: c.repair for c in health.doctor(app).checks}["backups"] == "recollect backup"
    made = upkeep.backup(app).facts["files"]
    assert {c.name: c.mark for c in health.doctor(app).checks}["backups"] is Mark.GOOD
    (copy,) = recovery.backups_of(app.store_path(Scope.PROJECT))
    assert (made, [path.stat().st_mode & 0o777 for path in (copy, copy.parent)]) == ([str(copy)], [0o600, 0o700])


def test_verify_and_reindex_change_no_memory(app: App, open_app: Opens):
    pinned(app, "a")
    app.close()
    before = files(app.home.root)
    checked = open_app()
    assert upkeep.verify(checked).clean
    checked.close()
    assert files(app.home.root) == before
    assert upkeep.reindex(open_app()).facts["passages"] == {"project": 1}
