"""Claude Code's own memory, as the client (2.1.325) has it; and Claude Code asked one question: what it is given, and
what is made of what it prints."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents import Places, RuleCopy, claude_memory, default_agent, model_client
from recollect.base.errors import NoProject
from recollect.model.ask import Answer
from recollect.model.memory import RuleType
from tests.values import NOW, rule

HOME = Path("/home/ann")
claude = default_agent()


def copy(
    words: str, rule_type: RuleType = RuleType.CORRECTION, *, everywhere: bool = False
) -> RuleCopy:
    one = rule(
        "x", id="rule_20260201_083000_abc123", body=words, rule_type=rule_type, created_at=NOW
    )
    return RuleCopy(one, words, everywhere)


def places(project: str | None = "/work/shop", **environ: str) -> Places:
    return Places(HOME, Path(project) if project else None, environ)


# Where


def test_a_project_has_the_name_that_the_client_gives_it():
    seen = {  # the client was started there
        "project": "project", "project/sub.dir_é😀": "project-sub-dir----", "cafe\u0301 x😀": "cafe--x--",
        f"{'l' * 120}/{'m' * 120}": f"{'l' * 120}-{'m' * 64}-je4o3f",
    }  # fmt: skip
    for root, name in seen.items():
        assert claude_memory.project_name(f"/tmp/ex5jct49j/{root}") == f"-tmp-ex5jct49j-{name}"


def test_the_agent_s_own_variable_moves_its_memory():
    assert claude.own_memory(places())[1] == HOME / ".claude/projects/-work-shop/memory"
    moved = claude.own_memory(places(CLAUDE_CONFIG_DIR="/etc/claude"))
    assert moved == (Path("/etc/claude"), Path("/etc/claude/projects/-work-shop/memory"))
    with pytest.raises(NoProject):
        claude.own_memory(places(None))


def test_a_folder_that_the_user_chose_is_taken(tmp_path: Path):
    settings = tmp_path / "settings.json"
    for chosen, folder in (("~/mem", HOME / "mem"), ("/srv/mem/", Path("/srv/mem"))):
        settings.write_text(json.dumps({"autoMemoryDirectory": chosen}))
        assert claude.own_memory(places(CLAUDE_CONFIG_DIR=str(tmp_path)))[1] == folder
    settings.write_text('{"autoMemoryDirectory": "relative"}')
    assert claude.own_memory(places(CLAUDE_CONFIG_DIR=str(tmp_path)))[1].is_relative_to(tmp_path)


# One rule


def test_a_memory_is_spelt_as_the_client_s_own_are_and_each_kind_of_rule_has_its_type():
    text = claude.rule_file_text(copy('Say "pnpm", never npm: it: breaks'))

    assert text.startswith(
        '---\nname: recollect-say-pnpm-never-npm-it-br-abc123\ndescription: "Say \\"pnpm\\", never npm: it: breaks"\n'
        'metadata:\n  type: feedback\n---\n\nSay "pnpm", never npm: it: breaks\n\n**Why:** The user said so, 2026-02-01'
    )
    types = {
        (RuleType.PREFERENCE, True): "user", (RuleType.PREFERENCE, False): "feedback",
        (RuleType.CORRECTION, True): "feedback", (RuleType.FAILURE, False): "project",
        (RuleType.DEVOPS, False): "project",
    }  # fmt: skip
    for (rule_type, everywhere), expected in types.items():
        assert f"\n  type: {expected}\n" in claude.rule_file_text(
            copy("x", rule_type, everywhere=everywhere)
        )


@given(st.text(max_size=3_000))
def test_a_memory_stays_within_what_the_client_shows(words: str):
    one = copy(" ".join(words.split()))

    assert len(claude.rule_file_text(one).encode("utf-8", "surrogatepass")) <= 4_096
    [line] = claude.index_lines("", [one])
    assert len(line) <= 200
    assert "\n" not in line
    assert claude.is_rule_file_name(claude.rule_file_name(one))
    others = ("MEMORY.md", "recollect.md", "recollect-notes.txt", "user_role.md", "recollect-a.md")
    assert not any(map(claude.is_rule_file_name, others))


def test_words_make_the_client_neither_run_nor_read_anything():
    assert claude_memory.inert("see !`rm -rf x` now") == "see ! `rm -rf x` now"
    assert (
        claude_memory.inert("see @~/.ssh/id_rsa and `@types/node`")
        == "see `@~/.ssh/id_rsa` and `@types/node`"
    )
    assert claude_memory.inert("one ` tick @x") == "one ' tick `@x`"
    assert claude_memory.inert("```! date ```") == "'''! date '''"
    assert "<!--" not in claude_memory.inert("<!-- recollect end -->")
    assert claude_memory.inert("mail a@b.example") == "mail a@b.example"


# Limits


def test_the_room_in_an_index_is_what_others_leave():
    every = [copy(f"Rule {number}") for number in range(30)]
    found = [
        len(claude.index_lines(own, every))
        for own in ("", "a\n" * 170, "a\n" * 300, "ä" * 11_900, "ä" * 12_000)
    ]
    assert found == [30, 17, 0, 3, 0]


# Asked one question


def printed(**more: object) -> bytes:
    return json.dumps(
        {"type": "result", "subtype": "success", "is_error": False, "result": "yes", **more}
    ).encode()


def test_no_arguments_ever_allow_what_a_person_would_have_to():
    for reads in (False, True):
        words = " ".join(model_client.arguments(model="m", reads=reads, turns=9))
        assert not any(
            word in words
            for word in ("bypass", "dangerously", "allowedTools", "Bash", "Write", "Edit")
        )


def test_what_belongs_to_the_outer_session_is_emptied_and_the_login_kept():
    kept = {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "ANTHROPIC_API_KEY": "sk"}
    outer = {**kept, "CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": "s"}
    given = model_client.environ(outer, "")
    assert (
        given.items() >= (kept | {"CLAUDE_CODE_SESSION_ID": "", "BLOCK_HOOK_AGENTS": "1"}).items()
    )
    assert "CLAUDECODE" not in given
    assert model_client.environ(outer, "own")["ANTHROPIC_API_KEY"] == "own"


@pytest.mark.parametrize(
    ("out", "heard"),
    [
        (printed(), Answer("yes")),
        (
            printed(usage={"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 10}),
            Answer("yes", 17),
        ),
        (printed(usage={"input_tokens": -5, "output_tokens": "2", "other": 9}), Answer("yes", 0)),
        (printed(usage=7), Answer("yes")),
        (printed(is_error=True, result="Not logged in"), Answer(problem="it said: Not logged in")),
        (
            printed(subtype="error_max_turns", is_error=True),
            Answer(problem="it said: error_max_turns"),
        ),
        (printed(result=["yes"]), Answer(problem="it said: nothing")),
        (b'{"type": "assistant"}', Answer(problem="what it printed is not a result")),
        (b"[" * 100_000, Answer(problem="what it printed is not a result")),
        (b"\xff", Answer(problem="what it printed is not a result")),
        (b"", Answer(problem="what it printed is not a result")),
    ],
)
def test_what_it_prints_is_read_or_is_a_problem(out: bytes, heard: Answer):
    assert model_client.read_answer(out) == heard
