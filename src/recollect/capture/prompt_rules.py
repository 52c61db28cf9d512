"""The rules that a prompt states, worded as they were typed ("we use X" becomes "Use X"). Each sentence is weighed by
its form, a sum of named signals (data/<language>.toml), and by its words, log odds learned by tools/train_capture.py.
Where both are sure, the rule is in force at once; where one is, it waits in the inbox. The text is redacted already."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import islice
from math import inf, sqrt
from typing import NamedTuple

from recollect.base.structs import replace
from recollect.base.text import clip, one_line
from recollect.capture import dictated_rules, prompt_text
from recollect.capture.memory_commands import (
    ASKED,
    NOT_A_RULE,
    MemoryCommand,
    read_memory_command,
)
from recollect.capture.prompt_text import NOTHING_LASTING, Action, Draft, FoundRule, Piece
from recollect.capture.tables import Language, Patterns, language, language_code, table
from recollect.model.memory import RuleType
from recollect.model.result import Scope
from recollect.redact import is_all_hidden

MAX_CHARS = 20_000  # of a longer prompt only its ends are looked at: the middle is a paste
_HEAD_CHARS, _SHORT_WORDS, _MAX_RULE_CHARS = 2_000, 4, 400
_MAX_TAIL_CHARS = 120  # of "please", "thanks" and the like, which are left out of a rule
# A prompt that is longer is a specification, a plan or a paste: nobody tells a rule in passing there.
_LONG_WORDS, _LONG_SENTENCES, _LONG_LIST = 200, 14, 5
# Of a text of more sentences only those at its ends are weighed: at best one of them waits in the inbox.
_MAX_SENTENCES = 100
_LONG = "in a long text, which reads like a specification or a paste"
_LIST_ITEM = re.compile(r"^[^\S\n]*+(?:[-*\u2022+]|\d{1,2}[.)]|#{1,6})\s+\S", re.MULTILINE)
_SENTENCE_ENDS = (".", "!", "?", "\u3002", "\uff01", "\uff1f")

# A path, a file, an address, a constant or a call: whoever names one speaks of this project, even as "I want ...".
_THING_OF_A_PROJECT = re.compile(
    r"https?://|(?<![\w/])(?:\.{0,2}/)?\w[\w.-]*/(?:[\w.-]+/|[\w-]+\.\w)|(?<![\w/])[\w-]{2,}/(?:\s|[.,;]|$)"
    r"|(?<![\w/])(?:src|test|tests|lib|app|apps|packages|docs|api|web)/\w"
    r"|(?<![\w.-])[\w-]{1,60}(?:\.[\w-]{1,60}){1,4}\.[a-z]{2,}\b|\b[A-Z]{2,}_[A-Z_]+\b|\b\w{1,60}\(\)"
)

# Scores of the form.
STORE = 4.0  # from here on a rule is in force at once
STORE_IF_FIRM = 3.0  # the same, where its form is unmistakable
INBOX = 2.5  # from here on it waits for the person
_SPEAKS_FOR, _PLAIN = (
    1.0,
    6.0,
)  # from here on the form speaks for a rule at all, and it is as good as said
_BACKED = 3.0  # added to a sentence that the next one makes lasting

# Log odds of the learned judge, at the real base rate, from which a rule is in force.
SURE_IF_EXPLICIT = -2.8  # where it says itself that it is to last, or all of its form does
SURE_IF_FIRM = -2.5
SURE_IF_LIKE_A_RULE = 0.5  # by its form, though another kind of sentence might look so, too
SURE_BY_WORDS = 2.0  # where the form is not that of a rule, but speaks for one
WAITS = 0.2  # from here on it waits in the inbox, whatever its form

# Signals, of whatever language, that say in so many words that something is to last.
_EXPLICIT = frozenset(("says it is to last", "asks to remember it", "a name"))
_QUESTION, _TASK, _MADE_LASTING = "a question", "a task", "what follows makes it lasting"
_COMPLAINT, _OF_THE_PRODUCT = "what was done, not what is to be done", "what a thing has to do"
_DICTATED = "asks to remember it"
# These rule out even a sentence that says itself that it is to last.
_HARD_VETOES = frozenset(
    (
        _QUESTION,
        "an order for this once",
        "somebody else's words",
        "said again of what was asked for",
        "a permission",
    )
)
# These do not count against an unmistakable form: "stop adding notes, I never read them".
_SOFT_VETOES = frozenset(("an idiom", "a story"))

WEIGHTS = "judge_weights.json"
JUDGED_LANGUAGES = ("en", "de", "es", "fr", "pt", "ru", "vi")
_MAX_TOKENS = 120  # of one sentence
_STEM_CHARS, _MANY = 5, 5
_NO_SHARE = 128  # shares are bytes; this one stands for none at all
_CUES = Patterns("judge")


def find_rules(text: str) -> Draft:
    """The rules that a prompt dictates ("remember: ..."), and those that it states besides."""
    if command := read_memory_command(text):
        return _told_outright(command)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    dictation = dictated_rules.take_out(_ends_of(text))
    if not dictation.rules:
        return _find_stated(dictation.rest)
    draft = _find_stated(dictation.rest)
    dictated = tuple(_dictated_rule(draft, words) for words in dictation.rules)
    found = (*dictated, *draft.found)
    return replace(draft, found=found, dropped="", left_out=dictation.left_out)


def _ends_of(text: str) -> str:
    """All of a text that may have been typed; of a longer one its beginning and its end."""
    if len(text) <= MAX_CHARS:
        return text
    return f"{text[: MAX_CHARS // 2]}\n\n{text[-(MAX_CHARS // 2) :]}"


def _dictated_rule(draft: Draft, words: str) -> FoundRule:
    """In force at once; in a text that reads like a paste the line may be somebody else's, and waits."""
    rule_type = RuleType.DEVOPS if draft.language.has("devops", words) else RuleType.PREFERENCE
    action, reason = Action.STORED, _DICTATED
    if draft.whole:
        action, reason = Action.INBOX, draft.whole
    return FoundRule(
        rule=words,
        rule_type=rule_type,
        scope=scope_of(draft, words),
        action=action,
        reason=reason,
        score=_PLAIN,
        span=words,
        is_dictated=True,
    )


