"""What a turn leaves behind: a record of what was asked, found, decided, changed and run, how it ended, and what the
agent said about it. Made without a model, out of the turn's own sentences.

The agent's last message says most of it. Text of machines, looks around and what agents say while they work ("Let me
check ...") leave nothing. Does not decide where a record belongs (threads.py), writes nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from recollect.base.text import clip, one_line
from recollect.capture import commands, sentence, terms
from recollect.capture.mask import BLOT, masked
from recollect.capture.sentence import Line
from recollect.capture.turn import Turn
from recollect.model.act import Act, Deed, Speaker
from recollect.model.record import Record

ASKED_CHARS, FOUND_CHARS, DECIDED_CHARS, ENDED_CHARS, SAID_CHARS = 600, 400, 400, 240, 4_000
_LAST_CHARS = 3_000
_REPORT_CHARS = 1_200
_MOST_FILES, _MOST_FOUND = 8, 3
_QUESTION_CHARS = 120
_NOD_CHARS = 60
_LEAST_CONTENT = 5
_ANSWER = re.compile(r'"([^"\n]{3,600})"="([^"\n]{1,600})"')
"""How clients write what a person chose when the agent asked."""
_RESULT = re.compile(r"<result>(.*?)</result>", re.DOTALL)
_BOILERPLATE = re.compile(
    r"^(?:agentId:|<usage>|Async agent launched|The agent is working|output_file:|Do not duplicate|You can resume|"
    r"If asked, you can).*$",
    re.MULTILINE,
)
_FENCE_LINES, _TABLE_ROWS = 8, 8
_SCRATCH = re.compile(r"^(?:/private)?/(?:tmp|var)/|/\.claude/|^~|^[A-Z]:\\Users\\[^\\]+\\AppData", re.IGNORECASE)


def record(turn: Turn) -> Record:
    own = [act for act in turn.acts if not act.agent]
    said = [act for act in own if act.speaker is Speaker.AGENT and not act.plan and not _is_nod(act.text)]
    first = own[0] if own and (own[0].speaker is Speaker.PERSON or own[0].plan) else None
    asked = (
        "" if first is None else f"{sentence.PLAN}{sentence.heading(first.text)}" if first.plan else _asked(first.text)
    )
    if asked and sentence.says_nothing(asked) and (offer := sentence.offer(turn.before)):
        asked = clip(f"{asked}: {offer}", ASKED_CHARS)
    last = said[-1].text if said else ""
    only_answers = _only_answers(own)
    return Record(
        asked=asked,
        found=_found([act.text for act in said], is_question=only_answers),
        decided=_decided(own, first),
        changed=_changed(own),
        ran=commands.ran(own),
        ended=_ended([act.text for act in said], own, least=1.0 if only_answers else 0.5),
        said=_said([act.text for act in (*(one for one in own if one.plan), *said[:-1])], last, own),
    )


def _is_nod(text: str) -> bool:
    plain = one_line(text)
    return not plain or (len(plain) < _NOD_CHARS and sentence.is_talk(plain))


def joined(old: Record, new: Record) -> Record:
    """The record of a turn whose beginning is known by its record alone. Joining the same twice changes nothing."""
    said = "\n\n".join((old.said, *(one for one in new.said.split("\n\n") if one not in old.said))).strip()
    return Record(
        asked=old.asked or new.asked,
        found=_both(old.found, new.found, FOUND_CHARS),
        decided=_both(old.decided, new.decided, DECIDED_CHARS),
        changed=", ".join(dict.fromkeys([*_parts(old.changed, ", "), *_parts(new.changed, ", ")])),
        ran="; ".join(dict.fromkeys([*_parts(old.ran, "; "), *_parts(new.ran, "; ")])),
        ended=new.ended or old.ended,
        said=said[-SAID_CHARS:],
    )


def _both(old: str, new: str, most: int) -> str:
    return old if new in old else clip(f"{old} {new}".strip(), most)


def _parts(text: str, between: str) -> list[str]:
    return [part for part in text.split(between) if part]


# What the person said


def _asked(text: str) -> str:
    """In his words, without what he pasted. A plan that was handed over is named by its heading."""
    plan = sentence.plan_heading(text)
    if plan:
        return f"{sentence.PLAN}{plan}"
    seen = masked(text)
    kept = "".join(" " if mark == BLOT else char for char, mark in zip(text, seen, strict=True))
    plain = one_line(kept) if re.search(r"\w", kept) else one_line(text)
    return _cut(plain, ASKED_CHARS)


def _decided(acts: Sequence[Act], first: Act | None) -> str:
    """Choices and statements, each in the person's own words."""
    found: list[str] = []
    if first is not None and not first.plan and not sentence.plan_heading(first.text):
        found += _statements(first.text)
    for act in acts:
        if act.speaker is Speaker.PERSON and act is not first:
            found += [line for line in terms.sentences(_asked(act.text)) if not sentence.asks(line)]
        elif act.speaker is Speaker.TOOL and act.doing and act.doing.deed is Deed.OTHER and not act.failed:
            found += [_chosen(question, answer) for question, answer in _ANSWER.findall(act.text)]
    return _filled((one for one in found if one), DECIDED_CHARS)


