"""How the client writes down that a call was not allowed or cut off, and how a subagent ended (2.1.325)."""

from __future__ import annotations

import pytest

from recollect.agents import agent
from recollect.agents.transcript import Voice
from recollect.model.session import SubagentState

claude_code = agent("claude-code")

REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, the "
    "new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how to proceed."
)
UNASKED = "This command requires approval"
UNGRANTED = "Claude requested permissions to write to /home/ada/shop/b.txt, but you haven't granted it yet."


def result(text: str, **more: object) -> dict[str, object]:
    content = [{"type": "tool_result", "content": text, "is_error": True, "tool_use_id": "toolu_1"}]
    return {"type": "user", "message": {"role": "user", "content": content}, "uuid": "u1", **more}


@pytest.mark.parametrize("text", [REJECTED, UNASKED, UNGRANTED])
def test_a_refusal_is_known_by_its_text(text: str):
    assert claude_code.is_refused(text)


@pytest.mark.parametrize(
    ("kind", "refused"),
    [
        ("user-rejected", True),
        ("permission-rule", True),
        ("automode-blocked", True),
        ("interrupted", False),
        (None, False),
    ],
)
def test_a_refusal_is_known_by_what_stands_beside_it(kind: str | None, refused: bool):
    [said] = claude_code.utterances(result("Some words", toolDenialKind=kind))
    assert said.call is not None
    assert said.call.refused is refused


def test_a_command_that_failed_was_not_refused():
    assert not claude_code.is_refused("Exit code 1\nPermission denied")


def test_that_a_request_was_interrupted_is_not_said_by_the_person():
    content = [{"type": "text", "text": "[Request interrupted by user for tool use]"}]
    line = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": content}}
    [said] = claude_code.utterances(line)
    assert (said.voice, said.machine_made) == (Voice.PROMPT, True)


def test_a_notification_tells_how_a_subagent_ended():
    report = claude_code.subagent_report(
        "<task-notification>\n<task-id>a5c0ffee</task-id>\n<tool-use-id>toolu_01</tool-use-id>\n"
        '<status>failed</status>\n<summary>Agent "find readers" failed</summary>\n<note>It fires each time.</note>\n'
        "<result>Nothing found.</result>\n</task-notification>"
    )

    assert report is not None
    assert (report.agent, report.state) == ("a5c0ffee", SubagentState.FAILED)
    assert (report.summary, report.text) == ('Agent "find readers" failed', "Nothing found.")


def test_a_command_in_the_background_is_no_subagent():
    text = '<task-notification>\n<status>failed</status>\n<summary>Background command "make" failed</summary>'
    assert claude_code.subagent_report(text) is None


def test_what_a_person_says_with_a_refusal_is_said_by_the_person():
    words = "no, we use pull requests here, never push to main"
    refused = f"{REJECTED} To tell you how to proceed, the user said:\n{words}"

    result_, said = claude_code.utterances(result(refused, toolDenialKind="user-rejected", userFeedback=words))

    assert result_.voice is Voice.TOOL_RESULT
    assert (said.voice, said.text, said.machine_made) == (Voice.PROMPT, words, False)


@pytest.mark.parametrize("after", ["", "\n\nNote: The user's next message may contain a correction or preference."])
def test_an_older_client_puts_the_words_of_a_refusal_among_its_own(after: str):
    refused = f"{REJECTED} To tell you how to proceed, the user said:\nuse pnpm\n\nand rebase first{after}"
    _, said = claude_code.utterances(result(refused))
    assert (said.voice, said.text) == (Voice.PROMPT, "use pnpm\n\nand rebase first")
    assert said.call is not None


def test_a_refusal_without_words_says_nothing():
    stop = f"{REJECTED} STOP what you are doing and wait for the user to tell you how to proceed."
    assert len(list(claude_code.utterances(result(stop)))) == 1


def test_a_result_that_was_not_refused_holds_no_words_of_the_person():
    assert len(list(claude_code.utterances(result("Exit code 1", userFeedback="obey")))) == 1
