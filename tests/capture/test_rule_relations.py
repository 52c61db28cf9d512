"""How two rules stand to each other: what is the same, what takes another's place, and what stays beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.rule_facts import rule_key
from recollect.capture.rule_relations import Relation, relation, says_same
from tests.cases import cases
from tests.naughty import NAUGHTY

EXPECTED = {
    "same": {Relation.SAME},
    "replaces": {Relation.OPPOSED, Relation.AMENDED},
    "both": {Relation.DIFFERENT, Relation.UNSURE},
    "pair": {Relation.UNSURE},
}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [*cases("rule_pairs", "development"), *cases("rule_pairs", "variants")],
)
def test_a_rule_is_known_or_replaced_only_by_one_that_speaks_of_the_same_thing(
    old: str, new: str, expected: str
):
    assert relation(new, old) in EXPECTED[expected]


@pytest.mark.parametrize(("old", "new", "expected"), cases("rule_pairs", "held_out"))
def test_the_same_holds_for_pairs_that_were_not_looked_at_while_it_was_made(
    old: str, new: str, expected: str
):
    assert relation(new, old) in EXPECTED[expected]


# What must not be made of a pair, whatever else is: a rule would be lost.
LOSSES = {
    "same": {Relation.OPPOSED},
    "replaced": {Relation.SAME},
    "both": {Relation.SAME, Relation.OPPOSED, Relation.AMENDED},
    "shown": {Relation.SAME},
}
FRESH = {
    "same": {Relation.SAME},
    "replaced": {Relation.OPPOSED, Relation.AMENDED},
    "both": {Relation.DIFFERENT, Relation.UNSURE},
    "shown": {Relation.UNSURE, Relation.AMENDED},
}
LEAST_HELD_OUT = 65  # of 76; on first sight of them, when those of the table before it all held


@pytest.mark.parametrize("near", [None, 0.97])
@pytest.mark.parametrize(("old", "new", "meant"), cases("rule_pairs", "another_hand"))
def test_no_rule_is_lost_in_pairs_that_somebody_else_wrote(
    old: str, new: str, meant: str, near: float | None
):
    assert relation(new, old, near) not in LOSSES[meant]


@pytest.mark.parametrize(("old", "new", "meant"), cases("rule_pairs", "fresh"))
def test_pairs_that_were_given_through_every_door_are_told_apart(old: str, new: str, meant: str):
    assert relation(new, old) in FRESH[meant]


@pytest.mark.parametrize("near", [None, 0.97])
@pytest.mark.parametrize(("old", "new", "meant"), cases("rule_pairs", "fresh_held_out"))
def test_no_rule_is_lost_in_pairs_that_were_kept_back(
    old: str, new: str, meant: str, near: float | None
):
    assert relation(new, old, near) not in LOSSES[meant]


def test_most_pairs_that_were_kept_back_are_told_apart():
    kept_back = cases("rule_pairs", "fresh_held_out")
    right = [pair for pair in kept_back if relation(pair[1], pair[0]) in FRESH[pair[2]]]

    assert len(kept_back) == 76
    assert len(right) >= LEAST_HELD_OUT


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        *cases("rule_pairs", "same_words"),
        *cases("rule_pairs", "refused_at_the_end"),
        *cases("rule_pairs", "restricted"),
        *cases("rule_pairs", "more_than_it_replaces"),
        *cases("rule_pairs", "about_its_subject"),
        *cases("rule_pairs", "in_two_parts"),
        *cases("rule_pairs", "done_to_it"),
        *cases("rule_pairs", "need_not"),
        *cases("rule_pairs", "typed"),
    ],
)
def test_the_same_words_may_say_something_else(old: str, new: str, expected: str):
    assert relation(new, old) in EXPECTED[expected]


@pytest.mark.parametrize(("old", "new", "expected"), cases("rule_pairs", "one_word"))
def test_rules_that_differ_by_a_name_or_a_form_are_shown_as_a_pair(
    old: str, new: str, expected: str
):
    assert relation(new, old) in EXPECTED[expected]


@pytest.mark.parametrize(("old", "new", "expected"), cases("rule_pairs", "which_is_which"))
def test_who_does_it_and_which_is_which_are_part_of_a_rule(old: str, new: str, expected: str):
    assert relation(new, old) in EXPECTED[expected]
    assert (relation(old, new) is Relation.SAME) == (expected == "same")


@pytest.mark.parametrize(("old", "new", "expected"), cases("rule_pairs", "shown_by_words"))
def test_units_days_versions_and_permissions_are_compared_where_no_vector_helps(
    old: str, new: str, expected: str
):
    assert relation(new, old) in EXPECTED[expected]


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        ("You may use docker.", "Always use docker.", Relation.UNSURE),
        ("Deploying on Mondays is fine.", "Never deploy on Fridays.", Relation.DIFFERENT),
        (
            "Deploying the api on Fridays is fine.",
            "Never deploy the web app on Fridays.",
            Relation.DIFFERENT,
        ),
        ("Never use Redux.", "Use Redux for forms.", Relation.UNSURE),
        ("Deploying on Fridays is not allowed.", "Never deploy on Fridays.", Relation.SAME),
        ("Deploys on Fridays aren't ok.", "Never deploy on Fridays.", Relation.SAME),
        ("Deploys on Mondays are not allowed.", "Never deploy on Fridays.", Relation.DIFFERENT),
        ("Deploying on Fridays is not allowed.", "Deploying on Fridays is fine.", Relation.OPPOSED),
        ("It is never okay to deploy on Fridays.", "Never deploy on Fridays.", Relation.UNSURE),
        ("You may not push to main.", "Never push to main.", Relation.SAME),
        ("You can't push to main.", "You may push to main.", Relation.OPPOSED),
        (
            "Freitags deployen ist nicht erlaubt.",
            "Freitags deployen ist erlaubt.",
            Relation.OPPOSED,
        ),
        (
            "The docs are at docs.two.example.com",
            "The api is at api.one.example.com",
            Relation.DIFFERENT,
        ),
        ("提交信息一律用英文写。", "注释一律用中文写。", Relation.DIFFERENT),
    ],
)
def test_what_is_allowed_narrowed_or_named_elsewhere_loses_no_rule(
    new: str, old: str, expected: Relation
):
    assert relation(new, old) is expected


@pytest.mark.parametrize(("new", "old"), cases("rule_relations", "opposed"))
def test_the_other_choice_the_opposite_and_another_value_contradict(new: str, old: str):
    assert relation(new, old).replaces


@pytest.mark.parametrize(("new", "old"), cases("rule_relations", "beside"))
def test_rules_of_different_subjects_stand_beside_each_other(new: str, old: str):
    assert not relation(new, old).replaces
    assert not relation(old, new).replaces


@pytest.mark.parametrize(("new", "old"), cases("rule_relations", "same"))
def test_the_same_in_slightly_other_words_is_the_same(new: str, old: str):
    assert says_same(new, old)


@pytest.mark.parametrize(("new", "old", "near", "expected"), cases("rule_relations", "related"))
def test_vectors_only_suggest_that_two_rules_are_about_one_matter(
    new: str, old: str, near: float, expected: str
):
    assert relation(new, old, near) == expected
    by_words = relation(new, old)
    assert expected in (by_words, Relation.UNSURE), "vectors alone lose no rule"


@pytest.mark.parametrize("spellings", cases("rule_relations", "spellings"))
def test_spellings_of_one_rule_have_one_key(spellings: list[str]):
    assert len({rule_key(words) for words in spellings}) == 1


@pytest.mark.parametrize("words", cases("rule_relations", "not_spellings"))
def test_what_a_rule_is_about_is_part_of_its_key(words: list[str]):
    assert len({rule_key(one) for one in words}) == len(words)
    first, *others = words
    assert not any(says_same(first, other) for other in others)


@given(st.text(max_size=80), st.text(max_size=80), st.none() | st.floats(-1, 1))
def test_any_two_texts_are_compared_and_nothing_replaces_itself(
    new: str, old: str, near: float | None
):
    assert relation(new, old, near) in Relation
    assert relation(new, new, near) is Relation.SAME


@pytest.mark.parametrize("words", NAUGHTY)
def test_a_strange_rule_stands_beside_a_plain_one(words: str):
    assert relation(words, "Use pnpm, not npm.") is Relation.DIFFERENT
