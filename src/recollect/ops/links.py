"""Bridges between memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from recollect.base.errors import BadInput, NotFound
from recollect.model.bridge import Bridge, BridgeType
from recollect.model.plan import Link, Plan, Unlink
from recollect.model.result import Done
from recollect.ops.app import App
from recollect.ops.table import Arg

if TYPE_CHECKING:
    from recollect.store import Store

From = Annotated[str, Arg("Where the bridge starts.", metavar="FROM")]
To = Annotated[str, Arg("Where it ends.", metavar="TO")]


def link(
    app: App,
    source: From,
    target: To,
    *,
    type: Annotated[BridgeType, Arg("What the first is to the second.")] = BridgeType.EXTENDS,
    weight: Annotated[float, Arg("How strong, 0 to 1.", metavar="W")] = 0.5,
) -> Done:
    if not 0 <= weight <= 1:
        raise BadInput(f"The weight is {weight}; it must lie between 0 and 1.", hint="`--weight 0.5`, for example.")
    scope, a, b = app.find_two(source, target)

    def make(store: Store) -> Plan:
        standing = [x for x in store.bridges(a.id) if x.key == (a.id, b.id, type)]
        fresh = Bridge(a.id, b.id, type, weight, app.clock.now(), origin=app.actor)
        if standing and standing[0].weight == weight:
            return Plan.empty()
        return Plan.of([*(Unlink(old) for old in standing), Link(fresh)])

    return app.commit(scope, "link", make, lambda _: f"{a.id} -> {b.id} ({type}, weight: {weight:.2f})")


def unlink(
    app: App,
    source: From,
    target: To,
    *,
    type: Annotated[BridgeType | None, Arg("Only this type; else all between the two.")] = None,
) -> Done:
    scope, a, b = app.find_two(source, target)

    def make(store: Store) -> Plan:
        between = [x for x in store.bridges(a.id) if {x.source, x.target} == {a.id, b.id} and type in (None, x.type)]
        if not between:
            raise NotFound(f"No bridge joins {a.id} and {b.id}.", hint=f"`recollect show {a.id}` lists its bridges.")
        return Plan.of(Unlink(bridge) for bridge in between)

    return app.commit(scope, "unlink", make, lambda plan: f"Took away {len(plan.changes)} of their bridges.")
