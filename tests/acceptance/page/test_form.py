"""The form for a new study in a real Chromium: prior knowledge, conditions, costs, several objectives."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import PHONE, REFUSALS, accessible, drawn, tab
from tests.waiting import wait_for


def add_parameter(page: Page, number: int, name: str, kind: str, **fields: str) -> Locator:
    """Add a parameter to the form, with the section for prior knowledge open."""
    if number > 1:
        page.get_by_role("button", name="Add a parameter").click()
    row = page.get_by_role("group", name=f"Parameter {number}")
    row.get_by_label("Name").fill(name)
    row.get_by_label("Kind").select_option(kind)
    for label, value in fields.items():
        row.get_by_label(label, exact=True).fill(value)
    return row


def unfolded(row: Locator) -> Locator:
    row.get_by_text("Prior knowledge").click()
    return row


def exists_where(row: Locator, parent: str, value: str | None = None) -> Locator:
    """Add a condition on another parameter."""
    row.get_by_role("button", name="Add a condition").click()
    condition = row.get_by_role("group", name="Condition").last
    condition.get_by_role("combobox", name="Parameter").select_option(parent)
    if value is not None:
        condition.get_by_role("checkbox", name=value).check()
    return condition


ODD = ["1,4-dioxane", "a; b", """say "no" or 'yes'""", "sgd: 3 = best", "007", "1,4", "12.5", "<b>&amp;</b>"]


@pytest.mark.long
def test_a_choice_may_contain_any_character(browser: Browser, site: str, api: httpx.Client) -> None:
    """Also in weights and in conditions of other parameters. A summary shows which choices are numbers."""
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("odd")
        page.get_by_label("The result should be").select_option("minimize")
        solvent = unfolded(add_parameter(page, 1, "solvent, wet", "categorical"))
        for place, text in enumerate(ODD, start=1):
            solvent.get_by_label(f"Value {place}", exact=True).fill(text)
            solvent.get_by_label(f"Value {place}", exact=True).press("Enter")
        solvent.get_by_label(ODD[3], exact=True).fill("2,5")
        strength = add_parameter(page, 2, "strength", "ordinal", **{"Value 1": "0,5", "Value 2": "1,25"})
        strength.get_by_role("button", name="Add a value").click()
        strength.get_by_label("Value 3", exact=True).fill("1,234")
        expect(page.locator("#summary li").nth(1)).to_have_text("strength: Value 3: “1,234”: write 1234 or 1.234.")
        strength.get_by_label("Value 3", exact=True).fill("0.5")
        base = unfolded(add_parameter(page, 3, "base", "fixed", Value="tert-BuOK, 2 eq; dry"))
        for text in (ODD[0], ODD[1]):
            base.get_by_role("button", name="Add a condition").click() if text == ODD[0] else None
            base.get_by_role("combobox", name="Parameter").select_option("solvent, wet")
            base.get_by_role("checkbox", name=text, exact=True).check()
        summary = page.locator("#summary li")
        quoted = ", ".join(text if text == "12.5" else f"“{text}”" for text in ODD)
        expect(summary.nth(0)).to_have_text(f"solvent, wet: a choice of 8 values: {quoted}")
        expect(summary.nth(1)).to_have_text(
            "strength: Value 3: “0.5” is the same as value 1, “0,5”. Remove one of the two."
        )
        expect(summary.nth(2)).to_have_text(
            "base: always “tert-BuOK, 2 eq; dry”, only if solvent, wet is “1,4-dioxane” or “a; b”"
        )
        assert accessible(page) == []
        page.get_by_role("button", name="Create the study").click()
        expect(strength.locator(".fault")).to_contain_text("“0.5” is the same as value 1")
        expect(strength.get_by_label("Value 3", exact=True)).to_be_focused()
        strength.get_by_role("button", name="Remove value 3").click()
        expect(summary.nth(1)).to_have_text("strength: 2 ordered values: 0.5, 1.25")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/odd")
    study = checked(api.get("/v1/studies/odd"))
    solvent_made, strength_made, base_made = study["parameters"]
    assert solvent_made["choices"] == [12.5 if text == "12.5" else text for text in ODD]
    assert strength_made["values"] == [0.5, 1.25]
    assert base_made["when"] == {"solvent, wet": ODD[:2]}
    assert study["prior"] == {"solvent, wet": {"weights": {ODD[3]: 2.5}}}


@pytest.mark.long
def test_several_lines_can_be_pasted_as_values(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/new")
        row = add_parameter(page, 1, "solvent", "categorical", **{"Value 1": "first"})
        field = row.get_by_label("Value 2", exact=True)
        field.focus()
        paste(field, "1,4-dioxane\r\nwater\r\n\r\nethanol")
        expect(page.locator("#summary li")).to_have_text(
            "solvent: a choice of 4 values: “first”, “1,4-dioxane”, “water”, “ethanol”"
        )
        paste(row.get_by_label("Value 4", exact=True), "1,2-ethanediol, DMF;DMSO")
        expect(page.locator("#summary li")).to_contain_text(
            "6 values: “first”, “1,4-dioxane”, “water”, “1,2-ethanediol”, "
        )
        row.get_by_label("Value 1", exact=True).fill("THF, toluene")
        row.get_by_label("Value 1", exact=True).blur()
        row.get_by_role("button", name="Make 2 values of it").click()
        expect(page.locator("#summary li")).to_contain_text("7 values: “THF”, “toluene”, “1,4-dioxane”, “water”, ")


def test_a_name_with_spaces_is_no_id_and_one_is_proposed(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill(" Kupplung für Köln ")
        page.get_by_label("ID", exact=True).blur()
        expect(page.get_by_label("ID", exact=True)).to_have_value("Kupplung-fur-Koln")
        expect(page.locator("#new-id-proposal")).to_contain_text("“Kupplung für Köln” becomes “Kupplung-fur-Koln”")


def paste(field: Locator, text: str) -> None:
    """As a person pastes it."""
    field.evaluate(
        """(field, text) => {
            const data = new DataTransfer();
            data.setData("text", text);
            const options = { clipboardData: data, bubbles: true, cancelable: true };
            field.dispatchEvent(new ClipboardEvent("paste", options));
        }""",
        text,
    )


TABLE = "solvent;polarity;boiling point\nwater;10,2;100\nethanol;5,2;78\nhexane;0,1;69\n"
NUMBERS = "Numbers that describe the values"


@pytest.mark.long
def test_a_table_gives_a_choice_its_values_and_numbers_that_describe_them(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """As copied from a spreadsheet, with decimal commas. Errors appear at the table, with their line."""
    with tab(browser, site) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("described")
        page.get_by_label("The result should be").select_option("minimize")
        solvent = unfolded(add_parameter(page, 1, "solvent", "categorical", **{"Value 1": "water"}))
        table, summary = solvent.get_by_label(NUMBERS), page.locator("#summary li")
        faults = {
            TABLE.replace("5,2", "high"): "line 3, column polarity: “high” is not a number.",
            TABLE.replace("5,2", "5,125"): "line 3, column polarity: “5,125”: write 5125 or 5.125.",
            TABLE + "hexane;1;2": "line 5: “hexane” already has a line. Remove one of the two.",
            TABLE.replace("boiling point", "polarity"): "the first line names the column polarity twice.",
            TABLE.replace("water", "wasser"): "“water” has no line. Add one, or remove the value.",
            "solvent": "the first line must name the columns",
        }
        for text, fault in faults.items():
            table.fill(text)
            table.blur()
            expect(summary).to_contain_text(f"solvent: {NUMBERS}: {fault}")
        table.fill(TABLE)
        table.blur()
        expect(summary).to_contain_text("“wasser” has no line. Add one, or remove the value.")
        solvent.get_by_role("button", name="Remove value 4").click()
        expect(summary).to_have_text(
            "solvent: a choice of 3 values: “water”, “ethanol”, “hexane”, described by “polarity”, “boiling point”"
        )
        assert accessible(page) == []
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/described")
        page.goto("/studies/described")
        expect(page.locator("#definition")).to_contain_text("described by “polarity”, “boiling point”")
    made = checked(api.get("/v1/studies/described"))["parameters"][0]
    assert made["choices"] == ["water", "ethanol", "hexane"]
    assert made["descriptors"] == {"polarity": [10.2, 5.2, 0.1], "boiling point": [100, 78, 69]}


@pytest.mark.long
def test_a_catalogue_is_pasted_from_a_spreadsheet_and_its_numbers_are_shown(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """An error in the table appears at its field; a trial shows the numbers of its row."""
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("molecules")
        page.get_by_label("The result should be").select_option("minimize")
        row = page.locator("#parameters > .row").first
        row.get_by_label("Name").fill("molecule")
        row.get_by_label("Kind").select_option("catalogue")
        table = row.get_by_role("textbox", name="Table")
        table.fill("molecule\tlogP\tcharge\naspirin\t1,2\t-1\ncaffeine\tlow\t0\n")
        page.get_by_role("button", name="Create the study").click()
        expect(row.get_by_text("line 3 has 'low' in column 'logP'")).to_be_visible()
        table.fill("molecule\tlogP\tcharge\naspirin\t1,2\t-1\ncaffeine\t-0,1\t0\n")
        table.blur()
        expect(page.locator("#summary")).to_have_text("molecule: a row of a table of 2 rows")
        assert accessible(page) == []
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/molecules")
        expect(page.locator("#definition")).to_contain_text("one of 2 rows; described by “logP”, “charge”")
        trial = checked(api.post("/v1/studies/molecules/suggest", json={}))["trials"][0]
        page.goto("/studies/molecules/trials/1")
        expect(page.locator(".point")).to_contain_text("logP")
        expect(page.locator(".point")).to_contain_text(
            {"aspirin": "1.2", "caffeine": "0.1"}[trial["parameters"]["molecule"]]
        )


@pytest.mark.long
def test_what_is_known_beforehand_and_what_it_costs(browser: Browser, site: str, api: httpx.Client) -> None:
    """Errors appear at their fields, whose sections open; the form explains each field."""
    with tab(browser, site, size=PHONE, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("net")
        page.get_by_label("The result should be").select_option("minimize")
        rate = unfolded(add_parameter(page, 1, "rate", "float", From="0,0001", to="1"))
        rate.get_by_label("log scale").check()
        rate.get_by_label("Probably best near").fill("3")
        rate.get_by_label("give or take").fill("10")
        expect(rate.get_by_label("give or take")).to_have_accessible_description(
            "distance at which the optimum is half as likely; on a log scale, a factor such as 10"
        )
        optimizer = add_parameter(page, 2, "optimizer", "categorical", **{"Value 1": "sgd", "Value 2": "adam"})
        unfolded(optimizer).get_by_label("adam", exact=True).fill("much")
        nesterov = unfolded(add_parameter(page, 3, "nesterov", "bool"))
        nesterov.get_by_role("button", name="Add a condition").click()
        delay = unfolded(add_parameter(page, 4, "delay", "int", From="1", to="9"))
        exists_where(delay, "nesterov", "yes")
        exists_where(delay, "optimizer", "sgd")
        slow = unfolded(add_parameter(page, 5, "slow", "float", From="0", to="1"))
        exists_where(slow, "delay").get_by_label("one of the numbers").fill("7, 8; 9")
        page.get_by_text("Cost of trials").click()
        page.get_by_label("Cost of a trial").select_option("told")
        page.get_by_label("Budget, in cost").fill("100")
        page.get_by_label("Budget, in trials").fill("20")
        page.get_by_label("Prefer cheap trials").check()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert accessible(page) == []
        create, told = page.get_by_role("button", name="Create the study"), page.locator(".fault")
        for row in (rate, optimizer, nesterov, delay, slow):
            row.get_by_text("Prior knowledge").click()

        create.click()
        expect(told).to_contain_text(
            [
                "“much” is not a number",
                "Active only if: choose a parameter, or remove the condition.",
                "you also gave a budget in trials",
            ]
        )
        buttons = page.get_by_role("alert").get_by_role("button")
        expect(buttons).to_have_text(["Parameter 2: adam", "Parameter 3: Parameter", "Budget, in cost"])
        expect(optimizer.get_by_label("adam", exact=True)).to_be_focused()
        nesterov.get_by_role("combobox", name="Parameter").select_option("optimizer")
        create.click()
        expect(told.filter(has_text="Active only if: choose a value of optimizer")).to_be_visible()
        nesterov.get_by_role("checkbox", name="sgd").check()
        create.click()
        expect(told.filter(has_text="“much” is not a number")).to_be_visible()
        expect(optimizer.get_by_label("adam", exact=True)).to_be_focused()
        optimizer.get_by_label("adam", exact=True).fill("3")
        create.click()
        expect(told).to_contain_text("you also gave a budget in trials")
        page.get_by_label("Budget, in trials").fill("")
        create.click()
        expect(told).to_contain_text("is 3")
        expect(rate.get_by_label("Probably best near")).to_be_focused()
        rate.get_by_label("Probably best near").fill("0.01")
        create.click()
        page.wait_for_url("**/studies/net")
    study = checked(api.get("/v1/studies/net"))
    assert study["prior"] == {"rate": {"around": 0.01, "factor": 10}, "optimizer": {"weights": {"adam": 3}}}
    assert [each.get("when") for each in study["parameters"]] == [
        None,
        None,
        {"optimizer": ["sgd"]},
        {"nesterov": [True], "optimizer": ["sgd"]},
        {"delay": [7, 8, 9]},
    ]
    assert (study["cost"], study["per_cost"], study["budget"]) == ("told", True, {"cost": 100})


@pytest.mark.long
def test_costs_are_entered_with_results_and_corrected(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    shared = {"direction": "minimize", "parameters": parameters, "metrics": ["size"], "budget": {"cost": 100}}
    for name in ("told", "measured"):
        checked(api.post("/v1/studies", json={"id": name, "cost": name, **shared}))
        checked(api.post(f"/v1/studies/{name}/suggest", json={}))
    with tab(browser, site) as page:
        for name in ("told", "measured"):
            page.goto(f"/studies/{name}/trials/1")
            page.get_by_label("Result", exact=True).fill("0.5")
            page.get_by_label("size", exact=True).fill("7")
            if name == "told":
                page.get_by_label("cost").fill("12,5")
            else:
                expect(page.get_by_label("cost")).to_have_accessible_description(
                    "empty: the seconds since the trial was issued"
                )
            page.get_by_role("button", name="Save the result").click()
            expect(page.get_by_role("article")).to_contain_text("size7cost")
        page.goto("/studies/told/trials/1")
        page.get_by_role("button", name="Correct").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("size", exact=True)).to_have_value("7.0")
        dialog.get_by_label("cost").fill("13")
        dialog.get_by_role("button", name="Save the correction").click()
        expect(page.get_by_role("article")).to_contain_text("cost13")
        page.goto("/studies/told")
        page.get_by_role("button", name="Budget").click()
        expect(dialog.get_by_label("Budget, in trials")).to_have_count(0)
        before = checked(api.get("/v1/studies/told"))
        dialog.get_by_role("button", name="Save").click()
        expect(page.locator(".toast", has_text="Nothing was changed.")).to_be_visible()
        assert checked(api.get("/v1/studies/told"))["revision"] == before["revision"]
        page.get_by_role("button", name="Budget").click()
        dialog.get_by_label("Maximum number of unfinished trials").fill("3")
        dialog.get_by_label("Attempts at a trial").fill("5")
        dialog.get_by_label("Longest time of a trial").fill("2 h")
        dialog.get_by_label("Pause after this many failures").fill("never")
        dialog.get_by_label("Tags, one per line").fill("owner: Ada\nlab: 3: north")
        dialog.get_by_role("button", name="Save").click()
        saved = page.locator(".toast", has_text="The changes are saved.")
        expect(saved).to_be_visible()
        limits = ("pending_limit", "max_attempts", "max_runtime_seconds", "failure_limit", "tags")
        after = checked(api.get("/v1/studies/told"))
        assert [after[name] for name in limits] == [3, 5, 7200.0, None, {"owner": "Ada", "lab": "3: north"}]
        saved.get_by_role("button", name="Undo").click()

        def is_undone() -> bool:
            undone = checked(api.get("/v1/studies/told"))
            return [undone[name] for name in limits] == [before[name] for name in limits]

        wait_for(is_undone)  # the message disappears when the request is sent
        page.get_by_role("button", name="Budget").click()
        odd = {"git:commit": "abc", "note": "two: lines"}
        elsewhere = {"pending_limit": 8, "max_attempts": 6, "lease_seconds": 60.5, "failure_limit": 4, "tags": odd}
        checked(api.patch("/v1/studies/told", json=elsewhere))
        dialog.get_by_label("Longest time of a trial").fill("3 h")
        dialog.get_by_role("button", name="Save").click()
        expect(saved).to_be_visible()
        after = checked(api.get("/v1/studies/told"))
        assert {name: after[name] for name in elsewhere} == elsewhere
        assert after["max_runtime_seconds"] == 10800.0
        page.get_by_role("button", name="Budget").click()
        tags = dialog.get_by_label("Tags, one per line")
        expect(tags).not_to_be_editable()
        expect(tags).to_have_value("git:commit: abc\nnote: two: lines")
        expect(tags).to_have_accessible_description(re.compile("colon"))
        dialog.get_by_label("Longest time of a trial").fill("4 h")
        with page.expect_navigation():  # a reload, which would interrupt the next request for a page
            dialog.get_by_role("button", name="Save").click()
        expect(page.locator("#limits-max_runtime_seconds")).to_have_value("4 h")
        assert checked(api.get("/v1/studies/told"))["tags"] == odd
        checked(api.patch("/v1/studies/told", json={"tags": {"owner": "Ada"}, "failure_limit": 10}))
        page.goto("/studies/told")
        expect(page.locator("a.tag")).to_have_text("owner: Ada")
        page.get_by_role("button", name="Budget").click()
        dialog.get_by_label("Tags, one per line").fill("")
        dialog.get_by_label("Maximum number of unfinished trials").fill("3")
        dialog.get_by_role("button", name="Save").click()
        expect(saved).to_be_visible()
        after = checked(api.get("/v1/studies/told"))
        assert (after["tags"], after["failure_limit"], after["lease_seconds"]) == ({}, 10, 60.5)
        expect(page.locator("[data-metric=cost]")).to_contain_text("13")
    assert checked(api.get("/v1/studies/told"))["pending_limit"] == 3


@pytest.mark.long
def test_several_objectives_have_a_direction_each(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("trade")
        page.get_by_label("The result should be").select_option("several")
        first, second = (page.get_by_role("group", name=f"Result {number}") for number in (1, 2))
        first.get_by_label("Name").fill("error")
        second.get_by_label("Name").fill("error")
        first.get_by_label("Worst useful value").fill("0,5")
        add_parameter(page, 1, "x", "float", From="0", to="1")
        page.get_by_role("button", name="Create the study").click()
        for row in (first, second):
            field = row.locator(".field", has=page.get_by_label("is to be"))
            expect(field).to_contain_text("choose whether the result should be large or small")
        first.get_by_label("is to be").select_option("minimize")
        second.get_by_label("is to be").select_option("maximize")
        second.get_by_label("Standard deviation of one value").fill("0,2")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("alert")).to_have_text("objectives has 'error' twice; name each objective once")
        second.get_by_label("Name").fill("speed")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/trade")
    assert checked(api.get("/v1/studies/trade"))["objectives"] == [
        {"metric": "error", "direction": "minimize", "reference": 0.5},
        {"metric": "speed", "direction": "maximize", "noise_std": 0.2},
    ]


def test_a_form_shows_the_errors_of_the_server_without_the_remedy_for_programs(browser: Browser, site: str) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("reversed")
        page.get_by_label("The result should be").select_option("minimize")
        row = page.get_by_role("group", name="Parameter 1")
        row.get_by_label("Name").fill("x")
        row.get_by_label("From").fill("5")
        row.get_by_label("to", exact=True).fill("1")
        page.get_by_role("button", name="Create the study").click()
        expect(page.locator("#new > .problem")).to_have_text("1 field needs a correction: Parameter 1: to")
        expect(row.locator(".fault")).to_have_text("must be greater than “From”")


@pytest.mark.long
def test_all_mistakes_of_a_form_are_reported_at_once(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site) as page:
        page.goto("/new")
        row = page.get_by_role("group", name="Parameter 1")
        for label, text in (("Budget, in trials", "twelve"), ("Reservation of a trial", "a day")):
            page.get_by_label(label).fill(text)
        expect(page.locator("#goal")).not_to_contain_text("twelve")
        row.get_by_label("From").fill("warm")
        row.get_by_label("to", exact=True).fill("hot")
        page.get_by_role("button", name="Create the study").click()
        problem = page.locator("#new > .problem")
        expect(problem).to_contain_text("6 fields need a correction:")
        buttons = problem.get_by_role("button")
        expect(buttons).to_have_text(
            [
                "Budget, in trials",
                "Reservation of a trial",
                "The result should be",
                "Parameter 1: Name",
                "Parameter 1: From",
                "Parameter 1: to",
            ]
        )
        expect(page.locator("#new .fault")).to_have_text(
            [
                "“twelve” is not a number.",
                "“a day” is not a time. Write it as in 90 min, 8 h or 2 d.",
                "Choose what is better, a small or a large result.",
                "enter a name.",
                "“warm” is not a number.",
                "“hot” is not a number.",
            ]
        )
        expect(page.locator("#new [aria-invalid]")).to_have_count(6)
        expect(page.get_by_label("Budget, in trials")).to_be_focused()
        expect(page.get_by_label("Budget, in trials")).to_have_accessible_description(re.compile("“twelve” is not"))
        assert not accessible(page)
        buttons.last.click()
        expect(row.get_by_label("to", exact=True)).to_be_focused()
        row.get_by_label("to", exact=True).fill("8")
        expect(problem).to_contain_text("5 fields need a correction:")
        expect(buttons).to_have_count(5)
        expect(page.locator("#new .fault")).to_have_count(5)
        expect(row.get_by_label("to", exact=True)).not_to_have_accessible_description(re.compile("not a number"))
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in "xy"]
    checked(api.post("/v1/studies", json={"id": "mistyped", "direction": "minimize", "parameters": parameters}))
    with tab(browser, site) as page:
        page.goto("/studies/mistyped")
        page.get_by_role("button", name="Add a result").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("x", exact=True).fill("low")
        dialog.get_by_label("Standard error").fill("small")
        dialog.get_by_role("button", name="Add the result").click()
        expect(dialog.get_by_role("alert").get_by_role("button")).to_have_text(
            ["x", "Result", "Standard error, if known"]
        )
        expect(dialog.locator(".fault")).to_have_text(
            ["“low” is not a number.", "enter a number.", "“small” is not a number."]
        )


@pytest.mark.long
def test_a_number_added_to_ordered_numbers_is_put_in_its_place(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/new")
        row = page.get_by_role("group", name="Parameter 1")
        row.get_by_label("Name").fill("concentration")
        row.get_by_label("Kind").select_option("ordinal")
        expect(row).to_contain_text("each value is one equal step from the next")
        row.get_by_label("Value 1", exact=True).fill("0,057")
        row.get_by_label("Value 2", exact=True).fill("0,1")
        for place, (typed, order) in enumerate(
            (
                ("0,153", "0.057, 0.1, 0.153"),
                ("0,11", "0.057, 0.1, 0.11, 0.153"),
                ("0.01", "0.01, 0.057, 0.1, 0.11, 0.153"),
            ),
            start=3,
        ):
            row.get_by_role("button", name="Add a value").click()
            row.get_by_label(f"Value {place}", exact=True).fill(typed)
            row.get_by_label(f"Value {place}", exact=True).blur()
            expect(page.locator("#summary")).to_contain_text(f"{place} ordered values: {order}")
            assert accessible(page) == []
        expect(row.get_by_text("0.01 was put in its place among the others.")).to_be_visible()
        row.get_by_label("Value 1", exact=True).fill("low")
        row.get_by_label("Value 1", exact=True).blur()
        expect(page.locator("#summary")).to_contain_text("5 ordered values: “low”, 0.057, 0.1, 0.11, 0.153")


@pytest.mark.long
def test_a_value_between_two_steps_is_told_beside_its_field(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": "heat", "kind": "float", "low": 40, "high": 120, "step": 2.5}]
    checked(api.post("/v1/studies", json={"id": "stepped", "direction": "minimize", "parameters": parameters}))
    with tab(browser, site) as page:
        page.goto("/studies/stepped")
        page.get_by_role("button", name="Queue a trial").click()
        field = page.get_by_role("dialog").locator(".field", has=page.get_by_label("heat"))
        for typed, told in (
            ("83", "between two steps; the nearest value is 82.5"),
            ("119,9", "between two steps; the nearest value is 120"),
            ("130", "outside the range"),
            ("82,5", None),
        ):
            field.get_by_label("heat").fill(typed)
            field.get_by_label("heat").blur()
            expect(field.locator("small").first).to_have_text("40 to 120, in steps of 2.5")
            expect(field.locator(".fault")).to_have_text([told] if told else [])


@pytest.mark.long
def test_a_measured_value_between_two_steps_is_stored_and_shown(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": "heat", "kind": "float", "low": 50, "high": 90, "step": 5, "unit": "°C"}]
    checked(api.post("/v1/studies", json={"id": "drifted", "direction": "maximize", "parameters": parameters}))
    checked(api.post("/v1/studies/drifted/trials", json={"parameters": {"heat": 75}}))
    checked(api.post("/v1/studies/drifted/suggest", json={}))
    with tab(browser, site) as page:
        page.goto("/studies/drifted/trials/1")
        page.get_by_label("Result", exact=True).fill("82,4")
        page.get_by_text("The conditions differed").click()
        field = page.locator("#trial .field", has=page.get_by_label("heat [°C]"))
        field.get_by_label("heat [°C]").fill("72,3")
        field.get_by_label("heat [°C]").blur()
        expect(field.locator(".fault")).to_have_count(0)
        expect(field.locator("small")).to_have_text("50 to 90, in steps of 5")
        expect(page.get_by_text("Enter what was measured, also between two steps.").first).to_be_visible()
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_role("cell", name="72.3")).to_have_text("72.3 °C suggested 75 °C")
        page.get_by_role("button", name="Repeat this trial").click()
        expect(page.get_by_role("dialog")).to_contain_text("The conditions: heat 75 °C. Rep")
        page.get_by_role("button", name="Queue it").click()
        expect(page.get_by_text("Trial 2 is queued.")).to_be_visible()
        page.goto("/studies/drifted")
        drawn(page, "history")
        expect(page.locator("main")).to_contain_text("72.3")
    (result,) = checked(api.get("/v1/studies/drifted/observations"))["items"]
    assert result["parameters"] == {"heat": 72.3}
    assert checked(api.get("/v1/studies/drifted/trials/2"))["parameters"] == {"heat": 75}


@pytest.mark.long
def test_a_measured_value_between_two_ordered_numbers_is_stored_and_shown(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    values = [0.057, 0.1, 0.153]
    parameters = [{"name": "concentration", "kind": "ordinal", "values": values, "unit": "M"}]
    checked(api.post("/v1/studies", json={"id": "molar", "direction": "maximize", "parameters": parameters}))
    checked(api.post("/v1/studies/molar/trials", json={"parameters": {"concentration": 0.057}}))
    checked(api.post("/v1/studies/molar/suggest", json={}))
    with tab(browser, site) as page:
        page.goto("/studies/molar/trials/1")
        page.get_by_label("Result", exact=True).fill("86,5")
        page.get_by_text("The conditions differed").click()
        field = page.locator("#trial .field", has=page.get_by_label("concentration [M]"))
        expect(field.locator("small")).to_have_text("0.057, 0.1, 0.153, or the measured value between two of them")
        field.get_by_label("concentration").fill("0,2")
        field.get_by_label("concentration").blur()
        expect(field.locator(".fault")).to_have_text("outside the range")
        field.get_by_label("concentration").fill("0,11")
        field.get_by_label("concentration").blur()
        expect(field.locator(".fault")).to_have_count(0)
        assert accessible(page) == []
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_role("cell", name="0.11")).to_have_text("0.11 M suggested 0.057 M")
        page.goto("/studies/molar")
        page.get_by_role("button", name="Add a result").click()
        page.get_by_role("button", name="Paste a table instead").click()
        page.get_by_label("Table", exact=True).fill("concentration;result\n0,0785;50\n0,1;60")
        page.get_by_role("button", name="Check first").click()
        page.get_by_role("button", name="Add 2 results").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
    found = [
        each["parameters"]["concentration"] for each in checked(api.get("/v1/studies/molar/observations"))["items"]
    ]
    assert found == [0.11, 0.0785, 0.1]


@pytest.mark.long
def test_an_experiment_of_ones_own_that_failed_between_two_steps_is_stored(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """It cannot be tried again, as it cannot be chosen."""
    parameters = [{"name": "heat", "kind": "float", "low": 50, "high": 90, "step": 5, "unit": "°C"}]
    checked(api.post("/v1/studies", json={"id": "clogged", "direction": "maximize", "parameters": parameters}))
    with tab(browser, site) as page:
        page.goto("/studies/clogged")
        page.get_by_role("button", name="Add a result").click()
        page.get_by_role("dialog").get_by_role("button", name="It failed").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("heat").fill("72,3")
        dialog.get_by_label("Why").fill("clogged")
        dialog.get_by_role("button", name="Add the failure").click()
        expect(page.get_by_text("Trial 1 is stored as failed.")).to_be_visible()
        page.goto("/studies/clogged/trials/1")
        expect(page.locator("#trial-heading")).to_contain_text("failed")
        expect(page.get_by_role("button", name="Try again")).to_have_count(0)
    (trial,) = checked(api.get("/v1/studies/clogged/trials"))["items"]
    assert (trial["parameters"], trial["reason"]) == ({"heat": 72.3}, "clogged")


@pytest.mark.long
def test_a_click_is_not_lost_when_the_error_of_a_field_appears_or_goes(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """A field is judged when it is left, which a press of the button does: the button must not move then."""
    parameters = [{"name": "heat", "kind": "float", "low": 40, "high": 120}]
    checked(api.post("/v1/studies", json={"id": "pressed", "direction": "minimize", "parameters": parameters}))
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/studies/pressed")
        page.get_by_role("button", name="Add a result").click()
        dialog = page.get_by_role("dialog")
        button = dialog.get_by_role("button", name="Add the result")
        dialog.get_by_label("Result", exact=True).fill("5")
        dialog.get_by_label("heat").fill("130")
        press(page, button)
        expect(dialog.get_by_role("alert")).to_contain_text("heat")
        expect(dialog.locator(".fault")).to_be_visible()
        dialog.get_by_label("heat").focus()
        dialog.get_by_label("heat").press_sequentially("0")
        expect(dialog.locator(".fault")).to_have_count(0)
        expect(dialog.get_by_role("alert")).to_be_hidden()
        dialog.get_by_label("heat").fill("105")
        press(page, button)
        expect(page.get_by_text("is stored: 5")).to_be_visible()


def press(page: Page, button: Locator) -> None:
    """Click the middle of a button as a hand does, with a moment between pressing and releasing."""
    before = button.bounding_box()
    assert before is not None
    page.mouse.move(before["x"] + before["width"] / 2, before["y"] + before["height"] / 2)
    page.mouse.down()
    page.evaluate("new Promise((then) => requestAnimationFrame(() => requestAnimationFrame(then)))")
    assert button.bounding_box() == before
    page.mouse.up()
