"""A shop's memory, as two weeks of work leave it: made by the real hooks and operations, for tests and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from recollect.base.clock import SystemClock
from recollect.cli.stage import Stage, operate
from recollect.model.memory import BridgeType
from recollect.ops.steering import Verdict

DAY_S = 86_400
_NOTE = """# Release checklist

1. Run `pnpm test` and `pnpm lint`.
2. Deploy to **staging**, then click through the checkout.
3. Tag the release; the Payments note says whom to tell.

| where | who |
|---|---|
| staging | anyone |
| production | Anna or Ben |
"""
_PAYMENTS = """# Payments

Stripe's webhooks arrive **twice** now and then. `src/payments/webhook.ts` drops the second by its event id.

- Refunds need a reason.
- Test cards: `4242…` succeeds, `4000…0002` is declined.
"""


class Call(NamedTuple):
    tool: str
    given: dict[str, str]
    output: str = "ok"
    failed: bool = False


class Reply(NamedTuple):
    text: str


Step = str | Call | Reply  # what the person said, what the agent ran, what it answered


def talk(stage: Stage, session: str, *steps: Step) -> None:
    """One session from its start to its end: its hooks run, its transcript is written and read."""
    begun = _told(stage.hook("SessionStart", session, source="startup"))
    for number, step in enumerate(steps):
        id = f"toolu_{session}_{number}"
        match step:
            case str():
                told = stage.hook(
                    "UserPromptSubmit", session, prompt=step, prompt_id=f"{session}-{number}"
                )
                stage.play(
                    session, [*begun, ("user", {"type": "text", "text": step}), *_told(told)]
                )
                begun = []
            case Call():
                told = stage.hook(
                    "PreToolUse",
                    session,
                    tool_name=step.tool,
                    tool_use_id=id,
                    tool_input=step.given,
                )
                used = {"type": "tool_use", "id": id, "name": step.tool, "input": step.given}
                result = {
                    "type": "tool_result",
                    "tool_use_id": id,
                    "content": step.output,
                    "is_error": step.failed,
                }
                stage.play(session, [*_told(told), ("assistant", used), ("user", result)])
            case Reply():
                stage.play(session, [("assistant", {"type": "text", "text": step.text})])
    stage.hook("Stop", session)
    stage.hook("SessionEnd", session, reason="exit")
    stage.wait(60)
    operate("catch-up", stage.own)


def _told(printed: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What a hook added, as the client writes it down."""
    text = printed.get("hookSpecificOutput", {}).get("additionalContext", "")
    return [("attachment", {"type": "hook_additional_context", "content": [text]})] if text else []


def bash(command: str, output: str = "ok", *, failed: bool = False) -> Call:
    return Call("Bash", {"command": command}, output, failed)


