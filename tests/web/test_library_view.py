"""The library and a memory's page: found, filtered, edited, put away in bulk, undone, walked through, and purged."""

import pytest
from playwright.sync_api import expect

from recollect.web import drawing
from tests.web.conftest import OpenPage
from tests.web.served import Ui


def known(ui: Ui, **filters: str) -> dict[str, str]:
    """The ids by title."""
    options = [part for name, value in filters.items() for part in (f"--{name}", value)]
    return {one["title"]: one["id"] for one in ui.world.json("list", *options)}


def id_of(ui: Ui, words: str) -> str:
    return next(id for title, id in known(ui).items() if words in title)


@pytest.mark.parametrize(
    ("query", "there", "not_there"),
    [
        ("", ["Use pnpm, not npm.", "Release checklist", "old admin"], []),
        ("?q=npm+or+pnpm", ["Use pnpm, not npm."], []),
        ("?q=backoffice", ["old admin"], []),
        ("?kind=note", ["Release checklist", "Payments"], ["pnpm, not npm"]),
        ("?status=archived", ["old admin"], ["Release checklist"]),
        ("?status=waiting", ["rather we use yarn"], ["old admin"]),
        ("?scope=user", ["Answer in English", "Release checklist"], ["Deploys go to staging"]),
        ("?topic=deploy", ["smoke test"], ["Answer in English"]),
        ("?source=repository", ["Payments"], ["smoke test"]),
        ("?q=webhook&kind=note", ["Payments"], ["Stripe sends event again"]),
        ("?q=backoffice&status=active", [], ["old admin"]),
        ("?q=zzzzqqq", ["Nothing matches"], ["<tr", "Edit"]),
        ("?since=2999-01-01", ["Nothing matches"], ["pnpm"]),
        ("?offset=5000", ["Nothing matches"], ["pnpm"]),
    ],
)
def test_memories_are_found_by_words_and_by_filters(
    ui: Ui, query: str, there: list[str], not_there: list[str]
):
    answer = ui.get(f"{ui.project}/library{query}")
    assert answer.status == 200
    listed = answer.body.partition("</form>\n\n")[2]
    assert [words for words in there if words not in listed] == []
    assert [words for words in not_there if words in listed] == []


def test_the_digits_that_lists_print_find_their_memory(ui: Ui):
    id = id_of(ui, "old admin")
    answer = ui.get(f"{ui.project}/library?q={id[-6:]}")
    listed = answer.body.partition("</form>\n\n")[2]
    assert "old admin" in listed
    assert "Release checklist" not in listed
    assert "1 memory found by id<" in " ".join(answer.body.split())


@pytest.mark.parametrize(
    "query", ["?kind=poem", "?status=x", "?since=yesterday", "?scope=<b>", "?source=me"]
)
def test_a_filter_that_does_not_exist_is_named(ui: Ui, query: str):
    answer = ui.get(f"{ui.project}/library{query}")
    assert answer.status == 400
    assert "That did not work" in answer.body


def test_searching_and_choosing_filters_in_the_browser(ui: Ui, open_page: OpenPage):
    tab = open_page(ui)
    tab.go(f"{ui.project}/library")
    tab.page.keyboard.press("/")
    tab.page.keyboard.type("prices in cents")
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator(".rows .title").first).to_have_text(
        "Prices are integers in cents, never floats."
    )
    tab.page.get_by_role("link", name="Clear").click()
    tab.page.get_by_label("Status").select_option("waiting in the inbox")
    expect(tab.page.locator(".rows .row")).to_have_count(3)
    assert "status=waiting" in tab.page.url


def test_a_row_is_edited_in_place_and_undone(own_ui: Ui, open_page: OpenPage):
    tab = open_page(own_ui)
    tab.go(f"{own_ui.project}/library?topic=deploy")
    tab.page.get_by_role("link", name="Edit The smoke test").click()
    tab.page.get_by_label("Text").fill("The smoke test is `make smoke`.\nIt takes five minutes.")
    tab.page.get_by_label("Topics").fill("deploy, smoke")
    tab.page.get_by_role("button", name="Save").click()
    expect(tab.page.locator("#bar")).to_contain_text("Changed: The smoke test")
    expect(tab.page.locator(".rows")).to_contain_text("five minutes")
    assert own_ui.world.json("show", id_of(own_ui, "smoke test"))["topics"] == ["deploy", "smoke"]
    tab.page.get_by_role("button", name="Undo").click()
    expect(tab.page.locator(".rows")).to_contain_text("four minutes")


