"""Reports (model/report.py) for a terminal: what memory did lately, what a prompt would be told, figures by day."""

from __future__ import annotations

from collections.abc import Iterator

from recollect.base.moment import Moment
from recollect.base.text import clip, counted
from recollect.model.report import Activity, Figures, Trial
from recollect.render.blocks import SHORT_ID, Block, Line, Table, Tone
from recollect.render.recall_text import ago

_PASSAGE_CHARS = 160


def activity_blocks(activity: Activity, now: Moment) -> Iterator[Block]:
    if not activity.items:
        yield Line("Nothing happened yet.", Tone.DIM)
        return
    rows = tuple((ago(one.at, now), one.text, one.change[-SHORT_ID:]) for one in activity.items)
    yield Table(("WHEN", "WHAT", "CHANGE"), rows)


def trial_blocks(trial: Trial, _now: Moment) -> Iterator[Block]:
    if trial.text:
        yield Line(f"The agent would be told (about {counted(trial.tokens, 'token')}):", Tone.TITLE)
        yield Line(trial.text)
    else:
        yield Line("The agent would be told nothing.", Tone.TITLE)
    for one in trial.candidates:
        yield Line()
        yield Line(f"{one.certainty:.2f}  {one.title}  {one.id[-SHORT_ID:]}", Tone.GOOD if one.told else Tone.PLAIN)
        yield Line(f"      {clip(one.passage, _PASSAGE_CHARS)}", Tone.DIM)
        yield Line(f"      {one.why}" if one.told else f"      Not told: {one.left_out}.")
    for other in trial.left_out:
        yield Line(f"Left out: {clip(other['title'], 60)} ({other['why']})  {other['id'][-SHORT_ID:]}", Tone.DIM)
    if trial.candidates:
        floor = f"The floor is {trial.floor:g}: what is less certain is not told."
        yield Line(f"{floor} `recollect config` sets it.", Tone.DIM)
    yield from (Line(note, Tone.WARN) for note in trial.notes)


def figure_blocks(figures: Figures, now: Moment) -> Iterator[Block]:
    busy = [day for day in figures.days if any((day.prompts, day.told, day.kept))]
    if busy:
        cells = ((day.prompts, day.answered, day.told, day.tokens, day.kept) for day in busy)
        rows = tuple((day.day, *(f"{cell:,}" for cell in row)) for day, row in zip(busy, cells, strict=True))
        yield Table(("DAY", "PROMPTS", "ANSWERED", "TOLD", "TOKENS", "KEPT"), rows)
    else:
        yield Line("No prompts and no new memories in this time.", Tone.DIM)
    if prompts := figures.total("prompts"):
        yield Line(f"{figures.answered:.0%} of {counted(prompts, 'prompt')} were told something.")
    for name, counts in (("kind", figures.kinds), ("source", figures.sources)):
        if counts:
            yield Line(f"By {name}: " + ", ".join(f"{many:,} {what}" for what, many in sorted(counts.items())))
    for event, ms in figures.hook_ms.items():
        yield Line(f"{event}: answered in {ms['p50']} ms (median), {ms['p95']} ms (95%), of the last {ms['times']}.")
    for day, uses in figures.spent.items():
        calls, tokens = (sum(pair[place] for pair in uses.values()) for place in (0, 1))
        yield Line(f"{day}: language models answered {counted(calls, 'call')}, {tokens:,} tokens.")
    for store in figures.stores:
        backup = f"last backup {ago(store.backup_at, now)}" if store.backup_at else "no backup yet: `recollect backup`"
        yield Line(f"The {store.scope} store: {store.bytes / 1e6:.1f} MB, {backup}.", Tone.DIM)
