"""Every operation: the command line, MCP, docs/operations.md and the man page are made from this list. A new operation
is one function, one test and one row here. Functions are named, not imported: reading the table loads no other room,
and `--help` not even a JSON parser."""

from __future__ import annotations

import typing
from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from recollect.model.result import Result


class Effect(StrEnum):
    READ = "reads"
    WRITE = "writes, can be undone"
    KEEP = "changes files, not memories"


class Group(StrEnum):
    """Under which heading `recollect help` lists it; the value says what the group is for."""

    MEMORIES = "Look at memories, and change them."
    NOTES = "Notes: Markdown files in your own folder or in the project's."
    MAINTENANCE = "Check, tidy, back up, move."
    TEAMS = "Share memories with colleagues, or with your other machines."
    AGENTS = "Connect coding agents, and see what they are told."
    DEVELOPERS = "Measure and debug Recollect itself."


class Arg(NamedTuple):
    """Stands in a parameter's annotation: what it means, for help texts and schemas."""

    help: str
    metavar: str = ""
    many: bool = False  # a positional argument that may be given several times
    stdin: bool = False  # `-` stands for standard input


class Parameter(NamedTuple):
    """One parameter of an operation's function, after the App."""

    name: str
    type: Any  # without None and Annotated
    arg: Arg
    required: bool
    positional: bool
    default: Any


class Op(NamedTuple):
    name: str
    target: str  # `module:function`, in `ops` where it names no room
    effect: Effect
    group: Group
    summary: str
    example: str
    cli_only: str = ""  # why no other door offers it
    everyday: bool = False  # listed by `recollect --help`
    aliases: tuple[str, ...] = ()  # older names, listed nowhere, with the options that they imply
    # The parameters that make it impossible to undo, and those that do much at once: a person is asked first.
    erases: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()

    @property
    def reads_memories(self) -> bool:
        """Whether what colleagues share can be part of what it shows."""
        return self.group in (Group.MEMORIES, Group.NOTES) or self.name == "status"

    @property
    def function(self) -> Callable[..., Result]:
        module, name = self.target.split(":")
        room = "recollect" if "." in module else "recollect.ops"
        found: Callable[..., Result] = getattr(import_module(f"{room}.{module}"), name)
        return found

    @property
    def parameters(self) -> list[Parameter]:
        import inspect

        hints, found = typing.get_type_hints(self.function, include_extras=True), []
        for name, given in list(inspect.signature(self.function).parameters.items())[1:]:
            kind, arg = typing.get_args(hints[name])
            kind = next(
                (part for part in typing.get_args(kind) if type(None) in typing.get_args(kind)),
                kind,
            )
            required = given.default is inspect.Parameter.empty
            positional = given.kind is not inspect.Parameter.KEYWORD_ONLY
            found.append(
                Parameter(
                    name, kind, arg, required, positional, None if required else given.default
                )
            )
        return found


_PERSON = "inspects the machine; for people only"
_ASKS = "asks a language model, which a person pays for"
_SAID = "shows what was said in sessions; for people only"
_FILES = "reads or writes files of the user's choosing"
_READ, _WRITE, _KEEP = Effect
_SHARES = "only a person decides what leaves this machine"
_MEMORIES, _NOTES, _MAINTENANCE, _TEAMS, _AGENTS, _DEVELOPERS = Group

