"""`recollect bench …`: runs a benchmark in a scratch folder and prints its figures; exit 1 if one fails its claim."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from bench.report import Report, blocks
from recollect.cli.output import Bar, print_blocks, print_json

_as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_from_none = click.IntRange(min=0)
_seed = click.option(
    "--seed", default=1, show_default=True, help="The same seed gives the same accidents."
)


@click.group()
def bench() -> None:
    """Measure answers, speed, crashes and damage. Everything happens in a scratch folder."""


@bench.command()
@click.option(
    "--sizes", default="1000,10000,100000", show_default=True, help="Memories, separated by commas."
)
@_as_json
def store(sizes: str, as_json: bool) -> int:
    """Insert rate, size, and what a full-text query costs as the store grows."""
    from bench.store import run_store

    wanted = _sizes(sizes)
    return _run(lambda folder, bar: run_store(folder, sizes=wanted, progress=bar), as_json)


@bench.command()
@click.option(
    "--cycles",
    default=1000,
    show_default=True,
    type=click.IntRange(min=1),
    help="How often the process is killed.",
)
@_seed
@_as_json
def crash(cycles: int, seed: int, as_json: bool) -> int:
    """Kill -9 and power cuts: is anything acknowledged ever lost?"""
    from bench.crash import run_crash

    return _run(
        lambda folder, bar: run_crash(folder, cycles=cycles, seed=seed, progress=bar), as_json
    )


@bench.command()
@click.option("--all", "every", is_flag=True, help="Also with words of every pattern; minutes.")
@_as_json
def patterns(every: bool, as_json: bool) -> int:
    """What texts that are made to be slow cost at each door: the worst CPU time."""
    from bench.pattern_cost import run_patterns

    return _run(lambda folder, bar: run_patterns(folder, every=every, progress=bar), as_json)


@bench.command()
@click.option(
    "--events",
    default=10_000,
    show_default=True,
    type=click.IntRange(min=10),
    help="Events to one daemon.",
)
@_as_json
def soak(events: int, as_json: bool) -> int:
    """One daemon, very many events of many sessions and projects: do memory, files and threads level off?"""
    from bench.soak import run_soak

    return _run(lambda folder, bar: run_soak(folder, events=events, progress=bar), as_json)


@bench.command("slow-disk")
@click.option(
    "--projects",
    default=20,
    show_default=True,
    type=click.IntRange(min=1),
    help="New projects, each with a first session.",
)
@_as_json
def slow_disk(projects: int, as_json: bool) -> int:
    """Hooks where every sync takes 0, 50 and 100 ms more: are they answered in time, is anything lost?"""
    from bench.slow_disk import run_slow_disk

    return _run(lambda folder, bar: run_slow_disk(folder, projects=projects, progress=bar), as_json)


@bench.command()
@click.option(
    "--processes",
    default=16,
    show_default=True,
    type=click.IntRange(min=1),
    help="Writers at once.",
)
@click.option(
    "--writes", default=500, show_default=True, type=click.IntRange(min=1), help="Writes of each."
)
@_as_json
def writers(processes: int, writes: int, as_json: bool) -> int:
    """Many processes writing to one store at once."""
    from bench.writers import run_writers

    return _run(
        lambda folder, bar: run_writers(folder, processes=processes, writes=writes, progress=bar),
        as_json,
    )


@bench.command()
@click.option(
    "--flips",
    default=1000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Bits to flip, one at a time.",
)
@_seed
@_as_json
def flips(flips: int, seed: int, as_json: bool) -> int:
    """Random bit flips: which share does `verify` find?"""
    from bench.flips import run_flips

    return _run(
        lambda folder, bar: run_flips(folder, flips=flips, seed=seed, progress=bar), as_json
    )


@bench.command()
@click.option(
    "--runs",
    default=21,
    show_default=True,
    type=click.IntRange(min=1),
    help="Runs to take the median of.",
)
@_as_json
def start(runs: int, as_json: bool) -> int:
    """CPU time of `recollect --help`, compared with importing click."""
    from bench.start import run_start

    return _run(lambda folder, bar: run_start(folder, runs=runs, progress=bar), as_json)


@bench.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only N questions of each suite, always the same.",
)
@click.option(
    "--among", default=0, show_default=True, type=_from_none, metavar="N",
    help="Passages of other suites (--from) that stand around each task.",
)  # fmt: skip
@click.option(
    "--from", "others", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="A suite whose documents --among takes; without it, whose questions should show nothing unasked.",
)  # fmt: skip
@click.option(
    "--embedder", default="shipped", show_default=True, help="As MEMORY_EMBEDDING_MODEL names one."
)
@click.option(
    "--cache", type=click.Path(path_type=Path, file_okay=False, exists=True), metavar="DIR",
    help="Where vectors are kept between runs (else `cache` in Recollect's home).",
)  # fmt: skip
@click.option(
    "--system", type=click.Choice(["recall-agent"]),
    help="One system more: recall-agent lets the language model of your settings choose, within your budget.",
)  # fmt: skip
@_as_json
def recall(
    files: tuple[Path, ...], sample: int | None, among: int, others: tuple[Path, ...], embedder: str,
    cache: Path | None, system: str | None, as_json: bool,
) -> int:  # fmt: skip
    """How well recall answers, compared with simple systems; a small suite of its own if no FILE is named."""
    from bench import suites
    from bench.recall import run_recall
    from bench.systems import RecallAgent

    wanted = [suites.read(file) for file in files or (suites.OWN,)]
    wanted = [suite.sampled(sample) for suite in wanted] if sample else wanted
    around = [suites.read(file) for file in others]
    agent = RecallAgent(Path.cwd()) if system else None
    try:
        return _run(
            lambda folder, bar: run_recall(
                folder, wanted, cache=cache or _cache(), progress=bar, agent=agent, others=around, among=among,
                embedder=embedder,
            ),
            as_json,
        )  # fmt: skip
    finally:
        if agent is not None:
            agent.close()


@bench.command()
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path))
@click.option(
    "--part", default="rules", show_default=True,
    type=click.Choice(["rules", "pairs", "injections", "threads", "echo", "cost"]),
    help="rules: heard in prompts. pairs: failures and what mended them. injections: orders hidden in what tools print."
    " threads: work that is grouped. echo: memory that is said back. cost: of a turn.",
)  # fmt: skip
@click.option(
    "--half", type=click.Choice(["tune", "held"]), help="Of the scripted sessions, for pairs."
)
@click.option(
    "--sizes", default="1000,10000,100000", show_default=True, help="Memories, for the cost."
)
@click.option(
    "--turns",
    default=1000,
    show_default=True,
    type=click.IntRange(min=1),
    help="That quote, for the echo.",
)
@_as_json
def capture(
    files: tuple[Path, ...], part: str, half: str | None, sizes: str, turns: int, as_json: bool
) -> int:
    """How well rules are heard in labelled prompts, compared with simple patterns; shipped suites without a FILE."""

    def run(folder: Path, bar: Bar) -> Report:
        match part:
            case "pairs":
                from bench import pairs

                return pairs.run_pairs(
                    folder, [one for one in pairs.read() if half in (None, one.half)], bar
                )
            case "injections":
                from bench.injections import run_injections
                from bench.payloads import payloads

                return run_injections(folder, list(payloads()), bar)
            case "threads":
                from bench import threads

                sessions = [
                    session
                    for file in files or (threads.SHIPPED,)
                    for session in threads.read(file)
                ]
                return threads.run_threads(folder, sessions)
            case "echo":
                from bench.echo import run_echo

                return run_echo(folder, turns=turns, progress=bar)
            case "cost":
                from bench.capture_cost import run_capture_cost

                return run_capture_cost(folder, sizes=_sizes(sizes), progress=bar)
            case _:
                from bench.capture import SHIPPED, run_capture

                return run_capture(files or SHIPPED)

    return _run(run, as_json)


@bench.command()
@click.argument(
    "real",
    metavar="[FOLDER]",
    required=False,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
)
@click.option(
    "--mb",
    default=50,
    show_default=True,
    type=click.IntRange(min=1),
    help="Megabytes of each sort.",
)
@_seed
@_as_json
def history(real: Path | None, mb: int, seed: int, as_json: bool) -> int:
    """What it costs to read past sessions into memory: made-up ones, or the transcripts in FOLDER."""
    from bench.history import run_history

    return _run(
        lambda folder, bar: run_history(folder, mb=mb, seed=seed, progress=bar, real=real), as_json
    )


@bench.command()
@click.argument("sessions", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("labels", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--half",
    default="held",
    show_default=True,
    type=click.Choice(["tune", "held"]),
    help="Which labels.",
)
@_as_json
def signal(sessions: Path, labels: Path, half: str, as_json: bool) -> int:
    """How much of what is kept and told is right, on labelled real sessions.

    SESSIONS has a folder of transcripts for each project; LABELS has prompts.jsonl, questions.jsonl, pairs.jsonl,
    unrelated.jsonl and turns.jsonl, whose rows bench/signal.py describes.
    """
    from bench.signal import run_signal

    return _run(lambda folder, bar: run_signal(folder, sessions, labels, half, bar), as_json)


@bench.command()
@click.option("--sizes", default="1000,5000", show_default=True, help="Notes, separated by commas.")
@_seed
@_as_json
def vault(sizes: str, seed: int, as_json: bool) -> int:
    """What a vault of notes costs: to scan it, to read it, to notice one save."""
    from bench.vault import run_vault

    wanted = _sizes(sizes)
    return _run(
        lambda folder, bar: run_vault(folder, sizes=tuple(wanted), seed=seed, progress=bar), as_json
    )


@bench.command()
@click.option(
    "--sessions",
    default=50,
    show_default=True,
    type=click.IntRange(min=1),
    help="Scripted sessions.",
)
@click.option(
    "--budget",
    default=50,
    show_default=True,
    type=_from_none,
    help="Calls per day, with models on.",
)
@_as_json
def calls(sessions: int, budget: int, as_json: bool) -> int:
    """How often language models are called: by a fresh install, and with them switched on."""
    from bench.calls import run_calls

    return _run(
        lambda folder, bar: run_calls(
            folder, sessions=sessions, calls_per_day=budget, progress=bar
        ),
        as_json,
    )


@bench.command()
@click.option(
    "--sizes", default="1000,10000,100000", show_default=True, help="Memories, separated by commas."
)
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="Keep the store in this folder, and go on from one there.",
)
@_as_json
def engine(sizes: str, store: Path | None, as_json: bool) -> int:
    """What an answer costs as the store grows, with vectors: time, memory, cold start."""
    from bench.engine import run_engine

    wanted = _sizes(sizes)
    return _run(
        lambda folder, bar: run_engine(store or folder, sizes=wanted, progress=bar), as_json
    )


@bench.command()
@click.option(
    "--sizes", default="1000,10000,100000", show_default=True, help="Memories, separated by commas."
)
@click.option(
    "--calls",
    default=100,
    show_default=True,
    type=click.IntRange(min=1),
    help="Calls of each tool, per size.",
)
@click.option(
    "--runs",
    default=11,
    show_default=True,
    type=click.IntRange(min=1),
    help="Starts of the server.",
)
@_as_json
def steer(sizes: str, calls: int, runs: int, as_json: bool) -> int:
    """What steering costs: the server's start, each tool, suggestions and compaction, the tools in every prompt."""
    from bench.steer import run_steer

    wanted = _sizes(sizes)
    return _run(
        lambda folder, bar: run_steer(folder, sizes=wanted, calls=calls, runs=runs, progress=bar),
        as_json,
    )


