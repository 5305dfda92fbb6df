"""Open pages show changes by others, and send notifications: with real browsers, servers and receivers."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.acceptance.page.conftest import on_both
from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import REFUSALS, accessible, tab
from tests.integration.operations.receiver import LOOPBACK, receiving
from tests.samples import some
from tests.servers import server_on
from tests.waiting import wait_for

CHANGED = (412,)
"""The status of a change of a field that another person has changed."""

BROWSER = """
window.told = [];
window.Notification = class {
  static permission = "default";
  static async requestPermission() {
    return (Notification.permission = "granted");
  }
  constructor(title, { body }) {
    told.push(body);
  }
  addEventListener() {}
};
"""
"""Replaces the notifications of the browser, since headless Chromium denies them."""

STREAMS = """
window.streams = [];
window.heard = [];
window.EventSource = class extends EventSource {
  constructor(address) {
    super(address);
    streams.push(this);
  }
  addEventListener(kind, told) {
    super.addEventListener(kind, (event) => {
      told(event);
      heard.push(kind);
    });
  }
};
"""
"""Records the streams of events that a page opens, and the kinds of events that it has handled."""

TURN = """isHidden => {
    Object.defineProperty(document, 'hidden', {value: isHidden, configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
}"""
"""Hides the page or shows it, as if a user turned to another tab or back."""


@pytest.fixture(scope="module")
def site(database: str) -> Iterator[str]:
    with server_on(database, webhook_networks=LOOPBACK, sweep_seconds=0.05) as address:
        yield address


def study(api: httpx.Client, name: str, **definition: Any) -> str:
    parameters = [{"name": "x", "kind": "float", "low": 0, "high": 1}]
    checked(api.post("/v1/studies", json={"id": name, "direction": "minimize", "parameters": parameters, **definition}))
    return f"/v1/studies/{name}"


@on_both
@pytest.mark.long
def test_the_page_of_a_trial_follows_what_others_do(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "live")
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    with tab(browser, site) as page:
        page.goto("/studies/live/trials/1")
        facts = page.locator("#trial-facts")
        expect(facts).to_contain_text("Reserved until")
        expect(facts).to_contain_text(re.compile(r"in (1 hr|\d\d min)\."))
        checked(api.post(f"{path}/trials/1/release", json={"attempt": 1}))
        expect(page.locator("h1")).to_contain_text("to try again")
        expect(facts).not_to_contain_text("Reserved until")
        checked(api.post(f"{path}/suggest", json={"worker": "ben", "lease_seconds": 1}))
        expect(facts).to_contain_text("ben, attempt 2")
        expect(page.locator("h1")).to_contain_text("overdue")
        assert ">overdue<" in api.get("/studies/live", headers={"Accept": "text/html"}).text
        checked(api.post(f"{path}/observe", json={"trial": 1, "value": 0.25}))
        expect(page.get_by_role("article")).to_contain_text("0.25")
        expect(page.locator("#trial-events")).to_contain_text("Result 0.25")


@pytest.mark.long
def test_the_page_of_a_trial_is_not_read_again_for_results_without_a_trial(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    path = study(api, "others")
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    reads: list[str] = []
    with tab(browser, site) as page:
        page.goto("/studies/others/trials/1")
        page.on(
            "request",
            lambda each: (
                reads.append(each.url) if each.resource_type == "fetch" and each.url.endswith("/trials/1") else None
            ),
        )
        checked(api.post(f"{path}/observe", json={"parameters": {"x": 0.5}, "value": 1}))
        checked(api.patch(f"{path}/observations/1", json={"value": 2}))
        checked(api.post(f"{path}/trials/1/release", json={"attempt": 1}))
        expect(page.locator("h1")).to_contain_text("to try again")
        assert len(reads) == 1
        with page.expect_request("**/studies/others/trials/1"):
            checked(api.patch(path, json={"state": "paused"}))


def test_what_somebody_types_stays_when_another_one_is_faster(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "typed")
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    with tab(browser, site) as page:
        page.goto("/studies/typed/trials/1")
        page.get_by_label("Result", exact=True).fill("0,125")
        checked(api.post(f"{path}/observe", json={"trial": 1, "value": 0.25}))
        expect(page.locator("#changed")).to_contain_text("it is completed now")
        expect(page.get_by_label("Result", exact=True)).to_have_value("0,125")
        expect(page.locator("h1")).to_contain_text("completed")


@on_both
@pytest.mark.parametrize("shows", some(["results", "trials/1"], {"trials/1"}))
def test_a_correction_keeps_what_another_person_has_corrected_meanwhile(
    browser: Browser, site: str, api: httpx.Client, shows: str
) -> None:
    """Only changed fields are sent, and taken back. If both have changed the same field, the form says so first."""
    name = f"both-{shows[:6]}"
    bounds = [{"metric": "purity", "lower": 0.5}, {"metric": "smell", "upper": 9}]
    path = study(api, name, outcome_constraints=bounds)
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    told = {"trial": 1, "value": 1, "std_error": 0.5, "metrics": {"purity": 0.75, "smell": 3}}
    checked(api.post(f"{path}/observe", json=told))

    def stored() -> tuple[Any, ...]:
        (result,) = checked(api.get(f"{path}/observations"))["items"]
        return result["value"], result["std_error"], result["metrics"], result["excluded"]

    def begin(page: Page) -> Locator:
        page.goto(f"/studies/{name}/{shows}")
        page.get_by_role("button", name="Edit the result" if shows == "results" else "Correct").click()
        return page.locator("#rows" if shows == "results" else "#correct-1")

    with tab(browser, site, refused=CHANGED) as page:
        begin(page).get_by_label("purity", exact=True).fill("0,875")
        other = {"value": 2, "std_error": 0.25, "metrics": {"smell": 4}, "excluded": shows == "results"}
        checked(api.patch(f"{path}/observations/1", json=other))
        page.get_by_role("button", name="Save the correction").click()
        expect(page.get_by_text("The result is corrected.")).to_be_visible()
        assert stored() == (2, 0.25, {"purity": 0.875, "smell": 4}, shows == "results")
        checked(api.patch(f"{path}/observations/1", json={"metrics": {"smell": 5}, "excluded": False}))
        page.get_by_role("button", name="Undo").click()
        wait_for(lambda: stored() == (2, 0.25, {"purity": 0.75, "smell": 5}, False))

    with tab(browser, site, refused=CHANGED) as page:
        form = begin(page)
        form.get_by_label("Result", exact=True).fill("7")
        form.get_by_label("smell", exact=True).fill("6")
        checked(api.patch(f"{path}/observations/1", json={"value": 3, "metrics": {"smell": 6}}))
        save = page.get_by_role("button", name="Save the correction")
        save.click()
        expect(form.locator(".fault")).to_have_text(
            "Another person has changed this to 3 since you opened the form. To store your input instead, save again."
        )
        assert stored()[0] == 3
        save.click()
        expect(page.get_by_text("The result is corrected.")).to_be_visible()
        assert stored()[0] == 7
        page.get_by_role("button", name="Undo").click()
        wait_for(lambda: stored()[0] == 3)


@pytest.mark.long
def test_two_notes_on_a_trial_do_not_replace_each_other_silently(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    path = study(api, "noted")
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    with tab(browser, site, refused=CHANGED) as page:
        page.goto("/studies/noted/trials/1")
        page.get_by_role("button", name="Note", exact=True).click()
        page.get_by_label("Note about this trial").fill("mine")
        checked(api.patch(f"{path}/trials/1", json={"attributes": {"note": "theirs"}}))
        page.get_by_role("button", name="Save the note").click()
        expect(page.locator(".fault")).to_contain_text("Another person has changed this to “theirs”")
        assert checked(api.get(f"{path}/trials/1"))["attributes"] == {"note": "theirs"}
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("button", name="Edit the note").click()
        expect(page.get_by_label("Note about this trial")).to_have_value("theirs")


def test_a_change_of_a_trial_is_shown_though_a_read_of_the_page_has_failed(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """The page is read again after a pause, and also at the next event, even if this is about something else."""
    path = study(api, "failing")
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    refused: list[str] = []

    def refuse(route: Route) -> None:
        if route.request.resource_type != "fetch":
            route.continue_()
            return
        refused.append(route.request.url)
        route.fulfill(status=503)

    with tab(browser, site, refused=REFUSALS) as page:
        page.clock.install()
        page.route("**/studies/failing/trials/1", refuse)
        page.goto("/studies/failing/trials/1")
        page.clock.pause_at(page.evaluate("Date.now()") + 1000)
        checked(api.post(f"{path}/trials/1/release", json={"attempt": 1}))
        wait_for(lambda: page.evaluate("performance.now()") and len(refused) == 1)
        page.clock.fast_forward(3000)
        wait_for(lambda: page.evaluate("performance.now()") and len(refused) == 2)
        page.unroute("**/studies/failing/trials/1")
        expect(page.locator("h1")).to_contain_text("running")
        checked(api.post(f"{path}/observe", json={"parameters": {"x": 0.5}, "value": 1}))
        expect(page.locator("h1")).to_contain_text("to try again")


@pytest.mark.parametrize("why", some(["refused", "hidden"], {"refused"}))
def test_a_failed_read_is_repeated_at_the_next_event_only(
    browser: Browser, site: str, api: httpx.Client, why: str
) -> None:
    """If the server has refused it for good, or the page is hidden."""
    path = study(api, f"once-{why}")
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    reads: list[str] = []

    def refuse(route: Route) -> None:
        if route.request.resource_type != "fetch":
            route.continue_()
            return
        reads.append(route.request.url)
        route.fulfill(status=404 if why == "refused" else 503)

    with tab(browser, site, refused=(404, 503)) as page:
        page.clock.install()
        page.route("**/trials/1", refuse)
        page.goto(f"/studies/once-{why}/trials/1")
        page.clock.pause_at(page.evaluate("Date.now()") + 1000)
        checked(api.post(f"{path}/trials/1/release", json={"attempt": 1}))
        wait_for(lambda: page.evaluate("performance.now()") and len(reads) == 1)
        if why == "hidden":
            page.evaluate(TURN, True)
        page.clock.run_for(120_000)
        page.wait_for_timeout(500)  # for further requests
        assert len(reads) == 1
        page.unroute("**/trials/1")
        if why == "hidden":
            page.evaluate(TURN, False)
        else:
            checked(api.post(f"{path}/observe", json={"parameters": {"x": 0.5}, "value": 1}))
        expect(page.locator("h1")).to_contain_text("to try again")


def open_row(page: Page, trial: int) -> None:
    """Open the row of a trial. A click that begins on a row which is then replaced is lost."""
    button = page.get_by_role("button", name=f"Enter the result of trial {trial}")
    field = page.locator("#rows").get_by_label("Result", exact=True)

    def is_open() -> bool:
        if not field.is_visible():
            button.click()
        return field.is_visible()

    wait_for(is_open)


def test_the_table_of_all_results_follows_but_does_not_move_under_a_person_who_types(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    path = study(api, "followed")
    checked(api.post(f"{path}/suggest", json={"worker": "anna", "count": 3}))
    with tab(browser, site) as page:
        page.goto("/studies/followed/results")
        rows, news = page.locator("#rows tbody th"), page.locator("#news")
        expect(rows).to_have_text(["3", "2", "1"])
        checked(api.post(f"{path}/observe", json={"trial": 1, "value": 0.25}))
        expect(page.locator("#result-1")).to_contain_text("0.25")
        expect(news).to_be_hidden()

        open_row(page, 2)
        value = page.locator("#rows").get_by_label("Result", exact=True)
        value.fill("0,5")
        for number in (1, 2, 3):
            checked(api.post(f"{path}/observe", json={"parameters": {"x": number / 8}, "value": number}))
        expect(news).to_contain_text("3 new results")
        assert accessible(page) == []
        expect(rows).to_have_count(3)
        news.get_by_role("button", name="Show").click()
        expect(rows).to_have_count(6)
        expect(news).to_be_hidden()
        expect(value).to_have_value("0,5")
        page.get_by_role("button", name="Save the result").click()
        expect(page.locator("#result-5")).to_contain_text("0.5")
        expect(news).to_be_hidden()

        open_row(page, 3)
        value.fill("0,7")
        checked(api.post(f"{path}/observe", json={"trial": 3, "value": 0.75}))
        expect(news).to_contain_text("1 new result")
        news.get_by_role("button", name="Show").click()
        expect(page.get_by_text("Trial 3 has changed. Your input was not stored: 0,7")).to_be_visible()

        page.get_by_role("searchbox", name="Worker").focus()
        checked(api.post(f"{path}/suggest", json={"worker": "ben"}))
        expect(news).to_contain_text("New changes")
        expect(rows).to_have_count(6)
        news.get_by_role("button", name="Show").click()
        expect(rows).to_have_count(7)


@pytest.mark.long
def test_the_table_follows_after_a_person_has_sorted_it_with_an_open_row(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    path = study(api, "sorted")
    checked(api.post(f"{path}/suggest", json={"worker": "anna", "count": 2}))
    with tab(browser, site) as page:
        page.goto("/studies/sorted/results")
        open_row(page, 2)
        expect(page.locator("#row-form")).to_be_visible()
        page.get_by_role("link", name="Worker").click()
        expect(page.locator("#row-form")).to_have_count(0)
        checked(api.post(f"{path}/observe", json={"trial": 1, "value": 0.25}))
        expect(page.locator("#result-1")).to_contain_text("0.25")
        expect(page.locator("#news")).to_be_hidden()


@pytest.mark.long
def test_who_enters_results_in_turn_is_not_told_of_them(browser: Browser, site: str, api: httpx.Client) -> None:
    """The table is read when a result is stored, and the event of this result arrives when the next row is open."""
    path = study(api, "turns")
    checked(api.post(f"{path}/suggest", json={"worker": "anna", "count": 2}))
    with tab(browser, site) as page:
        page.add_init_script(STREAMS)
        page.clock.install()
        page.goto("/studies/turns/results")
        open_row(page, 2)
        page.locator("#rows").get_by_label("Result", exact=True).fill("0,5")
        page.get_by_role("button", name="Save the result").click()
        expect(page.locator("#result-1")).to_contain_text("0.5")
        open_row(page, 1)
        wait_for(lambda: page.evaluate("heard.includes('observed')"))
        page.clock.fast_forward(10_000)
        expect(page.locator("#row-form")).to_be_visible()
        assert page.locator("#news").is_hidden()


@pytest.mark.long
def test_changes_are_shown_in_the_fields_of_an_open_row_that_nobody_typed_into(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    path = study(api, "corrected")
    checked(api.post(f"{path}/observe", json={"parameters": {"x": 0.5}, "value": 1, "std_error": 0.5}))
    with tab(browser, site) as page:
        page.goto("/studies/corrected/results?kind=counting")
        rows, news = page.locator("#rows"), page.locator("#news")
        page.locator("#result-1-edit").click()
        rows.get_by_label("Standard error").fill("0,25")
        rows.get_by_label("Reason, for the log").fill("read again")
        checked(api.patch(f"{path}/observations/1", json={"value": 2}))
        news.get_by_role("button", name="Show").click()
        expect(rows.get_by_label("Result", exact=True)).to_have_value("2")
        expect(rows.get_by_label("Standard error")).to_have_value("0,25")
        expect(rows.get_by_label("Reason, for the log")).to_have_value("read again")
        page.get_by_role("button", name="Save the correction").click()
        expect(page.get_by_text("The result is corrected.")).to_be_visible()
        (result,) = checked(api.get(f"{path}/observations"))["items"]
        assert (result["value"], result["std_error"]) == (2, 0.25)

        expect(page.locator("#row-form")).to_have_count(0)
        page.locator("#result-1-edit").click()
        rows.get_by_label("Result", exact=True).fill("3")
        checked(api.patch(f"{path}/observations/1", json={"excluded": True}))
        news.get_by_role("button", name="Show").click()
        expect(page.get_by_text("Result R1 has changed. Your input was not stored: 3")).to_be_visible()


@pytest.mark.parametrize("shows", ["results", "trials/1"])
@pytest.mark.long
def test_a_hidden_page_holds_no_connection_and_shows_what_it_missed(
    browser: Browser, site: str, api: httpx.Client, shows: str
) -> None:
    name = f"hidden-{shows[:6]}"
    path = study(api, name)
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    connected = "streams.filter(({readyState}) => readyState !== EventSource.CLOSED).length"
    with tab(browser, site) as page:
        page.add_init_script(STREAMS)
        page.goto(f"/studies/{name}/{shows}")
        wait_for(lambda: page.evaluate("heard.includes('open')"))
        page.evaluate(TURN, True)
        assert page.evaluate(connected) == 0
        checked(api.post(f"{path}/observe", json={"trial": 1, "value": 7.125}))
        page.evaluate(TURN, False)
        assert page.evaluate(connected) == 1
        expect(page.locator("main")).to_contain_text("7.125")
        page.evaluate(TURN, False)
        assert page.evaluate(connected) == 1


@pytest.mark.long
def test_a_browser_notifies_only_who_has_asked_for_it(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "noticed")
    with tab(browser, site) as page:
        page.add_init_script(BROWSER)
        page.goto("/studies/noticed")
        expect(page.locator("#live")).to_have_text("live")
        page.evaluate("Object.defineProperty(document, 'hidden', {value: true})")
        checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
        expect(page.locator("#feed li").first).to_contain_text("Trial 1")
        assert page.evaluate("told") == []
        button = page.locator("#notify")
        button.click()
        expect(button).to_have_attribute("aria-pressed", "true")
        checked(api.post(f"{path}/observe", json={"parameters": {"x": 0.5}, "value": 0.75}))  # not of a trial
        checked(api.post(f"{path}/observe", json={"trial": 1, "value": 0.25}))
        wait_for(lambda: page.evaluate("told.length"))
        assert page.evaluate("told") == ["Trial 1 gave 0.25"]
        button.click()
        expect(button).to_have_attribute("aria-pressed", "false")
        checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
        expect(page.locator("#feed li").first).to_contain_text("Trial 2")
        assert page.evaluate("told") == ["Trial 1 gave 0.25"]


@pytest.mark.long
def test_events_give_their_reasons_in_words(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "reasons", max_attempts=1, failure_limit=1, budget=3)
    checked(api.post(f"{path}/suggest", json={"lease_seconds": 1}))
    wait_for(lambda: api.get(path).json()["state"] == "paused")
    checked(api.patch(path, json={"state": "running"}))
    checked(api.post(f"{path}/suggest"))
    checked(api.post(f"{path}/observe", json={"trial": 2, "state": "failed", "reason": "budget"}))
    checked(api.patch(path, json={"budget": 2, "failure_limit": None}))
    with tab(browser, site) as page:
        page.goto("/studies/reasons")
        feed = page.locator("#feed")
        expect(feed).to_contain_text("Trial 1 failed: no result arrived before its reservation ended")
        expect(feed).to_contain_text("Paused, because too many trials in a row failed. Remove the cause, then resume.")
        expect(feed).to_contain_text("Trial 2 failed: budget")
        expect(feed).to_contain_text("The study is complete. Ended by a user.")
        for code in ("max_attempts", ": failures", "complete: budget"):
            expect(feed).not_to_contain_text(code)
        page.goto("/studies/reasons/report")
        expect(page.get_by_role("main")).to_contain_text("no result arrived before its reservation ended")
        expect(page.get_by_role("main")).to_contain_text("Ended by a user.")
        page.goto("/studies/reasons/trials/1")
        expect(page.locator("#trial-events")).to_contain_text("Failed: no result arrived before its reservation ended")


@pytest.mark.long
def test_the_feed_and_the_report_write_changed_settings_alike(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(
        api, "settings", quantities={"value": {"label": "Yield", "unit": "%"}}, pending_limit=3, plates={"size": 2}
    )
    changes = {
        "budget": {"plates": 3},
        "lease_seconds": 86400,
        "max_runtime_seconds": 5400,
        "pending_limit": None,
        "stop": {"no_gain_for": 9, "gap_share_below": 0.05},
        "tags": {"project": "c12"},
        "title": "Gluing",
        "tolerance": 0.5,
    }
    checked(api.patch(path, json=changes))
    with tab(browser, site) as page:
        page.goto("/studies/settings")
        told = page.locator("#feed li").first.evaluate("each => each.dataset.words")
        for part in (
            "budget = 3 plates",
            "reservation = 1 d",
            "time limit of an attempt = 90 min",
            "= 0.5\N{NO-BREAK SPACE}percentage points",
        ):
            assert part in told
        assert "_" not in told
        report = api.get("/studies/settings/report", headers={"Accept": "text/html"})
        assert told in html.unescape(report.text)
        for another, words in (
            ({"budget": {"plates": 1}}, "Changed: budget = 1 plate (it was 3 plates)"),
            (
                {"parameters": [{"name": "x", "label": "Heat", "kind": "float", "low": 0, "high": 1}]},
                "Changed: names and units of parameters",
            ),
        ):
            checked(api.patch(path, json=another))
            expect(page.locator("#feed li").first).to_have_attribute("data-words", words)
            report = api.get("/studies/settings/report", headers={"Accept": "text/html"})
            assert words in html.unescape(report.text)


@pytest.mark.long
def test_a_browser_that_denies_notifications_is_not_asked(browser: Browser, site: str, api: httpx.Client) -> None:
    study(api, "denied")
    with tab(browser, site) as page:
        page.goto("/studies/denied")
        expect(page.locator("#notify")).to_be_disabled()
        expect(page.locator("#notify")).to_have_text("This browser blocks notifications from this page")


@pytest.mark.long
def test_a_webhook_is_added_turned_off_and_deleted_by_a_form(browser: Browser, site: str, api: httpx.Client) -> None:
    path = study(api, "hooked")
    with receiving() as receiver, tab(browser, site, refused=[422]) as page:
        page.goto("/studies/hooked")
        page.get_by_role("link", name="Webhooks").click()
        page.get_by_label("Address").fill("http://10.0.0.1/")
        page.get_by_role("button", name="Add the webhook").click()
        expect(page.locator(".fault")).to_contain_text("webhook_networks")
        page.get_by_label("Address").fill(receiver.address)
        page.get_by_label("a trial is issued").uncheck()
        page.get_by_role("button", name="Add the webhook").click()
        expect(page.get_by_label("The secret that signs its messages")).to_have_value(
            re.compile("^whsec_[A-Za-z0-9+/]{43}=$")
        )
        checked(api.post(f"{path}/suggest", json={}))
        checked(api.post(f"{path}/observe", json={"trial": 1, "value": 0.25}))
        wait_for(lambda: receiver.accepted)
        assert [each["notification"] for each in receiver.accepted] == ["trial.done"]
        wait_for(lambda: checked(api.get(f"{path}/webhooks"))["items"][0]["delivered"])
        page.reload()
        assert not accessible(page)
        row = page.get_by_role("row", name=receiver.address)
        expect(row).to_contain_text("trial.done, study.ended, study.needs_attention")
        page.get_by_role("button", name=f"Turn off {receiver.address}").click()
        expect(page.get_by_role("button", name=f"Turn on {receiver.address}")).to_be_visible()
        page.get_by_role("button", name=f"Delete {receiver.address}").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.get_by_role("row", name=receiver.address)).to_have_count(0)
        assert checked(api.get(f"{path}/webhooks"))["items"] == []


@pytest.mark.long
def test_photographs_are_added_shown_and_deleted_on_the_page_of_a_trial(
    browser: Browser, site: str, api: httpx.Client, tmp_path: Path
) -> None:
    path = study(api, "photographed")
    checked(api.post(f"{path}/suggest", json={"worker": "anna"}))
    photo, page_of_html = tmp_path / "photo.png", tmp_path / "page.html"
    Image.new("RGB", (64, 48), (200, 30, 30)).save(photo)
    page_of_html.write_text("<script>parent.document.title = 'run'</script>")
    with tab(browser, site, refused=[422]) as page:
        page.goto("/studies/photographed/trials/1")
        page.get_by_label("Add files").set_input_files([photo, page_of_html])
        image = page.get_by_role("img", name="photo.png")
        expect(image).to_be_visible()
        wait_for(lambda: page.evaluate("document.querySelector('.files img').naturalWidth === 64"))
        expect(page.locator("#files")).to_contain_text("page.html")
        assert page.locator("#files img").count() == 1
        assert not accessible(page)
        with page.expect_download() as download:
            page.get_by_role("link", name="page.html").click()
        assert Path(download.value.path()).read_text() == page_of_html.read_text()
        (tmp_path / "empty").touch()
        page.get_by_label("Add files").set_input_files(tmp_path / "empty")
        expect(page.locator("#files-problem")).to_contain_text("empty: The body: is empty")
        page.get_by_role("button", name="Delete photo.png").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete the file").click()
        expect(page.get_by_role("img", name="photo.png")).to_have_count(0)
        expect(page.locator("#files")).to_contain_text("page.html")


@pytest.mark.long
def test_who_may_only_read_by_now_is_told_why_no_file_is_added(browser: Browser, site: str, tmp_path: Path) -> None:
    """The last test of this server, since it stops the server."""
    tokens: dict[str, str] = {}
    for name, scope in {"root": "admin", "ann": "work", "ben": "work"}.items():
        headers = {"Authorization": f"Bearer {tokens['root']}"} if tokens else {}
        made = httpx.post(f"{site}/v1/tokens", json={"name": name, "scopes": [scope]}, headers=headers)
        tokens[name] = checked(made)["token"]
    photo = tmp_path / "photo.png"
    Image.new("RGB", (64, 48)).save(photo)
    with httpx.Client(base_url=site, headers={"Authorization": f"Bearer {tokens['ann']}"}, timeout=60) as ann:
        path = study(ann, "shared")
        checked(ann.post(f"{path}/suggest"))
        checked(ann.patch(f"{path}/access", json={"shared_with": {"ben": "work"}}))
        with tab(browser, site, refused=(*REFUSALS, 403)) as page:
            page.goto(f"/studies/shared/trials/1#token={tokens['ben']}")
            page.get_by_role("button", name="Log in with the link").click()
            adding = page.get_by_label("Add files")
            expect(adding).to_be_visible()
            checked(ann.patch(f"{path}/access", json={"shared_with": {"ben": "read"}}))
            adding.set_input_files(photo)
            expect(page.locator("#toasts")).to_contain_text("photo.png: ")
            expect(adding).to_have_count(0)
