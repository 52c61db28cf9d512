"""Laws of taking work in: whatever is done, in whatever order, however it is cut into looks."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.app.core import App
from recollect.app.states import CAPTURED
from recollect.base import project as projects
from recollect.base.clock import FixedClock
from recollect.base.paths import Home
from recollect.base.settings import load
from recollect.capture.turns import message_id, split_turns
from recollect.jobs import turn_threads
from recollect.model.memory import Memory, Message
from recollect.model.session import Act, SessionPart, Speaker, ToolAction, ToolUse
from recollect.ops import memories
from tests.values import MINT, NOW

TEXTS = (
    "fix the tax of Quebec", "yes do that", "thanks", "unrelated: the search index misses umlauts", "and shipping?",
    "The tax table has two rates now.", "Search finds umlauts without marks now.", "", "hi", "日本語の検索を直して",
)  # fmt: skip
FILES = ("services/tax.py", "search/index.ts", "README.md")
COMMANDS = ("pytest -q", "ls", "git push", "make reindex")

spoken = st.builds(
    lambda text, who: (who, text), st.sampled_from(TEXTS), st.sampled_from([Speaker.PERSON, Speaker.AGENT])
)
calls = st.builds(
    lambda action, file, command, failed: ToolUse(action, "tool", command if action is ToolAction.RUN else "", (file,)),
    st.sampled_from(ToolAction), st.sampled_from(FILES), st.sampled_from(COMMANDS), st.booleans(),
)  # fmt: skip
done = st.lists(st.one_of(spoken, st.tuples(st.just(Speaker.TOOL), calls, st.booleans())), max_size=14)


def acts(session: str, what: list[tuple[object, ...]]) -> list[Act]:
    found = []
    for number, one in enumerate(what):
        at, id = NOW.plus(seconds=number * 40), f"{session}-{number}"
        match one:
            case (Speaker.TOOL, ToolUse() as use, bool() as failed):
                found.append(Act(id=id, at=at, speaker=Speaker.TOOL, text="error: no", use=use, failed=failed))
            case (Speaker() as who, str() as text):
                found.append(Act(id=id, at=at, speaker=who, text=text))
            case _:
                raise AssertionError(one)
    return found


class House:
    """A store of its own, without a model: what is decided does not matter here, only that nothing is lost."""

    def __init__(self, folder: str) -> None:
        work = Path(folder) / "work"
        (work / ".git").mkdir(parents=True)
        settings_here = load(None, None, {"MEMORY_EMBEDDING_MODEL": "/nowhere"})
        self.app = App(
            home=Home(Path(folder) / "home"), project=projects.find(work, Path(folder)), settings=settings_here,
            clock=FixedClock(NOW.plus(days=1)),
        )  # fmt: skip
        self.app.mint = MINT

    def live(self, session: str, done: list[Act], cuts: list[int]) -> None:
        """In several looks; at the end the session is over."""
        ends = sorted({min(cut, len(done)) for cut in cuts} | {len(done)})
        begin = 0
        for end in ends:
            self.look(session, done[:end], begin, ended=end == len(done))
            begin = end

    def look(self, session: str, done: list[Act], new_from: int, *, ended: bool) -> None:
        sitting = SessionPart(host="x", session=session, acts=tuple(done), new_from=new_from, ended=ended)
        write = turn_threads.record_turns(self.app, sitting)
        with self.app.writer(self.app.scope).transaction():
            if write is not None:
                write()

    def everything(self) -> list[tuple[Memory, tuple[Message, ...]]]:
        return list(self.app.reader(self.app.scope).each())


looks = st.lists(st.integers(1, 14), max_size=4)


@settings(max_examples=40)
@given(first=done, second=done, cuts=looks)
def test_every_turn_is_in_exactly_one_thread_or_counted(
    first: list[tuple[object, ...]], second: list[tuple[object, ...]], cuts: list[int]
):
    with tempfile.TemporaryDirectory() as folder:
        house = House(folder)
        told = {name: acts(name, what) for name, what in (("s-1", first), ("s-2", second))}
        for name, what in told.items():
            house.live(name, what, cuts)

        kept = [message for _, said in house.everything() for message in said]
        assert len({message.id for message in kept}) == len(kept)
        assert {message.id for message in kept} <= {message_id(act) for what in told.values() for act in what}
        counts = CAPTURED.read(house.app.reader(house.app.scope))
        counted = sum(n for reason, n in counts.items() if reason.startswith("threads: "))
        assert len(kept) + counted >= sum(len(list(split_turns(what, 0, finished=True))) for what in told.values())
        assert all(said for _, said in house.everything()), "a thread of nothing"
        assert house.app.reader(house.app.scope).verify() == []
        house.app.close()


@settings(max_examples=25)
@given(what=done, cuts=looks)
@example(  # the first was too little to open a thread, and leans on the one that came after it
    what=[
        (Speaker.PERSON, "and shipping?"),
        (Speaker.PERSON, "fix the tax of Quebec"),
        (Speaker.AGENT, "and shipping?"),
    ],
    cuts=[],
)
@example(  # the last names what the thread of the same look is about: its words are found in it already
    what=[
        (Speaker.AGENT, "unrelated: the search index misses umlauts"),
        (Speaker.TOOL, ToolUse(ToolAction.RUN, "tool", "pytest -q", ()), True),
        (Speaker.PERSON, "unrelated: the search index misses umlauts"),
    ],
    cuts=[],
)
def test_taken_twice_is_taken_once_and_undoing_everything_leaves_nothing(
    what: list[tuple[object, ...]], cuts: list[int]
):
    with tempfile.TemporaryDirectory() as folder:
        house = House(folder)
        told = acts("s-1", what)
        house.live("s-1", told, cuts)
        once = house.everything()

        house.look("s-1", told, 0, ended=True)

        assert house.everything() == once

        for entry in house.app.reader(house.app.scope).log(limit=1_000):
            memories.undo(house.app, entry.change)
        assert house.everything() == []
        assert house.app.reader(house.app.scope).verify() == []
        house.app.close()
