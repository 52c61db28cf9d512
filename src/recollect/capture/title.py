"""A title of three to eight words that names the matter of a piece of work.

Several phrases are taken out of its first records (the plan's heading, the subject of the commit, what was asked, what
was found, how it ended), and the one that best stands alone is taken: it names something, leans on nothing, is whole.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from recollect.base.text import clip
from recollect.capture import terms
from recollect.capture.languages.title_cues import (
    ASKING,
    BEFORE_MAIN,
    CLAUSE,
    EDGE,
    GENERIC,
    LEAD,
    LEANS,
    LINKS,
    POINTS,
    STARTS,
)
from recollect.capture.sentence import PLAN, is_foreign, is_talk
from recollect.model.record import Record

FEWEST, MOST = 3, 8
MOST_CHARS = 80
EARLY = 3
"""Records that a title may be made from: later ones are of what came of it."""
_LOOKED_AT = 300
_SAID_LOOKED_AT = 1_500
_MOST_CENTRAL = 10.0
_SENTENCES = 4
_HEADING, _COMMITTED, _ASKED, _ENDED, _FOUND = 4.0, 2.6, 2.6, 0.4, 0.5
_LATER = 0.7
_WEAK = 3.8
"""A phrase of less worth is followed by what it is about."""
_CONVENTIONAL = re.compile(
    r"^(?:feat|fix|chore|refactor|docs|test|build|ci|perf|style|revert)(?:\([^)]*\))?!?:\s*", re.IGNORECASE
)
_COMMIT = re.compile(r'git commit -m "([^"]{6,})"')
_PATH = re.compile(r"(?:~?/)?(?:[\w@.-]+/){2,}([\w@.-]+\w)(?::\d[\d:,-]*)?|(?<=\.\w\w):\d[\d:,-]*")
_LABEL = re.compile(r"^\d+[.):]\s+|^(?:[^\W\d_]+ )?[^\W\d_]+:\s+(?=\S+ \S+ \S)")
_GERUND = re.compile(r"^\w+ing\b")
_JUNK = re.compile(
    r"https?://\S+|^`?[\w@.-]*[./][\w@./:-]*`?(?:\s*\([^)]*\))?\s*(?:[-\u2013\u2014:]+|\u2192)\s+|\[Image[^\]]*\]"
    r"|[\u2713\u2714\u2705\u274c\u2022\u2192\u25cf\u276f\u26a0\ufe0f\u23bf\u2570\u256d\u2502]+"
)
_STRIP = " \t\"'\u201c\u201d\u2018’.,:;!?-–—()[]{}*#>|=+&/\\"


def title(records: Sequence[Record], topics: Sequence[str] = ()) -> str:
    """Of the phrases in the first records, the one that names the matter best; else the topics alone."""
    best, score = "", 0.0
    said = Counter(word for record in records[:EARLY] for word in _words(record))
    for number, record in enumerate(records[:EARLY]):
        for phrase, bonus in _phrases(record):
            worth = bonus + _worth(phrase, said) - _LATER * number
            if worth > score:
                best, score = phrase, worth
    if not best:
        best = " and ".join(topics[:2]) or _fallback(records)
    is_weak = score < _WEAK or any(word.casefold() in POINTS for word in best.split())
    about = next((topic for topic in topics if topic.casefold() not in best.casefold()), "") if is_weak else ""
    if best and about and len(best.split()) + len(about.split()) <= MOST:
        best = f"{best}: {about}"
    return clip(_filled(best, topics), MOST_CHARS)


def _fallback(records: Sequence[Record]) -> str:
    for record in records[:EARLY]:
        for text in (record.asked, record.ended, record.found, record.changed, record.ran):
            words = _JUNK.sub(" ", text[:_LOOKED_AT]).split()[:MOST]
            if any(any(char.isalnum() for char in word) for word in words):
                return _capital(" ".join(words).strip(_STRIP)) or "Work"
    return "Work"


def _phrases(record: Record) -> Iterator[tuple[str, float]]:
    if record.asked.startswith(PLAN):
        yield from ((phrase, _HEADING) for phrase, _ in _cut_to(record.asked.removeprefix(PLAN), is_title=True))
        return
    for subject in _COMMIT.findall(record.ran):
        found = _cut_to(_CONVENTIONAL.sub("", subject.rstrip("\u2026")), is_title=True)
        yield from ((phrase, _COMMITTED - cost / 2) for phrase, cost in found)
    for text, bonus in ((record.asked, _ASKED), (record.ended, _ENDED), (record.found, _FOUND)):
        for number, sentence in enumerate(terms.sentences(text)):
            if number == _SENTENCES:
                break
            found = _cut_to(sentence[:_LOOKED_AT])
            yield from ((phrase, bonus - cost - 0.25 * number) for phrase, cost in found)


def _cut_to(sentence: str, *, is_title: bool = False) -> Iterator[tuple[str, float]]:
    """A sentence, cut to a title: without what leads up to it, at the end of a clause. And what the cut costs."""
    plain = _PATH.sub(r"\1", _JUNK.sub(" ", sentence).strip())
    plain = plain if is_title else _without_lead(plain)
    main = plain if is_title else _without_lead(BEFORE_MAIN.sub("", plain))
    for text in dict.fromkeys((main, plain)):
        said, cost = _first_clause(text, is_title=is_title)
        if is_foreign(said) and len(said.split()) < FEWEST:
            yield clip(said.strip(_STRIP), 40), 0.0
        elif _names_subject(said) or (is_title and len(said.split()) > 1):
            yield _capital(said), cost


def _first_clause(text: str, *, is_title: bool) -> tuple[str, float]:
    """As long as a title may be; cut before a word that begins another part of the sentence."""
    clause, cost = text.rstrip(_STRIP), 0.0
    for found in () if is_title and len(clause.split()) <= MOST else CLAUSE.finditer(clause):
        before = text[: found.start()]
        if before.count("`") % 2 == 0 and len(before.split()) >= FEWEST and _names_subject(before):
            clause, cost = before, 0.5
            break
    words = clause.split()
    if len(words) > MOST:
        links = [at for at in range(4, MOST + 1) if words[at].strip(_STRIP).casefold() in LINKS]
        words, cost = (words[: links[-1]], cost + 0.7) if links else (words[:MOST], cost + 1.5)
    if cost and _GERUND.match(clause):
        cost += 1.0  # what is done with it stood behind the cut
    while words and words[-1].strip(_STRIP).casefold() in EDGE:
        words.pop()
        cost += 0.4
    return _closed(" ".join(words).strip(_STRIP)), cost


def _words(record: Record) -> Iterator[str]:
    files = " ".join(terms.stem_of(file) for file in record.changed.split(", "))
    for text in (record.asked, record.found, record.ended, files, record.said[:_SAID_LOOKED_AT]):
        yield from terms.content(text)


def _worth(phrase: str, said: Counter[str]) -> float:
    """How well it names something by itself, and how much of what is spoken of again and again."""
    words = phrase.split()
    content = set(terms.content(phrase))
    worth = 0.2 * min(len(content), 5) + (0.8 if terms.names(phrase) else 0.0)
    worth += 0.25 * min(_MOST_CENTRAL, sum(min(3.0, math.log2(1 + said[word])) for word in content))
    worth -= 2.5 if LEANS.match(phrase) else 0.0
    worth -= 1.2 if ASKING.match(phrase) else 0.0
    worth -= 2.0 if GENERIC.match(phrase) or is_talk(phrase) else 0.0
    worth -= 1.5 if words and words[0].casefold() in STARTS else 0.0
    worth -= 0.8 if len(words) < FEWEST and not is_foreign(phrase) else 0.0
    worth -= 0.5 * sum(word.casefold() in POINTS for word in words)
    return worth


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _closed(text: str) -> str:
    """A quotation mark without its other half says nothing."""
    for mark in '"`':
        if text.count(mark) % 2:
            text = text.replace(mark, "")
    return text


def _without_lead(sentence: str) -> str:
    for _ in range(6):
        shorter = _LABEL.sub("", LEAD.sub("", sentence, count=1))
        if shorter == sentence or not shorter.strip():
            break
        sentence = shorter
    return sentence


def _names_subject(text: str) -> bool:
    """Two words that may name one, or a name as programs have it."""
    return bool(terms.names(text)) or len(set(terms.content(text))) >= 2 or is_foreign(text)


def _filled(said: str, topics: Sequence[str]) -> str:
    """With a topic behind it where it is short."""
    for topic in topics:
        if len(said.split()) >= FEWEST or is_foreign(said):
            break
        if topic.casefold() not in said.casefold():
            said = f"{said}: {topic}" if said and ":" not in said else f"{said} {topic}".strip()
    return " ".join(said.split()[:MOST])
