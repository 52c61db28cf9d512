"""`recall-agent`: a language model chooses which memories a prompt gets. Switched on by two settings, and then the hook
of a prompt waits for it; whenever it fails, ordinary recall is used."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence, Set
from typing import Annotated, NamedTuple

from recollect.app import language_model
from recollect.app.core import App
from recollect.app.embedding import shorten_prompt
from recollect.app.memory_search import search
from recollect.base.errors import BadInput
from recollect.base.structs import replace
from recollect.base.text import one_line, storable
from recollect.lifecycle.strength import apply_age, strength
from recollect.model.ask import Use
from recollect.model.memory import Kind, Memory, Note
from recollect.model.query import BEYOND_LIMIT, REACHED, Drop, Hit, Query
from recollect.model.result import Found, Recollection, Summary
from recollect.ops.table import Arg
from recollect.recall import model_choice
from recollect.recall.model_choice import CandidateLine
from recollect.recall.selection import is_muted
from recollect.render.inject import neutral, plain
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
    prompt: Annotated[
        str, Arg("The prompt; by default read from standard input.", metavar="[TEXT]", stdin=True)
    ] = "-",
) -> Summary:
    """Names, one per line. Nothing is counted as shown."""
    text = storable(prompt).strip()
    if not text:
        raise BadInput(
            "There is nothing to look for: the prompt is empty.",
            hint="echo WORDS | recollect recall-agent",
        )
    if not language_model.is_on(app, Use.RECALL_BROAD):
        hint = "Set MEMORY_LLM and MEMORY_RECALL_SCHEME=double in agent.conf; see docs/LLM.md."
        raise BadInput("No language model chooses memories here.", hint=hint)
    among = _load_candidates(app, text, frozenset())
    choice = choose_among(
        app, text, among, time.monotonic() + app.settings.count("MEMORY_RECALL_SECONDS")
    )
    if choice is None:
        raise BadInput(
            "The model gave no answer that could be used.", hint="`recollect logs` says why."
        )
    names = {candidate.id: candidate.name for candidate in among}
    chosen = [names[id] for id in choice.chosen]
    return Summary("\n".join(chosen), {"names": [*chosen], "how": choice.how})


def _load_candidates(app: App, text: str, seen: Set[str]) -> tuple[CandidateLine, ...]:
    """The nearest first; then notes, rules and threads, the latest first. As many as one question holds."""
    listed: list[Memory] = []
    if any(char.isalnum() for char in text):
        query = Query(
            text=shorten_prompt(text), statuses=REACHED, limit=BEST, once=True, unasked=True
        )
        listed = [one.hit.memory for one in search(app, query).found]
    for kind in (Kind.NOTE, Kind.RULE, Kind.THREAD):
        for _, store in app.scopes():
            listed += store.find(Query(kinds=(kind,), statuses=REACHED, limit=MAX_LOADED))
    found: dict[str, Memory] = {}
    for memory in listed:
        is_loaded = isinstance(memory, Note) and page.is_always_loaded(memory.path)
        if (
            memory.id not in seen
            and memory.status in REACHED
            and not is_loaded
            and not is_muted(memory)
        ):
            found.setdefault(memory.id, memory)
    return make_candidates(app, text, list(found.values()))


def make_candidates(app: App, text: str, memories: Sequence[Memory]) -> tuple[CandidateLine, ...]:
    """As many of the first as one question holds; where presearch is on, of those that share a keyword."""
    candidates, paths = [], Counter(memory.path for memory in memories if isinstance(memory, Note))
    for memory in memories:
        title, body = plain(memory.title, _TITLE_CHARS), plain(memory.body, _LINE_CHARS)
        about = body
        if not body.startswith(title.rstrip("…")):
            about = f"{title} - {body}" if body else title
        name, words = memory.id, tuple[str, ...]()
        if isinstance(memory, Note):
            name = (
                plain(memory.path, _TITLE_CHARS)
                if memory.path and paths[memory.path] == 1
                else name
            )
            words = tuple(one_line(neutral(word)) for word in memory.topics)
        candidates.append(CandidateLine(memory.id, name, about, words, neutral(memory.body)))
    if app.settings.switch("MEMORY_RECALL_PRESEARCH"):
        in_content, stop_words = (
            app.settings.switch("MEMORY_RECALL_PRESEARCH_CONTENT"),
            frozenset(STOP_WORDS),
        )
        filtered = model_choice.filter_by_keywords(
            text, candidates, stop_words=stop_words, in_content=in_content
        )
        return model_choice.limit_to_room(filtered)
    return model_choice.limit_to_room(candidates)


def choose_among(
    app: App, text: str, among: Sequence[CandidateLine], until_s: float
) -> Choice | None:
    """None: no usable answer came, or not in time. Nothing to choose from costs no call."""
    scheme, prompt = app.settings.text("MEMORY_RECALL_SCHEME"), neutral(shorten_prompt(text))
    filtered = " that share a keyword" if app.settings.switch("MEMORY_RECALL_PRESEARCH") else ""
    how = f"a language model ({scheme}), of {len(among)}{filtered}"

    def ask(number: int, use: Use, candidates: Sequence[CandidateLine]) -> tuple[str, ...] | None:
        template = app.settings.text("MEMORY_RECALL_PROMPTS").split("/")[number]
        model, seconds = (
            app.settings.text("MEMORY_RECALL_MODELS").split("/")[number],
            _model_seconds(until_s),
        )
        question = model_choice.question(
            use, prompt, candidates, template=template, model=model, seconds=seconds
        )
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
    by_id, whole = {candidate.id: candidate for candidate in among}, []
    for id in first:
        content = by_id[id].content
        if not content:  # a thread without a body: its messages
            messages = [message for _, store in app.scopes() for message in store.messages(id)][
                -_MAX_MESSAGES:
            ]
            content = neutral("\n".join(message.content for message in messages))
        whole.append(by_id[id]._replace(content=content))
    kept = ask(1, Use.RECALL_STRICT, whole)
    if kept is None:
        return Choice(first, first, f"{how}; pass 2 gave no answer")
    return Choice(kept, first, how, passes=2)


def _model_seconds(until_s: float) -> float:
    """What a model may take: a program that does not end has to be ended, and then there is an answer to write."""
    left_s = until_s - time.monotonic()
    return max(left_s - min(END_NEEDS_S, left_s / 5), 0.1)


def choose_instead(
    app: App, text: str, ordinary: Found | None, seen: Set[str], until_s: float
) -> Found | None:
    """The chosen memories that are still there, and which pass dropped what. None: ordinary recall is shown."""
    began_s, now, rules = time.monotonic(), app.clock.now(), app.age_rules
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
            drops.append(Drop(id, BEYOND_LIMIT))
        else:
            scope, memory = current
            hit = known[id].hit if id in known else Hit(memory, 1.0, ())
            chosen = tuple((f"pass {number}", 1.0) for number in range(1, choice.passes + 1))
            aged, parts = apply_age(memory, now=now, rules=rules), (*chosen, *hit.components)
            hit = replace(hit, memory=aged, score=1.0, components=parts)
            kept.append(Recollection(scope, hit, strength(memory, now=now, rules=rules)))
    drops += [Drop(id, "dropped by pass 2") for id in choice.first if id not in choice.chosen]
    whys = "not offered to the model", "not chosen by pass 1"
    offered = {candidate.id for candidate in among}
    drops += [Drop(id, whys[id in offered]) for id in known if id not in choice.first]
    ms = (time.monotonic() - began_s) * 1_000
    return Found(app.mint.draw("recall"), text, now, tuple(kept), tuple(drops), choice.how, ms)
