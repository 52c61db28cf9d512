"""What a person sees of memory at work: one line at the turn that it belongs to; the heartbeat and its view."""

import json
from pathlib import Path

import pytest

from recollect.app import notices, session_ledger
from recollect.app.core import App
from recollect.app.notices import NotedRule
from recollect.base.clock import FixedClock
from recollect.model.result import Scope
from recollect.model.session import EventName, Heartbeat
from recollect.ops import memories, past_sessions, rules
from tests.hooks.talk import Talk
from tests.ops.conftest import Opens
from tests.ops.transcript import Transcript
from tests.values import NOW

NOTED = 'Recollect: noted "Use pnpm, not npm" \u00b7 undo: recollect undo'


@pytest.fixture
def talk(app: App) -> Talk:
    return Talk(app)


def noted(*rules: str) -> str:
    return notices.rules_line([NotedRule(rule) for rule in rules])


def in_force(app: App) -> list[str]:
    return [card.memory.body for card in rules.listing(app).cards]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (notices.rules_line([]), ""),
        (noted("Use pnpm, not npm."), NOTED),
        (
            noted("a.", "b."),
            'Recollect: noted "a"; "b" \u00b7 undo the last: recollect undo',
        ),
        (
            noted(*"abcd"),
            'Recollect: noted "a"; "b"; "c" (+1) \u00b7 undo the last: recollect undo',
        ),
        (
            notices.rules_line([NotedRule("Use bun.", instead_of=["Use pnpm."])]),
            'Recollect: noted "Use bun", instead of "Use pnpm" \u00b7 undo: recollect undo',
        ),
        (
            notices.rules_line([NotedRule("Use bun.", may_contradict=["Use pnpm."])]),
            'Recollect: noted "Use bun", which may contradict "Use pnpm" \u00b7 undo: recollect undo'
            " \u00b7 decide: recollect inbox",
        ),
        (
            notices.rules_line([*map(NotedRule, "abcd"), NotedRule("e", instead_of=["f"])]),
            'Recollect: noted "e", instead of "f"; "a"; "b" (+2) \u00b7 undo the last: recollect undo',
        ),
        (
            notices.rules_line(
                [
                    *map(NotedRule, "ab"),
                    *(
                        NotedRule(new, instead_of=[new.lower()], change=f"c_12345{new}")
                        for new in "CDEF"
                    ),
                ]
            ),
            'Recollect: noted "C", instead of "c" (undo: recollect undo 12345C);'
            ' "D", instead of "d" (undo: recollect undo 12345D);'
            ' "E", instead of "e" (undo: recollect undo 12345E); "F", instead of "f" (undo: recollect undo 12345F) (+2)'
            " \u00b7 undo the last: recollect undo",
        ),
        (notices.session_lines([]), []),
        (
            notices.session_lines(["Use pnpm.", "Tests first."]),
            ["\U0001f4dd Recollect: captured 2 memories last time: Use pnpm; Tests first"],
        ),
        (
            notices.session_lines(["Tests first.", "Tests first", "Cache of rates"]),
            ["\U0001f4dd Recollect: captured 3 memories last time: Tests first; Cache of rates"],
        ),
        (
            notices.session_lines(list("abcde")),
            ["\U0001f4dd Recollect: captured 5 memories last time: a; b; c (+2)"],
        ),
        (
            notices.session_lines(["a"], promoted=["l"], learnings=2, waiting=3),
            [
                "\U0001f4dd Recollect: captured 1 memory last time: a",
                "\u2b06\ufe0f Recollect: 1 lesson promoted to active rules: l",
                "\U0001f50d Recollect: extracted 2 learnings \u00b7 3 wait in the inbox: recollect inbox",
            ],
        ),
        (
            notices.session_lines([], waiting=1),
            ["Recollect: 1 waits in the inbox: recollect inbox"],
        ),
    ],
)
def test_what_was_kept_is_named_three_at_most(said: object, line: object):
    assert said == line


