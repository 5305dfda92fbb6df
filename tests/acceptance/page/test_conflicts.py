"""Two people change the same study: nobody's words or numbers are lost. Each person has a browser context."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.page.conftest import on_both
from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import tab
from tests.samples import some
from tests.waiting import wait_for

CHANGED = (409, 412, 422)
"""Statuses of requests that contradict what another person has stored."""


@contextmanager
def two(browser: Browser, site: str, path: str) -> Iterator[tuple[Page, Page]]:
    """The same page, opened by two people."""
    with tab(browser, site, refused=CHANGED) as anna, tab(browser, site, refused=CHANGED) as ben:
        for page in (anna, ben):
            page.goto(path)
        yield anna, ben


def study(api: httpx.Client, name: str, metrics: dict[str, float] | None = None, **definition: Any) -> str:
    """A study of a yield in percent, with the result 84.2 of trial 1, perhaps with metrics."""
    parameters = [
        {"name": "x", "kind": "float", "low": 0, "high": 1},
        {"name": "t", "kind": "int", "low": 1, "high": 9},
    ]
    quantities = {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100}}
    fields = {"direction": "maximize", "parameters": parameters, "quantities": quantities, **definition}
    checked(api.post("/v1/studies", json={"id": name, **fields}))
    path = f"/v1/studies/{name}"
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    checked(api.post(f"{path}/observe", json={"trial": 1, "value": 84.2, "metrics": metrics}))
    return path


def correct(page: Page, **typed: str) -> None:
    """Correct the result on the page of its trial."""
    page.get_by_role("button", name="Correct", exact=True).click()
    for label, text in typed.items():
        page.get_by_role("dialog").get_by_label(label.replace("_", " ")).fill(text)
    page.get_by_role("button", name="Save the correction").click()
    expect(page.get_by_text("The result is corrected.")).to_be_visible()


@on_both
@pytest.mark.long
def test_undo_of_a_correction_does_not_undo_a_later_one(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "undone")
    with two(browser, site, "/studies/undone/trials/1") as (anna, ben):
        correct(anna, Yield="82,4")
        correct(ben, Yield="83,1")
        anna.get_by_role("button", name="Undo").click()
        expect(anna.locator("#toasts")).to_contain_text(
            "Not undone, because it has been changed again since. It is 83.1"
        )
        (result,) = checked(api.get(f"{path}/observations"))["items"]
        assert result["value"] == 83.1
        ben.get_by_role("button", name="Undo").click()
        happened = anna.get_by_role("region", name="What happened")
        expect(happened).to_contain_text("Corrected from 83.1 % to 82.4 %: Undo")
        expect(happened).to_contain_text("Corrected from 84.2 % to 82.4 %")


@pytest.mark.long
def test_all_that_a_correction_changed_is_in_words(browser: Browser, site: str, api: httpx.Client) -> None:
    """On the page of the trial, in the events of the study, and in the report."""
    study(api, "said")
    with two(browser, site, "/studies/said/trials/1") as (anna, ben):
        correct(anna, Yield="82,4", Standard_error="1,5")
        expect(anna.get_by_role("region", name="What happened")).to_contain_text(
            "Corrected from 84.2 % to 82.4 %, standard error set to 1.5 percentage points"
        )
        ben.goto("/studies/said/results")
        ben.get_by_role("button", name="Edit the result of trial 1").click()
        ben.get_by_label("Standard error, if known").fill("")
        ben.get_by_label("does not count").check()
        ben.get_by_role("button", name="Save the correction").click()
        told = "corrected: standard error 1.5 percentage points removed, excluded"
        expect(anna.get_by_role("region", name="What happened")).to_contain_text(told.capitalize())
        for page, where in ((anna, "/studies/said"), (ben, "/studies/said/report")):
            page.goto(where)
            place = page.locator("#feed") if page is anna else page.get_by_role("region", name="Changes")
            expect(place).to_contain_text(f"The result of trial 1 was {told}")


@pytest.mark.long
def test_input_over_a_value_of_another_person_is_marked_when_the_table_shows_it(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """A row stays open while its table is read again. Input that both have made alike is not marked."""
    path = study(api, "seen")
    with tab(browser, site, refused=CHANGED) as page:
        page.goto("/studies/seen/results")
        rows = page.locator("#rows")
        page.get_by_role("button", name="Edit the result of trial 1").click()
        rows.get_by_label("Yield", exact=True).fill("77")
        rows.get_by_label("Standard error").fill("1,5")
        checked(api.patch(f"{path}/observations/1", json={"value": 73, "std_error": 1.5}))
        page.locator("#news").get_by_role("button", name="Show").click()
        expect(rows.locator(".fault")).to_have_text(
            "Another person has changed this to 73 since you opened the form. To store your input instead, save it."
        )
        expect(rows.get_by_label("Yield", exact=True)).to_have_value("77")
        page.get_by_role("button", name="Save the correction").click()
        expect(page.get_by_text("The result is corrected.")).to_be_visible()
        (result,) = checked(api.get(f"{path}/observations"))["items"]
        assert (result["value"], result["std_error"]) == (77, 1.5)


@pytest.mark.long
def test_a_value_that_one_has_seen_in_a_group_is_compared_with_later_ones(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """Also where the form did not have the group when it was opened."""
    bounds = [{"metric": "purity", "lower": 0.5}]
    path = study(api, "grouped", {"purity": 0.6}, outcome_constraints=bounds)
    with tab(browser, site, refused=CHANGED) as page:
        page.goto("/studies/grouped/trials/1")
        form = page.locator("#correct-1 form")
        form.evaluate("form => { form.dataset.before = JSON.stringify({ value: 84.2, std_error: null }); }")
        page.get_by_role("button", name="Correct", exact=True).click()
        form.get_by_label("Yield").fill("77")
        form.get_by_label("purity", exact=True).fill("0,9")
        save = page.get_by_role("button", name="Save the correction")
        for value, purity in ((73, 0.7), (73, 0.8)):
            checked(api.patch(f"{path}/observations/1", json={"value": value, "metrics": {"purity": purity}}))
            save.click()
            expect(form.locator(".fault").last).to_contain_text(f"changed this to {purity}")
        save.click()
        expect(page.get_by_text("The result is corrected.")).to_be_visible()
        (result,) = checked(api.get(f"{path}/observations"))["items"]
        assert (result["value"], result["metrics"]) == (77, {"purity": 0.9})


@pytest.mark.parametrize("shows", ["results", "trials/1"])
def test_a_reason_alone_corrects_nothing(browser: Browser, site: str, api: httpx.Client, shows: str) -> None:
    name = f"reason-{shows[:6]}"
    path = study(api, name)
    with tab(browser, site) as page:
        page.goto(f"/studies/{name}/{shows}")
        page.get_by_role("button", name="Edit the result" if shows == "results" else "Correct").click()
        page.locator("#rows, #correct-1").get_by_label("Reason, for the log").fill("read again")
        page.get_by_role("button", name="Save the correction").click()
        expect(page.get_by_text("Nothing was changed, so the reason was not stored.")).to_be_visible()
        assert page.get_by_text("The result is corrected.").is_hidden()
    kinds = [each["kind"] for each in checked(api.get(f"{path}/events"))["items"]]
    assert "corrected" not in kinds


@on_both
def test_description_of_another_person_is_not_replaced_silently(browser: Browser, site: str, api: httpx.Client) -> None:
    """The second person sees the text of the first, and keeps what was typed. Other fields are not touched."""
    path = study(api, "described")
    with two(browser, site, "/studies/described") as (anna, ben):
        for page in (anna, ben):
            page.locator("[data-opens=words]").click()
        dialogs = [page.get_by_role("dialog", name="Title, names and units") for page in (anna, ben)]
        dialogs[0].get_by_label("Description").fill("Flask A, 40 mL")
        dialogs[0].get_by_label("Name of x").fill("Dose")
        dialogs[0].get_by_label("Name of value").fill("Isolated yield")
        dialogs[1].get_by_label("Description").fill("Flask B")
        dialogs[1].get_by_label("Unit of x").fill("mL")
        dialogs[1].get_by_label("Decimals of value").fill("1")
        for page, dialog in zip((anna, ben), dialogs, strict=True):
            dialog.get_by_role("button", name="Save").click()
            expect(page.get_by_text("The words are changed." if page is anna else "Another person has")).to_be_visible()
        expect(dialogs[1]).to_contain_text("changed this to “Flask A, 40 mL”")
        expect(dialogs[1].get_by_label("Description")).to_have_value("Flask B")
        assert checked(api.get(path))["description"] == "Flask A, 40 mL"
        dialogs[1].get_by_role("button", name="Save").click()
        expect(ben.get_by_text("The words are changed.")).to_be_visible()
        found = checked(api.get(path))
        assert found["description"] == "Flask B"
        assert found["quantities"]["value"] == {
            "label": "Isolated yield",
            "unit": "%",
            "digits": 1,
            "low": 0,
            "high": 100,
        }
        assert {name: found["parameters"][0][name] for name in ("label", "unit")} == {"label": "Dose", "unit": "mL"}
        anna.get_by_role("button", name="Undo").click()
        expect(anna.locator("#toasts")).to_contain_text("Not undone")
        with ben.expect_navigation():  # the page is read anew
            ben.get_by_role("button", name="Undo").click()
        wait_for(lambda: checked(api.get(path))["description"] == "Flask A, 40 mL")
        found = checked(api.get(path))
        assert (found["quantities"]["value"]["label"], found["parameters"][0]["label"]) == ("Isolated yield", "Dose")
        ben.goto("/studies/described/report")
        expect(ben.get_by_role("region", name="Changes")).to_contain_text("Flask B (it was Flask A, 40 mL)")


@pytest.mark.long
def test_name_that_another_person_has_changed_is_shown_beside_ones_own(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    path = study(api, "named")
    with two(browser, site, "/studies/named") as (anna, ben):
        for page, name in ((anna, "Dose"), (ben, "Amount")):
            page.locator("[data-opens=words]").click()
            page.get_by_label("Name of x").fill(name)
            page.get_by_label("Title", exact=True).fill(f"{name} and yield")
        anna.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(anna.get_by_text("The words are changed.")).to_be_visible()
        ben.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(ben.get_by_role("dialog")).to_contain_text("changed this to “Dose”")
        expect(ben.get_by_role("dialog")).to_contain_text("changed this to “Dose and yield”")
        expect(ben.get_by_label("Name of x")).to_have_value("Amount")
        assert checked(api.get(path))["parameters"][0]["label"] == "Dose"


@pytest.mark.long
def test_note_with_a_result_does_not_replace_that_of_another_person(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    path = study(api, "notes")
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    with two(browser, site, "/studies/notes/trials/2") as (anna, ben):
        ben.get_by_label("Yield").fill("70")
        ben.get_by_label("Note", exact=True).fill("brown")
        anna.get_by_role("button", name="Note", exact=True).click()
        anna.get_by_label("Note about this trial").fill("stirred by hand")
        anna.get_by_role("button", name="Save the note").click()
        expect(anna.get_by_text("The note is stored.")).to_be_visible()
        ben.get_by_role("button", name="Save the result").click()
        expect(ben.locator(".fault")).to_contain_text("Another person has changed this to “stirred by hand”")
        expect(ben.get_by_label("Note", exact=True)).to_have_value("brown")
        assert checked(api.get(f"{path}/trials/2"))["attributes"] == {"note": "stirred by hand"}
        ben.get_by_label("Note", exact=True).fill("stirred by hand, brown")
        ben.get_by_role("button", name="Save the result").click()
        expect(ben.get_by_text("The result of trial 2 is stored")).to_be_visible()
        happened = ben.get_by_role("region", name="What happened")
        expect(happened).to_contain_text("Note “stirred by hand, brown”, before: “stirred by hand”")


@pytest.mark.long
@pytest.mark.parametrize("shows", some(["trials/2", "results/2"], {"trials/2"}))
def test_note_of_another_person_is_shown_and_stays_in_the_log(
    browser: Browser, site: str, api: httpx.Client, shows: str
) -> None:
    name = f"note-{shows[:6]}"
    path = study(api, name)
    if shows == "trials/2":
        checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    else:
        checked(api.post(f"{path}/observe", json={"parameters": {"x": 0.5, "t": 2}, "value": 60}))
    with two(browser, site, f"/studies/{name}/{shows}") as (anna, ben):
        for page, text in ((anna, "theirs"), (ben, "mine")):
            page.get_by_role("button", name="Note", exact=True).click()
            page.get_by_label("Note about this trial").fill(text)
        anna.get_by_role("button", name="Save the note").click()
        expect(anna.get_by_text("The note is stored.")).to_be_visible()
        ben.get_by_role("button", name="Save the note").click()
        expect(ben.locator(".fault")).to_contain_text("Another person has changed this to “theirs”")
        expect(ben.get_by_label("Note about this trial")).to_have_value("mine")
        ben.get_by_role("button", name="Save the note").click()
        expect(ben.get_by_role("region", name="What happened")).to_contain_text("Note “mine”, before: “theirs”")


@on_both
def test_second_result_of_a_trial_is_refused_in_the_words_of_the_page(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """The message has both numbers, and links to the trial and to the form that corrects the stored one."""
    path = study(api, "second")
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    with two(browser, site, "/studies/second/trials/2") as (anna, ben):
        for page, number in ((anna, "91,1"), (ben, "90,2 %")):
            page.get_by_label("Yield").fill(number)
        anna.get_by_role("button", name="Save the result").click()
        expect(anna.get_by_text("The result of trial 2 is stored: 91.1 %.")).to_be_visible()
        ben.get_by_role("button", name="Save the result").click()
        problem = ben.get_by_role("alert").filter(has_text="Another person")
        expect(problem).to_contain_text(
            "Another person has already reported 91.1 for this trial, so 90.2 was not stored."
        )
        for word in ("PATCH", "observation", "Attempt"):
            expect(problem).not_to_contain_text(word)
        expect(problem.get_by_role("link", name="Trial 2")).to_have_attribute("href", "/studies/second/trials/2")
        problem.get_by_role("link", name="Correct the stored result").click()
        dialog = ben.get_by_role("dialog", name="Correct the result of trial 2")
        expect(dialog.get_by_label("Yield")).to_have_value("91.1")
        dialog.get_by_label("Yield").fill("90.2 %")
        dialog.get_by_role("button", name="Save the correction").click()
        expect(ben.get_by_role("article")).to_contain_text("90.2 %")


@pytest.mark.long
def test_refusals_have_no_words_of_the_api(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "refused", budget=9)
    checked(api.post(f"{path}/suggest", json={"worker": "anna", "fixed": {"x": 0.5}}))
    with tab(browser, site, refused=CHANGED) as page:
        page.goto("/studies/refused/trials/2")
        expect(page.get_by_role("region", name="Why this trial")).to_contain_text("Held fixed: x = 0.5.")
        page.get_by_label("Yield").fill("5000")
        page.get_by_role("button", name="Save the result").click()
        expect(page.locator(".fault")).to_have_text(
            "is 5000, far above the possible values, 0 to 100 %. Correct it, or change these bounds under "
            "“Title, names and units”"
        )
        page.goto("/studies/refused")
        page.get_by_role("button", name="Add a result").click()
        dialog = page.get_by_role("dialog", name="Add a result of your own")
        for label, text in (("x", "2"), ("t", "3"), ("Yield", "70")):
            dialog.get_by_label(label, exact=label != "Yield").fill(text)
        dialog.get_by_role("button", name="Add the result").click()
        expect(dialog.locator(".fault")).to_contain_text("is 2, outside the range from 0 to 1")
        checked(api.post(f"{path}/trials/2/withdraw", json={"attempt": 1}))
        page.goto("/studies/refused/trials/2")
        with page.expect_response("**/retry"):
            page.get_by_role("button", name="Issue it after all").click()
            checked(api.patch(path, json={"budget": 1}))
            page.get_by_role("button", name="Try again").click()
        problem = page.locator(".problem").filter(has_text="budget")
        expect(problem).not_to_contain_text("PATCH")


@pytest.mark.long
def test_undo_of_a_new_result_says_that_it_is_excluded(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "excluded")
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    with tab(browser, site) as page:
        page.goto("/studies/excluded/trials/2")
        page.get_by_label("Yield").fill("91 %")
        page.get_by_role("button", name="Save the result").click()
        page.get_by_role("button", name="Undo: exclude it").click()
        expect(page.get_by_text("it no longer counts, but stays on record with its trial.")).to_be_visible()
        expect(page.get_by_role("button", name="Include again")).to_be_visible()
        page.goto("/studies/excluded")
        page.get_by_role("button", name="Add a result").click()
        page.get_by_role("button", name="Paste a table instead").click()
        page.get_by_role("textbox", name="Table").fill("x,t,Yield\n0.25,2,70 %\n0.75,3,80 %")
        page.get_by_role("button", name="Check first").click()
        page.locator("#paste-go", has_text="Add").click()
        page.get_by_role("button", name="Undo: exclude them").click()
        expect(page.get_by_text("2 results no longer count, but stay on record as excluded.")).to_be_visible()
        items = checked(api.get(f"{path}/observations"))["items"]
        assert [each["excluded"] for each in items] == [False, True, True, True]


@pytest.mark.long
def test_study_that_a_person_has_ended_says_so_everywhere(browser: Browser, site: str, api: httpx.Client) -> None:
    """On its page, in the events and in the report; a similar study has the original budget."""
    study(api, "over", budget=30)
    with tab(browser, site) as page:
        page.goto("/studies/over")
        page.get_by_role("button", name="End the study").click()
        expect(page.locator("#figures .verdict")).to_contain_text("Ended by a user")
        expect(page.locator("#feed")).to_contain_text("The study is complete. Ended by a user.")
        page.reload()
        expect(page.locator("#feed")).to_contain_text("The study is complete. Ended by a user.")
        page.goto("/studies/over/report")
        changes = page.get_by_role("region", name="Changes")
        expect(changes).to_contain_text("budget = 1 (it was 30)")
        expect(changes).to_contain_text("Ended by a user.")
        expect(changes).not_to_contain_text("used up")
        page.goto("/new?like=over")
        expect(page.get_by_label("Budget, in trials")).to_have_value("30")


@pytest.mark.parametrize("typed", some(["82,4 %", "82.4%", "82,4"], {"82,4 %"}))
def test_numbers_may_have_their_unit(browser: Browser, site: str, api: httpx.Client, typed: str) -> None:
    """In the form of a result, in a row of the table of results, and in a correction."""
    name = f"units-{len(typed)}-{typed.count(',')}"
    path = study(api, name)
    checked(api.post(f"{path}/suggest", json={"count": 2, "worker": "anna"}))
    with tab(browser, site) as page:
        page.goto(f"/studies/{name}/trials/2")
        page.get_by_label("Yield").fill(typed)
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_text("The result of trial 2 is stored: 82.4 %.")).to_be_visible()
        page.goto(f"/studies/{name}/results")
        page.get_by_role("button", name="Enter the result of trial 3").click()
        page.get_by_label("Yield", exact=True).fill(typed)
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_text("The result of trial 3 is stored: 82.4 %.")).to_be_visible()
        page.goto(f"/studies/{name}/trials/1")
        correct(page, Yield=typed, Standard_error="1,5 %")
    items = checked(api.get(f"{path}/observations"))["items"]
    assert [each["value"] for each in items] == [82.4] * 3
    assert items[0]["std_error"] == 1.5


@pytest.mark.long
def test_number_of_trials_holds_for_one_request(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "once")
    with tab(browser, site) as page:
        page.goto("/studies/once")
        page.get_by_role("button", name="Next trial").first.click()
        page.get_by_label("How many trials").fill("4")
        page.get_by_role("button", name="Get the next trial").click()
        expect(page.get_by_text("4 trials are reserved for you.")).to_be_visible()
        page.get_by_role("button", name="Next trial").first.click()
        expect(page.get_by_label("How many trials")).to_have_value("")
        page.get_by_role("button", name="Get the next trial").click()
        expect(page.get_by_text("This trial is reserved for you.")).to_be_visible()
        assert len(checked(api.get(f"{path}/trials?state=active"))["items"]) == 5


def test_undo_of_an_emptied_note_does_not_replace_a_later_note(browser: Browser, site: str, api: httpx.Client) -> None:
    """The answer of the server has no attributes then."""
    path = study(api, "emptied")
    own = {"parameters": {"x": 0.5, "t": 2}, "value": 70, "attributes": {"note": "old"}}
    seq = checked(api.post(f"{path}/observe", json=own))["observation"]["seq"]
    with tab(browser, site, refused=CHANGED) as page:
        page.goto(f"/studies/emptied/results/{seq}")
        page.get_by_role("button", name="Edit the note").click()
        page.locator("#note-text").fill("")
        page.get_by_role("button", name="Save the note").click()
        expect(page.get_by_text("The note is stored.")).to_be_visible()
        checked(api.patch(f"{path}/observations/{seq}", json={"attributes": {"note": "theirs"}}))
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#toasts")).to_contain_text("Not undone")
    found = next(each for each in checked(api.get(f"{path}/observations"))["items"] if each["seq"] == seq)
    assert found["attributes"] == {"note": "theirs"}


@pytest.mark.long
def test_description_on_the_report_is_not_replaced_silently(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "remarked")
    with tab(browser, site, refused=CHANGED) as page:
        page.goto("/studies/remarked/report")
        page.locator("[data-opens=remarks]").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Description", exact=True).fill("mine")
        checked(api.patch(path, json={"description": "theirs"}))
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_contain_text("changed this to “theirs”")
        assert checked(api.get(path))["description"] == "theirs"
        dialog.get_by_role("button", name="Save").click()
        expect(page.get_by_text("The words are changed.")).to_be_visible()
    assert checked(api.get(path))["description"] == "mine"


@pytest.mark.long
def test_limits_and_tags_of_another_person_are_not_replaced_silently(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    path = study(api, "limited", budget=60, tags={"owner": "Ada"})
    with tab(browser, site, refused=CHANGED) as page:
        page.goto("/studies/limited")
        page.locator("[data-opens=limits]").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Budget, in trials").fill("80")
        dialog.get_by_label("Tags, one per line").fill("owner: Ben")
        checked(api.patch(path, json={"budget": 100, "tags": {"owner": "Eve"}, "pending_limit": 3}))
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_contain_text("changed this to 100")
        expect(dialog).to_contain_text("changed this to “owner: Eve”")
        assert checked(api.get(path))["budget"] == 100
        dialog.get_by_role("button", name="Save").click()
        expect(page.get_by_text("The changes are saved.")).to_be_visible()
    found = checked(api.get(path))
    assert (found["budget"], found["tags"], found["pending_limit"]) == (80, {"owner": "Ben"}, 3)


@pytest.mark.long
def test_bounds_of_another_person_are_not_replaced(browser: Browser, site: str, api: httpx.Client) -> None:
    """Bounds are sent together, so the page must be read anew, where what was typed is restored."""
    bounds = [{"metric": "size", "upper": 5}, {"metric": "purity", "lower": 0.5}]
    path = study(api, "bounded", {"size": 4, "purity": 0.6}, outcome_constraints=bounds)
    with tab(browser, site, refused=CHANGED) as page:
        page.goto("/studies/bounded")
        page.locator("[data-opens=rules]").first.click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Greatest value of size").fill("6,5")
        checked(api.patch(path, json={"outcome_constraints": [bounds[0], {"metric": "purity", "lower": 0.7}]}))
        dialog.get_by_role("button", name="Save").click()
        expect(dialog).to_contain_text("Another person has changed this since you opened the form. Reload the page")
        assert [each["upper"] for each in checked(api.get(path))["outcome_constraints"]] == [5, None]
        page.reload()
        page.locator("[data-opens=rules]").first.click()
        expect(dialog.get_by_label("Greatest value of size")).to_have_value("6,5")
        dialog.get_by_role("button", name="Save").click()
        expect(page.get_by_text("The rules are changed.")).to_be_visible()
    assert checked(api.get(path))["outcome_constraints"] == [
        {"metric": "size", "lower": None, "upper": 6.5},
        {"metric": "purity", "lower": 0.7, "upper": None},
    ]
