"""Puts hooks into a JSON settings file, and takes them out, touching no other byte. Text in, text out.

    { "hooks": { "EVENT": [ { "hooks": [ {"type": "command", "command": "…", "timeout": 5} ] } ] } }

Putting in only ever inserts, and says what it inserted where, so that taking it back leaves the text as it was. Where
the text has changed since, hooks are found by their command and cut out with the comma that belongs to them.

Indentation, line ends and the way of writing follow what is there. A text that is not plain JSON (comments, trailing
commas) and one in which the place is not clear (a key written twice) is refused: a guess could lose a person's
settings. Which hooks to put in is the agents' matter; the file itself is base/swap.py's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, NoReturn

from recollect.base.errors import NotPlain

HOOKS = "hooks"
_BOM = "\ufeff"
_SPACE = " \t\r\n"
_INDENT = "  "

Ours = Callable[[str], bool]
"""Whether a command is one that we put there."""


class Insertion(NamedTuple):
    at: int
    """In the text before."""
    text: str


class Standing(NamedTuple):
    """One hook of ours, as it stands in a file."""

    event: str
    hook: Mapping[str, object]
    alone: bool
    """Nothing else is in its group: no matcher, no other hook."""


class _Child(NamedTuple):
    """A member of an object (its key first) or an element of an array."""

    key: str
    start: int
    value: int
    end: int


class _Container(NamedTuple):
    open: int
    close: int
    children: tuple[_Child, ...]


# Figures stay text: one of ten thousand digits is valid JSON, and none of our business.
_DECODER = json.JSONDecoder(parse_int=lambda digits: int(digits) if len(digits) < 16 else digits, parse_float=str)


def insertions(text: str, hooks: Sequence[tuple[str, Mapping[str, object]]]) -> tuple[Insertion, ...]:
    """What makes each hook stand at the end of its event's list."""
    if not hooks:
        return ()
    begin = len(_BOM) if text.startswith(_BOM) else 0
    if not text[begin:].strip(_SPACE):
        written = json.dumps({HOOKS: _listed(hooks)}, indent=_INDENT, ensure_ascii=False)
        return (Insertion(begin, written + "\n"),)
    root = _root(text)
    style = _Style.of(text, root)
    holder = _only(text, root, HOOKS)
    if holder is None:
        return (style.append(root, [(HOOKS, _listed(hooks))]),)
    events = _container(text, holder, "{")
    made = []
    fresh: dict[str, list[object]] = {}
    for event, hook in hooks:
        member = _only(text, events, event)
        if member is None:
            fresh.setdefault(event, []).append(_group(hook))
        else:
            made.append(style.append(_container(text, member, "["), [("", _group(hook))]))
    if fresh:
        made.append(style.append(events, list(fresh.items())))
    return tuple(sorted(made))


def inserted(text: str, what: Sequence[Insertion]) -> str:
    for at, new in sorted(what, reverse=True):
        text = text[:at] + new + text[at:]
    return text


def taken_back(text: str, what: Sequence[Insertion]) -> str | None:
    """The text before; None where what was inserted no longer stands there."""
    for at, new in sorted(what):
        if not text.startswith(new, at):
            return None
        text = text[:at] + text[at + len(new) :]
    return text


def containers(text: str) -> frozenset[str]:
    """The lists that stand there: the events, and `hooks` itself."""
    if not text.lstrip(_BOM).strip(_SPACE):
        return frozenset()
    events = _events(text)
    return frozenset() if events is None else frozenset({HOOKS, *(member.key for member in events.children)})


def standing(text: str, ours: Ours) -> tuple[Standing, ...]:
    if not text.lstrip(_BOM).strip(_SPACE):
        return ()
    found = []
    for event, _, group in _groups(text):
        hooks = _hooks_of(group)
        mine = [hook for hook in hooks if _is_ours(hook, ours)]
        alone = len(hooks) == 1 and isinstance(group, dict) and len(group) == 1
        found += [Standing(event, hook, alone) for hook in mine if isinstance(hook, dict)]
    return tuple(found)


def without(text: str, ours: Ours, *, keep: frozenset[str] = frozenset()) -> str:
    """The text with our hooks cut out, and with them the lists that they leave empty, but for those to `keep`."""
    return cut(text, hook_cuts(text, ours, keep=keep))


def cut(text: str, cuts: Sequence[tuple[int, int]]) -> str:
    for start, end in sorted(cuts, reverse=True):
        text = text[:start] + text[end:]
    return text


def hook_cuts(text: str, ours: Ours, *, keep: frozenset[str] = frozenset()) -> list[tuple[int, int]]:
    """The ranges that `without` cuts out."""
    if not standing(text, ours):
        return []
    root = _root(text)
    holder = _only(text, root, HOOKS)
    events = _events(text)
    if holder is None or events is None:
        return []
    cuts: list[tuple[int, int]] = []
    gone: list[_Child] = []
    for member in events.children:
        if text[member.value] != "[":
            continue
        groups = _container(text, member, "[")
        empty = [group for group in groups.children if _all_ours(text, group, ours)]
        if not empty or len(empty) < len(groups.children) or member.key in keep:
            cuts += _cuts(groups, empty)
            for group in groups.children:
                cuts += _cuts_within(text, group, ours) if group not in empty else ()
        else:
            gone.append(member)
    if len(gone) == len(events.children) and HOOKS not in keep:
        cuts += _cuts(root, [holder])
    else:
        cuts += _cuts(events, gone)
    return cuts


