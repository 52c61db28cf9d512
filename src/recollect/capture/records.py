"""What a turn leaves behind: a record, made without a model out of its own sentences; and the summary of a thread. The
agent's last message says most of it; what agents say while they work ("Let me check ...") leaves nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from recollect.base.text import clip, one_line
from recollect.capture import terms, turns
from recollect.capture.machine_text import (
    before_error,
    is_error,
    is_machine_text,
    without_machine_text,
)
from recollect.capture.prompt_text import without_pastes
from recollect.capture.tables import Patterns
from recollect.capture.terms import CUES, Line
from recollect.capture.turns import Turn
from recollect.model.passage import Record
from recollect.model.session import Act, Speaker, ToolAction

ASKED_CHARS, FOUND_CHARS, DECIDED_CHARS, ENDED_CHARS, SAID_CHARS = 600, 400, 400, 240, 4_000
PASTED = " \u2026 "  # stands between what a person says and what they copied from a terminal
_LAST_CHARS, _REPORT_CHARS = (
    3_000,
    1_200,
)  # of the agent's last message, of an earlier one or a report
_MAX_FILES, _MAX_FOUND = 8, 3
_QUESTION_CHARS, _NOD_CHARS, _MIN_CONTENT_WORDS, _FENCE_LINES, _TABLE_ROWS = 120, 60, 5, 8, 8
_SUMMARY_ASKED_CHARS, _SUMMARY_FOUND_CHARS, _SUMMARY_DECIDED_CHARS, _SUMMARY_ENDED_CHARS = (
    160,
    260,
    140,
    180,
)
_PATTERNS = Patterns("records")


def make_record(turn: Turn) -> Record:
    own = [act for act in turn.acts if not act.agent]
    replies = [act.text for act in own if act.speaker is Speaker.AGENT and not act.plan]
    lines = ((one_line(text), text) for text in replies)
    said = [
        text
        for line, text in lines
        if len(line) >= _NOD_CHARS or (line and not terms.is_talk(line))
    ]
    first = own[0] if own and (own[0].speaker is Speaker.PERSON or own[0].plan) else None
    asked = "" if first is None else _request(first)
    if asked and turns.says_nothing(asked) and (offer := terms.offer(turn.before)):
        asked = clip(f"{asked}: {offer}", ASKED_CHARS)
    uses = [(act.use, act.failed) for act in own if act.use is not None and not act.refused]
    ran = (use.action is ToolAction.RUN and turns.matters(use.what) for use, _ in uses)
    only_answers = not any(ran) and not any(use.action is ToolAction.EDIT for use, _ in uses)
    edits = [use for use, failed in uses if use.action is ToolAction.EDIT and not failed]
    counts = Counter(
        file for edit in edits for file in edit.files if not _PATTERNS.scratch.search(file)
    )
    files = [file for file, _ in counts.most_common()]
    more = f" (+{len(files) - _MAX_FILES})" if len(files) > _MAX_FILES else ""
    return Record(
        asked=asked, found=_findings(said, is_question=only_answers), decided=_decisions(own, first),
        changed=", ".join(files[:_MAX_FILES]) + more, ran=turns.list_commands(own),
        ended=_ending(said, own, least=1.0 if only_answers else 0.5), said=_messages(said, own),
    )  # fmt: skip


def join_records(old: Record, new: Record) -> Record:
    """Join the record of a turn's beginning with that of its rest. Joining the same record twice changes nothing."""

    def join(one: str, two: str, most: int) -> str:
        return one if two in one else clip(f"{one} {two}".strip(), most)

    def join_lists(one: str, two: str, between: str) -> str:
        return between.join(dict.fromkeys(filter(None, (*one.split(between), *two.split(between)))))

    said = "\n\n".join(
        (old.said, *(one for one in new.said.split("\n\n") if one not in old.said))
    ).strip()
    return Record(
        asked=old.asked or new.asked, found=join(old.found, new.found, FOUND_CHARS),
        decided=join(old.decided, new.decided, DECIDED_CHARS), changed=join_lists(old.changed, new.changed, ", "),
        ran=join_lists(old.ran, new.ran, "; "), ended=new.ended or old.ended, said=said[-SAID_CHARS:],
    )  # fmt: skip


def _request(act: Act) -> str:
    """In their words, without what they pasted. A plan that was handed over is named by its heading."""
    heading = terms.heading(act.text) if act.plan else terms.plan_heading(act.text)
    if heading:
        return f"{terms.PLAN}{heading}"
    kept = without_pastes(act.text)
    text = kept if re.search(r"\w", kept) else act.text
    said = without_machine_text(text)
    if said and len(said.split()) < len(text.split()):
        # What they say comes first, and what they copied from a terminal after it.
        lines = [line for line in text.splitlines() if is_machine_text(line)]
        text = f"{one_line(said)}{PASTED}{one_line(' '.join(lines))}"
    return _cut(one_line(text), ASKED_CHARS)


