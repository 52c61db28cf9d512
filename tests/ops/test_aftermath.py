"""What was shown unasked is judged by what followed; what never helps goes quiet, which is seen and can be reversed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from recollect.base.clock import FixedClock
from recollect.base.errors import NotFound
from recollect.model.ledger import Talker, Way
from recollect.model.memory import Memory
from recollect.model.outcome import Ending, Outcome
from recollect.model.plan import Create
from recollect.model.result import Recollection, Scope
from recollect.model.session import EventName, ToolCall
from recollect.ops import aftermath, briefs, digest, health, history, memories, outcomes, recalls, rules, sessions
from recollect.ops.app import App
from recollect.ops.haste import Haste
from recollect.ops.recalls import Injected
from recollect.ops.sessions import Showing
from recollect.render.data import as_json
from recollect.render.terminal import blocks
from tests.ops.test_digest import Transcript
from tests.values import NOW, act, plan, rule, thread


def keep(app: App, *kept: Memory, scope: Scope = Scope.PROJECT) -> None:
    app.writing(scope).apply(plan(*(Create(one) for one in kept)), act(summary="kept"))


def show(app: App, text: str, event: EventName = EventName.PROMPT) -> None:
    mind = briefs.brought_to_mind(app, Haste(app, text, time.monotonic() + 60), seen=set(), limit=5)
    assert mind.found is not None
    recalls.note(app, mind.found, Injected(session="s", event=event))


def record(app: App, kind: Ending, shown: Sequence[Memory], number: int = 0) -> None:
    outcomes.record(app, Outcome(kind=kind, at=NOW, session="s", act=f"a{number}", shown=tuple(m.id for m in shown)))


def trail(app: App, memory: Memory) -> str:
    return app.find(memory.id)[1].outcomes


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        (Ending.SUCCESS, "+"),
        (Ending.FAILURE, "-"),
        (Ending.RE_ASK, "-"),
        (Ending.AGENT_FAILURE, "-"),
        (Ending.REFUSAL, ""),
    ],
)
def test_what_a_prompt_brought_to_mind_is_judged_by_what_followed(app: App, kind: Ending, mark: str):
    told = thread("Deploys", body="Deploys go through staging")
    keep(app, told)
    show(app, "how do deploys go")
    record(app, kind, [told])

    aftermath.judge(app)
    aftermath.judge(app)

    assert trail(app, told) == mark


def test_a_rule_that_was_told_before_a_call_is_judged_and_the_user_s_own_too(app: App):
    ours, everywhere = rule("r", body="Run pytest with -q"), rule("u", body="Never run pytest in parallel")
    keep(app, ours)
    keep(app, everywhere, scope=Scope.USER)
    call = ToolCall(id="c", name="Bash", input={"command": "pytest tests"})
    mind, _ = briefs.reminders(app, call, seen=set(), until_s=time.monotonic() + 60)
    assert mind.found is not None
    recalls.note(app, mind.found, Injected(session="s", event=EventName.TOOL_CALLED))
    record(app, Ending.FAILURE, [ours, everywhere])

    aftermath.judge(app)

    assert (trail(app, ours), trail(app, everywhere)) == ("-", "-")


def test_what_everyone_gets_and_what_was_asked_for_is_not_judged(app: App):
    listed, asked, elsewhere = rule("r", body="Use tabs"), thread("Deploys"), thread("Billing")
    keep(app, listed, asked, elsewhere)
    briefs.note_listed(
        app, "session start", [(Scope.PROJECT, listed)], (), Injected(session="s", event=EventName.SESSION_STARTED)
    )
    show(app, "Deploys", EventName.TOOL_CALLED)  # the agent read a virtual file
    record(app, Ending.FAILURE, [listed, asked, elsewhere])

    aftermath.judge(app)

    assert [trail(app, one) for one in (listed, asked, elsewhere)] == ["", "", ""]


def test_a_memory_that_is_gone_by_then_is_no_trouble(app: App):
    told = thread("Deploys")
    keep(app, told)
    show(app, "Deploys")
    record(app, Ending.FAILURE, [told])
    memories.delete(app, (told.id,))

    aftermath.judge(app)


def test_judging_is_no_change_that_anyone_would_undo(app: App):
    told = thread("Deploys")
    keep(app, told)
    show(app, "Deploys")
    record(app, Ending.FAILURE, [told])
    before = history.log(app).entries

    aftermath.judge(app)

    assert history.log(app).entries == before


def test_what_a_session_leaves_is_judged_when_it_is_read(app: App, tmp_path: Path):
    told, reminded = thread("Deploys", body="Deploys go through staging"), rule("r", body="Run pytest with -q")
    keep(app, told, reminded)
    transcript = Transcript(app, tmp_path, "s")
    transcript.line("user", "how do deploys go")
    show(app, "how do deploys go")
    sessions.arrived(app, Showing(talker=Talker("s"), marks={told.id: Scope.PROJECT}))
    call = f"toolu_{transcript.session}_{transcript.number}"
    mind, _ = briefs.reminders(
        app,
        ToolCall(id=call, name="Bash", input={"command": "pytest tests"}),
        seen=set(),
        until_s=time.monotonic() + 60,
    )
    assert mind.found is not None
    recalls.note(app, mind.found, Injected(session="s", event=EventName.TOOL_CALLED))
    sessions.arrived(app, Showing(talker=Talker("s"), marks={reminded.id: Scope.PROJECT}, way=Way.REMINDED, call=call))
    transcript.ran("pytest tests", "Exit code 1\n3 failed", failed=True)
    transcript.event(EventName.TURN_ENDED)

    digest.digest(app)

    assert (trail(app, told), trail(app, reminded)) == ("-", "-")
    app.clock = FixedClock(NOW.plus(seconds=60))
    transcript.line("user", "still broken, that did not work")
    transcript.event(EventName.TURN_ENDED)
    digest.digest(app)
    assert (trail(app, told), trail(app, reminded)) == ("--", "--")


@pytest.fixture
def quiet(app: App) -> tuple[Memory, Memory]:
    found = (
        thread("Deploys", body="Deploys go through staging", outcomes="-" * 40),
        rule("r", body="Run pytest with -q", outcomes="-" * 40),
    )
    keep(app, *found)
    return found


def test_what_went_quiet_is_not_shown_unasked_but_found_when_asked_for(app: App, quiet: tuple[Memory, Memory]):
    told, said = quiet
    mind = briefs.brought_to_mind(
        app, Haste(app, "deploys through staging", time.monotonic() + 60), seen=set(), limit=5
    )
    call = ToolCall(id="c", name="Bash", input={"command": "pytest tests"})

    assert mind.hits == ()
    assert mind.found is not None
    assert [(drop.id, drop.reason) for drop in mind.found.drops if drop.id == told.id] == [(told.id, "went quiet")]
    assert briefs.open_threads(app) == {}
    assert briefs.rules(app) == {}
    assert briefs.reminders(app, call, seen=set(), until_s=time.monotonic() + 60)[1] == []
    assert told.id in [one.hit.memory.id for one in recalls.search(app, ("deploys", "staging")).found]
    assert said.id in [card.memory.id for card in rules.listing(app).cards]


def test_what_went_quiet_is_listed_and_counted(app: App, quiet: tuple[Memory, Memory]):
    told, said = quiet
    keep(app, thread("Fine", outcomes="+" * 40), thread("New"))

    assert [card.memory.id for card in memories.threads(app, quiet=True).cards] == [told.id]
    assert [card.memory.id for card in rules.listing(app, quiet=True).cards] == [said.id]
    overview = health.status(app)
    assert overview.quiet == 2
    assert "Went quiet: 2 memories" in "\n".join(str(block) for block in blocks(overview, now=NOW))


def test_why_tells_what_it_was_judged_by(app: App, quiet: tuple[Memory, Memory]):
    told, _ = quiet

    (one,) = recalls.search(app, ("deploys", "staging")).found
    reasons = recalls.why(app, told.id)

    assert isinstance(one, Recollection)
    assert dict(one.hit.components)["went_badly"] == 40
    assert dict(one.hit.components)["relevance"] == pytest.approx(3 / 11)
    shown = "\n".join(str(block) for block in blocks(reasons, now=NOW))
    assert "relevance 0.2727, went_badly 40" in shown
    assert f"recollect revive {told.id}" in shown
    data = as_json(reasons)
    assert isinstance(data, dict)
    assert data["quiet"] is True


def test_why_tells_of_one_that_is_in_no_recall_any_more_only_if_it_was_judged(app: App, quiet: tuple[Memory, Memory]):
    new = thread("New")
    keep(app, new)

    assert recalls.why(app, quiet[0].id).quiet
    with pytest.raises(NotFound):
        recalls.why(app, new.id)


def test_reviving_brings_it_back_and_can_be_undone(app: App, quiet: tuple[Memory, Memory]):
    told, said = quiet

    done = memories.revive(app, (told.id, said.id))

    assert list(briefs.rules(app)) == [said.id]
    assert list(briefs.open_threads(app)) == [told.id]
    assert memories.revive(app, (told.id,)).change is None
    assert done.change is not None
    history.undo(app, done.change)
    assert [app.find(one.id)[1] for one in quiet] == [told, said]
