"""Blots out what the person did not say himself: code, logs, diffs, tables, quotes, chats, tickets, lists of others.

The result is as long as the text, so that a place in one is the same place in the other.
Blocks first, then lines, then quotes within lines.
"""

from __future__ import annotations

import re

BLOT = "\x01"
QUOTE = "\x02"
"""A short quote or a piece of code inside a sentence: still a word of it."""

_FENCE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(r"<([a-zA-Z][\w-]{2,40})(?: [^<>\n]{0,200})?>.*?</\1>", re.DOTALL)
_BETWEEN = re.compile(r"^(?:-{3,} ?)?BEGIN\b.*?^(?:-{3,} ?)?END\b[^\n]*$", re.MULTILINE | re.DOTALL)
_LINES = re.compile(r"[^\n]*\n?")
_CONTRACTED = re.compile(r"(?<=\w)'(?=\w)")
_DOUBLE = re.compile(
    r'"[^"\n]{1,600}"|\u201c[^\u201d]{1,600}\u201d|\u300c[^\u300d]{1,300}\u300d|\u00ab[^\u00bb]{1,300}\u00bb'
)
_SINGLE = re.compile(r"(?<![\w'])'[^'\n]{1,300}'(?!\w)|\u2018[^\u2019\n]{1,300}\u2019(?!\w)")
_TICKS = re.compile(r"`[^`\n]{1,300}`")

_PASTED = re.compile(
    r"""
    ^\s*(?:
        >                                                   # a quote, a shell's second prompt
      | \$\s+\S | %\s+\S | PS\s[A-Z]:                       # a shell
      | Traceback\b | commit\s[0-9a-f]{6,} | File\s"[^"]+",\sline | at\s[\w.$<>]+\( | Caused\sby:
      | \[?\d{4}-\d\d-\d\d[T\s]+(?:\d\d:\d\d|[A-Z]{4,5}\b) | \[?\d\d:\d\d(?::\d\d)?\]?\s+\w+ | <\d\d:\d\d>
      | (?:npm|yarn|pnpm)\s(?:ERR!|WARN|warn|error)
      | (?:error|warning|fatal|note|hint|info|debug|exception|FAIL|FAILED|PASS|ok|E)(?:\[[^\]]*\])?:\s
      | \[(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL|[\w -]{0,20}(?:hook|bot|ci|system))\]
      | (?:[Hh]ook|[Tt]ool|[Ss]cript|[Ll]inter|CI)\s(?:output|says|feedback|message|result)s?:
      | (?:\w+:)?\w+\shook\s(?:error|blocked|feedback)\b | \[Request\sinterrupted | (?:remote|SYSTEM):\s
      | [EWIDV]/\w+[(:] | (?:Warning|Normal)\s{2,}\w
      | FAILED\s | ERROR\b | WARN(?:ING)?\b | INFO\b | DEBUG\b
      | [\w.]*(?:Error|Exception|Warning):\s
      | [+-]{1,3}\s{2,}\S | [+-]{3}\s[ab]/ | @@\s | diff\s--git | index\s[0-9a-f]{7}
      | \|.*\|\s*$                                          # a table
      | [{\[]\s*["{\[] | [}\])]+[;,]?\s*$ | ["'][\w$-]+["']\s*:     # JSON
      | (?://|/\*|\*/|\#!|<!--|--\s\w)                     # a comment
      | (?:const|let|var|def|class|function|fun|func|fn|import|from|export|return|public|private|static|async|await
          |if|for|while)\b.*[;{(\[=:]\s*$
      | (?:const|let|var|val)\s+\w+\s*=  | import\s+[\w{*].*\sfrom\s['"] | from\s[\w.]+\simport\b | @\w+\(?.*\)?\s*$
      | \#{1,6}\s                                           # a heading
      | (?:From|To|Cc|Subject|Date|Sent|Title|Description|Acceptance|Summary|Priority|Reporter|Assignee|Steps|Expected
          |Actual|Status|Labels?|Type):\s
      | (?:feat|fix|chore|refactor|docs|test|build|ci|perf|style)(?:\([^)]*\))?!?:\s
      | (?:User|Agent|Assistant|Human|System|AI|Bot|Me)\s*:\s
      | [\w./-]+:\d+(?::\d+)?[:\s]                          # file.py:12:
      | \s{2,}\d+\s+\d                                      # columns of numbers
    )
    | [;{}]\s*$ | \)\s*=>\s*\{ | \s(?:2>&1|\|\s(?:tail|head|grep|jq|wc))\b | ^\s{2,}[\w.]+\s{2,}[\w.]+\s{2,}
    """,
    re.VERBOSE,
)
_CHAT = re.compile(r"^\s*(?:\[[\d: ]+\]\s*)?@?[A-Z]?[\w.-]{1,20}(?:\s[\w.-]{1,15})?:\s+\S")
_BULLET = re.compile(r"^\s*(?:[-*\u2022+]|\d{1,2}[.)]|\(\w\))\s+\S")
_INTRO = re.compile(r":\s*$")
_OWN_LIST = re.compile(
    r"\b(?:rules?|conventions?|guidelines?|preferences?|remember|keep in mind|from now on|going forward|we |our"
    r" |in this (?:repo|project|codebase)|note|things? to know|remarks?|things|points|please)\b",
    re.IGNORECASE,
)
_OWN_RULES = re.compile(
    r"\b(?:rules?|conventions?|guidelines?|preferences?|remember|from now on|going forward)\b", re.I
)
_OTHERS = re.compile(
    r"\b(?:here(?:'s| is| are)|previous|left|notes|draft|paste|pasted|copied|feedback|review(?:er)?s?|said|says|wrote"
    r"|ticket|issue|policy|spec|slide|changelog|from (?!now)|implement|following|summari[sz]e|translate|polish"
    r"|contributing|todo|brainstorm|options?|compare|document|write|add|create|convert|turn|list from|output|log|got"
    r"|email|mail|docs?|readme|page|article|answer|support)\b",
    re.IGNORECASE,
)
_MANY_WORDS = 4


