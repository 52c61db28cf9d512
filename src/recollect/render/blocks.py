"""What a terminal is given (lines with a tone, and tables, which the command line lays out), and the answers of
`search` and `why` in it: why something was found or shown, and why other things were not, in sentences, with the
numbers on request."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from recollect.base.local_time import local_minute
from recollect.base.moment import Moment
from recollect.base.shipped import load_table
from recollect.base.text import clip, counted, one_line
from recollect.model.memory import Status
from recollect.model.query import ABOUT_CALL, ALWAYS_LOADED, BY_FILTERS, Drop
from recollect.model.result import Found, Reasons, Scope
from recollect.model.session import EventName
from recollect.model.small_talk import WORDS as SMALL_TALK
from recollect.render.recall_text import ago, left_out_lines, nothing_matches

_MAX_LISTED = 3
SHORT_ID = 6  # as in every table: any command takes it
WHERE = {Scope.PROJECT: "", Scope.USER: "everywhere", Scope.TEAM: "team"}
_CLOSE, _RELATED = 0.5, 0.25  # cosines, by the shipped model
_USUAL = frozenset({"words and vectors", "by id", BY_FILTERS})
_WORD = re.compile(r"[\w][\w./@-]*\w")
# In plain words: why a memory was left out, at which event it was shown, and how it has proved itself since.
_WORDING = load_table("recollect.render", "wording.json")
WHO: Mapping[str, str] = _WORDING["who"]  # who made a change, or where it came from


class Tone(StrEnum):  # the value is how a terminal shows it: a colour, or how heavy the letters are
    PLAIN = ""
    TITLE = "bold"
    DIM = "dim"
    GOOD = "green"
    WARN = "yellow"
    BAD = "red"
    COMMAND = "cyan"


class Line(NamedTuple):
    text: str = ""
    tone: Tone = Tone.PLAIN
    is_verbatim: bool = False  # never wrapped: what a memory says, a diff, what programs read


class Table(NamedTuple):
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


Block = Line | Table
FOUND_NOT_SHOWN = "It was not shown: the hook had given up waiting, or ended before it could print."


def time_column(name: str, moments: Sequence[Moment]) -> tuple[str, list[str]]:
    """A column's head and its times; the head names their zone, if they share one."""
    times = [local_minute(at) for at in moments]
    zones = {time.rpartition(" ")[2] for time in times}
    if len(zones) != 1:
        return name, times
    return f"{name} ({zones.pop()})", [time.rpartition(" ")[0] for time in times]


def cut_line(shown: int, total: int = 0, *, is_cut: bool = False) -> str:
    """What to say below a list that was cut; empty below a whole one. `is_cut`: there are more than `total`."""
    if shown >= total and not is_cut:
        return ""
    if is_cut and total <= shown:
        return f"{shown:,} shown, and there are more: --limit {2 * shown} or --all."
    of = f"more than {total - 1:,}" if is_cut else f"{total:,}"
    wanted = 2 * shown if is_cut else total
    return f"{shown:,} of {of} shown; --limit {wanted} or --all for more."


def hit_sentence(
    parts: Mapping[str, float], *, how: str, question: str, text: str, unasked: bool
) -> str:
    """`parts`: the components of its score. `text`: what was found, to name the words that it shares."""
    call = "it names what the call does" if "named" in parts else "its meaning is close to the call"
    fixed = {
        "by id": "you asked for it by its id",
        BY_FILTERS: "it passes the filters",
        ALWAYS_LOADED: "it is loaded every time",
        ABOUT_CALL: call,
    }
    if how in fixed:
        return f"Because {fixed[how]}."
    asked, near = "the prompt" if unasked else "your question", parts.get("near", 0.0)
    shared = _join([f"`{word}`" for word in shared_words(question, text)]) or f"words with {asked}"
    reasons = {
        "the language model chose it": "pass 1" in parts,
        f"its meaning is {'close' if near >= _CLOSE else 'related'} to {asked}": near >= _RELATED,
        f"it shares {shared}": parts.get("cover", 0.0) > 0,
        "it is from the time you asked about": parts.get("time", 0.0) > 0,
        "it is in focus": parts.get("focus", 0.0) > 0,
    }
    hold = [reason for reason, holds in reasons.items() if holds]
    less = (
        " It counts less because it often did not help."
        if parts.get("relevance", 1.0) < 0.8
        else ""
    )
    return f"Because {_join(hold) or f'the conversation around it is about {asked}'}.{less}"


