"""The teams that this home belongs to, the project as its colleagues know it, and what waits to be sent to them.

What colleagues shared is mirrored in a database beside the project's own (Scope.TEAM), so recall never waits for the
server and no prompt ever leaves the machine. What is changed here of shared memories is queued in the transaction that
changes it; jobs/team_sync.py sends it, and brings the mirror up to date. A team's file holds its login: mode 0600."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from recollect.app.states import (
    MIRROR,
    OUTBOX,
    PURGE,
    SHARED,
    TEAM_LINK,
    Mirror,
    OutgoingChange,
    SharedProject,
    TeamLink,
)
from recollect.base import project as projects
from recollect.base.errors import BadInput, NotFound
from recollect.base.files import make_private_folder, read_limited, write_private
from recollect.base.git_files import NO_COMMIT, normal_remote
from recollect.base.paths import user_home
from recollect.base.settings import environment
from recollect.base.structs import Struct, replace
from recollect.base.text import blake2b
from recollect.lifecycle import sharing
from recollect.lifecycle.sharing import Whole
from recollect.model import plan as plans
from recollect.model.codec import Json, decode, encode
from recollect.model.command import Lesson
from recollect.model.memory import OFFERED_TAG, SHARED_TAG, Lane, Rule, Status
from recollect.model.plan import Change, Create, Plan, Remove, Say, Unsay, Update, UpdateAll
from recollect.model.result import Scope

if TYPE_CHECKING:
    from pathlib import Path

    from recollect.app.core import App
    from recollect.base.paths import Home
    from recollect.store import ChangeHeader, Store
    from recollect.store.postgres_store import PostgresStore

OFF = "off"
_SETTING, _SHARE = "MEMORY_TEAM", "MEMORY_TEAM_SHARE"
_MAX_FILE_BYTES = 65_536
_MAX_COMMITS = 1_000_000
_PASSWORD_TIMEOUT_S = 20.0
COMMAND_S = 5.0  # how long a command waits for the server
REFRESH_S = 2.0  # how long one that only reads does, before it answers from the copy here
TEAM_WIDE = "team"  # instead of a project, in the team's store: what holds in every one of them
_SAID = frozenset({"prompt", "user"})  # origins of rules that a person stated
_SHARING_OPS = frozenset(
    {"share", "unshare", "rule add", "undo"}
)  # a tag that anything else sets shares nothing
_RULE_OPS = frozenset(
    {"capture", "promote", "learn"}
)  # what a person said, and lessons, as MEMORY_TEAM_SHARE says
_UNSENT_OPS = frozenset({"thread", "compact"})


class Team(Struct):
    name: str
    tenant: str
    url: str  # with the login's password, unless a command gives it
    member: str
    person: str  # under which name colleagues see what is shared from here
    password_command: str = ""


class Identity(NamedTuple):  # by which two copies of a project are known to be the same
    id: str
    name: str
    first_commit: str
    remote: str

    @property
    def description(self) -> str:
        return ", ".join(filter(None, (f"first commit {self.first_commit[:10]}", self.remote)))


def joined_teams(home: Home) -> dict[str, Team]:
    found = {}
    for path in sorted(home.teams.glob("*.json")):
        with suppress(OSError, ValueError):
            team = decode(Team, json.loads(read_limited(path, _MAX_FILE_BYTES)))
            found[team.name] = team
    return found


def current_team(app: App) -> Team | None:
    """The one that MEMORY_TEAM names; the only one where it names none."""
    wanted, joined = app.settings.text(_SETTING), joined_teams(app.home)
    if wanted == "on":
        return next(iter(joined.values())) if len(joined) == 1 else None
    return joined.get(wanted)


def require_team(app: App) -> Team:
    if team := current_team(app):
        return team
    joined = joined_teams(app.home)
    if app.settings.text(_SETTING) == OFF:
        raise NotFound(
            f"Teams are switched off ({_SETTING}=off).", hint=f"`recollect config {_SETTING} on`"
        )
    if joined:
        hint = f"`recollect config {_SETTING} NAME`, where NAME is {' or '.join(joined)}."
        raise NotFound(f"{_SETTING} names none of your teams.", hint=hint)
    if broken := sorted(app.home.teams.glob("*.json")):
        raise NotFound(
            f"{broken[0]} cannot be read.",
            hint=f"`recollect team join {broken[0].stem} URL` writes it anew.",
        )
    hint = "`recollect team create NAME URL` makes one, `recollect team join NAME URL` joins one."
    raise NotFound("You are in no team.", hint=hint)


def save_team(app: App, team: Team) -> None:
    app.home.prepare()
    make_private_folder(app.home.teams)
    write_private(app.home.teams / f"{team.name}.json", json.dumps(encode(team), indent=2) + "\n")


def login_url(team: Team) -> str:
    """With the password that the team's command prints, if it has one."""
    if not team.password_command:
        return team.url
    from recollect.store.postgres_admin import with_password

    try:
        ran = subprocess.run(  # noqa: S602 the user's own command, with its pipes and quotes
            team.password_command, shell=True, capture_output=True, timeout=_PASSWORD_TIMEOUT_S, check=True,
            stdin=subprocess.DEVNULL, cwd=user_home(environment()),
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as problem:
        why = (
            f"ended with {problem.returncode}"
            if isinstance(problem, subprocess.CalledProcessError)
            else "failed"
        )
        hint = f"It is named in {team.name}.json in the folder `teams` of your Recollect home."
        raise BadInput(
            f"The command for the password of team {team.name} {why}.", hint=hint
        ) from None
    return with_password(team.url, ran.stdout.decode(errors="replace").rstrip("\r\n"))


@contextmanager
def connection(team: Team, seconds: float = 0.0) -> Iterator[PostgresStore]:
    """The team's own store. TeamUnreachable where it does not answer in time, in the middle of its use, too. By default
    in the time that a command waits."""
    from recollect.store.postgres_store import PostgresStore

    seconds = seconds or COMMAND_S
    with (
        closing(PostgresStore(login_url(team), team=team.name, timeout_s=seconds)) as server,
        server.within(seconds),
    ):
        yield server


def remove_team(app: App, team: Team) -> None:
    (app.home.teams / f"{team.name}.json").unlink(missing_ok=True)
    remove_mirrors(app.home, team)


def remove_mirrors(home: Home, team: Team) -> None:
    """Those of this team. What waits in a project's own store stays: whoever joins again sends it."""
    import shutil

    for path, mirror, _ in _mirrors(home):
        if mirror.tenant in ("", team.tenant):
            shutil.rmtree(path.parent, ignore_errors=True)


def unsent_in_mirrors(home: Home, team: Team) -> int:
    """Changes of what colleagues shared, and rules for all projects: they are nowhere else."""
    return sum(unsent for _, mirror, unsent in _mirrors(home) if mirror.tenant == team.tenant)


def _mirrors(home: Home) -> Iterator[tuple[Path, Mirror, int]]:
    from recollect.store import SqliteStore, Tuning

    for folder in (home.user_store.parent, *home.projects.glob("*")):
        path = folder / "team" / home.user_store.name
        if path.is_file():
            with closing(SqliteStore(path, Tuning(), read_only=True)) as store:
                yield path, MIRROR.read(store), len(OUTBOX.find_all(store))


def identify(app: App) -> Identity:
    """For a person who links this project. Two copies are one project where the first commit and the remote agree.
    Reads the whole history, in our own code: git would run what a repository's configuration names."""
    project = app.require_project()
    repository = projects.linked_repository(project)
    if repository is not None and repository.is_shallow:
        hint = "`git fetch --unshallow` brings the rest."
        raise BadInput(
            "This clone has only a part of the history, so its first commit is not known.",
            hint=hint,
        )
    first = repository.first_commit(_MAX_COMMITS) if repository else NO_COMMIT
    if first == NO_COMMIT or repository is None:
        hint = "Colleagues' copies are recognised by it: commit something first."
        raise BadInput("This project has no first commit.", hint=hint)
    if not first.id:
        hint = "Colleagues' copies are recognised by it. `git fsck` says what is wrong."
        raise BadInput(f"This project's first commit is not known: {first.why_not}.", hint=hint)
    remote = normal_remote(repository.remote)
    id = blake2b(f"{first.id}\n{remote}".encode(), digest_size=8).hexdigest()
    return Identity(id, project.name, first.id, remote)


def recognise(app: App, shared: Mapping[str, SharedProject]) -> Identity | None:
    """Which of the team's projects this folder says it is. For a folder that nobody has linked: it looks for two
    things that are named, and goes through no history."""
    project = app.require_project()
    repository = projects.repository(project)
    if repository is None or repository.is_shallow:
        return None
    remote = normal_remote(repository.remote)
    for id, known in shared.items():
        if known.remote == remote and repository.has_root_commit(known.first_commit):
            return Identity(id, project.name, known.first_commit, remote)
    return None


def link(app: App) -> TeamLink:
    return TEAM_LINK.read(app.reader(Scope.PROJECT)) if app.project else TeamLink()


# What is to be sent.


def load_whole(store: Store, id: str) -> Whole | None:
    memory = store.get(id, follow=False)
    return (memory, store.messages(id)) if memory else None


def outgoing(app: App, team: Team, whole: Whole) -> Whole:
    return sharing.outgoing(
        whole, person=team.person, project=link(app).project if app.project else TEAM_WIDE
    )


@contextmanager
def queued(
    app: App, scope: Scope, store: Store, ids: Iterable[str], header: ChangeHeader
) -> Iterator[None]:
    """Around a write: what it changes of these memories, as far as they are shared, waits for the team from then on."""
    team = current_team(app)
    if (
        team is None
        or scope is Scope.USER
        or (scope is Scope.PROJECT and link(app).tenant != team.tenant)
    ):
        yield
        return
    if scope is Scope.TEAM and MIRROR.read(store).tenant not in ("", team.tenant):
        raise BadInput(
            "This is a copy of what another team shares.",
            hint="`recollect team link` fetches this team's.",
        )
    with store.transaction():
        before = {id: load_whole(store, id) for id in ids}
        yield
        shared, begun = SHARED.read(store), set(before) if header.op in _SHARING_OPS else set()
        if scope is Scope.PROJECT:
            begun |= _share_by_setting(app, store, before, header)
        after = {id: load_whole(store, id) for id in before}

        def as_sent(id: str, whole: Whole | None) -> Whole | None:
            may_be = scope is Scope.TEAM or id in begun or shared.get(id) == team.tenant
            is_sent = whole and may_be and (scope is Scope.TEAM or sharing.is_shared(whole[0]))
            return outgoing(app, team, whole) if whole and is_sent else None

        pairs = {id: (as_sent(id, before[id]), as_sent(id, after[id])) for id in before}
        changes = [change for pair in pairs.values() for change in sharing.difference(*pair)]
        if changes and scope is Scope.TEAM and app.actor != "user":
            raise BadInput(
                "Only a person can change what the team shares.", hint="Nothing was written."
            )
        queue(app, store, team, header, changes)
        new = {
            id: team.tenant for id, (_, sent) in pairs.items() if sent and scope is Scope.PROJECT
        }
        if new.items() - shared.items():
            SHARED.write(
                store, shared | new
            )  # for good: a purge must reach the team after an `unshare`, too


def shared_ids_in(app: App, scope: Scope, store: Store, plan: Plan, op: str) -> list[str]:
    """The memories of a plan that are shared, or may be by what it does. What jobs and agents do to a memory is not
    sent, nor a thread that goes on: a person shares it again."""
    if scope is Scope.TEAM:
        if not all(
            isinstance(one, Create | Remove | Update | UpdateAll | Say | Unsay)
            for one in plan.changes
        ):
            hint = "Edit one and remove the other: `recollect unshare`."
            raise BadInput("Memories of the team cannot be merged, split or linked.", hint=hint)
        return list(plan.touched())
    if (app.actor != "user" and op not in _RULE_OPS) or op in _UNSENT_OPS:
        return []
    shared, by_setting = SHARED.read(store), app.settings.text(_SHARE) != OFF
    found = [id for id in plan.touched() if id in shared]
    for change in plan.changes:
        match change:
            case Create(memory) if by_setting or SHARED_TAG in memory.tags:
                found.append(memory.id)
            case Update(id, _, after) if (by_setting and "status" in after) or "tags" in after:
                found.append(id)
    return list(dict.fromkeys(found))


def queue(
    app: App, store: Store, team: Team, header: ChangeHeader, changes: Sequence[Change]
) -> None:
    if not changes:
        return
    _drop_unsent(store, {one.memory.id for one in changes if isinstance(one, Remove)})
    # What goes first makes room: a message that moves leaves one thread before it joins another.
    ordered = sorted(changes, key=lambda one: not isinstance(one, Remove | Unsay))
    plan = app.redact_plan(Plan(tuple(ordered)))
    _enqueue(
        app,
        store,
        team,
        header,
        [{"do": plans.VERBS[type(one)], **encode(one)} for one in plan.changes],
    )


def _enqueue(app: App, store: Store, team: Team, header: ChangeHeader, data: Json) -> None:
    # The team's journal knows each by the id of its change, once: the second part of a change gets another.
    waiting, change = OUTBOX.find_all(store), header.change
    if change in app.queued_changes:
        change = app.mint.draw("change")
    app.queued_changes.add(change)
    app.is_unsent = True
    number = int(max(waiting, default="0")) + 1
    summary = app.redactor.clean(header.summary).text
    made = OutgoingChange(
        team.tenant, change, header.op, summary, header.at, header.undoes, json.dumps(data)
    )
    OUTBOX.write(store, made, f"{number:09d}")


def queue_purge(app: App, scope: Scope, store: Store, ids: Iterable[str]) -> None:
    """Memories that are erased here are erased for the team, too, with what its journal has of them."""
    team, ids = current_team(app), set(ids)
    _drop_unsent(store, ids)
    shared = SHARED.read(store) if scope is Scope.PROJECT else {}
    gone = [id for id in ids if scope is Scope.TEAM or (team and shared.get(id) == team.tenant)]
    if team is not None and gone:
        header = app.change_header(PURGE, f"Purged {len(gone)}")
        _enqueue(app, store, team, header, [*gone])


def _drop_unsent(store: Store, ids: set[str]) -> None:
    """What waits may still hold the words of memories that are not to be sent any more."""
    for key, entry in OUTBOX.find_all(store).items() if ids else ():
        if entry.op != PURGE and not ids.isdisjoint(entry.ids):
            others = [
                one
                for one in json.loads(entry.plan)
                if ids.isdisjoint(plans.ids_of(plans.change_of(one)))
            ]
            OUTBOX.write(store, replace(entry, plan=json.dumps(others)), key)


def _share_by_setting(
    app: App, store: Store, before: dict[str, Whole | None], header: ChangeHeader
) -> set[str]:
    """A rule that has just come into force, if MEMORY_TEAM_SHARE says so: a person's own on purpose, a lesson for the
    inbox of the others."""
    wanted, begun = app.settings.text(_SHARE), set[str]()
    for id, was in before.items():
        rule = store.get(id, follow=False)
        is_new = was is None or was[0].status is not Status.ACTIVE
        if (
            not isinstance(rule, Rule)
            or rule.status is not Status.ACTIVE
            or not is_new
            or sharing.is_shared(rule)
        ):
            continue
        is_said = rule.lane is Lane.USER and rule.origin in _SAID
        tag = SHARED_TAG if is_said and "rules" in wanted else ""
        if rule.origin == Lesson.ORIGIN and "lessons" in wanted:
            tag = OFFERED_TAG
        if tag and not sharing.why_not_shared(rule):
            store.apply(Plan((Update.between(rule, sharing.with_tag(rule, tag)),)), header)
            begun.add(id)
    return begun
