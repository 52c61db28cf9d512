"""How a new rule stands to an old one: the same, the opposite, another value for the same thing, or something else.

A rule that is wrongly taken for a known or replaced one is lost; one that is wrongly kept costs a line. So two rules
are the same, or one takes the other's place, only if all they speak of is the same (rule_facts.py). Vectors may suggest
that two rules are about one matter; then a person is asked, and both stand until they answer.
"""

from __future__ import annotations

from enum import StrEnum

from recollect.capture.rule_facts import (
    Choice,
    RuleFacts,
    are_versions_of_one,
    choices,
    differing,
    is_amount,
    is_joined_otherwise,
    is_said_in_order,
    is_unit,
    kinds_of,
    matters_of,
    may_be_forms_of_one,
    names_in_case,
    read_facts,
    rule_key,
    split_parts,
)

# How near two rules are by their vectors if they are about one matter, by the share of the shorter one's words that the
# other has, and if they may contradict each other. Unrelated rules of one field are up to 0.7 near.
_ONE_MATTER = ((0.99, 0.6), (0.66, 0.72), (0.0, 0.77))
_MAY_CLASH = 0.6
_MAX_NAME_WORDS = 3  # "We moved from Jenkins to GitHub Actions"


class Relation(StrEnum):
    SAME = "same"
    OPPOSED = "opposed"  # the opposite, or another choice, for the same thing
    AMENDED = "amended"  # the same with another value, an exception or more detail
    UNSURE = "unsure"  # they may contradict each other, or say the same
    DIFFERENT = "different"

    @property
    def replaces(self) -> bool:
        """Whether the new rule takes the place of the old one."""
        return self in (Relation.OPPOSED, Relation.AMENDED)


def says_same(new: str, old: str) -> bool:
    return relation(new, old) is Relation.SAME


def relation(new: str, old: str, near: float | None = None) -> Relation:
    """`near`: how near their vectors are, where both have one by the same model. It can only make a pair unsure."""
    if rule_key(new) == rule_key(old):
        return Relation.UNSURE if _differ_in_case(new, old) else Relation.SAME
    mine, theirs = read_facts(new), read_facts(old)
    if not mine.content or not theirs.content:
        return Relation.DIFFERENT
    looks = (
        _same_or_narrowed,
        _reversed,
        _reversed_in_part,
        _said_in_another_form,
        _other_choice,
        _named_replacement,
        _other_value,
        _other_unit,
        _other_place,
        _other_name,
    )
    decided = next(filter(None, (look(mine, theirs) for look in looks)), None)
    if decided is None and _contradict_in_part(new, old):
        return Relation.UNSURE
    return decided or _suggested(mine, theirs, near)


def _contradict_in_part(new: str, old: str) -> bool:
    """Whether one of them says several things, and one of those contradicts the other: "Pushing to main is fine, and we
    use bun".
    """
    mine, theirs = split_parts(new), split_parts(old)
    if len(mine) == len(theirs) == 1 or matters_of(new).isdisjoint(matters_of(old)):
        return False
    return any(relation(part, other).replaces for part in mine for other in theirs)


def _differ_in_case(new: str, old: str) -> bool:
    """Whether each has a name of its own that the other writes with other capitals."""
    mine, theirs = names_in_case(new), names_in_case(old)
    return bool(mine - theirs and theirs - mine)


def _same_or_narrowed(new: RuleFacts, old: RuleFacts) -> Relation | None:
    """Both ask for the same; the new one may add an exception, or name what is not wanted."""
    if new.refuses != old.refuses or any(differing(new.wanted, old.wanted)):
        return None
    if new.rejected - old.rejected and old.rejected - new.rejected:
        return None
    if new.directions != old.directions or new.allows != old.allows:
        return Relation.UNSURE
    if new.restricts != old.restricts or is_joined_otherwise(new, old):
        return Relation.UNSURE
    if not is_said_in_order(new, old):
        return Relation.UNSURE
    return _narrowed(new, old)


