"""Suggested values in the form of a result: as a person can set them, and exact on record, in a real Chromium."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import tab

PARAMETERS = [
    {"name": "heat", "kind": "float", "low": 20, "high": 120},
    {"name": "rate", "kind": "float", "low": 1e-6, "high": 1e6, "scale": "log"},
    {"name": "depth", "kind": "float", "low": -50000, "high": 50000},
]
POINTS = [
    {"heat": 84.05723984, "rate": 1.23456789e-5, "depth": -12345.678912},
    {"heat": 61.23456789, "rate": 12345.6789, "depth": 0.123456789},
]


def entered(page: Page, trial: int, value: str, **changes: str) -> None:
    """Enter a result, at a point of which some values differ."""
    page.goto(f"/studies/oven/trials/{trial}")
    page.get_by_label("Result", exact=True).fill(value)
    page.get_by_text("The conditions differed").click()
    for name, typed in changes.items():
        page.locator("#trial").get_by_label(name, exact=True).fill(typed)
    page.get_by_role("button", name="Save the result").click()
    expect(page.get_by_text(f"The result of trial {trial} is stored: ")).to_be_visible()


@pytest.mark.long
def test_values_are_shown_as_a_person_sets_them_and_stored_exactly(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    checked(api.post("/v1/studies", json={"id": "oven", "direction": "maximize", "parameters": PARAMETERS, "seed": 2}))
    for point in POINTS:
        checked(api.post("/v1/studies/oven/trials", json={"parameters": point}))
    with tab(browser, site) as page:
        page.goto("/studies/oven/trials/1")
        page.get_by_text("The conditions differed").click()
        typed = {name: page.locator("#trial").get_by_label(name, exact=True).input_value() for name in POINTS[0]}
        assert typed == {"heat": "84.1", "rate": "1.23e-5", "depth": "-12300"}
        entered(page, 1, "3")
        entered(page, 2, "4", heat="84,5")
    results = checked(api.get("/v1/studies/oven/observations"))["items"]
    assert [each["parameters"] for each in results] == [POINTS[0], {**POINTS[1], "heat": 84.5}]
