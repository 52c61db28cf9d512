"""recall-agent: a language model chooses what a prompt should bring up. Switched on by two settings, and then the hook
of a prompt waits for it; whenever it fails, ordinary recall is used."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from typing import Annotated, NamedTuple

from recollect.app import language_model
from recollect.app.core import App
from recollect.app.memory_search import search
from recollect.app.question_vector import shorten_prompt
from recollect.base.errors import BadInput
from recollect.base.text import one_line, storable
from recollect.lifecycle.strength import apply_age, strength
from recollect.model.ask import Use
from recollect.model.memory import Kind, Memory, Note
from recollect.model.query import REACHED, Drop, Hit, Query
from recollect.model.result import Found, Recollection, Scope, Summary
from recollect.ops.table import Arg
from recollect.recall import model_choice
from recollect.recall.model_choice import CandidateLine
from recollect.recall.priority import is_muted
from recollect.render.harmless import neutral, plain
from recollect.store.search import STOP_WORDS
from recollect.vault import page

BEST = 60  # found by ordinary recall: they are offered first, so that they are there however much is remembered
MAX_LOADED = 5_000
PASS_NEEDS_S = 3.0  # with less time left there is no second pass: no model answers sooner
END_NEEDS_S = 0.5
_TITLE_CHARS, _LINE_CHARS = 160, 120
_MAX_MESSAGES = 20


class Choice(NamedTuple):
    """Ids, in the order of the last answer."""

    chosen: tuple[str, ...]
    first: tuple[str, ...]  # of the first pass
    how: str
    passes: int = 1


def recall_agent(
    app: App,
    prompt: Annotated[str, Arg("The prompt; by default read from standard input.", metavar="[TEXT]", stdin=True)] = "-",
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
    among = _load_candidates(app, text, frozenset())
    choice = choose_among(app, text, among, time.monotonic() + app.settings.count("MEMORY_RECALL_SECONDS"))
    if choice is None:
        raise BadInput("The model gave no answer that could be used.", hint="`recollect logs` says why.")
    names = {candidate.id: candidate.name for candidate in among}
    chosen = [names[id] for id in choice.chosen]
    return Summary("\n".join(chosen), {"names": [*chosen], "how": choice.how})


# What it chooses among


def _load_candidates(app: App, text: str, seen: Set[str]) -> tuple[CandidateLine, ...]:
    """The nearest first; then notes, rules and threads, the latest first. As many as one question holds."""
    found: dict[str, Memory] = {}
    for memory in _load_memories(app, text):
        is_loaded = isinstance(memory, Note) and page.is_always_loaded(memory.path)
        if memory.id not in seen and memory.status in REACHED and not is_loaded and not is_muted(memory):
            found.setdefault(memory.id, memory)
    paths = Counter(memory.path for memory in found.values() if isinstance(memory, Note))
    ambiguous = {path for path, count in paths.items() if count > 1}
    return select_candidates(app, text, [make_candidate(memory, ambiguous) for memory in found.values()])


def _load_memories(app: App, text: str) -> Iterator[Memory]:
    if any(char.isalnum() for char in text):
        query = Query(text=shorten_prompt(text), statuses=REACHED, limit=BEST, once=True, unasked=True)
        yield from (one.hit.memory for one in search(app, query).found)
    for kind in (Kind.NOTE, Kind.RULE, Kind.THREAD):
        for _, store in app.scopes():
            yield from store.find(Query(kinds=(kind,), statuses=REACHED, limit=MAX_LOADED))


def make_candidate(memory: Memory, ambiguous: Set[str] = frozenset()) -> CandidateLine:
    """`ambiguous`: paths that name more than one note."""
    note = memory if isinstance(memory, Note) else None
    title, text = plain(memory.title, _TITLE_CHARS), plain(memory.body, _LINE_CHARS)
    about = text if text.startswith(title.rstrip("…")) else f"{title} - {text}" if text else title
    name = plain(note.path, _TITLE_CHARS) if note and note.path and note.path not in ambiguous else memory.id
    words = tuple(one_line(neutral(word)) for word in memory.topics) if note else ()
    return CandidateLine(memory.id, name, about, words, neutral(memory.body))


def select_candidates(app: App, text: str, candidates: Sequence[CandidateLine]) -> tuple[CandidateLine, ...]:
    """As many of the first as one question holds; where presearch is on, of those that share a keyword."""
    if app.settings.switch("MEMORY_RECALL_PRESEARCH"):
        in_content = app.settings.switch("MEMORY_RECALL_PRESEARCH_CONTENT")
        stop_words = frozenset(STOP_WORDS)
        candidates = model_choice.filter_by_keywords(text, candidates, stop_words=stop_words, in_content=in_content)
    return model_choice.limit_to_room(candidates)


# The passes


def choose_among(app: App, text: str, among: Sequence[CandidateLine], until_s: float) -> Choice | None:
    """None: no usable answer came, or not in time. Nothing to choose from costs no call."""
    scheme, prompt = app.settings.text("MEMORY_RECALL_SCHEME"), neutral(shorten_prompt(text))
    filtered = " that share a keyword" if app.settings.switch("MEMORY_RECALL_PRESEARCH") else ""
    how = f"a language model ({scheme}), of {len(among)}{filtered}"

    def ask(number: int, use: Use, candidates: Sequence[CandidateLine]) -> tuple[str, ...] | None:
        template = app.settings.pair("MEMORY_RECALL_PROMPTS")[number]
        model, seconds = app.settings.pair("MEMORY_RECALL_MODELS")[number], _model_seconds(until_s)
        question = model_choice.question(use, prompt, candidates, template=template, model=model, seconds=seconds)
        answer: tuple[str, ...] | None = language_model.ask(app, question, candidates)
        return answer

    if not among:
        return Choice((), (), how)
    first = ask(0, Use.RECALL_BROAD, among)
    if first is None:
        return None
    if scheme != "double" or not first:
        return Choice(first, first, how)
    if _model_seconds(until_s) < PASS_NEEDS_S:
        return Choice(first, first, f"{how}; no time for pass 2")
    by_id = {candidate.id: candidate for candidate in among}
    kept = ask(1, Use.RECALL_STRICT, [_with_content(app, by_id[id]) for id in first])
    if kept is None:
        return Choice(first, first, f"{how}; pass 2 gave no answer")
    return Choice(kept, first, how, passes=2)


def _model_seconds(until_s: float) -> float:
    """What a model may take: a program that does not end has to be ended, and then there is an answer to write."""
    left_s = until_s - time.monotonic()
    return max(left_s - min(END_NEEDS_S, left_s / 5), 0.1)


def _with_content(app: App, candidate: CandidateLine) -> CandidateLine:
    """The content of a thread without a body is its messages."""
    if candidate.content:
        return candidate
    messages = [message for _, store in app.scopes() for message in store.messages(candidate.id)][-_MAX_MESSAGES:]
    return candidate._replace(content=neutral("\n".join(message.content for message in messages)))


# What becomes of it


def choose_instead(app: App, text: str, ordinary: Found | None, seen: Set[str], until_s: float) -> Found | None:
    """What is shown in place of what ordinary recall found: the chosen memories that are still there, and which pass
    chose or dropped what. None: ordinary recall is shown."""
    began_s = time.monotonic()
    among = _load_candidates(app, text, seen)
    choice = choose_among(app, text, among, until_s)
    if choice is None:
        return None
    known = {one.hit.memory.id: one for one in ordinary.found} if ordinary else {}
    kept: list[Recollection] = []
    drops: list[Drop] = []
    for id in choice.chosen:
        current = app.exact(id)
        if current is None or current[1].status not in REACHED:
            drops.append(Drop(id, "no longer there"))
        elif len(kept) == app.settings.count("MEMORY_PROMPT_HITS"):
            drops.append(Drop(id, "beyond the limit"))
        else:
            kept.append(_make_recollection(app, *current, known.get(id), choice.passes))
    drops += [Drop(id, "dropped by pass 2") for id in choice.first if id not in choice.chosen]
    offered = {candidate.id for candidate in among}
    for id in (id for id in known if id not in choice.first):
        drops.append(Drop(id, "not chosen by pass 1" if id in offered else "not offered to the model"))
    ms = (time.monotonic() - began_s) * 1_000
    return Found(app.mint.draw("recall"), text, app.clock.now(), tuple(kept), tuple(drops), choice.how, ms)


def _make_recollection(app: App, scope: Scope, memory: Memory, known: Recollection | None, passes: int) -> Recollection:
    now, rules = app.clock.now(), app.age_rules
    chosen = tuple((f"pass {number}", 1.0) for number in range(1, passes + 1))
    hit = known.hit if known else Hit(memory, 1.0, ())
    hit = replace(hit, memory=apply_age(memory, now=now, rules=rules), score=1.0, components=(*chosen, *hit.components))
    return Recollection(scope, hit, strength(memory, now=now, rules=rules))
