"""Ways to make a failure go away without mending it: what "works" then is never a lesson.

One table for commands, one for what an edit leaves in a file. A way counts where the fix has it and the command that
failed had not.
"""

from __future__ import annotations

import re

from recollect.model.command import Command, command_of, undressed_end

_WORD = r"(?<![\w.-])"
_TABLE: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        (
            "sets changes aside",
            r"\bgit\b(?: -\S+)* (?:stash|reset|restore|clean|revert)\b|\bgit checkout (?:-f|--|\.|HEAD|\S+ --)",
        ),
        (
            "skips a check",
            rf"{_WORD}(?:--no-verify|--no-check\S*|--no-lint|--skip\S*|-DskipTests|-Dmaven\.test\.skip\S*|-x test\b"
            r"|--passWithNoTests|--if-present|--no-audit|--no-strict\S*|--no-bail|--no-engine-strict)"
            r"|\b(?:HUSKY=0|SKIP(?:_\w+)?=\S+|CI=false|NO_VERIFY=\S+|\w*DISABLE\w*=(?:1|true)|ESLINT_NO\w+=\S+)"
            r"|\bxfail\b|\.skip\b|\bskip_?tests?\b|\bnot (?:slow|integration|e2e|network)\b",
        ),
        (
            "leaves something out",
            rf"{_WORD}(?:--deselect|--ignore\S*|--exclude\S*|--omit\S*|--not\b|--no-\w*(?:tests?|lint|types?)\b)",
        ),
        (
            "runs fewer tests",
            rf"{_WORD}(?:-k|--lf|--last-failed|--testNamePattern|--testPathPattern|--grep|--only\S*|-run|--run|--filter"
            r"|--bail|--collect-only|--co|--list|--dry-run|--shard\S*|--changed\S*|--onlyChanged|--help|--version)(?![\w-])",
        ),
        (
            "hides how it ended",
            r"\|\|\s*(?:true|:|exit 0|echo|printf)(?!\S)|;\s*(?:true|:|exit 0)\s*$|\bset \+e\b|\btrap\b"
            rf"|{_WORD}(?:--exit-zero|--no-fail\S*|--keep-going|--ignore-errors|--no-error-on\S*)|\bmake -i\b"
            r"|(?:2|&)>\s*/dev/null|>\s*/dev/null 2>&1|SilentlyContinue",
        ),
        (
            "overwrites",
            rf"{_WORD}(?:--force(?!-recreate)\S*|--hard|--overwrite|--allow-(?:dirty|empty)\S*)(?![\w-])"
            r"|\bgit (?:push|add|checkout|clean|branch)\b[^|;&]* -[a-zA-Z]*f\b",
        ),
        (
            "deletes",
            r"(?:^|[\s;&|])(?:rm|unlink|rmdir|shred|del|Remove-Item)\s|\bgit rm\b|\s-delete\b|\btruncate\b"
            r"|(?:^|[;&\s]):?\s*>\s*\S+\.\w+|\bmv \S+ (?:/tmp|/dev/null|\S+\.(?:bak|old|disabled|skip))",
        ),
        (
            "switches a rule off",
            r"\b(?:noqa|nolint|eslint-disable|ts-ignore|ts-expect-error|type: ?ignore|pylint: ?disable|rubocop:disable)"
            rf"|{_WORD}(?:-W ?ignore|--disable\S*|--rule|-Wno-\S+|-A clippy\S*|--allow-warnings|--skipLibCheck"
            r"|--extend-ignore\S*|--cap-lints)",
        ),
        (
            "lowers a threshold",
            rf"{_WORD}(?:--max-warnings\S*|--cov-fail-under\S*|--fail-under\S*|--threshold\S*|--tolerance\S*|--fail-on\S*"
            r"|--severity\S*|--audit-level\S*|--maxfail\S*|--failure-level\S*)",
        ),
        (
            "only waits",
            r"\b(?:timeout|gtimeout|retry|sleep)\s+-?\S*\d|--retr(?:y|ies)\S*|--reruns\S*|--timeout\S*|\bflaky\b|\w*TIMEOUT\w*="
            r"|(?:^|;\s*)(?:for|while|until)\s",
        ),
        (
            "trusts anyone",
            r"--insecure\b|--no-check-certificate|--trusted-host|NODE_TLS_REJECT_UNAUTHORIZED|SSL_NO_VERIFY"
            r"|sslVerify[ =]false|--no-gpg-sign|--allow-unauthenticated|--no-sandbox|--privileged|\bchmod\b|\bchown\b",
        ),
    )
)
_MARKS = re.compile(
    r"eslint-disable|\bnoqa\b|//\s*nolint|type:\s*ignore|@ts-(?:ignore|expect-error|nocheck)|pylint:\s*disable"
    r"|rubocop:disable|#\[allow\(|#\[ignore|@pytest\.mark\.(?:skip|xfail)|pytest\.skip\("
    r"|\b(?:it|test|describe)\.(?:skip|todo)\b|\bx(?:it|describe|test)\(|\bt\.Skip\(|@Disabled\b|@Ignore\b"
    r"|biome-ignore|prettier-ignore|istanbul ignore|pragma: no cover"
)
_CHECK_SETTINGS = re.compile(
    r"(?:^|/)(?:\.\w*ignore|\.eslint\S*|eslint\.config\.\w+|\.?golangci\S*|\.?ruff\.toml|\.flake8|\.pylintrc|mypy\.ini"
    r"|\.rubocop\S*|biome\.jsonc?|codecov\.yml|\.coveragerc|\.pre-commit-config\.yaml|\.husky/\S+|clippy\.toml|\.shellcheckrc)$"
)
# Without these less is checked.
_STRICT = re.compile(
    r"-x|-e|-race|--strict\S*|-W(?:error|all)?|--max-warnings\S*|--check|--exit-code|--coverage|--cov\S*|--ci|--all\S*|-a"
    r"|--workspaces?|--recursive|-r|--noEmit|--fail-\S+|-Werror|--pedantic|--all-features|--all-targets"
)
_UNSEEN = re.compile(r"2>\s*/dev/null|&>|>\s*/dev/null|\|\s*(?:grep|rg|head|wc|awk|sed|jq)\b")
_SELECTS = re.compile(r"-(?:t|m|run)")


