"""recall-agent: a language model chooses what a prompt should bring to mind. Switched on by two settings, and then the
hook of a prompt waits for it; whenever it fails, ordinary recall stands.

Loads pointers, lets `recall` make the questions, has them asked, and looks again at what was chosen: while a model
thought about it, memory went on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Annotated

from recollect.base.errors import BadInput
from recollect.base.text import one_line, storable
from recollect.lifecycle.strength import status_at, strength
from recollect.model.memory import Kind, Memory, Note
from recollect.model.query import REACHED, Drop, Hit, Query
from recollect.model.result import Found, Recollection, Scope, Told
from recollect.ops import asks, briefs, noted, recalls
from recollect.ops.app import App
from recollect.ops.haste import shortened
from recollect.ops.table import Arg
from recollect.recall import choose, presearch
from recollect.recall.choose import Pass
from recollect.recall.pointer import Pointer
from recollect.recall.weigh import is_quiet
from recollect.render.harmless import neutral, plain
from recollect.store.words import STOP_WORDS

MOST_OFFERED = 400
BEST = 60
"""Found by ordinary recall: they are offered first, so that they are there however much is remembered."""
MOST_LOOKED_AT = 5_000
PASS_NEEDS_S = 3.0
"""With less time left there is no second pass: no model answers sooner."""
END_NEEDS_S = 0.5
NO_ROOM = "beyond the limit"
_TITLE_CHARS, _LINE_CHARS = 160, 120
_MESSAGES = 20
STOP = frozenset(STOP_WORDS)


@dataclass(frozen=True, slots=True)
class Scheme:
    """What the settings say."""

    double: bool
    passes: tuple[Pass, Pass]
    presearch: bool
    in_content: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Choice:
    """By id, in the order of what was chosen last."""

    chosen: tuple[str, ...]
    first: tuple[str, ...]
    offered: tuple[str, ...]
    how: str
    passes: int = 1


def scheme(app: App) -> Scheme:
    settings = app.settings
    models, templates = settings.pair("MEMORY_RECALL_MODELS"), settings.pair("MEMORY_RECALL_PROMPTS")
    return Scheme(
        double=settings.text("MEMORY_RECALL_SCHEME") == "double",
        passes=(Pass(templates[0], models[0]), Pass(templates[1], models[1])),
        presearch=settings.switch("MEMORY_RECALL_PRESEARCH"),
        in_content=settings.switch("MEMORY_RECALL_PRESEARCH_CONTENT"),
        seconds=settings.count("MEMORY_RECALL_SECONDS"),
    )


def recall_agent(
    app: App,
    prompt: Annotated[str, Arg("The prompt; standard input where none is given.", metavar="[TEXT]", stdin=True)] = "-",
) -> Told:
    """Names, one a line. Nothing is counted as shown."""
    text = storable(prompt).strip()
    if not text:
        raise BadInput("There is nothing to look for: the prompt is empty.", hint="echo WORDS | recollect recall-agent")
    if not briefs.waits_for_a_model(app):
        raise BadInput(
            "No language model chooses memories here.",
            hint="Set MEMORY_LLM and MEMORY_RECALL_SCHEME=double in agent.conf; see docs/LLM.md.",
        )
    asked = scheme(app)
    among = pointers(app, text, asked, frozenset())
    choice = choose_among(app, text, among, asked, time.monotonic() + asked.seconds)
    names = {pointer.id: pointer.name for pointer in among}
    if choice is None:
        raise BadInput("The model gave no answer that could be used.", hint="`recollect logs` says why.")
    chosen = [names[id] for id in choice.chosen]
    return Told("\n".join(chosen), {"names": list(chosen), "how": choice.how})


# What it chooses among


def pointers(app: App, text: str, asked: Scheme, seen: Set[str]) -> tuple[Pointer, ...]:
    """The nearest first; then notes, rules and threads, the latest first. As many as one question holds."""
    found: dict[str, Memory] = {}
    for memory in _memories(app, text):
        if memory.id not in seen and memory.id not in found and _may_surface(memory):
            found[memory.id] = memory
    paths = [memory.path for memory in found.values() if isinstance(memory, Note)]
    twice = {path for path in paths if paths.count(path) > 1} if len(paths) != len(set(paths)) else set()
    every = [pointer_of(memory, twice) for memory in found.values()]
    if asked.presearch:
        every = list(presearch.presearched(text, every, stop=STOP, in_content=asked.in_content))
    return choose.offered(every[:MOST_OFFERED])


def _memories(app: App, text: str) -> Iterator[Memory]:
    if any(char.isalnum() for char in text):
        query = Query(text=shortened(text), statuses=REACHED, limit=BEST, once=True, unasked=True)
        yield from (one.hit.memory for one in recalls.answered(app, query).found)
    for kind in (Kind.NOTE, Kind.RULE, Kind.THREAD):
        for _, store in app.scopes():
            yield from store.find(Query(kinds=(kind,), statuses=REACHED, limit=MOST_LOOKED_AT))


def _may_surface(memory: Memory) -> bool:
    if isinstance(memory, Note) and noted.is_always_loaded(memory.path):
        return False
    return memory.status in REACHED and not is_quiet(memory)


def pointer_of(memory: Memory, twice: Set[str] = frozenset()) -> Pointer:
    """`twice` are paths that do not name one note alone."""
    is_named = isinstance(memory, Note) and memory.path and memory.path not in twice
    title, said = plain(memory.title, _TITLE_CHARS), plain(memory.body, _LINE_CHARS)
    begins = title.rstrip("…")
    about = said if said.startswith(begins) else f"{title} - {said}" if said else title
    return Pointer(
        id=memory.id,
        name=plain(memory.path, _TITLE_CHARS) if is_named and isinstance(memory, Note) else memory.id,
        description=about,
        words=tuple(one_line(neutral(word)) for word in memory.topics) if isinstance(memory, Note) else (),
        content=neutral(memory.body),
    )


# The passes


def choose_among(app: App, text: str, among: Sequence[Pointer], asked: Scheme, until_s: float) -> Choice | None:
    """None: no usable answer came, or not in time. Nothing to choose from costs no call."""
    offered = tuple(pointer.id for pointer in among)
    word = "double" if asked.double else "single"
    how = f"a language model ({word}), of {len(among)}{' that share a keyword' if asked.presearch else ''}"
    if not among:
        return Choice((), (), (), how)
    prompt = neutral(shortened(text))
    answer = asks.ask(app, choose.broad(prompt, among, asked.passes[0], seconds=_left(until_s)))
    first = choose.read_answer(answer, among) if answer is not None else None
    if first is None:
        return None
    if not asked.double or not first:
        return Choice(first, first, offered, how)
    if _left(until_s) < PASS_NEEDS_S:
        return Choice(first, first, offered, f"{how}; no time for pass 2")
    candidates = [_whole(app, pointer) for id in first for pointer in among if pointer.id == id]
    answer = asks.ask(app, choose.strict(prompt, candidates, asked.passes[1], seconds=_left(until_s)))
    kept = choose.read_answer(answer, candidates) if answer is not None else None
    if kept is None:
        return Choice(first, first, offered, f"{how}; pass 2 gave no answer")
    return Choice(kept, first, offered, how, passes=2)


def _left(until_s: float) -> float:
    """What a model may take: a program that does not end has to be ended, and then there is an answer to write."""
    left_s = until_s - time.monotonic()
    return max(left_s - min(END_NEEDS_S, left_s / 5), 0.1)


def _whole(app: App, pointer: Pointer) -> Pointer:
    """A thread whose body says nothing is what was said in it."""
    if pointer.content:
        return pointer
    said = [message for _, store in app.scopes() for message in store.messages(pointer.id)][-_MESSAGES:]
    return replace(pointer, content=neutral("\n".join(message.content for message in said)))


# What becomes of it


def instead(app: App, text: str, ordinary: Found | None, seen: Set[str], until_s: float) -> Found | None:
    """What is shown in place of what ordinary recall found. None: that stands."""
    asked = scheme(app)
    began_s = time.monotonic()
    choice = choose_among(app, text, pointers(app, text, asked, seen), asked, until_s)
    if choice is None:
        return None
    answer = found(app, text, choice, ordinary, seen=seen, limit=app.settings.count("MEMORY_PROMPT_HITS"))
    return replace(answer, ms=(time.monotonic() - began_s) * 1_000)


def found(app: App, text: str, choice: Choice, ordinary: Found | None, *, seen: Set[str], limit: int) -> Found:
    """What was chosen, as far as it is still there, in the shape of every recall: which pass chose or dropped what."""
    known = {one.hit.memory.id: one for one in ordinary.found} if ordinary else {}
    kept: list[Recollection] = []
    drops: list[Drop] = []
    for id in choice.chosen:
        standing = _standing(app, id)
        if standing is None or id in seen:
            drops.append(Drop(id, "shown before" if standing else "no longer there"))
        elif len(kept) == limit:
            drops.append(Drop(id, NO_ROOM))
        else:
            kept.append(_recollection(app, *standing, known.get(id), choice.passes))
    drops += [Drop(id, "dropped by pass 2") for id in choice.first if id not in choice.chosen]
    drops += [Drop(id, _why_not(id, choice)) for id in known if id not in choice.first]
    at = app.clock.now()
    return Found(app.mint.draw("recall"), text, at, tuple(kept), tuple(drops), choice.how)


def _standing(app: App, id: str) -> tuple[Scope, Memory] | None:
    for scope, store in app.scopes():
        memory = store.exact(id)
        if memory is not None:
            aged = replace(memory, status=status_at(memory, now=app.clock.now(), rules=app.age_rules))
            return (scope, aged) if memory.status in REACHED else None
    return None


def _recollection(app: App, scope: Scope, memory: Memory, known: Recollection | None, passes: int) -> Recollection:
    chosen = tuple((f"pass {number}", 1.0) for number in range(1, passes + 1))
    by_engine = known.hit.components if known else ()
    force = strength(memory, now=app.clock.now(), rules=app.age_rules)
    hit = known.hit if known else Hit(memory, 1.0, ())
    return Recollection(scope, replace(hit, memory=memory, score=1.0, components=(*chosen, *by_engine)), force)


def _why_not(id: str, choice: Choice) -> str:
    return "not chosen by pass 1" if id in choice.offered else "not offered to the model"
