"""Ends of ranges, and ranges beyond them."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter

from adabkb_service.contract.parameters import Parameter
from adabkb_service.operations.model.range_ends import range_ends

ONE: TypeAdapter[Any] = TypeAdapter(Parameter)


def found(value: Any, **fields: Any) -> list[tuple[str, Any, Any]]:
    """Return the end of the range at which a value lies, and the wider bounds."""
    parameter = ONE.validate_python({"name": "p", **fields})
    at_edges = range_ends([parameter], {"p": value})
    for each in at_edges:
        assert each.widened is None or ONE.validate_python(each.widened).low <= parameter.low
    bounds = [each.widened or {} for each in at_edges]
    return [(each.end, its.get("low"), its.get("high")) for each, its in zip(at_edges, bounds, strict=True)]


@pytest.mark.parametrize(
    ("value", "fields", "expected"),
    [
        (100.0, {"kind": "float", "low": 20, "high": 100}, [("upper", 20.0, 140.0)]),
        (99.5, {"kind": "float", "low": 20, "high": 100}, [("upper", 20.0, 140.0)]),
        (98.0, {"kind": "float", "low": 20, "high": 100}, []),
        (20.0, {"kind": "float", "low": 20, "high": 100}, [("lower", 0.0, 100.0)]),
        (60.0, {"kind": "float", "low": 60, "high": 100}, [("lower", 40.0, 100.0)]),
        (-5.0, {"kind": "float", "low": -5, "high": 5}, [("lower", -10.0, 5.0)]),
        (0.0, {"kind": "float", "low": 0, "high": 1}, [("lower", None, None)]),
        (1e-4, {"kind": "float", "low": 1e-4, "high": 1, "scale": "log"}, [("lower", 1e-5, 1.0)]),
        (8.0, {"kind": "float", "low": 2, "high": 8, "scale": "log"}, [("upper", 2.0, 16.0)]),
        (0.5, {"kind": "float", "low": 0, "high": 0.5, "step": 0.1}, [("upper", 0.0, 0.7)]),
        (0.4, {"kind": "float", "low": 0, "high": 0.5, "step": 0.1}, []),
        (10, {"kind": "int", "low": 1, "high": 10}, [("upper", 1, 14)]),
        (1, {"kind": "int", "low": 1, "high": 10}, [("lower", 0, 10)]),
        (9, {"kind": "int", "low": 1, "high": 10}, []),
        (3, {"kind": "int", "low": 1, "high": 3}, []),
        (1, {"kind": "int", "low": 1, "high": 64, "scale": "log"}, [("lower", None, None)]),
        (64, {"kind": "int", "low": 1, "high": 64, "scale": "log"}, [("upper", 1, 180)]),
        ("a", {"kind": "categorical", "choices": ["a", "b"]}, []),
    ],
)
def test_values_at_an_end_of_the_range_are_detected(value: Any, fields: dict[str, Any], expected: list[Any]) -> None:
    assert found(value, **fields) == expected


def test_inactive_parameter_has_no_edge() -> None:
    parameter = ONE.validate_python({"name": "p", "kind": "float", "low": 0, "high": 1})
    assert range_ends([parameter], {}) == []
