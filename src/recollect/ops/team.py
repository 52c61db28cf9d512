"""Teams: make one, join and leave it, share memories with it and take them back. What is shared reaches colleagues
through the team's PostgreSQL server; everything here works without it, and what is shared then waits."""

from __future__ import annotations

import getpass
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from recollect.app import teams
from recollect.app.core import App
from recollect.app.states import (
    MEMBERS,
    MIRROR,
    RULE_POLICY,
    SHARED,
    TEAM_LINK,
    TEAM_PROBLEM,
    TEAM_PROJECTS,
    Member,
    SharedProject,
    TeamLink,
)
from recollect.app.teams import (
    Team,
    connection,
    identify,
    joined_teams,
    link,
    require_team,
    save_team,
)
from recollect.base.errors import BadInput, NotFound, RecollectError, TeamUnreachable
from recollect.base.ids import fresh_key
from recollect.base.local_time import local_day
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import counted, one_line, storable
from recollect.jobs import team_sync
from recollect.lifecycle import edits, sharing
from recollect.model.codec import Json, encode
from recollect.model.memory import SHARED_TAG, Memory, RulePolicy
from recollect.model.plan import Create, Plan, Update
from recollect.model.query import Query
from recollect.model.result import Check, Done, Mark, Scope, Summary
from recollect.ops.memories import Names, as_one, load_whole
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store
    from recollect.store.postgres_admin import TeamLogin

Name = Annotated[str, Arg("The team's name.", metavar="NAME")]
Url = Annotated[
    str,
    Arg(
        "Its PostgreSQL address; - reads it from standard input, where no process list shows it.",
        "URL",
        stdin=True,
    ),
]
Person = Annotated[str | None, Arg("Your name, as colleagues will see it.", metavar="NAME")]
PasswordCommand = Annotated[
    str | None,
    Arg("A command that prints the password, which is then not kept here.", metavar="COMMAND"),
]
_NAME = r"[a-z0-9][a-z0-9-]{0,39}"
_MAX_PERSON_CHARS = 60
_MOST_SHARED = 100_000


def create(
    app: App,
    name: Name,
    url: Annotated[str | None, Arg(Url.__metadata__[0].help, "[URL]", stdin=True)] = None,
    *,
    rules: Annotated[
        RulePolicy | None,
        Arg("Which shared rules are in force for members who have not decided; at first: shared."),
    ] = None,
    person: Person = None,
    print_sql: Annotated[
        bool, Arg("Print what an administrator can run instead; connects to nothing.")
    ] = False,
) -> Summary:
    _check_name(name)
    if print_sql:
        from recollect.store.postgres_admin import team_sql

        sql = team_sql(name)
        return Summary(sql.rstrip("\n"), {"sql": sql, "dry_run": True}, is_verbatim=True)
    if url is None:
        raise BadInput(
            "The team's address is missing.",
            hint="`recollect team create NAME postgresql://USER@HOST/DATABASE`",
        )
    if app.dry_run:
        return Summary(f"Would create team {name}.", {"team": name, "dry_run": True})
    from recollect.store.postgres_admin import create_team, without_password

    with _telling_what_to_check("made"):
        made = create_team(_clean_address(url), name)
    team, notes = _begin(app, name, made, person, None)
    if rules is not None:
        with connection(team) as server:
            RULE_POLICY.write(server, rules)
    notes += (
        f"Colleagues join with: recollect team join {name} {shlex.quote(without_password(made.url))}",
        f"It asks them for the password, which is in {app.home.teams / f'{name}.json'}: "
        "hand it over in private.",
    )
    return _report_joined(app, team, "ready", notes)


