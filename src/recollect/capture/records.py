"""What a turn leaves behind: a record of what was asked, found, decided, changed and run, how it ended, and what the
agent said about it. And the summary of a thread, made of its records: what was asked for first, what was found and
decided (the newest first), and how it ended.

Made without a model, out of the turn's own sentences: nothing is said that nobody said. The agent's last message says
most of it. Text of machines, commands that only show something and what agents say while they work ("Let me check ...")
leave nothing. Does not decide where a record belongs (thread_choice.py).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from recollect.base.text import clip, one_line
from recollect.capture import sentence_kinds as kinds
from recollect.capture import terms, turn_commands
from recollect.capture.prompt_text import without_pastes
from recollect.capture.sentence_kinds import Line
from recollect.capture.tables import Patterns
from recollect.capture.turns import Turn
from recollect.model.act import Act, Deed, Speaker
from recollect.model.record import Record

ASKED_CHARS, FOUND_CHARS, DECIDED_CHARS, ENDED_CHARS, SAID_CHARS = 600, 400, 400, 240, 4_000
_LAST_CHARS = 3_000
_REPORT_CHARS = 1_200
_MAX_FILES, _MAX_FOUND = 8, 3
_QUESTION_CHARS = 120
_NOD_CHARS = 60
_MIN_CONTENT_WORDS = 5
_ANSWER = re.compile(r'"([^"\n]{3,600})"="([^"\n]{1,600})"')
"""How clients write what a person chose when the agent asked."""
_RESULT = re.compile(r"<result>(.*?)</result>", re.DOTALL)
_FENCE_LINES, _TABLE_ROWS = 8, 8
_SUMMARY_ASKED_CHARS, _SUMMARY_FOUND_CHARS, _SUMMARY_DECIDED_CHARS, _SUMMARY_ENDED_CHARS = 160, 260, 140, 180
_PATTERNS = Patterns("records")


def make_record(turn: Turn) -> Record:
    own = [act for act in turn.acts if not act.agent]
    said = [act for act in own if act.speaker is Speaker.AGENT and not act.plan and not _is_nod(act.text)]
    first = own[0] if own and (own[0].speaker is Speaker.PERSON or own[0].plan) else None
    asked = "" if first is None else _request(first)
    if asked and kinds.says_nothing(asked) and (offer := kinds.offer(turn.before)):
        asked = clip(f"{asked}: {offer}", ASKED_CHARS)
    last = said[-1].text if said else ""
    only_answers = _only_answers(own)
    return Record(
        asked=asked,
        found=_findings([act.text for act in said], is_question=only_answers),
        decided=_decisions(own, first),
        changed=_changed_files(own),
        ran=turn_commands.commands_run(own),
        ended=_ending([act.text for act in said], own, least=1.0 if only_answers else 0.5),
        said=_messages([act.text for act in (*(one for one in own if one.plan), *said[:-1])], last, own),
    )


def _is_nod(text: str) -> bool:
    plain = one_line(text)
    return not plain or (len(plain) < _NOD_CHARS and kinds.is_talk(plain))


def join_records(old: Record, new: Record) -> Record:
    """Join the record of a turn's beginning with that of its rest. Joining the same record twice changes nothing."""
    said = "\n\n".join((old.said, *(one for one in new.said.split("\n\n") if one not in old.said))).strip()
    return Record(
        asked=old.asked or new.asked,
        found=_join_texts(old.found, new.found, FOUND_CHARS),
        decided=_join_texts(old.decided, new.decided, DECIDED_CHARS),
        changed=", ".join(dict.fromkeys([*_parts(old.changed, ", "), *_parts(new.changed, ", ")])),
        ran="; ".join(dict.fromkeys([*_parts(old.ran, "; "), *_parts(new.ran, "; ")])),
        ended=new.ended or old.ended,
        said=said[-SAID_CHARS:],
    )


def _join_texts(old: str, new: str, most: int) -> str:
    return old if new in old else clip(f"{old} {new}".strip(), most)


def _parts(text: str, between: str) -> list[str]:
    return [part for part in text.split(between) if part]


# What the person said


def _request(act: Act) -> str:
    """In his words, without what he pasted. A plan that was handed over is named by its heading."""
    heading = kinds.heading(act.text) if act.plan else kinds.plan_heading(act.text)
    if heading:
        return f"{kinds.PLAN}{heading}"
    kept = without_pastes(act.text)
    return _cut(one_line(kept if re.search(r"\w", kept) else act.text), ASKED_CHARS)


def _decisions(acts: Sequence[Act], first: Act | None) -> str:
    """Choices and statements, each in the person's own words."""
    found: list[str] = []
    if first is not None and not first.plan and not kinds.plan_heading(first.text):
        found += _statements(first.text)
    for act in acts:
        if act.speaker is Speaker.PERSON and act is not first:
            found += [line for line in terms.sentences(_request(act)) if not kinds.asks(line)]
        elif act.speaker is Speaker.TOOL and act.doing and act.doing.deed is Deed.OTHER and not act.failed:
            found += [_choice(question, answer) for question, answer in _ANSWER.findall(act.text)]
    return _fill((one for one in found if one), DECIDED_CHARS)


