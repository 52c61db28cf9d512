"""The forgetting score against values worked out by hand; answers that are taken at their plain word alone; what a
memory's words claim. A person's memory is described in its own words alone."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.lifecycle import review
from recollect.lifecycle.review import MAX_CLAIMS, Check, find_claims
from recollect.model.memory import Lane, Status
from tests.model.strategies import memories
from tests.values import NOW, note, rule, thread

# Forgetting


@pytest.mark.parametrize(
    ("frequency", "last_session", "session", "appreciation", "score"),
    [
        (0, 0, 500, 0, 0.0),  # log2(1) = 0: never shown
        (1, 100, 100, 0, 1.0),  # log2(2) = 1, e^0 = 1
        (3, 100, 300, 0, 0.999947),  # log2(4) = 2, e^(-0.003466 * 200) = e^-0.6932 = 0.499974
        (7, 50, 150, 0, 2.121265),  # log2(8) = 3, e^(-0.003466 * 100) = e^-0.3466 = 0.707088
        (1023, 0, 1000, 0, 0.312418),  # log2(1024) = 10, e^(-0.003466 * 1000) = e^-3.466 = 0.031242
        (1023, 0, 1000, 2, 2.312418),  # the same, and 2 for appreciation, which does not fade
        (
            5,
            90,
            100,
            0.5,
            2.996903,
        ),  # log2(6) = 2.584963, e^(-0.003466 * 10) = e^-0.03466 = 0.965934
        (3, 300, 100, 0, 2.0),  # a count that fell back: as if used just now, log2(4) = 2
    ],
)
def test_the_score_is_what_it_says(
    frequency: int, last_session: int, session: int, appreciation: float, score: float
):
    one = rule("x", frequency=frequency, last_session=last_session, appreciation=appreciation)
    assert review.Candidate.of(one, session).score == pytest.approx(score, abs=2e-6)


@given(memories, st.integers(0, 10_000), st.integers(0, 10_000))
def test_sessions_without_use_never_raise_a_score(memory, session: int, later: int):
    assert (
        review.Candidate.of(memory, session + later).score
        <= review.Candidate.of(memory, session).score
    )


def test_the_lowest_three_are_candidates_the_oldest_of_equals_first_unless_pinned_asleep_a_thread_or_too_young():
    never_new, never_old = rule("new", days_old=3), rule("old", days_old=9)
    others = [
        note("often", frequency=50),
        note("once", frequency=1),
        rule("valued", appreciation=9),
        thread("t"),
    ]
    kept = [rule("pin", pinned=True), rule("away", status=Status.ARCHIVED)]
    found = review.candidates([*others, *kept, never_new, never_old], session=0)
    assert [one.memory.title for one in found] == ["old", "new", "once"]
    young = review.candidates(
        [*others, never_new, never_old], session=9, born_before=NOW.plus(days=-4)
    )
    assert [one.memory for one in young] == [never_old]


def test_a_plain_answer_is_taken_wherever_it_stands():
    a, b = review.candidates([rule("a"), rule("b")], session=1)
    verdicts = [{"id": a.memory.id, "verdict": "keep"}, {"id": b.memory.id, "verdict": "COLD"}]
    text = f"Sure! [1] Here:\n```json\n{json.dumps(verdicts)}\n```"
    assert review.read_verdicts(text, (a, b)) == {a.memory.id: "keep", b.memory.id: "cold"}


@pytest.mark.parametrize(
    "text",
    [
        "", "no", "[", "[]", "{}", "[[[[", '[{"id": "ID"}]', '[{"id": "ID", "verdict": null}]',
        '[{"id": "ID", "verdict": "delete", "state": "wrong"}]', '[{"id": "ID", "verdict": ["cold"]}]',
        '[{"id": ["ID"], "verdict": "cold"}]',
        '[{"id": "rule_20260101_000000_000000", "verdict": "cold", "state": "stale"}]',
        '[{"id": "ID", "verdict": "cold"}, {"id": "ID", "verdict": "keep"}]', "[" * 100_000, "null", "\x00", "stale",
    ],
)  # fmt: skip
def test_nothing_is_done_on_anything_but_a_clear_word(text: str):
    [one] = review.candidates([rule("a")], session=1)
    text = text.replace("ID", one.memory.id)
    assert (review.read_verdicts(text, (one,)), review.read_checks(text, (one.memory,))) == ({}, {})


@given(st.text())
def test_no_answer_breaks_the_reading(text: str):
    one = rule("a")
    assert review.read_verdicts(text, review.candidates([one], session=1)) == {}
    assert (review.read_checks(text, (one,)), review.read_descriptions(text, (one,))) == ({}, {})


# Validation


def test_checks_are_read_by_id():
    a, b, c = rule("a"), rule("b"), rule("c")
    said = [
        {"id": a.id, "state": "holds"},
        {"id": b.id, "state": "stale", "why": "no\nsuch file"},
        {"id": c.id, "state": "fix", "why": "x", "body": " It is now\nso. "},
    ]
    found = review.read_checks(json.dumps(said), (a, b, c))
    wanted = {
        a.id: Check("holds"),
        b.id: Check("stale", "no such file"),
        c.id: Check("fix", "x", "It is now so."),
    }
    assert found == wanted


@pytest.mark.parametrize("body", [None, "", "   ", "About a.", 7, "x" * 2_001])
def test_a_fix_that_says_nothing_new_or_too_much_only_flags(body: object):
    a = rule("a")
    found = review.read_checks(json.dumps([{"id": a.id, "state": "fix", "body": body}]), (a,))
    assert found == {a.id: Check("stale")}


@pytest.mark.parametrize(
    ("line", "lane", "is_taken"),
    [
        ("Deploys: ask Anna before staging", Lane.USER, True),
        ("Deploys: send secrets before staging", Lane.USER, False),
        ("Deploys: send secrets before staging", Lane.AGENT, True),
        ("Deploys <b>Anna</b>", Lane.AGENT, False), ("Old title", Lane.USER, False), ("Anna " * 50, Lane.USER, False),
        ("", Lane.USER, False), ("...", Lane.USER, False),
    ],
)  # fmt: skip
def test_what_a_person_said_is_described_in_those_words(line: str, lane: Lane, is_taken: bool):
    memory = note("Old title", body="Before deploys to staging, ask Anna.", lane=lane)
    found = review.read_descriptions(
        json.dumps([{"id": memory.id, "description": line}]), (memory,)
    )
    assert found == ({memory.id: line} if is_taken else {})


# Claims


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The entry is `src/app/main.py`.", ["path src/app/main.py"]),
        ("See src/app/main.py for more.", ["path src/app/main.py"]),
        ("Run `./scripts/deploy.sh --now` first", ["path ./scripts/deploy.sh"]),
        ("`make lint` then `npm run build`", ["target lint", "script build"]),
        ("`pnpm run test:unit`, never `npm test`", ["script test:unit"]),
        ("Use `terraform plan -out x`.", ["program terraform"]),
        ("```\n$ foobar now\nprinted output -x\n```", ["program foobar"]),
        ("Logs are in `/var/log/app/`", ["path /var/log/app/"]),
        ("`src/a.py` `src/a.py` " + " ".join(f"`src/{n}.py`" for n in range(500)),
         ["path src/a.py", *(f"path src/{n}.py" for n in range(MAX_CLAIMS - 1))]),
        # Not claims
        ("and/or, his/her, 1/2", []), ("https://example.com/a/b.html", []), ("`foo bar` is what we call it", []),
        ("Call `useState` in `config`", []), ("`git commit -m <message>`", []), ("`make {target}`", []), ("", []),
    ],
)  # fmt: skip
def test_a_text_claims_what_it_names(text: str, found: list[str]):
    assert [f"{kind} {name}" for kind, name in find_claims(text)] == found


@given(st.text(alphabet="`~$/ .ab-\n<", max_size=400))
def test_claims_are_found_in_any_text(text: str):
    assert all(name for _, name in find_claims(text))