def _narrowed(new: RuleFacts, old: RuleFacts) -> Relation:
    """Of two that ask for the same: whether the new one says as much as the old one, or more."""
    if new.rejected == old.rejected and new.exceptions == old.exceptions:
        return Relation.SAME
    if _says_more(new, old):
        return Relation.AMENDED
    is_choice = any(old.rejected <= choice.members for choice in choices())
    if new.rejected < old.rejected and is_choice and new.exceptions == old.exceptions:
        return Relation.SAME  # "Use pnpm" after "Use pnpm, not npm" says nothing new
    return Relation.UNSURE


def _says_more(new: RuleFacts, old: RuleFacts) -> bool:
    """It adds an exception, or what is not wanted. "Never deploy the api" after "Never deploy" rejects less."""
    is_same = new.rejected == old.rejected
    is_choice = any(new.rejected <= choice.members for choice in choices())
    is_more_rejected = old.rejected < new.rejected and (not old.rejected or is_choice)
    is_new_exception = not old.exceptions or old.exceptions == new.exceptions
    return (is_same or is_more_rejected) and is_new_exception


def _reversed(new: RuleFacts, old: RuleFacts) -> Relation | None:
    """All words are the same, and what one asks for the other refuses."""
    if any(differing(new.content, old.content)):
        return None
    gained = _wanted_only_by(new, old)
    lost = _wanted_only_by(old, new)
    if not gained and not lost:
        return None
    if not _hold_for_the_same(new, old) or new.may_forbid or old.may_forbid:
        return Relation.UNSURE
    if gained and lost:
        return Relation.OPPOSED  # "Use A, not B", "Use B, not A"
    # One of the two refuses, all of it or in the middle, and the other does not refuse anything.
    is_about_place = gained | lost <= new.where
    is_doubtful = is_about_place or _both_refuse_something(new, old)
    return Relation.UNSURE if is_doubtful else Relation.OPPOSED


def _both_refuse_something(new: RuleFacts, old: RuleFacts) -> bool:
    """ "Stop when tests don't pass", "Never stop when tests pass"."""
    is_partly_refused = bool(new.rejected - new.missing or old.rejected - old.missing)
    return bool(new.rejected and old.rejected) or (_either_refuses(new, old) and is_partly_refused)


def _reversed_in_part(new: RuleFacts, old: RuleFacts) -> Relation | None:
    """One refuses what the other asks for or allows in a place: "No Redux", "Use Redux for forms"."""
    if new.refuses == old.refuses:
        return None
    refusing, asking = (new, old) if new.refuses else (old, new)
    if asking.rejected or not refusing.content <= asking.wanted:
        return None
    return Relation.UNSURE if asking.wanted - refusing.content <= asking.where else None


def _said_in_another_form(new: RuleFacts, old: RuleFacts) -> Relation | None:
    """One refuses what the other asks for, with another form of one word: "No escribas", "Escribe"; or both say the
    same with another form of the verb: "Ne touche pas", "Ne pas toucher".
    """
    words = _differing_words(new, old)
    if words is None or not may_be_forms_of_one(*words):
        return None
    is_verb = words == (new.order[0], old.order[0])
    return Relation.UNSURE if is_verb or new.refuses != old.refuses else None


def _differing_words(new: RuleFacts, old: RuleFacts) -> tuple[str, str] | None:
    """The one word of each that the other has not; None if there are more, or fewer."""
    mine, theirs = differing(new.content, old.content)
    if len(mine) != 1 or len(theirs) != 1:
        return None
    return next(iter(mine)), next(iter(theirs))


def _hold_for_the_same(new: RuleFacts, old: RuleFacts) -> bool:
    return new.exceptions == old.exceptions and new.directions == old.directions


def _wanted_only_by(one: RuleFacts, other: RuleFacts) -> frozenset[str]:
    """Of the words that both have."""
    shared = one.content & other.content
    return frozenset(word for word in shared if one.wants(word) and not other.wants(word))


def _other_choice(new: RuleFacts, old: RuleFacts) -> Relation | None:
    """Of tools of which a project uses one each asks for another, or the new rule rejects what the old one asks for."""
    if _either_refuses(new, old):
        return None
    for choice in choices():
        if not _choose_differently(choice, new, old) or not _goes_that_way(choice, new, old):
            continue
        if _is_about_the_same(new, old, choice):
            return Relation.UNSURE if _may_hold_together(choice, new, old) else Relation.OPPOSED
        if new.rejected & _chosen(choice, old):
            return _named_replacement(new, old) or Relation.UNSURE
        if _is_said_of_more(new, old, choice):
            return Relation.UNSURE
    return None


