"""The charts of a study in a real Chromium: their content, and how they are saved."""

from __future__ import annotations

import math
import re
from codecs import BOM_UTF8
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from adabkb_service import page
from tests.acceptance.page.studies import HOSTILE, checked, tuned
from tests.acceptance.page.tabs import REFUSALS, accessible, drawn, save, tab
from tests.waiting import wait_for

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def digits(api: httpx.Client) -> None:
    """A study with many results."""
    tuned(api)


@pytest.mark.long
def test_what_constraints_and_conditions_leave_out_is_shown(browser: Browser, site: str, api: httpx.Client) -> None:
    """Points that constraints exclude are hatched, and two parameters that are never active together cause no error."""
    both = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("a", "b")]
    made_of = {"name": "kind", "kind": "categorical", "choices": ["oil", "water"]}
    fat = {"name": "fat", "kind": "float", "low": 0, "high": 1, "when": {"kind": ["oil"]}}
    salt = {"name": "salt", "kind": "float", "low": 1, "high": 1000, "scale": "log", "when": {"kind": ["water"]}}
    evaluated(api, 9, id="forbidden", parameters=both, constraints=["a + b <= 1"])
    prior = {"a": {"around": 0.2, "width": 0.1}}
    evaluated(api, 15, id="left-out", parameters=[made_of, *both, fat, salt], prior=prior)
    asked = {"parameter": ["a", "b"]}
    columns, rows = (axis["values"] for axis in checked(api.get("/v1/studies/forbidden/slice", params=asked))["axes"])
    forbidden = api.get("/studies/forbidden/forbidden.json", params=asked).json()
    assert forbidden == [a + b > 1 for a in columns for b in rows]
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/studies/forbidden")
        drawn(page, "contour")
        expect(page.locator("#contour-caption")).to_contain_text("Hatched: excluded by the constraints.")
        page.goto("/studies/left-out")
        drawn(page, "slices", "partition", "contour")
        page.locator("#contour-x").select_option("fat")
        page.locator("#contour-y").select_option("salt")
        expect(page.locator("#contour")).to_have_attribute("data-state", "empty")
        expect(page.locator("#contour-caption")).to_contain_text("are never active together")
        shown = page.locator("#definition")
        expect(shown.get_by_role("row", name="salt")).to_contain_text("1 to 1\u202f000, log scale")
        expect(shown.get_by_role("row", name="salt")).to_contain_text("kind is water")
        expect(shown.get_by_role("row", name="a number")).to_contain_text("0.2, ± 0.1")


def evaluated(api: httpx.Client, results: int, **definition: Any) -> None:
    """A study with some results."""
    checked(api.post("/v1/studies", json={"direction": "minimize", "seed": 1, **definition}))
    address = f"/v1/studies/{definition['id']}"
    for _ in range(results):
        (trial,) = checked(api.post(f"{address}/suggest", json={}))["trials"]
        checked(api.post(f"{address}/observe", json={"trial": trial["number"], "value": trial["parameters"]["a"]}))


@pytest.mark.long
@pytest.mark.usefixtures("digits")
def test_what_a_busy_server_puts_off_is_asked_for_again(browser: Browser, site: str) -> None:
    """Also for a study that does not change: 503 with Retry-After is not a failure of a chart."""
    requests: list[int] = []

    def busy(route: Route) -> None:
        requests.append(len(requests))
        if len(requests) == 1:
            route.fulfill(status=503, headers={"Retry-After": "0"}, body="")
        else:
            route.continue_()

    with tab(browser, site, refused=REFUSALS) as page:
        page.route("**/importance", busy)
        page.goto("/studies/digits")
        drawn(page, "importance")
    assert len(requests) >= 2


