"""Taker: how things went, recorded once each; memories that were shown and bore on it get their mark then. What a
person keeps refusing is proposed as a rule, once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect import agents
from recollect.base.text import title_from
from recollect.capture import contrast, refusals
from recollect.capture.contrast import Relation
from recollect.capture.endings import endings
from recollect.model import lesson
from recollect.model.act import Sitting
from recollect.model.memory import Lane, Rule, RuleType, Status
from recollect.model.outcome import Ending, Outcome, cut
from recollect.model.plan import Create, Plan
from recollect.ops import credit
from recollect.ops.app import App
from recollect.ops.capture import standing
from recollect.ops.digest import Writes
from recollect.ops.here import scope_here

if TYPE_CHECKING:
    from recollect.store import Store

REFUSALS = "refusal"
_MOST = 5_000


def take(app: App, sitting: Sitting) -> Writes | None:
    if not sitting.new:
        return None
    sights = app.reading(scope_here(app)).sessions.sights(sitting.session, sitting.agent)
    ended = endings(sitting, sights, agents.agent(sitting.host).reported)
    judged = [replace(one.outcome, shown=credit.bore(app, one)) for one in ended]
    found = [outcome for outcome in judged if outcome.shown or outcome.kind is not Ending.SUCCESS]
    if not found:
        return None

    def write() -> None:
        new = [outcome for outcome in found if record(app, outcome)]
        for outcome in new:
            credit.mark(app, outcome)
        if any(outcome.kind is Ending.REFUSAL for outcome in new):
            _propose(app)
        if new:
            app.log.line("outcomes", session=sitting.session, **_counts(new))

    return write


def record(app: App, outcome: Outcome) -> bool:
    """False: it was known. Redacted once more, though acts are clean: another may come to call this."""

    def clean(text: str) -> str:
        return cut(app.redactor.clean(text).text)

    kept = replace(
        outcome, actor=clean(outcome.actor), action=clean(outcome.action), next_state=clean(outcome.next_state)
    )
    return app.writing(scope_here(app)).outcomes.record(kept)


def outcomes(app: App, session: str = "", *, kinds: Sequence[Ending] = (), after: int = 0) -> list[tuple[int, Outcome]]:
    """Of one session or of all, the oldest first, numbered in the order they were recorded."""
    return app.reading(scope_here(app)).outcomes.recorded(session=session, kinds=kinds, limit=_MOST, after=after)


def _propose(app: App) -> None:
    """Into the inbox; what a person has once put away is not proposed again. Read where it is written: what was just
    recorded is not yet to be seen elsewhere."""
    found = app.writing(scope_here(app)).outcomes.recorded(kinds=(Ending.REFUSAL,), limit=_MOST)
    for proposal in refusals.proposals(one for _, one in found):
        app.commit(
            scope_here(app), "propose", _proposing(app, proposal), lambda _: "Refused often: a rule is proposed."
        )


def _proposing(app: App, proposal: refusals.Proposal) -> Callable[[Store], Plan]:
    def make(store: Store) -> Plan:
        now = app.clock.now()
        if any(contrast.relation(proposal.rule, rule.body) is Relation.SAME for rule in standing(store, *Status)):
            return Plan.of([])
        rule = Rule(
            id=app.mint.draw("rule"),
            title=title_from(proposal.rule),
            body=proposal.rule,
            rule_type=RuleType.PREFERENCE,
            origin=REFUSALS,
            lane=Lane.AGENT,
            group=proposal.sessions[-1],
            tags=tuple(f"{lesson.SESSION_TAG}{session}" for session in proposal.sessions),
            status=Status.CANDIDATE,
            seen=proposal.times,
            created_at=now,
            reinforced_at=now,
            last_active_at=now,
        )
        return Plan.of([Create(rule)])

    return make


def _counts(found: Sequence[Outcome]) -> dict[str, int]:
    kinds = [str(outcome.kind) for outcome in found]
    return {kind.replace("-", "_"): kinds.count(kind) for kind in dict.fromkeys(kinds)}
