"""Asking for an experiment while the model is busy: the page waits with the person, who can end the wait."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Route, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import accessible, tab
from tests.servers import server_on
from tests.waiting import wait_for


def test_a_person_waits_for_the_model_or_takes_a_quasi_random_point(browser: Browser, tmp_path: Path) -> None:
    """The model of this server is never in time."""
    url = f"sqlite:///{tmp_path}/adabkb.db"
    with server_on(url, suggestion_seconds=1e-6) as address, httpx.Client(base_url=address, timeout=60) as api:
        parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
        checked(api.post("/v1/studies", json={"id": "slow", "direction": "minimize", "parameters": parameters}))
        refused = api.post("/v1/studies/slow/suggest", json={"fallback": False})
        assert (refused.status_code, refused.json()["code"]) == (503, "model_busy")
        assert refused.headers["Retry-After"]
        with tab(browser, address, refused=(503,)) as page:
            page.goto("/studies/slow")
            page.get_by_role("button", name="Next trial").click()
            page.get_by_role("button", name="Get the next trial").click()
            waiting = page.get_by_role("dialog", name="Waiting for the model")
            expect(waiting).to_contain_text(re.compile(r"The model is choosing your trial: \d+\ss\."))
            assert not accessible(page)
            assert not checked(api.get("/v1/studies/slow/trials"))["items"]
            waiting.get_by_role("button", name="Take a quasi-random trial").click()
            page.wait_for_url("**/trials/1")
            expect(page.get_by_text("This trial is reserved for you.")).to_be_visible()
        (trial,) = checked(api.get("/v1/studies/slow/trials"))["items"]
        assert trial["origin"] == "fallback"


@pytest.mark.parametrize("by", ["button", "key"])
@pytest.mark.long
def test_a_request_that_a_person_cancels_reserves_no_trial(browser: Browser, tmp_path: Path, by: str) -> None:
    url = f"sqlite:///{tmp_path}/adabkb.db"
    with server_on(url, suggestion_seconds=1e-6) as address, httpx.Client(base_url=address, timeout=60) as api:
        parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
        checked(api.post("/v1/studies", json={"id": "slow", "direction": "minimize", "parameters": parameters}))
        with tab(browser, address, refused=(503,)) as page:
            page.goto("/studies/slow")
            held: list[Route] = []
            page.get_by_role("button", name="Next trial").click()
            page.get_by_role("button", name="Get the next trial").click()
            waiting = page.get_by_role("dialog", name="Waiting for the model")
            expect(waiting).to_be_visible()

            def hold(route: Route) -> None:
                held.append(route)

            page.route("**/suggest", hold)  # a request is under way while the person cancels
            wait_for(lambda: page.evaluate("1") and held)
            if by == "button":
                waiting.get_by_role("button", name="Cancel").click()
            else:
                page.keyboard.press("Escape")
            expect(waiting).to_be_hidden()
            expect(page.get_by_role("button", name="Get the next trial")).to_be_enabled()
            (route,) = held
            route.continue_(post_data='{"fallback": true}')
            expect(page.get_by_text("The trial arrived after you had cancelled.")).to_be_visible()
        (trial,) = checked(api.get("/v1/studies/slow/trials"))["items"]
        assert trial["state"] == "released"
