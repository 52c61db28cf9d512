"""A failure paired with what mended it, over several steps: the lessons of a session.

A command that fails stays open until something like it works: another command of the same purpose, or the same command
after a step that made the difference (another command, a change in a file). Left out is what teaches nothing: look-ups
that found nothing, typing mistakes, hiccups of the network, what a person cut off or refused, what the agent had broken
itself a moment before, and whatever only hides the failure (workarounds.py).

Many commands are run with a pager behind them, which hides how they ended: then what they print says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from recollect.capture import command_likeness as likeness
from recollect.capture import workarounds
from recollect.capture.command_errors import CommandError, ErrorKind, error_at_ends, error_in, prints_failure
from recollect.model.act import Act, Deed
from recollect.model.command import Command, command_of, undressed_end
from recollect.model.lesson import How, Lesson, rule_list

_NO_FAULT = (ErrorKind.CUT_OFF, ErrorKind.SHELL)
_STALE = "String to replace not found"
REACH_CALLS = 60  # what works after more calls than this works for another reason


@dataclass(frozen=True, slots=True)
class Fix:
    lesson: Lesson
    act: str = ""  # the id of the call that worked: the same fix read again ends in the same call
    at: int = 0  # where that call stands among the acts
    first: int = 0  # where it first failed
    is_sure: bool = True  # worth asking a person about. Otherwise it must occur in another session first.


@dataclass(slots=True)
class _OpenFailure:
    """A failure that waits for something that works."""

    command: Command
    error: CommandError
    first: int
    last: int
    own: bool  # the agent had changed files before it: perhaps the failure is its own doing
    tried: int = 1
    rules: tuple[str, ...] = ()  # the linter's rules that were broken in any of the tries


@dataclass(slots=True)
class _Step:
    """Something that worked and may have made the difference."""

    at: int
    command: Command | None = None
    file: str = ""
    switched_off: str = ""
    """The lines of the file that switch a check off, or its name where it is a check's own settings."""


@dataclass(slots=True)
class _CallHistory:
    """What is known so far, read call by call."""

    open: list[_OpenFailure] = field(default_factory=list)
    steps: list[_Step] = field(default_factory=list)
    missed: dict[str, int] = field(default_factory=dict)  # how often an edit did not find its text, by file
    reread: set[str] = field(default_factory=set)


def find_fixes(acts: Sequence[Act]) -> list[Fix]:
    """The fixes among the calls of one agent, in order."""
    session = _CallHistory()
    found: list[Fix] = []
    for at, act in enumerate(acts):
        if act.doing is None or act.refused:
            continue
        match act.doing.deed:
            case Deed.RUN:
                found += [replace(fix, act=act.id, at=at) for fix in _read_command(session, act, at)]
            case Deed.EDIT if act.doing.files:
                found += [replace(fix, act=act.id, at=at) for fix in _read_edit(session, act, at)]
            case Deed.READ:
                session.reread.update(file for file in act.doing.files if file in session.missed)
            case _:
                pass
    by_words: dict[str, Fix] = {}
    for fix in found:
        by_words.setdefault(fix.lesson.sentence(), fix)
    return list(by_words.values())


def is_noise(act: Act) -> bool:
    """A failure that teaches nothing, and counts as no outcome."""
    if act.doing is None or act.doing.deed is not Deed.RUN:
        return False
    command = command_of(act.doing.what)
    return command is None or likeness.only_shows(command) or error_in(act.text).kind in _NO_FAULT


def has_failed(act: Act) -> bool:
    """By its exit code, or by what it printed where the exit code is hidden or says little."""
    if act.failed:
        return True
    if act.doing is None or act.doing.deed is not Deed.RUN:
        return False
    command = command_of(act.doing.what)
    if command is None or likeness.only_shows(command):
        return False
    if likeness.is_check(command) and prints_failure(act.text):
        return True
    if not _is_result_hidden(act.doing.what):
        return False
    if likeness.is_linter(command) and error_in(act.text).kind is ErrorKind.LINT:
        return True
    error = error_at_ends(act.text)
    return not likeness.is_check(command) and error.shape != "" and error.kind not in (ErrorKind.TESTS, ErrorKind.LINT)


def _is_result_hidden(text: str) -> bool:
    return re.sub(r"\s*2>&1", "", undressed_end(text)) != re.sub(r"\s*2>&1", "", text.strip()) or " | " in text


def _has_worked(act: Act) -> bool:
    """Where the exit code is hidden: it printed something, and no error."""
    what = act.doing.what if act.doing else ""
    if not _is_result_hidden(what):
        return True
    if workarounds.hides_result(what):
        return False
    return bool(act.text.strip()) and not error_in(act.text).shape


