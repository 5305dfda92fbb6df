"""A chemist who runs a study only through the web interface: docs/stories/reaction.md."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from examples.stories.reaction import DATA, VALUES, measured_yield
from tests.acceptance.page.filling import add_parameter
from tests.acceptance.page.tabs import drawn
from tools.pictures import palettes

STUDY = "arylation"
UNITS = {"concentration": "M", "temperature": "°C"}
BOILED_OVER, OTHER_BATH, EMPTY_BOTTLE, OWN_IDEA = 2, 4, 6, 7
"""Numbers of the experiments with incidents."""


class Chemist:
    """Runs experiments in a tab of the browser.

    Args:
        page: the tab.
        pictures: the folder for screenshots; None for no screenshots.
    """

    def __init__(self, page: Page, pictures: Path | None = None) -> None:
        self._page = page
        self._pictures = pictures
        self.missing = ""
        """The ligand whose bottle is empty."""
        self.conclusion = ""
        """The sentence about stopping at the end."""

    def works(self, experiments: int) -> None:
        """Run a whole study, from the form to the report."""
        self._creates_the_study(experiments)
        happenings: dict[int, Callable[[], None]] = {
            BOILED_OVER: self._lets_it_boil_over,
            OTHER_BATH: self._finds_the_bath_at_another_temperature,
            EMPTY_BOTTLE: self._finds_a_bottle_empty,
        }
        for number in range(1, experiments):  # the point that needs the empty bottle counts towards the budget
            if number == OWN_IDEA:
                self._queues_an_own_idea()
            self._asks_for_the_next_point()
            happenings.get(number, self._measures)()
        self._decides()
        self._reads_the_report()

    def _creates_the_study(self, experiments: int) -> None:
        page = self._page
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill(STUDY)
        page.get_by_label("The result should be").select_option("maximize")
        page.get_by_label("Budget, in trials").fill(str(experiments))
        page.get_by_label("Measured quantity").fill("Yield")
        page.get_by_label("Unit of the result").fill("%")
        page.get_by_label("Smallest possible result").fill("0")
        page.get_by_label("Largest possible result").fill("100")
        for number, (name, values) in enumerate(VALUES.items(), start=1):
            kind = "ordinal" if name in UNITS else "categorical"
            add_parameter(page, number, name, kind, *values)
            row = page.get_by_role("group", name=f"Parameter {number}", exact=True)
            if name in UNITS:
                row.get_by_label("Unit").fill(UNITS[name])
            else:
                row.get_by_text("Prior knowledge and conditions").click()
                described = DATA.with_name(f"direct_arylation-{name}.csv").read_text()
                row.get_by_label("Numbers that describe the values").fill(described)
        page.get_by_text("More", exact=True).click()
        page.get_by_label("Reservation of a trial").fill("2 d")
        page.get_by_label("Seed").fill("1")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url(f"**/studies/{STUDY}")

    def _asks_for_the_next_point(self) -> None:
        page = self._page
        if "/trials/" in page.url:
            before = page.url
            page.get_by_role("button", name="Get a new trial").click()
            page.get_by_role("button", name="Get the next trial").click()
            page.wait_for_url(lambda url: "/trials/" in url and url != before)
        else:
            page.goto(f"/studies/{STUDY}")
            page.get_by_role("button", name="Next trial").first.click()
            page.get_by_label("Your name").fill("berta")
            page.get_by_role("button", name="Get the next trial").click()
            page.wait_for_url("**/trials/*")

    def _point(self) -> dict[str, str]:
        """Return the suggested values by parameter, without their units."""
        cells = self._page.locator("table.point td").all_inner_texts()
        return dict(zip(VALUES, (cell.partition("\N{NO-BREAK SPACE}")[0] for cell in cells), strict=True))

    def _measures(self) -> None:
        self._saves(measured_yield(*self._point().values()))

    def _saves(self, value: float) -> None:
        page = self._page
        page.get_by_label("Yield [%]", exact=True).fill(str(value))
        page.get_by_role("button", name="Save the result").click()
        self._is_done()

    def _is_done(self) -> None:
        """Wait for the message after the reload of the page."""
        expect(
            self._page.get_by_text(re.compile(r"The (result of trial \d+ is stored: |trial has failed\.)"))
        ).to_be_visible()

    def _lets_it_boil_over(self) -> None:
        page = self._page
        page.get_by_role("button", name="Report a problem").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("What happened").fill("boiled over")
        dialog.get_by_role("button", name="It failed").click()
        self._is_done()

    def _finds_the_bath_at_another_temperature(self) -> None:
        page, point = self._page, self._point()
        other = next(value for value in VALUES["temperature"] if value != point["temperature"])
        page.get_by_text("The conditions differed").click()
        page.locator("#trial-outcome").get_by_label("temperature").fill(other)
        page.get_by_label("Yield [%]", exact=True).fill(str(measured_yield(*{**point, "temperature": other}.values())))
        self._takes_a_picture("other-values", page.locator("#trial-outcome"))
        page.get_by_role("button", name="Save the result").click()
        self._is_done()
        expect(page.get_by_text(f"Evaluated: temperature {other}")).to_be_visible()

    def _finds_a_bottle_empty(self) -> None:
        """Release the point, exclude its ligand, and measure another point instead."""
        page = self._page
        self.missing = self._point()["ligand"]
        page.get_by_role("button", name="Report a problem").click()
        page.get_by_role("dialog").get_by_label("What happened").fill("the bottle is empty")
        page.get_by_role("button", name="Try it again").click()
        expect(page.get_by_text("The trial will be issued again with the same conditions.")).to_be_visible()
        page.goto(f"/studies/{STUDY}")
        page.get_by_role("link", name="Edit parameters and rules").click()
        first = page.get_by_role("group", name="Parameter 1", exact=True)
        expect(first.get_by_label("Name")).to_have_value(next(iter(VALUES)))  # the form is filled in
        page.get_by_role("button", name="Add a combination").click()
        page.get_by_label("ligand in combination 1").select_option(self.missing)
        page.get_by_role("button", name="Show what changes").click()
        expect(page.locator("#effects")).to_contain_text("1 waiting trial outside the new space is withdrawn.")
        self._takes_a_picture("empty-bottle", page.locator("#preview"))
        page.get_by_role("button", name="Save these changes").click()
        page.wait_for_url(f"**/studies/{STUDY}")
        self._asks_for_the_next_point()
        assert self._point()["ligand"] != self.missing
        self._measures()

    def _queues_an_own_idea(self) -> None:
        page = self._page
        page.goto(f"/studies/{STUDY}")
        page.get_by_role("button", name="Queue a trial").click()
        dialog = page.get_by_role("dialog")
        idea = {name: values[-1] for name, values in VALUES.items()}
        idea["ligand"] = next(each for each in ("XPhos", "PPh3") if each != self.missing)
        for name, value in idea.items():
            dialog.get_by_label(name).select_option(label=value)
        dialog.get_by_role("button", name="Queue the trial").click()
        expect(page.get_by_text("is queued.")).to_be_visible()

    def _decides(self) -> None:
        page = self._page
        page.goto(f"/studies/{STUDY}")
        expect(page.locator("#assessment")).to_contain_text("Can I stop?")
        self.conclusion = page.locator("#assessment").inner_text()
        drawn(page, "history")
        page.evaluate("scrollTo(0, 0)")
        self._takes_a_picture("decision")

    def _reads_the_report(self) -> None:
        page = self._page
        page.get_by_role("link", name="Report", exact=True).click()
        page.locator("#study:not([aria-busy])").wait_for()
        self._takes_a_picture("report")

    def _takes_a_picture(self, name: str, part: Locator | None = None) -> None:
        """Save a screenshot of the tab or a part of it."""
        if self._pictures is not None:
            picture = self._pictures / f"story-reaction-{name}.png"
            (part or self._page).screenshot(path=picture)
            palettes.reduce(picture)
