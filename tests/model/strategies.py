"""Any memory, message or bridge, for laws that hold for all of them."""

from __future__ import annotations

from hypothesis import strategies as st

from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model.memory import (
    Anchor,
    Bridge,
    BridgeType,
    Lane,
    Memory,
    Message,
    Note,
    Rating,
    Rule,
    RuleType,
    Status,
    Thread,
)

# Everything a datetime can hold.
_FIRST, _LAST = Moment.parse("0001-01-01T00:00:00Z").micros, Moment.parse("9999-12-31T23:59:59.999999Z").micros

moments = st.integers(_FIRST, _LAST).map(Moment)
texts = st.text(st.characters(), max_size=60).map(storable)
lists = st.lists(texts, max_size=3).map(tuple)
figures = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, 2**53 - 1)

_shared = {
    "id": texts,
    "title": texts,
    "body": texts,
    "created_at": moments,
    "reinforced_at": moments,
    "last_active_at": moments,
    "topics": lists,
    "tags": lists,
    "status": st.sampled_from(Status),
    "weight": figures,
    "pinned": st.booleans(),
    "boost": figures,
    "seen": counts,
    "frequency": counts,
    "last_session": counts,
    "activations": counts,
    "ratings": st.lists(st.builds(Rating, st.booleans(), moments, st.none() | texts), max_size=2).map(tuple),
    "outcomes": st.text("+-", max_size=60),
    "appreciation": st.floats(0, 1_000),
    "origin": texts,
    "lane": st.sampled_from(Lane),
    "superseded_by": st.none() | texts,
    "group": texts,
    "anchors": st.lists(st.builds(Anchor, texts, texts), max_size=2).map(tuple),
}

memories: st.SearchStrategy[Memory] = st.one_of(
    st.builds(Thread, drift=lists, **_shared),
    st.builds(Rule, rule_type=st.sampled_from(RuleType), **_shared),
    st.builds(Note, path=texts, **_shared),
)
messages = st.builds(Message, id=texts, thread_id=texts, at=moments, source=texts, content=texts)
bridges = st.builds(
    Bridge,
    source=texts,
    target=texts,
    type=st.sampled_from(BridgeType),
    weight=figures,
    created_at=moments,
    origin=texts,
)
