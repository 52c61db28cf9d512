"""Keeps the rules that a person states. Redacts, takes out what we ourselves put in, lets `capture` decide, stores. A
rule that is sure is in force at once; an unsure one waits in the inbox. capture/rule_standing.py decides how it stands
to the rules that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from recollect.app import notices, session_ledger
from recollect.app.core import App
from recollect.app.states import count_captured
from recollect.base.errors import BadInput, ModelError
from recollect.base.moment import Moment
from recollect.base.text import counted, cut_middle, first_line_title, storable
from recollect.capture import rule_facts, rule_relations, rule_standing, turns
from recollect.capture.prompt_rules import MAX_CHARS as LOOKED_AT_CHARS
from recollect.capture.prompt_rules import find_rules, learned_judge
from recollect.capture.prompt_text import Action, Draft, FoundRule
from recollect.capture.tables import language, language_code
from recollect.model.memory import BridgeType, Kind, Lane, Memory, Rule, RuleType, Status
from recollect.model.plan import Create, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Done, Scope
from recollect.render.inject import without_ours
from recollect.store import Store

ORIGIN = "prompt"
REFUSED_CALL_TAG = (
    "refused:"  # before the id of the tool call that a person refused with these words
)
MAX_CHARS = 1_000_000  # nobody types more; what is pasted is no rule
# Rules are only looked for at the ends of a long prompt: so much more of it is looked through for secrets and our own
# blocks that none of them is seen in part.
_LOOKED_AT_CHARS = 3 * LOOKED_AT_CHARS
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
    if len(text) > _LOOKED_AT_CHARS:
        text = cut_middle(app.redactor.without_private(text), _LOOKED_AT_CHARS)
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
    notice = kept_notice(app, kept)
    if draft.left_out:
        left_out = f"{counted(draft.left_out, 'more rule')} dictated at once not kept: say the rest in another prompt"
        app.log.line("capture", session=session, dropped=f"{draft.left_out} dictated too many")
        notice = f"{notice} \u00b7 {left_out}" if notice else f"Recollect: {left_out}"
    return notice


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
    for found in _each_once(draft.found):
        if found.scope is Scope.PROJECT and app.project is None:
            app.log.line("capture", dropped="no project here")
            continue
        if _is_echo(app, found, shown):
            app.log.line("capture", dropped="an echo")
        else:
            kept.append(KeptRule(found, _keep_rule(app, found, group, at, refuses)))
    return kept


def _each_once(rules: Sequence[FoundRule]) -> list[FoundRule]:
    """Said twice in one prompt it is said once: its undo takes it back."""
    first_said: dict[str, FoundRule] = {}
    for found in rules:
        first_said.setdefault(rule_facts.rule_key(found.rule), found)
    return list(first_said.values())


def _is_echo(app: App, found: FoundRule, shown: Sequence[str]) -> bool:
    """It only quotes what memory showed. What the person dictates is no quote, nor is a rule that they stated before:
    it counts again, and one that another took the place of comes back."""
    if found.is_dictated or not shown:
        return False
    if not turns.is_whole_quote(found.rule, shown):
        return False
    reader = app.reader(found.scope)
    stated = load_rules(reader, Status.ACTIVE, Status.CANDIDATE, Status.SUPERSEDED)
    return not any(rule_relations.says_same(found.rule, old.body) for old in stated)


def kept_notice(app: App, kept: Sequence[KeptRule]) -> str:
    """One line for the person's eyes; empty where nothing new is in force."""
    noted = []
    for found, done in kept:
        first = done.plan.changes[0] if done.plan else None
        after = getattr(first, "after", {})
        status = first.memory.status if isinstance(first, Create) else after.get("status")
        if status == Status.ACTIVE:
            noted.append(
                notices.NotedRule(
                    words=found.rule,
                    is_everywhere=found.scope is Scope.USER,
                    instead_of=replaced_words(app, done),
                    may_contradict=paired_words(app, done),
                    change=done.change or "",
                )
            )
    changes = [done.change for _, done in kept if done.change]
    return notices.rules_line(noted, last_change=changes[-1] if changes else "")


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


def linked_replaced(store: Store, rule: Memory) -> list[str]:
    """The rules that it takes the place of once it is in force."""
    bridges = store.bridges(rule.id)
    return [
        one.target for one in bridges if one.type is BridgeType.REPLACES and one.source == rule.id
    ]