def _find_stated(text: str) -> Draft:
    """The rules that the sentences of a prompt state by their form and their words."""
    draft = judge_prompt(text)
    if draft.dropped:
        return draft
    rules = [
        rule
        for number in range(len(draft.pieces))
        if (rule := _found_rule(draft, number)) and rule.rule
    ]
    kept = tuple(rule for rule in rules if rule.action is not Action.DROPPED)
    refused = tuple(rule for rule in rules if rule.action is Action.DROPPED)
    nearest = max(draft.pieces, key=lambda piece: piece.score)
    why = draft.whole or (nearest.veto if nearest.score > 0 else "")
    why = why or next((piece.veto for piece in draft.pieces if piece.veto), NOTHING_LASTING)
    return replace(draft, found=kept, refused=refused, dropped="" if kept else why)


def _told_outright(command: MemoryCommand) -> Draft:
    """The words of `/memory remember` are the rule; only its type and reach are read from them."""
    if not command.is_rule:
        return judge_prompt("").drop(NOT_A_RULE)
    if is_all_hidden(command.words):
        return judge_prompt("")
    draft = find_rules(command.words)
    judged = draft.verdict
    rule = FoundRule(
        rule=one_line(command.words),
        rule_type=judged.rule_type or RuleType.PREFERENCE,
        scope=judged.scope,
        action=Action.STORED,
        reason=ASKED,
        score=STORE,
        span=command.words,
    )
    return replace(draft, found=(rule,), refused=(), dropped="")


