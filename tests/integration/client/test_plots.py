"""The figures of ``study.plot`` show the API's data on the parameters' scales, or say that there is nothing to show."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.figure import Figure, FigureBase
from matplotlib.text import Text

from adabkb_client import AsyncClient, Bool, Categorical, Client, Fixed, Float, Int, Ordinal, Parameter, Study
from adabkb_client.plots._axes import Scale
from tests.servers import server_on

FIGURES = ["history", "slice", "contour", "parallel", "importance", "leaves"]
SPACE: dict[str, Parameter] = {
    "lr $x$": Float(1e-3, 1e3, log=True),
    "kind": Categorical(["$a$", None, (1, 2)]),
    "n": Int(1, 9),
    "seed": Fixed(7),
}


@pytest.fixture(scope="module")
def connected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of a server for all tests of the module."""
    with server_on(f"sqlite:///{tmp_path_factory.mktemp('plots')}/a.db") as address, Client(address) as client:
        yield client


@pytest.mark.long
def test_figures_of_an_edited_space_show_its_results_and_cross_out_the_others(connected: Client) -> None:
    study = connected.create_study("edited", {"x": Float(0, 1), "kind": Categorical(["a", "b"])}, direction="minimize")
    for x, kind in [(0.1, "a"), (0.2, "b"), (0.7, "a"), (0.9, "a")]:
        study.add_result({"x": x, "kind": kind}, x)
    edited: dict[str, Parameter] = {"x": Float(0, 0.8), "kind": Categorical(["a", "c"]), "n": Int(1, 3)}
    study.update(parameters=edited, defaults={"n": 1})
    lines = {str(line.get_label()): line for line in drawn(study.plot.history())[0].lines}
    assert np.array(lines["outside of the space"].get_xdata()).tolist() == [2, 4]
    for name in FIGURES:
        assert isinstance(getattr(study.plot, name)(), Figure)


@pytest.mark.long
def test_figures_have_names_and_units_and_intervals_end_at_natural_bounds(connected: Client) -> None:
    study = connected.create_study(
        "worded",
        {"t": Float(0, 1, unit="h", label="Time $x$"), "kind": Categorical(["a", "b"])},
        direction="maximize",
        quantities={"value": {"label": "Yield", "unit": "%", "low": 0, "high": 100}},
    )
    for t, kind in [(0.1, "a"), (0.2, "b"), (0.7, "a"), (0.9, "a"), (0.4, "b"), (0.5, "a")]:
        study.add_result({"t": t, "kind": kind}, 99 - 90 * (t - 0.5) ** 2)
    (axes,) = drawn(study.plot.history())
    assert axes.get_ylabel() == "Yield [%] (maximize)"
    (panel,) = drawn(study.plot.slice("t"))
    assert (panel.get_xlabel(), panel.get_ylabel()) == (r"Time \$x\$ [h]", "Yield [%]")
    band = np.asarray(panel.collections[0].get_paths()[0].vertices)
    assert band[:, 1].max() == 100
    assert band[:, 1].min() >= 0


@pytest.fixture(scope="module")
def worked_on(connected: Client) -> Study:
    """A study with 20 results, one of them excluded."""
    study = connected.create_study("plots", SPACE, direction="minimize", seed=1)
    for _ in range(20):
        trial = study.suggest()
        point = trial.parameters
        study.observe(trial, (math.log10(point["lr $x$"]) - 1) ** 2 + (point["kind"] is None) + 0.1 * point["n"])
    study.exclude(2)
    return study


@pytest.mark.long
def test_the_same_figures_can_be_awaited(connected: Client, worked_on: Study) -> None:
    async def awaited() -> list[Figure]:
        async with AsyncClient(connected.url) as aclient:
            study = await aclient.study(worked_on.id)
            with pytest.raises(ValueError, match="'nothing' is not a parameter that varies"):
                await study.plot.slice("nothing")
            return [await getattr(study.plot, name)() for name in FIGURES]

    for name, figure in zip(FIGURES, asyncio.run(awaited()), strict=True):
        same = getattr(worked_on.plot, name)()
        assert [axes.get_title() for axes in figure.axes] == [axes.get_title() for axes in same.axes], name
        assert [len(axes.lines) for axes in figure.axes] == [len(axes.lines) for axes in same.axes], name


def drawn(figure: FigureBase) -> list[Axes]:
    """The axes of a figure, after rendering."""
    assert isinstance(figure, Figure)
    figure.savefig(BytesIO(), format="png", dpi=30)
    return figure.axes


def plotted(axes: Axes, number: int) -> tuple[list[float], list[float]]:
    """The coordinates of a line."""
    x, y = axes.lines[number].get_data()
    return np.asarray(x).tolist(), np.asarray(y).tolist()


def ticks(axes: Axes, which: str) -> list[str]:
    return [text.get_text() for text in getattr(axes, f"get_{which}ticklabels")()]


