"""What is shown of what was found."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.memory import Memory, Message
from recollect.model.passage import TURN, Record, spans
from recollect.model.query import Hit, Piece
from recollect.recall.answer_passages import shorten, unasked_passages, with_passages
from tests.cases import cases
from tests.values import NOW, note, thread

MADE = Record(
    asked="why do the nightly tests fail?",
    found="The clock in the container is an hour behind.",
    decided="Keep everything in UTC.",
    changed="docker/entrypoint.sh, tests/clock.py",
    ran="make nightly (failed); make nightly",
    ended="Nightly tests pass again.",
    said="I looked at the container. The clock in the container is an hour behind.\n\nNightly tests pass again.",
)


def found(memory: Memory, score: Callable[[str], float], turn: Message | None = None) -> Hit:
    """As the engine finds it; `score` says how well a piece matches."""
    text = memory.body if turn is None else turn.content
    own = [span for span in spans(memory, (turn,) if turn else ()) if span.message_id == (turn.id if turn else "")]
    pieces = tuple(Piece(span.start, span.start + span.length, score(span.of(text))) for span in own)
    return Hit(memory, 0.5, (), turn, pieces)


def of_record(made: Record, score: Callable[[str], float] = lambda _: 0.5) -> Hit:
    talk = thread("Nightly tests", body="Summed up.")
    return found(talk, score, Message("m1", talk.id, NOW, TURN, made.text()))


def shown(made: Record, score: Callable[[str], float] = lambda _: 0.5, chars: int = 1_200) -> tuple[str, ...]:
    return with_passages(of_record(made, score), chars).shown


def test_an_earlier_question_is_never_shown_and_what_a_person_states_is():
    assert "why do" not in " ".join(shown(MADE, lambda piece: 1.0 if "why do" in piece else 0.2))
    assert shown(Record(asked="why does it fail?")) == ()
    moved = "The staging server moved to Zurich."
    assert shown(Record(asked=moved)) == (moved,)


def test_what_a_person_states_has_room_beside_a_long_answer():
    made = Record(
        asked="We no longer ship to Zurich. Can you look at the rates?", said="The rates are read once a day. " * 100
    )
    text = " ".join(shown(made, lambda piece: "rates" in piece, 400))
    assert "We no longer ship to Zurich." in text
    assert "Can you look" not in text


def test_what_says_nothing_takes_no_room():
    made = Record(asked="go on?", said="The clock is an hour behind.\n\n---\n\n2.\n\nDone.\n\nIt is :8081.")
    assert shown(made) == ("The clock is an hour behind.", "It is :8081.")


def test_decisions_and_what_was_said_come_before_commands_and_files_each_once_and_without_labels():
    first, second, *rest = shown(MADE)
    assert first == "Keep everything in UTC."
    assert second.startswith("I looked at the container.")
    assert set(rest) == {MADE.changed, MADE.ran}
    text = " ".join((first, second, *rest))
    assert (text.count("an hour behind"), text.count("pass again")) == (1, 1), "shown where it was said"
    assert not any(f"{role}:" in text for role in ("Found", "Ran", "Said"))
    assert "an hour behind" in " ".join(shown(Record(found=MADE.found, said="Done.")))


def test_the_best_passage_comes_first_with_what_stands_around_it():
    body = "\n\n".join(f"Paragraph {number} is about {number * 7}. " + "It goes on. " * 12 for number in range(30))
    hit = found(note("Long", body=body), lambda piece: 0.9 if "Paragraph 20 " in piece else 0.1)
    first, *_ = with_passages(hit, 600).shown
    assert "Paragraph 20 " in first
    assert "Paragraph 19 " in first or "Paragraph 21 " in first
    assert with_passages(hit, 600).summary.startswith("Paragraph 20 is about 140.")


def test_the_title_is_not_shown_again():
    hit = found(note("Deploys", body="Deploys\n\n" + "They run from the release branch. " * 9), lambda _: 0.5)
    assert all(said != "Deploys" for said in with_passages(hit, 200).shown)


@pytest.mark.parametrize(("text", "chars", "kept"), cases("answer_passages", "cut", "recall"))
def test_text_is_cut_after_a_sentence_else_after_a_word(text: str, chars: int, kept: str):
    assert shorten(text, chars) == kept


sentences = st.text(st.characters(codec="utf-8"), max_size=60)
bodies = st.lists(sentences, max_size=40).map(". ".join)


@given(bodies, st.integers(20, 1_500), st.randoms(use_true_random=False))
def test_passages_are_parts_of_the_text_within_the_limit_and_none_twice(body: str, chars: int, chance):
    hit = found(note("Any", body=body), lambda _: chance.random())

    shown = with_passages(hit, chars).shown

    assert sum(map(len, shown)) <= chars
    rest = hit.text
    for said in shown:
        assert said.rstrip("\u2026") in rest
        rest = rest.replace(said.rstrip("\u2026"), "\x00", 1)
    assert shown or not any(piece.score > 0 for piece in hit.pieces if hit.text[piece.start : piece.end].strip())
    assert len(with_passages(hit, chars).summary) <= 100


@pytest.mark.parametrize("said", cases("answer_passages", "empty_remarks", "recall"))
def test_who_did_not_ask_is_not_told_that_work_went_on(said: str):
    record = Record(asked="do it", said=f"{said}\nThe importer reads UTF-16 files.")
    assert said not in " ".join(unasked_passages(of_record(record)))
    rule = "Commit messages are written in German."
    assert unasked_passages(of_record(Record(asked="do it", said=rule))) == (rule,), "something else"