def _read_command(session: _CallHistory, act: Act, at: int) -> Iterator[Fix]:
    command = command_of(act.doing.what) if act.doing else None
    if command is None:
        return
    session.open = [one for one in session.open if at - one.last <= REACH_CALLS]
    if has_failed(act):
        _open_failure(session, act, command, at)
        return
    if not _has_worked(act):
        return
    still: list[_OpenFailure] = []
    again = any(likeness.is_same(one.command, command) for one in session.open)
    for one in session.open:
        if likeness.is_same(one.command, command) or (one.rules and likeness.includes(command, one.command)):
            yield from _explain_success(session, one, at)
        elif likeness.mends(one.command, command, one.error):
            # Where the command itself had failed too, the others were tries on the way: one lesson, not several.
            slipped = likeness.is_typo(one.command, command, one.error)
            if not again and not slipped and one.error.kind is not ErrorKind.LINT:
                yield from _make_lesson(one, command, How.INSTEAD)
        else:
            still.append(one)
    session.open = still
    if likeness.may_change(command):
        session.steps.append(_Step(at, command))


def _open_failure(session: _CallHistory, act: Act, command: Command, at: int) -> None:
    if is_noise(act) or likeness.is_one_off(command):
        return
    if not likeness.is_tellable(command.told) and not command.place:
        return
    error = error_in(act.text)
    rules = error.names if error.kind is ErrorKind.LINT else ()
    for one in session.open:
        if likeness.is_same(one.command, command):
            one.last, one.tried = at, one.tried + 1
            one.rules = tuple(dict.fromkeys((*one.rules, *rules)))
            return
    own = any(step.file for step in session.steps)
    session.open.append(_OpenFailure(command, error, at, at, own, rules=rules))


def _explain_success(session: _CallHistory, one: _OpenFailure, at: int) -> Iterator[Fix]:
    """The same command works now: find what made the difference."""
    since = [step for step in session.steps if step.at > one.first]
    ran = [step.command for step in since if step.command is not None and likeness.is_tellable(step.command.told)]
    akin = [command for command in ran if likeness.names_error(command, one.error)]
    changed = [step.file for step in since if step.file]
    switched_off = "\n".join(step.switched_off for step in since)
    if one.rules:
        # Which file it was says nothing for the next time; the rules do.
        kept = [rule for rule in one.rules if rule not in switched_off]
        last = likeness.last_step(one.command)
        if changed and kept and likeness.is_tellable(last):
            learnt = Lesson(last, rule_list(kept), How.RULE)
            yield Fix(learnt, first=one.first, is_sure=False)
    elif switched_off.strip():
        return
    elif akin:
        yield from _make_lesson(one, akin[-1], How.AFTER)
    elif one.error.kind is ErrorKind.HICCUP or (one.error.kind is ErrorKind.TESTS and not changed):
        return
    elif changed:
        # A failing test and a change that mends it is a day's work; more than one try is something to learn from.
        worth = one.tried > 1 or one.error.kind is not ErrorKind.TESTS
        worth &= likeness.is_tellable(one.command.told) and likeness.is_tellable_path(changed[-1])
        if worth and not one.own:
            told = one.error.told(one.command.text, changed[-1])
            yield Fix(Lesson(one.command.told, changed[-1], How.CHANGED, told), first=one.first, is_sure=False)
    else:
        lost = one.error.kind in (ErrorKind.NO_FILE, ErrorKind.NO_TARGET)
        prepared = [
            command
            for command in ran
            if likeness.is_preparation(command, one.command) or (lost and command.family == "cd" and command.words)
        ]
        if prepared:
            yield from _make_lesson(one, prepared[-1], How.AFTER)


def _make_lesson(one: _OpenFailure, fix: Command, how: How) -> Iterator[Fix]:
    if workarounds.workaround(one.command.text, fix.text):
        return
    failed, works = _without_shared_folder(one.command.told, fix.told)
    if one.error.kind is ErrorKind.NO_FILE and one.command.place and fix.place not in ("", one.command.place):
        failed, works = one.command.place, fix.place  # a script that lies elsewhere, whatever it is given
    if failed != works and likeness.is_tellable(failed) and likeness.is_tellable(works):
        told = one.error.told(failed, works)
        # Everyone knows how to mend what git itself complains about.
        is_sure = bool(one.error.shape) and one.command.family != "git"
        yield Fix(Lesson(failed, works, how, told), first=one.first, is_sure=is_sure)


def _without_shared_folder(one: str, two: str) -> tuple[str, str]:
    """Both were run in the same folder: that made no difference."""
    folder = re.match(r"cd \S+ && ", one)
    if folder and two.startswith(folder[0]):
        return one[folder.end() :], two[folder.end() :]
    return one, two


def _read_edit(session: _CallHistory, act: Act, at: int) -> Iterator[Fix]:
    file = act.doing.files[0] if act.doing else ""
    if act.failed:
        if error_in(act.text).told() == _STALE:
            session.missed[file] = session.missed.get(file, 0) + 1
        return
    # Once is a slip of the agent; twice, and the file is not what it is taken for.
    if session.missed.pop(file, 0) > 1 and file in session.reread and likeness.is_tellable_path(file):
        yield Fix(Lesson(file, file, How.READ_AGAIN, _STALE), first=at, is_sure=False)
    session.reread.discard(file)
    session.steps.append(_Step(at, file=file, switched_off=workarounds.switched_off(file, act.text)))
