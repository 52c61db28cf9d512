"""`try`: what an agent would be told now with a prompt, what came near it, and why. Nothing is recorded, and no memory
counts as used. The search asks for every floor at once, so that another floor needs no second search."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
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
from recollect.model.result import Found
from recollect.model.session import memory_of
from recollect.ops.memories import clamp
from recollect.ops.prompt_recall import search_unasked, word_hits
from recollect.ops.table import Arg
from recollect.recall.selection import BELOW_FLOOR, NOTHING_IN_COMMON
from recollect.render.blocks import drop_sentence, hit_sentence, not_searched_sentence
from recollect.render.inject import Injection

FLOOR = "MEMORY_RECALL_FLOOR"
_WITHIN_S = 20.0
_MAX_LEFT_OUT = 20
_PASSAGE_CHARS = 300
_NEAR = 0.05  # how certain what is not told must be, to be worth a look
_NO_ROOM = "over the limit of characters"
_NOT_WITHOUT_FLOOR = ("beyond the limit", "far below the best")


def try_prompt(
    app: App,
    prompt: Annotated[tuple[str, ...], Arg("What you would type.", metavar="PROMPT", many=True)],
    *,
    floor: Annotated[float | None, Arg(f"Try another {FLOOR}, 0 to 1.", metavar="X")] = None,
) -> Trial:
    text = storable(" ".join(prompt)).strip()
    if not text:
        raise BadInput(
            "There is nothing to try: the prompt is empty.",
            hint='`recollect try "how do we deploy?"`',
        )
    line, notes = (
        (app.settings.figure(FLOOR), ()) if floor is None else clamp("floor", floor, 0.0, 1.0)
    )
    if not app.settings.switch("MEMORY_RECALL"):
        notes += ("Recall is off (MEMORY_RECALL=off): no prompt is told anything.",)
    if language_model.is_on(app, Use.RECALL_BROAD):
        notes += (
            "A language model would choose among these (MEMORY_RECALL_SCHEME); it was not asked.",
        )
    check_model(app)
    question = TimedQuestion(app, text, time.monotonic() + _WITHIN_S)
    searched = search_unasked(
        app, question, seen=frozenset(), limit=app.settings.count("MEMORY_PROMPT_HITS"), floor=0.0
    )  # fmt: skip
    shown, found = redact_question(app, text), searched.found
    if found is None:
        reason = not_searched_sentence(searched.why_not)
        return Trial(shown, line, "", 0, notes=(*notes, reason))
    best = searched.hits if app.settings.switch("MEMORY_RECALL") else ()  # told, were the floor 0
    heart = current_heartbeat(app)
    injection = word_hits(
        app, [hit for hit in best if line <= _max_floor(hit)], heart, DEFAULT_HOST
    )
    by_floor = []
    for least in sorted({_max_floor(hit) for hit in best}):
        said = word_hits(
            app, [hit for hit in best if least <= _max_floor(hit)], heart, DEFAULT_HOST
        ).text
        by_floor.append(Told(least, said, estimate_tokens(len(said))))
    drops = {drop.id: drop.reason for drop in (*found.drops, *injection.left_out)}
    candidates = _judged(app, found, text, line, best, drops, injection)
    known = {hit.memory.id for hit in found.judged}
    others = [
        id for id, reason in drops.items() if id not in known and reason != NOTHING_IN_COMMON
    ][:_MAX_LEFT_OUT]
    named = [(id, memory[1].title if (memory := app.exact(id)) else "") for id in others]
    left_out = [
        {"id": id, "title": title, "why": drop_sentence(drops[id], unasked=True)}
        for id, title in named
    ]
    tokens = estimate_tokens(len(injection.text))
    return Trial(
        shown, line, injection.text, tokens, tuple(candidates), tuple(left_out), found.how, notes, tuple(by_floor)
    )  # fmt: skip


def check_model(app: App) -> None:
    """Raises ModelLoading: the daemon then asks again. Where there is no model, words answer alone, which is said."""
    try:
        _ = app.embedder
    except (ModelError, BadInput) as problem:
        if isinstance(problem, ModelLoading):
            raise


def _judged(
    app: App,
    found: Found,
    text: str,
    floor: float,
    best: Sequence[Hit],
    drops: Mapping[str, str],
    told: Injection,
) -> list[Candidate]:
    """The most certain first. Left out: of a memory that is told, the turns that are not; and what came not near."""
    scopes, ours = [scope for scope, _ in app.scopes()], {hit.memory.id for hit in best}
    by_unit, shown, candidates = (
        {hit.unit_key: hit for hit in best},
        set(map(memory_of, told.shown)),
        [],
    )
    for judged in found.judged:
        hit, is_best = by_unit.get(judged.unit_key, judged), judged.unit_key in by_unit
        memory, parts = hit.memory, {name: round(value, 4) for name, value in hit.components}
        if not is_best and (memory.id in ours or hit.score < _NEAR):
            continue
        reason = ""
        if not is_best or memory.id not in shown:
            reason = drops.get(memory.id, _NO_ROOM if is_best else "recall is off")
        # Without a floor the limit or a better one kept it out; with it, that it is less certain.
        is_told_at_no_floor = is_best or reason in _NOT_WITHOUT_FLOOR
        if is_told_at_no_floor and floor > _max_floor(hit):
            reason = BELOW_FLOOR
        why = hit_sentence(
            parts, how=found.how, question=text, text=f"{memory.title}\n{hit.text}", unasked=True
        )
        candidates.append(Candidate(
            memory.id, one_line(memory.title), memory.kind, scopes[hit.store], memory.lane, round(hit.score, 4),
            _max_floor(hit) if is_best else -1.0, not reason,
            drop_sentence(reason, unasked=True) if reason else "", why, clip(one_line(hit.passage), _PASSAGE_CHARS),
            parts,
        ))  # fmt: skip
    return candidates


def _max_floor(hit: Hit) -> float:
    """Up to which floor it is told, rounded down. What is in focus is told whatever the floor."""
    return 1.0 if hit.part("focus") else int(hit.score * 10_000) / 10_000
