"""Every operation, in one list. The command line, MCP, the page and docs/operations.md are made from it.

A new operation is one function, one test and one line here. Functions are named, not imported: reading the
table loads no room.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from recollect.model.result import Result


class Effect(StrEnum):
    READ = "reads"
    WRITE = "writes, can be undone"
    ERASE = "erases, cannot be undone"
    KEEP = "changes files, not memories"


class Arg(NamedTuple):
    """Stands in a parameter's annotation: what it means, for help texts and schemas."""

    help: str
    metavar: str = ""
    many: bool = False
    """A positional argument that may be given several times."""
    stdin: bool = False
    """`-` stands for what comes on standard input."""


class Op(NamedTuple):
    name: str
    target: str
    effect: Effect
    summary: str
    example: str
    cli_only: str = ""
    """Why no other door offers it."""

    @property
    def function(self) -> Callable[..., Result]:
        module, name = self.target.split(":")
        found: Callable[..., Result] = getattr(import_module(f"recollect.ops.{module}"), name)
        return found


_PERSON = "a person's look at the machine, not an agent's business"
_ASKS = "asks a language model, which is a person's to pay for"
_FILES = "reads or writes files of the user's choosing"

OPS: tuple[Op, ...] = (
    Op("status", "health:status", Effect.READ, "What is remembered here, and where it is kept.", "status"),
    Op("threads", "memories:threads", Effect.READ, "List threads, most recently active first.", "threads --topic auth"),
    Op("show", "memories:show", Effect.READ, "Show one memory whole, or --content alone; a note by its name too.",
       "show thread_20260201_083000_abc123"),
    Op("recall", "recalls:recall", Effect.READ, "Ask memory, as an agent would see the answer.",
       "recall how do we deploy"),
    Op("search", "recalls:search", Effect.READ, "Find memories by words and meaning, with filters.",
       "search dark mode --kind rule --explain"),
    Op("recall-agent", "chosen:recall_agent", Effect.READ, "Names of what a language model would recall, one a line.",
       'recall-agent "how do we deploy"', cli_only=_ASKS),
    Op("why", "recalls:why", Effect.READ, "Why something was shown: every component, and what was left out.", "why"),
    Op("heartbeat", "heartbeat:heartbeat", Effect.READ, "How long nobody spoke here, in beats of five minutes.",
       "heartbeat"),
    Op("pin", "memories:pin", Effect.WRITE, "Keep something word for word, above everything else.",
       'pin "Deploys go through staging first" --topics deploy,ops'),
    Op("focus", "steer:focus", Effect.WRITE, "Say what the work is about: its memories come first until `unfocus`.",
       "focus authentication --weight 0.8"),
    Op("unfocus", "steer:unfocus", Effect.WRITE, "Take a focus away, or all of them.", "unfocus authentication"),
    Op("rate", "steer:rate", Effect.WRITE, "Say whether a memory that was shown was of use; bad ones sink.",
       "rate thread_20260201_083000_abc123 not-useful --reason outdated"),
    Op("suggestions", "tidy:suggestions", Effect.WRITE, "What could be merged, split or recalled, and how full it is.",
       'suggestions "working on login" --apply'),
    Op("compact", "tidy:compact", Effect.WRITE, "Merge, archive and fade threads: one change, one undo.",
       "compact --strategy gentle --dry-run"),
    Op("rule add", "rules:add", Effect.WRITE, "Add a rule: what to do, from now on.",
       'rule add "Use pnpm, never npm" --type correction'),
    Op("rule list", "rules:listing", Effect.READ, "List the rules in force.", "rule list"),
    Op("rule retire", "rules:retire", Effect.WRITE, "Put a rule out of force; it can be restored.",
       "rule retire rule_20260201_083000_abc123"),
    Op("capture", "capture:capture", Effect.WRITE, "Keep the rules in what somebody says; --explain shows why.",
       'capture "no, we use pnpm here, not npm" --explain'),
    Op("digest", "digest:digest", Effect.WRITE, "Take in what sessions left; the daemon does so by itself.", "digest",
       cli_only=_PERSON),
    Op("review", "reviews:review", Effect.WRITE, "What a language model would add to memory after the last turn.",
       "review --run", cli_only=_ASKS),
    Op("inbox list", "inbox:listing", Effect.READ, "Rules that were heard and wait for your word.", "inbox list"),
    Op("inbox accept", "inbox:accept", Effect.WRITE, "Put a waiting rule in force.",
       "inbox accept rule_20260201_083000_abc123"),
    Op("inbox edit", "inbox:edit", Effect.WRITE, "Put a waiting rule in force, in other words.",
       'inbox edit rule_20260201_083000_abc123 "Use pnpm, never npm"'),
    Op("inbox reject", "inbox:reject", Effect.WRITE, "Put a waiting rule away.",
       "inbox reject rule_20260201_083000_abc123"),
    Op("note save", "notes:save", Effect.WRITE, "Write a note: a Markdown file in your vault, or the project's.",
       'note save "Ask Anna before a deploy" --tags deploy', cli_only=_FILES),
    Op("note list", "notes:listing", Effect.READ, "List notes, the last changed first.", "note list --tag deploy"),
    Op("note show", "notes:show", Effect.READ, "Show a note whole, by name.", "note show ask-anna"),
    Op("note evolve", "notes:evolve", Effect.WRITE, "Write a note that takes the place of an older one.",
       'note evolve ask-anna "Ask Ben before a deploy"', cli_only=_FILES),
    Op("note archive", "notes:archive", Effect.WRITE, "Put notes away, never surfaced; their files go to _archive/.",
       "note archive ask-anna", cli_only=_FILES),
    Op("note restore", "notes:restore", Effect.WRITE, "Bring notes back: from the archive, the cold or the inbox.",
       "note restore ask-anna", cli_only=_FILES),
    Op("note sync", "vaults:sync", Effect.WRITE, "Take in notes that were changed; the daemon does so by itself.",
       "note sync", cli_only=_PERSON),
    Op("allow", "always:allow", Effect.KEEP, "Load this project's _always-load/ notes at every session's start.",
       "allow", cli_only="what a stranger may have written is let in by a person alone"),
    Op("forget", "forgetting:forget", Effect.WRITE, "Put a rule or note into cold storage; or see what is used least.",
       "forget --candidates", cli_only=_PERSON),
    Op("appreciate", "forgetting:appreciate", Effect.WRITE, "Say that a rule or note is worth keeping.",
       "appreciate ask-anna +2", cli_only=_PERSON),
    Op("validate", "validation:validate", Effect.WRITE, "Look whether what memories say is still so.",
       "validate --run", cli_only=_PERSON),
    Op("link", "links:link", Effect.WRITE, "Bridge two memories.", "link ID_A ID_B --type DEPENDS"),
    Op("unlink", "links:unlink", Effect.WRITE, "Take a bridge away.", "unlink ID_A ID_B"),
    Op("merge", "shape:merge", Effect.WRITE, "Make one memory of two; both ids lead to it.", "merge ID_KEPT ID_OTHER"),
    Op("split", "shape:split", Effect.WRITE, "Move a thread's messages on some topics to a new thread.",
       "split ID --topics database"),
    Op("archive", "memories:archive", Effect.WRITE, "Put memories away, never surfaced unasked.", "archive ID"),
    Op("revive", "memories:revive", Effect.WRITE, "Show memories unasked again that went quiet.", "revive ID"),
    Op("age", "ageing:age", Effect.WRITE, "Put unused threads to sleep, or away; the daemon does so every hour.",
       "age --dry-run", cli_only=_PERSON),
    Op("restore", "memories:restore", Effect.WRITE, "Bring memories back that were put away or superseded.",
       "restore ID"),
    Op("delete", "memories:delete", Effect.WRITE, "Delete memories; `undo` brings them back.", "delete ID"),
    Op("edit", "memories:edit", Effect.WRITE, "Change a memory's title, body or topics, in $EDITOR or by options.",
       'edit ID --title "Release checklist"'),
    Op("log", "history:log", Effect.READ, "What was changed, newest first.", "log --limit 5"),
    Op("undo", "history:undo", Effect.WRITE, "Take back the last change, or a given one.", "undo"),
    Op("purge", "history:purge", Effect.ERASE, "Erase memories with every trace: journal, index, backups.",
       "purge ID --yes", cli_only="no undo: only a person may"),
    Op("export", "transfer:export", Effect.KEEP, "Write memory to a file: JSONL with checksums, notes, or AGENTS.md.",
       "export memories.jsonl", cli_only=_FILES),
    Op("import jsonl", "transfer:import_jsonl", Effect.WRITE, "Read memories from a JSONL file that `export` wrote.",
       "import jsonl memories.jsonl --dry-run", cli_only=_FILES),
    Op("import claude-code", "past:import_past", Effect.WRITE, "Read past sessions of Claude Code into memory.",
       "import claude-code --dry-run", cli_only=_FILES),
    Op("replay", "replay:replay", Effect.READ, "What past sessions would have been told, and whether they used it.",
       "replay --show 10", cli_only=_FILES),
    Op("import memory-folder", "others:memory_folder", Effect.WRITE, "Read the memory that an agent kept for itself.",
       "import memory-folder --dry-run", cli_only=_FILES),
    Op("import rules", "others:rules_file", Effect.WRITE, "Read rules out of CLAUDE.md and the like, into the inbox.",
       "import rules AGENTS.md --dry-run", cli_only=_FILES),
    Op("import claude-mem", "others:claude_mem_db", Effect.WRITE, "Read claude-mem's database; it is never written.",
       "import claude-mem --dry-run", cli_only=_FILES),
    Op("import claude-recall", "others:claude_recall_db", Effect.WRITE,
       "Read claude-recall's database; it is never written.", "import claude-recall --dry-run", cli_only=_FILES),
    Op("import mcp-memory", "others:mcp_file", Effect.WRITE, "Read the JSON lines of MCP's reference memory server.",
       "import mcp-memory memory.jsonl --dry-run", cli_only=_FILES),
    Op("verify", "upkeep:verify", Effect.READ, "Look for damage, down to a flipped bit.", "verify"),
    Op("reindex", "upkeep:reindex", Effect.KEEP, "Rebuild the full-text index and its counts.", "reindex"),
    Op("backup", "upkeep:backup", Effect.KEEP, "Take a checked copy of each store.", "backup", cli_only=_PERSON),
    Op("recover", "recovery:recover", Effect.WRITE, "Bring back what damaged files and backups still hold.",
       "recover --dry-run", cli_only=_PERSON),
    Op("projects", "places:projects", Effect.READ, "List the projects that have a memory.", "projects",
       cli_only=_PERSON),
    Op("attach", "places:attach", Effect.KEEP, "Give this folder the memory of a project that has moved.",
       "attach shop-0f1e2d3c4b5a", cli_only=_PERSON),
    Op("install", "install:install", Effect.KEEP, "Make your agents call Recollect; --dry-run shows the difference.",
       "install --dry-run", cli_only=_PERSON),
    Op("uninstall", "install:uninstall", Effect.KEEP, "Undo `install`: settings files come back byte for byte.",
       "uninstall", cli_only=_PERSON),
    Op("sync", "sync:sync", Effect.KEEP, "Write the rules in force into your agents' own memory; --off takes them out.",
       "sync --dry-run", cli_only=_PERSON),
    Op("skills", "skills:skills", Effect.KEEP, "Write this project's rules as skills; --off takes them away.",
       "skills --dry-run", cli_only=_PERSON),
    Op("config", "health:config", Effect.READ, "Every setting: value, where it comes from, and why.", "config",
       cli_only=_PERSON),
    Op("doctor", "health:doctor", Effect.READ, "Check the installation and name what mends it.", "doctor",
       cli_only=_PERSON),
    Op("demo", "demo:demo", Effect.READ, "See the main job done, in a scratch home of its own.", "demo",
       cli_only=_PERSON),
)  # fmt: skip
