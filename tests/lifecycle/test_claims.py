"""What a memory's words name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle.validation import MAX_CLAIMS, ClaimKind, find_claims

TABLE = [
    ("The entry is `src/app/main.py`.", ["path src/app/main.py"]),
    ("See src/app/main.py for more.", ["path src/app/main.py"]),
    ("Run `./scripts/deploy.sh --now` first", ["path ./scripts/deploy.sh"]),
    ("`make lint` then `npm run build`", ["target lint", "script build"]),
    ("`pnpm run test:unit`, never `npm test`", ["script test:unit"]),
    ("Use `terraform plan -out x`.", ["program terraform"]),
    ("```\n$ foobar now\nprinted output -x\n```", ["program foobar"]),
    ("Logs are in `/var/log/app/`", ["path /var/log/app/"]),
    # Not claims
    ("and/or, his/her, 1/2", []),
    ("https://example.com/a/b.html", []),
    ("`foo bar` is what we call it", []),
    ("Call `useState` in `config`", []),
    ("`git commit -m <message>`", []),
    ("`make {target}`", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "found"), TABLE)
def test_what_is_named(text: str, found: list[str]):
    assert [f"{claim.kind} {claim.name}" for claim in find_claims(text)] == found


def test_each_is_named_once_and_not_too_many():
    text = "`src/a.py` `src/a.py` " + " ".join(f"`src/{number}.py`" for number in range(500))
    found = find_claims(text)
    assert len(found) == len(set(found)) == MAX_CLAIMS
    assert all(claim.kind is ClaimKind.PATH for claim in found)


@given(st.text(alphabet="`~$/ .ab-\n<", max_size=400))
def test_no_text_breaks_it(text: str):
    assert all(claim.name for claim in find_claims(text))
