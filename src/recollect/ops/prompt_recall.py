"""A prompt, or the task of a subagent: what memory has on it is put in front of the agent, unasked, in time. With too
little left, words answer alone; when the time is over, nothing is shown, never a half-made ranking. The reply comes
first; whatever is written comes after it."""

from __future__ import annotations

from collections.abc import Sequence, Set

from recollect import agents
from recollect.app import notices, session_ledger
from recollect.app.core import App
from recollect.app.embedding import TimedQuestion
from recollect.app.memory_search import rules_in_force, search
from recollect.app.states import RECENT_PROMPTS, SeenPrompt
from recollect.base.errors import RecollectError, StoreDamaged, StoreTooNew
from recollect.base.ids import fresh_key
from recollect.base.structs import replace
from recollect.model.memory import Lane, Note
from recollect.model.query import REACHED, Hit, Query
from recollect.model.session import Heartbeat, LedgerKey, Way, memory_of
from recollect.model.small_talk import names_nothing
from recollect.ops import hook_reply
from recollect.ops.hook_reply import (
    NOTHING_TO_SEARCH,
    SWITCHED_OFF,
    HookReply,
    HookRequest,
    PromptSearch,
)
from recollect.render import inject
from recollect.render.inject import Injection, plain
from recollect.wire.place import agent_program
from recollect.wire.pointer import checksum

SUBAGENT_HITS = 3
REPEATED_WITHIN_S = 10.0
_TIME_OVER = "the time was over"


def answer_prompt(request: HookRequest) -> HookReply:
    """Nothing is shown where the prompt names nothing, or nothing is relevant to it."""
    app, event = request.app, request.event
    if event.machine_made:
        app.log.line("prompt", session=event.session_id, ignored="no person wrote it")
        return HookReply()
    question = _start_question(request, event.asked)  # its vector is computed beside
    key = session_ledger.ledger_key(app, event)
    heart = session_ledger.current_heartbeat(app)
    searched = _search_in_time(request, question, key, app.settings.count("MEMORY_PROMPT_HITS"))
    waits_for_model = (
        app.settings.switch("MEMORY_LLM") and app.settings.text("MEMORY_RECALL_SCHEME") != "off"
    )
    if searched in (NOTHING_TO_SEARCH, SWITCHED_OFF) or not waits_for_model:
        return replace(_reply(request, key, heart, searched), write=_record_prompt)

    def reply_slower(later: HookRequest) -> HookReply:
        return _reply(later, key, heart, _choose_by_model(later, key, searched))

    ready = _reply(request, key, heart, searched.with_remark("no language model was asked"))
    slower = (app.settings.count("MEMORY_RECALL_SECONDS"), reply_slower)
    return replace(ready, write=_record_prompt, slower=slower)


def brief_subagent(request: HookRequest) -> HookReply:
    """A subagent begins with nothing: the rules, and what memory has on its task."""
    app, event = request.app, request.event
    key = session_ledger.ledger_key(app, event)
    rules = rules_in_force(app)
    question = _start_question(request, request.tasks.pop(event.session_id, event.agent_type))
    searched = _search_in_time(request, question, key, SUBAGENT_HITS)
    injection = inject.subagent(
        [rule for _, rule in rules.values()], searched.hits, nonce=fresh_key()[:8]
    )
    listed = hook_reply.list_loaded(app, "the start of a subagent", rules, injection)
    reply = hook_reply.inject(request, injection, key, searched, listed)
    return replace(reply, write=lambda later: later.write(later.receive))


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
        text=question.text,
        statuses=REACHED,
        limit=limit,
        turns=limit,
        once=True,
        unasked=True,
        floor=floor,
        seen=seen,
    )
    found = search(app, query, timed=question)
    notes = [one.hit.memory for one in found.found if isinstance(one.hit.memory, Note)]
    if any(note.lane is Lane.REPOSITORY and "_always-load/" in note.path for note in notes):
        from recollect.ops.session_start import (
            withheld_notes,
        )  # a first prompt does not wait for it

        withheld, _ = withheld_notes(app)
        found = (
            search(app, replace(query, withheld=withheld), timed=question) if withheld else found
        )
    return PromptSearch(found) if question.left_s > 0 else PromptSearch(None, _TIME_OVER)


