"""A secret is taken out however it is spelt: escaped, URL-encoded, in base64."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.redact.redactor import decode_base64, undo_escapes
from tests.redact.samples import REDACTOR, SAMPLES, TEMPLATES, draw

AROUND = "the log says\n{}\nand more\n"


def _dumped(text: str) -> str:
    return json.dumps(text)[1:-1]


def _for_html(text: str) -> str:
    """As Go writes JSON."""
    text = _dumped(text)
    for sign in "=&<>":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _some_escaped(text: str) -> str:
    return "".join(f"\\u{ord(c):04x}" if at % 5 == 2 and c.isascii() else c for at, c in enumerate(text))


SPELT: dict[str, Callable[[str], str]] = {
    "json": _dumped,
    "json in json": lambda text: _dumped(_dumped(text)),
    "json for html": _for_html,
    "slashes": lambda text: text.replace("/", "\\/"),
    "letters": _some_escaped,
    "url": lambda text: quote(text, safe=""),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for urls": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 of a log": lambda text: base64.b64encode(AROUND.format(text).encode()).decode(),
    "base64 in lines": lambda text: base64.encodebytes(AROUND.format(text).encode()).decode().strip(),
}
WHOLE = {"base64", "base64 for urls", "base64 of a log", "base64 in lines"}


@pytest.mark.parametrize("name", SPELT)
def test_a_secret_is_taken_out_however_it_is_spelt(name):
    spell = SPELT[name]
    for kind, template in TEMPLATES:
        sample = draw(kind, template, seed=3)
        cleaned = REDACTOR.clean(f"out: {spell(sample.text)} end").text
        assert sample.secret not in cleaned
        assert spell(sample.text if name in WHOLE else sample.secret) not in cleaned, (kind, template)


def test_a_secret_has_one_mark_however_it_is_spelt_and_what_an_escape_cuts_in_two_goes_whole():
    token = draw("github-token", "ghp_{a36}").secret
    assert {REDACTOR.clean(spelt).text for spelt in (token, _some_escaped(token), f"%67{token[1:]}")} == {
        REDACTOR.clean(token).text
    }
    key = draw("anthropic-key", "sk-ant-api03-{w93}AA").secret  # its first half alone has the shape of a token too
    cleaned = REDACTOR.clean(f"{key[:60]}\\u002d{key[60:]}").text
    assert cleaned.count("[redacted:") == 1
    assert key[60:] not in cleaned


pieces = st.sampled_from(["%41", "\\u0042", "\\/", "\\\\u0043", "%0A", "\n", "a", "b" * 90, "é", "\\", "%", "\xff"])


@given(st.lists(pieces, max_size=40).map(lambda parts: "".join(parts).encode()))
def test_every_byte_of_an_undone_escape_leads_back_to_its_own(text):
    spelling = undo_escapes(text)
    if spelling is None:
        return
    for at, byte in enumerate(spelling.buffer):
        if byte == 0xFF:
            continue
        start, end = spelling.origin(at, at + 1)
        assert end > start
        assert text[start:end] == bytes([byte]) or bytes([byte]) in b"ABC/\n"


def test_a_run_of_base64_leads_back_whole():
    run = base64.b64encode(b"user: me, password: hunter2222")
    spelling = decode_base64(b"data/" + run + b" end")

    assert spelling is not None
    assert spelling.buffer == b"user: me, password: hunter2222"
    assert spelling.origin(20, 30) == (5, 5 + len(run))


def test_a_line_of_a_megabyte_hides_nothing():
    shaped = [sample for sample in SAMPLES if sample.kind not in ("password", "secret")][::7]
    filler = "x y %20 " * 60_000
    spelt = "".join(f"{quote(one.text, safe='')} {filler[:4_000]}{one.text} {filler[:4_000]}" for one in shaped)

    cleaned = REDACTOR.clean(f"{filler}{spelt}{filler}").text

    assert [one.kind for one in shaped if one.secret in cleaned or quote(one.secret, safe="") in cleaned] == []