@bench.command()
@click.option(
    "--size", default=100000, show_default=True, type=click.IntRange(min=1), help="Memories."
)
@click.option(
    "--requests", default=40, show_default=True, type=click.IntRange(min=1), help="Of each view."
)
@click.option(
    "--events",
    default=20,
    show_default=True,
    type=click.IntRange(min=1),
    help="That an open page hears of.",
)
@_as_json
def page(size: int, requests: int, events: int, as_json: bool) -> int:
    """What the page costs: CPU of each view, memory, and how soon an event is on it."""
    from bench.page import run_page

    return _run(
        lambda folder, bar: run_page(
            folder, size=size, requests=requests, events=events, progress=bar
        ),
        as_json,
    )


@bench.command()
@click.option(
    "--sizes", default="1000,10000,100000", show_default=True, help="Memories, separated by commas."
)
@click.option(
    "--prompts",
    default=500,
    show_default=True,
    type=_from_none,
    help="Hooks with a warm daemon, per size.",
)
@click.option(
    "--firsts",
    default=50,
    show_default=True,
    type=_from_none,
    help="Hooks without a daemon, per size.",
)
@click.option(
    "--sessions", default=16, show_default=True, type=_from_none, help="Sessions at once."
)
@click.option(
    "--events", default=1000, show_default=True, type=_from_none, help="Events of each session."
)
@click.option(
    "--runs", default=10000, show_default=True, type=_from_none, help="Hooks over all faults."
)
@click.option(
    "--soak", default=100000, show_default=True, type=_from_none, help="Events for one daemon."
)
@_as_json
def hooks(
    sizes: str,
    prompts: int,
    firsts: int,
    sessions: int,
    events: int,
    runs: int,
    soak: int,
    as_json: bool,
) -> int:
    """What hooks cost, compared with a bare interpreter, and what they survive. A number of 0 leaves its part out."""
    from bench.hooks import Plan, run_hooks

    plan = Plan(_sizes(sizes), prompts, firsts, sessions, events, runs, soak)
    return _run(lambda folder, bar: run_hooks(folder, plan=plan, progress=bar), as_json)


