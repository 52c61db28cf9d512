"""Capture: what is kept of what a person says. Redacts, takes out our own echo, lets `capture` decide, stores.

A rule that is sure is in force at once; an unsure one waits in the inbox (inbox.py). The same said again is counted,
the opposite supersedes, and the chain stays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from recollect.base.errors import BadInput
from recollect.base.moment import Moment
from recollect.base.text import clip, one_line, storable, title_from
from recollect.capture import contrast, echo, languages, learned
from recollect.capture.contrast import Relation
from recollect.capture.draft import Action, Draft, Found, Reach, Sort
from recollect.capture.pipeline import capture as decide
from recollect.model.bridge import Bridge, BridgeType
from recollect.model.codec import Json
from recollect.model.memory import Kind, Lane, Memory, Rule, RuleType, Status
from recollect.model.plan import Change, Create, Link, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Done, Scope, Told
from recollect.ops import echoes, notices
from recollect.ops.app import App
from recollect.ops.here import scope_here
from recollect.ops.rule_nearness import nearness
from recollect.ops.table import Arg
from recollect.ops.tally import count
from recollect.render.inject import without_ours

if TYPE_CHECKING:
    from recollect.store import Store

ORIGIN = "prompt"
REFUSED_CALL_TAG = "refused:"
"""Of a rule that a person stated when refusing a tool call: that call's id."""
MAX_CHARS = 1_000_000
"""Nobody types more; what is pasted is no rule."""
_RULES_READ = 5_000
_TYPES = {
    Sort.PREFERENCE: RuleType.PREFERENCE,
    Sort.CORRECTION: RuleType.CORRECTION,
    Sort.DEVOPS: RuleType.DEVOPS,
}


@dataclass(frozen=True, slots=True)
class Heard:
    """What became of one prompt."""

    kind: str
    scope: str
    rule: str
    action: str
    reason: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A rule that was written, and what that did."""

    found: Found
    done: Done


def capture(
    app: App,
    text: Annotated[str, Arg("What was said; standard input where none is given.", metavar="[TEXT]", stdin=True)] = "-",
    *,
    explain: Annotated[bool, Arg("Show what happened to each sentence, and why; store nothing.")] = False,
    jsonl: Annotated[bool, Arg('Read {"id", "prompt"} lines, print one verdict a line.')] = False,
) -> Told:
    if jsonl:
        lines = [_line(app, line) for line in text.split("\n") if line.strip()]
        return Told("\n".join(lines), {"lines": [json.loads(line) for line in lines], "dry_run": app.dry_run})
    draft = read(app, text)
    verdict = draft.verdict
    facts: dict[str, Json] = {
        **_facts(_heard(verdict)),
        "rules": _rules(draft),
        "language": draft.language.code,
        "dry_run": app.dry_run,
    }
    if explain:
        facts["sentences"] = [
            {
                "text": p.text, "score": round(p.score, 2), "odds": None if p.odds is None else round(p.odds, 2),
                "signals": list(p.signals), "veto": p.veto,
            }
            for p in draft.pieces
        ]  # fmt: skip
        return Told("\n".join(_explained(draft)), facts, app.notes())
    kept = keep(app, draft)
    _count_if_kept(app, verdict)
    facts["memories"] = [id for one in kept for id in one.done.plan.touched()]
    said = [f"{_word(app, one)}: {one.found.rule}" for one in kept]
    return Told("\n".join(said) or f"Nothing is kept: {verdict.reason}.", facts, app.notes())


def hear(text: str) -> Heard:
    """Of text that holds no secret; nothing is stored."""
    return _heard(decide(without_ours(text)).verdict)


def read(app: App, text: str) -> Draft:
    """Redacted before anything else looks at it, then without what we ourselves put in front of the agent."""
    if len(text) > MAX_CHARS:
        return decide("").drop("too long to have been typed")
    return decide(without_ours(app.redactor.clean(storable(text)).text))


def keep(
    app: App,
    draft: Draft,
    *,
    group: str = "",
    told: Sequence[str] = (),
    at: Moment | None = None,
    refuses: str = "",
) -> list[Kept]:
    """Each rule in the store that its wording reaches; none where there is no project to keep it in, and none that only
    quotes what was `told` from memory. `at`: when it was said, where that was not just now."""
    kept = []
    for found in draft.found:
        scope = Scope.USER if found.reach is Reach.USER else Scope.PROJECT
        if scope is Scope.PROJECT and app.project is None:
            app.log.line("capture", dropped="no project here")
            continue
        if told and echo.is_quote(found.rule, told) and not _is_known(app, scope, found):
            app.log.line("capture", dropped="an echo")
            continue
        kept.append(Kept(found, _stored(app, scope, found, group, at, refuses)))
    return kept


def notice(kept: list[Kept]) -> str:
    """One line for the person's eyes; empty where nothing new is in force."""
    return notices.rules_line([one.found.rule for one in kept if _came_into_force(one.done.plan)])


