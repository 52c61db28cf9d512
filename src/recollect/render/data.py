"""Results as JSON: what `--json` prints and other doors return."""

from __future__ import annotations

from recollect.model.codec import Json, encode_bridge, encode_memory, encode_message
from recollect.model.plan import Alias, Change, Create, Link, Move, Plan, Remove, Say, Unalias, Unlink, Unsay, Update
from recollect.model.report import Counts, Entry
from recollect.model.result import (
    Card,
    Cards,
    Checkup,
    Compacted,
    Configured,
    Done,
    Embedding,
    Found,
    History,
    Overview,
    Reasons,
    Recalled,
    Recollection,
    Result,
    Scope,
    Shown,
    Suggested,
    Told,
    Tour,
    Verified,
)


def as_json(result: Result) -> Json:
    match result:
        case Cards(cards):
            return [_card(card) for card in cards]
        case Shown():
            return _shown(result)
        case Found():
            return _found(result)
        case Recalled(found, bridges, total, whole):
            shown: list[Json] = [{**encode_bridge(b), "source_title": a, "target_title": z} for b, a, z in bridges]
            memory_json: dict[str, Json] = {"memory": _shown(whole)} if whole else {}
            return {**_found(found), "bridges": shown, "all_bridges": total, **memory_json}
        case Reasons(recalls, memory, now, quiet):
            listed: list[Json] = [dict(recall) for recall in recalls]
            return {"memory": memory, "now": dict(now), "quiet": quiet, "recalls": listed}
        case Done():
            return _done(result)
        case Suggested():
            return suggested_json(result)
        case Compacted():
            return compacted_json(result)
        case History(entries):
            return [_entry(scope, entry) for scope, entry in entries]
        case Overview():
            return _overview(result)
        case Verified(stores):
            return {
                "clean": result.clean,
                "stores": [
                    {
                        "scope": str(scope),
                        "path": path,
                        "findings": [{"table": f.table, "key": f.key, "problem": f.problem} for f in findings],
                    }
                    for scope, path, findings in stores
                ],
            }
        case Checkup(checks):
            return {
                "healthy": result.healthy,
                "checks": [
                    {"name": c.name, "mark": str(c.mark), "detail": c.detail, "repair": c.repair} for c in checks
                ],
            }
        case Configured(settings, problems):
            return {
                "settings": [
                    {
                        "name": s.name,
                        "value": s.value,
                        "source": s.source,
                        "reason": s.reason,
                    }
                    for s in settings
                ],
                "problems": list(problems),
            }
        case Told(summary, facts, notes):
            return {"summary": summary, **facts, "notes": list(notes)}
        case Tour(steps):
            return [{"why": s.why, "command": s.command, "result": as_json(s.result)} for s in steps]


def suggested_json(suggested: Suggested) -> dict[str, Json]:
    told: dict[str, Json] = {
        "merge_candidates": [dict(one) for one in suggested.merges],
        "split_candidates": [dict(one) for one in suggested.splits],
        "recall_hints": [dict(one) for one in suggested.hints],
        "health": dict(suggested.health),
        "totals": dict(suggested.totals),
    }
    if suggested.applied:
        told["dry_run"] = suggested.dry_run
        told["applied"] = list(suggested.applied)
    return told | ({"notes": list(suggested.notes)} if suggested.notes else {})


def compacted_json(compacted: Compacted) -> dict[str, Json]:
    return {
        "strategy": compacted.strategy,
        "dry_run": compacted.dry_run,
        "actions": [dict(one) for one in compacted.actions],
        "before": dict(compacted.before),
        "after": dict(compacted.after),
        "change": compacted.change,
        **({"notes": list(compacted.notes)} if compacted.notes else {}),
    }


def _card(card: Card) -> dict[str, Json]:
    replaces: dict[str, Json] = {"replaces": list(card.replaces)} if card.replaces else {}
    return {**encode_memory(card.memory), "strength": round(card.strength, 4), "scope": str(card.scope), **replaces}


def _shown(shown: Shown) -> Json:
    if shown.content:
        return {"id": shown.card.memory.id, "content": shown.said}
    return {
        **_card(shown.card),
        "asked": shown.asked,
        "messages": [encode_message(m) for m in shown.messages],
        "bridges": [{**encode_bridge(b), "other_title": title} for b, title in shown.bridges],
        "merged": list(shown.merged),
    }


