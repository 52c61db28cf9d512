"""What is no secret stays as it is, to the byte."""

from __future__ import annotations

import hashlib
import random
import re
import string

import pytest

from tests.redact.samples import REDACTOR, read_texts

SHA1 = hashlib.sha1(b"a commit").hexdigest()
SHA256 = hashlib.sha256(b"a package").hexdigest()
BASE64 = "".join(random.Random(7).choices(string.ascii_letters + string.digits + "+/", k=76))
KEY = BASE64.replace("+", "x").replace("/", "y")
MADE = {
    "SHA1": SHA1, "SHA1_UPPER": SHA1.upper(), "SHA1_7": SHA1[:7], "SHA1_14": SHA1[7:14],
    "SHA256": SHA256, "SHA256_32": SHA256[:32], "BASE64": BASE64, "KEY40": KEY[:40], "KEY43": KEY[:43],
    "UUID": f"{SHA1[:8]}-{SHA1[8:12]}-4{SHA1[12:15]}-a{SHA1[15:18]}-{SHA1[18:30]}",
}  # fmt: skip
TEXTS = [
    re.sub(r"\{\{([A-Z0-9_]+)\}\}", lambda place: MADE[place[1]], text) for text in read_texts("ordinary_text.json")
]


@pytest.mark.parametrize("text", TEXTS)
def test_ordinary_text_stays_as_it_is(text: str):
    cleaned = REDACTOR.clean(text)

    assert (cleaned.text, cleaned.found) == (text, ())


def test_the_ordinary_texts_stay_as_they_are_together():
    assert REDACTOR.clean("\n".join(TEXTS)).found == ()
