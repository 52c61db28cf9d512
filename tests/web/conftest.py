"""One shop, one `recollect ui` and one Chromium for all tests of a worker that leave things as they find them. A test
that writes has a shop of its own (`own_ui`)."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.web import sample
from tests.web.chromium import PATIENCE_MS, Tab, launched, set_running_loop
from tests.web.served import Ui, World, list_pages, running, scratch_world

OpenPage = Callable[..., Tab]


@pytest.fixture(scope="session")
def common_browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def browser(common_browser: Browser) -> Iterator[Browser]:
    set_running_loop(common_browser._impl_obj._loop)
    yield common_browser
    set_running_loop(None)


@pytest.fixture(scope="session")
def shop() -> Iterator[World]:
    """Looked at, never changed."""
    with scratch_world() as world:
        sample.fill(world.root)
        yield world


@pytest.fixture(scope="session")
def ui(shop: World) -> Iterator[Ui]:
    with running(shop) as served:
        yield served.sign_in()


@pytest.fixture(scope="session")
def filled_shop() -> Iterator[Path]:
    """Filling one takes seconds, copying it none."""
    root = Path(tempfile.mkdtemp(prefix="rw")).resolve()
    sample.fill(root)
    filled = root.rename(root.with_suffix(".filled"))
    yield filled
    shutil.rmtree(filled)


@pytest.fixture
def own_ui(filled_shop: Path) -> Iterator[Ui]:
    with scratch_world(filled_shop) as world, running(world) as served:
        yield served.sign_in()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[OpenPage]:
    """A new window, signed in. Where something went wrong on it, the test fails."""
    tabs: list[Tab] = []
    with ExitStack() as windows:

        def make(ui: Ui, **options: object) -> Tab:
            given = {
                "viewport": {"width": 1280, "height": 800},
                "timezone_id": "UTC",
                "locale": "en-GB",
                **options,
            }
            window = windows.enter_context(browser.new_context(**given))  # type: ignore[arg-type]
            window.set_default_timeout(PATIENCE_MS)
            name, _, value = ui.cookie.partition("=")
            window.add_cookies(
                [
                    {
                        "name": name,
                        "value": value,
                        "domain": "127.0.0.1",
                        "path": f"{ui.root}/",
                        "httpOnly": True,
                        "sameSite": "Strict",
                    }
                ]
            )
            tabs.append(Tab(window.new_page(), ui.base))
            return tabs[-1]

        yield make
    assert not [problem for tab in tabs for problem in tab.problems]


@pytest.fixture(scope="session")
def pages(ui: Ui) -> list[str]:
    """The address of every view, and of one of each thing that has a page."""
    return list_pages(ui)
