"""One short function an event: asks `ops`, has `render` word it, says it.

A store that cannot be written does not keep an agent from being told what is remembered: that is tried, logged, and
gone on from. A damaged one is for whoever opened it. Events that are only received must be written, or the hook is
told that they were not.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from recollect import agents
from recollect.agents.transcript import Voice
from recollect.base.errors import RecollectError, StoreDamaged, UnknownId
from recollect.base.ids import fresh_key, read_reference
from recollect.hooks import keeping, virtual
from recollect.hooks.visit import Said, Thought, Visit
from recollect.model.heartbeat import Heartbeat
from recollect.model.ledger import Talker, Way, memory_of
from recollect.model.memory import Memory, Rule
from recollect.model.query import REACHED, Query
from recollect.model.result import Found, Recalled, Scope
from recollect.model.session import Reply, ToolCall
from recollect.model.small_talk import names_nothing
from recollect.ops import briefs, heartbeat, notices, recalls, rendered, sessions, toasts, twice
from recollect.ops.haste import Haste
from recollect.ops.here import scope_here
from recollect.ops.sessions import Showing
from recollect.render import inject
from recollect.render.harmless import plain

if TYPE_CHECKING:
    from recollect.ops.always import Always

_THREADS_NEED_S = 0.05
_ANSWER_NEEDS_S = 0.1
_CAPTURE_NEEDS_S = 0.05
_VAULT_NEEDS_S = 0.15
_LISTENS = "recollect.capture.languages.learned_words"
_FIRST_CAPTURE_NEEDS_S = 1.0  # the tables of a language are compiled when it is first heard
_MAX_FORK_BYTES = 100_000_000  # nobody reads more than that in half a second


def started(visit: Visit) -> Said:
    """What holds here, and what is open. Again after compaction; only what is new after a resume."""
    rendered.sweep(visit.folder, visit.event.at)
    is_known = sessions.known(visit.app, visit.event) is not None
    if visit.event.source != "compact":
        toasts.session(visit.app, visit.event)
    talker = _begun(visit)
    rules = briefs.rules(visit.app)
    nonce = fresh_key()[:8]
    match visit.event.source:
        case "compact":
            return _load_again(visit, talker, rules, nonce)
        case "resume" if is_known:
            said = inject.new_rules(_unseen(visit, rules, talker), nonce=nonce)
        case "fork" if _rebuilt(visit, talker):
            said = inject.new_rules(_unseen(visit, rules, talker), nonce=nonce)
        case _:
            return _load(visit, talker, rules, nonce)
    return _listed(visit, talker, said, {id: scope for id, (scope, _) in rules.items()}, list(rules.values()))


def prompted(visit: Visit) -> Said:
    """What the prompt brings to mind; nothing where it names nothing, or nothing bears on it."""
    app, event = visit.app, visit.event
    if event.machine_made:
        app.log.line("prompt", session=event.session_id, ignored="no person wrote it")
        return Said()
    is_on = app.settings.switch("MEMORY_RECALL") and not names_nothing(event.asked)
    haste = Haste(app, event.asked, visit.until_s) if is_on else None  # its vector is made while we write
    talker = sessions.talker(app, event)
    heart, is_twice = _heard(visit)
    if haste is None:
        return _told(visit, talker, None, briefs.NOTHING_ASKED, _captured_in_time(visit, is_twice))
    mind = _brought(visit, haste, talker, app.settings.count("MEMORY_PROMPT_HITS"))
    captured = _captured_in_time(visit, is_twice)
    if mind.is_idle or not briefs.waits_for_a_model(app):
        return _told(visit, talker, heart, mind, captured)
    ready = _told(visit, talker, heart, mind.noting("no language model was asked"), captured)
    seconds = app.settings.count("MEMORY_RECALL_SECONDS")
    return replace(ready, thought=Thought(seconds, lambda later: _chosen(later, talker, heart, mind, captured)))


def called(visit: Visit) -> Said:
    """Before a tool runs: a read of a virtual file is answered, other calls are met by the rules that bear on them."""
    event = visit.event
    if not event.tools:
        return Said()
    call = event.tools[0]
    visit.tasks.give(event.session_id, call)
    root = str(visit.app.project.root) if visit.app.project else ""
    asked = virtual.question(call, (event.cwd, event.project_folder, root))
    return _read(visit, call, asked) if asked else _reminded(visit, call)


def subagent_started(visit: Visit) -> Said:
    """A subagent begins with nothing: the rules, and what its task brings to mind."""
    app, event = visit.app, visit.event
    talker = sessions.talker(app, event)
    rules = briefs.rules(app)
    task = visit.tasks.take(event.session_id, event.agent_type)
    is_on = app.settings.switch("MEMORY_RECALL") and not names_nothing(task)
    haste = Haste(app, task, visit.until_s) if is_on else None
    mind = _brought(visit, haste, talker, briefs.SUBAGENT_HITS) if haste else briefs.NOT_ASKED
    said = inject.subagent(_rules(rules), mind.hits, nonce=fresh_key()[:8])

    keeping.together(visit, lambda: _receive(visit))

    def after(later: Visit, delivered: bool) -> None:
        def write() -> None:
            keeping.note(later, mind, said, delivered)
            shown = [rules[id] for id in said.shown if id in rules]
            if shown:
                told = keeping.injected(later, said, delivered)
                briefs.note_listed(later.app, "the start of a subagent", shown, said.left_out, told)

        keeping.together(later, write)
        keeping.log(later, mind, said, delivered)

    if not said.text:
        return Said(after=after)
    scopes = {**mind.scopes, **{id: scope for id, (scope, _) in rules.items()}}
    showing = Showing(talker=talker, marks={mark: scopes[memory_of(mark)] for mark in said.shown})
    return Said(Reply(context=said.text, shown=said.shown), (showing,) if said.shown else (), after)


def received(visit: Visit) -> Said:
    """Kept for later, where to read it; nothing is said."""
    _receive(visit)
    return Said()


def _receive(visit: Visit) -> None:
    sessions.receive(visit.app, sessions.pointer(visit.event, visit.transcript_bytes))


def ended(visit: Visit) -> Said:
    """What was only for this session goes; what is durable stays."""
    rendered.forget(visit.folder, visit.event.session_id)
    if visit.event.reads_below:
        rendered.leave(visit.folder)
    visit.tasks.forget(visit.event.session_id)
    return received(visit)


# A session that starts


def _begun(visit: Visit) -> Talker:
    app, event = visit.app, visit.event
    session = sessions.here(app, event)
    talker = Talker(session.id, event.agent_id, session.epoch + (event.source in sessions.FORGETS))

    def write() -> None:
        sessions.begin(app, event)
        _receive(visit)

    keeping.together(visit, write)
    return talker


def _load(visit: Visit, talker: Talker, rules: dict[str, tuple[Scope, Rule]], nonce: str) -> Said:
    app = visit.app
    is_late = visit.left_s < _THREADS_NEED_S
    threads = {} if is_late else briefs.open_threads(app)
    heart = heartbeat.kept(app)
    listed = [memory for _, memory in threads.values()]
    kept = _always(visit)
    always = [note for _, note in kept.notes.values()]
    said = inject.session_start(_rules(rules), listed, heart=heart, always=always, nonce=nonce, now=app.clock.now())
    if kept.waiting:
        said = replace(said, notice="\n".join(filter(None, (said.notice, kept.told))))
    if is_late:
        app.log.line("late", session=visit.event.session_id, left_out="open threads")
    everything: dict[str, tuple[Scope, Memory]] = {**kept.notes, **rules, **threads}
    return _listed(visit, talker, said, {id: scope for id, (scope, _) in everything.items()}, list(everything.values()))


def _load_again(visit: Visit, talker: Talker, rules: dict[str, tuple[Scope, Rule]], nonce: str) -> Said:
    notes = _always(visit).notes
    said = inject.rules_again(_rules(rules), always=[note for _, note in notes.values()], nonce=nonce)
    everything: dict[str, tuple[Scope, Memory]] = {**notes, **rules}
    return _listed(visit, talker, said, {id: scope for id, (scope, _) in everything.items()}, list(everything.values()))


def _always(visit: Visit) -> Always:
    """As the files are now, where few of them changed; the daemon takes in the rest."""
    from recollect.ops import always, vaults  # a first prompt does not wait for them

    app = visit.app
    for shelf in vaults.shelves(app):
        try:
            waiting = vaults.glance(app, shelf).waiting if visit.left_s > _VAULT_NEEDS_S else 1
        except StoreDamaged:
            raise
        except RecollectError as problem:
            app.log.line("vault-not-read", scope=shelf.scope, problem=problem.message)
            continue
        if waiting:
            app.log.line("late", session=visit.event.session_id, left_out=f"changed notes of the {shelf.scope}")
    return always.loaded(app)


def _listed(
    visit: Visit,
    talker: Talker,
    said: inject.Injection,
    scopes: dict[str, Scope],
    memories: list[tuple[Scope, Memory]] | list[tuple[Scope, Rule]],
) -> Said:
    app, event = visit.app, visit.event
    what = f"session start ({event.source or 'startup'})"
    ids = {memory_of(mark) for mark in said.shown}
    shown = [(scope, memory) for scope, memory in memories if memory.id in ids]
    waiting = notices.waiting(app) if notices.are_shown(app, event.host) else []

    def after(later: Visit, delivered: bool) -> None:
        def write() -> None:
            if said.text:
                told = keeping.injected(later, said, delivered)
                briefs.note_listed(later.app, what, shown, said.left_out, told)
            if delivered:
                notices.clear(later.app, waiting)

        if said.text or waiting:
            keeping.together(later, write)
        keeping.log(later, briefs.NOT_ASKED, said, delivered)

    showing = Showing(talker=talker, marks={mark: scopes[memory_of(mark)] for mark in said.shown})
    reply = Reply(context=said.text, notice="\n".join([*waiting, said.notice]).strip(), shown=said.shown)
    return Said(reply, (showing,) if said.shown else (), after)


def _rebuilt(visit: Visit, talker: Talker) -> bool:
    """A fork goes on from another session's transcript: what we put in there since it was last compacted is known."""
    event = visit.event
    transcript = agents.origin(event)
    try:
        if transcript is None or transcript.stat().st_size > _MAX_FORK_BYTES:
            return False
    except OSError:
        return False
    marks: dict[str, None] = {}
    for utterance in agents.utterances(event.host, agents.Tail(transcript)):
        if utterance.voice is Voice.SUMMARY:
            marks.clear()
        elif utterance.voice is Voice.INJECTION:
            marks |= dict.fromkeys(inject.marks_shown(utterance.text))
        if visit.left_s < _ANSWER_NEEDS_S:
            visit.app.log.line("late", session=event.session_id, left_out="the rest of the transcript")
            break
    if marks:
        keeping.together(visit, lambda: sessions.remembered_shown(visit.app, talker, list(marks)))
    return bool(marks)


