"""Asks a language model about a turn: is an unsure prompt a rule, what did the session teach, and (`review`) what does
memory lack or state wrongly? Questions are noted when a turn is read; a job asks them later, each once. A review
changes words only: those of threads and waiting rules in place, those of others by a proposal in the inbox."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated

from recollect.app import language_model, notices, rule_keeping, session_ledger
from recollect.app.core import App
from recollect.app.embedding import shorten_prompt
from recollect.app.memory_search import search as search_memory
from recollect.app.states import QUESTIONS, Question, Questions
from recollect.base.errors import BadInput, RecollectError
from recollect.base.structs import replace
from recollect.base.text import counted
from recollect.capture import model_questions, rule_relations
from recollect.capture.model_questions import Learning, Proposal
from recollect.capture.prompt_text import Action, Draft
from recollect.jobs import learning, transcript_reader, transcripts
from recollect.lifecycle import edits
from recollect.lifecycle.edits import TAG
from recollect.model.ask import Use
from recollect.model.memory import Lane, Memory, Note, Status
from recollect.model.plan import Change, Create, Plan, Update
from recollect.model.query import REACHED, Query
from recollect.model.result import Done, Scope, Summary
from recollect.model.session import Act, SessionPart, Speaker
from recollect.ops import notes
from recollect.ops.table import Arg
from recollect.render.inject import neutral, plain
from recollect.vault import page

if TYPE_CHECKING:
    from recollect.store import Store

_MAX_AGE_MICROS = 3 * 86_400_000_000  # by then nobody remembers what was meant
_MAX_WAITING, _MAX_ASKED = 50, 200
_MAX_SHOWN = 20  # memories that a review is shown
_TITLE_CHARS = 160
MAX_PROPOSED = 30  # in the inbox; nobody reads more
_Shown = dict[str, tuple[Scope, Memory]]  # what a model was shown, by id, as it was then


def note_questions(app: App, part: SessionPart) -> transcripts.Writes | None:
    if (
        not language_model.is_on(app)
        or part.past
        or part.agent
        or not part.transcript
        or not part.acts
    ):
        return None
    found: list[tuple[Use, str]] = []
    last = part.acts[-1].id
    if app.project is not None:
        prompts = [act.text for act in part.new if act.speaker is Speaker.PERSON and not act.agent]
        unsure = [
            text
            for text in prompts
            if model_questions.is_unsure(rule_keeping.read_prompt(app, text))
        ]
        found += [(Use.CLASSIFY, transcripts.prompt_mark(text)) for text in unsure]
        if part.ended and model_questions.ask_for_learnings(part.acts) is not None:
            found.append((Use.EXTRACT, last))
    # The turn's words may have been read before its end was announced: then nothing is new, and it is over anyway.
    turn = model_questions.find_turn(part.acts, part.new_from)
    if part.turned and language_model.is_on(app, Use.REVIEW) and model_questions.has_news(turn):
        if model_questions.has_written_memory(turn):
            app.log.line("not-reviewed", session=part.session, why="the agent wrote memory itself")
        else:
            found.append((Use.REVIEW, last))
    at = app.clock.now().micros
    questions = [
        Question(use, part.host, part.session, part.transcript, mark, at) for use, mark in found
    ]

    def write() -> None:
        store = app.writer(app.scope)
        known = QUESTIONS.read(store)
        waiting = {}
        for one in (*known.waiting, *questions):
            if one.key not in known.asked:
                # One review per session: the last messages of a later turn include those of the one before.
                waiting[f"{one.use}:{one.session}" if one.use is Use.REVIEW else one.key] = one
        QUESTIONS.write(store, Questions(tuple(waiting.values())[-_MAX_WAITING:], known.asked))

    return write if questions else None


def ask_next(app: App, _memo: object = None) -> bool:
    """True: there may be another."""
    if not QUESTIONS.read(app.reader(app.scope)).waiting:
        return False  # without opening the store to write
    store = app.writer(app.scope)
    with store.transaction():
        known = QUESTIONS.read(store)
        first = next(iter(known.waiting), None)
        if first is None:
            return False
        QUESTIONS.write(
            store, Questions(known.waiting[1:], (*known.asked, first.key)[-_MAX_ASKED:])
        )
    if abs(app.clock.now().micros - first.at) <= _MAX_AGE_MICROS and language_model.is_on(
        app, first.use
    ):
        handle = {Use.CLASSIFY: _classify, Use.EXTRACT: _extract, Use.REVIEW: _review}[first.use]
        handle(app, first, transcript_reader.read_end(app, first.host, first.transcript))
    return True


def _classify(app: App, question: Question, acts: Sequence[Act]) -> None:
    prompts = (act for act in reversed(acts) if act.speaker is Speaker.PERSON)
    act = next((act for act in prompts if transcripts.prompt_mark(act.text) == question.mark), None)
    draft = rule_keeping.read_prompt(app, act.text) if act is not None else None
    if act is None or draft is None or not model_questions.is_unsure(draft):
        return
    judged: Draft | None = language_model.ask(app, model_questions.ask_if_rule(draft), draft)
    if judged is None:
        return
    verdict = judged.verdict
    app.log.line(
        "capture", session=question.session, action=verdict.action, why=verdict.reason, by="llm"
    )
    if verdict.action is Action.STORED:
        shown = session_ledger.texts_shown(app, question.session)
        kept = rule_keeping.keep_rules(app, judged, group=question.session, shown=shown, at=act.at)
        notices.add(app, rule_keeping.kept_notice(app, kept))


def _extract(app: App, question: Question, acts: Sequence[Act]) -> None:
    ask = model_questions.ask_for_learnings(acts)
    learnt: tuple[Learning, ...] | None = language_model.ask(app, ask, acts) if ask else None
    if learnt is not None:
        new = learning.keep_learnings(app, question.session, learnt) if learnt else 0
        notices.add(app, *notices.session_lines((), learnings=new, waiting=new))
        app.log.line("extracted", session=question.session, said=len(learnt), new=new, by="llm")


def _review(app: App, question: Question, acts: Sequence[Act]) -> None:
    if dones := _review_turn(app, question, acts):
        notices.add(
            app,
            f"\U0001f501 Recollect reviewed the last turn: {' '.join(done.summary for done in dones)}",
        )


def review(
    app: App,
    *,
    run: Annotated[bool, Arg("Apply the proposals instead of only showing them.")] = False,
) -> Done | Summary:
    """The last turn that was read here, whether or not it was reviewed before."""
    read = reversed(transcripts.live_transcripts(app.reader(app.scope)))
    found = next((one for one in read if not one.agent), None)
    if found is None:
        return Summary("No session was read here yet.", {"proposed": 0, "dry_run": app.dry_run})
    session, last = found.session, Question(Use.REVIEW, found.host, found.session, found.path)
    acts = transcript_reader.read_end(app, last.host, last.transcript)
    if app.dry_run:
        count = len(model_questions.last_messages(acts))
        summary = f"{counted(count, 'message')} of session {session} would be reviewed; no model was asked."
        return Summary(summary, {"messages": count, "session": session, "dry_run": True})
    if not language_model.is_on(app):
        raise BadInput(
            "Language models are switched off.",
            hint="MEMORY_LLM=on in agent.conf; see docs/LLM.md.",
        )
    dones = _review_turn(app, last, acts, is_dry=not run)
    if dones is None:
        raise BadInput("The model gave no answer.", hint="`recollect logs` says why.")
    if not dones:
        return Summary("Nothing is new.", {"proposed": 0, "session": session})
    return replace(dones[-1], summary=" ".join(done.summary for done in dones))


def _review_turn(
    app: App, question: Question, acts: Sequence[Act], *, is_dry: bool = False
) -> list[Done] | None:
    """About the last messages, up to the act that ends the turn. None: there was no answer, or nothing to ask."""
    ends = [number for number, act in enumerate(acts, start=1) if act.id == question.mark]
    acts = acts[: ends[-1]] if ends else acts
    said = model_questions.last_messages(acts)
    if not said:
        return None
    text = shorten_prompt("\n".join(act.text for act in reversed(said)))
    query = Query(text=text, statuses=(*REACHED, Status.CANDIDATE), limit=_MAX_SHOWN)
    near = search_memory(app, query).found if any(char.isalnum() for char in text) else ()
    shown = {one.hit.memory.id: (one.scope, one.hit.memory) for one in near}
    known = []
    for scope, memory in shown.values():
        body = memory.body or "\n".join(
            one.content for one in app.reader(scope).messages(memory.id)
        )
        known.append(replace(memory, title=plain(memory.title, _TITLE_CHARS), body=neutral(body)))
    ask = model_questions.ask_for_proposals(
        [replace(act, text=neutral(act.text)) for act in said], known
    )
    found: tuple[Proposal, ...] | None = language_model.ask(app, ask, known)
    if found is None:
        return None
    app.dry_run = is_dry
    try:
        dones = _apply(app, found, shown, model_questions.lane_of(acts), question.session)
    finally:
        app.dry_run = False
    app.log.line("reviewed", session=question.session, proposed=len(found), done=len(dones))
    return dones


def _apply(
    app: App, proposals: Sequence[Proposal], shown: _Shown, lane: Lane, session: str
) -> list[Done]:
    """One change per store; a note's file is one of its own, in the user's inbox, never in a repository."""
    by_scope: dict[Scope, list[Proposal]] = {scope: [] for scope in Scope}
    saved: list[Done] = []
    for one in proposals:
        scope, memory = shown.get(one.id, (app.scope, None))
        if not isinstance(memory, Note):
            by_scope[scope].append(one)
        elif (
            (now := _read_again(app, scope, memory))
            and scope is Scope.USER
            and now.status is Status.ACTIVE
        ):
            title = f"{page.stem(memory.path)} (proposed)"
            try:
                saved.append(notes.save(app, one.body, title=title, tags=(TAG,), inbox=True))
            except RecollectError as problem:
                app.log.line("not-rewritten", memory=one.id, why=problem.message)
    dones = [
        app.commit(scope, TAG, partial(_plan, app, some, shown, lane, session), _summary)
        for scope, some in by_scope.items()
        if some
    ]
    return [done for done in (*dones, *saved) if done.plan]


def _plan(
    app: App, proposals: Sequence[Proposal], shown: _Shown, lane: Lane, session: str, store: Store
) -> Plan:
    changes: list[Change] = []
    rules = rule_keeping.load_rules(store, Status.ACTIVE, Status.CANDIDATE, Status.ARCHIVED)
    room = MAX_PROPOSED - sum(
        rule.status is Status.CANDIDATE and TAG in rule.tags for rule in rules
    )
    now = app.clock.now()
    for one in proposals:
        if any(rule_relations.says_same(one.body, rule.body) for rule in rules):
            continue
        words, id = edits.Words(one.body, lane, session), app.mint.draw("rule")
        if one.id:
            old = _read_again(app, *shown[one.id])
            changes += edits.propose_words(old, words, id=id, now=now) if old is not None else ()
        elif room > 0:
            room -= 1
            changes.append(Create(edits.new_candidate(words, one.rule_type, id=id, now=now)))
    return Plan.of(changes)


def _read_again(app: App, scope: Scope, shown: Memory) -> Memory | None:
    """None where somebody changed or pinned it since the model was shown it."""
    now = language_model.read_again(app, scope, shown)
    if now is None or now.pinned:
        app.log.line("not-rewritten", memory=shown.id, why="pinned" if now else "changed meanwhile")
    return None if now is None or now.pinned else now


def _summary(plan: Plan) -> str:
    waiting = sum(isinstance(change, Create) for change in plan.changes)
    changed = sum(isinstance(change, Update) for change in plan.changes)
    parts = [f"{counted(changed, 'memory', 'memories')} reworded"] if changed else []
    parts += [f"{counted(waiting, 'proposal')} in the inbox"] if waiting else []
    return f"{', '.join(parts)}."
