"""Words that look like options: what is a word, what an option, and what a mistake."""

import pytest

from recollect.cli.free_text import Flag, Misspelt, separate
from tests.cli.run import run

FLAGS = {
    "--limit": Flag(takes_value=True, fits=str.isdigit),
    "--kind": Flag(takes_value=True),
    "--explain": Flag(),
    "--json": Flag(),
    "-y": Flag(),
    "-h": Flag(),
}


@pytest.mark.parametrize(
    ("line", "options", "words"),
    [
        ("how do we deploy", "", "how do we deploy"),
        ("why does enable --agent fail", "", "why does enable --agent fail"),
        ("why does --agent fail", "", "why does --agent fail"),
        ("--agent fails", "", "--agent fails"),
        ("git push --force", "", "git push --force"),
        ("git commit -m fails", "", "git commit -m fails"),
        ("ls -la | wc -l", "", "ls -la | wc -l"),
        ("--limit 3 deploy", "--limit 3", "deploy"),
        ("deploy --limit 3", "--limit 3", "deploy"),
        ("--limit=3 deploy", "--limit=3", "deploy"),
        ("--explain deploy --limit 3 --json", "--explain --limit 3 --json", "deploy"),
        ("deploy --kind rule --explain", "--kind rule --explain", "deploy"),
        ("what does --explain do", "", "what does --explain do"),
        ("deploy --limit 3 staging", "", "deploy --limit 3 staging"),
        ("how does --limit work", "", "how does --limit work"),
        ("what is --limit", "", "what is --limit"),
        ("--limit=many deploy", "", "--limit=many deploy"),
        ("-- --limit 3 deploy", "", "--limit 3 deploy"),
        ("deploy -- --json", "", "deploy --json"),
        ("--json -- --limti 3", "--json", "--limti 3"),
        ("why does --limti 3 fail often", "", "why does --limti 3 fail often"),
        ("-y deploy", "-y", "deploy"),
        ("--json", "--json", ""),
        ("", "", ""),
        ("-", "", "-"),
    ],
)
def test_words_are_words_and_options_options(line: str, options: str, words: str):
    separated = separate(line.split(), FLAGS)
    assert (" ".join(separated.options), " ".join(separated.words)) == (options, words)


@pytest.mark.parametrize(
    ("line", "given", "meant"),
    [
        ("--limti 3 deploy", "--limti", "--limit"),
        ("deploy --limti 3", "--limti", "--limit"),
        ("deploy --limti", "--limti", "--limit"),
        ("--limti=3 deploy", "--limti", "--limit"),
        ("deploy --explian", "--explian", "--explain"),
    ],
)
def test_a_misspelt_option_at_either_end_is_refused(line: str, given: str, meant: str):
    with pytest.raises(Misspelt) as problem:
        separate(line.split(), FLAGS)
    assert (problem.value.given, problem.value.meant) == (given, meant)


def test_options_between_a_name_and_the_words_are_options():
    separated = separate("ask-anna --kind rule Ask Ben --json first".split(), FLAGS, named=1)
    assert separated.options == ["--kind", "rule"]
    assert separated.words == ["ask-anna", "Ask", "Ben", "--json", "first"]
    assert separated.between == ["--json"]


def test_a_quoted_text_that_begins_with_dashes_is_one_word():
    assert separate(["--limit is too low"], FLAGS).words == ["--limit is too low"]


@pytest.mark.parametrize("command", ["recall", "search", "try"])
def test_a_question_needs_no_quotes(command: str):
    ran = run(command, *"why does enable --agent fail".split())
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("rule add never use git push --force", "never use git push --force"),
        ("rule add --user never use git push --force", "never use git push --force"),
        ("rule add never use git push --force --type correction", "never use git push --force"),
        ("pin the option -x means extra", "the option -x means extra"),
        ("note save ask Anna about --deploy", "ask Anna about --deploy"),
    ],
)
def test_what_is_written_needs_no_quotes(command: str, said: str):
    assert run(*command.split()).code == 0
    listed = run("list", "--json").json
    assert [memory["body"].strip() for memory in listed] == [said]


def test_a_wrong_value_in_what_is_written_is_a_mistake_not_a_word():
    ran = run("pin", "x", "--boost", "much")
    assert ran.code == 2
    assert "'much' is not a valid float" in ran.err


def test_a_misspelt_option_says_what_was_meant_and_how_to_take_it_as_a_word():
    ran = run("recall", "--limti", "3", "foo")
    assert ran.code == 2
    assert "Did you mean --limit? Put -- before the words to take it as one." in ran.err
    assert run("recall", "--", "--limti", "3", "foo").code == 0


@pytest.mark.parametrize(
    ("line", "misfits"),
    [
        ("--limit many deploy", ["--limit"]),
        ("deploy --limit many", ["--limit"]),
        ("--limit=many deploy", ["--limit=many"]),
        ("deploy --kind rule", []),
        ("-- --limit many", []),
        ("why does --limit many fail often", []),
    ],
)
def test_an_option_at_either_end_whose_value_does_not_fit_is_named(line: str, misfits: list[str]):
    assert separate(line.split(), FLAGS).misfits == misfits


def test_who_mistypes_a_value_of_a_question_is_told_that_it_became_words():
    ran = run("search", "deploy", "--kind", "rules")
    assert ran.code == 0
    assert "--kind was taken as a word, as what follows is no value for it" in ran.err
    assert "recollect search --help" in ran.err


def test_an_option_between_the_words_is_named():
    ran = run("search", "deploy", "--explain", "staging")
    assert ran.code == 0
    assert "--explain was taken as words: options come before or after them." in ran.err