def _choice(question: str, answer: str) -> str:
    asked = list(terms.sentences(question))[-1:]
    return f"{clip(asked[0], _QUESTION_CHARS)} {one_line(answer)}" if asked else one_line(answer)


def _statements(text: str) -> Iterator[str]:
    lines = list(terms.sentences(without_pastes(text)))
    for line in lines:
        if kinds.is_choice(line) and not kinds.asks(line) and (len(lines) > 1 or len(line) < 300):
            yield line


# What the agent said


def _findings(messages: Sequence[str], *, is_question: bool) -> str:
    """Sentences that state a cause, the last message first; of a turn that only answers, the answer."""
    kept: list[tuple[float, str]] = []
    for age, text in enumerate(reversed(messages)):
        lines = [line for line in kinds.lines(text) if not line.is_heading]
        for number, line in enumerate(lines):
            worth = kinds.cause(line.text) - (1 if kinds.outcome(line.text) and age == 0 else 0)
            worth -= 1 if kinds.tells_done(line.text) else 0
            worth -= 0.5 if line.text.endswith(":") else 0
            if worth < (1 if age == 0 else 2) or kinds.is_talk(line.text) or not _names_subject(line.text):
                continue
            after = lines[number + 1].text if number + 1 < len(lines) else ""
            more = after and not (lines[number + 1].is_item or kinds.is_talk(after) or after.endswith(("?", ":")))
            is_short = len(line.text) + len(after) < FOUND_CHARS // 2 + 60
            both = f"{line.text} {after}" if more and is_short and not kinds.outcome(after) else line.text
            kept.append((worth + (1.5 if age == 0 else 0) - (number + age) / 100, both))
    best = _without_repeats(text for _, text in sorted(kept, key=lambda one: -one[0]))
    if best:
        return _fill(best[:_MAX_FOUND], FOUND_CHARS)
    if is_question and messages:
        said = [line.text for line in kinds.lines(messages[-1]) if not line.is_heading]
        telling = [text for text in said if _names_subject(text) and not kinds.is_talk(text) and not kinds.asks(text)]
        return _fill(telling[:2], FOUND_CHARS)
    return ""


def _without_repeats(texts: Iterable[str]) -> list[str]:
    """Without texts that say nearly the same as an earlier one."""
    kept: list[tuple[str, set[str]]] = []
    for text in texts:
        words = set(terms.content(text))
        if all(len(words & other) <= len(words) / 2 for _, other in kept):
            kept.append((text, words))
    return [text for text, _ in kept]


def _only_answers(acts: Sequence[Act]) -> bool:
    deeds = [act.doing for act in acts if act.doing is not None and not act.refused]
    return not any(one.deed is Deed.EDIT or (one.deed is Deed.RUN and turn_commands.matters(one.what)) for one in deeds)


def _ending(messages: Sequence[str], acts: Sequence[Act], *, least: float) -> str:
    """The outcome: a sentence of one of the last messages, a commit, a failure, or a question to the person."""
    for text in reversed(messages[-3:]):
        found = _best_outcome(list(kinds.lines(text)), least)
        if found:
            return clip(found, ENDED_CHARS)
    subject = turn_commands.last_commit_subject(acts)
    if subject:
        return clip(f"Committed: {subject}", ENDED_CHARS)
    last = acts[-1] if acts else None
    if last is not None and last.speaker is Speaker.TOOL and last.failed and last.doing and last.doing.what:
        return clip(f"{turn_commands.shortened(last.doing.what)} failed", ENDED_CHARS)
    asked = [line.text for text in messages[-1:] for line in kinds.lines(text) if kinds.asks(line.text)]
    return clip(asked[-1], ENDED_CHARS) if asked else ""


def _best_outcome(lines: Sequence[Line], least: float) -> str:
    """The one or two sentences that say best what came of it."""
    rated: list[tuple[float, int, str]] = []
    for number, line in enumerate(lines):
        text = _with_items(line.text, lines[number + 1 :]) if line.text.endswith(":") else line.text
        if line.is_heading or kinds.is_talk(text) or kinds.asks(text) or not _names_subject(text):
            continue
        is_list = text != line.text
        worth = min(2.0, kinds.outcome(text)) if is_list else kinds.outcome(text)
        worth += (0.6 if not line.is_item else 0.0) + 0.5 / (number + 1)
        worth += 0.8 if text.lower().startswith("now ") else 0.0
        worth -= 2.0 if kinds.is_strong_cause(text) else 0.0
        worth -= 1.0 if text.endswith(":") else 0.0
        rated.append((worth, -number, text))
    rated.sort(reverse=True)
    best = [one for one in rated[:2] if one[0] > least]
    if len(best) == 2 and (sum(len(text) for *_, text in best) >= ENDED_CHARS or best[1][0] < best[0][0] - 1.5):
        best.pop()
    return " ".join(text.removesuffix(":") for _, _, text in sorted(best, key=lambda one: -one[1]))