@bench.command()
@click.option(
    "--prompts",
    default=200,
    show_default=True,
    type=_from_none,
    help="Hooks, without a team and with one.",
)
@click.option(
    "--memories",
    default=10000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Of the project's own.",
)
@click.option(
    "--mirrored",
    default=1000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Shared ones beside them.",
)
@click.option(
    "--members", default="1,10,50", show_default=True, help="Members at once, separated by commas."
)
@click.option(
    "--seconds",
    default=5.0,
    show_default=True,
    help="Of sharing and of following, per number of members.",
)
@click.option(
    "--sizes", default="10000,100000,1000000", show_default=True, help="Shared memories, by commas."
)
@click.option(
    "--second", default=100000, show_default=True, type=_from_none, metavar="N",
    help="Sizes up to N are measured with a second team of the same size, too.",
)  # fmt: skip
@click.option(
    "--questions",
    default=100,
    show_default=True,
    type=click.IntRange(min=1),
    help="Of each sort, per size.",
)
@_as_json
def team(
    prompts: int, memories: int, mirrored: int, members: str, seconds: float, sizes: str, second: int, questions: int,
    as_json: bool,
) -> int:  # fmt: skip
    """What a team costs: its members' prompts, sharing, and its server as memories grow. 0 leaves a part out."""
    from bench.team import Amounts, run_team

    amounts = Amounts(
        prompts, memories, mirrored, _sizes(members), seconds, _sizes(sizes), second, questions
    )
    return _run(lambda folder, bar: run_team(folder, amounts=amounts, progress=bar), as_json)


