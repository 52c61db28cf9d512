"""Every naughty string in every text argument: taken, or refused in our own words; never anything else."""

from collections.abc import Callable
from contextlib import suppress

import pytest

from recollect.app.core import App
from recollect.base.errors import BadInput, NotFound, RecollectError, StoreReadOnly
from recollect.base.text import storable
from recollect.model.result import Result, Scope
from recollect.ops import forget, memories, past_sessions, recall, rules, steering, transfer, upkeep
from tests.naughty import NAUGHTY
from tests.ops.ask import kept, pinned

EXPECTED = (BadInput, NotFound, StoreReadOnly)

TAKES_TEXT: dict[str, Callable[[App, str, str], Result]] = {
    "pin": lambda app, id, text: memories.pin(app, text, title=text, topics=(text,)),
    "focus": lambda app, id, text: steering.focus(app, text),
    "unfocus": lambda app, id, text: steering.unfocus(app, text),
    "rate": lambda app, id, text: steering.rate(app, id, steering.Verdict.USEFUL, reason=text),
    "suggestions": lambda app, id, text: steering.suggestions(app, text),
    "rule add": lambda app, id, text: rules.add(app, text, topics=(text,)),
    "search": lambda app, id, text: recall.search(app, (text, text), topic=text),
    "search words": lambda app, id, text: recall.search(app, (text,)),
    "search since": lambda app, id, text: recall.search(app, ("x",), since=text),
    "search until": lambda app, id, text: recall.search(app, ("x",), until=text),
    "recall": lambda app, id, text: recall.recall(app, (text,)),
    "why": lambda app, id, text: recall.why(app, text),
    "show": lambda app, id, text: memories.show(app, text),
    "threads": lambda app, id, text: memories.threads(app, topic=text),
    "rule list": lambda app, id, text: rules.listing(app, topic=text),
    "edit": lambda app, id, text: memories.edit(app, id, title=text, body=text, topics=text),
    "edit id": lambda app, id, text: memories.edit(app, text, body="x"),
    "archive": lambda app, id, text: memories.archive(app, (text,)),
    "restore": lambda app, id, text: memories.restore(app, (text,)),
    "delete": lambda app, id, text: memories.delete(app, (text,)),
    "log": lambda app, id, text: memories.log(app, text or "-"),
    "undo": lambda app, id, text: memories.undo(app, text or "-"),
    "purge": lambda app, id, text: forget.erase(app, (text,)),
    "purge group": lambda app, id, text: forget.erase(app, group=text or "-"),
    "link": lambda app, id, text: memories.link(app, id, text),
    "unlink": lambda app, id, text: memories.unlink(app, text, id),
    "merge": lambda app, id, text: memories.merge(app, id, text),
    "split": lambda app, id, text: memories.split(app, id, topics=(text,)),
    "split id": lambda app, id, text: memories.split(app, text),
    "import jsonl": lambda app, id, text: transfer.import_jsonl(app, text),
    "import sessions": lambda app, id, text: past_sessions.import_past(app, text.replace("/", "_") or "-"),
    "import sessions since": lambda app, id, text: past_sessions.import_past(app, since=text),
    "attach": lambda app, id, text: upkeep.attach(app, text),
}


@pytest.mark.parametrize("name", TAKES_TEXT)
def test_no_text_breaks_an_operation(app: App, name: str):
    id = pinned(app, "An anchor.")
    app.dry_run = name == "edit"  # each would be on top of the one before

    for text in NAUGHTY:
        with suppress(*EXPECTED):
            TAKES_TEXT[name](app, id, text)

    app.dry_run = False
    assert kept(app, id).body == "An anchor."
    assert upkeep.verify(app).clean


def test_what_was_pinned_is_what_was_given_and_can_be_found_again(app: App):
    given = {}
    for text in NAUGHTY:
        with suppress(RecollectError):
            given[pinned(app, text)] = text

    assert len(given) > len(NAUGHTY) * 0.9
    for id, text in given.items():
        clean = app.redactor.clean(storable(text)).text
        assert kept(app, id).body == clean
    assert len(list(app.reader(Scope.PROJECT).each())) == len(given)


@pytest.mark.parametrize("text", ["getUserName", "日本語テキスト", "русский", "O'Reilly", "C++", "NEAR(a b, 2)", 'a"b'])
def test_a_rule_of_odd_words_said_twice_is_still_one(app: App, text: str):
    rules.add(app, text)
    rules.add(app, text)
    assert [card.memory.seen for card in rules.listing(app).cards] == [2]
