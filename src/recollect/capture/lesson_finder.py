"""Finds lessons: failures of a session, each paired with what mended it, and which of them come into force. A command
that fails stays open until another of the same purpose works, or the same after a step that made the difference. What a
tool or a file said is no lesson; one needs a second session, or a person who speaks for the fix."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from recollect.base.moment import Moment
from recollect.base.structs import Struct, replace
from recollect.base.text import composed, first_line_title
from recollect.capture import failed_commands as commands
from recollect.capture.call_outcomes import is_re_ask
from recollect.capture.failed_commands import (
    CommandError,
    ErrorKind,
    error_in,
    is_tellable,
    shape_of,
    without_name,
)
from recollect.capture.prompt_text import masked
from recollect.capture.tables import Patterns, Words
from recollect.model.command import SPEECH, Command, How, Lesson, command_of, rule_list
from recollect.model.memory import Rule, Status
from recollect.model.plan import Change, Plan, Update
from recollect.model.session import Act, Speaker, ToolAction

REACH_CALLS = 60  # what works after more calls than this works for another reason
MIN_SESSIONS = 2
FADES_DAYS = 30  # a failure that nobody met for so long has gone away by itself
FADED_TAG = "faded"
CONFIRMED_TAG = "confirmed"  # a person spoke for the fix
_STALE = "String to replace not found"
_MAX_CHARS = 600  # a longer text is a plan or a log: it names a lot of things
_LAST_ACTS = 40  # how far behind the fix a word may still speak of it
_TAG_CHARS = 0xE0000
_PUBLIC_NAMES = frozenset("origin upstream main master".split())
_CUES = Patterns("lesson_evidence")
_WORDS = Words("lesson_evidence")


class Fix(Struct):
    lesson: Lesson
    first: int  # where it first failed
    is_sure: bool = (
        False  # worth asking a person about. Otherwise it must occur in another session first.
    )
    act: str = ""  # the id of the call that worked: the same fix read again ends in the same call
    at: int = 0  # where that call stands among the acts


class _OpenFailure(
    Struct, frozen=False
):  # a command that failed, while nothing that mends it was seen
    command: Command
    error: CommandError
    first: int
    last: int
    own: bool  # the agent had changed files before it: perhaps the failure is its own fault
    rules: tuple[str, ...]  # the linter's rules that were broken in any of the tries
    tried: int = 1


class _Step(NamedTuple):  # something that worked and may have made the difference
    at: int
    command: Command | None = None
    file: str = ""
    switched_off: str = ""  # what the edit switched off


def find_fixes(acts: Sequence[Act]) -> list[Fix]:
    history = _History()
    found: dict[str, Fix] = {}
    for at, act in enumerate(acts):
        for fix in history.read(act, at):
            found.setdefault(fix.lesson.sentence(), replace(fix, act=act.id, at=at))
    return list(found.values())


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
            self.open = [one for one in self.open if at - one.last <= REACH_CALLS]
            if commands.has_failed(act):
                self._open_failure(act, command, at)
            elif commands.has_worked(act, use.what):
                yield from self._read_success(command, at)
        elif use.action is ToolAction.EDIT and use.files and not act.failed:
            file = use.files[0]
            # Once is a slip of the agent; twice, and the file is not what it is taken for.
            if (
                self.missed.pop(file, 0) > 1
                and file in self.reread
                and commands.is_tellable_path(file)
            ):
                yield Fix(Lesson(file, file, How.READ_AGAIN, _STALE), at)
            self.reread.discard(file)
            self.steps.append(
                _Step(at, file=file, switched_off=commands.switched_off(file, act.text))
            )
        elif (
            use.action is ToolAction.EDIT and use.files and error_in(act.text).describe() == _STALE
        ):
            self.missed[use.files[0]] += 1
        elif use.action is ToolAction.READ:
            self.reread.update(file for file in use.files if file in self.missed)

    def _open_failure(self, act: Act, command: Command, at: int) -> None:
        is_nameless = not is_tellable(command.general) and not command.place
        if commands.is_noise(act) or commands.is_one_off(command) or is_nameless:
            return
        error = error_in(act.text)
        rules = error.names if error.kind is ErrorKind.LINT else ()
        for one in self.open:
            if commands.is_same(one.command, command):
                one.last, one.tried = at, one.tried + 1
                one.rules = tuple(dict.fromkeys((*one.rules, *rules)))
                return
        own = any(step.file for step in self.steps)
        self.open.append(_OpenFailure(command, error, at, at, own, rules))

    def _read_success(self, command: Command, at: int) -> Iterator[Fix]:
        still: list[_OpenFailure] = []
        again = any(commands.is_same(one.command, command) for one in self.open)
        for one in self.open:
            if commands.is_same(one.command, command) or (
                one.rules and commands.includes(command, one.command)
            ):
                yield from self._explain_success(one)
            elif commands.mends(one.command, command, one.error):
                # Where the command itself had failed too, the others were tries on the way: one lesson, not several.
                is_typo = commands.is_typo(one.command, command, one.error)
                if not again and not is_typo and one.error.kind is not ErrorKind.LINT:
                    yield from _make_lesson(one, command, How.INSTEAD)
            else:
                still.append(one)
        self.open = still
        if commands.may_change(command):
            self.steps.append(_Step(at, command))

    def _explain_success(self, one: _OpenFailure) -> Iterator[Fix]:
        """The same command works now: find what made the difference."""
        kind, failed = one.error.kind, one.command
        since = [step for step in self.steps if step.at > one.first]
        ran = [
            step.command
            for step in since
            if step.command is not None and is_tellable(step.command.general)
        ]
        akin = [command for command in ran if commands.names_error(command, one.error)]
        changed = [step.file for step in since if step.file]
        switched_off = "\n".join(step.switched_off for step in since)
        if one.rules:
            # Which file it was says nothing for the next time; the rules do. A lint hook checks every push.
            kept = [rule for rule in one.rules if rule not in switched_off]
            last = (
                f"git {failed.verb}"
                if failed.family == "git"
                else failed.general.rpartition(" && ")[2].strip()
            )
            if changed and kept and is_tellable(last):
                yield Fix(Lesson(last, rule_list(kept), How.RULE), one.first)
        elif switched_off.strip():
            return
        elif akin:
            yield from _make_lesson(one, akin[-1], How.AFTER)
        elif kind is ErrorKind.HICCUP or (kind is ErrorKind.TESTS and not changed):
            return
        elif changed:
            # A failing test and a change that mends it is a day's work; more than one try is something to learn from.
            is_worth = not one.own and (one.tried > 1 or kind is not ErrorKind.TESTS)
            if is_worth and is_tellable(failed.general) and commands.is_tellable_path(changed[-1]):
                told = one.error.describe(failed.text, changed[-1])
                yield Fix(Lesson(failed.general, changed[-1], How.CHANGED, told), one.first)
        else:
            is_lost = kind in (ErrorKind.NO_FILE, ErrorKind.NO_TARGET)
            for step in reversed(ran):
                if commands.is_preparation(step, failed) or (
                    is_lost and step.family == "cd" and step.words
                ):
                    yield from _make_lesson(one, step, How.AFTER)
                    return


def _make_lesson(one: _OpenFailure, fix: Command, how: How) -> Iterator[Fix]:
    if commands.is_workaround(one.command.text, fix.text):
        return
    failed, works = one.command.general, fix.general
    folder = re.match(r"cd \S+ && ", failed)
    if folder and works.startswith(
        folder[0]
    ):  # both were run in the same folder: that made no difference
        failed, works = failed[folder.end() :], works[folder.end() :]
    if (
        one.error.kind is ErrorKind.NO_FILE
        and one.command.place
        and fix.place not in ("", one.command.place)
    ):
        failed, works = (
            one.command.place,
            fix.place,
        )  # a script that lies elsewhere, whatever it is given
    if failed != works and is_tellable(failed) and is_tellable(works):
        told = one.error.describe(failed, works)
        # Everyone knows how to mend what git itself complains about.
        is_sure = bool(one.error.shape) and one.command.family != "git"
        yield Fix(Lesson(failed, works, how, told), one.first, is_sure)


def is_from_stranger(learnt: Lesson, acts: Sequence[Act]) -> bool:
    """`acts`: up to the call that worked."""
    if learnt.how in (How.READ_AGAIN, How.RULE):
        return False
    if learnt.how is How.AFTER and _was_printed(learnt.fix, acts, strict=True):
        return True
    told = (learnt.failed, learnt.fix) if learnt.how is How.INSTEAD else (learnt.failed,)
    return any(_was_printed(command, acts) for command in told)


def confirmed_at(fix: Fix, acts: Sequence[Act]) -> int | None:
    """Where the person speaks for the fix; None: nowhere."""
    for number in range(fix.first + 1, min(len(acts), fix.at + _LAST_ACTS)):
        act = acts[number]
        is_prompt = act.speaker is Speaker.PERSON and not act.agent
        if not is_prompt or len(act.text) > _MAX_CHARS or act.text.rstrip().endswith("?"):
            continue
        is_after = number > fix.at
        if is_after and is_re_ask(act.text):
            return None
        # Nobody else spoke between the fix and these words.
        is_next = is_after and all(
            one.speaker is not Speaker.PERSON for one in acts[fix.at + 1 : number]
        )
        if _names_fix(act.text, fix.lesson) or (is_next and _CUES.says_so.search(masked(act.text))):
            return number
    return None


def _was_printed(command: str, acts: Sequence[Act], *, strict: bool = False) -> bool:
    """`strict`: what was not seen whole may have held it. A step could be any command; what stands in for one that
    failed is like it."""
    # Options are common, too, as long as they bring no value of their own.
    common = _WORDS.anyones | {".", "./...", "&&"}
    known = {
        word
        for pair in _word_pairs(command)
        for word in pair
        if word in common or _CUES.option.fullmatch(word)
    }
    pairs = {pair for pair in _word_pairs(command) if not known.issuperset(pair)}
    for act in acts:
        ran = (
            command_of(act.use.what)
            if act.use is not None and act.use.action is ToolAction.RUN
            else None
        )
        if not pairs or (ran is not None and ran.general.endswith(command)):
            return False  # what it prints itself, or anything after it, does not count
        if act.speaker is Speaker.PERSON:
            pairs -= set(_word_pairs(act.text))
        elif act.speaker is not Speaker.AGENT and (
            (strict and act.partial) or not pairs.isdisjoint(_word_pairs(act.text))
        ):
            return True
    return False


def _word_pairs(text: str) -> Iterator[tuple[str, str]]:
    """As a reader sees them: without what is invisible, tags and wide letters as the letters they stand for."""
    if not text.isascii():
        shown = "".join(
            chr(ord(char) - _TAG_CHARS) if 0 < ord(char) - _TAG_CHARS < 0x7F else char
            for char in text
        )
        text = "".join(
            char for char in composed(shown, "NFKC") if unicodedata.category(char) != "Cf"
        )
    return pairwise(word.rstrip(".:!?").lower() for word in _CUES.token.findall(text))


def _names_fix(text: str, learnt: Lesson) -> bool:
    if learnt.how not in (How.INSTEAD, How.AFTER):
        return False
    said = text.casefold()
    new = [
        word
        for word in learnt.fix.split()
        if learnt.how is How.AFTER or word not in learnt.failed.split()
    ]
    named = [
        word.strip("\"'=").casefold()
        for word in new
        if not word.startswith("-") and word not in (SPEECH, "&&")
    ]
    named = [part for word in named for part in word.split("=") if part not in _WORDS.common]
    if not named:
        return learnt.fix.casefold() in said
    # The runner's own name goes without saying: "use the ml env" is `conda run -n ml`.
    needed = [word for word in named if word not in _WORDS.runners] or named
    found = [re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", said) for word in needed]
    return all(one and not _CUES.against.search(said[: one.start()]) for one in found)


def seen_in_sessions(rule: Rule) -> tuple[str, ...]:
    return tuple(
        tag.removeprefix(Lesson.SESSION_TAG)
        for tag in rule.tags
        if tag.startswith(Lesson.SESSION_TAG)
    )


def promotion_plan(rules: Iterable[Rule], *, now: Moment) -> Plan:
    """`rules`: all that are active or candidates."""
    standing = list(rules)
    changes: list[Change] = []
    for rule in standing:
        if rule.status is not Status.CANDIDATE or rule.origin != Lesson.ORIGIN:
            continue
        if len(seen_in_sessions(rule)) >= MIN_SESSIONS or CONFIRMED_TAG in rule.tags:
            changes.append(
                Update.between(rule, replace(rule, status=Status.ACTIVE, reinforced_at=now))
            )
            new = Lesson.read(rule.body)
            for old in standing:  # a lesson that says the opposite takes the place of one in force
                known = Lesson.read(old.body) if old.status is Status.ACTIVE else None
                if new and known and (new.failed, new.fix) == (known.fix, known.failed):
                    gone = replace(old, status=Status.SUPERSEDED, superseded_by=rule.id)
                    changes.append(Update.between(old, gone))
        elif rule.last_active_at.plus(days=FADES_DAYS).micros <= now.micros:
            tags = (*rule.tags, FADED_TAG)
            changes.append(Update.between(rule, replace(rule, status=Status.ARCHIVED, tags=tags)))
    return Plan.of(changes)


def is_same_lesson(one: Lesson, two: Lesson) -> bool:
    """Errors differ from run to run, lines from session to session; what failed how, and what mended it, do not."""
    is_equal = (one.failed, one.fix) == (two.failed, two.fix)
    return one.how is two.how and (is_equal or _lesson_key(one) == _lesson_key(two))


def seen_again(
    rule: Rule, again: Lesson, session: str, *, now: Moment, is_confirmed: bool = False
) -> Rule:
    """The rule after the lesson was seen again; unchanged where this session was counted before. A lesson that had
    faded, or was only counted, waits again."""
    is_new = session not in seen_in_sessions(rule)
    told = Lesson.read(rule.body)
    words = (
        _merge(told, again).sentence() if told and (is_new or told.how is How.RULE) else rule.body
    )
    if not is_new and words == rule.body and (not is_confirmed or CONFIRMED_TAG in rule.tags):
        return rule
    added = [f"{Lesson.SESSION_TAG}{session}"] if is_new else []
    added += [CONFIRMED_TAG] if is_confirmed else []
    back = (is_new or is_confirmed) and rule.status is Status.ARCHIVED and FADED_TAG in rule.tags
    return replace(
        rule, body=words, title=first_line_title(words), last_active_at=now, seen=rule.seen + is_new,
        tags=tuple(dict.fromkeys((*(tag for tag in rule.tags if not back or tag != FADED_TAG), *added))),
        status=Status.CANDIDATE if back else rule.status,
    )  # fmt: skip


def _lesson_key(one: Lesson) -> tuple[object, ...] | None:
    failed = command_of(one.failed)
    if failed is None or one.how is How.READ_AGAIN:
        return one.failed, one.fix
    what = (failed.family, failed.program, failed.verb)
    if one.how is How.RULE:
        return what
    fix = command_of(one.fix)
    if fix is None or one.how is How.CHANGED:
        return *what, shape_of(one.error), one.fix
    # An error of no known kind says little: then the commands must be alike too.
    known: tuple[object, ...] = (shape_of(one.error),) if one.error else (_lasting_words(failed),)
    if one.how is How.AFTER:
        return *what, known, fix.family, fix.verb, _lasting_words(fix)
    return *what, known, fix.program, fix.verb, _lasting_words(fix) - _lasting_words(failed)


def _lasting_words(command: Command) -> frozenset[str]:
    every = (word for part in (*command.dress, *command.words) for word in part.split())
    words = {
        word.rstrip("/").rpartition("/")[2] if word.startswith(("/", "~", "./")) else word
        for word in every
    }
    if command.family == "git":
        words = {word for word in words if word.startswith("-") or word in _PUBLIC_NAMES}
    return frozenset(word for word in words if word and not _CUES.once.fullmatch(word))


def _merge(old: Lesson, new: Lesson) -> Lesson:
    """What both lessons say; for a linter, the rules of both."""
    if old.how is How.RULE:
        return replace(old, fix=rule_list((*old.fix.split(", "), *new.fix.split(", "))))
    if old.how in (How.READ_AGAIN, How.CHANGED):
        return old
    error = old.error if old.error == new.error else without_name(shape_of(old.error))
    return replace(
        old,
        failed=_shared_words(old.failed, new.failed),
        fix=_shared_words(old.fix, new.fix),
        error=error,
    )


def _shared_words(one: str, two: str) -> str:
    """Word by word, with dots for what differs; the shorter text where the numbers of words differ."""
    ours, theirs = one.split(), two.split()
    if len(ours) != len(theirs):
        return min(one, two, key=len)
    return " ".join(
        mine if mine == yours else SPEECH for mine, yours in zip(ours, theirs, strict=True)
    )
