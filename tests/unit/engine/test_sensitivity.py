"""Sobol' indices agree with closed forms, and slices through mixed spaces have the documented points."""

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


def assert_close(found: Sensitivity | None, first: list[float], total: list[float]) -> None:
    """Assert that indices are within four standard errors, and that these errors are below a few percent."""
    assert found is not None
    for estimate, error, exact in ((found.first, found.first_error, first), (found.total, found.total_error, total)):
        assert estimate.shape == error.shape == (len(exact),)
        assert (np.abs(estimate - exact) <= 4.0 * error + 1e-9).all(), (estimate, error, exact)
        assert (error < 0.03).all()


def test_indices_of_a_known_function_are_within_their_errors() -> None:
    found = sensitivity(ishigami, CUBE)
    assert_close(found, [0.3139, 0.4424, 0.0], [0.5576, 0.4424, 0.2437])
    assert found is not None
    assert found.std == pytest.approx(np.sqrt(13.8446), rel=0.03)


def test_a_single_parameter_explains_all_variance() -> None:
    assert_close(sensitivity(lambda positions: positions[:, 0] ** 2, Space(CUBE.parameters[:1])), [1.0], [1.0])


def test_indices_are_reproducible_and_independent_of_units() -> None:
    first, again = sensitivity(ishigami, CUBE), sensitivity(ishigami, CUBE)
    scaled = sensitivity(lambda positions: 1e200 * ishigami(positions), CUBE)
    assert first is not None
    assert again is not None
    assert scaled is not None
    assert np.array_equal(first.first, again.first)
    assert np.array_equal(first.total_error, again.total_error)
    assert scaled.first == pytest.approx(first.first)
    assert scaled.std == pytest.approx(1e200 * first.std)


def test_choices_and_integers_are_weighted_by_their_bins() -> None:
    """One of four choices adds 2 (variance 3/4); the integers -1, 0 and 1 add their value (variance 2/3)."""
    space = Space((ChoiceAxis("c", ("p", "q", "r", "s")), Fixed("f", 1), IntAxis("n", -1, 1)))

    def mean(positions: Array) -> Array:
        points = [space.decode(u) for u in positions]
        return np.array([2.0 * (point["c"] == "q") + point["n"] for point in points])  # type: ignore[operator]

    assert_close(sensitivity(mean, space), [9 / 17, 8 / 17], [9 / 17, 8 / 17])


def test_constants_and_single_point_spaces_have_no_indices() -> None:
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


def test_along_lists_few_values_and_spaces_many_evenly() -> None:
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
