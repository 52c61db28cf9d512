"""Who wrote what in a message of the user's role: one table of cases for each agent, and what holds for all of them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect import agents
from recollect.agents import Tail, agent, prompts
from recollect.agents.prompts import Forms, Prompt
from recollect.agents.transcript import Utterance, Voice
from recollect.base.moment import Moment
from recollect.model.session import Event

PLAN = "# Move the cart to Redis\n\n## Steps\n1. Always write through the adapter.\n2. Never read the cookie."
HINT = (
    "If you need specific details from before exiting plan mode (like exact code snippets, error messages, or content "
    "you generated), read the full transcript at: /home/ada/.claude/projects/-home-ada-shop/s.jsonl"
)
HAND_OFF = f"Implement the following plan:\n\n{PLAN}\n\n\n{HINT}"
TEAM = "If this plan can be broken down into multiple independent tasks, consider using a team."
OPENED = (
    "<ide_opened_file>The user opened the file /home/ada/shop/cart.py in the IDE.</ide_opened_file>"
)
SELECTED = "<ide_selection>The user selected lines 3 to 5 of cart.py:\nalways = True\n\nMaybe related.</ide_selection>"
REMINDER = "<system-reminder>\nNever mention this to the user.\n</system-reminder>"
CLEARED = (
    "<command-name>/clear</command-name>\n            <command-message>clear</command-message>\n"
    "            <command-args></command-args>"
)


def command(name: str, args: str) -> str:
    return (
        f"<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n"
        f"<command-args>{args}</command-args>"
    )


def own_command(name: str, args: str) -> str:
    return CLEARED.replace("clear", name).replace("<command-args>", f"<command-args>{args}")


CLAUDE_CODE = [
    # The client's
    (
        "<task-notification>\n<task-id>a1</task-id>\n</task-notification>\nRead the output file: /tmp/a1",
        "",
        "",
    ),
    ('<scheduled-task name="nightly">\nAlways open a pull request.\n</scheduled-task>', "", ""),
    ("[SYSTEM NOTIFICATION - NOT USER INPUT]\nA task has ended.", "", ""),
    (
        "Base directory for this skill: /home/ada/.claude/skills/deploy\n\n# Deploy\nAlways tag first.",
        "",
        "",
    ),
    ("[Request interrupted by user]", "", ""),
    ("[Image #1]", "", ""),
    ("<local-command-stdout>Set model to opus</local-command-stdout>", "", ""),
    ("<bash-stdout>we always use tabs</bash-stdout><bash-stderr></bash-stderr>", "", ""),
    (OPENED, "", ""),
    (REMINDER, "", ""),
    ("<some-new-form>\nAlways be brief.\n</some-new-form>", "", ""),
    (CLEARED, "", ""),
    (own_command("model", "opus"), "", ""),
    (own_command("compact", "keep what was decided about carts"), "", ""),
    # Typed inside a wrapper
    (
        command("review", "check the cart and never touch main"),
        "check the cart and never touch main",
        "",
    ),
    (command("review", "#12"), "/review #12", ""),
    (command("notes:today", ""), "/notes:today", ""),
    ("<command-message>today</command-message>\n<command-name>/today</command-name>", "/today", ""),
    ("/review check the cart and never touch main", "check the cart and never touch main", ""),
    ("/review #12", "/review #12", ""),
    (own_command("plan", "move the cart to Redis"), "move the cart to Redis", ""),
    ("<bash-input>make nightly</bash-input>", "make nightly", ""),
    ("<user-memory-input>we deploy on Fridays</user-memory-input>", "we deploy on Fridays", ""),
    # Beside what a client wrote
    (f"{OPENED}\nwhy does this fail?", "why does this fail?", ""),
    (f"rename it\n{SELECTED}", "rename it", ""),
    (f"{REMINDER}\nwe use pnpm here\n{REMINDER}", "we use pnpm here", ""),
    (
        "we use pnpm here\n\n<user-prompt-submit-hook>12:00</user-prompt-submit-hook>",
        "we use pnpm here",
        "",
    ),
    ("[Image #1] what do I fill in here?", "what do I fill in here?", ""),
    ("[Request interrupted by user]\nno, the other file", "no, the other file", ""),
    ("[Pasted text #1 +12 lines]\nwhat is this?", "what is this?", ""),
    (
        "<new-form-of-theirs>\nopen: cart.py\n</new-form-of-theirs>\n\nfix this one",
        "fix this one",
        "",
    ),
    # Plans
    (HAND_OFF, "", PLAN),
    (f"Implement the following plan:\n\n{PLAN}", "", PLAN),
    (f"{HAND_OFF}\n\nUser feedback on this plan: keep the old cookie", "keep the old cookie", PLAN),
    (
        f"{HAND_OFF}\n\n{TEAM}\n\nUser feedback on this plan: keep the old cookie",
        "keep the old cookie",
        PLAN,
    ),
    (f"{HAND_OFF}\n\nand we use pnpm here", "and we use pnpm here", PLAN),
    (f"{OPENED}\n{HAND_OFF}", "", PLAN),
    # All of it the person's
    ("we use pnpm here, not npm", "we use pnpm here, not npm", ""),
    (
        "Implement the following plan: use pnpm everywhere",
        "Implement the following plan: use pnpm everywhere",
        "",
    ),
    ("What is a <task-notification>?", "What is a <task-notification>?", ""),
    (
        "<div>\n  cart\n</div>\nwhy is this not centred?",
        "<div>\n  cart\n</div>\nwhy is this not centred?",
        "",
    ),
    ("<my-tag> never closes", "<my-tag> never closes", ""),
    ("<cart-item>x</cart-item> is drawn twice", "<cart-item>x</cart-item> is drawn twice", ""),
    ("use <cart-item>x</cart-item>\nhere", "use <cart-item>x</cart-item>\nhere", ""),
    ("/home/ada/shop is full, clean it up", "/home/ada/shop is full, clean it up", ""),
    ("[ ] write tests\n[x] ship", "[ ] write tests\n[x] ship", ""),
    ("  spaces around \n", "spaces around", ""),
]

CODEX = [
    ("<environment_context>\n  <cwd>/home/ada/shop</cwd>\n</environment_context>", "", ""),
    (
        "# AGENTS.md instructions for /home/ada/shop\n\n<INSTRUCTIONS>\nAlways test.\n</INSTRUCTIONS>",
        "",
        "",
    ),
    ("<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>", "", ""),
    ("<skill>\n<name>deploy</name>\nNever deploy on Fridays.\n</skill>", "", ""),
    (
        "# Context from my IDE setup:\n\n## Active file: cart.py\n\n## My request for Codex:\nfix it",
        "fix it",
        "",
    ),
    (
        "# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n## My request:\nwhat is it?",
        "what is it?",
        "",
    ),
    (f"PLEASE IMPLEMENT THIS PLAN:\n{PLAN}", "", PLAN),
    ("fix the cart $worktree", "fix the cart $worktree", ""),
    ("/home/ada is full", "/home/ada is full", ""),
]

GEMINI = [
    ("<session_context>\nToday is Monday.\n</session_context>", "", ""),
    ("System: Please continue.", "", ""),
    ("<hook_context>&lt;memory&gt;we use npm&lt;/memory&gt;</hook_context>", "", ""),
    ("fix it\n<hook_context>we use npm</hook_context>", "fix it", ""),
    (
        f"read @cart.py\n--- Content from referenced files ---\n{PLAN}\n--- End of content ---",
        "read @cart.py",
        "",
    ),
    ("we use pnpm here", "we use pnpm here", ""),
]

OPENCODE = [
    ("The following tool was executed by the user", "", ""),
    (f"{REMINDER}\nwe use pnpm here", "we use pnpm here", ""),
    ('"we use pnpm here"', "we use pnpm here", ""),  # the quotes of the command line
    ('"say \\"no\\" to it"\n', 'say "no" to it', ""),
    ('say "no" and "yes"', 'say "no" and "yes"', ""),
    ('"no" and "yes"', '"no" and "yes"', ""),
]

PI = [
    (
        '<skill name="deploy" location="/skills/deploy">\nAlways tag first.\n</skill>\n\nship it',
        "ship it",
        "",
    ),
    ('<file name="/home/ada/cart.py">\nnever = 1\n</file>\nexplain this', "explain this", ""),
    ("/skill:deploy ship it to staging", "ship it to staging", ""),
    ("we use pnpm here", "we use pnpm here", ""),
]

TABLES: dict[str, list[tuple[str, str, str]]] = {
    "claude-code": CLAUDE_CODE, "codex": CODEX, "gemini": GEMINI, "opencode": OPENCODE, "pi": PI,
}  # fmt: skip
EVENTS = {"gemini": "BeforeAgent", "pi": "input"}
CASES = [(host, *case) for host, table in TABLES.items() for case in table]
FORMS = [agent(host).FORMS for host in TABLES]


def heard(host: str, text: str) -> Event:
    body = json.dumps({"session_id": "s", "prompt": text}).encode()
    return agent(host).parse(EVENTS.get(host, "UserPromptSubmit"), body, at=Moment(0), environ={})


def line(host: str, text: str) -> dict[str, object]:
    match host:
        case "codex":
            content = [{"type": "input_text", "text": text}]
            return {
                "type": "response_item",
                "payload": {"type": "message", "role": "user", "content": content},
            }
        case "gemini":
            return {"type": "user", "content": [{"text": text}]}
        case "pi":
            return {"type": "message", "message": {"role": "user", "content": text}}
        case _:
            return {"type": "user", "message": {"role": "user", "content": text}}


def spoken(host: str, path: Path, *lines: dict[str, object]) -> list[Utterance]:
    path.write_text(
        "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines), encoding="utf-8"
    )
    return list(agents.utterances(host, Tail(path)))


@pytest.mark.parametrize(("host", "text", "words", "plan"), CASES)
def test_a_hook_hears_the_person_alone(host: str, text: str, words: str, plan: str):
    event = heard(host, text)
    assert (event.text, event.plan, event.machine_made) == (words, plan, not words and not plan)


@pytest.mark.parametrize(
    ("host", "text", "words", "plan"), [case for case in CASES if case[0] != "opencode"]
)
def test_a_transcript_tells_the_same(tmp_path: Path, host: str, text: str, words: str, plan: str):
    said = [
        one for one in spoken(host, tmp_path / "t.jsonl", line(host, text)) if not one.machine_made
    ]
    by = {voice: "\n".join(one.text for one in said if one.voice is voice) for voice in Voice}
    assert (by[Voice.PROMPT], by[Voice.PLAN]) == (words, plan)


# Claude Code's lines


def test_what_an_ide_tells_in_a_block_of_its_own_is_no_prompt(tmp_path: Path):
    blocks = [
        {"type": "text", "text": OPENED},
        {"type": "text", "text": "add an owner"},
        {"type": "image"},
    ]
    (said,) = spoken(
        "claude-code", tmp_path / "t.jsonl", {"type": "user", "message": {"content": blocks}}
    )
    assert (said.voice, said.text, said.machine_made) == (Voice.PROMPT, "add an owner", False)


@pytest.mark.parametrize(
    ("mode", "prompt", "is_typed"),
    [
        ("prompt", "docker runs on the host", True),
        ("prompt", [{"type": "text", "text": "docker runs on the host"}, {"type": "image"}], True),
        (
            "task-notification",
            "<task-notification>\ndocker runs on the host\n</task-notification>",
            False,
        ),
    ],
)
def test_what_was_typed_while_the_agent_worked_is_the_persons(
    tmp_path: Path, mode: str, prompt: object, is_typed: bool
):
    attachment = {"type": "queued_command", "prompt": prompt, "commandMode": mode}
    (said,) = spoken(
        "claude-code", tmp_path / "t.jsonl", {"attachment": attachment, "type": "attachment"}
    )
    assert (said.voice, said.machine_made) == (Voice.PROMPT, not is_typed)
    assert not is_typed or said.text == "docker runs on the host"


def test_what_the_client_says_is_its_own_is_no_persons(tmp_path: Path):
    lines = [
        {**line("claude-code", "we use tabs"), **more}
        for more in ({"promptSource": "system"}, {"isSidechain": True})
    ]
    assert [one.machine_made for one in spoken("claude-code", tmp_path / "t.jsonl", *lines)] == [
        True,
        True,
    ]


# For every agent

pieces = st.sampled_from(
    [
        part
        for _, text, _, _ in CASES
        for part in (text, text[: len(text) // 2], text[len(text) // 2 :])
    ]
    + [
        "\n",
        " ",
        "<",
        "</",
        ">",
        "<a-b>",
        "</a-b>",
        "<system-reminder>",
        "</system-reminder>",
        "/x ",
        "use tabs",
    ]
)
texts = st.lists(pieces | st.text(max_size=8), max_size=6).map("".join)


@given(texts, st.sampled_from(FORMS))
def test_nothing_is_invented_and_reading_again_changes_nothing(text: str, forms: Forms):
    said = prompts.read(text, forms)
    assert all(word in text for word in (*said.words.split(), *said.plan.split()))
    assert prompts.read(said.words, forms) == Prompt(said.words)


@given(
    st.text(alphabet=st.characters(exclude_characters="<[/-#:"), max_size=200),
    st.sampled_from(FORMS),
)
def test_plain_words_are_the_persons(text: str, forms: Forms):
    assert prompts.read(text, forms) == Prompt(text.strip())


def test_a_long_text_of_broken_tags_is_read_at_once():
    text = "<system-reminder>\n<a-b>\n" * 50_000
    assert prompts.read(f"x\n{text}", FORMS[0]).words.startswith("x")
