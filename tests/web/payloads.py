"""Text that wants to be more than text: script, markup, links, forms and streams, for every place that holds words.

Whatever runs sets `window.pwned`; whatever is fetched is asked of a host that does not exist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

from recollect.base.clock import SystemClock
from recollect.base.text import storable
from recollect.cli.stage import Stage, operate
from recollect.model.codec import FIELDS_OF, decode_memory
from recollect.model.memory import Anchor, Bridge, BridgeType, Kind, Memory, Message, Rating, Status
from recollect.model.plan import Create, Link, Plan
from recollect.model.result import Scope
from recollect.ops.steering import Verdict
from tests.naughty import NAUGHTY
from tests.values import act
from tests.web.sample import Call, Reply, Step, bash, talk

RUN = "window.pwned=1"
THERE = "//elsewhere.invalid"
SCRIPT = (
    f"<script>{RUN}</script>", f"</script><script>{RUN}</script>", f"<ScRiPt/x>{RUN}</sCrIpT >",
    f"<script src={THERE}/a.js></script>", f'"><script>{RUN}</script>', f"'><img src=x onerror={RUN}>",
    f"<img src=x onerror={RUN}>", f"<svg/onload={RUN}>", f"<svg><script>{RUN}</script></svg>",
    f"<body onload={RUN}>", f"<details open ontoggle={RUN}>x</details>", f"<input autofocus onfocus={RUN}>",
    f'" autofocus onfocus="{RUN}" x="', f"' autofocus onfocus='{RUN}' x='", f"` onfocus={RUN} autofocus `",
    f"<iframe srcdoc='<script>parent.{RUN}</script>'>", f"<iframe src=javascript:parent.{RUN}></iframe>",
    f"<object data=javascript:{RUN}>", f"<embed src={THERE}>", f"<video><source onerror={RUN}></video>",
    f"<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror={RUN}&gt;'>",
    f"<noscript><p title='</noscript><img src=x onerror={RUN}>'>", f"<template><script>{RUN}</script></template>",
    f"<a href=javascript:{RUN}>x</a>", f"&lt;script&gt;{RUN}&lt;/script&gt;", f"\\x3cscript\\x3e{RUN}\\x3c/script\\x3e",
    f"{{{{ ''.__class__ }}}}{{% raw %}}<script>{RUN}</script>", f"${{{RUN}}} #{{{RUN}}} <%= {RUN} %>",
)  # fmt: skip
MARKUP = (
    "</main></body></html>", "</div></section></article></main>", "</p></li></ul>", "</title></head><body>",
    "</textarea></form>", "</option></select>", "</button></a>", "</summary></details>", "</td></tr></table>",
    "</text></svg></a></g>", "<!--", "--><!--", "<![CDATA[", "]]>", "<plaintext>", "<xmp>", "<style>*{display:none}",
    f"<style>@import '{THERE}/a.css'</style>", f"<link rel=stylesheet href={THERE}/a.css>", f"<base href={THERE}/>",
    f"<meta http-equiv=refresh content='0;url=http:{THERE}/'>", f"<form action={THERE}><button>Accept</button></form>",
    f"<button formaction={THERE}>x", "<input type=hidden name=back value=//x>", "<p style='position:fixed;inset:0'>",
    "<h1>", "<table><tr><td>", "<select><option>", "<main id=x>", "<dialog open>", "<marquee>", "\x00<b>", "<b\x00>",
)  # fmt: skip
LINKS = (
    f"[x](javascript:{RUN})", f"[x](JaVaScRiPt:{RUN})", f"[x](java\tscript:{RUN})", f"[x](&#106;avascript:{RUN})",
    f"[x](vbscript:{RUN})", f"[x](data:text/html,<script>{RUN}</script>)", f"<javascript:{RUN}>",
    f"![x](http:{THERE}/a.png)", f"![x](data:image/svg+xml,<svg/onload={RUN}>)", f"[x]\n\n[x]: javascript:{RUN}",
    f"[x](http:{THERE} \"' onmouseover='{RUN}\")", f'![x](x.png"onerror="{RUN})', f"http:{THERE}/<b {RUN}>",
    f"[a](http://[b](javascript:{RUN}))", f"`<script>{RUN}</script>`", f"```html\n<script>{RUN}</script>\n```",
    f"```\"><script>{RUN}</script>\nx\n```", f"[[../../etc/passwd|<script>{RUN}</script>]]", "//elsewhere.invalid/path",
)  # fmt: skip
STREAMS = (
    f"x\n\nevent: message\ndata: <script>{RUN}</script>\n\n", "x\r\nSet-Cookie: a=b", "x\r\n\r\n<script>",
    "\u2028\u2029<script>", "\u202e<b>", "\ufeff<script>", "\x1b]0;x\x07", "%0d%0aSet-Cookie:%20a=b", "x\x85y",
)  # fmt: skip
PAYLOADS = (*SCRIPT, *MARKUP, *LINKS, *STREAMS)
# What can be the name of a file or folder.
NAMES = tuple(
    dict.fromkeys(
        text.replace("/", "\u2215")[:80] for text in (*SCRIPT, *MARKUP) if "\x00" not in text
    )
)


def fill(root: Path) -> Path:
    """A project whose every word is one of these, its folder's name included; where it is."""
    begin = SystemClock().now().plus(days=-3)
    with Stage(root, f"shop<img src=x onerror={RUN}>\"'", begin=begin) as stage:
        talk(stage, f"s-1<img src=x onerror={RUN}>\"'", *_session(PAYLOADS[::2]))
        _fill_store(stage)
        stage.wait(3_600)
        talk(stage, f's-2"><img src=x onerror={RUN}>', *_session(PAYLOADS[1::10]))
        for scope in Scope:
            _fill_notes(stage, project=scope is Scope.PROJECT)
        for text in PAYLOADS[:10]:
            operate("focus", stage.own, text[:80])
            pinned = operate(
                "pin", stage.own, text, title=text[:200], topics=(text[:80],)
            ).plan.touched()[0]
            operate("rate", stage.own, pinned, Verdict.NOT_USEFUL, reason=text[:500])
        return stage.folder


