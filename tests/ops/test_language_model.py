"""Asking a language model: one way, within a budget, and every failure is no answer."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from recollect.app import language_model
from recollect.app.core import App
from recollect.app.language_model import answer_text as ask
from recollect.base.clock import FixedClock
from recollect.base.errors import NotFound
from recollect.model.ask import Ask, Use
from recollect.model.result import Scope
from recollect.ops import health
from tests.llm.standin import StandIn
from tests.llm.test_chat_server import CHAT, MESSAGE, service, whole
from tests.ops.conftest import Opens
from tests.values import NOW

QUESTION = Ask(
    Use.CLASSIFY, (("said", "we use tabs {{other}}"), ("other", "NOT THIS")), prompt="own"
)


@pytest.fixture(autouse=True)
def prompt(model: StandIn, open_app: Opens) -> None:
    model.answers("yes")
    folder = open_app().home.root / "prompts"
    folder.mkdir(parents=True)
    (folder / "own.md").write_text("Is this a rule?\n<said>{{said}}</said>\n", encoding="utf-8")


def test_an_answer_comes_back_its_cost_is_shown_and_no_secret_is_sent(
    model: StandIn, open_app: Opens
):
    app = open_app()
    before = language_model.summarize_spending(app)
    assert ask(app, QUESTION) == "yes"
    assert model.texts == ["Is this a rule?\n<said>we use tabs {{other}}</said>\n"], (
        "a field is no template"
    )
    spent = health.status(app).llm
    assert (spent["calls"], spent["jobs"]) == (
        1,
        {"classify": {"calls": 1, "tokens": len(model.texts[0]) // 4}},
    )
    assert (before["on"], before["by"], before["calls"], before["jobs"]) == (True, "command", 0, {})
    assert (spent["calls_per_day"], spent["tokens_per_day"]) == (50, 500_000)
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    ask(app, Ask(Use.CLASSIFY, (("said", f"use {token} for pushes"),), prompt="own"))
    assert ("use " in model.texts[1], token in model.texts[1]) == (True, False)


@pytest.mark.parametrize(
    ("environ", "dry_run"),
    [({"MEMORY_LLM": "off"}, False), ({"BLOCK_HOOK_AGENTS": "1"}, False), ({}, True)],
)
def test_off_in_a_dry_run_or_inside_a_call_nobody_is_asked(
    model: StandIn,
    open_app: Opens,
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    dry_run: bool,
):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert ask(open_app(dry_run=dry_run), QUESTION) is None
    assert model.calls == []


def log_of(app: App) -> list[str]:
    """What was asked, a line each."""
    lines = (app.home.logs / "recollect.log").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if " asked " in line]


def program(folder: Path, code: str) -> str:
    path = folder / "other"
    path.write_text(f"#!{sys.executable} -I\n{code}", encoding="utf-8")
    path.chmod(0o700)
    return str(path)


def result(**more: object) -> str:
    told = {"type": "result", "subtype": "success", "is_error": False, "result": "yes", **more}
    return f"print({json.dumps(json.dumps(told))})"


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("print('hello')", "is not a result"),
        ("print('{}')", "is not a result"),
        (result(is_error=True, subtype="error_max_turns"), "it said: error_max_turns"),
        (
            result(is_error=True, result="Not logged in", usage={"input_tokens": 0})
            + "\nraise SystemExit(1)",
            "exit code 1; it said: Not logged in",
        ),
        (result() + "\nraise SystemExit(1)", "exit code 1"),
        ("import os\nwhile True: os.write(1, b'x' * 65536)", "bytes of output"),
        ("import time; time.sleep(600)", "no answer in time"),
    ],
)
def test_what_is_no_answer_is_none_and_one_line_in_the_log(
    code: str,
    said: str,
    model: StandIn,
    open_app: Opens,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("MEMORY_LLM_COMMAND", program(tmp_path, code))
    app = open_app()
    assert ask(app, Ask(Use.CLASSIFY, prompt="own", seconds=0.5 if "sleep" in code else 30)) is None
    [line] = log_of(app)
    assert said in line
    assert "Not logged in" not in said or health.status(app).llm["tokens"] == 0


@pytest.mark.parametrize(
    "command", ["nosuchprogram", "/nowhere/claude", "./claude", "'open", "/etc/passwd", "/tmp"]
)
def test_a_missing_program_or_prompt_costs_nothing(
    command: str, model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    assert ask(open_app(), Ask(Use.CLASSIFY, prompt="nosuch")) is None
    monkeypatch.setenv("MEMORY_LLM_COMMAND", command)
    app = open_app()
    assert ask(app, QUESTION) is None
    assert (model.calls, health.status(app).llm["calls"]) == ([], 0)
    no_prompt, no_program = log_of(app)
    assert "no prompt nosuch" in no_prompt
    assert "names no program" in no_program


@pytest.mark.parametrize("use", list(Use))
def test_every_use_has_a_prompt_a_reader_and_settings_that_exist(
    use: Use, open_app: Opens, tmp_path: Path
):
    row = language_model.USES[use]
    module, name = row.reader.split(":")
    assert language_model.load_prompt(row.prompt, tmp_path)
    assert callable(getattr(import_module(f"recollect.{module}"), name))
    assert all(open_app().settings.text(switch) for switch in row.switches)


def test_it_gets_no_tools_hooks_settings_or_session(
    model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    outer = (
        "CLAUDECODE",
        "CLAUDE_CODE_SESSION_ID",
        "CLAUDE_CODE_ENTRYPOINT",
        "CLAUDE_PROJECT_DIR",
        "CLAUDE_PID",
    )
    for name in outer:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("MEMORY_LLM_COMMAND", f"env 'A=b c' {model.command} --own")

    assert ask(open_app(), QUESTION) == "yes"

    [call] = model.calls
    assert (call["argv"][:2], call["environ"]["A"]) == (["--own", "-p"], "b c"), (
        "words of the command go before ours"
    )
    given = dict(zip(call["argv"], [*call["argv"][1:], ""], strict=True))
    assert given["--tools"] == ""
    assert json.loads(given["--settings"]) == {"disableAllHooks": True}
    assert given["--setting-sources"] == ""
    assert {"-p", "--strict-mcp-config", "--no-session-persistence"} <= set(call["argv"])
    assert not [
        word
        for word in call["argv"]
        if "dangerously" in word or "bypass" in word or "permission-mode" in word
    ]
    assert call["environ"]["BLOCK_HOOK_AGENTS"] == "1"
    assert not [name for name in outer if call["environ"].get(name)]


def test_it_stands_in_an_empty_folder_unless_it_is_to_read(
    model: StandIn, open_app: Opens, tmp_path: Path
):
    app = open_app()
    ask(app, QUESTION)
    ask(app, Ask(Use.VALIDATE_CLAIMS, prompt="own", reads=str(tmp_path), model="opus"))
    plain, reading = model.calls
    assert plain["cwd"] == str(app.home.root / "llm")
    assert list((app.home.root / "llm").iterdir()) == []
    given = dict(zip(reading["argv"], [*reading["argv"][1:], ""], strict=True))
    assert (reading["cwd"], given["--tools"]) == (str(tmp_path), "Read,Glob")
    assert (given["--max-turns"], given["--model"]) == ("10", "opus")


def test_a_key_is_given_to_the_program_unless_others_can_read_it_which_doctor_says(
    model: StandIn, open_app: Opens
):
    app = open_app()
    key = app.home.root / "llm.key"
    key.write_text("sk-own\n", encoding="ascii")
    key.chmod(0o644)
    assert ask(app, QUESTION) is None
    assert "can be read by others" in language_model.check(app).detail
    key.chmod(0o600)
    ask(app, QUESTION)
    assert [call["environ"].get("ANTHROPIC_API_KEY") for call in model.calls] == ["sk-own"]


def test_each_day_has_a_budget_and_the_last_is_kept(
    model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_LLM_CALLS_PER_DAY", "1")
    app, clock = open_app(), FixedClock(NOW)
    app.clock = clock
    answers = []
    for at in (NOW, NOW, NOW.plus(seconds=86_400), NOW.plus(seconds=86_400), NOW):
        clock.at = at
        answers.append(ask(app, QUESTION))
    assert answers == ["yes", None, "yes", None, None]
    assert len(model.calls) == 2


def test_tokens_are_counted_as_they_were_told_or_estimated_and_end_the_day_too(
    model: StandIn, open_app: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_LLM_TOKENS_PER_DAY", "15000")
    monkeypatch.setenv("MEMORY_LLM_COMMAND", program(tmp_path, "raise SystemExit(1)"))
    app = open_app()
    ask(app, QUESTION)
    spent: Any = health.status(app).llm
    assert (spent["calls"], 2_000 < spent["tokens"] < 5_000) == (1, True), (
        "nobody said what it took"
    )
    usage = {"input_tokens": 9_000, "cache_read_input_tokens": 500, "output_tokens": 500}
    program(tmp_path, result(usage=usage))
    assert [ask(app, QUESTION) for _ in range(3)] == ["yes", "yes", None]
    assert health.status(app).llm["tokens"] == spent["tokens"] + 20_000


def test_those_who_ask_at_once_never_spend_more_than_there_is(
    open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_LLM_CALLS_PER_DAY", "50")
    apps = [open_app() for _ in range(4)]
    apps[0].writer(Scope.USER)
    with ThreadPoolExecutor(4) as pool:
        booked = pool.map(
            lambda app: [language_model.reserve_budget(app, "classify", 100) for _ in range(30)],
            apps,
        )
    assert sum(bool(day) for days in booked for day in days) == 50


def test_an_endpoint_is_asked_where_that_is_set(
    model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_LLM_BY", "endpoint")
    monkeypatch.setenv("MEMORY_LLM_MODEL", "tiny")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-for-them")
    with service(whole(CHAT)) as found:
        monkeypatch.setenv("MEMORY_LLM_URL", f"{found.url}/v1")
        app = open_app()
        assert ask(app, Ask(Use.CLASSIFY, (("said", "tabs"),), prompt="own", model="opus")) == "yes"
        assert ask(app, Ask(Use.VALIDATE_CLAIMS, prompt="own", reads=str(Path.cwd()))) is None
    [(_, headers, body)] = found.asked
    assert (body["model"], "authorization" in headers) == ("tiny", False), (
        "an endpoint has names of its own"
    )
    assert (model.calls, health.status(app).llm["tokens"]) == ([], 9)


def test_the_service_itself_is_asked_only_with_a_key(
    model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_LLM_BY", "api")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with service(whole(MESSAGE)) as found:
        monkeypatch.setenv("MEMORY_LLM_API_URL", found.url)
        app = open_app()
        without = ask(app, QUESTION)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-env")
        answers = (without, ask(app, QUESTION))
    assert answers == (None, "yes")
    assert [headers["x-api-key"] for _, headers, _ in found.asked] == ["sk-env"]


def test_nothing_of_a_project_can_redirect_or_raise_what_is_spent(
    model: StandIn, open_app: Opens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("MEMORY_LLM_COMMAND")
    monkeypatch.delenv("MEMORY_LLM")
    tree = tmp_path / "tree"
    (tree / ".git").mkdir(parents=True)
    plain = open_app(tree)
    theirs = {
        "MEMORY_LLM": "on", "MEMORY_LLM_COMMAND": model.command, "MEMORY_LLM_URL": "http://127.0.0.1:9/",
        "MEMORY_LLM_API_URL": "http://127.0.0.1:9/", "MEMORY_LLM_MODEL": "dear", "MEMORY_LLM_BY": "endpoint",
        "MEMORY_LLM_CALLS_PER_DAY": "9999", "MEMORY_LLM_TOKENS_PER_DAY": "999999999",
    }  # fmt: skip
    conf = plain.require_project().conf
    conf.parent.mkdir(parents=True, exist_ok=True)
    conf.write_text(
        "\n".join(f"{name}={value}" for name, value in theirs.items()), encoding="utf-8"
    )

    app = open_app(tree)

    assert [app.settings.text(name) for name in theirs] == [
        plain.settings.text(name) for name in theirs
    ]
    assert len(app.settings.problems) == len(theirs)
    assert (ask(app, QUESTION), model.calls) == (None, [])


def test_doctor_says_who_could_be_asked_and_asks_none(
    model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    details = []
    for name, value in (
        ("MEMORY_LLM", "on"),
        ("MEMORY_LLM_COMMAND", "nosuchprogram"),
        ("MEMORY_LLM", "off"),
    ):
        monkeypatch.setenv(name, value)
        details += [
            one.detail for one in health.doctor(open_app()).checks if one.name == "language models"
        ]
    assert details == ["on, by command", "on, but: MEMORY_LLM_COMMAND names no program.", "off"]
    assert model.calls == []


def test_a_prompt_of_the_user_goes_before_the_shipped_one_and_has_to_be_text(tmp_path: Path):
    assert "{{said}}" in language_model.load_prompt("capture-classify", tmp_path)
    (tmp_path / "capture-classify.md").write_text("Mine: {{said}}", encoding="utf-8")
    assert language_model.load_prompt("capture-classify", tmp_path) == "Mine: {{said}}"
    (tmp_path / "capture-classify.md").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(NotFound, match="cannot be read"):
        language_model.load_prompt("capture-classify", tmp_path)


@pytest.mark.parametrize("name", ["", "../agent", "a/b", ".hidden", "nosuch", "x" * 200, "a\0b"])
def test_no_other_file_is_ever_read(name: str, tmp_path: Path):
    with pytest.raises(NotFound):
        language_model.load_prompt(name, tmp_path)


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        (
            "Choose well.\n",
            "Choose well.\n\n{{b}} \\1 {b}\n\n{{a}}",
        ),  # it names no place: everything at the end
        ("Choose {{b}}.", "Choose {{a}}."),
        ("{{a}} {{ b }} {{unknown}}.", "{{b}} \\1 {b} {{a}} ."),
    ],
)
def test_a_prompt_is_filled_in_one_pass(template: str, filled: str):
    assert language_model.fill_prompt(template, (("a", "{{b}} \\1 {b}"), ("b", "{{a}}"))) == filled
