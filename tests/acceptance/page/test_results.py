"""The results of a study in a real Chromium: excluded ones, points that differ from the suggested ones, pasted
tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import PHONE, REFUSALS, accessible, tab
from tests.waiting import wait_for

PARAMETERS = [
    {"name": "minutes", "kind": "float", "low": 20, "high": 60},
    {"name": "solvent", "kind": "categorical", "choices": ["1,4-dioxane", 'tube 1/2"; wide', "water"]},
    {"name": "strength", "kind": "ordinal", "values": [0.5, 1, 2.5]},
]


def baked(api: httpx.Client, study: str) -> None:
    """Three trials: the largest result is excluded, and the second trial ran for a different time than suggested."""
    checked(api.post("/v1/studies", json={"id": study, "direction": "maximize", "parameters": PARAMETERS, "seed": 1}))
    for number in (1, 2, 3):
        checked(api.post(f"/v1/studies/{study}/suggest", json={}))
        told: dict[str, Any] = {"trial": number, "value": {1: 5.0, 2: 7.0, 3: 99.0}[number]}
        if number == 2:
            trial = checked(api.get(f"/v1/studies/{study}/trials/2"))
            told["parameters"] = {**trial["parameters"], "minutes": 41.25}
        checked(api.post(f"/v1/studies/{study}/observe", json=told))
    checked(api.request("DELETE", f"/v1/studies/{study}/observations/3", params={"reason": "spilt"}))


def test_excluded_results_come_last_and_points_are_those_that_were_run(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    baked(api, "excluding")
    suggested = checked(api.get("/v1/studies/excluding/trials/2"))["parameters"]["minutes"]
    with tab(browser, site) as page:
        for order, first in (("desc", ["2", "1", "3"]), ("asc", ["1", "2", "3"])):
            page.goto(f"/studies/excluding/results?sort=value&order={order}")
            assert page.locator("#rows tbody th").all_inner_texts() == first
        row = page.locator("#rows tbody tr").last
        expect(row).to_contain_text("excluded")
        expect(row.get_by_text("99")).to_have_css("text-decoration-line", "line-through")
        page.goto("/studies/excluding/results")
        expect(page.get_by_role("row").filter(has_text="41.25")).to_contain_text("suggested")
        assert f"{suggested:.4g}" in page.get_by_role("row").filter(has_text="41.25").inner_text()
        page.goto("/studies/excluding/results/3")
        expect(page.locator("main")).to_contain_text("spilt")


@pytest.mark.long
def test_pasted_results_are_corrected_and_excluded_at_any_time(browser: Browser, site: str, api: httpx.Client) -> None:
    baked(api, "pasting")
    with tab(browser, site, refused=REFUSALS) as page:
        pasted(page, "pasting", "minutes;solvent;strength;value\n30,5;1,4-dioxane;2,5;6\n40;water;0.5;8,25\n")
        expect(page.get_by_text("Stored: 2 results.")).to_be_visible()
        page.reload()  # removes the message with Undo
        in_definition = page.get_by_role("row", name="solvent choice")
        expect(in_definition).to_contain_text('“1,4-dioxane”, “tube 1/2"; wide”, “water”')
        page.get_by_label("Show").select_option("own")
        expect(page.locator("#rows tbody tr")).to_have_count(2)
        expect(page.locator("#rows tbody tr").last).to_contain_text("1,4-dioxane")
        page.locator("#rows tbody th a").first.click()
        page.wait_for_url("**/results/5")
        assert accessible(page) == []
        page.get_by_role("button", name="Correct").click()
        page.get_by_role("dialog").get_by_label("Result", exact=True).fill("8,5")
        page.get_by_role("dialog").get_by_label("Reason, for the log").fill("misread")
        page.get_by_role("button", name="Save the correction").click()
        expect(page.locator("main")).to_contain_text("misread")
        page.get_by_role("button", name="Exclude", exact=True).click()
        page.get_by_role("button", name="Exclude the result").click()
        expect(page.get_by_role("button", name="Include again")).to_be_visible()
        page.goto("/studies/pasting/results?kind=excluded")
        expect(page.locator("#rows tbody th")).to_have_text(["R5", "3"])
        page.set_viewport_size(PHONE)  # type: ignore[arg-type]
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert accessible(page) == []
    result = checked(api.get("/v1/studies/pasting/observations"))["items"][-1]
    assert (result["value"], result["excluded"], result["trial"]) == (8.5, True, None)


@pytest.mark.long
def test_a_fault_of_a_pasted_table_names_line_column_and_remedy(browser: Browser, site: str, api: httpx.Client) -> None:
    baked(api, "faulty")
    header, number = "minutes,solvent,strength,value,std_error\n", " Write a number, or n.d. if there is no result."
    choices = '“1,4-dioxane”, “tube 1/2"; wide”, “water”'
    faults = {
        "30,water,1,5\n31,water,1,much\n": ["Line 3, column value: “much” is not a number." + number],
        "hot,water,1,5,wide\n": [
            "Line 2, column minutes: “hot” is not a number. Correct it",
            "Line 2, column std_error: “wide” is not a number. Correct it, or leave the cell empty",
        ],
        "\n30,steam,1,5\n": [f"Line 3, column solvent: “steam” is not one of {choices}."],
        "30,water,1,5,-1\n": ["Line 2, column std_error: must be"],
        "30,water,1,5,1,6\n": ["Line 2: it has 6 cells, but the first line names 5 columns."],
        "99,water,1,5\n": ["Line 2, column minutes: is 99"],
        "30,,1,5\n": ["Line 2, column solvent: is missing"],
    }
    with tab(browser, site, refused=REFUSALS) as page:
        for rows, told in faults.items():
            looked_at(page, "faulty", header + rows)
            alert = page.get_by_role("dialog").get_by_role("alert")
            expect(alert).to_contain_text(told[0])
            assert [each for each in told if each not in alert.inner_text()] == []
            expect(alert).to_contain_text("Nothing is stored yet.")
            assert "items/" not in alert.inner_text()
            expect(page.locator("#paste-go")).to_be_disabled()
    assert len(checked(api.get("/v1/studies/faulty/observations"))["items"]) == 3


def looked_at(page: Page, study: str, table: str) -> None:
    """The preview of a pasted table."""
    page.goto(f"/studies/{study}")
    page.get_by_role("button", name="Add a result").click()
    page.get_by_role("button", name="Paste a table instead").click()
    page.get_by_role("textbox", name="Table").fill(table)
    page.get_by_role("button", name="Check first").click()


def pasted(page: Page, study: str, table: str) -> None:
    looked_at(page, study, table)
    page.locator("#paste-go", has_text="Add").click()


@pytest.mark.long
def test_a_result_of_ones_own_has_a_note(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    checked(api.post("/v1/studies", json={"id": "noted", "direction": "minimize", "parameters": parameters}))
    checked(api.post("/v1/studies/noted/observe", json={"parameters": {"x": 0.5}, "value": 1}))
    with tab(browser, site) as page:
        page.goto("/studies/noted/results/1")
        expect(page.get_by_role("heading", name="Own result R1")).to_be_visible()
        page.get_by_role("button", name="Note", exact=True).click()
        page.get_by_label("Note about this trial").fill("turbid after an hour")
        page.get_by_role("button", name="Save the note").click()
        expect(page.get_by_text("The note is stored.")).to_be_visible()
        expect(page.get_by_role("definition").filter(has_text="turbid after an hour")).to_be_visible()
        expect(page.get_by_text("Note “turbid after an hour”")).to_be_visible()
        assert not accessible(page)
        page.goto("/studies/noted/results")
        expect(page.get_by_role("cell", name="turbid after an hour")).to_be_visible()
    (result,) = checked(api.get("/v1/studies/noted/observations"))["items"]
    assert result["attributes"] == {"note": "turbid after an hour"}


@pytest.mark.long
def test_a_photograph_is_added_to_a_result_of_ones_own_and_is_in_the_report(
    browser: Browser, site: str, api: httpx.Client, tmp_path: Path
) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    checked(api.post("/v1/studies", json={"id": "photos", "direction": "minimize", "parameters": parameters}))
    checked(api.post("/v1/studies/photos/observe", json={"parameters": {"x": 0.5}, "value": 1}))
    photo = tmp_path / "photo.png"
    Image.new("RGB", (64, 48), (200, 30, 30)).save(photo)
    with tab(browser, site) as page:
        page.goto("/studies/photos/results/1")
        page.get_by_label("Add files").set_input_files(photo)
        expect(page.get_by_role("img", name="photo.png")).to_be_visible()
        assert not accessible(page)
        page.goto("/studies/photos/report")
        expect(page.get_by_role("figure").filter(has_text="Own result R1: photo.png")).to_be_visible()
        page.goto("/studies/photos/results/1")
        page.get_by_role("button", name="Delete photo.png").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete the file").click()
        expect(page.get_by_text("No files yet.")).to_be_visible()
    assert checked(api.get("/v1/studies/photos/observations/1/files"))["items"] == []


@pytest.mark.long
def test_rows_of_an_export_that_is_opened_again_are_not_stored_twice(
    browser: Browser, site: str, api: httpx.Client, tmp_path: Path
) -> None:
    """As CSV, Excel and JSON lines: results of trials, of one's own, a failure, and an excluded result."""
    baked(api, "again")
    checked(api.post("/v1/studies/again/suggest", json={}))
    checked(api.post("/v1/studies/again/observe", json={"trial": 4, "state": "failed", "reason": "broke"}))
    own = {"minutes": 30.5, "solvent": "water", "strength": 1}
    checked(api.post("/v1/studies/again/observe", json={"parameters": own, "value": 6.5}))
    formats = {"csv": "csv&decimal=comma&bom=true", "xlsx": "xlsx", "jsonl": "jsonl"}
    with tab(browser, site) as page:
        for ending, query in formats.items():
            file = tmp_path / f"again.{ending}"
            path = "/v1/studies/again/export" + ("" if ending == "jsonl" else f"?format={query}")
            file.write_bytes(api.get(path).content)
            opened(page, "again", file)
            told = "4 of 4 lines are stored already and will be left out."
            expect(page.locator("#paste-status")).to_contain_text(told)
            expect(page.get_by_role("button", name="Nothing to add")).to_be_disabled()
            assert accessible(page) == []
        page.get_by_label("Add those that are stored already").check()
        expect(page.locator("#paste-go")).to_have_text("Add 3 results and 1 failed trial")
        lines = (tmp_path / "again.csv").read_text("utf-8-sig").replace(";7,0;", ";7,5;")
        (tmp_path / "other.csv").write_text(lines)
        opened(page, "again", tmp_path / "other.csv")
        alert = page.get_by_role("dialog").get_by_role("alert")
        expect(alert).to_contain_text("trial 2 has another result, 7. Correct trial 2 on its page")
        expect(page.locator("#paste-go")).to_be_disabled()
    assert len(checked(api.get("/v1/studies/again/observations"))["items"]) == 4


