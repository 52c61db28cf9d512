"""Keeps the rules that a person states. Redacts, takes out what we ourselves put in, lets `capture` decide, stores. A
rule that is sure is in force at once; an unsure one waits in the inbox. The same rule said again is counted; the
opposite supersedes, and the chain stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from recollect.app import notices, session_ledger
from recollect.app.core import App
from recollect.app.states import count_captured
from recollect.base.errors import BadInput, ModelError
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import first_line_title, storable
from recollect.capture import rule_relations, turns
from recollect.capture.prompt_rules import find_rules, learned_judge
from recollect.capture.prompt_text import Action, Draft, FoundRule
from recollect.capture.rule_relations import Relation
from recollect.capture.tables import language, language_code
from recollect.model.memory import Bridge, BridgeType, Kind, Lane, Memory, Rule, RuleType, Status
from recollect.model.plan import Create, Link, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Done, Scope
from recollect.render.inject import without_ours
from recollect.store import Store

ORIGIN = "prompt"
REFUSED_CALL_TAG = (
    "refused:"  # before the id of the tool call that a person refused with these words
)
MAX_CHARS = 1_000_000  # nobody types more; what is pasted is no rule
_MAX_RULES = 5_000
_MIN_NEARNESS = 0.4  # by the vectors that are kept, which are of title and body: a rule further off says something else
_MAX_SAID_CHARS = 400
_MAX_NEAR = 12  # so many are compared again, body by body


class KeptRule(NamedTuple):  # a rule that was written, and what that did
    found: FoundRule
    done: Done


def load_english() -> None:
    """So that no prompt waits for it."""
    language("en")
    learned_judge("en")


def read_prompt(app: App, text: str) -> Draft:
    """Redacted before anything else looks at it, then without what we ourselves put in front of the agent."""
    if len(text) > MAX_CHARS:
        return find_rules("").drop("too long to have been typed")
    return find_rules(without_ours(app.redactor.clean(storable(text)).text))


def capture_prompt(
    app: App, draft: Draft, *, session: str, at: Moment | None = None, refuses: str = ""
) -> str:
    """Keep what a prompt states, count and log what became of it. Returns the notice."""
    shown = (
        session_ledger.texts_shown(app, session) if draft.found else ()
    )  # nothing is known of a past session
    kept = keep_rules(app, draft, group=session, shown=shown, at=at, refuses=refuses)
    verdict = draft.verdict
    count_verdict(app, verdict)
    app.log.line(
        "capture",
        session=session,
        action=verdict.action,
        type=verdict.rule_type,
        why=verdict.reason,
    )
    return kept_notice(kept)


def keep_rules(
    app: App,
    draft: Draft,
    *,
    group: str = "",
    shown: Sequence[str] = (),
    at: Moment | None = None,
    refuses: str = "",
) -> list[KeptRule]:
    """Each rule in the store that its wording reaches; none that only quotes what was `shown` from memory. `at`: when
    it was said, where that was not just now. `refuses`: the tool call that was refused with these words."""
    kept = []
    for found in draft.found:
        if found.scope is Scope.PROJECT and app.project is None:
            app.log.line("capture", dropped="no project here")
            continue
        standing = load_rules(app.reader(found.scope), Status.ACTIVE, Status.CANDIDATE)
        is_quote = bool(shown) and turns.is_quote(found.rule, turns.runs_of(shown))
        # Said again by the person, a rule that is known counts.
        if is_quote and not any(rule_relations.says_same(found.rule, old.body) for old in standing):
            app.log.line("capture", dropped="an echo")
        else:
            near = _nearness(app, found.scope, found.rule, standing)
            kept.append(KeptRule(found, _keep_rule(app, found, near, group, at, refuses)))
    return kept


def kept_notice(kept: Sequence[KeptRule]) -> str:
    """One line for the person's eyes; empty where nothing new is in force."""
    new = []
    for found, done in kept:
        first = done.plan.changes[0] if done.plan else None
        after = (
            {"status": first.memory.status}
            if isinstance(first, Create)
            else getattr(first, "after", {})
        )
        if after.get("status") == Status.ACTIVE:
            new.append(found.rule)
    return notices.rules_line(new)


def count_verdict(app: App, verdict: FoundRule) -> None:
    count_captured(
        app,
        f"dropped: {verdict.reason}" if verdict.action is Action.DROPPED else str(verdict.action),
    )


def load_rules(store: Store, *statuses: Status) -> list[Rule]:
    found = store.find(Query(kinds=(Kind.RULE,), statuses=statuses, limit=_MAX_RULES))
    return [rule for rule in found if isinstance(rule, Rule)]


def new_rule(app: App, words: str, *, at: Moment | None = None, **fields: Any) -> Rule:
    """`at`: when it was said, where that was not just now."""
    now = at or app.clock.now()
    fields |= {"created_at": now, "reinforced_at": now, "last_active_at": now}
    return Rule(id=app.mint.draw("rule"), title=first_line_title(words), body=words, **fields)


def supersede(store: Store, new: Rule) -> list[Update]:
    """Put out of force what a rule that comes into force contradicts. The chain is kept: each old one names the new."""
    replaced = set(linked_replaced(store, new))
    others = [old for old in load_rules(store, Status.ACTIVE) if old.id != new.id]
    gone = [
        old for old in others if old.id in replaced or rule_relations.is_opposed(new.body, old.body)
    ]
    return [
        Update.between(old, replace(old, status=Status.SUPERSEDED, superseded_by=new.id))
        for old in gone
    ]