def join(
    app: App,
    name: Name,
    url: Url,
    *,
    person: Person = None,
    password_command: PasswordCommand = None,
) -> Summary:
    _check_name(name)
    if app.dry_run:
        return Summary(f"Would join team {name}.", {"team": name, "dry_run": True})
    from recollect.store.postgres_admin import join_team

    login = Team(name, "", _clean_address(url), "", "", password_command or "")
    with _telling_what_to_check("joined"):
        joined = join_team(teams.login_url(login), name)
    team, notes = _begin(app, name, joined, person, password_command)
    return _report_joined(app, team, "joined", notes)


@contextmanager
def _telling_what_to_check(done: str) -> Iterator[None]:
    """Who is not in the team yet has nothing that goes on without its server."""
    try:
        yield
    except TeamUnreachable as problem:
        hint = (
            f"No team was {done}. Check the host and the port in the address, that the server runs, and that this"
            " machine may reach it (network, VPN, firewall)."
        )
        raise TeamUnreachable(problem.message, hint=hint) from None


def _clean_address(url: str) -> str:
    """One that came through a pipe ends in a newline."""
    return storable(url).strip()


def add_password(url: str, password: str) -> str:
    """The address with the password that a person typed."""
    from recollect.store.postgres_admin import with_password

    return with_password(_clean_address(url), password)


def refresh_copy(app: App) -> str:
    """Before a command reads: what colleagues share is fetched, or it is said how old the copy is."""
    return team_sync.refresh_copy(app) if app.home.teams.is_dir() else ""


def _check_name(name: str) -> None:
    if not re.fullmatch(_NAME, name) or name in ("on", "off"):
        hint = "Small letters, digits and hyphens, at most 40, such as `acme`."
        raise BadInput(f"{name!r} is not a valid team name.", hint=hint)


def _begin(
    app: App, name: str, login: TeamLogin, person: str | None, password_command: str | None
) -> tuple[Team, tuple[str, ...]]:
    """Keeps the login, and tells the others who joined."""
    known = joined_teams(app.home).get(name)
    is_same = known is not None and known.tenant == login.tenant
    who = one_line(storable(person or (known.person if known and is_same else "") or _own_name()))[
        :_MAX_PERSON_CHARS
    ]
    member = known.member if known and is_same else fresh_key()[:12]
    url = login.url
    if password_command and login.is_new:
        hint = "Join with the login that the team's creator passed on, whose password your command prints."
        raise BadInput(
            "A new login was made, and your command cannot know its password.", hint=hint
        )
    if password_command:
        from recollect.store.postgres_admin import without_password

        url = without_password(url)
    team = Team(name, login.tenant, url, member, who or "somebody", password_command or "")
    with connection(team) as server:
        MEMBERS.write(server, Member(team.person, app.clock.now()), member)
    if known and not is_same:
        teams.remove_mirrors(app.home, known)
    save_team(app, team)
    notes: tuple[str, ...] = ()
    if app.project is not None:
        try:
            notes = (_link(app, team),)
        except RecollectError as problem:
            notes = (f"This project is not linked: {problem.message} {problem.hint}",)
    return team, notes


def _own_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return ""


def _report_joined(app: App, team: Team, what: str, notes: tuple[str, ...]) -> Summary:
    if problem := team_sync.sync_now(app, team):
        notes += (problem,)
    facts: dict[str, Json] = {
        "team": team.name,
        "tenant": team.tenant,
        "person": team.person,
        "dry_run": False,
    }
    if teams.current_team(app) != team:
        notes += (f"It is not in use yet: `recollect config MEMORY_TEAM {team.name}` chooses it.",)
    return Summary(
        f"Team {team.name} is {what}. Colleagues see you as {team.person}.", facts, notes
    )


def link_project(
    app: App,
    *,
    off: Annotated[bool, Arg("Stop exchanging memories of this project with the team.")] = False,
) -> Summary:
    team = require_team(app)
    app.require_project()
    if off:
        if not app.dry_run:
            TEAM_LINK.write(
                app.writer(Scope.PROJECT), TeamLink(project=link(app).project or "none")
            )  # not asked again
        problem = "" if app.dry_run else team_sync.sync_now(app, team)
        notes = (problem,) if problem else ()
        return Summary(
            "This project is no longer linked to the team.",
            {"linked": False, "dry_run": app.dry_run},
            notes,
        )
    said = _link(app, team)
    problem = "" if app.dry_run else team_sync.sync_now(app, team)
    return Summary(said, {"linked": True, "dry_run": app.dry_run}, (problem,) if problem else ())


