"""The table of all results in a real Chromium, on each kind of database: shown, sorted, filtered, edited, filled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from openpyxl import Workbook
from playwright.sync_api import Browser, Page, Route, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import PHONE, REFUSALS, accessible, tab
from tests.samples import some
from tests.servers import server_on
from tests.waiting import wait_for

PARAMETERS = [
    {"name": "temperature", "kind": "float", "low": 20, "high": 120, "unit": "°C", "label": "Bath temperature"},
    {"name": "solvent", "kind": "categorical", "choices": ["1,4-dioxane", "DMF", "water"]},
]
YIELD = {"label": "Yield", "unit": "%", "low": 0, "high": 100}
STUDY = {"direction": "maximize", "parameters": PARAMETERS, "seed": 1, "quantities": {"value": YIELD}}


@pytest.fixture
def lab(migrated_url: str) -> Iterator[str]:
    with server_on(migrated_url) as address:
        yield address


@pytest.fixture
def api(lab: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=lab, timeout=60) as api:
        yield api


def filled(api: httpx.Client, study: str = "suzuki") -> str:
    """One row of each kind: 1 is completed, 2 corrected, 3 excluded, 4 failed, 5 ran at another point, 6 is active; two
    results at one point are user-supplied."""
    checked(api.post("/v1/studies", json={"id": study, **STUDY}))
    for number, value in enumerate([50.0, 60.0, 99.0, None, 70.0], 1):
        worker = "anna" if number % 2 else "ben"
        (trial,) = checked(api.post(f"/v1/studies/{study}/suggest", json={"worker": worker}))["trials"]
        told: dict[str, Any] = {"value": value} if value else {"state": "failed", "reason": "the flask broke"}
        if number == 5:
            told["parameters"] = {**trial["parameters"], "temperature": 33.25}
        checked(api.post(f"/v1/studies/{study}/observe", json={"trial": number, **told}))
    checked(api.post(f"/v1/studies/{study}/suggest", json={"worker": "carl"}))
    checked(api.patch(f"/v1/studies/{study}/observations/2", json={"value": 6.0, "reason": "misread"}))
    checked(api.request("DELETE", f"/v1/studies/{study}/observations/3", params={"reason": "spilt"}))
    for value in (80.0, 82.0):
        point = {"temperature": 50, "solvent": "DMF"}
        checked(api.post(f"/v1/studies/{study}/observe", json={"parameters": point, "value": value}))
    return study


def shown(page: Page) -> list[str]:
    return page.locator("#rows tbody th").all_inner_texts()


def only(page: Page, kind: str, rows: list[str]) -> None:
    page.get_by_label("Show").select_option(kind)
    expect(page.locator("#rows tbody th")).to_have_text(rows)


@pytest.mark.long
def test_every_experiment_has_a_row_in_one_table(browser: Browser, lab: str, api: httpx.Client) -> None:
    filled(api)
    with tab(browser, lab) as page:
        page.goto("/studies/suzuki")
        expect(page.locator("#rows tbody tr")).to_have_count(8)
        assert sorted(shown(page)) == ["1", "2", "3", "4", "5", "6", "R5", "R6"]
        table = page.locator("#rows table")
        for head in ("Yield [%]", "Bath temperature [°C]", "solvent"):
            expect(table.get_by_role("columnheader", name=head)).to_be_visible()
        rows = {
            number: table.get_by_role("row").filter(has=page.get_by_role("link", name=number, exact=True))
            for number in "23456"
        }
        expect(rows["2"]).to_contain_text("corrected")
        expect(rows["3"]).to_contain_text("excluded")
        expect(rows["4"]).to_contain_text("the flask broke")
        expect(rows["5"]).to_contain_text("33.25 suggested")
        expect(rows["6"]).to_contain_text("running")
        expect(table.get_by_text("1 of 2 here")).to_have_count(2)
        checked(api.patch("/v1/studies/suzuki/observations/6", json={"excluded": True}))
        expect(table.get_by_text("1 of 2 here")).to_have_count(0)
        checked(api.patch("/v1/studies/suzuki/observations/6", json={"excluded": False}))
        expect(table.get_by_text("1 of 2 here")).to_have_count(2)
        assert accessible(page) == []
        only(page, "own", ["R6", "R5"])
        only(page, "failed", ["4"])
        only(page, "open", ["6"])
        only(page, "excluded", ["3"])
        only(page, "corrected", ["2"])
        only(page, "repeated", ["R6", "R5"])
        only(page, "counting", ["R6", "R5", "5", "2", "1"])
        page.get_by_label("Show").select_option("")
        page.get_by_role("searchbox", name="Worker").press_sequentially("ben")
        expect(page.locator("#rows tbody th")).to_have_text(["4", "2"])


@pytest.mark.long
def test_the_table_is_sorted_by_any_column(browser: Browser, lab: str, api: httpx.Client) -> None:
    filled(api)
    with tab(browser, lab) as page:
        page.goto("/studies/suzuki/results")
        page.get_by_role("link", name="Yield [%]").click()
        expect(page.locator("#rows tbody th")).to_have_text(["R6", "R5", "5", "1", "2", "6", "4", "3"])
        page.get_by_role("link", name="Yield [%]").click()
        expect(page.locator("#rows tbody th").first).to_have_text("2")
        expect(page.locator("#rows tbody th").last).to_have_text("3")
        page.get_by_role("link", name="Bath temperature").click()
        page.locator('#rows [aria-sort="descending"]', has_text="Bath temperature").wait_for()
        column = page.locator("#rows thead th", has_text="Bath temperature").evaluate("cell => cell.cellIndex")
        cells = page.locator(f"#rows tbody tr > :nth-child({column + 1})").all_inner_texts()
        values = [float(cell.split()[0]) for cell in cells]
        assert values == sorted(values, reverse=True)
        page.get_by_role("link", name="solvent").click()
        page.locator('#rows [aria-sort="descending"]', has_text="solvent").wait_for()
        page.get_by_role("link", name="Worker").click()
        expect(page.locator("#rows tbody th").first).to_have_text("6")


def test_a_result_is_edited_in_its_row_with_a_reason_and_taken_back(
    browser: Browser, lab: str, api: httpx.Client
) -> None:
    """With the keyboard only. Errors appear in the row, and change nothing."""
    filled(api)
    with tab(browser, lab, refused=REFUSALS) as page:
        page.goto("/studies/suzuki")
        page.get_by_role("button", name="Edit the result of trial 1").focus()
        page.keyboard.press("Enter")
        value = page.locator("#rows").get_by_label("Yield", exact=True)
        expect(value).to_be_focused()
        assert accessible(page) == []
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Edit the result of trial 1")).to_be_focused()
        page.keyboard.press("Enter")
        value.fill("500")
        page.keyboard.press("Enter")
        expect(page.locator("#rows .fault")).to_contain_text("far above the possible values, 0 to 100 %")
        value.fill("52,5")
        page.locator("#rows").get_by_label("Standard error").fill("1,5")
        page.get_by_label("Reason, for the log").fill("read again")
        page.keyboard.press("Enter")
        expect(page.get_by_text("The result is corrected.")).to_be_visible()
        expect(page.locator("#result-1")).to_contain_text("52.5")
        expect(page.locator("#result-1")).to_contain_text("corrected")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#result-1 [data-field=value]")).to_have_text("50")
        page.get_by_role("button", name="Edit the result of trial 1").click()
        page.get_by_label("does not count (excluded)").check()
        page.get_by_label("Reason, for the log").fill("wrong flask")
        page.get_by_role("button", name="Save the correction").click()
        expect(page.locator("#result-1")).to_contain_text("excluded")
        page.get_by_role("button", name="Enter the result of trial 6").click()
        value.fill("64")
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_text("The result of trial 6 is stored: 64")).to_be_visible()
        expect(page.locator("#rows").get_by_role("button", name="Edit the result of trial 6")).to_be_visible()
    results = checked(api.get("/v1/studies/suzuki/observations"))["items"]
    assert [(each["seq"], each["value"], each["excluded"]) for each in results if each["trial"] in (1, 6)] == [
        (1, 50.0, True),
        (7, 64.0, False),
    ]
    told = [each["payload"]["reason"] for each in events(api, "suzuki") if each["kind"] == "corrected"]
    assert told[2:] == ["read again", "Undo", "wrong flask"]


@pytest.mark.long
def test_a_row_that_is_edited_stays_though_the_table_is_being_read(
    browser: Browser, lab: str, api: httpx.Client
) -> None:
    """A result arrives, and while the table is being reloaded, a user begins to edit a row."""
    filled(api)
    with tab(browser, lab) as page:
        page.goto("/studies/suzuki")
        edit = page.get_by_role("button", name="Edit the result of trial 1")
        expect(edit).to_be_visible()
        page.evaluate("document.addEventListener('htmx:afterRequest', () => { window.isAnswered = true; })")
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route("**/studies/suzuki/results*", hold)
        with page.expect_request("**/studies/suzuki/results*"):
            checked(api.post("/v1/studies/suzuki/observe", json={"trial": 6, "value": 64.0}))
        edit.click()
        value = page.locator("#rows").get_by_label("Yield", exact=True)
        value.fill("51")
        held[0].continue_()
        wait_for(lambda: page.evaluate("window.isAnswered"))
        expect(value).to_have_value("51")
        page.unroute("**/studies/suzuki/results*")
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Edit the result of trial 6")).to_be_visible()


@pytest.mark.parametrize("is_refused", [False, True])
@pytest.mark.long
def test_a_row_that_is_edited_stays_though_another_one_is_being_saved(
    browser: Browser, lab: str, api: httpx.Client, *, is_refused: bool
) -> None:
    """A user begins to edit a row before the previous one is stored. If it is refused, the user still sees why."""
    filled(api)
    with tab(browser, lab, refused=REFUSALS) as page:
        page.goto("/studies/suzuki")
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route("**/observations/1", hold)
        value = page.locator("#rows").get_by_label("Yield", exact=True)
        page.get_by_role("button", name="Edit the result of trial 1").click()
        value.fill("51")
        with page.expect_request("**/observations/1"):
            page.get_by_role("button", name="Save the correction").click()
        page.get_by_role("button", name="Edit the result of trial 2").click()
        value.fill("61")
        if is_refused:
            problem = {"code": "invalid", "detail": "the flask was another one", "errors": []}
            held[0].fulfill(status=422, content_type="application/problem+json", json=problem)
            expect(page.get_by_role("status").filter(has_text="the flask was another one")).to_be_visible()
        else:
            held[0].continue_()
            expect(page.get_by_text("The result is corrected")).to_be_visible()
        expect(value).to_have_value("61")
        page.get_by_role("button", name="Save the correction").click()
        expect(page.get_by_role("row").filter(has_text="corrected").filter(has_text="61")).to_be_visible()
    results = checked(api.get("/v1/studies/suzuki/observations"))["items"]
    assert [each["value"] for each in results[:2]] == [50.0 if is_refused else 51.0, 61.0]


@pytest.mark.parametrize("turn", some(["sort", "hide", "filter", "empty", "page"], ["sort"]))
def test_input_in_a_row_stays_when_the_table_is_sorted_filtered_or_turned(
    browser: Browser, lab: str, api: httpx.Client, turn: str
) -> None:
    """The row stays open with its input, also where the new part of the table does not have it."""
    filled(api)
    if turn == "page":
        rows = [{"parameters": {"temperature": 30 + i / 2, "solvent": "DMF"}, "value": i} for i in range(50)]
        checked(api.post("/v1/studies/suzuki/observations", json={"items": rows}))
    with tab(browser, lab) as page:
        page.goto("/studies/suzuki/results?sort=trial")
        table = page.locator("#rows")
        page.get_by_role("button", name="Enter the result of trial 6").click()
        value = table.get_by_label("Yield", exact=True)
        value.fill("64,5")
        page.get_by_label("Note", exact=True).fill("turbid")
        worker = page.get_by_role("searchbox", name="Worker")
        match turn:
            case "sort":
                table.get_by_role("link", name="State").click()
                expect(table.locator("[aria-sort]")).to_contain_text("State")
                assert page.locator("#trial-6").evaluate("row => row.previousElementSibling !== null")
            case "filter":
                page.get_by_label("Show").select_option("open")
                expect(table.locator("tbody th")).to_have_count(1)
            case "hide":
                worker.press_sequentially("ben", delay=100)
                expect(table.locator("tbody th")).to_have_text(["6", "4", "2"])
                expect(worker).to_be_focused()
                expect(worker).to_have_value("ben")
                expect(page.get_by_text("Trial 6 is not in this part of the table.")).to_be_visible()
            case "empty":
                page.get_by_label("Show").select_option("withdrawn")
                expect(table.get_by_text("No matching rows")).to_be_visible()
            case _:
                table.get_by_role("link", name="Next").click()
                expect(table.get_by_text("Page 2 of 2")).to_be_visible()
        expect(value).to_have_value("64,5")
        expect(page.get_by_label("Note", exact=True)).to_have_value("turbid")
        assert accessible(page) == []
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_text("The result of trial 6 is stored: 64.5")).to_be_visible()
        expect(page.locator("#row-form")).to_have_count(0)
        expect(table.get_by_role("rowheader", name="6", exact=True)).to_have_count(1 if turn == "sort" else 0)
    trial = checked(api.get("/v1/studies/suzuki/trials/6"))
    assert (trial["value"], trial["attributes"]) == (64.5, {"note": "turbid"})


def test_a_second_row_does_not_open_over_input_that_is_not_stored(
    browser: Browser, lab: str, api: httpx.Client
) -> None:
    filled(api)
    with tab(browser, lab) as page:
        page.goto("/studies/suzuki/results")
        page.get_by_role("button", name="Edit the result of trial 1").click()
        page.get_by_label("Reason, for the log").fill("read again")
        page.get_by_role("button", name="Edit the result of trial 2").click()
        expect(page.get_by_text("Save trial 1 first, or cancel it: its input is not stored yet.")).to_be_visible()
        expect(page.get_by_label("Reason, for the log")).to_have_value("read again")
        expect(page.get_by_label("Reason, for the log")).to_be_focused()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Edit the result of trial 2").click()
        expect(page.locator("#result-2.editing")).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Edit own result R5").click()
        page.get_by_label("Reason, for the log").fill("read again")
        page.get_by_role("button", name="Edit the result of trial 1").click()
        told = "Save result R5 first, or cancel it: its input is not stored yet."
        expect(page.get_by_text(told, exact=True)).to_be_visible()


def events(api: httpx.Client, study: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = checked(api.get(f"/v1/studies/{study}/events?limit=1000"))["items"]
    return found


def looked_at(page: Page, table: str) -> None:
    page.get_by_role("button", name="Paste or open a table").click()
    page.get_by_role("textbox", name="Table").fill(table)
    page.get_by_role("button", name="Check first").click()


@pytest.mark.long
def test_a_table_of_a_spreadsheet_is_looked_at_before_it_is_stored(
    browser: Browser, lab: str, api: httpx.Client
) -> None:
    """Names with units, decimal commas, uncertainties, lines without a result, failures, notes, and unused columns."""
    checked(api.post("/v1/studies", json={"id": "notes", **STUDY}))
    with tab(browser, lab, size=PHONE, refused=REFUSALS) as page:
        page.goto("/studies/notes/results")
        looked_at(
            page,
            "no\tT (°C)\tSolvent\tyield\t±\twho\tRemark\n"
            "1\t80,5\t1,4-Dioxane\t82,4\t1,5\tann\tturbid\n2\t60\tDMF\tn.d.\t\tann\n"
            "3\t61\tDMF\t55 ± 2\t\tben\n4\t60 °C\twater\t12,5 %\t\t\n5\t70\twater\tfailed\t\tben\tleak\n",
        )
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(
            "No column is assigned to Bath temperature [°C] yet"
        )
        page.get_by_label("Column T (°C) is").select_option("Bath temperature [°C]")
        page.get_by_role("button", name="Back").click()  # the columns stay as they were assigned
        page.get_by_role("button", name="Check first").click()
        expect(page.locator("#paste-status")).to_have_text(
            "3 results and 1 failed trial will be added. 1 line has no result that counts and is left out."
        )
        expect(page.locator("#paste-columns")).to_contain_text("Note from “Remark”")
        assert accessible(page) == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        expect(page.locator("#paste-table tbody tr").first).to_contain_text("80.5")
        page.get_by_role("button", name="Add 3 results and 1 failed trial").click()
        expect(page.get_by_text("Stored: 3 results and 1 failed trial.")).to_be_visible()
        expect(page.locator("#rows tbody tr")).to_have_count(4)
        expect(page.locator("#rows tbody tr", has_text="leak")).to_contain_text("failed")
        expect(page.locator("#rows .noted", has_text="turbid")).to_have_count(1)
        stored = checked(api.get("/v1/studies/notes/observations"))["items"]
        told = [(*each["parameters"].values(), each["value"], each["std_error"]) for each in stored]
        assert told == [(80.5, "1,4-dioxane", 82.4, 1.5), (61, "DMF", 55, 2), (60, "water", 12.5, None)]
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#rows tbody tr", has_text="leak")).to_have_count(0)
        expect(page.locator("#rows .discounted")).to_have_count(3)
        only(page, "withdrawn", ["1"])
        page.get_by_label("Show").select_option("")
        looked_at(page, "Temp,Solv,value\n50,DMF,40\n")
        expect(page.locator("#paste-columns")).to_contain_text("Bath temperature [°C] from “Temp”, solvent from “Solv”")
        page.get_by_role("button", name="Cancel").click()
        looked_at(page, "Temp / °C\tSolvent\tyield / %\n50\tDMF\t40\n")
        expect(page.locator("#paste-columns")).to_contain_text(
            "Bath temperature [°C] from “Temp / °C”, solvent from “Solvent”"
        )
        page.get_by_role("button", name="Cancel").click()
        looked_at(page, "temperature,solvent,value\n50,DMF,40\n50,steam,41\n50,DMF,410\n")
        expect(page.locator("#paste-go")).to_be_disabled()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text(
            "Line 4, column value: is 410, far above the possible values, 0 to 100 %"
        )
        page.get_by_label("Leave out the 2 lines that do not fit").check()
        page.get_by_role("button", name="Add 1 result").click()
        expect(page.get_by_text("Stored: 1 result.")).to_be_visible()
    assert len(checked(api.get("/v1/studies/notes/observations"))["items"]) == 4


@pytest.mark.parametrize("kind", ["Excel", "CSV"])
@pytest.mark.long
def test_a_file_that_is_saved_gives_the_same_results_in_a_new_study(
    browser: Browser, lab: str, api: httpx.Client, tmp_path: Path, kind: str
) -> None:
    filled(api)
    exact = {"parameters": {"temperature": 0.1 + 0.2 + 20, "solvent": "water"}, "value": 1e-7 + 1 / 3, "std_error": 0.1}
    exact["attributes"] = {"note": '=twice as much; "old" flask'}
    checked(api.post("/v1/studies/suzuki/observe", json=exact))
    checked(api.post("/v1/studies", json={"id": "again", **STUDY}))
    with tab(browser, lab) as page:
        page.goto("/studies/suzuki")
        with page.expect_download() as download:
            page.locator("#table").get_by_role("link", name=kind, exact=True).click()
        file = tmp_path / download.value.suggested_filename
        download.value.save_as(file)
        page.goto("/studies/again/results")
        page.get_by_role("button", name="Paste or open a table").click()
        page.get_by_label("File:").set_input_files(file)
        expect(page.locator("#paste-status")).to_have_text(
            "6 results and 1 failed trial will be added. 2 lines have no result that counts and are left out."
        )
        page.get_by_role("button", name="Add 6 results and 1 failed trial").click()
        expect(page.get_by_text("Stored: 6 results and 1 failed trial.")).to_be_visible()
    assert results(api, "again") == results(api, "suzuki")
    (failed,) = checked(api.get("/v1/studies/again/trials?state=failed"))["items"]
    assert failed["reason"] == "the flask broke"


def results(api: httpx.Client, study: str) -> list[Any]:
    """The results of a study that count, regardless of their trials and their order."""
    items = checked(api.get(f"/v1/studies/{study}/observations"))["items"]
    counting = [each for each in items if not each["excluded"]]
    return sorted(
        (sorted(each["parameters"].items()), each["value"], each["std_error"] or 0, *each.get("attributes", {}).items())
        for each in counting
    )


@pytest.mark.long
def test_a_file_that_is_none_is_refused_and_a_large_one_is_stored_whole(
    browser: Browser, lab: str, api: httpx.Client, tmp_path: Path
) -> None:
    checked(api.post("/v1/studies", json={"id": "large", **STUDY}))
    (tmp_path / "broken.xlsx").write_bytes(b"PK\x03\x04 and nothing more")
    book = Workbook()
    book.active.append(["Bath temperature [°C]", "solvent", "Yield [%]"])
    for i in range(101):
        book.active.append([20 + i, "DMF", i])
    book.save(tmp_path / "large.xlsx")
    with tab(browser, lab, refused=REFUSALS) as page:
        page.goto("/studies/large/results")
        page.get_by_role("button", name="Paste or open a table").click()
        page.get_by_label("File:").set_input_files(tmp_path / "broken.xlsx")
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("is not a valid .xlsx file")
        page.get_by_label("File:").set_input_files(tmp_path / "large.xlsx")
        page.get_by_role("button", name="Add 101 results").click()
        expect(page.get_by_text("Stored: 101 results.")).to_be_visible()
        expect(page.locator("#rows")).to_contain_text("Page 1 of 3")
        expect(page.locator("#rows tbody tr")).to_have_count(50)
        turns_the_page_while_the_table_is_read_again(page)
    assert checked(api.get("/v1/studies/large"))["counts"]["observations"] == 101


CHANGED = "document.body.dispatchEvent(new CustomEvent('trials-changed'))"  # as after an event of the study


def release(routes: list[Route]) -> None:
    """Let requests go on, in their order, each once."""
    while routes:
        routes.pop(0).continue_()


def turns_the_page_while_the_table_is_read_again(page: Page) -> None:
    """What a person asks for is shown: neither an earlier nor a later reading of the old page replaces it."""
    held, table = defaultdict[str, list[Route]](list), "**/studies/large/results?*"
    page.route(table, lambda route: held[route.request.url[-len("page=1") :]].append(route))
    with page.expect_request("**/results?*page=1"):
        page.evaluate(CHANGED)
    with page.expect_request("**/results?*page=2"):
        page.locator("#rows").get_by_role("link", name="Next").click()
    page.evaluate(CHANGED)
    page.wait_for_timeout(300)
    release(held["page=1"])
    page.wait_for_timeout(300)
    page.route(table, lambda route: route.continue_())  # a later handler goes first
    release(held["page=1"])
    with page.expect_request("**/results?*page=2"):  # since the trials have changed meanwhile
        release(held["page=2"])
    expect(page.locator("#rows")).to_contain_text("Page 2 of 3")


PAPER = {"width": 1032, "height": 703}
"""The printed area of A4 in landscape, in CSS pixels."""


@pytest.mark.long
def test_the_printed_table_has_all_columns_and_places_for_results(
    browser: Browser, lab: str, api: httpx.Client
) -> None:
    """Also with many parameters with long names."""
    names = [f"concentration_of_component_{number}" for number in range(1, 9)]
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 1, "unit": "mol/l"} for name in names]
    parameters.append({"name": "ligand", "kind": "categorical", "choices": ["SCHEMBL15068049", "1268824-69-6"]})
    checked(api.post("/v1/studies", json={"id": "paper", **STUDY, "parameters": parameters}))
    checked(api.post("/v1/studies/paper/suggest", json={"count": 3}))
    with tab(browser, lab, size=PAPER) as page:
        page.goto("/studies/paper/results?kind=open")
        expect(page.locator("#rows tbody tr")).to_have_count(3)
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")  # as before the browser prints
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        boxes = [each.bounding_box() for each in page.locator("#rows thead th").all() if each.is_visible()]
        assert len(boxes) > len(parameters)
        assert all(box and box["x"] + box["width"] <= PAPER["width"] for box in boxes)
        expect(page.get_by_text("Write each result into its empty field.")).to_be_visible()
        empty = page.locator("#rows td.measured:visible").first
        assert (empty.bounding_box() or {"height": 0})["height"] >= 35
        expect(empty).to_have_css("color", "rgba(0, 0, 0, 0)")
        expect(page.locator("#rows time").first).to_have_css("font-size", "0px")


@pytest.mark.long
def test_the_box_of_running_trials_tells_of_those_that_it_does_not_list(
    browser: Browser, lab: str, api: httpx.Client
) -> None:
    checked(api.post("/v1/studies", json={"id": "busy", **STUDY}))
    checked(api.post("/v1/studies/busy/suggest", json={"count": 7}))
    with tab(browser, lab) as page:
        page.goto("/studies/busy")
        box = page.locator("#figures .open")
        expect(box.locator("li")).to_have_count(6)
        expect(box).to_contain_text("1 more is running")
        assert box.locator("ul").evaluate("list => list.scrollHeight <= list.clientHeight")


@pytest.mark.long
def test_rows_to_fill_in_stay_where_they_are(browser: Browser, lab: str, api: httpx.Client) -> None:
    """No column moves when a row is opened, and no row when it is stored, by this person or by another one."""
    checked(api.post("/v1/studies", json={"id": "plate", **STUDY}))
    checked(api.post("/v1/studies/plate/suggest", json={"count": 4, "worker": "anna"}))
    checked(api.patch("/v1/studies/plate/trials/1", json={"attributes": {"note": "brown, page 12 of the notebook"}}))
    columns = "() => [...document.querySelectorAll('#rows thead th')].map(cell => cell.getBoundingClientRect().left)"
    with tab(browser, lab) as page:
        page.goto("/studies/plate/results")
        expect(page.locator("#rows tbody th")).to_have_text(["4", "3", "2", "1"])
        before = page.evaluate(columns)
        page.get_by_role("button", name="Enter the result of trial 2").click()
        assert page.evaluate(columns) == before
        page.locator("#rows").get_by_label("Yield", exact=True).fill("50")
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_role("button", name="Edit the result of trial 2")).to_be_visible()
        assert shown(page) == ["4", "3", "2", "1"]
        checked(api.post("/v1/studies/plate/observe", json={"trial": 1, "value": 60}))
        expect(page.get_by_role("button", name="Edit the result of trial 1")).to_be_visible()
        checked(api.post("/v1/studies/plate/suggest", json={}))
        expect(page.locator("#rows tbody th")).to_have_text(["5", "4", "3", "2", "1"])
        page.reload()
        expect(page.locator("#rows tbody th")).to_have_text(["5", "1", "2", "4", "3"])


def test_a_study_in_which_nothing_was_tried_says_so_once(browser: Browser, lab: str, api: httpx.Client) -> None:
    checked(api.post("/v1/studies", json={"id": "fresh", **STUDY}))
    with tab(browser, lab) as page:
        page.goto("/studies/fresh")
        expect(page.locator("#definition")).to_contain_text("no limit")
        expect(page.get_by_text("No trial has been issued yet.")).to_have_count(1)
        for part in ("#results", "#table", "#assessment"):
            expect(page.locator(part)).to_be_hidden()
        expect(page.get_by_role("button", name="Next trial")).to_have_count(1)
        checked(api.post("/v1/studies/fresh/suggest", json={}))
        expect(page.locator("#table")).to_be_visible()


def test_the_page_of_the_last_trial_says_that_the_study_has_ended(
    browser: Browser, lab: str, api: httpx.Client
) -> None:
    checked(api.post("/v1/studies", json={"id": "short", "budget": 2, **STUDY}))
    checked(api.post("/v1/studies/short/suggest", json={"count": 2}))
    with tab(browser, lab) as page:
        page.goto("/studies/short/trials/2")
        page.get_by_label("Yield", exact=False).first.fill("50")
        page.get_by_role("button", name="Save the result").click()
        heading = page.locator("#trial-heading")
        expect(heading).to_contain_text(
            "The study issues no new trials. The budget is used up. 1 trial is still without"
        )
        checked(api.post("/v1/studies/short/observe", json={"trial": 1, "value": 60}))
        expect(heading).to_contain_text("The study has ended. The budget is used up.")
        heading.get_by_role("link", name="To the study").click()
        expect(page.locator("#figures .pill").first).to_have_text("complete")