OPS: tuple[Op, ...] = (
    Op("install", "install:install", _KEEP, _AGENTS, "Connect your coding agents; --dry-run shows every change.",
       "install --dry-run", _PERSON, everyday=True),
    Op("status", "health:status", _READ, _MAINTENANCE, "Show what is remembered here, and where it is kept.", "status",
       everyday=True),
    Op("recall", "recall:recall", _READ, _MEMORIES, "Ask memory a question, and see what an agent would see.",
       "recall how do we deploy", everyday=True),
    Op("rules", "rules:listing", _READ, _MEMORIES, "List the rules in force.", "rules", everyday=True,
       aliases=("rule list",)),
    Op("rule add", "rules:add", _WRITE, _MEMORIES, "Add a rule: what to do from now on.",
       'rule add "Use pnpm, never npm" --type correction'),
    Op("inbox list", "rules:list_inbox", _READ, _MEMORIES, "List the rules that wait for your decision.",
       "inbox list", everyday=True),
    Op("inbox accept", "rules:accept", _WRITE, _MEMORIES, "Put waiting rules in force.", "inbox accept cdd740"),
    Op("inbox edit", "rules:edit", _WRITE, _MEMORIES, "Reword a waiting rule and put it in force.",
       'inbox edit cdd740 "Use pnpm, never npm"'),
    Op("inbox reject", "rules:reject", _WRITE, _MEMORIES, "Archive waiting rules.", "inbox reject cdd740"),
    Op("inbox settle", "rules:settle", _WRITE, _MEMORIES, "Decide on two rules that may contradict each other.",
       "inbox settle cdd740 a1b2c3 --keep newer"),
    Op("notes", "notes:listing", _READ, _NOTES, "List notes with their files, the last changed first.",
       "notes --tag deploy", everyday=True, aliases=("note list",)),
    Op("why", "recall:why", _READ, _MEMORIES, "Show why a memory was shown, and which were left out.", "why",
       everyday=True, aliases=("inspect",)),
    Op("sessions", "sessions:listing", _READ, _AGENTS, "List the sessions of this project, newest first.", "sessions",
       _SAID),
    Op("session", "sessions:session", _READ, _AGENTS, "Show a session turn by turn: what was told, done, heard, kept.",
       "session last --limit 3", _SAID),
    Op("undo", "memories:undo", _WRITE, _MEMORIES, "Take back the last change, or a given one.", "undo", everyday=True),
    Op("import sessions", "past_sessions:import_past", _WRITE, _MAINTENANCE,
       "Read past sessions of a coding agent into memory.", "import sessions --dry-run", _FILES, everyday=True,
       aliases=("import claude-code",)),
    Op("import memory-folder", "imports:memory_folder", _WRITE, _MAINTENANCE,
       "Read the memory that an agent kept for itself.", "import memory-folder --dry-run", _FILES),
    Op("import rules", "imports:rules_file", _WRITE, _MAINTENANCE,
       "Read rules from CLAUDE.md and the like into the inbox.", "import rules AGENTS.md --dry-run", _FILES),
    Op("import jsonl", "transfer:import_jsonl", _WRITE, _MAINTENANCE, "Read a JSONL file that `export` wrote.",
       "import jsonl memories.jsonl --dry-run", _FILES),
    Op("import notes", "notes:import_notes", _WRITE, _MAINTENANCE,
       "Read a folder of Markdown notes into your vault.", "import notes ~/obsidian --dry-run", _FILES),
    Op("import claude-mem", "imports:claude_mem", _WRITE, _MAINTENANCE,
       "Read claude-mem's database; it is never written.", "import claude-mem --dry-run", _FILES),
    Op("import claude-recall", "imports:claude_recall", _WRITE, _MAINTENANCE,
       "Read claude-recall's database; it is never written.", "import claude-recall --dry-run", _FILES),
    Op("import mcp-memory", "imports:mcp_memory", _WRITE, _MAINTENANCE,
       "Read the JSON lines of MCP's reference memory server.", "import mcp-memory memory.jsonl --dry-run", _FILES),
    Op("doctor", "health:doctor", _READ, _MAINTENANCE, "Check the installation, and say how to repair it.", "doctor",
       everyday=True),
    Op("demo", "cli.demo:demo", _READ, _MAINTENANCE, "See it work, in a scratch home of its own.", "demo", _PERSON,
       everyday=True),
    Op("activity", "activity:activity", _READ, _MEMORIES, "List what memory did lately, newest first.", "activity"),
    Op("outcomes", "sessions:outcomes", _READ, _MEMORIES,
       "List how calls and turns ended, and which memories had a part in it.", "outcomes --ending failure", _SAID),
    Op("try", "trial:try_prompt", _READ, _AGENTS, "Show what an agent would be told for a prompt, and what came near.",
       'try "how do we deploy?"'),
    Op("figures", "health:figures", _READ, _MAINTENANCE, "Show prompts, memories, tokens and times, day by day.",
       "figures --days 7"),
    Op("search", "recall:search", _READ, _MEMORIES, "Find memories by words and meaning, with filters.",
       "search dark mode --kind rule --explain"),
    Op("show", "memories:show", _READ, _MEMORIES, "Show one memory whole, or its --content alone.", "show cdd740"),
    Op("list", "library:listing", _READ, _MEMORIES, "List memories of every kind, with filters.",
       "list --kind thread --status asleep"),
    Op("threads", "memories:threads", _READ, _MEMORIES, "List threads, the most recently active first.",
       "threads --topic auth"),
    Op("pin", "memories:pin", _WRITE, _MEMORIES, "Keep something word for word; it never fades.",
       'pin "Deploys go through staging first" --topics deploy,ops'),
    Op("edit", "memories:edit", _WRITE, _MEMORIES, "Change a title, a text or topics, in $EDITOR or by options.",
       'edit cdd740 --title "Release checklist"'),
    Op("forget", "forget:forget", _WRITE, _MEMORIES,
       "Archive memories (`restore` brings them back), or --delete or --purge them.", "forget cdd740", _PERSON,
       aliases=("archive", "rule retire", "delete --delete", "purge --purge"), erases=("purge", "group"),
       asks=("project",)),
    Op("restore", "notes:restore", _WRITE, _MEMORIES, "Bring back memories that were archived, replaced or muted.",
       "restore cdd740", aliases=("revive", "note restore")),
    Op("rate", "steering:rate", _WRITE, _MEMORIES, "Say whether a memory was useful, or never to show it again.",
       "rate cdd740 not-useful --reason outdated"),
    Op("appreciate", "forget:appreciate", _WRITE, _MEMORIES, "Protect a rule or note from being forgotten.",
       "appreciate ask-anna +2", _PERSON),
    Op("focus", "steering:focus", _WRITE, _MEMORIES, "Say what the work is about: its memories come first.",
       "focus authentication --weight 0.8"),
    Op("unfocus", "steering:unfocus", _WRITE, _MEMORIES, "End a focus, or all of them.", "unfocus authentication"),
    Op("links", "library:links", _READ, _MEMORIES, "Show what a memory is linked to, and what that is linked to.",
       "links cdd740"),
    Op("link", "memories:link", _WRITE, _MEMORIES, "Link two memories.", "link cdd740 0a31f2 --type DEPENDS"),
    Op("unlink", "memories:unlink", _WRITE, _MEMORIES, "Remove a link.", "unlink cdd740 0a31f2"),
    Op("merge", "memories:merge", _WRITE, _MEMORIES, "Make one memory of two; both ids lead to it.",
       "merge cdd740 0a31f2"),
    Op("split", "memories:split", _WRITE, _MEMORIES, "Move a thread's messages on some topics to a new thread.",
       "split cdd740 --topics database"),
    Op("capture", "rules:capture", _WRITE, _MEMORIES, "Keep the rules in a text; --explain says what was heard.",
       'capture "no, we use pnpm here, not npm" --explain'),
    Op("log", "memories:log", _READ, _MEMORIES, "List changes, newest first; --diff shows what they did.",
       "log cdd740 --diff"),
    Op("note save", "notes:save", _WRITE, _NOTES, "Write a note: a Markdown file in your folder, or the project's.",
       'note save "Ask Anna before a deploy" --tags deploy', _FILES),
    Op("note show", "notes:show", _READ, _NOTES, "Show a note whole, by name.", "note show ask-anna"),
    Op("note evolve", "notes:evolve", _WRITE, _NOTES, "Write a note that replaces an older one.",
       'note evolve ask-anna "Ask Ben before a deploy"', _FILES),
    Op("note archive", "notes:archive", _WRITE, _NOTES, "Archive notes: their files move to _archive/.",
       "note archive ask-anna", _FILES),
    Op("note sync", "notes:sync", _WRITE, _NOTES, "Read notes that were changed; the daemon does so automatically.",
       "note sync", _PERSON),
    Op("team create", "team:create", _KEEP, _TEAMS, "Make a team in a PostgreSQL database, and join it.",
       "team create acme postgresql://admin@db.example/memory", _SHARES),
    Op("team join", "team:join", _KEEP, _TEAMS, "Join a team, with the address that its maker passed on.",
       "team join acme postgresql://recollect_acme_1a2b3c@db.example/memory", _SHARES),
    Op("team link", "team:link_project", _KEEP, _TEAMS, "Exchange this project's shared memories with the team.",
       "team link", _SHARES),
    Op("team leave", "team:leave", _KEEP, _TEAMS, "Leave a team; what you shared stays with it, and here.",
       "team leave acme", _SHARES),
    Op("team status", "team:status", _READ, _TEAMS, "Show the team, what is shared, and what waits to be sent.",
       "team status", _PERSON),
    Op("team members", "team:members", _READ, _TEAMS, "List who has joined the team.", "team members", _PERSON),
    Op("share", "team:share", _WRITE, _TEAMS, "Share memories with the team; --dry-run shows every word of it.",
       "share cdd740 --dry-run", _SHARES),
    Op("unshare", "team:unshare", _WRITE, _TEAMS, "Take memories back from the team; your own stay here.",
       "unshare cdd740", _SHARES),
    Op("allow", "session_start:allow", _KEEP, _NOTES,
       "Load this project's _always-load/ notes at the start of every session.", "allow",
       "only a person may let in what a stranger may have written"),
    Op("config", "health:config", _KEEP, _MAINTENANCE, "List every setting with its source and reason, or set one.",
       "config MEMORY_RECALL_FLOOR 0.6", _PERSON),
    Op("suggestions", "steering:suggestions", _WRITE, _MAINTENANCE,
       "Suggest memories to merge or split; --apply does it.", 'suggestions "working on login" --apply'),
    Op("compact", "steering:compact", _WRITE, _MAINTENANCE, "Merge, archive and fade threads: one change, one undo.",
       "compact --strategy gentle --dry-run"),
    Op("validate", "validate:validate", _WRITE, _MAINTENANCE, "Check whether memories are still true.",
       "validate --run", _PERSON),
    Op("catch-up", "past_sessions:catch_up", _WRITE, _MAINTENANCE,
       "Learn from sessions that have ended; the daemon does so, too.", "catch-up", _PERSON, aliases=("digest",)),
    Op("heartbeat", "app.session_ledger:heartbeat", _READ, _MAINTENANCE, "Show how long ago anyone worked here.",
       "heartbeat"),
    Op("export", "transfer:export", _KEEP, _MAINTENANCE, "Write memory to a file: JSONL, notes, or AGENTS.md.",
       "export memories.jsonl", _FILES),
    Op("verify", "upkeep:verify", _READ, _MAINTENANCE, "Look for damage, down to a flipped bit.", "verify"),
    Op("reindex", "upkeep:reindex", _KEEP, _MAINTENANCE, "Rebuild the search index and missing vectors.", "reindex"),
    Op("backup", "upkeep:backup", _KEEP, _MAINTENANCE, "Make a checked copy of each database.", "backup", _PERSON),
    Op("recover", "upkeep:recover", _WRITE, _MAINTENANCE, "Bring back memories from damaged files and backups.",
       "recover --dry-run", _PERSON),
    Op("projects", "upkeep:projects", _READ, _MAINTENANCE, "List the projects that have a memory.", "projects",
       _PERSON),
    Op("attach", "upkeep:attach", _KEEP, _MAINTENANCE,
       "Give this folder the memory of another, such as one that moved or was cloned.", "attach shop-0f1e2d3c4b5a",
       _PERSON),
    Op("uninstall", "install:uninstall", _KEEP, _AGENTS, "Undo `install`: settings files come back byte for byte.",
       "uninstall", _PERSON),
    Op("sync", "install:sync", _KEEP, _AGENTS, "Write the rules into your agents' own memory; --off removes them.",
       "sync --dry-run", _PERSON),
    Op("skills", "install:skills", _KEEP, _AGENTS, "Write this project's rules as skills; --off removes them.",
       "skills --dry-run", _PERSON),
    Op("recall-agent", "recall_agent:recall_agent", _READ, _AGENTS,
       "List the memories that a language model would choose for a prompt.", 'recall-agent "how do we deploy"', _ASKS),
    Op("review", "turn_questions:review", _WRITE, _AGENTS,
       "Ask a language model what to remember of the last turn.", "review --run", _ASKS),
    Op("replay", "past_sessions:replay", _READ, _DEVELOPERS,
       "Show which memories past sessions would have seen, and used.", "replay --show 10", _FILES),
)  # fmt: skip
