"""Lists say what they leave out; times in them are local; lines fit the terminal."""

import json
import re
from pathlib import Path

import pytest

from recollect.app.core import App
from recollect.base.local_time import local_minute
from recollect.base.structs import replace
from recollect.cli.output import lines
from recollect.model.memory import Status
from recollect.model.plan import Create
from recollect.model.result import Scope
from recollect.model.session import Ending, Outcome
from recollect.model.timeline import SessionRow, Sessions
from recollect.render import terminal
from recollect.render.blocks import Line, Table, cut_line
from tests.cli.run import run
from tests.conftest import set_time_zone
from tests.values import NOW, act, plan, rule, thread


def fill(*memories: object) -> None:
    app = App.open(Path.cwd())
    app.writer(Scope.PROJECT).apply(plan(*map(Create, memories)), act())  # type: ignore[arg-type]
    app.close()


@pytest.mark.parametrize(
    ("shown", "total", "is_cut", "said"),
    [
        (20, 104, False, "20 of 104 shown; --limit 104 or --all for more."),
        (50, 1_001, True, "50 of more than 1,000 shown; --limit 100 or --all for more."),
        (20, 0, True, "20 shown, and there are more: --limit 40 or --all."),
        (20, 20, False, ""),
        (0, 0, False, ""),
    ],
)
def test_a_list_that_was_cut_says_so(shown: int, total: int, is_cut: bool, said: str):
    assert cut_line(shown, total, is_cut=is_cut) == said


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("threads", "20 of 30 shown; --limit 30 or --all for more."),
        ("rules --limit 5", "5 of 61 shown; --limit 61 or --all for more."),
        ("inbox list", "50 of 52 shown; --limit 52 or --all for more."),
        ("notes --limit 1", ""),
        ("search rule --limit 3", "shown; --limit"),
        ("list --limit 4", "4 of 143; `--offset 4` goes on."),
        ("outcomes --limit 2", "2 of 3 shown; --limit 3 or --all for more."),
        ("log --limit 1", "1 shown, and there are more: --limit 2 or --all."),
        ("activity --limit 1", "1 shown, and there are more: --limit 2 or --all."),
    ],
)
def test_every_list_with_a_limit_says_what_it_leaves_out(command: str, said: str):
    fill(
        *(thread(f"Thread {number}") for number in range(30)),
        *(rule(f"A rule number {number}") for number in range(60)),
        *(rule(f"Perhaps {number}", status=Status.CANDIDATE) for number in range(52)),
    )
    assert run("pin", "one more change", "--user").code == 0
    assert run("forget", "one more change", "--delete").code == 0
    record_outcomes(3)

    cut = run(*command.split())
    whole = run(*re.sub(r" --limit \d+", "", command).split(), "--all")

    assert (cut.code, whole.code) == (0, 0)
    assert said in cut.out
    assert "--limit" not in whole.out
    assert "--offset" not in whole.out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("rules", "No rules here; `recollect list --kind rule` has 52 others."),
        ("rules --type failure", "No rules here; `recollect list --kind rule` has 52 others."),
        ("rules --muted", "No muted rules here; `recollect list --kind rule` has 52 others."),
        (
            "threads --status superseded",
            "No threads here; `recollect list --kind thread` has 1 other.",
        ),
        ("notes", "No notes."),
        ("list --offset 99", "There are 53; none comes after number 99."),
    ],
)
def test_an_empty_list_says_what_its_filters_leave_out(command: str, said: str):
    fill(
        thread("Thread"),
        *(rule(f"Perhaps {number}", status=Status.CANDIDATE) for number in range(52)),
    )
    assert run(*command.split()).out == f"{said}\n"
    assert "nothing in force yet" not in run("status").out


def test_status_does_not_say_that_nothing_is_here_where_something_waits():
    fill(rule("Perhaps", status=Status.CANDIDATE))
    said = run("status").out
    assert "Here: nothing in force yet.\n1 rule waiting for your decision" in said


def test_a_search_says_how_many_match_and_that_there_are_more():
    fill(
        *(rule(f"The module {number} is checked") for number in range(90)),
        *(rule(f"The gate {number} is shut", status=Status.CANDIDATE) for number in range(30)),
    )
    searched = run("search", "module", "--limit", "5")
    assert re.search(r"5 of more than \d+ shown; --limit 10 or --all for more\.", searched.out)
    assert run("search", "module", "--limit", "5", "--json").json["is_cut"]
    assert run("search", "module", "--all").out.count("  rule, ") == 90
    waiting = "at least 10 candidate memories also match: `recollect inbox`"
    assert waiting in run("search", "gate").out.splitlines()
    assert (
        "20 of 30 shown; --limit 30" in run("search", "--status", "candidate", "--limit", "20").out
    )