def _either_refuses(new: RuleFacts, old: RuleFacts) -> bool:
    return new.refuses or old.refuses


def _choose_differently(choice: Choice, new: RuleFacts, old: RuleFacts) -> bool:
    chosen = _chosen(choice, new)
    stood = _chosen(choice, old)
    if chosen & stood:
        return False
    return bool((chosen and stood) or new.rejected & stood or chosen & old.rejected)


def _may_hold_together(choice: Choice, new: RuleFacts, old: RuleFacts) -> bool:
    """ "Also run yarn", and "Back up postgres nightly", which does not say what is used."""
    is_handled = not choice.members.isdisjoint(new.handled | old.handled)
    is_choice_alone = not _rest(new, choice)
    return new.adds or old.adds or (is_handled and not is_choice_alone)


def _chosen(choice: Choice, rule: RuleFacts) -> frozenset[str]:
    return (rule.wanted - rule.rejected) & choice.members


def _goes_that_way(choice: Choice, *rules: RuleFacts) -> bool:
    """Whether each rule names a member of the choice as one: "from main", and not "protect main"."""
    return not choice.ways or all(
        any(way in choice.ways and to in choice.members for way, to in rule.directions)
        for rule in rules
    )


def _is_about_the_same(new: RuleFacts, old: RuleFacts, choice: Choice) -> bool:
    """But for the choice itself."""
    is_same_way = new.directions_apart_from(choice.members) == old.directions_apart_from(
        choice.members
    )
    return (
        _rest(new, choice) == _rest(old, choice)
        and new.where - choice.topics == old.where - choice.topics
        and new.exceptions == old.exceptions
        and is_same_way
    )


def _is_said_of_more(new: RuleFacts, old: RuleFacts, choice: Choice) -> bool:
    """Both choose for the same place, and one of them says more: "Use tabs" after "Indent with 4 spaces"."""
    mine = _rest(new, choice)
    theirs = _rest(old, choice)
    is_part = mine <= theirs or theirs <= mine
    return is_part and new.where - choice.topics == old.where - choice.topics


def _rest(facts: RuleFacts, choice: Choice) -> frozenset[str]:
    return facts.content - choice.members - choice.topics


def _named_replacement(new: RuleFacts, old: RuleFacts) -> Relation | None:
    """The new rule names what it rejects, and the old one asks for that: "Use ky, not superagent"."""
    named = (new.rejected & old.wanted) - new.missing
    if _either_refuses(new, old) or not named or old.rejected & named:
        return None
    rest = old.wanted - named
    if named & old.where or not new.wanted - rest:
        return None
    is_said_to_replace = bool(new.replaced & named)
    most_words = _MAX_NAME_WORDS if is_said_to_replace else 1
    if _is_all_replaced(new, old, named) and _differ_in_name_alone(new, old, rest, most_words):
        return Relation.OPPOSED
    return Relation.UNSURE if not rest or is_said_to_replace else None


def _is_all_replaced(new: RuleFacts, old: RuleFacts, named: frozenset[str]) -> bool:
    """Whether the new rule rejects nothing else, nor the old one, but what was to be used in its place: "Use yarn, not
    npm".
    """
    is_choice = any(old.rejected | named <= choice.members for choice in choices())
    return new.rejected <= old.wanted and (not old.rejected or is_choice)


def _differ_in_name_alone(
    new: RuleFacts, old: RuleFacts, rest: frozenset[str], most_words: int
) -> bool:
    """All that the new rule names beside the rest is the replacement. With more words it may be about less: "Upload
    with ky".
    """
    is_name_alone = rest <= new.wanted and len(new.wanted - rest) <= most_words
    return is_name_alone and new.where == old.where and new.exceptions == old.exceptions


def _other_value(new: RuleFacts, old: RuleFacts) -> Relation | None:
    """The same but for a number or an address: "The port is 5432", "The port is 5433"."""
    for mine, theirs in ((new.numbers, old.numbers), (new.addresses, old.addresses)):
        if mine == theirs or len(mine) != len(theirs):
            continue
        values = mine | theirs
        subject = new.content - values
        if not subject or subject != old.content - values or new.refuses != old.refuses:
            continue
        if _is_value_alone(new, old, values):
            return Relation.AMENDED
        return Relation.DIFFERENT if _refuses_one_of(values, new) else Relation.UNSURE
    return None


