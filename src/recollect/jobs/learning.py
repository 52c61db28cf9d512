"""Learns from sessions: how calls and turns ended, lessons from failures, and learnings from a session's last words.
Per turn, endings are recorded, memories that were used are credited (not those that everyone gets at a session's start,
nor those that an agent asked for), and a failure with what mended it becomes a lesson. At a session's end lessons are
promoted, and learnings wait in the inbox."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from functools import partial

from recollect import agents
from recollect.app import notices
from recollect.app.core import App
from recollect.app.rule_keeping import load_rules, new_rule
from recollect.app.states import SESSION_ENDS
from recollect.base.errors import RecollectError
from recollect.base.structs import replace
from recollect.base.text import counted
from recollect.capture import call_outcomes, lesson_finder
from recollect.capture.lesson_finder import Fix, find_fixes
from recollect.capture.model_questions import LAST_ACTS, Learning, LearningKind, find_learnings
from recollect.capture.rule_relations import Relation, relation, says_same
from recollect.capture.turns import is_used
from recollect.lifecycle import strength
from recollect.model import session as sessions
from recollect.model.command import Lesson
from recollect.model.memory import LEARNING_TAG, Kind, Lane, Memory, Rule, RuleType, Status
from recollect.model.plan import Change, Create, Plan, Update
from recollect.model.query import ABOUT_CALL, ALWAYS_LOADED, Query
from recollect.model.result import Scope
from recollect.model.session import (
    Ending,
    EventName,
    Outcome,
    RecallRecord,
    SessionPart,
    ShownMemory,
    Speaker,
    Way,
)
from recollect.recall.call_rules import follows_lesson, is_lesson, read_call, rules_about
from recollect.render.inject import plain
from recollect.store import Store

# A person who did not allow a call said nothing about what we had shown.
_WENT_WELL = {
    Ending.SUCCESS: True,
    Ending.FAILURE: False,
    Ending.RE_ASK: False,
    Ending.AGENT_FAILURE: False,
}
MAX_WAITING = 30  # learnings that wait in the inbox; while so many do, nobody reads them, and no more are added
_KEPT = (Status.ACTIVE, Status.CANDIDATE)
_MAX_LOADED = 1_000
_LEARNING = "learning"


def record_outcomes(app: App, part: SessionPart) -> Callable[[], None] | None:
    if not part.new:
        return None
    entries = app.reader(app.scope).records(ShownMemory, session=part.session, agent=part.agent)
    shown = [one for one in entries if one.way is not Way.OWN]
    found: list[Outcome] = []
    for ended in call_outcomes.find_outcomes(part, shown, agents.agent(part.host).subagent_report):
        outcome = ended.outcome
        known = [(id, app.exact(id)) for id in outcome.shown] if outcome.kind in _WENT_WELL else []
        used = tuple(id for id, one in known if one is not None and _was_used(app, one[1], ended))
        if used or outcome.kind is not Ending.SUCCESS:
            texts = (outcome.actor, outcome.action, outcome.next_state)
            # Acts are clean; redacted once more, should they ever come from elsewhere.
            actor, action, state = (
                sessions.shorten(app.redactor.clean(text).text) for text in texts
            )
            found.append(replace(outcome, shown=used, actor=actor, action=action, next_state=state))
    if not found:
        return None

    def write() -> None:
        store = app.writer(app.scope)
        new = [outcome for outcome in found if store.put(outcome)]  # else it was known
        for id, ending in [(id, one.kind) for one in new for id in one.shown]:
            if (known := app.exact(id)) is not None:
                mark = partial(
                    strength.add_outcome,
                    well=_WENT_WELL[ending],
                    now=app.clock.now(),
                    rules=app.age_rules,
                )
                app.writer(known[0]).use([id], mark)
        if any(outcome.kind is Ending.REFUSAL for outcome in new):
            _propose(app)
        if new:
            kinds = Counter(str(outcome.kind).replace("-", "_") for outcome in new)
            app.log.line("outcomes", session=part.session, **kinds)

    return write


def _propose(app: App) -> None:
    """Into the inbox; what a person has once put away is not proposed again."""
    found = app.writer(app.scope).records(Outcome, kind=Ending.REFUSAL, limit=5_000)
    for proposal in call_outcomes.rules_from_refusals(reversed(found)):

        def make(store: Store, proposal: call_outcomes.RefusalRule = proposal) -> Plan:
            if any(says_same(proposal.rule, rule.body) for rule in load_rules(store, *Status)):
                return Plan()
            tags = tuple(f"{Lesson.SESSION_TAG}{session}" for session in proposal.sessions)
            rule = new_rule(
                app, proposal.rule, rule_type=RuleType.PREFERENCE, origin="refusal", lane=Lane.AGENT, tags=tags,
                group=proposal.sessions[-1], status=Status.CANDIDATE, seen=proposal.times,
            )  # fmt: skip
            return Plan.of([Create(rule)])

        app.commit(app.scope, "propose", make, lambda _: "Refused often: a rule is proposed.")


def _was_used(app: App, memory: Memory, ended: call_outcomes.Ended) -> bool:
    """Whether it gets a mark for how this went: a fraction of a rating (recall/selection.py)."""
    if isinstance(memory, Rule) and is_lesson(memory) and not _WENT_WELL[ended.outcome.kind]:
        return False  # a warning is not to blame for what it warned of
    passage = _passage_shown(app, memory, ended.outcome)
    if passage is None:
        return False
    first, *rest = ended.acts
    if (use := first.use) is not None:
        given: dict[str, object] = (
            {"command": use.what} if use.action is sessions.ToolAction.RUN else {}
        )
        if use.files:
            given["file_path"] = use.files[0]
        if use.action is sessions.ToolAction.EDIT:
            given["content"] = ""
        call = read_call(use.tool, given)
        return isinstance(memory, Rule) and (
            bool(rules_about([memory], call)) or follows_lesson(memory, call)
        )
    files = [file for act in rest if act.use for file in act.use.files]
    did = "\n".join(
        act.text if act.speaker is Speaker.AGENT else act.use.what if act.use else ""
        for act in rest
    )
    return is_used(passage, first.text, did[:40_000], files)


def _passage_shown(app: App, memory: Memory, outcome: Outcome) -> str | None:
    """What was shown of it in this session; None where nobody chose it for that moment."""
    kept = (store.records(RecallRecord, limit=10, memory=memory.id) for _, store in app.scopes())
    for recall in (json.loads(one.answer) for found in kept for one in found):
        hit = next((hit for hit in recall["hits"] if hit["id"] == memory.id), None)
        if hit is None or recall.get("session") != outcome.session:
            continue
        unasked = recall.get("event") in (EventName.PROMPT, EventName.SUBAGENT_STARTED)
        if recall["how"] == ABOUT_CALL or (unasked and recall["how"] != ALWAYS_LOADED):
            return hit.get("passage") or f"{memory.title}\n{memory.body}"
    return None


# A lesson that is seen for the first time waits in the inbox, or is only counted where it is not worth a question. Seen
# in another session, confirmed or accepted by the person, it comes into force.


def learn_lessons(app: App, part: SessionPart) -> Callable[[], None] | None:
    if app.project is None or not part.new:
        return None  # "fails here" says nothing where there is no project
    found: list[tuple[Fix, bool]] = []
    for fix in find_fixes(part.acts):
        said_at = lesson_finder.confirmed_at(fix, part.acts)
        is_new = max(fix.at, said_at or 0) >= part.new_from
        words = fix.lesson.sentence()
        # Nothing hidden, no tag, no secret; otherwise it is not told at all.
        is_safe = plain(words, 2 * len(words)) == words and app.redactor.clean(words).text == words
        if (
            is_new
            and is_safe
            and not lesson_finder.is_from_stranger(fix.lesson, part.acts[: fix.at + 1])
        ):
            found.append((fix, said_at is not None))
    if not found:
        return None

    def write() -> None:
        for fix, confirmed in found[:5]:  # of one part of a session
            try:
                _learn(app, fix, part.session, confirmed)
            except RecollectError as problem:
                app.log.line("not-kept", of="lesson", session=part.session, problem=problem.message)

    return write


def _learn(app: App, fix: Fix, session: str, confirmed: bool) -> None:
    learnt, words, now = fix.lesson, fix.lesson.sentence(), app.clock.now()

    def make(store: Store) -> Plan:
        for rule in load_rules(store, *_KEPT, Status.ARCHIVED):
            known = Lesson.read(rule.body)
            if (
                lesson_finder.is_same_lesson(known, learnt)
                if known
                else says_same(words, rule.body)
            ):
                again = lesson_finder.seen_again(
                    rule, learnt, session, now=now, is_confirmed=confirmed
                )
                return Plan.of([Update.between(rule, again)])
        waits = fix.is_sure or confirmed
        tags = [f"{Lesson.SESSION_TAG}{session}"]
        tags += (
            [lesson_finder.CONFIRMED_TAG]
            if confirmed
            else []
            if waits
            else [lesson_finder.FADED_TAG]
        )
        rule = new_rule(
            app, words, rule_type=RuleType.FAILURE, origin=Lesson.ORIGIN, lane=Lane.TOOL, group=session,
            tags=tuple(tags), status=Status.CANDIDATE if waits else Status.ARCHIVED,
        )  # fmt: skip
        return Plan.of([Create(rule)])

    summary = "A failure and what mended it were seen."
    done = app.commit(Scope.PROJECT, "learn", make, lambda _: summary, actor=Lane.TOOL)
    app.log.line(
        "lesson",
        session=session,
        how=learnt.how,
        confirmed=confirmed,
        changed=len(done.plan.changes),
    )


def promote_lessons(app: App) -> tuple[str, ...]:
    """Lessons with evidence come into force, those without any for long are put away. Returns those now in force."""
    if app.project is None:
        return ()

    def make(store: Store) -> Plan:
        return lesson_finder.promotion_plan(load_rules(store, *_KEPT), now=app.clock.now())

    done = app.commit(
        Scope.PROJECT,
        "promote",
        make,
        lambda plan: f"{len(plan.changes)} lessons were looked at again.",
    )
    updates = [change for change in done.plan.changes if isinstance(change, Update)]
    return tuple(
        change.id for change in updates if dict(change.after).get("status") == Status.ACTIVE
    )


def finish_session(app: App, part: SessionPart) -> Callable[[], None] | None:
    """Once at a session's end: keeps learnings from its last words, promotes lessons, and tells the person what was
    kept. Before a compaction: keeps learnings from all that is still remembered."""
    if part.agent or app.project is None or not (part.ended or part.compacting):
        return None
    found = find_learnings(part.acts, last=len(part.acts) if part.compacting else LAST_ACTS)

    def write() -> None:
        extracted = keep_learnings(app, part.session, found)
        promoted = promote_lessons(app) if part.ended else ()
        store, query = app.writer(Scope.PROJECT), Query(group=part.session, limit=_MAX_LOADED)
        loaded = [
            *store.find(query),
            *app.reader(Scope.USER).find(query),
        ]  # as this transaction sees them
        kept = [one for one in loaded if one.status not in (Status.SUPERSEDED, Status.ARCHIVED)]
        if not part.ended:
            if kept:
                notices.add(
                    app,
                    f"\U0001f4be Recollect: preserved {counted(len(kept), 'memory', 'memories')}",
                )
            app.log.line("swept", session=part.session, memories=len(kept))
            return
        ends = SESSION_ENDS.read(store)
        told_at = ends.pop(part.session, 0)  # at its last end, of what is older
        SESSION_ENDS.write(store, {**ends, part.session: app.clock.now().micros})
        new = [
            one for one in kept if one.created_at.micros > told_at and LEARNING_TAG not in one.tags
        ]
        if not part.past:
            waiting = sum(memory.status is Status.CANDIDATE for memory in new)
            by_id = {id: store.get(id) for id in promoted} | {one.id: one for one in new}
            active = [
                one
                for one in by_id.values()
                if one is not None and one.status is not Status.CANDIDATE
            ]
            active.sort(
                key=lambda one: one.kind is not Kind.RULE
            )  # what came into force, then what was worked on
            notices.add(
                app, notices.session_line([one.title for one in active], waiting + extracted)
            )
        counts = {"captured": len(new), "promoted": len(promoted), "extracted": extracted}
        app.log.line("session-over", session=part.session, **counts)

    return write


def keep_learnings(app: App, session: str, found: tuple[Learning, ...]) -> int:
    """Into the inbox. One that is known is counted once more, if another session said it; one that nobody said again
    or looked at for a month is put away. Returns how many are new."""
    new = 0

    def make(store: Store) -> Plan:
        nonlocal new
        new = 0
        now = app.clock.now()
        rules = store.find(Query(kinds=(Kind.RULE,), limit=_MAX_LOADED))
        waiting = [
            one for one in rules if LEARNING_TAG in one.tags and one.status is Status.CANDIDATE
        ]
        old_ones = [
            one for one in waiting if now.days_since(one.last_active_at) >= lesson_finder.FADES_DAYS
        ]
        changes: list[Change] = [
            Update.between(one, replace(one, status=Status.ARCHIVED)) for one in old_ones
        ]
        room = MAX_WAITING - len(waiting) + len(old_ones)
        for one in found:
            old = next(
                (rule for rule in rules if relation(one.text, rule.body) is Relation.SAME), None
            )
            if old is None and new < room:
                rule_type = RuleType.FAILURE if one.kind is LearningKind.CAUSE else RuleType.DEVOPS
                rule = new_rule(
                    app, one.text, rule_type=rule_type, origin=_LEARNING, lane=one.lane, tags=(LEARNING_TAG,),
                    group=session, status=Status.CANDIDATE,
                )  # fmt: skip
                changes.append(Create(rule))
                new += 1
            elif (
                old is not None
                and old not in old_ones
                and old.group != session
                and LEARNING_TAG in old.tags
            ):
                changes.append(
                    Update.between(old, replace(old, seen=old.seen + 1, last_active_at=now))
                )
        return Plan.of(changes)

    actor = Lane.lowest(*(one.lane for one in found)) if found else ""
    summary = f"Learnings of session {session}"
    app.commit(
        Scope.PROJECT, _LEARNING, make, lambda plan: f"{summary}: {len(plan.changes)}.", actor=actor
    )
    return new
