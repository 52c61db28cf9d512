"""Before a tool runs: a read of `.ai/recall/<question>` is a question to memory, and the agent reads a file with the
answer instead; before other calls, the agent is reminded of the rules that are about that very call."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import partial
from pathlib import Path
from urllib.parse import unquote

from recollect.app import session_ledger
from recollect.app.core import App
from recollect.app.embedding import TimedQuestion
from recollect.app.memory_search import rules_in_force
from recollect.base.errors import HomeRefused, UnknownId
from recollect.base.files import make_private_folder, write_private
from recollect.base.ids import fresh_key
from recollect.base.text import storable
from recollect.model.memory import Rule
from recollect.model.query import ABOUT_CALL, REACHED, Background, Hit, Query
from recollect.model.result import Found, Recalled, Scope
from recollect.model.session import Reply, ToolCall, Way
from recollect.ops import hook_reply, recall
from recollect.ops.hook_reply import HookReply, HookRequest, PromptSearch
from recollect.recall import matching
from recollect.recall.call_rules import (
    is_lesson,
    names_another_subcommand,
    read_call,
    rules_about,
)
from recollect.render import inject
from recollect.render.recall_text import virtual_file
from recollect.wire.place import agent_program, is_private

MAX_REMINDERS = 3
_MIN_FLOOR = 0.5  # a call is interrupted for nothing less, however low the floor for prompts is set
# What agents call the tool that reads a file. Tools that write a file or search in it are left alone.
_READERS = frozenset({"Read", "read", "read_file", "ReadFile"})
_FOLDER = ".ai/recall/"
_MAX_QUESTION_CHARS = 1_000


def answer_call(request: HookRequest) -> HookReply:
    app, event = request.app, request.event
    if not event.tools:
        return HookReply()
    call = event.tools[0]
    request.tasks.add(event.session_id, call)
    if question := _read_question(request, call):
        return _answer_read(request, call, question)
    key = session_ledger.ledger_key(app, event)
    seen = app.reader(app.scope).marks(key, Way.REMINDED)
    outcome, rules = find_reminders(app, call, seen=seen, until_s=request.until_s)
    injection = inject.reminders(rules, nonce=fresh_key()[:8])
    if not injection.text:
        return HookReply()
    return hook_reply.inject(request, injection, key, outcome, way=Way.REMINDED, call=call.id)


def _read_question(request: HookRequest, call: ToolCall) -> str:
    """What the call asks memory, or nothing. Absolute names below another project are not ours to answer."""
    named = next(
        (value for key in ("file_path", "path") if isinstance(value := call.input.get(key), str)),
        "",
    )
    if call.name not in _READERS or not named:
        return ""
    project, event, path = (
        request.app.project,
        request.event,
        named.replace("\\", "/").removeprefix("./"),
    )
    roots = (event.cwd, event.project_folder, str(project.root) if project else "")
    for root in ("", *(root.replace("\\", "/").rstrip("/") + "/" for root in roots if root)):
        if path.startswith(root + _FOLDER):
            # As it was written: a secret of several lines is not recognised in one.
            asked = unquote(path[len(root + _FOLDER) :], errors="replace")
            return storable(asked).strip()[:_MAX_QUESTION_CHARS]
    return ""


def _answer_read(request: HookRequest, call: ToolCall, question: str) -> HookReply:
    app = request.app
    floor = app.settings.figure(recall.FLOOR)
    most = recall.RECALLED
    query = Query(text=question, statuses=REACHED, limit=most, turns=most, floor=floor)
    try:
        answer = recall.answer(app, query, request.until_s)
    except UnknownId:
        answer = Recalled(
            Found(app.mint.draw("recall"), question, app.clock.now(), (), (), "by id"), (), 0
        )
    door = virtual_file(agent_program(str(app.home.root)))
    injection = inject.requested_recall(
        answer, nonce=fresh_key()[:8], now=app.clock.now(), door=door
    )
    path = _write_answer(request, injection.text)
    reply = (
        Reply(read_instead=str(path), read_input=call.input)
        if path
        else Reply(context=injection.text)
    )
    # An agent that reads on in a long memory was shown it before.
    marks = {} if answer.offset else {one.hit.turn_mark: one.scope for one in answer.found.found}
    key = session_ledger.ledger_key(app, request.event)
    shown = partial(session_ledger.record_shown, key=key, marks=marks, call=call.id)
    return HookReply(
        reply, injection, PromptSearch(answer.found), record_shown=shown if marks else None
    )


def _write_answer(request: HookRequest, text: str) -> Path | None:
    """None where no place is ours alone. No part of a question becomes a name on disk."""
    path = request.session_folder / f"{fresh_key()[:16]}.md"
    try:
        for place in (request.folder.parent, request.folder, path.parent):
            make_private_folder(place)
            if not is_private(str(place)):
                return None
        write_private(path, text, sync=False)  # it is read at once, and the agent waits
    except (OSError, HomeRefused):
        return None
    return path


def find_reminders(
    app: App, call: ToolCall, *, seen: Set[str], until_s: float
) -> tuple[PromptSearch, list[Rule]]:
    """The rules that are about this very call, at most three, none that was `seen`."""
    about = read_call(call.name, call.input)
    rules = {id: pair for id, pair in rules_in_force(app).items() if id not in seen}
    named = rules_about([rule for _, rule in rules.values()], about)[:MAX_REMINDERS]
    weights = {rule.id: 1.0 for rule in named}
    if (
        about.programs
        and len(weights) < min(MAX_REMINDERS, len(rules))
        and app.settings.switch("MEMORY_RECALL")
    ):
        others = {
            id: pair for id, pair in rules.items() if not names_another_subcommand(pair[1], about)
        }
        weights = {**_near_rules(app, about.text, others, until_s), **weights}
    hits = []
    for id, weight in sorted(weights.items(), key=lambda pair: pair[1], reverse=True)[
        :MAX_REMINDERS
    ]:
        scope, rule = rules[id]
        hits.append((scope, Hit(rule, weight, (("named" if weight >= 1 else "near", weight),))))
    found = hook_reply.found_without_search(app, about.text, hits, ABOUT_CALL)
    return PromptSearch(found), [rules[hit.memory.id][1] for _, hit in hits]


def _near_rules(
    app: App, text: str, rules: Mapping[str, tuple[Scope, Rule]], until_s: float
) -> dict[str, float]:
    """Rules that mean the call though they name nothing of it. Not lessons: the command that works is as near to one
    as the command that fails. Compared with the rules alone, so that it does not matter how much else is remembered."""
    vector = TimedQuestion(app, text, until_s).vector()
    if vector is None:
        return {}
    near: dict[str, float] = {}
    background = Background()
    for scope, store in app.scopes():
        ids = [id for id, (where, rule) in rules.items() if where is scope and not is_lesson(rule)]
        near |= store.similarity(vector.model, vector.vector, ids)
        background = background.with_more(
            store.nearest(vector.model, vector.vector, 1, ()).background
        )
    prompt, needed = (
        matching.Prompt.of(text),
        max(app.settings.figure("MEMORY_RECALL_FLOOR"), _MIN_FLOOR),
    )
    certain: dict[str, float] = {}
    for id, cosine in near.items():
        probability, _ = matching.judge_relevance(
            prompt, rules[id][1].body, near=cosine, cover=0.0, background=background, passages=background.passages,
            kept=True,
        )  # fmt: skip
        if probability >= needed:
            certain[id] = probability
    return certain
