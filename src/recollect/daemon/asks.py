"""Operations asked for by name: how the MCP server and other programs of the user's reach them through the daemon.

The body is `{"op": "recall", "values": {"query": ["deploy"]}}`; the answer is what `--json` prints. Operations that
are for a person at the command line are not offered.
"""

from __future__ import annotations

import inspect
import json
import types
import typing
from collections.abc import Callable
from enum import Enum

from recollect.base.errors import BadInput, RecollectError
from recollect.ops.app import App
from recollect.ops.table import OPS, Effect, Op
from recollect.render.data import as_json


def read(body: bytes) -> tuple[Op, dict[str, object]]:
    """The operation and its values. BadInput for anything else."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        raise BadInput("The question is not JSON.") from None
    if not isinstance(asked, dict) or not isinstance(values := asked.get("values", {}), dict):
        raise BadInput('The question is not of the form {"op": NAME, "values": {...}}.')
    op = next((op for op in OPS if op.name == asked.get("op") and not op.cli_only), None)
    if op is None:
        raise BadInput(f"There is no operation {str(asked.get('op'))[:80]!r} to be asked for.")
    return op, _taken(op.function, values)


def takes_long(op: Op) -> bool:
    """Goes through a whole store."""
    return op.effect is Effect.KEEP or op.name == "verify"


def run(app: App, op: Op, values: dict[str, object]) -> bytes:
    return json.dumps(as_json(op.function(app, **values)), ensure_ascii=False).encode("utf-8", "replace")


def told(problem: RecollectError) -> bytes:
    said = {"type": type(problem).__name__, "message": problem.message, "hint": problem.hint}
    return json.dumps({"error": said | {"exit_code": problem.exit_code}}).encode()


def _taken(function: Callable[..., object], values: dict[str, object]) -> dict[str, object]:
    hints = typing.get_type_hints(function)
    given = list(inspect.signature(function).parameters.values())[1:]
    unknown = values.keys() - {parameter.name for parameter in given}
    if unknown:
        raise BadInput(f"It takes no value named {min(map(str, unknown))[:80]!r}.")
    for parameter in given:
        if parameter.default is inspect.Parameter.empty and parameter.name not in values:
            raise BadInput(f"The value {parameter.name!r} is missing.")
    return {name: _as(name, hints[name], value) for name, value in values.items()}


def _as(name: str, wanted: object, value: object) -> object:
    if isinstance(wanted, types.UnionType):
        if value is None:
            return None
        wanted = next(part for part in typing.get_args(wanted) if part is not type(None))
    if typing.get_origin(wanted) is tuple:
        if isinstance(value, list) and all(isinstance(part, str) for part in value):
            return tuple(value)
    elif isinstance(wanted, type) and issubclass(wanted, Enum):
        for member in wanted:
            if str(member).lower() == str(value).lower():
                return member
    elif wanted is float and type(value) is int:
        return float(value)
    elif isinstance(wanted, type) and type(value) is wanted:
        return value
    raise BadInput(f"The value of {name!r} is not what it takes.")
