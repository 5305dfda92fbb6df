"""The title and the description of a study on its pages, in a real Chromium."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import accessible, tab

pytestmark = pytest.mark.long


def test_a_study_is_called_by_its_title_everywhere(browser: Browser, site: str, api: httpx.Client) -> None:
    """The form makes the id from the title. The title is on every page, can be changed, and finds the study."""
    with tab(browser, site) as page:
        page.goto("/new")
        page.get_by_label("Title", exact=True).press_sequentially("Suzuki coupling, amide 3")
        expect(page.get_by_label("ID", exact=True)).to_have_value("Suzuki-coupling-amide-3")
        page.get_by_label("Description", exact=True).fill("Boronic ester, 0.2 mmol.")
        page.get_by_label("The result should be").select_option("maximize")
        row = page.get_by_role("group", name="Parameter 1", exact=True)
        row.get_by_label("Name").fill("time")
        row.get_by_label("From").fill("1")
        row.get_by_label("to", exact=True).fill("24")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/Suzuki-coupling-amide-3")
        expect(page.locator("h1")).to_contain_text("Suzuki coupling, amide 3")
        expect(page.locator(".crumbs")).to_contain_text("Suzuki-coupling-amide-3")
        expect(page.locator("#figures")).to_contain_text("Boronic ester, 0.2 mmol.")
        page.get_by_role("button", name="Title, names and units").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Title", exact=True).fill("Suzuki coupling of amide 3")
        assert not accessible(page)
        dialog.get_by_role("button", name="Save").click()
        expect(page.locator("h1")).to_contain_text("Suzuki coupling of amide 3")
        page.goto("/?text=amide%203")
        expect(page.get_by_role("link", name="Suzuki coupling of amide 3")).to_be_visible()
        page.goto("/?text=boronic")
        expect(page.locator("#list tbody")).to_contain_text("Suzuki-coupling-amide-3")
        for part in ("results", "report", "sharing", "webhooks", "edit"):
            page.goto(f"/studies/Suzuki-coupling-amide-3/{part}")
            expect(page.locator("h1")).to_contain_text("Suzuki coupling of amide 3")
    study = checked(api.get("/v1/studies/Suzuki-coupling-amide-3"))
    assert (study["title"], study["description"]) == ("Suzuki coupling of amide 3", "Boronic ester, 0.2 mmol.")


def test_an_id_that_somebody_typed_stays(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("kx-14")
        page.get_by_label("Title", exact=True).press_sequentially("Suzuki")
        expect(page.get_by_label("ID", exact=True)).to_have_value("kx-14")