def _came_into_force(plan: Plan) -> bool:
    match plan.changes[:1]:
        case (Create(memory=rule),):
            return rule.status is Status.ACTIVE
        case (Update(after=after),):
            return dict(after).get("status") == Status.ACTIVE
        case _:
            return False


def _waits(plan: Plan) -> bool:
    first = plan.changes[0]
    return isinstance(first, Create) and first.memory.status is Status.CANDIDATE


def warm() -> bool:
    """So that no prompt waits for it. False: there is no more to do."""
    languages.language("en")
    learned.judge("en")
    return False


def settled(app: App, draft: Draft, *, session: str, at: Moment | None = None, refuses: str = "") -> str:
    """What a prompt states is kept, what became of it counted and logged. Returns the notice. `at`: when it was said,
    where that was not just now. `refuses`: the tool call that was refused with these words."""
    told = echoes.told(app, session) if draft.found else ()  # of a past session nothing is known any more
    kept = keep(app, draft, group=session, told=told, at=at, refuses=refuses)
    verdict = draft.verdict
    _count(app, verdict)
    app.log.line("capture", session=session, action=verdict.action, sort=verdict.sort, why=verdict.reason)
    return notice(kept)


def _count(app: App, verdict: Found) -> None:
    count(app, f"dropped: {verdict.reason}" if verdict.action is Action.DROPPED else str(verdict.action))


def _count_if_kept(app: App, verdict: Found) -> None:
    """No store is made for a count alone."""
    if app.store_path(scope_here(app)) is not None:
        _count(app, verdict)


def superseding(store: Store, new: Rule) -> list[Change]:
    """What a rule that comes into force puts out of force. The chain is kept: each old one names the new."""
    replaced = set(would_replace(store, new))
    active = standing(store, Status.ACTIVE)
    return [
        Update.between(old, replace(old, status=Status.SUPERSEDED, superseded_by=new.id))
        for old in active
        if old.id != new.id and (old.id in replaced or contrast.opposed(new.body, old.body))
    ]


def would_replace(store: Store, rule: Memory) -> list[str]:
    """The rules that it takes the place of once it is in force."""
    bridges = store.bridges(rule.id)
    return [one.target for one in bridges if one.type is BridgeType.REPLACES and one.source == rule.id]


def standing(store: Store, *statuses: Status) -> list[Rule]:
    found = store.find(Query(kinds=(Kind.RULE,), statuses=statuses, limit=_RULES_READ))
    return [rule for rule in found if isinstance(rule, Rule)]


def _stored(app: App, scope: Scope, found: Found, group: str, said_at: Moment | None, refuses: str) -> Done:
    near = nearness(app, scope, found.rule, standing(app.reading(scope), Status.ACTIVE, Status.CANDIDATE))

    def make(store: Store) -> Plan:
        if said_at is not None and _was_put_away(store, found.rule, said_at):
            return Plan.empty()
        now = said_at or app.clock.now()
        is_sure = found.action is Action.STORED
        by_relation: dict[Relation, list[Rule]] = {relation: [] for relation in Relation}
        for old in standing(store, Status.ACTIVE, Status.CANDIDATE):
            by_relation[contrast.relation(found.rule, old.body, near.get(old.id))].append(old)
        if by_relation[Relation.SAME]:
            return _said_again(store, by_relation[Relation.SAME][0], group, now, is_sure=is_sure)
        rule = Rule(
            id=app.mint.draw("rule"),
            title=title_from(found.rule),
            body=found.rule,
            rule_type=_TYPES[found.sort],
            origin=ORIGIN,
            lane=Lane.USER,
            group=group,
            tags=(f"{REFUSED_CALL_TAG}{refuses}",) if refuses else (),
            status=Status.ACTIVE,
            created_at=now,
            reinforced_at=now,
            last_active_at=now,
        )
        opposed = [old for old in by_relation[Relation.OPPOSED] if old.status is Status.ACTIVE]
        unsure = [old for old in by_relation[Relation.MAY_REPLACE] if old.status is Status.ACTIVE]
        if not is_sure or unsure:  # two that may contradict each other do not stand side by side
            waits = replace(rule, status=Status.CANDIDATE)
            bridges = [Bridge(rule.id, old.id, BridgeType.REPLACES, 1.0, now, ORIGIN) for old in (*opposed, *unsure)]
            return Plan.of([Create(waits), *map(Link, bridges)])
        newer = next((old for old in opposed if old.last_active_at > now), None)
        if newer is not None:
            return Plan.of([Create(replace(rule, status=Status.SUPERSEDED, superseded_by=newer.id))])
        gone = [Update.between(old, replace(old, status=Status.SUPERSEDED, superseded_by=rule.id)) for old in opposed]
        return Plan.of([Create(rule), *gone])

    return app.commit(scope, "capture", make, _summary, actor=Lane.USER)