def is_on(text: str, key: str) -> bool:
    """Whether a switch at the top of the file is on."""
    if not text.lstrip(_BOM).strip(_SPACE):
        return False
    member = _only(text, _root(text), key)
    return member is not None and text.startswith("true", member.value)


# Reading


def _root(text: str) -> _Container:
    begin = len(_BOM) if text.startswith(_BOM) else 0
    try:
        json.loads(text[begin:], parse_constant=_refuse_constant, parse_int=str, parse_float=str)
    except json.JSONDecodeError as error:
        raise NotPlain(f"not plain JSON ({error.msg})", error.lineno) from None
    except RecursionError:
        raise NotPlain("nested too deeply", 1) from None
    except ValueError as error:
        raise NotPlain(str(error), 1) from None
    start = _skip(text, begin)
    if text[start] != "{":
        raise NotPlain("not a JSON object", _line(text, start))
    return _walk(text, start)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"not plain JSON ({name})")


def _walk(text: str, start: int) -> _Container:
    """The children of the object or array at `start`, in a text that is known to be JSON."""
    is_object = text[start] == "{"
    children = []
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        begin, key = at, ""
        if is_object:
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)
        value = at
        _, at = _DECODER.raw_decode(text, at)
        children.append(_Child(key, begin, value, at))
        at = _skip(text, at)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return _Container(start, at, tuple(children))


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _only(text: str, container: _Container, key: str) -> _Child | None:
    found = [child for child in container.children if child.key == key]
    if len(found) > 1:
        raise NotPlain(f"{key!r} is written twice", _line(text, found[1].start))
    return found[0] if found else None


def _container(text: str, child: _Child, kind: str) -> _Container:
    if text[child.value] != kind:
        what = "an object" if kind == "{" else "a list"
        raise NotPlain(f"{child.key!r} is not {what}", _line(text, child.value))
    return _walk(text, child.value)


def _events(text: str) -> _Container | None:
    holder = _only(text, _root(text), HOOKS)
    return _walk(text, holder.value) if holder is not None and text[holder.value] == "{" else None


def _groups(text: str) -> Iterator[tuple[str, _Child, object]]:
    events = _events(text)
    for member in events.children if events is not None else ():
        if text[member.value] == "[":
            for group in _walk(text, member.value).children:
                yield member.key, group, _value(text, group)


def _value(text: str, child: _Child) -> object:
    value, _ = _DECODER.raw_decode(text, child.value)
    return value


def _hooks_of(group: object) -> list[object]:
    hooks = group.get(HOOKS) if isinstance(group, dict) else None
    return hooks if isinstance(hooks, list) else []


def _is_ours(hook: object, ours: Ours) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and ours(command)


def _all_ours(text: str, group: _Child, ours: Ours) -> bool:
    hooks = _hooks_of(_value(text, group))
    return bool(hooks) and all(_is_ours(hook, ours) for hook in hooks)


# Cutting


def _cuts_within(text: str, group: _Child, ours: Ours) -> list[tuple[int, int]]:
    """Our hooks out of a group that holds another tool's as well."""
    if text[group.value] != "{":
        return []
    holder = next((child for child in _walk(text, group.value).children if child.key == HOOKS), None)
    if holder is None or text[holder.value] != "[":
        return []
    hooks = _walk(text, holder.value)
    return _cuts(hooks, [hook for hook in hooks.children if _is_ours(_value(text, hook), ours)])


def _cuts(container: _Container, doomed: Sequence[_Child]) -> list[tuple[int, int]]:
    """The ranges that take these children away, each with one comma."""
    if not doomed:
        return []
    children = container.children
    if len(doomed) == len(children):
        return [(container.open + 1, container.close)]
    found, kept_before = [], False
    for index, child in enumerate(children):
        if child not in doomed:
            kept_before = True
        elif kept_before:
            found.append((children[index - 1].end, child.end))
        else:
            found.append((child.start, children[index + 1].start))
    return found


# Writing as it is written there


