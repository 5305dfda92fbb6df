"""What a person sees at a glance in a real Chromium: no word is cut or broken, nothing is wider than the screen, and
nothing moves below a finger."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import DESKTOP, PHONE, accessible, tab
from tests.samples import some
from tests.servers import server_on

SHEET = {"width": 703, "height": 1032}
"""A sheet A4 without its margins of 12 mm, in pixels."""
BROKEN = """selector => [...document.querySelectorAll(selector)].flatMap((element) => {
  const found = [], texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (texts.nextNode())
    for (const word of texts.currentNode.data.matchAll(/(?<![^\\s-])[^\\s-]{2,24}(?![^\\s-])/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, word.index);
      range.setEnd(texts.currentNode, word.index + word[0].length);
      if (new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1) found.push(word[0]);
    }
  return found;
})"""
"""The words of up to 24 letters that stand in two lines."""
CUT = """chart => {
  const svg = document.querySelector(`#${chart} .plot svg`), box = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((text) => {
    const { left, right, top, bottom } = text.getBoundingClientRect();
    return left < box.left - 1 || right > box.right + 1 || top < box.top - 1 || bottom > box.bottom + 1;
  }).map((text) => text.textContent);
}"""
"""The texts of a chart in a report that end outside of it."""
SOLVENT = "2-methyltetrahydrofuran"
HEAT, LAYLA = "حرارة", "ليلى"
"""A parameter and a worker, in Arabic."""
ORDER = """([element, first, second]) => {
  const at = (text) => {
    const walker = document.createTreeWalker(document.querySelector(element), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const start = walker.currentNode.data.indexOf(text);
      if (start < 0) continue;
      const range = document.createRange();
      range.setStart(walker.currentNode, start);
      range.setEnd(walker.currentNode, start + text.length);
      return range.getBoundingClientRect();
    }
  };
  return at(first).right <= at(second).left + 1;
}"""
"""Whether a text is to the left of another one in an element."""
COUPLING: list[dict[str, Any]] = [
    {"name": "solvent", "kind": "categorical", "choices": ["THF", "toluene", SOLVENT]},
    {"name": "temperature", "kind": "float", "low": 20, "high": 120, "unit": "°C"},
    {"name": "equivalents", "kind": "float", "low": 1, "high": 3},
    {"name": "catalyst", "kind": "float", "low": 0.01, "high": 10, "scale": "log", "unit": "mol%"},
    {"name": "stirring", "kind": "int", "low": 200, "high": 1200, "unit": "rpm"},
    {"name": "inert", "kind": "bool"},
]


@pytest.fixture(scope="module")
def site(database: str) -> Iterator[str]:
    """A server with four studies."""
    with server_on(database) as address:
        with httpx.Client(base_url=address, timeout=60) as api:
            coupling(api)
            forest(api)
            long(api)
            rtl(api)
        yield address


def coupling(api: httpx.Client) -> None:
    """A study of a laboratory with labels and units, ten results and a running trial."""
    yields = {"value": {"label": "Yield", "unit": "%"}}
    definition = {"id": "coupling", "direction": "maximize", "parameters": COUPLING, "quantities": yields, "seed": 1}
    checked(api.post("/v1/studies", json={**definition, "budget": 30}))
    for _ in range(10):
        trial, point = asked(api, "coupling", "robot-2")
        value = round(80 - abs(point["temperature"] - 80) / 4 + 5 * (point["solvent"] == SOLVENT), 1)
        checked(api.post("/v1/studies/coupling/observe", json={"trial": trial, "value": value}))
    asked(api, "coupling", "robot-2")


def forest(api: httpx.Client) -> None:
    """A study of whole numbers and a learning rate over several powers of ten."""
    parameters = [
        {"name": "trees", "kind": "int", "low": 1, "high": 200, "scale": "log"},
        {"name": "depth", "kind": "int", "low": 1, "high": 20},
        {"name": "rate", "kind": "float", "low": 1e-5, "high": 0.1, "scale": "log"},
    ]
    definition = {"id": "forest", "direction": "minimize", "parameters": parameters, "seed": 1}
    checked(api.post("/v1/studies", json=definition))
    for _ in range(14):
        trial, point = asked(api, "forest", "gpu")
        value = abs(point["depth"] - 9) / 20 + abs(math.log10(point["rate"]) + 3) / 9
        checked(api.post("/v1/studies/forest/observe", json={"trial": trial, "value": value}))


def long(api: httpx.Client) -> None:
    """A study of twenty parameters with long names and a long unit."""
    parameters = [
        {"name": f"very_long_parameter_name_number_{i}_of_the_process", "kind": "float", "low": 0, "high": 10**i}
        | ({"unit": "µmol·L⁻¹·s⁻¹"} if i % 2 else {})
        for i in range(1, 20)
    ]
    choices = {"name": "additive", "kind": "categorical", "choices": ["a" * 60, "b" * 60]}
    quantities = {"value": {"label": "Signal", "unit": "ppm of area at 254 nm"}}
    definition = {"id": "long", "direction": "maximize", "quantities": quantities, "seed": 1, "title": "Long " * 20}
    checked(api.post("/v1/studies", json={**definition, "parameters": [*parameters, choices]}))
    rng = random.Random(1)
    for _ in range(6):
        trial, _ = asked(api, "long", "autosampler-of-the-long-named-laboratory-in-building-17.example.org")
        told = {"trial": trial, "value": rng.choice([1.23456789e-9, 8.7654321e12, 3.2e5, -1.5e7])}
        checked(api.post("/v1/studies/long/observe", json=told))


def rtl(api: httpx.Client) -> None:
    """A study whose names are written from right to left."""
    parameters = [{"name": HEAT, "kind": "float", "low": 0, "high": 100, "unit": "°C"}]
    checked(api.post("/v1/studies", json={"id": "rtl", "direction": "maximize", "parameters": parameters, "seed": 1}))
    trial, _ = asked(api, "rtl", LAYLA)
    checked(api.post("/v1/studies/rtl/observe", json={"trial": trial, "value": 80.5}))


def asked(api: httpx.Client, study: str, worker: str) -> tuple[int, dict[str, Any]]:
    """The number and the point of a new trial."""
    (trial,) = checked(api.post(f"/v1/studies/{study}/suggest", json={"worker": worker}))["trials"]
    return trial["number"], trial["parameters"]


def fits(page: Page) -> bool:
    """Whether the page has no more width than the screen."""
    is_narrow: bool = page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    return is_narrow


@pytest.mark.parametrize(
    ("size", "media"),
    [
        (PHONE, "screen"),
        pytest.param(SHEET, "print", marks=pytest.mark.long),
        pytest.param(DESKTOP, "screen", marks=pytest.mark.long),
    ],
)
def test_the_conditions_of_a_trial_have_whole_words_and_units(
    browser: Browser, site: str, size: dict[str, int], media: Any
) -> None:
    with tab(browser, site, size=size) as page:
        page.emulate_media(media=media)
        page.goto("/studies/coupling/trials/11")
        conditions = page.locator(".point")
        expect(conditions.get_by_role("row")).to_have_count(6)
        assert not page.evaluate(BROKEN, ".point :is(th, td)")
        expect(conditions.get_by_role("row", name="temperature")).to_contain_text("°C")
        label, value = (conditions.locator(each).nth(1).bounding_box() for each in ("th", "td"))
        assert label is not None
        assert value is not None
        assert (value["y"] > label["y"]) == (size != DESKTOP), "below the label where there is little width"
        for path in ("/studies/long/trials/3", "/studies/coupling/trials/11"):
            page.goto(path)
            assert fits(page), path


@pytest.mark.long
def test_the_labels_of_what_was_tried_are_whole(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        for across, up, first in (("trees", "depth", "1 to 4"), ("trees", "rate", "0.0158")):
            page.goto(f"/studies/forest/report?charts=coverage&coverage-x={across}&coverage-y={up}")
            page.locator("#study:not([aria-busy])").wait_for()
            expect(page.locator("#coverage .plot svg text", has_text=first)).to_be_visible()
            assert not page.evaluate(CUT, "coverage")


def test_more_actions_open_below_their_button(browser: Browser, site: str) -> None:
    with tab(browser, site, size=PHONE, has_touch=True) as page:
        page.goto("/studies/coupling")
        more = page.get_by_role("button", name="More …")
        more.wait_for()
        box = more.bounding_box()
        assert box is not None
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.touchscreen.tap(x, y)
        expect(page.get_by_role("button", name="Pause")).to_be_visible()
        assert page.evaluate("([x, y]) => document.elementFromPoint(x, y).id", [x, y]) == "do-more"


@pytest.mark.long
def test_a_report_with_many_parameters_is_readable_on_paper(browser: Browser, site: str) -> None:
    with tab(browser, site, size=SHEET) as page:
        for study in ("long", "coupling"):
            page.goto(f"/studies/{study}/report?charts=history")
            page.locator("#study:not([aria-busy])").wait_for()
            page.emulate_media(media="print")
            assert fits(page), study
            assert not page.evaluate(BROKEN, ".list :is(th, td)"), study
            shown = page.locator(".list:visible th").all_inner_texts()
            heads = page.locator("[aria-label=Results] th").all_text_contents()
            assert {"State", *shown} >= set(map(str.strip, heads)), "each column is printed"
            blocks = page.locator("[aria-label=Results] + .blocks > table")
            assert (blocks.count() > 1) == (study == "long")
            for block in blocks.all():
                assert block.evaluate("(table) => table.offsetWidth <= table.parentElement.clientWidth")
                expect(block.locator("th").first).to_have_text("Trial")
            page.emulate_media(media="screen")


@pytest.mark.long
def test_the_first_chart_of_a_report_has_room(browser: Browser, site: str) -> None:
    with tab(browser, site, size=SHEET) as page:
        page.goto("/studies/coupling/report?charts=history")
        page.locator("#study:not([aria-busy])").wait_for()
        places = page.locator("#history .plot svg").evaluate(
            """(svg) => [...svg.querySelectorAll("text")].filter((text) => /^\\d+$/.test(text.textContent))
                 .map((text) => text.getBoundingClientRect()).filter(({ left }) => left < svg.clientWidth / 8)
                 .map(({ y }) => y)"""
        )
        assert max(places) - min(places) > 130, "the labels of the axis"
        page.emulate_media(media="print")
        summary = page.locator("#first-page").bounding_box()
        assert summary is not None
        assert summary["height"] < SHEET["height"], "the chart is on the first page"


SHIFTS = """
  window.moved = 0;
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.moved += entry.value;
  }).observe({type: "layout-shift", buffered: true});