def _fill_store(stage: Stage) -> None:
    """Every field of every kind with every payload, in each status; and what only looks like trouble."""
    app, texts = (
        stage.own,
        cycle((*PAYLOADS, *(storable(text) for text in NAUGHTY if len(text) < 2_000))),
    )
    for scope in Scope:
        for kind in Kind:
            changes: list[Any] = []
            before: Memory | None = None
            for status in (*Status, *[Status.ACTIVE] * 50, *[Status.CANDIDATE] * 25):
                made = _memory(app, kind, status, texts)
                said = [
                    Message(
                        app.mint.draw("message"),
                        made.id,
                        made.created_at.plus(seconds=number),
                        next(texts),
                        next(texts),
                    )
                    for number in range(2 if kind is Kind.THREAD else 0)
                ]
                changes.append(Create(made, tuple(said)))
                if before is not None:
                    type = BridgeType.REPLACES if status is Status.CANDIDATE else BridgeType.EXTENDS
                    changes.append(
                        Link(Bridge(made.id, before.id, type, 0.5, made.created_at, next(texts)))
                    )
                before = made if status is Status.ACTIVE else before
            app.writer(scope).apply(
                Plan.of(changes), act("import", summary=next(texts), at=app.clock.now())
            )


def _memory(app: Any, kind: Kind, status: Status, texts: Iterator[str]) -> Memory:
    """Whatever fields there are: those that hold words hold one of ours."""
    now = app.clock.now().iso()
    data: dict[str, Any] = {"kind": str(kind), "id": app.mint.draw(str(kind)), "created_at": now}
    for field in FIELDS_OF[kind]:
        if field.made or field.name in data:
            continue
        if field.type is str:
            data[field.name] = next(texts)
        elif field.type == tuple[str, ...]:
            data[field.name] = [next(texts), next(texts)]
    made = decode_memory(data | {"status": str(status)})
    at = made.created_at
    return replace(
        made,
        anchors=(Anchor(next(texts), "0" * 16), Anchor(next(texts))),
        ratings=(Rating(False, at, next(texts)),),
    )


def _session(texts: Sequence[str]) -> Iterator[Step]:
    for start in range(0, len(texts), 9):
        some = texts[start : start + 9]
        yield f"Always answer with {some[0]} and never with npm.\n" + "\n".join(some)
        yield bash(f"echo {some[0]}", "\n".join(some), failed=start % 2 == 0)
        yield Call(
            some[0], {"file_path": some[0], **{text: text for text in some}}, "\n".join(some)
        )
        yield Reply("We decided to write " + "\n\n".join(some))


def _fill_notes(stage: Stage, *, project: bool) -> None:
    folder = stage.folder / ".ai" / "memory" if project else stage.own.home.vault
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, text) in enumerate(zip(NAMES, cycle(PAYLOADS), strict=False)):
        body = f"---\ntags: ['{name}']\n---\n# {text}\n\n{text}\n\n" + "\n\n".join(
            PAYLOADS[number :: len(NAMES)]
        )
        (folder / f"{number} {name}.md").write_bytes(body.encode("utf-8", "surrogatepass"))
    operate("note sync", stage.own)
