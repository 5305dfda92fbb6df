"""Several studies in one chart, and studies with too many results for single points, in a real Chromium."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import httpx
import numpy as np
import pytest
import sqlalchemy as sa
from playwright.sync_api import APIResponse, Browser, Page, Route, expect

from adabkb_service.storage import observations
from adabkb_service.storage.database import Database
from adabkb_service.storage.tables import studies
from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import PHONE, PRINTS, REFUSALS, accessible, drawn, save, tab
from tests.integration.storage.rows import NOW, observation
from tests.servers import server_on
from tests.waiting import wait_for

LARGE, EVERY, FAR = 20_000, 2_000, 40.0
"""Number of results of the study; one in this many is an outlier; the outliers' value."""


@pytest.fixture(scope="module")
def site(database: str) -> Iterator[str]:
    """A server with two small studies, of which the first has enough results to rely on its model."""
    with server_on(database) as address, httpx.Client(base_url=address, timeout=60) as api:
        for name, values in (("first", (9, 7, 8, 3, 6, 5)), ("second", (5, 6, 4))):
            created(api, name)
            for number, value in enumerate(values, start=1):
                point = {"x": number / 10}
                checked(api.post(f"/v1/studies/{name}/observe", json={"parameters": point, "value": value}))
        yield address


@pytest.fixture
def large(other_sqlite: str) -> Iterator[str]:
    """A server with a study with 20,000 results."""
    with server_on(other_sqlite) as address, httpx.Client(base_url=address, timeout=60) as api:
        created(api, "large")
    grow(other_sqlite)
    with server_on(other_sqlite) as address:
        yield address


def created(api: httpx.Client, name: str) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    checked(api.post("/v1/studies", json={"id": name, "direction": "minimize", "parameters": parameters}))


def grow(database: str) -> None:
    """Write the rows of the large study's results directly, since that is faster than requests."""
    values = np.random.default_rng(7).normal(10.0, 1.0, LARGE)
    values[::EVERY] = FAR
    rows = [observation(seq, float(value), "large", observed_at=NOW) for seq, value in enumerate(values, 1)]
    with closing(Database(database)) as opened, opened.writing() as connection:
        observations.add(connection, rows)
        connection.execute(sa.update(studies).where(studies.c.id == "large").values(observations=LARGE))


def reporting(api: httpx.Client, name: str, best: float) -> None:
    """A study with two reporting trials, of which the second is better."""
    created(api, name)
    for number, end in enumerate((9.0, best), start=1):
        checked(api.post(f"/v1/studies/{name}/suggest", json={}))
        reports = [{"step": step, "value": end + 1 / step} for step in (1, 2, 3)]
        checked(api.post(f"/v1/studies/{name}/trials/{number}/reports", json={"reports": reports}))
        checked(api.post(f"/v1/studies/{name}/observe", json={"trial": number, "value": end}))


def options(page: Page, chart: str) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate(
        f"echarts.getInstanceByDom(document.querySelector('#{chart} .plot')).getOption()"
    )
    return found


