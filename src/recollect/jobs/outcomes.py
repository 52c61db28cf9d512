"""Per turn: records how calls and turns ended and credits the memories that were used: for a call, a rule that names
its command, tool or file; for a turn, what the turn then spoke of. Lists that everyone gets at a session's start and
what an agent asked for itself are not judged. What a person keeps refusing is proposed as a rule, once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from recollect import agents
from recollect.app.core import App
from recollect.app.rule_keeping import load_rules, new_rule
from recollect.capture import call_outcomes, rule_relations
from recollect.capture.turns import is_used
from recollect.lifecycle import strength
from recollect.model import session as sessions
from recollect.model.command import Lesson
from recollect.model.memory import Lane, Memory, Rule, RuleType, Status
from recollect.model.plan import Create, Plan
from recollect.model.query import ABOUT_CALL, ALWAYS_LOADED
from recollect.model.session import Ending, EventName, Outcome, RecallRecord, SessionPart, ShownMemory, Speaker, Way
from recollect.recall.call_rules import follows_lesson, is_lesson, read_call, rules_about
from recollect.store import Store

_MOST = 5_000
_RECALLS_READ = 10
_DID_CHARS = 40_000  # of what the agent said and ran in one turn
# A person who did not allow a call said nothing about what we had shown.
_WENT_WELL = {Ending.SUCCESS: True, Ending.FAILURE: False, Ending.RE_ASK: False, Ending.AGENT_FAILURE: False}


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
            actor, action, state = (sessions.shorten(app.redactor.clean(text).text) for text in texts)
            found.append(replace(outcome, shown=used, actor=actor, action=action, next_state=state))
    if not found:
        return None

    def write() -> None:
        store = app.writer(app.scope)
        new = [outcome for outcome in found if store.put(outcome)]  # else it was known
        for id, ending in [(id, one.kind) for one in new for id in one.shown]:
            if (known := app.exact(id)) is not None:
                app.writer(known[0]).use([id], partial(strength.add_outcome, well=_WENT_WELL[ending]))
        if any(outcome.kind is Ending.REFUSAL for outcome in new):
            _propose(app)
        if new:
            kinds = Counter(str(outcome.kind).replace("-", "_") for outcome in new)
            app.log.line("outcomes", session=part.session, **kinds)

    return write


def _propose(app: App) -> None:
    """Into the inbox; what a person has once put away is not proposed again."""
    found = app.writer(app.scope).records(Outcome, kind=Ending.REFUSAL, limit=_MOST)
    for proposal in call_outcomes.rules_from_refusals(reversed(found)):

        def make(store: Store, proposal: call_outcomes.RefusalRule = proposal) -> Plan:
            if any(rule_relations.says_same(proposal.rule, rule.body) for rule in load_rules(store, *Status)):
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
        given: dict[str, object] = {"command": use.what} if use.action is sessions.ToolAction.RUN else {}
        if use.files:
            given["file_path"] = use.files[0]
        if use.action is sessions.ToolAction.EDIT:
            given["content"] = ""
        call = read_call(use.tool, given)
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