def _with_items(lead: str, after: Sequence[Line]) -> str:
    """`I've:` and the list that follows it are one sentence."""
    items: list[str] = []
    for line in after:
        if not line.is_item or line.is_heading:
            break
        if sum(map(len, items)) + len(lead) + len(line.text) > ENDED_CHARS and items:
            break
        items.append(line.text.rstrip(".;"))
    return f"{lead} {'; '.join(items)}" if items else lead


def _names_subject(text: str) -> bool:
    return len(terms.content(text)) + len(terms.names(text)) >= 2 or kinds.is_wide_script(text)


def _messages(earlier: Sequence[str], last: str, acts: Sequence[Act]) -> str:
    """The agent's messages in order; where they are too long, the last one and those that state a cause stay."""
    final = _shorten(last, _LAST_CHARS)
    room = SAID_CHARS - len(final)
    blocks = [_shorten(_telling_lines(text), _REPORT_CHARS) for text in earlier]
    blocks += [_shorten(report, _REPORT_CHARS) for report in _reports(acts)]
    ranked = sorted(range(len(blocks)), key=lambda at: (-kinds.cause(blocks[at]), -at))
    kept: set[int] = set()
    for at in ranked:
        if blocks[at] and len(blocks[at]) + 2 <= room:
            kept.add(at)
            room -= len(blocks[at]) + 2
    failures = [line for line in turn_commands.failures(acts) if len(line) + 2 <= room][:2]
    return "\n\n".join([*(blocks[at] for at in sorted(kept)), *failures, final]).strip()


def _telling_lines(text: str) -> str:
    """Of an earlier message: what is not just said while working. Empty: too little."""
    kept = [line.text for line in kinds.lines(text) if not line.is_heading and not kinds.is_talk(line.text)]
    is_enough = sum(len(terms.content(line)) for line in kept) >= _MIN_CONTENT_WORDS
    return "\n".join(kept) if is_enough or any(map(kinds.is_wide_script, kept)) else ""


def _reports(acts: Iterable[Act]) -> Iterator[str]:
    """Reports of subagents, without what their client wrote around them."""
    for act in acts:
        is_task = act.speaker is Speaker.TOOL and act.doing is not None and act.doing.deed is Deed.DELEGATE
        if is_task and not act.refused and not act.failed:
            yield _PATTERNS.boilerplate.sub("", act.text)
        elif act.speaker is Speaker.MACHINE and (report := _RESULT.search(act.text)):
            yield _PATTERNS.boilerplate.sub("", report[1])


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
            kept.append(line.rstrip() if in_fence else kinds.without_marks(line))
    return _cut("\n".join(kept).strip(), most)


def _cut(text: str, most: int) -> str:
    """Cut at the end of a sentence, otherwise at the end of a word."""
    if len(text) <= most:
        return text
    ends = [found.end() for found in re.finditer(r"[.!?](?=\s)|\n|[\u3002\uff01\uff1f]", text[:most])]
    return text[: ends[-1]].rstrip() if ends and ends[-1] > most // 2 else clip(text, most)


def _fill(texts: Iterable[str], most: int) -> str:
    kept: list[str] = []
    for text in texts:
        room = most - sum(len(one) + 1 for one in kept)
        if text in kept or (kept and len(text) > room):
            continue
        kept.append(_cut(text, room))
    return " ".join(kept)


# What was done


def _changed_files(acts: Iterable[Act]) -> str:
    """The files that were changed most often first."""
    counts = Counter(
        file
        for act in acts
        if act.doing and act.doing.deed is Deed.EDIT and not act.failed and not act.refused
        for file in act.doing.files
        if not _PATTERNS.scratch.search(file)
    )
    files = [file for file, _ in counts.most_common()]
    more = f" (+{len(files) - _MAX_FILES})" if len(files) > _MAX_FILES else ""
    return ", ".join(files[:_MAX_FILES]) + more


# What a whole thread says


def summarize_records(records: Sequence[Record]) -> str:
    asked = next((one.asked for one in records if one.asked and not kinds.says_nothing(one.asked)), "")
    latest = list(reversed(records))
    ended = next((one.ended for one in latest if len(terms.content(one.ended)) > 1), "")
    return Record(
        asked=_first_sentences([asked], _SUMMARY_ASKED_CHARS),
        found=_first_sentences((one.found for one in latest), _SUMMARY_FOUND_CHARS),
        decided=_first_sentences((one.decided for one in latest), _SUMMARY_DECIDED_CHARS),
        ended=clip(ended, _SUMMARY_ENDED_CHARS),
    ).text()


def _first_sentences(texts: Iterable[str], most: int) -> str:
    """The first sentence of each, as far as there is room."""
    kept: list[str] = []
    room = most
    for text in texts:
        first = next(terms.sentences(text), "")
        if not first or first in kept:
            continue
        if kept and len(first) > room:
            break
        kept.append(clip(first, room))
        room -= len(kept[-1]) + 1
        if room < most // 3:
            break
    return " ".join(kept)
