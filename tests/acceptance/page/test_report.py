"""The report of a study in a real Chromium: complete without scrolling, printed, and each chart saved separately."""

from __future__ import annotations

import io
import random
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Literal
from xml.etree import ElementTree

import httpx
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, Route, expect

from adabkb_service.api.model_reads import MAX_RUNNING_PER_STUDY, MAX_WAITING_PER_STUDY
from adabkb_service.operations.model import predict
from tests.acceptance.page.conftest import on_both
from tests.acceptance.page.studies import HOSTILE, checked, hostile, tuned
from tests.acceptance.page.tabs import PRINTS, REFUSALS, accessible, save, tab
from tests.calls import Gate, watching
from tests.samples import some
from tests.servers import server_on
from tests.waiting import wait_for

SHEET = {"width": 703, "height": 1031}
"""A sheet of A4 without its margins, in pixels of CSS."""
READERS = MAX_RUNNING_PER_STUDY + MAX_WAITING_PER_STUDY + 1
"""More than a server lets read one model at once."""
CHARTS = ("history", "gap", "validation", "importance", "parallel", "slices", "contour", "partition", "timeline")
EXTRA = CHARTS[-2:]
"""The charts that a report has only on request, since they are about the search."""
USUAL = CHARTS[:-2]
OF_IMAGES = pytest.mark.parametrize(
    ("as_svg", "as_png"),
    [(CHARTS[::2], CHARTS[1::2]), pytest.param(CHARTS, CHARTS, marks=pytest.mark.long)],
    ids=["sample", "all"],
)
"""Each chart in one of the formats, or in both."""


@pytest.fixture(scope="module")
def site(database: str) -> Iterator[str]:
    """A server with one study."""
    with server_on(database) as address:
        with httpx.Client(base_url=address, timeout=60) as api:
            tuned(api)
        yield address


def opened(page: Page, study: str, charts: Sequence[str] = ()) -> None:
    """Open a report with its usual charts, or with others."""
    page.goto(f"/studies/{study}/report{'?charts=' if charts else ''}{','.join(charts)}")
    page.locator("#study:not([aria-busy])").wait_for()


@on_both
def test_a_report_is_whole_without_scrolling_and_is_printed_as_it_is(browser: Browser, site: str) -> None:
    with tab(browser, site, color_scheme="dark") as page:
        opened(page, "digits")
        assert page.evaluate("scrollY") == 0
        for name in EXTRA:
            expect(page.locator(f"#{name}")).to_be_hidden()
            expect(page.locator(f"[data-shows={name}]")).not_to_be_checked()
        for name in USUAL:
            expect(page.locator(f"#{name}")).to_have_attribute("data-state", "shown")
            assert page.locator(f"#{name} .plot svg text").count(), name
        assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 30, 33)", "ink on paper, though dark"
        results = page.get_by_role("region", name="Results")
        assert results.get_by_role("row").count() == 1 + 25
        expect(results.get_by_role("row", name=re.compile("^8 failed"))).to_contain_text("out of memory")
        expect(results.get_by_role("row", name=re.compile("^3 completed, excluded"))).to_be_visible()
        expect(page.get_by_role("region", name="Changes")).to_contain_text("The result of trial 3 was excluded")
        expect(page.get_by_role("region", name="Changes")).to_contain_text("spilt")
        expect(page.get_by_role("region", name="Workers").get_by_role("row", name=re.compile("node-7"))).to_be_visible()
        markdown = page.request.get("/v1/studies/digits/report").text()
        assert page.locator("#digest").inner_text() in markdown
        assert not accessible(page)
        printed = page.pdf(prefer_css_page_size=True, format="A4")
        assert printed.startswith(b"%PDF")
        assert 3 < len(re.findall(rb"/Type\s*/Page\b", printed)) <= 7, "two charts on a page"
        page.emulate_media(media="print")
        for hidden in (".top", ".actions", ".tools", ".controls"):
            assert not page.locator(hidden).first.is_visible(), hidden


