"""Learns from sessions: how calls and turns ended, lessons from failures, and learnings from a session's last words.
Per turn, endings are recorded, memories that were used are credited (rules if they were kept; not what an agent asked
for), and a failure with what mended it becomes a lesson. At a session's end lessons are
promoted, and learnings wait in the inbox."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
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
from recollect.capture.failed_commands import ErrorKind, error_in
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
    Act,
    Ending,
    EventName,
    Outcome,
    RecallRecord,
    SessionPart,
    ShownMemory,
    Speaker,
    Way,
)
from recollect.recall.call_rules import Call, follows_lesson, is_lesson, read_call, rules_about
from recollect.recall.rule_demands import Demand, Verdict, demand_of, judge
from recollect.render.inject import plain
from recollect.store import Store

# A person who did not allow a call said nothing about what we had shown.
_WENT_WELL = {
    Ending.SUCCESS: True,
    Ending.FAILURE: False,
    Ending.RE_ASK: False,
    Ending.AGENT_FAILURE: False,
}
BROKEN_TAG = "broken:"  # begins a tag of an outcome that names a rule which the call did not keep
MAX_WAITING = 30  # learnings that wait in the inbox; while so many do, nobody reads them, and no more are added
_KEPT = (Status.ACTIVE, Status.CANDIDATE)
_MAX_LOADED = 1_000
_LEARNING = "learning"
# What became of a lesson, and why: its name comes first, where a narrow list cuts the reason and not the name.
_PROMOTED = {
    Status.ACTIVE: ("Put in force", "as it was seen again or confirmed"),
    Status.SUPERSEDED: ("Replaced", "by what was learnt since"),
    Status.ARCHIVED: ("Archived", "as it was not seen again"),
}
_MAX_NAMED = 3


def record_outcomes(app: App, part: SessionPart) -> Callable[[], None] | None:
    if not part.new:
        return None
    entries = app.reader(app.scope).records(ShownMemory, session=part.session, agent=part.agent)
    shown = [one for one in entries if one.way is not Way.OWN]
    credit = _Credit(app, part)
    found: list[Outcome] = []
    for ended in call_outcomes.find_outcomes(part, shown, agents.agent(part.host).subagent_report):
        outcome = ended.outcome
        used, broken = credit.give(ended) if outcome.kind in _WENT_WELL else ((), ())
        if used or broken or outcome.kind is not Ending.SUCCESS:
            texts = (outcome.actor, outcome.action, outcome.next_state)
            # Acts are clean; redacted once more, should they ever come from elsewhere.
            actor, action, state = (
                sessions.shorten(app.redactor.clean(text).text) for text in texts
            )
            tags = (*outcome.tags, *(f"{BROKEN_TAG}{id}" for id in broken))
            found.append(
                replace(
                    outcome, shown=used, actor=actor, action=action, next_state=state, tags=tags
                )
            )
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


class _Credit:
    """Which memories get a mark for how a call or a turn went: a fraction of a rating (recall/selection.py). What a
    rule says must have been done. One that was ignored is counted as broken, and the outcome is not its merit; where it
    cannot be told, nothing counts. What was told long before a call is credited once per session, and never blamed."""

    def __init__(self, app: App, part: SessionPart) -> None:
        self._app, self._part = app, part
        self._memories: dict[str, Memory | None] = {}
        known = app.reader(app.scope).records(Outcome, session=part.session)
        self._credited = {
            id
            for one in known
            if one.kind is Ending.SUCCESS
            for id in one.shown
            if "call" in one.tags
        }

    def give(self, ended: call_outcomes.Ended) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The ids of those that were used, and of those that were broken."""
        used: list[str] = []
        broken: list[str] = []
        for id in (*ended.outcome.shown, *_rules_told_before(ended)):
            memory = self._memory(id)
            if memory is None:
                continue
            verdict = self._judge(memory, ended)
            if verdict is Verdict.BROKEN:
                broken.append(id)
            elif verdict is Verdict.KEPT and self._counts(id, memory, ended):
                used.append(id)
        if _went_well(ended) and ended.acts[0].use is not None:
            self._credited.update(used)
        return tuple(used), tuple(broken)

    def _counts(self, id: str, memory: Memory, ended: call_outcomes.Ended) -> bool:
        """Whether the outcome is the merit or the fault of a memory that was followed."""
        if id in ended.outcome.shown:
            return self._is_judged(memory, ended)
        return _went_well(ended) and id not in self._credited

    def _memory(self, id: str) -> Memory | None:
        if id not in self._memories:
            known = self._app.exact(id)
            self._memories[id] = known[1] if known else None
        return self._memories[id]

    def _is_judged(self, memory: Memory, ended: call_outcomes.Ended) -> bool:
        """Only what was chosen for this moment is blamed, and no warning is blamed for what it warned of."""
        if _went_well(ended):
            return _passage_shown(self._app, memory, ended.outcome) is not None or (
                ended.acts[0].use is not None and memory.id not in self._credited
            )
        is_warning = isinstance(memory, Rule) and is_lesson(memory)
        return (
            not is_warning
            and not _is_finding(ended)
            and _passage_shown(self._app, memory, ended.outcome) is not None
        )

    def _judge(self, memory: Memory, ended: call_outcomes.Ended) -> Verdict:
        """Whether what the memory says was done in this call or turn."""
        first, *rest = ended.acts
        if first.use is not None:
            return self._judge_call(memory, first) if isinstance(memory, Rule) else Verdict.UNKNOWN
        verdict = self._judge_calls(memory, rest)
        if verdict is not Verdict.UNKNOWN:
            return verdict
        passage = _passage_shown(self._app, memory, ended.outcome)
        if passage is None:
            return Verdict.UNKNOWN
        files = [file for act in rest if act.use for file in act.use.files]
        did = "\n".join(_words_of(act) for act in rest)
        is_mentioned = is_used(passage, first.text, did[:40_000], files)
        return Verdict.KEPT if is_mentioned else Verdict.UNKNOWN

    def _judge_calls(self, memory: Memory, acts: Sequence[Act]) -> Verdict:
        """By the calls of a turn, where the memory is a rule that asks something of calls: one can break it."""
        if not isinstance(memory, Rule) or is_lesson(memory) or demand_of(memory.body) == Demand():
            return Verdict.UNKNOWN
        verdicts = {self._judge_call(memory, act) for act in acts if act.use is not None}
        for verdict in (Verdict.BROKEN, Verdict.KEPT):
            if verdict in verdicts:
                return verdict
        return Verdict.UNKNOWN

    def _judge_call(self, rule: Rule, act: Act) -> Verdict:
        call = _call_of(act)
        if is_lesson(rule):
            is_named = bool(rules_about([rule], call)) or follows_lesson(rule, call)
            return Verdict.KEPT if is_named else Verdict.UNKNOWN
        earlier: list[Call] = []
        if demand_of(rule.body).orders:
            acts = self._part.acts[: self._part.acts.index(act)]
            earlier = [_call_of(one) for one in acts if one.use is not None and not one.failed]
        return judge(rule.body, call, earlier)