def _chosen(question: str, answer: str) -> str:
    asked = list(terms.sentences(question))[-1:]
    return f"{clip(asked[0], _QUESTION_CHARS)} {one_line(answer)}" if asked else one_line(answer)


def _statements(text: str) -> Iterator[str]:
    seen = masked(text)
    kept = "".join(" " if mark == BLOT else char for char, mark in zip(text, seen, strict=True))
    lines = list(terms.sentences(kept))
    for number, line in enumerate(lines):
        if sentence.is_choice(line) and not sentence.asks(line) and (number or len(lines) > 1 or len(line) < 300):
            yield line


# What the agent said


def _found(messages: Sequence[str], *, is_question: bool) -> str:
    """Sentences that state a cause, the last message first; of a turn that only answers, the answer."""
    kept: list[tuple[float, str]] = []
    for age, text in enumerate(reversed(messages)):
        lines = [line for line in sentence.lines(text) if not line.is_heading]
        for number, line in enumerate(lines):
            worth = sentence.cause(line.text) - (1 if sentence.outcome(line.text) and age == 0 else 0)
            worth -= 1 if sentence.tells_done(line.text) else 0
            worth -= 0.5 if line.text.endswith(":") else 0
            if worth < (1 if age == 0 else 2) or sentence.is_talk(line.text) or not _tells(line.text):
                continue
            after = lines[number + 1].text if number + 1 < len(lines) else ""
            more = after and not (lines[number + 1].is_item or sentence.is_talk(after) or after.endswith(("?", ":")))
            is_short = len(line.text) + len(after) < FOUND_CHARS // 2 + 60
            both = f"{line.text} {after}" if more and is_short and not sentence.outcome(after) else line.text
            kept.append((worth + (1.5 if age == 0 else 0) - (number + age) / 100, both))
    best = _unlike(text for _, text in sorted(kept, key=lambda one: -one[0]))
    if best:
        return _filled(best[:_MOST_FOUND], FOUND_CHARS)
    if is_question and messages:
        said = [line.text for line in sentence.lines(messages[-1]) if not line.is_heading]
        telling = [text for text in said if _tells(text) and not sentence.is_talk(text) and not sentence.asks(text)]
        return _filled(telling[:2], FOUND_CHARS)
    return ""


def _unlike(texts: Iterable[str]) -> list[str]:
    """Without those that say nearly the same as one before them."""
    kept: list[tuple[str, set[str]]] = []
    for text in texts:
        words = set(terms.content(text))
        if all(len(words & other) <= len(words) / 2 for _, other in kept):
            kept.append((text, words))
    return [text for text, _ in kept]


def _only_answers(acts: Sequence[Act]) -> bool:
    deeds = [act.doing for act in acts if act.doing is not None and not act.refused]
    return not any(one.deed is Deed.EDIT or (one.deed is Deed.RUN and commands.matters(one.what)) for one in deeds)


def _ended(messages: Sequence[str], acts: Sequence[Act], *, least: float) -> str:
    """The outcome. Where the last message only nods, the sentence above it that tells."""
    for text in reversed(messages[-3:]):
        found = _outcome(list(sentence.lines(text)), least)
        if found:
            return clip(found, ENDED_CHARS)
    subject = commands.commit_subject(acts)
    if subject:
        return clip(f"Committed: {subject}", ENDED_CHARS)
    last = acts[-1] if acts else None
    if last is not None and last.speaker is Speaker.TOOL and last.failed and last.doing and last.doing.what:
        return clip(f"{commands.short(last.doing.what)} failed", ENDED_CHARS)
    asked = [line.text for text in messages[-1:] for line in sentence.lines(text) if sentence.asks(line.text)]
    return clip(asked[-1], ENDED_CHARS) if asked else ""


