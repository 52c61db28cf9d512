"""Per turn: records how calls and turns ended, credits the memories that were used, and learns lessons from failures.
What a person keeps refusing is proposed as a rule, once.

A memory gets a mark, a fraction of a rating (recall/priority.py), where it was shown and then used: for a call, a rule
that names its command, tool or file; for a turn, what the turn then spoke of. Lists that everyone gets at a session's
start and what an agent asked for itself are not judged: nobody chose them for that moment.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from recollect import agents
from recollect.app.core import App
from recollect.app.rule_keeping import load_rules, new_rule
from recollect.base.errors import RecollectError
from recollect.capture import call_outcomes, lesson_evidence, rule_relations
from recollect.capture.call_outcomes import Ended, find_outcomes
from recollect.capture.lesson_finder import Fix, find_fixes
from recollect.capture.turns import is_used
from recollect.jobs.transcripts import Writes
from recollect.lifecycle import strength
from recollect.model.command import Lesson
from recollect.model.memory import Lane, Memory, Rule, RuleType, Status
from recollect.model.plan import Create, Plan, Update
from recollect.model.query import ABOUT_CALL, ALWAYS_LOADED
from recollect.model.result import Scope
from recollect.model.session import (
    Ending,
    EventName,
    Outcome,
    RecallRecord,
    SessionPart,
    ShownMemory,
    Speaker,
    ToolAction,
    ToolUse,
    Way,
    shorten,
)
from recollect.recall.call_rules import Call, follows_lesson, is_lesson, read_call, rules_about
from recollect.render.harmless import plain

if TYPE_CHECKING:
    from recollect.store import Store

REFUSALS = "refusal"
MAX_AT_ONCE = 5
_KEPT = (Status.ACTIVE, Status.CANDIDATE)
_MOST = 5_000
_RECALLS_READ = 10
_DID_CHARS = 40_000  # of what the agent said and ran in one turn
# A person who did not allow a call said nothing about what we had shown.
_WENT_WELL = {Ending.SUCCESS: True, Ending.FAILURE: False, Ending.RE_ASK: False, Ending.AGENT_FAILURE: False}


def record_outcomes(app: App, part: SessionPart) -> Writes | None:
    if not part.new:
        return None
    entries = app.reader(app.scope).records(ShownMemory, session=part.session, agent=part.agent)
    shown = [one for one in entries if one.way is not Way.OWN]
    ended = find_outcomes(part, shown, agents.agent(part.host).subagent_report)
    judged = [replace(one.outcome, shown=find_used(app, one)) for one in ended]
    found = [outcome for outcome in judged if outcome.shown or outcome.kind is not Ending.SUCCESS]
    if not found:
        return None

    def write() -> None:
        new = [outcome for outcome in found if record(app, outcome)]
        for id, ending in [(id, one.kind) for one in new for id in one.shown]:
            if (known := app.exact(id)) is not None:
                app.writer(known[0]).use([id], partial(strength.add_outcome, well=_WENT_WELL[ending]))
        if any(outcome.kind is Ending.REFUSAL for outcome in new):
            _propose(app)
        if new:
            kinds = Counter(str(outcome.kind).replace("-", "_") for outcome in new)
            app.log.line("outcomes", session=part.session, **kinds)

    return write


def record(app: App, outcome: Outcome) -> bool:
    """False: it was known. Redacted once more, though acts are clean: another may come to call this."""

    def clean(text: str) -> str:
        return shorten(app.redactor.clean(text).text)

    actor, action, next_state = map(clean, (outcome.actor, outcome.action, outcome.next_state))
    return app.writer(app.scope).put(replace(outcome, actor=actor, action=action, next_state=next_state)) > 0


def _propose(app: App) -> None:
    """Into the inbox; what a person has once put away is not proposed again. Read where it is written: what was just
    recorded is not yet to be seen elsewhere."""
    found = app.writer(app.scope).records(Outcome, kind=Ending.REFUSAL, limit=_MOST)
    for proposal in call_outcomes.rules_from_refusals(reversed(found)):
        plan = partial(_plan_rule, app, proposal)
        app.commit(app.scope, "propose", plan, lambda _: "Refused often: a rule is proposed.")


def _plan_rule(app: App, proposal: call_outcomes.RefusalRule, store: Store) -> Plan:
    if any(rule_relations.says_same(proposal.rule, rule.body) for rule in load_rules(store, *Status)):
        return Plan.empty()
    tags = tuple(f"{Lesson.SESSION_TAG}{session}" for session in proposal.sessions)
    rule = new_rule(
        app, proposal.rule, rule_type=RuleType.PREFERENCE, origin=REFUSALS, lane=Lane.AGENT, tags=tags,
        group=proposal.sessions[-1], status=Status.CANDIDATE, seen=proposal.times,
    )  # fmt: skip
    return Plan.of([Create(rule)])


# Marks


def find_used(app: App, ended: Ended) -> tuple[str, ...]:
    """The memories shown before it that get a mark for how it went."""
    if ended.outcome.kind not in _WENT_WELL:
        return ()
    shown = [(id, app.exact(id)) for id in ended.outcome.shown]
    return tuple(id for id, found in shown if found is not None and _was_used(app, found[1], ended))


def _was_used(app: App, memory: Memory, ended: Ended) -> bool:
    if isinstance(memory, Rule) and is_lesson(memory) and not _WENT_WELL[ended.outcome.kind]:
        return False  # a warning is not to blame for what it warned of
    passage = _passage_shown(app, memory, ended.outcome)
    if passage is None:
        return False
    first, *rest = ended.acts
    if first.use is not None:
        call = _call(first.use)
        return isinstance(memory, Rule) and (bool(rules_about([memory], call)) or follows_lesson(memory, call))
    files = [file for act in rest if act.use for file in act.use.files]
    did = "\n".join(act.text if act.speaker is Speaker.AGENT else act.use.what if act.use else "" for act in rest)
    return is_used(passage, first.text, did[:_DID_CHARS], files)


def _passage_shown(app: App, memory: Memory, outcome: Outcome) -> str | None:
    """What was shown of it in this session; None where nobody chose it for that moment."""
    kept = (store.records(RecallRecord, limit=_RECALLS_READ, memory=memory.id) for _, store in app.scopes())
    for recall in (json.loads(one.answer) for found in kept for one in found):
        hit = next((hit for hit in recall["hits"] if hit["id"] == memory.id), None)
        if hit is None or recall.get("session") != outcome.session:
            continue
        unasked = recall.get("event") in (EventName.PROMPT, EventName.SUBAGENT_STARTED)
        if recall["how"] == ABOUT_CALL or (unasked and recall["how"] != ALWAYS_LOADED):
            return hit.get("passage") or f"{memory.title}\n{memory.body}"
    return None


def _call(use: ToolUse) -> Call:
    given: dict[str, object] = {"command": use.what} if use.action is ToolAction.RUN else {}
    if use.files:
        given["file_path"] = use.files[0]
    if use.action is ToolAction.EDIT:
        given["content"] = ""
    return read_call(use.tool, given)


# Lessons: a failure and what mended it. Seen for the first time it waits in the inbox, or is only counted where it is
# not worth a question. Seen in another session, confirmed or accepted by the person, it comes into force.


def learn_lessons(app: App, part: SessionPart) -> Writes | None:
    if app.project is None or not part.new:
        return None  # "fails here" says nothing where there is no project
    found: list[tuple[Fix, bool]] = []
    for fix in find_fixes(part.acts):
        said_at = lesson_evidence.confirmed_at(fix, part.acts)
        is_new = max(fix.at, said_at or 0) >= part.new_from
        words = fix.lesson.sentence()
        # Nothing hidden, no tag, no secret; otherwise it is not told at all.
        is_safe = plain(words, 2 * len(words)) == words and app.redactor.clean(words).text == words
        if is_new and is_safe and not lesson_evidence.is_from_stranger(fix.lesson, part.acts[: fix.at + 1]):
            found.append((fix, said_at is not None))
    if not found:
        return None

    def write() -> None:
        for fix, confirmed in found[:MAX_AT_ONCE]:
            try:
                _learn(app, fix, part.session, confirmed)
            except RecollectError as problem:
                app.log.line("not-kept", of="lesson", session=part.session, problem=problem.message)

    return write


def promote_lessons(app: App) -> tuple[str, ...]:
    """Lessons with evidence come into force, those without any for long are put away. Returns those now in force."""
    if app.project is None:
        return ()

    def make(store: Store) -> Plan:
        return lesson_evidence.promotion_plan(load_rules(store, *_KEPT), now=app.clock.now())

    done = app.commit(Scope.PROJECT, "promote", make, lambda plan: f"{len(plan.changes)} lessons were looked at again.")
    updates = [change for change in done.plan.changes if isinstance(change, Update)]
    return tuple(change.id for change in updates if dict(change.after).get("status") == Status.ACTIVE)


def _learn(app: App, fix: Fix, session: str, confirmed: bool) -> None:
    learnt, words, now = fix.lesson, fix.lesson.sentence(), app.clock.now()

    def make(store: Store) -> Plan:
        rules = load_rules(store, *_KEPT, Status.ARCHIVED)
        for known in (rule for rule in rules if _says_same(words, learnt, rule)):
            again = lesson_evidence.seen_again(known, learnt, session, now=now, is_confirmed=confirmed)
            return Plan.of([Update.between(known, again)])
        waits = fix.is_sure or confirmed
        tags = [f"{Lesson.SESSION_TAG}{session}"]
        tags += [lesson_evidence.CONFIRMED_TAG] if confirmed else [] if waits else [lesson_evidence.FADED_TAG]
        rule = new_rule(
            app, words, rule_type=RuleType.FAILURE, origin=Lesson.ORIGIN, lane=Lane.TOOL, group=session,
            tags=tuple(tags), status=Status.CANDIDATE if waits else Status.ARCHIVED,
        )  # fmt: skip
        return Plan.of([Create(rule)])

    summary = "A failure and what mended it were seen."
    done = app.commit(Scope.PROJECT, "learn", make, lambda _: summary, actor=Lane.TOOL)
    app.log.line("lesson", session=session, how=learnt.how, confirmed=confirmed, changed=len(done.plan.changes))


def _says_same(words: str, learnt: Lesson, rule: Rule) -> bool:
    known = Lesson.read(rule.body)
    return lesson_evidence.is_same_lesson(known, learnt) if known else rule_relations.says_same(words, rule.body)