@pytest.mark.long
def test_curves_are_drawn_of_trials_that_report(browser: Browser, site: str, api: httpx.Client) -> None:
    """The server thins the chart; a stopped trial shows its estimate."""
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    rule = {"rule": "patience", "no_gain_for": 5, "max_steps": 900}
    definition = {"id": "epochs", "direction": "minimize", "parameters": parameters, "early_stopping": rule}
    checked(api.post("/v1/studies", json=definition))
    for number, stalls in enumerate((900, 40), start=1):
        checked(api.post("/v1/studies/epochs/suggest", json={}))
        reports = [{"step": step, "value": 1 / min(step, stalls)} for step in range(1, min(stalls + 9, 900))]
        reported = api.post(f"/v1/studies/epochs/trials/{number}/reports", json={"reports": reports})
        assert checked(reported)["stop"] == (stalls == 40)
    with tab(browser, site) as page:
        page.goto("/studies/epochs")
        drawn(page, "curves")
        expect(page.locator("#curves .caption")).to_have_text(
            "2 trials, 1 of them stopped early; the longest reached step 899."
        )
        curves = page.evaluate("fetch('/studies/epochs/curves.json').then((answer) => answer.json())")
        assert [len(each["points"]) for each in curves] == [101, 48]
        assert [each["points"][-1][0] for each in curves] == [899, 48]
        page.locator("#curves").get_by_label("log scale").check()
        page.goto("/studies/epochs/trials/2")
        expect(page.locator("main")).to_contain_text("48 values, the last at step 48: 0.025")