def record_outcomes(many: int) -> None:
    app = App.open(Path.cwd())
    store = app.writer(Scope.PROJECT)
    pnpm = rule("Use pnpm")
    store.apply(plan(Create(pnpm)), act())
    for number in range(many):
        ending = (Ending.SUCCESS, Ending.FAILURE, Ending.RE_ASK)[number % 3]
        assert store.put(
            Outcome(
                kind=ending,
                at=NOW.plus(seconds=number),
                session=f"s-{number}",
                act=f"a-{number}",
                actor="Bash",
                action=f"pnpm test {number}",
                next_state="ENOENT" if number else "",
                shown=(pnpm.id,) if number != 2 else (),
            )
        )
    app.close()


def test_programs_are_told_beside_the_array_that_it_was_cut():
    fill(*(thread(f"Thread {number}") for number in range(30)))

    ran = run("threads", "--json")

    assert len(ran.json) == 20
    assert ran.err == "recollect: 20 of 30 shown; --limit 30 or --all for more.\n"
    assert run("threads", "--all", "--json").err == ""


def test_the_whole_inbox_can_be_gone_through_not_only_its_first_page():
    fill(*(rule(f"Perhaps {number}", status=Status.CANDIDATE) for number in range(52)))
    assert len(run("inbox", "--json").json) == 52


def test_outcomes_are_listed_with_what_came_of_them_and_which_memories_had_a_part():
    record_outcomes(3)

    said = run("outcomes").out
    failed = run("outcomes", "--ending", "failure", "--json").json

    assert "went well: Bash: pnpm test 0" in said
    assert "helped: Use pnpm" in said
    assert "failed: Bash: pnpm test 1" in said
    assert "did not help: Use pnpm" in said
    assert "you asked again: Bash: pnpm test 2" in said
    assert (failed["shown"], failed["total"]) == (1, 1)
    [outcome] = failed["outcomes"]
    assert outcome["at"].endswith("Z")
    assert outcome["memories"][0]["title"] == "Use pnpm"
    assert run("outcomes", "Use pnpm", "--json").json["total"] == 2
    assert run("outcomes", "--session", "s-2", "--json").json["total"] == 1
    assert run("outcomes", "--since", "2026-02-02", "--json").json["total"] == 0


def test_without_outcomes_the_list_says_so():
    assert run("outcomes").out == "No outcomes were recorded.\n"


def test_rules_are_listed_by_type():
    for kind in ("preference", "correction", "devops"):
        assert run("rule", "add", f'A {kind} of "rule_type":"failure"', "--type", kind).code == 0

    for kind in ("preference", "correction", "devops"):
        [found] = run("rules", "--type", kind, "--json").json
        assert found["rule_type"] == kind
    assert run("rules", "--type", "failure", "--json").json == []
    assert len(run("rules", "--json").json) == 3


def test_the_log_says_when_here_what_happened_to_what_by_whom_and_how_to_undo_it(
    monkeypatch: pytest.MonkeyPatch,
):
    set_time_zone(monkeypatch, "Europe/Berlin")
    assert run("pin", "Deploys go through staging").code == 0
    assert run("rule", "add", "Use pnpm").code == 0
    assert run("undo").code == 0
    assert run("edit", "Deploys", "--title", "Staging first").code == 0

    said = run("log").out
    entries = run("log", "--json").json

    assert re.match(r"WHEN \(CES?T\) +WHAT", said)
    assert re.search(r"\d\d:\d\d +changed “Staging first” +you +[0-9a-f]{6}\n", said)
    assert re.search(r"undid “noted: Use pnpm” +you +[0-9a-f]{6}\n", said)
    assert re.search(r"noted: Use pnpm +you +undone\n", said)
    assert re.search(r"pinned: Staging first +you +[0-9a-f]{6}\n", said)
    assert re.search(
        r"`recollect undo CHANGE` takes one back: `recollect undo [0-9a-f]{6}`.\n", said
    )
    assert entries[0]["at"].endswith("Z")
    assert entries[0]["change"].startswith("change_")


def test_the_log_offers_to_undo_only_what_can_be_undone():
    note = Path.home() / ".recollect" / "vault" / "pager.md"
    note.parent.mkdir(parents=True)
    note.write_text("Call the pager first.\n", encoding="utf-8")
    assert run("note", "sync").code == 0

    assert "recollect undo" not in run("log").out
    [read] = run("log", "--json").json
    assert not read["can_undo"]
    assert run("undo", read["change"]).code != 0


