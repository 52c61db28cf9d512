"""Merge and split: memories change shape, nothing is lost, both can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from recollect.base.errors import BadInput
from recollect.lifecycle import merge as merging
from recollect.lifecycle import split as splitting
from recollect.model.memory import Kind, Memory, Thread
from recollect.model.plan import Plan
from recollect.model.query import Drop
from recollect.model.result import Done
from recollect.ops.app import App
from recollect.ops.memories import Topics, not_a_file
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store


def merge(
    app: App,
    a: Annotated[str, Arg("The memory that stays.", metavar="KEPT")],
    b: Annotated[str, Arg("The memory that becomes part of it.", metavar="OTHER")],
) -> Done:
    scope, keep, lose = app.find_two(a, b)
    for memory in (keep, lose):
        not_a_file(app, scope, memory)
    if keep.kind is not lose.kind or keep.kind is Kind.NOTE:
        raise BadInput(
            f"{keep.id} is a {keep.kind} and {lose.id} is a {lose.kind}.",
            hint="Only two threads or two rules can be merged.",
        )

    def make(store: Store) -> Plan:
        one, other = _fresh(store, keep), _fresh(store, lose)
        return merging.merge(
            one,
            other,
            messages=store.messages(other.id),
            bridges=store.bridges(one.id, other.id),
            aliases=store.aliases(other.id),
            now=app.clock.now(),
            rules=app.age_rules,
        )

    return app.commit(scope, "merge", make, lambda _: f"Merged {lose.id} into {keep.id}; both ids lead to it.")


def split(
    app: App,
    thread_id: Annotated[str, Arg("The thread.", metavar="ID")],
    *,
    topics: Topics = (),
) -> Done:
    scope, memory = app.find(thread_id)
    wanted = app.take_topics(topics)

    def make(store: Store) -> Plan:
        thread = _fresh(store, memory)
        if not isinstance(thread, Thread):
            raise BadInput(f"{thread.id} is a {thread.kind}, not a thread.", hint="Only threads can be split.")
        plan = splitting.split(
            thread, store.messages(thread.id), wanted, new_id=app.mint.draw("thread"), now=app.clock.now()
        )
        if isinstance(plan, Drop):
            raise BadInput(
                f"{thread.id} cannot be split: {plan.reason}.",
                hint=f"`recollect show {thread.id}` shows its messages.",
            )
        return plan

    return app.commit(scope, "split", make, lambda plan: f"Split {memory.id}: {plan.touched()[0]} is new.")


def _fresh(store: Store, memory: Memory) -> Memory:
    return store.exact(memory.id) or memory