def _link(app: App, team: Team) -> str:
    """That a person named this project is what confirms it."""
    found = identify(app)
    if not app.dry_run:
        _unshare_from_others(app, team)
        with connection(team) as server:
            if TEAM_PROJECTS.find(server, found.id) is None:
                TEAM_PROJECTS.write(
                    server, SharedProject(found.name, found.first_commit, found.remote), found.id
                )
        store, is_new = app.writer(Scope.PROJECT), link(app).tenant != team.tenant
        TEAM_LINK.write(store, TeamLink(team.tenant, found.id))
        before = (
            [id for id, tenant in SHARED.read(store).items() if tenant == team.tenant]
            if is_new
            else []
        )
        _share_again(app, team, before)  # it may have been changed here meanwhile
    return f"This project ({found.description}) is linked to team {team.name}; `recollect team link --off` ends that."


def _unshare_from_others(app: App, team: Team) -> None:
    """Memories of this project that were shared with a team it was linked to before."""
    if link(app).tenant not in ("", team.tenant):
        shared = app.reader(Scope.PROJECT).find(Query(tag=SHARED_TAG, limit=_MOST_SHARED))
        TEAM_LINK.remove(app.writer(Scope.PROJECT))
        _tag(app, shared, "unshare", sharing.without_tags)


def leave(
    app: App,
    name: Annotated[str | None, Arg("The team; by default the one in use.", "[NAME]")] = None,
    *,
    discard: Annotated[
        bool, Arg("Leave even if some of your changes did not reach the team.")
    ] = False,
) -> Summary:
    """What was shared stays with the team, and here; what colleagues shared goes from here."""
    joined = joined_teams(app.home)
    team = joined.get(name) if name else require_team(app)
    if team is None:
        raise NotFound(
            f"You are not in a team called {name!r}.",
            hint=f"You are in: {', '.join(joined) or 'none'}.",
        )
    facts: dict[str, Json] = {"team": team.name, "dry_run": app.dry_run}
    if app.dry_run:
        return Summary(f"Would leave team {team.name}.", facts)
    if team == teams.current_team(app):
        team_sync.sync_now(app, team)
    if not discard and (unsent := teams.unsent_in_mirrors(app.home, team)):
        hint = "Try again when its server answers, or add --discard."
        raise BadInput(
            f"{counted(unsent, 'change')} did not reach team {team.name} yet, and would be lost.",
            hint=hint,
        )
    notes = []
    try:
        with connection(team) as server:
            if member := MEMBERS.find(server, team.member):
                MEMBERS.write(server, replace(member, left_at=app.clock.now()), team.member)
    except RecollectError as problem:
        notes.append(f"{problem.message} You are still on the team's list of members.")
    scopes = [scope for scope, _, _ in team_sync.waiting(app, team)]
    kept = [scope for scope in scopes if scope is not Scope.TEAM]
    if len(kept) < len(scopes):
        lost = counted(len(scopes) - len(kept), "change")
        notes.append(f"{lost} of what colleagues shared did not reach the team, and is discarded.")
    if kept:
        waiting = counted(len(kept), "change")
        notes.append(f"{waiting} of this project did not reach the team: joining again sends it.")
    app.close()
    teams.remove_team(app, team)
    return Summary(
        f"You left team {team.name}; what colleagues shared is gone from here.", facts, tuple(notes)
    )