def _unseen(visit: Visit, rules: dict[str, tuple[Scope, Rule]], talker: Talker) -> list[Rule]:
    seen = sessions.shown(visit.app, talker)
    return [rule for id, (_, rule) in rules.items() if id not in seen]


def _rules(rules: dict[str, tuple[Scope, Rule]]) -> list[Rule]:
    return [rule for _, rule in rules.values()]


# A prompt, a task


def _brought(visit: Visit, haste: Haste, talker: Talker, limit: int) -> briefs.Mind:
    try:
        seen = sessions.known_to(visit.app, talker)
        return briefs.brought_to_mind(visit.app, haste, seen=seen, limit=limit)
    except StoreDamaged:
        raise
    except RecollectError as problem:
        return briefs.Mind(None, problem.message, failed=True)


def _heard(visit: Visit) -> tuple[Heartbeat, bool]:
    """Before anything is answered, that someone spoke is on the disk. The heartbeat as it was just before, and whether
    another host told of the same words a moment ago: then they are answered here too, and nothing is counted twice."""
    app, event = visit.app, visit.event
    before: list[tuple[Heartbeat, bool]] = []

    def write() -> None:
        sessions.spoke(app, event.session_id, event.host, event.at)
        is_twice = twice.is_told_twice(app, event)
        before.append((heartbeat.look(app) if is_twice else heartbeat.interact(app), is_twice))
        _receive(visit)

    return before[0] if keeping.together(visit, write) else (heartbeat.look(app), False)


