"""Does memory remember itself? Turns in which the agent, asked what is remembered, repeats what it was shown (word for
word, as a list, cut short, in bold, several at once, with the usual phrases around it), and turns in which the person
pastes it, must leave no new memory or message. Turns that quote and then say something new must be kept.

The fence and the fingerprints of lines that hooks put in are left out here, so that the words alone have to be known.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import threads as scripts
from bench.corpus import Corpus
from bench.report import Report, share
from recollect.app.core import App
from recollect.base.moment import Moment
from recollect.jobs import transcripts
from recollect.jobs.transcript_reader import clean
from recollect.model.memory import Memory, Rule, Thread
from recollect.model.plan import Create, Plan
from recollect.model.session import Act, Session, SessionPart, ShownMemory, Speaker, Way
from recollect.render import inject
from recollect.store import Progress

TURNS = 1_000
NEW = 100
_BEGIN = Moment.parse("2026-03-02T09:00:00Z")
_ASKED = (
    "what do you remember about {0}?", "remind me what we said about {0}", "did we decide anything on {0}?",
    "what's in memory for {0}", "{0}: what do you know?", "before we start, recap {0} please",
    "show me the memories you loaded", "what did we do last time?",
)  # fmt: skip
_AFTER = (
    "",
    "Let me know if you want more.",
    "Shall I go on with that?",
    "That is all I have on it.",
)
_NEWS_WORDS = 25


@dataclass(frozen=True, slots=True)
class EchoReport(Report):
    turns: int
    memories: int
    new_memories: int
    new_messages: int
    said_new: int
    said_new_kept: float
    """Of turns that quote and go on to say something new."""

    @property
    def passed(self) -> bool:
        return self.new_memories == 0 and self.new_messages == 0


def run_echo(folder: Path, *, turns: int = TURNS, seed: int = 1, progress: Progress) -> EchoReport:
    chance = random.Random(seed)
    app = scripts.an_app(folder, None)
    try:
        known = _remembered(app)
        before = _counted(app)
        for number in range(turns):
            shown = chance.sample(known, chance.randint(1, 4))
            asked, reply = _turn(shown, chance)
            _live(app, f"echo-{number // 8}", number, shown, asked, reply)
            progress(number + 1, turns + NEW)
        after = _counted(app)
        kept, corpus = 0, Corpus(seed)
        for number in range(NEW):
            shown = chance.sample(known, 2)
            standing = _counted(app)
            news = f"Beyond that: {corpus.text(_NEWS_WORDS)}"
            _live(
                app, f"new-{number}", turns + number, shown, f"fix the remaining fault in {_subject(shown[0])}",
                f"{shown[0].body} {news}",
            )  # fmt: skip
            kept += _counted(app)[1] > standing[1]
            progress(turns + number + 1, turns + NEW)
    finally:
        app.close()
    return EchoReport(
        turns=turns,
        memories=len(known),
        new_memories=after[0] - before[0],
        new_messages=after[1] - before[1],
        said_new=NEW,
        said_new_kept=share(kept, NEW),
    )


def _remembered(app: App) -> list[Memory]:
    """Threads and rules in the words of the scripted sessions."""
    known: list[Memory] = []
    for session in scripts.read(scripts.SHIPPED):
        for turn in session.turns:
            said = next((one["say"] for one in reversed(turn.acts) if "say" in one), "")
            if turn.topic == scripts.NONE or len(said) < 60:
                continue
            kind: type[Memory] = Rule if len(known) % 3 == 2 else Thread
            at = _BEGIN.plus(days=-3)
            known.append(
                kind(
                    id=app.mint.draw(str(kind.kind)), title=turn.topic.replace("-", " "), body=said,
                    topics=tuple(turn.topic.split("-")), origin="bench", group="told",
                    created_at=at, reinforced_at=at, last_active_at=at,
                )
            )  # fmt: skip
    app.commit(app.scope, "bench", lambda _: Plan(tuple(map(Create, known))), lambda _: "Kept.")
    return known


def _live(
    app: App, session: str, number: int, shown: Sequence[Memory], asked: str, reply: str
) -> None:
    at = _BEGIN.plus(seconds=60 * number)
    store = app.writer(app.scope)
    store.put(Session(id=session, host="bench", started_at=_BEGIN, last_at=at))
    store.put(*(ShownMemory(memory.id, Way.TOLD, at, session=session) for memory in shown))
    said = (
        Act(id=f"{session}-{number}-p", at=at, speaker=Speaker.PERSON, text=clean(app, asked)),
        Act(
            id=f"{session}-{number}-r",
            at=at.plus(seconds=5),
            speaker=Speaker.AGENT,
            text=clean(app, reply),
        ),
    )
    sitting = SessionPart(host="bench", session=session, acts=said)
    scripts.told(app, sitting)
    write = transcripts.capture_late_prompts(app, sitting)
    if write is not None:
        write()


def _turn(shown: Sequence[Memory], chance: random.Random) -> tuple[str, str]:
    asked = chance.choice(_ASKED).format(_subject(shown[0]))
    if chance.random() < 0.1:  # the person pastes what was injected
        asked = f"{asked}\n{_block(shown)}"
    quote = chance.choice(_QUOTES)(shown, chance)
    return asked, f"{quote}\n{chance.choice(_AFTER)}".strip()


def _subject(memory: Memory) -> str:
    return memory.title


def _block(shown: Sequence[Memory]) -> str:
    """The lines of an injection without its fence."""
    rules = [memory for memory in shown if isinstance(memory, Rule)]
    threads = [memory for memory in shown if not isinstance(memory, Rule)]
    page = inject.session_start(rules, threads=threads, nonce="12345678", now=_BEGIN).text
    return "\n".join(page.splitlines()[1:-1])


def _word_for_word(shown: Sequence[Memory], _: random.Random) -> str:
    return shown[0].body


def _introduced(shown: Sequence[Memory], _: random.Random) -> str:
    return f"From memory: {shown[0].body}"


def _listed(shown: Sequence[Memory], _: random.Random) -> str:
    return "I remember this:\n" + "\n".join(f"- {memory.title}: {memory.body}" for memory in shown)


def _numbered(shown: Sequence[Memory], _: random.Random) -> str:
    return "\n".join(
        f"{n}. **{memory.title}** {memory.body}" for n, memory in enumerate(shown, start=1)
    )


def _cut(shown: Sequence[Memory], chance: random.Random) -> str:
    words = shown[0].body.split()
    start = chance.randint(0, max(0, len(words) // 3))
    return "… " + " ".join(words[start : start + max(8, len(words) // 2)]) + " …"


def _quoted(shown: Sequence[Memory], _: random.Random) -> str:
    return "Last time we noted:\n" + "\n".join(f"> {memory.body}" for memory in shown)


def _in_lower_case(shown: Sequence[Memory], _: random.Random) -> str:
    return f"yes: {shown[0].body.lower()}"


def _as_injected(shown: Sequence[Memory], _: random.Random) -> str:
    return f"These were loaded:\n{_block(shown)}"


_QUOTES: tuple[Callable[[Sequence[Memory], random.Random], str], ...] = (
    _word_for_word, _introduced, _listed, _numbered, _cut, _quoted, _in_lower_case, _as_injected,
)  # fmt: skip


def _counted(app: App) -> tuple[int, int]:
    counts = app.writer(app.scope).counts()
    return sum(number for _, _, number in counts.by_kind_and_status), counts.messages
