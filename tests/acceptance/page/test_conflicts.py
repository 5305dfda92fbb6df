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


def study(api: httpx.Client, name: str, **definition: Any) -> str:
    """A study of a yield in percent, with the result 84.2 of trial 1."""
    parameters = [
        {"name": "x", "kind": "float", "low": 0, "high": 1},
        {"name": "t", "kind": "int", "low": 1, "high": 9},
    ]
    quantities = {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100}}
    fields = {"direction": "maximize", "parameters": parameters, "quantities": quantities, **definition}
    checked(api.post("/v1/studies", json={"id": name, **fields}))
    path = f"/v1/studies/{name}"
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    checked(api.post(f"{path}/observe", json={"trial": 1, "value": 84.2}))
    return path


def correct(page: Page, **typed: str) -> None:
    """Correct the result on the page of its trial."""
    page.get_by_role("button", name="Correct", exact=True).click()
    for label, text in typed.items():
        page.get_by_role("dialog").get_by_label(label.replace("_", " ")).fill(text)
    page.get_by_role("button", name="Save the correction").click()
    expect(page.get_by_text("The result is corrected.")).to_be_visible()


@on_both
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
        ben.get_by_role("button", name="Undo").click()
        wait_for(lambda: checked(api.get(path))["description"] == "Flask A, 40 mL")
        found = checked(api.get(path))
        assert (found["quantities"]["value"]["label"], found["parameters"][0]["label"]) == ("Isolated yield", "Dose")
        ben.goto("/studies/described/report")
        expect(ben.get_by_role("region", name="Changes")).to_contain_text("Flask B (it was Flask A, 40 mL)")


def test_name_that_another_person_has_changed_is_shown_beside_ones_own(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    path = study(api, "named")
    with two(browser, site, "/studies/named") as (anna, ben):
        for page, name in ((anna, "Dose"), (ben, "Amount")):
            page.locator("[data-opens=words]").click()
            page.get_by_label("Name of x").fill(name)
        anna.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(anna.get_by_text("The words are changed.")).to_be_visible()
        ben.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(ben.get_by_role("dialog")).to_contain_text("changed this to “Dose”")
        expect(ben.get_by_label("Name of x")).to_have_value("Amount")
        assert checked(api.get(path))["parameters"][0]["label"] == "Dose"


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


@pytest.mark.parametrize("shows", ["trials/2", "results/2"])
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
