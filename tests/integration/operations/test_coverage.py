"""Which combinations of two parameters the constraints exclude: only those without any feasible point."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from adabkb_service.contract.study import StudyDefinition
from adabkb_service.engine.space import Space
from adabkb_service.errors import Invalid
from adabkb_service.operations.model.coverage import Tried, excluded, tried

PARAMETERS: list[dict[str, Any]] = [
    {"name": "kind", "kind": "categorical", "choices": ["a", "b", "c"]},
    {"name": "x", "kind": "float", "low": 0, "high": 1},
    {"name": "n", "kind": "int", "low": 1, "high": 5},
    {"name": "rate", "kind": "float", "low": 1e-4, "high": 1, "scale": "log"},
    {"name": "angle", "kind": "float", "low": 0, "high": 360, "periodic": True},
    {"name": "flag", "kind": "bool"},
    {"name": "size", "kind": "float", "low": 0, "high": 1, "step": 0.25},
]
EDGES = {
    "x": [0.0, 0.25, 0.5, 0.75, 1.0],
    "n": [0.5, 2.0, 3.0, 5.5],
    "rate": [1e-4, 1e-2, 1.0],
    "angle": [0.0, 180.0, 360.0],
    "size": [-0.125, 0.5, 1.125],
}
CONSTRAINTS = [
    "not (kind == 'a' and x > 0.4)",
    "n >= 3",
    "rate <= 0.005",
    "not (flag == True and kind == 'b')",
    "angle <= 90",
    "size + x <= 0.5",
]


def space(*constraints: str) -> Space:
    body = {"id": "s", "direction": "minimize", "parameters": PARAMETERS, "constraints": list(constraints)}
    return StudyDefinition.model_validate(body).space()


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("kind", "x"), "..xx" + "..xx" + "..xx"),
        (("n", "flag"), "xx" + "xx" + ".."),
        (("rate", "angle"), ".x" + "xx"),
        (("kind", "flag"), ".." + ".x" + ".."),
        (("size", "x"), "..xx" + ".xxx"),
    ],
)
def test_parts_without_a_feasible_point_are_excluded(names: tuple[str, str], found: str) -> None:
    told = excluded(space(*CONSTRAINTS), names, [EDGES.get(name, []) for name in names])
    assert "".join(".x"[each] for each in told) == found


def test_no_part_with_a_feasible_point_is_excluded() -> None:
    """Compared with points of a grid that are not on inner edges, for each pair of parameters."""
    limited = space(*CONSTRAINTS)
    grid = [
        {"kind": kind, "x": x, "n": n, "rate": rate, "angle": angle, "flag": flag, "size": size}
        for kind, x, n, rate, angle, flag, size in itertools.product(
            "abc", (0, 0.3, 0.45), (1, 3, 5), (1e-4, 0.004), (0, 90), (False, True), (0, 0.25, 0.5)
        )
    ]
    feasible = [point for point in grid if limited.admits(point)]
    values: dict[str, list[Any]] = {"kind": list("abc"), "flag": [False, True]}
    for names in itertools.permutations([*values, *EDGES], 2):
        told = iter(excluded(limited, names, [EDGES.get(name, []) for name in names]))
        for parts in itertools.product(*(_parts(name, values) for name in names)):
            has_point = any(
                all(_is_in(point[name], part) for name, part in zip(names, parts, strict=True)) for point in feasible
            )
            assert not (next(told) and has_point), (names, parts)


def _parts(name: str, values: dict[str, list[Any]]) -> list[Any]:
    return values.get(name) or list(itertools.pairwise(EDGES[name]))


def _is_in(value: Any, part: Any) -> bool:
    return bool(part[0] <= value < part[1] if isinstance(part, tuple) else value == part)


def test_without_constraints_nothing_is_excluded() -> None:
    assert excluded(space(), ("kind", "flag"), [[], []]) == [False] * 6


@pytest.mark.parametrize(
    ("names", "edges"),
    [
        (("kind", "nowhere"), [[], []]),
        (("kind", "x"), [[], []]),
        (("kind", "x"), [[], [0.5]]),
        (("kind", "x"), [[0.0, 1.0], [0.0, 1.0]]),
    ],
)
def test_parts_that_do_not_fit_the_parameters_are_refused(names: tuple[str, str], edges: list[list[float]]) -> None:
    with pytest.raises(Invalid, match=r"parameter|edges"):
        excluded(space(*CONSTRAINTS), names, edges)


def test_the_number_of_combinations_is_limited() -> None:
    """Each takes the memory of two points."""
    parameters = [
        {"name": name, "kind": "categorical", "choices": [f"c{number}" for number in range(101)]} for name in "ab"
    ]
    body = {"id": "s", "direction": "minimize", "parameters": parameters, "constraints": ["a != 'c1'"]}
    with pytest.raises(Invalid, match="10201 combinations"):
        excluded(StudyDefinition.model_validate(body).space(), ("a", "b"), [[], []])


def test_results_and_failures_are_counted_in_their_parts() -> None:
    parameters = [
        {"name": "t", "kind": "int", "low": 1, "high": 9},
        {"name": "size", "kind": "ordinal", "values": [8, 4, 2]},
        {"name": "on", "kind": "bool", "when": {"size": [8]}},
    ]
    body = {"id": "s", "direction": "minimize", "parameters": parameters}
    where = StudyDefinition.model_validate(body).space()
    edges = [[0.5, 3.5, 9.5], []]
    results: list[tuple[dict[str, Any], float]] = [
        ({"t": 1, "size": 8, "on": True}, 5.0),
        ({"t": 3, "size": 8, "on": False}, -1.0),
        ({"t": 9, "size": 3.5}, 2.0),  # measured between 4 and 2
        ({"t": 9, "size": 2.2}, 2.5),
        ({"t": 12, "size": 2}, 1.0),  # outside
    ]
    failed: list[dict[str, Any]] = [{"t": 4, "size": 2}, {"t": 2, "size": 8, "on": True}]
    assert tried(where, ["t", "size"], edges, results, failed) == [
        Tried((0, 0), 2, 1, -1.0, 5.0),
        Tried((1, 1), 1, 0, 2.0, 2.0),
        Tried((1, 2), 1, 1, 2.5, 2.5),
    ]
    assert tried(where, ["on", "size"], [[], []], results, failed) == [
        Tried((0, 0), 1, 0, -1.0, -1.0),
        Tried((1, 0), 1, 1, 5.0, 5.0),
    ]
    with pytest.raises(Invalid):
        tried(where, ["nothing", "size"], [[], []], results, failed)
