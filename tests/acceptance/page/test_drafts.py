"""What a person has typed survives leaving the page, in the same tab, until it is stored, cancelled or discarded."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import REFUSALS, accessible, tab
from tests.samples import some

RESTORED = "Restored what you had typed."


def study(api: httpx.Client, name: str) -> str:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    checked(api.post("/v1/studies", json={"id": name, "direction": "maximize", "parameters": parameters}))
    checked(api.post(f"/v1/studies/{name}/suggest", json={"worker": "anna"}))
    return f"/v1/studies/{name}"


def drafts(page: Page) -> list[str]:
    found: list[str] = page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('draft '))")
    return found


def filled_in(page: Page) -> None:
    """Wait until the form of a study takes input."""
    expect(page.locator("#new")).not_to_have_attribute("inert", "")


@pytest.mark.parametrize("way", some(["breadcrumb", "Back", "reload"], {"reload"}))
def test_result_that_was_typed_survives_leaving_the_page(
    browser: Browser, site: str, api: httpx.Client, way: str
) -> None:
    name = f"left-by-{way.lower()}"
    path = study(api, name)
    with tab(browser, site) as page:
        page.goto(f"/studies/{name}")
        page.goto(f"/studies/{name}/trials/1")
        page.get_by_label("Result", exact=True).fill("82,4")
        page.get_by_label("Note", exact=True).fill("turbid")
        page.get_by_text("The conditions differed").click()
        page.locator("#trial-outcome").get_by_label("x", exact=True).fill("0,5")
        if way == "breadcrumb":
            page.get_by_role("link", name=name).click()
        elif way == "Back":
            page.go_back()
        if way == "reload":
            page.reload()
        else:
            page.wait_for_url(f"**/studies/{name}")
            page.goto(f"/studies/{name}/trials/1")
        outcome = page.locator("#trial-outcome")
        expect(outcome).to_contain_text(RESTORED)
        expect(outcome.get_by_label("Result", exact=True)).to_have_value("82,4")
        expect(outcome.get_by_label("Note", exact=True)).to_have_value("turbid")
        expect(outcome.get_by_label("x", exact=True)).to_be_visible()
        expect(outcome.get_by_label("x", exact=True)).to_have_value("0,5")
        assert not accessible(page)
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_text("The result of trial 1 is stored: 82.4.")).to_be_visible()
        expect(page.get_by_text(RESTORED)).to_have_count(0)
        assert drafts(page) == []
    (result,) = checked(api.get(f"{path}/observations"))["items"]
    assert (result["value"], result["parameters"]) == (82.4, {"x": 0.5})


@pytest.mark.parametrize(
    ("button", "state"), [("Try it again", "released"), ("It failed", "failed"), ("Not this one", "withdrawn")]
)
def test_reason_is_stored_with_each_answer(
    browser: Browser, site: str, api: httpx.Client, button: str, state: str
) -> None:
    path = study(api, f"reason-{state}")
    with tab(browser, site) as page:
        page.goto(f"/studies/reason-{state}/trials/1")
        page.get_by_role("button", name="Report a problem").click()
        page.get_by_role("dialog").get_by_label("What happened").fill("gelled in the pot")
        page.get_by_role("dialog").get_by_label("What happened").press("Enter")  # a person has not chosen yet
        page.get_by_role("dialog").get_by_role("button", name=button).click()
        expect(page.locator("#trial-events")).to_contain_text("gelled in the pot")
        assert drafts(page) == []
    trial = checked(api.get(f"{path}/trials/1"))
    assert trial["state"] == state


def test_draft_can_be_discarded_and_cancelled(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "discarded")
    with tab(browser, site) as page:
        page.goto("/studies/discarded/trials/1")
        page.get_by_label("Result", exact=True).fill("82,4")
        page.reload()
        page.get_by_role("button", name="Discard it").click()
        expect(page.get_by_label("Result", exact=True)).to_have_value("")
        assert drafts(page) == []
        page.get_by_role("button", name="Note", exact=True).click()
        page.get_by_label("Note about this trial").fill("mine")
        page.reload()
        checked(api.patch(f"{path}/trials/1", json={"attributes": {"note": "theirs"}}))
        page.reload()
        page.get_by_role("button", name="Edit the note").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("Note about this trial")).to_have_value("mine")
        expect(dialog).to_contain_text("Note about this trial was changed meanwhile: theirs.")
        dialog.get_by_role("button", name="Cancel").click()
        assert drafts(page) == []
        page.reload()
        expect(page.locator("#note-text")).to_have_value("theirs")


def test_input_into_a_form_that_the_page_no_longer_has_is_shown(browser: Browser, site: str, api: httpx.Client) -> None:
    """Another person has completed the trial, and the page advises to reload it."""
    path = study(api, "gone")
    with tab(browser, site) as page:
        page.goto("/studies/gone/trials/1")
        page.get_by_label("Result", exact=True).fill("82,4")
        page.get_by_label("Note", exact=True).fill("turbid")
        checked(api.post(f"{path}/observe", json={"trial": 1, "value": 81}))
        expect(page.locator("#changed")).to_contain_text("your input is kept")
        page.reload()
        told = page.locator("#orphans")
        expect(told).to_contain_text("You typed this here, and it was not stored: Result: 82,4; Note: turbid.")
        assert not accessible(page)
        told.get_by_role("button", name="Discard it").click()
        expect(told).to_have_count(0)
        assert drafts(page) == []


def test_row_of_the_table_of_results_is_restored(browser: Browser, site: str, api: httpx.Client) -> None:
    study(api, "rows")
    with tab(browser, site) as page:
        page.goto("/studies/rows/results")
        page.get_by_role("button", name="Enter the result of trial 1").click()
        page.get_by_label("Result", exact=True).fill("82,4")
        page.reload()
        expect(page.locator("#orphans")).to_contain_text("Result: 82,4")
        page.get_by_role("button", name="Enter the result of trial 1").click()
        expect(page.get_by_label("Result", exact=True)).to_have_value("82,4")
        expect(page.locator("#rows")).to_contain_text(RESTORED)
        page.get_by_label("Result", exact=True).press("Escape")
        assert drafts(page) == []


def test_new_study_is_restored(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/new")
        page.get_by_label("Title").fill("Aryl amination")
        page.get_by_label("Description").fill("Buchwald–Hartwig, 2 mL vials")
        row = page.locator("#parameters > *").first
        row.locator("[data-part=name]").fill("temperature")
        row.locator("[data-part=low]").fill("40")
        row.locator("[data-part=high]").fill("120,5")
        page.locator("#add-parameter").click()
        page.locator("#parameters > *").nth(1).locator("[data-part=name]").fill("time")
        page.get_by_role("link", name="Studies", exact=True).first.click()
        expect(page).to_have_url(f"{site}/")
        page.go_back()
        expect(page.get_by_text(RESTORED)).to_be_visible()
        expect(page.get_by_label("Title")).to_have_value("Aryl amination")
        expect(page.get_by_label("Description")).to_have_value("Buchwald–Hartwig, 2 mL vials")
        expect(row.locator("[data-part=name]")).to_have_value("temperature")
        expect(row.locator("[data-part=high]")).to_have_value("120.5")
        second = page.locator("#parameters > *").nth(1)
        expect(second.locator("[data-part=name]")).to_have_value("time")
        second.locator("[data-part=low]").fill("1")
        second.locator("[data-part=high]").fill("24")
        page.locator("#new-direction").select_option("maximize")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/Aryl-amination")
        assert drafts(page) == []
        page.goto("/new")
        expect(page.get_by_label("Title")).to_have_value("")


def test_new_study_like_another_one_has_a_draft_of_its_own(browser: Browser, site: str, api: httpx.Client) -> None:
    study(api, "pattern")
    with tab(browser, site) as page:
        title = page.locator("#new-title")
        for address, typed in (("/new", "Empty"), ("/new?like=pattern", "Alike")):
            page.goto(address)
            filled_in(page)
            expect(page.get_by_text(RESTORED)).to_have_count(0)
            title.fill(typed)
            page.goto("/")
        for address, typed in (("/new", "Empty"), ("/new?like=pattern", "Alike")):
            page.goto(address)
            expect(page.get_by_text(RESTORED)).to_be_visible()
            expect(title).to_have_value(typed)
            page.get_by_role("button", name="Discard it").click()
            expect(page.get_by_text(RESTORED)).to_have_count(0)
        assert drafts(page) == []


def test_new_study_takes_no_input_before_it_is_filled_in(browser: Browser, site: str, api: httpx.Client) -> None:
    """What a person typed while the pattern is on its way would be overwritten, and the draft would not have it."""
    study(api, "slow-pattern")
    arrived: list[Route] = []
    with tab(browser, site) as page:
        page.route("**/template.json", lambda route: arrived.append(route))  # noqa: PLW0108 - a built-in has no attributes
        with page.expect_request("**/template.json"):
            page.goto("/new?like=slow-pattern")
        title = page.locator("#new-title")
        title.focus()
        page.keyboard.type("Lost")
        expect(title).to_have_value("")
        (route,) = arrived
        route.continue_()
        filled_in(page)
        title.focus()
        page.keyboard.type("Kept")
        expect(title).to_have_value("Kept")


@pytest.mark.long
def test_edit_of_a_study_is_restored(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "edited")
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/studies/edited/edit")
        filled_in(page)
        high = page.locator("#parameters > *").first.locator("[data-part=high]")
        high.fill("2,5")
        page.locator("#add-parameter").click()
        added = page.locator("#parameters > *").nth(1)
        added.locator("[data-part=name]").fill("time")
        added.locator("[data-part=low]").fill("1")
        page.get_by_role("button", name="Show what changes").click()
        expect(page.locator(".problem")).to_be_visible()
        page.reload()
        expect(page.get_by_text(RESTORED)).to_be_visible()
        expect(high).to_have_value("2,5")
        expect(added.locator("[data-part=name]")).to_have_value("time")
        added.locator("[data-part=high]").fill("24")
        added.locator("[data-part=default]").fill("8")
        page.get_by_role("button", name="Show what changes").click()
        page.locator("#save").click()
        expect(page.get_by_text("The changes are saved.")).to_be_visible()
        assert drafts(page) == []
    found = checked(api.get(path))["parameters"]
    assert [(each["name"], each["high"]) for each in found] == [("x", 2.5), ("time", 24)]


@pytest.mark.long
def test_edit_of_a_study_that_was_changed_meanwhile_is_dropped(browser: Browser, site: str, api: httpx.Client) -> None:
    """Its values are kept by their places, so they would undo what another person has changed."""
    path = study(api, "outdated")
    with tab(browser, site) as page:
        page.goto("/studies/outdated/edit")
        filled_in(page)
        high = page.locator("#parameters > *").first.locator("[data-part=high]")
        high.fill("2,5")
        page.goto("/")
        assert len(drafts(page)) == 1
        checked(api.patch(path, json={"budget": 77}))
        page.goto("/studies/outdated/edit")
        filled_in(page)
        expect(page.get_by_text("The study was changed meanwhile")).to_be_visible()
        expect(high).to_have_value("1")
        assert not accessible(page)
        assert drafts(page) == []
        high.fill("3")
        page.get_by_role("button", name="Show what changes").click()
        page.locator("#save").click()
        expect(page.get_by_text("The changes are saved.")).to_be_visible()
    found = checked(api.get(path))
    assert (found["budget"], found["parameters"][0]["high"]) == (77, 3)


@pytest.mark.long
def test_new_study_can_be_discarded(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/new")
        page.get_by_label("Title").fill("Aryl amination")
        page.reload()
        expect(page.get_by_label("Title")).to_have_value("Aryl amination")
        with page.expect_navigation():
            page.get_by_role("button", name="Discard it").click()
        expect(page.locator("#parameters > *")).to_have_count(1)
        expect(page.get_by_label("Title")).to_have_value("")
        assert page.get_by_text(RESTORED).count() == 0
        assert drafts(page) == []


@pytest.mark.long
def test_drafts_belong_to_a_person_and_survive_a_new_login(browser: Browser, server: str) -> None:
    """Another token of the same person shows them, as after a session that has expired. Logging out discards them."""
    root = checked(httpx.post(f"{server}/v1/tokens", json={"name": "root", "scopes": ["admin"]}))["token"]

    def token(name: str) -> str:
        headers = {"Authorization": f"Bearer {root}"}
        body = {"name": name, "user": "ada" if name.startswith("ada") else name, "scopes": ["work"]}
        made: str = checked(httpx.post(f"{server}/v1/tokens", json=body, headers=headers))["token"]
        return made

    with tab(browser, server, refused=REFUSALS) as page:

        def log_in(name: str) -> None:
            page.context.clear_cookies()
            page.goto("/")
            page.get_by_label("Token").fill(token(name))
            page.get_by_role("button", name="Log in").click()
            expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()
            page.goto("/new")

        title = page.get_by_label("Title")
        log_in("ada")
        title.fill("Aryl amination")
        log_in("eve")
        expect(page.locator("#parameters > *")).to_have_count(1)
        expect(title).to_have_value("")
        log_in("ada2")
        expect(title).to_have_value("Aryl amination")
        page.get_by_role("button", name="Log out").click()
        page.wait_for_url("**/login*")
        assert drafts(page) == []