def drop_sentence(reason: str, *, unasked: bool) -> str:
    """The reason that `recall` gave, in plain words, without a capital and a full stop."""
    if known := str(_WORDING["drops"].get(reason.partition(" (")[0], "")):
        return known.format(asked="the prompt" if unasked else "your question")
    if reason.startswith("is a "):
        return f"it {reason}, and you asked for another kind"
    return f"it {reason}" if reason.startswith("says ") else f"it is {reason}"


def not_searched_sentence(why_not: str) -> str:
    reason = _WORDING["not_searched"].get(why_not, f"it could not be: {why_not}")
    return f"Memory was not searched: {reason}."


def shared_words(question: str, text: str) -> list[str]:
    """The words of the question that say most, where the text has them, too, or a longer form of them (`deploys` for
    `deploy`): names first, then long words."""
    words = dict.fromkeys(
        word for word in _WORD.findall(question) if word.casefold() not in SMALL_TALK
    )
    lowered = text.casefold()
    starts = {word: rf"(?<!\w){re.escape(word.casefold())}" for word in words if len(word) > 3}
    found = [word for word, start in starts.items() if re.search(start, lowered)]
    found.sort(key=lambda word: (word.isalpha() and word.islower(), -len(word)))
    return found[:3]


def _join(parts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def found_blocks(found: Found, now: Moment) -> Iterator[Block]:
    if not found.found:
        yield Line(nothing_matches(found), Tone.DIM)
    for number, one in enumerate(found.found, start=1):
        memory = one.hit.memory
        yield Line(f"{number}  {clip(one_line(memory.title), 60)}", Tone.TITLE)
        status = "" if memory.status is Status.ACTIVE else memory.status
        where = [memory.kind, status, WHERE[one.scope], f"source: {memory.lane}"]
        where += [ago(memory.last_active_at, now), memory.id[-SHORT_ID:]]
        yield Line(f"  {', '.join(filter(None, where))}", Tone.DIM)
        yield Line(f"  {clip(one_line(one.hit.passage), 160)}")
        if found.explained:
            text, parts = f"{memory.title}\n{one.hit.text}", dict(one.hit.components)
            yield Line(
                f"  {hit_sentence(parts, how=found.how, question=found.query, text=text, unasked=False)}"
            )
        if found.numbers:
            yield Line(f"  {_numbers(one.hit.score, dict(one.hit.components))}", Tone.DIM)
        if one.hit.stale:
            yield Line(
                f"  Files it mentions have changed since: {', '.join(one.hit.stale)}", Tone.WARN
            )
    total = len(found.found) + found.beyond
    if said := cut_line(len(found.found), total, is_cut=found.is_cut):
        yield Line(said, Tone.DIM)
    yield from _drop_lines(found.drops, unasked=False, numbers=found.numbers)
    yield from (Line(line, Tone.DIM) for line in left_out_lines(found))
    if found.how not in _USUAL:
        yield Line(f"Searched by {found.how}.", Tone.WARN)


def reason_blocks(reasons: Reasons, _now: Moment) -> Iterator[Block]:
    now = reasons.now
    proved = {text: int(now.get(name, 0)) for name, text in _WORDING["proved"].items()}
    if said := [text.format(counted(count, "time")) for text, count in proved.items() if count]:
        yield Line(f"So far it was {_join(said)}.")
    if now and reasons.numbers:
        yield Line(", ".join(f"{name} {value:g}" for name, value in now.items()), Tone.DIM)
    if now and reasons.quiet:
        id = reasons.memory[-SHORT_ID:]
        why = "You said never to show it again" if reasons.unwanted else "It never helped"
        yield Line(
            f"{why}, so it is muted: shown only when asked for. `recollect restore {id}`", Tone.WARN
        )
    if not reasons.recalls:
        yield Line("Nothing was recalled yet.", Tone.DIM)
    for recall in reasons.recalls:
        yield from _recall(recall, reasons)


def _recall(recall: Mapping[str, Any], reasons: Reasons) -> Iterator[Block]:
    unasked, how = "event" in recall, str(recall["how"])
    asked = clip(str(recall["query"]), 300)
    at = local_minute(Moment.parse(str(recall["at"])))
    yield Line(f"{at}  {_occasion(recall)}: {asked}", Tone.TITLE)
    if (why_not := recall.get("not_searched")) is not None:
        yield Line(f"  {not_searched_sentence(str(why_not))}", Tone.DIM)
        return
    if _is_unconfirmed(recall):
        yield Line(f"  {FOUND_NOT_SHOWN}", Tone.WARN)
    yield from _result_lines(recall, reasons)
    if reasons.numbers:
        told = f", {recall['chars']} characters, session {recall['session']}" if unasked else ""
        yield Line(f"  {recall['id']}: by {how}, {recall['ms']} ms{told}", Tone.DIM)
    elif how not in (*_USUAL, ALWAYS_LOADED, ABOUT_CALL):
        yield Line(f"  Searched by {how}.", Tone.DIM)


def _result_lines(recall: Mapping[str, Any], reasons: Reasons) -> Iterator[Block]:
    """What was found and left out; of one memory alone, where the reasons are about one."""
    unasked = "event" in recall
    hits = [row for row in recall["hits"] if reasons.memory in ("", row["id"])]
    drops = [row for row in recall["dropped"] if reasons.memory in ("", row["id"])]
    for hit in hits:
        yield from _hit_lines(hit, recall, reasons.numbers)
    if not hits and not reasons.memory:
        near = unasked and drops
        yield Line("  Nothing was shown." if near else "  Nothing was found.", Tone.DIM)
    left_out = [Drop(drop["id"], drop["reason"]) for drop in drops]
    yield from _drop_lines(left_out, unasked=unasked, numbers=reasons.numbers, indent="  ")


def _hit_lines(hit: Mapping[str, Any], recall: Mapping[str, Any], numbers: bool) -> Iterator[Block]:
    passage = hit.get("passage", "")
    yield Line(f"  {hit['title']}  (source: {hit['lane']})  {hit['id'][-SHORT_ID:]}")
    if passage:
        yield Line(f"      {passage}", Tone.DIM)
    why = hit_sentence(
        hit["components"],
        how=str(recall["how"]),
        question=clip(str(recall["query"]), 300),
        text=f"{hit['title']}\n{passage}",
        unasked="event" in recall,
    )
    yield Line(f"      {why}")
    if numbers:
        yield Line(f"      {_numbers(hit['score'], hit['components'])}", Tone.DIM)


def _is_unconfirmed(recall: Mapping[str, Any]) -> bool:
    """There was something to show, and the hook did not confirm it. Older records say so of what found nothing, too."""
    return bool(recall["hits"]) and recall.get("delivered") is False


def _is_looked_up(recall: Mapping[str, Any]) -> bool:
    """The agent read a virtual file: it asked, and was shown what was found instead."""
    is_before_call = recall.get("event") == EventName.TOOL_CALLED
    return is_before_call and recall["how"] != ABOUT_CALL


def _occasion(recall: Mapping[str, Any]) -> str:
    if "event" not in recall:
        return "You asked"
    if _is_looked_up(recall):
        return str(_WORDING["events"]["looked-up"])
    is_shown = bool(recall["hits"]) and not _is_unconfirmed(recall)
    words = _WORDING["events" if is_shown else "events_not_shown"]
    return str(words.get(recall["event"], recall["event"]))


def _drop_lines(
    drops: Sequence[Drop], *, unasked: bool, numbers: bool, indent: str = ""
) -> Iterator[Block]:
    groups: dict[str, list[str]] = {}
    for drop in drops:
        if numbers:
            yield Line(f"{indent}Left out: {drop.id} ({drop.reason})", Tone.DIM)
        else:
            groups.setdefault(drop_sentence(drop.reason, unasked=unasked), []).append(
                drop.id[-SHORT_ID:]
            )
    for sentence, ids in groups.items():
        more = f" and {len(ids) - _MAX_LISTED} more" if len(ids) > _MAX_LISTED else ""
        yield Line(
            f"{indent}Left out because {sentence}: {', '.join(ids[:_MAX_LISTED])}{more}.", Tone.DIM
        )


def _numbers(score: float, parts: Mapping[str, float]) -> str:
    return f"score {score:.2f}: " + ", ".join(
        f"{name} {value:.2f}" for name, value in parts.items()
    )
