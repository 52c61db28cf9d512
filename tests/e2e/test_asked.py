"""The real client is asked by us: nothing of ours fires in it, and it leaves nothing behind."""

import json
import shlex
from contextlib import suppress
from pathlib import Path

from recollect.agents import model_client
from recollect.llm import model_calls
from tests.daemon.real import soon
from tests.e2e.client import BREAD, VALIDATORS, World, binary
from tests.e2e.stand_in import Lane, StandIn, says, use

UNSURE = "iOS can only be built on the mac mini (host: forge) with Xcode 16.2"
ANSWER = json.dumps({"rule": True, "quote": UNSURE, "type": "devops"})
WITHIN_S = 45
# What the inner client may write in its home: its own state, never a session.
OF_ITS_OWN = (
    ".claude.json",
    ".claude/backups",
    ".claude/plugins",
    ".claude/sessions",
    ".claude/cache",
)


def command(world: World, service: StandIn) -> str:
    """The client with its stand-in: the daemon has no environment of an agent's to give it."""
    own = world.client_environ(service).items() - world.environ().items()
    return shlex.join(["env", *sorted(f"{name}={value}" for name, value in own), str(binary())])


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def inner(world: World) -> list[int]:
    """Clients that were started to be asked."""
    found = []
    for pid in world.processes():
        with suppress(OSError):
            found += (
                [pid]
                if b"--no-session-persistence" in Path(f"/proc/{pid}/cmdline").read_bytes()
                else []
            )
    return found


def test_an_inner_client_is_asked_once_and_touches_nothing_of_the_outer_session(installed: World):
    with installed.session(says("Noted."), says(ANSWER, lane=Lane.ASIDE), says("Bye.")) as session:
        conf = installed.home / ".recollect" / "agent.conf"
        settings = f"MEMORY_LLM=on\nMEMORY_UPDATE=off\nMEMORY_LLM_COMMAND={command(installed, session.service)}\n"
        conf.write_text(settings, encoding="utf-8")
        session.service.hold(Lane.ASIDE)
        session.say(UNSURE)
        assert soon(lambda: inner(installed), WITHIN_S)
        told = files(installed.home / ".claude" / "projects")
        session.service.release(Lane.ASIDE)
        assert soon(lambda: "mac mini" in installed.recollect("rule", "list").stdout, WITHIN_S)
        assert files(installed.home / ".claude" / "projects") == told
        session.say("thanks")

    [asked] = session.service.of(Lane.ASIDE)
    assert asked.holds(UNSURE) == 1
    assert asked.body.get("tools", []) == []
    assert asked.holds("Recollect") == 0
    # One session is known, here and there: the outer one.
    assert {Path(name).stem for name in told if name.endswith(".jsonl")} == {session.id}
    log = installed.log()
    assert {word for word in log.split() if word.startswith("session=")} == {
        f"session={session.id}"
    }
    assert log.count(" asked ") == 1
    assert inner(installed) == []
    spent = installed.json("status")["llm"]
    assert (spent["calls"], spent["jobs"]["classify"]["calls"]) == (1, 1)
    assert session.service.refused == []


def trapped(world: World) -> Path:
    """Hooks, servers, settings and instructions of user and project, each of which would leave a trace."""
    trace = world.root / "trace"
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")
    leave = {"type": "command", "command": f"echo hook >> {trace}"}
    hooks = {event: [{"hooks": [leave]}] for event in events}
    world.settings.parent.mkdir()
    world.settings.write_text(json.dumps({"hooks": hooks}), encoding="utf-8")
    (world.settings.parent / "CLAUDE.md").write_text("MARK-OF-THE-USER", encoding="utf-8")
    own = world.project / ".claude"
    own.mkdir()
    allowed = {
        "permissions": {"allow": ["Bash", "Write", f"Read({world.root}/**)"]},
        "hooks": hooks,
    }
    (own / "settings.json").write_text(json.dumps(allowed), encoding="utf-8")
    (world.project / "CLAUDE.md").write_text("MARK-OF-THE-PROJECT", encoding="utf-8")
    server = {"command": "sh", "args": ["-c", f"echo server >> {trace}"]}
    (world.project / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"theirs": server}}), encoding="utf-8"
    )
    return trace