@pytest.mark.parametrize("scripts", [True, False])
def test_several_are_archived_and_deleted_and_undone_at_once(
    own_ui: Ui, open_page: OpenPage, scripts: bool
):
    tab = open_page(own_ui, java_script_enabled=scripts)
    tab.go(f"{own_ui.project}/library")
    chosen = [
        "Answer in English, even when the question is in German.",
        "Use pnpm, not npm.",
        "Release checklist",
    ]
    for title in chosen:  # of both stores, and a file
        tab.page.get_by_label(f"Select {title}").check()
    tab.page.get_by_role("button", name="Archive the selected").click()
    expect(tab.page.locator("#bar")).to_contain_text("Archived: 3 memories")
    assert set(chosen) <= known(own_ui, status="archived").keys()
    tab.page.get_by_role("button", name="Undo").click()
    expect(tab.page.locator("#bar")).to_contain_text("Undone")
    assert not set(chosen) & known(own_ui, status="archived").keys()
    for title in chosen:
        tab.page.get_by_label(f"Select {title}").check()
    tab.page.get_by_role("button", name="Delete the selected").click()
    expect(tab.page.locator("#bar")).to_contain_text("Deleted: 2 memories")
    expect(tab.page.locator("#bar")).to_contain_text("is a note; edit its file instead")
    assert set(chosen) & known(own_ui).keys() == {"Release checklist"}
    tab.page.get_by_role("button", name="Undo").click()
    expect(tab.page.locator("#bar")).to_contain_text("Undone")
    assert set(chosen) <= known(own_ui).keys()


def test_two_pages_and_a_command_that_edit_one_memory(own_ui: Ui, open_page: OpenPage):
    id, one, other = id_of(own_ui, "smoke test"), open_page(own_ui), open_page(own_ui)
    for tab in (one, other):
        tab.go(f"{own_ui.project}/memory/{id}?edit=1")
    own_ui.world.run("edit", id, "--body", "From the command line.")
    own_ui.world.run("rate", id, "useful")  # changes no words
    one.page.get_by_label("Text").fill("From the first page.")
    one.page.get_by_role("button", name="Save").click()
    expect(one.page.locator("h1")).to_have_text("This memory has changed")
    assert "From the command line." in one.text()
    assert one.page.get_by_label("Text").input_value() == "From the first page."
    one.problems.clear()  # the browser names the refusal
    one.page.get_by_role("button", name="Keep what I wrote").click()
    expect(one.page.locator("#bar")).to_contain_text("Changed")
    assert own_ui.world.json("show", id)["body"] == "From the first page."
    other.page.get_by_label("Text").fill("From the second page.")
    other.page.get_by_role("button", name="Save").click()
    expect(other.page.locator("main")).to_contain_text("From the first page.")
    other.problems.clear()
    other.page.get_by_role("link", name="Keep what is there now").click()
    expect(other.page.locator("main")).to_contain_text("From the first page.")
    assert own_ui.world.json("show", id)["body"] == "From the first page."
    bodies = [
        one
        for entry in own_ui.world.json("log", id, "--diff")
        for one in entry.get("differences", [])
    ]
    assert "From the command line." in str(bodies), "nothing is lost"


def test_a_memorys_page_shows_all_that_is_known_of_it(ui: Ui, open_page: OpenPage):
    tab = open_page(ui)
    tab.go(f"{ui.project}/memory/{id_of(ui, 'Webhook secrets')}")
    text = tab.text()
    for words in (
        "told 1 time",
        "src/payments/webhook.ts",
        "changed since",
        "The smoke test",
        "created with 1 message",
    ):
        assert words in text
    tab.page.locator("svg a").nth(1).focus()
    tab.page.keyboard.press("Enter")
    expect(tab.page.locator("h1")).to_contain_text("smoke test")
    tab.go(f"{ui.project}/memory/{id_of(ui, 'Use pnpm')}")
    assert "no, we use pnpm here, not npm" in tab.text(".quote")
    assert "kept us from a second lock file" in tab.text("main")
    tab.go(f"{ui.project}/memory/{id_of(ui, 'Release checklist')}")
    assert tab.page.locator("main table td").all_inner_texts() == [
        "staging",
        "anyone",
        "production",
        "Anna or Ben",
    ]
    assert str(ui.world.root / "home" / "vault" / "release-checklist.md") in tab.text()
    assert tab.page.get_by_role("button", name="Save", exact=True).count() == 0


