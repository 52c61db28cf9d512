"""Sends what waits for the team, and brings the copy of the team's memories up to date.

State against state: each memory that the team's journal names since the last look is compared with the copy here, so
doing it twice changes nothing and being killed costs nothing. What was shared from this project has no copy: a
colleague's change goes to the memory itself. The server tells the daemon of changes (NOTIFY); a command looks for
itself. Where the server is away, it is said once, what is shared waits, and the next try comes later and later."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from recollect.app import erasure, notices, teams
from recollect.app.core import App
from recollect.app.embedding import fill_vectors
from recollect.app.erasure import Erasure
from recollect.app.lookup import TEAM_OP, TEAM_SYNC
from recollect.app.states import (
    MIRROR,
    OUTBOX,
    PURGE,
    RULE_POLICY,
    SHARED,
    TEAM_LINK,
    TEAM_PROBLEM,
    TEAM_PROJECTS,
    Memo,
    Mirror,
    OutgoingChange,
    TeamLink,
)
from recollect.app.teams import (
    TEAM_WIDE,
    Team,
    connection,
    current_team,
    joined_teams,
    link,
    load_whole,
    login_url,
    outgoing,
    queue,
    recognise,
)
from recollect.base.errors import (
    BadInput,
    Conflict,
    ModelError,
    RecollectError,
    StoreBusy,
    StoreFull,
    StoreTooNew,
    TeamRefused,
    TeamUnreachable,
)
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import counted
from recollect.lifecycle import sharing
from recollect.model.memory import Rule, RulePolicy, Status
from recollect.model.plan import Change, Create, Plan, ids_of
from recollect.model.query import Query
from recollect.model.result import Scope
from recollect.render.inject import plain
from recollect.render.recall_text import ago

if TYPE_CHECKING:
    from recollect.store import ChangeHeader, LocalStore
    from recollect.store.postgres_store import JournalRow, PostgresStore

MOST_MIRRORED = (
    50_000  # memories of a project, the most recently active: more are asked of the server
)
_TRIES = 3
_TRY_LATER = (TeamUnreachable, TeamRefused, StoreBusy, StoreFull, StoreTooNew)
_NOTICE_CHARS = 200
_FILLED_AT_ONCE = 32  # passages: about a second
_PAGE = 500
_CONNECT_S = 5.0
_SYNC_S = 60.0  # after which the server counts as hung
_LOOK_S = 30.0  # at the latest: a connection that was cut in silence never tells
_RETRY_S = (2.0, 120.0)
_FRESH_S = 3.0  # a copy that a command takes as it is: one of several in a row asks
_ASK_AGAIN_S = 60.0  # after a command waited in vain, the next ones do not wait


class Synced(NamedTuple):
    sent: int = 0
    received: int = 0


# Sending.


def waiting(app: App, team: Team) -> list[tuple[Scope, str, OutgoingChange]]:
    """What the team does not have yet, in order: the store that keeps it, and its key there."""
    scopes = [scope for scope in (app.scope, Scope.TEAM) if app.store_path(scope) is not None]
    found = [
        (scope, *pair)
        for scope in scopes
        for pair in sorted(OUTBOX.find_all(app.reader(scope)).items())
    ]
    return [one for one in found if one[2].tenant == team.tenant]


def _send(app: App, team: Team, server: PostgresStore) -> int:
    unsent = waiting(app, team)
    for scope, key, entry in unsent:
        try:
            _send_one(server, entry, team.person)
            app.log.line("team-sent", team=team.name, change=entry.change, op=entry.op)
        except _TRY_LATER:
            raise
        except (
            RecollectError
        ) as problem:  # it would be refused for ever, and all others wait behind it
            app.log.line(
                "team-refused", team=team.name, change=entry.change, problem=problem.message
            )
            line = (
                f"Recollect: the team's server refused a change ({entry.summary}) "
                "\u00b7 recollect share sends it again"
            )
            notices.add(app, plain(line, _NOTICE_CHARS))
        store = app.writer(scope)
        with (
            store.transaction()
        ):  # another process may have sent it, and used its place for the next
            now = OUTBOX.find(store, key)
            if now is not None and now.change == entry.change:
                OUTBOX.remove(store, key)
    return len(unsent)


def _send_one(server: PostgresStore, entry: OutgoingChange, person: str) -> None:
    from recollect.store import ChangeHeader

    header = ChangeHeader(entry.change, entry.op, person, entry.summary, entry.at, entry.undoes)
    for left in reversed(range(_TRIES)):
        try:
            with server.transaction():
                if server.log(limit=1, change=entry.change):
                    return  # it arrived before, and we were not told
                if entry.op == PURGE:
                    server.purge(tuple(entry.ids), header)
                    return
                now = server.read_memories(entry.ids)
                made = [
                    new
                    for one in entry.changes
                    for new in sharing.rebase(one, now.get(ids_of(one)[0]))
                ]
                if made:
                    server.apply(Plan(tuple(made)), header)
                return
        except Conflict:  # somebody else was quicker: once more, from what is there now
            if not left:
                raise


# Receiving.


class _Group(NamedTuple):  # changes that came with one header
    header: ChangeHeader
    mirrored: list[Change]
    own: list[Change]


def _receive(app: App, team: Team, server: PostgresStore) -> int:
    linked = link(app)
    project = linked.project if linked.tenant == team.tenant else ""
    mirror = MIRROR.read(app.reader(Scope.TEAM))
    policy = RULE_POLICY.find(server) or RulePolicy.SHARED
    is_fresh = (mirror.tenant, mirror.project) != (server.tenant, project)
    received = 0
    while True:
        # From the last one that is known on: it says whether the server's journal is still the one we followed.
        rows = [] if is_fresh else server.changes_after(max(0, mirror.seq - 1), _PAGE)
        if (
            mirror.seq
            and not is_fresh
            and (not rows or (rows[0].seq, rows[0].header.change) != mirror.last)
        ):
            if not rows or rows[0].seq <= mirror.seq:  # an older state was restored there
                _share_lost(app, team, server)
            is_fresh, rows = True, []  # else its journal no longer goes back so far
        if is_fresh:
            last = server.last_change()  # before the look: what comes meanwhile is looked at again
            known = server.changes_after(last - 1, 1) if last else []
            headers = _everything(app, server, project)
        else:
            new = _before_unsent(app, team, rows[1 if mirror.seq else 0 :])
            known, headers = new[-1:], {id: row.header for row in new for id in row.ids}
        received += _take_in(app, server, headers, {TEAM_WIDE, project}, policy)
        before = (0, "") if is_fresh else mirror.last
        seq, change = (known[0].seq, known[0].header.change) if known else before
        is_partial = len(headers) >= MOST_MIRRORED if is_fresh else mirror.is_partial
        mirror = Mirror(server.tenant, project, seq, change, app.clock.now().micros, is_partial)
        MIRROR.write(app.writer(Scope.TEAM), mirror)
        if is_fresh or len(rows) < _PAGE or not known:
            return received


def _before_unsent(app: App, team: Team, rows: Sequence[JournalRow]) -> list[JournalRow]:
    """Those before the first that speaks of a memory with a change that waits here: that one is sent first."""
    unsent = {id for _, _, entry in waiting(app, team) for id in entry.ids}
    return list(takewhile(lambda row: unsent.isdisjoint(row.ids), rows))


def _everything(app: App, server: PostgresStore, project: str) -> dict[str, ChangeHeader]:
    """All that concerns this project, there and here."""
    header = app.change_header(TEAM_SYNC, f"Fetched what team {server.team} shares.", actor="team")
    groups = [group for group in (TEAM_WIDE, project) if group]
    there = [
        one.id for group in groups for one in server.find(Query(group=group, limit=MOST_MIRRORED))
    ]
    here = [memory.id for memory, _ in app.reader(Scope.TEAM).each()]
    return dict.fromkeys((*there, *here), header)


def _share_lost(app: App, team: Team, server: PostgresStore) -> None:
    """Share once more what was shared from here and the server has lost."""
    own = app.writer(Scope.PROJECT) if app.project else None
    ids = [id for id, tenant in SHARED.read(own).items() if tenant == team.tenant] if own else []
    known = server.read_memories(ids)
    wholes = [whole for id in ids if own and id not in known and (whole := load_whole(own, id))]
    lost = [Create(*outgoing(app, team, whole)) for whole in wholes if sharing.is_shared(whole[0])]
    if own and lost:
        header = app.change_header(
            "share", f"Shared {counted(len(lost), 'memory', 'memories')} again."
        )
        queue(app, own, team, header, lost)


def _take_in(
    app: App,
    server: PostgresStore,
    headers: dict[str, ChangeHeader],
    wanted: set[str],
    policy: RulePolicy,
) -> int:
    mirror, own = app.writer(Scope.TEAM), app.writer(Scope.PROJECT) if app.project else None
    ids, received = list(headers), 0
    _erase_copies(app, mirror, tuple(id for id in ids if headers[id].op == PURGE))
    gone: list[str] = []
    for page in (ids[at : at + _PAGE] for at in range(0, len(ids), _PAGE)):
        there = server.read_memories(page)
        groups: dict[str, _Group] = {}
        with mirror.transaction():
            for id in page:
                whole = there.get(id)
                whole = whole if whole and whole[0].group in wanted else None
                group = groups.setdefault(headers[id].change, _Group(headers[id], [], []))
                if whole is None and headers[id].op == TEAM_SYNC:
                    gone.append(id)
                if own is not None and (ours := load_whole(own, id)):
                    group.own.extend(
                        sharing.incoming_to_own(ours, whole) if sharing.is_shared(ours[0]) else ()
                    )
                else:
                    group.mirrored.extend(
                        sharing.incoming(load_whole(mirror, id), whole, policy, app.clock.now())
                    )
            for header, mirrored, _ in groups.values():
                received += bool(mirrored) and mirror.apply(
                    Plan(tuple(mirrored)), _as_ours(app, header)
                )
        for header, mirrored, changes in groups.values():
            if own is not None and changes:
                received += own.apply(Plan(tuple(changes)), _as_ours(app, header))
            _tell(app, header, mirrored)
    # What vanished while nobody here looked may have been erased: our journal must not keep it, either.
    _erase_copies(app, mirror, tuple(gone))
    return received


def _erase_copies(app: App, mirror: LocalStore, ids: tuple[str, ...]) -> None:
    """A colleague's memories that were erased: our copy of them, with what the journal and backups have of them, and
    what sessions here were told of them. Where another process reads just now, a job finishes it."""
    known = erasure.known_to(mirror, ids)
    if not known:
        return
    planned = Erasure(
        store=str(mirror.path),
        scope=Scope.TEAM,
        ids=known,
        sessions=(),
        change=app.mint.draw("change"),
        is_own=False,
    )
    note = erasure.write_note(app, planned)
    with suppress(StoreBusy):
        erasure.erase_traces(app, planned)
        erasure.erase_in_store(mirror, known)
        note.unlink(missing_ok=True)


def _as_ours(app: App, header: ChangeHeader) -> ChangeHeader:
    """Not later than now: by the time of a change the journal decides which old ones it no longer keeps."""
    return header._replace(
        op=TEAM_OP + header.op.removeprefix(TEAM_OP), at=min(header.at, app.clock.now())
    )


def _tell(app: App, header: ChangeHeader, changes: Sequence[Change]) -> None:
    """A line for the person, for what a colleague did just now; not for all that a team has shared before."""
    if header.op == TEAM_SYNC:
        return
    new = [change.memory for change in changes if isinstance(change, Create)]
    rules = [rule for rule in new if isinstance(rule, Rule)]
    if rules:
        says = plain(rules[0].body, 60) + (f" (+{len(rules) - 1})" if len(rules) > 1 else "")
        where = (
            ""
            if rules[0].status is Status.ACTIVE
            else " \u00b7 waits in the inbox: recollect inbox"
        )
        notices.add(app, f'Recollect: {plain(header.actor, 40)} shared "{says}"{where}')


# Both, by whoever has a connection.


def sync_with(app: App, team: Team, server: PostgresStore) -> Synced:
    sent = _send(app, team, server)
    done = Synced(sent, _receive(app, team, server))
    own = app.writer(app.scope)
    if TEAM_PROBLEM.find(own):
        TEAM_PROBLEM.remove(own)
        app.log.line("team-reached", team=team.name)
    return done


def sync_now(app: App, team: Team) -> str:
    """For a command: what came of it, in words; empty where all is well."""
    app.is_unsent = False
    try:
        with connection(team) as server:
            sync_with(app, team, server)
    except RecollectError as problem:
        say_once(app, team, problem)
        left = waiting(app, team)
        later = f" {counted(len(left), 'change')} will be sent when it answers." if left else ""
        return f"{problem.message}{later}"
    return ""


def refresh_copy(app: App) -> str:
    """For a command that reads: an old copy is brought up to date first. Where that fails, how old the copy is, in
    words. A server that was just asked in vain is left alone for a while."""
    team = current_team(app)
    if team is None or app.store_path(app.scope) is None:
        return ""  # nothing is made here by looking
    now = app.clock.now()
    mirror = MIRROR.read(app.reader(Scope.TEAM))
    if 0 <= now.micros - mirror.at < _FRESH_S * 1_000_000:
        return ""
    if 0 <= now.micros - mirror.failed_at < _ASK_AGAIN_S * 1_000_000:
        return _describe_copy(team, mirror, now)
    try:
        with connection(team, teams.REFRESH_S) as server:
            sync_with(app, team, server)
    except RecollectError as problem:
        say_once(app, team, problem)
        with suppress(RecollectError):
            MIRROR.write(app.writer(Scope.TEAM), replace(mirror, failed_at=now.micros))
        return f"{_describe_copy(team, mirror, now)} {problem.message}"
    return ""


def _describe_copy(team: Team, mirror: Mirror, now: Moment) -> str:
    if not mirror.at:
        return f"What team {team.name} shares was never fetched."
    return f"What team {team.name} shares was last fetched {ago(Moment(mirror.at), now)}."


def say_once(app: App, team: Team, problem: RecollectError) -> None:
    if not isinstance(problem, TeamUnreachable | TeamRefused):
        app.log.line("team-failed", team=team.name, problem=problem.message)
        return
    store = app.writer(app.scope)
    if not TEAM_PROBLEM.find(store):
        app.log.line("team-away", team=team.name, problem=problem.message)
        notices.add(
            app,
            f"Recollect: team {team.name}: {problem.message} What you share will be sent when it answers.",
        )
    if TEAM_PROBLEM.find(store) != problem.message:
        TEAM_PROBLEM.write(store, problem.message)


class _Line:
    """The daemon's connection to one team."""

    def __init__(self) -> None:
        self.server: PostgresStore | None = None
        self.look = 0  # counts the reasons to look: the server told, or it is time
        self._looked_s = self._retry_at_s = 0.0
        self._wait_s = 0.0

    def open(self, team: Team) -> PostgresStore | None:
        """None: too early to try again."""
        now_s = time.monotonic()
        if self.server is None:
            if now_s < self._retry_at_s:
                return None
            from recollect.store.postgres_store import PostgresStore

            self.server = PostgresStore(login_url(team), team=team.name, timeout_s=_CONNECT_S)
            self.server.wait(0)  # told from now on
            self.look += 1
        if self.server.wait(0) or now_s - self._looked_s > _LOOK_S:
            self.look += 1
            self._looked_s = now_s
        return self.server

    def fail(self) -> None:
        if self.server is not None:
            self.server.close()
        self.server = None
        self._wait_s = min(max(_RETRY_S[0], 2 * self._wait_s), _RETRY_S[1])
        self._retry_at_s = time.monotonic() + self._wait_s

    def succeed(self) -> None:
        self._wait_s = 0.0