def _decisions(acts: Sequence[Act], first: Act | None) -> str:
    found: list[str] = []
    if first is not None and not first.plan and not terms.plan_heading(first.text):
        lines = list(terms.sentences(without_pastes(first.text)))
        stated = [line for line in lines if CUES.choice.search(line) and not CUES.asks.search(line)]
        found += [line for line in stated if len(lines) > 1 or len(line) < 300]
    for act in acts:
        if act.speaker is Speaker.PERSON and act is not first:
            found += [line for line in terms.sentences(_request(act)) if not CUES.asks.search(line)]
        elif (
            act.speaker is Speaker.TOOL
            and act.use
            and act.use.action is ToolAction.OTHER
            and not act.failed
        ):
            for question, answer in _PATTERNS.answer.findall(act.text):
                asked = list(terms.sentences(question))[-1:]
                found.append(
                    one_line(f"{clip(asked[0], _QUESTION_CHARS) if asked else ''} {answer}")
                )
    return _fill(found, DECIDED_CHARS)


def _findings(messages: Sequence[str], *, is_question: bool) -> str:
    """Sentences that state a cause, the last message first; of a turn that only answers, the answer."""
    kept: list[tuple[float, str]] = []
    for age, text in enumerate(reversed(messages)):
        lines = [line for line in terms.lines(text) if not line.is_heading]
        for number, line in enumerate(lines):
            worth = terms.rate_cause(line.text) - (
                1 if terms.rate_outcome(line.text) and age == 0 else 0
            )
            worth -= 1 if CUES.done.match(line.text) else 0  # it begins by telling what was done
            worth -= 0.5 if line.text.endswith(":") else 0
            if (
                worth < (1 if age == 0 else 2)
                or terms.is_talk(line.text)
                or not terms.names_subject(line.text)
            ):
                continue
            after = lines[number + 1].text if number + 1 < len(lines) else ""
            more = after and not (
                lines[number + 1].is_item or terms.is_talk(after) or after.endswith(("?", ":"))
            )
            is_short = len(line.text) + len(after) < FOUND_CHARS // 2 + 60
            both = (
                f"{line.text} {after}"
                if more and is_short and not terms.rate_outcome(after)
                else line.text
            )
            kept.append((worth + (1.5 if age == 0 else 0) - (number + age) / 100, both))
    best: dict[str, set[str]] = {}  # what says nearly the same as an earlier one is left out
    for _, text in sorted(kept, key=lambda one: -one[0]):
        content = set(terms.content(text))
        if all(len(content & other) <= len(content) / 2 for other in best.values()):
            best[text] = content
    found = list(best)
    if not found and is_question and messages:
        said = [
            line.text
            for line in terms.lines(messages[-1])
            if not line.is_heading and not terms.is_talk(line.text)
        ]
        found = [text for text in said if terms.names_subject(text) and not CUES.asks.search(text)][
            :2
        ]
    return _fill(found[:_MAX_FOUND], FOUND_CHARS)


def _ending(messages: Sequence[str], acts: Sequence[Act], *, least: float) -> str:
    """The outcome: a sentence of one of the last messages, a commit, a failure, or a question to the person."""
    spoken = [list(terms.lines(text)) for text in messages[-3:]]
    found = next(filter(None, (_best_outcome(lines, least) for lines in reversed(spoken))), "")
    if not found:
        subjects = [
            turns.commit_subject(command)
            for act, command in turns.ran_commands(acts)
            if not act.failed
        ]
        found = next((f"Committed: {subject}" for subject in reversed(subjects) if subject), "")
    if not found and acts and acts[-1].failed and (done := acts[-1].use) and done.what:
        found = f"`{turns.shortened(done.what)}` failed"
    if not found and spoken:
        found = next(
            (line.text for line in reversed(spoken[-1]) if CUES.asks.search(line.text)), ""
        )
    return clip(found, ENDED_CHARS)


def _best_outcome(lines: Sequence[Line], least: float) -> str:
    rated: list[tuple[float, int, str]] = []
    for number, line in enumerate(lines):
        text = _with_items(line.text, lines[number + 1 :]) if line.text.endswith(":") else line.text
        if (
            line.is_heading
            or terms.is_talk(text)
            or CUES.asks.search(text)
            or not terms.names_subject(text)
        ):
            continue
        worth = terms.rate_outcome(text)
        worth = min(2.0, worth) if text != line.text else worth
        worth += (0.6 if not line.is_item else 0.0) + 0.5 / (number + 1)
        worth += 0.8 if text.lower().startswith("now ") else 0.0
        worth -= 2.0 if CUES.strong_cause.search(text) else 0.0
        worth -= 1.0 if text.endswith(":") else 0.0
        rated.append((worth, -number, text))
    rated.sort(reverse=True)
    best = [one for one in rated[:2] if one[0] > least]
    if len(best) == 2:
        (worth, _, first), (next_worth, _, second) = best
        if len(first) + len(second) >= ENDED_CHARS or next_worth < worth - 1.5:
            best.pop()
    return " ".join(text.removesuffix(":") for _, _, text in sorted(best, key=lambda one: -one[1]))


