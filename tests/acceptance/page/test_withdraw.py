"""A suggestion is declined, and a queued point removed, in a real Chromium."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.acceptance.page.studies import PARAMETERS, checked
from tests.acceptance.page.tabs import DESKTOP, PHONE, accessible, tab

POINT = {"rate": 0.01, "width": 8, "activation": "tanh"}


def created(api: httpx.Client, study: str) -> None:
    checked(api.post("/v1/studies", json={"id": study, "direction": "minimize", "parameters": PARAMETERS, "budget": 5}))


def decline(page: Page, reason: str) -> None:
    page.get_by_role("button", name="Report a problem").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What happened").fill(reason)
    dialog.get_by_role("button", name="Not this one").click()


@pytest.mark.parametrize("size", [PHONE, DESKTOP])
@pytest.mark.long
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
        expect(page.locator("#trial-events")).to_contain_text("Withdrawn: no XPhos left today")
        expect(page.get_by_role("button", name="Save the result")).to_have_count(0)
        assert accessible(page) == []
        counts = checked(api.get(f"/v1/studies/{study}"))["counts"]
        assert (counts["withdrawn"], counts["failed"], counts["active"]) == (1, 0, 0)
        page.get_by_role("button", name="Undo").click()
        expect(heading).to_contain_text("to try again")
        decline(page, "still none")
        expect(heading).to_contain_text("withdrawn")
        page.get_by_role("button", name="Get a new trial").click()
        page.get_by_role("button", name="Get the next trial").click()
        page.wait_for_url("**/trials/2")
        assert page.locator(".point tbody").inner_text()
        page.goto(f"/studies/{study}")
        expect(page.locator("#figures .counts")).to_contain_text("0 of 5 trials done")
        expect(page.locator("#feed")).to_contain_text("Trial 1 was withdrawn: still none")


def test_who_declines_a_trial_is_not_told_that_it_changed(browser: Browser, site: str, api: httpx.Client) -> None:
    """The event may arrive before the answer to the request, while the dialog is still open."""
    created(api, "prompt")
    checked(api.post("/v1/studies/prompt/suggest", json={"worker": "berta"}))

    def answer_late(route: Route) -> None:
        answer = route.fetch()
        while not read:  # the page reads itself again because of the event
            page.wait_for_timeout(50)
        page.wait_for_timeout(500)
        route.fulfill(response=answer)

    with tab(browser, site) as page:
        page.goto("/studies/prompt/trials/1")
        read: list[str] = []
        page.on("requestfinished", lambda request: read.append(request.url) if request.url == page.url else None)
        page.route("**/withdraw", answer_late)
        decline(page, "no XPhos left today")
        expect(page.get_by_text("Trial 1 is withdrawn.")).to_be_visible()
        expect(page.get_by_role("heading", name="Trial 1")).to_contain_text("withdrawn")
        expect(page.locator("#trial-outcome")).not_to_contain_text("Save the result")
        expect(page.locator("#changed")).to_be_hidden()


@pytest.mark.long
def test_a_point_that_the_model_did_not_choose_says_so(browser: Browser, site: str, api: httpx.Client) -> None:
    """Whoever waits a day for a result can decline the point and ask again."""
    created(api, "degraded")

    def degrade(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json={**answer.json(), "degraded": True})

    with tab(browser, site) as page:
        page.route("**/suggest", degrade)
        page.goto("/studies/degraded")
        page.get_by_role("button", name="Next trial").click()
        page.get_by_role("button", name="Get the next trial").click()
        page.wait_for_url("**/trials/1")
        why = "The model had failed or did not answer in time, so it is quasi-random."
        expect(page.get_by_text(why)).to_be_visible()


@pytest.mark.long
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
