"""Frames: any header and any bytes arrive as they were sent, however they are cut on the way."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.wire import frame
from recollect.wire.frame import BadFrame, encode_reply, encode_request, read_reply, read_request

# What the system's bytes can become in Python: any character, and lone halves for bytes that are no UTF-8.
TEXT = st.binary().map(lambda raw: raw.decode("utf-8", "surrogateescape")) | st.text(
    st.characters(exclude_categories=["Cs"])
)
HEADERS = st.dictionaries(TEXT, TEXT, max_size=frame.MAX_HEADERS)


def arriving(sent: bytes, step: int = 1 << 16) -> Callable[[int], bytes]:
    parts = [sent[at : at + step] for at in range(0, len(sent), step)]
    return lambda most: parts.pop(0) if parts else b""


@given(HEADERS, st.binary(), st.integers(1, 40))
def test_a_request_arrives_as_it_was_sent(header: dict[str, str], body: bytes, step: int):
    assert read_request(arriving(encode_request(header, body), step)) == (header, body)


@given(st.binary(), st.integers(1, 40))
def test_a_reply_arrives_as_it_was_sent(body: bytes, step: int):
    assert read_reply(arriving(encode_reply(frame.BUSY, body), step)) == (frame.BUSY, body)


@given(HEADERS, st.binary(), st.data())
def test_a_frame_that_ends_early_is_refused(header: dict[str, str], body: bytes, data: st.DataObject):
    whole = encode_request(header, body)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(BadFrame):
        read_request(arriving(whole[:cut]))


@given(st.binary())
def test_any_bytes_are_a_frame_or_refused(noise: bytes):
    for sent in (noise, frame.MAGIC + noise, frame.MAGIC + noise + b"\n\n" + bytes(8)):
        try:
            read_request(arriving(sent))
        except BadFrame:
            pass


def test_a_body_of_the_largest_size_passes_and_one_byte_more_does_not():
    most = bytes(frame.MAX_BODY_BYTES)
    assert read_request(arriving(encode_request({}, most)))[1] == most
    with pytest.raises(BadFrame):
        read_request(arriving(encode_request({}, most + b"1")))


def test_a_head_without_end_is_refused_before_it_fills_the_memory():
    taken = []

    def endless(most: int) -> bytes:
        taken.append(most)
        return frame.MAGIC if len(taken) == 1 else b"a" * most

    with pytest.raises(BadFrame):
        read_request(endless)

    assert sum(taken) < 2 * frame.MAX_HEAD_BYTES


def test_too_many_headers_are_refused():
    header = {str(n): "" for n in range(frame.MAX_HEADERS + 1)}
    with pytest.raises(BadFrame):
        read_request(arriving(encode_request(header, b"")))