def linked_replaced(store: Store, rule: Memory) -> list[str]:
    """The rules that it takes the place of once it is in force."""
    bridges = store.bridges(rule.id)
    return [
        one.target for one in bridges if one.type is BridgeType.REPLACES and one.source == rule.id
    ]


def _keep_rule(
    app: App, found: FoundRule, near: dict[str, float], group: str, at: Moment | None, refuses: str
) -> Done:
    def make(store: Store) -> Plan:
        if at is not None and _was_put_away(store, found.rule, at):
            return Plan()
        now = at or app.clock.now()
        is_sure = found.action is Action.STORED
        by_relation: dict[Relation, list[Rule]] = {relation: [] for relation in Relation}
        for old in load_rules(store, Status.ACTIVE, Status.CANDIDATE):
            by_relation[rule_relations.relation(found.rule, old.body, near.get(old.id))].append(old)
        for known in by_relation[Relation.SAME][:1]:
            again = replace(
                known, seen=known.seen + 1, last_active_at=max(known.last_active_at, now)
            )
            # Said for sure, or in another session, what waited in the inbox waits no longer.
            if known.status is Status.CANDIDATE and (
                is_sure or bool(group and group != known.group)
            ):
                again = replace(again, status=Status.ACTIVE, lane=Lane.USER)
                return Plan.of([Update.between(known, again), *supersede(store, again)])
            return Plan.of([Update.between(known, again)])
        tags = (f"{REFUSED_CALL_TAG}{refuses}",) if refuses else ()
        rule = new_rule(
            app, found.rule, at=now, rule_type=found.rule_type or RuleType.PREFERENCE, origin=ORIGIN, lane=Lane.USER,
            group=group, tags=tags, said=found.span.strip()[:_MAX_SAID_CHARS],
        )  # fmt: skip
        opposed = [old for old in by_relation[Relation.OPPOSED] if old.status is Status.ACTIVE]
        unsure = [old for old in by_relation[Relation.MAY_REPLACE] if old.status is Status.ACTIVE]
        if not is_sure or unsure:  # two that may contradict each other do not stand side by side
            waits = replace(rule, status=Status.CANDIDATE)
            bridges = [
                Bridge(rule.id, old.id, BridgeType.REPLACES, 1.0, now, ORIGIN)
                for old in (*opposed, *unsure)
            ]
            return Plan.of([Create(waits), *map(Link, bridges)])
        newer = next((old for old in opposed if old.last_active_at > now), None)
        if newer is not None:
            return Plan.of(
                [Create(replace(rule, status=Status.SUPERSEDED, superseded_by=newer.id))]
            )
        gone = [
            Update.between(old, replace(old, status=Status.SUPERSEDED, superseded_by=rule.id))
            for old in opposed
        ]
        return Plan.of([Create(rule), *gone])

    return app.commit(found.scope, "capture", make, _summary, actor=Lane.USER)


def _was_put_away(store: Store, rule: str, said_at: Moment) -> bool:
    """Somebody decided on this very rule after it was said: what comes late does not bring it back."""
    for old in load_rules(store, Status.ARCHIVED, Status.SUPERSEDED):
        if not rule_relations.says_same(rule, old.body):
            continue
        newer = store.get(old.superseded_by) if old.superseded_by else None
        changes = store.log(limit=1, memory=old.id) if old.superseded_by is None else []
        if (newer is not None and newer.last_active_at > said_at) or (
            changes and changes[0].at > said_at
        ):
            return True
    return False


def _nearness(app: App, scope: Scope, sentence: str, known: Sequence[Rule]) -> dict[str, float]:
    """How near the rules that stand are by their vectors; those that are far off are left out. English alone: the
    shipped model knows no other language. Empty where there is no model: words decide alone."""
    rules = [rule for rule in known if language_code(rule.body) == "en"]
    if not rules or language_code(sentence) != "en":
        return {}
    try:
        embedder = app.embedder
        (vector,) = embedder.embed([sentence])
        kept = app.reader(scope).similarity(
            embedder.id, vector.tobytes(), [rule.id for rule in rules]
        )
        # A rule without a vector is of these minutes: the likeliest to be said again.
        rules = [rule for rule in rules if kept.get(rule.id, 1.0) >= _MIN_NEARNESS]
        rules = sorted(rules, key=lambda rule: -kept.get(rule.id, 1.0))[:_MAX_NEAR]
        vectors = embedder.embed([rule.body for rule in rules])
    except (ModelError, BadInput):
        return {}
    return {rule.id: float(own @ vector) for rule, own in zip(rules, vectors, strict=False)}


def _summary(plan: Plan) -> str:
    first, more = plan.changes[0], len(plan.changes) - 1
    if isinstance(first, Update):
        raised = " and is in force now" if "status" in first.after else ""
        return f"Rule {first.id} already says this; counted again{raised}."
    rule = first.memory if isinstance(first, Create) else None
    if rule is None or rule.status is Status.SUPERSEDED:
        return (
            f"Rule {rule.id} is not in force: {rule.superseded_by} is newer and contradicts it."
            if rule
            else ""
        )
    if rule.status is Status.CANDIDATE:
        return f"Rule {rule.id} waits in the inbox" + (f"; it may replace {more}." if more else ".")
    return f"Rule {rule.id} is in force" + (f"; it supersedes {more}." if more else ".")