def _with_items(lead: str, after: Sequence[Line]) -> str:
    """`I've:` and the list that follows it are one sentence."""
    items: list[str] = []
    for line in after:
        is_full = sum(map(len, items)) + len(lead) + len(line.text) > ENDED_CHARS and items
        if not line.is_item or line.is_heading or is_full:
            break
        items.append(line.text.rstrip(".;"))
    return f"{lead} {'; '.join(items)}" if items else lead


def _messages(said: Sequence[str], acts: Sequence[Act]) -> str:
    """The agent's messages in order; where they are too long, the last one and those that state a cause stay."""
    final = _shorten(said[-1] if said else "", _LAST_CHARS)
    room = SAID_CHARS - len(final)
    blocks: list[str] = []
    for text in (*(act.text for act in acts if act.plan), *said[:-1]):
        # Without what is only said while working; left out where too little remains.
        lines = [
            line.text
            for line in terms.lines(text)
            if not line.is_heading and not terms.is_talk(line.text)
        ]
        is_enough = sum(len(terms.content(line)) for line in lines) >= _MIN_CONTENT_WORDS
        if is_enough or any(map(terms.is_wide_script, lines)):
            blocks.append(_shorten("\n".join(lines), _REPORT_CHARS))
    for act in acts:
        is_task = (
            act.use is not None
            and act.use.action is ToolAction.DELEGATE
            and not act.refused
            and not act.failed
        )
        report = _PATTERNS.result.search(act.text) if act.speaker is Speaker.MACHINE else None
        if is_task or report:
            text = _PATTERNS.boilerplate.sub("", report[1] if report else act.text)
            blocks.append(_shorten(text, _REPORT_CHARS))
    kept: set[int] = set()
    for at in sorted(range(len(blocks)), key=lambda at: (-terms.rate_cause(blocks[at]), -at)):
        if blocks[at] and len(blocks[at]) + 2 <= room:
            kept.add(at)
            room -= len(blocks[at]) + 2
    failures = [line for line in turns.failures(acts) if len(line) + 2 <= room][:2]
    return "\n\n".join([*(blocks[at] for at in sorted(kept)), *failures, final]).strip()


def _shorten(text: str, most: int) -> str:
    """Keep the first lines of code and tables, and cut the text at a sentence."""
    kept: list[str] = []
    fenced = rows = 0
    in_fence = False
    for line in text.splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            in_fence, fenced = not in_fence, 0
            continue
        fenced = fenced + 1 if in_fence else 0
        rows = rows + 1 if line.lstrip().startswith("|") else 0
        if fenced > _FENCE_LINES or rows > _TABLE_ROWS or (rows and not re.search(r"\w", line)):
            continue
        if line.strip() or (kept and kept[-1]):
            plain = line if in_fence else CUES.link.sub(r"\1", CUES.emphasis.sub("", line))
            kept.append(plain.rstrip())
    return _cut("\n".join(kept).strip(), most)


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    ends = [
        found.end() for found in re.finditer(r"[.!?](?=\s)|\n|[\u3002\uff01\uff1f]", text[:most])
    ]
    return text[: ends[-1]].rstrip() if ends and ends[-1] > most // 2 else clip(text, most)


def _fill(texts: Iterable[str], most: int) -> str:
    kept: list[str] = []
    for text in texts:
        room = most - sum(len(one) + 1 for one in kept)
        if text not in kept and not (kept and len(text) > room):
            kept.append(_cut(text, room))
    return " ".join(kept)


def summarize_records(records: Sequence[Record]) -> str:
    requests = (before_error(one.asked.split(PASTED)[0]) for one in records)
    asked = next(
        (text for text in requests if not turns.says_nothing(text) and not is_machine_text(text)),
        "",
    )
    latest = list(reversed(records))
    ended = next((one.ended for one in latest if _tells_outcome(one.ended)), "")
    return Record(
        asked=_first_sentences([asked], _SUMMARY_ASKED_CHARS),
        found=_first_sentences((one.found for one in latest), _SUMMARY_FOUND_CHARS),
        decided=_first_sentences((one.decided for one in latest), _SUMMARY_DECIDED_CHARS),
        ended=clip(ended, _SUMMARY_ENDED_CHARS),
    ).text()


def _tells_outcome(ended: str) -> bool:
    """That a command failed is a detail of one turn, not how the work stands."""
    return len(terms.content(ended)) > 1 and not is_error(ended)


def _first_sentences(texts: Iterable[str], most: int) -> str:
    kept: list[str] = []
    room = most
    for first in dict.fromkeys(next(terms.sentences(text), "") for text in texts):
        if room < most // 3 or (kept and len(first) > room):
            break
        if first:
            kept.append(clip(first, room))
            room -= len(kept[-1]) + 1
    return " ".join(kept)
