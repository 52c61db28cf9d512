"""Rules: lists and adds them, captures them from a text, and decides on those that wait in the inbox. `capture` keeps
the rules in what a person said (app/rule_keeping.py), and says why; those that are not sure enough wait until a person
accepts, edits or rejects them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

from recollect.app import rule_keeping
from recollect.app.core import App
from recollect.app.rule_keeping import KeptRule, linked_replaced, new_rule
from recollect.base.errors import BadInput
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import clip, first_line_title, one_line, storable
from recollect.capture import prompt_rules, rule_standing
from recollect.capture.prompt_text import Action, Draft, FoundRule, Piece
from recollect.jobs.rule_contexts import with_contexts
from recollect.lifecycle import edits
from recollect.model.codec import Json
from recollect.model.memory import (
    ACCEPTED_TAG,
    SHARED_TAG,
    Kind,
    Lane,
    Memory,
    Rule,
    RuleType,
    Status,
)
from recollect.model.plan import Create, Plan, Update
from recollect.model.result import Card, Cards, Done, OtherRule, Scope, Summary
from recollect.ops.library import Limit, Muted, card, list_kind
from recollect.ops.memories import Expect, Topics, User, as_one, refuse_unexpected, scope_of
from recollect.ops.table import Arg
from recollect.ops.team import begin_sharing, finish_sharing
from recollect.redact import is_all_hidden
from recollect.render.blocks import SHORT_ID

if TYPE_CHECKING:
    from recollect.store import Store

Ids = Annotated[
    tuple[str, ...], Arg("The rules: ids, or numbers of the list.", metavar="ID", many=True)
]
_SENTENCES = {
    Action.STORED: '"{0}" is a rule: {1}.',
    Action.INBOX: '"{0}" may be a rule and waits for you in the inbox: {1}.',
    Action.DROPPED: '"{0}" is not a rule: {1}.',
}


def listing(
    app: App,
    *,
    status: Annotated[Status, Arg("Only rules with this status.")] = Status.ACTIVE,
    type: Annotated[
        RuleType | None, Arg("Only rules of this type; lessons are of type failure.")
    ] = None,
    topic: Annotated[str | None, Arg("Only rules with this topic.")] = None,
    muted: Muted = False,
    limit: Limit = 50,
) -> Cards:
    return list_kind(app, Kind.RULE, status, limit, muted=muted, rule_type=type, topic=topic)


def add(
    app: App,
    text: Annotated[
        str,
        Arg("The rule, one clear sentence; - reads standard input.", metavar="TEXT", stdin=True),
    ],
    *,
    type: Annotated[RuleType, Arg("What kind of rule it is.")] = RuleType.PREFERENCE,
    topics: Topics = (),
    said: Annotated[str, Arg("The words it was made from.", metavar="TEXT")] = "",
    session: Annotated[str, Arg("The session they were said in.", metavar="ID")] = "",
    user: User = False,
    team: Annotated[
        bool, Arg("Share it with the team; outside a project, for all that the team works on.")
    ] = False,
) -> Done:
    """The same rule in another spelling is one rule with a count, not two."""
    words = _read_rule(app, text, "rule add")
    if team:
        if user or app.actor == "agent":
            problem = (
                "Your own store never leaves this machine."
                if user
                else "Only a person can share with the team."
            )
            raise BadInput(problem, hint="Leave out --user, or --team.")
        scope, team_notes = begin_sharing(app)
    else:
        scope, team_notes = scope_of(user), ()
    named, quoted = app.redact_topics(topics), app.redact_text("words", said, max_chars=2_000)
    near = rule_keeping.nearness(app, scope, words)

    def make(store: Store) -> Plan:
        rule = new_rule(
            app,
            words,
            topics=named,
            rule_type=type,
            origin=app.actor,
            lane=Lane.AGENT if app.actor == "agent" else Lane.USER,
            said=quoted,
            group=storable(session),
            tags=(SHARED_TAG,) if team else (),
        )
        among = rule_keeping.surroundings(
            app, scope, store, near, is_a_persons_word=app.actor != "agent"
        )
        return rule_standing.state_rule(rule, among, is_sure=True)

    def say(plan: Plan) -> str:
        is_known = isinstance(plan.changes[0], Update)
        state = "already says this; counted again" if is_known else "is in force"
        if scope is Scope.USER and not is_known:
            state += " in every project"
        return f"Rule {plan.touched()[0]} {state}."

    done = app.commit(scope, "rule add", make, say)
    notes = (*_consequences(app, done), *team_notes, *done.notes)
    return finish_sharing(app, replace(done, notes=notes)) if team else replace(done, notes=notes)


def _consequences(app: App, done: Done) -> list[str]:
    """What a rule that came into force means for others, in sentences."""
    notes = [
        f"It replaces \u201c{clip(old, 120)}\u201d; `recollect undo` takes that back."
        for old in rule_keeping.replaced_words(app, done)
    ]
    notes += (
        f"It may contradict \u201c{clip(old, 120)}\u201d: both hold until you decide, `recollect inbox`."
        for old in rule_keeping.paired_words(app, done)
    )
    return notes


def _read_rule(app: App, text: str, command: str) -> str:
    words = one_line(app.redact_text("rule", text, max_chars=2_000))
    if not words:
        raise BadInput("The rule is empty.", hint=f'`recollect {command} "Use pnpm, never npm"`')
    if is_all_hidden(words):
        hint = "Say it without the secret: what is private is never stored."
        raise BadInput("Nothing is left of the rule: all of it is private or a secret.", hint=hint)
    return words


def list_inbox(app: App, *, limit: Limit = 50) -> Cards:
    """Each with the rules in force that it would replace. After them rules in force that may contradict another."""
    cards = list_kind(app, Kind.RULE, Status.CANDIDATE, limit)
    waiting = []
    for found in cards.cards:
        store = app.reader(found.scope)
        linked = (store.get(id, follow=False) for id in linked_replaced(store, found.memory))
        replaces = tuple(old.id for old in linked if old and old.status is Status.ACTIVE)
        pairs = _standing_pairs(app, found.memory)
        waiting.append(replace(found, replaces=replaces, contradicts=pairs))
    pairs_in_force = _list_pairs(app)
    shown = (*with_contexts(app, waiting), *pairs_in_force)[:limit]
    return replace(
        cards,
        cards=shown,
        total=cards.total + len(pairs_in_force),
        what="rules" if shown else "rules wait in the inbox",
    )


def _list_pairs(app: App) -> list[Card]:
    """Rules in force that may contradict another one in force, the newest first."""
    found = []
    for scope, store in app.scopes():
        for rule in rule_keeping.load_rules(store, Status.ACTIVE):
            if contradicts := _standing_pairs(app, rule):
                found.append(replace(card(app, scope, rule), contradicts=contradicts))
    return sorted(found, key=lambda pair: pair.memory.created_at, reverse=True)


def _standing_pairs(app: App, rule: Memory) -> tuple[OtherRule, ...]:
    """The rules in force that it may contradict; those that are gone since are no question any more."""
    known = (app.exact(id) for id in rule_standing.paired_ids(rule))
    others = [found[1] for found in known if found and found[1].status is Status.ACTIVE]
    return tuple(
        OtherRule(id=other.id, body=other.body, is_newer=other.created_at > rule.created_at)
        for other in others
    )


class Keep(StrEnum):  # of two rules that may contradict each other
    BOTH = "both"
    NEWER = "newer"
    OLDER = "older"


def settle(
    app: App,
    id: Annotated[str, Arg("One of the two rules.", metavar="ID")],
    other: Annotated[str, Arg("The other one.", metavar="ID")],
    *,
    keep: Annotated[Keep, Arg("What stays in force.")],
) -> Done:
    """The rule that does not stay is superseded by the other, or archived where it is in another store."""
    # Of two that were said in the same second, the one that is tagged with the other came later.
    found = sorted(
        (app.find(id), app.find(other)),
        key=lambda place: (place[1].created_at, bool(rule_standing.paired_ids(place[1]))),
    )
    (old_scope, older), (new_scope, newer) = found
    if not isinstance(older, Rule) or not isinstance(newer, Rule) or older.id == newer.id:
        raise BadInput(
            "These are not two rules.", hint="`recollect inbox list` shows which wait for you."
        )
    asked = (*rule_standing.paired_ids(older), *rule_standing.paired_ids(newer))
    if older.id not in asked and newer.id not in asked:
        raise BadInput(
            "There is nothing to decide between these two.",
            hint="`recollect inbox list` shows what waits for you.",
        )
    lost = {Keep.BOTH: None, Keep.NEWER: older, Keep.OLDER: newer}[keep]
    rules = {old_scope: [older, newer]}
    if old_scope is not new_scope:
        rules = {old_scope: [older], new_scope: [newer]}
    winner = newer.id if lost is older else older.id
    superseded_by = winner if old_scope is new_scope else None

    def commit(scope: Scope) -> Done:
        def make(store: Store) -> Plan:
            current = [store.get(rule.id, follow=False) or rule for rule in rules[scope]]
            return rule_standing.settle(
                [rule for rule in current if isinstance(rule, Rule)],
                pair=(older.id, newer.id),
                lost=lost.id if lost else None,
                superseded_by=superseded_by,
            )

        return app.commit(scope, "inbox settle", make, lambda _: _say_settled(older, newer, keep))

    with app.as_one_change():
        return as_one([commit(scope) for scope in rules])


def _say_settled(older: Rule, newer: Rule, keep: Keep) -> str:
    if keep is Keep.BOTH:
        return f"Rules {older.id} and {newer.id} are both in force."
    kept, gone = (newer, older) if keep is Keep.NEWER else (older, newer)
    return f"Rule {kept.id} is in force, {gone.id} no longer is."


def accept(app: App, ids: Ids) -> Done:
    return _accept_rules(app, ids, "inbox accept", None)


def edit(
    app: App,
    id: Annotated[str, Arg("The rule's id.", metavar="ID")],
    text: Annotated[
        str, Arg("The rule as it should read; - reads standard input.", metavar="TEXT", stdin=True)
    ],
    *,
    expect: Expect = None,
) -> Done:
    return _accept_rules(app, (id,), "inbox edit", _read_rule(app, text, "inbox edit ID"), expect)


def reject(app: App, ids: Ids) -> Done:
    def commit(scope: Scope, rules: list[Rule]) -> Done:
        def make(store: Store) -> Plan:
            return edits.archive(*(store.get(rule.id, follow=False) or rule for rule in rules))

        return app.commit(
            scope, "inbox reject", make, lambda _: _say(rules, "archived; `restore` brings {} back")
        )

    return _decide(app, ids, commit)


def _accept_rules(
    app: App, ids: tuple[str, ...], op: str, words: str | None, expect: str | None = None
) -> Done:
    """What a person accepts is as good as said: it supersedes what it contradicts."""

    def commit(scope: Scope, rules: list[Rule]) -> Done:
        def make(store: Store) -> Plan:
            among = rule_keeping.surroundings(
                app, scope, store, {}, is_a_persons_word=app.actor != "agent"
            )
            stored = {rule.id: rule for rule in among.known}
            current = dict(stored)
            for rule in rules:  # of two that contradict each other, the later one holds
                waiting = stored.get(rule.id, rule)
                refuse_unexpected(waiting, expect)
                accepted = _accepted(waiting, words, app.clock.now())
                among = among._replace(known=list(current.values()))
                linked = linked_replaced(store, waiting)
                for changed in rule_standing.accept_rule(accepted, among, linked):
                    current[changed.id] = changed
            return Plan.of(
                Update.between(stored[id], rule)
                for id, rule in current.items()
                if id in stored and rule != stored[id]
            )

        return app.commit(scope, op, make, lambda _: _say(rules, "in force"))

    done = _decide(app, ids, commit)
    return replace(done, notes=(*_consequences(app, done), *done.notes))


def _accepted(rule: Rule, words: str | None, now: Moment) -> Rule:
    """In force from now on, in other words where a person gave some."""
    tags = tuple(dict.fromkeys((*rule.tags, ACCEPTED_TAG)))
    new = replace(rule, status=Status.ACTIVE, reinforced_at=now, last_active_at=now, tags=tags)
    return new if words is None else replace(new, body=words, title=first_line_title(words))


def _say(rules: Sequence[Rule], what: str) -> str:
    if len(rules) == 1:
        return f"Rule {rules[0].id} is {what.format('it')}."
    return f"{len(rules)} rules are {what.format('them')}."


def _not_waiting(app: App, name: str, memory: Memory) -> BadInput:
    """The inbox also lists pairs of rules in force, which another command decides."""
    others = _standing_pairs(app, memory) if memory.status is Status.ACTIVE else ()
    if not others:
        return BadInput(
            f"{name} does not wait in the inbox.", hint="`recollect inbox list` shows what does."
        )
    other = others[0]
    pair = f"{memory.id[-SHORT_ID:]} {other.id[-SHORT_ID:]}"
    return BadInput(
        f"{name} (\u201c{clip(one_line(memory.body), 60)}\u201d) is in force. It waits because it may contradict"
        f" \u201c{clip(one_line(other.body), 60)}\u201d.",
        hint=f"`recollect inbox settle {pair} --keep both|newer|older` decides on the two.",
    )


def _decide(app: App, ids: Iterable[str], commit: Callable[[Scope, list[Rule]], Done]) -> Done:
    """One change, in both stores; each store's rules in the order in which they were said."""
    found: dict[Scope, dict[str, Rule]] = {}
    for id in ids:
        scope, memory = app.find(id)
        if not isinstance(memory, Rule) or memory.status is not Status.CANDIDATE:
            raise _not_waiting(app, id, memory)
        found.setdefault(scope, {})[memory.id] = memory
    with app.as_one_change():
        return as_one(
            [
                commit(scope, sorted(r.values(), key=lambda one: one.created_at))
                for scope, r in found.items()
            ]
        )