def _other_unit(new: RuleFacts, old: RuleFacts) -> Relation | None:
    """The same but for an amount that is counted in something else: "for 30 days", "for 6 weeks"."""
    mine, theirs = differing(new.content, old.content)
    if new.refuses != old.refuses or not all(map(is_amount, mine | theirs)):
        return None
    has_subject = not all(map(is_amount, new.content))
    is_counted_otherwise = any(map(is_unit, mine)) and any(map(is_unit, theirs))
    return Relation.UNSURE if has_subject and is_counted_otherwise else None


def _refuses_one_of(values: frozenset[str], rule: RuleFacts) -> bool:
    return rule.refuses or bool(values & rule.rejected)


def _is_value_alone(new: RuleFacts, old: RuleFacts, values: frozenset[str]) -> bool:
    """Whether the numbers are values of one thing and not names of two things, nor two that may hold together."""
    if any(rule.adds or rule.has_fixed_number for rule in (new, old)):
        return False
    if _refuses_one_of(values, new) and not (new.has_limit and old.has_limit):
        return False  # two things may both be forbidden
    if values & new.addresses and not (new.has_copula and old.has_copula):
        return False
    return _are_alike_apart_from(values, new, old)


def _are_alike_apart_from(values: frozenset[str], new: RuleFacts, old: RuleFacts) -> bool:
    """Whether they reject and except the same, and go the same way."""
    return (
        new.rejected - values == old.rejected - values
        and new.exceptions == old.exceptions
        and new.directions_apart_from(values) == old.directions_apart_from(values)
    )


def _other_place(new: RuleFacts, old: RuleFacts) -> Relation | None:
    """Both say where one thing goes: it may go to both places, or have moved."""
    is_one_thing = bool(new.located) and new.located == old.located
    is_refused = bool(new.rejected or old.rejected)
    return Relation.UNSURE if is_one_thing and not is_refused else None


def _other_name(new: RuleFacts, old: RuleFacts) -> Relation | None:
    """The same but for a name, a day or a version: both may hold, or one is out of date. "The lead is Anna", "The lead
    is Ben".
    """
    words = _differing_words(new, old)
    if words is None or _either_refuses(new, old) or new.rejected or old.rejected:
        return None
    are_days = all("day" in kinds_of(word) for word in words)
    are_names = new.is_name_told and old.is_name_told and words == (new.order[-1], old.order[-1])
    is_one_of_two = are_days or are_names or _is_other_version(words, new, old)
    return Relation.UNSURE if is_one_of_two else None


def _is_other_version(words: tuple[str, str], new: RuleFacts, old: RuleFacts) -> bool:
    """ "Target ES2020", "Target ES2022"; a project may support both."""
    return not (new.adds or old.adds) and are_versions_of_one(*words)


def _suggested(new: RuleFacts, old: RuleFacts, near: float | None) -> Relation:
    """Words leave it open: near in meaning, the two may be about one matter."""
    if near is None or near < _MAY_CLASH or _speak_of_different_things(new, old):
        return Relation.DIFFERENT
    shared = new.content & old.content
    cover = len(shared) / max(1, min(len(new.content), len(old.content)))
    is_clash = any(new.wants(word) != old.wants(word) for word in shared)
    is_near = near >= next(bar for least, bar in _ONE_MATTER if cover >= least)
    return Relation.UNSURE if is_clash or is_near else Relation.DIFFERENT


def _speak_of_different_things(new: RuleFacts, old: RuleFacts) -> bool:
    """Whether each names something of its own that holds beside the other's."""
    mine, theirs = differing(new.content, old.content)
    if not mine or not theirs:
        return False
    is_refusal = new.refuses and old.refuses
    if is_refusal or (mine <= new.rejected and theirs <= old.rejected):
        return True  # two things may both be forbidden
    if new.where and old.where and new.where.isdisjoint(old.where):
        return True
    return not _kinds_among(mine).isdisjoint(_kinds_among(theirs))


def _kinds_among(words: frozenset[str]) -> frozenset[str]:
    return frozenset(kind for word in words for kind in kinds_of(word))
