"""Sobol' indices against the closed forms of functions that have one, and slices through mixed spaces."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis
from adabkb_service.engine.grids import along, grid
from adabkb_service.engine.sensitivity import Sensitivity, sensitivity
from adabkb_service.engine.space import Fixed, Space

Array = NDArray[np.float64]

CUBE = Space(tuple(FloatAxis(name, 0.0, 1.0) for name in "abc"))


def ishigami(positions: Array) -> Array:
    """Ishigami and Homma (1990), with the usual constants 7 and 0.1."""
    x, y, z = (2.0 * positions.T - 1.0) * np.pi
    found: Array = np.sin(x) + 7.0 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)
    return found


def close(found: Sensitivity | None, first: list[float], total: list[float]) -> None:
    """Whether indices are within four standard errors, and these errors within a few percent."""
    assert found is not None
    for estimate, error, exact in ((found.first, found.first_error, first), (found.total, found.total_error, total)):
        assert estimate.shape == error.shape == (len(exact),)
        assert (np.abs(estimate - exact) <= 4.0 * error + 1e-9).all(), (estimate, error, exact)
        assert (error < 0.03).all()


def test_the_indices_of_a_known_function_are_right_within_their_errors() -> None:
    found = sensitivity(ishigami, CUBE)
    close(found, [0.3139, 0.4424, 0.0], [0.5576, 0.4424, 0.2437])
    assert found is not None
    assert found.std == pytest.approx(np.sqrt(13.8446), rel=0.03)


def test_the_only_parameter_has_all_of_the_variance() -> None:
    close(sensitivity(lambda positions: positions[:, 0] ** 2, Space(CUBE.parameters[:1])), [1.0], [1.0])


def test_they_are_the_same_each_time_and_in_any_units() -> None:
    first, again = sensitivity(ishigami, CUBE), sensitivity(ishigami, CUBE)
    scaled = sensitivity(lambda positions: 1e200 * ishigami(positions), CUBE)
    assert first is not None
    assert again is not None
    assert scaled is not None
    assert np.array_equal(first.first, again.first)
    assert np.array_equal(first.total_error, again.total_error)
    assert scaled.first == pytest.approx(first.first)
    assert scaled.std == pytest.approx(1e200 * first.std)


def test_each_choice_and_each_integer_has_the_weight_of_its_bin() -> None:
    """One of four choices brings 2 (variance 3/4), the integers -1, 0 and 1 count as they are (variance 2/3)."""
    space = Space((ChoiceAxis("c", ("p", "q", "r", "s")), Fixed("f", 1), IntAxis("n", -1, 1)))

    def mean(positions: Array) -> Array:
        points = [space.decode(u) for u in positions]
        return np.array([2.0 * (point["c"] == "q") + point["n"] for point in points])  # type: ignore[operator]

    close(sensitivity(mean, space), [9 / 17, 8 / 17], [9 / 17, 8 / 17])


def test_a_constant_and_a_space_of_one_point_have_none() -> None:
    assert sensitivity(lambda positions: np.full(len(positions), -3.0), CUBE) is None
    assert sensitivity(lambda positions: positions.sum(axis=1), Space((Fixed("f", 1),))) is None


def test_the_number_of_predictions_is_bounded() -> None:
    space = Space(tuple(FloatAxis(f"x{i}", 0.0, 1.0) for i in range(100)))
    counts: list[int] = []

    def mean(positions: Array) -> Array:
        counts.append(len(positions))
        return positions[:, 0]

    found = sensitivity(mean, space)
    assert found is not None
    assert int(np.argmax(found.total)) == 0
    assert sum(counts) <= 1 << 15


def test_values_along_an_axis_are_all_of_a_few_or_evenly_spread() -> None:
    log, whole, few = FloatAxis("x", 1e-2, 1e2, "log"), IntAxis("n", 1, 1000, "log"), ChoiceAxis("c", ("a", "b", "c"))
    assert [log.decode(u) for u in along(log, 5)] == pytest.approx([0.01, 0.1, 1.0, 10.0, 100.0])
    assert [few.decode(u) for u in along(few, 5)] == ["a", "b", "c"]
    numbers = [whole.decode(u) for u in along(whole, 30)]
    assert (numbers[0], numbers[-1]) == (1, 1000)
    assert numbers == sorted(set(numbers))
    assert len(numbers) <= 30


def test_the_last_axis_of_a_grid_varies_fastest() -> None:
    points = grid(np.array([0.25, 0.5, 0.75]), [2, 0], [[0.0, 1.0], [0.1, 0.2, 0.3]])
    assert points[:, 1].tolist() == [0.5] * 6
    assert points[:, 2].tolist() == [0.0] * 3 + [1.0] * 3
    assert points[:, 0].tolist() == [0.1, 0.2, 0.3] * 2
