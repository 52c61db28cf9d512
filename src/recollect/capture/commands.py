"""The commands of a turn that mattered: tests, builds, deploys, commits, failures and what then worked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from recollect.base.text import clip, one_line
from recollect.model.act import Act, Deed

MOST = 6
_CHARS = 100
_FAILURE_CHARS = 220

_LOOKS = frozenset(
    "cat cd clear date df dir du echo env file find grep head history hostname htop jq less ls lsof man more printenv "
    "ps pwd rg sed sleep stat tail top tree true type uname wc wait whereis which whoami".split()
)
_GIT_LOOKS = frozenset("status log diff show branch remote blame rev-parse ls-files config fetch add".split())
_JOINED = re.compile(r"&&|\|\||;|\n")
_ASSIGNED = re.compile(r"^(?:\w+=\S*\s+)+")
_PIPED = re.compile(
    r"\s*(?:2>&1)?\s*\|\s*(?:tail|head|grep|rg|sed|awk|wc|tee|cat|sort|jq|less)\b.*|\s*2>&1|\s*2>/dev/null"
)
_MATTERS = re.compile(
    r"\b(?:test|tests|pytest|jest|vitest|playwright|cypress|tsc|lint|eslint|ruff|mypy|biome|prettier|typecheck|"
    r"type-check|build|compile|make|just|cargo|go (?:test|build|vet|install|mod)|gradlew?|mvn|dotnet|npm|pnpm|yarn|bun|"
    r"npx|pip|uv|poetry|conda|mise|deploy|migrate|migration|alembic|prisma|drizzle|docker|kubectl|helm|terraform|"
    r"pulumi|"
    r"wrangler|vercel|fly|heroku|psql|mysql|redis-cli|systemctl|brew|apt|apt-get|bundle|rake|rspec|mix|swift|xcodebuild|"
    r"gh (?:pr|release|workflow|run)|git (?:commit|push|merge|rebase|tag|cherry-pick|revert|reset|stash|pull))\b"
)
_COMMIT = re.compile(r"\bgit\b[^\n]*?\bcommit\b")
_MESSAGE = re.compile(
    r"""-a?m\s*(?:"\$\(cat\s*<<-?\s*'?"?(\w+)'?"?\s*\n(?P<here>.*?)\n\s*\1|"(?P<two>[^"]*)|'(?P<one>[^']*))""",
    re.DOTALL,
)
_TELLING = re.compile(
    r"error|exception|fail|fatal|panic|denied|refused|not found|no such|cannot|can't|undefined|unexpected|invalid|"
    r"timed? ?out|traceback|assert|expected|missing|exit code",
    re.IGNORECASE,
)


def ran(acts: Sequence[Act]) -> str:
    """Each once for how it went, in order; where there are too many, the last ones."""
    found: dict[str, None] = {}
    for act in acts:
        if act.doing is None or act.doing.deed is not Deed.RUN or act.refused or looks_only(act.doing.what):
            continue
        if not (act.failed or matters(act.doing.what)):
            continue
        line = f"{short(act.doing.what)} (failed)" if act.failed else short(act.doing.what)
        found.pop(line, None)
        found[line] = None
    return "; ".join([line for line in found if line][-MOST:])


def matters(command: str) -> bool:
    return bool(_MATTERS.search(command[:400])) and not looks_only(command)


def short(command: str) -> str:
    """Without where it was run and what its output was piped through."""
    subject = _subject(command)
    if subject:
        pushed = " && git push" if re.search(r"\bgit push\b", command) else ""
        return clip(f'git commit -m "{clip(subject, 72)}"{pushed}', _CHARS)
    head = re.split(r"<<", command, maxsplit=1)[0]
    parts = [_ASSIGNED.sub("", _PIPED.sub("", part).strip()) for part in _JOINED.split(head)]
    kept = [part for part in parts if part and not _looks(part)] or parts[:1]
    return clip(one_line(" && ".join(dict.fromkeys(kept))).replace("; ", ", "), _CHARS)


def commit_subject(acts: Iterable[Act]) -> str:
    """The first line of the last commit's message."""
    found = [_subject(act.doing.what) for act in acts if act.doing and act.doing.deed is Deed.RUN and not act.failed]
    return next((subject for subject in reversed(found) if subject), "")


def _subject(command: str) -> str:
    message = _MESSAGE.search(command) if _COMMIT.search(command) else None
    if message is None:
        return ""
    text = message["here"] or message["two"] or message["one"] or ""
    return next((one_line(line) for line in text.splitlines() if line.strip()), "")


def failures(acts: Iterable[Act]) -> Iterator[str]:
    """What a command that mattered said when it failed."""
    for act in acts:
        if act.failed and not act.refused and act.doing and act.doing.deed is Deed.RUN and matters(act.doing.what):
            told = one_line(telling(act.text, _FAILURE_CHARS))
            if told:
                yield f"`{short(act.doing.what)}` failed: {told}"


def looks_only(command: str) -> bool:
    """It shows something and changes nothing."""
    parts = [part for part in _JOINED.split(command) if part.strip()]
    return all(_looks(part) for part in parts)


def _looks(command: str) -> bool:
    if ">" in re.sub(r"\d?>(?:&\d|/dev/null)", "", command):
        return False
    said = _ASSIGNED.sub("", command.strip("() ")).split()
    program = said[0].rsplit("/", 1)[-1] if said else ""
    if program == "git":
        rest = said[3:] if said[1:2] in (["-C"], ["-c"]) else said[1:]
        return next((word for word in rest if not word.startswith("-")), "status") in _GIT_LOOKS
    return not program or (program in _LOOKS and "-i" not in said[1:2] and "-delete" not in said)


def telling(output: str, most: int) -> str:
    """The lines that say what went wrong; where none does, the last ones."""
    lines = [line.rstrip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if _TELLING.search(line)] or lines[-4:]
    kept: list[str] = []
    for line in said:
        if sum(len(one) + 1 for one in kept) + len(line) > most:
            break
        kept.append(line)
    return "\n".join(kept) or clip(one_line(" ".join(said[:1])), most)
