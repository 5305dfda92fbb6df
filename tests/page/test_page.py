"""The page in a real Chromium, on a real server: every path that a person takes."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from adabkb_service.app import create_app
from adabkb_service.settings import Settings
from tests.page.studies import HOSTILE, checked, hostile, tuned
from tests.page.tabs import DESKTOP, PHONE, accessible, drawn, tab
from tests.servers import free_port, server_on, serving

CHARTS = ("history", "gap", "importance", "parallel", "slices", "contour", "partition", "timeline")
SCREENSHOTS = os.environ.get("ADABKB_SCREENSHOTS")
"""A folder to write pictures of the pages to, such as docs/images, which has those that the documentation shows."""


@pytest.fixture(scope="module")
def site(module_migrated_url: str) -> Iterator[str]:
    """A server, on SQLite and on PostgreSQL."""
    with server_on(module_migrated_url) as address:
        with httpx.Client(base_url=address, timeout=60) as api:
            tuned(api)
            hostile(api)
        yield address


@pytest.fixture(scope="module")
def api(site: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=site, timeout=60) as api:
        yield api


def picture(page: Page, name: str, height: int = 1240) -> None:
    """Its upper part, for the documentation."""
    if SCREENSHOTS and page.viewport_size:
        there = min(height, page.evaluate("document.documentElement.scrollHeight"))
        area = {"x": 0, "y": 0, "width": page.viewport_size["width"], "height": there}
        page.screenshot(path=Path(SCREENSHOTS) / f"page-{name}.png", full_page=True, clip=area)  # type: ignore[arg-type]


PAGES = {
    "studies": "/",
    "new": "/new",
    "study": "/studies/digits",
    "trials": "/studies/digits/trials?sort=value&order=asc",
    "trial": "/studies/digits/trials/20",
}


@pytest.mark.parametrize(("size", "scheme"), [(DESKTOP, "light"), (PHONE, "dark")], ids=["desktop", "phone"])
def test_every_page_fits_is_accessible_and_says_nothing_to_the_console(
    browser: Browser, site: str, size: dict[str, int], scheme: str
) -> None:
    with tab(browser, site, size=size, color_scheme=scheme) as page:
        for name, path in PAGES.items():
            page.goto(path)
            if name == "study":
                drawn(page, *CHARTS)
                page.locator("#trials table").wait_for()
                page.evaluate("scrollTo(0, 0)")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), f"{name} is too wide"
            assert accessible(page) == [], name
            if name == "study":
                page.get_by_role("button", name="Next experiment").click()
                assert accessible(page) == [], "a dialog"
                page.keyboard.press("Escape")
                page.evaluate("document.activeElement.blur()")
            if size is DESKTOP:
                picture(page, name)
            elif name == "study":
                picture(page, "phone", 900)


def test_what_users_write_is_shown_as_text(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        for path in (
            "/",
            "/studies/hostile",
            "/studies/hostile/trials",
            "/studies/hostile/trials/1",
            "/studies/hostile/trials/6",
        ):
            page.goto(path)
            if path.endswith("/hostile"):
                drawn(page, *CHARTS)
                expect(page.locator("#recommendation")).to_contain_text(HOSTILE)
                expect(page.locator("#feed")).to_contain_text(HOSTILE)
            expect(page.locator("main")).to_contain_text(HOSTILE)
            assert page.locator("img[onerror], script:not([src])").count() == 0


def test_a_person_without_a_programme_uses_it_alone(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site, refused=True) as page:
        page.goto("/new")
        page.get_by_label("Name", exact=True).first.fill("bread")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("alert").filter(has_text="From: is required")).to_be_visible()
        page.get_by_label("The result is to be").select_option("maximize")
        page.get_by_label("Budget, in trials").fill("4")
        row = page.get_by_role("group", name="Parameter 1")
        row.get_by_label("Name").fill("minutes")
        row.get_by_label("From").fill("20")
        row.get_by_label("to", exact=True).fill("60")
        page.get_by_role("button", name="Add a parameter").click()
        row = page.get_by_role("group", name="Parameter 2")
        row.get_by_label("Name").fill("flour")
        row.get_by_label("Kind").select_option("categorical")
        row.get_by_role("textbox", name="Values").fill("rye, wheat")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/bread")

        page.get_by_role("button", name="Next experiment").click()
        page.get_by_label("Your name").fill("berta")
        page.get_by_role("button", name="Get the next point").click()
        page.wait_for_url("**/trials/1")
        expect(page.get_by_role("heading", name="Trial 1")).to_contain_text("being evaluated")
        page.get_by_label("Result", exact=True).fill("not good")
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_role("alert").filter(has_text="is not a number")).to_be_visible()
        page.get_by_label("Result", exact=True).fill("7,5")
        page.get_by_label("Standard error, if known").fill("0.5")
        page.get_by_text("Something else was really run").click()
        page.get_by_label("minutes").fill("41")
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_text("The result of trial 1 is stored.")).to_be_visible()
        expect(page.get_by_text("Really run: minutes = 41")).to_be_visible()
        (result,) = checked(api.get("/v1/studies/bread/observations"))["items"]
        assert (result["value"], result["std_error"], result["parameters"]["minutes"]) == (7.5, 0.5, 41)

        page.get_by_role("button", name="Correct").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Result", exact=True).fill("8")
        dialog.get_by_label("Why, for the log").fill("misread")
        dialog.get_by_role("button", name="Save the correction").click()
        expect(page.get_by_label("Result 1").locator("strong")).to_have_text("8")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_label("Result 1").locator("strong")).to_have_text("7.5")
        page.get_by_role("button", name="Exclude").click()
        expect(page.get_by_role("button", name="Include again")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("button", name="Exclude")).to_be_visible()

        page.goto("/studies/bread")
        page.get_by_role("button", name="Queue a point").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("minutes").fill("70")
        dialog.get_by_label("flour").select_option("rye")
        dialog.get_by_role("button", name="Queue the point").click()
        expect(dialog.get_by_role("alert")).to_contain_text("minutes:")
        dialog.get_by_label("minutes").fill("30")
        dialog.get_by_role("button", name="Queue the point").click()
        expect(page.get_by_text("Trial 2 is queued.")).to_be_visible()

        page.get_by_role("button", name="Pause").click()
        expect(page.locator("#figures .pill").first).to_have_text("paused")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#figures .pill").first).to_have_text("running")
        page.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Resume").click()
        expect(page.locator("#figures .pill").first).to_have_text("running")
        page.get_by_role("button", name="Limits").click()
        dialog.get_by_label("Budget, in trials").fill("9")
        dialog.get_by_role("button", name="Save").click()
        expect(page.locator("#figures")).to_contain_text("of 9")

        page.get_by_role("button", name="Add a result").click()
        dialog.get_by_label("minutes").fill("25")
        dialog.get_by_label("flour").select_option("wheat")
        dialog.get_by_label("Result", exact=True).fill("3")
        dialog.get_by_role("button", name="Add the result").click()
        expect(page.get_by_text("Result 2 is stored.")).to_be_visible()
        expect(page.locator("#feed")).to_contain_text("A result of somebody's own: 3")

        page.get_by_role("button", name="Add a result").click()
        page.get_by_role("button", name="Paste a table instead").click()
        dialog.get_by_label("Table").fill("minutes\tflour\tvalue\n30,5\trye\t5,5\n99\twheat\t6\n")
        dialog.get_by_role("button", name="Add the results").click()
        expect(dialog.get_by_role("alert")).to_contain_text("Row 2: minutes is 99")
        dialog.get_by_label("Table").fill("minutes\tflour\tvalue\n30,5\trye\t5,5\n39\twheat\t6\n")
        dialog.get_by_role("button", name="Add the results").click()
        expect(page.get_by_text("Stored: 2 results.")).to_be_visible()
        assert [each["value"] for each in checked(api.get("/v1/studies/bread/observations"))["items"]] == [
            7.5,
            3,
            5.5,
            6,
        ]

        page.goto("/studies/bread")
        page.get_by_role("button", name="Next experiment").click()
        expect(page.get_by_label("Your name")).to_have_value("berta")
        page.get_by_role("button", name="Get the next point").click()
        page.wait_for_url("**/trials/2")
        page.get_by_role("button", name="Give back").click()
        page.get_by_role("button", name="Give it back").click()
        expect(page.get_by_role("heading", name="Trial 2")).to_contain_text("given back")
        page.get_by_role("button", name="It failed").first.click()
        dialog.get_by_label("Why").fill("burnt")
        dialog.get_by_role("button", name="It failed").click()
        expect(page.get_by_role("heading", name="Trial 2")).to_contain_text("failed")
        page.get_by_role("button", name="Try again").first.click()
        dialog.get_by_role("button", name="Try again").click()
        expect(page.get_by_role("heading", name="Trial 2")).to_contain_text("given back")


def test_metrics_and_their_bounds_are_asked_for_and_shown(browser: Browser, site: str, api: httpx.Client) -> None:
    with new_study(browser, site, "limited") as page:
        for name in ("seconds", "memory"):
            page.get_by_role("button", name="Add a quantity").click()
            page.get_by_role("group", name="Quantity").last.get_by_label("Name").fill(name)
        row = page.get_by_role("group", name="Quantity 1")
        row.get_by_label("at least").fill("2,5")
        row.get_by_label("at most").fill("2")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("alert").filter(has_text="a lower bound that is not above")).to_be_visible()
        row.get_by_label("at least").fill("")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/limited")
    study = checked(api.get("/v1/studies/limited"))
    assert study["metrics"] == ["seconds", "memory"]
    assert study["outcome_constraints"] == [{"metric": "seconds", "lower": None, "upper": 2}]
    for _ in range(3):
        (trial,) = checked(api.post("/v1/studies/limited/suggest", json={}))["trials"]
        told = {"value": trial["parameters"]["x"], "metrics": {"seconds": 3 * trial["parameters"]["x"], "memory": 1}}
        checked(api.post("/v1/studies/limited/observe", json={"trial": trial["number"], **told}))
    with tab(browser, site, refused=True) as page:
        page.goto("/studies/limited")
        page.get_by_role("button", name="Next experiment").click()
        page.get_by_role("button", name="Get the next point").click()
        page.wait_for_url("**/trials/4")
        page.get_by_label("Result", exact=True).fill("0.25")
        expect(page.get_by_label("seconds", exact=True)).to_have_accessible_description("at most 2")
        page.get_by_label("seconds", exact=True).fill("1,5")
        page.get_by_label("memory", exact=True).fill("7")
        page.get_by_text("Standard errors of seconds, memory, if known").click()
        page.get_by_label("Standard error of seconds").fill("-1")
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_label("Standard error of seconds")).to_be_focused()
        page.get_by_label("Standard error of seconds").fill("0,25")
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_role("article")).to_contain_text("seconds1.5 ± 0.25 (at most 2)memory7")
        page.get_by_role("button", name="Correct").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Standard error of seconds").fill("")
        dialog.get_by_label("Standard error of memory").fill("1")
        dialog.get_by_role("button", name="Save the correction").click()
        expect(page.get_by_role("article")).to_contain_text("seconds1.5 (at most 2)memory7 ± 1")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("article")).to_contain_text("seconds1.5 ± 0.25 (at most 2)memory7")
        page.goto("/studies/limited")
        expect(page.locator("[data-metric=seconds]")).to_contain_text("±")
        expect(page.locator("[data-feasible]")).to_contain_text("yes")
        page.get_by_role("button", name="Add a result").click()
        page.get_by_role("button", name="Paste a table instead").click()
        page.get_by_role("textbox", name="Table").fill("x,value,seconds,memory,std_errors.memory\n0.5,-9,9,2,0.5\n")
        page.get_by_role("button", name="Add the results").click()
        expect(page.get_by_text("Stored: 1 result.")).to_be_visible()
        last = checked(api.get("/v1/studies/limited/observations"))["items"][-1]
        assert (last["metrics"], last["std_errors"]) == ({"seconds": 9, "memory": 2}, {"memory": 0.5})
        drawn(page, "history")
        expect(page.locator("#history-said")).to_contain_text("5 results; the best is ")
        expect(page.locator("#history-said")).not_to_contain_text("the best is −9")  # beyond its bound
        page.get_by_label("The charts show").select_option("seconds")
        expect(page.locator("#history-said")).to_have_text("5 results.")
        drawn(page, "contour" if page.locator("#contour-x option").count() > 1 else "slices")
        page.locator("#trials table").wait_for()
        assert page.locator("#trials .beyond").count() == len(
            [
                each
                for each in checked(api.get("/v1/studies/limited/trials"))["items"]
                if (each["metrics"] or {"seconds": 0})["seconds"] > 2
            ]
        )
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#feed")).to_contain_text("Result 5 was excluded")


def test_constraints_are_written_a_line_each(browser: Browser, site: str, api: httpx.Client) -> None:
    with new_study(browser, site, "bounded") as page:
        page.get_by_label("Constraints, one a line").fill("x <= 0.5\n\nx + y <= 1")
        page.get_by_role("button", name="Create the study").click()
        expect(page.get_by_role("alert").filter(has_text="Constraints, one a line:")).to_be_visible()
        page.get_by_label("Constraints, one a line").fill("x <= 0.5\n x >= 0.1")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/bounded")
        expect(page.locator("#definition")).to_contain_text("x <= 0.5, x >= 0.1")
    assert checked(api.get("/v1/studies/bounded"))["constraints"] == ["x <= 0.5", "x >= 0.1"]


def test_what_constraints_and_conditions_leave_out_is_shown(browser: Browser, site: str, api: httpx.Client) -> None:
    """Points that constraints forbid are hatched, and two parameters that never exist together are no error."""
    both = [{"name": name, "kind": "float", "low": 0, "high": 1} for name in ("a", "b")]
    made_of = {"name": "kind", "kind": "categorical", "choices": ["oil", "water"]}
    fat = {"name": "fat", "kind": "float", "low": 0, "high": 1, "when": {"kind": ["oil"]}}
    salt = {"name": "salt", "kind": "float", "low": 1, "high": 1000, "scale": "log", "when": {"kind": ["water"]}}
    evaluated(api, id="forbidden", parameters=both, constraints=["a + b <= 1"])
    evaluated(api, id="left-out", parameters=[made_of, *both, fat, salt], prior={"a": {"around": 0.2, "width": 0.1}})
    asked = {"parameter": ["a", "b"]}
    columns, rows = (axis["values"] for axis in checked(api.get("/v1/studies/forbidden/slice", params=asked))["axes"])
    forbidden = api.get("/studies/forbidden/forbidden.json", params=asked).json()
    assert forbidden == [a + b > 1 for a in columns for b in rows]
    with tab(browser, site, refused=True) as page:
        page.goto("/studies/forbidden")
        drawn(page, "contour")
        expect(page.locator("#contour-said")).to_contain_text("Hatched: the constraints do not allow it.")
        page.goto("/studies/left-out")
        drawn(page, "contour", "slices", "partition")
        page.locator("#contour-x").select_option("fat")
        page.locator("#contour-y").select_option("salt")
        expect(page.locator("#contour")).to_have_attribute("data-state", "empty")
        expect(page.locator("#contour-said")).to_contain_text("are never active together")
        shown = page.locator("#definition")
        expect(shown.get_by_role("row", name="salt")).to_contain_text("1 to 1\u202f000, log scale")
        expect(shown.get_by_role("row", name="salt")).to_contain_text("kind is water")
        expect(shown.get_by_role("row", name="a number")).to_contain_text("0.2, ± 0.1")


def evaluated(api: httpx.Client, **definition: Any) -> None:
    """A study with some results."""
    checked(api.post("/v1/studies", json={"direction": "minimize", "seed": 1, **definition}))
    address = f"/v1/studies/{definition['id']}"
    for _ in range(5):
        (trial,) = checked(api.post(f"{address}/suggest", json={}))["trials"]
        checked(api.post(f"{address}/observe", json={"trial": trial["number"], "value": trial["parameters"]["a"]}))


def test_what_a_busy_server_puts_off_is_asked_for_again(browser: Browser, site: str) -> None:
    """Of a study that never changes any more, too: 503 and Retry-After are no failure of a chart."""
    turns: list[int] = []

    def busy(route: Route) -> None:
        turns.append(len(turns))
        if len(turns) == 1:
            route.fulfill(status=503, headers={"Retry-After": "0"}, body="")
        else:
            route.continue_()

    with tab(browser, site, refused=True) as page:
        page.route("**/importance", busy)
        page.goto("/studies/digits")
        drawn(page, "importance")
    assert len(turns) >= 2


@contextmanager
def new_study(browser: Browser, site: str, name: str) -> Iterator[Page]:
    """The form for a new study with one parameter, and with what limits points and results unfolded."""
    with tab(browser, site, refused=True) as page:
        page.goto("/new")
        page.get_by_label("Name", exact=True).first.fill(name)
        row = page.get_by_role("group", name="Parameter 1")
        row.get_by_label("Name").fill("x")
        row.get_by_label("From").fill("0")
        row.get_by_label("to", exact=True).fill("1,0")
        page.get_by_text("Limits on points and results").click()
        yield page


def test_curves_are_drawn_of_trials_that_report(browser: Browser, site: str, api: httpx.Client) -> None:
    """The chart is thinned by the server; a stopped trial says what it came to."""
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
        expect(page.locator("#curves .said")).to_have_text(
            "2 trials, 1 of them stopped early; the longest came to step 899."
        )
        curves = page.evaluate("fetch('/studies/epochs/curves.json').then((answer) => answer.json())")
        assert [len(each["points"]) for each in curves] == [101, 48]
        assert [each["points"][-1][0] for each in curves] == [899, 48]
        page.get_by_label("log scale").last.check()
        page.goto("/studies/epochs/trials/2")
        expect(page.locator("main")).to_contain_text("48 values, the last at step 48: 0.025")


def test_tabs_follow_what_workers_do(browser: Browser, site: str, api: httpx.Client) -> None:
    """Without being loaded again: the figures, the feed, the trials; the list of studies too."""
    definition = {
        "id": "live",
        "direction": "minimize",
        "parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1}],
    }
    checked(api.post("/v1/studies", json={**definition, "seed": 1}))
    with tab(browser, site) as one, tab(browser, site) as other:
        one.goto("/studies/live")
        expect(one.locator("#history")).to_have_attribute("data-state", "empty")
        expect(one.locator("#live")).to_have_text("live")
        other.goto("/?text=live")
        for worker in ("w1", "w2", "w3"):
            (trial,) = checked(api.post("/v1/studies/live/suggest", json={"worker": worker}))["trials"]
            checked(
                api.post("/v1/studies/live/observe", json={"trial": trial["number"], "value": 0.25 + trial["number"]})
            )
        expect(one.locator("#figures .main strong")).to_have_text("1.25")
        expect(one.locator("#feed li").first).to_contain_text("Trial 3 gave 3.25")
        expect(one.locator("#history")).to_have_attribute("data-state", "shown")
        expect(one.locator("#trials tbody tr")).to_have_count(3)
        expect(other.locator("#list")).to_contain_text("1.25")


def test_lists_are_searched_sorted_and_paged(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site) as page:
        page.goto("/")
        page.get_by_label("Search").press_sequentially("vision")
        expect(page.locator("#list tbody tr")).to_have_count(1)
        assert "text=vision" in page.url
        page.get_by_label("State").select_option("complete")
        expect(page.get_by_text("Nothing found")).to_be_visible()
        page.goto("/studies/digits")
        page.locator("#trials th a").first.wait_for()
        page.get_by_role("link", name="Result", exact=True).click()
        page.locator('#trials [aria-sort="descending"] #by-value').click()
        best = checked(api.get("/v1/studies/digits"))["best"]["trial"]
        expect(page.locator("#trials tbody th").first).not_to_have_text("25")
        expect(page.locator('#trials [aria-sort="ascending"]')).to_have_text("Result")
        assert best or page.locator("#trials tbody tr").count() == 25
        page.get_by_label("State").select_option("failed")
        expect(page.locator("#trials tbody tr")).to_have_count(1)


def test_the_partition_is_replayed_and_charts_are_saved(browser: Browser, site: str) -> None:
    with tab(browser, site) as page:
        page.goto("/studies/digits")
        drawn(page, "partition", "history", "gap")
        now = page.locator("#partition .said").inner_text()
        assert re.match(r"\d+ of \d+ leaves meet this plane", now)
        page.get_by_label("after result").fill("3")
        expect(page.locator("#partition .said")).to_contain_text("replayed")
        for colour in ("mean", "std", "depth"):
            page.locator("#partition-colour").select_option(colour)
        expect(page.locator("#partition")).to_have_attribute("data-state", "shown")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save Results and the best so far as CSV").click()
        table = Path(saved.value.path()).read_text().splitlines()
        assert table[0].startswith("result,trial,value,std_error")
        assert len(table) == 24
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save What was still possible as CSV").click()
        _, _, gap = Path(saved.value.path()).read_text().splitlines()[-1].split(",")
        assert 0 <= float(gap) < 10
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save Results and the best so far as SVG").click()
        assert Path(saved.value.path()).read_text().startswith("<svg")


def test_the_keyboard_is_enough(browser: Browser, site: str) -> None:
    """The skip link comes first, a dialog takes the focus and gives it back."""
    with tab(browser, site) as page:
        page.goto("/studies/digits")
        page.keyboard.press("Tab")
        expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
        button = page.get_by_role("button", name="Limits")
        button.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(button).to_be_focused()


def test_a_page_outlives_its_server(browser: Browser, module_migrated_url: str) -> None:
    """It says that the server is gone, keeps what it knew, and goes on by itself once the server is back."""
    settings = Settings(database=module_migrated_url, model_processes=0)
    port = free_port()
    with serving(create_app(settings), port) as address:
        context = browser.new_context(base_url=address)
        page = context.new_page()
        page.goto("/studies/digits")
        expect(page.locator("#live")).to_have_text("live")
    expect(page.locator("#offline")).to_be_visible()
    expect(page.locator("#figures .main strong")).not_to_have_text("–")
    with serving(create_app(settings), port):
        expect(page.locator("#offline")).to_be_hidden()
        expect(page.locator("#live")).to_have_text("live")
    context.close()


def test_nothing_there_yet_says_how_to_begin(browser: Browser, other_sqlite: str) -> None:
    with server_on(other_sqlite) as address, tab(browser, address) as page:
        page.goto("/")
        expect(page.get_by_role("heading", name="No studies yet")).to_be_visible()
        expect(page.locator("pre")).to_contain_text(f'Client("{address}")')


def test_several_objectives_have_a_front_and_charts_of_each(browser: Browser, site: str, api: httpx.Client) -> None:
    objectives = [{"metric": "error", "direction": "minimize"}, {"metric": "speed", "direction": "maximize"}]
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    checked(
        api.post("/v1/studies", json={"id": "traded", "objectives": objectives, "parameters": parameters, "seed": 1})
    )
    for _ in range(5):
        (trial,) = checked(api.post("/v1/studies/traded/suggest", json={}))["trials"]
        x = trial["parameters"]["x"]
        told = {"trial": trial["number"], "metrics": {"error": x * x, "speed": 2 * x}}
        checked(api.post("/v1/studies/traded/observe", json=told))
    checked(api.post("/v1/studies/traded/suggest", json={}))
    with tab(browser, site) as page:
        page.goto("/studies/traded")
        for name in ("front", "volume", "history", "importance", "parallel", "slices", "partition"):
            page.locator(f"#{name}").scroll_into_view_if_needed()
            expect(page.locator(f"#{name}")).to_have_attribute("data-state", "shown")
        expect(page.locator("#front-said")).to_contain_text("of 5 on the front")
        page.get_by_label("The charts show").select_option("speed")
        expect(page.locator("#history-said")).to_contain_text("the best is")
        page.goto("/studies/traded/trials/6")
        page.get_by_label("error", exact=True).fill("0,5")
        page.get_by_label("speed", exact=True).fill("7")
        page.get_by_role("button", name="Save the result").click()
        expect(page.get_by_role("article")).to_contain_text("error0.5speed7")
        page.goto("/studies/traded")
        expect(page.locator("#feed li").first).to_contain_text("Trial 6 gave error 0.5, speed 7")
        expect(page.locator("#trials tbody tr").first).to_contain_text("0.5")
        page.goto("/")
        expect(page.get_by_role("row", name="traded")).to_contain_text("2 objectives")
