"""Names for a piece of work: a title of three to eight words, and topics. Of several phrases out of the first records,
worded like headlines, the one that best stands alone becomes the title. What a person asked for comes first; what a
machine printed or a shell was to run names nothing."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice, pairwise
from typing import NamedTuple

from recollect.base.text import clip
from recollect.capture import terms
from recollect.capture.dictated_rules import is_greeting
from recollect.capture.machine_text import (
    before_error,
    goal_of,
    is_command,
    is_error,
    is_machine_text,
    is_path_alone,
)
from recollect.capture.tables import Patterns, Words, table
from recollect.capture.terms import PLAN, is_talk, is_wide_script
from recollect.model.passage import Record
from recollect.model.small_talk import is_small_talk, names_nothing

MIN_WORDS, MAX_WORDS, MAX_CHARS = 3, 8, 80
_RECORDS_HELD = 64  # with each turn a title is made again from the same records
FIRST_RECORDS = 5  # a title is made from the first records; later ones tell what came of the work
_READ_CHARS, _READ_SAID_CHARS, _READ_SENTENCES, _MAX_WIDE_CHARS = 300, 1_500, 4, 30
_HEADING, _COMMITTED, _ASKED, _ENDED, _FOUND, _SAID = 8.0, 2.3, 2.1, 1.2, 0.8, 0.3
_IN_FULL = 2.0  # a request that says by itself what it is about
_MOST_WORDS = 0.55  # a phrase with fewer of a clause's words leaves out what it is about
_TO_A_LIST, _OF_CHORE, _MAX_CENTRAL = 0.8, 1.2, 10.0
_ORDER, _ADVICE = (
    1.1,
    0.5,
)  # a bonus for what was asked for or done; a penalty for what an agent tells the person to do
_LATER, _LATER_SENTENCE = 0.8, 0.3
# What cutting a sentence at that place costs.
_AT_BREAK, _AT_CLAUSE, _LATER_CLAUSE, _AT_LINK, _AT_LOOSE_LINK, _ANYWHERE = (
    0.2,
    0.3,
    1.3,
    0.7,
    1.2,
    3.5,
)
_WEAK = 1.5  # a phrase that scores less gets a topic added
_STRIP = " \t\"'\u201c\u201d\u2018’.,:;!?-–—()[]{}*#>|=+&/\\\u3002\uff0c\uff01\uff1f\uff1a\u3001"
_START_STRIP = " \t.,:;!?–—)]}*#>|=+&\u3002\uff0c\uff01\uff1f\uff1a\u3001"
_END_STRIP = " \t.,:;!?-–—([{*#>|=+&\\\u3002\uff0c\uff01\uff1f\uff1a\u3001"
MAX_TOPICS = 8
_NAME, _FILE, _PROPER, _PAIR, _WORD = 2.0, 2.5, 1.8, 1.5, 0.8  # what each kind of topic counts
_MAX_TOPIC_CHARS, _READ_TOPIC_CHARS = 40, 1_200
_MIN_TIMES = 2  # how often a plain word must be said to become a topic
_CUES = Patterns("titles")
_WORDS = Words("titles")


class Phrase(NamedTuple):
    text: str
    worth: float  # where it was found, minus what cutting it cost
    is_request: bool = False  # it says most of what the person asked for


def make_title(records: Sequence[Record], topics: Sequence[str] = ()) -> str:
    """Of the phrases in the first records, the one that names the subject best; otherwise the topics."""
    first = records[:FIRST_RECORDS]
    said: Counter[str] = Counter()
    for record in first:
        said.update(_content(record))
    best, score = "", 0.0
    for number, record in enumerate(first):
        for phrase in filter(_has_text, _phrases(record)):
            worth = phrase.worth + _worth(phrase.text, said) - _LATER * number
            if phrase.is_request and number == 0 and _stands_alone(phrase.text):
                worth += _IN_FULL
            if worth > score:
                best, score = phrase.text, worth
    best = best or _fallback(first, topics)
    is_vague = not terms.names(best) and len(set(terms.content(best)) - _WORDS.vague) < 2
    if not is_wide_script(best) and (score < _WEAK or is_vague or len(best.split()) < MIN_WORDS):
        # Add the first topic that it does not name yet, where there is room.
        more = (f"{best}: {topic}" for topic in topics if topic.casefold() not in best.casefold())
        fits = (one for one in more if len(one.split()) <= MAX_WORDS and len(one) <= MAX_CHARS)
        best = next(fits, best)
    return clip(best, MAX_CHARS)


def _has_text(phrase: Phrase) -> bool:
    return bool(phrase.text)


def _fallback(records: Sequence[Record], topics: Sequence[str]) -> str:
    """Where no phrase names the work: what a command was for, the topics, or how the request begins."""
    for record in records:
        if is_command(record.asked) and (goal := goal_of(record.asked)):
            return goal
    if topics:
        return " and ".join(topics[:2])
    for record in records:
        if goal := goal_of(record.ran):
            return goal
    for record in records:
        if is_path_alone(record.asked):
            return f"Work on {terms.stem_of(record.asked)}"
        if record.asked and not is_machine_text(record.asked):
            return " ".join(record.asked.split()[:MAX_WORDS])
    is_failure = any(is_error(record.asked) or is_error(record.ended) for record in records)
    return "An error" if is_failure else "Work"


@lru_cache(maxsize=_RECORDS_HELD)
def _content(record: Record) -> list[str]:
    files = " ".join(terms.stem_of(file) for file in record.changed.split(", "))
    texts = (record.asked, record.found, record.ended, files, record.said[:_READ_SAID_CHARS])
    return [word for text in texts for word in terms.content(text)]


@lru_cache(maxsize=_RECORDS_HELD)
def _phrases(record: Record) -> list[Phrase]:
    return list(_make_phrases(record))


def _make_phrases(record: Record) -> Iterator[Phrase]:
    if record.asked.startswith(PLAN):
        yield Phrase(_headline(record.asked.removeprefix(PLAN))[0], _HEADING, is_request=True)
    yield from _commit_phrases(record.ran)
    asked = before_error(_CUES.log.split(record.asked.removeprefix(PLAN), maxsplit=1)[0])
    said = "\n\n".join(part for part in record.said.split("\n\n") if not is_error(part))
    yield from _sentence_phrases(asked, _ASKED)
    yield from _sentence_phrases(record.ended, _ENDED)
    yield from _sentence_phrases(record.found, _FOUND)
    yield from _sentence_phrases(said, _SAID)


def _commit_phrases(ran: str) -> Iterator[Phrase]:
    """The subjects of commits and pull requests; one that is cut off is no whole sentence."""
    for commit, pull_request in _CUES.commit.findall(ran):
        subject = commit or pull_request
        text = _CUES.conventional.sub("", subject.rstrip("\u2026"))
        is_whole = not subject.endswith("\u2026")
        phrase, cost = _headline(text, is_whole=is_whole, is_request=True)
        worth = _COMMITTED - cost
        if _CUES.chore.match(subject):
            worth -= _OF_CHORE
        yield Phrase(phrase, worth)


def _sentence_phrases(text: str, bonus: float) -> Iterator[Phrase]:
    """The clauses of its first sentences, but for what a machine printed; later ones are worth less."""
    if _CUES.numbered.search(text):
        text = _CUES.number.sub(". ", text)
    for number, sentence in enumerate(islice(terms.sentences(text), _READ_SENTENCES)):
        if is_machine_text(sentence) or (bonus == _SAID and _CUES.code_line.search(sentence)):
            continue
        for phrase in _clause_phrases(sentence, bonus):
            yield phrase._replace(worth=phrase.worth - _LATER_SENTENCE * number)


def _clause_phrases(sentence: str, bonus: float) -> Iterator[Phrase]:
    is_asked = bonus == _ASKED
    is_whole = len(sentence) <= _READ_CHARS
    for clause, loss in _clauses(sentence[:_READ_CHARS].replace("\u2019", "'")):
        phrase, cost = _headline(clause, is_whole=is_whole, is_request=is_asked)
        if is_machine_text(phrase) or is_small_talk(phrase):
            continue
        is_most = len(phrase.split()) >= _MOST_WORDS * len(clause.split())
        yield Phrase(phrase, bonus - cost - loss, is_request=is_asked and is_most)


def _clauses(sentence: str) -> Iterator[tuple[str, float]]:
    """A sentence without its introduction, and its later clauses at a penalty."""
    loss = _TO_A_LIST if sentence.endswith((":", "\uff1a")) else 0.0
    plain = _without_lead(_CUES.aside.sub("", sentence))
    main = _without_lead(_CUES.before_main.sub("", plain))
    found = dict.fromkeys((plain, main), loss)
    for part in islice(_CUES.next_clause.split(main), 1, 4):
        found.setdefault(_without_lead(part), loss + _LATER_CLAUSE)
    yield from found.items()


def _headline(text: str, *, is_whole: bool = True, is_request: bool = False) -> tuple[str, float]:
    """Word a text as a headline; returns it with its cost. Empty: it makes no headline."""
    plain = _CUES.tail.sub(
        "", _CUES.path.sub(r"\1", _CUES.aside.sub("", _CUES.junk.sub(" ", text).strip()))
    )
    plain = _CUES.article.sub("", plain.lstrip(_START_STRIP))
    told, gain = _as_order(plain)
    if plain.split(" ", 1)[0].casefold() in _WORDS.verbs | _WORDS.requests:
        gain = _ORDER if is_request else -_ADVICE
    said, cost = _shorten(told, is_whole=is_whole)
    if not terms.names_subject(said) and len(said.split()) < 2:
        return "", cost - gain
    first = said.split(" ", 1)[0]
    is_name = terms.names(first) or re.search(r"[\d_.()/]", first)
    return said if is_name else said[:1].upper() + said[1:], cost - gain


def _as_order(text: str) -> tuple[str, float]:
    """`Added a retry` and `A retry has been added` become `Add a retry`. Returns the text with its bonus."""
    if (passive := _CUES.done_to.match(text)) and (
        verb := _imperatives().get(passive["verb"].casefold())
    ):
        return f"{verb} {passive['what']}{passive['rest'].lstrip()}", _ORDER
    first, _, rest = text.partition(" ")
    if rest and not _CUES.describes.match(rest) and (verb := _imperatives().get(first.casefold())):
        # `Created and tested` becomes `Create and test`.
        rest = _CUES.and_done.sub(
            lambda done: f"and {_imperatives().get(done[1].casefold(), done[1]).lower()} ", rest
        )
        return f"{verb} {rest}", _ORDER
    told = _CUES.tells.match(text)
    for verb in (told[1], f"{told[1]}e") if told else ():
        if verb.casefold() in _WORDS.verbs:
            return f"{verb} {rest}", -0.5
    return text, 0.0


def _shorten(text: str, *, is_whole: bool) -> tuple[str, float]:
    """Shorten to at most eight words: leave out fillers, or cut where a part of the sentence ends."""
    cost = 0.0
    if end := next(
        (at for at in _ends(_CUES.sentence_break, text) if terms.names_subject(text[:at])), 0
    ):
        text, cost, is_whole = text[:end], _AT_BREAK if text[end:].strip(_STRIP) else 0.0, True
    if is_wide_script(text):
        return (
            (text, cost)
            if len(text) <= _MAX_WIDE_CHARS
            else (clip(text, _MAX_WIDE_CHARS), _AT_LINK)
        )
    if is_whole and (said := _fit(text)):
        return said, cost
    ends = list(_ends(_CUES.clause, text))
    for end in reversed(ends):
        said = _fit(text[:end])
        is_half = " only " in said  # what it is limited to stood behind the cut
        if said and not is_half and len(said.split()) >= MIN_WORDS and terms.names_subject(said):
            return said, _AT_CLAUSE
    short = _headline_words(
        text[: ends[0]] if ends and terms.names_subject(text[: ends[0]]) else text
    )
    for links, cost in ((_WORDS.links, _AT_LINK), (_WORDS.loose_links, _AT_LOOSE_LINK)):
        for at in range(min(MAX_WORDS, len(short) - 1), 1, -1):
            said = _close(short[:at])
            is_link = (short[at].strip(_STRIP) or short[at]).casefold() in links
            is_enough = terms.names(said) or len(said.split()) >= MIN_WORDS
            if is_link and said and is_enough and terms.names_subject(said):
                return said, cost
    return _close(short[:MAX_WORDS]), _ANYWHERE


def _ends(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    """Where the text may be cut: not inside quotation marks."""
    for found in pattern.finditer(text):
        before = text[: found.start()]
        if before.count("`") % 2 == before.count('"') % 2 == 0:
            yield found.start()


def _fit(text: str) -> str:
    for words in (text.split(), _headline_words(text)):
        if len(words) <= MAX_WORDS:
            return _close(words)
    return ""


def _headline_words(text: str) -> list[str]:
    return [word for word in text.split() if word.casefold() not in _WORDS.filler]


def _close(words: list[str]) -> str:
    """Without a last word that needs another one, and without half a pair of marks. Empty: it is too long."""
    words = list(words)
    while words and words[-1].strip(_STRIP).casefold() in _WORDS.edge:
        words.pop()
    text = " ".join(words).rstrip(_END_STRIP)
    for mark in '"`':
        if text.count(mark) % 2:
            text = text.replace(mark, "")
    for start, end in ("()", "[]", "{}"):
        if text.count(start) != text.count(end):
            text = text.replace(start, "").replace(end, "")
    return text if len(text) <= MAX_CHARS else ""


def _stands_alone(phrase: str) -> bool:
    """Whether it says what it is about without what came before."""
    content = set(terms.content(phrase)) - _WORDS.vague
    if not content or names_nothing(phrase):
        return False
    patterns = (_CUES.leans, _CUES.generic, _CUES.asking)
    if any(pattern.match(phrase) for pattern in patterns):
        return False
    words = [word.strip(_STRIP).casefold() for word in phrase.split()]
    if words[0] in _WORDS.starts:
        return False
    if not _WORDS.points.isdisjoint(words):
        return len(content) > 2  # "the worker grows until it is killed" says what "it" is
    is_order = words[0] in _WORDS.verbs | _WORDS.requests
    return is_order or len(content) >= 2 or bool(terms.names(phrase))


def _worth(phrase: str, said: Counter[str]) -> float:
    """How well a phrase stands alone, and how much of it is mentioned again and again."""
    words = [word.strip(_STRIP).casefold() for word in phrase.split()]
    content = set(terms.content(phrase)) - _WORDS.vague
    worth = 0.2 * min(len(content), 5) + (0.8 if terms.names(phrase) else 0.0)
    central = (min(3.0, math.log2(1 + said[word])) for word in content)
    worth += 0.25 * min(_MAX_CENTRAL, math.fsum(central))  # the same in whichever order they come
    penalties = (
        (1.5, _CUES.only_code.fullmatch(phrase)),
        (2.5, _CUES.leans.match(phrase)),
        (2.0, words[0].split("'")[0] in ("i", "we")),
        (1.2, _CUES.asking.match(phrase)),
        (2.0, _CUES.generic.match(phrase) or is_talk(phrase)),
        (1.5, words[0] in _WORDS.starts),
        (0.8, len(words) < MIN_WORDS and not is_wide_script(phrase)),
        (1.5, len(content) < 2 and not terms.names(phrase) and not is_wide_script(phrase)),
    )
    worth -= sum(penalty for penalty, applies in penalties if applies)
    worth -= 1.3 * sum(word in _WORDS.points for word in words)
    return worth


def _without_lead(sentence: str) -> str:
    greeting = _CUES.greeting.match(sentence)
    if greeting and is_greeting(greeting[1].replace("\u2019", "'")):
        sentence = sentence[greeting.end() :]
    for _ in range(6):
        shorter = _CUES.label.sub("", _CUES.lead.sub("", sentence.lstrip("\u00bf\u00a1 "), count=1))
        if shorter == sentence or not shorter.strip():
            break
        sentence = shorter
    return sentence


@cache
def _imperatives() -> dict[str, str]:
    """`added`: `Add`."""
    found = dict(table("titles.toml")["irregular_verbs"])
    for verb in _WORDS.verbs:
        forms = [f"{verb}ed", f"{verb.removesuffix('e')}ed", f"{verb}{verb[-1]}ed"]
        forms += [f"{verb[:-1]}ied"] if verb.endswith("y") else []
        found |= dict.fromkeys(forms, verb)
    return {form: verb.capitalize() for form, verb in found.items()}


def find_topics(texts: Iterable[tuple[str, float]], files: Iterable[str] = ()) -> tuple[str, ...]:
    """The most important first, as they were written; none is part of another. `texts`: each with its weight."""
    scores: defaultdict[str, float] = defaultdict(float)
    spelt: dict[str, str] = {}

    def add(topic: str, weight: float) -> None:
        key = topic.casefold()
        if 2 < len(key) <= _MAX_TOPIC_CHARS and not key.isdigit():
            scores[key] += weight
            spelt.setdefault(key, topic)

    for place, file in enumerate(files):
        add(terms.stem_of(file), _FILE - 0.2 * min(place, 10))
    said: Counter[str] = Counter()
    for text, weight in ((text[:_READ_TOPIC_CHARS], weight) for text, weight in texts):
        for name in filter(_CUES.plain_name.match, terms.names(text)):
            is_path = "/" in name or "." in name
            add(terms.stem_of(name) if is_path else name.removesuffix("()"), _NAME * weight)
        for name in _CUES.proper_name.findall(text):
            if terms.is_content(name.casefold()) and name.casefold() not in _WORDS.no_topics:
                add(name, _PROPER * weight)
        for sentence in terms.sentences(text):
            words = terms.words(sentence)
            long = {
                word for word in words if len(word) > 3 and not _CUES.no_noun.search(word)
            } - _WORDS.no_topics
            nouns = set(filter(terms.is_content, long))
            pairs = {
                f"{one} {two}" for one, two in pairwise(words) if one != two and {one, two} <= nouns
            }
            said.update(nouns | pairs)
    for term, many in said.items():
        if many >= _MIN_TIMES:
            add(term, (_PAIR if " " in term else _WORD) * min(many, 4) / 2)
    chosen: list[str] = []
    for key in sorted(scores, key=lambda key: (-scores[key], key)):
        if len(chosen) < MAX_TOPICS and not any(key in one or one in key for one in chosen):
            chosen.append(key)
    return tuple(spelt[key] for key in chosen)
