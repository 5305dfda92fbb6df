"""A request is performed, but its answer is lost, and a person sends it again: it takes effect once."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import tab
from tests.samples import some

LOST = 502
"""The answer of a proxy that loses the server's answer."""


def study(api: httpx.Client, name: str) -> str:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    checked(api.post("/v1/studies", json={"id": name, "direction": "maximize", "parameters": parameters}))
    return f"/v1/studies/{name}"


def lose_answer(route: Route) -> None:
    """Let the server perform a request, and lose its answer."""
    route.fetch()
    route.fulfill(status=LOST)


def add(page: Page, opens: str, sends: str, value: str | None) -> None:
    """Fill in a form of a study's page, and send it."""
    page.get_by_role("button", name=opens).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("x", exact=True).fill("0.5")
    if value is not None:
        dialog.get_by_label("Result", exact=True).fill(value)
    dialog.get_by_role("button", name=sends).click()


@pytest.mark.parametrize("is_loaded_anew", some([False, True], {True}))
def test_an_own_result_that_is_sent_again_is_stored_once(
    browser: Browser, site: str, api: httpx.Client, *, is_loaded_anew: bool
) -> None:
    """If it is changed, it is another result. After an answer, the same result is another one, too."""
    name = f"again-{is_loaded_anew}".lower()
    path = study(api, name)
    with tab(browser, site, refused=[LOST]) as page:
        page.goto(f"/studies/{name}")
        page.route("**/observe", lose_answer, times=1)
        add(page, "Add a result", "Add the result", "3")
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("The server answered 502.")
        if is_loaded_anew:
            page.reload()
            page.get_by_role("button", name="Add a result").click()
        page.get_by_role("dialog").get_by_role("button", name="Add the result").click()
        expect(page.get_by_text("Own result R1 is stored: 3.")).to_be_visible()
        add(page, "Add a result", "Add the result", "3")
        expect(page.get_by_text("Own result R2 is stored: 3.")).to_be_visible()
        page.route("**/observe", lose_answer, times=1)
        add(page, "Add a result", "Add the result", "4")
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("The server answered 502.")
        page.get_by_role("dialog").get_by_label("Result", exact=True).fill("5")
        page.get_by_role("dialog").get_by_role("button", name="Add the result").click()
        expect(page.get_by_text("Own result R4 is stored: 5.")).to_be_visible()
        assert page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('unanswered '))") == []
    assert [result["value"] for result in checked(api.get(f"{path}/observations"))["items"]] == [3, 3, 4, 5]


def test_a_point_that_is_queued_again_is_queued_once(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "queued")
    with tab(browser, site, refused=[LOST]) as page:
        page.goto("/studies/queued")
        page.route("**/trials", lose_answer, times=1)
        add(page, "Queue a trial", "Queue the trial", None)
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("The server answered 502.")
        page.get_by_role("dialog").get_by_role("button", name="Queue the trial").click()
        expect(page.get_by_text("Trial 1 is queued.")).to_be_visible()
    assert len(checked(api.get(f"{path}/trials"))["items"]) == 1


@pytest.mark.long
def test_a_table_that_is_added_again_continues_after_the_part_that_is_stored(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """The page sends 500 rows at a time. The first part is answered, and the answer to the second part is lost."""
    path, rows = study(api, "table"), 502

    def lose_second(route: Route) -> None:
        if "dry_run" in (route.request.post_data or "") or next(numbers) != 1:
            route.continue_()
        else:
            lose_answer(route)

    numbers = iter(range(10))
    with tab(browser, site, refused=[LOST]) as page:
        page.goto("/studies/table")
        page.get_by_role("button", name="Add a result").click()
        page.get_by_role("button", name="Paste a table instead").click()
        table = "\n".join(["x\tvalue", *(f"{row / rows}\t{row}" for row in range(rows))])
        page.get_by_role("textbox", name="Table").fill(table)
        page.get_by_role("button", name="Check first").click()
        page.route("**/observations", lose_second)
        page.get_by_role("button", name=f"Add {rows} results").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("The server answered 502.")
        page.get_by_role("button", name=f"Add {rows} results").click()
        expect(page.get_by_text(f"Stored: {rows} results.")).to_be_visible()
    assert checked(api.get(path))["counts"]["observations"] == rows