_SESSIONS: tuple[tuple[float, str, Sequence[Step]], ...] = (
    (3.0, "9f31c2d4-checkout", (
        "Add a checkout page with Stripe. Prices are integers in cents, never floats.",
        Call("Read", {"file_path": "src/cart.ts"}, "export const total = …"),
        bash("npm install stripe", "added 1 package"),
        "no, we use pnpm here, not npm",
        bash("pnpm add stripe", "Done in 2.1s"),
        Call("Edit", {"file_path": "src/checkout.ts", "old_string": "a", "new_string": "b"}),
        Reply("The checkout page takes cards through Stripe. Totals are summed in cents in `src/checkout.ts`."),
    )),
    (0.2, "b7720e11-tests", (
        "run the tests",
        bash("pnpm test", "Error: connect ECONNREFUSED 127.0.0.1:5432\ntests failed", failed=True),
        bash("docker compose up -d db && pnpm test", "42 passed"),
        Reply("The tests need the database. I started it, and all 42 pass."),
        "Good. I'd rather you ran the tests before you say it is done. Commit it now.",
        bash("git commit -am 'Checkout with Stripe'", "[main 3c1f2ab] Checkout with Stripe"),
        Reply("Committed as 3c1f2ab."),
    )),
    (2.1, "c05d9a70-webhook", (
        "The webhook books some orders twice, why?",
        Call("Read", {"file_path": "src/payments/webhook.ts"}, "app.post('/webhook', book)"),
        Reply("Stripe sends an event again when the answer is late. We decided to drop repeats by their event id."),
        "Please don't touch the migrations folder without asking me. And you should keep functions short.",
        Call("Edit", {"file_path": "src/payments/webhook.ts", "old_string": "book", "new_string": "bookOnce"}),
        bash("pnpm test", "44 passed"),
        Reply("Orders are booked once now; a test sends the same event twice."),
    )),
    (3.9, "d1a94be2-speed", (
        "The product list is slow. Always write commit messages in the imperative.",
        bash("pnpm why lodash", "lodash 4.17.21"),
        Reply("The list asked the database once per product. It now loads all prices in one query."),
        "Fine. I would rather we use yarn, not pnpm. Then look at the images, they are too large.",
        bash("pnpm add sharp", "Done in 3.4s"),
        Reply("Images are resized once, when they are uploaded."),
    )),
    (0, "e8806f3b-deploy", (
        "How do we deploy the shop?",
        bash("npm run build", "built in 8.2s"),
        Reply("Built. The smoke test passed, so I would deploy to production now."),
        "no, deploys go to staging first, always",
        bash("./deploy staging", "shop 1.4.2 is live on staging"),
        Reply("Deployed to staging."),
    )),
)  # fmt: skip


def fill(root: Path) -> None:
    """The shop, and a second project; both in the home `root/home`."""
    begin = SystemClock().now().plus(seconds=-11 * DAY_S)
    with Stage(root, "shop", begin=begin) as shop, Stage(root, "blog", begin=begin) as blog:
        _fill_shop(shop)
        operate("pin", blog.own, "Posts are written in British English.", topics=("style",))


def _fill_shop(shop: Stage) -> None:
    app = shop.own
    for name in ("src/cart.ts", "src/checkout.ts", "src/payments/webhook.ts"):
        path = shop.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"// {name}\n", encoding="utf-8")
    _did("note save", app, _NOTE, tags=("release",))
    _did("note save", app, _PAYMENTS, tags=("payments",), project=True)
    *before, (_, last, steps) = _SESSIONS
    for days, session, said in before:
        shop.wait(days * DAY_S)
        talk(shop, session, *said)
    shop.wait(DAY_S / 2)
    staging = _did(
        "pin",
        app,
        "The smoke test is `make smoke`; it takes four minutes.",
        topics=("deploy", "tests"),
    )
    webhook = _did("pin", app, "Webhook secrets are rotated on the first of each month, see src/payments/webhook.ts.",
                   topics=("payments",))  # fmt: skip
    _did("link", app, staging, webhook, type=BridgeType.DEPENDS)
    _did("rule add", app, "Answer in English, even when the question is in German.", user=True)
    rule = next(card.memory for card in operate("rules", app).cards if "pnpm" in card.memory.body)
    operate("rate", app, rule.id, Verdict.USEFUL, reason="kept us from a second lock file")
    (shop.folder / "src/payments/webhook.ts").write_text("// changed since\n", encoding="utf-8")
    old = _did("pin", app, "The old admin lives at /backoffice until March.", topics=("admin",))
    operate("forget", app, (old,))
    half_an_hour_ago = SystemClock().now().plus(seconds=-1_800)
    shop.wait((half_an_hour_ago.micros - app.clock.now().micros) / 1_000_000)
    talk(shop, last, *steps)
    operate(
        "reindex", app
    )  # with every vector: what is found does not depend on how far the daemon is


def _did(name: str, app: Any, *args: Any, **options: Any) -> str:
    """The id of what an operation made."""
    done = operate(name, app, *args, **options)
    return str(next(iter(done.plan.touched())))
