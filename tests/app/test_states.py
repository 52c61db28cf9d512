"""States: what is written is read back, what cannot be read counts as not there, and limits keep the newest."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.agents import Cursor
from recollect.app import states
from recollect.app.states import (
    CURSORS,
    NOTICES,
    THREAD_MARKS,
    ReadPart,
    ReadTranscript,
    State,
    ThreadMark,
)
from recollect.model.session import StateRecord
from recollect.store import SqliteStore, Store, Tuning

STATES = [one for one in vars(states).values() if isinstance(one, State)]


@pytest.fixture
def store() -> Store:
    return SqliteStore(None, Tuning())


def test_every_state_has_a_name_of_its_own():
    names = [one.name for one in STATES]
    assert len(set(names)) == len(names) > 15
    assert not [a for a in names for b in names if a != b and b.endswith(":") and a.startswith(b)]


NUMBERS = st.integers(-(2**63), 2**63 - 1)  # that can be kept
PARTS = st.builds(ReadPart, cursor=st.builds(Cursor, offset=NUMBERS), prompts=NUMBERS)


@settings(max_examples=30)
@given(
    st.builds(ReadTranscript, path=st.text(), parts=st.lists(PARTS, max_size=4).map(tuple)),
    st.text(max_size=20).filter(lambda key: "\x00" not in key),
)
def test_a_state_is_read_back_as_it_was_written(one: ReadTranscript, key: str):
    store = SqliteStore(None, Tuning())
    try:
        CURSORS.write(store, one, key)
    except (OverflowError, ValueError):
        return  # a time after the last year there is
    assert CURSORS.find(store, key) == one
    assert CURSORS.find_all(store) == {key: one}
    CURSORS.remove(store, key)
    assert CURSORS.find(store, key) is None


@pytest.mark.parametrize(
    "text", ["", "{", "null", "7.5", '["x", {}]', '{"x": [[]]}', "[" * 100_000]
)
def test_what_cannot_be_read_is_not_there(store: Store, text: str):
    for state in STATES:
        store.put(StateRecord(state.name, text))
        assert (state.find(store), state.find_all(store)) == (None, {}), state.name


def test_a_limit_keeps_the_newest(store: Store):
    NOTICES.write(store, [str(number) for number in range(9)])
    THREAD_MARKS.write(
        store, {str(number): ThreadMark("w", "t", ("a", "b")) for number in range(60)}
    )
    assert NOTICES.read(store) == ["4", "5", "6", "7", "8"]
    assert list(THREAD_MARKS.read(store))[::49] == ["10", "59"]
    assert states.FOCUS.read(store) == ()
