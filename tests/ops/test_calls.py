"""Operations by name: what is asked for is checked before anything is done."""

import json

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput
from recollect.model.memory import Kind
from recollect.model.result import Scope
from recollect.model.session import LedgerKey, Session, Way
from recollect.ops import calls
from recollect.ops.table import OPS
from tests.ops.ask import kept, pinned
from tests.values import NOW


def read(op: object, **values: object) -> dict[str, object]:
    return calls.parse_call(json.dumps({"op": op, "values": values}).encode()).values


def test_values_become_what_the_operation_takes():
    taken = {"query": ("dark", "mode"), "kind": Kind.RULE, "limit": 3}
    assert read("search", query=["dark", "mode"], kind="rule", limit=3) == taken
    assert read("search", query=["x"], kind=None) == {"query": ("x",), "kind": None}


@pytest.mark.parametrize(
    ("op", "values"),
    [
        *((op.name, {}) for op in OPS if op.cli_only),
        ("nonsense", {}),
        (None, {}),
        (["recall"], {}),
        ("recall", {}),
        ("recall", {"query": "one word"}),
        ("recall", {"query": [1]}),
        ("recall", {"query": ["x"], "limit": "5"}),
        ("recall", {"query": ["x"], "limit": True}),
        ("recall", {"query": ["x"], "colour": "red"}),
        ("search", {"query": ["x"], "kind": "nonsense"}),
    ],
)
def test_what_is_for_a_person_alone_or_cannot_be_taken_is_refused(
    op: object, values: dict[str, object]
):
    with pytest.raises(BadInput):
        read(op, **values)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"3", b'{"op": "recall", "values": 3}', b"\xff", b"[" * 100_000]
)
def test_what_is_no_question_is_refused(body: bytes):
    with pytest.raises(BadInput):
        calls.parse_call(body)


def test_a_dry_run_is_one_for_that_call_alone(app: App):
    calls.run_call(
        app, calls.parse_call(b'{"op": "pin", "values": {"text": "x"}, "dry_run": true}')
    )
    assert not app.dry_run
    assert not app.home.root.joinpath("projects").exists()


def test_a_choice_misspelt_is_answered_with_the_nearest():
    with pytest.raises(BadInput) as refused:
        read("compact", strategy="agressive")
    assert refused.value.hint == "Did you mean aggressive? Known: gentle, normal, aggressive."


def test_an_agent_reads_text_and_data(app: App):
    told = json.loads(
        calls.run_call(
            app, calls.parse_call(b'{"op": "pin", "values": {"text": "x"}, "for": "agent"}')
        )
    )
    assert told["text"].startswith("Pinned as thread_")
    assert told["data"] is None
    data = json.loads(calls.run_call(app, calls.parse_call(b'{"op": "status", "for": "agent"}')))
    assert data["data"] == json.loads(data["text"])


def test_what_an_agent_recalls_counts_as_used_and_as_shown_in_its_session(app: App):
    id = pinned(app, "The queue is drained at midnight.")
    app.writer(Scope.PROJECT).put(Session(id="s1", host="claude-code", started_at=NOW, last_at=NOW))
    asked = json.dumps(
        {"op": "recall", "values": {"query": ["queue"]}, "for": "agent", "session": "s1"}
    )
    calls.run_call(app, calls.parse_call(asked.encode()))
    assert kept(app, id).frequency == 1
    assert app.reader(app.scope).marks(LedgerKey("s1"), Way.TOLD) == {f"{id}#body"}
    calls.run_call(app, calls.parse_call(asked.replace("s1", "unknown").encode()))
    assert kept(app, id).frequency == 2
