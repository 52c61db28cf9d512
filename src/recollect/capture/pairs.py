"""A failure paired with what mended it, over several steps: the lessons of a session.

A command that fails stays open until something like it works: another command of the same purpose, or the same command
after a step that made the difference (another command, a change in a file). Left out is what teaches nothing: look-ups
that found nothing, typing mistakes, hiccups of the network, what a person cut off or refused, what the agent had broken
itself a moment before, and whatever only hides the failure (hiding.py).

Many commands are run with a pager behind them, which hides how they ended: then what they print says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from recollect.capture import hiding, likeness
from recollect.capture.faults import Fault, Sort, fault_at_the_ends, fault_of, printed_failure
from recollect.model.act import Act, Deed
from recollect.model.command import Command, command_of, undressed_end
from recollect.model.lesson import How, Lesson, rule_list

REACH = 60
"""Calls; what works later than that works for another reason."""


@dataclass(frozen=True, slots=True)
class Pair:
    lesson: Lesson
    act: str
    """The id of the call that worked: the same pair read again ends in the same."""
    at: int
    """Where that call stands among the acts."""
    first: int = 0
    """Where it first failed."""
    is_sure: bool = True
    """Worth asking a person about. Else it must come again in another session before anyone hears of it."""


@dataclass(slots=True)
class _Open:
    """A failure that waits for something that works."""

    command: Command
    fault: Fault
    first: int
    last: int
    own: bool
    """The agent had changed files before it: perhaps the failure is its own doing."""
    tried: int = 1
    rules: tuple[str, ...] = ()
    """Of a linter: those that were broken in any of the tries."""


@dataclass(frozen=True, slots=True)
class _Found:
    lesson: Lesson
    first: int
    is_sure: bool = True


@dataclass(slots=True)
class _Step:
    """Something that worked and may have made the difference."""

    at: int
    command: Command | None = None
    file: str = ""
    switched_off: str = ""
    """The lines of the file that switch a check off, or its name where it is a check's own settings."""


@dataclass(slots=True)
class _Story:
    """What is known so far, read call by call."""

    open: list[_Open] = field(default_factory=list)
    steps: list[_Step] = field(default_factory=list)
    missed: dict[str, int] = field(default_factory=dict)
    """Files whose edits found no such text, and how often."""
    reread: set[str] = field(default_factory=set)


def pairs(acts: Sequence[Act]) -> list[Pair]:
    """In the order in which they were mended; of one agent's calls."""
    story = _Story()
    found: list[Pair] = []
    for at, act in enumerate(acts):
        if act.doing is None or act.refused:
            continue
        match act.doing.deed:
            case Deed.RUN:
                found += [Pair(one.lesson, act.id, at, one.first, one.is_sure) for one in _ran(story, act, at)]
            case Deed.EDIT if act.doing.files:
                found += [Pair(one.lesson, act.id, at, one.first, one.is_sure) for one in _edited(story, act, at)]
            case Deed.READ:
                story.reread.update(file for file in act.doing.files if file in story.missed)
            case _:
                pass
    return _once(found)


def is_noise(act: Act) -> bool:
    """A failure that says nothing about anything: also no outcome."""
    if act.doing is None or act.doing.deed is not Deed.RUN:
        return False
    command = command_of(act.doing.what)
    return command is None or likeness.looks_up(command) or fault_of(act.text).sort in (Sort.CUT_OFF, Sort.SHELL)


def has_failed(act: Act) -> bool:
    """By its own word, or by what it printed where its end was hidden or is a runner's."""
    if act.failed:
        return True
    if act.doing is None or act.doing.deed is not Deed.RUN:
        return False
    command = command_of(act.doing.what)
    if command is None or likeness.looks_up(command):
        return False
    if likeness.reports(command) and printed_failure(act.text):
        return True
    if not _is_end_hidden(act.doing.what):
        return False
    if likeness.lints(command) and fault_of(act.text).sort is Sort.LINT:
        return True
    fault = fault_at_the_ends(act.text)
    return not likeness.reports(command) and fault.shape != "" and fault.sort not in (Sort.TESTS, Sort.LINT)


def _is_end_hidden(text: str) -> bool:
    return re.sub(r"\s*2>&1", "", undressed_end(text)) != re.sub(r"\s*2>&1", "", text.strip()) or " | " in text


def _has_worked(act: Act) -> bool:
    """Where the end is hidden: it reports how it went, or printed something and no error."""
    what = act.doing.what if act.doing else ""
    if not _is_end_hidden(what):
        return True
    if hiding.hides_end(what):
        return False
    return bool(act.text.strip()) and not fault_of(act.text).shape