def capture(
    app: App,
    text: Annotated[
        str, Arg("What was said; by default read from standard input.", "[TEXT]", stdin=True)
    ] = "-",
    *,
    explain: Annotated[
        bool, Arg("Say what happens to each sentence, and why; store nothing.")
    ] = False,
    numbers: Annotated[bool, Arg("With --explain: show the scores, too.")] = False,
    jsonl: Annotated[bool, Arg('Read {"id", "prompt"} lines, print one verdict per line.')] = False,
) -> Summary:
    if jsonl:
        rows: list[Json] = [_capture_line(app, line) for line in text.split("\n") if line.strip()]
        lines = "\n".join(json.dumps(row).replace("\x7f", "\\u007f") for row in rows)
        return Summary(lines, {"lines": rows, "dry_run": app.dry_run}, is_verbatim=True)
    draft = rule_keeping.read_prompt(app, text)
    verdict = draft.verdict
    facts: dict[str, Json] = {
        **_facts(verdict), "rules": _rule_facts(draft), "language": draft.language.code, "dry_run": app.dry_run,
    }  # fmt: skip
    if explain or numbers:
        facts["sentences"] = [
            {"text": piece.text, "score": round(piece.score, 2), "signals": list(piece.signals), "veto": piece.veto,
             "odds": None if piece.odds is None else round(piece.odds, 2)}
            for piece in draft.pieces
        ]  # fmt: skip
        return Summary("\n".join(_explanation(draft, numbers=numbers)), facts, app.notes())
    kept = _keep(app, draft)
    facts["memories"] = [id for one in kept for id in one.done.plan.touched()]
    told = []
    for one in kept:
        first = one.done.plan.changes[0] if one.done.plan else None
        outcome = "Already known; counted again" if first else "Not kept: you rejected it later"
        if isinstance(first, Create):
            stored = "Waits in the inbox" if first.memory.status is Status.CANDIDATE else "Stored"
            outcome = f"{stored} ({one.found.rule_type}, {one.found.scope})" + (
                " [dry run]" if app.dry_run else ""
            )
        told.append(f"{outcome}: {one.found.rule}")
    return Summary("\n".join(told) or f"Nothing is kept: {verdict.reason}.", facts, app.notes())