def _told(visit: Visit, talker: Talker, heart: Heartbeat | None, mind: briefs.Mind, captured: str | None) -> Said:
    """Without a heartbeat nothing was looked for, and nothing is put in. `captured`: None where there was no time."""
    room = visit.app.settings.count("MEMORY_PROMPT_CHARS")
    whole = visit.app.settings.switch("MEMORY_PROMPT_CONTENT")
    said = inject.NOTHING
    if heart:
        reader = agents.agent(visit.event.host).TITLE
        said = inject.prompt(
            mind.hits, heart=heart, nonce=fresh_key()[:8], max_chars=room, content=whole, reader=reader
        )
    is_seen = notices.are_shown(visit.app, visit.event.host)
    waiting = notices.waiting(visit.app) if is_seen else []
    notice = "\n".join(line for line in (*waiting, captured, said.notice or _trouble(mind)) if line)
    showing = Showing(talker=talker, marks={mark: mind.scopes[memory_of(mark)] for mark in said.shown})
    reply = Reply(context=said.text, notice=notice, shown=said.shown)

    def after(later: Visit, delivered: bool) -> None:
        _noted(later, mind, said, delivered)
        is_missed = captured is None and not visit.event.transcript  # else it is read there
        untold = _captured(later) if is_missed else "" if delivered and is_seen else captured

        def write() -> None:
            if delivered:
                notices.clear(later.app, waiting)
            if untold:
                notices.leave(later.app, untold)

        if untold or (delivered and waiting):
            keeping.together(later, write)

    return Said(reply, (showing,) if said.shown else (), after)


