"""A title of three to eight words that names the matter of a piece of work.

Several phrases are taken out of its first records (the plan's heading, the subject of the commit, what was asked, how
it ended, what was found), each worded like a headline, and the one that best stands alone is taken: it names
something, leans on nothing, is whole.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice

from recollect.base.text import clip
from recollect.capture import terms
from recollect.capture.languages.title_cues import (
    ASKING,
    BEFORE_MAIN,
    BREAK,
    CLAUSE,
    DONE_TO,
    EDGE,
    FILLER,
    GENERIC,
    IMPERATIVES,
    LEAD,
    LEANS,
    LINKS,
    LOOSE_LINKS,
    NEXT_CLAUSE,
    POINTS,
    REQUESTS,
    STARTS,
    TAIL,
    TELLS,
    VAGUE,
    VERBS,
)
from recollect.capture.sentence import PLAN, is_foreign, is_talk
from recollect.model.record import Record

FEWEST, MOST = 3, 8
MOST_CHARS = 80
_MOST_FOREIGN_CHARS = 30
EARLY = 5
"""Records that a title may be made from: later ones are of what came of it."""
_LOOKED_AT = 300
_SAID_LOOKED_AT = 1_500
_MOST_CENTRAL = 10.0
_SENTENCES = 4
_HEADING, _COMMITTED, _ASKED, _ENDED, _FOUND, _SAID = 8.0, 2.3, 2.1, 1.2, 0.8, 0.3
_TO_A_LIST = 0.8
_ORDER, _ADVICE = 1.1, 0.5
"""More for what was asked to be done, or was; less for what an agent tells the person to do."""
_LATER, _LATER_SENTENCE = 0.8, 0.3
_AT_BREAK, _AT_CLAUSE, _LATER_CLAUSE, _AT_LINK, _AT_LOOSE_LINK, _ANYWHERE = 0.2, 0.3, 1.3, 0.7, 1.2, 3.5
"""What it costs to cut a sentence there."""
_WEAK = 1.5
"""A phrase of less worth is followed by what it is about."""
_CHORE = re.compile(r"(?:docs|chore|style|test|ci|build|release)(?:\([^)]*\))?!?:", re.IGNORECASE)
_OF_CHORE = 1.2
_CONVENTIONAL = re.compile(
    r"^\w+(?:\([^)]*\))?!?:\s*(?=\S+ \S)|\s*\(?(?:(?:closes|fixes|refs) )?#\d+\)?\s*$", re.IGNORECASE
)
_COMMIT = re.compile(r'git commit -m "([^"]{6,})"|gh pr create [^;]*?--title "([^"]{6,})"')
_PATH = re.compile(r"(?:~?/)?(?:[\w@.-]+/){2,}([\w@.-]+\w)(?::\d[\d:,-]*)?|(?<=\.\w\w):\d[\d:,-]*")
_LABEL = re.compile(r"^(?:\d+[.):]|[-\u2013\u2014])\s+|^(?:[^\W\d_]+ ){0,2}[^\W\d_]+:\s+(?=\S+ \S+ \S)")
_JUNK = re.compile(
    r"https?://\S+|</?[a-zA-Z][^<>]{0,200}>|\*\*|^`?[\w@.-]*[./][\w@./:,-]*`?(?:\s*\([^)]*\))?\s*(?:[-\u2013\u2014:]+|\u2192)\s+|\[Image[^\]]*\]"
    r"|[\u2713\u2714\u2705\u274c\u2022\u25cf\u276f\u26a0\ufe0f\u23bf\u2570\u256d\u2502]+"
)
_ARTICLE = re.compile(r"^(?:the|an?|el|la|los|las|le|les|der|die|das) (?=\S+ \S)", re.IGNORECASE)
_ONLY_CODE = re.compile(r"`[^`]*`|[^\w\s`]*\S+[^\w\s`]*")
_LOG = re.compile(r"\s\[(?:\d{1,2}:\d\d|[A-Z]\w+\] )")
"""Where a pasted log begins."""
_SHELL = re.compile(r"\W*[\u279c\u276f$%>] ")
_CODE_LINE = re.compile(r"//|[{}=|]|^\W*$")
_AND_DONE = re.compile(r"^and (\w+) ")
_DESCRIBES = re.compile(r"(?:\w+ ){1,2}(?:is|are|was|were|has|have|can|should|will|may)\b")
_ASIDE = re.compile(r"\s\([^()]*\)")
_STRIP = " \t\"'\u201c\u201d\u2018’.,:;!?-–—()[]{}*#>|=+&/\\\u3002\uff0c\uff01\uff1f\uff1a\u3001"
_START_STRIP = " \t.,:;!?–—)]}*#>|=+&\u3002\uff0c\uff01\uff1f\uff1a\u3001"
_END_STRIP = " \t.,:;!?-–—([{*#>|=+&\\\u3002\uff0c\uff01\uff1f\uff1a\u3001"


def title(records: Sequence[Record], topics: Sequence[str] = ()) -> str:
    """Of the phrases in the first records, the one that names the matter best; else the topics alone."""
    best, score = "", 0.0
    said = Counter(word for record in records[:EARLY] for word in _words(record))
    for number, record in enumerate(records[:EARLY]):
        for phrase, bonus in _phrases(record):
            worth = bonus + _worth(phrase, said) - _LATER * number if phrase else 0.0
            if worth > score:
                best, score = phrase, worth
    if not best:
        best = " and ".join(topics[:2]) or _fallback(records)
    is_vague = not terms.names(best) and len(set(terms.content(best)) - VAGUE) < FEWEST
    if not is_foreign(best) and (score < _WEAK or is_vague or len(best.split()) < FEWEST):
        best = _completed(best, topics)
    return clip(best, MOST_CHARS)


def _fallback(records: Sequence[Record]) -> str:
    for record in records[:EARLY]:
        for text in (record.asked, record.ended, record.found, record.changed, record.ran):
            words = _JUNK.sub(" ", text[:_LOOKED_AT]).split()[:MOST]
            if any(any(char.isalnum() for char in word) for word in words):
                return _capital(" ".join(words).strip(_STRIP)) or "Work"
    return "Work"


def _completed(phrase: str, topics: Sequence[str]) -> str:
    """With the first topic that it does not name behind it, where there is room."""
    for topic in topics:
        fits = len(phrase.split()) + len(topic.split()) <= MOST and len(phrase) + len(topic) + 2 <= MOST_CHARS
        if fits and topic.casefold() not in phrase.casefold():
            return f"{phrase}: {topic}" if phrase else topic
    return phrase


def _phrases(record: Record) -> Iterator[tuple[str, float]]:
    """Each with what it is worth by where it stands and how much of it was cut."""
    if record.asked.startswith(PLAN):
        yield _headline(record.asked.removeprefix(PLAN))[0], _HEADING
    for subject in (one or other for one, other in _COMMIT.findall(record.ran)):
        text, is_whole = _CONVENTIONAL.sub("", subject.rstrip("\u2026")), not subject.endswith("\u2026")
        phrase, cost = _headline(text, is_whole=is_whole, is_request=True)
        yield phrase, _COMMITTED - cost - (_OF_CHORE if _CHORE.match(subject) else 0.0)
    asked = _LOG.split(record.asked.removeprefix(PLAN), maxsplit=1)[0]
    texts = ((asked, _ASKED), (record.ended, _ENDED), (record.found, _FOUND), (record.said, _SAID))
    for text, bonus in texts:
        for number, sentence in enumerate(islice(terms.sentences(text), _SENTENCES)):
            if _SHELL.match(sentence) or (bonus == _SAID and _CODE_LINE.search(sentence)):
                continue
            for clause, loss in _clauses(sentence[:_LOOKED_AT].replace("\u2019", "'")):
                phrase, cost = _headline(clause, is_whole=len(sentence) <= _LOOKED_AT, is_request=bonus == _ASKED)
                yield phrase, bonus - cost - loss - _LATER_SENTENCE * number


def _clauses(sentence: str) -> Iterator[tuple[str, float]]:
    """A sentence without what leads up to it; and its later parts, at a loss."""
    loss = _TO_A_LIST if sentence.endswith((":", "\uff1a")) else 0.0
    plain = _without_lead(_ASIDE.sub("", sentence))
    main = _without_lead(BEFORE_MAIN.sub("", plain))
    found = dict.fromkeys((plain, main), loss)
    for part in islice(NEXT_CLAUSE.split(main), 1, 4):
        found.setdefault(_without_lead(part), loss + _LATER_CLAUSE)
    yield from found.items()


def _headline(text: str, *, is_whole: bool = True, is_request: bool = False) -> tuple[str, float]:
    """As a headline has it, and what that costs. Empty: it makes none."""
    plain = TAIL.sub("", _PATH.sub(r"\1", _ASIDE.sub("", _JUNK.sub(" ", text).strip())))
    plain = _ARTICLE.sub("", plain.lstrip(_START_STRIP))
    told, gain = _as_order(plain)
    if plain.split(" ", 1)[0].casefold() in REQUESTS:
        gain = _ORDER if is_request else -_ADVICE
    said, cost = _shortened(told, is_whole=is_whole)
    is_phrase = _names_subject(said) or len(said.split()) > 1
    return _capital(said) if is_phrase else "", cost - gain


def _as_order(text: str) -> tuple[str, float]:
    """`Added a retry` and `A retry has been added` say `Add a retry`. And how much that is worth."""
    if (passive := DONE_TO.match(text)) and (verb := IMPERATIVES.get(passive["verb"].casefold())):
        return f"{verb} {passive['what']}{passive['rest'].lstrip()}", _ORDER
    first, _, rest = text.partition(" ")
    if rest and not _DESCRIBES.match(rest) and (verb := IMPERATIVES.get(first.casefold())):
        return f"{verb} {_AND_DONE.sub(_also, rest)}", _ORDER
    told = TELLS.match(text)
    for verb in (told[1], f"{told[1]}e") if told else ():
        if verb.casefold() in VERBS:
            return f"{verb} {rest}", -0.5
    return text, 0.0


def _also(done: re.Match[str]) -> str:
    """`Created and tested` says `Create and test`."""
    return f"and {IMPERATIVES.get(done[1].casefold(), done[1]).lower()} "


def _shortened(text: str, *, is_whole: bool) -> tuple[str, float]:
    """To at most eight words: without asides and small words, else cut where a part of the sentence ends."""
    cost = 0.0
    if end := next((at for at in _ends(BREAK, text) if _names_subject(text[:at])), 0):
        text, cost, is_whole = text[:end], _AT_BREAK if text[end:].strip(_STRIP) else 0.0, True
    if is_foreign(text):
        return (text, cost) if len(text) <= _MOST_FOREIGN_CHARS else (clip(text, _MOST_FOREIGN_CHARS), _AT_LINK)
    if is_whole and (said := _fitted(text)):
        return said, cost
    ends = list(_ends(CLAUSE, text))
    for end in reversed(ends):
        said = _fitted(text[:end])
        is_half = " only " in said  # what it is limited to stood behind the cut
        if said and not is_half and len(said.split()) >= FEWEST and _names_subject(said):
            return said, _AT_CLAUSE
    short = _headline_words(text[: ends[0]] if ends and _names_subject(text[: ends[0]]) else text)
    for links, cost in ((LINKS, _AT_LINK), (LOOSE_LINKS, _AT_LOOSE_LINK)):
        for at in range(min(MOST, len(short) - 1), 1, -1):
            said = _closed(short[:at])
            is_enough = terms.names(said) or len(said.split()) >= FEWEST
            if (
                (short[at].strip(_STRIP) or short[at]).casefold() in links
                and said
                and is_enough
                and _names_subject(said)
            ):
                return said, cost
    return _closed(short[:MOST]), _ANYWHERE


def _ends(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    """Where it may be cut: not inside quotation marks."""
    for found in pattern.finditer(text):
        before = text[: found.start()]
        if before.count("`") % 2 == before.count('"') % 2 == 0:
            yield found.start()


def _fitted(text: str) -> str:
    """Empty: it is too long, or no phrase."""
    for words in (text.split(), _headline_words(text)):
        if len(words) <= MOST:
            return _closed(words)
    return ""


def _headline_words(text: str) -> list[str]:
    return [word for word in text.split() if word.casefold() not in FILLER]


def _closed(words: list[str]) -> str:
    """Without the word that leans on the next one, and without half a pair of marks. Empty: it is too long."""
    words = list(words)
    while words and words[-1].strip(_STRIP).casefold() in EDGE:
        words.pop()
    text = " ".join(words).rstrip(_END_STRIP)
    for mark in '"`':
        if text.count(mark) % 2:
            text = text.replace(mark, "")
    for start, end in ("()", "[]", "{}"):
        if text.count(start) != text.count(end):
            text = text.replace(start, "").replace(end, "")
    return text if len(text) <= MOST_CHARS else ""


def _words(record: Record) -> Iterator[str]:
    files = " ".join(terms.stem_of(file) for file in record.changed.split(", "))
    for text in (record.asked, record.found, record.ended, files, record.said[:_SAID_LOOKED_AT]):
        yield from terms.content(text)


def _worth(phrase: str, said: Counter[str]) -> float:
    """How well it names something by itself, and how much of what is spoken of again and again."""
    words = [word.strip(_STRIP).casefold() for word in phrase.split()]
    content = set(terms.content(phrase)) - VAGUE
    worth = 0.2 * min(len(content), 5) + (0.8 if terms.names(phrase) else 0.0)
    worth += 0.25 * min(_MOST_CENTRAL, sum(min(3.0, math.log2(1 + said[word])) for word in content))
    worth -= 1.5 if _ONLY_CODE.fullmatch(phrase) else 0.0
    worth -= 2.5 if LEANS.match(phrase) else 0.0
    worth -= 2.0 if words[0].split("'")[0] in ("i", "we") else 0.0
    worth -= 1.2 if ASKING.match(phrase) else 0.0
    worth -= 2.0 if GENERIC.match(phrase) or is_talk(phrase) else 0.0
    worth -= 1.5 if words[0] in STARTS else 0.0
    if not is_foreign(phrase):
        worth -= 0.8 if len(words) < FEWEST else 0.0
        worth -= 1.5 if len(content) < 2 and not terms.names(phrase) else 0.0
    worth -= 1.3 * sum(word in POINTS for word in words)
    return worth


def _capital(text: str) -> str:
    first = text.split(" ", 1)[0]
    return text if terms.names(first) or re.search(r"[\d_.()/]", first) else text[:1].upper() + text[1:]


def _without_lead(sentence: str) -> str:
    for _ in range(6):
        shorter = _LABEL.sub("", LEAD.sub("", sentence.lstrip("\u00bf\u00a1 "), count=1))
        if shorter == sentence or not shorter.strip():
            break
        sentence = shorter
    return sentence


def _names_subject(text: str) -> bool:
    """Two words that may name one, or a name as programs have it."""
    return bool(terms.names(text)) or len(set(terms.content(text))) >= 2 or is_foreign(text)