def _found(found: Found) -> dict[str, Json]:
    return {
        "recall": found.id,
        "query": found.query,
        "how": found.how,
        "ms": round(found.ms, 2),
        "hits": [_hit(one) for one in found.found],
        "left_out": {str(status): count for status, count in found.left_out},
        "dropped": [{"id": drop.id, "reason": drop.reason} for drop in found.drops],
    }


def _hit(one: Recollection) -> Json:
    hit = one.hit
    return {
        "id": hit.memory.id,
        "kind": str(hit.memory.kind),
        "title": hit.memory.title,
        "scope": str(one.scope),
        "lane": str(hit.memory.lane),
        "status": str(hit.memory.status),
        "weight": round(one.strength, 4),
        "_reactivated": one.reactivated,
        "score": hit.score,
        "components": dict(hit.components),
        "turn": hit.turn.id if hit.turn is not None else "",
        "passages": list(hit.shown),
        **({"stale": list(hit.stale)} if hit.stale else {}),
    }


def _done(done: Done) -> Json:
    return {
        "summary": done.summary,
        "change": done.change,
        "dry_run": done.dry_run,
        "scope": str(done.scope),
        "ids": list(done.plan.touched()),
        "changes": plan_json(done.plan),
        "notes": list(done.notes),
    }


def plan_json(plan: Plan) -> list[Json]:
    return [_change(change) for change in plan.changes]


def _change(change: Change) -> Json:
    match change:
        case Create(memory, messages):
            return {"do": "create", "id": memory.id, "title": memory.title, "messages": len(messages)}
        case Remove(memory, messages):
            return {"do": "remove", "id": memory.id, "title": memory.title, "messages": len(messages)}
        case Update(id, before, after):
            return {"do": "update", "id": id, "before": dict(before), "after": dict(after)}
        case Move(message_ids, source, target):
            return {"do": "move", "messages": len(message_ids), "source": source, "target": target}
        case Say(id, messages):
            return {"do": "say", "id": id, "messages": len(messages)}
        case Unsay(id, messages):
            return {"do": "unsay", "id": id, "messages": len(messages)}
        case Link(bridge):
            return {"do": "link", **encode_bridge(bridge)}
        case Unlink(bridge):
            return {"do": "unlink", **encode_bridge(bridge)}
        case Alias(old, new):
            return {"do": "alias", "old": old, "new": new}
        case Unalias(old, new):
            return {"do": "unalias", "old": old, "new": new}


def _entry(scope: Scope, entry: Entry) -> Json:
    return {
        "change": entry.change,
        "at": entry.at.iso(),
        "op": entry.op,
        "actor": entry.actor,
        "summary": entry.summary,
        "memories": list(entry.memories),
        "undoes": entry.undoes,
        "undone_by": entry.undone_by,
        "purged": entry.purged,
        "scope": str(scope),
    }


def _overview(overview: Overview) -> Json:
    return {
        "version": overview.version,
        "home": overview.home,
        "project": overview.project,
        "root": overview.root,
        "stores": [{"scope": str(s), "path": path, **_counts(counts)} for s, path, counts in overview.stores],
        "backups": overview.backups,
        "set_aside": list(overview.set_aside),
        "settings_problems": overview.problems,
        "captured": dict(overview.captured),
        "quiet": overview.quiet,
        "mirrors": dict(overview.mirrors),
        "focus": [dict(point) for point in overview.focus],
        "llm": dict(overview.llm),
        "embedding": _embedding(overview.embedding),
    }


def _embedding(found: Embedding | None) -> Json:
    if found is None:
        return None
    return {
        "setting": found.setting,
        "model": found.model,
        "passages": found.passages,
        "vectors": found.vectors,
        "waiting": found.waiting,
        "of_other_models": found.others,
        "problem": found.problem,
    }


def _counts(counts: Counts) -> dict[str, Json]:
    kinds: dict[str, Json] = {}
    for kind, status, count in counts.by_kind_and_status:
        of_kind = kinds.setdefault(kind, {})
        if isinstance(of_kind, dict):
            of_kind[status] = count
    return {
        "memories": kinds,
        "messages": counts.messages,
        "bridges": counts.bridges,
        "passages": counts.passages,
        "vectors": counts.vectors,
        "changes": counts.changes,
        "bytes": counts.bytes,
    }
