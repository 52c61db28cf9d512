"""A failure paired with what mended it, over several steps: the lessons of a session.

A command that fails stays open until something like it works: another command of the same purpose, or the same command
after a step that made the difference. A pager behind a command hides how it ended: then what it prints says it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from recollect.capture import command_likeness as likeness
from recollect.capture.command_errors import CommandError, ErrorKind, error_at_ends, error_in, prints_failure
from recollect.model.command import Command, How, Lesson, command_of, rule_list, undressed_end
from recollect.model.session import Act, ToolAction

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
    own: bool  # the agent had changed files before it: perhaps the failure is its own fault
    tried: int = 1
    rules: tuple[str, ...] = ()  # the linter's rules that were broken in any of the tries


@dataclass(frozen=True, slots=True)
class _Step:
    """Something that worked and may have made the difference."""

    at: int
    command: Command | None = None
    file: str = ""
    switched_off: str = ""  # what the edit switched off


def find_fixes(acts: Sequence[Act]) -> list[Fix]:
    """The fixes among the calls of one agent, in order."""
    history = _History()
    found: dict[str, Fix] = {}
    for at, act in enumerate(acts):
        for fix in history.read(act, at):
            found.setdefault(fix.lesson.sentence(), replace(fix, act=act.id, at=at))
    return list(found.values())


def is_noise(act: Act) -> bool:
    """A failure that teaches nothing, and counts as no outcome."""
    if act.use is None or act.use.action is not ToolAction.RUN:
        return False
    command = command_of(act.use.what)
    return command is None or likeness.only_shows(command) or error_in(act.text).kind in _NO_FAULT


def has_failed(act: Act) -> bool:
    """By its exit code, or by what it printed where the exit code is hidden or says little."""
    if act.failed or act.use is None or act.use.action is not ToolAction.RUN:
        return bool(act.failed)
    command = command_of(act.use.what)
    if command is None or likeness.only_shows(command):
        return False
    is_check = likeness.is_check(command)
    if is_check and prints_failure(act.text):
        return True
    if not _is_result_hidden(act.use.what):
        return False
    if likeness.is_linter(command) and error_in(act.text).kind is ErrorKind.LINT:
        return True
    error = error_at_ends(act.text)
    return not is_check and error.shape != "" and error.kind not in (ErrorKind.TESTS, ErrorKind.LINT)


def _is_result_hidden(text: str) -> bool:
    return re.sub(r"\s*2>&1", "", undressed_end(text)) != re.sub(r"\s*2>&1", "", text.strip()) or " | " in text


class _History:
    def __init__(self) -> None:
        self.open: list[_OpenFailure] = []
        self.steps: list[_Step] = []
        self.missed: Counter[str] = Counter()  # how often an edit did not find its text, by file
        self.reread: set[str] = set()

    def read(self, act: Act, at: int) -> Iterator[Fix]:
        use = act.use
        if use is None or act.refused:
            return
        if use.action is ToolAction.RUN and (command := command_of(use.what)):
            yield from self._read_command(act, command, use.what, at)
        elif use.action is ToolAction.EDIT and use.files:
            yield from self._read_edit(act, use.files[0], at)
        elif use.action is ToolAction.READ:
            self.reread.update(file for file in use.files if file in self.missed)

    def _read_command(self, act: Act, command: Command, line: str, at: int) -> Iterator[Fix]:
        self.open = [one for one in self.open if at - one.last <= REACH_CALLS]
        if has_failed(act):
            self._open_failure(act, command, at)
            return
        # Where the exit code is hidden, it must have printed something, and no error.
        if _is_result_hidden(line) and (
            likeness.hides_result(line) or not act.text.strip() or error_in(act.text).shape
        ):
            return
        still: list[_OpenFailure] = []
        again = any(likeness.is_same(one.command, command) for one in self.open)
        for one in self.open:
            if likeness.is_same(one.command, command) or (one.rules and likeness.includes(command, one.command)):
                yield from self._explain_success(one)
            elif likeness.mends(one.command, command, one.error):
                # Where the command itself had failed too, the others were tries on the way: one lesson, not several.
                is_typo = likeness.is_typo(one.command, command, one.error)
                if not again and not is_typo and one.error.kind is not ErrorKind.LINT:
                    yield from _make_lesson(one, command, How.INSTEAD)
            else:
                still.append(one)
        self.open = still
        if likeness.may_change(command):
            self.steps.append(_Step(at, command))

    def _open_failure(self, act: Act, command: Command, at: int) -> None:
        if is_noise(act) or likeness.is_one_off(command):
            return
        if not likeness.is_tellable(command.general) and not command.place:
            return
        error = error_in(act.text)
        rules = error.names if error.kind is ErrorKind.LINT else ()
        for one in self.open:
            if likeness.is_same(one.command, command):
                one.last, one.tried = at, one.tried + 1
                one.rules = tuple(dict.fromkeys((*one.rules, *rules)))
                return
        own = any(step.file for step in self.steps)
        self.open.append(_OpenFailure(command, error, at, at, own, rules=rules))

    def _explain_success(self, one: _OpenFailure) -> Iterator[Fix]:
        """The same command works now: find what made the difference."""
        kind = one.error.kind
        since = [step for step in self.steps if step.at > one.first]
        ran = [
            step.command for step in since if step.command is not None and likeness.is_tellable(step.command.general)
        ]
        akin = [command for command in ran if likeness.names_error(command, one.error)]
        changed = [step.file for step in since if step.file]
        switched_off = "\n".join(step.switched_off for step in since)
        if one.rules:
            # Which file it was says nothing for the next time; the rules do.
            kept = [rule for rule in one.rules if rule not in switched_off]
            last = likeness.last_step(one.command)
            if changed and kept and likeness.is_tellable(last):
                yield Fix(Lesson(last, rule_list(kept), How.RULE), first=one.first, is_sure=False)
        elif switched_off.strip():
            return
        elif akin:
            yield from _make_lesson(one, akin[-1], How.AFTER)
        elif kind is ErrorKind.HICCUP or (kind is ErrorKind.TESTS and not changed):
            return
        elif changed:
            # A failing test and a change that mends it is a day's work; more than one try is something to learn from.
            is_worth = not one.own and (one.tried > 1 or kind is not ErrorKind.TESTS)
            if is_worth and likeness.is_tellable(one.command.general) and likeness.is_tellable_path(changed[-1]):
                told = one.error.describe(one.command.text, changed[-1])
                yield Fix(Lesson(one.command.general, changed[-1], How.CHANGED, told), first=one.first, is_sure=False)
        else:
            is_lost = kind in (ErrorKind.NO_FILE, ErrorKind.NO_TARGET)
            prepared = [
                command
                for command in ran
                if likeness.is_preparation(command, one.command)
                or (is_lost and command.family == "cd" and command.words)
            ]
            if prepared:
                yield from _make_lesson(one, prepared[-1], How.AFTER)

    def _read_edit(self, act: Act, file: str, at: int) -> Iterator[Fix]:
        if act.failed:
            if error_in(act.text).describe() == _STALE:
                self.missed[file] += 1
            return
        # Once is a slip of the agent; twice, and the file is not what it is taken for.
        if self.missed.pop(file, 0) > 1 and file in self.reread and likeness.is_tellable_path(file):
            yield Fix(Lesson(file, file, How.READ_AGAIN, _STALE), first=at, is_sure=False)
        self.reread.discard(file)
        self.steps.append(_Step(at, file=file, switched_off=likeness.switched_off(file, act.text)))


def _make_lesson(one: _OpenFailure, fix: Command, how: How) -> Iterator[Fix]:
    if likeness.is_workaround(one.command.text, fix.text):
        return
    failed, works = one.command.general, fix.general
    folder = re.match(r"cd \S+ && ", failed)
    if folder and works.startswith(folder[0]):  # both were run in the same folder: that made no difference
        failed, works = failed[folder.end() :], works[folder.end() :]
    if one.error.kind is ErrorKind.NO_FILE and one.command.place and fix.place not in ("", one.command.place):
        failed, works = one.command.place, fix.place  # a script that lies elsewhere, whatever it is given
    if failed != works and likeness.is_tellable(failed) and likeness.is_tellable(works):
        told = one.error.describe(failed, works)
        # Everyone knows how to mend what git itself complains about.
        is_sure = bool(one.error.shape) and one.command.family != "git"
        yield Fix(Lesson(failed, works, how, told), first=one.first, is_sure=is_sure)
