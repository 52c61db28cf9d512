"""A title of three to eight words that names the subject of a piece of work.

Out of the person's own words where they name one, else out of what was done: "fix it" is no title.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.base.text import clip
from recollect.capture import terms
from recollect.model.record import Record

FEWEST, MOST = 3, 8
MOST_CHARS = 80
_LOOKED_AT = 300
# What people say before they say what they want.
_LEAD = re.compile(
    r"^(?:(?:next (?:thing|up|task)|by the way|separate (?:task|thing|issue)|(?:a )?different (?:thing|topic|subject)|"
    r"another (?:one|thing)|one more thing|new (?:task|feature|topic)|quick question|hi|hey|hello|ok|okay|so|now|and|"
    r"also|well|yes|right|btw|fyi|please|pls|unrelated|alright|thanks?|great|first|next|question|then|continue with|"
    r"still)\b[\s,:;.!–—-]*"
    r"|(?:can|could|would|will) (?:you|we|u)\b(?: please)?(?: (?:also|just|quickly|maybe))?\s+"
    r"|(?:i|we)(?:'d| would) (?:like|rather|love)(?: (?:you )?to)?\s+|(?:i|we) (?:want|need)(?: you)?(?: to)?\s+"
    r"|(?:i think|i guess|it seems|it looks like|maybe|let's|let us|let me|please|just|go ahead and|have a look at|"
    r"take a look at|look at|help me(?: to)?)\s+)",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;:.!?\n(]\s|\s[–—-]\s|\s(?:because|so that|so|since|although|while|but|and then|which)\s")
_EDGE = frozenset(
    "a about after an and are as at be before but by can could did do does doesn't don't for from get gets had has "
    "have if in into is isn't it its may my never not of off on once or our out over per should since so some than "
    "that the their then this to too under until up very was we were when where which will with would your".split()
)
_STRIP = " \t\"'\u201c\u201d\u2018’.,:;!?-–—()[]{}*#>"


def title(record: Record, topics: Sequence[str]) -> str:
    """What was asked for, where that names a subject; else what came of it; else the topics alone."""
    for said in (record.asked, record.ended, record.found, record.said[:_LOOKED_AT]):
        for sentence in list(terms.sentences(said))[:4]:
            found = _from_sentence(sentence[:_LOOKED_AT])
            if found:
                return clip(_filled(found, topics), MOST_CHARS)
    return clip(_filled(" and ".join(topics[:2]), topics[2:]) or "Untitled work", MOST_CHARS)


def _from_sentence(sentence: str) -> str:
    """Empty: it names no subject."""
    plain = _without_lead(sentence)
    for clause in (_first_clause(plain), plain):
        words = clause.split()[:MOST]
        while words and words[-1].strip(_STRIP).casefold() in _EDGE:
            words.pop()
        said = _closed(" ".join(words).strip(_STRIP))
        if _names_subject(said):
            return said[:1].upper() + said[1:]
    return ""


def _closed(text: str) -> str:
    """A quotation mark without its other half says nothing."""
    for mark in '"`':
        if text.count(mark) % 2:
            text = text.replace(mark, "")
    return text


def _without_lead(sentence: str) -> str:
    for _ in range(4):
        shorter = _LEAD.sub("", sentence, count=1)
        if shorter == sentence:
            break
        sentence = shorter
    return sentence


def _first_clause(text: str) -> str:
    for found in _CLAUSE.finditer(text):
        clause = text[: found.start()]
        if len(clause.split()) >= FEWEST and _names_subject(clause):
            return clause
    return text


def _names_subject(text: str) -> bool:
    """Two words that may name one, or a name as programs have it."""
    return bool(terms.names(text)) or len(set(terms.content(text))) >= 2


def _filled(said: str, topics: Sequence[str]) -> str:
    """With a topic behind it where it is short."""
    for topic in topics:
        if len(said.split()) >= FEWEST:
            break
        if topic.casefold() not in said.casefold():
            said = f"{said}: {topic}" if said and ":" not in said else f"{said} {topic}".strip()
    return " ".join(said.split()[:MOST])
