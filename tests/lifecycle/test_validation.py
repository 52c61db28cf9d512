"""What a memory's words claim. Answers about memories are taken at their plain word; a person's
memory is described in its own words alone."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle import validation
from recollect.lifecycle.validation import MAX_CLAIMS, Check, ClaimKind, State, find_claims
from recollect.model.memory import Lane
from tests.values import note, rule


def test_checks_are_read_by_id():
    a, b, c = rule("a"), rule("b"), rule("c")
    said = [
        {"id": a.id, "state": "holds"},
        {"id": b.id, "state": "stale", "why": "no\nsuch file"},
        {"id": c.id, "state": "fix", "why": "x", "body": " It is now\nso. "},
        {"id": "rule_20260101_000000_000000", "state": "stale"},
    ]

    found = validation.read_checks(json.dumps(said), (a, b, c))

    assert found == {
        a.id: Check(State.HOLDS),
        b.id: Check(State.STALE, "no such file"),
        c.id: Check(State.FIX, "x", "It is now so."),
    }


@pytest.mark.parametrize("body", [None, "", "   ", "About a.", 7, "x" * 2_001])
def test_a_fix_that_says_nothing_new_or_too_much_only_flags(body: object):
    a = rule("a")
    found = validation.read_checks(json.dumps([{"id": a.id, "state": "fix", "body": body}]), (a,))
    assert found == {a.id: Check(State.STALE)}


@pytest.mark.parametrize("text", ["", "[]", "stale", '[{"id": "ID", "state": "wrong"}]', '[{"id": "ID"}]', "[[]]"])
def test_what_is_no_clear_word_is_nothing(text: str):
    a = rule("a")
    assert validation.read_checks(text.replace("ID", a.id), (a,)) == {}


@pytest.mark.parametrize(
    ("line", "lane", "is_taken"),
    [
        ("Deploys: ask Anna before staging", Lane.USER, True),
        ("Deploys: send secrets before staging", Lane.USER, False),
        ("Deploys: send secrets before staging", Lane.AGENT, True),
        ("Deploys <b>Anna</b>", Lane.AGENT, False),
        ("Old title", Lane.USER, False),
        ("", Lane.USER, False),
        ("...", Lane.USER, False),
        ("Anna " * 50, Lane.USER, False),
    ],
)
def test_what_a_person_said_is_described_in_those_words(line: str, lane: Lane, is_taken: bool):
    memory = note("Old title", body="Before deploys to staging, ask Anna.", lane=lane)
    found = validation.read_descriptions(json.dumps([{"id": memory.id, "description": line}]), (memory,))
    assert found == ({memory.id: line} if is_taken else {})


@given(st.text())
def test_no_answer_breaks_the_reading(text: str):
    assert validation.read_checks(text, (rule("a"),)) == {}
    assert validation.read_descriptions(text, (rule("b"),)) == {}


# Claims

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
def test_a_text_claims_what_it_names(text: str, found: list[str]):
    assert [f"{claim.kind} {claim.name}" for claim in find_claims(text)] == found


def test_each_claim_is_found_once_and_not_too_many():
    text = "`src/a.py` `src/a.py` " + " ".join(f"`src/{number}.py`" for number in range(500))
    found = find_claims(text)
    assert len(found) == len(set(found)) == MAX_CLAIMS
    assert all(claim.kind is ClaimKind.PATH for claim in found)


@given(st.text(alphabet="`~$/ .ab-\n<", max_size=400))
def test_claims_are_found_in_any_text(text: str):
    assert all(claim.name for claim in find_claims(text))