@pytest.mark.long
@pytest.mark.usefixtures("digits")
def test_the_partition_is_replayed_and_charts_are_saved(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/studies/digits")
        drawn(page, "partition", "history", "gap")
        now = page.locator("#partition .caption").inner_text()
        assert re.match(r"\d+ of \d+ possible parts are in this plane", now)
        present = page.evaluate("fetch('/v1/studies/digits/partition').then((answer) => answer.json())")["items"]
        past = page.evaluate("fetch('/studies/digits/past.json?results=12').then((answer) => answer.json())")
        assert [each["key"] for each in past] == [each["key"] for each in present]
        assert not any(then["mean"] == now["mean"] for then, now in zip(past, present, strict=True))
        page.get_by_label("after result").fill("12")
        expect(page.locator("#partition .caption")).to_contain_text("replay: as of the first 12 results, learned from")
        boxes = page.evaluate("echarts.getInstanceByDom(document.querySelector('#partition .plot')).getOption()")[
            "series"
        ][0]["data"]
        assert boxes
        assert {box[4] for box in boxes} <= {each["mean"] for each in past}, "the colours of then"
        for colour in ("index", "std", "depth"):
            page.locator("#partition-colour").select_option(colour)
        expect(page.locator("#partition")).to_have_attribute("data-state", "shown")
        saved = save(page, "history", "csv")
        assert saved.read_bytes().startswith(BOM_UTF8), "Excel would not read it as UTF-8"
        table = saved.read_text("utf-8-sig").splitlines()
        assert table[0].startswith("result,trial,value,std_error")
        assert len(table) == 24
        _, _, gap = save(page, "gap", "csv").read_text().splitlines()[-1].split(",")
        assert 0 <= float(gap) < math.inf


@pytest.mark.long
@pytest.mark.usefixtures("digits")
def test_the_charts_that_a_person_chooses_are_in_the_address_of_the_study_and_of_its_report(
    browser: Browser, site: str
) -> None:
    with tab(browser, site) as page:
        page.goto("/studies/digits")
        drawn(page, "history", "partition")
        page.get_by_text("Choose charts").click()
        charts = page.get_by_role("group", name="Charts", exact=True)
        for box in charts.get_by_role("checkbox").all():
            box.uncheck()
        expect(page.locator("#partition")).to_be_hidden()
        for name in ("Two parameters", "Two other parameters"):
            charts.get_by_label(name, exact=True).check()
        page.locator("#contour-2-x").select_option("activation")
        page.locator("#contour-2-colour").select_option("uncertainty")
        page.wait_for_url("**/studies/digits?charts=contour,contour-2&contour-2-x=activation&contour-2-colour=std")
        drawn(page, "contour", "contour-2")
        page.get_by_role("navigation", name="Parts of this page").get_by_role("link", name="Report").click()
        page.locator("#study:not([aria-busy])").wait_for()
        assert page.locator("figure.chart:visible").evaluate_all("(all) => all.map((each) => each.id)") == [
            "contour",
            "contour-2",
        ]
        expect(page.locator("#contour-2-x")).to_have_value("activation")
        expect(page.locator("#contour-2")).to_have_attribute("data-state", "shown")
        page.get_by_text("Choose charts").click()
        page.get_by_role("group", name="Charts", exact=True).get_by_label("Which parameters matter").check()
        expect(page.locator("#importance")).to_have_attribute("data-state", "shown")


@pytest.mark.long
def test_combinations_that_constraints_exclude_are_not_among_the_untried_ones(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """Also if the constraints depend on further parameters; a result that was stored earlier is still counted."""
    parameters = [
        {"name": "ligand", "kind": "categorical", "choices": ["XPhos", "PPh3"]},
        {"name": "heat", "kind": "float", "low": 20, "high": 120},
        {"name": "base", "kind": "categorical", "choices": ["K3PO4", "none"]},
    ]
    constraints = ["not (ligand == 'PPh3' and heat > 80)", "not (base == 'none' and heat < 60)"]
    definition = {"id": "limited", "direction": "maximize", "parameters": parameters, "constraints": constraints}
    checked(api.post("/v1/studies", json=definition))
    told = {"parameters": {"ligand": "XPhos", "heat": 90, "base": "none"}, "value": 10}
    checked(api.post("/v1/studies/limited/observe", json=told))
    with tab(browser, site) as page:
        page.goto("/studies/limited?charts=coverage")
        drawn(page, "coverage")
        said = page.locator("#coverage-caption")
        expect(said).to_contain_text("1 of 8 possible combinations were tried")
        expect(said).to_contain_text("–: excluded by the constraints")
        page.locator("#coverage .plot").focus()
        heard = []
        for _ in range(10):
            page.keyboard.press("ArrowRight")
            heard.append((page.locator("#coverage [role=status]").text_content() or "").split("\n"))
        words = "excluded by the constraints"
        assert [each[1:] for each in heard if each[2] == words] == [
            ["heat: 80 to 100", words],
            ["heat: 100 to 120", words],
        ]
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.locator("#coverage-x").select_option("base")
        header = "base,heat,results,failed,excluded,best"
        wait_for(lambda: save(page, "coverage", "csv").read_text("utf-8-sig").splitlines()[0] == header)  # is it drawn?
        expect(said).to_contain_text("1 of 8 possible combinations were tried")
        table = save(page, "coverage", "csv").read_text("utf-8-sig").splitlines()
        assert [line.split(",")[1] for line in table if ",true," in line] == ["20 to 40", "40 to 60"]


def test_a_chart_is_saved_from_one_menu_also_by_the_keyboard(browser: Browser, site: str, api: httpx.Client) -> None:
    definition = {
        "id": "saved",
        "direction": "maximize",
        "parameters": [{"name": "x", "kind": "int", "low": 1, "high": 3}],
    }
    checked(api.post("/v1/studies", json=definition))
    checked(api.post("/v1/studies/saved/observe", json={"parameters": {"x": 1}, "value": 1}))
    with tab(browser, site) as page:
        page.goto("/studies/saved?charts=history")
        drawn(page, "history")
        menu, entry = page.locator("#history summary"), page.get_by_role("button", name="CSV table")
        menu.focus()
        page.keyboard.press("Enter")
        expect(entry).to_be_visible()
        assert not accessible(page)
        page.keyboard.press("Escape")
        expect(entry).not_to_be_visible()
        expect(menu).to_be_focused()
        menu.click()
        page.get_by_role("heading", name="saved").click()
        expect(entry).not_to_be_visible()
        assert save(page, "history", "csv").read_text("utf-8-sig").startswith("result,")
        expect(entry).not_to_be_visible()


def test_what_was_never_tried_is_shown_and_can_be_asked_for(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [
        {"name": "ligand", "kind": "categorical", "choices": ["XPhos", "PPh3"]},
        {"name": "heat", "kind": "int", "low": 1, "high": 3},
    ]
    checked(api.post("/v1/studies", json={"id": "covered", "direction": "maximize", "parameters": parameters}))
    for ligand, heat, value in (("XPhos", 1, 10), ("XPhos", 1, 30), ("PPh3", 3, 20)):
        told = {"parameters": {"ligand": ligand, "heat": heat}, "value": value}
        checked(api.post("/v1/studies/covered/observe", json=told))
    checked(api.post("/v1/studies/covered/trials", json={"parameters": {"ligand": "PPh3", "heat": 1}}))
    checked(api.post("/v1/studies/covered/observe", json={"trial": 1, "state": "failed"}))
    with tab(browser, site) as page:
        page.goto("/studies/covered?charts=coverage")
        drawn(page, "coverage")
        expect(page.locator("#coverage-caption")).to_contain_text("3 of 6 combinations were tried")
        plot = page.locator("#coverage .plot")
        plot.focus()
        heard = []
        for _ in range(6):
            page.keyboard.press("ArrowRight")
            heard.append(page.locator("#coverage [role=status]").text_content() or "")
        assert heard[0] == "ligand: XPhos\nheat: 1\n2 results\nbest 30"
        said = [text.split("\n")[2] for text in heard]
        assert said == ["2 results", "never tried", "never tried", "no result", "never tried", "1 result"]
        assert heard[3].endswith("1 failed trial")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("ligand")).to_have_value('"PPh3"')
        expect(dialog.get_by_label("heat")).to_have_value("2")
        dialog.get_by_role("button", name="Get the next trial").click()
        page.wait_for_url("**/trials/2")
    assert checked(api.get("/v1/studies/covered/trials/2"))["parameters"] == {"ligand": "PPh3", "heat": 2}


@pytest.mark.long
@pytest.mark.usefixtures("digits")
def test_a_chart_is_walked_through_by_the_keyboard(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/studies/digits?charts=history")
        expect(page.locator("#timeline .plot")).to_have_attribute("tabindex", "0")  # it is not drawn yet
        drawn(page, "history")
        page.locator("#history .plot").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        spoken = page.locator("#history [role=status]")
        second = re.match(r"trial (\d+)", spoken.inner_text())
        assert second
        page.keyboard.press("ArrowDown")
        expect(spoken).not_to_have_text(second.string)
        page.keyboard.press("ArrowUp")
        expect(spoken).to_have_text(second.string)
        assert accessible(page) == []
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/trials/{second[1]}")


@pytest.mark.long
def test_every_chart_is_saved_as_xml(browser: Browser, site: str, api: httpx.Client) -> None:
    """Also with names that contain markup and quotation marks."""
    template = (Path(page.__file__).parent / "templates" / "_charts.html").read_text()
    charts = [*re.findall(r'ui\.chart\("(\w+)"', template), "contour"]
    with_curves(api, HOSTILE)
    with_objectives(api, HOSTILE)
    saved = {}
    with tab(browser, site) as opened:
        for study in ("curved", "weighed"):
            opened.goto(f"/studies/{study}")
            for name in charts:
                if name not in saved and opened.locator(f"#{name}").count():
                    drawn(opened, name)
                    saved[name] = ElementTree.parse(save(opened, name, "svg"))
    assert sorted(saved) == sorted(charts)
    for name, drawing in saved.items():
        assert drawing.getroot().tag == f"{SVG}svg", name
        assert [each.text for each in drawing.iter(f"{SVG}text")], name
    assert any(HOSTILE in (each.text or "") for each in saved["front"].iter(f"{SVG}text"))


def with_curves(api: httpx.Client, odd: str) -> None:
    """A study whose trials report before their end."""
    parameters = [
        {"name": odd, "kind": "float", "low": 0, "high": 1},
        {"name": "b" + odd, "kind": "categorical", "choices": [odd, "plain"]},
    ]
    rule = {"rule": "patience", "no_gain_for": 5, "max_steps": 9}
    shared = {"direction": "minimize", "parameters": parameters, "early_stopping": rule, "seed": 1}
    checked(api.post("/v1/studies", json={"id": "curved", **shared}))
    for number in range(1, 16):  # enough for a gap
        (trial,) = checked(api.post("/v1/studies/curved/suggest", json={"worker": odd}))["trials"]
        value = (trial["parameters"][odd] - 0.4) ** 2
        reports = {"reports": [{"step": step, "value": value + 1 / step} for step in (1, 2, 3)]}
        checked(api.post(f"/v1/studies/curved/trials/{number}/reports", json=reports))
        checked(api.post("/v1/studies/curved/observe", json={"trial": number, "value": value}))


def with_objectives(api: httpx.Client, odd: str) -> None:
    """A study with two objectives."""
    objectives = [{"metric": odd, "direction": "minimize"}, {"metric": "speed", "direction": "maximize"}]
    parameters = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("x", "y")]
    checked(api.post("/v1/studies", json={"id": "weighed", "objectives": objectives, "parameters": parameters}))
    for number in range(1, 6):
        checked(api.post("/v1/studies/weighed/suggest", json={"worker": odd}))
        told = {"trial": number, "metrics": {odd: number, "speed": number}}
        checked(api.post("/v1/studies/weighed/observe", json=told))


def test_several_objectives_have_a_front_and_charts_of_each(browser: Browser, site: str, api: httpx.Client) -> None:
    objectives = [{"metric": "error", "direction": "minimize"}, {"metric": "speed", "direction": "maximize"}]
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    checked(
        api.post("/v1/studies", json={"id": "traded", "objectives": objectives, "parameters": parameters, "seed": 1})
    )
    for _ in range(6):  # so many that the model has importances
        (trial,) = checked(api.post("/v1/studies/traded/suggest", json={}))["trials"]
        x = trial["parameters"]["x"]
        told = {"trial": trial["number"], "metrics": {"error": x * x, "speed": 2 * x}}
        checked(api.post("/v1/studies/traded/observe", json=told))
    checked(api.post("/v1/studies/traded/suggest", json={}))
    with tab(browser, site) as page:
        page.goto("/studies/traded")
        drawn(page, "front", "volume", "history", "importance", "parallel", "slices", "partition")
        expect(page.locator("#front-caption")).to_contain_text("of 6 results are best compromises")
        front = checked(api.get("/v1/studies/traded/front"))["observed"]
        rows = page.locator("#compromises tbody tr")
        expect(rows).to_have_count(len(front))
        smallest = min(front, key=lambda each: each["metrics"]["error"])
        expect(rows.first.get_by_role("link")).to_have_text(str(smallest["trial"]))
        expect(page.locator("#compromises thead")).to_contain_text("errorspeedx")
        errors = [float(text) for text in page.locator("#compromises tbody td:nth-child(2)").all_inner_texts()]
        assert errors == sorted(errors)
        expect(page.locator("#compromises-summary")).to_contain_text("6 error ")
        expect(page.locator("#open-now + ul li")).to_have_count(1)
        axes = page.evaluate("echarts.getInstanceByDom(document.querySelector('#front .plot')).getOption()")["yAxis"]
        assert axes[0]["nameTextStyle"]["align"] == "left", "the title of the axis is not cut at the edge"
        page.get_by_label("The charts show").select_option("speed")
        expect(page.locator("#history-caption")).to_contain_text("the best is")
        page.goto("/studies/traded/trials/7")
        page.get_by_label("error", exact=True).fill("0,5")
        page.get_by_label("speed", exact=True).fill("7")
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_role("article")).to_contain_text("error0.5speed7")
        page.goto("/studies/traded")
        expect(page.locator("#feed li").first).to_contain_text("Trial 7 gave error 0.5, speed 7")
        expect(page.locator("#rows tbody tr").first).to_contain_text("0.5")
        page.goto("/")
        expect(page.get_by_role("row", name="traded")).to_contain_text("2 objectives")


@pytest.mark.long
def test_labels_of_several_objectives_are_used_everywhere(browser: Browser, site: str, api: httpx.Client) -> None:
    objectives = [{"metric": "yld", "direction": "maximize"}, {"metric": "prc", "direction": "minimize"}]
    quantities = {"yld": {"label": "Yield", "unit": "%", "digits": 1}, "prc": {"label": "Price", "unit": "€"}}
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1, "label": "Share"}]
    body = {"id": "labels", "objectives": objectives, "quantities": quantities, "parameters": parameters, "seed": 1}
    checked(api.post("/v1/studies", json=body))
    for _ in range(8):
        (trial,) = checked(api.post("/v1/studies/labels/suggest", json={}))["trials"]
        x = trial["parameters"]["x"]
        told = {"trial": trial["number"], "metrics": {"yld": 50 + 30 * x, "prc": 4 + x * x}}
        checked(api.post("/v1/studies/labels/observe", json=told))
    (trial,) = checked(api.post("/v1/studies/labels/suggest", json={}))["trials"]
    raw = re.compile(r"\b(yld|prc)\b")
    with tab(browser, site) as page:
        page.goto("/studies/labels?charts=history,front,volume,importance")
        drawn(page, "history", "front", "volume")
        for chosen in ("front-x", "front-y", "shown-metric"):
            expect(page.locator(f"#{chosen} option")).to_have_text(["Yield [%]", "Price [€]"])
        expect(page.locator("#best")).to_contain_text("Sorted by Yield.")
        expect(page.locator("#volume-caption")).to_contain_text(re.compile(r"Yield \d+\.\d\s%"))
        page.locator("#front .plot").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#front [role=status]")).to_contain_text("Yield ")
        drawn(page, "importance")
        page.locator("#importance .plot").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#importance [role=status]")).to_contain_text("(90%: ")
        page.locator("#rows tbody button").first.click()
        expect(page.get_by_label("Standard error of Yield").first).to_be_visible()
        for part in ("figures", "best", "results", "table"):
            assert not raw.search(page.locator(f"#{part}").inner_text()), part
        page.goto(f"/studies/labels/trials/{trial['number']}")
        expect(page.locator("#trial")).to_contain_text("Standard errors of Yield, Price, if known")
        expect(page.locator("#why")).to_contain_text("Yield")
        assert not raw.search(page.locator("#trial").inner_text())


