"""What another scanner would see: rules in the form of gitleaks' configuration, which is not part of this repository.

Reads each rule's pattern, keywords, entropy and group, and the allow lists of patterns; not the rules for paths.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recollect.redact.secret_table import compiled, entropy


@dataclass(frozen=True, slots=True)
class Rule:
    regex: str
    keywords: tuple[str, ...]
    min_entropy: float
    group: int
    # Patterns and words that make a find none, by what they are matched against: the secret, or the whole match.
    allowed: tuple[tuple[str, str], ...]
    stop_words: tuple[str, ...]


def load_rules(path: Path) -> tuple[Rule, ...]:
    with path.open("rb") as file:
        document = tomllib.load(file)
    everywhere = (
        [document["allowlist"]] if "allowlist" in document else document.get("allowlists", [])
    )
    return tuple(_rule(raw, everywhere) for raw in document["rules"] if "regex" in raw)


def _rule(raw: dict[str, Any], everywhere: list[dict[str, Any]]) -> Rule:
    lists = [*everywhere, *raw.get("allowlists", [])]
    return Rule(
        regex=raw["regex"],
        keywords=tuple(raw.get("keywords", ())),
        min_entropy=raw.get("entropy", 0.0),
        group=raw.get("secretGroup", 0),
        allowed=tuple(
            (one.get("regexTarget", "secret"), regex)
            for one in lists
            for regex in one.get("regexes", ())
        ),
        stop_words=tuple(word for one in lists for word in one.get("stopwords", ())),
    )


def sees(rules: tuple[Rule, ...], text: str, secret: str) -> bool:
    """Whether any of the rules reports this secret, or a part of it that gives it away."""
    lower, content = text.lower(), text.encode()
    longest = max(secret.split("\n"), key=len).encode()
    wanted = (
        rule
        for rule in rules
        if not rule.keywords or any(keyword in lower for keyword in rule.keywords)
    )
    return any(
        longest in found or found in secret.encode()
        for rule in wanted
        for found in _finds(rule, content)
    )


def _finds(rule: Rule, content: bytes) -> Iterator[bytes]:
    for match in compiled(rule.regex).finditer(content):
        groups = [match[rule.group]] if rule.group else [group for group in match.groups() if group]
        found = groups[0] if groups else match[0]
        targets = {"secret": found, "match": match[0], "line": content}
        if found and entropy(found) >= rule.min_entropy and not any(
            compiled(regex).search(targets[target]) for target, regex in rule.allowed
        ) and not any(word in found.decode(errors="replace").lower() for word in rule.stop_words):  # fmt: skip
            yield found