def _rules_told_before(ended: call_outcomes.Ended) -> list[str]:
    return [
        id for id in ended.told if id not in ended.outcome.shown and id.startswith(f"{Kind.RULE}_")
    ]


def _went_well(ended: call_outcomes.Ended) -> bool:
    return _WENT_WELL[ended.outcome.kind]


def _is_finding(ended: call_outcomes.Ended) -> bool:
    """A test or a linter that ran and found something did what it was asked to."""
    act = ended.acts[0]
    kinds = (ErrorKind.TESTS, ErrorKind.LINT)
    return act.use is not None and error_in(act.text).kind in kinds


def _words_of(act: Act) -> str:
    if act.speaker is Speaker.AGENT:
        return act.text
    return act.use.what if act.use else ""


def _call_of(act: Act) -> Call:
    use = act.use
    if use is None:
        return Call("")
    given: dict[str, object] = {}
    if use.action is sessions.ToolAction.RUN:
        given["command"] = use.what
    if use.files:
        given["file_path"] = use.files[0]
    if use.action is sessions.ToolAction.EDIT:
        given["content"] = ""
    return read_call(use.tool, given)


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
        _promotion_summary,
    )
    updates = [change for change in done.plan.changes if isinstance(change, Update)]
    return tuple(
        change.id for change in updates if dict(change.after).get("status") == Status.ACTIVE
    )


def _promotion_summary(plan: Plan) -> str:
    """Which lessons came into force, and which were replaced or put away."""
    ids: dict[object, list[str]] = {}
    for change in plan.changes:
        if isinstance(change, Update):
            ids.setdefault(dict(change.after).get("status"), []).append(change.id)
    parts = []
    for status, (what, why) in _PROMOTED.items():
        if found := ids.get(status):
            more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
            parts.append(f"{what}: {', '.join(found[:_MAX_NAMED])}{more}, {why}")
    return f"{'; '.join(parts)}."


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
            captured = [
                one for one in new if one.status is not Status.CANDIDATE and one.id not in promoted
            ]
            # What came into force, then what was worked on.
            captured.sort(key=lambda one: one.kind is not Kind.RULE)
            lessons = [one.title for id in promoted if (one := store.get(id)) is not None]
            lines = notices.session_lines(
                [one.title for one in captured],
                promoted=lessons,
                learnings=extracted,
                waiting=waiting + extracted,
            )
            notices.add(app, *lines)
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
