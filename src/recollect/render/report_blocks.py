"""Reports and sessions for a terminal: what memory did lately, what a prompt would be told, figures by day, the list of
sessions, and one turn by turn; and the sentences of sessions that the page uses, too."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from recollect.base.local_time import local_minute
from recollect.base.moment import Moment
from recollect.base.text import clip, counted, one_line, without_full_stop
from recollect.model.memory import Kind, Status
from recollect.model.report import Activity, Figures, Outcomes, Trial
from recollect.model.session import Ending, EventName
from recollect.model.timeline import CallStep, SessionRow, Sessions, Timeline, Told, TurnSteps
from recollect.render.blocks import (
    FOUND_NOT_SHOWN,
    SHORT_ID,
    Block,
    Line,
    Table,
    Tone,
    cut_line,
    time_column,
)
from recollect.render.recall_text import ago, time_span

_PASSAGE_CHARS = 160
_ID_CHARS = 8
_PROMPT_CHARS, _WHAT_CHARS, _LINE_CHARS, _REPLY_CHARS = 600, 110, 400, 300
_MAX_WHY = 8
_EVENTS = {
    EventName.SESSION_STARTED: "Told at the start", EventName.PROMPT: "Told with this prompt",
    EventName.TOOL_CALLED: "Told before a call", EventName.SUBAGENT_STARTED: "Told to a subagent",
}  # fmt: skip
_ENDED = {
    Ending.FAILURE: "failed",
    Ending.REFUSAL: "you refused it",
    Ending.AGENT_FAILURE: "failed",
}
_ENDINGS: dict[str, str] = {
    Ending.SUCCESS: "went well",
    Ending.FAILURE: "failed",
    Ending.RE_ASK: "you asked again",
    Ending.AGENT_FAILURE: "a subagent failed",
    Ending.REFUSAL: "you refused it",
}
_BECAME = {
    Status.ACTIVE: "in force", Status.CANDIDATE: "waits in the inbox", Status.ARCHIVED: "archived",
    Status.SUPERSEDED: "replaced by a newer one", Status.SUSPENDED: "asleep by age",
}  # fmt: skip


def activity_blocks(activity: Activity, now: Moment) -> Iterator[Block]:
    if not activity.items:
        yield Line("Nothing happened yet.", Tone.DIM)
        return
    rows = tuple((ago(one.at, now), one.text, one.change[-SHORT_ID:]) for one in activity.items)
    yield Table(("WHEN", "WHAT", "CHANGE"), rows)
    if said := cut_line(len(activity.items), is_cut=activity.is_cut):
        yield Line(said, Tone.DIM)


def outcome_blocks(outcomes: Outcomes, _now: Moment) -> Iterator[Block]:
    if not outcomes.items:
        yield Line("No outcomes were recorded.", Tone.DIM)
        return
    for outcome in outcomes.items:
        tone = Tone.GOOD if outcome.ending == Ending.SUCCESS else Tone.WARN
        ended = _ENDINGS.get(outcome.ending, outcome.ending)
        yield Line(f"{local_minute(outcome.at)}  {ended}: {clip(outcome.did, _WHAT_CHARS)}", tone)
        if outcome.came:
            yield Line(f"  {clip(outcome.came, _WHAT_CHARS)}", Tone.DIM)
        for id, title in outcome.memories:
            mark = "helped" if outcome.ending == Ending.SUCCESS else "did not help"
            yield Line(f"  {mark}: {clip(title or 'a memory that is gone', 60)}  {id[-SHORT_ID:]}")
    if said := cut_line(len(outcomes.items), outcomes.total):
        yield Line(said, Tone.DIM)


def trial_blocks(trial: Trial, _now: Moment) -> Iterator[Block]:
    if trial.text:
        yield Line(f"The agent would be told (about {counted(trial.tokens, 'token')}):", Tone.TITLE)
        yield Line(trial.text)
    else:
        yield Line("The agent would be told nothing.", Tone.TITLE)
    for one in trial.candidates:
        yield Line()
        yield Line(
            f"{one.certainty:.2f}  {one.title}  {one.id[-SHORT_ID:]}",
            Tone.GOOD if one.told else Tone.PLAIN,
        )
        yield Line(f"      {clip(one.passage, _PASSAGE_CHARS)}", Tone.DIM)
        yield Line(f"      {one.why}" if one.told else f"      Not told: {one.left_out}.")
    for other in trial.left_out:
        yield Line(
            f"Left out: {clip(other['title'], 60)} ({other['why']})  {other['id'][-SHORT_ID:]}",
            Tone.DIM,
        )
    if trial.candidates:
        floor = f"The floor is {trial.floor:g}: what is less certain is not told."
        yield Line(f"{floor} `recollect config` sets it.", Tone.DIM)
    yield from (Line(note, Tone.WARN) for note in trial.notes)


def figure_blocks(figures: Figures, now: Moment) -> Iterator[Block]:
    busy = [day for day in figures.days if any((day.prompts, day.told, day.kept))]
    if busy:
        cells = ((day.prompts, day.answered, day.told, day.tokens, day.kept) for day in busy)
        rows = tuple(
            (day.day, *(f"{cell:,}" for cell in row)) for day, row in zip(busy, cells, strict=True)
        )
        yield Table(("DAY", "PROMPTS", "ANSWERED", "TOLD", "TOKENS", "KEPT"), rows)
    else:
        yield Line("No prompts and no new memories in this time.", Tone.DIM)
    if prompts := figures.total("prompts"):
        were = "was" if prompts == 1 else "were"
        yield Line(f"{figures.answered:.0%} of {counted(prompts, 'prompt')} {were} told something.")
    if figures.kinds:
        kinds = (counted(many, kind) for kind, many in sorted(figures.kinds.items()))
        yield Line(f"By kind: {', '.join(kinds)}")
    if figures.sources:
        sources = (f"{many:,} {source}" for source, many in sorted(figures.sources.items()))
        yield Line(f"By source: {', '.join(sources)}")
    for event, ms in figures.hook_ms.items():
        yield Line(
            f"{event}: answered in {ms['p50']} ms (median), {ms['p95']} ms (95%), of the last {ms['times']}."
        )
    for day, uses in figures.spent.items():
        calls, tokens = (sum(pair[place] for pair in uses.values()) for place in (0, 1))
        yield Line(
            f"{day} (UTC): language models answered {counted(calls, 'call')}, {tokens:,} tokens."
        )
    for store in figures.stores:
        backup = (
            f"last backup {ago(store.backup_at, now)}"
            if store.backup_at
            else "no backup yet: `recollect backup`"
        )
        yield Line(f"The {store.scope} store: {store.bytes / 1e6:.1f} MB, {backup}.", Tone.DIM)


def session_list_blocks(found: Sessions, _now: Moment) -> Iterator[Block]:
    if not found.sessions:
        yield Line(
            "No sessions yet: `recollect install` connects agents, `recollect import sessions` reads past ones."
        )
        return
    began, times = time_column("BEGAN", [one.began for one in found.sessions])
    rows = tuple(
        (one.id[:_ID_CHARS], one.agent, time, _short_span(one), *map(str, _figures(one)))
        for one, time in zip(found.sessions, times, strict=True)
    )
    yield Table(("ID", "AGENT", began, "LASTED", "PROMPTS", "TOLD", "KEPT", "TOKENS"), rows)
    if gone := [one.id[:_ID_CHARS] for one in found.sessions if not one.has_transcript]:
        yield Line(
            f"Without a transcript, by what is on record alone: {', '.join(gone)}.", Tone.DIM
        )
    if said := cut_line(len(found.sessions), found.total - found.offset):
        end = found.offset + len(found.sessions)
        yield Line(f"{said} `recollect sessions --offset {end}` goes on.", Tone.DIM)
    yield Line("`recollect session ID` shows one.", Tone.DIM)


def timeline_blocks(timeline: Timeline, _now: Moment) -> Iterator[Block]:
    one = timeline.session
    prompts, told, kept, tokens = _figures(one)
    yield Line(f"{one.agent}  {one.id}", Tone.TITLE)
    added = f" (about {counted(tokens, 'token')})" if tokens else ""
    new = counted(kept, "new memory", "new memories")
    figures = f"{counted(prompts, 'prompt')}, told {_memories(told)}{added}, kept {new}"
    yield Line(f"{_time(one.began)} to {_time(one.last_at)}: {figures}.", Tone.DIM)
    if timeline.note:
        yield Line(timeline.note, Tone.WARN)
    if not timeline.turns:
        yield Line("Nothing was said in it yet.", Tone.DIM)
    for turn in timeline.turns:
        yield Line()
        yield from _turn_blocks(turn, timeline.all_turns)
    shown = [turn.number for turn in timeline.turns if turn.number]
    if shown and (shown[0] > 1 or shown[-1] < timeline.all_turns):
        said = f"Turns {shown[0]} to {shown[-1]} of {timeline.all_turns}"
        yield Line(
            f"\n{said}; `recollect session {one.id[:_ID_CHARS]} --turn 1` begins at the first.",
            Tone.DIM,
        )


def _turn_blocks(turn: TurnSteps, total: int) -> Iterator[Block]:
    if turn.number:
        plan = "  the agent's own plan" if turn.is_plan else ""
        yield Line(f"Turn {turn.number} of {total}  {_time(turn.at)}{plan}", Tone.TITLE)
        yield from (Line(f"> {line}") for line in clip(turn.prompt, _PROMPT_CHARS).splitlines())
    else:
        yield Line("Before the first prompt", Tone.TITLE)
    for told in turn.told:
        yield from _told_blocks(told)
    for (tool, is_plain), calls in groupby(turn.calls, lambda one: (one.tool, not one.matters)):
        if is_plain:
            said = dict.fromkeys(clip(one_line(one.what), _WHAT_CHARS) for one in calls)
            yield Line(clip(f"  {tool}  {', '.join(filter(None, said))}", _LINE_CHARS))
        else:
            for call in calls:
                yield from _call_blocks(call)
    if hidden := turn.all_calls - len(turn.calls):
        yield Line(f"  and {counted(hidden, 'more call')}", Tone.DIM)
    if turn.reply:
        yield Line(f"  It said: {clip(one_line(turn.reply), _REPLY_CHARS)}", Tone.DIM)
    if went := how_it_went(turn):
        yield Line(f"  {went}")
    for one in turn.kept:
        if one.kind is Kind.THREAD:
            yield Line(f"  Recorded in thread {one.id[-SHORT_ID:]}: {one.title}", Tone.DIM)
        else:
            yield Line(
                f"  Kept: {one.kind} {one.id[-SHORT_ID:]} ({became(one.status)}): {one.title}",
                Tone.GOOD,
            )
    for sentence in turn.heard:
        if sentence.memory:
            text = f"  Kept: rule {sentence.memory[-SHORT_ID:]} ({became(sentence.status)}): {sentence.rule}"
            yield Line(text, Tone.GOOD if sentence.status is Status.ACTIVE else Tone.PLAIN)
        elif sentence.is_near:
            yield Line(f'  Not kept: "{sentence.words}", because {sentence.why}.', Tone.WARN)


def _told_blocks(told: Told, indent: str = "  ") -> Iterator[Block]:
    about = f"about {counted(told.tokens, 'token')}"
    if not told.reasons and not told.text:
        if not told.left_out:
            yield Line(f"{indent}Nothing was told: nothing was found.", Tone.DIM)
            return
        why = "; ".join(
            f"because {sentence}: {_memories(len(ids))}" for sentence, ids in told.left_out.items()
        )
        yield Line(f"{indent}Nothing was told. Left out {why}.", Tone.DIM)
        return
    if not told.delivered:
        yield Line(f"{indent}{FOUND_NOT_SHOWN}", Tone.WARN)
    else:
        yield Line(f"{indent}{event_words(told.event)}, {about}:", Tone.TITLE)
    yield from (Line(f"{indent}| {line}", Tone.DIM) for line in told.text.splitlines())
    by_reason: dict[str, list[str]] = {}
    for reason in told.reasons:
        named = "" if told.text else f": {clip(without_full_stop(reason.title), 60)}"
        by_reason.setdefault(reason.why, []).append(f"{reason.id[-SHORT_ID:]}{named}")
    for why, ids in by_reason.items():
        more = f" and {len(ids) - _MAX_WHY} more" if len(ids) > _MAX_WHY else ""
        yield Line(f"{indent}{why} ({'; '.join(ids[:_MAX_WHY])}{more})")


def _call_blocks(call: CallStep) -> Iterator[Block]:
    for told in call.told:
        yield from _told_blocks(told, "    ")
    said = clip(one_line(call.what), _WHAT_CHARS)
    if call.ended in _ENDED:
        problem = f": {clip(one_line(call.problem), 160)}" if call.problem else ""
        yield Line(f"  {call.tool}  {said}  {_ENDED[call.ended]}{problem}", Tone.BAD)
    else:
        yield Line(f"  {call.tool}  {said}")


def event_words(event: str) -> str:
    return _EVENTS.get(EventName(event), "Told") if event in set(EventName) else "Told"


def how_it_went(turn: TurnSteps) -> str:
    """A sentence or two; empty where there is nothing to say."""
    said = []
    if turn.failed_calls:
        said.append(f"{turn.failed_calls} of {counted(turn.all_calls, 'call')} failed.")
    elif turn.all_calls:
        said.append(f"{counted(turn.all_calls, 'call')}, none failed.")
    if turn.ended is Ending.RE_ASK:
        said.append("Then you said that it was not what you had asked for.")
    elif turn.ended is Ending.SUCCESS and turn.helped:
        ids = ", ".join(id[-SHORT_ID:] for id in turn.helped)
        said.append(f"{_memories(len(turn.helped))} helped: {ids}.")
    return " ".join(said)


def became(status: Status | None) -> str:
    return _BECAME[status] if status else "not kept"


def lasted(one: SessionRow) -> str:
    return time_span(_minutes(one)) or "under a minute"


def _minutes(one: SessionRow) -> int:
    return int(one.last_at.days_since(one.began) * 1_440)


def _figures(one: SessionRow) -> tuple[int, int, int, int]:
    return one.prompts, one.told, one.kept, one.tokens


def _memories(count: int) -> str:
    return counted(count, "memory", "memories")


def _short_span(one: SessionRow) -> str:
    """For a column: `5 min`, `3 h`, `12 d`."""
    count, _, unit = lasted(one).partition(" ")
    if not count.isdigit():
        return "<1 min"
    return f"{count} {'min' if unit.startswith('min') else unit[0]}"


def _time(at: Moment) -> str:
    return local_minute(at)