def _start_question(request: HookRequest, text: str) -> TimedQuestion | None:
    """None: recall is off, or there is nothing to look for."""
    if not request.app.settings.switch("MEMORY_RECALL") or names_nothing(text):
        return None
    return TimedQuestion(request.app, text, request.until_s)


def _search_in_time(
    request: HookRequest, question: TimedQuestion | None, key: LedgerKey, limit: int
) -> PromptSearch:
    if question is None:
        is_on = request.app.settings.switch("MEMORY_RECALL")
        return NOTHING_TO_SEARCH if is_on else SWITCHED_OFF
    try:
        store = request.app.reader(request.app.scope)
        told, own = (store.marks(key, way) for way in (Way.TOLD, Way.OWN))
        return search_unasked(request.app, question, seen=told | own, limit=limit)
    except (StoreDamaged, StoreTooNew):
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
    return (
        PromptSearch(found) if found else searched.with_remark("the language model gave no answer")
    )


def _record_prompt(request: HookRequest) -> None:
    """After the reply: that someone spoke, and the rules they stated, in one transaction. Another host may have told of
    the same words a moment ago (an agent can run another agent's hooks): they are answered here too, but counted once.
    Known by a checksum, the host and the time; the words are kept nowhere."""
    from recollect.app import rule_keeping  # no answer waits for these two
    from recollect.jobs import transcripts

    app, event = request.app, request.event
    mark, within = checksum(" ".join(event.asked.split())), REPEATED_WITHIN_S * 1_000_000
    # A subagent's prompt is the agent's words, and a plan states no rules.
    draft = rule_keeping.read_prompt(app, event.text) if event.text and not event.agent_id else None

    def write() -> None:
        store = app.writer(app.scope)
        session_ledger.record_message(app, event.session_id, event.host, event.at)
        recent = [
            one for one in RECENT_PROMPTS.read(store) if abs(event.at.micros - one.at) <= within
        ]
        RECENT_PROMPTS.write(store, [*recent, SeenPrompt(mark, event.host, event.at.micros)])
        is_repeated = bool(mark) and any(
            one.mark == mark and one.host != event.host for one in recent
        )
        if not is_repeated:
            session_ledger.record_interaction(app)
        request.receive()
        # Claimed in any case: its transcript then leaves it alone. It may have been quicker.
        if (
            draft
            and transcripts.claim_prompt(app, event.session_id, event.text)
            and not is_repeated
        ):
            notices.add(app, rule_keeping.capture_prompt(app, draft, session=event.session_id))

    request.write(write)


def word_hits(app: App, hits: Sequence[Hit], heart: Heartbeat, host: str) -> Injection:
    return inject.prompt(
        hits, heart=heart, nonce=fresh_key()[:8], reader=agents.agent(host).TITLE,
        max_chars=app.settings.count("MEMORY_PROMPT_CHARS"), content=app.settings.switch("MEMORY_PROMPT_CONTENT"),
        program=agent_program(str(app.home.root)),
    )  # fmt: skip


def _reply(
    request: HookRequest, key: LedgerKey, heart: Heartbeat, searched: PromptSearch
) -> HookReply:
    app, event = request.app, request.event
    injection = word_hits(app, searched.hits, heart, event.host)
    # That nothing was found is not news; that the search failed is.
    trouble = (
        f"Recollect could not search: {plain(searched.why_not, 120)}" if searched.failed else ""
    )

    def after(later: HookRequest, delivered: bool) -> None:
        session_ledger.write_heartbeat_view(later.app)
        for hit in searched.hits if delivered else ():
            if hit.mark in injection.shown:
                notices.toast(later.app, f"Recalled: {hit.memory.title}")

    reply = hook_reply.inject(
        request, injection, key, searched, notice=(injection.notice or trouble,)
    )
    return replace(reply, after=after)