@pytest.mark.parametrize("name", ["history", *(pytest.param(name, marks=pytest.mark.long) for name in FIGURES[1:])])
def test_a_study_without_results_has_a_figure_that_says_so(connected: Client, name: str) -> None:
    study = connected.create_study("empty", SPACE, direction="minimize", seed=1)
    figure = getattr(study.plot, name)()
    drawn(figure)
    said = [text.get_text() for text in figure.findobj(Text) if "tudy empty" in text.get_text()]
    if name == "leaves":  # the root is a leaf from the start
        assert figure.axes[0].get_title() == "empty: 1 of 1 leaves"
    else:
        assert len(said) == 1


@pytest.mark.parametrize(
    "name", ["slice", *(pytest.param(name, marks=pytest.mark.long) for name in ("contour", "parallel", "history"))]
)
def test_a_metric_without_results_has_a_figure_that_says_so(connected: Client, name: str) -> None:
    study = connected.create_study("late", SPACE, direction="minimize", metrics=["mass"], seed=1)
    study.observe(study.suggest(), 1.0, partial=True)
    figure = getattr(study.plot, name)(metric="mass")
    drawn(figure)
    assert [text.get_text() for text in figure.findobj(Text)] == ["Study late has no results of mass yet."]


def test_the_history_shows_every_result_and_the_best_so_far(worked_on: Study) -> None:
    (axes,) = drawn(worked_on.plot.history())
    found = [each for each in worked_on.observations() if not each.excluded]
    lines = {str(line.get_label()): number for number, line in enumerate(axes.lines)}
    best = np.minimum.accumulate([each.value or 0.0 for each in found])
    assert plotted(axes, lines["best so far"])[1] == best.tolist()
    assert plotted(axes, lines["excluded"])[0] == [2]
    assert axes.get_ylabel() == "value (minimize)"


def test_a_slice_has_a_panel_for_each_parameter_that_varies(worked_on: Study) -> None:
    rate, kind, n = drawn(worked_on.plot.slice())
    assert [axes.get_xlabel() for axes in (rate, kind, n)] == [r"lr \$x\$ (log scale)", "kind", "n"]
    assert [axes.get_xscale() for axes in (rate, kind, n)] == ["log", "linear", "linear"]
    assert ticks(kind, "x") == [r"\$a\$", "None", "[1, 2]"]
    cut = worked_on.slice("lr $x$")
    assert plotted(rate, 0) == (list(cut.axes[0].values), [each.mean for each in cut.predictions])
    (only,) = drawn(worked_on.plot.slice("n", points=3))
    assert plotted(only, 0)[0] == [1, 5, 9]


def test_a_contour_is_over_the_two_most_important_parameters_or_those_named(worked_on: Study) -> None:
    ranked = sorted(worked_on.importance().parameters, key=lambda each: -each.total)
    mean, std, *colorbars = drawn(worked_on.plot.contour())
    labels = [f"{each.name} (log scale)".replace("$", r"\$") if "lr" in each.name else each.name for each in ranked[:2]]
    assert [mean.get_xlabel(), mean.get_ylabel()] == labels == [std.get_xlabel(), std.get_ylabel()]
    assert [axes.get_ylabel() for axes in colorbars] == ["posterior mean", "standard deviation"]
    mean, *_ = drawn(worked_on.plot.contour("kind", "n", points=4))
    field = mean.collections[0].get_array()
    assert field is not None
    predictions = worked_on.slice("kind", "n", points=4).predictions
    assert field.T.ravel().tolist() == [each.mean for each in predictions]


def test_each_result_is_a_line_through_its_parameters(worked_on: Study) -> None:
    host, *scales, _ = drawn(worked_on.plot.parallel())
    (lines,) = (each for each in host.collections if isinstance(each, LineCollection))
    counted = [each for each in worked_on.observations() if not each.excluded]
    found = sorted(counted, key=lambda each: -(each.value or 0.0))
    for segment, each in zip(lines.get_segments(), found, strict=True):
        lr, kind, n = (each.parameters[name] for name in ("lr $x$", "kind", "n"))
        place = ["$a$", None, (1, 2)].index(kind)
        expected = [(math.log10(lr) + 3) / 6, (place + 0.5) / 3, (n - 0.5) / 9]
        assert [y for _, y in segment] == pytest.approx(expected)
    assert [axes.get_yscale() for axes in scales] == ["log", "linear", "linear"]


def test_bars_are_the_indices_the_largest_at_the_top(worked_on: Study) -> None:
    (axes,) = drawn(worked_on.plot.importance())
    ranked = sorted(worked_on.importance().parameters, key=lambda each: each.total)
    assert ticks(axes, "y") == [each.name.replace("$", r"\$") for each in ranked]
    totals, firsts = (each for each in axes.containers if hasattr(each, "datavalues"))
    assert [bar.get_width() for bar in totals] == [each.total for each in ranked]
    assert [bar.get_width() for bar in firsts] == [each.first_order for each in ranked]