def _ran(story: _Story, act: Act, at: int) -> Iterator[_Found]:
    command = command_of(act.doing.what) if act.doing else None
    if command is None:
        return
    story.open = [one for one in story.open if at - one.last <= REACH]
    if has_failed(act):
        _fail(story, act, command, at)
        return
    if not _has_worked(act):
        return
    still: list[_Open] = []
    again = any(likeness.same(one.command, command) for one in story.open)
    for one in story.open:
        if likeness.same(one.command, command) or (one.rules and likeness.includes(command, one.command)):
            yield from _after(story, one, at)
        elif likeness.mends(one.command, command, one.fault):
            # Where the command itself had failed too, the others were tries on the way: one lesson, not several.
            slipped = likeness.mistyped(one.command, command, one.fault)
            if not again and not slipped and one.fault.sort is not Sort.LINT:
                yield from _lesson(one, command, How.INSTEAD)
        else:
            still.append(one)
    story.open = still
    if likeness.changes(command):
        story.steps.append(_Step(at, command))


def _fail(story: _Story, act: Act, command: Command, at: int) -> None:
    if is_noise(act) or likeness.is_for_once(command):
        return
    if not likeness.tellable(command.told) and not command.place:
        return
    fault = fault_of(act.text)
    rules = fault.names if fault.sort is Sort.LINT else ()
    for one in story.open:
        if likeness.same(one.command, command):
            one.last, one.tried = at, one.tried + 1
            one.rules = tuple(dict.fromkeys((*one.rules, *rules)))
            return
    own = any(step.file for step in story.steps)
    story.open.append(_Open(command, fault, at, at, own, rules=rules))


def _after(story: _Story, one: _Open, at: int) -> Iterator[_Found]:
    """The same command works now: what made the difference? Nothing: then it was a hiccup."""
    since = [step for step in story.steps if step.at > one.first]
    ran = [step.command for step in since if step.command is not None and likeness.tellable(step.command.told)]
    akin = [command for command in ran if likeness.speaks_of(command, one.fault)]
    changed = [step.file for step in since if step.file]
    switched_off = "\n".join(step.switched_off for step in since)
    if one.rules:
        # Which file it was says nothing for the next time; the rules do.
        kept = [rule for rule in one.rules if rule not in switched_off]
        last = likeness.last_step(one.command)
        if changed and kept and likeness.tellable(last):
            learnt = Lesson(last, rule_list(kept), How.RULE)
            yield _Found(learnt, one.first, is_sure=False)
    elif switched_off.strip():
        return
    elif akin:
        yield from _lesson(one, akin[-1], How.AFTER)
    elif one.fault.sort is Sort.HICCUP or (one.fault.sort is Sort.TESTS and not changed):
        return
    elif changed:
        # A failing test and a change that mends it is a day's work; more than one try is something to learn from.
        worth = one.tried > 1 or one.fault.sort is not Sort.TESTS
        worth &= likeness.tellable(one.command.told) and likeness.tellable_path(changed[-1])
        if worth and not one.own:
            told = one.fault.told(one.command.text, changed[-1])
            yield _Found(Lesson(one.command.told, changed[-1], How.CHANGED, told), one.first, is_sure=False)
    else:
        lost = one.fault.sort in (Sort.NO_FILE, Sort.NO_TARGET)
        prepared = [
            command
            for command in ran
            if likeness.prepares(command, one.command) or (lost and command.family == "cd" and command.words)
        ]
        if prepared:
            yield from _lesson(one, prepared[-1], How.AFTER)


def _lesson(one: _Open, fix: Command, how: How) -> Iterator[_Found]:
    if hiding.hides(one.command.text, fix.text):
        return
    failed, works = _without_shared_folder(one.command.told, fix.told)
    if one.fault.sort is Sort.NO_FILE and one.command.place and fix.place not in ("", one.command.place):
        failed, works = one.command.place, fix.place  # a script that lies elsewhere, whatever it is given
    if failed != works and likeness.tellable(failed) and likeness.tellable(works):
        told = one.fault.told(failed, works)
        # What git says of its own, everyone knows how to mend.
        is_sure = bool(one.fault.shape) and one.command.family != "git"
        yield _Found(Lesson(failed, works, how, told), one.first, is_sure)


def _without_shared_folder(one: str, two: str) -> tuple[str, str]:
    """Both were run in the same folder: that made no difference."""
    folder = re.match(r"cd \S+ && ", one)
    if folder and two.startswith(folder[0]):
        return one[folder.end() :], two[folder.end() :]
    return one, two


def _edited(story: _Story, act: Act, at: int) -> Iterator[_Found]:
    file = act.doing.files[0] if act.doing else ""
    if act.failed:
        if fault_of(act.text).head == _STALE:
            story.missed[file] = story.missed.get(file, 0) + 1
        return
    # Once is a slip of the agent; twice, and the file is not what it is taken for.
    if story.missed.pop(file, 0) > 1 and file in story.reread and likeness.tellable_path(file):
        yield _Found(Lesson(file, file, How.READ_AGAIN, _STALE), at, is_sure=False)
    story.reread.discard(file)
    story.steps.append(_Step(at, file=file, switched_off=hiding.switched_off(file, act.text)))


_STALE = "String to replace not found"


def _once(found: list[Pair]) -> list[Pair]:
    kept: dict[str, Pair] = {}
    for pair in found:
        kept.setdefault(pair.lesson.sentence(), pair)
    return list(kept.values())
