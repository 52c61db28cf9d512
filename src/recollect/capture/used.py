"""Whether a turn used what it was told: it speaks of the same things or works on the same files, beyond what the prompt
said. A weak sign for a single passage, a fair measure over many."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.capture import terms

_LEAST_SHARE = 0.25
_LEAST_WORDS = 3


def used(passage: str, prompt: str, did: str, files: Iterable[str] = ()) -> bool:
    """`did`: what the agent said and ran after the prompt; `files`: what it read or changed."""
    asked = prompt.casefold()
    after = did.casefold()
    names = [name for name in map(str.casefold, terms.names(passage)) if name not in asked]
    stems = {terms.stem_of(file).casefold() for file in files}
    if any(name in after or terms.stem_of(name) in stems for name in names):
        return True
    known = set(terms.words(asked))
    own = {word for word in terms.content(passage) if word not in known}
    shared = own & set(terms.words(after))
    return len(shared) >= max(_LEAST_WORDS, _LEAST_SHARE * len(own))
