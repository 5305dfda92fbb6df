"""Fill in the form for a new study."""

from __future__ import annotations

from playwright.sync_api import Page, expect


def add_parameter(page: Page, number: int, name: str, kind: str, *values: str) -> None:
    """Add a parameter with its range or its values; its number counts from 1."""
    if number > 1:
        page.get_by_role("button", name="Add a parameter").click()
    row = page.get_by_role("group", name=f"Parameter {number}", exact=True)
    row.get_by_label("Name").fill(name)
    row.get_by_label("Kind").select_option(kind)
    if kind in ("float", "int"):
        row.get_by_label("From").fill(values[0])
        row.get_by_label("to", exact=True).fill(values[1])
    elif values:
        for place in range(3, len(values) + 1):
            row.get_by_role("button", name="Add a value").click()
            expect(row.get_by_label(f"Value {place}", exact=True)).to_be_focused()
        for place, value in enumerate(values, start=1):
            row.get_by_label(f"Value {place}", exact=True).fill(value)