def test_a_memory_is_rated_muted_and_shown_again(own_ui: Ui, open_page: OpenPage):
    id, tab = id_of(own_ui, "Use pnpm"), open_page(own_ui)
    tab.go(f"{own_ui.project}/memory/{id}")
    tab.page.get_by_role("button", name="It did not help").click()
    expect(tab.page.locator("#history + ol")).to_contain_text("rated: not useful")
    tab.page.get_by_role("button", name="Never show this again").click()
    expect(tab.page.locator("#bar")).to_contain_text("Not shown again: Use pnpm")
    assert "Use pnpm, not npm." in known(own_ui, status="muted")
    tab.page.get_by_role("button", name="Show it again").click()
    expect(tab.page.get_by_role("button", name="Never show this again")).to_be_visible()
    assert not known(own_ui, status="muted")


def test_history_shows_differences_and_takes_back_any_of_them(own_ui: Ui, open_page: OpenPage):
    id, tab = id_of(own_ui, "smoke test"), open_page(own_ui)
    own_ui.world.run("edit", id, "--body", "first line\nsecond line\nthird line")
    own_ui.world.run("edit", id, "--topics", "deploy")
    tab.go(f"{own_ui.project}/memory/{id}")
    entries = tab.page.locator("#history + ol > li")
    expect(entries.nth(0).locator("del")).to_have_text("deploy, tests")
    assert "+second line" in entries.nth(1).locator("pre").inner_text().splitlines()
    entries.nth(1).get_by_role("button", name="Undo").click()
    expect(tab.page.locator(".words").first).to_contain_text("four minutes")
    assert own_ui.world.json("show", id)["topics"] == ["deploy"]
    expect(entries.nth(0)).to_contain_text("Undid edit")
    tab.page.get_by_role("button", name="Delete", exact=True).click()
    expect(tab.page.locator("#bar")).to_contain_text("Deleted: The smoke test")
    answer = own_ui.get(f"{own_ui.project}/memory/{id}")
    assert (answer.status, "deleted with 1 message" in answer.body) == (410, True)
    tab.page.get_by_role("button", name="Undo").click()
    expect(tab.page.locator(".rows")).to_contain_text("four minutes")


def test_nothing_is_purged_without_the_typed_word(own_ui: Ui, open_page: OpenPage):
    id, tab = id_of(own_ui, "smoke test"), open_page(own_ui)
    for typed in ("", "Purge", "purge ", "yes"):
        assert own_ui.do("forget", names=id, purge="1", confirm=typed).status == 400
    assert own_ui.do("forget", group="x").status == 400
    assert own_ui.world.json("show", id)["id"] == id
    tab.go(f"{own_ui.project}/memory/{id}")
    tab.page.get_by_text("Purge it").click()
    tab.page.get_by_label("Type the word purge").fill("purge")
    tab.page.get_by_role("button", name="Purge").click()
    expect(tab.page.locator("#bar")).to_contain_text("Erased")
    assert "smoke test" not in tab.text(".rows")
    assert "make smoke" not in own_ui.world.run("log", "--diff").stdout
    assert own_ui.get(f"{own_ui.project}/memory/{id}").status in (404, 410)


def test_a_memory_that_never_was_has_no_page(ui: Ui):
    for id in ("thread_20200101_000000_000000", "..%2F..%2Fetc", "%00", "x" * 500):
        assert ui.get(f"{ui.project}/memory/{id}").status in (400, 404)


def test_a_drawing_has_every_memory_once_in_its_frame():
    nodes = [{"id": str(n), "away": 0 if n == 0 else 1 if n < 8 else 2} for n in range(40)]
    edges = [{"source": str(n % 8), "target": str(n), "weight": n / 40} for n in range(1, 40)]
    placed, lines = drawing.place(nodes, edges)
    left, top, width, height = drawing.frame(placed)
    assert len({(one.x, one.y) for one in placed}) == len(nodes)
    assert len(lines) == len(edges)
    assert all(left < one.x < left + width and top < one.y < top + height for one in placed)
    assert drawing.place(nodes[:1], [])[0][0].node["id"] == "0"
