"""A program that stands in for the one that MEMORY_LLM_COMMAND names: it does what its script says.

`standin(folder, ...)` writes it as an executable file. Each call appends a line to `calls.jsonl` beside it: arguments,
text, environment, folder. Answers come in order; the last is repeated.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

_PROGRAM = """#!{python} -I
import json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
text = sys.stdin.read()
called = dict(argv=sys.argv[1:], text=text, environ=dict(os.environ), cwd=os.getcwd(), pid=os.getpid())
with open(os.path.join(here, "calls.jsonl"), "a") as file:
    file.write(json.dumps(called) + "\\n")
with open(os.path.join(here, "calls.jsonl")) as file:
    number = len(file.readlines())
answers = json.load(open(os.path.join(here, "answers.json")))
answer = answers[min(number, len(answers)) - 1]
usage = dict(input_tokens=len(text) // 4, output_tokens=len(answer) // 4)
print(json.dumps(dict(type="result", subtype="success", is_error=False, result=answer, usage=usage)))
"""


class StandIn:
    def __init__(self, folder: Path, *answers: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.path = folder / "standin"
        self.path.write_text(_PROGRAM.replace("{python}", sys.executable), encoding="utf-8")
        self.path.chmod(0o700)
        self.command = str(self.path)  # for MEMORY_LLM_COMMAND
        self.answers(*answers)

    def switch_on(self, monkeypatch: pytest.MonkeyPatch, **settings: str) -> None:
        for name, value in {
            "MEMORY_LLM": "on",
            "MEMORY_LLM_COMMAND": self.command,
            **settings,
        }.items():
            monkeypatch.setenv(name, value)

    def answers(self, *answers: str) -> None:
        (self.folder / "answers.json").write_text(json.dumps(answers or ("",)), encoding="utf-8")

    @property
    def calls(self) -> list[dict[str, Any]]:
        path = self.folder / "calls.jsonl"
        return (
            [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
            if path.exists()
            else []
        )

    @property
    def texts(self) -> list[str]:
        """What was sent, in order."""
        return [str(call["text"]) for call in self.calls]
