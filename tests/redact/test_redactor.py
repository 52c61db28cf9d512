"""What the redactor leaves in place of a secret, what it says about it, and what a text costs, counted in work."""

import base64
import hashlib
import json
import random
import re
import string
import time
from collections.abc import Callable
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.secret_forms import PASSWORD_FORMS, draw_forms
from recollect.redact import Cleaned, Redactor, redactor
from recollect.redact.redactor import decode_base64, undo_escapes
from recollect.redact.secret_table import ROWS, compiled
from tests.cases import cases
from tests.naughty import NAUGHTY
from tests.redact.samples import REDACTOR, SAMPLES, TEMPLATES, Sample, draw, read_texts

TOKEN = draw("github-token", "ghp_{a36}").secret
OTHER = draw("github-token", "ghp_{a36}", seed=1).secret


def test_the_placeholder_names_the_kind_and_equal_secrets_stay_equal_in_one_home():
    cleaned = REDACTOR.clean(f"push with {TOKEN} please")
    assert re.fullmatch(r"push with \[redacted:github-token:[0-9a-f]{4}\] please", cleaned.text)
    assert cleaned.found == (("github-token", 1),)
    first, again, other = REDACTOR.clean(f"{TOKEN} {TOKEN} {OTHER}").text.split()
    assert first == again == REDACTOR.clean(TOKEN).text != other
    assert Redactor(b"another key").clean(TOKEN).text != first


@pytest.mark.parametrize("key", [b"", b"x" * 65])
def test_a_key_that_cannot_key_is_refused(key):
    with pytest.raises(ValueError, match="1 to 64 bytes"):
        Redactor(key)


def test_a_secret_known_by_its_context_is_also_taken_out_without_it():
    secret = draw("password", "{a20}").secret
    cleaned = REDACTOR.clean(f"password={secret}\nlogin failed for {secret}")
    assert secret not in cleaned.text
    assert cleaned.found == (("password", 2),)


def test_the_kinds_found_are_counted_and_sorted_and_what_explains_a_secret_stays():
    cleaned = REDACTOR.clean(f"password=hunter22 <private>a</private> {TOKEN} {OTHER}")
    assert cleaned.found == (("github-token", 2), ("password", 1), ("private", 1))
    url = REDACTOR.clean("postgres://app:s3cr3tw0rd@db.test:5432/app?sslmode=require").text
    assert re.fullmatch(
        r"postgres://app:\[redacted:url-password:.{4}\]@db\.test:5432/app\?sslmode=require", url
    )


@pytest.mark.parametrize(("text", "clean"), cases("redactor", "private", "redact"))
def test_a_private_block_is_taken_out(text, clean):
    assert REDACTOR.clean(text).text == clean


def test_text_without_a_secret_is_the_same_text():
    text = "nothing to see: \ud800 \x00 \U0001f512"
    assert REDACTOR.clean(text) == Cleaned(text, ())


def test_a_secret_of_a_million_characters_and_thousands_side_by_side_are_taken_out_whole():
    cleaned = REDACTOR.clean(f'api_key = "{"aB3$kX9_qZ" * 100_000}" # end')
    assert re.fullmatch(r'api_key = "\[redacted:secret:[0-9a-f]{4}\]" # end', cleaned.text)
    many = REDACTOR.clean(f"{TOKEN}." * 2_000)
    assert TOKEN not in many.text
    assert many.found == (("github-token", 2_000),)


# What a text costs

BYTES = 50_000
HOSTILE = (
    "pwd={} ", "password: {}\n", "token={} ", "api_key='{}' ", "password is {} ", "jira={} ", "token=$a{} ",
    "pwd=f({}) ", "auth=({} ", "secret={}-", "pwd%3D{} ", 'token\\": \\"{}\\" ',
)  # fmt: skip


def _hostile(unit: str, size: int, repeats: int) -> str:
    chance = random.Random(f"{unit}{size}")
    return "".join(
        unit.format("".join(chance.choices("abcdefghij0123456789XYZ", k=size)))
        for _ in range(repeats)
    )


@pytest.mark.parametrize("size", [3, 8, 16, 60])
@pytest.mark.parametrize("unit", HOSTILE)
def test_no_value_is_judged_again_however_often_the_text_is_read(unit, size):
    names = BYTES // (len(unit) + size)
    judged = REDACTOR.clean(_hostile(unit, size, names)).judged
    # By its name and by its sentence; as it stands and with its escapes undone.
    assert judged <= 2 * names * (2 if "%" in unit or "\\" in unit else 1)


