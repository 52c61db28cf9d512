"""The user's own notes of the tag dialect are completed and hold how they were used; nobody else's file is touched."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.jobs import vault_sync
from recollect.lifecycle import strength
from recollect.model.result import Scope
from recollect.model.session import EventName, LedgerKey, Way
from recollect.ops import history, notes, past_sessions
from recollect.vault import tags
from tests.ops.ask import files
from tests.ops.test_vault_sync import all_notes, looked, put
from tests.ops.transcript import Transcript

BARE = "<conditional>\nWhen it rains.\n</conditional>\n\nTake a coat.\n"
WHOLE = tags.complete(BARE, session=0)
OTHERS = {
    "plain.md": "# Coats\n\nTake one.\n",
    "front.md": "---\ntags: [a]\n---\nText\n",
    "quotes.md": "How to:\n\n<memory>\nText\n</memory>\n",
}


def held(path: Path) -> dict[str, object]:
    return tags.metadata(path.read_text()) or {}


def shown(app: App, id: str, *, session: str = "s-1", agent: str = "", number: int = 3) -> None:
    app.writer(Scope.USER).use([id], partial(strength.count_shown, session=number))
    key = LedgerKey(session, agent, 0)
    app.writer(app.scope).show(key, Way.TOLD, [id], at=app.clock.now())


def test_after_a_session_began_notes_get_the_tags_they_lack(
    app: App, vault: Path, shared: Path, transcript: Transcript
):
    for path, text in {**OTHERS, "bare.md": BARE}.items():
        put(vault, path, text)
        put(shared, path, text)
    before = looked(app)
    entries = len(history.log(app).entries)

    transcript.event(EventName.SESSION_STARTED)
    past_sessions.catch_up(app)

    assert list(tags.find((vault / "bare.md").read_text())) == [*tags.BLOCKS]
    assert "\nTake a coat.\n" in (vault / "bare.md").read_text()
    assert {path: (vault / path).read_text() for path in OTHERS} == OTHERS
    assert (shared / "bare.md").read_text() == BARE
    assert looked(app) == before
    assert len(history.log(app).entries) == entries


def test_after_a_session_ended_notes_that_it_was_shown_hold_their_use_and_are_not_written_again(
    app: App, vault: Path, shared: Path, transcript: Transcript
):
    for name in ("seen", "by-subagent", "unseen"):
        put(vault, f"{name}.md", WHOLE)
    put(shared, "a.md", WHOLE)
    found = looked(app)
    shown(app, found["memory/a.md"].id)
    shown(app, found["seen.md"].id)
    shown(app, found["by-subagent.md"].id, agent="a-1")

    transcript.event(EventName.SESSION_ENDED)
    past_sessions.catch_up(app)

    for name in ("seen", "by-subagent"):
        wanted = {**tags.DEFAULTS, "frequency": 1, "last_accessed_session": 3}
        assert held(vault / f"{name}.md") == wanted
    assert (vault / "unseen.md").read_text() == (shared / "a.md").read_text() == WHOLE

    before = files(vault), (vault / "seen.md").stat().st_mtime_ns, all_notes(app)
    for number in range(3):
        transcript.number += number
        transcript.event(EventName.SESSION_ENDED)
        past_sessions.catch_up(app)
        notes.sync(app)
    assert (files(vault), (vault / "seen.md").stat().st_mtime_ns, all_notes(app)) == before


@pytest.mark.skipif(os.name == "nt", reason="Unix modes")
def test_a_file_that_is_being_edited_or_may_not_be_written_is_left_and_the_others_are_not(app: App, vault: Path):
    for name in "abc":
        put(vault, f"{name}.md", BARE)
    (vault / "a.md").chmod(0o400)
    looked(app)
    put(vault, "b.md", BARE + "And an umbrella.\n")

    vault_sync.write_some(app, vault_sync.Pending(session_began=True))

    assert [(vault / f"{name}.md").read_text() for name in "ab"] == [BARE, BARE + "And an umbrella.\n"]
    assert (vault / "c.md").read_text() != BARE


def test_many_are_tended_a_few_at_a_time(app: App, vault: Path):
    for number in range(5):
        put(vault, f"{number}.md", BARE)
    looked(app)
    due = vault_sync.Pending(session_began=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vault_sync, "WRITE_BATCH", 2)
        rounds = 1
        while vault_sync.write_some(app, due):
            rounds += 1

    assert rounds == 3
    assert all(len(tags.find(path.read_text())) == 4 for path in vault.iterdir())


@pytest.mark.parametrize("command", ["session", "archive"])
@pytest.mark.parametrize(("number", "last"), [(0, 400), (3, 400), (401, 401)])
def test_counts_that_a_file_brings_are_taken_over_and_never_go_back(
    app: App, vault: Path, transcript: Transcript, command: str, number: int, last: int
):
    put(vault, "a.md", tags.with_metadata(WHOLE, {"frequency": 12, "last_accessed_session": 400}))
    note = looked(app)["a.md"]
    assert note.frequency == 12

    shown(app, note.id, number=number)
    if command == "session":
        transcript.event(EventName.SESSION_ENDED)
        past_sessions.catch_up(app)
    else:
        notes.archive(app, ("a",))

    file = vault / ("a.md" if command == "session" else "_archive/a.md")
    assert (held(file)["frequency"], held(file)["last_accessed_session"]) == (13, last)


@pytest.mark.parametrize("count", ["-1", "true", '"many"', "1e99", str(10**40)])
def test_no_count_in_a_file_breaks_anything(app: App, vault: Path, count: str):
    text = f'<memory-metadata>\n{{"frequency": {count}}}\n</memory-metadata>\n<memory>\nText\n</memory>\n'
    put(vault, "a.md", text)
    assert 0 <= looked(app)["a.md"].frequency <= 1_000_000
