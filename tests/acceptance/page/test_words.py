"""Labels, units and natural bounds in a real Chromium: entered, shown on all pages, and changed in a running study."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import PHONE, REFUSALS, accessible, drawn, save, tab

pytestmark = pytest.mark.long


def test_a_study_is_created_with_names_units_and_hours(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site, size=PHONE, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill("worded")
        page.get_by_label("The result should be").select_option("maximize")
        page.get_by_label("Measured quantity").fill("Yield")
        page.get_by_label("Unit of the result").fill("%")
        page.get_by_label("Smallest possible result").fill("100")
        page.get_by_label("Largest possible result").fill("0,5")
        row = page.get_by_role("group", name="Parameter 1")
        row.get_by_label("Name").fill("temperature")
        row.get_by_label("From").fill("20")
        row.get_by_label("to", exact=True).fill("120")
        row.get_by_label("Unit").fill("°C")
        row.get_by_label("Step").fill("1")
        row.get_by_text("Prior knowledge").click()
        row.get_by_label("Label").fill("Bath temperature")
        expect(page.locator("#summary")).to_contain_text(
            "a number from 20 to 120 °C, called “Bath temperature” in steps of 1"
        )
        page.get_by_text("More", exact=True).click()
        page.get_by_label("Reservation of a trial").fill("2 weeks")
        page.get_by_role("button", name="Create the study").click()
        expect(page.locator(".fault").filter(has_text="Write it as in 90 min, 8 h or 2 d")).to_be_visible()
        page.get_by_label("Reservation of a trial").fill("1,5 h")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_label("Largest possible result")).to_be_focused()
        page.get_by_label("Smallest possible result").fill("0")
        page.get_by_label("Largest possible result").fill("100")
        assert accessible(page) == []
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/worded")
    study = checked(api.get("/v1/studies/worded"))
    assert study["quantities"] == {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100}}
    assert study["parameters"][0] | {"unit": "°C", "label": "Bath temperature", "step": 1} == study["parameters"][0]
    assert study["lease_seconds"] == 5400


WORDS = {"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100, "digits": 1}}


def worded(api: httpx.Client, study: str) -> None:
    parameters = [
        {"name": "t", "kind": "float", "low": 0, "high": 1, "unit": "h"},
        {"name": "s", "kind": "int", "low": 1, "high": 9},
    ]
    definition = {"id": study, "direction": "maximize", "parameters": parameters, "seed": 1, "quantities": WORDS}
    checked(api.post("/v1/studies", json=definition))
    for _ in range(9):  # enough results to rely on the model
        (trial,) = checked(api.post(f"/v1/studies/{study}/suggest", json={}))["trials"]
        value = 99.9 - 40 * (trial["parameters"]["t"] - 0.3) ** 2
        checked(api.post(f"/v1/studies/{study}/observe", json={"trial": trial["number"], "value": value}))


def test_numbers_have_units_and_end_at_natural_bounds(browser: Browser, site: str, api: httpx.Client) -> None:
    worded(api, "reading")
    checked(api.post("/v1/studies/reading/suggest", json={}))
    with tab(browser, site) as page:
        page.goto("/studies/reading")
        drawn(page, "history", "slices", "importance", "validation")
        expect(page.locator("#figures")).to_contain_text("Yield, maximized")
        expect(page.locator("#measured-now strong")).to_have_text(re.compile(r"^\d\d\.\d$"))
        expect(page.locator("#assessment")).to_contain_text(re.compile(r"Yield: the best of 9 results is \d\d\.\d\s%"))
        expect(page.locator("#recommendation")).to_contain_text("Yield [%]")
        expect(page.locator("#recommendation")).to_contain_text("t [h]")
        expect(page.locator("#history-caption")).to_contain_text("% ")
        lines = save(page, "slices", "csv").read_text("utf-8-sig").splitlines()
        bands = [[float(cell) for cell in line.split(",")[-2:]] for line in lines[1:]]
        assert all(0 <= low <= high <= 100 for low, high in bands)
        assert max(high for _, high in bands) == 100
        narrower = {"quantities": {"value": {"unit": "%", "low": 95, "high": 99}}}
        checked(api.patch("/v1/studies/reading", json=narrower))
        page.reload()
        drawn(page, "partition")
        table = save(page, "partition", "csv").read_text("utf-8-sig").splitlines()
        heads, *cells = (line.split(",") for line in table)
        means = [float(cell[heads.index("mean")]) for cell in cells]
        assert (min(means), max(means)) == (95, 99)
        bounds = [float(cell[heads.index("index")]) for cell in cells if cell[heads.index("index")]]
        assert max(bounds) == 99
        checked(api.patch("/v1/studies/reading", json={"quantities": WORDS}))
        page.goto("/studies/reading/trials/10")
        reason = page.locator("#why > p", has_text="(90%:").inner_text()
        interval = re.search(r"expected [\d.]+\s% \(90%: [\d.]+ to ([\d.]+)\s%\)", reason)
        assert interval, reason
        assert float(interval[1]) <= 100
        expect(page.get_by_label("Yield [%]")).to_be_visible()
        expect(page.get_by_text("Cell", exact=True)).to_be_hidden()
        page.get_by_text("Details of the search").click()
        expect(page.get_by_text("Cell", exact=True)).to_be_visible()


def changes(page: Page, of: str, **texts: str) -> None:
    page.locator("#definition").get_by_role("button", name="Title, names and units").click()
    for part, text in texts.items():
        page.get_by_role("dialog").get_by_label(f"{part.replace('_', ' ')} of {of}", exact=True).fill(text)
    page.get_by_role("button", name="Save", exact=True).click()


def test_names_and_units_are_changed_in_a_running_study_and_taken_back(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    worded(api, "changing")
    before = checked(api.get("/v1/studies/changing"))
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/studies/changing")
        changes(page, "value", Smallest_possible_value="200")
        expect(page.get_by_role("dialog").get_by_label("Largest possible value of value")).to_have_attribute(
            "aria-invalid", "true"
        )
        page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
        page.reload()
        changes(page, "t", Name="Time", Unit="min")
        expect(page.get_by_text("The words are changed.")).to_be_visible()
        expect(page.locator("#definition")).to_contain_text("Time [min]")
        expect(page.locator("#recommendation")).to_contain_text("Time [min]")
        after = checked(api.get("/v1/studies/changing"))
        assert after["parameters"][0] | {"label": "Time", "unit": "min"} == after["parameters"][0]
        assert "space_version" not in after
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#definition")).to_contain_text("t [h]")
    last = checked(api.get("/v1/studies/changing"))
    assert (last["parameters"], last["quantities"]) == (before["parameters"], before["quantities"])


def test_a_result_slightly_beyond_its_bounds_is_stored_with_a_warning(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """Noise may explain 102 %, but not 824 %."""
    worded(api, "beyond")
    checked(api.post("/v1/studies/beyond/suggest", json={}))
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/studies/beyond/trials/10")
        page.get_by_label("Yield [%]").fill("824")
        page.get_by_role("button", name="Save the result").click()
        expect(page.locator(".fault").filter(has_text="far above the possible values, 0 to 100 %")).to_be_visible()
        page.get_by_label("Yield [%]").fill("102")
        page.get_by_role("button", name="Save the result").click()
        expect(page.locator("#toasts")).to_contain_text(
            "Yield is above the natural bound of 100.0 %: check the number."
        )
        page.goto("/studies/beyond")
        answers = page.locator("#assessment")
        expect(answers).to_contain_text("Can I stop?Check the best result first: it is beyond the natural bound")
        expect(answers).to_contain_text("you can stop: nothing more can be gained.")
        expect(answers).to_contain_text("The best result is 102 %, beyond the natural bound of 100 %.")
