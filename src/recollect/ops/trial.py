"""`try`: what an agent would be told now with a prompt, what came near it, and why. Nothing is recorded, and no memory
counts as used. The search asks for every floor at once, so that another floor needs no second search."""

from __future__ import annotations

import time
from typing import Annotated

from recollect.agents import DEFAULT_HOST
from recollect.app import language_model
from recollect.app.core import App
from recollect.app.embedding import TimedQuestion
from recollect.app.memory_search import redact_question
from recollect.app.session_ledger import current_heartbeat
from recollect.base.errors import BadInput, ModelError, ModelLoading
from recollect.base.text import clip, estimate_tokens, one_line, storable
from recollect.model.ask import Use
from recollect.model.query import Hit
from recollect.model.report import Candidate, Told, Trial
from recollect.model.result import Scope
from recollect.ops.memories import clamp
from recollect.ops.prompt_recall import search_unasked, word_hits
from recollect.ops.table import Arg
from recollect.recall.selection import NOTHING_IN_COMMON
from recollect.render.blocks import drop_sentence, hit_sentence

FLOOR = "MEMORY_RECALL_FLOOR"
_WITHIN_S = 20.0
_MAX_LEFT_OUT = 20
_PASSAGE_CHARS = 300


def try_prompt(
    app: App,
    prompt: Annotated[tuple[str, ...], Arg("What you would type.", metavar="PROMPT", many=True)],
    *,
    floor: Annotated[float | None, Arg(f"Try another {FLOOR}, 0 to 1.", metavar="X")] = None,
) -> Trial:
    text = storable(" ".join(prompt)).strip()
    if not text:
        raise BadInput("There is nothing to try: the prompt is empty.", hint='`recollect try "how do we deploy?"`')
    line, notes = (app.settings.figure(FLOOR), ()) if floor is None else clamp("floor", floor, 0.0, 1.0)
    if not app.settings.switch("MEMORY_RECALL"):
        notes += ("Recall is off (MEMORY_RECALL=off): no prompt is told anything.",)
    if language_model.is_on(app, Use.RECALL_BROAD):
        notes += ("A language model would choose among these (MEMORY_RECALL_SCHEME); it was not asked.",)
    _wait_for_model(app)
    question = TimedQuestion(app, text, time.monotonic() + _WITHIN_S)
    searched = search_unasked(
        app, question, seen=frozenset(), limit=app.settings.count("MEMORY_PROMPT_HITS"), floor=0.0
    )  # fmt: skip
    shown = redact_question(app, text)
    if searched.found is None:
        return Trial(shown, line, "", 0, notes=(*notes, f"No memory was looked for: {searched.why_not}."))
    on = app.settings.switch("MEMORY_RECALL")
    best = {hit.unit_key: hit for hit in searched.hits}  # told, were the floor 0
    told = [hit for hit in best.values() if on and line <= _max_floor(hit)]
    heart = current_heartbeat(app)
    injection = word_hits(app, told, heart, DEFAULT_HOST)
    by_floor = []
    for floor in sorted({_max_floor(hit) for hit in best.values() if on}):
        said = word_hits(app, [hit for hit in best.values() if floor <= _max_floor(hit)], heart, DEFAULT_HOST).text
        by_floor.append(Told(floor, said, estimate_tokens(len(said))))
    marks, scopes = set(injection.shown), [scope for scope, _ in app.scopes()]
    drops = {drop.id: drop.reason for drop in (*searched.found.drops, *injection.left_out)}
    candidates = []
    for hit in (best.get(one.unit_key, one) for one in searched.found.judged):
        if hit.unit_key not in best and hit.memory.id in {one.memory.id for one in best.values()}:
            continue  # another turn of it is shown already
        reason = "below the floor" if on else "recall is off"
        if hit in told or hit.unit_key not in best:
            reason = "" if hit in told and hit.mark in marks else drops[hit.memory.id]
        max_floor = _max_floor(hit) if hit.unit_key in best else -1.0
        why = hit_sentence(
            dict(hit.components), how=searched.found.how, question=text, text=f"{hit.memory.title}\n{hit.text}",
            unasked=True,
        )  # fmt: skip
        candidates.append(_candidate(hit, scopes[hit.store], max_floor, reason, why))
    known = {one.id for one in candidates}
    others = [id for id, reason in drops.items() if id not in known and reason != NOTHING_IN_COMMON][:_MAX_LEFT_OUT]
    named = [(id, found[1].title if (found := app.exact(id)) else "") for id in others]
    left_out = [{"id": id, "title": title, "why": drop_sentence(drops[id], unasked=True)} for id, title in named]
    tokens = estimate_tokens(len(injection.text))
    return Trial(
        shown, line, injection.text, tokens, tuple(candidates), tuple(left_out), searched.found.how, notes,
        tuple(by_floor),
    )  # fmt: skip


def _wait_for_model(app: App) -> None:
    """The daemon asks again while it is being loaded. Without one, words answer alone, and the trial says so."""
    try:
        _ = app.embedder
    except (ModelError, BadInput) as problem:
        if isinstance(problem, ModelLoading):
            raise


def _candidate(hit: Hit, scope: Scope, max_floor: float, reason: str, why: str) -> Candidate:
    memory, parts = hit.memory, {name: round(value, 4) for name, value in hit.components}
    return Candidate(
        memory.id, one_line(memory.title), memory.kind, scope, memory.lane, round(hit.score, 4), max_floor,
        not reason, drop_sentence(reason, unasked=True) if reason else "", why,
        clip(one_line(hit.passage), _PASSAGE_CHARS), parts,
    )  # fmt: skip


def _max_floor(hit: Hit) -> float:
    """Up to which floor it is told, rounded down. What is in focus is told whatever the floor."""
    return 1.0 if hit.part("focus") else int(hit.score * 10_000) / 10_000