def _chosen(visit: Visit, talker: Talker, heart: Heartbeat, mind: briefs.Mind, captured: str | None) -> Said:
    """What a language model chose; what came to mind by itself, where it gave no answer in time."""
    from recollect.ops import chosen  # nobody else needs it

    app = visit.app
    try:
        found = chosen.instead(app, visit.event.asked, mind.found, _memories_shown(visit, talker), visit.until_s)
    except Exception as problem:  # noqa: BLE001 a job's edge: what is ready is told
        app.log.line("not-chosen", session=visit.event.session_id, problem=type(problem).__name__)
        found = None
    better = briefs.Mind(found) if found else mind.noting("the language model gave no answer")
    return _told(visit, talker, heart, better, captured)


def _memories_shown(visit: Visit, talker: Talker) -> frozenset[str]:
    return frozenset(memory_of(mark) for mark in sessions.shown(visit.app, talker))


def _noted(visit: Visit, mind: briefs.Mind, said: inject.Injection, delivered: bool) -> None:
    heartbeat.show(visit.app)
    if mind.found is not None:
        keeping.together(visit, lambda: keeping.note(visit, mind, said, delivered))
    keeping.log(visit, mind, said, delivered)
    if delivered:
        toasts.recalled(visit.app, (hit.memory for hit in mind.hits if hit.mark in said.shown))


def _trouble(mind: briefs.Mind) -> str:
    """That nothing was found is no news; that it could not be looked for is."""
    return f"Recollect could not search: {plain(mind.why_not, 120)}" if mind.failed else ""


