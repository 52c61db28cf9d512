"""Results for a person: short, the important first, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from recollect.base.moment import Moment
from recollect.base.text import clip, counted, one_line
from recollect.model.codec import Json
from recollect.model.memory import Note, Rule
from recollect.model.plan import Alias, Change, Create, Link, Move, Plan, Remove, Say, Unalias, Unlink, Unsay, Update
from recollect.model.result import (
    Cards,
    Checkup,
    Compacted,
    Configured,
    Done,
    Embedding,
    Found,
    History,
    Mark,
    Overview,
    Reasons,
    Recalled,
    Result,
    Shown,
    Suggested,
    Told,
    Tour,
    Verified,
)
from recollect.render.agent import ago, left_out_lines, recall_text
from recollect.render.blocks import Block, Line, Table, Tone

_TITLE_CHARS = 60
_PASSAGE_CHARS = 160
_MOST_ACTIONS = 50
_USUAL = frozenset({"words and vectors", "by id"})


def blocks(result: Result, *, now: Moment) -> Iterator[Block]:
    match result:
        case Cards():
            yield from _cards(result, now)
        case Shown():
            yield from _shown(result, now)
        case Found():
            yield from _found(result, now)
        case Recalled():
            yield Line(recall_text(result, now=now, ask="recollect recall {}"))
        case Reasons():
            yield from _reasons(result)
        case Done():
            yield from _done(result)
        case Suggested():
            yield from _suggested(result)
        case Compacted():
            yield from _compacted(result)
        case History():
            yield from _history(result, now)
        case Overview():
            yield from _overview(result)
        case Verified():
            yield from _verified(result)
        case Checkup():
            yield from _checkup(result)
        case Configured():
            yield from _configured(result)
        case Told(summary, _, notes):
            if summary:  # a list of names may be empty, and is read by programs
                yield Line(summary)
            yield from _notes(notes)
        case Tour():
            yield from _tour(result, now)


def _cards(result: Cards, now: Moment) -> Iterator[Block]:
    if not result.cards:
        yield Line(f"No {result.what} yet.", Tone.DIM)
        return
    rules = result.what == "rules"
    rows = []
    for card in result.cards:
        memory = card.memory
        text = memory.body if rules else memory.title
        kind = memory.rule_type if isinstance(memory, Rule) else f"{card.strength:.2f}"
        where = f"{memory.status}, {card.scope}"
        said = clip(one_line(text), _TITLE_CHARS) + "".join(f" (replaces {id}?)" for id in card.replaces)
        rows.append((memory.id, str(kind), where, ago(memory.last_active_at, now), said))
    yield Table(("ID", "TYPE" if rules else "WEIGHT", "STATUS", "ACTIVE", "RULE" if rules else "TITLE"), tuple(rows))


def _shown(shown: Shown, now: Moment) -> Iterator[Block]:
    memory = shown.card.memory
    if shown.content:
        yield Line(shown.said)
        return
    if shown.asked != memory.id:
        yield Line(f"{shown.asked} was merged into {memory.id}.", Tone.DIM)
    yield Line(memory.title, Tone.TITLE)
    marks = [str(memory.kind), str(memory.status), str(shown.card.scope), f"from {memory.lane}"]
    marks += ["pinned"] if memory.pinned else []
    yield Line(f"{memory.id}  {', '.join(marks)}", Tone.DIM)
    if isinstance(memory, Note):
        yield Line(f"File: {memory.path}", Tone.DIM)
    topics = f" | Topics: {', '.join(memory.topics)}" if memory.topics else ""
    yield Line(f"Weight: {shown.card.strength:.2f}{topics}")
    yield Line(f"Last active: {ago(memory.last_active_at, now)}")
    if memory.superseded_by:
        yield Line(f"Superseded by {memory.superseded_by}", Tone.WARN)
    yield Line()
    yield Line(memory.body)
    if shown.later:
        yield Line()
        yield Line(f"Messages ({len(shown.messages)})", Tone.TITLE)
        for message in shown.later:
            yield Line(f"[{message.at.iso()[:16]} {message.source}] {message.content}")
    if shown.bridges:
        yield Line()
        yield Line("Bridges", Tone.TITLE)
        for bridge, title in shown.bridges:
            arrow = "->" if bridge.source == memory.id else "<-"
            other = bridge.target if bridge.source == memory.id else bridge.source
            yield Line(f"{arrow} {clip(title, _TITLE_CHARS)} ({bridge.type}, weight: {bridge.weight:.2f})  {other}")
    if shown.merged:
        yield Line()
        yield Line(f"Merged from: {', '.join(shown.merged)}", Tone.DIM)


def _found(found: Found, now: Moment) -> Iterator[Block]:
    if not found.found:
        yield Line("Nothing matches.", Tone.DIM)
    for one in found.found:
        memory = one.hit.memory
        yield Line(clip(one_line(memory.title), _TITLE_CHARS), Tone.TITLE)
        where = f"{memory.kind}, {memory.status}, {one.scope}, from {memory.lane}, {ago(memory.last_active_at, now)}"
        yield Line(f"  {one.hit.score:.2f}  {memory.id}  {where}", Tone.DIM)
        if found.explained:
            yield Line("  " + ", ".join(f"{name} {value:.2f}" for name, value in one.hit.components), Tone.DIM)
        yield Line(f"  {clip(one_line(one.hit.passage), _PASSAGE_CHARS)}")
        if one.hit.stale:
            yield Line(f"  stale: changed since: {', '.join(one.hit.stale)}", Tone.WARN)
    for drop in found.drops:
        yield Line(f"left out: {drop.id} ({drop.reason})", Tone.DIM)
    for line in left_out_lines(found):
        yield Line(line, Tone.DIM)
    if found.how not in _USUAL:
        yield Line(f"Searched by {found.how}.", Tone.WARN)


def _reasons(reasons: Reasons) -> Iterator[Block]:
    if reasons.now:
        yield Line("Now: " + ", ".join(f"{name} {value:g}" for name, value in reasons.now))
    if reasons.quiet:
        yield Line(f"Went quiet: it is not shown unasked. `recollect revive {reasons.memory}`", Tone.WARN)
    if not reasons.recalls:
        yield Line("Nothing was recalled yet.", Tone.DIM)
    for recall in reasons.recalls:
        yield Line(f"{recall['id']}  {str(recall['at'])[:19]}  by {recall['how']}, {recall['ms']} ms", Tone.TITLE)
        yield Line(f"  asked: {recall['query']}")
        if "event" in recall:
            told = "told" if recall.get("delivered", True) else "not told, because the hook had given up,"
            yield Line(f"  {told} at {recall['event']}: {recall['chars']} characters, session {recall['session']}")
        for hit in _listed(recall, "hits", reasons.memory):
            source = f"  (from {hit['lane']})" if "lane" in hit else ""  # not said by older versions
            yield Line(f"  {hit['score']}  {hit['id']}  {hit['title']}{source}")
            if hit.get("passage"):
                yield Line(f"      {hit['passage']}")
            parts = hit["components"]
            if isinstance(parts, dict):
                yield Line("      " + ", ".join(f"{name} {value}" for name, value in parts.items()), Tone.DIM)
        for drop in _listed(recall, "dropped", reasons.memory):
            yield Line(f"  left out: {drop['id']} ({drop['reason']})", Tone.DIM)


def _listed(recall: Mapping[str, Json], name: str, memory: str) -> list[dict[str, Json]]:
    found = recall[name]
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return [row for row in rows if not memory or row["id"] == memory]


def _done(done: Done) -> Iterator[Block]:
    if done.dry_run:
        yield Line("Dry run: nothing was written.", Tone.WARN)
        yield from (Line(f"  {line}") for line in plan_lines(done.plan))
        yield from _notes(done.notes)
        return
    yield Line(done.summary, Tone.GOOD if done.change else Tone.PLAIN)
    yield from _notes(done.notes)


def _suggested(suggested: Suggested) -> Iterator[Block]:
    if suggested.merges:
        yield Line(f"Could be merged ({suggested.totals['merge_candidates']:,})", Tone.TITLE)
        rows = [
            (f"{m['similarity']}", str(m["thread_a"]), str(m["thread_b"]), str(m["reason"])) for m in suggested.merges
        ]
        yield Table(("SIMILARITY", "KEPT", "OTHER", "WHY"), tuple(rows))
    if suggested.splits:
        yield Line(f"Could be split ({suggested.totals['split_candidates']:,})", Tone.TITLE)
        rows = [(str(s["thread_id"]), _strings(s["topics_to_split"]), str(s["reason"]), "") for s in suggested.splits]
        yield Table(("ID", "BY", "WHY"), tuple(row[:3] for row in rows))
    if suggested.hints:
        yield Line("Never recalled, and near to this", Tone.TITLE)
        hints = [(str(h["topic"]), str(h["last_mentioned"]), str(h["thread_count"])) for h in suggested.hints]
        yield Table(("TOPIC", "LAST", "THREADS"), tuple(hints))
    told = suggested.health
    yield Line(
        f"{told['active_threads']} active threads, pressure {told['context_pressure']}. {told['recommendation']}."
    )
    if suggested.applied and suggested.dry_run:
        yield Line("Dry run: nothing was written. It would say:", Tone.WARN)
    yield from (Line(line, Tone.GOOD) for line in suggested.applied)
    yield from _notes(suggested.notes)


def _strings(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _compacted(compacted: Compacted) -> Iterator[Block]:
    rows = [
        (str(a["action"]), _strings(a.get("threads") or a.get("thread")), str(a.get("similarity") or a.get("reason")))
        for a in compacted.actions[:_MOST_ACTIONS]
    ]
    if rows:
        yield Table(("DO", "THREADS", "WHY"), tuple(rows))
    if len(compacted.actions) > _MOST_ACTIONS:
        yield Line(f"and {len(compacted.actions) - _MOST_ACTIONS:,} more (--json lists them all)", Tone.DIM)
    yield from _notes(compacted.notes)
    yield Line(compacted.summary, Tone.WARN if compacted.dry_run else Tone.GOOD)


def plan_lines(plan: Plan) -> list[str]:
    return [_change_line(change) for change in plan.changes] or ["nothing to change"]


def _change_line(change: Change) -> str:
    match change:
        case Create(memory, _):
            return f"create {memory.id}: {clip(memory.title, _TITLE_CHARS)}"
        case Remove(memory, _):
            return f"remove {memory.id}: {clip(memory.title, _TITLE_CHARS)}"
        case Update(id, before, after):
            changed = ", ".join(
                f"{name}: {clip(one_line(str(before[name])), 40)} -> {clip(one_line(str(after[name])), 40)}"
                for name in after
            )
            return f"update {id}: {changed}"
        case Move(message_ids, source, target):
            return f"move {len(message_ids)} messages from {source} to {target}"
        case Say(id, messages):
            return f"add {counted(len(messages), 'message')} to {id}"
        case Unsay(id, messages):
            return f"take {counted(len(messages), 'message')} out of {id}"
        case Link(bridge):
            return f"link {bridge.source} -> {bridge.target} ({bridge.type})"
        case Unlink(bridge):
            return f"unlink {bridge.source} -> {bridge.target} ({bridge.type})"
        case Alias(old, new):
            return f"from now on {old} answers as {new}"
        case Unalias(old, new):
            return f"{old} no longer answers as {new}"


def _history(history: History, now: Moment) -> Iterator[Block]:
    if not history.entries:
        yield Line("Nothing was changed yet.", Tone.DIM)
        return
    rows = []
    for scope, entry in history.entries:
        mark = "undone" if entry.undone_by else "purged" if entry.purged else ""
        rows.append((entry.change, ago(entry.at, now), f"{entry.actor}, {scope}", clip(entry.summary, 70), mark))
    yield Table(("CHANGE", "WHEN", "BY", "WHAT", ""), tuple(rows))


def _embedding(found: Embedding) -> Iterator[Block]:
    """Nothing where all is as it should be."""
    if found.problem:
        yield Line(f"Searched by words alone: {found.problem} `recollect doctor`.", Tone.WARN)
    elif found.waiting or found.others:
        share = found.vectors / found.passages if found.passages else 1.0
        old = f" {found.others:,} of another model are still there." if found.others else ""
        done = f"{found.vectors:,} of {found.passages:,} passages ({share:.0%})"
        yield Line(f"Vectors by {found.model}: {done}.{old} `recollect reindex` does the rest at once.", Tone.DIM)


def _overview(overview: Overview) -> Iterator[Block]:
    yield Line(f"Recollect {overview.version}", Tone.TITLE)
    yield Line(f"Project: {overview.project} ({overview.root})" if overview.project else "Project: none here")
    yield Line(f"Home: {overview.home}")
    if not overview.stores:
        yield Line('Nothing is remembered yet. `recollect pin "..."` keeps something.', Tone.DIM)
    rows = [
        (str(scope), kind, status, f"{count:,}")
        for scope, _, counts in overview.stores
        for kind, status, count in counts.by_kind_and_status
    ]
    if rows:
        yield Table(("STORE", "KIND", "STATUS", "COUNT"), tuple(rows))
    for scope, path, counts in overview.stores:
        detail = f"{counts.messages:,} messages, {counts.bridges:,} bridges, {counts.changes:,} changes"
        yield Line(f"{scope}: {detail}, {counts.bytes / 1e6:.1f} MB at {path}", Tone.DIM)
    if overview.captured:
        told = ", ".join(f"{name} {count:,}" for name, count in sorted(overview.captured.items()))
        yield Line(f"Prompts heard: {told}", Tone.DIM)
    if overview.quiet:
        told = counted(overview.quiet, "memory", "memories")
        yield Line(f"Went quiet: {told}. `recollect threads --quiet`, `recollect rule list --quiet`.", Tone.DIM)
    if overview.mirrors:
        yield Line(" ".join(f"{name.capitalize()}: {state}." for name, state in overview.mirrors.items()), Tone.DIM)
    if overview.embedding is not None:
        yield from _embedding(overview.embedding)
    if overview.focus:
        points = ", ".join(f'"{point["topic"]}" ({point["weight"]})' for point in overview.focus)
        yield Line(f"In focus: {points}")
    if overview.llm:
        yield Line(_spent(overview.llm), Tone.DIM)
    if overview.set_aside:
        yield Line(f"Set aside as damaged: {counted(len(overview.set_aside), 'file')}. `recollect recover`.", Tone.WARN)
    if overview.problems:
        yield Line(f"{counted(overview.problems, 'setting')} could not be taken: `recollect config`.", Tone.WARN)


def _spent(llm: Mapping[str, Json]) -> str:
    calls = f"{llm['calls']:,} of {llm['calls_per_day']:,} calls"
    tokens = f"{llm['tokens']:,} of {llm['tokens_per_day']:,} tokens"
    if not llm["on"] and not llm["calls"]:
        return "Language models: off."
    return f"Language models: {'on' if llm['on'] else 'off'}; today {calls}, {tokens}."


def _verified(verified: Verified) -> Iterator[Block]:
    if not verified.stores:
        yield Line("There is no store yet.", Tone.DIM)
    for scope, path, findings in verified.stores:
        if not findings:
            yield Line(f"{scope}: sound ({path})", Tone.GOOD)
            continue
        yield Line(f"{scope}: {len(findings)} findings ({path})", Tone.BAD)
        yield Table(("TABLE", "KEY", "PROBLEM"), tuple((f.table, f.key, f.problem) for f in findings))
        yield Line("`recollect reindex` mends what is derived; `recollect recover` the rest.")


def _checkup(checkup: Checkup) -> Iterator[Block]:
    tones = {Mark.GOOD: Tone.GOOD, Mark.WARN: Tone.WARN, Mark.BAD: Tone.BAD}
    words = {Mark.GOOD: "ok  ", Mark.WARN: "note", Mark.BAD: "BAD "}
    for check in checkup.checks:
        repair = f"  -> {check.repair}" if check.repair else ""
        yield Line(f"{words[check.mark]} {check.name}: {check.detail}{repair}", tones[check.mark])


def _configured(configured: Configured) -> Iterator[Block]:
    rows = tuple((one.name, one.value or "-", one.source, one.reason) for one in configured.settings)
    yield Table(("SETTING", "VALUE", "FROM", "WHY"), rows)
    for problem in configured.problems:
        yield Line(problem, Tone.WARN)


def _tour(tour: Tour, now: Moment) -> Iterator[Block]:
    for number, step in enumerate(tour.steps, start=1):
        yield Line(f"{number}. {step.why}", Tone.TITLE)
        yield Line(f"$ {step.command}", Tone.COMMAND)
        yield from blocks(step.result, now=now)
        yield Line()
    yield Line("That was a scratch home, and it is gone. Yours begins with `recollect pin`.", Tone.DIM)


def _notes(notes: tuple[str, ...]) -> Iterator[Block]:
    yield from (Line(note, Tone.WARN) for note in notes)
