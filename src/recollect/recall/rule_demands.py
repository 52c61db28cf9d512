"""What a rule asks of a call, by its own words ("use X, not Y", "never X", "X instead of Y", "X before Y"), and whether
a call keeps the rule or breaks it.

Only what can be seen in a call is judged: programs, their arguments, files. Everything else cannot be told, and says
nothing about the rule. Which rules are about a call at all is decided by call_rules.py; lessons have their own form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from recollect.base.shipped import load_table
from recollect.model.command import FAMILIES, Command
from recollect.recall.call_rules import JAVASCRIPT, Call, names_path

_MAX_RULE_CHARS = 600  # a longer text states more than one thing, and none of them plainly
_MAX_NAME_WORDS = 4
_MAX_CHOICE_WORDS = 2
_TOKEN = re.compile(r"`[^`\n]*`|[^\s`]+")
_PATHLIKE = re.compile(r"[\w@.*~-]*(?:/[\w@.*-]*)+|[\w@*-][\w@.*-]*\.[A-Za-z]\w{0,5}")
_OPTION = re.compile(r"--?[A-Za-z][\w-]*")
_RUN = "run"
_ENDS = (",", ";", ".", ":", "!", "\u2014", "\u2013")
_STRIP = "\"'()[]{},;:!?\u201c\u201d\u2018\u2019\u00ab\u00bb"
_TABLE = load_table("recollect.recall", "rule_words.toml")
(
    _WANTED,
    _UNWANTED,
    _INSTEAD,
    _BEFORE,
    _WHERE,
    _EXCEPTED,
    _JOINTS,
    _SMALL,
    _WIDE,
    _SHOWS,
    _REMOVES,
    _TASK_RUNNERS,
    _OPENERS,
    _CONDITIONS,
) = (
    frozenset(_TABLE[name].split())
    for name in (
        "wanted",
        "unwanted",
        "instead",
        "before",
        "where",
        "excepted",
        "joints",
        "small",
        "wide",
        "shows",
        "removes",
        "task_runners",
        "openers",
        "conditions",
    )
)
_SPELLED = [(re.compile(row["pattern"]), row["says"]) for row in _TABLE["spelled"]]
_PHRASES = sorted(
    (
        word.replace("_", " ")
        for words in (_INSTEAD, _BEFORE, _SMALL)
        for word in words
        if "_" in word
    ),
    key=len,
    reverse=True,
)


class Verdict(StrEnum):
    KEPT = "kept"
    BROKEN = "broken"
    UNKNOWN = "unknown"  # it cannot be told from this call


class Name(NamedTuple):
    """Something that a call may do or touch: a command with its arguments, a package, an option, a file."""

    words: tuple[str, ...]
    is_quoted: bool = False

    @property
    def plain(self) -> frozenset[str]:
        """As the words of commands are compared: `npm run dev` is `npm dev`."""
        program, *rest = self.words
        if FAMILIES.get(program) == JAVASCRIPT and rest[:1] == [_RUN] and len(rest) > 1:
            rest = rest[1:]
        return frozenset(map(_stem, (program, *rest)))


class Order(NamedTuple):
    first: Name
    then: Name


class Demand(NamedTuple):
    wanted: tuple[Name, ...] = ()
    unwanted: tuple[Name, ...] = ()
    orders: tuple[Order, ...] = ()
    where: frozenset[str] = frozenset()  # one of these words must be about the call
    excepted: frozenset[str] = frozenset()  # none of these


class _Part(StrEnum):
    NOTHING = "nothing"
    WANTED = "wanted"
    UNWANTED = "unwanted"
    WHERE = "where"
    EXCEPTED = "excepted"
    THEN = "then"


def judge(rule: str, call: Call, earlier: Sequence[Call] = ()) -> Verdict:
    """`earlier`: calls of the same session that worked, the oldest first."""
    demand = demand_of(rule)
    if not _holds_for(demand, call):
        return Verdict.UNKNOWN
    done = [name for name in demand.wanted if _does(call, name)]
    if any(_does_unwanted(call, name, done) for name in demand.unwanted):
        return Verdict.BROKEN
    ordered = _judge_orders(demand.orders, call, earlier)
    if ordered is not None:
        return ordered
    if done:
        return Verdict.KEPT
    if any(_lacks_option(call, name) for name in demand.wanted):
        return Verdict.BROKEN
    return Verdict.UNKNOWN


def _holds_for(demand: Demand, call: Call) -> bool:
    """Whether the call is one of those that the rule is narrowed to, and none that it excepts."""
    if not demand.where and not demand.excepted:
        return True
    about = _words_of_call(call)
    if demand.where and not demand.where & about:
        return False
    return not demand.excepted & about


def _does_unwanted(call: Call, name: Name, done: Sequence[Name]) -> bool:
    """`uv run pytest` instead of `pytest`: who does the one does not do the other."""
    is_part = any(name.plain < wanted.plain for wanted in done)
    return not is_part and _does(call, name)


def _judge_orders(orders: Sequence[Order], call: Call, earlier: Sequence[Call]) -> Verdict | None:
    """By the first order whose second step this call is; None where it is none."""
    for order in orders:
        if not _does(call, order.then):
            continue
        if any(_does(step, order.first) for step in earlier) or _does_in_order(call, order):
            return Verdict.KEPT
        return Verdict.BROKEN if order.first.is_quoted else Verdict.UNKNOWN
    return None


def _does_in_order(call: Call, order: Order) -> bool:
    """Whether the call itself does the first step, and not behind the second."""
    for command in _acting(call):
        said = _words_of(command)
        if order.first.plain <= said:
            return True
        if order.then.plain <= said:
            return False
    return _does(call, order.first)


@lru_cache(maxsize=512)
def demand_of(rule: str) -> Demand:
    """Empty for a rule that names nothing to use or to avoid."""
    if len(rule) > _MAX_RULE_CHARS:
        return Demand()
    reader = _Reader()
    for clause in _clauses(rule):
        reader.read(clause)
    return reader.demand()


class _Reader:
    """Reads a rule clause by clause. A clause without a word of its own goes on as the one before it."""

    def __init__(self) -> None:
        self._names: dict[_Part, list[Name]] = {part: [] for part in _Part}
        self._orders: list[Order] = []
        self._narrow: dict[_Part, set[str]] = {_Part.WHERE: set(), _Part.EXCEPTED: set()}
        self._pending: tuple[str, ...] = ()  # a short clause that said nothing by itself
        self._goes_on = _Part.NOTHING  # what the next clause is, unless it says so itself
        self._begin_clause()

    def _begin_clause(self) -> None:
        self._part = self._goes_on
        self._held: list[str] = []  # words of this part so far
        self._first: Name | None = None  # what is to be done before something else
        self._is_marked = False  # a word of this very clause said what follows
        self._is_refusing = False  # and that it is not wanted
        self._asked_before = len(self._names[_Part.WANTED])

    def read(self, clause: Sequence[str]) -> None:
        if _leaves_open(clause):
            return
        self._begin_clause()
        for token in clause:
            word = token.casefold()
            part = _turn(word, self._part, is_marked=self._is_marked, has_words=bool(self._held))
            part = self._as_refused(part, word)
            if part is None or _is_of_command(self._held, word):
                self._held.append(token)
            else:
                self._close_part(word, part)
                self._begin_part(part)
                self._is_refusing = self._is_refusing or word in _UNWANTED
        self._end_clause()

    def _as_refused(self, part: _Part | None, word: str) -> _Part | None:
        """What a clause that refuses goes on with: "Do not ever run it" asks for nothing, and "Use psql, never on prod"
        excepts a place.
        """
        is_bare = self._part is _Part.UNWANTED and not self._held
        if part is _Part.WHERE and is_bare and self._names[_Part.WANTED]:
            return _Part.EXCEPTED
        if part is _Part.WANTED and self._is_refusing and word in _WANTED:
            return _Part.UNWANTED
        return part

    def _close_part(self, word: str, following: _Part) -> None:
        """Keeps what was said before this word, which turns to another part."""
        if following is _Part.THEN:
            self._first = next(iter(_names(self._held)), None)
        elif self._held:
            # "pnpm instead of npm": what stands before it is wanted.
            is_choice = self._part is _Part.NOTHING and word in _INSTEAD
            self._keep(_Part.WANTED if is_choice else self._part, self._held)
        elif following is _Part.UNWANTED and not self._is_marked:
            self._keep(_Part.WANTED, self._pending)  # "pnpm, not npm"

    def _begin_part(self, part: _Part) -> None:
        self._pending = ()
        self._part = part
        self._held = []
        self._is_marked = True
        if part in (_Part.WANTED, _Part.UNWANTED):
            self._goes_on = part

    def _end_clause(self) -> None:
        then = next(iter(_names(self._held)), None) if self._part is _Part.THEN else None
        if self._part is _Part.UNWANTED and not self._held:
            self._refuse_what_was_asked()
        elif self._first and then:
            self._orders.append(Order(self._first, then))
        elif self._held:
            self._keep(self._part, self._held)
        is_short = self._part is _Part.NOTHING and len(self._held) <= _MAX_CHOICE_WORDS
        self._pending = tuple(self._held) if is_short else ()

    def _refuse_what_was_asked(self) -> None:
        """ "Use npm? Never." """
        wanted = self._names[_Part.WANTED]
        self._names[_Part.UNWANTED] += wanted[self._asked_before :]
        del wanted[self._asked_before :]

    def demand(self) -> Demand:
        return Demand(
            wanted=tuple(self._names[_Part.WANTED]),
            unwanted=tuple(self._names[_Part.UNWANTED]),
            orders=tuple(self._orders),
            where=frozenset(self._narrow[_Part.WHERE] - _WIDE),
            excepted=frozenset(self._narrow[_Part.EXCEPTED]),
        )

    def _keep(self, part: _Part, tokens: Sequence[str]) -> None:
        if part in self._narrow:
            words = (_stem(_bare(token)) for token in tokens if token.casefold() not in _SMALL)
            self._narrow[part].update(filter(None, words))
        elif part in (_Part.WANTED, _Part.UNWANTED):
            self._names[part] += _names(tokens)


def _leaves_open(clause: Sequence[str]) -> bool:
    """ "You may use npm", "Before you run it, ask", "It is wrong to use npm": only a plain "use" asks for something,
    with no more before it than who is told, or where.
    """
    words = [token.casefold() for token in clause]
    for number, word in enumerate(words):
        if word in _UNWANTED:
            return False
        if word in _WANTED:
            before = words[:number]
            is_told_where = bool(before) and before[0] in (_WHERE | _INSTEAD) - _CONDITIONS
            return not is_told_where and not _OPENERS.issuperset(before)
    return False


def _turn(word: str, part: _Part, *, is_marked: bool, has_words: bool) -> _Part | None:
    """What the words after this one are; None where it is a word of what is named."""
    if word in _UNWANTED:
        return _Part.UNWANTED
    if word in _INSTEAD:
        return _after_instead(part, has_words=has_words)
    if word in _BEFORE and part is _Part.WANTED and has_words:
        return _Part.THEN
    if word in _EXCEPTED:
        return _Part.EXCEPTED
    if word in _WHERE and part not in (_Part.THEN, _Part.EXCEPTED):
        return _Part.WHERE
    if word in _WANTED:
        return _after_wanted(part, is_begun=is_marked and not has_words)
    return None


def _is_of_command(before: Sequence[str], word: str) -> bool:
    """`run` in "npm run dev"."""
    return word == _RUN and bool(before) and before[-1].casefold() in _TASK_RUNNERS


def _after_instead(part: _Part, *, has_words: bool) -> _Part:
    """What follows is unwanted, unless what stands before it is."""
    if part is _Part.UNWANTED and has_words:
        return _Part.WANTED
    return _Part.UNWANTED


def _after_wanted(part: _Part, *, is_begun: bool) -> _Part:
    """ "Never use npm" goes on to say what is not wanted."""
    if is_begun and part in (_Part.UNWANTED, _Part.THEN):
        return part
    return _Part.WANTED


def _spell_out(rule: str) -> str:
    """Every phrase of the table as one word."""
    text = rule.replace("\u2019", "'")
    for pattern, says in _SPELLED:
        text = pattern.sub(says, text)
    for phrase in _PHRASES:
        text = re.sub(rf"(?i)(?<!\w){phrase}(?!\w)", phrase.replace(" ", "_"), text)
    return text


def _clauses(rule: str) -> Iterator[list[str]]:
    clause: list[str] = []
    for token in _TOKEN.findall(_spell_out(rule)):
        is_joint = token.casefold() in _JOINTS
        plain = token if token.startswith("`") else token.rstrip(".").strip(_STRIP)
        if plain and not is_joint and plain != "-":
            clause.append(plain)
        if is_joint or (token.endswith(_ENDS) and not token.startswith("`")) or plain == "-":
            yield clause
            clause = []
    yield clause


def _names(tokens: Sequence[str]) -> list[Name]:
    """What these words name: each piece of code; else each file; else all of them together, if they are few."""
    quoted = _quoted_names(tokens)
    if quoted:
        return quoted
    files = [token for token in tokens if _PATHLIKE.fullmatch(token)]
    if files:
        return [Name((file,)) for file in files]
    words = tuple(token for token in tokens if token.casefold() not in _SMALL)
    return [Name(words)] if 0 < len(words) <= _MAX_NAME_WORDS else []


def _quoted_names(tokens: Sequence[str]) -> list[Name]:
    """Each piece of code, with the options that are named behind it: "`go test` with -race"."""
    quoted: list[tuple[str, ...]] = []
    for token in tokens:
        if token.startswith("`"):
            quoted.append(tuple(token.strip("`").split()[:8]))
        elif quoted and _OPTION.fullmatch(token):
            quoted[-1] = (*quoted[-1], token)
    return [Name(words, is_quoted=True) for words in quoted if words]


def _does(call: Call, name: Name) -> bool:
    """Whether the call runs this, or writes this file."""
    if len(name.words) == 1:
        (word,) = name.words
        if call.writes and any(names_path(word, path) for path in call.paths):
            return True
        if any(program == word.casefold() for program, _ in call.programs):
            return True
    return any(name.plain <= _words_of(command) for command in _acting(call))


def _lacks_option(call: Call, name: Name) -> bool:
    """It runs the command that is wanted, without the options that are."""
    options = {_stem(word) for word in name.words if word.startswith("-")}
    if not options or name.words[0].startswith("-"):
        return False
    program, plain = name.words[0].casefold(), name.plain - options
    return any(
        command.program == program and plain <= _words_of(command) for command in _acting(call)
    )


def _acting(call: Call) -> Iterator[Command]:
    """Its commands, without those that only show something or take something away."""
    parts = call.commands[:-1] or call.commands  # the last one is the whole line
    for command in parts:
        verb = command.verb.split(" ")[0]
        is_look = command.program in _SHOWS or f"{command.program}:{verb}" in _SHOWS
        if not is_look and verb not in _REMOVES:
            yield command


def _words_of(command: Command) -> frozenset[str]:
    dress = (word for part in command.dress for word in part.split())
    said = (command.program, *command.verb.split(), *command.words, *dress)
    return frozenset(stem for word in said for stem in _stems(word))


def _words_of_call(call: Call) -> frozenset[str]:
    said = {stem for command in call.commands for stem in _words_of(command)}
    texts: Iterable[str] = (
        *call.paths,
        *(text for one in call.commands for text in one.dress),
        call.tool,
    )
    said.update(_stem(word) for text in texts for word in re.split(r"[\W_]+", text[:400]) if word)
    said.update(_stem(word) for word in re.split(r"[\W_]+", call.text[:400]) if word)
    return frozenset(said)


def _stems(word: str) -> Iterator[str]:
    """An argument as it is, and without its value or version."""
    yield _stem(word)
    name, mark, _ = word.partition("=")
    if mark:
        yield _stem(name)
    name, mark, _ = word[1:].partition("@")
    if mark:
        yield _stem(word[:1] + name)


def _stem(word: str) -> str:
    """`--force` and `force`, `committing` and `commit`, `tests` and `test`."""
    bare = _bare(word)
    if not bare.isascii() or not bare.isalpha() or len(bare) < 5:
        return bare
    if bare.endswith("ing") and len(bare) > 6:
        bare = bare[:-3]
        return bare[:-1] if bare[-1] == bare[-2] and bare[-1] not in "ls" else bare
    return bare[:-1] if bare.endswith("s") and not bare.endswith("ss") else bare


def _bare(word: str) -> str:
    return word.casefold().strip(_STRIP + "`").removeprefix("./").lstrip("-")