def test_a_password_that_its_name_gave_away_is_not_judged_again_as_a_mention():
    passwords = [f"kV9-{number}xQ" for number in range(5_000, 6_000)]
    cleaned = REDACTOR.clean(" ".join(f"password={password}" for password in passwords))
    assert cleaned.found == (("password", 1_000),)
    assert cleaned.judged == 1_000


def test_a_long_text_that_was_just_cleaned_is_not_walked_through_again(
    monkeypatch: pytest.MonkeyPatch,
):
    ours = Redactor(b"a key")
    once = ours.clean("the host is up; password=kV9-5123xQ " * 1_000)
    assert once.found == (("password", 1_000),)
    assert ours.clean(f"{once.text} password=zT4-8812pW").found == (("password", 1),)
    once = ours.clean("the host is up; password=kV9-5123xQ " * 1_000)
    monkeypatch.setattr(redactor, "_find_all", lambda *_: pytest.fail("it was walked through"))
    assert ours.clean(f"{once.text}\n") == Cleaned(f"{once.text}\n", ())


@pytest.mark.parametrize(
    ("text", "judged"),
    [
        ("token=a1b2c3d4e5 " * 3_000, 1),  # equal ones once
        ("token=\nsecret: \npassword=\n" * 2_000, 0),  # a name without a value
        ("The pass over the token stream is documented in notes.md.\n" * 500, 0),
    ],
)
def test_what_need_not_be_judged_is_not(text: str, judged: int):
    assert REDACTOR.clean(text).judged == judged


# What holds for every text.


KEYWORDS = sorted({keyword for row in ROWS for keyword in row.keywords})

# Lone surrogates and NULs included.
any_text = st.text(st.characters(exclude_categories=()), max_size=200)
# Everything that means something to a pattern, in any order: finds what a plain random text never would.
fragments = st.sampled_from(
    [
        *KEYWORDS,
        *(sample.text for sample in SAMPLES),
        *(sample.secret for sample in SAMPLES),
        *(
            "password",
            "token",
            "=",
            ": ",
            '"',
            "'",
            "\\",
            "\\n",
            "\n",
            " ",
            "@",
            "://",
            "-",
            "_",
            "[",
            "]",
            ",",
            "(",
        ),
        *(
            "[private]",
            "[redacted:jwt:0a1b]",
            "[redacted:",
            "<private>",
            "</private>",
            "\xff",
            "é",
            "\ud800",
            "A1b2",
        ),
    ]
)
woven_text = st.lists(st.one_of(fragments, any_text), max_size=12).map("".join)
drawn_samples = st.builds(
    lambda template, seed: draw(template[0], template[1], seed),
    st.sampled_from(TEMPLATES),
    st.integers(0, 1_000_000),
)


@given(woven_text)
def test_cleaning_what_is_clean_changes_nothing_and_finds_are_counted_only_where_something_changed(
    text,
):
    once = REDACTOR.clean(text)
    assert REDACTOR.clean(once.text) == Cleaned(once.text, ())
    assert bool(once.found) == (once.text != text)
    assert list(once.found) == sorted(once.found)
    assert all(count > 0 for _, count in once.found)


@given(st.one_of(any_text, st.sampled_from(NAUGHTY)))
def test_no_text_is_too_strange(text):
    REDACTOR.clean(text).text.encode("utf-8", "surrogatepass")


@given(
    any_text.filter(
        lambda text: not any(keyword in text.lower() for keyword in [*KEYWORDS, "<private"])
    )
)
def test_text_without_a_keyword_is_unchanged(text):
    assert REDACTOR.clean(text).text == text


@given(drawn_samples, woven_text)
def test_a_secret_of_a_known_shape_never_survives(sample, before):
    if sample.kind in {"password", "secret"}:
        return  # a chance draw can be an ordinary word; samples of these are checked below
    assert sample.secret not in REDACTOR.clean(f"{before}\n{sample.text}").text


@given(drawn_samples)
def test_equal_secrets_get_equal_placeholders(sample):
    apart = REDACTOR.clean(sample.text).text
    assert REDACTOR.clean(f"{sample.text}\n\n{sample.text}").text == f"{apart}\n\n{apart}"


# What is no secret stays as it is, to the byte.


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
    re.sub(r"\{\{([A-Z0-9_]+)\}\}", lambda place: MADE[place[1]], text)
    for text in read_texts("ordinary_text.json")
]


