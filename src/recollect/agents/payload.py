"""Reads the JSON that agents send: whole, or refused. A field that is not what it should be counts as missing."""

from __future__ import annotations

import json
from collections.abc import Mapping

from recollect.base.errors import BadInput
from recollect.base.moment import Moment
from recollect.base.text import storable


def parse_object(body: bytes) -> Mapping[str, object]:
    try:
        value = json.loads(body.decode("utf-8"))
        # Only an escape can bring what UTF-8 and SQLite cannot hold.
        value = _storable(value) if b"\\u" in body else value
    except (ValueError, RecursionError):
        raise BadInput("The event is not JSON text.") from None
    if not isinstance(value, dict):
        raise BadInput("The event is not a JSON object.")
    return value


def text(payload: Mapping[str, object], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""


def first(payload: Mapping[str, object], *keys: str) -> str:
    return next((found for key in keys if (found := text(payload, key))), "")


def inner(payload: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = payload.get(key)
    return value if isinstance(value, dict) else {}


def moment(written: str) -> Moment | None:
    try:
        return Moment.parse(written)
    except ValueError:
        return None


def _storable(value: object) -> object:
    match value:
        case str():
            return storable(value)
        case dict():
            return {storable(key): _storable(one) for key, one in value.items()}
        case list():
            return [_storable(one) for one in value]
        case _:
            return value
