"""Did a person speak for a fix? He named it between the failure and what mended it, or said after it that this is how
things are done here, or that it is to be remembered. One word of his is worth a second session.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from recollect.capture.mask import masked
from recollect.capture.pairs import Pair
from recollect.capture.reasks import is_re_ask
from recollect.model.act import Act, Speaker
from recollect.model.command import SPEECH
from recollect.model.lesson import How

_MOST_CHARS = 600
"""A longer text is a plan or a log: it names a lot of things."""
_LAST_ACTS = 40
"""How far behind the fix a word may still speak of it."""
_SAYS_SO = re.compile(
    r"\b(?:that(?:'s| is)|this is|it(?:'s| is)) how (?:it|things|we|this|you)\b"
    r"|\b(?:remember|memori[sz]e|keep) (?:that|this|it)\b|\bkeep (?:that |this )?in mind\b"
    r"|\bnote (?:of )?(?:that|this)\b"
    r"|\bdon'?t forget (?:that|this)\b|\bso (?:geht|läuft|machen wir) (?:das|es)\b|\bmerk(?:e)? dir das\b"
    r"|\b(?:así|asi) (?:es como )?(?:funciona|se hace)\b|\brecuérdalo\b|\brecuerda (?:eso|esto)\b"
    r"|\bc'est comme ça\b|\b(?:souviens-toi|retiens) (?:de )?(?:ça|cela|ceci)\b|\bretiens-le\b"
    r"|\bзапомни\b|\bтак (?:и|это) (?:работает|делается)\b|\bghi nhớ\b|\bnhớ (?:điều này|nhé)\b"  # noqa: RUF001
    r"|覚えて(?:おいて)?|そういうもの|记住|記住|就是这样",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"(?:\b(?:not|don'?t|never|no|without|instead of|rather than|stop|nicht|kein\w*|nie|sin|nunca|pas|jamais|sans"
    r"|не|без|đừng|không)|不要|别|不用)\W+(?:\w+\W+){0,4}$",
    re.IGNORECASE,
)
# Words of commands that anybody says without meaning the command.
_COMMON = frozenset(
    """a all and app as at build cd check ci dev do env exec for from get go in install is it main make new node of on
    or run server set start test tests the then to up update use with""".split()
)


def confirmed_at(pair: Pair, acts: Sequence[Act]) -> int | None:
    """Where the person says so; None: nowhere."""
    for number in range(pair.first + 1, min(len(acts), pair.at + _LAST_ACTS)):
        act = acts[number]
        if (
            act.speaker is not Speaker.PERSON
            or act.agent
            or len(act.text) > _MOST_CHARS
            or act.text.rstrip().endswith("?")
        ):
            continue
        after = number > pair.at
        if after and is_re_ask(act.text):
            return None
        if _names_fix(act.text, pair) or (after and _is_next(number, pair, acts) and _SAYS_SO.search(masked(act.text))):
            return number
    return None


def _is_next(number: int, pair: Pair, acts: Sequence[Act]) -> bool:
    """Nobody spoke between the fix and these words."""
    return all(act.speaker is not Speaker.PERSON for act in acts[pair.at + 1 : number])


def _names_fix(text: str, pair: Pair) -> bool:
    lesson = pair.lesson
    if lesson.how not in (How.INSTEAD, How.AFTER):
        return False
    said = text.casefold()
    new = [word for word in lesson.fix.split() if lesson.how is How.AFTER or word not in lesson.failed.split()]
    named = [word.strip("\"'=").casefold() for word in new if not word.startswith("-") and word not in (SPEECH, "&&")]
    named = [part for word in named for part in word.split("=") if part not in _COMMON]
    if not named:
        return lesson.fix.casefold() in said
    # The runner's own name goes without saying: "use the ml env" is `conda run -n ml`.
    needed = [word for word in named if word not in _RUNNERS] or named
    return all(_is_said(word, said) for word in needed)


def _is_said(word: str, said: str) -> bool:
    found = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", said)
    return found is not None and _AGAINST.search(said[: found.start()]) is None


_RUNNERS = frozenset("activate bash compose conda docker exec export mamba mise nvm poetry psql source sudo uv".split())