def _said_again(store: Store, known: Rule, group: str, now: Moment, *, is_sure: bool) -> Plan:
    """Said for sure, or in another session, what waited in the inbox waits no longer."""
    is_raised = known.status is Status.CANDIDATE and (is_sure or bool(group and group != known.group))
    status = Status.ACTIVE if is_raised else known.status
    lane = Lane.USER if is_raised else known.lane
    last = max(known.last_active_at, now)
    again = replace(known, seen=known.seen + 1, last_active_at=last, status=status, lane=lane)
    return Plan.of([Update.between(known, again), *(superseding(store, again) if is_raised else [])])


def _is_known(app: App, scope: Scope, found: Found) -> bool:
    """Said again by the person, it counts."""
    known = standing(app.reading(scope), Status.ACTIVE, Status.CANDIDATE)
    return any(_says(found.rule, old) for old in known)


def _was_put_away(store: Store, rule: str, said_at: Moment) -> bool:
    """Somebody decided on this very rule after it was said: what comes late does not bring it back."""
    for old in standing(store, Status.ARCHIVED, Status.SUPERSEDED):
        if not _says(rule, old):
            continue
        if old.superseded_by is None:
            changes = store.log(limit=1, memory=old.id)
            if changes and changes[0].at > said_at:
                return True
        elif (newer := store.get(old.superseded_by)) is not None and newer.last_active_at > said_at:
            return True
    return False


def _says(rule: str, old: Rule) -> bool:
    return old.body.casefold() == rule.casefold() or contrast.same(rule, old.body)


def _summary(plan: Plan) -> str:
    first = plan.changes[0]
    if isinstance(first, Update):
        raised = ", and in force now" if "status" in first.after else ""
        return f"{first.id} says so already; counted once more{raised}."
    if not isinstance(first, Create):
        return "Nothing to change."
    rule, more = first.memory, len(plan.changes) - 1
    if rule.status is Status.SUPERSEDED:
        return f"Rule {rule.id} was said before {rule.superseded_by}, which stays in force."
    if rule.status is Status.CANDIDATE:
        return f"Rule {rule.id} waits in the inbox" + (f"; it may replace {more}." if more else ".")
    return f"Rule {rule.id} is in force" + (f"; it supersedes {more}." if more else ".")


def _word(app: App, kept: Kept) -> str:
    if not kept.done.plan:
        return "Put away since it was said"
    first = kept.done.plan.changes[0]
    if isinstance(first, Update):
        return "Known, counted once more"
    stored = "Waits in the inbox" if _waits(kept.done.plan) else "Stored"
    return f"{stored} ({kept.found.sort}, {kept.found.reach})" + (" [dry run]" if app.dry_run else "")


def _heard(verdict: Found) -> Heard:
    return Heard(str(verdict.sort), str(verdict.reach), verdict.rule, str(verdict.action), verdict.reason)


def _facts(heard: Heard) -> dict[str, Json]:
    return {
        "kind": heard.kind, "scope": heard.scope, "rule": heard.rule, "action": heard.action, "reason": heard.reason,
    }  # fmt: skip


def _rules(draft: Draft) -> list[Json]:
    """Each rule that was found, and what looked like one by its form and was dropped."""
    return [
        {
            "rule": one.rule, "span": one.span, "kind": str(one.sort), "scope": str(one.reach),
            "action": str(one.action), "reason": one.reason,
        }
        for one in (*draft.found, *draft.refused)
    ]  # fmt: skip


def _explained(draft: Draft) -> Iterator[str]:
    verdict = draft.verdict
    yield f"{verdict.action} ({verdict.sort}): {verdict.reason}"
    for one in (*draft.found, *draft.refused):
        yield f"  {one.action}: {one.rule} [{one.sort}, {one.reach}] {one.reason}"
    for piece in draft.pieces:
        why = f", ruled out: {piece.veto}" if piece.veto else ""
        odds = "" if piece.odds is None else f", words {piece.odds:+.1f}"
        yield f"  form {piece.score:+.1f}{odds}{why}  {clip(one_line(piece.text), 80)}"
        if piece.signals:
            yield f"        {'; '.join(piece.signals)}"


def _line(app: App, line: str) -> str:
    """Never a crash: what cannot be read is answered too."""
    id: Json = None
    rules: list[Json] = []
    try:
        row = json.loads(line, parse_constant=_no_number)
        if not isinstance(row, dict):
            raise BadInput("no JSON object", hint="")
        id = row.get("id")
        if not isinstance(row.get("prompt"), str):
            raise BadInput("no prompt in it", hint="")
        draft = read(app, row["prompt"])
        if not app.dry_run:
            keep(app, draft)
            _count_if_kept(app, draft.verdict)
        heard, rules = _heard(draft.verdict), _rules(draft)
    except BadInput as problem:
        heard = Heard("none", "project", "", "dropped", problem.message)
    except (ValueError, RecursionError):
        heard = Heard("none", "project", "", "dropped", "no JSON")
    return json.dumps({"id": id, **_facts(heard), "rules": rules}).replace("\x7f", "\\u007f")


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no JSON")
