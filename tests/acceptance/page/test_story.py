"""docs/stories/reaction.md: a chemist runs a whole study in the browser, with incidents."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser

from examples.stories.reaction import measured_yield
from tests.acceptance.page.chemist import BOILED_OVER, EMPTY_BOTTLE, OTHER_BATH, STUDY, Chemist
from tests.acceptance.page.studies import checked
from tests.acceptance.page.tabs import tab

EXPERIMENTS = 8


@pytest.mark.long
def test_a_chemist_runs_a_study_and_everything_that_happened_is_in_the_report(
    browser: Browser, site: str, api: httpx.Client
) -> None:
    with tab(browser, site) as page:
        chemist = Chemist(page)
        chemist.works(EXPERIMENTS)
    assert "Can I stop?" in chemist.conclusion
    trials = {each["number"]: each for each in checked(api.get(f"/v1/studies/{STUDY}/trials"))["items"]}
    assert (trials[BOILED_OVER]["state"], trials[BOILED_OVER]["reason"]) == ("failed", "boiled over")
    results = checked(api.get(f"/v1/studies/{STUDY}/observations"))["items"]
    for each in results:
        assert each["value"] == measured_yield(*each["parameters"].values())
    differ = [each["trial"] for each in results if each["parameters"] != trials[each["trial"]]["parameters"]]
    assert differ == [OTHER_BATH]
    later = [each for each in results if each["trial"] > EMPTY_BOTTLE]
    assert later
    assert chemist.missing not in {each["parameters"]["ligand"] for each in later}
    report = api.get(f"/v1/studies/{STUDY}/report").text
    assert "boiled over" in report
    assert chemist.missing in report
