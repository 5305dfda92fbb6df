"""A suggestion is declined, and a queued point removed, in a real Chromium."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.page.studies import PARAMETERS, checked
from tests.acceptance.page.tabs import PHONE, accessible, tab

POINT = {"rate": 0.01, "width": 8, "activation": "tanh"}


def created(api: httpx.Client, study: str) -> None:
    checked(api.post("/v1/studies", json={"id": study, "direction": "minimize", "parameters": PARAMETERS, "budget": 5}))


def decline(page: Page, reason: str) -> None:
    page.get_by_role("button", name="Not this one").first.click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Why").fill(reason)
    dialog.get_by_role("button", name="Not this one").click()


@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 860}])
def test_a_suggestion_is_declined_with_its_reason_and_taken_back(
    browser: Browser, site: str, api: httpx.Client, size: dict[str, int]
) -> None:
    study = f"declined-{size['width']}"
    created(api, study)
    checked(api.post(f"/v1/studies/{study}/suggest", json={"worker": "berta"}))
    with tab(browser, site, size=size) as page:
        page.goto(f"/studies/{study}/trials/1")
        heading = page.get_by_role("heading", name="Trial 1")
        decline(page, "no XPhos left today")
        expect(heading).to_contain_text("withdrawn")
        facts = page.locator("#trial-facts > div", has_text="Why it was withdrawn")
        expect(facts).to_contain_text("no XPhos left today")
        expect(page.locator("#trial-events")).to_contain_text("withdrawn")
        expect(page.get_by_role("button", name="Save the result")).to_have_count(0)
        assert accessible(page) == []
        counts = checked(api.get(f"/v1/studies/{study}"))["counts"]
        assert (counts["withdrawn"], counts["failed"], counts["active"]) == (1, 0, 0)
        page.get_by_role("button", name="Undo").click()
        expect(heading).to_contain_text("given back")
        decline(page, "still none")
        expect(heading).to_contain_text("withdrawn")
        page.get_by_role("button", name="Next experiment").click()
        page.wait_for_url("**/trials/2")
        assert page.locator(".point tbody").inner_text()
        page.goto(f"/studies/{study}")
        expect(page.locator("#figures .counts")).to_contain_text("0 of 5 trials done")
        expect(page.locator("#feed")).to_contain_text("Trial 1 was withdrawn: still none")


def test_a_point_is_removed_from_the_queue_and_put_back(browser: Browser, site: str, api: httpx.Client) -> None:
    created(api, "queued")
    for _ in range(2):
        checked(api.post("/v1/studies/queued/trials", json={"parameters": {**POINT, "data": "digits"}}))
    with tab(browser, site) as page:
        page.goto("/studies/queued")
        page.get_by_role("link", name="2 waiting").click()
        page.wait_for_url("**/results?kind=open")
        rows = page.locator("#rows tbody tr")
        expect(rows).to_have_count(2)
        page.get_by_role("button", name="Remove trial 1").click()
        expect(page.get_by_text("Trial 1 is withdrawn.")).to_be_visible()
        expect(rows).to_have_count(1)
        page.get_by_role("button", name="Undo").click()
        expect(rows).to_have_count(2)
        page.get_by_role("button", name="Remove trial 2").click()
        expect(rows).to_have_count(1)
        page.get_by_label("Show", exact=True).select_option("withdrawn trials")
        expect(rows.first).to_contain_text("withdrawn")
        expect(rows).to_have_count(1)