@pytest.mark.parametrize("text", TEXTS)
def test_ordinary_text_stays_as_it_is(text: str):
    cleaned = REDACTOR.clean(text)
    assert (cleaned.text, cleaned.found) == (text, ())


def test_the_ordinary_texts_stay_as_they_are_together():
    assert REDACTOR.clean("\n".join(TEXTS)).found == ()


# Every kind of secret is found, whatever stands around it, in the forms in which people and programs write it.


KINDS = {row.kind for row in ROWS}
DRAWS = 20
AROUND = (
    "2026-11-15 ERROR request failed: {}\n", "+{}\n-something else\n", "| {} | next cell |",
    "Nimm bitte diesen hier:\n\n    {}\n\nDanke schön ✓", "\x00{}\x00", "\ud800{}\udfff", "[{}]",
)  # fmt: skip


def check_redacted(text: str, kind: str, secret: str) -> None:
    cleaned = REDACTOR.clean(text)
    assert secret not in cleaned.text
    assert dict(cleaned.found).get(kind), f"{cleaned.found} instead of {kind} in {text!r}"
    assert f"[redacted:{kind}:" in cleaned.text


def _name(sample: Sample) -> str:
    return f"{sample.kind}-{SAMPLES.index(sample)}"


@pytest.mark.parametrize("sample", SAMPLES, ids=_name)
def test_a_secret_is_taken_out_and_named(sample):
    check_redacted(sample.text, sample.kind, sample.secret)


@pytest.mark.parametrize(("kind", "template"), TEMPLATES)
def test_no_draw_of_a_secret_slips_through(kind, template):
    for seed in range(DRAWS):
        sample = draw(kind, template, seed)
        assert sample.secret not in REDACTOR.clean(f"> {sample.text}\nand so on").text


@pytest.mark.parametrize("sample", SAMPLES, ids=_name)
def test_what_stands_around_a_secret_does_not_hide_it(sample):
    for around in AROUND:
        cleaned = REDACTOR.clean(around.format(sample.text))
        assert sample.secret not in cleaned.text
        assert cleaned.found
    cleaned = REDACTOR.clean(
        json.dumps({"output": f"first line\n{sample.text}\nlast line"}, ensure_ascii=False)
    )
    assert json.dumps(sample.secret, ensure_ascii=False)[1:-1] not in cleaned.text
    assert cleaned.found


def test_every_kind_of_at_least_fifty_has_a_sample():
    assert {sample.kind for sample in SAMPLES} == KINDS
    assert len(KINDS) >= 50


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.kind)
def test_a_row_of_the_table_is_well_formed(row):
    assert row.keywords
    # The text is compared byte by byte, with the letters of ASCII made small.
    assert all(keyword and keyword.encode() == keyword.encode().lower() for keyword in row.keywords)
    assert compiled(row.regex).groups >= (3 if row.found_as == "assignment" else row.group)


@pytest.mark.parametrize("template", read_texts("everyday_forms.json"))
def test_a_secret_is_taken_out_of_everyday_text(template):
    for seed in range(10):
        sample = draw("form", template, seed)
        assert sample.secret not in REDACTOR.clean(sample.text).text, sample.text


def test_hardly_a_key_without_a_shape_survives_in_any_form():
    """Of the first keys of the table, which are known only by what stands around them. A draw may be like a word."""
    samples = [
        sample for sample in draw_forms(10, held=False, seed=5) if sample.kind not in PASSWORD_FORMS
    ]
    survivors = [
        sample.text for sample in samples if sample.secret in REDACTOR.clean(sample.text).text
    ]
    assert len(survivors) <= len(samples) // 500, survivors


def test_only_the_column_of_secrets_is_taken_out():
    sample = draw("form", "name,api_key,note\nfirst,«{a32}»,a note\nsecond,,another\n")
    cleaned = REDACTOR.clean(sample.text).text
    assert cleaned.startswith("name,api_key,note\nfirst,[redacted:secret:")
    assert cleaned.endswith("],a note\nsecond,,another\n")


def test_a_checksum_after_a_plain_key_is_one_only_beside_a_service():
    checksum = draw("form", "{h40}").secret
    assert REDACTOR.clean(f"key: {checksum}").found == ()
    assert REDACTOR.clean(f"datadog:\n  key: {checksum}").found == (("secret", 1),)


# A secret is taken out however it is spelt: escaped, URL-encoded, in base64.


LOG = "the log says\n{}\nand more\n"


def _dumped(text: str) -> str:
    return json.dumps(text)[1:-1]


