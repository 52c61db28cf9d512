"""A prompt, or the task of a subagent: what memory has on it is put in front of the agent, unasked, in time. With too
little left, words answer alone; when the time is over, nothing is shown, never a half-made ranking. The reply comes
first; the ledger, the record for `why` and the log come after it."""

from __future__ import annotations

import sys
from collections.abc import Sequence, Set
from dataclasses import replace

from recollect import agents
from recollect.app import notices, session_ledger
from recollect.app.core import App
from recollect.app.embedding import TimedQuestion
from recollect.app.memory_search import rules_in_force, search
from recollect.app.states import RECENT_PROMPTS, SeenPrompt
from recollect.base.errors import RecollectError, StoreDamaged
from recollect.base.ids import fresh_key
from recollect.model.memory import Lane, Note
from recollect.model.query import REACHED, Hit, Query
from recollect.model.session import Heartbeat, LedgerKey, Way, memory_of
from recollect.model.small_talk import names_nothing
from recollect.ops import hook_reply
from recollect.ops.hook_reply import NOTHING_TO_SEARCH, HookReply, HookRequest, PromptSearch
from recollect.render import inject
from recollect.render.inject import Injection, plain
from recollect.wire.pointer import checksum

SUBAGENT_HITS = 3
REPEATED_WITHIN_S = 10.0
_CAPTURE_NEEDS_S = 0.05
_FIRST_CAPTURE_NEEDS_S = 1.0  # the tables of a language are compiled when it is first needed
_TIME_OVER = "the time was over"


def answer_prompt(request: HookRequest) -> HookReply:
    """Nothing is shown where the prompt names nothing, or nothing is relevant to it."""
    app, event = request.app, request.event
    if event.machine_made:
        app.log.line("prompt", session=event.session_id, ignored="no person wrote it")
        return HookReply()
    question = _start_question(request, event.asked)  # its vector is computed while we write
    key = session_ledger.ledger_key(app, event)
    heart, is_repeated = _record_prompt(request)
    searched = _search_in_time(request, question, key, app.settings.count("MEMORY_PROMPT_HITS"))
    captured = _capture(request, is_repeated=is_repeated)
    waits_for_model = app.settings.switch("MEMORY_LLM") and app.settings.text("MEMORY_RECALL_SCHEME") != "off"
    if searched is NOTHING_TO_SEARCH or not waits_for_model:
        return _reply(request, key, heart, searched, captured)

    def reply_slower(later: HookRequest) -> HookReply:
        return _reply(later, key, heart, _choose_by_model(later, key, searched), captured)

    ready = _reply(request, key, heart, searched.with_remark("no language model was asked"), captured)
    return replace(ready, slower=(app.settings.count("MEMORY_RECALL_SECONDS"), reply_slower))


def brief_subagent(request: HookRequest) -> HookReply:
    """A subagent begins with nothing: the rules, and what memory has on its task."""
    app, event = request.app, request.event
    key = session_ledger.ledger_key(app, event)
    rules = rules_in_force(app)
    question = _start_question(request, request.tasks.pop(event.session_id, event.agent_type))
    searched = _search_in_time(request, question, key, SUBAGENT_HITS)
    injection = inject.subagent([rule for _, rule in rules.values()], searched.hits, nonce=fresh_key()[:8])
    request.write(request.receive)
    listed = hook_reply.list_loaded(app, "the start of a subagent", rules, injection)
    return hook_reply.inject(request, injection, key, searched, listed)


def search_unasked(
    app: App, question: TimedQuestion, *, seen: Set[str], limit: int, floor: float | None = None
) -> PromptSearch:
    """What is relevant to a prompt or a task, at most `limit`, nothing that was `seen`. `floor`: by default as set."""
    if names_nothing(question.text):
        return NOTHING_TO_SEARCH
    if question.left_s <= 0:
        return PromptSearch(None, _TIME_OVER)
    floor = app.settings.figure("MEMORY_RECALL_FLOOR") if floor is None else floor
    query = Query(
        text=question.text, statuses=REACHED, limit=limit, turns=limit, once=True, unasked=True, floor=floor, seen=seen
    )
    found = search(app, query, timed=question)
    notes = [one.hit.memory for one in found.found if isinstance(one.hit.memory, Note)]
    if any(note.lane is Lane.REPOSITORY and "_always-load/" in note.path for note in notes):
        from recollect.ops.session_start import withheld_notes  # a first prompt does not wait for it

        withheld, _ = withheld_notes(app)
        found = search(app, replace(query, withheld=withheld), timed=question) if withheld else found
    return PromptSearch(found) if question.left_s > 0 else PromptSearch(None, _TIME_OVER)


def _start_question(request: HookRequest, text: str) -> TimedQuestion | None:
    """None: recall is off, or there is nothing to look for."""
    if not request.app.settings.switch("MEMORY_RECALL") or names_nothing(text):
        return None
    return TimedQuestion(request.app, text, request.until_s)


