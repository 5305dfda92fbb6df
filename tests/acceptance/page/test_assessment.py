"""The sentences at the top of a study's page, and the checks of its model."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Route, expect

from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import PHONE, accessible, drawn, tab, unfold

LAB: list[dict[str, Any]] = [
    {"name": "temperature", "kind": "float", "low": 20, "high": 100},
    {"name": "catalyst", "kind": "categorical", "choices": ["XPhos", "SPhos", "PPh3"]},
]


def lab(api: httpx.Client, study: str, results: int, **changes: object) -> None:
    """Yields that rise with the temperature, with one wrong entry, and only two of the three catalysts."""
    body = {"id": study, "direction": "maximize", "parameters": LAB, "seed": 1, **changes}
    checked(api.post("/v1/studies", json=body))
    for number in range(results):
        point = {"temperature": 20 + number * 37 % 81, "catalyst": LAB[1]["choices"][number % 2]}
        value = 0.5 * point["temperature"] + 8 * (number % 2) + 0.3 * (number % 5)
        told = 340.5 if number == 5 else round(value, 1)
        checked(api.post(f"/v1/studies/{study}/observe", json={"parameters": point, "value": told}))


@pytest.mark.parametrize("size", [None, PHONE])
@pytest.mark.long
def test_the_page_has_the_sentences_of_the_api(browser: Browser, site: str, api: httpx.Client, size: Any) -> None:
    study = "lab-phone" if size else "lab"
    lab(api, study, 22)
    found = checked(api.get(f"/v1/studies/{study}/assessment"))
    with tab(browser, site, **({"size": size} if size else {})) as page:
        page.goto(f"/studies/{study}")
        panel = page.locator("#assessment")
        expect(panel.locator("dt").first).to_have_text("Is it going well?")
        for part in ("progress", "findings", "outlook"):
            for line in found[part]["text"].splitlines():
                expect(panel).to_contain_text(line)
        expect(panel.locator(".checks li")).to_have_count(len(found["checks"]))
        for check in found["checks"]:
            expect(panel.locator(".checks")).to_contain_text(check["text"])
        drawn(page, "validation")
        expect(page.locator("#validation-caption")).to_contain_text(found["verdicts"][""]["text"])
        assert accessible(page) == []


@pytest.mark.long
def test_the_outlier_leads_to_its_result_and_is_gone_when_it_is_corrected(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    """The sentences are updated without a reload."""
    lab(api, "typo", 22)
    with tab(browser, site) as page:
        page.goto("/studies/typo")
        look = page.locator(".checks").get_by_role("link", name="Look at own result R6")
        expect(look).to_be_visible()
        assert (look.get_attribute("href") or "").endswith("/studies/typo/results/6")
        best = page.locator("#figures .main")
        expect(best).to_contain_text("340.5")
        expect(page.locator("#recommended-now")).to_contain_text("Recommended: expected by the model")
        columns = [page.locator(each).bounding_box() for each in ("#recommended-now", "#measured-now")]
        assert columns[0]
        assert columns[1]
        assert abs(columns[0]["width"] - columns[1]["width"]) < 2
        sizes = "(all) => all.map((each) => getComputedStyle(each).fontSize)"
        assert len(set(best.locator("strong").evaluate_all(sizes))) == 1
        expect(best).to_contain_text("Do not rely on this number: see the warnings below.")
        links = page.locator(".checks").get_by_role("link", name=re.compile("^(Correct|Exclude)$"))
        assert [each.get_attribute("href") for each in links.all()] == [
            f"/studies/typo/results/6#{each}-6" for each in ("correct", "exclude")
        ]
        drawn(page, "history")
        expect(page.locator("#history-caption")).to_contain_text("the best is ")
        expect(page.locator("#history-caption")).not_to_contain_text("340.5")
        page.goto("/studies/typo/report")
        expect(page.locator("#first-page .doubted")).to_contain_text("340.5 Do not rely on this number")
        page.goto("/compare?study=typo&study=typo")
        expect(page.locator("#compared")).to_contain_text("do not rely on it: see its warnings")
        page.goto("/?text=typo")
        listed = page.locator("tr", has=page.locator("#study-typo"))
        expect(listed).to_contain_text("340.5")
        expect(listed).to_contain_text("do not rely on it: see its warnings")
        page.goto("/studies/typo/results/6#exclude-6")
        expect(page.get_by_role("dialog")).to_contain_text("Exclude own result R6?")
        page.goto("/studies/typo")
        expect(best).to_contain_text("340.5")
        checked(api.patch("/v1/studies/typo/observations/6", json={"value": 29.5}))
        expect(page.locator("#assessment")).not_to_contain_text("Own result R6 is")
        expect(page.locator("#assessment dd").first).to_contain_text("The best of 22 results is")
        expect(best).not_to_contain_text("Do not rely")


def test_a_choice_that_was_never_tried_is_filled_in_for_the_next_experiment(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    lab(api, "try", 3)
    with tab(browser, site) as page:
        page.goto("/studies/try")
        best = page.locator("#best")
        missing = "The model needs 6 more results to compare parameters and to bound the remaining gain."
        expect(best.locator(".banner")).to_contain_text(missing)
        expect(best.locator("[data-by=observed]").first).to_have_text("94")
        expect(best.locator("[data-by=model]:visible")).to_have_count(0)
        early = "trust the model: it needs 6 more results"
        for chart, told in {"validation": early, "importance": missing, "slices": missing, "contour": missing}.items():
            unfold(page, chart)
            expect(page.locator(f"#{chart}-caption")).to_contain_text(told)
        page.locator("#assessment").get_by_role("button", name="Try PPh3").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_label("catalyst")).to_have_value('"PPh3"')
        assert checked(api.get("/v1/studies/try/trials"))["items"] == []
        dialog.get_by_role("button", name="Get the next trial").click()
        page.wait_for_url("**/studies/try/trials/1")
        expect(page.locator("main")).to_contain_text("PPh3")
    (trial,) = checked(api.get("/v1/studies/try/trials"))["items"]
    assert trial["parameters"]["catalyst"] == "PPh3"


@pytest.mark.long
def test_a_range_is_widened_and_narrowed_again(browser: Browser, site: str, api: httpx.Client) -> None:
    lab(api, "edge", 5)
    for number in range(16):  # without outliers
        point = {"temperature": 100 - number * 5, "catalyst": "XPhos"}
        checked(api.post("/v1/studies/edge/observe", json={"parameters": point, "value": 80 - number * 2.5}))
    with tab(browser, site) as page:
        page.goto("/studies/edge")
        page.locator(".checks").get_by_role("button", name="Widen temperature").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("The range of temperature is 20 – 100 now.")
        expect(dialog).to_contain_text("only a value that is possible and safe")
        expect(dialog.get_by_label("New upper end")).to_have_value("")
        page.get_by_role("button", name="Widen it").click()
        assert high(api) == 100
        dialog.get_by_label("New upper end").fill("130")
        page.get_by_role("button", name="Widen it").click()
        expect(page.locator("#toasts")).to_contain_text("The range is wider now.")
        assert high(api) == 130
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(page.locator(".checks").get_by_role("button", name="Widen temperature")).to_be_visible()
        assert high(api) == 100


def high(api: httpx.Client) -> float:
    found: float = checked(api.get("/v1/studies/edge"))["parameters"][0]["high"]
    return found


@pytest.mark.long
def test_what_a_busy_model_did_not_say_comes_later(browser: Browser, site: str, api: httpx.Client) -> None:
    """Without a change of the study."""
    lab(api, "busy", 9)
    found = checked(api.get("/v1/studies/busy/assessment"))
    late = {"check": "model_busy", "text": "It did not answer."}
    answers = [{**found, "findings": None, "checks": [late]}]

    def answer(route: Route) -> None:
        if answers:
            route.fulfill(json=answers.pop())
        else:
            route.continue_()

    with tab(browser, site) as page:
        page.route("**/assessment", answer)
        page.goto("/studies/busy")
        expect(page.locator("#assessment")).to_contain_text("It did not answer.")
        expect(page.locator("#assessment")).not_to_contain_text("It did not answer.")
        expect(page.locator("#assessment")).to_contain_text(found["findings"]["text"])


@pytest.mark.long
def test_a_trial_is_repeated_annotated_and_followed_by_the_next(browser: Browser, site: str, api: httpx.Client) -> None:
    checked(api.post("/v1/studies", json={"id": "rows", "direction": "maximize", "parameters": LAB, "seed": 1}))
    (trial,) = checked(api.post("/v1/studies/rows/suggest", json={}))["trials"]
    checked(api.post("/v1/studies/rows/observe", json={"trial": 1, "value": 3.5}))
    with tab(browser, site) as page:
        page.goto("/studies/rows/trials/1")
        page.get_by_role("button", name="Note").click()
        page.locator("#note-text").fill("turned brown")
        page.get_by_role("button", name="Save the note").click()
        expect(page.locator(".facts").first).to_contain_text("turned brown")
        assert checked(api.get("/v1/studies/rows/trials/1"))["attributes"] == {"note": "turned brown"}
        page.locator("#toasts").get_by_role("button", name="Undo").click()
        expect(page.locator(".facts").first).not_to_contain_text("turned brown")
        expect(page.get_by_role("list").last).to_contain_text("turned brown")  # the log keeps it
        assert checked(api.get("/v1/studies/rows/trials/1"))["attributes"] == {}
        page.get_by_role("button", name="Repeat this trial").click()
        page.get_by_label("How many times").fill("2")
        page.get_by_role("button", name="Queue it").click()
        expect(page.locator("#toasts")).to_contain_text("Trials 2 to 3 are queued.")
        page.get_by_role("button", name="Get a new trial").click()
        page.get_by_role("button", name="Get the next trial").click()
        page.wait_for_url("**/studies/rows/trials/2")
        expect(page.locator("#why")).to_contain_text("A user queued it to repeat trial 1, which gave 3.5.")
        page.get_by_label("Result", exact=True).fill("4,5")
        page.get_by_role("button", name="Save the result").click()
        outcome = page.locator("#trial-outcome")
        expect(outcome).to_contain_text(
            "Other results with these conditions: 3.5 of trial 1. Mean of the 2 that count: 4."
        )
        expect(outcome).to_contain_text("This one is 1.0 more than the first.")
        page.goto("/studies/rows/results")
        expect(page.locator("#rows tbody tr", has_text="repetition")).to_have_count(2)
        expect(page.locator("#rows").get_by_text("1 of 2 here, mean 4")).to_have_count(2)
    repeated = checked(api.get("/v1/studies/rows/trials/2"))
    assert (repeated["parameters"], repeated["value"]) == (trial["parameters"], 4.5)


@pytest.mark.long
def test_an_unusual_result_is_marked_until_it_is_confirmed(browser: Browser, site: str, api: httpx.Client) -> None:
    """From the moment of the entry, in the table and on the page of its trial."""
    lab(api, "marked", 20)
    best = checked(api.get("/v1/studies/marked"))["best"]
    told = {"parameters": best["parameters"], "value": best["value"] * 3}
    seq = checked(api.post("/v1/studies/marked/observe", json=told))["observation"]["seq"]
    with tab(browser, site) as page:
        page.goto("/studies/marked/results")
        row = page.locator(f"#result-{seq}")
        link = row.get_by_role("link", name="unusual: check")
        expect(link).to_have_attribute("title", re.compile("at the same point, own result R6 gave 340.5"))
        assert accessible(page) == []
        link.click()
        expect(page.get_by_text("This is unusual: at the same point")).to_be_visible()
        page.get_by_role("button", name="The number is right").click()
        expect(page.get_by_text("The number is confirmed.")).to_be_visible()
        with page.expect_response("**/unusual.json*"):
            page.goto("/studies/marked/results")
        expect(row).to_be_visible()
        expect(row.get_by_role("link", name="unusual: check")).to_have_count(0)
        checked(api.patch(f"/v1/studies/marked/observations/{seq}", json={"value": best["value"] * 2}))
        page.goto("/studies/marked/results")
        expect(row.get_by_role("link", name="unusual: check")).to_be_visible()
        checked(api.patch(f"/v1/studies/marked/observations/{seq}", json={"value": best["value"] / 10}))
        page.goto("/studies/marked/results")
        expect(page.locator("#result-6").get_by_role("link", name="unusual: check")).to_be_visible()
        expect(row.get_by_role("link", name="unusual: check")).to_have_count(0)