def test_figures_agree_with_their_numbers():
    for words in ("Use tabs", "Call Ben first"):
        assert run("rule", "add", words).code == 0
    assert run("pin", "The lift is slow").code == 0

    assert "By kind: 2 rules, 1 thread\n" in run("figures").out


def test_undo_says_what_is_true_now_and_how_to_redo_it():
    assert run("rule", "add", "Use pnpm, not npm").code == 0

    undone = run("undo").out
    [_, redo] = undone.splitlines()
    again = run(*redo.removeprefix("Redo: `recollect ").removesuffix("`").split())

    assert undone.startswith("Undone: the rule “Use pnpm, not npm” is no longer in force.\n")
    assert again.out.startswith("Done again: the rule “Use pnpm, not npm” is in force again.\n")
    assert "Use pnpm, not npm" in run("rules").out
    assert run("undo").out.startswith("Undone: the rule “Use pnpm, not npm” is no longer in force.")
    assert run("rules").out == "No rules.\n"


def test_a_day_in_an_option_is_a_local_day(monkeypatch: pytest.MonkeyPatch):
    fill(thread("Early", days_old=0))  # 2026-02-01 08:30 UTC
    set_time_zone(monkeypatch, "Pacific/Auckland")  # 21:30 there
    assert len(run("list", "--since", "2026-02-01", "--until", "2026-02-01", "--json").json) == 1
    set_time_zone(monkeypatch, "Pacific/Honolulu")  # the evening before
    assert run("list", "--since", "2026-02-01", "--json").json == []
    assert len(run("list", "--until", "2026-01-31", "--json").json) == 1


@pytest.mark.parametrize(
    ("text", "wrapped"),
    [
        ("short", ["short"]),
        ("one two three four five", ["one two three four", "five"]),
        ("    one two three four five", ["    one two three", "    four five"]),
        ("│ one two three four five", ["│ one two three four", "│ five"]),
        ("/a/long/path/that/cannot/be/broken", ["/a/long/path/that/cannot/be/broken"]),
        ("see /a/long/path/that/cannot/be/broken", ["see", "/a/long/path/that/cannot/be/broken"]),
        ("first line\n\nthird line is longer", ["first line", "", "third line is longer"]),
        ("漢字 漢字 漢字 漢字 漢字", ["漢字 漢字 漢字 漢字", "漢字"]),
    ],
)
def test_text_is_broken_between_words_and_indented_like_the_text_above(
    text: str, wrapped: list[str]
):
    [(printed, _)] = lines([Line(text)], width=20, wrap=20)
    assert printed.splitlines() == wrapped


def test_text_in_a_column_is_broken_inside_its_column():
    [(printed, _)] = lines([Line("ok   name  what it says of it")], width=24, wrap=24)
    assert printed.splitlines() == ["ok   name  what it says", "           of it"]


def test_what_must_stay_as_it_is_is_never_wrapped():
    long = "word " * 40
    [(printed, _)] = lines([Line(long, is_verbatim=True)], width=20, wrap=20)
    assert printed == long


def test_a_pipe_gets_whole_lines_unless_a_width_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    fill(thread("Long", body="word " * 60))
    assert max(map(len, run("show", "Long").out.splitlines())) == 300
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, run("show", "Long").out.splitlines())) <= 80
    assert max(map(len, run("show", "Long", "--content").out.splitlines())) == 300


def test_restore_unmutes_what_waits_in_the_inbox_and_leaves_it_there():
    fill(rule("Perhaps this", status=Status.CANDIDATE))
    run("inbox", "list")
    assert run("rate", "1", "never").code == 0
    assert run("restore", "1").code == 0
    assert "Perhaps this" in run("inbox", "list").out
    assert run("rules").out.startswith("No rules here; ")


