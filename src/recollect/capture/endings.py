"""How the calls and turns of a session went, and which memories had just been shown: outcomes, told from acts.

A call ends when its result is there; a turn when the person speaks again. What worked is only worth a word where
something had been shown before it; what failed always is, unless it is noise. Which of what was shown bore on it is
decided in ops/credit.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from recollect.base.moment import Moment
from recollect.capture import pairs, reasks
from recollect.capture.faults import fault_of
from recollect.model.act import Act, Deed, Sitting, Speaker
from recollect.model.ledger import Sight
from recollect.model.outcome import Ending, Outcome, Report, State, cut

ReadReport = Callable[[str], Report | None]

BEFORE_S = 2.0
"""A prompt is answered, and memories are shown with it, a moment before it is written down."""
LEAST_CHARS = 5
_CALL, _TURN, _SUBAGENT = "call", "turn", "subagent"


@dataclass(frozen=True, slots=True)
class Ended:
    outcome: Outcome
    acts: tuple[Act, ...]
    """The call, or the prompt and all that was done for it."""


def endings(sitting: Sitting, sights: Sequence[Sight], report: ReadReport) -> Iterator[Ended]:
    """Of what is new. `sights`: what this agent was shown, the oldest first."""
    for number in range(sitting.new_from, len(sitting.acts)):
        act = sitting.acts[number]
        before = sitting.acts[:number]
        if act.doing is not None:
            words = next((one.text for one in sitting.acts[number + 1 : number + 2] if one.refuses == act.id), "")
            for outcome in _call(sitting, act, words, _shown_before(act, before, sights)):
                yield Ended(outcome, (act,))
        elif act.speaker is Speaker.MACHINE:
            for outcome in _reported(sitting, act, report(act.text)):
                yield Ended(outcome, (act,))
        elif act.speaker is Speaker.PERSON and not sitting.agent and not act.agent:
            yield from _turn(sitting, act, before, sights)


def _call(sitting: Sitting, act: Act, refusal_words: str, shown: tuple[str, ...]) -> Iterator[Outcome]:
    said = act.doing.what or " ".join(act.doing.files) if act.doing else ""
    actor, deed = (act.doing.tool, str(act.doing.deed)) if act.doing else ("", "")

    def ended(kind: Ending, next_state: str, *tags: str) -> Outcome:
        return Outcome(
            kind=kind, at=act.at, session=sitting.session, act=act.id, agent=sitting.agent or act.agent, actor=actor,
            action=cut(said), next_state=cut(next_state), tags=tags, shown=shown,
        )  # fmt: skip

    if act.refused:
        yield ended(Ending.REFUSAL, refusal_words, _CALL, deed)
    elif act.failed and act.doing is not None and act.doing.deed is Deed.DELEGATE:
        if len(act.text) > LEAST_CHARS:
            yield ended(Ending.AGENT_FAILURE, act.text, _SUBAGENT, str(State.FAILED))
    elif pairs.has_failed(act):
        if not pairs.is_noise(act):
            yield ended(
                Ending.FAILURE, fault_of(act.text).told(said), _CALL, deed, *(() if act.failed else ("printed",))
            )
    elif shown:
        yield ended(Ending.SUCCESS, "", _CALL, deed)


def _reported(sitting: Sitting, act: Act, report: Report | None) -> Iterator[Outcome]:
    if report is None or report.state not in (State.FAILED, State.KILLED) or len(report.text) <= LEAST_CHARS:
        return
    yield Outcome(
        kind=Ending.AGENT_FAILURE, at=act.at, session=sitting.session, act=act.id, agent=sitting.agent,
        actor=report.agent, action=cut(report.summary), next_state=cut(report.text),
        tags=(_SUBAGENT, str(report.state)),
    )  # fmt: skip


def _turn(sitting: Sitting, act: Act, before: Sequence[Act], sights: Sequence[Sight]) -> Iterator[Ended]:
    """The turn that this prompt ends."""
    asked = next((one for one in reversed(before) if _is_prompt(one)), None)
    turn = before[before.index(asked) + 1 :] if asked else ()
    if asked is None or not turn:
        return
    shown = _within(sights, asked.at, act.at)
    done = next((one for one in reversed(turn) if one.doing is not None), None)
    what = done.doing.what or " ".join(done.doing.files) if done and done.doing else asked.text
    if reasks.is_re_ask(act.text):
        kind, said = Ending.RE_ASK, act.text
    elif shown:
        kind, said = Ending.SUCCESS, ""
    else:
        return
    outcome = Outcome(
        kind=kind, at=act.at, session=sitting.session, act=act.id, actor="person", action=cut(what),
        next_state=cut(said), tags=(_TURN,), shown=shown,
    )  # fmt: skip
    yield Ended(outcome, (asked, *turn))


def _is_prompt(act: Act) -> bool:
    return act.speaker is Speaker.PERSON and act.doing is None


def _within(sights: Sequence[Sight], start: Moment, end: Moment) -> tuple[str, ...]:
    """Reminders before a call belong to that call."""
    first, last = start.plus(seconds=-BEFORE_S).micros, end.plus(seconds=-BEFORE_S).micros
    return tuple(dict.fromkeys(one.memory for one in sights if not one.call and first <= one.at.micros < last))


def _shown_before(act: Act, before: Sequence[Act], sights: Sequence[Sight]) -> tuple[str, ...]:
    """Reminded of before this very call, or told since the last call of this turn ended."""
    if not sights:
        return ()
    asked = next((one for one in reversed(before) if _is_prompt(one)), None)
    ran = next((one for one in reversed(before) if one.doing is not None), None)
    since = max((one.at.plus(seconds=-BEFORE_S if one is asked else 0.0) for one in (asked, ran) if one), default=None)
    told = [
        sight.memory
        for sight in sights
        if not sight.call and since is not None and since.micros <= sight.at.micros <= act.at.micros
    ]
    return tuple(dict.fromkeys([*(sight.memory for sight in sights if sight.call == act.id), *told]))
