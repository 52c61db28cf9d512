"""What becomes of a rule that is stated, and of those that are known already: pure decisions over rules.

The same rule said again is counted. What a new rule contradicts or amends is superseded and names it. Where it is not
sure that two rules contradict each other both stand, and the newer one is tagged with the other's id, so that the inbox
shows the pair. A rule takes the place only of one in the same store: what holds in every project, or for a team, is not
put out of force by what holds here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from recollect.base.structs import replace
from recollect.capture.rule_facts import rule_key
from recollect.capture.rule_relations import Relation, relation
from recollect.model.memory import SHARED_TAG, Bridge, BridgeType, Memory, Rule, Status
from recollect.model.plan import Change, Create, Link, Plan, Update

PAIR_TAG = "may contradict:"  # before the id of a rule that this one may contradict
_MAX_PAIRS = 3  # of one rule; nobody decides on more at once


class Standing(NamedTuple):
    """How the known rules stand to a new one."""

    same: Rule | None = None
    spellings: tuple[Rule, ...] = ()  # in force, and nothing but other spellings of `same`
    replaced: tuple[Rule, ...] = ()  # in force, and contradicted or amended by it
    unsure: tuple[Rule, ...] = ()  # in force, and perhaps contradicted by it


class Surroundings(NamedTuple):
    """What a rule is compared with."""

    known: Sequence[Rule] = ()  # of its own store: in force, or waiting in the inbox
    elsewhere: Sequence[Rule] = ()  # in force in other stores that hold here
    near: Mapping[str, float] = {}  # how near they are by their vectors, where that is known
    is_a_persons_word: bool = True  # only a person's word takes another rule out of force


def compare(words: str, among: Surroundings) -> Standing:
    same: list[Rule] = []
    replaced: list[Rule] = []
    unsure: list[Rule] = []
    for old in among.known:
        found = relation(words, old.body, among.near.get(old.id))
        if found is Relation.SAME:
            same.append(old)
        elif old.status is Status.ACTIVE and found.replaces and among.is_a_persons_word:
            replaced.append(old)
        elif old.status is Status.ACTIVE and found is not Relation.DIFFERENT:
            unsure.append(old)
    for old in among.elsewhere:
        found = relation(words, old.body, among.near.get(old.id))
        if found.replaces or found is Relation.UNSURE:
            unsure.append(old)
    # What their words tell comes before what is only near in meaning: no more than a few pairs are shown.
    unsure.sort(key=lambda old: relation(words, old.body) is Relation.DIFFERENT)
    same.sort(key=lambda old: (old.status is not Status.ACTIVE, old.created_at))
    first = same[0] if same else None
    return Standing(
        same=first,
        spellings=tuple(old for old in same[1:] if _is_spelling_in_force(old, first)),
        replaced=tuple(replaced),
        unsure=tuple(unsure[:_MAX_PAIRS]),
    )


def _is_spelling_in_force(rule: Rule, first: Rule | None) -> bool:
    is_spelling = first is not None and rule_key(rule.body) == rule_key(first.body)
    return is_spelling and rule.status is Status.ACTIVE


def state_rule(rule: Rule, among: Surroundings, *, is_sure: bool) -> Plan:
    """A person or an agent stated `rule`, which is dated to the moment it was said. Not sure: it waits in the inbox."""
    standing = compare(rule.body, among)
    if standing.same is not None:
        counted = _count_again(rule, standing.same, among, is_sure=is_sure)
        merged = [_supersede(old, standing.same) for old in standing.spellings]
        return Plan.of([*counted.changes, *merged])
    rule = tag_pairs(rule, standing.unsure)
    if not is_sure:
        waits = replace(rule, status=Status.CANDIDATE)
        links = [_link_replaced(rule, old) for old in standing.replaced]
        return Plan.of([Create(waits), *links])
    # What is read late from an old transcript does not put a newer word out of force.
    said_at = rule.last_active_at
    newer = next((old for old in standing.replaced if old.last_active_at > said_at), None)
    if newer is not None:
        return Plan.of([Create(replace(rule, status=Status.SUPERSEDED, superseded_by=newer.id))])
    return Plan.of([Create(rule), *(_supersede(old, rule) for old in standing.replaced)])


def accept_rule(rule: Rule, among: Surroundings, linked: Iterable[str]) -> list[Rule]:
    """A waiting rule comes into force as `rule`; returns it and all others that change, as they are then. `linked`: ids
    of rules whose place it was proposed to take."""
    named = set(linked)
    others = [old for old in among.known if old.id != rule.id]
    standing = compare(rule.body, among._replace(known=others))
    known = standing.same
    if known is not None and known.status is Status.ACTIVE and known.id not in named:
        return [_superseded(rule, known), replace(known, seen=known.seen + rule.seen)]
    gone = {old.id: old for old in standing.replaced}
    gone |= {old.id: old for old in others if old.id in named and old.status is Status.ACTIVE}
    new = tag_pairs(rule, [old for old in standing.unsure if old.id not in gone])
    return [new, *(_superseded(old, new) for old in gone.values())]


def settle(
    rules: Iterable[Rule], *, pair: tuple[str, str], lost: str | None, superseded_by: str | None
) -> Plan:
    """A person decided on two rules that may contradict each other: neither is asked about again, and the one that
    lost, if any, is out of force."""
    changes = []
    for rule in rules:
        decided = without_pair(without_pair(rule, pair[0]), pair[1])
        if rule.id == lost:
            status = Status.SUPERSEDED if superseded_by else Status.ARCHIVED
            decided = replace(decided, status=status, superseded_by=superseded_by)
        if decided != rule:
            changes.append(Update.between(rule, decided))
    return Plan.of(changes)


def tag_pairs(rule: Rule, others: Iterable[Rule]) -> Rule:
    tags = (*rule.tags, *(f"{PAIR_TAG}{old.id}" for old in others))
    return replace(rule, tags=tuple(dict.fromkeys(tags)))


def paired_ids(memory: Memory) -> tuple[str, ...]:
    """The rules that this one may contradict, as far as nobody has decided on it."""
    tags = (tag for tag in memory.tags if tag.startswith(PAIR_TAG))
    return tuple(tag.removeprefix(PAIR_TAG) for tag in tags)


def without_pair(rule: Rule, other: str) -> Rule:
    """Somebody has decided on the two."""
    tags = tuple(tag for tag in rule.tags if tag != f"{PAIR_TAG}{other}")
    return replace(rule, tags=tags)


def _count_again(rule: Rule, known: Rule, among: Surroundings, *, is_sure: bool) -> Plan:
    """Said for sure, or in another session, what waited in the inbox waits no longer."""
    again = replace(
        known,
        seen=known.seen + 1,
        last_active_at=max(known.last_active_at, rule.last_active_at),
    )
    if SHARED_TAG in rule.tags and SHARED_TAG not in again.tags:
        again = replace(again, tags=(*again.tags, SHARED_TAG))
    is_other_session = bool(rule.group and rule.group != known.group)
    is_raised = among.is_a_persons_word and (is_sure or is_other_session)
    if known.status is not Status.CANDIDATE or not is_raised:
        return Plan.of([Update.between(known, again)])
    others = [old for old in among.known if old.id != known.id]
    standing = compare(again.body, among._replace(known=others))
    new = tag_pairs(replace(again, status=Status.ACTIVE, lane=rule.lane), standing.unsure)
    changes: list[Change] = [Update.between(known, new)]
    changes += (_supersede(old, new) for old in standing.replaced)
    return Plan.of(changes)


def _superseded(old: Rule, new: Rule) -> Rule:
    return replace(old, status=Status.SUPERSEDED, superseded_by=new.id)


def _supersede(old: Rule, new: Rule) -> Update:
    return Update.between(old, _superseded(old, new))


def _link_replaced(rule: Rule, old: Rule) -> Link:
    return Link(
        Bridge(
            source=rule.id,
            target=old.id,
            type=BridgeType.REPLACES,
            weight=1.0,
            created_at=rule.last_active_at,
            origin=rule.origin,
        )
    )
