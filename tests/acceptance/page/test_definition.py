"""The conversion between the form for a new study and its definition, in a real Chromium."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import PHONE, REFUSALS, accessible, tab
from tests.integration.operations.conftest import SYSTEMS
from tests.integration.operations.test_combinations import FEATURES, drawn, made

X = {"name": "x", "kind": "float", "low": 0, "high": 1}
ODD: dict[str, Any] = {
    "direction": "maximize",
    "parameters": [
        {"name": " x, y: z ", "kind": "float", "low": 1e-7, "high": 1e21, "scale": "log", "unit": "°C", "label": "X"},
        {"name": "n", "kind": "int", "low": -41, "high": 5, "step": 2},
        {"name": "list", "kind": "categorical", "choices": ["12.5", 12.5, "true", True, None, [1, "a, b"], "", " a"]},
        {"name": "order", "kind": "ordinal", "values": ["0,5", 0.5, "007"], "when": {"list": ["12.5", None]}},
        {"name": "base", "kind": "fixed", "value": "7", "when": {"n": [1, 3], "list": [[1, "a, b"]]}},
        {"name": "on", "kind": "bool", "unit": "switch"},
    ],
    "prior": {"list": {"weights": {'[1, "a, b"]': 3, "": 2}}, " x, y: z ": {"around": 1, "factor": 100}},
    "baseline": {"on": True, "n": 3},
    "stop": {"no_gain_for": 9, "gap_share_below": 0.01},
    "early_stopping": {"rule": "patience", "max_steps": 90, "min_steps": 2, "no_gain_for": 30, "min_gain": 0.5},
    "failure_limit": None,
    "max_attempts": 2,
    "max_runtime_seconds": 5400,
    "lease_seconds": 172800,
    "pending_limit": 4,
    "tolerance": 0,
    "tags": {"owner": "Ada: L.", "text": ""},
    "seed": 7,
    "quantities": {"value": {"label": "Yield", "unit": "%", "digits": 1, "low": 0, "high": 100}},
}
MEASURED: dict[str, Any] = {
    "objectives": [
        {"metric": "a", "direction": "minimize", "reference": 3},
        {"metric": "b", "direction": "maximize", "noise_std": 0.5},
    ],
    "parameters": [X, {"name": "ligand", "kind": "categorical", "choices": ["A", "B"], "descriptors": {"s": [1, 2.5]}}],
    "metrics": ["c"],
    "outcome_constraints": [{"metric": "d", "lower": 1, "upper": 2}],
    "cost": "measured",
    "budget": {"cost": 3600},
    "quantities": {
        "a": {"unit": "s"},
        "b": {"label": "B", "digits": 0},
        "c": {"low": 0},
        "d": {"unit": "g"},
        "cost": {"unit": "EUR", "digits": 2},
    },
}


DRAWN = 40
"""Number of randomly drawn definitions, each of which combines several features."""


def corpus() -> dict[str, dict[str, Any]]:
    """The definitions from the tests of combinations and of algorithms, and some that are difficult for a form."""
    found = {name: made([name]).model_dump(mode="json", exclude_defaults=True) for name in FEATURES}
    found |= {f"drawn {k}": made(drawn(k)).model_dump(mode="json", exclude_defaults=True) for k in range(DRAWN)}
    found |= {
        f"system {name}": {"direction": "minimize", "parameters": [X], "algorithm": system}
        for name, system in SYSTEMS.items()
    }
    return {**found, "odd": ODD, "measured": MEASURED}


CORPUS = corpus()
PARTS = 4
"""Number of tests of these definitions, each of which creates a share of them through the page."""
NOT_IN_FIELDS = {"odd": {"parameters"}, "measured": {"quantities", "metrics"}}
"""Definitions with parts without a field: the unit of a parameter without numbers, and labels of a cost. Metrics with
bounds are also listed."""


def as_json(page: Page) -> Any:
    """The definition as JSON from the page."""
    return json.loads(page.get_by_label("Definition", exact=True).input_value())


def write(page: Page, definition: dict[str, Any]) -> None:
    page.get_by_label("Definition", exact=True).fill(json.dumps(definition))
    page.get_by_label("Definition", exact=True).blur()


def open_form(page: Page) -> None:
    page.goto("/new")
    page.get_by_text("Definition as JSON", exact=True).click()
    expect(page.get_by_label("Definition", exact=True)).not_to_have_value("")


@pytest.mark.long
def test_the_form_has_a_field_for_all_that_a_definition_may_say(browser: Browser, site: str) -> None:
    """Each definition fills in the form, whose fields give the same definition."""
    with tab(browser, site) as page:
        open_form(page)
        said = """async (given) => {
            const script = document.querySelector('script[src$="/new.js"]').src;
            const form = await import(script.replace("new.js", "definition.js"));
            form.fill(given);
            return [JSON.stringify(form.fieldsAlone()), JSON.stringify(form.definition())];
        }"""
        for name, given in CORPUS.items():
            fields, definition = map(json.loads, page.evaluate(said, given))
            assert definition == given, name
            for field in given.keys() - NOT_IN_FIELDS.get(name, set()):
                if field != "algorithm" or name.startswith("system"):
                    assert fields.get(field) == given[field], (name, field)


@pytest.mark.parametrize("part", ["few", *(pytest.param(part, marks=pytest.mark.long) for part in range(PARTS))])
def test_studies_created_through_the_page_are_those_of_the_api(
    browser: Browser, site: str, api: httpx.Client, part: str | int
) -> None:
    """The definitions stored through JSON and through the form are equal."""
    checked(api.post("/v1/studies", json={"id": "old", **made(["bounds"]).model_dump(mode="json", exclude={"id"})}))
    for angle in range(0, 360, 60):
        point = {"angle": angle, "speed": 4, "glue": "fast", "count": 2}
        result = {"value": angle, "parameters": point, "metrics": {"price": angle}}
        checked(api.post("/v1/studies/old/observe", json=result))
    with tab(browser, site) as page:
        page.route("**/studies/page-*", lambda route: route.fulfill(body="created", content_type="text/html"))
        for number, name in enumerate(["odd", "measured"] if isinstance(part, str) else list(CORPUS)[part::PARTS]):
            given = {**CORPUS[name], "seed": 1}
            checked(api.post("/v1/studies", json={**given, "id": f"api-{part}-{number}"}))
            open_form(page)
            write(page, {**given, "id": "another"})
            page.get_by_label("ID", exact=True).fill(f"page-{part}-{number}")
            page.get_by_role("button", name="Create the study").click()
            page.wait_for_url(f"**/studies/page-{part}-{number}")
            one, other = (checked(api.get(f"/v1/studies/{kind}-{part}-{number}")) for kind in ("api", "page"))
            for each in (one, other):
                for own in ("id", "created_at", "updated_at"):
                    del each[own]
            assert one == other, name


@pytest.mark.long
def test_the_json_follows_the_form_and_says_what_is_wrong_with_it(browser: Browser, site: str) -> None:
    """Invalid JSON is kept and not sent; a definition that the form cannot show is sent unchanged."""
    with tab(browser, site, size=PHONE, refused=REFUSALS) as page:
        open_form(page)
        text, said = page.get_by_label("Definition", exact=True), page.locator("#json-status")
        row = page.get_by_role("group", name="Parameter 1")
        row.get_by_label("Name").fill("x")
        row.get_by_label("From").fill("0")
        row.get_by_label("to", exact=True).fill("much")
        expect(said).to_contain_text("when this is right: to: “much” is not a number.")
        row.get_by_label("to", exact=True).fill("1")
        assert as_json(page)["parameters"] == [X]
        text.press_sequentially(" ,")
        expect(said).to_contain_text("JSON")
        row.get_by_label("to", exact=True).fill("2")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("alert")).to_have_text("1 field needs a correction: Definition")
        expect(text).to_be_focused()
        assert text.input_value().endswith(" ,")
        write(page, {"direction": "maximize", "parameters": "x"})
        expect(said).to_have_text("The form cannot show this definition. It is sent as it stands here.")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("alert")).to_contain_text("parameters must be a list")
        write(page, {"direction": "maximize", "parameters": [X], "algorithm": {"profile": "paper", "norm_bound": 3}})
        expect(page.get_by_label("The result should be")).to_have_value("maximize")
        expect(row.get_by_label("to", exact=True)).to_have_value("1")
        row.get_by_label("to", exact=True).fill("2")
        assert as_json(page) == {
            "direction": "maximize",
            "parameters": [{**X, "high": 2}],
            "algorithm": {"profile": "paper", "norm_bound": 3},
        }
        page.get_by_text("More", exact=True).click()
        page.get_by_label("Algorithm").select_option(label="evenly spread points, without a model")
        assert as_json(page)["algorithm"] == {"kind": "sobol"}
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert accessible(page) == []


@pytest.mark.long
def test_each_field_has_help_which_is_that_of_the_api(browser: Browser, site: str, api: httpx.Client) -> None:
    fields = checked(api.get("/openapi.json"))["components"]["schemas"]["StudyDefinition"]["properties"]
    with tab(browser, site) as page:
        page.goto("/new")
        page.get_by_label("The result should be").select_option("several")
        for name in ("Add a mixture", "Add a quantity"):
            page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
            page.get_by_role("button", name=name).click()
        page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
        without = page.evaluate(
            """() => [...document.querySelectorAll("#new :is(input, select, textarea)")].filter((field) =>
                field.checkVisibility() && !field.closest(".listed, table") &&
                !["low", "high"].includes(field.dataset.part) && // "from" and "to" say it all
                !document.getElementById(field.getAttribute("aria-describedby"))?.textContent.trim()
            ).map((field) => field.outerHTML)"""
        )
        assert without == []
        for label, field in {
            "Stop at this possible gain": fields["tolerance"],
            "Seed": fields["seed"],
            "Constraints, one per line": fields["constraints"],
        }.items():
            text = page.get_by_label(label, exact=True).evaluate(
                "(field) => document.getElementById(field.getAttribute('aria-describedby')).textContent"
            )
            assert text.startswith(field["description"]), label


@pytest.mark.long
def test_a_study_like_an_older_one_has_its_present_definition(browser: Browser, site: str, api: httpx.Client) -> None:
    """With the available rows of its catalogue and its current limits, but without its id and its seed."""
    table = "dye,size\nred,1.5\nblue,2\ngreen,3"
    parameters = [{"name": "dye", "kind": "catalogue", "table": table}, X]
    definition = {"direction": "maximize", "parameters": parameters, "budget": 9, "seed": 3, "robust": True}
    checked(api.post("/v1/studies", json={"id": "first", **definition}))
    changes = {"budget": 20, "stop": {"no_gain_for": 5}, "catalogues": {"dye": {"withdraw": ["blue"]}}}
    checked(api.patch("/v1/studies/first", json=changes))
    with tab(browser, site, refused=(404,)) as page:
        page.goto("/studies/first")
        page.get_by_role("link", name="New study like this one").click()
        expect(page.get_by_label("Budget, in trials")).to_have_value("20")
        page.get_by_label("ID", exact=True).fill("second")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/second")
        page.goto("/new?like=nothing")
        expect(page.get_by_role("alert")).to_contain_text("nothing")
    made = checked(api.get("/v1/studies/second"))
    assert (made["budget"], made["stop"], made["robust"]) == (20, {"no_gain_for": 5}, True)
    assert (made["parameters"][0]["rows"], made["parameters"][1]["name"]) == (2, "x")
    assert made["seed"] != 3


@pytest.mark.long
def test_exclusions_of_an_older_study_are_in_the_table_again(browser: Browser, site: str, api: httpx.Client) -> None:
    """Those at the end of its constraints that the table can represent; they can be edited there."""
    parameters = [X, {"name": "flow rate", "kind": "int", "low": 1, "high": 9}, {"name": "in", "kind": "bool"}]
    constraints = ["not (x > 0.9)", "x <= 0.1 * n", 'not (x > 0.5 and "flow rate" == 3)', 'not ("in" == True)']
    parameters.append({"name": "n", "kind": "float", "low": 1, "high": 20})
    definition = {"direction": "minimize", "parameters": parameters, "constraints": constraints}
    checked(api.post("/v1/studies", json={"id": "excluding", **definition}))
    with tab(browser, site) as page:
        page.goto("/new?like=excluding")
        expect(page.get_by_label("Constraints, one per line")).to_have_value("\n".join(constraints[:2]))
        expect(page.get_by_label("flow rate in combination 1")).to_have_value("3")
        expect(page.get_by_label("in in combination 2").locator("option:checked")).to_have_text("yes")
        page.get_by_label("flow rate in combination 1").fill("> 4")
        page.get_by_label("ID", exact=True).fill("excluding-more")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/excluding-more")
    found = checked(api.get("/v1/studies/excluding-more"))["constraints"]
    assert found == [*constraints[:2], 'not (x > 0.5 and "flow rate" > 4)', constraints[3]]


@pytest.mark.long
def test_exclusions_name_values_of_every_kind(browser: Browser, site: str, api: httpx.Client) -> None:
    """Including null, lists and the empty string, in both directions."""
    choices = ["", None, [1, "a b", False], "plain"]
    definition = {
        "direction": "minimize",
        "parameters": [X, {"name": "list", "kind": "categorical", "choices": choices}],
    }
    constraints = [f"not (x > 0.5 and list == {value})" for value in ('""', "None", '[1, "a b", False]')]
    checked(api.post("/v1/studies", json={"id": "valued", **definition, "constraints": constraints}))
    with tab(browser, site) as page:
        page.goto("/new?like=valued")
        expect(page.get_by_label("x in combination 3")).to_have_value("> 0.5")
        expect(page.get_by_label("Constraints, one per line")).to_have_value("")
        page.get_by_role("button", name="Add a combination").click()
        page.get_by_label("list in combination 4").select_option("null")
        page.get_by_label("ID", exact=True).fill("valued-more")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/valued-more")
    assert checked(api.get("/v1/studies/valued-more"))["constraints"] == [*constraints, "not (list == None)"]


@pytest.mark.long
def test_an_unknown_field_is_told_whatever_its_name(browser: Browser, site: str) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        open_form(page)
        for name in ('we"ird', "we]ird\\"):
            write(page, {"direction": "minimize", "parameters": [{**X, name: 1}]})
            page.get_by_role("button", name="Create the study").click()
            expect(page.get_by_role("alert")).to_contain_text(name)


@pytest.mark.long
def test_what_the_service_refuses_stands_beside_its_field_and_nothing_typed_is_lost(
    browser: Browser, site: str
) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill(" my study 1")
        row = page.get_by_role("group", name="Parameter 1")
        row.get_by_label("Name").fill("x")
        row.get_by_label("From").fill("2")
        row.get_by_label("to", exact=True).fill("1")
        page.get_by_label("Budget, in trials").fill("0")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_label("The result should be")).to_be_focused()
        page.get_by_label("The result should be").select_option("minimize")
        page.get_by_role("button", name="Create the study").click()
        expect(row.locator(".fault")).to_have_text("must be greater than “From”")
        expect(page.locator(".field:has(#new-budget) .fault")).to_contain_text("1")
        expect(row.get_by_label("From")).to_have_value("2")
        row.get_by_label("to", exact=True).fill("3")
        page.get_by_label("Budget, in trials").fill("5")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/my-study-1")


@pytest.mark.long
def test_a_chemist_creates_a_study_with_the_keyboard(browser: Browser, site: str, api: httpx.Client) -> None:
    """Three shares of a mixture, four ligands, one exclusion, a temperature in °C, a yield of 0 to 100 %, 30 trials."""
    with tab(browser, site) as page:
        page.goto("/new")

        def keys(*texts: str) -> None:
            """Type each string into the next field; an empty string leaves its field unchanged."""
            for text in texts:
                page.keyboard.press("Tab")
                page.keyboard.type(text)

        def press(name: str) -> None:
            page.get_by_role("button", name=name, exact=True).focus()
            page.keyboard.press("Enter")

        page.get_by_role("link", name="Studies", exact=True).last.focus()
        keys("coupling", "", "", "30", "", "as l", "Yield", "%", "0", "100", "", "", "water", "number", "0", "1")
        for name in ("ethanol", "toluene"):
            press("Add a parameter")
            page.keyboard.type(name)
            keys("number", "0", "1")
        press("Add a parameter")
        page.keyboard.type("ligand")
        keys("choice", "XPhos")
        for ligand in ("SPhos", "PPh3", "dppf"):
            page.keyboard.press("Enter")
            page.keyboard.type(ligand)
        press("Add a parameter")
        page.keyboard.type("temperature")
        keys("number", "20", "120", "°C")
        press("Add a mixture")
        for name in ("water", "ethanol", "toluene"):
            expect(page.get_by_role("group", name="Mixture 1").get_by_label(name)).to_be_checked()
        press("Add a combination")
        page.get_by_label("ligand in combination 1").focus()
        page.keyboard.type("PPh3")
        keys("> 80")
        press("Create the study")
        page.wait_for_url("**/studies/coupling")
    study = checked(api.get("/v1/studies/coupling"))
    assert study["direction"] == "maximize"
    assert study["budget"] == 30
    assert study["quantities"] == {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100}}
    assert study["mixtures"] == [{"parameters": ["water", "ethanol", "toluene"], "total": 1}]
    assert study["constraints"] == ['not (ligand == "PPh3" and temperature > 80)']
    assert study["parameters"][3]["choices"] == ["XPhos", "SPhos", "PPh3", "dppf"]
    assert study["parameters"][4]["unit"] == "°C"
