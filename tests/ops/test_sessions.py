"""Sessions as a person looks at them: the list, one session turn by turn, and the prompt that a rule came from."""

import json
from pathlib import Path
from typing import Any

import pytest

from recollect.app.core import App
from recollect.base.clock import FixedClock
from recollect.base.errors import BadInput, NotFound
from recollect.model.codec import encode
from recollect.model.memory import Kind, Status
from recollect.model.result import Scope
from recollect.model.session import Ending, EventName
from recollect.model.timeline import TurnSteps
from recollect.ops import memories, past_sessions, rules
from recollect.ops.sessions import listing, session
from recollect.render.blocks import Line
from recollect.render.terminal import blocks
from tests.hooks.talk import Talk
from tests.ops.transcript import Transcript
from tests.values import NOW

TOKEN = "ghp_" + "a1B2" * 9
PNPM = "no, we use pnpm here, not npm"


class Play(Transcript):
    """A session whose hooks are called, and whose transcript says what the agent was given."""

    def __init__(self, app: App, folder: Path, session: str = "s-1") -> None:
        super().__init__(app, folder, session)
        self.talk = Talk(app, session=session)
        self.talk.transcript = str(self.path)

    def wait(self, seconds: float = 60) -> None:
        assert isinstance(self.app.clock, FixedClock)
        self.app.clock.at = self.app.clock.at.plus(seconds=seconds)

    def given(self, context: str) -> str:
        if context:
            added = {
                "type": "hook_additional_context",
                "content": [context],
                "hookEvent": "UserPromptSubmit",
            }
            self.line("attachment", "", attachment=added)
        return context

    def start(self) -> str:
        return self.given(self.talk.start().context)

    def say(self, prompt: str) -> str:
        self.wait()
        context = self.talk.say(prompt).context
        self.line("user", prompt)
        return self.given(context)

    def call(self, command: str, output: str = "ok", *, failed: bool = False) -> str:
        self.wait(5)
        context = self.given(
            self.talk.call(
                "Bash", call=f"toolu_{self.session}_{self.number + 1}", command=command
            ).context
        )
        if not context:
            self.number += 1
        self.ran(command, output, failed=failed)
        return context

    def end(self) -> None:
        self.wait()
        self.event(EventName.TURN_ENDED)
        past_sessions.catch_up(self.app)


@pytest.fixture
def play(app: App, tmp_path: Path) -> Play:
    return Play(app, tmp_path)


def turns(app: App, id: str = "last", **given: Any) -> tuple[TurnSteps, ...]:
    return session(app, id, **given).turns


def shown(app: App, id: str = "last", **given: Any) -> str:
    found = blocks(session(app, id, **given), now=app.clock.now())
    return "\n".join(one.text for one in found if isinstance(one, Line))


