"""How the calls and turns of a session ended, which memories had just been shown, and rules made of repeated refusals.
A call ends with its result, a turn when the person speaks again. A success counts only where something had been
shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

from recollect.capture.failed_commands import (
    error_in,
    has_failed,
    is_noise,
    is_tellable,
    is_tellable_path,
)
from recollect.capture.prompt_text import BLOT, masked
from recollect.capture.tables import Pattern, compiled, table
from recollect.model import session
from recollect.model.command import command_of
from recollect.model.session import (
    Act,
    Ending,
    Outcome,
    SessionPart,
    ShownMemory,
    Speaker,
    ToolAction,
    shorten,
)

ReadReport = Callable[[str], session.SubagentReport | None]

SHOWN_BEFORE_S = (
    2.0  # a prompt is answered, and memories are shown with it, a moment before it is written down
)
MIN_REPORT_CHARS = 5
# How many refusals, in how many sessions, propose a rule: one bad day does not.
MIN_REFUSALS, MIN_REFUSING_SESSIONS = 3, 2
_RE_ASK_CHARS, _RE_ASK_SENTENCES = 400, 2
_SENTENCE = re.compile("[^.!?\u3002\uff01\uff1f\n]+[.!?\u3002\uff01\uff1f\n]*")
_PLAIN_COMMAND = re.compile(r"[\w.+-]{1,30}(?: [\w:.+-]{1,30})?")


class Ended(NamedTuple):
    outcome: Outcome
    acts: Sequence[Act]  # the call, or the prompt and all that was done for it
    told: tuple[str, ...] = ()  # of a call: all that this agent was told before it, in this session


class RefusalRule(NamedTuple):
    rule: str
    sessions: tuple[str, ...]
    times: int


def find_outcomes(
    part: SessionPart, shown: Sequence[ShownMemory], report: ReadReport
) -> Iterator[Ended]:
    """The outcomes of the new acts. `shown`: what this agent was shown, the oldest first."""
    for number in range(part.new_from, len(part.acts)):
        act, before = part.acts[number], part.acts[:number]
        acts: Sequence[Act] = (act,)
        told: tuple[str, ...] = ()
        if act.use is not None:
            told = tuple(
                dict.fromkeys(one.memory for one in shown if one.at.micros <= act.at.micros)
            )
            outcome = _call_outcome(part, number, _shown_before(act, before, shown), told)
        elif act.speaker is Speaker.MACHINE:
            outcome = _report_outcome(part, act, report(act.text))
        elif act.speaker is Speaker.PERSON and not part.agent and not act.agent:
            asked = _last_prompt(before)
            acts = before[before.index(asked) :] if asked else ()
            outcome = _turn_outcome(part, act, acts, shown) if len(acts) > 1 else None
        else:
            continue
        if outcome is not None:
            yield Ended(outcome, acts, told)


def is_re_ask(prompt: str) -> bool:
    """Does the person say that what was just done is not what they asked for?"""
    said = masked(prompt[:_RE_ASK_CHARS]).replace("\u2019", "'")
    sentences = [one.strip() for one in _SENTENCE.findall(said) if one.strip(f" {BLOT}\n")][
        :_RE_ASK_SENTENCES
    ]
    return any(
        _re_ask_openings().match(one) for one in sentences if not one.endswith(("?", "\uff1f"))
    )


@cache
def _re_ask_openings() -> Pattern:
    read = table("re_asks.toml")
    openings = [opening for language in read["openings"].values() for opening in language]
    # Full-width marks are spelt out: they look like others.
    lead = r"(?:(?:{LEADS})[,.!:;\s\u2026\u3001\u3002\uff0c]+){0,3}"
    return compiled(
        [f"{lead}(?:{opening.lstrip()})" for opening in openings], read["parts"], re.IGNORECASE
    )


def rules_from_refusals(outcomes: Iterable[Outcome]) -> list[RefusalRule]:
    """In our own words: a program with its verb, or one file."""
    refused: dict[str, list[str]] = {}
    for outcome in (one for one in outcomes if one.kind is Ending.REFUSAL):
        command = command_of(outcome.action) if ToolAction.RUN in outcome.tags else None
        words = f"{command.program} {command.verb}".strip() if command else ""
        if ToolAction.EDIT in outcome.tags and is_tellable_path(outcome.action):
            refused.setdefault(f"Ask before changing `{outcome.action}`.", []).append(
                outcome.session
            )
        elif _PLAIN_COMMAND.fullmatch(words) and is_tellable(words):
            refused.setdefault(f"Ask before `{words}`.", []).append(outcome.session)
    return [
        RefusalRule(rule, tuple(dict.fromkeys(sessions)), len(sessions))
        for rule, sessions in refused.items()
        if len(sessions) >= MIN_REFUSALS and len(set(sessions)) >= MIN_REFUSING_SESSIONS
    ]


def _call_outcome(
    part: SessionPart, number: int, shown: tuple[str, ...], told: tuple[str, ...]
) -> Outcome | None:
    act = part.acts[number]
    tool_action = str(act.use.action) if act.use else ""
    action, next_state = _what(act), ""
    tags: tuple[str, ...] = ("call", tool_action)
    if act.refused:
        words = (one.text for one in part.acts[number + 1 : number + 2] if one.refuses == act.id)
        kind, next_state = Ending.REFUSAL, next(words, "")
    elif act.failed and tool_action == ToolAction.DELEGATE:
        kind, next_state, tags = (
            Ending.AGENT_FAILURE,
            act.text,
            ("subagent", str(session.SubagentState.FAILED)),
        )
    elif has_failed(act):
        kind, next_state = Ending.FAILURE, error_in(act.text).describe(action)
        tags = tags if act.failed else (*tags, "printed")
    else:
        kind = Ending.SUCCESS
    is_too_short = kind is Ending.AGENT_FAILURE and len(act.text) <= MIN_REPORT_CHARS
    if (
        is_too_short
        or (kind is Ending.FAILURE and is_noise(act))
        or (kind is Ending.SUCCESS and not shown and not told)
    ):
        return None
    return Outcome(
        kind=kind, at=act.at, session=part.session, act=act.id, agent=part.agent or act.agent,
        actor=act.use.tool if act.use else "", action=shorten(action), next_state=shorten(next_state), tags=tags,
        shown=shown,
    )  # fmt: skip


def _report_outcome(
    part: SessionPart, act: Act, report: session.SubagentReport | None
) -> Outcome | None:
    has_failed = report is not None and report.state in (
        session.SubagentState.FAILED,
        session.SubagentState.KILLED,
    )
    if report is None or not has_failed or len(report.text) <= MIN_REPORT_CHARS:
        return None
    return Outcome(
        kind=Ending.AGENT_FAILURE, at=act.at, session=part.session, act=act.id, agent=part.agent, actor=report.agent,
        action=shorten(report.summary), next_state=shorten(report.text), tags=("subagent", str(report.state)),
    )  # fmt: skip


def _turn_outcome(
    part: SessionPart, act: Act, acts: Sequence[Act], shown: Sequence[ShownMemory]
) -> Outcome | None:
    """`acts`: the prompt before, and all that was done for it."""
    # Reminders before a call belong to that call.
    first, last = (one.at.plus(seconds=-SHOWN_BEFORE_S).micros for one in (acts[0], act))
    ids = tuple(
        dict.fromkeys(one.memory for one in shown if not one.call and first <= one.at.micros < last)
    )
    is_again = is_re_ask(act.text)
    if not is_again and not ids:
        return None
    done = next((one for one in reversed(acts) if one.use is not None), None)
    return Outcome(
        kind=Ending.RE_ASK if is_again else Ending.SUCCESS, at=act.at, session=part.session, act=act.id,
        actor="person", action=shorten(_what(done) if done else acts[0].text),
        next_state=shorten(act.text if is_again else ""), tags=("turn",), shown=ids,
    )  # fmt: skip


def _what(act: Act) -> str:
    return act.use.what or " ".join(act.use.files) if act.use else ""


def _last_prompt(acts: Sequence[Act]) -> Act | None:
    return next(
        (one for one in reversed(acts) if one.speaker is Speaker.PERSON and one.use is None), None
    )


def _shown_before(act: Act, before: Sequence[Act], shown: Sequence[ShownMemory]) -> tuple[str, ...]:
    """What the agent was reminded of before this very call, or shown since the last call of this turn ended."""
    if not shown:
        return ()
    asked, ran = (
        _last_prompt(before),
        next((one for one in reversed(before) if one.use is not None), None),
    )
    starts = [
        *([asked.at.plus(seconds=-SHOWN_BEFORE_S)] if asked else []),
        *([ran.at] if ran else []),
    ]
    since = max(starts).micros if starts else act.at.micros + 1
    told = (one.memory for one in shown if not one.call and since <= one.at.micros <= act.at.micros)
    return tuple(dict.fromkeys([*(one.memory for one in shown if one.call == act.id), *told]))