def _offer_link(app: App, team: Team, server: PostgresStore, memo: Memo) -> None:
    """Colleagues share memories of a project that looks like this one: whether it is, a person says. Asked once."""
    if app.project is None or link(app) != TeamLink() or TeamLink in memo:
        return
    memo[TeamLink] = True
    if identity := recognise(app, TEAM_PROJECTS.find_all(server)):
        TEAM_LINK.write(app.writer(Scope.PROJECT), TeamLink(project=identity.id))
        about = f"team {team.name} shares memories of this project ({identity.description})"
        notices.add(app, f"Recollect: {about} \u00b7 recollect team link")


_lines: dict[tuple[str, str], _Line] = {}  # by team and login


def work(app: App, memo: Memo) -> bool:
    """Job."""
    team, joined = (
        current_team(app),
        {(team.name, team.url) for team in joined_teams(app.home).values()},
    )
    for left in _lines.keys() - joined:
        _lines.pop(left).fail()
    if team is None or app.store_path(app.scope) is None:
        return False
    app.actor = "daemon"
    line = _lines.setdefault((team.name, team.url), _Line())
    try:
        server = line.open(team)
        look = line.look
        if server is None or (memo.get(_Line) == look and not waiting(app, team)):
            return False
        with server.within(_SYNC_S):
            done = sync_with(app, team, server)
            _offer_link(app, team, server, memo)
    except RecollectError as problem:
        line.fail()
        say_once(app, team, problem)
        return False
    line.succeed()
    memo[_Line] = look
    if MIRROR.read(
        app.reader(Scope.TEAM)
    ).is_partial:  # questions are asked of the server, which needs vectors then
        with suppress(ModelError, BadInput):
            return fill_vectors(server, app.embedder, _FILLED_AT_ONCE) > 0
    if any(done):
        app.log.line("team-sync", team=team.name, sent=done.sent, received=done.received)
    return False