"""


@pytest.mark.parametrize("size", some([DESKTOP, PHONE], [PHONE]))
def test_little_moves_while_a_study_loads(browser: Browser, site: str, size: dict[str, int]) -> None:
    with tab(browser, site, size=size) as page:
        page.add_init_script(SHIFTS)
        page.goto("/studies/forest")
        best = page.locator("#recommended-now")
        expect(best).not_to_have_attribute("data-reserved", "")
        page.locator("#assessment:not([aria-busy])").wait_for()
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.moved") < 0.05
    with tab(browser, site, size=size, java_script_enabled=False) as page:
        page.goto("/studies/forest")
        expect(page.locator(".beside h3").first).to_have_text(re.compile("^Recommended"), use_inner_text=True)
        assert page.locator(".figures > section").count() == 2, "also while no trial is running"


@pytest.mark.long
def test_the_list_of_studies_fits_and_its_texts_stand_apart(browser: Browser, site: str) -> None:
    with tab(browser, site, size={"width": 1024, "height": 768}) as page:
        page.goto("/")
        listed = page.get_by_role("region", name="Studies")
        assert listed.evaluate("(box) => box.scrollWidth <= box.clientWidth"), "a long unit widens nothing"
    with tab(browser, site, size=PHONE) as page:
        page.goto("/")
        assert fits(page)
        cells = page.locator(".studies tbody tr > *")
        edges = cells.evaluate_all("(all) => all.map((each) => getComputedStyle(each).borderTopWidth)")
        assert set(edges) == {"0px"}, "lines are between the cards only"
        for row in page.locator(".studies tbody tr").all():
            check, title = (row.locator(each).bounding_box() for each in ("input", "a >> nth=0"))
            assert check is not None
            assert title is not None
            assert check["x"] + check["width"] <= title["x"], "beside the title"


@pytest.mark.long
def test_a_phone_shows_each_result_with_its_conditions(browser: Browser, site: str, api: httpx.Client) -> None:
    """Conditions that a result does not have are left out, and the row is edited in place."""
    parameters = [
        {"name": "catalyst", "kind": "categorical", "choices": ["Pd", "none"]},
        {"name": "loading", "kind": "float", "low": 0, "high": 9, "unit": "mol%", "when": {"catalyst": ["Pd"]}},
    ]
    checked(api.post("/v1/studies", json={"id": "phone", "direction": "maximize", "parameters": parameters}))
    for point, value in (({"catalyst": "Pd", "loading": 2.5}, 70), ({"catalyst": "none"}, 3)):
        checked(api.post("/v1/studies/phone/observe", json={"parameters": point, "value": value}))
    with tab(browser, site, size=PHONE) as page:
        page.goto("/studies/phone/results")
        assert fits(page)
        table = page.get_by_role("region", name="Results")
        assert table.evaluate("(box) => box.scrollWidth <= box.clientWidth")
        with_loading, without = page.locator("#result-1"), page.locator("#result-2")
        expect(with_loading.locator("[data-title='loading [mol%]']")).to_be_visible()
        expect(without.locator("[data-title='loading [mol%]']")).to_be_hidden()
        with_loading.get_by_role("button", name="Edit").click()
        with_loading.get_by_role("textbox").fill("71,5")
        page.get_by_role("button", name="Save the correction").click()
        expect(with_loading).to_contain_text("71.5")
        assert accessible(page) == []


@pytest.mark.long
def test_names_from_right_to_left_leave_numbers_in_their_places(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/studies/rtl")
        page.locator("#measured-now .own").wait_for()
        assert page.evaluate(ORDER, ["#measured-now .own", HEAT, "°C"])
        page.goto("/studies/rtl/trials/1")
        expect(page.locator("#trial-events time").first).to_contain_text("ago")
        assert page.evaluate(ORDER, ["#trial-events li", LAYLA, "ago"])
        page.goto("/studies/rtl/report?charts=history")
        assert page.evaluate(ORDER, ["#first-page .conditions", HEAT, "°C"])
