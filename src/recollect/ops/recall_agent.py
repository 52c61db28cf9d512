"""recall-agent: a language model chooses what a prompt should bring up. Switched on by two settings, and then the hook
of a prompt waits for it; whenever it fails, ordinary recall is used.

Loads pointers, lets `recall` make the questions, has them asked, and reads the chosen memories again: while the model
thought, memory went on.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from typing import Annotated

from recollect.app import language_model
from recollect.app.core import App
from recollect.app.memory_search import search
from recollect.app.question_vector import shorten_prompt
from recollect.base.errors import BadInput
from recollect.base.text import one_line, storable
from recollect.lifecycle.strength import status_at, strength
from recollect.model.ask import Use
from recollect.model.memory import Kind, Memory, Note
from recollect.model.query import REACHED, Drop, Hit, Query
from recollect.model.result import Found, Recollection, Scope, Summary
from recollect.ops.table import Arg
from recollect.recall import model_choice
from recollect.recall.model_choice import Pass, Pointer
from recollect.recall.priority import is_quiet
from recollect.render.harmless import neutral, plain
from recollect.store.words import STOP_WORDS
from recollect.vault import layout

MAX_OFFERED = 400
BEST = 60  # found by ordinary recall: they are offered first, so that they are there however much is remembered
MAX_LOADED = 5_000
PASS_NEEDS_S = 3.0  # with less time left there is no second pass: no model answers sooner
END_NEEDS_S = 0.5
_TITLE_CHARS, _LINE_CHARS = 160, 120
_MAX_MESSAGES = 20


@dataclass(frozen=True, slots=True)
class Scheme:
    """What the settings say."""

    double: bool
    passes: tuple[Pass, Pass]
    by_keywords: bool
    in_content: bool
    seconds: float


@dataclass(frozen=True, slots=True)
class Choice:
    """By id, in the order of the last answer."""

    chosen: tuple[str, ...]
    first: tuple[str, ...]
    offered: tuple[str, ...]
    how: str
    passes: int = 1


def read_scheme(app: App) -> Scheme:
    settings = app.settings
    templates, models = settings.pair("MEMORY_RECALL_PROMPTS"), settings.pair("MEMORY_RECALL_MODELS")
    return Scheme(
        double=settings.text("MEMORY_RECALL_SCHEME") == "double",
        passes=(Pass(templates[0], models[0]), Pass(templates[1], models[1])),
        by_keywords=settings.switch("MEMORY_RECALL_PRESEARCH"),
        in_content=settings.switch("MEMORY_RECALL_PRESEARCH_CONTENT"),
        seconds=settings.count("MEMORY_RECALL_SECONDS"),
    )


def recall_agent(
    app: App,
    prompt: Annotated[str, Arg("The prompt; standard input where none is given.", metavar="[TEXT]", stdin=True)] = "-",
) -> Summary:
    """Names, one per line. Nothing is counted as shown."""
    text = storable(prompt).strip()
    if not text:
        raise BadInput("There is nothing to look for: the prompt is empty.", hint="echo WORDS | recollect recall-agent")
    if not language_model.is_on(app, Use.RECALL_BROAD):
        raise BadInput(
            "No language model chooses memories here.",
            hint="Set MEMORY_LLM and MEMORY_RECALL_SCHEME=double in agent.conf; see docs/LLM.md.",
        )
    scheme = read_scheme(app)
    among = load_pointers(app, text, scheme, frozenset())
    choice = choose_among(app, text, among, scheme, time.monotonic() + scheme.seconds)
    if choice is None:
        raise BadInput("The model gave no answer that could be used.", hint="`recollect logs` says why.")
    names = {pointer.id: pointer.name for pointer in among}
    chosen = [names[id] for id in choice.chosen]
    return Summary("\n".join(chosen), {"names": [*chosen], "how": choice.how})


# What it chooses among


def load_pointers(app: App, text: str, scheme: Scheme, seen: Set[str]) -> tuple[Pointer, ...]:
    """The nearest first; then notes, rules and threads, the latest first. As many as one question holds."""
    found: dict[str, Memory] = {}
    for memory in _memories(app, text):
        if memory.id not in seen and memory.id not in found and _may_be_shown(memory):
            found[memory.id] = memory
    paths = Counter(memory.path for memory in found.values() if isinstance(memory, Note))
    ambiguous = {path for path, count in paths.items() if count > 1}
    pointers: Sequence[Pointer] = [make_pointer(memory, ambiguous) for memory in found.values()]
    if scheme.by_keywords:
        stop_words = frozenset(STOP_WORDS)
        pointers = model_choice.filter_by_keywords(text, pointers, stop_words=stop_words, in_content=scheme.in_content)
    return model_choice.limit_to_room(pointers[:MAX_OFFERED])


def _memories(app: App, text: str) -> Iterator[Memory]:
    if any(char.isalnum() for char in text):
        query = Query(text=shorten_prompt(text), statuses=REACHED, limit=BEST, once=True, unasked=True)
        yield from (one.hit.memory for one in search(app, query).found)
    for kind in (Kind.NOTE, Kind.RULE, Kind.THREAD):
        for _, store in app.scopes():
            yield from store.find(Query(kinds=(kind,), statuses=REACHED, limit=MAX_LOADED))


def _may_be_shown(memory: Memory) -> bool:
    if isinstance(memory, Note) and layout.is_always_loaded(memory.path):
        return False
    return memory.status in REACHED and not is_quiet(memory)


def make_pointer(memory: Memory, ambiguous: Set[str] = frozenset()) -> Pointer:
    """`ambiguous`: paths that name more than one note."""
    note = memory if isinstance(memory, Note) else None
    title, text = plain(memory.title, _TITLE_CHARS), plain(memory.body, _LINE_CHARS)
    about = text if text.startswith(title.rstrip("…")) else f"{title} - {text}" if text else title
    return Pointer(
        id=memory.id,
        name=plain(note.path, _TITLE_CHARS) if note and note.path and note.path not in ambiguous else memory.id,
        description=about,
        words=tuple(one_line(neutral(word)) for word in memory.topics) if note else (),
        content=neutral(memory.body),
    )


# The passes


def choose_among(app: App, text: str, among: Sequence[Pointer], scheme: Scheme, until_s: float) -> Choice | None:
    """None: no usable answer came, or not in time. Nothing to choose from costs no call."""
    offered = tuple(pointer.id for pointer in among)
    word = "double" if scheme.double else "single"
    how = f"a language model ({word}), of {len(among)}{' that share a keyword' if scheme.by_keywords else ''}"
    if not among:
        return Choice((), (), (), how)
    prompt = neutral(shorten_prompt(text))
    question = model_choice.broad_question(prompt, among, scheme.passes[0], seconds=_model_seconds(until_s))
    first: tuple[str, ...] | None = language_model.ask(app, question, among)
    if first is None:
        return None
    if not scheme.double or not first:
        return Choice(first, first, offered, how)
    if _model_seconds(until_s) < PASS_NEEDS_S:
        return Choice(first, first, offered, f"{how}; no time for pass 2")
    candidates = [_with_content(app, pointer) for id in first for pointer in among if pointer.id == id]
    question = model_choice.strict_question(prompt, candidates, scheme.passes[1], seconds=_model_seconds(until_s))
    kept: tuple[str, ...] | None = language_model.ask(app, question, candidates)
    if kept is None:
        return Choice(first, first, offered, f"{how}; pass 2 gave no answer")
    return Choice(kept, first, offered, how, passes=2)


def _model_seconds(until_s: float) -> float:
    """What a model may take: a program that does not end has to be ended, and then there is an answer to write."""
    left_s = until_s - time.monotonic()
    return max(left_s - min(END_NEEDS_S, left_s / 5), 0.1)


def _with_content(app: App, pointer: Pointer) -> Pointer:
    """The content of a thread without a body is its messages."""
    if pointer.content:
        return pointer
    messages = [message for _, store in app.scopes() for message in store.messages(pointer.id)][-_MAX_MESSAGES:]
    return replace(pointer, content=neutral("\n".join(message.content for message in messages)))


# What becomes of it


def choose_instead(app: App, text: str, ordinary: Found | None, seen: Set[str], until_s: float) -> Found | None:
    """What is shown in place of what ordinary recall found. None: that is shown."""
    began_s = time.monotonic()
    scheme = read_scheme(app)
    choice = choose_among(app, text, load_pointers(app, text, scheme, seen), scheme, until_s)
    if choice is None:
        return None
    found = read_choice(app, text, choice, ordinary, seen=seen, limit=app.settings.count("MEMORY_PROMPT_HITS"))
    return replace(found, ms=(time.monotonic() - began_s) * 1_000)


def read_choice(app: App, text: str, choice: Choice, ordinary: Found | None, *, seen: Set[str], limit: int) -> Found:
    """The chosen memories that are still there, in the shape of every recall: which pass chose or dropped what."""
    known = {one.hit.memory.id: one for one in ordinary.found} if ordinary else {}
    kept: list[Recollection] = []
    drops: list[Drop] = []
    for id in choice.chosen:
        current = _read_again(app, id)
        if current is None or id in seen:
            drops.append(Drop(id, "shown before" if current else "no longer there"))
        elif len(kept) == limit:
            drops.append(Drop(id, "beyond the limit"))
        else:
            kept.append(_recollection(app, *current, known.get(id), choice.passes))
    drops += [Drop(id, "dropped by pass 2") for id in choice.first if id not in choice.chosen]
    for id in (id for id in known if id not in choice.first):
        drops.append(Drop(id, "not chosen by pass 1" if id in choice.offered else "not offered to the model"))
    return Found(app.mint.draw("recall"), text, app.clock.now(), tuple(kept), tuple(drops), choice.how)


def _read_again(app: App, id: str) -> tuple[Scope, Memory] | None:
    for scope, store in app.scopes():
        memory = store.exact(id)
        if memory is not None:
            aged = replace(memory, status=status_at(memory, now=app.clock.now(), rules=app.age_rules))
            return (scope, aged) if memory.status in REACHED else None
    return None


def _recollection(app: App, scope: Scope, memory: Memory, known: Recollection | None, passes: int) -> Recollection:
    chosen = tuple((f"pass {number}", 1.0) for number in range(1, passes + 1))
    hit = known.hit if known else Hit(memory, 1.0, ())
    force = strength(memory, now=app.clock.now(), rules=app.age_rules)
    return Recollection(scope, replace(hit, memory=memory, score=1.0, components=(*chosen, *hit.components)), force)
