"""Before a tool runs: a read of a virtual file is answered; before other calls, the agent is reminded of the rules that
are about that very call."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import partial

from recollect.app import session_ledger
from recollect.app.core import App
from recollect.app.memory_search import rules_in_force
from recollect.app.question_vector import TimedQuestion
from recollect.base.errors import UnknownId
from recollect.base.ids import fresh_key
from recollect.model.evidence import NO_BACKGROUND
from recollect.model.memory import Rule
from recollect.model.query import ABOUT_CALL, REACHED, Hit, Query
from recollect.model.result import Found, Recalled, Scope
from recollect.model.session import Reply, ToolCall, Way
from recollect.ops import hook_reply, recall, virtual_files
from recollect.ops.hook_reply import HookReply, HookRequest, PromptSearch
from recollect.recall import floor
from recollect.recall.call_rules import is_lesson, read_call, rules_about
from recollect.render import inject

MAX_REMINDERS = 3
_MIN_FLOOR = 0.5  # a call is interrupted for nothing less, however low the floor for prompts is set


def answer_call(request: HookRequest) -> HookReply:
    app, event = request.app, request.event
    if not event.tools:
        return HookReply()
    call = event.tools[0]
    request.tasks.add(event.session_id, call)
    root = str(app.project.root) if app.project else ""
    question = virtual_files.read_question(call, (event.cwd, event.project_folder, root))
    return _answer_read(request, call, question) if question else _remind(request, call)


def _answer_read(request: HookRequest, call: ToolCall, question: str) -> HookReply:
    app, event = request.app, request.event
    answer = _recall(request, question)
    injection = inject.requested_recall(answer, nonce=fresh_key()[:8], now=app.clock.now())
    path = virtual_files.write_answer(request.folder, event.session_id, injection.text)
    reply = Reply(read_instead=str(path), read_input=call.input) if path else Reply(context=injection.text)
    # An agent that reads on in a long memory was shown it before.
    marks = {} if answer.offset else {one.hit.turn_mark: one.scope for one in answer.found.found}
    key = session_ledger.ledger_key(app, event)
    shown = partial(session_ledger.record_shown, key=key, marks=marks, call=call.id, asked=True)
    return HookReply(reply, injection, PromptSearch(answer.found), record_shown=shown if marks else None)


def _recall(request: HookRequest, question: str) -> Recalled:
    app = request.app
    query = Query(text=question, statuses=REACHED, limit=recall.RECALLED, turns=recall.RECALLED)
    try:
        return recall.answer(app, query, request.until_s)
    except UnknownId:
        return Recalled(Found(app.mint.draw("recall"), question, app.clock.now(), (), (), "by id"), (), 0)


def _remind(request: HookRequest, call: ToolCall) -> HookReply:
    app = request.app
    key = session_ledger.ledger_key(app, request.event)
    seen = app.reader(app.scope).marks(key, Way.REMINDED)
    outcome, rules = find_reminders(app, call, seen=seen, until_s=request.until_s)
    injection = inject.reminders(rules, nonce=fresh_key()[:8])
    if not injection.text:
        return HookReply()
    return hook_reply.inject(request, injection, key, outcome, way=Way.REMINDED, call=call.id)


def find_reminders(app: App, call: ToolCall, *, seen: Set[str], until_s: float) -> tuple[PromptSearch, list[Rule]]:
    """The rules that are about this very call, at most three, none that was `seen`."""
    about = read_call(call.name, call.input)
    rules = {id: pair for id, pair in rules_in_force(app).items() if id not in seen}
    named = rules_about([rule for _, rule in rules.values()], about)[:MAX_REMINDERS]
    weights = {rule.id: 1.0 for rule in named}
    if about.programs and len(weights) < min(MAX_REMINDERS, len(rules)) and app.settings.switch("MEMORY_RECALL"):
        weights = {**_near_rules(app, about.text, rules, until_s), **weights}
    best = sorted(weights, key=lambda id: weights[id], reverse=True)[:MAX_REMINDERS]
    hits = []
    for id in best:
        scope, rule = rules[id]
        hits.append((scope, Hit(rule, weights[id], (("named" if weights[id] >= 1 else "near", weights[id]),))))
    found = hook_reply.found_without_search(app, about.text, hits, ABOUT_CALL)
    return PromptSearch(found), [rules[id][1] for id in best]


def _near_rules(app: App, text: str, rules: Mapping[str, tuple[Scope, Rule]], until_s: float) -> dict[str, float]:
    """Rules that mean the call though they name nothing of it. Not lessons: the command that works is as near to one
    as the command that fails. Compared with the rules alone, so that it does not matter how much else is remembered."""
    vector = TimedQuestion(app, text, until_s).vector()
    if vector is None:
        return {}
    near: dict[str, float] = {}
    background = NO_BACKGROUND
    for scope, store in app.scopes():
        ids = [id for id, (where, rule) in rules.items() if where is scope and not is_lesson(rule)]
        near |= store.similarity(vector.model, vector.vector, ids)
        background = background.with_more(store.nearest(vector.model, vector.vector, 1, ()).background)
    prompt, needed = floor.Prompt.of(text), max(app.settings.figure("MEMORY_RECALL_FLOOR"), _MIN_FLOOR)
    certain: dict[str, float] = {}
    for id, cosine in near.items():
        features = floor.judge_relevance(
            prompt, rules[id][1].body, near=cosine, cover=0.0, background=background, passages=background.passages,
            kept=True,
        )  # fmt: skip
        if features.probability >= needed:
            certain[id] = features.probability
    return certain