def opened(page: Page, study: str, file: Path) -> None:
    page.goto(f"/studies/{study}/results")
    page.get_by_role("button", name="Paste or open a table").click()
    page.get_by_label("File: Excel").set_input_files(file)


@pytest.mark.long
def test_undo_of_an_import_is_one_request_that_leaving_the_page_does_not_stop(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    baked(api, "undoing")
    lines = "".join(f"{20 + i},water,1,{'failed' if i == 9 else i}\n" for i in range(30))
    with tab(browser, site) as page:
        pasted(page, "undoing", "minutes,solvent,strength,value\n" + lines)
        expect(page.get_by_text("Stored: 29 results and 1 failed trial.")).to_be_visible()
        writes: list[str] = []
        page.on("request", lambda each: writes.append(each.url) if each.method in ("POST", "PATCH") else None)
        page.get_by_role("button", name="Undo").click()
        page.goto("/")
        with httpx.Client(base_url=site) as other:
            wait_for(lambda: checked(other.get("/v1/studies/undoing"))["counts"]["withdrawn"] == 1)
        assert [url.rpartition("/")[2] for url in writes] == ["undo-import"]
    found = checked(api.get("/v1/studies/undoing/observations"))["items"]
    assert [each["excluded"] for each in found] == [False, False, True, *[True] * 29]