def test_undo_takes_back_what_the_line_told_of(app: App, talk: Talk, tmp_path: Path):
    transcript = Transcript(app, tmp_path, "s-1")
    talk.transcript = str(transcript.path)
    assert talk.say("no, we use pnpm here, not npm").notice == ""
    assert talk.tell("Stop").notice == NOTED
    transcript.line("user", "no, we use pnpm here, not npm")
    transcript.line(
        "user", "why does the checkout forget the address when the page is loaded again?"
    )
    transcript.line(
        "assistant",
        [{"type": "text", "text": "The address is kept in the session, not in the cart."}],
    )
    app.clock = FixedClock(app.clock.now().plus(seconds=10))
    transcript.event(EventName.TURN_ENDED)
    past_sessions.catch_up(app)
    assert memories.log(app).entries[0][1].op != "capture", (
        "the turn has left something of its own since"
    )
    memories.undo(app)
    assert in_force(app) == []


def test_what_is_only_said_again_is_not_told_again(talk: Talk):
    for line in (NOTED, ""):
        talk.say("no, we use pnpm here, not npm")
        assert talk.tell("Stop").notice == line


def test_a_line_that_was_not_printed_is_shown_with_the_next_answer_and_once(talk: Talk):
    talk.say("no, we use pnpm here, not npm")
    assert talk.tell("Stop", confirm=False).notice == NOTED
    assert NOTED in talk.say("thanks").notice
    assert (talk.say("thanks").notice, talk.tell("Stop").raw) == ("", b"")


def test_where_no_person_can_see_a_line_it_waits_for_a_place_where_one_can(app: App):
    Talk(app, session="o-1", host="opencode").say("no, we use pnpm here, not npm")
    Talk(app, session="o-1", host="opencode").say("thanks")
    assert NOTED in Talk(app, session="s-2").start().notice


def test_one_switch_quiets_all_of_it(open_app: Opens, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MEMORY_NOTICES", "off")
    app = open_app()
    memories.pin(app, "Deploys go through staging, Anna signs them")
    talk = Talk(app)
    said = [
        talk.say("who signs the deploys that go through staging?"),
        talk.say("we use tabs here"),
        talk.start(),
    ]
    assert [one.notice for one in said] == ["", "", ""]
    assert "Anna signs" in said[0].context
    assert in_force(app) == ["Use tabs."]
    assert notices.waiting(app) == []


@pytest.fixture
def view() -> Path:
    return Path.cwd() / ".ai" / "heartbeat.json"


def at(app: App, beats: float) -> None:
    assert isinstance(app.clock, FixedClock)
    app.clock.at = NOW.plus(seconds=beats * 300)


def spoken(app: App) -> Heartbeat:
    """As a prompt's hook does it."""
    before = session_ledger.record_interaction(app)
    session_ledger.write_heartbeat_view(app)
    return before


def test_looking_makes_nothing(app: App, view: Path):
    told = session_ledger.heartbeat(app)
    session_ledger.tick(app)
    assert told.summary == "Beat 0, 0 since anyone last spoke: active conversation."
    assert app.store_path(Scope.PROJECT) is None
    assert not view.exists()


def test_it_is_shown_in_the_project(app: App, view: Path):
    session_ledger.record_interaction(app)
    at(app, 3)
    session_ledger.tick(app)
    assert json.loads(view.read_text()) == {
        "beat": 3, "started_at": NOW.iso(), "last_beat_at": NOW.plus(seconds=900).iso(),
        "last_interaction_at": NOW.iso(), "last_interaction_beat": 0,
    }  # fmt: skip
    assert session_ledger.heartbeat(app).facts["meaning"] == "short pause"


@pytest.mark.parametrize("text", ["", "{", '{"beat": 999999}', "[]", "\x00", '{"beat": -5}'])
def test_what_someone_wrote_into_the_file_is_not_believed(app: App, view: Path, text: str):
    spoken(app)
    view.write_text(text)
    at(app, 1)
    assert spoken(app).beat == 1
    assert json.loads(view.read_text())["beat"] == 1


@pytest.mark.parametrize("folder", [False, True])
def test_a_link_in_place_of_the_file_or_its_folder_is_not_followed(
    app: App, view: Path, tmp_path: Path, folder: bool
):
    spoken(app)
    linked = view.parent if folder else view
    elsewhere = tmp_path / "elsewhere"
    linked.rename(elsewhere)
    linked.symlink_to(elsewhere)
    before = view.read_text()
    at(app, 5)
    assert spoken(app).beat == 5
    precious = elsewhere / "heartbeat.json" if folder else elsewhere
    assert precious.read_text() == before