def test_cells_tile_what_is_drawn(worked_on: Study) -> None:
    """Leaves and pruned cells together, in the plane through the recommended point."""
    names = ("lr $x$", "kind")
    axes, *_ = drawn(worked_on.plot.leaves(*names))
    patches = [path for each in axes.collections if isinstance(each, PatchCollection) for path in each.get_paths()]
    scales = [Scale(each) for name in names for each in worked_on.info().parameters if each["name"] == name]
    area = 0.0
    for path in patches:
        corners = path.get_extents()
        sides = [(corners.x0, corners.x1), (corners.y0, corners.y1)]
        area += math.prod(_width(scale, low, high) for scale, (low, high) in zip(scales, sides, strict=True))
    assert area == pytest.approx(1.0)


def test_intervals_cover_a_single_parameter(worked_on: Study) -> None:
    """Without gaps. (At a border of two cells, both intersect the plane.)"""
    (axes,) = drawn(worked_on.plot.leaves("n"))
    lines = [each for each in axes.collections if isinstance(each, LineCollection)]
    ends = [np.asarray(each.get_segments()[0])[:, 0].tolist() for each in lines]
    spans = [patch.get_extents().transformed(axes.transData.inverted()) for patch in axes.patches]
    covered = 0.5
    for low, high in sorted([*ends, *([span.x0, span.x1] for span in spans)]):
        assert low <= covered + 1e-9
        covered = max(covered, high)
    assert covered == pytest.approx(9.5)


def _width(scale: Scale, low: float, high: float) -> float:
    """The share of an axis between two positions."""
    first, last = scale.ends
    if scale.is_log:
        low, high, first, last = map(math.log, (low, high, first, last))
    return (high - low) / (last - first)


@pytest.mark.long
def test_a_figure_can_be_given_and_none_is_left_behind(worked_on: Study) -> None:
    whole = Figure(figsize=(14, 6), layout="constrained")
    left, right = np.asarray(whole.subfigures(1, 2)).tolist()
    assert worked_on.plot.importance(figure=left) is left
    assert worked_on.plot.contour(figure=right) is right
    assert len(drawn(whole)) == 5
    assert pyplot.get_fignums() == []
    shown: Any = worked_on.plot.history()
    assert shown._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("slice", ["m"], r"'m' is not a parameter that varies in study 'plots'; these are: 'lr \$x\$', 'kind', 'n'"),
        ("parallel", ["seed"], "'seed' is not a parameter that varies"),
        ("slice", ["n", "n"], "parameters are named twice: 'n', 'n'"),
        ("contour", ["n"], r"a contour needs two parameters that vary, not 1; study.plot.slice\(\) draws one"),
        ("leaves", ["n", "kind", "lr $x$"], "leaves are drawn along one or two parameters, not 3"),
    ],
)
def test_wrong_parameters_are_named_with_the_remedy(
    worked_on: Study, name: str, parameters: list[str], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(worked_on.plot, name)(*parameters)


def test_without_matplotlib_the_error_names_the_package_to_install(
    worked_on: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "adabkb_client.plots._figures", None)
    with pytest.raises(ImportError, match=r"pip install 'adabkb-client\[plot\]'"):
        worked_on.plot.history()


def test_every_kind_of_parameter_has_a_scale() -> None:
    spaces: dict[str, tuple[Parameter, Any, float]] = {
        "float": (Float(0, 2), 0.5, 0.25),
        "log": (Float(1, 100, log=True), 10.0, 0.5),
        "step": (Float(0, 1, step=0.25), 0.0, 0.1),
        "int": (Int(0, 9), 9, 0.95),
        "ordinal": (Ordinal([16, 32, 64]), 32, 0.5),
        "bool": (Bool(), True, 0.75),
        "mixed": (Categorical([1, True, "1", (1,)]), True, 0.375),
    }
    for name, (parameter, value, share) in spaces.items():
        assert Scale({"name": name, **parameter.to_json()}).share(value) == pytest.approx(share), name


@pytest.mark.parametrize(
    "parameter",
    [Int(-3, 100, step=7), *(pytest.param(each, marks=pytest.mark.long) for each in (Int(2, 5), Int(0, 9), Int(1, 2)))],
)
def test_the_axis_of_integers_has_integer_ticks(connected: Client, parameter: Int) -> None:
    study = connected.create_study(None, {"n": parameter, "x": Float(0, 1)}, direction="minimize")
    for x in (0.25, 0.75):
        study.add_result({"n": parameter.low, "x": x}, x)
    for figure in (study.plot.parallel(), study.plot.slice("n")):
        drawn: Any = figure.axes
        axes = [axis for axis in drawn if axis.get_ylim()[0] == parameter.low - parameter.step / 2]
        ticks = [*axes[0].get_yticks()] if axes else [*drawn[0].get_xticks()]
        assert ticks
        assert all(float(tick).is_integer() for tick in ticks)
