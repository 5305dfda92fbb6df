"""Editing a running study on the page, in a real Chromium."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Route, expect

from tests.acceptance.page.conftest import on_both
from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import PHONE, REFUSALS, accessible, tab

PARAMETERS: list[dict[str, Any]] = [
    {"name": "temperature", "kind": "float", "low": 20, "high": 80, "unit": "°C"},
    {"name": "ligand", "kind": "categorical", "choices": ["XPhos", "PPh3"]},
]
HELP = "field => document.getElementById(field.getAttribute('aria-describedby')).textContent"
"""The text that describes a field."""
POINTS = [(25, "XPhos"), (45, "PPh3"), (60, "XPhos"), (75, "PPh3")]


def reacting(api: httpx.Client, study: str) -> None:
    definition = {"id": study, "direction": "maximize", "parameters": PARAMETERS, "budget": 30, "seed": 1}
    checked(api.post("/v1/studies", json=definition))
    for temperature, ligand in POINTS:
        point = {"temperature": temperature, "ligand": ligand}
        checked(api.post(f"/v1/studies/{study}/observe", json={"value": temperature, "parameters": point}))


def test_a_space_and_its_rules_are_edited_after_a_preview(browser: Browser, site: str, api: httpx.Client) -> None:
    """A wider range, another choice, an exclusion, a new parameter and a stopping rule. Errors appear at their fields,
    and nothing is stored before the preview."""
    reacting(api, "reacting")
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/studies/reacting")
        page.get_by_role("link", name="Edit parameters and rules").click()
        heat, ligand = (page.get_by_role("group", name=f"Parameter {number}", exact=True) for number in (1, 2))
        expect(heat.get_by_label("to", exact=True)).to_have_value("80")
        expect(heat.get_by_label("Name")).not_to_be_editable()
        expect(heat.get_by_role("button", name="Remove this parameter")).to_have_count(0)
        show = page.get_by_role("button", name="Show what changes")
        show.click()
        expect(page.locator("#effects")).to_have_text("Nothing changes.")
        expect(page.get_by_role("button", name="Save these changes")).to_be_hidden()

        heat.get_by_label("to", exact=True).fill("10")
        show.click()
        expect(heat.locator(".fault")).to_have_text("must be greater than “From”")
        heat.get_by_label("to", exact=True).fill("120,5")
        ligand.get_by_role("button", name="Add a value").click()
        ligand.get_by_label("Value 3", exact=True).fill("dppf")
        page.get_by_role("button", name="Add a parameter").click()
        added = page.get_by_role("group", name="Parameter 3", exact=True)
        added.get_by_label("Name").fill("hours")
        added.get_by_label("From").fill("1")
        added.get_by_label("to", exact=True).fill("9")
        page.get_by_role("button", name="Add a combination").click()
        page.get_by_label("ligand in combination 1").select_option("PPh3")
        page.get_by_label("temperature in combination 1").fill("> 70")
        page.get_by_label("Stop after this many results").fill("12")
        show.click()
        expect(added.locator(".fault")).to_contain_text("value that the new parameter hours had")
        expect(added.get_by_label("Value in the trials so far")).to_be_focused()
        added.get_by_label("Value in the trials so far").fill("2")
        show.click()
        expect(page.locator("#preview tbody tr")).to_contain_text(
            ["20 to 120.5", "“dppf”", "hours", 'not (temperature > 70 and ligand == "PPh3")', "after 12 results"]
        )
        expect(page.locator("#effects li")).to_have_text(
            [
                "1 result outside the new space no longer counts, and stays on record.",
                "3 results count then; the best one is 60.",
            ]
        )
        assert accessible(page) == []
        assert "space_version" not in checked(api.get("/v1/studies/reacting"))
        page.get_by_label("Budget, in trials").fill("40")
        expect(page.locator("#preview")).to_be_hidden()
        show.click()
        page.get_by_role("button", name="Save these changes").click()
        expect(page.get_by_text("The changes are saved.")).to_be_visible()
        expect(page.locator("#definition")).to_contain_text("20 to 120.5")
    study = checked(api.get("/v1/studies/reacting"))
    assert study["parameters"][0] == {**PARAMETERS[0], "high": 120.5, "scale": "linear", "step": None}
    assert study["parameters"][1]["choices"] == ["XPhos", "PPh3", "dppf"]
    assert (study["defaults"], study["stop"], study["budget"]) == ({"hours": 2}, {"no_gain_for": 12}, 40)
    assert study["constraints"] == ['not (temperature > 70 and ligand == "PPh3")']
    assert study["best"]["value"] == 60


@on_both
@pytest.mark.long
def test_what_the_model_assumes_is_edited_and_set_back(browser: Browser, site: str, api: httpx.Client) -> None:
    """The noise, wrong results and cheap trials: in the words of the form for a new study, after a preview."""
    definition = {"id": "assumed", "direction": "maximize", "parameters": PARAMETERS, "seed": 1, "cost": "told"}
    checked(api.post("/v1/studies", json=definition))
    for temperature, ligand in POINTS:
        told = {"value": temperature, "metrics": {"cost": 1}}
        point = {"temperature": temperature, "ligand": ligand}
        checked(api.post("/v1/studies/assumed/observe", json={**told, "parameters": point}))

    def settings() -> tuple[Any, ...]:
        study = checked(api.get("/v1/studies/assumed"))
        return study.get("noise_std"), study.get("robust", False), study.get("per_cost", False)

    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        fields = {
            "noise": page.get_by_label("Standard deviation of one result"),
            "robust": page.get_by_label("Some results may be wrong"),
            "per-cost": page.get_by_label("Prefer cheap trials"),
        }
        helps = {}
        for name, field in fields.items():
            expect(field).to_have_attribute("aria-describedby", re.compile("note-"))
            helps[name] = field.evaluate(HELP)
        page.goto("/studies/assumed/edit")
        show, save = (page.get_by_role("button", name=name) for name in ("Show what changes", "Save these changes"))
        expect(page.get_by_label("to", exact=True).first).to_have_value("80")
        for name, field in fields.items():
            assert field.evaluate(HELP) == helps[name] != "", name
        show.click()
        expect(page.locator("#effects")).to_have_text("Nothing changes.")
        fields["noise"].fill("-1")
        show.click()
        expect(page.locator(".fault")).to_be_visible()
        expect(fields["noise"]).to_be_focused()
        fields["noise"].fill("0,5")
        fields["robust"].check()
        fields["per-cost"].check()
        show.click()
        expect(page.locator("#preview tbody tr")).to_have_count(3)
        assert accessible(page) == []
        assert settings() == (None, False, False)
        save.click()
        expect(page.get_by_text("The changes are saved.")).to_be_visible()
        assert settings() == (0.5, True, True)
        page.goto("/studies/assumed/edit")
        expect(fields["noise"]).to_have_value("0.5")
        expect(fields["robust"]).to_be_checked()
        fields["robust"].uncheck()
        fields["per-cost"].uncheck()
        fields["noise"].fill("")
        show.click()
        save.click()
        expect(page.get_by_text("The changes are saved.")).to_be_visible()
    assert settings() == (None, False, False)


@pytest.mark.long
def test_mixtures_priors_and_the_values_in_use_are_edited(browser: Browser, site: str, api: httpx.Client) -> None:
    shares = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("water", "oil")]
    definition = {"id": "mixed", "direction": "maximize", "parameters": [*PARAMETERS, *shares]}
    checked(api.post("/v1/studies", json=definition))
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/studies/mixed/edit")
        heat, ligand = (page.get_by_role("group", name=f"Parameter {number}", exact=True) for number in (1, 2))
        for row in (heat, ligand):
            row.get_by_text("Prior knowledge and conditions").click()
        heat.get_by_label("Probably best near").fill("60")
        heat.get_by_label("give or take").fill("5")
        ligand.get_by_label("Value in use today").fill("PPh3")
        page.get_by_role("button", name="Add a mixture").click()
        components = page.get_by_role("group", name="Components")
        components.get_by_label("oil").uncheck()
        page.get_by_role("button", name="Show what changes").click()
        expect(page.locator("#mixtures .fault")).to_contain_text("2 or more")
        components.get_by_label("oil").check()
        page.get_by_role("button", name="Show what changes").click()
        expect(page.locator("#preview tbody tr")).to_contain_text(
            ["probably best: 60 °C, ± 5 °C", "in use: PPh3", "Mixture–water + oil = 1"]
        )
        page.get_by_role("button", name="Save these changes").click()
        page.wait_for_url("**/studies/mixed")
    study = checked(api.get("/v1/studies/mixed"))
    assert study["mixtures"] == [{"parameters": ["water", "oil"], "total": 1}]
    assert (study["prior"], study["baseline"]) == ({"temperature": {"around": 60, "width": 5}}, {"ligand": "PPh3"})


@pytest.mark.long
def test_the_keyboard_is_enough_on_a_phone_in_the_dark(browser: Browser, site: str, api: httpx.Client) -> None:
    reacting(api, "keys")
    with tab(browser, site, size=PHONE, color_scheme="dark") as page:
        page.goto("/studies/keys/edit")
        upper = page.get_by_role("group", name="Parameter 1", exact=True).get_by_label("to", exact=True)
        expect(upper).to_have_value("80")
        upper.focus()
        page.keyboard.press("Control+A")
        page.keyboard.type("50")
        page.keyboard.press("Enter")
        expect(page.locator("#preview")).to_be_focused()
        expect(page.locator("#effects")).to_contain_text("2 results outside the new space no longer count")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert accessible(page) == []
        page.keyboard.press("Tab")
        page.keyboard.press("Tab")
        expect(page.get_by_role("button", name="Save these changes")).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url("**/studies/keys")
    assert checked(api.get("/v1/studies/keys"))["parameters"][0]["high"] == 50


@pytest.mark.long
def test_a_change_that_is_made_while_scripts_still_load_is_not_taken_for_the_study(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    reacting(api, "slow")
    with tab(browser, site, refused=REFUSALS) as page:
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route("**/editing.js", hold)
        with page.expect_request("**/editing.js"):
            page.goto("/studies/slow/edit", wait_until="commit")
        upper = page.get_by_role("group", name="Parameter 1", exact=True).get_by_label("to", exact=True)
        if upper.count():
            upper.fill("50")
        held[0].continue_()
        expect(upper).to_have_value("80")