def status(app: App) -> Summary:
    team, mirror = require_team(app), MIRROR.read(app.reader(Scope.TEAM))
    here = app.reader(Scope.TEAM).counts().by_kind_and_status
    facts: dict[str, Json] = {
        "team": team.name, "person": team.person, "linked": link(app).tenant == team.tenant,
        "from_colleagues": sum(count for _, _, count in here),
        "shared_from_here": sum(map(sharing.is_shared, _shared_here(app, team))),
        "waiting": len(team_sync.waiting(app, team)), "synced_at": Moment(mirror.at).iso() if mirror.at else None,
    }  # fmt: skip
    counts = "{from_colleagues} from colleagues, {shared_from_here} shared from here, {waiting} waiting to be sent."
    try:
        with connection(team) as server:
            present = [one for one in MEMBERS.find_all(server).values() if one.left_at is None]
            policy = RULE_POLICY.find(server) or RulePolicy.SHARED
        facts |= {"reachable": True, "members": len(present), "rules": policy}
        answer = f"The server answers; {counted(len(present), 'member')}; rules in force: {policy}."
    except RecollectError as problem:
        facts |= {"reachable": False, "problem": problem.message}
        answer = problem.message
    linked = "linked" if facts["linked"] else "not linked (`recollect team link`)"
    where = f"; this project is {linked}" if app.project else ""
    return Summary(
        f"Team {team.name}, where you are {team.person}{where}.",
        facts,
        (counts.format(**facts), answer),
    )


def _shared_here(app: App, team: Team) -> list[Memory]:
    store = app.reader(app.scope)
    found = [
        store.get(id, follow=False)
        for id, tenant in SHARED.read(store).items()
        if tenant == team.tenant
    ]
    return [memory for memory in found if memory]


def checks(app: App) -> list[Check]:
    """For `doctor`: whether the server answers."""
    team = teams.current_team(app)
    if team is None:
        return []
    try:
        with connection(team):
            return [Check("team", Mark.GOOD, f"{team.name}: the server answers")]
    except RecollectError as problem:
        return [Check("team", Mark.WARN, f"{team.name}: {problem.message}", problem.hint)]


def members(app: App) -> Summary:
    team = require_team(app)
    with connection(team) as server:
        found = MEMBERS.find_all(server)
    listed = sorted(found.items(), key=lambda pair: pair[1].joined_at)
    lines = [
        f"{one.name}{' (this machine)' if id == team.member else ''}, "
        + (f"left {local_day(one.left_at)}" if one.left_at else f"since {local_day(one.joined_at)}")
        for id, one in listed
    ]
    facts: dict[str, Json] = {"members": [{"id": id, **encode(one)} for id, one in listed]}
    return Summary(f"Team {team.name}: {counted(len(listed), 'member')}.", facts, tuple(lines))


def share(app: App, names: Names) -> Done:
    team = require_team(app)
    found = [app.find(name) for name in names]
    for scope, memory in found:
        _refuse_sharing(scope, memory)
    _, notes = begin_sharing(app)
    done = _tag(
        app, [memory for _, memory in found], "share", lambda one: sharing.with_tag(one, SHARED_TAG)
    )
    if app.dry_run:
        return replace(
            done,
            notes=(*notes, *done.notes, *_words_sent(app, team, [memory for _, memory in found])),
        )
    if not done.plan:
        _share_again(app, team, [memory.id for _, memory in found])
        done = replace(
            done, summary=f"Shared again, as {'it is' if len(found) == 1 else 'they are'} now."
        )
    return finish_sharing(app, replace(done, notes=(*notes, *done.notes)))


def _share_again(app: App, team: Team, ids: Sequence[str]) -> None:
    """What is new in them since, such as later turns of a thread."""
    store, header = app.writer(Scope.PROJECT), app.change_header("share", "Shared again.")
    with store.transaction():
        wholes = [
            whole
            for id in ids
            if (whole := teams.load_whole(store, id)) and sharing.is_shared(whole[0])
        ]
        teams.queue(
            app,
            store,
            team,
            header,
            [Create(*teams.outgoing(app, team, whole)) for whole in wholes],
        )