# "can you check this comment: The wrapper …": from the colon on it is somebody else's text, till the person goes on.
_HANDED_OVER = re.compile(
    r"\b(?:check|look at|look into|address|feedback|comments?|reviews?|findings?|the following|got this|issues?|errors?"
    r"|message|says|said|wrote|regarding|this is for [\w./-]+|fix(?: this| these)?|implement|ticket|error is"
    r"|explain(?: this)?|answer(?: this)?|suggests?|suggestion|it has|it shows|it prints|output)\b[^:.?!\n]{0,40}: +"
    r"(?=[A-Z`\"*\d#/])"
)
_GOES_ON = re.compile(r"\n\s*(?=[a-z])|\n\s*\n\s*(?=(?:Can|Could|Please|What|Is|I|Do|Should|So|Also|And|But|Let)\b)")
_PASTE_WORDS = 9


def is_own_list(text: str) -> bool:
    """Whether its list is announced as the person's own rules."""
    return any(_OWN_RULES.search(line) for line in text.split("\n") if _INTRO.search(line))


def masked(text: str) -> str:
    seen = text
    for block in (_FENCE, _TAGGED, _BETWEEN):
        seen = block.sub(lambda found: _blotted(found.group()), seen)
    return _quotes(_handed_over(_pasted_lines(seen)))


def _blotted(text: str) -> str:
    return re.sub(r"[^\n]", BLOT, text)


def _pasted_lines(text: str) -> str:
    """Paragraph by paragraph: one that is pasted in good part is all of it pasted."""
    done: list[str] = []
    paragraph: list[str] = []
    intro = ""
    for line in [*_LINES.findall(text), "\n"]:
        if line.strip():
            paragraph.append(line)
            continue
        if paragraph:
            done += _paragraph(paragraph, intro)
            intro = paragraph[-1] if _INTRO.search(paragraph[-1]) else ""
            paragraph = []
        done.append(line)
    return "".join(done)[: len(text)]


def _paragraph(lines: list[str], intro: str) -> list[str]:
    pasted = [bool(_PASTED.search(line)) and BLOT not in line for line in lines]
    mostly = sum(pasted) >= 2 and sum(pasted) * 5 >= len(lines) * 2
    if any(line.startswith("@@ ") for line in lines):  # a diff
        return [_blotted(line) for line in lines]
    if mostly or (pasted[0] and len(lines) > 1 and _is_trace(lines[0])):
        return [_blotted(line) for line in lines]
    if _of_others(intro):
        return [_blotted(line) for line in lines]
    chat = [bool(_CHAT.match(line)) for line in lines]
    if sum(chat) >= 2 and sum(chat) * 2 > len(lines):
        return [_blotted(line) if is_chat else line for line, is_chat in zip(lines, chat, strict=True)]
    kept: list[str] = []
    others = False
    for line, is_pasted in zip(lines, pasted, strict=True):
        if _INTRO.search(line):
            others = _of_others(line)
        elif others and not _BULLET.match(line) and kept and not _BULLET.match(lines[len(kept) - 1]):
            others = len(kept) == 1
        kept.append(_blotted(line) if is_pasted or (others and not _INTRO.search(line)) else line)
    return kept


def _handed_over(text: str) -> str:
    found = _HANDED_OVER.search(text)
    if not found:
        return text
    goes_on = _GOES_ON.search(text, found.end())
    end = goes_on.start() if goes_on else len(text)
    if len(text[found.end() : end].split()) < _PASTE_WORDS:
        return text
    return text[: found.end()] + _blotted(text[found.end() : end]) + text[end:]


def _is_trace(line: str) -> bool:
    return bool(
        re.match(r"\s*(?:Traceback|commit [0-9a-f]{6,}|>|\$|error|fatal|npm|\d{4}-|\w*(?:Error|Exception))", line)
    )


def _of_others(intro: str) -> bool:
    """A line that ends in a colon and announces somebody else's words, or a text to work on."""
    if not _INTRO.search(intro):
        return False
    return bool(_OTHERS.search(intro)) or not _OWN_LIST.search(intro)


def _quotes(text: str) -> str:
    """A quoted sentence is somebody's words; a quoted name is a word of the sentence it stands in."""
    text = _TICKS.sub(lambda found: QUOTE * len(found.group()), text)
    text = _DOUBLE.sub(_quoted, text)
    return _SINGLE.sub(_quoted, text)


def _quoted(found: re.Match[str]) -> str:
    said = found.group()
    many = len(said.split()) >= _MANY_WORDS or len(said) > 40 or (len(said) > 8 and not said.isascii())
    return (BLOT if many else QUOTE) * len(said)
