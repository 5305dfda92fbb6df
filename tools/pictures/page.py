"""The pictures of the web interface in docs/page.md and docs/guides/by-hand.md, of a real server in a real Chromium.
``python -m tools.pictures.page`` takes them.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import httpx
from playwright.sync_api import Page, expect, sync_playwright

from adabkb_service.storage import migration
from adabkb_service.storage.database import Database
from tests.acceptance.docs.blocks import DOCS
from tests.acceptance.page.browser import launching
from tests.acceptance.page.filling import add_parameter
from tests.acceptance.page.studies import checked, tuned
from tests.acceptance.page.tabs import PHONE, drawn, tab
from tests.servers import server_on
from tests.waiting import TIMEOUT_SECONDS
from tools.pictures import palettes

TALL = {"width": 1280, "height": 1240}
REACTION = {
    "id": "buchwald",
    "direction": "maximize",
    "budget": 30,
    "seed": 4,
    "parameters": [
        {"name": "ligand", "kind": "categorical", "choices": ["XPhos", "SPhos", "PPh3"]},
        {"name": "temperature", "kind": "float", "low": 20, "high": 120, "unit": "°C", "step": 1},
    ],
    "quantities": {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100, "digits": 1}},
}
OFFSETS = {"XPhos": 0.0, "SPhos": 12.0, "PPh3": 40.0}


def reacted(api: httpx.Client, study: str, best_at: float, experiments: int) -> None:
    """A study of a reaction with an optimum at XPhos and a certain temperature."""
    checked(api.post("/v1/studies", json={**REACTION, "id": study}))
    for _ in range(experiments):
        (trial,) = checked(api.post(f"/v1/studies/{study}/suggest", json={"worker": "berta"}))["trials"]
        point = trial["parameters"]
        value = round(max(88.0 - OFFSETS[point["ligand"]] - ((point["temperature"] - best_at) / 9) ** 2, 0.0), 1)
        checked(api.post(f"/v1/studies/{study}/observe", json={"trial": trial["number"], "value": value}))
    checked(api.post(f"/v1/studies/{study}/suggest", json={"worker": "berta"}))


def fill_in(page: Page) -> None:
    """Describe the reaction in the form."""
    page.goto("/new")
    page.get_by_label("ID", exact=True).fill("buchwald")
    page.get_by_label("The result should be").select_option("maximize")
    page.get_by_label("Budget, in trials").fill("30")
    page.get_by_label("Measured quantity").fill("Yield")
    page.get_by_label("Unit of the result").fill("%")
    page.get_by_label("Smallest possible result").fill("0")
    page.get_by_label("Largest possible result").fill("100")
    add_parameter(page, 1, "ligand", "categorical", "XPhos", "SPhos", "PPh3")
    add_parameter(page, 2, "base", "categorical", "K3PO4", "1,4-diazabicyclooctane")
    page.get_by_role("button", name="Add a parameter").click()
    row = page.get_by_role("group", name="Parameter 3", exact=True)
    for label, text in (("Name", "temperature"), ("From", "20"), ("Unit", "°C"), ("Step", "1")):
        row.get_by_label(label).fill(text)
    row.get_by_label("to", exact=True).fill("120")


def take(address: str, folder: Path) -> None:
    """Take all pictures of a server with these studies."""

    def shoot(page: Page, name: str) -> None:
        page.evaluate("scrollTo(0, 0)")
        page.wait_for_timeout(500)
        page.screenshot(path=folder / f"page-{name}.png")
        palettes.reduce(folder / f"page-{name}.png")

    with sync_playwright() as playwright, playwright.chromium.launch(**launching()) as browser:
        with tab(browser, address, size=TALL) as page:
            page.goto("/studies/buchwald")
            drawn(page, "history")
            page.locator("#assessment dl").wait_for()
            shoot(page, "study")
            page.goto("/studies/digits/results")
            shoot(page, "results")
            page.goto(
                "/compare?study=buchwald&study=buchwald-toluene&charts=progress,slice&slice-parameter=temperature"
            )
            drawn(page, "progress", "slice")
            shoot(page, "compare")
            fill_in(page)
            page.set_viewport_size({"width": 1280, "height": 1480})
            shoot(page, "new")
            page.set_viewport_size({"width": 1280, "height": 860})
            page.goto("/")
            shoot(page, "studies")
            page.goto("/studies/buchwald/trials/16")
            shoot(page, "trial")
        with tab(browser, address, size={**PHONE, "height": 900}) as page:
            page.goto("/studies/buchwald")
            page.locator("#assessment dl").wait_for()
            shoot(page, "phone")


if __name__ == "__main__":
    expect.set_options(timeout=1000 * TIMEOUT_SECONDS)
    with tempfile.TemporaryDirectory() as temporary:
        url = f"sqlite:///{temporary}/adabkb.db"
        database = Database(url)
        migration.upgrade(database)
        database.close()
        with server_on(url) as address, httpx.Client(base_url=address, timeout=120) as api:
            tuned(api)
            reacted(api, "buchwald", 84, 18)
            reacted(api, "buchwald-toluene", 62, 14)
            take(address, DOCS / "images")
