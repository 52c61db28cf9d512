"""A secret is taken out however it is spelt: escaped, URL-encoded, in base64."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.redact import Redactor
from recollect.redact.views import unescaped, unpacked
from tests.redact.samples import SAMPLES, TEMPLATES, Sample, draw

REDACTOR = Redactor(b"a key for tests")
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


@pytest.mark.parametrize("spelling", SPELT)
def test_a_secret_is_taken_out_however_it_is_spelt(spelling):
    spell = SPELT[spelling]
    for kind, template in TEMPLATES:
        sample = draw(kind, template, seed=3)

        cleaned = REDACTOR.clean(f"out: {spell(sample.text)} end").text

        assert sample.secret not in cleaned
        assert spell(sample.text if spelling in WHOLE else sample.secret) not in cleaned, (kind, template)


def test_a_secret_has_one_mark_however_it_is_spelt():
    token = draw("github-token", "ghp_{a36}").secret
    mark = REDACTOR.clean(token).text

    assert REDACTOR.clean(_some_escaped(token)).text == mark
    assert REDACTOR.clean(f"%67{token[1:]}").text == mark


def test_what_an_escape_cuts_in_two_goes_whole():
    """The first half alone has the shape of a token too."""
    token = draw("anthropic-key", "sk-ant-api03-{w93}AA").secret

    assert REDACTOR.clean(f"{token[:60]}\\u002d{token[60:]}").text.count("[redacted:") == 1
    assert token[60:] not in REDACTOR.clean(f"{token[:60]}\\u002d{token[60:]}").text


ORDINARY = (
    "https://x.test/a%20b?q=caf%C3%A9&next=%2Fhome%3Ftab%3D2",
    "printf('%20s %41d %7.2f', name)",
    r"C:\new\table\x64\users C:\/temp",
    r"re.compile(r'\u0041|\x41[\/]')",
    '{"text": "Stra\\u00dfe \\u2713 \\/ done"}',
    base64.b64encode(b"Nothing here but a few ordinary words about the weather.").decode(),
    base64.encodebytes(b"Nothing here but a few ordinary words.\n" * 20).decode(),
    "getElementsByClassNameAndAttributeValueOrDefault src/main/java/org/example/application/Main",
    "sha512-" + base64.b64encode(bytes(range(64, 128))).decode(),
)


@pytest.mark.parametrize("text", ORDINARY)
def test_what_is_only_spelt_like_that_stays_as_it_is(text):
    assert REDACTOR.clean(text).text == text


pieces = st.sampled_from(["%41", "\\u0042", "\\/", "\\\\u0043", "%0A", "\n", "a", "b" * 90, "é", "\\", "%", "\xff"])


@given(st.lists(pieces, max_size=40).map(lambda parts: "".join(parts).encode()))
def test_every_byte_of_an_unescaped_view_leads_back_to_its_own(text):
    view = unescaped(text)
    if view is None:
        return
    for at, byte in enumerate(view.buffer):
        if byte == 0xFF:
            continue
        start, end = view.back(at, at + 1)
        assert end > start
        assert text[start:end] == bytes([byte]) or bytes([byte]) in b"ABC/\n"


def test_a_run_of_base64_leads_back_whole():
    run = base64.b64encode(b"user: me, password: hunter2222")
    view = unpacked(b"data/" + run + b" end")

    assert view is not None
    assert view.buffer == b"user: me, password: hunter2222"
    assert view.back(20, 30) == (5, 5 + len(run))


def _unlike(sample: Sample) -> bool:
    return sample.kind not in {"password", "secret"}


@pytest.mark.parametrize("sample", [s for s in SAMPLES if _unlike(s)][::7], ids=lambda s: s.kind)
def test_a_line_of_a_megabyte_hides_nothing(sample):
    filler = "x y %20 " * 60_000

    cleaned = REDACTOR.clean(f"{filler}{quote(sample.text, safe='')} {filler}{sample.text}").text

    assert sample.secret not in cleaned
    assert quote(sample.secret, safe="") not in cleaned
