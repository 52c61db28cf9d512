"""Text that a machine printed or that a shell is to run: error lines, log lines, stack traces, commands, code, bare
paths. No work is named after it. And what a command is for, in words.

Decides line by line, by its beginning; whole prompts with pasted parts are cut by prompt_text.py. What kind of error a
failed command printed is read by failed_commands.py.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from recollect.capture.tables import Pattern, Patterns, Words, compiled, table

_LINE_CHARS = 300  # what a longer line is shows at its beginning
_REQUEST_CHARS = 2_000
_MAX_LINES = 200
_MAX_COMMAND_WORDS = 8  # without any sign of a shell
_CUES = Patterns("machine_text")
_WORDS = Words("machine_text")
_PROGRAM = re.compile(r"(?:\S*/)?([\w.+-]{1,40})")
# Where in a file: `(41,12)`, `:41:12`, `:[10,5]`, ` (12)`.
_PLACE_IN_FILE = re.compile(r"(?: ?:?[(\[]\d{1,7}(?:[,:] ?\d{1,7})?[)\]]|(?::\d{1,7}){1,2}):?$")
_SENTENCE_END = re.compile(r"[?:!]`?$|\w\.`?$")
_LETTERS = re.compile(r"[^\W\d_]{2}")


@lru_cache(maxsize=1024)
def is_machine_text(line: str) -> bool:
    """Whether nobody would say this line: an error, a log line, a command, code, or a path alone."""
    text = line.strip()[:_LINE_CHARS]
    if not text:
        return False
    return (
        is_error(text) or _is_log(text) or is_command(text) or _is_code(text) or is_path_alone(text)
    )


def is_error(line: str) -> bool:
    """A line of an error message or a stack trace, or one that only says which command failed."""
    text = line.strip()[:_LINE_CHARS]
    bare = text.lstrip("`'\"*>-#| \u00d7\u2717\u2716\u274c\u2718")
    if _CUES.command_ended.match(text) or _CUES.stack_frame.match(bare):
        return True
    return bool(_CUES.error.match(bare) or _CUES.error_inside.search(text))


def is_command(line: str) -> bool:
    """What one types at a shell's prompt. `make it faster` is none, `make smoke` is."""
    text = line.strip()[:_LINE_CHARS]
    mark = _CUES.prompt_mark.match(text)
    if mark:
        text = text[mark.end() :]
    words = text.strip("`").split()
    if not words or not _PROGRAM.fullmatch(words[0]):
        return False
    is_known = _is_known_program(words[0])
    if mark:
        return is_known or not _has_prose(words[1:])
    if text.startswith(("./", "/", "~/")) and len(words) > 1:
        return not _has_prose(words[1:])
    return is_known and _is_call(text, words)


def _is_known_program(word: str) -> bool:
    """In lower case: "Make" begins a sentence."""
    return word == word.casefold() and _program_name(word) in _WORDS.programs


def _program_name(word: str) -> str:
    """Without the folder that it is in."""
    program = _PROGRAM.fullmatch(word)
    return program[1].casefold() if program else ""


def _has_prose(words: list[str]) -> bool:
    return any(word.casefold().strip(",.!?;:") in _WORDS.prose for word in words)


def _is_call(text: str, words: list[str]) -> bool:
    """Whether the words after a program's name are its arguments, and do not go on as a sentence."""
    if _CUES.shell_joint.search(text):
        return True
    program, *arguments = words
    if not arguments or _has_prose(arguments) or _SENTENCE_END.search(text):
        return False
    if _CUES.shell_syntax.search(text) or is_path_alone(arguments[0]):
        return True
    if program == "sudo" and _is_known_program(arguments[0]):
        return True
    if len(arguments) == 1 and _program_name(program) in _WORDS.runners:
        return True
    return arguments[0] in _WORDS.command_verbs and len(words) <= _MAX_COMMAND_WORDS


def is_path_alone(text: str) -> bool:
    """Also with the place in it that a compiler names."""
    plain = _PLACE_IN_FILE.sub("", text.rstrip(" -\u2026")).strip(" .,;()[]<>")
    return bool(_CUES.path.fullmatch(plain) or _CUES.file.fullmatch(plain))


def _is_log(text: str) -> bool:
    return _CUES.log.match(text) is not None


def _is_code(text: str) -> bool:
    is_all_quoted = _CUES.span.search(text) and not _LETTERS.search(_CUES.span.sub(" ", text))
    return bool(is_all_quoted or _CUES.code.match(text) or _CUES.code_end.search(text))


def before_error(text: str) -> str:
    """What somebody says before an error message that stands in the same line."""
    found = _CUES.error_begins.search(text, 0, _REQUEST_CHARS)
    return text[: found.start()].rstrip(" :\"'`(") if found else text


def without_machine_text(text: str) -> str:
    """The lines that somebody said."""
    lines = text.splitlines()[:_MAX_LINES]
    return "\n".join(line for line in lines if not is_machine_text(line)).strip()


def goal_of(command: str) -> str:
    """What a command is for, in words; empty where that is not known."""
    text = command[:_LINE_CHARS]
    return next((says for pattern, says in _goals() if pattern.search(text)), "")


@cache
def _goals() -> tuple[tuple[Pattern, str], ...]:
    return tuple(
        (compiled(row["pattern"], {}), row["says"]) for row in table("machine_text.toml")["goals"]
    )