class _Style(NamedTuple):
    text: str
    newline: str
    indent: str
    lines: bool
    """Members stand on lines of their own."""

    @classmethod
    def of(cls, text: str, root: _Container) -> _Style:
        lead = _lead(text, root.children[0].start) if root.children else "\n" + _INDENT
        newline = "\r\n" if "\r\n" in text else "\n"
        return cls(text, newline, _after_newline(lead) or _INDENT, "\n" in lead)

    def append(self, container: _Container, new: Sequence[tuple[str, object]]) -> Insertion:
        if container.children:
            last = container.children[-1]
            lead = _lead(self.text, last.start)
            if "\n" in lead:
                indent = _after_newline(lead)
                between = f",{self.newline}{indent}"
                return Insertion(last.end, "".join(between + self._on_lines(k, v, indent) for k, v in new))
            between = "," + lead if len(container.children) > 1 else ", " if self._spaced() else ","
            return Insertion(last.end, "".join(between + self._in_line(k, v) for k, v in new))
        if not self.lines:
            between = ", " if self._spaced() else ","
            return Insertion(container.open + 1, between.join(self._in_line(k, v) for k, v in new))
        outer = _after_newline(_line_start(self.text, container.open))
        indent = outer + self.indent
        body = f",{self.newline}{indent}".join(self._on_lines(k, v, indent) for k, v in new)
        closing = "" if "\n" in self.text[container.open : container.close] else self.newline + outer
        return Insertion(container.open + 1, f"{self.newline}{indent}{body}{closing}")

    def _on_lines(self, key: str, value: object, indent: str) -> str:
        written = json.dumps(value, indent=self.indent, ensure_ascii=False).replace("\n", self.newline + indent)
        return f"{json.dumps(key)}: {written}" if key else written

    def _in_line(self, key: str, value: object) -> str:
        colon = ": " if self._spaced() else ":"
        written = json.dumps(value, separators=(", " if self._spaced() else ",", colon), ensure_ascii=False)
        return f"{json.dumps(key)}{colon}{written}" if key else written

    def _spaced(self) -> bool:
        return '": ' in self.text or ", " in self.text


def _lead(text: str, at: int) -> str:
    """The space before a place."""
    begin = at
    while begin > 0 and text[begin - 1] in _SPACE:
        begin -= 1
    return text[begin:at]


def _line_start(text: str, at: int) -> str:
    """The space that the line of a place begins with, after its newline."""
    begin = text.rfind("\n", 0, at) + 1
    end = begin
    while end < at and text[end] in " \t":
        end += 1
    return "\n" + text[begin:end]


def _after_newline(space: str) -> str:
    return space.rpartition("\n")[2] if "\n" in space else ""


def _group(hook: Mapping[str, object]) -> dict[str, object]:
    return {HOOKS: [hook]}


def _listed(hooks: Sequence[tuple[str, Mapping[str, object]]]) -> dict[str, list[object]]:
    lists: dict[str, list[object]] = {}
    for event, hook in hooks:
        lists.setdefault(event, []).append(_group(hook))
    return lists


# One member, wherever in the file


def member(text: str, keys: Sequence[str], name: str) -> object:
    """What stands under this name; None where nothing does."""
    if not text.lstrip(_BOM).strip(_SPACE):
        return None
    chain = _chain(text, keys)
    found = _only(text, chain[-1][1], name) if len(chain) == len(keys) + 1 else None
    return _value(text, found) if found is not None else None


def member_insertion(text: str, keys: Sequence[str], name: str, value: object) -> Insertion:
    """What puts a member at the end of the object that the keys lead to; what lacks of the way is made."""
    begin = len(_BOM) if text.startswith(_BOM) else 0
    if not text[begin:].strip(_SPACE):
        written = json.dumps(_nested((*keys, name), value), indent=_INDENT, ensure_ascii=False)
        return Insertion(begin, written + "\n")
    chain = _chain(text, keys)
    lacking = (*keys, name)[len(chain) - 1 :]
    style = _Style.of(text, chain[0][1])
    return style.append(chain[-1][1], [(lacking[0], _nested(lacking[1:], value))])


def standing_keys(text: str, keys: Sequence[str]) -> int:
    """How much of the way is there."""
    return len(_chain(text, keys)) - 1 if text.lstrip(_BOM).strip(_SPACE) else 0


def without_member(text: str, keys: Sequence[str], name: str, *, keep: int = 0) -> str:
    """The text with the member cut out, and with it the objects on the way that it leaves empty, but for the first
    `keep` of them."""
    return cut(text, member_cuts(text, keys, name, keep=keep))


def member_cuts(text: str, keys: Sequence[str], name: str, *, keep: int = 0) -> list[tuple[int, int]]:
    """The range that `without_member` cuts out."""
    if not text.lstrip(_BOM).strip(_SPACE):
        return []
    chain = _chain(text, keys)
    found = _only(text, chain[-1][1], name) if len(chain) == len(keys) + 1 else None
    if found is None:
        return []
    depth = len(keys)
    while depth > keep and len(chain[depth][1].children) == 1:
        child = chain[depth][0]
        if child is None:
            break
        found, depth = child, depth - 1
    return _cuts(chain[depth][1], [found])


def _chain(text: str, keys: Sequence[str]) -> list[tuple[_Child | None, _Container]]:
    """The root and the objects that the keys lead through, as far as they are there, each with its member."""
    chain: list[tuple[_Child | None, _Container]] = [(None, _root(text))]
    for key in keys:
        child = _only(text, chain[-1][1], key)
        if child is None:
            break
        chain.append((child, _container(text, child, "{")))
    return chain


def _nested(keys: Sequence[str], value: object) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value
