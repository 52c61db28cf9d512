"""Who wrote what in a message of the role "user": the person, the client, or the agent in a plan that is handed on.

Clients put much into a person's messages: what an IDE has open, what a hook printed, the text of a skill. Each agent's
row has the forms that its client uses (`Forms`); `read` takes them out again, so that a hook's event and the transcript
give the same words. Whatever is not known to be the client's stays the person's."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from recollect.agents.transcript import Voice
from recollect.base.structs import Struct

_OPENING = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?>")
_LINE_OPENING = re.compile(r"^[ \t]*<([A-Za-z][\w-]*)(?:\s[^<>]*)?>", re.MULTILINE)
_COMMAND = re.compile(r"/([A-Za-z][\w:.-]*)(?:\s+(.*))?", re.DOTALL)
# Commands of ours that keep something (capture/memory_commands.py), however they are installed: read as one name.
_OWN_NAME = "/memory"
_OWN_COMMAND = re.compile(
    r"/(?:recollect:memory|recollect|memory)\s+((?:remember|save|evolve|inspect)\b.*)",
    re.DOTALL | re.IGNORECASE,
)
_COMMAND_NAME, _COMMAND_ARGS = "command-name", "command-args"
# As Claude Code and Codex word it when a plan begins a session of its own; a person may paste one to another agent.
_PLANS = ("Implement the following plan:\n", "PLEASE IMPLEMENT THIS PLAN:\n")
_AFTER_PLAN = re.compile(
    r"^(?:If you need specific details from before exiting plan mode|If this plan can be broken down into multiple)"
    r"[^\n]*$|^User feedback on this plan: ?",
    re.MULTILINE,
)


class Forms(Struct, kw_only=True):  # what one agent's client writes into the person's messages
    machine: tuple[str, ...] = ()  # a text that begins like this is wholly the client's
    machine_tags: frozenset[str] = (
        frozenset()
    )  # blocks of the client's, wherever they stand on lines of their own
    typed_tags: frozenset[str] = (
        frozenset()
    )  # blocks at the beginning that hold what the person typed
    placeholders: re.Pattern[str] | None = (
        None  # what the client writes in place of an image, an interruption
    )
    request: re.Pattern[str] | None = None  # the last match stands just before the person's words
    has_commands: bool = (
        False  # `/name words` runs a command. The client takes the name off, or not.
    )
    client_commands: frozenset[str] = (
        frozenset()
    )  # those whose words are for the client, not for the agent

    @classmethod
    def read(cls, row: Mapping[str, Any]) -> Forms:
        """Patterns are written as lists of alternatives."""
        readers: dict[str, Callable[[Any], Any]] = {"machine": tuple, "has_commands": bool}
        readers |= dict.fromkeys(
            ("placeholders", "request"), lambda patterns: re.compile("|".join(patterns))
        )
        return cls(**{name: readers.get(name, frozenset)(value) for name, value in row.items()})


class Prompt(NamedTuple):
    words: str = ""  # the person's own
    plan: str = ""  # a plan of the agent's that the client handed on

    @property
    def is_machine_made(self) -> bool:
        return not self.words and not self.plan

    def voices(self) -> Iterator[tuple[Voice, str]]:
        spoken = (Voice.PLAN, self.plan), (Voice.PROMPT, self.words)
        return (one for one in spoken if one[1])


def read(text: str, forms: Forms) -> Prompt:
    """What is left when nothing more can be taken out; reading it again changes nothing."""
    words, plans = text.strip(), list[str]()
    while words:
        rest = words
        if words.startswith(_PLANS):
            body = words.partition("\n")[2]
            added = list(_AFTER_PLAN.finditer(body))
            plans.append(body[: added[0].start()].strip() if added else body.strip())
            rest = body[added[-1].end() :] if added else ""
        rest = _person(rest, forms).strip()
        if rest == words:
            break
        words = rest
    return Prompt(words, "\n\n".join(filter(None, plans)))


def _person(text: str, forms: Forms) -> str:
    if text.startswith(forms.machine):
        return ""
    if forms.request and (requests := list(forms.request.finditer(text))):
        text = text[requests[-1].end() :]
    if forms.placeholders:
        text = forms.placeholders.sub(" ", text)
    text = _without_blocks(text, forms.machine_tags)
    blocks, rest = _leading(text.lstrip(), forms)
    args, said = dict(blocks).get(_COMMAND_ARGS, ""), list[str]()
    for tag, inner in blocks:
        # A command that names itself first is the client's own: it says something only where words go with it.
        is_said = _is_prose(args) and inner.removeprefix("/") not in forms.client_commands
        if tag == _COMMAND_NAME and (blocks[0][0] != _COMMAND_NAME or is_said):
            said.append(_command(f"{inner} {args}".strip()))
        elif tag not in (_COMMAND_NAME, _COMMAND_ARGS, "command-message"):
            said.append(inner)
    return "\n".join(filter(None, (*said, _command(rest) if forms.has_commands else rest)))


def _leading(text: str, forms: Forms) -> tuple[list[tuple[str, str]], str]:
    """The typed blocks that a text begins with, by tag, and what stands after all blocks of the client's."""
    typed: list[tuple[str, str]] = []
    for _ in range(100):
        opening = _OPENING.match(text)
        if opening is None:
            break
        tag = opening[1]
        inner, closed, rest = text[opening.end() :].partition(f"</{tag}>")
        # Names of clients' tags are made of several words; those of HTML, which people paste, are not.
        is_machine_like = tag == tag.lower() and ("-" in tag or "_" in tag)
        is_known = tag in forms.machine_tags or tag in forms.typed_tags
        if not is_known and not (closed and is_machine_like and _ends_line(rest)):
            break
        if tag in forms.typed_tags and closed:
            typed.append((tag, inner.strip()))
        text = rest.lstrip()
    return typed, text


def _ends_line(rest: str) -> bool:
    rest = rest.lstrip(" \t")
    return not rest or rest.startswith(("\n", "\r", "<"))


def _command(text: str) -> str:
    """What was said to a command; the command as well, where it would mean nothing without."""
    if own := _OWN_COMMAND.fullmatch(text):
        return f"{_OWN_NAME} {own[1]}".strip()
    found = _COMMAND.fullmatch(text)
    return (found[2] or "") if found and _is_prose(found[2] or "") else text


def _is_prose(args: str) -> bool:
    return len(args.split()) >= 3


def _without_blocks(text: str, tags: frozenset[str]) -> str:
    """Removes blocks in these tags, where the tags stand on lines of their own."""
    kept, at, unclosed = [], 0, set[str]()
    for opening in _LINE_OPENING.finditer(text):
        if opening.start() < at or opening[1] not in tags - unclosed:
            continue
        closing = f"</{opening[1]}>"
        end = text.find(closing, opening.end())
        if end < 0:
            unclosed.add(opening[1])
            continue
        if not _ends_line(text[end + len(closing) : end + len(closing) + 20]):
            continue
        kept.append(text[at : opening.start()])
        at = end + len(closing)
    return "".join([*kept, text[at:]])
