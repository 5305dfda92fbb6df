"""The main user paths in a real Chromium, on a real server with PostgreSQL. The tests of charts use SQLite, and
``test_answers.py`` uses both."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from tests.acceptance.page.studies import HOSTILE, checked, hostile, tuned
from tests.acceptance.page.tabs import DESKTOP, PHONE, accessible, drawn, tab
from tests.database_pool import DatabasePool
from tests.integration.api.conftest import DEFINITION
from tests.servers import free_port, server_on, serving

CHARTS = ("history", "gap", "importance", "parallel", "slices", "contour", "partition", "timeline")
SCREENSHOTS = os.environ.get("ADABKB_SCREENSHOTS")
"""The folder for screenshots, such as docs/images, which has those of the documentation."""


@pytest.fixture(scope="module")
def database(database_pool: DatabasePool) -> Iterator[str]:
    """A PostgreSQL database with the present schema, for all tests of this module."""
    with database_pool.borrowed() as url:
        yield url


@pytest.fixture(scope="module")
def site(database: str) -> Iterator[str]:
    """A server with two studies."""
    with server_on(database) as address:
        with httpx.Client(base_url=address, timeout=60) as api:
            tuned(api)
            hostile(api)
        yield address


def picture(page: Page, name: str, height: int = 1240) -> None:
    """Save its upper part, for the documentation."""
    if SCREENSHOTS and page.viewport_size:
        there = min(height, page.evaluate("document.documentElement.scrollHeight"))
        area = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": there}
        page.screenshot(path=Path(SCREENSHOTS) / f"page-{name}.png", full_page=True, clip=area)  # type: ignore[arg-type]


PAGES = {
    "studies": "/",
    "new": "/new",
    "study": "/studies/digits",
    "results": "/studies/digits/results?sort=value&order=asc",
    "trial": "/studies/digits/trials/20",
}


@pytest.mark.parametrize(
    ("size", "scheme", "names"),
    [
        (DESKTOP, "light", PAGES),
        (PHONE, "dark", ("results",)),
        pytest.param(PHONE, "dark", PAGES, marks=pytest.mark.long),
    ],
    ids=["desktop", "phone", "phone-all"],
)
def test_every_page_fits_is_accessible_and_says_nothing_to_the_console(
    browser: Browser, site: str, size: dict[str, int], scheme: str, names: Collection[str]
) -> None:
    with tab(browser, site, size=size, color_scheme=scheme) as page:
        for name in names:
            page.goto(PAGES[name])
            if name == "study":
                drawn(page, *(chart for chart in CHARTS if size is DESKTOP or chart != "parallel"))  # too wide
                page.locator("#rows table").wait_for()
                page.evaluate("scrollTo(0, 0)")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is too wide"
            assert accessible(page) == [], name
            if name == "study":
                page.get_by_role("button", name="Next trial").click()
                assert accessible(page) == [], "a dialog"
                page.keyboard.press("Escape")
                page.evaluate("document.activeElement.blur()")
            if size is DESKTOP:
                picture(page, name)
            elif name == "study":
                picture(page, "phone", 900)


def test_what_users_write_is_shown_as_text(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        for path in (
            "/",
            "/studies/hostile",
            "/studies/hostile/results",
            "/studies/hostile/trials/1",
            "/studies/hostile/trials/6",
            "/studies/hostile/edit",
            "/new?like=hostile",
        ):
            page.goto(path)
            if path.endswith("/hostile"):
                drawn(page, *(chart for chart in CHARTS if chart != "gap"))  # it needs more results
                expect(page.locator("#recommendation")).to_contain_text(HOSTILE)
                expect(page.locator("#assessment")).to_contain_text("The best of 9 results is")
                expect(page.locator("#feed")).to_contain_text(HOSTILE)
            expect(page.locator("main")).to_contain_text(HOSTILE)
            assert page.locator("img[onerror], script:not([src])").count() == 0


def test_tabs_follow_what_workers_do(browser: Browser, site: str, api: httpx.Client) -> None:
    """Numbers, feed, trials and the list of studies are updated without a reload."""
    definition = {
        "id": "live",
        "direction": "minimize",
        "parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1}],
    }
    checked(api.post("/v1/studies", json={**definition, "seed": 1}))
    with tab(browser, site) as one, tab(browser, site) as other:
        one.goto("/studies/live")
        expect(one.locator("#history")).to_be_hidden()
        expect(one.locator("#live")).to_have_text("live")
        other.goto("/?text=live")
        for worker in ("w1", "w2", "w3"):
            (trial,) = checked(api.post("/v1/studies/live/suggest", json={"worker": worker}))["trials"]
            checked(
                api.post("/v1/studies/live/observe", json={"trial": trial["number"], "value": 0.25 + trial["number"]})
            )
        expect(one.locator("#measured-now strong")).to_have_text("1.25")
        expect(one.locator("#feed li").first).to_contain_text("Trial 3 gave 3.25")
        expect(one.locator("#history")).to_have_attribute("data-state", "shown")
        expect(one.locator("#rows tbody tr")).to_have_count(3)
        expect(other.locator("#list")).to_contain_text("1.25")


@pytest.mark.long
def test_lists_are_searched_sorted_and_paged(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site) as page:
        page.goto("/")
        page.get_by_label("Search").press_sequentially("vision")
        expect(page.locator("#list tbody tr")).to_have_count(1)
        assert "text=vision" in page.url
        page.get_by_label("State").select_option("complete")
        expect(page.get_by_text("Nothing found")).to_be_visible()
        page.goto("/studies/digits")
        page.locator("#rows th a").first.wait_for()
        page.locator("#rows").get_by_role("link", name="Result", exact=True).click()
        page.locator('#rows [aria-sort="descending"] #rows-by-value').click()
        best = checked(api.get("/v1/studies/digits"))["best"]["trial"]
        expect(page.locator("#rows tbody th").first).to_have_text(str(best))
        expect(page.locator('#rows [aria-sort="ascending"]')).to_have_text("Result")
        assert page.locator("#rows tbody tr").count() == 25
        page.get_by_label("Show").select_option("failed")
        expect(page.locator("#rows tbody tr")).to_have_count(1)


@pytest.mark.long
def test_the_keyboard_is_enough(browser: Browser, site: str) -> None:
    """The skip link comes first; a dialog takes the focus and returns it."""
    with tab(browser, site) as page:
        page.goto("/studies/digits")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        button = page.get_by_role("button", name="Budget")
        button.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(button).to_be_focused()


@pytest.mark.usefixtures("site")
def test_a_page_outlives_its_server(browser: Browser, database: str) -> None:
    """It says that the server is down, keeps its content, and continues once the server is back."""
    settings = Settings(database=database, model_processes=0)
    port = free_port()
    with serving(create_app(settings), port) as address:
        context = browser.new_context(base_url=address)
        page = context.new_page()
        page.goto("/studies/digits")
        expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#offline")).to_be_visible()
    expect(page.locator("#measured-now strong")).not_to_have_text("–")
    with serving(create_app(settings), port):
        expect(page.locator("#offline")).to_be_hidden()
        expect(page.locator("#live")).to_have_text("live")
    context.close()


@pytest.mark.long
def test_nothing_there_yet_says_how_to_begin(browser: Browser, other_sqlite: str) -> None:
    with server_on(other_sqlite) as address, tab(browser, address) as page:
        page.goto("/")
        expect(page.get_by_role("heading", name="No studies yet")).to_be_visible()
        expect(page.locator("pre")).to_contain_text(f'Client("{address}")')
        httpx.post(f"{address}/v1/studies", json={**DEFINITION, "id": "new"}).raise_for_status()
        page.goto("/studies/new")
        expect(page.locator("#recommendation[aria-busy]")).to_have_count(0)
        expect(page.locator("main .banner:visible")).to_have_count(0)
