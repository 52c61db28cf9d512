"""The same matter in the next session continues its thread, and another matter opens one (data/thread_pairs.toml)."""

from pathlib import Path
from typing import Any

import pytest

from bench.threads import an_app, told
from recollect.base.moment import Moment
from recollect.embed.embedder import Embedder
from recollect.embed.embedder import load as load_model
from recollect.model.session import Act, SessionPart, Speaker, ToolAction, ToolUse
from tests.cases import cases

_BEGIN = Moment.parse("2026-03-02T09:00:00Z")
# How many of the pairs of one matter may get two threads: words alone cannot tell that they are one.
_MOST_APART = {("dev", True): 0, ("held", True): 1, ("dev", False): 2, ("held", False): 7}
_MOST_APART |= {("languages", True): 0, ("languages", False): 3}


def _acts(session: str, rows: list[str], begin: Moment) -> tuple[Act, ...]:
    acts = [Act(id=f"{session}-p", at=begin, speaker=Speaker.PERSON, text=rows[0])]
    for number, row in enumerate(rows[1:], start=1):
        kind, _, rest = row.partition(": ")
        id, at = f"{session}-{number}", begin.plus(seconds=20 * number)
        if kind == "says":
            acts.append(Act(id=id, at=at, speaker=Speaker.AGENT, text=rest))
            continue
        command, _, output = rest.partition(" => ")
        use = ToolUse(ToolAction.RUN, "Bash", command)
        if kind == "edits":
            use, output = ToolUse(ToolAction.EDIT, "Edit", "", (rest,)), "ok"
        failed = kind == "fails"
        acts.append(Act(id=id, at=at, speaker=Speaker.TOOL, text=output, use=use, failed=failed))
    return tuple(acts)


def _threads(folder: Path, pair: dict[str, Any], embedder: Embedder | None) -> int:
    app = an_app(folder, embedder)
    try:
        for day, session in enumerate(("one", "two")):
            acts = _acts(session, pair[session], _BEGIN.plus(days=day))
            told(app, SessionPart(host="bench", session=session, acts=acts, ended=True))
        return len(list(app.writer(app.scope).each()))
    finally:
        app.close()


@pytest.mark.parametrize("has_model", [True, False])
@pytest.mark.parametrize("half", ["dev", "held", "languages"])
def test_one_matter_is_one_thread_and_two_are_two(tmp_path: Path, half: str, has_model: bool):
    embedder = load_model("shipped") if has_model else None
    apart: list[str] = []
    joined: list[str] = []
    for number, pair in enumerate(cases("thread_pairs", half, "jobs")):
        count = _threads(tmp_path / str(number), pair, embedder)
        if pair["same"] and count != 1:
            apart.append(pair["two"][0])
        if not pair["same"] and count != 2:
            joined.append(pair["two"][0])
    assert not joined
    assert len(apart) <= _MOST_APART[half, has_model], apart
