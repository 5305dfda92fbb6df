"""Results that violate a bound, and the best compromises among the others, in a real Chromium."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.acceptance.page.studies import COATING, checked
from tests.acceptance.page.tabs import PHONE, tab

pytestmark = pytest.mark.long

POINT = {"binder": 60, "acetate": 20, "xylene": 20, "hardener": "Tolonate HDT", "humidity": 50}

IS_ON_TOP = """field => {
    field.scrollIntoView({ inline: "center" });
    const { left, top, width, height } = field.getBoundingClientRect();
    const cell = field.closest("td").getBoundingClientRect();
    const places = [0.1, 0.5, 0.9].map(share => document.elementFromPoint(left + share * width, top + height / 2));
    return places.every(each => each === field) && left >= cell.left && left + width <= cell.right;
}"""
"""Whether all of a field can be seen and clicked."""


def measured(api: httpx.Client, study: str, hardness: float, price: float, viscosity: float) -> None:
    """A result that a person gives for a point of their own."""
    metrics = {"hardness": hardness, "price": price, "viscosity": viscosity}
    checked(api.post(f"/v1/studies/{study}/observe", json={"parameters": POINT, "metrics": metrics}))


@pytest.mark.parametrize("size", [{"width": 1366, "height": 768}, PHONE], ids=["desktop", "phone"])
def test_a_number_that_violates_a_bound_can_be_edited(
    browser: Browser, site: str, api: httpx.Client, size: dict[str, int]
) -> None:
    study = f"edited-{size['width']}"
    checked(api.post("/v1/studies", json={"id": study, **COATING}))
    measured(api, study, 112.1, 5.2, 1625.5)
    with tab(browser, site, size=size) as page:
        page.goto(f"/studies/{study}/results")
        cell = page.locator("td[data-measured=viscosity]")
        expect(cell).to_have_text("1\N{NARROW NO-BREAK SPACE}625.5")
        page.get_by_role("button", name="Edit own result R1").click()
        field = cell.get_by_role("textbox")
        expect(field).to_have_value("1625.5")
        assert field.evaluate(IS_ON_TOP)
        page.get_by_role("button", name="Cancel").click()
        cell.dblclick()
        expect(field).to_be_focused()
        assert field.evaluate(IS_ON_TOP)
        field.fill("162,5")
        page.get_by_role("button", name="Save the correction").click()
        expect(cell).to_have_text("162.5")
    (result,) = checked(api.get(f"/v1/studies/{study}/observations"))["items"]
    assert result["metrics"]["viscosity"] == 162.5
