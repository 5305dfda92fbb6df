"""The figures and importances of a search are those of a study with the same trials."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure, FigureBase
from matplotlib.text import Text
from numpy.typing import NDArray

from adabkb_client import Categorical, Client, Fixed, Float, Int, Parameter
from adabkb_integrations.inprocess import Found, maximize, minimize

BUDGET = 24
FIGURES = ["history", "slice", "contour", "parallel", "importance", "leaves"]
SPACE: dict[str, Parameter] = {
    "x": Float(1e-3, 1e3, log=True, unit="mol", label="Amount"),
    "kind": Categorical(["a", None, (1, 2)]),
    "n": Int(1, 9),
    "seed": Fixed(7),
    "slope": Float(0, 1, when={"kind": ["a"]}),
}


def loss(x: float, kind: Any, n: int, seed: int, slope: float = 0.0) -> float:
    if n == 8:
        raise ArithmeticError(f"with seed {seed}")
    return (math.log10(x) - 1) ** 2 + (kind is None) + 0.1 * n + slope


def measured(**point: Any) -> dict[str, Any]:
    return {"value": loss(**point), "metrics": {"mass": point["n"] + point["x"] / 1e3}}


def two(**point: Any) -> dict[str, Any]:
    return {"metrics": {"error": loss(**point), "mass": float(point["n"])}}


def flat(figure: FigureBase) -> Iterator[NDArray[np.float64]]:
    """The numbers of everything that a figure shows."""
    assert isinstance(figure, Figure)
    for axes in figure.axes:
        yield from (np.asarray(line.get_xydata(), dtype=float) for line in axes.lines)
        yield from (np.asarray(patch.get_path().vertices) for patch in axes.patches)
        for each in axes.collections:
            yield from (np.asarray(path.vertices) for path in each.get_paths())
            yield np.asarray(each.get_offsets())
            yield np.asarray([] if each.get_array() is None else each.get_array(), dtype=float)


def words(figure: FigureBase) -> list[str]:
    """The texts of a figure. A study shows a list as JSON has it, and a search the tuple that the function gets."""
    return [text.get_text().replace("(1, 2)", "[1, 2]") for text in figure.findobj(Text) if text.get_text()]


@pytest.mark.parametrize(
    ("function", "options", "metric"),
    [
        pytest.param(loss, {}, None, id="a value"),
        pytest.param(measured, {"outcome_constraints": [{"metric": "mass", "upper": 5}]}, "mass", id="a metric"),
        pytest.param(
            two,
            {"objectives": [{"metric": "error", "direction": "minimize"}, {"metric": "mass", "direction": "maximize"}]},
            "mass",
            id="an objective",
        ),
    ],
)
def test_a_search_has_the_figures_and_importances_of_a_study(
    client: Client, function: Any, options: dict[str, Any], metric: str | None
) -> None:
    found = minimize(function, SPACE, BUDGET, seed=3, progress=False, max_failures=99, **options)
    direction: Any = None if "objectives" in options else "minimize"
    study = client.create_study("minimize", SPACE, direction=direction, budget=BUDGET, seed=3, **options)
    study.run(function, progress=False, max_failures=99)
    assert found.importance(metric) == study.importance(metric)
    assert found.importance(metric).reason is None
    for name in [*FIGURES, *(["front"] if "objectives" in options else [])]:
        chosen = {} if name == "front" else {"metric": metric}
        ours, theirs = (getattr(each.plot, name)(**chosen) for each in (found, study))
        assert words(ours) == words(theirs), name
        for own, other in zip(flat(ours), flat(theirs), strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-9, err_msg=name)


class Solver:
    """A choice that is not a JSON value."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


def test_choices_may_be_any_objects() -> None:
    slow: Any = Solver("slow")
    fast: Any = Solver("fast")
    space: dict[str, Parameter] = {"x": Float(0, 1), "solver": Categorical([slow, fast])}
    found = maximize(lambda x, solver: x + (solver is fast), space, 10, seed=1, progress=False)
    assert [each.name for each in found.importance().parameters] == ["x", "solver"]
    for name in FIGURES:
        getattr(found.plot, name)().savefig("/dev/null", format="png", dpi=20)
    assert {"slow", "fast"} <= set(words(found.plot.slice("solver")))


def test_a_figure_can_be_drawn_on_and_a_wrong_name_is_explained() -> None:
    found = minimize(lambda x: x, {"x": Float(0, 1)}, 4, seed=1, progress=False)
    own = Figure()
    assert found.plot.slice("x", points=7, figure=own) is own
    assert len(own.axes[0].lines[0].get_xydata()) == 7  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'y' is not a parameter that varies"):
        found.plot.slice("y")
    with pytest.raises(ValueError, match="has no front"):
        found.plot.front()
    with pytest.raises(ValueError, match=r"'mass' is not a metric of the search; these are: \[\]"):
        found.importance("mass")


def test_several_objectives_need_a_name() -> None:
    found = minimize(lambda x: {"metrics": {"a": x, "b": -x}}, {"x": Float(0, 1)}, 4, objectives=["a", "b"], seed=1)
    with pytest.raises(ValueError, match=r"there are several objectives; name one of the metrics: \['a', 'b'\]"):
        found.importance()
    with pytest.raises(ValueError, match="has several objectives; name the one to draw"):
        found.plot.history()


def test_a_baseline_without_a_model_shows_its_results() -> None:
    options: dict[str, Any] = {"algorithm": {"kind": "random"}, "metrics": ["mass"], "seed": 1, "progress": False}
    found = minimize(lambda x: {"value": x, "metrics": {"mass": x}}, {"x": Float(0, 1)}, 6, **options)
    assert found.importance().reason == "constant"
    assert found.plot.history(metric="mass").axes
    for call in (lambda: found.importance("mass"), lambda: found.plot.slice(metric="mass"), found.plot.leaves):
        with pytest.raises(ValueError, match="a baseline has no model of metrics"):
            call()


def test_a_search_without_results_says_so() -> None:
    def fails(x: float) -> float:
        return x / 0

    found = minimize(fails, {"x": Float(0, 1)}, 2, max_failures=9, seed=1, progress=False)
    assert found.importance().reason == "too_few_results"
    assert words(found.plot.history()) == words(found.plot.slice()) == ["Study minimize has no results yet."]


def test_a_context_can_be_drawn() -> None:
    space: dict[str, Parameter] = {"x": Float(0, 1), "room": Float(15, 25, context=True)}
    found = minimize(lambda x, room: x * room, space, 14, context={"room": 20.0}, seed=1, progress=False)
    assert found.plot.contour().axes
    assert [each.name for each in found.importance().parameters] == ["x", "room"]


def itself(x: float, y: float) -> float:
    return x + y * y


def test_copies_have_the_same_importances_and_figures() -> None:
    found = minimize(itself, {"x": Float(0, 1), "y": Float(0, 1)}, 9, seed=1, progress=False)
    for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert other == found
        assert other.importance() == found.importance()
        for own, theirs in zip(flat(found.plot.contour()), flat(other.plot.contour()), strict=True):
            np.testing.assert_array_equal(own, theirs)


def test_a_result_that_is_made_by_hand_has_no_model() -> None:
    with pytest.raises(ValueError, match=r"it does not come from minimize\(\) or maximize\(\)"):
        Found(None, (), "budget", 0).importance()