def sessions(*, has_transcript: bool = True) -> Sessions:
    row = SessionRow(
        id="01234567-89ab",
        agent="Claude Code",
        began=NOW,
        last_at=NOW.plus(seconds=2_700),
        prompts=120,
        told=12,
        kept=3,
        tokens=12_345,
        has_transcript=has_transcript,
    )
    return Sessions((row, replace(row, last_at=NOW)), 2)


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "Asia/Kathmandu"])
@pytest.mark.parametrize("has_transcript", [True, False])
def test_sessions_fit_the_terminal_and_nothing_of_them_is_cut(
    columns: int, zone: str, has_transcript: bool, monkeypatch: pytest.MonkeyPatch
):
    set_time_zone(monkeypatch, zone)
    shown = terminal.blocks(sessions(has_transcript=has_transcript), now=NOW)

    said = [text for text, _ in lines(shown, width=columns, wrap=columns)]

    assert max(len(line) for text in said for line in text.split("\n")) <= columns
    whole = " ".join(" ".join(said).split())
    for part in ("01234567", "Claude Code", local_minute(NOW)[:16], "45 min", "<1 min", "12345"):
        assert part in whole
    assert "\u2026" not in whole
    assert "(utc)" not in whole
    assert ("Without a transcript" in whole) is not has_transcript


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/Santiago", "Australia/Lord_Howe"])
@pytest.mark.parametrize("columns", [60, 80, 100])
def test_each_time_of_a_list_names_its_zone_where_summer_time_makes_two(
    columns: int, zone: str, monkeypatch: pytest.MonkeyPatch
):
    set_time_zone(monkeypatch, zone)
    known = sessions()
    summer = NOW.plus(seconds=180 * 86_400)
    row = known.sessions[0]
    rows = (row, replace(row, began=summer, last_at=summer))
    shown = terminal.blocks(replace(known, sessions=rows), now=summer)

    said = " ".join(" ".join(text for text, _ in lines(shown, width=columns, wrap=columns)).split())

    assert local_minute(NOW).rpartition(" ")[2] != local_minute(summer).rpartition(" ")[2]
    for at in (NOW, summer):
        assert local_minute(at) in said


def test_at_80_columns_each_session_is_one_row():
    shown = terminal.blocks(sessions(), now=NOW)
    said = [text for text, _ in lines(shown, width=80, wrap=80)]
    assert said[0] == "ID        AGENT        BEGAN (UTC)       LASTED  PROMPTS  TOLD  KEPT  TOKENS"
    assert len(said) == 4


def test_a_table_too_wide_for_the_terminal_is_told_row_by_row():
    table = Table(
        ("", "RULE", "TYPE", "WHERE", "WHEN", "ID"),
        (
            (
                "1",
                "Never push to main without a review of somebody",
                "preference",
                "everywhere",
                "5 min",
                "cdd740",
            ),
        ),
    )
    said = [text for text, _ in lines([table], width=40)]
    assert said == [
        "1  Never push to main without a review\n   of somebody",
        "  type preference, where everywhere,\n  when 5 min, id cdd740",
    ]


def test_a_recall_that_shows_some_of_what_it_found_says_so():
    fill(*(thread(f"Deploy {n}", body=f"We deploy the site {n} by rsync.") for n in range(8)))

    said = run("recall", "deploy", "the", "site").out

    assert "## Matching Threads (8 found)" in said
    assert said.count("### [") == 5
    assert "(5 of 8 shown; `recollect search WORDS` lists all)" in said


def test_the_log_names_its_zone_once_and_cuts_no_time(monkeypatch: pytest.MonkeyPatch):
    set_time_zone(monkeypatch, "America/Sao_Paulo")
    assert (
        run("rule", "add", "Exports are written by the nightly job and by nothing else.").code == 0
    )

    head, row, *_ = run("log").out.splitlines()

    assert head.startswith("WHEN (UTC-03:00)  WHAT")
    assert re.match(r"\d{4}(-\d\d){2} \d\d:\d\d  +noted: Exports are written", row)


def test_the_decision_log_is_read_in_local_time_and_programs_get_it_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
):
    set_time_zone(monkeypatch, "Europe/Berlin")
    assert run("pin", "Deploys go through staging").code == 0
    assert run("recall", "staging").code == 0

    lines_for_people = run("logs").out.splitlines()
    lines_for_programs = run("logs", "--json").out.splitlines()

    assert lines_for_people
    assert all(re.match(r"\d{4}(-\d\d){2} \d\d(:\d\d){2} CES?T  ", one) for one in lines_for_people)
    assert all(json.loads(one)["at"].endswith("Z") for one in lines_for_programs)


def test_an_error_and_its_advice_fit_the_width_that_is_asked_for(monkeypatch: pytest.MonkeyPatch):
    said = run("rules", "--type", "nosuch").err
    assert len(said.splitlines()) == 2, "a pipe gets whole lines"
    monkeypatch.setenv("COLUMNS", "80")

    narrow = run("rules", "--type", "nosuch").err

    assert max(map(len, narrow.splitlines())) <= 80
    assert narrow.split() == said.split()