def test_one_that_may_read_reads_the_folder_and_nothing_else(world: World):
    trace = trapped(world)
    (world.project / "inside.txt").write_text("INSIDE", encoding="utf-8")
    (world.root / "outside.txt").write_text("OUTSIDE", encoding="utf-8")
    before = files(world.project)
    script = says(
        use("Read", file_path=str(world.project / "inside.txt")),
        use("Glob", pattern="*.txt"),
        use("Read", file_path=str(world.root / "outside.txt")),
        use("Glob", pattern="*.txt", path=str(world.root)),
        use("Bash", command="echo x > written"),
        use("Write", file_path=str(world.project / "written"), content="x"),
    )

    with StandIn([script, says("Done.")]) as service:
        ran = model_calls.run_program(
            (str(binary()), *model_client.arguments(model=world.model, reads=True, turns=4)),
            text="Look.", environ=model_client.environ(world.client_environ(service), ""), folder=str(world.project),
            seconds=60,
        )  # fmt: skip

    heard = model_client.read_answer(ran.out)
    assert (ran.problem, heard.text) == ("", "Done.")
    assert heard.tokens
    inside, seen, outside, listed, *others = service.asked[-1].results()
    assert inside == ("1\tINSIDE", False)
    assert "inside.txt" in seen[0]
    assert outside[1]
    assert "OUTSIDE" not in outside[0]
    assert "outside.txt" not in listed[0]
    assert [failed for _, failed in others] == [True, True]
    sent = json.dumps([dict(asked.body) for asked in service.asked])
    assert "MARK-OF-THE" not in sent
    assert not trace.exists()
    assert files(world.project) == before
    assert not list(world.home.rglob("*.jsonl"))
    assert world.processes() == []
    made = {str(path.relative_to(world.home)) for path in world.home.rglob("*") if path.is_file()}
    kept = {".claude/settings.json", ".claude/CLAUDE.md"}
    assert {name for name in made - kept if not name.startswith(OF_ITS_OWN)} == set()


ASKS = "how do solana validators restart?"


def test_a_prompt_waits_for_a_model_and_gets_what_it_chose(installed: World):
    session = installed.session(says("Good day."), says("I see."))
    (installed.home / ".recollect" / "agent.conf").write_text(
        f"MEMORY_LLM=on\nMEMORY_LLM_COMMAND={command(installed, session.service)}\nMEMORY_RECALL_SECONDS=40\n"
        "MEMORY_RECALL_SCHEME=double\nMEMORY_UPDATE=off\n"
    )
    installed.install()  # the agent is told how long to wait
    with session:
        session.say("hello")
        installed.pin(VALIDATORS)
        bread = installed.pin(BREAD)
        for _ in range(2):
            session.service.script(says(bread, lane=Lane.ASIDE))
        session.say(ASKS)

    greeting, asked = session.asked
    assert greeting.holds("Sourdough") == 0
    assert asked.holds("Sourdough") == 1, "what the model chose"
    assert asked.holds("vestibule") == 0, "what ordinary recall would have brought"
    inner = session.service.of(Lane.ASIDE)
    assert [one.holds("\n\nAvailable memories:\n") for one in inner] == [1, 0]
    assert [one.holds("\n\nCandidate memories:\n") for one in inner] == [0, 1]
    assert all(one.holds(f"<user_prompt>\n{ASKS}\n</user_prompt>") == 1 for one in inner)
    assert all(one.holds("[recollect ") == 0 for one in inner), "no hook of ours ran inside"
    assert "a language model (double)" in installed.recollect("why", "--json").stdout
    records = [path.stem for path in (installed.home / ".claude" / "projects").rglob("*.jsonl")]
    assert records == [session.id], "no record of the inner calls is kept"
