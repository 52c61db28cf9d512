"""Taker and job: what patterns are unsure of is asked of a language model later, and so is what a session taught.

The taker notes where such words stand (a pointer, never the words), the job reads them there again and asks, on a
thread that nobody waits for. Each is asked once, whatever becomes of it: noted as done before it is sent, so that
nothing is paid twice. While MEMORY_LLM is off, nothing is noted.
"""

from __future__ import annotations

import json
import os
from dataclasses import astuple, dataclass
from pathlib import Path

from recollect.agents import Cursor
from recollect.capture import doubt, extract
from recollect.capture.draft import Action
from recollect.model.act import Act, Sitting, Speaker
from recollect.model.ask import Job
from recollect.ops import acts, asks, capture, echoes, endings, heard, notices
from recollect.ops.app import App
from recollect.ops.digest import BACK_BYTES, Writes
from recollect.ops.here import scope_here

_NAME = "doubts"
_MOST = 50
"""That wait; older ones give way: by then nobody remembers what was meant."""
_OLDEST_MICROS = 3 * 86_400_000_000


@dataclass(frozen=True, slots=True)
class Doubt:
    """Where words stand that a model is to be asked about."""

    job: str
    host: str
    session: str
    transcript: str
    mark: str = ""
    """A check sum of the prompt; nothing where the whole session is meant."""
    at: int = 0


def take(app: App, sitting: Sitting) -> Writes | None:
    if not asks.is_on(app) or sitting.past or sitting.agent or app.project is None or not sitting.transcript:
        return None
    at = app.clock.now().micros
    found = [
        Doubt(Job.CLASSIFY, sitting.host, sitting.session, sitting.transcript, heard.mark(act.text), at)
        for act in sitting.new
        if act.speaker is Speaker.PERSON and not act.agent and doubt.is_unsure(capture.read(app, act.text))
    ]
    if sitting.ended and extract.question(sitting.acts) is not None:
        found.append(Doubt(Job.EXTRACT, sitting.host, sitting.session, sitting.transcript, at=at))
    return (lambda: _note(app, found)) if found else None


def work(app: App) -> bool:
    """Asks about one; True: there is another."""
    if not _read(app.reading(scope_here(app)).sessions.state(_NAME)):
        return False  # without so much as opening the store to write
    store = app.writing(scope_here(app))
    with store.together():
        waiting = _read(store.sessions.state(_NAME))
        store.sessions.put_state(_NAME, _written(waiting[1:]))
    for first in waiting[:1]:
        if abs(app.clock.now().micros - first.at) > _OLDEST_MICROS:
            continue
        if first.job == Job.CLASSIFY:
            _classify(app, first, _said(app, first))
        elif first.job == Job.EXTRACT:
            _extract(app, first, _said(app, first))
    return len(waiting) > 1


def _classify(app: App, found: Doubt, said: list[Act]) -> None:
    prompts = (act for act in reversed(said) if act.speaker is Speaker.PERSON)
    act = next((act for act in prompts if heard.mark(act.text) == found.mark), None)
    draft = capture.read(app, act.text) if act is not None else None
    if act is None or draft is None or not doubt.is_unsure(draft):
        return
    answer = asks.ask(app, doubt.question(draft))
    if answer is None:
        return
    judged = doubt.read_answer(answer, draft)
    verdict = judged.verdict
    app.log.line("capture", session=found.session, action=verdict.action, why=verdict.reason, by="llm")
    if verdict.action is not Action.STORED:
        return
    kept = capture.keep(app, judged, group=found.session, told=echoes.told(app, found.session), at=act.at)
    _tell(app, captured=sum(bool(one.done.plan) for one in kept))


def _extract(app: App, found: Doubt, said: list[Act]) -> None:
    ask = extract.question(said)
    answer = asks.ask(app, ask) if ask is not None else None
    if answer is None:
        return
    learnt = extract.read_answer(answer, said)
    extracted = endings.keep_learnings(app, found.session, learnt) if learnt else 0
    _tell(app, extracted=extracted)
    app.log.line("extracted", session=found.session, said=len(learnt), new=extracted, by="llm")


def _tell(app: App, *, captured: int = 0, extracted: int = 0) -> None:
    for line in notices.counted_lines(captured, 0, extracted):
        notices.leave(app, line)


def _said(app: App, found: Doubt) -> list[Act]:
    """The end of the transcript, as it is now."""
    path = Path(found.transcript)
    try:
        size = os.stat(path).st_size
    except (OSError, ValueError):
        return []
    return list(acts.looked_back(app, found.host, path, Cursor(size), BACK_BYTES).acts)


def _note(app: App, found: list[Doubt]) -> None:
    sessions = app.writing(scope_here(app)).sessions
    known = _read(sessions.state(_NAME))
    new = [one for one in found if (one.job, one.session, one.mark) not in {(k.job, k.session, k.mark) for k in known}]
    sessions.put_state(_NAME, _written([*known, *new][-_MOST:]))


def _read(state: str | None) -> list[Doubt]:
    try:
        return [
            Doubt(str(job), str(host), str(session), str(transcript), str(mark), int(at))
            for job, host, session, transcript, mark, at in json.loads(state or "[]")
        ]
    except (ValueError, TypeError):
        return []


def _written(doubts: list[Doubt]) -> str:
    return json.dumps([astuple(one) for one in doubts])