@pytest.mark.long
def test_the_first_printed_page_is_a_summary(browser: Browser, site: str, api: httpx.Client) -> None:
    changes = {"title": "Buchwald of amine 4", "description": "Coupling with morpholine", "tags": {"project": "KX-14"}}
    checked(api.patch("/v1/studies/digits", json=changes))
    with tab(browser, site, size=SHEET) as page:
        opened(page, "digits")
        page.emulate_media(media="print")
        summary = page.locator("#first-page")
        for words in (
            "Report of Buchwald of amine 4",
            "digits",
            "Coupling with morpholine",
            "KX-14",
            "anna, node-7",
            "23, of which the model uses 22",
            "25 in total, 1 failed, 1 running",
            "Best result",
            "The model expects",
            "between",
            "width",
        ):
            expect(summary).to_contain_text(words)
        expect(summary.locator("#history")).to_have_attribute("data-state", "shown")
        box = summary.bounding_box()
        assert box is not None
        assert box["height"] < SHEET["height"]
        assert summary.evaluate("(element) => getComputedStyle(element).breakAfter") == "page"
        page.goto("/studies/digits/report?charts=gap")
        expect(summary.get_by_text("The model expects").first).to_be_visible()
        expect(page.locator("#history")).not_to_be_visible()


@pytest.mark.long
def test_a_report_opens_while_too_many_people_read_the_model(browser: Browser, other_sqlite: str) -> None:
    """The parts that the model says follow by themselves, and printing waits for them.

    An observed server is slow, so another one creates the study.
    """
    gate = Gate()
    with server_on(other_sqlite) as address, httpx.Client(base_url=address, timeout=60) as api:
        tuned(api, results=20)
    with (
        watching({predict.model: gate}),
        server_on(other_sqlite, request_seconds=300) as address,
        httpx.Client(base_url=address, timeout=300) as api,
        ThreadPoolExecutor(READERS) as others,
    ):
        reads = [others.submit(api.get, "/v1/studies/digits/model") for _ in range(READERS)]
        wait_for(lambda: any(read.done() and read.result().status_code == 503 for read in reads))
        with tab(browser, address, refused=REFUSALS) as page:
            page.goto("/studies/digits/report?charts=")
            expect(page.locator("#answers")).to_contain_text("1 warning")
            expect(page.locator("#judged")).to_contain_text("The model did not answer in time")
            expect(page.locator("#answers")).not_to_contain_text("The model expects")
            gate.may_continue.set()
            expect(page.locator("#answers")).to_contain_text("The model expects")
            expect(page.locator("#judged")).not_to_contain_text("The model did not answer in time")
            expect(page.get_by_role("button", name="Print")).to_be_enabled()


@pytest.mark.long
def test_a_chart_waits_for_its_turn_while_the_server_is_busy(browser: Browser, site: str) -> None:
    """The page itself asks again for six times; a report goes on."""
    asked = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        if len(asked) > 7:
            route.continue_()
        else:
            problem = {"status": 503, "code": "busy", "detail": "Too many reads of models are in progress; try again."}
            route.fulfill(status=503, json=problem, headers={"Retry-After": "0"})

    with tab(browser, site, refused=REFUSALS) as page:
        page.route("**/v1/studies/digits/importance*", refuse)
        page.goto("/studies/digits/report?charts=importance")
        chart = page.locator("#importance")
        expect(chart).to_contain_text("The server is busy. This chart waits for its turn.")
        expect(page.locator("#print")).to_contain_text("Preparing charts")
        expect(page.locator("#print")).to_be_disabled()
        page.locator("#study:not([aria-busy])").wait_for()
        expect(chart).to_have_attribute("data-state", "shown")
        assert len(asked) > 7


@OF_IMAGES
@pytest.mark.long
def test_every_chart_is_saved_as_an_image_that_stands_alone(
    browser: Browser, site: str, as_svg: Sequence[str], as_png: Sequence[str]
) -> None:
    with tab(browser, site) as page:
        opened(page, "digits", CHARTS)
        drawings = {name: save(page, name, "svg").read_bytes() for name in as_svg}
        photographs = {name: save(page, name, "png").read_bytes() for name in as_png}
        for name, drawing in drawings.items():
            root = ElementTree.fromstring(drawing)
            outside = [
                each.attrib
                for each in root.iter()
                if each.tag.endswith("}image") or any(key.endswith("href") for key in each.attrib)
            ]
            assert (root.tag, outside) == ("{http://www.w3.org/2000/svg}svg", []), name
            assert not re.search(rb"url\((?!#)|@import", drawing), name
            assert colours(rendered(page, drawing)) > 3, name
        for name, photograph in photographs.items():
            image = Image.open(io.BytesIO(photograph))
            width = page.locator(f"#{name} .plot").evaluate("(plot) => plot.getBoundingClientRect().width")
            assert (image.format, image.width) == ("PNG", 2 * round(width)), name
            assert colours(image) > 3, name