def option_of(page: Page, chart: str) -> dict[str, Any]:
    """The option of a drawn chart."""
    found: dict[str, Any] = page.evaluate(
        "(chart) => echarts.getInstanceByDom(document.querySelector(`#${chart} .plot`)).getOption()", chart
    )
    return found


def bounded_and_conditional(api: httpx.Client) -> None:
    """A study with a bound, a failed trial, results of a user's own points, and a parameter that only one choice uses.
    There are enough results to rely on the model."""
    parameters = [
        {"name": "optimizer", "kind": "categorical", "choices": ["sgd", "adam"]},
        {"name": "lr", "kind": "float", "low": 1e-5, "high": 0.1, "scale": "log"},
        {"name": "momentum", "kind": "float", "low": 0, "high": 1, "when": {"optimizer": ["sgd"]}},
    ]
    definition = {"id": "net", "direction": "minimize", "parameters": parameters, "seed": 1}
    bounds = [{"metric": "ms", "upper": 20}]
    checked(api.post("/v1/studies", json={**definition, "outcome_constraints": bounds}))

    for number in (1, 2):
        checked(api.post("/v1/studies/net/suggest", json={}))
        told = {"value": 5, "metrics": {"ms": 10}} if number == 1 else {"state": "failed"}
        checked(api.post("/v1/studies/net/observe", json={"trial": number, **told}))
    own = [("adam", 0.001, 0.2, 10), ("adam", 0.0001, 0.1, 50), ("adam", 0.01, 0.3, 5), ("adam", 0.002, 0.15, 30)]
    own += [("adam", 0.1, 0.6, 10), ("adam", 0.03, 0.45, 10), ("adam", 0.003, 0.25, 10)]
    own += [("adam", 0.0003, 0.22, 10), ("adam", 0.00003, 0.4, 10), ("adam", 0.00001, 0.5, 10)]
    for choice, rate, value, ms in own:
        measured = {"parameters": {"optimizer": choice, "lr": rate}, "value": value, "metrics": {"ms": ms}}
        checked(api.post("/v1/studies/net/observe", json=measured))
    checked(api.post("/v1/studies/net/suggest", json={}))
    checked(api.post("/v1/studies/net/observe", json={"trial": 3, "value": 4, "metrics": {"ms": 10}}))


