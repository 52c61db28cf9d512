"""Questions to a language model about a session: prompts that patterns are unsure of, and what a session taught.

After a turn it is noted where such words are (never the words); the job reads them there again and asks, on a thread
that nobody waits for. Each is asked once, whatever happens: it is taken off the list before it is sent, so that nothing
is paid for twice. While MEMORY_LLM is off, nothing is noted.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from recollect.agents import Cursor
from recollect.app import language_model, notices, rule_keeping, session_ledger
from recollect.app.core import App
from recollect.app.states import DOUBTS, Doubt
from recollect.capture import learnings, unsure_prompts
from recollect.capture.draft import Action, Draft
from recollect.capture.learnings import Learning
from recollect.jobs import late_prompts, session_end, transcript_reader
from recollect.jobs.transcripts import Writes
from recollect.model.act import Act, SessionPart, Speaker
from recollect.model.ask import Use

_MAX_AGE_MICROS = 3 * 86_400_000_000  # by then nobody remembers what was meant


def note_questions(app: App, sitting: SessionPart) -> Writes | None:
    if not language_model.is_on(app) or sitting.past or sitting.agent or app.project is None or not sitting.transcript:
        return None
    at = app.clock.now().micros
    found = [
        Doubt(Use.CLASSIFY, sitting.host, sitting.session, sitting.transcript, late_prompts.prompt_mark(act.text), at)
        for act in sitting.new
        if act.speaker is Speaker.PERSON
        and not act.agent
        and unsure_prompts.is_unsure(rule_keeping.read_prompt(app, act.text))
    ]
    if sitting.ended and learnings.question(sitting.acts) is not None:
        found.append(Doubt(Use.EXTRACT, sitting.host, sitting.session, sitting.transcript, at=at))
    return (lambda: _note(app, found)) if found else None


def ask_next(app: App, _memo: object = None) -> bool:
    """True: there is another."""
    if not DOUBTS.read(app.reader(app.scope)):
        return False  # without opening the store to write
    store = app.writer(app.scope)
    with store.transaction():
        waiting = DOUBTS.read(store)
        DOUBTS.write(store, waiting[1:])
    for first in waiting[:1]:
        if abs(app.clock.now().micros - first.at) <= _MAX_AGE_MICROS:
            said = read_transcript_end(app, first.host, first.transcript)
            (_classify if first.job == Use.CLASSIFY else _extract)(app, first, said)
    return len(waiting) > 1


def _classify(app: App, found: Doubt, said: Sequence[Act]) -> None:
    prompts = (act for act in reversed(said) if act.speaker is Speaker.PERSON)
    act = next((act for act in prompts if late_prompts.prompt_mark(act.text) == found.mark), None)
    draft = rule_keeping.read_prompt(app, act.text) if act is not None else None
    if act is None or draft is None or not unsure_prompts.is_unsure(draft):
        return
    judged: Draft | None = language_model.ask(app, unsure_prompts.question(draft), draft)
    if judged is None:
        return
    verdict = judged.verdict
    app.log.line("capture", session=found.session, action=verdict.action, why=verdict.reason, by="llm")
    if verdict.action is not Action.STORED:
        return
    told = session_ledger.texts_shown(app, found.session)
    kept = rule_keeping.keep_rules(app, judged, group=found.session, told=told, at=act.at)
    notices.add(app, rule_keeping.kept_notice(kept))


def _extract(app: App, found: Doubt, said: Sequence[Act]) -> None:
    question = learnings.question(said)
    learnt: tuple[Learning, ...] | None = language_model.ask(app, question, said) if question else None
    if learnt is None:
        return
    extracted = session_end.keep_learnings(app, found.session, learnt) if learnt else 0
    notices.add(app, notices.session_line((), extracted))
    app.log.line("extracted", session=found.session, said=len(learnt), new=extracted, by="llm")


def _note(app: App, found: list[Doubt]) -> None:
    store = app.writer(app.scope)
    waiting = DOUBTS.read(store)
    known = {(one.job, one.session, one.mark) for one in waiting}
    DOUBTS.write(store, [*waiting, *(one for one in found if (one.job, one.session, one.mark) not in known)])


def read_transcript_end(app: App, host: str, transcript: str) -> list[Act]:
    """As it is now; empty if it cannot be read."""
    try:
        size = os.stat(transcript).st_size
    except (OSError, ValueError):
        return []
    return list(transcript_reader.read_back(app, host, Path(transcript), Cursor(size)).acts)
