"""The forms and dialogs of the page in a real Chromium, as used without a program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.acceptance.page.conftest import on_both
from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import PHONE, REFUSALS, accessible, drawn, tab
from tests.waiting import wait_for


@contextmanager
def new_study(browser: Browser, site: str, name: str) -> Iterator[Page]:
    """The form for a new study with one parameter, and with the sections on limits open."""
    with tab(browser, site, refused=REFUSALS) as page:
        page.goto("/new")
        page.get_by_label("ID", exact=True).fill(name)
        page.get_by_label("The result should be").select_option("minimize")
        row = page.get_by_role("group", name="Parameter 1")
        row.get_by_label("Name").fill("x")
        row.get_by_label("From").fill("0")
        row.get_by_label("to", exact=True).fill("1,0")
        page.get_by_text("Limits on conditions and results").click()
        yield page


@on_both
def test_a_person_creates_a_study_and_enters_results(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        creates_a_study(page, "rolls")
        evaluates_a_trial(page)
        corrects_and_excludes_a_result(page)
        page.goto("/studies/rolls")
        adds_a_result(page)
        pastes_a_table(page)
    told = checked(api.get("/v1/studies/rolls/observations"))["items"]
    assert [(each["value"], each["parameters"]["minutes"]) for each in told] == [
        (7.5, 41),
        (3, 25),
        (5.5, 30.5),
        (6, 39),
    ]


@on_both
@pytest.mark.long
def test_a_person_without_a_programme_uses_it_alone(browser: Browser, site: str, api: httpx.Client) -> None:
    with tab(browser, site, refused=REFUSALS) as page:
        creates_a_study(page)
        evaluates_a_trial(page)
        (result,) = checked(api.get("/v1/studies/bread/observations"))["items"]
        assert (result["value"], result["std_error"], result["parameters"]["minutes"]) == (7.5, 0.5, 41)
        corrects_and_excludes_a_result(page)
        queues_a_point(page)
        pauses_and_changes_the_limits(page)
        adds_a_result(page)
        pastes_a_table(page)
        told = checked(api.get("/v1/studies/bread/observations"))["items"]
        assert [each["value"] for each in told] == [7.5, 3, 5.5, 6]
        gives_a_trial_back_and_tries_it_again(page)
        adds_a_failure_of_its_own(page)
        takes_several_points(page)


def creates_a_study(page: Page, study: str = "bread") -> None:
    page.goto("/new")
    page.get_by_label("ID", exact=True).fill(study)
    page.get_by_label("The result should be").select_option("maximize")
    page.get_by_role("button", name="Create the study").click()
    expect(page.locator(".fault").filter(has_text="enter a number.").first).to_be_visible()
    expect(page.locator("#goal")).to_have_text("The result will be maximized.")
    page.get_by_label("Budget, in trials").fill("4")
    row = page.get_by_role("group", name="Parameter 1")
    row.get_by_label("Name").fill("minutes")
    row.get_by_label("From").fill("20")
    row.get_by_label("to", exact=True).fill("60")
    page.get_by_role("button", name="Add a parameter").click()
    row = page.get_by_role("group", name="Parameter 2")
    row.get_by_label("Name").fill("flour")
    row.get_by_label("Kind").select_option("categorical")
    row.get_by_label("Value 1", exact=True).fill("rye")
    row.get_by_label("Value 2", exact=True).fill("wheat")
    page.get_by_role("button", name="Create the study").click()
    page.wait_for_url(f"**/studies/{study}")


def evaluates_a_trial(page: Page) -> None:
    page.get_by_role("button", name="Next trial").click()
    page.get_by_label("Your name").fill("berta")
    page.get_by_label("Reserve it for").select_option("8 hours")
    page.get_by_role("button", name="Get the next trial").click()
    page.wait_for_url("**/trials/1")
    expect(page.get_by_role("heading", name="Trial 1")).to_contain_text("running")
    reserved = page.locator("#trial-facts > div", has_text="Reserved until")
    expect(reserved).to_contain_text("in 8 hr.")
    page.get_by_role("button", name="Save the result").click()
    expect(page.locator(".field", has=page.get_by_label("Result", exact=True))).to_contain_text("enter a number.")
    page.get_by_label("Result", exact=True).fill("not good")
    page.get_by_role("button", name="Reserve it for 3 days from now").click()
    expect(reserved).not_to_contain_text("in 8 hr.")
    page.get_by_role("button", name="Save the result").click()
    expect(page.locator(".toast")).to_have_count(0)
    expect(page.locator(".fault").filter(has_text="is not a number")).to_be_visible()
    page.get_by_label("Result", exact=True).fill("7,5")
    page.get_by_label("Standard error, if known").fill("0.5")
    page.get_by_text("The conditions differed").click()
    page.locator("#trial-outcome").get_by_label("minutes").fill("41")
    page.get_by_role("button", name="Save the result").click()
    expect(page.get_by_text("The result of trial 1 is stored: ")).to_be_visible()
    expect(page.get_by_text("Evaluated: minutes 41")).to_be_visible()


def corrects_and_excludes_a_result(page: Page) -> None:
    page.get_by_role("button", name="Correct").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Result", exact=True).fill("8")
    dialog.get_by_label("Reason, for the log").fill("misread")
    dialog.get_by_role("button", name="Save the correction").click()
    expect(page.get_by_label("The result of trial 1").locator("strong")).to_have_text("8.00 ± 0.50")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("The result of trial 1").locator("strong")).to_have_text("7.50 ± 0.50")
    page.get_by_role("button", name="Exclude", exact=True).click()
    dialog.get_by_label("Reason, for the log").fill("wrong flour")
    dialog.get_by_role("button", name="Exclude the result").click()
    expect(page.get_by_role("button", name="Include again")).to_be_visible()
    expect(page.get_by_role("region", name="What happened")).to_contain_text("Excluded: wrong flour")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("button", name="Exclude", exact=True)).to_be_visible()


def queues_a_point(page: Page) -> None:
    page.goto("/studies/bread")
    page.get_by_role("button", name="Queue a trial").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("minutes").fill("70")
    dialog.get_by_label("flour").select_option("rye")
    dialog.get_by_role("button", name="Queue the trial").click()
    expect(dialog.get_by_role("alert")).to_have_text("1 field needs a correction: minutes")
    dialog.get_by_label("minutes").fill("30")
    dialog.get_by_role("button", name="Queue the trial").click()
    expect(page.get_by_text("Trial 2 is queued.")).to_be_visible()


def pauses_and_changes_the_limits(page: Page) -> None:
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#figures .pill").first).to_have_text("paused")
    page.locator(".toast", has_text="Paused").get_by_role("button", name="Undo").click()
    expect(page.locator("#figures .pill").first).to_have_text("open")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#figures .pill").first).to_have_text("open")
    page.get_by_role("button", name="Budget").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Budget, in trials").fill("9")
    dialog.get_by_role("button", name="Save").click()
    expect(page.locator("#figures")).to_contain_text("of 9")
    page.get_by_role("button", name="End the study").click()
    expect(page.locator("#figures .verdict")).to_contain_text("after 2 trials (the budget was 9). 1 trial is")
    expect(page.locator("#figures")).to_contain_text("of 2 trials done")
    page.locator(".toast", has_text="The study issues no new trials").get_by_role("button", name="Undo").click()
    expect(page.locator("#figures .pill").first).to_have_text("open")
    expect(page.locator("#figures")).to_contain_text("of 9")


def adds_a_result(page: Page) -> None:
    page.get_by_role("button", name="Add a result").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("minutes").fill("400")
    dialog.get_by_label("minutes").blur()
    expect(dialog.locator(".field", has=page.get_by_label("minutes"))).to_contain_text("outside the range")
    dialog.get_by_label("minutes").fill("25")
    dialog.get_by_label("flour").select_option("wheat")
    dialog.get_by_label("Result", exact=True).fill("3")
    dialog.get_by_role("button", name="Add the result").click()
    expect(page.get_by_text("Own result R2 is stored: ")).to_be_visible()
    expect(page.locator("#feed")).to_contain_text("A user's own result: 3")


def pastes_a_table(page: Page) -> None:
    page.get_by_role("button", name="Add a result").click()
    dialog = page.get_by_role("dialog")
    page.get_by_role("button", name="Paste a table instead").click()
    dialog.get_by_label("Table").fill("minutes\tMehl\tvalue\n30,5\trye\t5,5\n99\twheat\t6\n")
    dialog.get_by_role("button", name="Check first").click()
    dialog.get_by_label("Column Mehl is").select_option(label="flour")
    expect(dialog.get_by_role("alert")).to_contain_text("Line 3, column minutes: is 99")
    expect(dialog.locator("#paste-status")).to_have_text("1 of 2 lines can be added.")
    expect(dialog.locator("#paste-columns")).to_have_text(
        "Read: minutes from “minutes”, flour from “Mehl”, Result from “value”."
    )
    dialog.get_by_label("Line 3, minutes").fill("39")
    dialog.get_by_label("Line 3, minutes").press("Tab")
    dialog.get_by_role("button", name="Add 2 results").click()
    expect(page.get_by_text("Stored: 2 results.")).to_be_visible()


def gives_a_trial_back_and_tries_it_again(page: Page) -> None:
    page.goto("/studies/bread")
    page.get_by_role("button", name="Next trial").click()
    expect(page.get_by_label("Your name")).to_have_value("berta")
    page.get_by_role("button", name="Get the next trial").click()
    page.wait_for_url("**/trials/2")
    page.get_by_role("button", name="Report a problem").click()
    heading, dialog = page.get_by_role("heading", name="Trial 2"), page.get_by_role("dialog")
    assert accessible(page) == []
    dialog.get_by_label("What happened").fill("dropped")
    dialog.get_by_role("button", name="Try it again").click()
    expect(page.locator("#trial-events")).to_contain_text("dropped")
    expect(heading).to_contain_text("to try again")
    expect(page.get_by_role("button", name="Get a new trial")).to_be_visible()
    for back in ("Undo", "Try again"):
        page.get_by_role("button", name="Report a problem").click()
        dialog.get_by_label("What happened").fill("burnt")
        dialog.get_by_role("button", name="It failed").click()
        expect(heading).to_contain_text("failed")
        expect(page.locator("#trial-heading .primary")).to_have_text("Get a new trial")  # not the point that failed
        page.get_by_role("button", name=back).first.click()
        if back == "Try again":
            dialog.get_by_role("button", name="Try again").click()
        expect(heading).to_contain_text("to try again")
    page.set_viewport_size(PHONE)  # type: ignore[arg-type]
    outcome, why = (page.locator(part).bounding_box() for part in ("#trial-outcome", "#why"))
    assert outcome is not None
    assert why is not None
    assert outcome["y"] < why["y"]


def adds_a_failure_of_its_own(page: Page) -> None:
    page.goto("/studies/bread")
    page.get_by_role("button", name="Add a result").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="It failed").click()
    dialog.get_by_label("minutes").fill("55")
    dialog.get_by_label("flour").select_option("rye")
    dialog.get_by_label("Why").fill("burnt long ago")
    dialog.get_by_role("button", name="Add the failure").click()
    expect(page.get_by_text("Trial 3 is stored as failed.")).to_be_visible()
    expect(page.locator("#feed")).to_contain_text("Trial 3 failed: burnt long ago")
    page.emulate_media(media="print")
    expect(page.locator("#history")).to_be_hidden()
    expect(page.get_by_text("All results and the log are in the report")).to_be_visible()
    page.emulate_media(media="screen")


def takes_several_points(page: Page) -> None:
    page.goto("/studies/bread")
    page.get_by_role("button", name="Next trial").click()
    page.get_by_label("How many trials").fill("2")
    page.get_by_role("button", name="Get the next trial").click()
    page.wait_for_url("**/results?kind=open")
    expect(page.get_by_text("2 trials are reserved for you.")).to_be_visible()
    expect(page.locator("#rows tbody tr")).to_have_count(2)
    page.goto("/studies/bread")
    expect(page.locator("section.open li")).to_have_count(2)


@pytest.mark.long
def test_metrics_and_their_bounds_are_asked_for_and_shown(browser: Browser, site: str, api: httpx.Client) -> None:
    with new_study(browser, site, "limited") as page:
        for name in ("seconds", "memory"):
            page.get_by_role("button", name="Add a quantity").click()
            page.get_by_role("group", name="Quantity").last.get_by_label("Name").fill(name)
        row = page.get_by_role("group", name="Quantity 1")
        row.get_by_label("at least").fill("2,5")
        row.get_by_label("at most").fill("2")
        page.get_by_role("button", name="Create the study").click()
        expect(page.locator(".fault").filter(has_text="a lower bound no larger than")).to_be_visible()
        row.get_by_label("at least").fill("")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/limited")
    study = checked(api.get("/v1/studies/limited"))
    assert study["metrics"] == ["seconds", "memory"]
    assert study["outcome_constraints"] == [{"metric": "seconds", "lower": None, "upper": 2}]
    for _ in range(6):  # enough results to rely on the model
        (trial,) = checked(api.post("/v1/studies/limited/suggest", json={}))["trials"]
        told = {"value": trial["parameters"]["x"], "metrics": {"seconds": 3 * trial["parameters"]["x"], "memory": 1}}
        checked(api.post("/v1/studies/limited/observe", json={"trial": trial["number"], **told}))
    with tab(browser, site, refused=REFUSALS) as page:
        tells_metrics_with_their_errors(page)
        pastes_metrics_beyond_a_bound(page)
        last = checked(api.get("/v1/studies/limited/observations"))["items"][-1]
        assert (last["metrics"], last["std_errors"]) == ({"seconds": 9, "memory": 2}, {"memory": 0.5})
        page.get_by_role("button", name="Undo").hover()  # so that the message stays
        bounds_are_drawn(page, api)
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("#feed")).to_contain_text("Own result R8 was excluded")


def tells_metrics_with_their_errors(page: Page) -> None:
    page.goto("/studies/limited")
    page.get_by_role("button", name="Next trial").click()
    page.get_by_role("button", name="Get the next trial").click()
    page.wait_for_url("**/trials/7")
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
    expect(page.get_by_role("article")).to_contain_text("seconds1.50 ± 0.25 (at most 2)memory7")
    page.get_by_role("button", name="Correct").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Standard error of seconds").fill("")
    dialog.get_by_label("Standard error of memory").fill("1")
    dialog.get_by_role("button", name="Save the correction").click()
    expect(page.get_by_role("article")).to_contain_text("seconds1.5 (at most 2)memory7.0 ± 1.0")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("article")).to_contain_text("seconds1.50 ± 0.25 (at most 2)memory7")


def pastes_metrics_beyond_a_bound(page: Page) -> None:
    page.goto("/studies/limited")
    expect(page.locator("[data-metric=seconds] [data-by=model]")).to_be_visible()
    expect(page.locator("[data-metric=seconds] [data-by=model]")).to_contain_text("(90%: ")
    expect(page.locator("[data-feasible]")).to_contain_text("yes")
    page.get_by_role("button", name="Add a result").click()
    page.get_by_role("button", name="Paste a table instead").click()
    page.get_by_role("textbox", name="Table").fill("x,value,seconds,memory,std_errors.memory\n0.5,-9,9,2,0.5\n")
    page.get_by_role("button", name="Check first").click()
    page.get_by_role("button", name="Add 1 result").click()
    expect(page.get_by_text("Stored: 1 result.")).to_be_visible()


def bounds_are_drawn(page: Page, api: httpx.Client) -> None:
    drawn(page, "history")
    expect(page.locator("#history-caption")).to_contain_text("8 results; the best is ")
    expect(page.locator("#history-caption")).not_to_contain_text("the best is −9")  # it violates a bound
    page.get_by_label("The charts show").select_option("seconds")
    expect(page.locator("#history-caption")).to_have_text("8 results.")
    drawn(page, "slices")
    page.locator("#rows table").wait_for()
    results = checked(api.get("/v1/studies/limited/observations"))["items"]
    beyond = [each for each in results if each["metrics"]["seconds"] > 2]
    assert page.locator("#rows .beyond").count() == len(beyond)


@on_both
@pytest.mark.long
def test_constraints_are_written_a_line_each(browser: Browser, site: str, api: httpx.Client) -> None:
    with new_study(browser, site, "bounded") as page:
        page.get_by_label("Constraints, one per line").fill("x <= 0.5\n\nx + y <= 1")
        page.get_by_role("button", name="Create the study").click()
        expect(
            page.get_by_role("alert").filter(has_text="1 field needs a correction: Constraints, one per line")
        ).to_be_visible()
        page.get_by_label("Constraints, one per line").fill("x <= 0.5\n x >= 0.1")
        page.get_by_role("button", name="Create the study").click()
        page.wait_for_url("**/studies/bounded")
        expect(page.locator("#definition code")).to_have_text(["x <= 0.5", "x >= 0.1"])
    created = checked(api.get("/v1/studies/bounded"))
    assert created["constraints"] == ["x <= 0.5", "x >= 0.1"]
    assert created["lease_seconds"] == 86400, "a person evaluates"


@pytest.mark.long
def test_a_used_up_budget_is_raised_where_the_page_says_so(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    checked(
        api.post("/v1/studies", json={"id": "short", "direction": "minimize", "parameters": parameters, "budget": 1})
    )
    checked(api.post("/v1/studies/short/suggest", json={}))
    checked(api.post("/v1/studies/short/observe", json={"trial": 1, "value": 1}))
    with tab(browser, site) as page:
        page.goto("/studies/short")
        page.get_by_role("button", name="Raise the budget").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Budget, in trials").fill("3")
        dialog.get_by_role("button", name="Save").click()
        expect(page.get_by_role("button", name="Next trial")).to_be_visible()


@on_both
@pytest.mark.long
def test_a_result_that_is_late_can_still_be_entered(browser: Browser, site: str, api: httpx.Client) -> None:
    """The reservation of the trial ended, and the study allows one attempt, so the trial has failed."""
    study = {"id": "late", "direction": "minimize", "max_attempts": 1}
    checked(
        api.post("/v1/studies", json={**study, "parameters": [{"name": "x", "kind": "float", "low": 0, "high": 1}]})
    )
    checked(api.post("/v1/studies/late/suggest", json={"lease_seconds": 1}))
    wait_for(lambda: api.get("/v1/studies/late/trials/1").json()["state"] == "failed")  # not while somebody types
    with tab(browser, site) as page:
        page.goto("/studies/late/trials/1")
        expect(page.locator("#trial-heading .pill")).to_have_text("failed")
        expect(page.get_by_text("no result arrived before its reservation ended", exact=True)).to_be_visible()
        page.locator("#value").fill("0,5")
        page.get_by_role("button", name="Save the result").click()
        expect(page.locator("#trial-heading .pill")).to_have_text("completed")
    assert api.get("/v1/studies/late/trials/1").json()["value"] == 0.5


@pytest.mark.long
def test_a_failure_without_a_trial_is_counted_alike_everywhere(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    body = {"id": "alike", "direction": "maximize", "parameters": parameters, "budget": 9}
    checked(api.post("/v1/studies", json=body))
    checked(api.post("/v1/studies/alike/observe", json={"parameters": {"x": 0.3}, "state": "failed"}))
    for answer in ({"value": 1.0}, {"state": "failed"}):
        (trial,) = checked(api.post("/v1/studies/alike/suggest"))["trials"]
        checked(api.post("/v1/studies/alike/observe", json={"trial": trial["number"], **answer}))
    with tab(browser, site) as page:
        page.goto("/studies/alike")
        expect(page.locator(".counts")).to_contain_text("2 of 9 trials done, 1 of them failed")
        page.goto("/?text=alike")
        row = page.get_by_role("row").filter(has_text="alike")
        expect(row).to_contain_text("2 of 9")
        expect(row).to_contain_text("1 failed")
        page.goto("/studies/alike/report")
        expect(page.get_by_text("2 in total, 1 failed, besides 1 own or imported failure")).to_be_visible()


@pytest.mark.long
def test_the_list_says_that_a_study_ends_by_its_rule_while_a_trial_is_out(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    definition = {"id": "ruled", "direction": "minimize", "parameters": parameters, "stop": {"no_gain_for": 2}}
    checked(api.post("/v1/studies", json=definition))
    checked(api.post("/v1/studies/ruled/suggest", json={"count": 4}))
    with tab(browser, site) as page:
        for number in (1, 2, 3):
            page.goto("/")
            expect(page.locator("tr", has=page.locator("#study-ruled")).locator(".pill")).to_have_text("open")
            checked(api.post("/v1/studies/ruled/observe", json={"trial": number, "value": number}))
        page.goto("/")
        expect(page.locator("tr", has=page.locator("#study-ruled")).locator(".pill")).to_have_text("ending")
        page.goto("/studies/ruled")
        expect(page.locator("#figures .pill").first).to_have_text("ending")


@pytest.mark.long
def test_an_ended_study_with_a_trial_still_out_asks_only_for_its_result(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    definition = {"id": "ending", "direction": "minimize", "parameters": parameters, "budget": 9}
    checked(api.post("/v1/studies", json=definition))
    checked(api.post("/v1/studies/ending/suggest", json={}))
    checked(api.post("/v1/studies/ending/observe", json={"trial": 1, "value": 1}))
    checked(api.post("/v1/studies/ending/suggest", json={}))
    with tab(browser, site) as page:
        page.goto("/studies/ending")
        expect(page.locator(".verdict")).to_have_text("1 trial is running.")
        page.get_by_role("button", name="End the study").click()
        expect(page.locator(".verdict")).to_contain_text(
            "after 2 trials (the budget was 9). 1 trial is still without a"
        )
        expect(page.locator("#figures .pill").first).to_have_text("ending")
        expect(page.locator(".counts")).to_contain_text("1 of 2 trials done 1 running")
        expect(page.locator("#definition")).to_contain_text("2 trials")
        for absent in ("Next trial", "Queue a trial", "Pause", "End the study"):
            expect(page.get_by_role("button", name=absent)).to_have_count(0)
        expect(page.locator(".actions .primary")).to_have_text("Enter the result of trial 2")
        expect(page.get_by_role("button", name="Raise the budget")).to_be_visible()
        expect(page.locator("#assessment")).to_contain_text("The study issues no new trials.")
        page.goto("/")
        row = page.locator("tr", has=page.locator("#study-ending"))
        expect(row.locator(".pill")).to_have_text("ending")
        expect(row).to_contain_text("1 of 2 1 running")
        page.goto("/studies/ending")
        page.get_by_role("button", name="Continue the study").click()
        expect(page.get_by_role("button", name="Next trial")).to_be_visible()
        page.goto("/studies/ending/results")
        expect(page.locator("#rows tbody tr")).to_have_count(2)
        hidden = page.locator("th.noted, th.of-error")
        assert [each.is_visible() for each in hidden.all()] == [False, False]
        checked(api.patch("/v1/studies/ending/trials/1", json={"attributes": {"note": "cloudy"}}))
        page.reload()
        expect(page.get_by_role("columnheader", name="Note")).to_be_visible()


@pytest.mark.long
def test_all_failed_trials_are_tried_again_at_once(browser: Browser, site: str, api: httpx.Client) -> None:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    definition = {"id": "broken", "direction": "minimize", "parameters": parameters, "failure_limit": 3}
    checked(api.post("/v1/studies", json=definition))
    for number in range(1, 4):
        checked(api.post("/v1/studies/broken/suggest", json={}))
        checked(api.post("/v1/studies/broken/observe", json={"trial": number, "state": "failed"}))
    with tab(browser, site) as page:
        page.goto("/studies/broken")
        page.get_by_role("button", name="Try all 3 again").click()
        expect(page.get_by_text("3 trials will be issued again")).to_be_visible()
        expect(page.locator(".counts")).to_contain_text("3 waiting")
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_text("Resumed.", exact=True)).to_be_visible()
    issued = checked(api.post("/v1/studies/broken/suggest", json={"count": 3}))["trials"]
    assert [each["number"] for each in issued] == [1, 2, 3]


@pytest.mark.long
def test_fewer_trials_than_asked_for_have_a_reason(browser: Browser, site: str, api: httpx.Client) -> None:
    """The number holds for one request, and the page of the last trial says that the study has ended."""
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    definition = {"id": "last", "direction": "minimize", "parameters": parameters, "budget": 3}
    checked(api.post("/v1/studies", json=definition))
    with tab(browser, site) as page:
        for told in ("2 trials are reserved for you.", "You asked for 2. The budget is used up."):
            page.goto("/studies/last")
            page.get_by_role("button", name="Next trial").first.click()
            expect(page.get_by_label("How many trials")).to_have_value("")
            page.get_by_label("How many trials").fill("2")
            page.get_by_role("button", name="Get the next trial").click()
            expect(page.get_by_text(told)).to_be_visible()
        for number in (1, 2, 3):
            checked(api.post("/v1/studies/last/observe", json={"trial": number, "value": number}))
        page.goto("/studies/last/trials/3")
        expect(page.get_by_text("The study has ended. The budget is used up.")).to_be_visible()