def _for_html(text: str) -> str:
    """As Go writes JSON."""
    text = _dumped(text)
    for sign in "=&<>":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _some_escaped(text: str) -> str:
    return "".join(
        f"\\u{ord(c):04x}" if at % 5 == 2 and c.isascii() else c for at, c in enumerate(text)
    )


SPELT: dict[str, Callable[[str], str]] = {
    "json": _dumped,
    "json in json": lambda text: _dumped(_dumped(text)),
    "json for html": _for_html,
    "slashes": lambda text: text.replace("/", "\\/"),
    "letters": _some_escaped,
    "url": lambda text: quote(text, safe=""),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for urls": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 of a log": lambda text: base64.b64encode(LOG.format(text).encode()).decode(),
    "base64 in lines": lambda text: base64.encodebytes(LOG.format(text).encode()).decode().strip(),
}
WHOLE = {"base64", "base64 for urls", "base64 of a log", "base64 in lines"}


@pytest.mark.parametrize("name", SPELT)
def test_a_secret_is_taken_out_however_it_is_spelt(name):
    spell = SPELT[name]
    for kind, template in TEMPLATES:
        sample = draw(kind, template, seed=3)
        cleaned = REDACTOR.clean(f"out: {spell(sample.text)} end").text
        assert sample.secret not in cleaned
        assert spell(sample.text if name in WHOLE else sample.secret) not in cleaned, (
            kind,
            template,
        )


def test_a_secret_has_one_mark_however_it_is_spelt_and_what_an_escape_cuts_in_two_goes_whole():
    token = draw("github-token", "ghp_{a36}").secret
    assert {
        REDACTOR.clean(spelt).text for spelt in (token, _some_escaped(token), f"%67{token[1:]}")
    } == {REDACTOR.clean(token).text}
    key = draw(
        "anthropic-key", "sk-ant-api03-{w93}AA"
    ).secret  # its first half alone has the shape of a token too
    cleaned = REDACTOR.clean(f"{key[:60]}\\u002d{key[60:]}").text
    assert cleaned.count("[redacted:") == 1
    assert key[60:] not in cleaned


pieces = st.sampled_from(
    ["%41", "\\u0042", "\\/", "\\\\u0043", "%0A", "\n", "a", "b" * 90, "é", "\\", "%", "\xff"]
)


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


HIDING = (
    "\x1b[01;31m\x1b[K", "\x1b[0m", "\\u001b[1m", "\\x1b[0m", "\\033[0m", "\\e[0;1m", "\u200b", "\u200d", "\u2060",
    "\ufeff", "\u00ad",
)  # fmt: skip


@pytest.mark.parametrize("hidden", HIDING, ids=ascii)
def test_what_a_reader_does_not_see_hides_no_secret(hidden):
    token = draw("github-token", "ghp_{a36}").secret
    mark = REDACTOR.clean(token).text
    for cut in (3, 4, 12, 30):
        divided = f"see {hidden}{token[:cut]}{hidden}{token[cut:]}{hidden} there"

        assert REDACTOR.clean(divided).text == f"see {hidden}{mark}{hidden} there"
    assert REDACTOR.clean(f"see {hidden}the{hidden} docs").found == ()


def test_a_megabyte_of_what_a_reader_does_not_see_is_read_once():
    hidden = "\u200b\x1b[0m" * 120_000
    began = time.process_time()

    cleaned = REDACTOR.clean(f"{hidden}{draw('github-token', 'ghp_{a36}').secret}{hidden}")

    assert cleaned.text.count("[redacted:") == 1
    assert time.process_time() - began < 20  # a detector of hangs


def test_a_run_of_base64_leads_back_whole():
    run = base64.b64encode(b"user: me, password: hunter2222")
    spelling = decode_base64(b"data/" + run + b" end")
    assert spelling is not None
    assert spelling.buffer == b"user: me, password: hunter2222"
    assert spelling.origin(20, 30) == (5, 5 + len(run))


def test_a_line_of_a_megabyte_hides_nothing():
    shaped = [sample for sample in SAMPLES if sample.kind not in ("password", "secret")][::7]
    filler = "x y %20 " * 60_000
    spelt = "".join(
        f"{quote(one.text, safe='')} {filler[:4_000]}{one.text} {filler[:4_000]}" for one in shaped
    )
    cleaned = REDACTOR.clean(f"{filler}{spelt}{filler}").text
    assert [
        one.kind for one in shaped if one.secret in cleaned or quote(one.secret, safe="") in cleaned
    ] == []
