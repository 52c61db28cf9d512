"""The search: loads evidence, lets `recall` decide, reads the best memories, lets `recall` select. One engine for every
door. Words always; vectors when the embedder answers. Passages that have no vector yet are found by their words, and a
few of them get theirs on the way."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from recollect.app.core import App
from recollect.app.embedding import QuestionVector, TimedQuestion, fill_vectors, question_vector
from recollect.app.plan_gate import changed_files
from recollect.app.states import FOCUS, MIRROR, TEAM_PROBLEM
from recollect.base.errors import BadInput, RecollectError, StoreError
from recollect.base.ids import fresh_key
from recollect.base.moment import Moment
from recollect.base.structs import replace
from recollect.base.text import clip
from recollect.lifecycle.strength import AgeRules, status_at, strength
from recollect.model.memory import Kind, Rule, Status
from recollect.model.passage import asks_of_self
from recollect.model.query import Background, Hit, Nearness, Piece, Place, Query, WordEvidence
from recollect.model.result import Found, Recollection, Scope
from recollect.recall import matching, selection
from recollect.recall.answer_passages import chars_each, unasked_passages, with_passages
from recollect.recall.matching import Match, Ref
from recollect.recall.selection import Focus, evidence, is_muted, priority, relevance
from recollect.recall.time_words import asked_time

if TYPE_CHECKING:
    from recollect.store import Store

NEAREST = 150  # passages by vector whose units join those by words
WITH_NEIGHBOURS = 60  # of the best: whose neighbours are looked up
WITH_GROUP = 300  # of the best: whose groups are looked up
CANDIDATES = 12  # of the best: checked for whether they are relevant to a prompt
FOCUSED = 40  # memories in focus that are candidates whatever the question says
_MAX_RULES = 300
_PAGE = 20  # units read whole at a time
# Where nobody waits: times as many passages by words, and how many of the best are compared word by word.
_UNHURRIED, COMPARED = 4, 40
_MAX_READ = 400
_SECOND_DEPTH = (
    15  # times as deep, where filters or one very long memory leave less than was asked for
)
_FILLED_AT_ONCE = 32  # passages that a search embeds on its way: about a second
_QUESTION_CHARS = 2_000  # of the question, in the answer: nobody wants a megabyte back
_CLEANED_CHARS = 20_000  # of a longer question only this is redacted and shown

# How much of a question each of these texts says, by words of like meaning.
Likeness = Callable[[str, Sequence[str]], Sequence[float]]
# The question's, or a function that waits for it; None: words alone.
Vector = QuestionVector | Callable[[], QuestionVector | None] | None


def search(
    app: App, query: Query, only: Scope | None = None, *, timed: TimedQuestion | None = None
) -> Found:
    """With `timed` someone waits: there is no second, deeper search, and no passage gets its vector on the way."""
    if not query.text.strip():
        raise BadInput(
            "There is nothing to look for: the question is empty.",
            hint="Say in a few words what to look for.",
        )
    scopes = [scope for scope, _ in app.scopes() if only in (None, scope)]
    now = app.clock.now()
    vector: Vector
    if timed is not None:
        vector, how = timed.vector, ""
    else:
        for scope in scopes if app.fills_vectors and not app.dry_run else ():
            with suppress(
                RecollectError
            ):  # without a model, or where a store cannot be written, it is searched anyway
                fill_vectors(app.writer(scope), app.embedder, _FILLED_AT_ONCE)
        vector, how = question_vector(app, query.text)
    likeness = app.embedder.likeness if vector and timed is None and not query.unasked else None
    focus = load_focus(app)

    asks_team = (
        timed is None and Scope.TEAM in scopes and MIRROR.read(app.reader(Scope.TEAM)).is_partial
    )
    asked = replace(query, text=redact_question(app, query.text)) if asks_team else query

    def answer_from(stores: Sequence[Store]) -> Answer:
        return search_stores(
            stores, asked, now=now, rules=app.age_rules, vector=vector, focus=focus, deep=timed is None,
            likeness=likeness,
        )  # fmt: skip

    stores: list[Store] = [app.reader(scope) for scope in scopes]
    if asks_team:
        answer, how = _with_all_of_team(app, answer_from, stores, how)
    else:
        answer = answer_from(stores)
    if timed is not None:
        how = timed.how
    elif answer.without_vectors:
        cure = ": `recollect reindex`" if app.fills_vectors else ""
        how += f" ({answer.without_vectors:,} passages have no vector yet{cure})"
    selected = answer.selected
    found = [recollect(app, scopes[hit.store], hit) for hit in selected.hits]
    nearest = [recollect(app, scopes[hit.store], hit) for hit in selected.nearest]
    # A prompt is not repeated in its answer: the note of the recall redacts it later, and the answer need not wait.
    question = query.text[:_CLEANED_CHARS] if query.unasked else redact_question(app, query.text)
    id, drops, left_out = app.mint.draw("recall"), selected.drops, selected.left_out
    room = query.limit - len(selected.hits) - sum(count for _, count in left_out)
    return Found(
        id, question, now, tuple(found), drops, how, answer.ms, left_out=left_out, judged=selected.judged,
        nearest=tuple(nearest), is_full=room <= 0, are_more=selected.are_more,
    )  # fmt: skip


def recollect(app: App, scope: Scope, hit: Hit) -> Recollection:
    """A hit with how its memory stands now, and which of its files have changed since."""
    if scope is Scope.PROJECT and hit.memory.anchors:
        hit = replace(hit, stale=changed_files(app, hit.memory))
    stands = selection.condition(hit.memory, put_away=hit.put_away)
    return Recollection(scope, hit, hit.part("strength"), condition=stands)


def _with_all_of_team(
    app: App, answer_from: Callable[[Sequence[Store]], Answer], stores: list[Store], how: str
) -> tuple[Answer, str]:
    """Somebody asks, and the team shares more than is copied here: its server is asked instead of the copy, for what it
    has of this project."""
    from recollect.app.teams import TEAM_WIDE, connection, link, require_team

    problem = TEAM_PROBLEM.find(app.reader(app.scope)) or ""
    try:
        if not problem:
            with connection(require_team(app)) as server:
                server.groups = frozenset({TEAM_WIDE, link(app).project})
                return answer_from([*stores[:-1], server]), how
    except RecollectError as trouble:
        problem = trouble.message
    return answer_from(stores), f"{how} (of the team's memories only the latest: {problem})"


def redact_question(app: App, question: str) -> str:
    """Redacted first, then cut: half a secret is not recognised. Where there is no home yet, none is made for it."""
    from recollect.redact import Redactor  # an answer need not wait for it

    redactor = app.redactor if app.home.root.exists() else Redactor(bytes.fromhex(fresh_key()))
    return clip(redactor.clean(question[:_CLEANED_CHARS]).text, _QUESTION_CHARS)


def load_focus(app: App) -> tuple[Focus, ...]:
    """What the work is about just now. Nothing where the state cannot be read: a search goes on without."""
    try:
        return FOCUS.read(app.reader(app.scope))
    except StoreError:
        return ()


def rules_in_force(app: App) -> dict[str, tuple[Scope, Rule]]:
    """Rules by id, the most useful first, without muted ones; each once, however it is spelled: the project's before
    one for every project, and that before a colleague's."""
    from recollect.capture.rule_facts import rule_key  # no first prompt waits for it

    query = Query(kinds=(Kind.RULE,), statuses=(Status.ACTIVE,), limit=_MAX_RULES)
    loaded = [(scope, rule) for scope, store in app.scopes() for rule in store.find(query)]

    def order(kept: tuple[Scope, Rule]) -> tuple[bool, float, int, Moment]:
        _, rule = kept
        return rule.pinned, relevance(rule.ratings, rule.outcomes), rule.seen, rule.last_active_at

    found = [
        (scope, rule) for scope, rule in loaded if isinstance(rule, Rule) and not is_muted(rule)
    ]
    found.sort(key=order, reverse=True)
    nearest: dict[str, tuple[Scope, Rule]] = {}
    for scope in Scope:
        for owner, rule in found:
            if owner is scope:
                nearest.setdefault(rule_key(rule.body), (scope, rule))
    chosen = sorted(nearest.values(), key=order, reverse=True)
    return {rule.id: (scope, rule) for scope, rule in chosen}


