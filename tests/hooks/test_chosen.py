"""A prompt that waits for a language model: what it chose is told; until then, and without it, ordinary recall is."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from recollect.app.core import App
from recollect.app.session_ledger import find_session
from recollect.hooks.answer import Answer, Hooks
from recollect.model.result import Scope
from recollect.ops import recall, rules
from tests.hooks.talk import Talk, heard, log_of
from tests.hooks.test_look_up import DOORS, Door, through_file
from tests.llm.standin import StandIn
from tests.ops.ask import holding, pinned
from tests.ops.conftest import Opens
from tests.redact.samples import SAMPLES

PROMPT = "how do we deploy to staging?"
NO_ANSWER = "#!/bin/sh\nexit 3\n"


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    made = StandIn(tmp_path / "model", "NONE")
    made.switch_on(monkeypatch, MEMORY_RECALL_SCHEME="single")
    return made


class Waiting:
    """Hooks whose App is known to be free while something is thought."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.taken = False
        self.thought_while_taken: list[bool] = []
        self.hooks = Hooks(self.app, app.home.root.parent / "recalls", app.clock, own=self.own)

    @contextmanager
    def app(self, _folder: str, _cwd: str, _environ: Mapping[str, str]) -> Iterator[App]:
        self.taken = True
        yield self._app
        self.taken = False

    @contextmanager
    def own(self, _folder: str, _cwd: str, _environ: Mapping[str, str]) -> Iterator[App]:
        self.thought_while_taken.append(self.taken)
        yield self._app

    def say(self, prompt: str, hold: Callable[[float], float]) -> Answer:
        cwd = str(Path.cwd())
        body = json.dumps({"session_id": "s-1", "cwd": cwd, "prompt": prompt, "prompt_id": "p"}).encode()
        until_s = time.monotonic() + 10
        return self.hooks.answer(
            "claude-code", "UserPromptSubmit", body, {"CLAUDE_PROJECT_DIR": cwd}, cwd, until_s, hold
        )


def granted(seconds: float) -> float:
    return time.monotonic() + seconds


@pytest.fixture
def two(open_app: Opens, model: StandIn) -> tuple[App, str, str]:
    app = open_app(actor="agent")
    near = rules.add(app, "Deploys to staging go first").plan.touched()[0]
    far = rules.add(app, "Anna signs releases").plan.touched()[0]
    return app, near, far


def test_what_the_model_chose_is_told_once_instead_and_nothing_where_it_chose_nothing(
    two: tuple[App, str, str], model: StandIn
):
    app, near, far = two
    model.answers(far)
    place = Waiting(app)

    answer = place.say(PROMPT, granted)
    answer.after(True)

    told = heard(answer.stdout)
    assert far in told.context
    assert near not in told.context
    assert told.notice.startswith("Recollect: told Claude Code 1 memory: Anna signs releases")
    assert place.thought_while_taken == [False]
    (why,) = recall.why(app).recalls
    assert str(why["how"]).startswith("a language model (single), of 2")
    assert {"id": near, "reason": "not chosen by pass 1"} in why["dropped"]  # type: ignore[operator]
    model.answers("NONE")
    nothing = heard(place.say(PROMPT, granted).stdout)
    assert nothing.raw == b""
    assert far not in model.texts[1], "it was shown before"


def test_without_an_answer_ordinary_recall_stands_and_it_is_said(two: tuple[App, str, str], model: StandIn):
    app, near, _ = two
    model.path.write_text(NO_ANSWER, encoding="utf-8")

    answer = Waiting(app).say(PROMPT, granted)
    answer.after(True)

    assert near in heard(answer.stdout).context
    assert "the language model gave no answer" in str(recall.why(app).recalls[0]["how"])
    assert 'said="exit code 3"' in log_of(app)


def test_a_hook_that_was_not_installed_to_wait_is_answered_at_once(
    two: tuple[App, str, str], model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("MEMORY_RECALL_SECONDS", "7")
    app, asked = open_app(actor="agent"), []

    def hold(seconds: float) -> float:
        asked.append(seconds)
        return 0.0

    answer = Waiting(app).say(PROMPT, hold)
    answer.after(True)
    assert two[1] in heard(answer.stdout).context
    assert (asked, model.calls) == ([7], [])
    assert "no language model was asked" in str(recall.why(app).recalls[0]["how"])


@pytest.mark.parametrize("name", ["MEMORY_LLM", "MEMORY_RECALL_SCHEME", "MEMORY_RECALL"])
def test_switched_off_nobody_is_asked_and_nothing_differs(
    name: str, two: tuple[App, str, str], model: StandIn, open_app: Opens, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(name, "off")

    answer = Waiting(open_app(actor="agent")).say(PROMPT, lambda _seconds: pytest.fail("it was asked to wait"))
    assert model.calls == []
    assert (two[1] in heard(answer.stdout).context) is (name != "MEMORY_RECALL")


def test_what_asks_for_nothing_and_other_events_cost_nothing(two: tuple[App, str, str], model: StandIn):
    place = Waiting(two[0])
    for prompt in ("", "???", "<task-notification>done</task-notification>"):
        place.say(prompt, granted)
    talk = Talk(two[0], hooks=place.hooks)
    talk.start()
    talk.call("Bash", command="deploy")
    talk.tell("SubagentStart", agent_id="a", agent_type="helper")
    assert model.calls == []
    assert find_session(two[0].reader(Scope.PROJECT), "s-1") is not None


# What was asked is told without its secrets and private parts: in the answer, in its file, in `why`, in the log.


ONE_LINE = next(s for s in SAMPLES if len(s.text) < 80 and "\n" not in s.text)


SEVERAL_LINES = next(s for s in SAMPLES if "\n" in s.text)


TOKEN = next(s for s in SAMPLES if s.kind == "github-token")
PRIVATE = "validators <private>my own business</private> at <private>home"
CUT = [f"{('validators ' * 40)[:before]} {TOKEN.secret} and more words" for before in (269, 289, 298)]


@pytest.mark.parametrize(
    ("door", "question", "hidden"),
    [
        (through_file, f"validators {SEVERAL_LINES.text}", SEVERAL_LINES.secret),
        *((door, f"validators {ONE_LINE.text}", ONE_LINE.secret) for door in DOORS),
        *((door, PRIVATE, words) for door in DOORS for words in ("my own business", "at <private>home")),
        *((door, question, TOKEN.secret[:8]) for door, question in zip(DOORS, CUT, strict=True)),
    ],
)
def test_what_is_secret_or_private_in_a_question_is_told_by_no_answer_and_kept_in_no_file(
    app: App, talk: Talk, tmp_path: Path, door: Door, question: str, hidden: str
):
    pinned(app, "Validators restart at night")
    text = door(app, talk, quote(question, safe="") if door is through_file else question)
    assert "# Memory Recall: " in text
    app.close()
    for spelling in (hidden, hidden.replace("\n", " ")):
        assert spelling not in text
        assert holding(tmp_path, spelling) == []


def test_why_tells_what_a_prompt_asked_without_the_secret(app: App, talk: Talk, tmp_path: Path):
    pinned(app, "Validators restart at night")
    talk.say(f"when do validators restart, the token is {TOKEN.secret}")
    told = str(recall.why(app).recalls)
    assert ("when do validators restart" in told, TOKEN.secret in told) == (True, False)
    app.close()
    assert holding(tmp_path, TOKEN.secret) == []
