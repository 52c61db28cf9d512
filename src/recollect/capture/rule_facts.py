"""What a rule speaks of, read from its words so that two rules can be compared (rule_relations.py).

A rule's facts are the things it asks for, the things it names as unwanted, where it holds, its numbers, its exceptions
and whether it is a refusal. `rule_key` is what two spellings of one rule have in common.

Words alone: nothing here weighs how near two rules are in meaning. Tables in data/rule_facts.toml.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import chain, takewhile
from typing import NamedTuple

from recollect.base.text import composed, one_line
from recollect.capture.tables import Patterns, Words, table

_MAX_CHARS = 2_500  # an imported rule may be of any length
_MAX_PARTS = 4  # of a rule; who says more at once dictates a document
_MAX_REJECTED = 3  # this many words after a "not" are what is not wanted
_MIN_STEM_CHARS = 4  # two words that begin alike for so long may be forms of one ...
_MAX_ENDING_CHARS = 3  # ... if no more follows: "escribas", "escribe"
_FIRST_KANA = "\u3040"  # and what comes after it: Chinese, Japanese and Korean
_MAX_INFLECTION = 2  # a shorter run of hiragana is a particle or an ending
_OWN_PLACE = "own_place"  # stands for the place in "Mocks live in mocks/", which is not "Use mocks"
_MAY = "可以"  # stands for what permits in Chinese and Japanese
_STOPS = " \t\n.!;,:\u3002"
_PATTERNS = Patterns("rule_facts")
_WORDS = Words("rule_facts")


class Choice(NamedTuple):
    members: frozenset[str]  # a project usually chooses one of these
    topics: frozenset[str]  # words that only say what the choice is about
    ways: frozenset[
        str
    ]  # the words before a member without which it is no choice; empty: it always is


class RuleFacts(NamedTuple):
    wanted: frozenset[str] = frozenset()  # stems of what the rule asks for, or is about
    rejected: frozenset[str] = frozenset()  # stems of what it names as unwanted
    replaced: frozenset[str] = frozenset()  # of those: what it says that it takes the place of
    where: frozenset[str] = frozenset()  # what narrows it: "in tests"; part of the others, too
    exceptions: frozenset[str] = frozenset()  # what it does not hold for
    directions: frozenset[tuple[str, str]] = frozenset()  # ("before", "push"), ("into", "main")
    refuses: bool = False  # it is a refusal and nothing else: "Never push", "Do not use tabs"
    allows: bool = False  # it permits and does not ask: "Deploying on Fridays is fine"
    may_forbid: bool = False  # it has a word that permits and one that refuses
    restricts: bool = False  # "Only run the linter"
    adds: bool = False  # it says that something holds beside other things: "also support ..."
    has_limit: bool = False  # it sets a limit: "at most", "longer than"
    has_fixed_number: bool = False  # a number in it is a name: "error 404", "port 80 is taken"
    has_copula: bool = False
    is_name_told: bool = False  # it says who or what something is: "The lead is Anna"
    located: frozenset[str] = frozenset()  # what it says the place of: "Tests go next to the code"
    missing: frozenset[str] = (
        frozenset()
    )  # of what is rejected: "without asking" names no other way
    order: tuple[str, ...] = ()  # the content and the persons, each where it is named first
    joints: frozenset[str] = frozenset()  # how things are joined: "for", "with", "or"
    telling: frozenset[str] = frozenset()  # small words with which it says something else: "more"
    doers: frozenset[tuple[str, str]] = frozenset()  # who but the agent does what: ("i", "review")
    links: frozenset[tuple[str, str, str]] = frozenset()  # ("warning", "as", "error")
    handled: frozenset[str] = frozenset()  # what something is done to: "Back up postgres nightly"

    @property
    def content(self) -> frozenset[str]:
        return self.wanted | self.rejected

    @property
    def numbers(self) -> frozenset[str]:
        return frozenset(word for word in self.content if is_number(word))

    @property
    def addresses(self) -> frozenset[str]:
        return frozenset(word for word in self.content if _PATTERNS.address.match(word))

    def wants(self, word: str) -> bool:
        return word in self.wanted and word not in self.rejected and not self.refuses

    def directions_apart_from(self, values: frozenset[str]) -> frozenset[tuple[str, str]]:
        """Which way it goes, whatever the values are that it goes to."""
        return frozenset((way, "" if to in values else to) for way, to in self.directions)


@lru_cache(maxsize=8192)
def rule_key(rule: str) -> str:
    """Equal for spellings of one rule: case, quotes, white space, hyphens, courtesy and a full stop do not
    matter."""
    words = one_line(_PATTERNS.quote.sub("", _plain(rule)))
    words = _PATTERNS.hyphen.sub(" ", words)
    return _PATTERNS.courtesy.sub("", words.rstrip(_STOPS)).rstrip(_STOPS)


@lru_cache(maxsize=4096)
def split_parts(rule: str) -> tuple[str, ...]:
    """Its sentences, and what is joined to them by a comma and an "and": each may be a rule of its own."""
    parts = (part.strip() for part in _PATTERNS.part.split(rule[:_MAX_CHARS]))
    return tuple(filter(None, parts))[:_MAX_PARTS]


@lru_cache(maxsize=4096)
def read_facts(rule: str) -> RuleFacts:
    said = _spell_out(rule)
    core, *exceptions = _PATTERNS.exception.split(said)
    located = _read_located(core)
    if located:
        core = _PATTERNS.located.sub(r"\1 ", core)
    core, replaced = _take_replaced(core)
    clauses = _split_clauses(core)
    reader = _read_clauses(clauses, located)
    replaced_stems = frozenset(stem for words in replaced for stem in _content(words))
    return RuleFacts(
        wanted=frozenset(reader.wanted) - replaced_stems,
        rejected=frozenset(reader.rejected) | replaced_stems,
        replaced=replaced_stems,
        where=frozenset(reader.where),
        exceptions=frozenset(stem for words in exceptions for stem in _content(words)),
        directions=frozenset(reader.directions),
        refuses=reader.is_refusal,
        allows=_permits(clauses, said),
        may_forbid=_has_any(clauses, _WORDS.allowing) and _has_any(clauses, _WORDS.negations),
        restricts=_has_any(clauses, _WORDS.restricting),
        adds=_PATTERNS.adds.search(said) is not None,
        has_limit=_PATTERNS.limit.search(said) is not None,
        has_fixed_number=_has_fixed_number(core),
        has_copula=_PATTERNS.copula.search(core) is not None,
        is_name_told=_PATTERNS.named.search(core.rstrip(_STOPS)) is not None,
        located=located,
        missing=frozenset(reader.missing),
        order=tuple(dict.fromkeys(_in_order(chain.from_iterable(clauses)))),
        joints=_WORDS.joints.intersection(chain.from_iterable(clauses)),
        telling=_WORDS.telling.intersection(chain.from_iterable(clauses)),
        doers=frozenset(chain.from_iterable(map(_doers, clauses))),
        links=frozenset(reader.links),
        handled=frozenset(chain.from_iterable(map(_handled, clauses))),
    )


@lru_cache(maxsize=4096)
def matters_of(rule: str) -> frozenset[str]:
    """What it names, and the choices of which it names one: rules without a common matter do not contradict."""
    content = read_facts(rule).content
    named = (choice.members for choice in choices() if not content.isdisjoint(choice.members))
    return content.union(*named)


def _read_clauses(clauses: list[list[str]], located: frozenset[str]) -> _Reader:
    reader = _Reader(is_refusal=bool(clauses) and all(map(_is_refusal, clauses)))
    for clause in clauses:
        reader.read(clause)
    if located and reader.wanted <= located:
        reader.wanted.add(_OWN_PLACE)
    return reader


def _permits(clauses: list[list[str]], said: str) -> bool:
    return _has_any(clauses, _WORDS.allowing) or _PATTERNS.need_not.search(said) is not None


def names_in_case(rule: str) -> frozenset[str]:
    """Names whose capitals tell them from others: "fooBar" is not "FooBar"."""
    return frozenset(_PATTERNS.name_in_case.findall(rule))


def is_joined_otherwise(one: RuleFacts, other: RuleFacts) -> bool:
    """ "Write tests for hooks" is not "Write tests with hooks", "more comments" not "comments", and what I do not what
    you do.
    """
    is_other_joint = bool(one.joints - other.joints and other.joints - one.joints)
    return is_other_joint or one.telling != other.telling or one.doers != other.doers


def is_said_in_order(one: RuleFacts, other: RuleFacts) -> bool:
    """Whether both name what they share in the same order: "A calls B" is not "B calls A". The end may have come to the
    beginning ("Before you commit, run the tests"), or neighbours have changed places ("Dates are stored", "Store
    dates"), unless a word between them says which is which ("Treat warnings as errors")."""
    if any((after, link, before) in other.links for before, link, after in one.links):
        return False
    mine = [word for word in one.order if word in other.order]
    theirs = [word for word in other.order if word in one.order]
    if len(mine) == 2 and one.has_copula and other.has_copula:
        return theirs == mine  # "Errors are warnings" is not "Warnings are errors"
    start = mine.index(theirs[0]) if theirs else 0
    return theirs == mine[start:] + mine[:start] or _is_swapped(mine, theirs)


def _is_swapped(words: list[str], others: list[str]) -> bool:
    """Whether the others are these words but for neighbours of unlike kinds that have changed places."""
    at = 0
    while at < len(words):
        if words[at] == others[at]:
            at += 1
        elif words[at : at + 2] == others[at : at + 2][::-1] and _are_unlike(*words[at : at + 2]):
            at += 2
        else:
            return False
    return True


def _are_unlike(word: str, other: str) -> bool:
    """Two persons, or two things of one kind, are not the same the other way round. Nor are two in Chinese or Japanese,
    where the particles that tell them apart are not read.
    """
    if min(word, other) >= _FIRST_KANA:
        return False
    is_person = word in _WORDS.persons or other in _WORDS.persons
    return not is_person and set(kinds_of(word)).isdisjoint(kinds_of(other))


def may_be_forms_of_one(word: str, other: str) -> bool:
    """ "escribas" and "escribe": two words that differ by their endings alone. Names are not inflected."""
    if not (word.isalpha() and other.isalpha()) or any(kinds_of(word)) or any(kinds_of(other)):
        return False
    pairs = zip(word, other, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    rest = max(len(word), len(other)) - shared
    return shared >= _MIN_STEM_CHARS and rest <= _MAX_ENDING_CHARS


def are_versions_of_one(word: str, other: str) -> bool:
    """ "es2020" and "es2022", "http/1.1" and "http/2"."""
    return _PATTERNS.version.sub("", word) == _PATTERNS.version.sub("", other)


def is_number(word: str) -> bool:
    return _PATTERNS.number.match(word) is not None


def is_unit(word: str) -> bool:
    return word in _unit_stems()


def is_amount(word: str) -> bool:
    """A number, or what it counts: "30 days"."""
    return is_number(word) or is_unit(word)


def kinds_of(word: str) -> Iterator[str]:
    """The kinds of things that a stem names and that tell two rules apart: a day, a place, a file, a name in code."""
    if word in _day_stems():
        yield "day"
    if word in _place_stems():
        yield "place"
    if _PATTERNS.path.search(word):
        yield "path"
    elif _PATTERNS.code_name.search(word):
        yield "code"


@cache
def choices() -> tuple[Choice, ...]:
    found = []
    for row in table("rule_facts.toml")["choices"]:
        parts: list[str] = [*row.split("|"), "", ""]
        members, topics, ways = parts[:3]
        found.append(
            Choice(
                members=frozenset(map(stem_of, members.split())),
                topics=frozenset(map(stem_of, topics.split())),
                ways=frozenset(ways.split()),
            )
        )
    return tuple(found)


def stem_of(word: str) -> str:
    """ "adding" and "add", "tests" and "test"; names and values stay as they are, abbreviations are spelled out."""
    word = _full_names().get(word, word)
    if len(word) < 5 or not word.isalpha() or not word.isascii():
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        if word.endswith(ending) and len(word) - len(ending) > 2:
            return _without_ending(word[: -len(ending)])
    return _singular(word)


def _singular(word: str) -> str:
    """ "classes" and "class", "tests" and "test", "caches" and "cache" without its last letter."""
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _without_ending(bare: str) -> str:
    """ "adding" without "ing" is "add", "running" is "run", "creating" is "creat"."""
    is_doubled = len(bare) > 2 and bare[-1] == bare[-2] and bare[-1] not in "dsl"
    return bare[:-1] if is_doubled else bare


@cache
def _full_names() -> dict[str, str]:
    names = table("rule_facts.toml")["names"]
    return {short: name for name, words in names.items() for short in words.split()}


@cache
def _day_stems() -> frozenset[str]:
    return frozenset(map(stem_of, _WORDS.days))


@cache
def _unit_stems() -> frozenset[str]:
    return frozenset(map(stem_of, _WORDS.units))


@cache
def _place_stems() -> frozenset[str]:
    return frozenset(map(stem_of, _WORDS.places))


def _plain(rule: str) -> str:
    """One case, one form of every character, one kind of apostrophe."""
    folded = composed(rule, "NFKC").casefold()
    plain = folded.replace("\u2019", "'").replace("\u2018", "'")
    return _PATTERNS.no_apostrophe.sub(r"\1n't", plain)


def _spell_out(rule: str) -> str:
    """The rule as it is compared: without courtesy, reasons and quotes, every form of "no longer" a plain "not"."""
    said = _PATTERNS.letter.sub(_name_of_letter, rule[:_MAX_CHARS].strip())
    said = one_line(_plain(said)).replace("do not", "don't")
    said = _PATTERNS.quote.sub("", said)
    said = _PATTERNS.reason.sub("", _PATTERNS.courtesy.sub("", said))
    if _PATTERNS.not_allowed.search(said):
        said = "never " + _PATTERNS.not_allowed.sub("", said)
    said = _PATTERNS.may_not.sub("never", said)
    said = _PATTERNS.does_nothing.sub(r"never \1", said)
    said = _PATTERNS.not_without.sub(r"never \1 ", said)
    said = _PATTERNS.italian_never.sub(r"non \1", said)
    said = _PATTERNS.french_no_more.sub(r"\1\2", said)
    said = _PATTERNS.french_only.sub(r"\1 seulement", said)
    said = _PATTERNS.stop_doing.sub("not ", _PATTERNS.only_there.sub("only_there ", said))
    said = _PATTERNS.in_place_of.sub("not", _PATTERNS.no_longer.sub("not", said))
    said = _PATTERNS.not_avoided.sub("", said)
    said = _PATTERNS.filler.sub("", said)
    return _PATTERNS.clitic.sub(r"\1' ", said)


def _name_of_letter(letter: re.Match[str]) -> str:
    """ "Service A" names a service; "A service" does not."""
    is_article = letter.start() == 0 and letter.string[1:2] == " "
    return letter[0] if is_article else f"letter_{letter[0]}"


def _take_replaced(said: str) -> tuple[str, list[str]]:
    """Without "switched from X to" and "replace X with", and each X."""
    replaced: list[str] = []
    for pattern in (_PATTERNS.changed_from, _PATTERNS.replaced_by):
        replaced += (match[1] for match in pattern.finditer(said))
        said = pattern.sub("", said)
    return _PATTERNS.changed_to.sub("", said), replaced


def _has_fixed_number(said: str) -> bool:
    """Whether a number is a name and no value: "error 404", or what a sentence is about: "5432 is the tunnel"."""
    if _PATTERNS.numbered_thing.search(said):
        return True
    copula = _PATTERNS.copula.search(said)
    return copula is not None and any(map(is_number, _split_words(said[: copula.start()])))


def _read_located(said: str) -> frozenset[str]:
    match = _PATTERNS.located.match(said) or _PATTERNS.placed.match(said)
    return frozenset(_content(match[1])) if match else frozenset()


def _split_words(clause: str) -> list[str]:
    words: list[str] = []
    for word in _PATTERNS.word.findall(clause):
        is_clitic = word in _WORDS.small or word in _WORDS.negations
        word = word if is_clitic else word.rstrip(".:'/-@")
        if words and word in ("file", "files") and _is_content(words[-1]):
            if words[-1].isalnum() and words[-1].isascii():
                words[-1] += ".*"  # "the openapi file" is openapi.yaml, or whatever it ends in
        else:
            words += _split_han(word)
    return words


def _split_han(word: str) -> list[str]:
    """A run of Chinese characters or hiragana without what only refuses, asks or inflects. Other words as they are."""
    if "\u4e00" <= word[:1] <= "\u9fff":
        return _split_chinese(word)
    if "\u3040" <= word[:1] <= "\u309f":
        return _split_hiragana(word)
    return [word] if word else []


def _split_chinese(run: str) -> list[str]:
    allowed = _PATTERNS.han_may.sub("", run)
    permission = [_MAY] if allowed != run else []
    bare = _PATTERNS.han_no.sub("", allowed)
    negation = ["not"] if bare != allowed else []
    parts = _PATTERNS.han_name.split(_PATTERNS.han_small.sub("", bare))
    return negation + permission + [part for part in parts if part]


def _split_hiragana(run: str) -> list[str]:
    allowed = _PATTERNS.japanese_may.sub("", run)
    permission = [_MAY] if allowed != run else []
    bare = _PATTERNS.japanese_no.sub("", allowed)
    negation = ["ない"] if bare != allowed else []
    bare = _PATTERNS.japanese_please.sub("", bare)
    is_said = len(bare) > _MAX_INFLECTION or bare in _WORDS.directions
    return [*permission, bare, *negation] if is_said else permission + negation


def _is_refusal(clause: list[str]) -> bool:
    return _is_denied(clause) or _denies_subject(clause)


def _denies_subject(clause: list[str]) -> bool:
    """ "Tests never hit the network" refuses as "Never hit the network in tests" does. "Use const, never let" asks for
    something, and "Stop when tests don't pass" denies a condition.
    """
    place = next((at for at, word in enumerate(clause) if word in _WORDS.negations), 0)
    before = clause[:place]
    if not any(map(_is_content, before)) or not _WORDS.conditional.isdisjoint(before):
        return False
    is_verb_denied = clause[place] in _WORDS.denying or before[-1] in _WORDS.auxiliary
    return is_verb_denied and before[-1] not in _WORDS.joining and not _asks_to_use(before)


def _asks_to_use(clause: list[str]) -> bool:
    first = next((word for word in clause if word not in _WORDS.openers), "")
    return first in _WORDS.using


def _is_denied(clause: list[str]) -> bool:
    """Whether it refuses all that it names. A language may say so at the end: "Lösche die Logs nicht"."""
    first = next((word for word in clause if word not in _WORDS.openers), "")
    last = next(
        (word for word in reversed(clause) if _is_content(word) or word in _WORDS.negations), ""
    )
    if clause[-1] == "ない":
        return True
    if last in _WORDS.closing_negations and len(clause) > 1:
        return first not in _WORDS.avoiding  # "Vermeide Mocks nicht" asks for them
    return first in _WORDS.negations


def _split_clauses(said: str) -> list[list[str]]:
    clauses = map(_split_words, _PATTERNS.clause.split(said))
    return [words for words in clauses if _says_something(words)]


def _has_any(clauses: list[list[str]], words: frozenset[str]) -> bool:
    return not words.isdisjoint(chain.from_iterable(clauses))


def _says_something(clause: list[str]) -> bool:
    """But for "ever" in "Do not commit secrets, ever"."""
    return any(_is_content(word) or _is_negation(word, []) for word in clause)


def _content(words: str) -> Iterator[str]:
    for word in _split_words(words):
        if _is_content(word):
            yield stem_of(word)


def _in_order(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        if word in _WORDS.persons:
            yield word
        elif _is_content(word):
            yield stem_of(word)


def _doers(clause: list[str]) -> Iterator[tuple[str, str]]:
    """ "I review pull requests" says who does it; "I prefer short answers" asks for them."""
    for place, word in enumerate(clause):
        if word not in _WORDS.doers:
            continue
        following = clause[place + 1 :]
        is_wish = bool(following) and following[0] in _WORDS.wishing and following[1:2] != ["to"]
        if not is_wish:
            yield word, next(_content(" ".join(following)), "")


def _handled(clause: list[str]) -> Iterator[str]:
    """What something is done to: "postgres" in "Back up postgres", and not in "Back up with postgres".
    Chinese and Japanese tell that by particles, which are not read.
    """
    has_begun = False
    is_used = False  # what is named next is what is used
    follows_name = False
    for word in clause:
        is_name = _is_content(word)
        if word in _WORDS.using or word in _WORDS.choosing:
            is_used = True
        elif is_name:
            if has_begun and not is_used and word < _FIRST_KANA:
                yield stem_of(word)
            has_begun = True
        elif follows_name or word in _WORDS.directions:
            is_used = False
        follows_name = is_name


def _is_content(word: str) -> bool:
    small = _WORDS.small | _WORDS.negations | _WORDS.directions | _WORDS.allowing
    return word not in small and word != "ない"


class _Reader:
    """Sorts the words of a rule, clause by clause."""

    def __init__(self, *, is_refusal: bool) -> None:
        self.is_refusal = is_refusal
        self.wanted: set[str] = set()
        self.rejected: set[str] = set()
        self.missing: set[str] = set()
        self.where: set[str] = set()
        self.directions: set[tuple[str, str]] = set()
        self.links: set[tuple[str, str, str]] = set()
        self._begin(rejects=0)

    def _begin(self, *, rejects: int) -> None:
        self._rejects = rejects  # this many words to come are what is not wanted
        self._has_rejected = False
        self._is_missing = False  # the words to come are what is done without
        self._is_place = False
        self._direction = ""
        self._stem = ""  # the last one
        self._link = ""  # the word between it and the next one

    def read(self, clause: list[str]) -> None:
        is_denied = _is_denied(clause)
        # "Use uv, do not use pip": the refusal is about what is not wanted, and the rule is none.
        rejects_all = is_denied and not self.is_refusal
        self._begin(rejects=len(clause) if rejects_all else 0)
        for number, word in enumerate(clause):
            self._hear_relation(word, is_first=number == 0)
            if _is_negation(word, clause[number + 1 :]):
                self._is_place = False
                self._is_missing = word in _WORDS.lacking
                if number > 0 and not is_denied and not self.is_refusal:
                    self._rejects, self._has_rejected = _MAX_REJECTED, False
            elif _is_content(word):
                self._add(stem_of(word))

    def _hear_relation(self, word: str, *, is_first: bool) -> None:
        """How the next thing stands to the one before it: "in", "before", "as"."""
        if word in _WORDS.place_words:
            self._enter_place()
        if self._is_direction(word, is_first=is_first):
            self._direction = word
        if word in _WORDS.binding:
            self._link = word

    def _enter_place(self) -> None:
        """ "not Y in Z" refuses Y, "not in Z" refuses Z."""
        self._is_place = True
        if self._has_rejected:
            self._rejects = 0

    def _is_direction(self, word: str, *, is_first: bool) -> bool:
        if word in _WORDS.directions:
            return True
        return self.is_refusal and not is_first and word in _WORDS.links

    def _add(self, stem: str) -> None:
        if self._rejects > 0:
            self.rejected.add(stem)
            if self._is_missing:
                self.missing.add(stem)
            self._has_rejected = True
            self._rejects -= 1
        else:
            self.wanted.add(stem)
        if self._direction:
            self.directions.add((self._direction, stem))
            self._direction = ""
        self._add_link(stem)
        is_choice = any(stem in choice.members for choice in choices())
        if self._is_place and not is_choice and not is_amount(stem):
            self.where.add(stem)

    def _add_link(self, stem: str) -> None:
        if self._link and self._stem:
            self.links.add((self._stem, self._link, stem))
        self._stem, self._link = stem, ""


def _is_negation(word: str, following: list[str]) -> bool:
    """ "over" is one in "tabs over spaces", and none in "over 80"."""
    if word == "over" and following and is_number(following[0]):
        return False
    return word in _WORDS.negations


def differing(one: Iterable[str], other: Iterable[str]) -> tuple[frozenset[str], frozenset[str]]:
    """What each has that the other has not; "openapi.*" is any file of that name."""
    mine, theirs = frozenset(one), frozenset(other)
    left, right = mine - theirs, theirs - mine
    for loose, exact in ((left, right), (right, left)):
        for word in loose:
            stem = word[:-1]
            same = {name for name in exact if name.startswith(stem)}
            if same and word.endswith(".*") and stem[:-1].isalnum():
                left, right = left - {word} - same, right - {word} - same
    return left, right
