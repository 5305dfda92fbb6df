"""Partial results on the page: entered with missing numbers, listed, and completed in the table."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import accessible, tab

pytestmark = pytest.mark.long

STUDY = {
    "direction": "maximize",
    "parameters": [{"name": "temperature", "kind": "float", "low": 20, "high": 120}],
    "outcome_constraints": [{"metric": "purity", "lower": 90}],
    "quantities": {"value": {"label": "Yield", "unit": "%"}},
}


def test_a_number_that_comes_later_is_added_in_the_table(browser: Browser, site: str, api: httpx.Client) -> None:
    checked(api.post("/v1/studies", json={"id": "parts", **STUDY}))
    for _ in range(3):
        checked(api.post("/v1/studies/parts/suggest", json={}))
    checked(api.post("/v1/studies/parts/observe", json={"trial": 2, "value": 70, "metrics": {"purity": 95}}))
    with tab(browser, site) as page:
        page.goto("/studies/parts/trials/1")
        page.get_by_label("Yield [%]", exact=True).fill("80")
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_role("article")).to_contain_text("purity missing")
        expect(page.locator(".toast")).to_contain_text("purity still missing")
        page.goto("/studies/parts")
        expect(page.get_by_role("link", name="1 result lacks numbers")).to_be_visible()
        page.goto("/studies/parts/results")
        page.get_by_role("button", name="Enter the result of trial 3").click()
        page.get_by_label("purity", exact=True).fill("97")
        page.get_by_role("button", name="Save the result").click()
        expect(page.locator("#result-3")).to_contain_text("Yield [%] missing")
        page.get_by_label("Show").select_option("partial")
        expect(page.locator("#rows tbody th")).to_have_text(["3", "1"])
        assert accessible(page) == []
        page.get_by_role("button", name="Add what is missing from the result of trial 1").click()
        expect(page.get_by_label("purity", exact=True)).to_be_focused()
        page.get_by_label("purity", exact=True).fill("91")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("The numbers are added to the result of trial 1.")).to_be_visible()
        expect(page.locator("#rows tbody th")).to_have_text(["3"])
        page.goto("/studies/parts/results/2")
        expect(page.locator("section", has_text="What happened")).to_contain_text("purity 91")
    study = checked(api.get("/v1/studies/parts"))
    assert (study["best"]["value"], study["best"]["metrics"]) == (80, {"purity": 91})
    kinds = [each["kind"] for each in checked(api.get("/v1/studies/parts/events"))["items"]]
    assert kinds.count("measured") == 1