def rendered(page: Page, drawing: bytes) -> Image.Image:
    """Render an image file without any other resources."""
    alone = page.context.browser.new_context()  # type: ignore[union-attr]
    try:
        other = alone.new_page()
        other.set_content(f'<img src="data:image/svg+xml;base64,{b64encode(drawing).decode()}">')
        wait_for(lambda: other.evaluate("document.images[0].complete"))
        assert other.evaluate("document.images[0].naturalWidth") > 100
        return Image.open(io.BytesIO(other.locator("img").screenshot()))
    finally:
        alone.close()


def colours(image: Image.Image) -> int:
    return len(image.convert("RGB").getcolors(2**24) or [])


@pytest.mark.long
def test_a_report_shows_names_that_contain_markup_as_they_are(browser: Browser, site: str, api: httpx.Client) -> None:
    hostile(api)
    objectives = [{"metric": HOSTILE, "direction": "minimize"}, {"metric": "speed", "direction": "maximize"}]
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    checked(api.post("/v1/studies", json={"id": "weighed", "objectives": objectives, "parameters": parameters}))
    for _ in range(3):
        (trial,) = checked(api.post("/v1/studies/weighed/suggest", json={}))["trials"]
        told = {"trial": trial["number"], "metrics": {HOSTILE: trial["number"], "speed": 1}}
        checked(api.post("/v1/studies/weighed/observe", json=told))
    with tab(browser, site) as page:
        opened(page, "hostile")
        expect(page.get_by_role("region", name="Results").get_by_role("row").last).to_contain_text(HOSTILE)
        opened(page, "weighed")
        expect(page.get_by_role("region", name="Measured best compromises")).to_contain_text(HOSTILE)
        expect(page.locator("#front")).to_have_attribute("data-state", "shown")


LIGANDS = [
    *("BrettPhos", "PPh2Me", "(t-Bu)PhCPhos", "Tricyclohexylphosphine", "PPh3", "XPhos", "P(2-furyl)3"),
    *("Methyldiphenylphosphine", "1268824-69-6", "JackiePhos", "SCHEMBL15068049", "Me2PPh"),
]
CHOICES = {
    "base": ["Potassium acetate", "Potassium pivalate", "Cesium acetate", "Cesium pivalate"],
    "ligand": LIGANDS,
    "solvent": ["DMAc", "Butyornitrile", "Butyl ester", "p-Xylene"],
}
OVERLAPPING = """(chart) => {
  const boxes = [...document.querySelectorAll(`#${chart} .plot svg text`)].map((text) => {
    const { x, y, width, height } = text.getBBox();
    const inset = height / 4;  // the box of a text has room above and below its letters
    const corners = [[x, y + inset], [x + width, y + inset], [x + width, y + height - inset], [x, y + height - inset]];
    const at = text.getScreenCTM();
    return { text: text.textContent, corners: corners.map(([x, y]) => new DOMPoint(x, y).matrixTransform(at)) };
  });
  const isApart = (one, other) => one.some((corner, i) => {
    const next = one[(i + 1) % 4];
    const across = [corner.y - next.y, next.x - corner.x];
    const range = (box) => {
      const places = box.map((each) => each.x * across[0] + each.y * across[1]);
      return [Math.min(...places), Math.max(...places)];
    };
    const [[low, high], [least, most]] = [range(one), range(other)];
    return high <= least || most <= low;
  });
  return boxes.flatMap((one, i) => boxes.slice(i + 1).filter(({ corners }) =>
    !isApart(one.corners, corners) && !isApart(corners, one.corners)).map(({ text }) => [one.text, text]));
}"""
"""The pairs of texts of a chart that overlap, also if they are rotated."""