def _captured_in_time(visit: Visit, is_twice: bool) -> str | None:
    """The notice. None where there was no time: it is captured from the transcript, or later."""
    if not visit.event.text:
        return ""  # a plan states no rules
    if is_twice:
        from recollect.ops import heard

        def claim() -> None:
            heard.claim(visit.app, visit.event.session_id, visit.event.text)

        keeping.together(visit, claim)
        return ""
    if visit.left_s >= (_CAPTURE_NEEDS_S if _LISTENS in sys.modules else _FIRST_CAPTURE_NEEDS_S):
        return _captured(visit)
    visit.app.log.line("late", session=visit.event.session_id, left_out="capture")
    return None


def _captured(visit: Visit) -> str:
    """Rules that the prompt states. What cannot be kept is logged: the prompt is answered all the same."""
    app, event = visit.app, visit.event
    if event.agent_id:
        return ""  # a subagent's prompt is the agent's words
    from recollect.ops import capture, heard  # not for a first prompt, which is waited for

    try:
        draft = capture.read(app, event.text)
        with app.writing(scope_here(app)).together():
            if not heard.claim(app, event.session_id, event.text):
                return ""  # it was read in the transcript while we were held up
            return capture.settled(app, draft, session=event.session_id)
    except StoreDamaged:
        raise
    except RecollectError as problem:
        app.log.line("not-kept", of="capture", session=event.session_id, problem=problem.message)
        return ""


# A call


def _read(visit: Visit, call: ToolCall, asked: str) -> Said:
    app, event = visit.app, visit.event
    reference = read_reference(asked)
    try:
        answer = recalls.look_up(app, *reference) if reference else recalls.whole(app, _answered(visit, asked))
    except UnknownId:
        answer = Recalled(Found(app.mint.draw("recall"), asked, app.clock.now(), (), (), "by id"), (), 0)
    said = inject.read(answer, nonce=fresh_key()[:8], now=app.clock.now())
    mind = briefs.Mind(answer.found)
    path = rendered.write(visit.folder, event.session_id, said.text)
    # Who reads on was shown it before.
    marks = {} if answer.offset else {one.hit.turn_mark: one.scope for one in answer.found.found}
    showing = Showing(talker=sessions.talker(app, event), marks=marks, call=call.id, asked=True)
    if path is None:
        reply = Reply(context=said.text, shown=said.shown)
    else:
        reply = Reply(read_instead=str(path), read_input=call.input, shown=said.shown)
    return Said(reply, (showing,) if showing.marks else (), _noting(mind, said))


def _noting(mind: briefs.Mind, said: inject.Injection) -> Callable[[Visit, bool], None]:
    """For `why` and the log, once it is known whether it was delivered."""

    def after(visit: Visit, delivered: bool) -> None:
        keeping.together(visit, lambda: keeping.note(visit, mind, said, delivered))
        keeping.log(visit, mind, said, delivered)

    return after


def _answered(visit: Visit, asked: str) -> Found:
    query = Query(text=asked, statuses=REACHED, limit=recalls.RECALLED, turns=recalls.RECALLED)
    return recalls.answered(visit.app, query, haste=Haste(visit.app, asked, visit.until_s))


def _reminded(visit: Visit, call: ToolCall) -> Said:
    app, event = visit.app, visit.event
    talker = sessions.talker(app, event)
    seen = sessions.shown(app, talker, Way.REMINDED)
    mind, rules = briefs.reminders(app, call, seen=seen, until_s=visit.until_s)
    said = inject.reminders(rules, nonce=fresh_key()[:8])
    if not said.text:
        return Said()
    marks = {id: mind.scopes[id] for id in said.shown}
    showing = Showing(talker=talker, marks=marks, way=Way.REMINDED, call=call.id)
    return Said(Reply(context=said.text, shown=said.shown), (showing,), _noting(mind, said))
