"""How the calls and turns of a session went, and which memories had just been shown: outcomes, told from acts.

A call ends when its result is there; a turn when the person speaks again. What worked is only worth a word where
something had been shown before it; what failed always is, unless it is noise. A person who says that what was done is
not what he asked for asks again: precision comes first, so only how his prompt begins is looked at, in his own words; a
question about something else, a condition ("if it still fails") or a report of others' words does not count. What a
person keeps refusing is proposed as a rule.

Which of the shown memories bore on an outcome is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from recollect.base.moment import Moment
from recollect.capture import fixes
from recollect.capture.command_errors import error_in
from recollect.capture.command_likeness import is_tellable, is_tellable_path
from recollect.capture.prompt_text import BLOT, masked
from recollect.capture.tables import Pattern, compiled, table
from recollect.model.act import Act, Deed, SessionPart, Speaker
from recollect.model.command import command_of
from recollect.model.session import Ending, Outcome, ShownMemory, SubagentReport, SubagentState, shorten

ReadReport = Callable[[str], SubagentReport | None]

SHOWN_BEFORE_S = 2.0  # a prompt is answered, and memories are shown with it, a moment before it is written down
MIN_REPORT_CHARS = 5
MIN_REFUSALS, MIN_REFUSING_SESSIONS = 3, 2
"""How many refusals, in how many sessions, propose a rule: one bad day does not."""
_RE_ASK_CHARS = 400
_RE_ASK_SENTENCES = 2
_STOPS = ".!?\u3002\uff01\uff1f\n"
_SENTENCE = re.compile(f"[^{_STOPS}]+[{_STOPS}]*")
_PLAIN_COMMAND = re.compile(r"[\w.+-]{1,30}(?: [\w:.+-]{1,30})?")
_CALL, _TURN, _SUBAGENT = "call", "turn", "subagent"


@dataclass(frozen=True, slots=True)
class Ended:
    outcome: Outcome
    acts: tuple[Act, ...]  # the call, or the prompt and all that was done for it


@dataclass(frozen=True, slots=True)
class RefusalRule:
    rule: str
    sessions: tuple[str, ...]
    times: int


def find_outcomes(sitting: SessionPart, sights: Sequence[ShownMemory], report: ReadReport) -> Iterator[Ended]:
    """The outcomes of the new acts. `sights`: what this agent was shown, the oldest first."""
    for number in range(sitting.new_from, len(sitting.acts)):
        act = sitting.acts[number]
        before = sitting.acts[:number]
        if act.doing is not None:
            words = next((one.text for one in sitting.acts[number + 1 : number + 2] if one.refuses == act.id), "")
            for outcome in _call_outcome(sitting, act, words, _shown_before(act, before, sights)):
                yield Ended(outcome, (act,))
        elif act.speaker is Speaker.MACHINE:
            for outcome in _report_outcome(sitting, act, report(act.text)):
                yield Ended(outcome, (act,))
        elif act.speaker is Speaker.PERSON and not sitting.agent and not act.agent:
            yield from _turn_outcome(sitting, act, before, sights)


def is_re_ask(prompt: str) -> bool:
    """Does the person say that what was just done is not what he asked for?"""
    said = masked(prompt[:_RE_ASK_CHARS]).replace("\u2019", "'")
    sentences = [one.strip() for one in _SENTENCE.findall(said) if one.strip(f" {BLOT}\n")]
    statements = [one for one in sentences[:_RE_ASK_SENTENCES] if not one.endswith(("?", "\uff1f"))]
    return any(_re_ask_openings().match(one) for one in statements)


def rules_from_refusals(outcomes: Iterable[Outcome]) -> list[RefusalRule]:
    refused: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        wording = _refusal_rule(outcome) if outcome.kind is Ending.REFUSAL else ""
        if wording:
            refused.setdefault(wording, []).append(outcome)
    found = []
    for wording, those in refused.items():
        sessions = tuple(dict.fromkeys(one.session for one in those))
        if len(those) >= MIN_REFUSALS and len(sessions) >= MIN_REFUSING_SESSIONS:
            found.append(RefusalRule(wording, sessions, len(those)))
    return found


def _call_outcome(sitting: SessionPart, act: Act, refusal_words: str, shown: tuple[str, ...]) -> Iterator[Outcome]:
    said, actor, deed = _what(act), act.doing.tool if act.doing else "", str(act.doing.deed) if act.doing else ""

    def ended(kind: Ending, next_state: str, *tags: str) -> Outcome:
        return Outcome(
            kind=kind, at=act.at, session=sitting.session, act=act.id, agent=sitting.agent or act.agent, actor=actor,
            action=shorten(said), next_state=shorten(next_state), tags=tags, shown=shown,
        )  # fmt: skip

    if act.refused:
        yield ended(Ending.REFUSAL, refusal_words, _CALL, deed)
    elif act.failed and deed == Deed.DELEGATE:
        if len(act.text) > MIN_REPORT_CHARS:
            yield ended(Ending.AGENT_FAILURE, act.text, _SUBAGENT, str(SubagentState.FAILED))
    elif fixes.has_failed(act):
        if not fixes.is_noise(act):
            printed = () if act.failed else ("printed",)
            yield ended(Ending.FAILURE, error_in(act.text).told(said), _CALL, deed, *printed)
    elif shown:
        yield ended(Ending.SUCCESS, "", _CALL, deed)


def _report_outcome(sitting: SessionPart, act: Act, report: SubagentReport | None) -> Iterator[Outcome]:
    bad = (SubagentState.FAILED, SubagentState.KILLED)
    if report is None or report.state not in bad or len(report.text) <= MIN_REPORT_CHARS:
        return
    yield Outcome(
        kind=Ending.AGENT_FAILURE, at=act.at, session=sitting.session, act=act.id, agent=sitting.agent,
        actor=report.agent, action=shorten(report.summary), next_state=shorten(report.text),
        tags=(_SUBAGENT, str(report.state)),
    )  # fmt: skip


def _turn_outcome(
    sitting: SessionPart, act: Act, before: Sequence[Act], sights: Sequence[ShownMemory]
) -> Iterator[Ended]:
    """The outcome of the turn that this prompt ends."""
    asked = next((one for one in reversed(before) if _is_prompt(one)), None)
    turn = before[before.index(asked) + 1 :] if asked else ()
    if asked is None or not turn:
        return
    shown = _shown_within(sights, asked.at, act.at)
    is_again = is_re_ask(act.text)
    if not is_again and not shown:
        return
    done = next((one for one in reversed(turn) if one.doing is not None), None)
    outcome = Outcome(
        kind=Ending.RE_ASK if is_again else Ending.SUCCESS, at=act.at, session=sitting.session, act=act.id,
        actor="person", action=shorten(_what(done) if done else asked.text),
        next_state=shorten(act.text if is_again else ""), tags=(_TURN,), shown=shown,
    )  # fmt: skip
    yield Ended(outcome, (asked, *turn))


def _what(act: Act) -> str:
    return act.doing.what or " ".join(act.doing.files) if act.doing else ""


def _is_prompt(act: Act) -> bool:
    return act.speaker is Speaker.PERSON and act.doing is None


def _shown_within(sights: Sequence[ShownMemory], start: Moment, end: Moment) -> tuple[str, ...]:
    """Reminders before a call belong to that call."""
    first, last = start.plus(seconds=-SHOWN_BEFORE_S).micros, end.plus(seconds=-SHOWN_BEFORE_S).micros
    return tuple(dict.fromkeys(one.memory for one in sights if not one.call and first <= one.at.micros < last))


def _shown_before(act: Act, before: Sequence[Act], sights: Sequence[ShownMemory]) -> tuple[str, ...]:
    """What the agent was reminded of before this very call, or told since the last call of this turn ended."""
    if not sights:
        return ()
    asked = next((one for one in reversed(before) if _is_prompt(one)), None)
    ran = next((one for one in reversed(before) if one.doing is not None), None)
    starts = [asked.at.plus(seconds=-SHOWN_BEFORE_S)] if asked else []
    since = max([*starts, *([ran.at] if ran else [])], default=None)
    told = [
        sight.memory
        for sight in sights
        if not sight.call and since is not None and since.micros <= sight.at.micros <= act.at.micros
    ]
    return tuple(dict.fromkeys([*(sight.memory for sight in sights if sight.call == act.id), *told]))


def _refusal_rule(outcome: Outcome) -> str:
    """The rule in our own words: a program with its verb, or one file."""
    if str(Deed.EDIT) in outcome.tags:
        return f"Ask before changing `{outcome.action}`." if is_tellable_path(outcome.action) else ""
    command = command_of(outcome.action) if str(Deed.RUN) in outcome.tags else None
    if command is None:
        return ""
    words = f"{command.program} {command.verb}".strip()
    return f"Ask before `{words}`." if _PLAIN_COMMAND.fullmatch(words) and is_tellable(words) else ""


@cache
def _re_ask_openings() -> Pattern:
    read = table("re_asks.toml")
    openings = [opening for language in read["openings"].values() for opening in language]
    # Full-width marks are spelt out: they look like others.
    lead = r"(?:(?:{LEADS})[,.!:;\s\u2026\u3001\u3002\uff0c]+){0,3}"
    return compiled([f"{lead}(?:{opening.lstrip()})" for opening in openings], read["parts"], re.IGNORECASE)