def begin_sharing(app: App) -> tuple[Scope, tuple[str, ...]]:
    """Where what is shared here is kept, and what to tell about it. To share from a project links it."""
    team = require_team(app)
    if app.project is None:
        return Scope.TEAM, ()
    return Scope.PROJECT, () if link(app).tenant == team.tenant else (_link(app, team),)


def finish_sharing(app: App, done: Done) -> Done:
    """Sent at once if the server answers."""
    problem = "" if app.dry_run else team_sync.sync_now(app, require_team(app))
    return replace(done, notes=(*done.notes, problem)) if problem else done


def send_changes(app: App) -> None:
    """After a command that changed something shared. Where the server is known to be away, the daemon tries again."""
    team = teams.current_team(app)
    if app.is_unsent and team and not TEAM_PROBLEM.find(app.reader(app.scope)):
        team_sync.sync_now(app, team)


def _refuse_sharing(scope: Scope, memory: Memory) -> None:
    problem = sharing.why_not_shared(memory)
    hint = "Nothing was shared."
    if scope is Scope.USER:
        problem, hint = (
            "it is in your own store, which never leaves this machine",
            "Add it to a project first.",
        )
    elif scope is Scope.TEAM:
        problem, hint = (
            "a colleague has shared it already",
            "`recollect edit` changes it for everyone.",
        )
    if problem:
        raise BadInput(f"{memory.id} cannot be shared: {problem}.", hint=hint)


def unshare(app: App, names: Names) -> Done:
    """Colleagues lose it; what was shared from here stays here."""
    require_team(app)
    found = [app.find(name) for name in names]
    for scope, memory in found:
        if scope is not Scope.TEAM and not sharing.is_shared(memory):
            raise BadInput(f"{memory.id} is not shared.", hint="Nothing was changed.")
    parts = []
    with app.as_one_change():
        if own := [memory for scope, memory in found if scope is not Scope.TEAM]:
            parts.append(_tag(app, own, "unshare", sharing.without_tags))
        if others := [memory for scope, memory in found if scope is Scope.TEAM]:
            parts.append(
                app.commit(
                    Scope.TEAM, "unshare", lambda store: _removal(store, others), _say("unshare")
                )
            )
    return finish_sharing(app, as_one(parts))


def _removal(store: Store, memories: Sequence[Memory]) -> Plan:
    return edits.delete(*(load_whole(store, memory) for memory in memories))


def _tag(app: App, memories: Sequence[Memory], op: str, change: Callable[[Memory], Memory]) -> Done:
    def make(store: Store) -> Plan:
        now = [store.get(memory.id, follow=False) or memory for memory in memories]
        return Plan.of(Update.between(one, change(one)) for one in now)

    return app.commit(Scope.PROJECT, op, make, _say(op))


def _say(op: str) -> Callable[[Plan], str]:
    def say(plan: Plan) -> str:
        ids = plan.touched()
        which = ids[0] if len(ids) == 1 else counted(len(ids), "memory", "memories")
        return f"{op.capitalize()}d {which}{' with the team' if op == 'share' else ''}."

    return say


def _words_sent(app: App, team: Team, memories: Sequence[Memory]) -> list[str]:
    """Exactly what would leave this machine, field by field."""
    lines = [f"project: {identify(app).description}"]
    for memory in memories:
        whole = memory, app.reader(Scope.PROJECT).messages(memory.id)
        sent = sharing.outgoing(whole, person=team.person, project=identify(app).id)
        for change in app.redact_plan(Plan((Create(*sent),))).changes:
            values = encode(change.memory).items() if isinstance(change, Create) else ()
            lines += [
                f"{name}: {value}"
                for name, value in values
                if value not in ("", [], None, 0, False)
            ]
            lines += [f"message: {one.content}" for one in getattr(change, "messages", ())]
    return lines
