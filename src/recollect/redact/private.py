"""`<private>…</private>`: what a user asked never to be kept. Nested, in any case, unclosed to the end."""

from __future__ import annotations

from recollect.redact.pattern import compiled

_TAG = r"(?i)<(/?)private(?:\s[^<>]*)?>"


def private_spans(text: bytes) -> list[tuple[int, int]]:
    """From each outermost opening tag to its end. A closing tag that closes nothing stays as it is."""
    if b"private" not in text.lower():
        return []
    spans: list[tuple[int, int]] = []
    depth = start = 0
    for tag in compiled(_TAG).finditer(text):
        if not tag[1]:
            start = tag.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                spans.append((start, tag.end()))
    return [*spans, (start, len(text))] if depth else spans
