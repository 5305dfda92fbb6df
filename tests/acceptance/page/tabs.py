"""A tab of the browser that records all problems: console messages, failed requests and dialogs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Dialog, Page

from tests.acceptance.page.browser import axe
from tests.waiting import TIMEOUT_SECONDS

PHONE = {"width": 375, "height": 760}
DESKTOP = {"width": 1280, "height": 860}

REFUSALS = (401, 422, 503)
"""Statuses of requests that a test makes the server refuse."""
REFUSAL = re.compile(r"the server responded with a status of (\d+)")
LEFT = re.compile(r"^console: htmx:(afterRequest|sendAbort)\b")
"""The messages of htmx if a user leaves a page that is loading a part of itself. For a failed request there are
more."""
PRINTS = """
window.print = () => {
  dispatchEvent(new Event("beforeprint"));
  const inks = [...document.querySelectorAll(".sheet text")].map((text) => text.getAttribute("fill"));
  window.printed = { inks, background: getComputedStyle(document.documentElement).getPropertyValue("--paper") };
  dispatchEvent(new Event("afterprint"));
};
"""
"""Replaces the print dialog of the browser, which a headless one does not have. Records the colours on paper."""


@contextmanager
def tab(
    browser: Browser, address: str, *, size: dict[str, int] = DESKTOP, refused: Collection[int] = (), **options: Any
) -> Iterator[Page]:
    """A tab with a new profile. At its end, it must have no problems, except answers with the statuses ``refused``."""
    troubles: list[str] = []
    context = browser.new_context(base_url=address, viewport=size, **options)  # type: ignore[arg-type]
    context.set_default_timeout(1000 * TIMEOUT_SECONDS)
    page = context.new_page()
    page.on("console", lambda line: troubles.append(f"console: {line.text}") if line.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(f"error: {error}"))

    def dismiss(dialog: Dialog) -> None:
        troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    page.on("dialog", dismiss)
    yield page
    context.close()
    troubles = [each for each in troubles if not LEFT.search(each)]
    found = [each for each in troubles if not ((told := REFUSAL.search(each)) and int(told[1]) in refused)]
    assert not found, found


def drawn(page: Page, *charts: str) -> None:
    """Wait until charts are drawn, with all of their parts."""
    for chart in charts:
        unfold(page, chart)
        page.locator(f"#{chart}[data-state=shown][aria-busy=false]").wait_for()


def unfold(page: Page, chart: str) -> None:
    """Scroll to a chart, which may be among the details, or folded on a phone."""
    page.locator(f"#{chart}").evaluate(
        "chart => { for (let each = chart; each; each = each.parentElement?.closest('details')) each.open = true; }"
    )
    page.locator(f"#{chart}").scroll_into_view_if_needed()


def save(page: Page, chart: str, kind: str) -> Path:
    """Save a chart as svg, png or csv, from its menu. Return the downloaded file."""
    page.locator(f"#{chart} .menu summary").click()
    with page.expect_download() as download:
        page.locator(f"#{chart} [data-save={kind}]").click()
    assert download.value.suggested_filename.endswith(f"-{chart}.{kind}")
    return Path(download.value.path())


def accessible(page: Page, ignored: Collection[str] = ()) -> list[str]:
    """The problems that axe-core finds, except those of ignored rules."""
    page.evaluate(axe())
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]} {each['nodes'][0].get('failureSummary', '')}"
        for each in found["violations"]
        if each["id"] not in ignored
    ]