def _keep(app: App, draft: Draft) -> list[KeptRule]:
    kept = rule_keeping.keep_rules(app, draft)
    if app.store_path(app.scope) is not None:  # no store is made for a count alone
        rule_keeping.count_verdict(app, draft.verdict)
    return kept


def _explanation(draft: Draft, *, numbers: bool) -> Iterator[str]:
    if not draft.found:
        yield f"Nothing would be kept: {draft.verdict.reason}."
    for one in draft.found:
        begins = "Would be in force" if one.action is Action.STORED else "Would wait in the inbox"
        where = "this project" if one.scope is Scope.PROJECT else "all projects"
        yield f"{begins}: {one.rule} ({one.rule_type}, for {where})"
    for piece in draft.pieces:
        action, reason = judge_sentence(draft, piece)
        yield _SENTENCES[action].format(clip(one_line(piece.text), 80), reason)
        if numbers:
            words = (
                ""
                if piece.odds is None
                else f", words {piece.odds:+.1f} (waits from {prompt_rules.WAITS:+.1f})"
            )
            signals = f"; {'; '.join(piece.signals)}" if piece.signals else ""
            yield f"    form {piece.score:+.1f} (waits from {prompt_rules.INBOX:+.1f}){words}{signals}"


def judge_sentence(draft: Draft, piece: Piece) -> tuple[Action, str]:
    """What becomes of a sentence, and why."""
    action = prompt_rules.action_of(piece)
    if piece.veto:
        return action, f"it is {piece.veto}"
    if action is Action.DROPPED:
        return action, "nothing in it is meant to last"
    if draft.whole:
        return Action.INBOX if draft.found else Action.DROPPED, f"it is {draft.whole}"
    weights = {signal.name: signal.weight for signal in draft.language.signals}
    strongest = sorted(piece.signals, key=lambda name: -weights.get(name, 0.0))[:3]
    return (
        action,
        f"it reads like one ({'; '.join(strongest)})" if strongest else "it is worded like one",
    )


