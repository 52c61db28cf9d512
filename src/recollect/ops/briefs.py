"""What an agent is told unasked: the rules in force, open threads, what a prompt or a task brings to mind, and the
rules that bear on a call. Loads and lets the pure rooms choose; render/inject.py finds the words.

A search has a time by which it must be done. With too little left, words answer alone; when it is over, nothing is
said, never a half-made ranking.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from recollect.base.moment import Moment
from recollect.lifecycle.strength import status_at, strength
from recollect.model.evidence import NO_BACKGROUND
from recollect.model.memory import Kind, Memory, Rule, Status
from recollect.model.query import REACHED, Drop, Hit, Query
from recollect.model.result import Found, Recollection, Scope
from recollect.model.session import ToolCall
from recollect.model.small_talk import names_nothing
from recollect.ops import recalls
from recollect.ops.app import App
from recollect.ops.haste import Haste
from recollect.recall import floor
from recollect.recall.weigh import is_quiet, relevance

MOST_RULES = 300
OPEN_THREADS = 5
SUBAGENT_HITS = 3
REMINDERS = 3
_CALL_FLOOR = 0.5  # a call is interrupted for nothing less, however low the floor for prompts is set
ALWAYS, BEARING = "what is always loaded", "rules that bear on the call"
"""How they came to be shown, as `why` says it."""
_LATE, _IDLE = "the time was over", "nothing to look for"


@dataclass(frozen=True, slots=True)
class Mind:
    """What came to mind: memories and where each is kept."""

    found: Found | None
    """None: it could not be searched."""
    why_not: str = ""
    failed: bool = False
    """The store refused, which is worth a word to the person."""

    @property
    def is_idle(self) -> bool:
        """There was nothing to look for."""
        return self.why_not == _IDLE

    @property
    def hits(self) -> tuple[Hit, ...]:
        return tuple(one.hit for one in self.found.found) if self.found else ()

    @property
    def scopes(self) -> dict[str, Scope]:
        return {one.hit.memory.id: one.scope for one in self.found.found} if self.found else {}

    def noting(self, what: str) -> Mind:
        """With a word more about how it was searched."""
        return replace(self, found=replace(self.found, how=f"{self.found.how}; {what}")) if self.found else self

    def with_drops(self, drops: Sequence[Drop]) -> Found:
        if self.found is None:
            raise ValueError("nothing was searched")
        left_out = {drop.id for drop in drops}
        kept = tuple(one for one in self.found.found if one.hit.memory.id not in left_out)
        return replace(self.found, found=kept, drops=(*drops, *self.found.drops))


NOT_ASKED = Mind(None, "not asked")
NOTHING_ASKED = Mind(None, _IDLE)


def waits_for_a_model(app: App) -> bool:
    """Two settings say so, both of the person's own."""
    return app.settings.switch("MEMORY_LLM") and app.settings.text("MEMORY_RECALL_SCHEME") != "off"


def rules(app: App) -> dict[str, tuple[Scope, Rule]]:
    """In force, the ones that proved themselves first; without those that went quiet."""
    wanted = Query(kinds=(Kind.RULE,), statuses=(Status.ACTIVE,), limit=MOST_RULES)
    found = [
        (scope, rule)
        for scope, store in app.scopes()
        for rule in store.find(wanted)
        if isinstance(rule, Rule) and not is_quiet(rule)
    ]
    found.sort(key=lambda pair: _standing(pair[1]), reverse=True)
    return {rule.id: (scope, rule) for scope, rule in found}


def _standing(rule: Rule) -> tuple[bool, float, int, Moment]:
    return rule.pinned, relevance(rule.ratings, rule.outcomes), rule.seen, rule.last_active_at


def open_threads(app: App) -> dict[str, tuple[Scope, Memory]]:
    """Of those spoken of lately, the strongest; what age has put to sleep is not open, nor is what went quiet. Imported
    history began to fade when it was imported, but the work in it was open when it was last spoken of."""
    now, age = app.clock.now(), app.age_rules
    wanted = Query(kinds=(Kind.THREAD,), statuses=(Status.ACTIVE,), limit=10 * OPEN_THREADS)
    found = [
        (strength(spoken_of, now=now, rules=age), scope, memory)
        for scope, store in app.scopes()
        for memory in store.find(wanted)
        for spoken_of in (replace(memory, reinforced_at=min(memory.reinforced_at, memory.last_active_at)),)
        if status_at(spoken_of, now=now, rules=age) is Status.ACTIVE and not is_quiet(memory)
    ]
    found.sort(key=lambda entry: entry[0], reverse=True)
    return {memory.id: (scope, memory) for _, scope, memory in found[:OPEN_THREADS]}


