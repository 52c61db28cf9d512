"""Per turn: captures prompts that no hook could look at when they came (no daemon, no time left) from the transcript.

A prompt is seen twice, by its hook and in the transcript, and either may come first: a daemon can be held up. Whoever
comes first claims the prompt and captures it, in one transaction; the other finds the claim and settles it. Prompts are
known by their session and a checksum; their words are kept nowhere.
"""

from __future__ import annotations

from recollect.app import beat_state, notices, rule_keeping, session_ledger
from recollect.app.core import App
from recollect.app.states import CLAIMED_PROMPTS
from recollect.base.errors import RecollectError
from recollect.jobs import transcript_reader
from recollect.jobs.transcripts import Writes
from recollect.model.session import SessionPart, Speaker
from recollect.wire.pointer import checksum

_NEWS_S = 86_400.0  # older words are no news: a session that is resumed is read from its beginning
_COMPARED_CHARS = 2_000


def claim_prompt(app: App, session: str, text: str) -> bool:
    """For a hook: whether the prompt is still to be captured. To be called in the transaction that captures it."""
    return _claim(app, _key(session, transcript_reader.clean(app, text)), 1)


def prompt_mark(text: str) -> str:
    """A checksum of a prompt, however it is spaced."""
    return checksum(" ".join(text.split())[:_COMPARED_CHARS])


def capture_late_prompts(app: App, part: SessionPart) -> Writes | None:
    found = [act for act in part.new if act.speaker is Speaker.PERSON and not act.agent and not part.agent]
    if not found:
        return None
    claims = CLAIMED_PROMPTS.read(app.reader(app.scope))
    # Judging a prompt takes long; one that its hook has claimed need not be judged.
    drafts = [
        None if claims.get(_key(part.session, act.text), 0) > 0 else rule_keeping.read_prompt(app, act.text)
        for act in found
    ]

    def write() -> None:
        for act, judged in zip(found, drafts, strict=True):
            if not _claim(app, _key(part.session, act.text), -1, is_past=part.past):
                continue
            if not part.past:
                session_ledger.record_message(app, part.session, part.host, act.at)
                beat_state.record_late_interaction(app, act.at)
            draft = judged or rule_keeping.read_prompt(app, act.text)
            try:
                notice = rule_keeping.capture_prompt(app, draft, session=part.session, at=act.at, refuses=act.refuses)
            except RecollectError as problem:
                app.log.line("not-kept", of="capture", session=part.session, problem=problem.message)
                continue
            is_news = abs(app.clock.now().micros - act.at.micros) < _NEWS_S * 1_000_000
            if notice and not part.past and is_news:
                notices.add(app, notice)

    return write


def _claim(app: App, key: str, side: int, *, is_past: bool = False) -> bool:
    """`side`: 1 for a hook, -1 for a transcript. Each adds its own; what the other has added before is settled by it.
    No hook will come for a past session any more, so nothing is left for one."""
    store = app.writer(app.scope)  # the reader does not see what this transaction claimed before
    claims = dict(CLAIMED_PROMPTS.read(store))
    before = claims.pop(key, 0)
    if before + side and not (is_past and before + side < 0):
        claims[key] = before + side
    CLAIMED_PROMPTS.write(store, claims)
    return before * side >= 0


def _key(session: str, text: str) -> str:
    return f"{session} {prompt_mark(text)}"