def _facts(found: FoundRule) -> dict[str, Json]:
    return {
        "kind": str(found.rule_type or "none"), "scope": str(found.scope), "rule": found.rule,
        "action": str(found.action), "reason": found.reason,
    }  # fmt: skip


def _rule_facts(draft: Draft) -> list[Json]:
    """Each rule that was found, and what looked like one by its form and was dropped."""
    return [
        {"rule": one.rule, "span": one.span, **_facts(one)}
        for one in (*draft.found, *draft.refused)
    ]


def _capture_line(app: App, line: str) -> dict[str, Json]:
    """Never a crash: what cannot be read is answered too."""
    try:
        row = json.loads(
            line, parse_constant=lambda _: None
        )  # what JSON has not, such as NaN, is missing
    except (ValueError, RecursionError):
        row = None
    id: Json = row.get("id") if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(row.get("prompt"), str):
        reason = "no prompt in it" if isinstance(row, dict) else "no JSON object"
        return {
            "id": id,
            **_facts(FoundRule("", None, Scope.PROJECT, Action.DROPPED, reason, 0.0)),
            "rules": [],
        }
    draft = rule_keeping.read_prompt(app, row["prompt"])
    if not app.dry_run:
        _keep(app, draft)
    return {"id": id, **_facts(draft.verdict), "rules": _rule_facts(draft)}
