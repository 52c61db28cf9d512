"""Memory in the shapes that others read."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.base.errors import BadInput
from recollect.model.plan import Create, Link
from recollect.model.result import Scope
from recollect.ops import rules, transfer
from recollect.ops.app import App
from recollect.ops.transfer import Shape
from tests.ops.ask import made
from tests.ops.conftest import Opens
from tests.values import act, bridge, messages, plan, thread

OWN = "# Shop\n\n- Ours is a tea shop"


def test_every_memory_is_a_note_that_leads_to_its_neighbours(app: App, tmp_path: Path):
    one, other = thread("Login: the cookie", topics=("auth flow",)), thread("Cookie/../audit")
    app.writing(Scope.PROJECT).apply(
        plan(Create(one, messages(one, "It is set late.")), Create(other), Link(bridge(one, other))), act()
    )
    folder = tmp_path / "notes"

    transfer.export(app, str(folder), shape=Shape.MARKDOWN)

    login = (folder / "threads" / f"login-the-cookie-{one.id[-6:]}.md").read_text(encoding="utf-8")
    assert login.startswith(f'---\nid: "{one.id}"\nkind: "thread"\nstatus: "active"\ntags: ["auth-flow"]\n')
    assert "# Login: the cookie\n\nAbout Login: the cookie." in login
    assert "It is set late." in login
    assert f"- EXTENDS [[cookie-audit-{other.id[-6:]}]]" in login
    assert len(list(folder.rglob("*.md"))) == 2
    with pytest.raises(BadInput, match="there already"):
        transfer.export(app, str(folder), shape=Shape.MARKDOWN)


def test_rules_stand_in_a_section_and_the_rest_of_the_file_stays(app: App, tmp_path: Path):
    file = tmp_path / "AGENTS.md"
    file.write_text(OWN, encoding="utf-8")
    first = made(rules.add(app, "Use pnpm, never npm"))

    transfer.export(app, str(file), shape=Shape.AGENTS_MD)
    once = file.read_text(encoding="utf-8")
    transfer.export(app, str(file), shape=Shape.AGENTS_MD)
    assert file.read_text(encoding="utf-8") == once
    assert once.startswith(OWN)
    assert f"- Use pnpm, never npm <!-- {first[-6:]} -->" in once

    rules.retire(app, first)
    transfer.export(app, str(file), shape=Shape.AGENTS_MD)
    assert file.read_text(encoding="utf-8") == OWN


def test_what_a_person_wrote_into_the_section_is_kept(app: App, tmp_path: Path):
    file = tmp_path / "AGENTS.md"
    first = made(rules.add(app, "Use pnpm, never npm"))
    transfer.export(app, str(file), shape=Shape.AGENTS_MD)
    mine = "- Mine: ask Anna"
    text = file.read_text(encoding="utf-8").replace("<!-- recollect end -->", f"{mine}\n<!-- recollect end -->")
    file.write_text(text, encoding="utf-8")

    rules.retire(app, first)
    transfer.export(app, str(file), shape=Shape.AGENTS_MD)

    assert file.read_text(encoding="utf-8") == f"{mine}\n"


@pytest.mark.parametrize("shape", [Shape.MARKDOWN, Shape.AGENTS_MD])
def test_a_dry_run_writes_no_file(app: App, open_app: Opens, tmp_path: Path, shape: Shape):
    rules.add(app, "Use pnpm, never npm")

    told = transfer.export(open_app(dry_run=True), str(tmp_path / "x"), shape=shape)

    assert told.summary.startswith("Would write 1 ")
    assert not (tmp_path / "x").exists()


def test_half_of_our_marks_is_left_alone(app: App, tmp_path: Path):
    file = tmp_path / "AGENTS.md"
    file.write_text("<!-- recollect begin -->\n- a\n", encoding="utf-8")
    rules.add(app, "Use pnpm, never npm")

    with pytest.raises(BadInput, match="half of our marks"):
        transfer.export(app, str(file), shape=Shape.AGENTS_MD)
