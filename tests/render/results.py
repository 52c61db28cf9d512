"""One result of every kind, small."""

from dataclasses import replace

from recollect.model import plan as plans
from recollect.model import report as p
from recollect.model import result as r
from recollect.model import timeline as t
from recollect.model.codec import Json
from recollect.model.memory import Kind, Status, Thread
from recollect.model.plan import (
    Alias,
    Create,
    FileChange,
    Link,
    Move,
    Remove,
    Say,
    Unalias,
    Unlink,
    Unsay,
    Update,
)
from recollect.model.query import Drop, Hit
from recollect.model.session import Ending
from tests.values import NOW, bridge, messages, plan, renamed, rule, thread

DARK = thread("Dark mode", days_old=2, topics=("ui", "themes"), pinned=True)
TABS = rule("Use tabs")
OTHER = thread("Light mode")
COUNTS = r.Counts((("thread", "active", 2),), {}, 1, 2, 3, 4, 5, 4_096)
EVERY_CHANGE = plan(
    Create(DARK), Remove(OTHER), Update.between(DARK, renamed(DARK, "Dimmed")),
    Move(("message_1", "message_2"), DARK.id, OTHER.id), Say(DARK.id, messages(DARK, "More.")),
    Unsay(DARK.id, messages(DARK, "More.", "And more.")), Link(bridge(DARK, OTHER)), Unlink(bridge(OTHER, DARK)),
    plans.UpdateAll((DARK.id, OTHER.id), {"status": "active"}, {"status": "archived"}),
    Alias(OTHER.id, DARK.id), Unalias(OTHER.id, DARK.id), FileChange.between(DARK.id, "a.md", "old", "a.md", "new"),
)  # fmt: skip
DONE = r.Done(
    "Pinned as x (weight=1.30)",
    EVERY_CHANGE,
    r.Scope.PROJECT,
    "change_1",
    False,
    ("Kept out: bearer.",),
)


def shown(memory: Thread = DARK) -> r.Shown:
    joined = ((bridge(memory, OTHER), "Light mode"), (bridge(OTHER, memory), "Light mode"))
    card = r.Card(memory, 0.85, r.Scope.PROJECT)
    return r.Shown(card, OTHER.id, messages(memory, "Said apart."), joined, (OTHER.id,))


_HIT = Hit(DARK, 0.784, (("match", 0.8), ("near", 0.6)), shown=("Dark mode is on.",))
_FOUND = (r.Recollection(r.Scope.PROJECT, _HIT, 0.85),)
FOUND = r.Found("recall_1", "dark", NOW, _FOUND, (), "words and vectors", 3.21)
RECALLED = r.Recalled(FOUND, ((bridge(DARK, OTHER), "Dark mode", "Light mode"),), 3)
_LOGGED_HIT: Json = {
    "id": DARK.id, "title": "Dark mode", "lane": "user", "score": 0.784, "components": {"match": 0.8, "near": 0.6},
}  # fmt: skip
LOGGED: dict[str, Json] = {
    "id": "recall_1", "at": NOW.iso(), "query": "dark", "how": "words and vectors", "ms": 3.21,
    "hits": [_LOGGED_HIT], "dropped": [{"id": TABS.id, "reason": "is a rule"}],
}  # fmt: skip

_CANDIDATE = p.Candidate(
    DARK.id, "Dark mode", "thread", "project", "user", 0.8, 0.8, True, "", "Because it shares `dark`.", "It is on.", {}
)  # fmt: skip

_SESSION = t.SessionRow(
    "0f1e2d3c-aaaa", "Claude Code", NOW, NOW.plus(seconds=90), 9, 2, 1, 120, True
)
_TOLD = t.Told(
    "prompt",
    NOW,
    "[recollect]\n- a rule",
    6,
    (t.Reason(TABS.id, "Use tabs", "Because.", "", {"near": 0.4}),),
    {},
)
_TURN = t.TurnSteps(
    9, NOW, "Fix the cart", told=(_TOLD, replace(_TOLD, text="", reasons=(), left_out={"it is muted": (DARK.id,)})),
    calls=(t.CallStep("c1", "Bash", "make"), t.CallStep("c2", "Bash", "make test", Ending.FAILURE, "no", (_TOLD,))),
    all_calls=5, failed_calls=1, reply="Done.", ended=Ending.SUCCESS, helped=(TABS.id,),
    heard=(t.HeardSentence("use tabs", "Use tabs.", "it reads like one", True, TABS.id, Status.ACTIVE),
           t.HeardSentence("tabs?", "Tabs?", "it is a question", True)),
    kept=(t.KeptMemory(DARK.id, Kind.THREAD, "Dark mode", Status.ACTIVE),
          t.KeptMemory(TABS.id, Kind.RULE, "Use tabs", Status.CANDIDATE)),
)  # fmt: skip

