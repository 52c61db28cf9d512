"""The turns of one session, from its transcript, each joined with what is on record: what was told and why, how calls
and turns ended, and what became of each sentence that a person said. Long texts are cut; everything is redacted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from recollect.agents.transcript import Voice
from recollect.app import rule_keeping
from recollect.app.core import App
from recollect.base.moment import Moment
from recollect.base.structs import Struct, field, replace
from recollect.base.text import clip, estimate_tokens, one_line
from recollect.capture.call_outcomes import SHOWN_BEFORE_S
from recollect.capture.prompt_rules import is_like_a_rule, word_rule
from recollect.capture.rule_facts import rule_key
from recollect.capture.rule_relations import says_same
from recollect.capture.turns import message_id
from recollect.jobs.transcript_reader import Reading, TurnStart, read_turns
from recollect.model import session as kinds
from recollect.model.memory import Kind, Memory, Rule, Status
from recollect.model.query import Query
from recollect.model.session import Act, Ending, EventName, Speaker, memory_of, shorten
from recollect.model.timeline import CallStep, HeardSentence, KeptMemory, Reason, Told, TurnSteps
from recollect.ops.rules import judge_sentence
from recollect.render import inject
from recollect.render.blocks import drop_sentence, hit_sentence

_MAX_CALLS = 20  # of one turn that are shown
_MAX_CALLS_READ = 1_000
_MAX_SENTENCES = 30  # of one prompt
_WHAT_CHARS, _REPLY_CHARS = 300, 600
_MAX_KEPT = 2_000
_TO_THE_END = 1 << 62
_LATEST = 120_000_000  # microseconds: a prompt is written down no later than this after its hook
_TAGS = re.compile(r"^\s*<\w+>|</\w+>\s*$")  # that a client puts around an error


class RawTurn(Struct, frozen=False):  # as the transcript tells it
    number: int
    at: Moment = field(default_factory=lambda: Moment(0))
    begun_by: Act | None = None
    prompt: str = ""
    folder: str = ""  # where the session began: left out of the paths
    is_plan: bool = False
    said: list[str] = field(default_factory=list)  # what the person said in it
    blocks: dict[str, Moment] = field(
        default_factory=dict
    )  # texts that we put in, with the time of their line
    calls: list[CallStep] = field(default_factory=list)
    all_calls: int = 0
    reply: str = ""


class Record:
    """What was recalled for an agent, as it was logged."""

    def __init__(self, kept: kinds.RecallRecord) -> None:
        self.at, self.answer = kept.at, json.loads(kept.answer)
        self.event = str(self.answer.get("event", ""))
        self.ids = {hit["id"] for hit in self.answer["hits"]}


def load_records(app: App, session: str) -> list[Record]:
    """Oldest first."""
    found = [
        kept
        for _, store in app.scopes()
        for kept in store.records(kinds.RecallRecord, told_session=session)
    ]
    records = [one for one in map(Record, found) if "not_searched" not in one.answer]
    return sorted(records, key=lambda one: one.at)


def recorded_turns(records: Sequence[Record]) -> list[RawTurn]:
    """As far as prompts were searched for."""
    asked = [one for one in records if one.event == EventName.PROMPT]
    return [
        RawTurn(number, one.at, prompt=str(one.answer["query"]))
        for number, one in enumerate(asked, start=1)
    ]


def read_raw(
    app: App, host: str, path: Path, starts: Sequence[TurnStart], reading: Reading, first: int, most: int,
    begun: RawTurn,
) -> Iterator[RawTurn]:  # fmt: skip
    """`most` turns from the `first` on; before turn 1, what came before it, which is added to `begun`."""
    shown = {start.offset: (number, start) for number, start in enumerate(starts, start=1)}
    turn = begun if first == 1 else None
    begin = TurnStart(0, "", Moment(0), (), "") if first == 1 else starts[first - 1]
    until = starts[first - 1 + most].offset if len(starts) >= first + most else _TO_THE_END
    for offset, utterance, act in read_turns(app, host, path, reading, begin, until):
        number, start = shown.get(offset, (0, begin))
        if number and (turn is None or turn.number != number):
            yield from (turn,) if turn else ()
            turn = RawTurn(number, start.at, folder=begun.folder)
        if turn is None:
            continue
        if utterance.voice is Voice.INJECTION:
            for block in inject.own_blocks(utterance.text):
                turn.blocks.setdefault(app.redactor.clean(block).text, utterance.at or turn.at)
        elif act is not None:
            _add_act(turn, act)
    yield from (turn,) if turn else ()


def _add_act(turn: RawTurn, act: Act) -> None:
    if act.use is not None:
        turn.all_calls += 1
        ended = Ending.REFUSAL if act.refused else Ending.FAILURE if act.failed else None
        said = act.use.what or ", ".join(act.use.files)
        what = shorten(said.replace(f"{turn.folder}/", "") if turn.folder else said)
        problem = shorten(_TAGS.sub("", act.text)) if ended is Ending.FAILURE else ""
        if len(turn.calls) < _MAX_CALLS_READ:
            turn.calls.append(CallStep(act.id, act.use.tool, what, ended, problem))
    elif act.plan or act.speaker is Speaker.PERSON:
        turn.begun_by, turn.is_plan = turn.begun_by or act, turn.is_plan or act.plan
        turn.said += [act.text] if act.speaker is Speaker.PERSON else []
        if not act.refuses:
            turn.prompt = "\n\n".join(filter(None, (turn.prompt, act.text)))
        elif turn.calls and turn.calls[-1].id == act.refuses:
            turn.calls[-1] = replace(turn.calls[-1], problem=shorten(act.text))
    elif act.speaker is Speaker.AGENT:
        turn.reply = act.text


class Turns:
    """`until`, `following`: when the first turn begins that is not shown any more, and the act that begins it."""

    def __init__(
        self, app: App, session: str, records: Sequence[Record], raw: Sequence[RawTurn], until: Moment | None,
        following: str = "",
    ) -> None:  # fmt: skip
        self._app, self._session, self._raw, self._store = app, session, raw, app.reader(app.scope)
        self._next = following
        begins = [turn.at.plus(seconds=-SHOWN_BEFORE_S) for turn in raw]
        self._begins = [
            Moment(0) if turn.number == 0 else at for turn, at in zip(raw, begins, strict=True)
        ]
        self._until = until.plus(seconds=-SHOWN_BEFORE_S) if until else None
        self._records = records
        self._outcomes = {
            one.act: one
            for one in self._store.records(kinds.Outcome, session=session)
            if not one.agent
        }
        self._before_calls = [
            one for one in self._store.records(kinds.ShownMemory, session=session) if one.call
        ]

    def _turn_at(self, at: Moment) -> int | None:
        """The place of the turn in which something happened at this time; None where it is not shown."""
        if self._until is not None and at >= self._until:
            return None
        return next(
            (place for place in range(len(self._begins) - 1, -1, -1) if self._begins[place] <= at),
            None,
        )

    def steps(self) -> Iterator[TurnSteps]:
        told = self._told()
        messages = {
            one.id: one.thread_id
            for one in self._store.messages(ids=[*map(self._message, self._raw)] or [""])
        }
        kept = self._kept_by_turn()
        heard = [
            [sentence for words in turn.said for sentence in self._heard(words)]
            for turn in self._raw
        ]
        known = {one.memory for own in heard for one in own}
        for place, turn in enumerate(self._raw):
            calls, before = self._calls(turn, told[place])
            thread = self._store.get(messages.get(self._message(turn), ""))
            memories = [
                one for one in (*kept[place], thread) if one is not None and one.id not in known
            ]
            failed = sum(one.ended in (Ending.FAILURE, Ending.AGENT_FAILURE) for one in calls)
            if turn.number == 0 and not (before or calls or memories):
                continue
            following = [
                one.begun_by.id for one in self._raw[place + 1 : place + 2] if one.begun_by
            ]
            ended = self._outcomes.get(next(iter(following), self._next))
            yield TurnSteps(
                turn.number, turn.at, turn.prompt, turn.is_plan, before, _choose(calls), turn.all_calls, failed,
                clip(turn.reply, _REPLY_CHARS), ended.kind if ended else None, ended.shown if ended else (),
                tuple(heard[place]), tuple(_kept(one) for one in {one.id: one for one in memories}.values()),
            )  # fmt: skip

    # What was told

    def _told(self) -> list[list[Told]]:
        """By turn: the texts in the transcript with their records, then records without a text."""
        told: list[list[Told]] = [[] for _ in self._raw]
        left = list(self._records)
        for place, turn in enumerate(self._raw):
            for text, at in turn.blocks.items():
                ids = dict.fromkeys(memory_of(mark) for mark in inject.marks_shown(text))
                fitting = [
                    one
                    for one in left
                    if one.answer.get("chars") == len(text) and one.ids <= ids.keys()
                ]
                if fitting:
                    found = min(fitting, key=lambda one: _apart(one.at, at))
                    left.remove(found)
                    told[place].append(_told_by(found, text))
                else:
                    event = EventName.PROMPT if turn.number else EventName.SESSION_STARTED
                    reasons = tuple(
                        Reason(id, known[1].title) for id in ids if (known := self._app.exact(id))
                    )
                    told[place].append(
                        Told(event, at, text, estimate_tokens(len(text)), reasons, {})
                    )
        for one in left:
            place_of = self._place(one)
            if place_of is not None and (one.ids or one.answer["dropped"]):
                told[place_of].append(_told_by(one, ""))
        return [sorted(own, key=lambda one: one.at) for own in told]

    def _place(self, record: Record) -> int | None:
        """The turn that it belongs to: that of its prompt, or by its time."""
        asked = str(record.answer["query"]).rstrip("\u2026")
        places = range(len(self._raw)) if record.event == EventName.PROMPT and asked else ()
        own = [place for place in places if one_line(self._raw[place].prompt).startswith(asked)]
        apart, place = min(
            ((_apart(self._raw[place].at, record.at), place) for place in own), default=(_LATEST, 0)
        )
        return place if apart < _LATEST else self._turn_at(record.at)

    def _calls(
        self, turn: RawTurn, told: Sequence[Told]
    ) -> tuple[list[CallStep], tuple[Told, ...]]:
        """With how they ended, and what was told before them; and what was not told before one of them."""
        by_call: dict[str, list[Told]] = {}
        for one in told:
            ids = {reason.id for reason in one.reasons}
            near = [
                entry
                for entry in self._before_calls
                if entry.memory in ids and one.event == EventName.TOOL_CALLED
            ]
            entry = min(near, key=lambda entry: _apart(one.at, entry.at), default=None)
            by_call.setdefault(entry.call if entry else "", []).append(one)
        calls = []
        for call in turn.calls:
            outcome = self._outcomes.get(call.id)
            if outcome is not None and outcome.kind is not Ending.SUCCESS:
                call = replace(call, ended=outcome.kind, problem=call.problem or outcome.next_state)
            calls.append(replace(call, told=tuple(by_call.pop(call.id, ()))))
        rest = sorted((one for own in by_call.values() for one in own), key=lambda one: one.at)
        return calls, tuple(rest)

    # What was heard and kept

    @cached_property
    def _rules(self) -> list[Rule]:
        return [
            rule
            for _, store in self._app.scopes()
            for rule in rule_keeping.load_rules(store, *Status)
        ]

    def _heard(self, words: str) -> Iterator[HeardSentence]:
        draft = rule_keeping.read_prompt(self._app, words)
        spans = set[str]()
        for piece in draft.pieces[:_MAX_SENTENCES]:
            if any(piece.text in span for span in spans):
                continue  # a part of the rule before it
            worded = next(
                (one for one in (*draft.found, *draft.refused) if piece.text in one.span), None
            )
            if worded in draft.found:
                spans.add(worded.span)
            said = worded.span if worded else piece.text
            text = worded.rule if worded else word_rule([piece.text], draft.language)
            if not text:
                continue
            is_near = is_like_a_rule(piece) or worded in draft.found
            rule = self._standing(said, text, alike=is_near)
            status = rule.status if rule else None
            why = judge_sentence(draft, piece)[1]
            yield HeardSentence(shorten(said), text, why, is_near, rule.id if rule else "", status)

    def _standing(self, said: str, text: str, *, alike: bool) -> Rule | None:
        """The rule that was made of these words, or says them; with `alike`, also one that says the same in others."""
        made = (
            one for one in self._rules if one.said and one.said == said.strip()[: len(one.said)]
        )
        same = (one for one in self._rules if rule_key(one.body) == rule_key(text))
        other = (one for one in self._rules if alike and says_same(text, one.body))
        return next(chain(made, same, other), None)

    def _kept_by_turn(self) -> list[list[Memory]]:
        kept: list[list[Memory]] = [[] for _ in self._raw]
        for _, store in self._app.scopes():
            for memory in store.find(Query(group=self._session, limit=_MAX_KEPT)):
                place = self._turn_at(memory.created_at)
                if place is not None and memory.kind is not Kind.THREAD:
                    kept[place].append(memory)
        return kept

    def _message(self, turn: RawTurn) -> str:
        return message_id(turn.begun_by) if turn.begun_by else ""


def _choose(calls: Sequence[CallStep]) -> tuple[CallStep, ...]:
    """Those that failed or were told something, then the first ones."""
    first = dict.fromkeys(one.id for one in (*(one for one in calls if one.matters), *calls))
    wanted = set(list(first)[:_MAX_CALLS])
    return tuple(one for one in calls if one.id in wanted)


def _told_by(record: Record, text: str) -> Told:
    answer: Mapping[str, Any] = record.answer
    how, question = str(answer["how"]), str(answer["query"])
    reasons = []
    for hit in answer["hits"]:
        passage, parts = str(hit.get("passage", "")), hit["components"]
        seen = f"{hit['title']}\n{passage}"
        why = hit_sentence(parts, how=how, question=question, text=seen, unasked=True)
        reasons.append(
            Reason(hit["id"], hit["title"], why, passage, {"score": hit["score"], **parts})
        )
    left_out: dict[str, tuple[str, ...]] = {}
    for drop in answer["dropped"]:
        why = drop_sentence(drop["reason"], unasked=True)
        left_out[why] = (*left_out.get(why, ()), drop["id"])
    tokens = estimate_tokens(len(text) or int(answer.get("chars", 0)))
    return Told(
        record.event,
        record.at,
        text,
        tokens,
        tuple(reasons),
        left_out,
        answer.get("delivered") is not False,
    )


def _apart(one: Moment, other: Moment) -> int:
    return abs(one.micros - other.micros)


def _kept(memory: Memory) -> KeptMemory:
    said = memory.body if isinstance(memory, Rule) else memory.title
    return KeptMemory(memory.id, memory.kind, clip(one_line(said), _WHAT_CHARS), memory.status)
