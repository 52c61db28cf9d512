"""The operation `capture`: what is kept of a text that a person said, and why. Keeping is in app/rule_keeping.py."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

from recollect.app import rule_keeping
from recollect.app.core import App
from recollect.app.rule_keeping import KeptRule
from recollect.base.text import clip, one_line
from recollect.capture import prompt_rules
from recollect.capture.prompt_text import Action, Draft, FoundRule, Piece
from recollect.model.codec import Json
from recollect.model.memory import Status
from recollect.model.plan import Create
from recollect.model.result import Scope, Summary
from recollect.ops.table import Arg

_QUOTE_CHARS = 80
_MAX_SIGNALS = 3
_SENTENCES = {
    Action.STORED: '"{0}" is a rule: {1}.',
    Action.INBOX: '"{0}" may be a rule and waits for you in the inbox: {1}.',
    Action.DROPPED: '"{0}" is not a rule: {1}.',
}


def capture(
    app: App,
    text: Annotated[
        str, Arg("What was said; by default read from standard input.", metavar="[TEXT]", stdin=True)
    ] = "-",
    *,
    explain: Annotated[bool, Arg("Say what happens to each sentence, and why; store nothing.")] = False,
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
    if explain:
        facts["sentences"] = [
            {"text": piece.text, "score": round(piece.score, 2), "signals": list(piece.signals), "veto": piece.veto,
             "odds": None if piece.odds is None else round(piece.odds, 2)}
            for piece in draft.pieces
        ]  # fmt: skip
        return Summary("\n".join(_explanation(draft)), facts, app.notes())
    kept = _keep(app, draft)
    facts["memories"] = [id for one in kept for id in one.done.plan.touched()]
    told = []
    for one in kept:
        first = one.done.plan.changes[0] if one.done.plan else None
        outcome = "Already known; counted again" if first else "Not kept: you rejected it later"
        if isinstance(first, Create):
            stored = "Waits in the inbox" if first.memory.status is Status.CANDIDATE else "Stored"
            outcome = f"{stored} ({one.found.rule_type}, {one.found.scope})" + (" [dry run]" if app.dry_run else "")
        told.append(f"{outcome}: {one.found.rule}")
    return Summary("\n".join(told) or f"Nothing is kept: {verdict.reason}.", facts, app.notes())


def _keep(app: App, draft: Draft) -> list[KeptRule]:
    kept = rule_keeping.keep_rules(app, draft)
    if app.store_path(app.scope) is not None:  # no store is made for a count alone
        rule_keeping.count_verdict(app, draft.verdict)
    return kept


def _explanation(draft: Draft) -> Iterator[str]:
    if not draft.found:
        yield f"Nothing would be kept: {draft.verdict.reason}."
    for one in draft.found:
        begins = "Would be in force" if one.action is Action.STORED else "Would wait in the inbox"
        where = "this project" if one.scope is Scope.PROJECT else "all projects"
        yield f"{begins}: {one.rule} ({one.rule_type}, for {where})"
    for piece in draft.pieces:
        action, reason = _judgement(draft, piece)
        yield _SENTENCES[action].format(clip(one_line(piece.text), _QUOTE_CHARS), reason)


def _judgement(draft: Draft, piece: Piece) -> tuple[Action, str]:
    """What becomes of a sentence, and why."""
    action = prompt_rules.action_of(piece)
    if piece.veto:
        return action, f"it is {piece.veto}"
    if action is Action.DROPPED:
        return action, "nothing in it is meant to last"
    if draft.whole:
        return Action.INBOX if draft.found else Action.DROPPED, f"it is {draft.whole}"
    weights = {signal.name: signal.weight for signal in draft.language.signals}
    strongest = sorted(piece.signals, key=lambda name: -weights.get(name, 0.0))[:_MAX_SIGNALS]
    return action, f"it reads like one ({'; '.join(strongest)})" if strongest else "it is worded like one"


def _facts(found: FoundRule) -> dict[str, Json]:
    return {
        "kind": str(found.rule_type or "none"), "scope": str(found.scope), "rule": found.rule,
        "action": str(found.action), "reason": found.reason,
    }  # fmt: skip


def _rule_facts(draft: Draft) -> list[Json]:
    """Each rule that was found, and what looked like one by its form and was dropped."""
    return [{"rule": one.rule, "span": one.span, **_facts(one)} for one in (*draft.found, *draft.refused)]


def _capture_line(app: App, line: str) -> dict[str, Json]:
    """Never a crash: what cannot be read is answered too."""
    try:
        row = json.loads(line, parse_constant=str)  # what JSON has not, such as NaN, comes back as a word
    except (ValueError, RecursionError):
        row = None
    id: Json = row.get("id") if isinstance(row, dict) else None
    if not isinstance(row, dict) or not isinstance(row.get("prompt"), str):
        reason = "no prompt in it" if isinstance(row, dict) else "no JSON object"
        return {"id": id, **_facts(FoundRule("", None, Scope.PROJECT, Action.DROPPED, reason, 0.0)), "rules": []}
    draft = rule_keeping.read_prompt(app, row["prompt"])
    if not app.dry_run:
        _keep(app, draft)
    return {"id": id, **_facts(draft.verdict), "rules": _rule_facts(draft)}
