"""Results for a person: short, the important first, and what to do next."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.base.moment import Moment
from recollect.base.text import clip, counted, one_line
from recollect.model.memory import Rule
from recollect.model.plan import Alias, Change, Create, Link, Move, Plan, Remove, Unalias, Unlink, Update
from recollect.model.result import (
    Cards,
    Checkup,
    Configured,
    Done,
    Found,
    History,
    Mark,
    Overview,
    Result,
    Shown,
    Told,
    Tour,
    Verified,
)
from recollect.render.blocks import Block, Line, Table, Tone

_TITLE_CHARS = 60
_PASSAGE_CHARS = 160


def blocks(result: Result, *, now: Moment) -> Iterator[Block]:
    match result:
        case Cards():
            yield from _cards(result, now)
        case Shown():
            yield from _shown(result, now)
        case Found():
            yield from _found(result, now)
        case Done():
            yield from _done(result)
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
            yield Line(summary)
            yield from _notes(notes)
        case Tour():
            yield from _tour(result, now)


def ago(then: Moment, now: Moment) -> str:
    """`2 days ago`: the largest unit that fits."""
    seconds = int(now.days_since(then) * 86_400)
    for size, unit in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        count = seconds // size
        if count:
            return f"{count} {unit}{'s' if count > 1 else ''} ago"
    return "just now"


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
        rows.append((memory.id, str(kind), where, ago(memory.last_active_at, now), clip(one_line(text), _TITLE_CHARS)))
    yield Table(("ID", "TYPE" if rules else "WEIGHT", "STATUS", "ACTIVE", "RULE" if rules else "TITLE"), tuple(rows))


def _shown(shown: Shown, now: Moment) -> Iterator[Block]:
    memory = shown.card.memory
    if shown.asked != memory.id:
        yield Line(f"{shown.asked} was merged into {memory.id}.", Tone.DIM)
    yield Line(memory.title, Tone.TITLE)
    marks = [str(memory.kind), str(memory.status), str(shown.card.scope), f"from {memory.lane}"]
    marks += ["pinned"] if memory.pinned else []
    yield Line(f"{memory.id}  {', '.join(marks)}", Tone.DIM)
    topics = f" | Topics: {', '.join(memory.topics)}" if memory.topics else ""
    yield Line(f"Weight: {shown.card.strength:.2f}{topics}")
    yield Line(f"Last active: {ago(memory.last_active_at, now)}")
    if memory.superseded_by:
        yield Line(f"Superseded by {memory.superseded_by}", Tone.WARN)
    yield Line()
    yield Line(memory.body)
    others = [m for m in shown.messages if m.content not in memory.body]
    if others:
        yield Line()
        yield Line(f"Messages ({len(shown.messages)})", Tone.TITLE)
        for message in others:
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
    if not found.hits:
        yield Line("Nothing matches.", Tone.DIM)
        return
    for scope, hit in found.hits:
        memory = hit.memory
        yield Line(clip(one_line(memory.title), _TITLE_CHARS), Tone.TITLE)
        parts = ", ".join(f"{name} {value:.3g}" for name, value in hit.components)
        yield Line(f"  {memory.id}  {memory.kind}, {scope}, {ago(memory.last_active_at, now)}  ({parts})", Tone.DIM)
        yield Line(f"  {clip(one_line(hit.passage), _PASSAGE_CHARS)}")


def _done(done: Done) -> Iterator[Block]:
    if done.dry_run:
        yield Line("Dry run: nothing was written.", Tone.WARN)
        yield from (Line(f"  {line}") for line in plan_lines(done.plan))
        yield from _notes(done.notes)
        return
    yield Line(done.summary, Tone.GOOD if done.change else Tone.PLAIN)
    yield from _notes(done.notes)


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
    if overview.set_aside:
        yield Line(f"Set aside as damaged: {counted(len(overview.set_aside), 'file')}. `recollect recover`.", Tone.WARN)
    if overview.problems:
        yield Line(f"{counted(overview.problems, 'setting')} could not be taken: `recollect config`.", Tone.WARN)


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
    rows = []
    for setting in configured.settings:
        pending = " (no effect yet)" if setting.pending else ""
        rows.append((setting.name, setting.value or "-", setting.source, setting.reason + pending))
    yield Table(("SETTING", "VALUE", "FROM", "WHY"), tuple(rows))
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
