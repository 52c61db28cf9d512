"""The prompts that rules were made from, as far as the transcripts of their sessions are still there. A transcript is
searched for the words as bytes; only lines that hold them are read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from recollect import agents
from recollect.agents.transcript import Tail, Voice
from recollect.app.core import App
from recollect.app.states import CURSORS
from recollect.base.structs import replace
from recollect.base.text import storable
from recollect.model.memory import Rule
from recollect.model.result import Card
from recollect.model.timeline import Quote
from recollect.render.inject import without_ours

_SPELT_OTHERWISE = re.compile(
    r"""["'\\\[\]\x00-\x1f]+|\s{2,}"""
)  # in JSON, or before it was redacted


def with_contexts(app: App, cards: Sequence[Card]) -> list[Card]:
    wanted: dict[str, list[Rule]] = {}
    for card in cards:
        if isinstance(card.memory, Rule) and card.memory.said and card.memory.group:
            wanted.setdefault(card.memory.group, []).append(card.memory)
    found: dict[str, Quote] = {}
    left = 60_000_000  # of all transcripts: about a tenth of a second
    read = CURSORS.find_all(app.reader(app.scope)).values() if wanted else ()
    for one in read:
        if one.session in wanted and not one.agent and left > 0:
            tail = Tail(Path(one.path))
            found |= _search(app, one.host, tail, wanted[one.session])
            left -= tail.offset
    return [replace(card, context=found.get(card.memory.id)) for card in cards]


def _search(app: App, host: str, tail: Tail, rules: Sequence[Rule]) -> dict[str, Quote]:
    served, waiting, found = (
        agents.agent(host),
        {rule.id: rule for rule in rules},
        dict[str, Quote](),
    )
    needles = [needle for rule in rules for needle in _needles(rule.said)]
    tail.wanted = lambda line: any(needle in line for needle in needles)
    for line in tail:
        for utterance in served.utterances(line):
            if (
                utterance.voice in (Voice.PROMPT, Voice.QUEUED, Voice.SENT)
                and not utterance.machine_made
            ):
                text = storable(utterance.text[:50_000])
                prompt = without_ours(app.redactor.clean(text).text).replace("\u2019", "'")
                found |= {
                    id: quote
                    for id, rule in waiting.items()
                    if (quote := quote_in(prompt, rule.said))
                }
        waiting = {id: rule for id, rule in waiting.items() if id not in found}
        if not waiting:
            break
    return found


def _needles(said: str) -> Iterator[bytes]:
    """A part of it as it stands in a transcript, whichever way that spells other letters than ASCII."""
    longest = max(_SPELT_OTHERWISE.split(said), key=len)
    yield longest.encode()
    if not longest.isascii():
        yield json.dumps(longest)[1:-1].encode()


def quote_in(prompt: str, said: str) -> Quote | None:
    match = re.search(r"\s+".join(map(re.escape, said.split())), prompt)
    if match is None:
        return None
    around = max(0, 600 - len(match.group())) // 2
    start, end = max(0, match.start() - around), min(len(prompt), match.end() + around)
    before, after = prompt[start : match.start()], prompt[match.end() : end]
    before = f"\u2026{before.partition(' ')[2]}" if start else before
    after = f"{after.rpartition(' ')[0]}\u2026" if end < len(prompt) else after
    return Quote(before + match.group() + after, len(before), len(before) + len(match.group()))
