"""Results that violate a bound, and the best compromises among the others, in a real Chromium."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.page.studies import COATING, checked, coated
from tests.acceptance.page.tabs import PHONE, accessible, drawn, tab

pytestmark = pytest.mark.long

POINT = {"binder": 60, "acetate": 20, "xylene": 20, "hardener": "Tolonate HDT", "humidity": 50}

IS_ON_TOP = """field => {
    field.scrollIntoView({ inline: "center" });
    const { left, top, width, height } = field.getBoundingClientRect();
    const cell = field.closest("td").getBoundingClientRect();
    const places = [0.1, 0.5, 0.9].map(share => document.elementFromPoint(left + share * width, top + height / 2));
    return places.every(each => each === field) && left >= cell.left && left + width <= cell.right;
}"""
"""Whether all of a field can be seen and clicked."""


def measured(api: httpx.Client, study: str, hardness: float, price: float, viscosity: float) -> None:
    """A result that a person gives for a point of their own."""
    metrics = {"hardness": hardness, "price": price, "viscosity": viscosity}
    checked(api.post(f"/v1/studies/{study}/observe", json={"parameters": POINT, "metrics": metrics}))


@pytest.mark.parametrize("size", [{"width": 1366, "height": 768}, PHONE], ids=["desktop", "phone"])
def test_a_number_that_violates_a_bound_can_be_edited(
    browser: Browser, site: str, api: httpx.Client, size: dict[str, int]
) -> None:
    study = f"edited-{size['width']}"
    checked(api.post("/v1/studies", json={"id": study, **COATING}))
    measured(api, study, 112.1, 5.2, 1625.5)
    with tab(browser, site, size=size) as page:
        page.goto(f"/studies/{study}/results")
        cell = page.locator("td[data-measured=viscosity]")
        expect(cell).to_have_text("1\N{NARROW NO-BREAK SPACE}625.5")
        page.get_by_role("button", name="Edit own result R1").click()
        field = cell.get_by_role("textbox")
        expect(field).to_have_value("1625.5")
        assert field.evaluate(IS_ON_TOP)
        page.get_by_role("button", name="Cancel").click()
        cell.dblclick()
        expect(field).to_be_focused()
        assert field.evaluate(IS_ON_TOP)
        field.fill("162,5")
        page.get_by_role("button", name="Save the correction").click()
        expect(cell).to_have_text("162.5")
    (result,) = checked(api.get(f"/v1/studies/{study}/observations"))["items"]
    assert result["metrics"]["viscosity"] == 162.5


def hovered(page: Page, chart: str, series: str) -> str:
    """Point to the middle of the symbol of a series that is farthest from all others, and return its tooltip."""
    page.wait_for_function(
        """([chart, name]) => echarts.getInstanceByDom(document.querySelector(`#${chart} .plot`)).getOption().series
            .find(each => each.name === name)?.data.length""",
        arg=[chart, series],
    )
    at = page.evaluate(
        """([chart, name]) => {
            const plot = document.querySelector(`#${chart} .plot`), drawn = echarts.getInstanceByDom(plot);
            const places = drawn.getOption().series.flatMap((each, seriesIndex) => each.data.map(({ value }) => {
                const [x, y] = drawn.convertToPixel({ seriesIndex }, value);
                return { name: each.name, x, y };
            }));
            const room = ({ x, y }) => Math.min(...places.map(each => Math.hypot(each.x - x, each.y - y) || Infinity));
            const [place] = places.filter(each => each.name === name).sort((a, b) => room(b) - room(a));
            plot.scrollIntoView({ block: "center" });
            const box = plot.getBoundingClientRect();
            window.tip = "";
            drawn.on("mouseover", point => { window.tip = drawn.getOption().tooltip[0].formatter(point); });
            return [box.left + place.x, box.top + place.y];
        }""",
        [chart, series],
    )
    page.mouse.move(*at)
    page.wait_for_function("window.tip !== ''")
    text: str = page.evaluate("window.tip")
    return text


def test_compromises_tell_the_bounded_metric_and_the_models_ones_can_be_read(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    coated(api, "clear", 14)
    results = checked(api.get("/v1/studies/clear/observations"))["items"]
    violating = [each["trial"] for each in results if each["metrics"]["viscosity"] > 120]
    assert violating
    with tab(browser, site, size={"width": 1366, "height": 768}) as page:
        page.goto("/studies/clear")
        drawn(page, "front")
        measured = page.get_by_role("region", name="Table of best compromises", exact=True)
        expect(measured.get_by_role("columnheader", name="Viscosity [mPa·s] at most 120 mPa·s")).to_be_visible()
        listed = [int(each) for each in measured.locator("tbody th").all_inner_texts()]
        assert listed
        assert not set(listed) & set(violating)
        expect(page.locator("#front-caption")).to_contain_text(f"{len(violating)} results violate a bound")
        told = hovered(page, "front", "violates a bound")
        assert re.search(r"^trial \d+: violates the bounds of Viscosity$", told, re.MULTILINE)
        assert "(at most 120\N{NO-BREAK SPACE}mPa·s)" in told
        shares = re.findall(r"(?:Binder A|Butyl acetate|Xylene) ([\d.]+)", told)
        assert sum(map(float, shares)) == pytest.approx(100), "the shares of a mixture sum to the total"
        form = page.locator("#best-context")
        expect(page.locator("#expected-summary")).to_have_text("Enter the context above to see them.")
        form.get_by_label("Humidity").fill("45")
        form.get_by_role("button", name="Show them").click()
        expected = page.get_by_role("region", name="Table of best compromises by the model")
        front = checked(api.get("/v1/studies/clear/front", params={"context": '{"humidity": 45}'}))["model"]
        expect(expected.locator("tbody tr")).to_have_count(len(front))
        expect(page.locator("#expected-summary")).to_contain_text(f"{len(front)} point")
        best = max(each["metrics"]["hardness"]["mean"] for each in front)
        expect(expected.locator("tbody tr").first).to_contain_text(re.compile(rf"{int(best)}[.\d]* \(90%: "))
        drawn(page, "front")
        told = hovered(page, "front", "best compromises by the model")
        assert told.startswith("expected by the model; measured: trial ")
        assert "Viscosity" in told
        assert "satisfies all bounds with probability" in told
        assert not accessible(page)
        page.mouse.down()
        page.mouse.up()
        page.wait_for_url("**/studies/clear/trials/*")


def test_the_report_has_the_compromises_as_tables_and_marks_violated_bounds(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    coated(api, "reported", 14)
    reason = {"reason": "the panel was sanded"}
    checked(api.request("DELETE", "/v1/studies/reported/observations/2", params=reason))
    checked(api.patch("/v1/studies/reported", json={"outcome_constraints": [{"metric": "viscosity", "upper": 118}]}))
    trials = [each["trial"] for each in checked(api.get("/v1/studies/reported/front"))["observed"]]
    with tab(browser, site) as page:
        page.goto("/studies/reported/report")
        page.locator("#study:not([aria-busy])").wait_for()
        measured = page.get_by_role("region", name="Measured best compromises")
        for trial in trials:
            expect(measured.get_by_role("columnheader", name=f"trial {trial}", exact=True)).to_be_visible()
        expect(measured.get_by_role("row", name="Viscosity [mPa·s], at most 118 mPa·s")).to_be_visible()
        by_model = page.get_by_role("region", name="Best compromises by the model")
        hardness = by_model.get_by_role("row", name="Hardness [s]").get_by_role("cell")
        assert all("(90%: " in each for each in hardness.all_inner_texts()[1:])
        expect(page.get_by_text("The context is that of the latest result: Humidity 53")).to_be_visible()
        marked = page.get_by_role("region", name="Results").locator("td", has_text="▲").all_inner_texts()
        results = checked(api.get("/v1/studies/reported/observations"))["items"]
        assert len(marked) == sum(each["metrics"]["viscosity"] > 118 for each in results)
        expect(page.get_by_role("region", name="Results")).to_contain_text("excluded: the panel was sanded")
        expect(page.get_by_role("region", name="Changes")).to_contain_text("at most 118 (it was at most 120)")
        assert not accessible(page)
    markdown = api.get("/v1/studies/reported/report").text
    assert "## Measured best compromises" in markdown
    assert f"trial {trials[0]}" in markdown
    assert "▲" in markdown


def test_a_result_that_violates_a_bound_is_not_the_best_so_far(browser: Browser, site: str, api: httpx.Client) -> None:
    checked(api.post("/v1/studies", json={"id": "own", **COATING}))
    measured(api, "own", 132.1, 4.9, 82.3)
    measured(api, "own", 140.4, 5.2, 281.4)
    measured(api, "own", 120.2, 4.8, 80.1)
    with tab(browser, site) as page:
        page.goto("/studies/own")
        drawn(page, "history")
        expect(page.locator("#history-caption")).to_contain_text("the best is 132.1\N{NO-BREAK SPACE}s, own result R1")
