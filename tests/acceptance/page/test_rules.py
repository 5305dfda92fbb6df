"""Bounds of metrics and early stopping of a running study, changed on its page in a real Chromium."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import tab, unfold

pytestmark = pytest.mark.long

STUDY = {
    "id": "net",
    "direction": "maximize",
    "parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1}],
    "outcome_constraints": [{"metric": "size", "upper": 5.25}, {"metric": "weight", "lower": 1}],
    "early_stopping": {"rule": "asha", "max_steps": 27, "eta": 3},
    "budget": 9,
}


def test_bounds_and_early_stopping_are_changed_and_undone(browser: Browser, site: str, api: httpx.Client) -> None:
    """Each is sent only if it was changed."""
    checked(api.post("/v1/studies", json=STUDY))
    bounds = checked(api.get("/v1/studies/net"))["outcome_constraints"]
    with tab(browser, site) as page:
        page.goto("/studies/net")
        page.get_by_role("button", name="Bounds and early stopping").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("Greatest value of size")).to_have_value("5.25")
        dialog.get_by_label("Greatest value of size").fill("6,5")
        dialog.get_by_label("Least value of weight").fill("")
        dialog.get_by_role("button", name="Save").click()
        expect(page.get_by_text("The rules are changed.")).to_be_visible()
        study = checked(api.get("/v1/studies/net"))
        assert study["outcome_constraints"] == [{"metric": "size", "lower": None, "upper": 6.5}]
        assert study["early_stopping"]["eta"] == 3
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#rules-form [data-bound=size] [data-part=upper]")).to_have_value("5.25")
        assert checked(api.get("/v1/studies/net"))["outcome_constraints"] == bounds
        page.get_by_role("button", name="Bounds and early stopping").click()
        dialog.get_by_label("One in this many continues").fill("4")
        dialog.get_by_role("button", name="Save").click()
        expect(page.get_by_text("The rules are changed.")).to_be_visible()
        study = checked(api.get("/v1/studies/net"))
        assert (study["early_stopping"]["eta"], study["outcome_constraints"]) == (4, bounds)


def test_a_wrong_bound_is_told_at_its_field(browser: Browser, site: str, api: httpx.Client) -> None:
    checked(api.post("/v1/studies", json={**STUDY, "id": "wide", "early_stopping": None}))
    with tab(browser, site, refused=[422]) as page:
        page.goto("/studies/wide")
        page.get_by_role("button", name="Bounds and early stopping").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("One in this many continues")).to_have_count(0)
        dialog.get_by_label("Least value of size").fill("9")
        dialog.get_by_role("button", name="Save").click()
        expect(dialog.locator("[data-bound=size] [aria-invalid=true]")).to_have_count(1)


def test_too_few_results_and_none_that_satisfies_the_bounds_are_both_said(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """No best point of the model is shown, and no partition is drawn."""
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("x", "y")]
    bounds = {"metrics": ["size"], "outcome_constraints": [{"metric": "size", "upper": 1}]}
    definition = {"id": "beyond", "direction": "maximize", "parameters": parameters, **bounds}
    checked(api.post("/v1/studies", json=definition))
    for number in range(1, 4):
        checked(api.post("/v1/studies/beyond/suggest", json={}))
        told = {"trial": number, "value": number, "metrics": {"size": 2}}
        checked(api.post("/v1/studies/beyond/observe", json=told))
    with tab(browser, site) as page:
        page.goto("/studies/beyond")
        expect(page.locator("#shortcoming")).to_have_text(
            "No result satisfies all bounds yet: these points come closest. Few results: 3, for 2 parameters that "
            "vary. The model needs 6 more results to compare parameters and to bound the remaining gain."
        )
        expect(page.locator("#recommended-now")).to_be_hidden()
        expect(page.locator('#recommendation [data-by="model"]').first).to_be_hidden()
        unfold(page, "partition")
        expect(page.locator("#partition-caption")).to_contain_text("Few results: 3")
