"""Which of the memories that were shown bore on the call or turn that followed, and the mark that each gets for it.

On a call: a rule that names its command, tool or file. On a turn: what the turn then spoke of. Nothing else is marked:
that work went well says nothing of a memory that it did not use, and one that nobody uses is left to age. Lists that
everyone gets at a session's start and what an agent asked for itself are not judged: nobody chose them for that moment.
A mark is a fraction of a rating (recall/weigh.py).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial

from recollect.capture.endings import Ended
from recollect.capture.used import used
from recollect.lifecycle import use
from recollect.model.act import Act, Deed, Doing, Speaker
from recollect.model.memory import Memory, Rule
from recollect.model.outcome import Ending, Outcome
from recollect.model.session import EventName
from recollect.ops.app import App
from recollect.ops.briefs import ALWAYS, BEARING
from recollect.recall.bearing import Call, bearing, call_of, follows, is_lesson

_RECALLS_READ = 10
_DID_CHARS = 40_000
"""Of what the agent said and ran in one turn."""
# Who did not allow a call said nothing of what we had shown.
_WELL = {Ending.SUCCESS: True, Ending.FAILURE: False, Ending.RE_ASK: False, Ending.AGENT_FAILURE: False}


def bore(app: App, ended: Ended) -> tuple[str, ...]:
    """Of what was shown before it, the memories that get a mark for how it went."""
    outcome = ended.outcome
    if outcome.kind not in _WELL:
        return ()
    return tuple(id for id in outcome.shown if (memory := _find(app, id)) and _bore(app, memory, ended))


def mark(app: App, outcome: Outcome) -> None:
    """`outcome.shown`: those that bore on it."""
    for id in outcome.shown:
        for scope, store in app.scopes():
            if store.get(id) is not None:
                app.writing(scope).sessions.use([id], partial(use.followed, well=_WELL[outcome.kind]))
                break


def _bore(app: App, memory: Memory, ended: Ended) -> bool:
    if isinstance(memory, Rule) and is_lesson(memory) and not _WELL[ended.outcome.kind]:
        return False  # a warning is not to blame for what it warned of
    passage = _passage(app, memory, ended.outcome)
    if passage is None:
        return False
    first, *rest = ended.acts
    if first.doing is not None:
        call = _call(first.doing)
        return isinstance(memory, Rule) and (bool(bearing([memory], call)) or follows(memory, call))
    files = [file for act in rest if act.doing for file in act.doing.files]
    return used(passage, first.text, _did(rest), files)


def _find(app: App, id: str) -> Memory | None:
    return next((memory for _, store in app.scopes() if (memory := store.get(id)) is not None), None)


def _passage(app: App, memory: Memory, outcome: Outcome) -> str | None:
    """What was shown of it in this session; None where nobody chose it for that moment."""
    recalls = [text for _, store in app.scopes() for text in store.recalls(limit=_RECALLS_READ, memory=memory.id)]
    for recall in map(json.loads, recalls):
        hit = next((hit for hit in recall["hits"] if hit["id"] == memory.id), None)
        if hit is None or recall.get("session") != outcome.session:
            continue
        unasked = recall.get("event") in (EventName.PROMPT, EventName.SUBAGENT_STARTED)
        if recall["how"] == BEARING or (unasked and recall["how"] != ALWAYS):
            return hit.get("passage") or f"{memory.title}\n{memory.body}"
    return None


def _call(doing: Doing) -> Call:
    given: dict[str, object] = {"command": doing.what} if doing.deed is Deed.RUN else {}
    if doing.files:
        given["file_path"] = doing.files[0]
    if doing.deed is Deed.EDIT:
        given["content"] = ""
    return call_of(doing.tool, given)


def _did(acts: Sequence[Act]) -> str:
    said = (act.text if act.speaker is Speaker.AGENT else act.doing.what if act.doing else "" for act in acts)
    return "\n".join(said)[:_DID_CHARS]