@pytest.mark.long
def test_charts_of_a_study_with_a_bound_and_a_condition(browser: Browser, site: str, api: httpx.Client) -> None:
    """Results that violate the bound are not among the best; a parameter that is not used has no value; failed trials
    have no result; trials keep their numbers; slices pass through the point that the caption names."""
    bounded_and_conditional(api)
    with tab(browser, site) as page:
        page.goto("/studies/net?charts=history,parallel,slices")
        drawn(page, "parallel", "history", "slices")
        lines, beyond, contradicted = option_of(page, "parallel")["series"]
        assert contradicted["data"] == []
        assert [each["value"][-1] for each in beyond["data"]] == [0.1, 0.15]
        assert {each["value"][-1] for each in lines["data"] if "lineStyle" in each} == {0.2, 0.22, 0.25, 0.3, 0.4}
        assert all(each["value"][2] < 0 for each in beyond["data"]), "momentum is below its axis"
        page.locator("#parallel-of").select_option(label="Result")
        values = sorted(each["value"][-1] for each in [*lines["data"], *beyond["data"]])
        page.locator("#parallel-to").fill(str(values[0]))
        page.keyboard.press("Enter")
        expect(page.locator("#parallel-caption")).to_contain_text("1 result across")
        page.locator("#parallel-to").fill("1,234")
        page.keyboard.press("Enter")
        expect(page.locator("#parallel")).to_contain_text("write 1234 or 1.234.")
        expect(page.locator("#parallel-to")).to_have_attribute("aria-invalid", "true")
        page.locator("#parallel-to").fill("")
        page.keyboard.press("Enter")
        expect(page.locator("#parallel-to")).not_to_have_attribute("aria-invalid", "true")
        said = page.locator("#parallel-caption")
        expect(said).to_contain_text("2 results beyond a bound, 2 of them better than the best of the others")
        option = option_of(page, "history")
        by_name = {each["name"]: each for each in option["series"] if "name" in each}
        (failure,) = by_name["failed trial, below the axis"]["data"]
        assert failure["value"][0] == 2
        assert [x for x, _ in by_name["best so far"]["data"]] == [1, 3, 13], (
            "ten own results are between trials 2 and 3"
        )
        assert option["xAxis"][0]["name"] == "trial (results without a trial have no number)"
        expect(page.locator("#history-caption")).to_contain_text(
            "1 failed trial below the axis; the best is 0.2, own result R2"
        )
        best = checked(api.get("/v1/studies/net/recommendation"))["model"]["parameters"]
        assert best["optimizer"] == "adam"
        expect(page.locator("#slices-caption")).to_contain_text("pass through, optimizer adam")
        slices = option_of(page, "slices")
        crossed = {
            axis["name"]: slices["series"][2 * i + 1]["markLine"]["data"] for i, axis in enumerate(slices["xAxis"])
        }
        assert crossed["momentum, for optimizer sgd"] == []
        assert len(crossed["optimizer"]) == len(crossed["lr (log)"]) == 1
