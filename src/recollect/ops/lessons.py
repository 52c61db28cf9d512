"""Taker: failures and what mended them, as lessons. The first time one is seen it waits in the inbox, or is only
counted where it is not worth a question; seen in another session, spoken for by the person, or accepted in the inbox,
it comes into force (`promote`, called when a session ends)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from recollect.base.errors import RecollectError
from recollect.base.text import title_from
from recollect.capture import contrast, promotion
from recollect.capture.confirmed import confirmed_at
from recollect.capture.hearsay import is_hearsay
from recollect.capture.pairs import Pair, pairs
from recollect.model import lesson
from recollect.model.act import Sitting
from recollect.model.lesson import Lesson
from recollect.model.memory import Lane, Rule, RuleType, Status
from recollect.model.plan import Create, Plan, Update
from recollect.model.result import Scope
from recollect.ops.app import App
from recollect.ops.capture import standing
from recollect.ops.digest import Writes
from recollect.render.harmless import plain

if TYPE_CHECKING:
    from recollect.store import Store

MOST_AT_ONCE = 5
_KEPT = (Status.ACTIVE, Status.CANDIDATE)


@dataclass(frozen=True, slots=True)
class Promotion:
    promoted: tuple[str, ...] = ()
    archived: tuple[str, ...] = ()


def take(app: App, sitting: Sitting) -> Writes | None:
    if app.project is None:
        return None  # "fails here" says nothing where there is no here
    if not sitting.new:
        return None
    found: list[tuple[Pair, bool]] = []
    for pair in pairs(sitting.acts):
        said_at = confirmed_at(pair, sitting.acts)
        if max(pair.at, said_at or 0) >= sitting.new_from and not is_hearsay(pair.lesson, sitting.acts[: pair.at + 1]):
            found.append((pair, said_at is not None))
    told = [(pair, confirmed) for pair, confirmed in found if _is_safe(app, pair.lesson.sentence())][:MOST_AT_ONCE]
    if not told:
        return None

    def write() -> None:
        for pair, confirmed in told:
            try:
                _learn(app, pair, sitting.session, confirmed)
            except RecollectError as problem:
                app.log.line("not-kept", of="lesson", session=sitting.session, problem=problem.message)

    return write


def promote(app: App) -> Promotion:
    """Those with evidence come into force, those without any for long are put away."""
    if app.project is None:
        return Promotion()

    def make(store: Store) -> Plan:
        return promotion.plan(standing(store, *_KEPT), now=app.clock.now())

    done = app.commit(Scope.PROJECT, "promote", make, lambda plan: f"{len(plan.changes)} lessons were looked at again.")
    after = {change.id: dict(change.after) for change in done.plan.changes if isinstance(change, Update)}
    said = {id: str(fields.get("status")) for id, fields in after.items()}
    return Promotion(
        tuple(id for id, status in said.items() if status == Status.ACTIVE),
        tuple(id for id, status in said.items() if status == Status.ARCHIVED),
    )


def _learn(app: App, pair: Pair, session: str, confirmed: bool) -> None:
    learnt, words = pair.lesson, pair.lesson.sentence()

    def make(store: Store) -> Plan:
        now = app.clock.now()
        known = next((rule for rule in standing(store, *_KEPT, Status.ARCHIVED) if _says(words, learnt, rule)), None)
        if known is not None:
            again = promotion.seen_again(known, learnt, session, now=now, is_confirmed=confirmed)
            return Plan.of([Update.between(known, again)])
        waits = pair.is_sure or confirmed
        tags = [f"{lesson.SESSION_TAG}{session}"]
        tags += [promotion.CONFIRMED_TAG] if confirmed else [] if waits else [promotion.FADED_TAG]
        rule = Rule(
            id=app.mint.draw("rule"),
            title=title_from(words),
            body=words,
            rule_type=RuleType.FAILURE,
            origin=lesson.ORIGIN,
            lane=Lane.TOOL,
            group=session,
            tags=tuple(tags),
            status=Status.CANDIDATE if waits else Status.ARCHIVED,
            created_at=now,
            reinforced_at=now,
            last_active_at=now,
        )
        return Plan.of([Create(rule)])

    said = "A failure and what mended it were seen."
    done = app.commit(Scope.PROJECT, "learn", make, lambda _: said, actor=Lane.TOOL)
    app.log.line("lesson", session=session, how=learnt.how, confirmed=confirmed, changed=len(done.plan.changes))


def _says(words: str, learnt: Lesson, rule: Rule) -> bool:
    known = lesson.read(rule.body)
    if known is not None:
        return promotion.same(known, learnt)
    return rule.body.casefold() == words.casefold() or contrast.same(words, rule.body)


def _is_safe(app: App, words: str) -> bool:
    """Nothing hidden, no tag, no secret: else it is not told at all, rather than half."""
    return plain(words, 2 * len(words)) == words and app.redactor.clean(words).text == words