@bench.command()
@click.option(
    "--secrets",
    default=4000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Made-up ones to keep.",
)
@click.option(
    "--keys",
    default=1000,
    show_default=True,
    type=_from_none,
    help="Keys and passwords in every form.",
)
@click.option(
    "--rules",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="A configuration of gitleaks: what do its rules see in these forms?",
)
@click.option(
    "--lines",
    default=100000,
    show_default=True,
    type=click.IntRange(min=1),
    help="Of ordinary source.",
)
@click.option(
    "--hostile",
    default=60,
    show_default=True,
    type=_from_none,
    help="Texts of 50 KB made to be slow.",
)
@_seed
@_as_json
def secrets(
    secrets: int, keys: int, rules: Path | None, lines: int, hostile: int, seed: int, as_json: bool
) -> int:
    """Is a secret ever found on disk, what is wrongly taken for one, and what looking for them costs."""
    from bench.secrets import run_secrets

    return _run(
        lambda folder, bar: run_secrets(
            folder,
            secrets=secrets,
            keys=keys,
            rules=rules,
            lines=lines,
            hostile=hostile,
            seed=seed,
            progress=bar,
        ),
        as_json,
    )


def _cache() -> Path:
    from recollect.base.files import make_private_folder
    from recollect.base.paths import Home, home

    place = Home(home())
    place.prepare()
    folder = place.root / "cache"
    make_private_folder(folder)
    return folder


def _sizes(said: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in said.split(","))
    except ValueError:
        raise click.UsageError(
            f"--sizes {said!r}: give whole numbers, separated by commas."
        ) from None


def _run(benchmark: Callable[[Path, Bar], Report], as_json: bool) -> int:
    with tempfile.TemporaryDirectory(
        prefix="recollect-bench-", ignore_cleanup_errors=True
    ) as folder:
        report = benchmark(Path(folder), Bar())
    if as_json:
        print_json(report.to_json())
    else:
        print_blocks(blocks(report.to_json()))
    return 0 if report.passed else 1
