"""What bore on a call or a turn is marked by it; what never helps goes quiet, which is seen and can be reversed."""

import time
from pathlib import Path

import pytest

from recollect.app import session_ledger
from recollect.app.core import App
from recollect.app.embedding import TimedQuestion
from recollect.app.memory_search import rules_in_force
from recollect.base.clock import FixedClock
from recollect.base.errors import NotFound
from recollect.model.memory import Memory
from recollect.model.query import ALWAYS_LOADED, Hit
from recollect.model.result import Scope
from recollect.model.session import EventName, LedgerKey, Outcome, ToolCall, Way
from recollect.ops import health, memories, past_sessions, recall, rules
from recollect.ops.hook_reply import found_without_search
from recollect.ops.prompt_recall import search_unasked
from recollect.ops.session_start import open_threads
from recollect.ops.tool_use import find_reminders
from recollect.render.terminal import blocks
from tests.ops.ask import keep
from tests.ops.transcript import Transcript
from tests.values import NOW, rule, thread


def trail(app: App, memory: Memory) -> str:
    return app.find(memory.id)[1].outcomes


class Session:
    """A session that is shown memories, and read to its end after each step."""

    def __init__(self, app: App, folder: Path) -> None:
        self.app, self.transcript = app, Transcript(app, folder, "s")

    def asks(self, text: str, *told: Memory, event: EventName = EventName.PROMPT) -> None:
        self.transcript.line("user", text)
        mind = search_unasked(
            self.app, TimedQuestion(self.app, text, time.monotonic() + 60), seen=set(), limit=5
        )
        assert mind.found is not None
        recall.record_recall(self.app, mind.found, {"session": "s", "event": event})
        ids = {one.id: self.app.find(one.id)[0] for one in told}
        session_ledger.record_shown(self.app, LedgerKey("s"), ids)
        self.read()

    def replies(self, text: str) -> None:
        self.transcript.replied(text)

    def runs(self, command: str, output: str, *reminded: Memory, failed: bool = False) -> None:
        id = f"toolu_s_{self.transcript.number}"
        call = ToolCall(id=id, name="Bash", input={"command": command})
        mind, _ = find_reminders(self.app, call, seen=set(), until_s=time.monotonic() + 60)
        assert mind.found is not None
        recall.record_recall(self.app, mind.found, {"session": "s", "event": EventName.TOOL_CALLED})
        ids = {one.id: self.app.find(one.id)[0] for one in reminded}
        session_ledger.record_shown(self.app, LedgerKey("s"), ids, way=Way.REMINDED, call=id)
        self.transcript.ran(command, output, failed=failed)
        self.read()

    def read(self) -> None:
        self.transcript.event(EventName.TURN_ENDED)
        past_sessions.catch_up(self.app)
        self.app.clock = FixedClock(self.app.clock.now().plus(seconds=60))


@pytest.fixture
def session(app: App, tmp_path: Path) -> Session:
    return Session(app, tmp_path)


@pytest.mark.parametrize(
    ("next_words", "marks"),
    [("thanks, now document the importer", "+"), ("still broken, that did not work", "-")],
)
def test_what_a_turn_used_is_marked_by_how_the_turn_ended(
    app: App, session: Session, next_words: str, marks: str
):
    told = thread(
        "Deploys", body="Deploys go through staging, with the rollout script in tools/rollout.sh"
    )
    keep(app, told)
    session.asks("how do deploys go", told)
    session.replies("They go through staging: tools/rollout.sh does the rollout.")
    session.asks(next_words)
    session.read()
    assert trail(app, told) == marks


def test_what_a_turn_or_a_call_did_not_use_gets_no_mark(app: App, session: Session):
    told = thread(
        "Deploys", body="Deploys go through staging, with the rollout script in tools/rollout.sh"
    )
    short, gone = (
        rule("r", body="Answer in short sentences"),
        thread("Gone", body="Gone with the parser"),
    )
    keep(app, told, short, gone)
    session.asks("deploys: rename the parser, and answer in short sentences", told, short, gone)
    session.replies("The parser is renamed.")
    session.runs("make docs", "ok")
    memories.delete(app, (gone.id,))
    session.asks("thanks, now document the importer")
    assert (trail(app, told), trail(app, short)) == ("", "")
    assert app.reader(app.scope).records(Outcome) == []


