"""The languages that are known, and which of them a text is in. English where nothing speaks for another."""

from __future__ import annotations

import re
from functools import cache

from recollect.capture.language import Language

CODES = ("en", "de", "fr", "es", "pt", "ru", "vi", "ja", "zh")
_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u4e00-\u9fff]")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]{2}")
_VIETNAMESE = re.compile(r"[\u0103\u0111\u01a1\u01b0\u1ea0-\u1ef9]")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_SAMPLE_CHARS = 2_000


# By these the languages that share a script are told apart.
_COMMON = {
    "en": "the a an is are we our you i to of in on for and or not no use using please don't it this that with from as at be"
    " but by can do does has have if my one so was what when which will would yes ok let lets fix add make run test check"
    " should could",
    "de": "der das und ist nicht wir ihr ich du ein eine einen für mit auf im bitte immer nie nein ja wenn dass"
    " auch hier aber noch nur unser unsere unseren alle kein keine ab jetzt läuft warum wie wäre schreib",
    "fr": "le la les un une des et est pas nous je tu vous il pour avec dans sur en du au ce cette ces que qui ici"
    " toujours jamais non oui s'il stp svp c'est n'utilise d'abord pourquoi ajoute préfère désormais l'app",
    "es": "el la los las un una y es se nosotros yo tú para con en de del al por que este esta aquí siempre nunca sí"
    " qué cómo porque cuando pero más usa usamos usar los nombres prefiero escribe así repo ahora hagas llamo",
    "pt": "os um uma é não nós eu você pra com em da dos das na por que este esta isso aqui sempre"
    " nunca sim como quando mas mais usa usamos prefiro escreva agora também meu nome faça diante chame gente direto",
}
_WORDS = {code: frozenset(words.split()) for code, words in _COMMON.items()}


def spoken(text: str) -> Language:
    sample = text[:_SAMPLE_CHARS].lower().replace("\u2019", "'")
    if _KANA.search(sample):
        return language("ja")
    if _HAN.search(sample):
        return language("zh")
    if _CYRILLIC.search(sample):
        return language("ru")
    if _VIETNAMESE.search(sample):
        return language("vi")
    said = _WORD.findall(sample)
    counts = {code: sum(word in words for word in said) for code, words in _WORDS.items()}
    best = max(counts, key=lambda code: counts[code])
    return language(best if counts[best] else "en")


@cache
def language(code: str) -> Language:
    """Compiled when it is first heard: the tables of one language cost a third of a second."""
    match code:
        case "de":
            from recollect.capture.languages.de import GERMAN as found
        case "fr":
            from recollect.capture.languages.fr import FRENCH as found
        case "es":
            from recollect.capture.languages.es import SPANISH as found
        case "pt":
            from recollect.capture.languages.pt import PORTUGUESE as found
        case "ru":
            from recollect.capture.languages.ru import RUSSIAN as found
        case "vi":
            from recollect.capture.languages.vi import VIETNAMESE as found
        case "ja":
            from recollect.capture.languages.ja import JAPANESE as found
        case "zh":
            from recollect.capture.languages.zh import CHINESE as found
        case _:
            from recollect.capture.languages.en import ENGLISH as found
    return found