class Answer(NamedTuple):
    selected: selection.Selection
    without_vectors: int
    ms: float  # CPU time of this thread


def search_stores(
    stores: Sequence[Store], query: Query, *, now: Moment, rules: AgeRules, vector: Vector = None,
    focus: Sequence[Focus] = (), deep: bool = True, likeness: Likeness | None = None,
) -> Answer:  # fmt: skip
    """Not `deep`: no second search where filters leave less than was asked for, because somebody waits."""
    began = time.thread_time()
    if isinstance(vector, QuestionVector):  # nobody waits: words are looked up more thoroughly, too
        for store in stores:
            store.load_vectors(vector.model)
    evidence = [store.words(query.text) for store in stores]
    engine = _Engine(stores, query, evidence, now, rules, vector, focus, likeness, depth=1)
    selected = engine.select()
    has_more_words = any(one.found > matching.KEPT for one in evidence)
    refused = sum(drop.reason != selection.NOTHING_IN_COMMON for drop in selected.drops)
    if deep and len(selected.hits) < query.limit and (has_more_words or refused >= NEAREST // 2):
        engine = _Engine(
            stores, query, evidence, now, rules, vector, focus, likeness, depth=_SECOND_DEPTH
        )
        selected = engine.select()
    if not query.unasked:
        selected = engine.drop_unless_answered(selected)
    return Answer(selected, engine.without_vectors, (time.thread_time() - began) * 1_000)


class _Engine:  # the units that may answer, how well each matches, and what is needed to judge them
    def __init__(
        self, stores: Sequence[Store], query: Query, evidence: Sequence[WordEvidence], now: Moment, rules: AgeRules,
        vector: Vector, focus: Sequence[Focus], likeness: Likeness | None, *, depth: int,
    ) -> None:  # fmt: skip
        """By words, by vectors, by focus; then by the company they keep and the time that was asked for."""
        self.stores, self.query, self.evidence, self.now, self.rules = (
            stores,
            query,
            evidence,
            now,
            rules,
        )
        self.focus, self.likeness, self.max_read = focus, likeness, depth * _MAX_READ
        voice = matching.VOICE if asks_of_self(query.text) else 0.0
        self.terms = terms = matching.score_terms(
            evidence, matching.KEPT * (max(depth, _UNHURRIED) if likeness else depth)
        )
        owners = [
            store.owners(list(own)) for store, own in zip(stores, terms.passages, strict=True)
        ]
        by_words = matching.match_units(terms, owners, voice)
        in_focus: dict[Ref, None] = {}
        for point in focus:
            for number, store in enumerate(stores):
                in_focus |= dict.fromkeys(
                    (number, seq) for seq in store.about(point.topic, FOCUSED)
                )
        self.in_focus = list(in_focus)[: 2 * FOCUSED]
        self.vector = vector() if callable(vector) else vector
        near: dict[Ref, Nearness] = {}
        self.without_vectors, self.background = 0, Background()
        for number, store in enumerate(stores):
            if self.vector is None:
                break
            also = [seq for which, seq in {*by_words, *self.in_focus} if which == number]
            found = store.nearest(*self.vector, depth * NEAREST, also, voice=voice)
            self.without_vectors += found.missing
            self.background = self.background.with_more(found.background)
            near |= {(number, seq): one for seq, one in found.near.items()}
        matches = dict.fromkeys(self.in_focus, Match(0.0)) | matching.fuse(
            by_words, near, terms.perfect
        )
        best = sorted(matches, key=lambda ref: (-matches[ref].score, ref))[:WITH_GROUP]
        places: dict[Ref, Place] = {}
        for number, store in enumerate(stores):
            own = store.places(
                [seq for which, seq in best if which == number], neighbours=WITH_NEIGHBOURS
            )
            places |= {(number, seq): place for seq, place in own.items()}
        time_asked = asked_time(query.text, now)
        self.matches = matching.raise_by_context(
            matches, by_words, places, terms.perfect, time_asked
        )

    def select(self) -> selection.Selection:
        ranked = self.ranked = self._read_ranked()
        if self.query.unasked:
            refused = [hit for hit in ranked if selection.why_refused(hit, self.query)]
            passing = [hit for hit in ranked if not selection.why_refused(hit, self.query)][
                :CANDIDATES
            ]
            judged = tuple(self._judge_relevance(self._with_pieces(passing)))
            return replace(selection.select((*judged, *refused), self.query), judged=judged)
        if self.likeness:
            best = [hit for hit in ranked if not selection.why_refused(hit, self.query)][:COMPARED]
            like = self.likeness(self.query.text, [hit.text for hit in best])
            keys = [hit.unit_key for hit in best]
            ranked = selection.raise_by_likeness(ranked, dict(zip(keys, like, strict=True)))
            self.ranked = ranked
        selected = selection.select(ranked, self.query)
        max_chars = chars_each(len(selected.hits))
        return replace(
            selected,
            hits=tuple(with_passages(hit, max_chars) for hit in self._with_pieces(selected.hits)),
            are_more=self.are_more,
        )

    def _read_ranked(self) -> list[Hit]:
        """The candidates with their memories, in order of priority. Strength, relevance and focus can move a memory
        only so far, so the best matches are read a page at a time until enough of them pass the question's filters;
        those in focus always."""
        hits = list(self._read(self.in_focus))
        rest = self.matches.keys() - set(self.in_focus)
        order = sorted(
            rest, key=lambda ref: (-self.matches[ref].score, ref)
        )  # of equals the first that came
        passing: Counter[str] = Counter()
        enough = max(2 * self.query.limit, COMPARED if self.likeness else 0)
        read = 0
        for start in range(0, min(len(order), self.max_read), _PAGE):
            read = start + _PAGE
            for hit in self._read(order[start:read]):
                hits.append(hit)
                passing[hit.memory.id] += not selection.why_refused(hit, self.query)
            if sum(min(count, self.query.turns) for count in passing.values()) >= enough:
                break
        self.are_more = read < len(order)
        return sorted(hits, key=lambda hit: (hit.score, hit.part("strength")), reverse=True)

    def _read(self, refs: Sequence[Ref]) -> Iterator[Hit]:
        for number, store in enumerate(self.stores):
            for unit, stored, turn in store.read_units(
                [unit for which, unit in refs if which == number]
            ):
                memory = replace(stored, status=status_at(stored, now=self.now, rules=self.rules))
                match = self.matches[number, unit]
                force = strength(memory, now=self.now, rules=self.rules)
                weighed = priority(memory, match.score, force, self.focus)
                components = (
                    ("match", match.score), *zip(match._fields[1:], match[1:], strict=True), ("strength", force),
                    ("relevance", weighed.relevance), ("focus", weighed.focus), *evidence(memory),
                )  # fmt: skip
                put_away = stored.status is Status.ARCHIVED
                yield Hit(
                    memory,
                    weighed.score,
                    components,
                    turn,
                    store=number,
                    unit=unit,
                    put_away=put_away,
                )

    def _with_pieces(self, hits: Sequence[Hit]) -> list[Hit]:
        """With how well each of their passages answers."""
        pieces: dict[Ref, list[Piece]] = {(hit.store, hit.unit): [] for hit in hits}
        for number, store in enumerate(self.stores):
            own = store.pieces(
                [hit.unit for hit in hits if hit.store == number], *(self.vector or ())
            )
            cover = matching.cover(
                self.terms.rarity, self.evidence[number], [one.passage for one in own]
            )
            for one in own:
                score = matching.passage_score(cover[one.passage], one.near)
                pieces[number, one.unit].append(
                    Piece(one.start, one.start + one.length, score, one.near, one.passage)
                )
        return [replace(hit, pieces=tuple(pieces[hit.store, hit.unit])) for hit in hits]

    def _judge_relevance(self, hits: Sequence[Hit]) -> list[Hit]:
        """In the order of how likely each is relevant to the prompt, which is their score; those in focus come first.
        Memories that proved useless count less."""
        judged: list[Hit] = []
        probabilities = self._probabilities(hits, matching.Prompt.of(self.query.text))
        for hit, (probability, components) in zip(hits, probabilities, strict=True):
            score = probability * hit.part("relevance")
            shown = unasked_passages(hit) if score >= self.query.floor or hit.part("focus") else ()
            judged.append(
                replace(hit, score=score, components=(*hit.components, *components), shown=shown)
            )
        return sorted(judged, key=lambda hit: hit.score + hit.part("focus"), reverse=True)

    def drop_unless_answered(self, selected: selection.Selection) -> selection.Selection:
        """Somebody asked: nothing is found unless one of the best hits has to do with the question, whatever else they
        filter by. The nearest are named all the same, as such."""
        if not self.query.floor:
            return selected
        by_status = Query(statuses=self.query.statuses)
        reached = [hit for hit in self.ranked if not selection.why_refused(hit, by_status)]
        if self._is_answered_by(reached[:CANDIDATES]):
            return selected
        unanswered = selection.without_hits(selected)
        if self._is_answered_by(self.ranked[:CANDIDATES]):
            return unanswered
        return replace(unanswered, left_out=())

    def _is_answered_by(self, hits: Sequence[Hit]) -> bool:
        prompt = matching.Prompt.of_question(self.query.text)
        with_pieces = self._with_pieces(hits)
        return any(
            selection.is_answer(hit, probability, foreign=prompt.is_foreign, floor=self.query.floor)
            for hit, (probability, _) in zip(
                with_pieces, self._probabilities(with_pieces, prompt), strict=True
            )
        )

    def _probabilities(
        self, hits: Sequence[Hit], prompt: matching.Prompt
    ) -> list[tuple[float, tuple[tuple[str, float], ...]]]:
        """For each hit: how likely it is relevant, and what that is made of."""
        passages = sum(one.passages for one in self.evidence)
        worth = matching.information(self.evidence)
        covers = []
        for number, one in enumerate(self.evidence):
            own = [piece.passage for hit in hits if hit.store == number for piece in hit.pieces]
            covers.append(matching.cover(worth, one, own, matching.NEEDED))
        judged = []
        for hit in hits:
            near = max(
                (piece.near for piece in hit.pieces if piece.near), default=None
            )  # 0: it has no vector
            cover = max((covers[hit.store][piece.passage] for piece in hit.pieces), default=0.0)
            judged.append(
                matching.judge_relevance(
                    prompt,
                    f"{hit.memory.title}\n{hit.text}",
                    near=near,
                    cover=cover,
                    background=self.background,
                    passages=passages,
                    kept=hit.memory.kind is not Kind.THREAD,
                )
            )
        return judged
