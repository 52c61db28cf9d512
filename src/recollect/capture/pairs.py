"""A failure paired with what mended it, over several steps: the lessons of a session.

A command that fails stays open until something like it works: another command of the same purpose, or the same command
after a step that made the difference (another command, a change in a file). Left out is what teaches nothing: look-ups
that found nothing, typing mistakes, hiccups of the network, what a person cut off or refused, what the agent had broken
itself a moment before, and ways round a check.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from recollect.capture import likeness
from recollect.capture.faults import Fault, Sort, fault_of, printed_failure
from recollect.model.act import Act, Deed
from recollect.model.command import Command, command_of
from recollect.model.lesson import How, Lesson

REACH = 60
"""Calls; what works later than that works for another reason."""


@dataclass(frozen=True, slots=True)
class Pair:
    lesson: Lesson
    act: str
    """The id of the call that worked: the same pair read again ends in the same."""
    at: int
    """Where that call stands among the acts."""


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


@dataclass(slots=True)
class _Step:
    """Something that worked and may have made the difference."""

    at: int
    command: Command | None = None
    file: str = ""


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
                found += [Pair(lesson, act.id, at) for lesson in _ran(story, act, at)]
            case Deed.EDIT if act.doing.files:
                found += [Pair(lesson, act.id, at) for lesson in _edited(story, act, at)]
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
    return command is not None and likeness.reports(command) and printed_failure(act.text)


def _ran(story: _Story, act: Act, at: int) -> Iterator[Lesson]:
    command = command_of(act.doing.what) if act.doing else None
    if command is None:
        return
    story.open = [one for one in story.open if at - one.last <= REACH]
    if has_failed(act):
        _fail(story, act, command, at)
        return
    still: list[_Open] = []
    again = any(likeness.same(one.command, command) for one in story.open)
    for one in story.open:
        if likeness.same(one.command, command):
            yield from _after(story, one, at)
        elif likeness.mends(one.command, command, one.fault):
            # Where the command itself had failed too, the others were tries on the way: one lesson, not several.
            if not again and not likeness.mistyped(one.command, command, one.fault):
                yield from _lesson(one, command.text, How.INSTEAD)
        else:
            still.append(one)
    story.open = still
    if likeness.changes(command):
        story.steps.append(_Step(at, command))


def _fail(story: _Story, act: Act, command: Command, at: int) -> None:
    if is_noise(act) or likeness.is_for_once(command) or not likeness.tellable(command.text):
        return
    for one in story.open:
        if likeness.same(one.command, command):
            one.last, one.tried = at, one.tried + 1
            return
    own = any(step.file for step in story.steps)
    story.open.append(_Open(command, fault_of(act.text), at, at, own))


def _after(story: _Story, one: _Open, at: int) -> Iterator[Lesson]:
    """The same command works now: what made the difference? Nothing: then it was a hiccup."""
    since = [step for step in story.steps if step.at > one.first]
    ran = [step.command for step in since if step.command is not None and likeness.tellable(step.command.text)]
    akin = [command for command in ran if likeness.speaks_of(command, one.fault)]
    changed = [step.file for step in since if step.file]
    if akin:
        yield from _lesson(one, akin[-1].text, How.AFTER)
    elif one.fault.sort is Sort.HICCUP or (one.fault.sort is Sort.TESTS and not changed):
        return
    elif changed:
        # A failing test and a change that mends it is a day's work; more than one try is something to learn from.
        worth = one.tried > 1 or one.fault.sort is not Sort.TESTS
        if worth and not one.own and likeness.tellable_path(changed[-1]):
            yield from _lesson(one, changed[-1], How.CHANGED)
    else:
        lost = one.fault.sort in (Sort.NO_FILE, Sort.NO_TARGET)
        prepared = [
            command
            for command in ran
            if likeness.prepares(command, one.command) or (lost and command.family == "cd" and command.words)
        ]
        if prepared:
            yield from _lesson(one, prepared[-1].text, How.AFTER)


def _lesson(one: _Open, fix: str, how: How) -> Iterator[Lesson]:
    if how is How.CHANGED or likeness.tellable(fix):
        yield Lesson(one.command.text, fix, how, one.fault.told(one.command.text, fix))


def _edited(story: _Story, act: Act, at: int) -> Iterator[Lesson]:
    file = act.doing.files[0] if act.doing else ""
    if act.failed:
        if fault_of(act.text).head == _STALE:
            story.missed[file] = story.missed.get(file, 0) + 1
        return
    # Once is a slip of the agent; twice, and the file is not what it is taken for.
    if story.missed.pop(file, 0) > 1 and file in story.reread and likeness.tellable_path(file):
        yield Lesson(file, file, How.READ_AGAIN, _STALE)
    story.reread.discard(file)
    story.steps.append(_Step(at, file=file))


_STALE = "String to replace not found"


def _once(found: list[Pair]) -> list[Pair]:
    kept: dict[str, Pair] = {}
    for pair in found:
        kept.setdefault(pair.lesson.sentence(), pair)
    return list(kept.values())