def _search_in_time(request: HookRequest, question: TimedQuestion | None, key: LedgerKey, limit: int) -> PromptSearch:
    if question is None:
        return NOTHING_TO_SEARCH
    try:
        store = request.app.reader(request.app.scope)
        told, own = (store.marks(key, way) for way in (Way.TOLD, Way.OWN))
        return search_unasked(request.app, question, seen=told | own, limit=limit)
    except StoreDamaged:
        raise
    except RecollectError as problem:
        return PromptSearch(None, problem.message, failed=True)


def _choose_by_model(request: HookRequest, key: LedgerKey, searched: PromptSearch) -> PromptSearch:
    """What a language model chose; the ordinary search, where it gave no answer in time."""
    from recollect.ops import recall_agent  # only needed here

    app, event = request.app, request.event
    seen = frozenset(memory_of(mark) for mark in app.reader(app.scope).marks(key, Way.TOLD))
    try:
        found = recall_agent.choose_instead(app, event.asked, searched.found, seen, request.until_s)
    except Exception as problem:  # noqa: BLE001 the edge of a job: the reply that is ready is given
        app.log.line("not-chosen", session=event.session_id, problem=type(problem).__name__)
        found = None
    return PromptSearch(found) if found else searched.with_remark("the language model gave no answer")


def _record_prompt(request: HookRequest) -> tuple[Heartbeat, bool]:
    """Before anything is answered, the disk says that someone spoke. Returns the heartbeat as it was just before, and
    whether another host reported the same words a moment ago (an agent can run another agent's hooks): they are
    answered here too, but counted once. Known by a checksum, the host and the time; the words are kept nowhere."""
    app, event = request.app, request.event
    mark, within = checksum(" ".join(event.asked.split())), REPEATED_WITHIN_S * 1_000_000
    before: list[tuple[Heartbeat, bool]] = []

    def write() -> None:
        store = app.writer(app.scope)
        session_ledger.record_message(app, event.session_id, event.host, event.at)
        recent = [one for one in RECENT_PROMPTS.read(store) if abs(event.at.micros - one.at) <= within]
        RECENT_PROMPTS.write(store, [*recent, SeenPrompt(mark, event.host, event.at.micros)])
        is_repeated = bool(mark) and any(one.mark == mark and one.host != event.host for one in recent)
        beat = session_ledger.current_heartbeat if is_repeated else session_ledger.record_interaction
        before.append((beat(app), is_repeated))
        request.receive()

    return before[0] if request.write(write) else (session_ledger.current_heartbeat(app), False)


def _capture(request: HookRequest, *, is_repeated: bool = False, is_late: bool = False) -> str | None:
    """Captures its rules and returns the notice; None where there was no time: its transcript, or a later call, does. A
    repeated one is only claimed: its transcript leaves it alone."""
    app, event = request.app, request.event
    if event.agent_id or not event.text:
        return ""  # a subagent's prompt is the agent's words; a plan states no rules
    capturing = sys.modules.get("recollect.app.rule_keeping")  # not loaded for a first prompt
    is_ready = capturing is not None and capturing.is_english_loaded()
    needed_s = _CAPTURE_NEEDS_S if is_ready else _FIRST_CAPTURE_NEEDS_S
    if not is_repeated and not is_late and request.left_s < needed_s:
        request.log_late("capture")
        return None
    from recollect.app import rule_keeping
    from recollect.jobs import transcripts

    draft = None if is_repeated else rule_keeping.read_prompt(app, event.text)
    told = []

    def write() -> None:
        is_first = transcripts.claim_prompt(app, event.session_id, event.text)  # else its transcript was quicker
        if draft is not None and is_first:
            told.append(rule_keeping.capture_prompt(app, draft, session=event.session_id))

    return told[0] if request.write(write) and told else ""


def word_hits(app: App, hits: Sequence[Hit], heart: Heartbeat, host: str) -> Injection:
    return inject.prompt(
        hits, heart=heart, nonce=fresh_key()[:8], reader=agents.agent(host).TITLE,
        max_chars=app.settings.count("MEMORY_PROMPT_CHARS"), content=app.settings.switch("MEMORY_PROMPT_CONTENT"),
    )  # fmt: skip


def _reply(
    request: HookRequest, key: LedgerKey, heart: Heartbeat, searched: PromptSearch, captured: str | None
) -> HookReply:
    """`captured`: the notice of it; None where there was no time."""
    app, event = request.app, request.event
    injection = word_hits(app, searched.hits, heart, event.host)
    # That nothing was found is not news; that the search failed is.
    trouble = f"Recollect could not search: {plain(searched.why_not, 120)}" if searched.failed else ""
    is_seen = notices.are_shown(app, event.host)

    def after(later: HookRequest, delivered: bool) -> None:
        session_ledger.write_heartbeat_view(later.app)
        for hit in searched.hits if delivered else ():
            if hit.mark in injection.shown:
                notices.toast(later.app, f"Recalled: {hit.memory.title}")
        is_missed = captured is None and not event.transcript  # else it is read there
        untold = _capture(later, is_late=True) if is_missed else "" if delivered and is_seen else captured
        if untold:
            later.write(lambda: notices.add(later.app, untold))

    reply = hook_reply.inject(request, injection, key, searched, notice=(captured, injection.notice or trouble))
    return replace(reply, after=after)