def hides(failed: str, fix: str) -> str:
    """How the fix hides the failure; empty where it does not."""
    for name, pattern in _TABLE:
        if pattern.search(fix) and not pattern.search(failed):
            return name
    one, two = command_of(failed), command_of(fix)
    if one is None or two is None or (one.family, one.verb) != (two.family, two.verb):
        return ""
    if failed != fix and undressed_end(failed) == undressed_end(fix):
        return "shows less"
    return _does_less(one, two)


def hides_end(text: str) -> bool:
    """Nothing can be said of how it went: errors are thrown away, or only some lines are looked at."""
    return _UNSEEN.search(text) is not None


def switched_off(file: str, written: str) -> str:
    """What an edit switches off, as far as what is seen of it says: those lines, or the settings of a check."""
    if _CHECK_SETTINGS.search(file):
        return file
    return "\n".join(line for line in written.splitlines() if _MARKS.search(line))


def _does_less(failed: Command, fix: Command) -> str:
    if set(_steps(fix)) < set(_steps(failed)):
        return "leaves a step out"
    gone = [word for word in failed.words if word not in fix.words]
    if any(_STRICT.fullmatch(word) for word in gone):
        return "checks less"
    added = [word for word in fix.words if word not in failed.words]
    if failed.family in _SELECTING and any(_SELECTS.fullmatch(word) for word in added):
        return "runs fewer tests"
    return ""


def _steps(command: Command) -> list[str]:
    """What runs before it, without where it runs and what is set for it."""
    return [part for part in command.dress if " " in part and not re.match(r"cd |export |source |\. |conda ", part)]


_SELECTING = frozenset("pytest jest vitest mocha go js rspec cargo gradle mvn phpunit".split())
