"""Prompts that the judge is unsure of: what a language model is asked of them, and what its answer may change.

Only what would wait for the person, or was dropped by a little, is worth a question. An answer counts only if it quotes
the person's own words; then what it quotes is a rule in force. "No" changes nothing: what waits, waits for the person.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from itertools import islice

from recollect.capture import judge, pipeline
from recollect.capture.draft import Action, Draft, Found, Piece, Reach, Sort
from recollect.capture.word import worded
from recollect.model.ask import Ask, Job

PROMPT = "capture-classify"
NEARLY = 2.0
"""Log odds below the bar of the inbox down to which a prompt is worth a question: beyond, the judge is sure."""
SECONDS = 60.0
_MOST_CHARS = 2_000
_MOST_ANSWER = 10_000
_TRIES = 20
_LEAST_WORDS, _MOST_QUOTE = 2, 400
_SORTS = {"preference": Sort.PREFERENCE, "correction": Sort.CORRECTION, "devops": Sort.DEVOPS}


def is_unsure(draft: Draft) -> bool:
    if any(found.action is Action.STORED for found in draft.found):
        return False
    if draft.found:
        return True
    if not draft.pieces or draft.whole:
        return False
    return any(_is_nearly(piece) for piece in draft.pieces if not piece.veto)


def _is_nearly(piece: Piece) -> bool:
    return piece.score > 0 if piece.odds is None else piece.odds > judge.WAITS - NEARLY


def question(draft: Draft) -> Ask:
    return Ask(Job.CLASSIFY, PROMPT, (("said", _own(draft)),), seconds=SECONDS)


def read_answer(text: str, draft: Draft) -> Draft:
    """The draft as it stands after the answer: with a rule in force, or without any."""
    quote, sort = _quoted(text)
    if len(quote.split()) < _LEAST_WORDS and quote.isascii():
        return draft.drop("a language model sees no rule in it")
    if _flat(quote) not in _flat(_own(draft)):
        return draft.drop("a language model quoted what was not said")
    waiting = [found for found in draft.found if _overlap(found.rule, quote)]
    if waiting:  # worded as it is in the inbox, so that it is known there
        return replace(draft, found=tuple(replace(one, action=Action.STORED) for one in waiting), dropped="")
    found = Found(
        rule=worded([quote], draft.language),
        sort=sort,
        reach=_reach(draft, quote),
        action=Action.STORED,
        reason="a language model took it for a rule",
        score=0.0,
    )
    return replace(draft, found=(found,), dropped="") if found.rule else draft.drop("nothing lasting is said")


def _quoted(text: str) -> tuple[str, Sort]:
    """What the answer quotes, where it says that it is a rule."""
    said = first_json(text[:_MOST_ANSWER])
    if not isinstance(said, dict) or said.get("rule") is not True or not isinstance(said.get("quote"), str):
        return "", Sort.NONE
    return said["quote"].strip()[:_MOST_QUOTE], _SORTS.get(str(said.get("type")), Sort.PREFERENCE)


def first_json(text: str) -> object:
    """The first JSON object or list in an answer: models put words or a fence around what was asked for."""
    reader = json.JSONDecoder()
    for found in islice(re.finditer(r"[{\[]", text), _TRIES):
        try:
            return reader.raw_decode(text, found.start())[0]
        except (ValueError, RecursionError):
            continue
    return None


def _own(draft: Draft) -> str:
    said = pipeline.said_himself(draft.text, draft.seen)
    return said if len(said) <= _MOST_CHARS else f"{said[: _MOST_CHARS // 2]} {said[-_MOST_CHARS // 2 :]}"


def _reach(draft: Draft, quote: str) -> Reach:
    return pipeline.reach(draft, quote)


def _flat(text: str) -> str:
    return " ".join(text.casefold().replace("\u2019", "'").split())


def _overlap(rule: str, quote: str) -> bool:
    """Whether both speak of the same words: most of the shorter one's are in the other."""
    one, other = (set(_flat(text).strip(".!?").split()) for text in (rule, quote))
    return 2 * len(one & other) > min(len(one), len(other))