def many_choices(api: httpx.Client) -> None:
    """A study in which only the ligand and the solvent matter."""
    parameters = [
        {"name": "heat", "kind": "ordinal", "values": [90, 105, 120], "unit": "°C"},
        *({"name": name, "kind": "categorical", "choices": choices} for name, choices in CHOICES.items()),
    ]
    checked(api.post("/v1/studies", json={"id": "choices", "direction": "maximize", "parameters": parameters}))
    draw = random.Random(1)
    for number in range(36):
        ligand, solvent = number % 12, draw.randrange(4)
        point = {"heat": draw.choice((90, 105, 120)), "base": draw.choice(CHOICES["base"])}
        point |= {"ligand": LIGANDS[ligand], "solvent": CHOICES["solvent"][solvent]}
        value = 10 * solvent + 4 * ligand
        checked(api.post("/v1/studies/choices/observe", json={"parameters": point, "value": value}))


@pytest.mark.long
def test_each_choice_has_its_name_and_no_names_overlap(browser: Browser, site: str, api: httpx.Client) -> None:
    many_choices(api)
    with tab(browser, site) as page:
        opened(page, "choices", ["coverage", "contour", "slices", "parallel"])
        for chart in ("coverage", "contour", "slices", "parallel"):
            assert not page.evaluate(OVERLAPPING, chart), chart
            words = page.locator(f"#{chart} .plot svg text").all_text_contents()
            said = page.locator(f"#{chart}-caption").inner_text()
            for name in LIGANDS:
                short = re.search(rf"(\S+…\S+) is {re.escape(name)}", said)
                expected = re.sub(r"\s", "", short[1] if short else name)
                assert expected in re.sub(r"\s", "", "".join(words)), (chart, name)
        titles = page.locator("#coverage .plot svg text").all_text_contents()
        assert {"solvent", "ligand"} <= set(titles), "the two that matter most"
    with tab(browser, site, size=SHEET) as page:
        opened(page, "choices", ["history"])
        page.emulate_media(media="print")
        table = page.get_by_role("region", name="Results")
        assert table.evaluate("(box) => box.firstElementChild.offsetWidth <= box.clientWidth"), "it fits on paper"
        for part in table.locator(".moment .part").all():
            assert part.evaluate("(date) => date.getClientRects().length == 1"), "a date, and a time"


@pytest.mark.long
@on_both
@pytest.mark.parametrize("scheme", some(["light", "dark"], {"light"}))
def test_the_printed_page_of_a_study_has_its_charts_without_scrolling(
    browser: Browser, site: str, scheme: Literal["light", "dark"]
) -> None:
    """The button, and Ctrl+P, draw all charts first: in the width of the paper, and in its colours."""
    with tab(browser, site, color_scheme=scheme) as page:
        page.add_init_script(PRINTS)
        page.goto("/studies/digits")
        expect(page.locator("#assessment")).to_contain_text("Can I stop?")
        assert page.evaluate("scrollY") == 0
        charts = ("history", "validation", "importance", "parallel", "coverage", "slices", "contour")
        if scheme == "light":
            page.get_by_role("button", name="Print", exact=True).click()
        else:
            page.keyboard.press("Control+p")
        wait_for(lambda: page.evaluate("window.printed"))
        printed = page.evaluate("window.printed")
        assert printed["background"] == "#f7f6f3"
        assert "#1b1e21" in printed["inks"], "ink on paper, though dark"
        assert "#e9e7e2" not in printed["inks"]
        pages = re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True, format="A4"))
        assert 4 <= len(pages) <= 7, "two charts on a page"
        expect(page.locator(".sheet")).to_have_count(0)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.emulate_media(media="print", color_scheme=scheme)
        page.set_viewport_size({"width": SHEET["width"], "height": SHEET["height"]})
        for name in charts:
            sheet = page.locator(f"#{name} .sheet")
            expect(sheet).to_be_visible()
            assert sheet.locator("svg text").count(), name
            box = sheet.bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= SHEET["width"], name
            expect(page.locator(f"#{name} .plot")).to_be_hidden()
        for words in ("Is it going well?", "Why this trial?", "What was learned?", "Can I stop?", "Best single result"):
            expect(page.get_by_text(words, exact=False).first).to_be_visible()
        expect(page.get_by_role("heading", name="digits")).to_be_visible()
        expect(page.locator("#definition")).to_be_visible()
        expect(page.get_by_text("All results and the log are in the report")).to_be_visible()
        for hidden in (".top", ".actions", ".tools", ".controls", "#table", "#log", "#details", "#toasts"):
            assert not page.locator(hidden).first.is_visible(), hidden