@pytest.mark.long
def test_the_progress_of_several_studies_is_in_one_chart_and_in_the_address(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/")
        page.get_by_role("button", name="Compare the chosen studies").click()
        expect(page.locator("#progress")).to_be_hidden()
        page.goto("/")
        page.get_by_label("Compare first", exact=True).check()
        page.get_by_role("button", name="Compare the chosen studies").click()
        page.get_by_text("Add studies").click()
        page.get_by_label("second").check()
        page.get_by_role("button", name="Show").click()
        drawn(page, "progress")
        lines = {each["name"]: [point[:2] for point in each["data"]] for each in options(page, "progress")["series"]}
        assert lines == {
            "first": [[1, 9], [2, 7], [4, 3], [6, 3]],
            "second": [[1, 5], [3, 4], [3, 4]],
        }
        assert not accessible(page)
        page.locator("#progress").get_by_label("across").select_option("share")
        page.locator("#progress").get_by_label("log scale").check()
        page.wait_for_url("**/compare?study=first&study=second&progress-log=1&progress-across=share")
        with tab(browser, site) as other:
            other.goto(page.url)
            drawn(other, "progress")
            assert options(other, "progress")["yAxis"][0]["type"] == "log"
            assert options(other, "progress")["series"][0]["data"][0][0] == pytest.approx(1 / 6)
            row = other.get_by_role("row", name="first")
            expect(row).to_contain_text("result minimized")
            expect(row.get_by_role("cell").nth(3)).to_have_text("3")


@pytest.mark.long
def test_results_of_different_quantities_have_different_axes(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    for name, title, label in (("yields", "A yield", "Yield"), ("conversions", "A conversion", "Conversion")):
        quantities = {"value": {"label": label, "unit": "%"}}
        definition = {"id": name, "title": title, "direction": "maximize", "quantities": quantities}
        checked(api.post("/v1/studies", json={**definition, "parameters": parameters}))
        checked(api.post(f"/v1/studies/{name}/observe", json={"parameters": {"x": 0.5}, "value": 50}))
    with tab(browser, site) as page:
        page.goto("/compare?study=first&study=yields&study=conversions")
        drawn(page, "progress")
        found = options(page, "progress")
        assert [each["name"] for each in found["series"]] == ["first", "A yield", "A conversion"]
        assert [each["yAxisIndex"] for each in found["series"]] == [0, 1, 2]
        assert [each["name"] for each in found["yAxis"]] == [
            "result, minimized",
            "Yield [%], maximized",
            "Conversion [%], maximized",
        ]
        assert len({each["top"] for each in found["grid"]}) == 3
        expect(page.get_by_role("row", name="A yield")).to_contain_text("open")


@pytest.mark.long
def test_studies_with_two_objectives_have_their_compromises_and_their_progress_in_words(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    goals = [{"metric": name, "direction": "maximize", "reference": 0} for name in ("y", "purity")]
    quantities = {"y": {"label": "Yield", "unit": "%"}}
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    definition = {"id": "goals", "title": "Yield and purity", "objectives": goals, "quantities": quantities}
    checked(api.post("/v1/studies", json={**definition, "parameters": parameters}))
    for x, y, purity in ((0.1, 40, 90), (0.2, 30, 80), (0.9, 80, 70)):
        metrics = {"y": y, "purity": purity}
        checked(api.post("/v1/studies/goals/observe", json={"parameters": {"x": x}, "metrics": metrics}))
    words = "2 better compromises so far, the last one with result 3"
    with tab(browser, site) as page:
        page.goto("/compare?study=goals")
        drawn(page, "volume")
        row = page.get_by_role("row", name="Yield and purity")
        expect(row).to_contain_text("2 best compromises: Yield 40 to 80\N{NO-BREAK SPACE}%, purity 70 to 90")
        expect(row).to_contain_text(words)
        expect(row.get_by_role("cell")).to_have_count(4)  # without a bound on what is better than the best result
        expect(page.locator("#volume-caption")).to_contain_text(f"Yield and purity: {words}")
        expect(page.locator("#progress")).to_be_hidden()
        page.goto("/compare?study=goals&study=first")
        drawn(page, "volume", "progress")


@pytest.mark.long
def test_the_best_compromises_of_several_studies_are_in_one_chart(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """Only studies with both objectives in the same unit and direction can be compared."""
    goals = [{"metric": "y", "direction": "maximize"}, {"metric": "price", "direction": "minimize"}]
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    for study, unit in (("batch", "%"), ("flow", "%"), ("other unit", "g")):
        quantities = {"y": {"label": "Yield", "unit": unit}}
        definition = {"id": study.replace(" ", "-"), "title": study, "objectives": goals, "quantities": quantities}
        checked(api.post("/v1/studies", json={**definition, "parameters": parameters}))
        for x, y, price in ((0.1, 40, 5), (0.2, 30, 6), (0.9, 80, 7)):
            body = {"parameters": {"x": x}, "metrics": {"y": y, "price": price}}
            checked(api.post(f"/v1/studies/{definition['id']}/observe", json=body))
    with tab(browser, site) as page:
        page.goto("/compare?study=batch&study=flow&study=other-unit")
        drawn(page, "front")
        words = "2 studies; batch: 2 best compromises; flow: 2 best compromises; not drawn: other unit."
        expect(page.locator("#front-caption")).to_have_text(words)
        rows = list(csv.DictReader(save(page, "front", "csv").read_text("utf-8-sig").splitlines()))
        assert [(row["study"], row["result"], row["y"], row["price"]) for row in rows] == [
            ("batch", "1", "40", "5"),
            ("batch", "3", "80", "7"),
            ("flow", "1", "40", "5"),
            ("flow", "3", "80", "7"),
        ]
        page.locator("#front-x").select_option("price")
        expect(page).to_have_url(re.compile("front-x=price"))
        assert accessible(page) == []


@pytest.mark.long
def test_metrics_and_parameters_are_named_by_their_labels(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [
        {"name": "t", "kind": "float", "low": 0, "high": 100, "label": "Temperature", "unit": "°C"},
        {"name": "c", "kind": "float", "low": 0, "high": 1},
    ]
    labelled = {"id": "labelled", "title": "With labels", "direction": "maximize", "parameters": parameters}
    checked(api.post("/v1/studies", json=labelled))
    for number in range(1, 10):  # enough results to rely on the model
        point = {"t": 10 * number, "c": number % 3 / 3}
        checked(api.post("/v1/studies/labelled/observe", json={"parameters": point, "value": number}))
    goals = [{"metric": name, "direction": "maximize"} for name in ("y", "purity")]
    several = {"id": "several", "title": "Two goals", "objectives": goals, "quantities": {"y": {"label": "Yield"}}}
    checked(api.post("/v1/studies", json={**several, "parameters": parameters}))
    with tab(browser, site) as page:
        page.goto("/compare?study=labelled&study=several&charts=importance,slice")
        drawn(page, "importance", "slice")
        assert set(options(page, "importance")["yAxis"][0]["data"]) == {"Temperature", "c"}
        expect(page.locator("#slice-parameter option")).to_have_text(["Temperature", "c"])
        expect(page.get_by_role("row", name="Two goals")).to_contain_text("Yield maximized, purity maximized")
        page.locator("#slice-parameter").select_option(label="c")
        page.wait_for_url("**slice-parameter=c*")


def test_a_study_that_one_may_not_read_is_named_and_the_others_are_drawn(browser: Browser, site: str) -> None:
    with tab(browser, site, refused=[404]) as page:
        page.goto("/compare?study=first&study=nowhere")
        drawn(page, "progress")
        expect(page.locator("#progress-caption")).to_contain_text("not drawn: nowhere")
        expect(page.get_by_role("row", name="nowhere")).to_contain_text("There is no study 'nowhere'")


@pytest.mark.long
def test_the_charts_that_a_person_chooses_are_in_the_address_and_stay_with_another_study(
    browser: Browser, site: str
) -> None:
    with tab(browser, site) as page:
        page.goto("/compare?study=first")
        drawn(page, "progress")
        page.get_by_text("Choose charts").click()
        charts = page.get_by_role("group", name="Charts", exact=True)
        for name in ("All results", "Which parameters matter", "Predictions along a parameter"):
            charts.get_by_label(name).check()
        charts.get_by_label("Best so far").uncheck()
        expect(page.locator("#progress")).to_be_hidden()
        drawn(page, "points", "importance", "slice")
        assert accessible(page) == []
        page.get_by_text("Add studies").click()
        page.get_by_label("second").check()
        page.get_by_role("button", name="Show").click()
        page.wait_for_url("**/compare?study=first&study=second&charts=points,importance,slice")
        with tab(browser, site) as other:
            other.goto(page.url)
            drawn(other, "points")
            found = {
                each["name"]: [one["value"] for one in each["data"]] for each in options(other, "points")["series"]
            }
            assert found == {
                "first": [[1, 9], [2, 7], [3, 8], [4, 3], [5, 6], [6, 5]],
                "second": [[1, 5], [2, 6], [3, 4]],
            }
            drawn(other, "slice", "importance")
            for chart in ("slice", "importance"):
                caption = re.compile(r"^1 study;.* not drawn: second\.$")
                expect(other.locator(f"#{chart}-caption")).to_contain_text(caption)
            expect(other.locator("#progress")).to_be_hidden()


@pytest.mark.long
def test_learning_curves_are_compared_across_studies_and_across_trials(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    for name, best in (("slow", 2.0), ("quick", 1.0)):
        reporting(api, name, best)
    with tab(browser, site) as page:
        page.goto("/compare?study=slow&study=quick&charts=curves")
        drawn(page, "curves")
        ends = {each["name"]: each["data"][-1] for each in options(page, "curves")["series"]}
        assert ends == {"slow": [3, pytest.approx(2 + 1 / 3)], "quick": [3, pytest.approx(1 + 1 / 3)]}
        page.locator("#curves-which").select_option("the last 100 trials")
        expect(page.locator("#curves-caption")).to_have_text("2 studies; 4 curves.")
        page.goto("/studies/slow")
        drawn(page, "curves")
        page.get_by_label("or trials").fill("2, 7")
        page.get_by_label("or trials").press("Enter")
        expect(page.locator("#curves-caption")).to_contain_text("Without reports: 7.")
        page.wait_for_url("**/studies/slow?curves-trials=2*")
        assert [each["name"] for each in options(page, "curves")["series"]] == ["trial 2"]
        assert options(page, "curves")["series"][0]["lineStyle"]["color"] == "#0072b2"


@pytest.mark.long
def test_20000_results_are_a_density_and_no_band(browser: Browser, large: str) -> None:
    """For normal values, the middle is dark and the edges are light; the few outliers are points."""
    with tab(browser, large) as page:
        page.goto("/studies/large")
        page.locator("#history").scroll_into_view_if_needed()
        page.locator("#history[data-state=shown]").wait_for()
        found = page.evaluate("fetch('/studies/large/density.json').then((answer) => answer.json())")
        cells = found["cells"]
        assert LARGE * 0.98 <= sum(cell[4] for cell in cells) <= LARGE - LARGE // EVERY
        middle = sum(cell[4] for cell in cells if 9.5 < cell[2] < 10.5)
        edge = sum(cell[4] for cell in cells if cell[2] < 8.5)
        assert middle > 4 * edge > 0
        series = {each["name"]: each for each in options(page, "history")["series"]}
        assert len(series["results, a stronger colour where there are more"]["data"]) == len(cells)
        drawn = [
            point["result"]["value"] for each in series.values() if each["type"] == "scatter" for point in each["data"]
        ]
        assert drawn
        assert not [value for value in drawn if found["low"] <= value <= found["high"]]
        assert drawn.count(FAR) == LARGE // EVERY
        expect(page.locator("#history-caption")).to_contain_text("areas of a stronger colour have more results")
        expect(page.locator("#history-expected")).to_be_disabled()
        page.locator("#parallel").scroll_into_view_if_needed()
        page.locator("#parallel[data-state=shown]").wait_for()
        expect(page.locator("#parallel-caption")).to_contain_text(re.compile(r"1.[45]\d\d of 20.000 results drawn"))
        lines = [each["value"][-1] for each in options(page, "parallel")["series"][0]["data"]]
        assert sum(9.5 < value < 10.5 for value in lines) > len(lines) / 4
        page.goto("/compare?study=large&charts=points")
        page.locator("#points").scroll_into_view_if_needed()
        page.locator("#points[data-state=shown]").wait_for()
        dense, dots = options(page, "points")["series"]
        assert len(dense["data"]) == len(cells)
        assert not [each for each in dots["data"] if found["low"] <= each["value"][1] <= found["high"]]


def test_compared_studies_follow_their_logs(browser: Browser, site: str, api: httpx.Client) -> None:
    """The first three; the page names the others. A study that cannot be read is read again."""
    names = [f"followed-{number}" for number in range(1, 6)]
    for name in names:
        created(api, name)
        checked(api.post(f"/v1/studies/{name}/observe", json={"parameters": {"x": 0.5}, "value": 5}))
    checked(api.patch(f"/v1/studies/{names[0]}", json={"budget": 1}))
    checked(api.post(f"/v1/studies/{names[0]}/suggest", json={}))
    checked(api.post(f"/v1/studies/{names[0]}/observe", json={"trial": 1, "value": 5}))  # which ends it
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto(f"/compare?{'&'.join(f'study={name}' for name in names)}")
        drawn(page, "progress")
        expect(page.locator("#unfollowed")).to_have_text(
            "These studies do not update by themselves: followed-5. Load the page again for them."
        )
        row = page.get_by_role("row", name=names[1])
        expect(row.get_by_role("cell").nth(2)).to_have_text("1")
        row.get_by_role("link").focus()
        page.route(f"**/studies/{names[1]}/progress.json", lambda route: route.fulfill(status=503), times=1)
        checked(api.post(f"/v1/studies/{names[1]}/observe", json={"parameters": {"x": 0.25}, "value": 4}))
        expect(row.get_by_role("cell").nth(2)).to_have_text("2")
        expect(row.get_by_role("link")).to_be_focused()
        wait_for(lambda: options(page, "progress")["series"][1]["data"][-1][:2] == [2, 4])


MODEL = re.compile(r"/(assessment|recommendation|importance|slice|validation|front|partition)\b")
"""The requests that a model answers."""


@pytest.mark.long
def test_results_are_listed_and_drawn_though_no_model_answers(browser: Browser, site: str, api: httpx.Client) -> None:
    """Rows, failures and progress wait for no model; charts of models show the first model that answers."""
    for name, best in (("slow-1", 2.0), ("slow-2", 3.0)):
        created(api, name)
        for number in range(10):
            value = best + (number - 4) ** 2
            checked(api.post(f"/v1/studies/{name}/observe", json={"parameters": {"x": number / 10}, "value": value}))
        checked(api.post(f"/v1/studies/{name}/observe", json={"parameters": {"x": 1}, "state": "failed"}))
    checked(api.post("/v1/studies/slow-1/observe", json={"parameters": {"x": 0.4}, "value": 4.0}))
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    def answer(study: str) -> None:
        for route in [each for each in held if f"/{study}/" in each.request.url]:
            held.remove(route)
            route.continue_()

    with tab(browser, site) as page:
        page.route(MODEL, hold)
        page.goto("/compare?study=slow-1&study=slow-2&charts=progress,slice")
        rows = page.locator("#compared tbody tr")
        expect(rows).to_have_count(2)
        for row, cells in ((0, ["11\n1 failed", "3, mean of 2"]), (1, ["10\n1 failed", "3"])):
            for place, cell in enumerate(cells, start=2):
                expect(rows.nth(row).get_by_role("cell").nth(place)).to_have_text(cell, use_inner_text=True)
        drawn(page, "progress")
        assert [each["name"] for each in options(page, "progress")["series"]] == ["slow-1", "slow-2"]
        wait_for(lambda: page.evaluate("performance.now()") and len(held) >= 2)
        page.locator("#slice").scroll_into_view_if_needed()

        def is_drawn(*studies: str, released: str = "slow-2") -> bool:
            answer(released)
            state = page.locator("#slice").get_attribute("data-state")
            return state == "shown" and options(page, "slice")["legend"][0]["data"] == list(studies)

        wait_for(lambda: is_drawn("slow-2"))
        assert any("/slow-1/" in each.request.url for each in held)
        wait_for(lambda: is_drawn("slow-1", "slow-2", released="slow-1"))


@pytest.mark.long
def test_a_study_is_listed_before_the_others_are_read(browser: Browser, site: str) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    with tab(browser, site) as page:
        page.route("**/studies/first/progress.json", hold)
        page.goto("/compare?study=first&study=second")
        rows = page.locator("#compared tbody tr")
        expect(rows.nth(1).get_by_role("cell").nth(3)).to_have_text("4")
        expect(rows.nth(0)).to_have_text("firstLoading …")
        page.locator("#progress[data-state=shown][aria-busy=true]").wait_for()
        expect(page.locator("#progress-caption")).to_contain_text("not loaded yet: first")
        held[0].continue_()
        expect(rows.nth(0).get_by_role("cell").nth(3)).to_have_text("3")
        expect(page.locator("#progress-caption")).to_have_text("2 studies.")


def test_the_printed_comparison_has_its_charts(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.add_init_script(PRINTS)
        page.goto("/compare?study=first&study=second")
        drawn(page, "progress")
        page.get_by_role("button", name="Print", exact=True).click()
        wait_for(lambda: page.evaluate("window.printed"))
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print")
        page.set_viewport_size({"width": 703, "height": 1031})
        sheet = page.locator("#progress .sheet")
        expect(sheet).to_be_visible()
        assert sheet.locator("svg text").count()
        table = page.get_by_role("region", name="Compared studies")
        assert table.evaluate("(box) => box.firstElementChild.offsetWidth <= box.clientWidth"), "it fits on paper"
        expect(page.get_by_role("button", name="Show")).to_be_hidden()


@pytest.mark.long
def test_the_notice_names_exactly_the_studies_that_do_not_update(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    names = [f"notice-{number}" for number in range(1, 6)]
    for name in names:
        created(api, name)
        checked(api.post(f"/v1/studies/{name}/observe", json={"parameters": {"x": 0.5}, "value": 5}))
    query = "&".join(f"study={name}" for name in names)
    with tab(browser, site, size=PHONE) as page:
        page.goto(f"/compare?{query.rsplit('&', 2)[0]}")
        notice, rows = page.locator("#unfollowed"), page.locator("#compared tbody tr")
        drawn(page, "progress")
        expect(rows).to_have_count(3)
        expect(page.locator("#chooser input")).not_to_have_count(0)  # the page is complete
        assert notice.is_hidden()
        page.goto(f"/compare?{query}")
        expect(notice).to_have_text(
            "These studies do not update by themselves: notice-4, notice-5. Load the page again for them."
        )
        notice.scroll_into_view_if_needed()
        expect(notice).to_be_in_viewport(ratio=1)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert accessible(page) == []
        for name in reversed(names):
            checked(api.post(f"/v1/studies/{name}/observe", json={"parameters": {"x": 0.25}, "value": 4}))
        counts = page.locator("#compared tbody tr > :nth-child(4)")
        expect(counts).to_have_text(["2", "2", "2", "1", "1"])
        page.reload()
        expect(counts).to_have_text(["2"] * 5)


def test_a_model_that_has_failed_is_not_asked_again_at_once(browser: Browser, site: str) -> None:
    """The chart shows the other study, and is complete."""
    held: list[Route] = []
    asked: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) == 1:
            held.append(route)
        else:
            route.fulfill(status=503)

    with tab(browser, site, refused=REFUSALS) as page:
        page.route("**/studies/second/importance*", refuse)
        page.goto("/compare?study=first&study=second&charts=importance")
        page.locator("#importance[data-state=shown][aria-busy=true]").wait_for()
        wait_for(lambda: page.evaluate("performance.now()") and held)
        held[0].fulfill(status=503)
        drawn(page, "importance")
        expect(page.locator("#importance-caption")).to_have_text("1 study; not drawn: second.")
        page.wait_for_timeout(500)  # for further requests
        assert len(asked) == 1


def observe_goals(api: httpx.Client, name: str, y: float, purity: float) -> None:
    """Add a result to a study of yield and purity, which is created first if it has no result yet."""
    goals = [{"metric": metric, "direction": "maximize", "reference": 0} for metric in ("y", "purity")]
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    if api.get(f"/v1/studies/{name}").status_code == httpx.codes.NOT_FOUND:
        checked(api.post("/v1/studies", json={"id": name, "objectives": goals, "parameters": parameters}))
    told = {"parameters": {"x": y / 100}, "metrics": {"y": y, "purity": purity}}
    checked(api.post(f"/v1/studies/{name}/observe", json=told))


def test_late_answers_of_a_model_do_not_replace_newer_ones(browser: Browser, site: str, api: httpx.Client) -> None:
    """The model is asked when the page is loaded, and again after a new result, while the first answer is due."""
    observe_goals(api, "late", 40, 90)
    held: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if held:
            route.continue_()
        else:
            held.append((route, route.fetch()))

    with tab(browser, site) as page:
        page.route("**/studies/late/front*", hold)
        page.goto("/compare?study=late&charts=progress")
        row = page.get_by_role("row", name="late")
        wait_for(lambda: page.evaluate("performance.now()") and held)
        observe_goals(api, "late", 80, 70)
        expect(row).to_contain_text("2 best compromises")
        route, answer = held[0]
        with page.expect_response("**/studies/late/front*"):
            route.fulfill(response=answer)
        page.wait_for_timeout(500)  # for the page to use the answer
        expect(row).to_contain_text("2 best compromises", timeout=1000)


@pytest.mark.long
def test_best_compromises_stay_when_the_model_does_not_answer(browser: Browser, site: str, api: httpx.Client) -> None:
    observe_goals(api, "unanswered", 40, 90)
    observe_goals(api, "unanswered", 80, 70)
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/compare?study=unanswered")
        row = page.get_by_role("row", name="unanswered")
        expect(row).to_contain_text("2 best compromises")
        page.route("**/studies/unanswered/front*", lambda route: route.fulfill(status=503))
        with page.expect_response("**/studies/unanswered/front*"):
            observe_goals(api, "unanswered", 30, 60)
        observe_goals(api, "unanswered", 20, 50)
        expect(row.get_by_role("cell").nth(2)).to_have_text("4")
        expect(row).to_contain_text("2 best compromises", timeout=1000)


def test_choices_of_the_address_wait_for_no_study(browser: Browser, site: str) -> None:
    """They are applied once: what a person chooses meanwhile stays, and the address names it."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    with tab(browser, site) as page:
        page.route("**/studies/second/progress.json", hold)
        page.goto("/compare?study=first&study=second&progress-log=1&progress-across=share")
        page.locator("#progress[data-state=shown][aria-busy=true]").wait_for()
        assert options(page, "progress")["yAxis"][0]["type"] == "log"
        page.locator("#progress").get_by_label("log scale").uncheck()
        held[0].continue_()
        expect(page.locator("#progress-caption")).to_have_text("2 studies.")
        page.wait_for_url("**/compare?study=first&study=second&progress-across=share")
        expect(page.locator("#progress").get_by_label("log scale")).not_to_be_checked()
        assert options(page, "progress")["yAxis"][0]["type"] == "value"
