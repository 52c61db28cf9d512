"""Results for a person: short, the important part first, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from recollect.base.local_time import local_minute
from recollect.base.moment import Moment
from recollect.base.text import clip, counted, join_words, one_line
from recollect.model import plan as plans
from recollect.model import report as reports
from recollect.model import result as results
from recollect.model.codec import Json
from recollect.model.memory import Kind, Note, Rule, Status
from recollect.model.result import Counts, Mark, Scope
from recollect.model.timeline import Sessions, Timeline
from recollect.render import report_blocks
from recollect.render.blocks import (
    SHORT_ID,
    WHERE,
    WHO,
    Block,
    Line,
    Table,
    Tone,
    cut_line,
    found_blocks,
    reason_blocks,
    time_column,
)
from recollect.render.recall_text import ago, recall_text, short_span

_WHOLE_ID = re.compile(r"\b[a-z]{2,12}_\d{8}_\d{6}_([0-9a-f]{6})\b")
_TITLE_CHARS = 60
_WHOSE = {Scope.PROJECT: "Here", Scope.USER: "In every project", Scope.TEAM: "From colleagues"}
_MOST_ACTIONS = 50


def blocks(result: results.Result, *, now: Moment) -> Iterator[Block]:
    return _BLOCKS[type(result)](result, now)


def short_ids(text: str) -> str:
    """A person reads the last six digits of an id; whole ids are for programs."""
    return _WHOLE_ID.sub(r"\1", text)


def _short_ago(then: Moment, now: Moment) -> str:
    """The age for a column: `5 min`, `3 h`, `12 d`."""
    return short_span(int(now.days_since(then) * 1_440)) or "now"


def _table(rows: Sequence[Mapping[str, object]], *, numbered: bool = False) -> Table:
    """Columns that are empty in every row are left out. Numbers stand for the rows in the next command."""
    if numbered:
        rows = [{"": number, **row} for number, row in enumerate(rows, start=1)]
    names = tuple(name for name in rows[0] if any(row[name] for row in rows))
    return Table(names, tuple(tuple(short_ids(str(row[name])) for name in names) for row in rows))


def _note_lines(notes: Sequence[str]) -> Iterator[Block]:
    return (Line(short_ids(note), Tone.WARN) for note in notes)


def _join(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _card_blocks(result: results.Cards, now: Moment) -> Iterator[Block]:
    if not result.cards:
        yield Line(_none_sentence(result), Tone.DIM)
        return
    rules = all(card.memory.kind is Kind.RULE for card in result.cards)
    is_page = result.offset is not None  # of memories of every kind
    all_full = all(card.importance == 100 for card in result.cards)
    rows: list[dict[str, object]] = [
        {"RULE" if rules else "TITLE": memory.body if rules else memory.title,
         "FILE": memory.path if isinstance(memory, Note) else "",
         "KIND": memory.kind if is_page else "",
         "TYPE": memory.rule_type if isinstance(memory, Rule) else "", "REPLACES": ", ".join(card.replaces),
         "STATUS": "" if memory.status in (Status.ACTIVE, Status.CANDIDATE) else memory.status,
         "WHERE": "" if isinstance(memory, Note) and card.scope is Scope.USER else WHERE[card.scope],
         "IMPORTANCE": "" if all_full else card.importance, "WHEN": _short_ago(memory.last_active_at, now),
         "ID": memory.id[-SHORT_ID:]}
        for card, memory in ((card, card.memory) for card in result.cards)
    ]  # fmt: skip
    if is_page:
        left_out = dict.fromkeys(("FILE", "TYPE", "REPLACES", "IMPORTANCE"), "")
        states = ("" if card.condition == "active" else card.condition for card in result.cards)
        rows = [
            {**row, **left_out, "STATUS": state} for row, state in zip(rows, states, strict=True)
        ]
    yield _table(rows, numbered=True)
    for card in result.cards:
        yield from (Line(_pair_sentence(card, other), Tone.WARN) for other in card.contradicts)
    if result.offset is None:
        said = cut_line(len(result.cards), result.total, is_cut=result.is_cut)
    else:
        end = result.offset + len(result.cards)
        said = f"{end:,} of {result.of}; `--offset {end}` goes on." if end < result.total else ""
    if said:
        yield Line(said, Tone.DIM)


def _none_sentence(result: results.Cards) -> str:
    """That nothing is listed, and what there is all the same."""
    if result.offset and result.total:
        return f"There are {result.of}; none comes after number {result.offset:,}."
    if result.others:
        others = counted(result.others, "other")
        return f"No {result.what} here; `recollect list --kind {result.kind}` has {others}."
    return f"No {result.what}."


def _pair_sentence(card: results.Card, other: results.OtherRule) -> str:
    """Two rules that may contradict each other, and how a person decides on them."""
    rule, other_id = card.memory, other.id[-SHORT_ID:]
    first = f"\u201c{clip(one_line(rule.body), 60)}\u201d ({rule.id[-SHORT_ID:]})"
    second = f"\u201c{clip(one_line(other.body), 60)}\u201d ({other_id})"
    if rule.status is Status.CANDIDATE:
        return f"{first} may contradict {second}, which is in force."
    settle = f"`recollect inbox settle {rule.id[-SHORT_ID:]} {other_id} --keep both|newer|older`"
    return f"{first} and {second} may contradict each other: {settle}"


def _memory_blocks(shown: results.Shown, now: Moment) -> Iterator[Block]:
    memory = shown.card.memory
    if shown.content:
        yield Line(shown.said, is_verbatim=True)
        return
    if shown.asked != memory.id:
        yield Line(f"{shown.asked} was merged into {memory.id}.", Tone.DIM)
    yield Line(memory.title, Tone.TITLE)
    marks = [memory.kind, memory.status, WHERE[shown.card.scope] or "project"]
    yield Line(f"{memory.id}  {', '.join(marks)}{', pinned' if memory.pinned else ''}", Tone.DIM)
    active = ago(memory.last_active_at, now)
    source = (
        memory.origin if memory.origin.startswith(f"{memory.lane}:") else memory.lane
    )  # `team:Ann`
    facts = [f"importance {shown.card.importance}", f"source: {source}", f"active {active}"]
    facts += [f"topics: {', '.join(memory.topics)}"] if memory.topics else []
    facts += [f"file: {memory.path}"] if isinstance(memory, Note) else []
    yield Line("; ".join(facts), Tone.DIM)
    if memory.superseded_by:
        yield Line(f"Replaced by {memory.superseded_by}", Tone.WARN)
    yield from (Line(), Line(memory.body))
    if isinstance(memory, Rule) and memory.said:
        yield Line(f'From your words: "{one_line(memory.said)}"', Tone.DIM)
    if shown.later:
        yield from (Line(), Line(f"Messages ({len(shown.messages)})", Tone.TITLE))
        yield from (
            Line(f"[{local_minute(one.at)} {one.source}] {one.content}") for one in shown.later
        )
    if shown.bridges:
        yield from (Line(), Line("Links", Tone.TITLE))
        for bridge, title in shown.bridges:
            arrow, other = (
                ("->", bridge.target) if bridge.source == memory.id else ("<-", bridge.source)
            )
            yield Line(f"{arrow} {clip(title, _TITLE_CHARS)} ({bridge.type})  {other[-SHORT_ID:]}")
    if shown.files:
        yield from (Line(), Line("Files", Tone.TITLE))
        yield from (
            Line(f"{path}{' (changed since)' if is_changed else ''}")
            for path, is_changed in shown.files
        )
    if shown.merged:
        yield from (Line(), Line(f"Merged from: {', '.join(shown.merged)}", Tone.DIM))


def _change_blocks(done: results.Done, _now: Moment) -> Iterator[Block]:
    if done.dry_run:
        yield Line("Dry run: nothing was written.", Tone.WARN)
        lines = [_change_line(change) for change in done.plan.changes] or ["nothing to change"]
        yield from (Line(f"  {short_ids(line)}") for line in lines)
    else:
        # `pin` shows the whole id; elsewhere the last digits are enough.
        summary = done.summary if done.summary.startswith("Pinned as ") else short_ids(done.summary)
        yield Line(summary, Tone.GOOD if done.change else Tone.PLAIN)
    yield from _note_lines(done.notes)


def _change_line(change: plans.Change) -> str:
    match change:
        case plans.Create(memory, _) | plans.Remove(memory, _):
            return (
                f"{type(change).__name__.lower()} {memory.id}: {clip(memory.title, _TITLE_CHARS)}"
            )
        case plans.Update(_, before, after) | plans.UpdateAll(_, before, after):
            named = (
                change.id
                if isinstance(change, plans.Update)
                else counted(len(change.ids), "memory", "memories")
            )
            pairs = {
                name: [clip(one_line(str(side[name])), 40) for side in (before, after)]
                for name in after
            }
            return f"update {named}: {', '.join(f'{name}: {old} -> {new}' for name, (old, new) in pairs.items())}"
        case plans.Move(message_ids, source, target):
            return f"move {len(message_ids)} messages from {source} to {target}"
        case plans.Say(id, messages):
            return f"add {counted(len(messages), 'message')} to {id}"
        case plans.Unsay(id, messages):
            return f"take {counted(len(messages), 'message')} out of {id}"
        case plans.Link(bridge) | plans.Unlink(bridge):
            return f"{type(change).__name__.lower()} {bridge.source} -> {bridge.target} ({bridge.type})"
        case plans.Alias(old, new):
            return f"from now on {old} answers as {new}"
        case plans.Unalias(old, new):
            return f"{old} no longer answers as {new}"
        case plans.FileChange(_, path, target) if path and target:
            return f"change {path}" if path == target else f"move {path} to {target}"
        case plans.FileChange(_, path, target):
            return f"remove {path}" if path else f"write {target}"


def _history_blocks(history: results.History, _now: Moment) -> Iterator[Block]:
    if not history.entries:
        yield Line("No changes yet.", Tone.DIM)
        return
    if any(entry.differences for _, entry in history.entries):
        for _, entry in history.entries:
            about = (local_minute(entry.at), _who(entry), _entry_state(entry))
            yield Line(f"{entry.change[-SHORT_ID:]}  {_entry_words(entry)}", Tone.TITLE)
            yield Line(f"  {', '.join(filter(None, about))}", Tone.DIM)
            yield from _difference_lines(entry.differences)
    else:
        when, times = time_column("WHEN", [entry.at for _, entry in history.entries])
        rows = [
            {
                when: time,
                "WHAT": _entry_words(entry),
                "BY": _who(entry),
                "WHERE": WHERE[scope],
                "CHANGE": _entry_state(entry) or entry.change[-SHORT_ID:],
            }
            for time, (scope, entry) in zip(times, history.entries, strict=True)
        ]
        yield _table(rows)
    if said := cut_line(len(history.entries), is_cut=history.is_cut):
        yield Line(said, Tone.DIM)
    undoable = [entry.change[-SHORT_ID:] for _, entry in history.entries if entry.can_undo]
    if undoable:
        yield Line(
            f"`recollect undo CHANGE` takes one back: `recollect undo {undoable[0]}`.", Tone.DIM
        )


def _who(entry: results.Entry) -> str:
    return WHO.get(entry.actor, entry.actor)


def _entry_words(entry: results.Entry) -> str:
    return short_ids(entry.text or entry.summary)


def _entry_state(entry: results.Entry) -> str:
    if entry.undone_by:
        return "undone"
    return "purged" if entry.purged else ""


def _difference_lines(differences: Sequence[results.Difference]) -> Iterator[Block]:
    for one in differences:
        pair = (
            f": {one.before} -> {one.after or '(empty)'}"
            if one.before
            else f": {one.after}"
            if one.after
            else ""
        )
        yield Line(f"  {one.memory[-SHORT_ID:]}  {short_ids(one.what + pair)}")
        for line in one.lines:
            yield Line(f"    {line}", {"+": Tone.GOOD, "-": Tone.BAD}.get(line[:1], Tone.DIM))


def _suggestion_blocks(suggested: results.Suggested, _now: Moment) -> Iterator[Block]:
    sections = (
        ("Could be merged ({:,})", "merge_candidates", {"WHY": "reason", "KEPT": "thread_a", "OTHER": "thread_b"}),
        ("Could be split ({:,})", "split_candidates", {"WHY": "reason", "BY": "topics_to_split", "ID": "thread_id"}),
        ("Related topics never recalled", "recall_hints",
         {"TOPIC": "topic", "LAST": "last_mentioned", "THREADS": "thread_count"}),
    )  # fmt: skip
    for title, name, columns in sections:
        if rows := [
            {head: _join(row[of]) for head, of in columns.items()}
            for row in getattr(suggested, name)
        ]:
            yield from (Line(title.format(suggested.totals.get(name, 0)), Tone.TITLE), _table(rows))
    active = suggested.health["active_threads"]
    threads = "thread" if active == 1 else "threads"
    yield Line(f"{active} active {threads}. {suggested.health['recommendation']}.")
    if suggested.applied and suggested.dry_run:
        yield Line("Dry run: nothing was written. It would report:", Tone.WARN)
    yield from (Line(short_ids(line), Tone.GOOD) for line in suggested.applied)
    yield from _note_lines(suggested.notes)


def _compaction_blocks(compacted: results.Compacted, _now: Moment) -> Iterator[Block]:
    rows = [
        {"DO": a["action"], "WHY": a.get("reason") or f"similarity {a.get('similarity')}",
         "THREADS": _join(a.get("threads") or a.get("thread"))}
        for a in compacted.actions[:_MOST_ACTIONS]
    ]  # fmt: skip
    if rows:
        yield _table(rows)
    if len(compacted.actions) > _MOST_ACTIONS:
        yield Line(
            f"and {len(compacted.actions) - _MOST_ACTIONS:,} more (--json lists them all)", Tone.DIM
        )
    yield from _note_lines(compacted.notes)
    yield Line(compacted.summary, Tone.WARN if compacted.dry_run else Tone.GOOD)


def _overview_blocks(overview: results.Overview, _now: Moment) -> Iterator[Block]:
    yield Line(
        f"{one_line(overview.project)}  {one_line(overview.root or '')}"
        if overview.project
        else "No project here.",
        Tone.TITLE,
    )
    for offer in overview.offers:
        yield Line(f"{offer[:1].upper()}{offer[1:]}.", Tone.WARN)
    if not overview.stores:
        next_step = "`recollect install` connects your agents."
        if overview.agents:
            are = "is" if len(overview.agents) == 1 else "are"
            next_step = f"{join_words(overview.agents)} {are} connected: new sessions fill it."
        yield Line(f"Nothing is remembered yet. {next_step}", Tone.DIM)
    for scope, _, counts in overview.stores:
        yield Line(f"{_WHOSE[scope]}: {_counted_kinds(counts)}.")
    by_status = [row for _, _, counts in overview.stores for row in counts.by_kind_and_status]
    if waiting := sum(count for _, status, count in by_status if status == Status.CANDIDATE):
        yield Line(
            f"{counted(waiting, 'rule')} waiting for your decision: `recollect inbox`.", Tone.WARN
        )
    if overview.captured:
        heard = sum(
            count for name, count in overview.captured.items() if not name.startswith("threads")
        )
        kept = sum(
            count for name, count in overview.captured.items() if name in ("stored", "inbox")
        )
        yield Line(
            f"{counted(heard, 'prompt')} heard, {kept:,} of them with a rule to keep.", Tone.DIM
        )
    if overview.quiet:
        muted = counted(overview.quiet, "memory", "memories")
        yield Line(
            f"{muted} muted, shown only when asked for: `recollect rules --muted`, `threads --muted`.",
            Tone.DIM,
        )
    if overview.focus:
        yield Line("In focus: " + ", ".join(f'"{point["topic"]}"' for point in overview.focus))
    for name, state in overview.mirrors.items():
        if state != "off":
            yield Line(f"{name.capitalize()}: {state}.", Tone.DIM)
    if (found := overview.embedding) is not None and found.problem:
        yield Line(f"Searching by words alone: {found.problem} `recollect doctor`.", Tone.WARN)
    elif found is not None and (found.waiting or found.others):
        left = f"{max(found.waiting, found.others):,} of {found.passages:,} passages"
        yield Line(
            f"{left} are found by their words alone so far; `recollect reindex` reads them now.",
            Tone.DIM,
        )
    if llm := overview.llm:
        calls, tokens = (
            f"{llm[name]:,} of {llm[f'{name}_per_day']:,} {name}" for name in ("calls", "tokens")
        )
        spent = f"; today {calls}, {tokens}" if llm["on"] or llm["calls"] else ""
        yield Line(f"Language models: {'on' if llm['on'] else 'off'}{spent}.", Tone.DIM)
    if overview.set_aside:
        yield Line(
            f"{counted(len(overview.set_aside), 'damaged file')} set aside: `recollect recover`.",
            Tone.WARN,
        )
    if wrong := overview.settings_problems:
        yield Line(f"{counted(wrong, 'setting')} could not be used: `recollect config`.", Tone.WARN)
    size = sum(counts.bytes for _, _, counts in overview.stores) / 1e6
    yield Line(f"Recollect {overview.version}, kept in {overview.home} ({size:.1f} MB).", Tone.DIM)


def _counted_kinds(counts: Counts) -> str:
    """`12 threads (3 suspended), 5 rules`."""
    parts, kept = [], [row for row in counts.by_kind_and_status if row[1] != Status.CANDIDATE]
    for kind in Kind:
        if of_kind := {status: n for name, status, n in kept if name == kind}:
            rest = [f"{n:,} {status}" for status, n in of_kind.items() if status != Status.ACTIVE]
            parts.append(
                counted(sum(of_kind.values()), str(kind))
                + (f" ({', '.join(rest)})" if rest else "")
            )
    return ", ".join(parts) or (
        "nothing in force yet" if counts.by_kind_and_status else "nothing yet"
    )


def _verification_blocks(verified: results.Verified, _now: Moment) -> Iterator[Block]:
    if not verified.stores:
        yield Line("There is no database yet.", Tone.DIM)
    for scope, path, findings in verified.stores:
        if findings:
            yield Line(f"{scope}: {counted(len(findings), 'finding')} ({path})", Tone.BAD)
            yield Table(
                ("PROBLEM", "TABLE", "KEY"), tuple((f.problem, f.table, f.key) for f in findings)
            )
            yield Line(
                "`recollect reindex` rebuilds what can be rebuilt; `recollect recover` brings back the rest."
            )
        else:
            yield Line(f"{scope}: sound ({path})", Tone.GOOD)


def _checkup_blocks(checkup: results.Checkup, _now: Moment) -> Iterator[Block]:
    wide = max(len(check.name) for check in checkup.checks)
    for check in checkup.checks:
        word, tone = {
            "good": ("ok", Tone.GOOD),
            "warn": ("note", Tone.WARN),
            "bad": ("BAD", Tone.BAD),
        }[check.mark]
        yield Line(f"{word:<5}{check.name:<{wide}}  {one_line(check.detail)}", tone)
        if check.repair:
            yield Line(f"     {'':<{wide}}  -> {check.repair}", Tone.COMMAND)
    bad, notes = (
        sum(check.mark is mark for check in checkup.checks) for mark in (Mark.BAD, Mark.WARN)
    )
    ending = f"{counted(bad, 'problem')} to repair." if bad else "Nothing is broken."
    yield Line(f"{ending} {counted(notes, 'note')} above." if notes else ending, Tone.TITLE)


def _setting_blocks(configured: results.Configured, _now: Moment) -> Iterator[Block]:
    if configured.is_change:
        was = (
            f"It was {configured.before} before." if configured.before else "It was not set before."
        )
        said = "Dry run: nothing was written." if configured.dry_run else was
        yield Line(said, Tone.WARN if configured.dry_run else Tone.GOOD)
    for one in configured.settings:
        tone = Tone.PLAIN if one["source"] == "default" else Tone.TITLE
        yield Line(f"{one['name']}={one['value']}  ({one['source']})", tone)
        yield Line(f"    {one['reason']}", Tone.DIM)
    yield from _note_lines(configured.problems)


def _summary_blocks(summary: results.Summary, _now: Moment) -> Iterator[Block]:
    if summary.summary:  # a list of names may be empty, and is read by programs
        yield Line(summary.said, is_verbatim=summary.is_verbatim)
    yield from _note_lines(summary.notes)


def _tour_blocks(tour: results.Tour, now: Moment) -> Iterator[Block]:
    for number, step in enumerate(tour.steps, start=1):
        yield Line(f"{number}. {step.why}", Tone.TITLE)
        yield Line(
            step.command if step.command.startswith(">") else f"$ {step.command}", Tone.COMMAND
        )
        if step.box:
            yield Line(f"╭─ {step.box}", Tone.DIM)
        for block in blocks(step.result, now=now):
            if step.box and isinstance(block, Line):
                yield from (Line(f"│ {line}", block.tone) for line in block.text.splitlines())
            else:
                yield block
        yield Line()
    yield from (
        Line(line, Tone.TITLE if number == 0 else Tone.COMMAND)
        for number, line in enumerate(tour.ending)
    )


def cut_note(result: results.Result) -> str:
    """Of a list whose JSON is a bare array: what it leaves out."""
    match result:
        case results.Cards(cards, _, total, offset, is_cut):
            return cut_line(len(cards), total - (offset or 0), is_cut=is_cut)
        case results.History(entries, is_cut):
            return cut_line(len(entries), is_cut=is_cut)
        case reports.Activity(items, is_cut):
            return cut_line(len(items), is_cut=is_cut)
        case _:
            return ""


_BLOCKS: Mapping[type, Callable[[Any, Moment], Iterator[Block]]] = {
    results.Cards: _card_blocks, results.Shown: _memory_blocks, results.Found: found_blocks,
    results.Recalled: lambda one, now: iter([Line(recall_text(one, now=now))]),
    results.Reasons: reason_blocks, results.Done: _change_blocks, results.History: _history_blocks,
    results.Suggested: _suggestion_blocks, results.Compacted: _compaction_blocks, results.Overview: _overview_blocks,
    results.Verified: _verification_blocks, results.Checkup: _checkup_blocks, results.Configured: _setting_blocks,
    results.Summary: _summary_blocks, results.Tour: _tour_blocks, reports.Activity: report_blocks.activity_blocks,
    reports.Trial: report_blocks.trial_blocks, reports.Figures: report_blocks.figure_blocks,
    Sessions: report_blocks.session_list_blocks, Timeline: report_blocks.timeline_blocks,
    reports.Outcomes: report_blocks.outcome_blocks,
}  # fmt: skip
