"""What a person may do on the page: operations, each with the words that the bar at the bottom says afterwards. The
values come from a form whose fields are named like the operation's parameters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple, get_origin

from starlette.responses import RedirectResponse, Response

from recollect.base.errors import BadInput, Conflict, NotFound, RecollectError
from recollect.base.text import clip, counted, one_line
from recollect.model.plan import Create, Remove
from recollect.model.result import Configured, Done
from recollect.ops.table import Op, Parameter
from recollect.web.pages import Page, find_op

# `{}` is the memory's title, or how many there were.
ACTS = {
    "rule add": "Now in force: {}",
    "inbox accept": "In force: {}",
    "inbox edit": "In force: {}",
    "inbox reject": "Rejected: {}",
    "inbox settle": "Decided: {}",
    "edit": "Changed: {}",
    "forget": "Archived: {}",
    "restore": "Brought back: {}",
    "rate": "Rated: {}",
    "pin": "Pinned: {}",
    "link": "Linked: {}",
    "unlink": "Unlinked: {}",
    "appreciate": "Protected: {}",
    "undo": "Undone: {}",
    "config": "Saved: {}",
}
_OTHER_WORDS = {
    ("forget", "delete", "1"): "Deleted: {}",
    ("rate", "verdict", "never"): "Not shown again: {}",
}
SETTINGS = ("MEMORY_RECALL_FLOOR",)  # that the page may change: some name programs to run
CONFIRM = "purge"  # what a person types before something is erased for good


class Act(NamedTuple):  # what was done, for the bar that offers to take it back
    text: str
    changes: tuple[str, ...] = ()
    is_undo: bool = False
    notes: tuple[str, ...] = ()
    reverse: tuple[str, Mapping[str, str]] | None = (
        None  # the operation that takes it back, where that is not `undo`
    )


def act(page: Page) -> Response:
    """One operation, then back to where the person was, with the bar."""
    name = page.args["op"].replace("-", " ")
    name = name if name in ACTS else page.args["op"]
    if name not in ACTS:
        return page.problem(
            NotFound("The page cannot do that.", hint="Go back and try another button."), 404
        )
    op = find_op(name)
    try:
        values = read_values(op, page.form)
        if name == "config" and values.get("name") not in SETTINGS:
            raise NotFound(
                "This setting cannot be changed here.",
                hint="`recollect config NAME VALUE` does it.",
            )
        if any(values.get(one) for one in op.erases) and page.form.get("confirm") != [CONFIRM]:
            raise BadInput("This cannot be undone.", hint=f"To go on, type the word {CONFIRM}.")
        titles = _named(page, op)
        done = page.op(name, **values)
    except RecollectError as problem:
        if isinstance(problem, Conflict) and "expect" in page.form:
            return _conflict(page)
        return page.problem(problem, 409 if isinstance(problem, Conflict) else 400)
    sent = {(name, field, values[-1]) for field, values in page.form.items()}
    words = next((text for act, text in _OTHER_WORDS.items() if act in sent), ACTS[name])
    return finish(page, describe(page, words, done, titles))


def _named(page: Page, op: Op) -> dict[str, str]:
    """The titles of the memories that the form names, by id, as they are before anything happens to them."""
    first = next(iter(op.parameters), None)
    if first is None or first.arg.metavar not in ("ID", "NAME"):
        return {}
    names, found = page.form.get(first.name, []), dict[str, str]()
    if not names:
        raise BadInput("Nothing was chosen.", hint="Go back and choose at least one.")
    for name in names:
        with suppress(NotFound):
            memory = page.app.find(name)[1]
            found[memory.id] = memory.title
    return found


def _conflict(page: Page) -> Response:
    """What was written and what is there now, side by side."""
    card, back = page.op("show", page.form["id"][0]).card, next(iter(page.form.get("back", [])), "")
    to = back if page.is_local(back) else page.url(f"memory/{card.memory.id}")
    return page.render(
        "conflict.html", 409, card=card, form=page.form, path=page.request.url.path, to=to
    )


def undo(page: Page) -> Response:
    """Takes back every change that one act made, the last first; where one cannot be, the bar says what was."""
    made: list[Act] = []
    notes: tuple[str, ...] = ()
    for change in reversed(page.form.get("change", [])):
        try:
            made.append(describe(page, ACTS["undo"], page.op("undo", change=change)))
        except RecollectError as problem:
            if not made:
                return page.problem(problem, 409)
            notes = (f"The rest could not be undone: {problem.message}",)
            break
    text = made[0].text if len(made) == 1 else f"Undone: {counted(len(made), 'change')}"
    return finish(
        page,
        Act(
            text, tuple(change for one in made for change in one.changes), is_undo=True, notes=notes
        ),
    )


def finish(page: Page, made: Act) -> Response:
    back = next(iter(page.form.get("back", [])), "")
    to = back if page.is_local(back) else page.url("now")
    return RedirectResponse(
        f"{to}{'&' if '?' in to else '?'}act={page.site.keep_act(page.project, made)}", 303
    )


def describe(
    page: Page, words: str, done: Any, named: Mapping[str, str] = MappingProxyType({})
) -> Act:
    """`named`: the titles of the memories that a person chose, by id."""
    if isinstance(done, Configured):
        name, value = (done.settings[0][part] for part in ("name", "value"))
        before = {"unset": "1"} if done.before is None else {"value": done.before}
        reverse = "config", {"name": name, **before}
        return Act(words.format(f"{name} is {value}"), notes=done.problems, reverse=reverse)
    if not isinstance(done, Done):
        return Act(getattr(done, "summary", words), notes=getattr(done, "notes", ()))
    touched = done.plan.touched()
    chosen = [id for id in named if id in touched] or list(touched)
    if len(chosen) == 1:
        title = named.get(chosen[0]) or _title(page, done, chosen[0])
        subject = clip(one_line(title), 90)
    else:
        subject = counted(len(chosen), "memory", "memories")
    text = words.format(subject) if done.plan else done.summary
    return Act(text, (done.change,) if done.change else (), notes=done.notes)


def _title(page: Page, done: Done, id: str) -> str:
    """Of a memory that an act touched, also of one that it deleted."""
    for change in done.plan.changes:
        if isinstance(change, Create | Remove) and change.memory.id == id:
            return change.memory.title
    known = page.app.exact(id)
    return known[1].title if known else id


def read_values(op: Op, form: dict[str, list[str]]) -> dict[str, Any]:
    """By the operation's own parameters; what the form does not name keeps its default."""
    if missing := [p.name for p in op.parameters if p.required and not form.get(p.name)]:
        raise BadInput(
            f"Nothing was given for {missing[0]!r}.", hint="Go back and choose or type something."
        )
    return {p.name: _read(p, form[p.name]) for p in op.parameters if p.name in form}


def _read(p: Parameter, given: list[str]) -> Any:
    if get_origin(p.type) is tuple:
        return (
            tuple(given)
            if p.arg.many
            else tuple(part.strip() for part in given[-1].split(",") if part.strip())
        )
    # A browser sends every line's end as CR LF.
    value = given[-1].replace("\r\n", "\n")
    if p.type is bool:
        return value not in ("", "0", "off", "false")
    try:
        is_read = isinstance(p.type, type) and (p.type in (int, float) or issubclass(p.type, Enum))
        return p.type(value) if is_read else value
    except ValueError:
        raise BadInput(
            f"{p.name} cannot be {clip(value, 80)!r}.", hint="Go back and choose another."
        ) from None