def brought_to_mind(app: App, haste: Haste, *, seen: Set[str], limit: int) -> Mind:
    if names_nothing(haste.text):
        return Mind(None, _IDLE)
    if haste.left_s <= 0:
        return Mind(None, _LATE)
    least = app.settings.figure("MEMORY_RECALL_FLOOR")
    query = Query(text=haste.text, statuses=REACHED, limit=limit, turns=limit, once=True, unasked=True, floor=least)
    found = recalls.answered(app, query, seen=seen, haste=haste)
    return Mind(found) if haste.left_s > 0 else Mind(None, _LATE)


def reminders(app: App, call: ToolCall, *, seen: Set[str], until_s: float) -> tuple[Mind, list[Rule]]:
    """The rules that bear on this very call, at most three, none twice."""
    from recollect.recall.bearing import bearing, call_of  # not for a first prompt, which is waited for

    about = call_of(call.name, call.input)
    in_force = {id: pair for id, pair in rules(app).items() if id not in seen}
    weights = {rule.id: 1.0 for rule in bearing([rule for _, rule in in_force.values()], about)[:REMINDERS]}
    if about.programs and len(weights) < min(REMINDERS, len(in_force)) and app.settings.switch("MEMORY_RECALL"):
        weights = {**_near(app, about.text, in_force, until_s), **weights}
    best = sorted(weights, key=lambda id: weights[id], reverse=True)[:REMINDERS]
    hits = [Recollection(in_force[id][0], _hit(in_force[id][1], weights[id]), 1.0) for id in best]
    return Mind(_found(app, about.text, hits, BEARING)), [in_force[id][1] for id in best]


def _near(app: App, text: str, in_force: Mapping[str, tuple[Scope, Rule]], until_s: float) -> dict[str, float]:
    """Those that mean the call though they name nothing of it; a lesson does not: the command that works is as near
    to it as the one that fails. Of the rules alone, so that it does not matter how
    much else is remembered."""
    from recollect.recall.bearing import is_lesson

    asked = Haste(app, text, until_s).asked()
    if asked is None:
        return {}
    near: dict[str, float] = {}
    background = NO_BACKGROUND
    for scope, store in app.scopes():
        ids = [id for id, (where, rule) in in_force.items() if where is scope and not is_lesson(rule)]
        found, behind = store.nearness(asked.model, asked.vector, ids)
        near |= found
        background = background.with_more(behind)
    prompt, least = floor.Prompt.of(text), app.settings.figure("MEMORY_RECALL_FLOOR")
    bears = {
        id: floor.features(
            prompt,
            in_force[id][1].body,
            near=how,
            cover=0.0,
            background=background,
            passages=background.passages,
            kept=True,
        ).probability
        for id, how in near.items()
    }
    return {id: how for id, how in bears.items() if how >= max(least, _CALL_FLOOR)}


def _hit(rule: Rule, weight: float) -> Hit:
    return Hit(rule, weight, (("named", 1.0),) if weight >= 1 else (("near", weight),))


def note_listed(
    app: App,
    what: str,
    memories: Sequence[tuple[Scope, Memory]],
    drops: Sequence[Drop],
    injected: recalls.Injected,
) -> None:
    """So that `why` can say of something that was simply loaded that it was, and when."""
    listed = [Recollection(scope, Hit(memory, 1.0, (("listed", 1.0),)), memory.weight) for scope, memory in memories]
    found = _found(app, what, listed, ALWAYS)
    recalls.note(app, replace(found, drops=tuple(drops)), injected)


def _found(app: App, query: str, listed: Sequence[Recollection], how: str) -> Found:
    return Found(app.mint.draw("recall"), query, app.clock.now(), tuple(listed), (), how)
