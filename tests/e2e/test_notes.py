"""Notes reach the model through the real client: always loaded, a repository's once allowed; and hold their use."""

from __future__ import annotations

import json
from pathlib import Path

from tests.daemon.real import soon
from tests.e2e.client import Session, World, one_model
from tests.e2e.stand_in import says

MINE = "The vestibule is swept before every release"
THEIRS = "The turnstile is oiled before every release"
HOSTILE = "The turnstile is painted before every release"


def put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def notices(session: Session) -> str:
    said = [json.loads(run.out) for run in session.hooks if run.event == "SessionStart" and run.out.strip()]
    return "\n".join(one.get("systemMessage", "") for one in said)


def test_a_repositorys_notes_are_always_loaded_only_as_they_were_allowed(installed: World):
    shared = installed.project / ".ai" / "memory" / "_always-load" / "theirs.md"
    put(installed.home / ".recollect" / "vault" / "_always-load" / "mine.md", MINE)
    put(shared, THEIRS)

    first = installed.run("hello", says("Good day."))
    assert (first.asked[0].holds(MINE), first.asked[0].holds(THEIRS)) == (1, 0)
    assert "1 note of this repository would be always loaded" in notices(first)

    installed.recollect("allow")
    second = installed.run("hello", says("Good day."))
    assert (second.asked[0].holds(MINE), second.asked[0].holds(THEIRS)) == (1, 1)
    assert second.asked[0].holds("[repository]") == 1
    assert "allow" not in notices(second)

    put(shared, HOSTILE)
    third = installed.run("hello", says("Good day."))
    assert (third.asked[0].holds(MINE), third.asked[0].holds("turnstile")) == (1, 0)
    assert "changed since you allowed them" in notices(third)


@one_model
def test_a_tagged_note_is_completed_and_holds_its_use_after_the_session(installed: World):
    place = installed.home / ".recollect" / "vault" / "_always-load" / "mine.md"
    put(place, f"<memory>\n{MINE}\n</memory>\n")

    installed.run("hello", says("Good day."))
    assert soon(lambda: "<fuzzy-match>" in place.read_text(encoding="utf-8"))
    session = installed.run("hello again", says("Good day."))

    assert session.asked[0].holds(MINE) == 1
    assert soon(lambda: '"frequency": 0' not in place.read_text(encoding="utf-8"))
    text = place.read_text(encoding="utf-8")
    assert text.endswith(f"<memory>\n{MINE}\n</memory>\n")
    assert '"last_accessed_session": ' in text
