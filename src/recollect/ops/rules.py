"""Rules: lists and adds them, captures them from a text, and decides on those that wait in the inbox. `capture` keeps
the rules in what a person said (app/rule_keeping.py), and says why; those that are not sure enough wait until a person
accepts, edits or rejects them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

from recollect.app import rule_keeping
from recollect.app.core import App
from recollect.app.rule_keeping import KeptRule, linked_replaced, new_rule, supersede
from recollect.base.errors import BadInput
from recollect.base.structs import replace
from recollect.base.text import clip, first_line_title, one_line, storable
from recollect.capture import prompt_rules, rule_relations
from recollect.capture.prompt_text import Action, Draft, FoundRule, Piece
from recollect.jobs.rule_contexts import with_contexts
from recollect.lifecycle import edits, sharing
from recollect.model.codec import Json
from recollect.model.memory import ACCEPTED_TAG, SHARED_TAG, Kind, Lane, Rule, RuleType, Status
from recollect.model.plan import Create, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Cards, Done, Scope, Summary
from recollect.ops.library import Limit, Muted, list_kind
from recollect.ops.memories import Expect, Topics, User, as_one, refuse_unexpected, scope_of
from recollect.ops.table import Arg
from recollect.ops.team import begin_sharing, finish_sharing

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
    topic: Annotated[str | None, Arg("Only rules with this topic.")] = None,
    muted: Muted = False,
    limit: Limit = 50,
) -> Cards:
    return list_kind(app, Kind.RULE, status, limit, muted=muted, topic=topic)


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
    """The same sentence, whatever its case, is one rule with a count, not two."""
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

    def make(store: Store) -> Plan:
        for same in store.find(
            Query(kinds=(Kind.RULE,), statuses=(Status.ACTIVE,), body=words, limit=1)
        ):
            again = replace(same, seen=same.seen + 1, last_active_at=app.clock.now())
            again = sharing.with_tag(again, SHARED_TAG) if team else again
            return Plan.of([Update.between(same, again)])
        lane = Lane.AGENT if app.actor == "agent" else Lane.USER
        rule = new_rule(
            app, words, topics=named, rule_type=type, origin=app.actor, lane=lane, said=quoted,
            group=storable(session), tags=(SHARED_TAG,) if team else (),
        )  # fmt: skip
        # Only a person's word takes another rule out of force.
        return Plan.of([Create(rule), *(supersede(store, rule) if lane is Lane.USER else ())])

    def say(plan: Plan) -> str:
        is_known = isinstance(plan.changes[0], Update)
        return f"Rule {plan.touched()[0]} {'already says this; counted again' if is_known else 'is in force'}."

    done = app.commit(scope, "rule add", make, say)
    replaced = [app.find(id)[1].body for id in done.plan.touched()[1:]]
    notes = (
        *(f"It replaces \u201c{clip(old, 120)}\u201d." for old in replaced),
        *team_notes,
        *done.notes,
    )
    return finish_sharing(app, replace(done, notes=notes)) if team else replace(done, notes=notes)


def _read_rule(app: App, text: str, command: str) -> str:
    words = one_line(app.redact_text("rule", text, max_chars=2_000))
    if not words:
        raise BadInput("The rule is empty.", hint=f'`recollect {command} "Use pnpm, never npm"`')
    return words


def list_inbox(app: App, *, limit: Limit = 50) -> Cards:
    """Each with the rules in force that it would replace."""
    cards = list_kind(app, Kind.RULE, Status.CANDIDATE, limit)
    shown = []
    for card in cards.cards:
        store = app.reader(card.scope)
        found = filter(
            None, (store.get(id, follow=False) for id in linked_replaced(store, card.memory))
        )
        shown.append(
            replace(card, replaces=tuple(old.id for old in found if old.status is Status.ACTIVE))
        )
    shown = with_contexts(app, shown)
    return replace(cards, cards=tuple(shown), what="rules" if shown else "rules wait in the inbox")


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
            now, accepted, changes = (
                app.clock.now(),
                dict[str, tuple[Rule, Rule]](),
                dict[str, Update](),
            )
            for rule in rules:
                known = store.get(rule.id, follow=False)
                current = known if isinstance(known, Rule) else rule
                refuse_unexpected(current, expect)
                tags = tuple(dict.fromkeys((*current.tags, ACCEPTED_TAG)))
                new = replace(
                    current, status=Status.ACTIVE, reinforced_at=now, last_active_at=now, tags=tags
                )
                if words is not None:
                    new = replace(new, body=words, title=first_line_title(words))
                changes |= {one.id: one for one in supersede(store, new)}
                for (
                    before,
                    after,
                ) in accepted.values():  # of two that contradict each other, the later one holds
                    if rule_relations.is_opposed(new.body, after.body):
                        put_out = replace(after, status=Status.SUPERSEDED, superseded_by=new.id)
                        changes[before.id] = Update.between(before, put_out)
                accepted[rule.id], changes[rule.id] = (current, new), Update.between(current, new)
            return Plan.of(changes.values())

        return app.commit(scope, op, make, lambda _: _say(rules, "in force"))

    return _decide(app, ids, commit)


def _say(rules: Sequence[Rule], what: str) -> str:
    if len(rules) == 1:
        return f"Rule {rules[0].id} is {what.format('it')}."
    return f"{len(rules)} rules are {what.format('them')}."


def _decide(app: App, ids: Iterable[str], commit: Callable[[Scope, list[Rule]], Done]) -> Done:
    """One change, in both stores; each store's rules in the order in which they were said."""
    found: dict[Scope, dict[str, Rule]] = {}
    for id in ids:
        scope, memory = app.find(id)
        if not isinstance(memory, Rule) or memory.status is not Status.CANDIDATE:
            raise BadInput(
                f"{id} does not wait in the inbox.", hint="`recollect inbox list` shows what does."
            )
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
        return Summary(lines, {"lines": rows, "dry_run": app.dry_run})
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