def judge_prompt(text: str) -> Draft:
    """Cleaned, masked, cut, each sentence weighed; no rule is worded yet."""
    spoken = language(language_code(text))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2019", "'")
    text = text.replace(prompt_text.BLOT, " ").replace(prompt_text.QUOTE, " ").expandtabs(4).strip()
    text = _ends_of(text)
    if not any(map(str.isalpha, text)):
        return Draft(text, spoken, dropped="no words")
    seen = prompt_text.masked(text)
    pieces = prompt_text.sentences(text, seen)
    if not pieces or not any(map(str.isalpha, seen)):
        return Draft(text, spoken, dropped="pasted or quoted text alone")
    ends = (seen[:_HEAD_CHARS], seen[-_HEAD_CHARS:])
    whole = next(
        (why for why, pattern in spoken.whole_prompt.items() if any(map(pattern.search, ends))), ""
    )
    own = prompt_text.spoken_text(text, seen)
    words = len(own.split()) if own.isascii() else max(len(own.split()), len(own) // 5)
    is_list = len(_LIST_ITEM.findall(seen)) >= _LONG_LIST and not prompt_text.is_own_list(seen)
    is_long = words > _LONG_WORDS or len(pieces) > _LONG_SENTENCES or is_list
    if len(pieces) > _MAX_SENTENCES:
        pieces = pieces[: _MAX_SENTENCES // 2] + pieces[-(_MAX_SENTENCES // 2) :]
    return Draft(text, spoken, seen, _weigh(pieces, spoken), whole or (_LONG if is_long else ""))


def scope_of(draft: Draft, text: str) -> Scope:
    language = draft.language
    is_everywhere = _head_has(language.code, "everywhere", draft.seen[:_HEAD_CHARS])
    is_here = language.has("project", text) or _THING_OF_A_PROJECT.search(text) is not None
    is_own = language.has("user", text) and not is_here
    return Scope.USER if is_everywhere or is_own else Scope.PROJECT


@lru_cache(maxsize=2)
def _head_has(code: str, name: str, head: str) -> bool:
    """Asked for each rule of a prompt, and the answer is the same for all of them."""
    return language(code).has(name, head)


def word_rule(sentences: Iterable[str], language: Language) -> str:
    """Each capitalised, with a full stop. What is not as certain as "we use X" is left as it was typed."""
    worded: list[str] = []
    for text in map(one_line, sentences):
        bare = text
        if "lead" in language.patterns:
            bare = language.patterns["lead"].sub("", bare)
        if "tail" in language.patterns:
            cut = max(0, len(bare) - _MAX_TAIL_CHARS)
            bare = bare[:cut] + language.patterns["tail"].sub("", bare[cut:])
        if "asides" in language.patterns:
            bare = language.patterns["asides"].sub("", bare)
        bare = bare.strip() or text
        for pattern, instead in language.rewrites:
            bare = pattern.sub(instead, bare, count=1)
        bare = re.sub(r"^[-\u2013\u2014]+\s+", "", bare.strip(" ,;:")).rstrip("-")
        # A bracket whose other half was cut away goes too.
        if bare.count("(") > bare.count(")"):
            bare = bare[1:] if bare.startswith("(") else bare + ")"
        elif bare.count(")") > bare.count("("):
            bare = bare[::-1].replace(")", "", 1)[::-1]
        first = next(iter(bare.split(maxsplit=1)), "")
        if (
            first.islower() and first.replace("'", "").rstrip(",").isalpha()
        ):  # a name keeps its case: `makeUser`, iOS
            bare = bare[0].upper() + bare[1:]
        if bare and not bare.endswith(_SENTENCE_ENDS):
            bare += "。" if re.search(r"[\u3040-\u30ff\u4e00-\u9fff]", bare) else "."
        worded.append(bare)
    return clip(" ".join(filter(None, worded)), _MAX_RULE_CHARS)


def _found_rule(draft: Draft, number: int) -> FoundRule | None:
    """None where the sentence does not even look like a rule."""
    piece = draft.pieces[number]
    if not is_like_a_rule(piece) or len(piece.text) > prompt_text.MAX_SENTENCE_CHARS:
        return None
    action, reason = action_of(piece), "; ".join(piece.signals) or "worded like a rule"
    if piece.veto:
        reason = piece.veto
    elif draft.whole:
        # At best one sentence waits: the likeliest of those that say themselves that they are to last.
        explicit = [one for one in draft.pieces if _is_explicit(one) and not one.veto]
        is_likeliest = piece is max(explicit, key=lambda one: one.score, default=None)
        action, reason = Action.INBOX if is_likeliest else Action.DROPPED, draft.whole
    run = _with_context(draft, number)
    span = draft.text[run[0].start : run[-1].start + len(run[-1].text)]
    rule = word_rule((one.text for one in run), draft.language)
    seen = " ".join(one.seen for one in run)
    rule_type = RuleType.DEVOPS if draft.language.has("devops", seen) else RuleType.PREFERENCE
    if _head_has(draft.language.code, "correction", draft.seen[:_HEAD_CHARS]):
        rule_type = RuleType.CORRECTION
    return FoundRule(rule, rule_type, scope_of(draft, seen), action, reason, piece.score, span)


def _with_context(draft: Draft, number: int) -> tuple[Piece, ...]:
    """The sentence, and those without which it says nothing: "We don't.", "Hands off that folder."."""
    pieces, language = draft.pieces, draft.language
    piece = pieces[number]

    def may_join(piece: Piece) -> bool:
        """Not what is a rule of its own, nor a question, nor a task."""
        is_plain = (
            not piece.veto
            and not is_like_a_rule(piece)
            and not {_TASK, "a wish"} & set(piece.signals)
        )
        return is_plain or piece.veto == _COMPLAINT

    is_short = piece.text.isascii() and len(one_line(piece.text).split()) <= _SHORT_WORDS
    if (
        number
        and (is_short or language.has("pointing", piece.seen))
        and may_join(pieces[number - 1])
    ):
        return pieces[number - 1 : number + 1]
    for following in pieces[number + 1 : number + 2]:
        is_part = language.has("back", following.seen) or (is_short and len(pieces) <= 3)
        if is_part and may_join(following):
            return piece, following
    return (piece,)


def action_of(piece: Piece) -> Action:
    if piece.veto or not is_like_a_rule(piece):
        return Action.DROPPED
    is_sure_form = piece.score >= (STORE_IF_FIRM if piece.firm else STORE)
    is_explicit = _is_explicit(piece)
    if piece.odds is None:
        return Action.STORED if is_sure_form else Action.INBOX
    if _TASK in piece.signals and piece.odds < SURE_IF_LIKE_A_RULE:
        return Action.INBOX
    if _MADE_LASTING in piece.signals or (
        is_explicit and ": " in piece.seen
    ):  # "remember this: ..."
        return Action.STORED
    if is_sure_form:
        least = SURE_IF_EXPLICIT if is_explicit or piece.score >= _PLAIN else SURE_IF_FIRM
    elif piece.score >= INBOX:
        least = SURE_IF_LIKE_A_RULE
    else:
        least = SURE_BY_WORDS if piece.score >= _SPEAKS_FOR else inf
    return Action.STORED if piece.odds >= least else Action.INBOX


def is_like_a_rule(piece: Piece) -> bool:
    return piece.score >= INBOX or (piece.odds is not None and piece.odds >= WAITS)


def _is_explicit(piece: Piece) -> bool:
    return not _EXPLICIT.isdisjoint(piece.signals)


def _weigh(pieces: Iterable[Piece], language: Language) -> tuple[Piece, ...]:
    judged = [piece if piece.veto else _weigh_form(piece, language) for piece in pieces]
    # "Same for all of them": a sentence that makes the one before it lasting says nothing by itself.
    for number, last in enumerate(judged):
        if last.veto in (_QUESTION, prompt_text.TOO_LONG) or not language.has("back", last.seen):
            continue
        before = next((n for n in range(number - 1, -1, -1) if judged[n].veto != _QUESTION), None)
        if before is None or judged[before].veto:
            judged[number] = replace(last, score=min(last.score, INBOX), firm=False)
            continue
        own = judged[before]
        signals = (*own.signals, _MADE_LASTING)
        judged[before] = replace(
            own, score=max(own.score, 0.0) + _BACKED, signals=signals, firm=True
        )
        if last.score < INBOX or _is_explicit(last):
            judged[number] = replace(last, score=0.0)
    for number in range(1, len(judged)):
        # "The importer must skip empty lines. Never throw.": an order to the importer.
        if _OF_THE_PRODUCT in judged[number - 1].signals and not _is_explicit(judged[number]):
            judged[number] = replace(
                judged[number], firm=False, score=min(judged[number].score, INBOX)
            )
    known = learned_judge(language.code)
    # It learned most from English. Elsewhere form decides where there is one, and words only add what waits.
    for number, piece in enumerate(judged):
        is_judged = language.code == "en" or piece.score < INBOX
        if known is not None and is_judged and piece.veto != prompt_text.TOO_LONG:
            judged[number] = replace(piece, odds=known.odds(traits(judged, number)))
    return tuple(judged)


def _weigh_form(piece: Piece, language: Language) -> Piece:
    seen = _CUES.polite_end.sub("", piece.seen)
    said = [signal for signal in language.signals if signal.pattern.search(seen)]
    firm = any(signal.firm for signal in said)
    said = [signal for signal in said if not (firm and signal.yields)]
    names = tuple(signal.name for signal in said)
    explicit = not _EXPLICIT.isdisjoint(names)
    found = (why for why, pattern in language.vetoes.items() if pattern.search(seen))
    veto = next(
        (
            why
            for why in found
            if why in _HARD_VETOES or not (explicit or (firm and why in _SOFT_VETOES))
        ),
        "",
    )
    if not veto and not firm and language.has("complaint", seen):
        veto = _COMPLAINT
    return replace(
        piece, score=sum(signal.weight for signal in said), signals=names, veto=veto, firm=firm
    )


class LearnedJudge(NamedTuple):
    bias: float
    scale: float
    shares: Mapping[str, int]

    def odds(self, traits: Iterable[str]) -> float:
        known = [share for share in map(self.shares.get, traits) if share is not None]
        return self.bias + (
            self.scale * (sum(known) - _NO_SHARE * len(known)) / sqrt(len(known)) if known else 0.0
        )


@cache
def learned_judge(code: str) -> LearnedJudge | None:
    return LearnedJudge(**table(WEIGHTS)) if code in JUDGED_LANGUAGES else None


def traits(pieces: Sequence[Piece], number: int) -> set[str]:
    """Of one sentence, which patterns have judged, among those around it."""
    piece = pieces[number]
    small, classes = _word_classes()
    words: list[str] = []
    for match in islice(_CUES.token.finditer(piece.seen), _MAX_TOKENS):
        kind, text = match.lastgroup, match.group()
        if kind == "word":  # a name with capitals inside, an underscore or a bracket is none
            is_name = text[1:] != text[1:].lower() and not text.isupper()
            words.append("<name>" if is_name else text.lower())
        else:  # paths and numbers are classes
            words.append(text if kind == "mark" else f"<{kind}>")
    bones = [
        word if word in small or not word[0].isalpha() else classes.get(word) or _ending(word)
        for word in words
    ]
    found = {
        *_runs(words, 2),
        *(f"~ {run}" for run in _runs(bones, 3)),
        *(f"!{signal}" for signal in piece.signals),
    }
    found.update(
        f"{word[:_STEM_CHARS]}*" for word in words if len(word) > _STEM_CHARS and word[0].isalpha()
    )
    found |= {
        f"#sentences {min(len(pieces), _MANY)}",
        f"#words {min(len(piece.seen.split()) // 6, _MANY)}",
    }
    if piece.veto:
        found.add(f"!not: {piece.veto}")
    if number and pieces[number - 1].seen.endswith("?"):
        found.add("#after a question")
    if number + 1 < len(pieces) and pieces[number + 1].seen.endswith("?"):
        found.add("#before a question")
    return found


def _runs(words: list[str], most: int) -> Iterator[str]:
    padded = ["^", *words, "$"]
    for size in range(1, most + 1):
        for start in range(len(padded) - size + 1):
            yield " ".join(padded[start : start + size])


def _ending(word: str) -> str:
    return next(
        (
            f"~{end}"
            for end in ("ing", "ed", "ly", "s")
            if word.endswith(end) and len(word) > len(end) + 2
        ),
        "~",
    )


@cache
def _word_classes() -> tuple[frozenset[str], dict[str, str]]:
    """The small words, and the class of each other word that has one; the first class that names a word counts."""
    read = table("judge.toml")
    classes = {
        word: name for name, words in reversed(read["classes"].items()) for word in words.split()
    }
    return frozenset(read["small"].split()), classes