def test_a_session_shows_what_was_told_as_the_agent_got_it_and_why(app: App, play: Play):
    rule = rules.add(app, "Use pnpm, never npm").plan.touched()[0]
    started = play.start()
    memories.pin(app, "Deploys go to the staging cluster first.", topics=("deploy",))
    told = play.say("how do deploys reach the staging cluster?")
    reminded = play.call("npm install left-pad", "ERR! 404", failed=True)
    play.replied("It is deployed.")
    play.end()
    before, turn = turns(app)
    assert [one.text for one in before.told] == [started]
    assert before.told[0].reasons[0].why == "Because it is loaded every time."
    assert told
    assert (turn.prompt, turn.told[0].text, turn.reply) == (
        "how do deploys reach the staging cluster?",
        told,
        "It is deployed.",
    )
    assert turn.told[0].tokens == -(-len(told) // 4)
    assert "`deploys`" in turn.told[0].reasons[0].why
    assert "near" in (turn.told[0].reasons[0].components or {})
    (call,) = turn.calls
    assert (call.tool, call.what, call.ended, call.problem) == (
        "Bash",
        "npm install left-pad",
        Ending.FAILURE,
        "ERR! 404",
    )
    assert ([one.text for one in call.told], call.told[0].reasons[0].id) == ([reminded], rule)
    (row,) = listing(app).sessions
    assert (row.agent, row.prompts, row.told, row.has_transcript) == ("Claude Code", 1, 2, True)
    assert row.tokens == -(-sum(map(len, (started, told, reminded))) // 4)
    text = shown(app)
    for said in (*told.splitlines(), "ERR! 404", "1 of 1 call failed.", "It said: It is deployed."):
        assert said in text


def test_what_was_heard_is_kept_or_dropped_with_the_reason_and_can_be_kept_after_all(
    app: App, play: Play
):
    play.say(f"{PNPM}. Should we always write tests first? Then fix the cart.")
    play.replied("Done.")
    play.end()
    heard = {one.words.rstrip("."): one for one in turns(app)[0].heard}
    kept, dropped = heard[PNPM], heard["Should we always write tests first?"]
    assert (kept.rule, kept.status, app.find(kept.memory)[1].group) == (
        "Use pnpm, not npm.",
        Status.ACTIVE,
        "s-1",
    )
    assert (dropped.memory, dropped.why, dropped.is_near) == ("", "it is a question", False)
    assert not heard["Then fix the cart"].is_near
    rules.add(app, dropped.rule)
    again = next(one for one in turns(app)[0].heard if one.words == dropped.words)
    assert again.status is Status.ACTIVE
    assert "Kept: rule" in shown(app)


def test_a_turn_says_where_it_was_recorded_how_it_went_and_what_helped(app: App, play: Play):
    memories.pin(app, "The cart is kept in `session.ts`.", topics=("cart",))
    play.say("where is the cart kept?")
    play.called("Read", {"file_path": "session.ts"})
    play.replied("The cart is kept in `session.ts`; I read it there.")
    play.say("no, that is not what I asked for")
    play.replied("Sorry.")
    play.say("thanks, and now add a total to the cart")
    play.replied("The total is shown below the cart in `cart.ts`.")
    play.end()
    first, second, _ = turns(app)
    assert first.ended is Ending.RE_ASK
    assert [one.kind for one in first.kept] == [Kind.THREAD]
    assert "Then you said that it was not what you had asked for." in shown(app)
    assert second.ended is None


def test_nothing_secret_is_shown(app: App, play: Play):
    play.say(f"the token is {TOKEN}, use it")
    play.call(f"curl -H 'Authorization: token {TOKEN}' x", f"401 {TOKEN}", failed=True)
    play.given(f"[recollect 01234567: x]\n- {TOKEN}\n[/recollect 01234567]")
    play.replied(f"I used {TOKEN}.")
    play.end()
    assert TOKEN not in json.dumps(encode(session(app)))
    assert TOKEN not in shown(app)


def test_a_session_is_shown_before_its_transcript_was_read(app: App, play: Play):
    play.say("the first prompt")
    assert [one.prompt for one in turns(app)] == ["the first prompt"]
    assert session(app).note == ""


def test_without_a_transcript_the_record_is_shown_and_that_is_said(app: App, play: Play):
    memories.pin(app, "Deploys go to the staging cluster first.", topics=("deploy",))
    told = play.say("how do deploys reach the staging cluster?")
    play.say(PNPM)
    play.end()
    play.path.unlink()
    found = session(app, "s-1")
    assert "transcript is gone" in found.note
    assert not found.session.has_transcript
    turn = found.turns[0]
    assert (turn.prompt, turn.told[0].text, turn.told[0].tokens) == (
        "how do deploys reach the staging cluster?", "", -(-len(told) // 4),
    )  # fmt: skip
    assert turn.told[0].reasons[0].title.startswith("Deploys go to the staging")
    assert [one.title for one in found.turns[-1].kept] == ["Use pnpm, not npm."]


def test_what_was_near_and_not_told_is_named(app: App, play: Play):
    memories.pin(app, "Deploys go to the staging cluster first.", topics=("deploy",))
    play.say("how do deploys reach the staging cluster?")
    play.say("and how do deploys reach the staging cluster again?")
    play.end()
    (nothing,) = turns(app)[-1].told
    assert (nothing.text, nothing.reasons) == ("", ())
    assert "this session had already seen it" in nothing.left_out
    assert "Nothing was told." in shown(app)


def test_a_long_session_is_shown_in_parts(app: App, play: Play):
    for number in range(1, 26):
        play.line("user", f"prompt {number}")
        for call in range(40):
            play.ran(f"make {call}", "no", failed=call == 39)
        play.replied("ok")
    play.end()
    found = session(app)
    assert ([one.number for one in found.turns], found.all_turns) == (list(range(16, 26)), 25)
    part = session(app, turn=3, limit=2)
    assert [(one.number, one.prompt) for one in part.turns] == [(3, "prompt 3"), (4, "prompt 4")]
    assert (len(part.turns[0].calls), part.turns[0].all_calls, part.turns[0].failed_calls) == (
        20,
        40,
        1,
    )
    assert part.turns[0].calls[-1].ended is Ending.FAILURE
    assert "Turns 3 to 4 of 25" in shown(app, turn=3, limit=2)
    for wrong in ({"turn": 26}, {"turn": 0}, {"limit": 0}):
        with pytest.raises(BadInput):
            turns(app, "s-1", **wrong)


def test_a_page_may_begin_with_a_prompt_that_waited_in_the_queue(app: App, play: Play):
    play.line("user", "first")
    play.line("queue-operation", "", operation="enqueue", content="second, typed meanwhile")
    play.ran("make", "ok")
    play.line("queue-operation", "", operation="remove")
    play.replied("ok")
    play.end()
    assert [one.prompt for one in turns(app, turn=2)] == ["second, typed meanwhile"]


def test_sessions_are_listed_newest_first_without_those_in_which_nobody_spoke(
    app: App, tmp_path: Path
):
    for number in range(5):
        one = Play(app, tmp_path, f"s-{number}")
        one.start()
        if number:
            one.say(f"prompt {number}")
            one.end()
    found = listing(app, limit=2, offset=1)
    assert ([one.id for one in found.sessions], found.total) == (["s-3", "s-2"], 4)
    assert session(app).session.id == "s-4"
    assert session(app, "s-2").session.id == "s-2"
    with pytest.raises(BadInput, match="4 sessions begin with 's-'"):
        session(app, "s-")
    for unknown in ("s-0", "nonsense"):
        with pytest.raises(NotFound):
            session(app, unknown)
    with pytest.raises(BadInput):
        listing(app, offset=-1)


def test_an_imported_session_is_listed_until_its_import_is_undone(
    app: App, play: Play, tmp_path: Path
):
    play.line("user", PNPM)
    play.ran("pnpm i", "ok")
    play.line("user", "and now the cart")
    play.replied("Done.")
    done = past_sessions.import_past(app, str(play.path))
    (row,) = listing(app).sessions
    assert (row.id, row.prompts, row.kept > 0, row.began.micros - NOW.micros) == ("s-1", 2, True, 0)
    assert [one.prompt for one in turns(app)] == [PNPM, "and now the cart"]
    read: Any = done.facts["projects"]
    memories.undo(app, read[0]["changes"]["project"])
    assert listing(app).sessions == ()


def test_nothing_is_known_of_sessions_in_a_new_place(app: App):
    assert listing(app).sessions == ()
    with pytest.raises(NotFound, match="No session is known here yet"):
        session(app)
    assert app.store_path(Scope.PROJECT) is None


def test_a_rule_is_shown_in_the_prompt_it_was_said_in_as_long_as_that_is_there(
    app: App, play: Play
):
    around = "Der Warenkorb ist leider noch immer viel zu langsam und zu gro\u00df geworden " * 5
    play.say(f"{around}.\nbei uns\nTabs, nicht Spaces. {around}")
    play.end()
    (card,) = rules.list_inbox(app).cards
    quote = card.context
    assert quote is not None
    assert "bei uns\nTabs, nicht Spaces" in quote.text[quote.start : quote.end]
    assert (quote.text[0], quote.text[-1], len(quote.text) <= 610) == ("\u2026", "\u2026", True)
    assert memories.show(app, card.memory.id).card.context == quote
    play.path.unlink()
    (card,) = rules.list_inbox(app).cards
    assert card.context is None
    assert 'From your words: "' in "\n".join(
        one.text
        for one in blocks(memories.show(app, card.memory.id), now=NOW)
        if isinstance(one, Line)
    )
