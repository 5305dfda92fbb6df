"""The documentation at /docs/ in a real Chromium, on a real server: every page of its navigation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urldefrag, urljoin

import httpx
import pytest
from playwright.sync_api import Browser, expect

from adabkb_docs import PAGES as FOLDER
from tests.acceptance.page.tabs import DESKTOP, PHONE, accessible, tab
from tests.servers import server_on

OF_THEME = ("landmark-unique", "empty-table-header")
"""Rules that the theme of the site breaks: its buttons beside code, and tables whose first column has no title."""
TYPICAL = ("index.html", "systems.html", "guides/noise.html", "comparison.html")
"""Pages of each kind: a start, a reference with tables, a guide with code, a table that scrolls."""
QUESTIONS = Path("docs/questions.md")
QUESTION = re.compile(
    r"^(?:\* )?\*\*(?:\[(?P<linked>[^]]+)\]\((?P<page>[^)]+)\)|(?P<plain>[^*]+))\*\*(?P<answer>.*)$", re.MULTILINE
)
"""A question in bold type, maybe a link to the answer, and the answer in one line."""
FITS = "document.documentElement.scrollWidth <= innerWidth"


@pytest.fixture(scope="module")
def site(database: str) -> Iterator[str]:
    """The address of the documentation on a server."""
    assert (FOLDER / "index.html").exists(), "make install builds the documentation"
    with server_on(database) as address:
        yield f"{address}/docs/"


def places() -> list[str]:
    """The pages, without copies of files outside the documentation."""
    found = (path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.html"))
    return sorted(place for place in found if place != "404.html" and not place.startswith("files/"))


@pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.long)], ids=["sample", "all"])
def test_every_page_loads_all_it_needs_from_the_server_and_fits_a_phone(browser: Browser, site: str, step: int) -> None:
    """Without scripts, which are the same on all pages and take most of the time. Decisions are plain text."""
    asked: dict[str, int] = {}
    checked = [place for place in places() if not place.startswith("decisions/")][::step]
    with tab(browser, site, size=PHONE, java_script_enabled=False) as page:
        page.on("response", lambda response: asked.update({response.url: response.status}))
        for place in checked:
            page.goto(place)
            assert page.evaluate("document.querySelector('main').scrollWidth <= innerWidth"), f"{place} is too wide"
    assert len(asked) > len(checked) > 10
    assert [url for url, status in asked.items() if status >= 400 or not url.startswith(site)] == []


@pytest.mark.long
def test_every_link_of_every_page_leads_to_a_file_and_every_anchor_to_a_heading(site: str) -> None:
    """The build checks Markdown; this checks the HTML, including navigation and generated references."""
    found: dict[str, tuple[bool, set[str]]] = {}
    broken = []
    with httpx.Client(base_url=site, timeout=60) as client:

        def target(url: str) -> tuple[bool, set[str]]:
            if url not in found:
                answer = client.get(url) if url.endswith((".html", "/")) else client.head(url)
                found[url] = answer.is_success, set(re.findall(r"""\sid=["']?([^"'\s>]+)""", answer.text))
            return found[url]

        for place in places():
            here = urljoin(site, place)
            for link in re.findall(r"""\s(?:href|src)=["']?([^"'\s>]+)""", client.get(here).text):
                url, anchor = urldefrag(urljoin(here, unescape(link)))
                if url.startswith(site):
                    there, anchors = target(url)
                    if not there or (anchor and unquote(anchor) not in {unescape(each) for each in anchors}):
                        broken.append(f"{place}: {link}")
    assert len(found) > 150
    assert broken == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.long
def test_typical_pages_fit_and_are_accessible(browser: Browser, site: str, scheme: str) -> None:
    with tab(browser, site, color_scheme=scheme) as page:
        for place in TYPICAL:
            page.goto(place)
            assert page.evaluate(FITS), f"{place} is too wide"
            assert accessible(page, ignored=OF_THEME) == [], place
            page.set_viewport_size(PHONE)  # type: ignore[arg-type]
            assert page.evaluate(FITS), f"{place} is too wide for a phone"
            page.set_viewport_size(DESKTOP)  # type: ignore[arg-type]


@pytest.mark.long
def test_the_search_finds_a_page_by_a_word(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("index.html")
        page.keyboard.press("/")
        page.keyboard.type("hypervolume")
        results = page.locator(".md-search-result__item")
        expect(results.filter(has_text="Several objectives").first).to_be_visible()
        results.first.get_by_role("link").first.click()
        expect(page.locator("main mark").first).to_be_attached()


def answered() -> dict[str, set[str]]:
    """Each question -> the pages that its answer links to, as the site names them."""
    found = {}
    for each in QUESTION.finditer(QUESTIONS.read_text()):
        links = re.findall(r"\]\(([^)#]+\.md)", f"]({each['page']}){each['answer']}")
        found[each["plain"] or each["linked"]] = {link.replace(".md", ".html") for link in links}
    return found


@pytest.mark.long
def test_the_search_finds_the_answer_to_each_question(browser: Browser, site: str) -> None:
    """Among the first three pages is that of questions or one that the answer links to."""
    questions = answered()
    assert len(questions) == 30
    missed = {}
    with tab(browser, site) as page:
        page.goto("index.html")
        page.keyboard.press("/")
        search, results = page.locator(".md-search__input"), page.locator(".md-search-result__item")
        for question, pages in questions.items():
            search.press("Control+A")
            search.press("Backspace")  # the theme searches when a key is released
            expect(results).to_have_count(0)
            search.fill(question[:-1])
            search.press(question[-1])
            results.first.wait_for()
            hits = results.locator("> a").evaluate_all("links => links.map(link => link.pathname.split('/docs/')[1])")
            first = list(dict.fromkeys(hits))[:3]
            if not {QUESTIONS.with_suffix(".html").name, *pages} & set(first):
                missed[question] = first
    assert missed == {}