@pytest.mark.parametrize(
    ("command", "output", "failed", "marks"),
    [
        ("pytest -q tests", "ok", False, "+"),
        ("pytest -q tests", "error: unrecognized arguments: -q", True, "-"),
        ("pytest -q tests", "3 failed", True, ""),  # it did what it was asked to
        ("pytest tests", "ok", False, ""),  # it was ignored
    ],
)
def test_a_rule_that_the_call_kept_is_marked_and_the_users_too(
    app: App, session: Session, command: str, output: str, failed: bool, marks: str
):
    ours, everywhere = (
        rule("r", body="Run pytest with -q"),
        rule("u", body="Use pytest -q, not unittest"),
    )
    unclear = rule("n", body="Never run pytest in parallel")
    keep(app, ours, unclear)
    keep(app, everywhere, scope=Scope.USER)
    session.runs(command, output, ours, everywhere, unclear, failed=failed)
    assert (trail(app, ours), trail(app, everywhere)) == (marks, marks)
    assert trail(app, unclear) == "", "it cannot be told"


@pytest.mark.parametrize(
    ("command", "marks", "is_broken"),
    [("npm install x", "", True), ("pnpm add x", "+", False), ("make docs", "", False)],
)
@pytest.mark.parametrize("failed", [True, False])
def test_a_rule_that_was_ignored_gets_no_mark_and_is_counted_as_broken(
    app: App, session: Session, command: str, marks: str, is_broken: bool, failed: bool
):
    pnpm = rule("r", body="Use pnpm, not npm")
    keep(app, pnpm)
    output = "error: no such option" if failed else "ok"
    session.runs(command, output, pnpm, failed=failed)
    assert trail(app, pnpm) == (marks.replace("+", "-") if failed else marks)
    tags = [tag for one in app.reader(app.scope).records(Outcome) for tag in one.tags]
    assert (f"broken:{pnpm.id}" in tags) is is_broken


def test_a_rule_of_a_prompt_that_the_turn_ignored_gets_no_mark(app: App, session: Session):
    pnpm = rule("r", body="Use pnpm, not npm, for packages of the shop")
    keep(app, pnpm)
    session.asks("add the dates package to the shop with npm or pnpm", pnpm)
    session.transcript.ran("npm install dates --prefix shop/packages", "ok")
    session.replies("The dates package is in the shop, installed with npm.")
    session.asks("thanks, now document the importer")
    assert trail(app, pnpm) == ""


def told_at_start(app: App, *memories: Memory) -> None:
    hits = [(app.find(one.id)[0], Hit(one, 1.0, ())) for one in memories]
    found = found_without_search(app, "session start", hits, ALWAYS_LOADED)
    recall.record_recall(app, found, {"session": "s", "event": EventName.SESSION_STARTED})
    ids = {one.id: app.find(one.id)[0] for one in memories}
    session_ledger.record_shown(app, LedgerKey("s"), ids)


@pytest.mark.parametrize(
    ("commands", "marks"),
    [
        ([("pnpm test", False), ("pnpm test", False)], "+"),  # once per session
        ([("npm test", False)], "+"),
        ([("npm test", True)], ""),
        ([("pnpm test", True)], ""),
        ([("make docs", False)], ""),
    ],
)
def test_a_lesson_told_at_the_start_is_credited_where_its_failure_does_not_occur(
    app: App, session: Session, commands: list[tuple[str, bool]], marks: str
):
    lesson = rule("r", body=LESSON, origin="outcome")
    keep(app, lesson)
    told_at_start(app, lesson)
    session.transcript.line("user", "run the tests")
    for command, failed in commands:
        session.transcript.ran(command, "error: no such option" if failed else "ok", failed=failed)
        session.read()
    assert trail(app, lesson) == marks


LESSON = '`npm test` fails here with "Missing script: test"; `pnpm test` works.'


@pytest.mark.parametrize(
    ("command", "failed", "marks"),
    [
        ("npm test", False, "+"),
        ("pnpm test", False, "+"),
        ("npm test", True, ""),
        ("make docs", False, ""),
    ],
)
def test_a_warning_is_credited_where_its_failure_does_not_occur_and_never_blamed(
    app: App, session: Session, command: str, failed: bool, marks: str
):
    warning = rule("r", body=LESSON, origin="outcome")
    keep(app, warning)
    session.asks("npm test works or fails with a missing script", warning)
    session.runs(command, 'npm ERR! Missing script: "test"' if failed else "ok", failed=failed)
    assert trail(app, warning) == marks


