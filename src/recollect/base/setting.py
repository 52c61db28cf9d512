"""Every setting: its name, default, range and reason, and who may change it. One table; how it is laid over with
files and the environment is settings.py's."""

from __future__ import annotations

from typing import Literal, NamedTuple

Kind = Literal["switch", "count", "figure", "choice", "text", "schedule", "pair"]
# What a project's file and a hook's environment may do.
Narrow = Literal["off_only", "lower_only", "never"]


class Setting(NamedTuple):
    name: str
    default: str
    kind: Kind
    narrow: Narrow
    reason: str
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    # A value that sends text to another machine is taken from the user's own file alone.
    stays_here: bool = False


SETTINGS: tuple[Setting, ...] = (
    # What happens at all.
    Setting(
        "MEMORY_RECALL", "on", "switch", "off_only",
        "Recall at each prompt is what memory is for; off means no prompt is looked at.",
    ),
    Setting(
        "MEMORY_UPDATE", "on", "switch", "off_only",
        "A review after each turn keeps memory fresh; it does nothing until MEMORY_LLM is on.",
    ),
    Setting(
        "MEMORY_FORGETTING", "on", "switch", "off_only",
        "Unused memories are proposed for cold storage, so that recall stays sharp; nothing is lost.",
    ),
    Setting(
        "MEMORY_VALIDATION", "on", "switch", "off_only",
        "Facts go stale; a sample is checked now and then and flagged.",
    ),
    # Recall through a language model.
    Setting(
        "MEMORY_RECALL_SCHEME", "off", "choice", "off_only",
        "Prompts then wait for a model, so it is asked for; double reads whole memories and drops what is not needed.",
        choices=("off", "single", "double"),
    ),
    Setting(
        "MEMORY_RECALL_SECONDS", "60", "count", "lower_only",
        "What a prompt waits for a model at most; then ordinary recall answers. `install` tells the agent.",
        low=1, high=500,
    ),
    Setting(
        "MEMORY_RECALL_MODELS", "opus/opus", "pair", "never",
        "First and second pass; judging relevance is where a strong model pays.",
    ),
    Setting(
        "MEMORY_RECALL_PROMPTS", "recall-broad/recall-strict", "pair", "never",
        "First and second pass; a file of that name in your own prompts folder takes precedence.",
    ),
    Setting(
        "MEMORY_RECALL_PRESEARCH", "off", "switch", "never",
        "A keyword filter before the model is cheaper and misses paraphrases, so it is asked for.",
    ),
    Setting(
        "MEMORY_RECALL_PRESEARCH_CONTENT", "off", "switch", "never",
        "Names and descriptions are made to be matched; whole contents match nearly everything.",
    ),
    # When the agents run, as offset/cycle in sessions.
    Setting(
        "MEMORY_FORGETTING_SCHEDULE", "0/200", "schedule", "never",
        "The forgetting score has a half-life of 200 sessions; sooner would judge on noise.",
    ),
    Setting(
        "MEMORY_VALIDATION_SCHEDULE", "75/100", "schedule", "never",
        "Off the forgetting schedule, so that the two never run in one session.",
    ),
    Setting(
        "MEMORY_VALIDATION_AMOUNT", "20", "count", "lower_only",
        "A sample that one run can check within its time.",
        low=1, high=1_000,
    ),
    # Language models: who is asked, and what they may cost.
    Setting(
        "MEMORY_LLM", "off", "switch", "off_only",
        "No language model is called, and nothing spent, unless you switch it on.",
    ),
    Setting(
        "MEMORY_LLM_BY", "command", "choice", "never",
        "The command needs no key; an endpoint serves local models, api the service itself with your key.",
        choices=("command", "endpoint", "api"),
    ),
    Setting(
        "MEMORY_LLM_COMMAND", "claude", "text", "never",
        "The command line that agents' users already have and have signed in to.",
    ),
    Setting(
        "MEMORY_LLM_MODEL", "haiku", "text", "never",
        "Small and cheap does where a job names none; an endpoint or the api is asked for this one alone.",
    ),
    Setting(
        "MEMORY_LLM_URL", "http://127.0.0.1:11434/v1", "text", "never",
        "Where local servers commonly listen; only an endpoint is asked there.",
    ),
    Setting(
        "MEMORY_LLM_API_URL", "https://api.anthropic.com", "text", "never",
        "The service's own address; only api asks there, with your key.",
    ),
    Setting(
        "MEMORY_LLM_CALLS_PER_DAY", "50", "count", "lower_only",
        "A day's work fits; a loop gone wrong stops within the hour.",
        high=100_000,
    ),
    Setting(
        "MEMORY_LLM_TOKENS_PER_DAY", "500000", "count", "lower_only",
        "Fifty calls of ten thousand tokens; over it no call is made.",
        high=1_000_000_000,
    ),
    Setting(
        "MEMORY_EMBEDDING_MODEL", "shipped", "text", "never",
        "Works offline with what is installed. Or shipped-fast (by onnxruntime), a model's folder, an endpoint's URL.",
        stays_here=True,
    ),
    # What is written or shown elsewhere.
    Setting(
        "MEMORY_RULES_SYNC", "off", "switch", "off_only",
        "Writing into an agent's own memory folder is a choice, not a surprise.",
    ),
    Setting(
        "MEMORY_SKILLS", "off", "switch", "off_only",
        "Skill files appear in the project's tree, so they are asked for.",
    ),
    Setting(
        "MEMORY_NOTICES", "on", "switch", "off_only",
        "Memory that nobody sees at work is not trusted; one line where something was kept or told is enough.",
    ),
    Setting(
        "MEMORY_TOASTS", "off", "switch", "off_only",
        "The agent's own notice line already says it; desktop notices distract.",
    ),
    # How a thread ages.
    Setting(
        "MEMORY_HALF_LIFE_DAYS", "3", "figure", "never",
        "An unused thread halves in weight in three days and is at 0.08 after eleven.",
        low=0.1, high=3_650,
    ),
    Setting(
        "MEMORY_SUSPEND_BELOW", "0.1", "figure", "never",
        "Ten idle days at the default half-life: beyond that a thread is no longer open work.",
        low=0, high=1,
    ),
    Setting(
        "MEMORY_ARCHIVE_AFTER_DAYS", "30", "figure", "never",
        "A month asleep without one recall coming near.",
        low=1, high=3_650,
    ),
    Setting(
        "MEMORY_REINFORCEMENT", "0.1", "figure", "never",
        "One use is a weak sign; ten bring a faded thread back whole.",
        low=0, high=1,
    ),
    # What a prompt brings.
    Setting(
        "MEMORY_RECALL_FLOOR", "0.5", "figure", "never",
        "How sure it must be that a memory bears on a prompt before it is shown unasked; off shows the best anyway.",
        low=0, high=1, choices=("off",),
    ),
    Setting(
        "MEMORY_PROMPT_HITS", "3", "count", "lower_only",
        "More than three are rarely read, and what is unsure is better asked for.",
        low=1, high=20,
    ),
    Setting(
        "MEMORY_PROMPT_CHARS", "2000", "count", "lower_only",
        "Room for a handful of entries; agents pay for every character of every prompt, and hosts cut at 10,000.",
        low=500, high=9_900,
    ),
    Setting(
        "MEMORY_PROMPT_CONTENT", "on", "switch", "off_only",
        "Told at once, a memory costs no further step; off, a prompt brings names alone, to be read when needed.",
    ),
    # The daemon.
    Setting(
        "MEMORY_DAEMON_IDLE_MINUTES", "480", "figure", "never",
        "A working day: the first prompt after a pause finds it awake, and at night its memory is given back.",
        low=0.01, high=10_080,
    ),
    # The store.
    Setting(
        "MEMORY_MAX_BODY_CHARS", "1000000", "count", "lower_only",
        "Longer than any note and short enough to index at once.",
        low=1_000, high=100_000_000,
    ),
    Setting(
        "MEMORY_BUSY_TIMEOUT_MS", "15000", "count", "never",
        "Waits for another writer reached 3.3 s when measured; no wait at all loses writes.",
        low=100, high=600_000,
    ),
    Setting(
        "MEMORY_BACKUPS_KEPT", "5", "count", "never",
        "Damage is often noticed late; under three copies the good one may be gone.",
        low=3, high=1_000,
    ),
    Setting(
        "MEMORY_JOURNAL_DAYS", "365", "count", "never",
        "What can be undone; never under thirty days.",
        low=30, high=36_500,
    ),
    Setting(
        "MEMORY_LOG_MAX_MB", "20", "count", "never",
        "Weeks of decisions at one line each.",
        low=1, high=10_000,
    ),
)  # fmt: skip


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    import ipaddress  # no other command needs it

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def leaves_here(value: str) -> bool:
    """Whether it is a URL of another machine, or one that cannot be read."""
    if "://" not in value:
        return False
    from urllib.parse import urlsplit

    try:
        return not is_loopback(urlsplit(value).hostname or "")
    except ValueError:
        return True
