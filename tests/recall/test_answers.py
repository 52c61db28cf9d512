"""What is shown of what was found; and how a language model chooses among memories: the shape of the question, and what
an answer is worth."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.model.ask import Use
from recollect.model.memory import Memory, Message
from recollect.model.passage import TURN, Record, spans
from recollect.model.query import Hit, Piece
from recollect.recall import model_choice
from recollect.recall.answer_passages import shorten, unasked_passages, with_passages
from recollect.recall.model_choice import CandidateLine, filter_by_keywords, question, read_answer
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
    own = [
        span
        for span in spans(memory, (turn,) if turn else ())
        if span.message_id == (turn.id if turn else "")
    ]
    pieces = tuple(
        Piece(span.start, span.start + span.length, score(span.of(text))) for span in own
    )
    return Hit(memory, 0.5, (), turn, pieces)


def of_record(made: Record, score: Callable[[str], float] = lambda _: 0.5) -> Hit:
    talk = thread("Nightly tests", body="Summed up.")
    return found(talk, score, Message("m1", talk.id, NOW, TURN, made.text()))


def shown(
    made: Record, score: Callable[[str], float] = lambda _: 0.5, chars: int = 1_200
) -> tuple[str, ...]:
    return with_passages(of_record(made, score), chars).shown


def test_an_earlier_question_is_never_shown_and_what_a_person_states_is():
    assert "why do" not in " ".join(shown(MADE, lambda piece: 1.0 if "why do" in piece else 0.2))
    assert shown(Record(asked="why does it fail?")) == ()
    moved = "The staging server moved to Zurich."
    assert shown(Record(asked=moved)) == (moved,)


def test_what_a_person_states_has_room_beside_a_long_answer():
    made = Record(
        asked="We no longer ship to Zurich. Can you look at the rates?",
        said="The rates are read once a day. " * 100,
    )
    text = " ".join(shown(made, lambda piece: "rates" in piece, 400))
    assert "We no longer ship to Zurich." in text
    assert "Can you look" not in text


def test_what_says_nothing_takes_no_room():
    made = Record(
        asked="go on?", said="The clock is an hour behind.\n\n---\n\n2.\n\nDone.\n\nIt is :8081."
    )
    assert shown(made) == ("The clock is an hour behind.", "It is :8081.")


def test_decisions_and_what_was_said_come_before_commands_and_files_each_once_and_without_labels():
    first, second, *rest = shown(MADE)
    assert first == "Keep everything in UTC."
    assert second.startswith("I looked at the container.")
    assert set(rest) == {MADE.changed, MADE.ran}
    text = " ".join((first, second, *rest))
    assert (text.count("an hour behind"), text.count("pass again")) == (1, 1), (
        "shown where it was said"
    )
    assert not any(f"{role}:" in text for role in ("Found", "Ran", "Said"))
    assert "an hour behind" in " ".join(shown(Record(found=MADE.found, said="Done.")))


def test_a_command_that_failed_is_a_detail_behind_what_came_of_the_work():
    failed = "`make rates` failed: AssertionError: rates 238 != 219"
    cause = "The rates were doubled because of the gross sum."
    made = Record(said=f"{failed}\n\n{cause}")
    hit = of_record(made, lambda piece: 0.9 if failed in piece else 0.7)

    assert with_passages(hit, 600).shown == (cause, failed)
    assert with_passages(hit, 600).summary == cause
    assert shown(Record(said=failed)) == (failed,), "where nothing else is known"


def test_the_best_passage_comes_first_with_what_stands_around_it():
    body = "\n\n".join(
        f"Paragraph {number} is about {number * 7}. " + "It goes on. " * 12 for number in range(30)
    )
    hit = found(note("Long", body=body), lambda piece: 0.9 if "Paragraph 20 " in piece else 0.1)
    first, *_ = with_passages(hit, 600).shown
    assert "Paragraph 20 " in first
    assert "Paragraph 19 " in first or "Paragraph 21 " in first
    assert with_passages(hit, 600).summary.startswith("Paragraph 20 is about 140.")


def test_the_title_is_not_shown_again():
    hit = found(
        note("Deploys", body="Deploys\n\n" + "They run from the release branch. " * 9),
        lambda _: 0.5,
    )
    assert all(said != "Deploys" for said in with_passages(hit, 200).shown)


@pytest.mark.parametrize(("text", "chars", "kept"), cases("answer_passages", "cut", "recall"))
def test_text_is_cut_after_a_sentence_else_after_a_word(text: str, chars: int, kept: str):
    assert shorten(text, chars) == kept


sentences = st.text(st.characters(codec="utf-8"), max_size=60)
bodies = st.lists(sentences, max_size=40).map(". ".join)


@given(bodies, st.integers(20, 1_500), st.randoms(use_true_random=False))
def test_passages_are_parts_of_the_text_within_the_limit_and_none_twice(
    body: str, chars: int, chance
):
    hit = found(note("Any", body=body), lambda _: chance.random())
    shown = with_passages(hit, chars).shown
    assert sum(map(len, shown)) <= chars
    rest = hit.text
    for said in shown:
        assert said.rstrip("\u2026") in rest
        rest = rest.replace(said.rstrip("\u2026"), "\x00", 1)
    assert shown or not any(
        piece.score > 0 for piece in hit.pieces if hit.text[piece.start : piece.end].strip()
    )
    assert len(with_passages(hit, chars).summary) <= 100


@pytest.mark.parametrize("said", cases("answer_passages", "empty_remarks", "recall"))
def test_who_did_not_ask_is_not_told_that_work_went_on(said: str):
    record = Record(asked="do it", said=f"{said}\nThe importer reads UTF-16 files.")
    assert said not in " ".join(unasked_passages(of_record(record)))
    rule = "Commit messages are written in German."
    assert unasked_passages(of_record(Record(asked="do it", said=rule))) == (rule,), (
        "something else"
    )


# A language model chooses


NOTE = CandidateLine(
    "note_20260201_083000_aaaaaa", "memory/deploy.md", "How we deploy", (), "Through staging first."
)
RULE = CandidateLine(
    "rule_20260201_083000_bbbbbb",
    "rule_20260201_083000_bbbbbb",
    "Use pnpm",
    (),
    "Use pnpm, never npm",
)
AMONG = (NOTE, RULE)


def test_the_first_pass_shows_one_pointer_a_line():
    ask = question(
        Use.RECALL_BROAD, "ship it", AMONG, template="recall-broad", model="opus", seconds=30
    )
    assert dict(ask.fields) == {
        "asked": "<user_prompt>\nship it\n</user_prompt>\n\nAvailable memories:\n"
        "memory/deploy.md: How we deploy\nrule_20260201_083000_bbbbbb: Use pnpm"
    }
    assert (ask.use, ask.prompt, ask.model, ask.reads, ask.seconds) == (
        Use.RECALL_BROAD, "recall-broad", "opus", "", 30,
    )  # fmt: skip


def test_the_second_pass_shows_them_whole():
    asked = dict(question(Use.RECALL_STRICT, "ship it", AMONG, seconds=30).fields)["asked"]
    assert asked == (
        "<user_prompt>\nship it\n</user_prompt>\n\nCandidate memories:\n\n"
        "## memory/deploy.md: How we deploy\nThrough staging first.\n\n"
        "## rule_20260201_083000_bbbbbb: Use pnpm\nUse pnpm, never npm"
    )


@pytest.mark.parametrize(
    "answer",
    [
        "memory/deploy.md", "- memory/deploy.md\n", "1. `deploy.md`", "deploy", "note_20260201_083000_aaaaaa",
        "MEMORY/DEPLOY.MD: How we deploy", "memory/deploy.md\nmemory/deploy.md\nmemory/of-another.md",
        "The one that matters is memory/deploy.md, I think.",
    ],
)  # fmt: skip
def test_a_name_is_known_however_it_is_written(answer: str):
    assert read_answer(answer, AMONG) == (NOTE.id,)


def test_the_order_is_the_answers():
    assert read_answer(f"{RULE.name}\n{NOTE.name}", AMONG) == (RULE.id, NOTE.id)


@pytest.mark.parametrize("answer", ["NONE", "none.", "", " \n", "[]", "Nothing"])
def test_none_is_an_answer(answer: str):
    assert read_answer(answer, AMONG) == ()


@pytest.mark.parametrize(
    "answer",
    [
        "I cannot help with that.",
        "memory/other.md",
        "\x00\x00",
        "{" * 10_000,
        "../../etc/passwd",
        "deploying",
    ],
)
def test_what_names_nothing_that_was_offered_is_no_answer(answer: str):
    assert read_answer(answer, AMONG) is None


def test_a_name_that_could_be_two_is_neither():
    other = CandidateLine("note_20260201_083000_cccccc", "old/deploy.md", "How we deployed")
    assert read_answer("deploy", (NOTE, other)) is None
    assert read_answer("old/deploy.md", (NOTE, other)) == (other.id,)


def test_only_as_many_are_offered_as_fit():
    many = [CandidateLine(f"rule_{n}", f"rule_{n}", "x" * 1_000) for n in range(100)]
    kept = model_choice.limit_to_room(many)
    assert kept == tuple(many[: len(kept)])
    assert 50 < len(kept) < 60
    assert sum(len(one.line) + 1 for one in kept) <= model_choice.BROAD_CHARS


STOP = frozenset({"how", "do", "we", "the", "a"})
DEPLOY = CandidateLine(
    "note_1",
    "ops/deploy-guide.md",
    "How releases reach production",
    ("kubernetes", "rollout"),
    "Ask Anna.",
)
PLAIN = CandidateLine("rule_1", "rule_1", "Use pnpm, never npm")


def filtered(prompt: str, *candidates: CandidateLine, in_content: bool = False) -> list[str]:
    return [
        one.id
        for one in filter_by_keywords(prompt, candidates, stop_words=STOP, in_content=in_content)
    ]


@pytest.mark.parametrize(
    "prompt",
    [
        "how do we roll out: kubernetes?",  # a word that it asks to be found by
        "the DEPLOY is broken",  # a word of its name
        "a kube question",  # part of a word
        "the kubernettes rollouts",  # a letter too many, of twenty
    ],
)
def test_one_keyword_is_enough(prompt: str):
    assert filtered(prompt, DEPLOY) == ["note_1"]


@pytest.mark.parametrize(
    "prompt", ["how do we do the", "", "???", "an apple", "releases reach production"]
)
def test_stop_words_others_and_descriptions_of_notes_that_name_words_are_not(prompt: str):
    assert filtered(prompt, DEPLOY) == []


def test_without_words_of_its_own_name_and_description_are_searched():
    assert filtered("pnpm or yarn?", PLAIN, DEPLOY) == ["rule_1"]


def test_content_is_searched_only_when_asked_for():
    assert filtered("who is Anna", DEPLOY) == []
    assert filtered("who is Anna", DEPLOY, in_content=True) == ["note_1"]


def test_two_letters_are_a_word_but_no_part_of_one():
    golang = CandidateLine("note_2", "golang.md", "x", ("go modules",))
    assert filtered("go", golang) == ["note_2"]
    assert filtered("mo", golang) == []


def test_a_script_without_spaces_is_found_by_a_part():
    assert filtered("部署", CandidateLine("note_3", "x.md", "x", ("生产部署流程",))) == ["note_3"]