def test_what_everyone_gets_and_what_was_asked_for_is_not_judged(app: App, session: Session):
    listed, asked = (
        rule("r", body="Run pytest with -q"),
        thread("Deploys", body="Deploys go through staging.sh"),
    )
    keep(app, listed, asked)
    found = found_without_search(
        app, "session start", [(Scope.PROJECT, Hit(listed, 1.0, ()))], ALWAYS_LOADED
    )
    recall.record_recall(app, found, {"session": "s", "event": EventName.SESSION_STARTED})
    session.asks(
        "Deploys", listed, asked, event=EventName.TOOL_CALLED
    )  # the agent read a virtual file
    session.replies("They go through staging.sh")
    session.transcript.ran("pytest tests", "3 failed", failed=True)
    session.asks("still broken, that did not work")
    assert (trail(app, listed), trail(app, asked)) == ("", "")


def test_a_session_that_is_read_twice_marks_once_and_a_mark_is_no_change_to_undo(
    app: App, session: Session
):
    told = rule("r", body="Run pytest with -q")
    keep(app, told)
    before = len(memories.log(app).entries)
    session.runs("pytest -q tests", "ok", told)
    session.transcript.path = session.transcript.path.rename(
        session.transcript.path.with_name("copy.jsonl")
    )
    session.read()
    assert trail(app, told) == "+"
    assert len(memories.log(app).entries) == before


@pytest.fixture
def quiet(app: App) -> tuple[Memory, Memory]:
    found = (
        thread("Deploys", body="Deploys go through staging", outcomes="-" * 40),
        rule("r", body="Run pytest with -q", outcomes="-" * 40),
    )
    keep(app, *found)
    return found


def test_what_went_quiet_is_not_shown_unasked_but_found_when_asked_for(
    app: App, quiet: tuple[Memory, Memory]
):
    told, said = quiet
    mind = search_unasked(
        app,
        TimedQuestion(app, "deploys through staging", time.monotonic() + 60),
        seen=set(),
        limit=5,
    )
    call = ToolCall(id="c", name="Bash", input={"command": "pytest tests"})
    assert mind.hits == ()
    assert mind.found is not None
    assert [(drop.id, drop.reason) for drop in mind.found.drops if drop.id == told.id] == [
        (told.id, "went quiet")
    ]
    assert open_threads(app) == {}
    assert rules_in_force(app) == {}
    assert find_reminders(app, call, seen=set(), until_s=time.monotonic() + 60)[1] == []
    assert told.id in [
        one.hit.memory.id for one in recall.search(app, ("deploys", "staging")).found
    ]
    assert said.id in [card.memory.id for card in rules.listing(app).cards]


def test_what_went_quiet_is_listed_and_counted(app: App, quiet: tuple[Memory, Memory]):
    told, said = quiet
    keep(app, thread("Fine", outcomes="+" * 40), thread("New"))
    assert [card.memory.id for card in memories.threads(app, muted=True).cards] == [told.id]
    assert [card.memory.id for card in rules.listing(app, muted=True).cards] == [said.id]
    overview = health.status(app)
    assert overview.quiet == 2
    assert "2 memories muted" in "\n".join(str(block) for block in blocks(overview, now=NOW))


def test_why_tells_what_it_was_judged_by_and_nothing_of_one_that_was_not(
    app: App, quiet: tuple[Memory, Memory]
):
    told, said = quiet
    (one,) = recall.search(app, ("deploys", "staging")).found
    reasons = recall.why(app, told.id, numbers=True)

    assert one.hit.part("went_badly") == 40
    assert one.hit.part("relevance") == pytest.approx(3 / 11)
    shown = "\n".join(str(block) for block in blocks(reasons, now=NOW))
    assert "So far it was followed by work that failed 40 times." in shown
    assert "relevance 0.2727, went_badly 40" in shown
    assert f"recollect restore {told.id[-6:]}" in shown
    assert reasons.as_json()["quiet"] is True
    assert recall.why(app, said.id).quiet, "it is in no recall, but it was judged"
    new = thread("New")
    keep(app, new)
    with pytest.raises(NotFound):
        recall.why(app, new.id)


def test_reviving_brings_it_back_and_can_be_undone(app: App, quiet: tuple[Memory, Memory]):
    told, said = quiet
    done = memories.restore(app, (told.id, said.id))
    assert list(rules_in_force(app)) == [said.id]
    assert list(open_threads(app)) == [told.id]
    assert memories.restore(app, (told.id,)).change is None
    assert done.change is not None
    memories.undo(app, done.change)
    assert [app.find(one.id)[1] for one in quiet] == [told, said]
