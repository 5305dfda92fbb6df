"""Invalid corrections are rejected, on both databases."""

from __future__ import annotations

import httpx
import pytest

from tests.integration.api.conftest import pointers, study

__all__ = ["study"]


@pytest.mark.parametrize("field", ["metrics", "std_errors"])
def test_metrics_of_a_study_without_metrics_cannot_be_corrected(api: httpx.Client, study: str, field: str) -> None:
    api.post(f"{study}/observe", json={"parameters": {"x": 1, "n": 2}, "value": 3})
    before = api.get(f"{study}/observations").json()
    for value in ({}, {"m": 1}):
        refused = api.patch(f"{study}/observations/1", json={field: value})
        assert (refused.status_code, pointers(refused)) == (422, [f"/{field}"])
    assert api.get(f"{study}/observations").json() == before