RESULTS: tuple[r.Result, ...] = (
    r.Cards((r.Card(DARK, 0.85, r.Scope.PROJECT),), "threads"),
    r.Cards((r.Card(TABS, 1.0, r.Scope.USER),), "rules"),
    r.Cards((), "threads"),
    shown(),
    FOUND,
    replace(FOUND, explained=True, drops=(Drop(TABS.id, "is a rule"),)),
    r.Found("recall_2", "nothing", NOW, (), (), "words alone: The model is not there."),
    RECALLED,
    r.Recalled(r.Found("recall_2", "nothing", NOW, (), (), "words and vectors"), (), 0),
    r.Reasons((LOGGED,), DARK.id),
    r.Reasons(()),
    DONE,
    r.Done("Nothing to change.", plan(), r.Scope.USER, None, True),
    r.Suggested(
        ({"thread_a": "a", "thread_b": "b", "similarity": 0.9, "reason": "Both about x", "command": "ai_merge"},),
        ({"thread_id": "a", "reason": "drifted", "topics_to_split": ["x"], "command": "ai_split('a')"},),
        ({"topic": "x", "last_mentioned": "just now", "thread_count": 1, "command": "ai_recall('x')"},),
        {"active_threads": 2, "context_pressure": 0.2, "recommendation": "Healthy state, no action needed"},
        {"merge_candidates": 30, "split_candidates": 1}, True, ("Merged a into b.",), ("A note.",),
    ),
    r.Compacted(
        "normal", False,
        ({"action": "merge", "threads": ["a", "b"], "similarity": 0.9},
         {"action": "archive", "thread": "c", "reason": "age"}),
        {"active_threads": 3, "total_weight": 2.5}, {"active_threads": 1, "total_weight": 0.9}, r.Scope.PROJECT,
        "change_1", ("A note.",),
    ),
    r.History(((r.Scope.PROJECT, r.Entry("change_1", NOW, "pin", "user", "Pinned", (DARK.id,), None, "change_2")),)),
    p.Outcomes((p.RecordedOutcome(NOW, "failure", "Bash: npm test", "ENOENT", "s-1", ((TABS.id, "Use tabs"),)),), 2),
    p.Outcomes((), 0),
    r.History(()),
    r.Overview("0.1", "/h", "shop", "/p", ((r.Scope.PROJECT, "/h/m.db", COUNTS),), 1, ("/h/set-aside/m.db",), 2),
    r.Overview("0.1", "/h", None, None, (), 0, (), 0),
    r.Overview("0.1", "/h", None, None, (), 0, (), 0, embedding=r.Embedding("/m", "m:1", 40, 10, 30)),
    r.Overview("0.1", "/h", None, None, (), 0, (), 0, embedding=r.Embedding("/m", "", problem="It is not there.")),
    r.Verified(((r.Scope.PROJECT, "/h/m.db", (r.Finding("memory", "thread_1", "not what was written"),)),)),
    r.Verified(((r.Scope.PROJECT, "/h/m.db", ()),)),
    r.Verified(()),
    r.Checkup((r.Check("home", r.Mark.GOOD, "fine"), r.Check("disk", r.Mark.BAD, "full", "free some space"))),
    r.Configured(({"name": "MEMORY_X", "value": "1", "source": "default", "reason": "Because."},), ("line 1: wrong",)),
    r.Summary("Wrote it.", {"file": "x", "lines": 3}, ("A note.",)),
    p.Activity((p.Happening("change_1", NOW, "kept", "noted: Use tabs", (TABS.id,), change="change_1"),)),
    p.Activity(()),
    p.Trial("deploy", 0.5, "[recollect]", 3, (_CANDIDATE, replace(_CANDIDATE, told=False, left_out="it is muted")),
            ({"id": TABS.id, "title": "Use tabs", "why": "it waits in the inbox"},), "words and vectors", ("A note.",)),
    p.Trial("ok", 0.5, "", 0),
    p.Figures((p.Day("2026-02-01", 4, 1, 2, 120, 1),), {"rule": 2}, {"user": 2},
              {"prompt": {"times": 4, "p50": 20, "p95": 40}}, {"2026-02-01": {"classify": (1, 900)}},
              (p.StoreSize("project", 4_096, NOW), p.StoreSize("user", 4_096, None))),
    p.Figures((p.Day("2026-02-01"),), {}, {}),
    t.Sessions((_SESSION, replace(_SESSION, has_transcript=False)), 30),
    t.Sessions((), 0),
    t.Timeline(_SESSION, (t.TurnSteps(0, NOW, "", told=(_TOLD,)), _TURN), 9, "Its transcript is gone."),
    t.Timeline(_SESSION, (), 0),
    r.Tour((r.Step("Why.", "recollect pin x", DONE),)),
)  # fmt: skip
