"""Any memory, message or bridge, for laws that hold for all of them."""

from hypothesis import strategies as st

from recollect.base.moment import Moment
from recollect.base.text import storable
from recollect.model import memory as kinds
from recollect.model.memory import Bridge, BridgeType, Memory, Message

# Everything a datetime can hold.
_FIRST, _LAST = (
    Moment.parse("0001-01-01T00:00:00Z").micros,
    Moment.parse("9999-12-31T23:59:59.999999Z").micros,
)

moments = st.integers(_FIRST, _LAST).map(Moment)
texts = st.text(st.characters(), max_size=60).map(storable)
lists = st.lists(texts, max_size=3).map(tuple)
figures = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(0, 2**53 - 1)

_shared = {
    **dict.fromkeys(("id", "title", "body", "origin", "group"), texts),
    **dict.fromkeys(("created_at", "reinforced_at", "last_active_at"), moments),
    **dict.fromkeys(("topics", "tags"), lists),
    **dict.fromkeys(("weight", "boost"), figures),
    **dict.fromkeys(("seen", "frequency", "last_session", "activations"), counts),
    "status": st.sampled_from(kinds.Status),
    "pinned": st.booleans(),
    "ratings": st.lists(
        st.builds(kinds.Rating, st.booleans(), moments, st.none() | texts), max_size=2
    ).map(tuple),
    "outcomes": st.text("+-", max_size=60),
    "appreciation": st.floats(0, 1_000),
    "lane": st.sampled_from(kinds.Lane),
    "superseded_by": st.none() | texts,
    "anchors": st.lists(st.builds(kinds.Anchor, texts, texts), max_size=2).map(tuple),
}

memories: st.SearchStrategy[Memory] = st.one_of(
    st.builds(kinds.Thread, drift=lists, **_shared),
    st.builds(kinds.Rule, rule_type=st.sampled_from(kinds.RuleType), said=texts, **_shared),
    st.builds(kinds.Note, path=texts, **_shared),
)
messages = st.builds(Message, id=texts, thread_id=texts, at=moments, source=texts, content=texts)
bridges = st.builds(
    Bridge, source=texts, target=texts, type=st.sampled_from(BridgeType), weight=figures, created_at=moments,
    origin=texts,
)  # fmt: skip
