"""An episode: what was asked, what was done, how it ended; nothing where nothing came about."""

from __future__ import annotations

import pytest

from recollect.capture.episode import episode
from recollect.model.act import Act, Deed, Doing, Speaker
from tests.values import NOW


def said(text: str, speaker: Speaker = Speaker.PERSON) -> Act:
    return Act(id=text, at=NOW, speaker=speaker, text=text)


def ran(command: str, *, failed: bool = False, refused: bool = False) -> Act:
    doing = Doing(Deed.RUN, "Bash", command)
    return Act(id=command, at=NOW, speaker=Speaker.TOOL, text="out", doing=doing, failed=failed, refused=refused)


def edited(file: str, *, failed: bool = False) -> Act:
    doing = Doing(Deed.EDIT, "Edit", "", (file,))
    return Act(id=file, at=NOW, speaker=Speaker.TOOL, text="ok", doing=doing, failed=failed)


def test_it_tells_what_was_asked_changed_and_run_and_how_it_ended():
    found = episode(
        [
            said("hi"),
            said("the login page fails in Safari, please fix it"),
            ran("ls -la"),
            ran("npm test", failed=True),
            edited("/work/shop/src/login.ts"),
            edited("/work/shop/src/cookie.ts"),
            edited("/work/shop/src/login.ts"),
            edited("/work/shop/src/never.ts", failed=True),
            ran("npm test"),
            ran("npm run lint", failed=True),
            ran("rm -rf build", refused=True),
            said("and add a test for it"),
            said("Fixed: the cookie lacked SameSite.\n\nTests pass.", Speaker.AGENT),
        ],
        root="/work/shop",
    )

    assert found is not None
    assert found.title == "Session: the login page fails in Safari, please fix it"
    assert found.body.splitlines() == [
        "Asked: the login page fails in Safari, please fix it",
        "Then: and add a test for it",
        "Changed: src/login.ts, src/cookie.ts",
        "Ran: npm run lint (failed), npm test",
        "Ended: Fixed: the cookie lacked SameSite.",
    ]


@pytest.mark.parametrize(
    "acts",
    [
        [],
        [said("hi"), said("Hello!", Speaker.AGENT)],
        [said("what is a monad and why"), ran("ls"), ran("cat README.md"), said("It is …", Speaker.AGENT)],
        [said("fix the login page please"), edited("a.py", failed=True)],
        [ran("npm test"), ran("npm run lint"), edited("a.py")],
    ],
)
def test_a_session_in_which_nothing_came_about_has_none(acts: list[Act]):
    assert episode(acts) is None


def test_a_subagent_s_work_is_told_by_whom_it_was_asked_for():
    doing = Doing(Deed.EDIT, "Edit", "", ("a.py",))
    inner = Act(id="x", at=NOW, speaker=Speaker.TOOL, doing=doing, agent="sub")

    assert episode([said("fix the login page please"), inner]) is None


def test_a_session_that_was_cut_off_ended_with_its_last_failure():
    found = episode([said("deploy it to staging"), edited("a.py"), ran("make deploy", failed=True)])

    assert found is not None
    assert "Ended: with a failure: make deploy" in found.body


def test_a_long_session_has_a_short_episode():
    acts = [said(f"please do the thing number {number} " + "x" * 500) for number in range(100)]
    acts += [edited(f"/deep/{'d' * 60}/file{number}.py") for number in range(100)]
    acts += [ran(f"command{number} " + "y" * 500) for number in range(100)]
    acts += [said("z" * 5_000, Speaker.AGENT)]

    found = episode(acts)

    assert found is not None
    assert len(found.body) < 2_500
    assert "(+95)" in found.body
    assert "(+92)" in found.body