def _keep_rule(app: App, found: FoundRule, group: str, at: Moment | None, refuses: str) -> Done:
    near = nearness(app, found.scope, found.rule)

    def make(store: Store) -> Plan:
        if at is not None and _was_put_away(store, found.rule, at):
            return Plan()
        rule = new_rule(
            app,
            found.rule,
            at=at,
            rule_type=found.rule_type or RuleType.PREFERENCE,
            origin=ORIGIN,
            lane=Lane.USER,
            group=group,
            tags=(f"{REFUSED_CALL_TAG}{refuses}",) if refuses else (),
            said=found.span.strip()[:_MAX_SAID_CHARS],
        )
        among = surroundings(app, found.scope, store, near, is_a_persons_word=True)
        return rule_standing.state_rule(rule, among, is_sure=found.action is Action.STORED)

    return app.commit(found.scope, "capture", make, _summary, actor=Lane.USER)


def surroundings(
    app: App,
    scope: Scope,
    store: Store,
    near: Mapping[str, float],
    *,
    is_a_persons_word: bool,
) -> rule_standing.Surroundings:
    """What a rule of this store is compared with. `is_a_persons_word`: whoever heard it, a person said it."""
    elsewhere = [
        rule
        for other, reader in app.scopes()
        if other is not scope
        for rule in load_rules(reader, Status.ACTIVE)
    ]
    return rule_standing.Surroundings(
        known=load_rules(store, Status.ACTIVE, Status.CANDIDATE),
        elsewhere=elsewhere,
        near=near,
        is_a_persons_word=is_a_persons_word,
    )


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


def nearness(app: App, scope: Scope, sentence: str) -> dict[str, float]:
    """How near the known rules of a store are by their vectors; those that are far off are left out. English alone:
    the shipped model knows no other language. Empty where there is no model: words decide alone."""
    if app.store_path(scope) is None or language_code(sentence) != "en":
        return {}
    standing = load_rules(app.reader(scope), Status.ACTIVE, Status.CANDIDATE)
    rules = [rule for rule in standing if language_code(rule.body) == "en"]
    if not rules:
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


def replaced_words(app: App, done: Done) -> list[str]:
    """The rules in force that a change put out of force in favour of another, in their own words."""
    updates = [change for change in done.plan.changes if isinstance(change, Update)]
    replaced = [
        _as_written(app, done, update.id)
        for update in updates
        if update.after.get("superseded_by") and update.before.get("status") == Status.ACTIVE
    ]
    return [rule.body for rule in replaced if rule is not None]


def paired_words(app: App, done: Done) -> list[str]:
    """The rules that one in force may contradict since this change, in their own words."""
    ids: list[str] = []
    for id in done.plan.touched():
        known = _as_written(app, done, id)
        if known is not None and known.id == id and known.status is Status.ACTIVE:
            ids += rule_standing.paired_ids(known)
    others = (_as_written(app, done, id) for id in dict.fromkeys(ids))
    return [other.body for other in others if other and other.status is Status.ACTIVE]


def _as_written(app: App, done: Done, id: str) -> Memory | None:
    """A memory as the change left it: a reader does not see what is not committed yet, of the same prompt."""
    store = app.reader(done.scope) if done.dry_run else app.writer(done.scope)
    elsewhere = app.exact(id)
    return store.get(id) or (elsewhere[1] if elsewhere else None)


def _summary(plan: Plan) -> str:
    first, more = plan.changes[0], len(plan.changes) - 1
    if isinstance(first, Update):
        raised = " and is in force now" if "status" in first.after else ""
        return f"Rule {first.id} already says this; counted again{raised}."
    rule = first.memory if isinstance(first, Create) else None
    if rule is None:
        return ""
    if rule.status is Status.SUPERSEDED:
        return f"Rule {rule.id} is not in force: {rule.superseded_by} is newer and contradicts it."
    if rule.status is Status.CANDIDATE:
        return f"Rule {rule.id} waits in the inbox" + (f"; it may replace {more}." if more else ".")
    pairs = len(rule_standing.paired_ids(rule))
    beside = f"; it may contradict {pairs}: `recollect inbox`" if pairs else ""
    return (
        f"Rule {rule.id} is in force" + (f"; it supersedes {more}" if more else "") + f"{beside}."
    )