def _outcome(lines: Sequence[Line], least: float) -> str:
    """The one or two sentences that say best what came of it."""
    rated: list[tuple[float, int, str]] = []
    for number, line in enumerate(lines):
        text = _with_items(line.text, lines[number + 1 :]) if line.text.endswith(":") else line.text
        if line.is_heading or sentence.is_talk(text) or sentence.asks(text) or not _tells(text):
            continue
        is_list = text != line.text
        worth = min(2.0, sentence.outcome(text)) if is_list else sentence.outcome(text)
        worth += (0.6 if not line.is_item else 0.0) + 0.5 / (number + 1)
        worth += 0.8 if text.lower().startswith("now ") else 0.0
        worth -= 2.0 if sentence.is_strong_cause(text) else 0.0
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


def _tells(text: str) -> bool:
    return len(terms.content(text)) + len(terms.names(text)) >= 2 or sentence.is_foreign(text)


def _said(earlier: Sequence[str], last: str, acts: Sequence[Act]) -> str:
    """In the order in which it was said; where it is too long, the last message and what states a cause stay."""
    final = _shortened(last, _LAST_CHARS)
    room = SAID_CHARS - len(final)
    blocks = [_shortened("\n".join(_telling(text)), _REPORT_CHARS) for text in earlier]
    blocks += [_shortened(report, _REPORT_CHARS) for report in _reports(acts)]
    ranked = sorted(range(len(blocks)), key=lambda at: (-sentence.cause(blocks[at]), -at))
    kept: set[int] = set()
    for at in ranked:
        if blocks[at] and len(blocks[at]) + 2 <= room:
            kept.add(at)
            room -= len(blocks[at]) + 2
    failures = [line for line in commands.failures(acts) if len(line) + 2 <= room][:2]
    return "\n\n".join([*(blocks[at] for at in sorted(kept)), *failures, final]).strip()


def _telling(text: str) -> Iterator[str]:
    """Of a message on the way: what is not just said while working."""
    kept = [line for line in sentence.lines(text) if not line.is_heading and not sentence.is_talk(line.text)]
    if sum(len(terms.content(line.text)) for line in kept) >= _LEAST_CONTENT or any(
        sentence.is_foreign(line.text) for line in kept
    ):
        yield from (line.text for line in kept)


def _reports(acts: Iterable[Act]) -> Iterator[str]:
    """Of subagents, without what their client wrote around them."""
    for act in acts:
        if (
            act.speaker is Speaker.TOOL
            and act.doing
            and act.doing.deed is Deed.DELEGATE
            and not (act.refused or act.failed)
        ):
            yield _BOILERPLATE.sub("", act.text)
        elif act.speaker is Speaker.MACHINE and (report := _RESULT.search(act.text)):
            yield _BOILERPLATE.sub("", report[1])


def _shortened(text: str, most: int) -> str:
    """Code and tables by their first lines, the rest cut at a sentence."""
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
            kept.append(line.rstrip() if in_fence else sentence.without_marks(line))
    return _cut("\n".join(kept).strip(), most)


def _cut(text: str, most: int) -> str:
    """At a sentence's end, else at a word's."""
    if len(text) <= most:
        return text
    ends = [found.end() for found in re.finditer(r"[.!?](?=\s)|\n|[\u3002\uff01\uff1f]", text[:most])]
    return text[: ends[-1]].rstrip() if ends and ends[-1] > most // 2 else clip(text, most)


def _filled(texts: Iterable[str], most: int) -> str:
    kept: list[str] = []
    for text in texts:
        room = most - sum(len(one) + 1 for one in kept)
        if text in kept or (kept and len(text) > room):
            continue
        kept.append(_cut(text, room))
    return " ".join(kept)


# What was done


def _changed(acts: Iterable[Act]) -> str:
    """The files that were changed most often first."""
    counts = Counter(
        file
        for act in acts
        if act.doing and act.doing.deed is Deed.EDIT and not act.failed and not act.refused
        for file in act.doing.files
        if not _SCRATCH.search(file)
    )
    files = [file for file, _ in counts.most_common()]
    more = f" (+{len(files) - _MOST_FILES})" if len(files) > _MOST_FILES else ""
    return ", ".join(files[:_MOST_FILES]) + more
