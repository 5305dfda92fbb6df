"""Procedures that read the data of each figure from the server and draw it; ``Plots`` performs them."""

from collections.abc import Sequence
from dataclasses import replace

from matplotlib.figure import FigureBase

from adabkb_client._analysis import Slice
from adabkb_client._calls import Steps
from adabkb_client._records import Observation, Prediction, Recommendation, StudyInfo
from adabkb_client._study_calls import StudyCalls
from adabkb_client.plots._axes import Scale, saying
from adabkb_client.plots._charts import contour, front, history, importance, leaves, parallel, slices

MAX_PANELS = 12
"""The maximum number of parameters in a figure, unless the program names them. The most important ones are drawn."""


class Figures:
    """The figures of a study, as procedures that read their data and draw it."""

    def __init__(self, study: StudyCalls) -> None:
        self._study = study

    def history(self, *, metric: str | None = None, figure: FigureBase | None = None) -> Steps[FigureBase]:
        """Draw the results in order, and the best so far.

        Raises:
            ValueError: the study has no such metric, or none is named and there are several objectives (as in all
            figures except ``front``).
        """
        info = _as_one((yield from self._study.info()), metric)
        observations = _valued((yield from self._study.observations().all()), metric)
        return history(info, observations, figure) if observations else _nothing_yet(info, metric, figure)

    def front(self, *objectives: str, figure: FigureBase | None = None) -> Steps[FigureBase]:
        """Draw the results of a study with several objectives, with the Pareto front of the results and of the model.

        Args:
            objectives: the names of two objectives; by default the first two.
            figure: the figure to draw on; a new one by default.

        Raises:
            Invalid: the study has one objective.
            ValueError: these are not two of its objectives.
        """
        found = yield from self._study.front()
        names = [each.metric for each in found.objectives]
        across, up = (*objectives, *names[:2])[:2] if len(objectives) in (0, 2) else ("", "")
        if across not in names or up not in names or across == up:
            raise ValueError(f"name two objectives of study {self._study.id!r}: {names}")
        return front(self._study.id, found, (yield from self._study.observations().all()), across, up, figure)

    def slice(
        self,
        *parameters: str,
        points: int | None = None,
        metric: str | None = None,
        figure: FigureBase | None = None,
    ) -> Steps[FigureBase]:
        """Draw the posterior along each parameter, with the other parameters as in the recommended point.

        Args:
            parameters: the names of parameters; by default all that vary, or the 12 most important ones.
            points: the maximum number of values per parameter.
            metric: the metric to draw instead of the value.
            figure: the figure to draw on; a new one by default.

        Raises:
            ValueError: the study has no such parameter, it is fixed or a catalogue, or it is named twice.
        """
        info, observations = yield from self._info_and_results(metric)
        scales = yield from self._chosen(info, parameters, MAX_PANELS, metric=metric)
        if not observations:
            return _nothing_yet(info, metric, figure)
        cuts: list[Slice] = []
        for scale in scales:
            cuts += [_predicted((yield from self._study.slice(scale.name, points=points)), metric)]
        return slices(info, scales, cuts, observations, figure)

    def contour(
        self,
        *parameters: str,
        points: int | None = None,
        metric: str | None = None,
        figure: FigureBase | None = None,
    ) -> Steps[FigureBase]:
        """Draw the posterior mean and standard deviation over two parameters; a star marks the recommended point.

        Args:
            parameters: the names of two parameters; by default the most important ones.
            points, metric, figure: as in ``slice``.

        Raises:
            ValueError: these are not two parameters of the study that vary.
        """
        info, observations = yield from self._info_and_results(metric)
        best = yield from self._study.recommendation()
        scales = yield from self._chosen(info, parameters, 2, best, metric=metric)
        if len(scales) < 2 and not parameters:
            return saying(figure, f"Study {info.id} does not have two parameters that vary.")
        if len(scales) != 2:
            raise ValueError(
                f"a contour needs two parameters that vary, not {len(scales)}; study.plot.slice() draws one"
            )
        if not observations:
            return _nothing_yet(info, metric, figure)
        cut = _predicted((yield from self._study.slice(*(scale.name for scale in scales), points=points)), metric)
        return contour(info, scales, cut, observations, best, figure)

    def parallel(
        self, *parameters: str, metric: str | None = None, figure: FigureBase | None = None
    ) -> Steps[FigureBase]:
        """Draw each result as a line through its parameters, colored by its value.

        Args:
            parameters, metric, figure: as in ``slice``.

        Raises:
            ValueError: the study has no such parameter, it is fixed or a catalogue, or it is named twice.
        """
        info, observations = yield from self._info_and_results(metric)
        scales = yield from self._chosen(info, parameters, MAX_PANELS, metric=metric)
        return parallel(info, scales, observations, figure) if observations else _nothing_yet(info, metric, figure)

    def importance(self, *, metric: str | None = None, figure: FigureBase | None = None) -> Steps[FigureBase]:
        """Draw the Sobol' indices of the parameters: see ``Study.importance``."""
        _as_one((yield from self._study.info()), metric)
        return importance(self._study.id, (yield from self._study.importance(metric)), figure)

    def leaves(
        self, *parameters: str, metric: str | None = None, figure: FigureBase | None = None
    ) -> Steps[FigureBase]:
        """Draw the leaves of the partition, and pruned cells (hatched), along a line or a plane through the recommended
        point.

        Args:
            parameters: the names of one or two parameters; by default the two most important ones.
            metric: the metric that the colors show instead of the value.
            figure: the figure to draw on; a new one by default.

        Raises:
            ValueError: these are not one or two parameters of the study that vary.
        """
        info = _as_one((yield from self._study.info()), metric)
        recommendation = yield from self._study.recommendation()
        scales = yield from self._chosen(info, parameters, 2, recommendation, metric=metric)
        if len(scales) > 2:
            raise ValueError(f"leaves are drawn along one or two parameters, not {len(scales)}")
        cells = yield from self._study.partition("leaf", metric).all()
        cells += yield from self._study.partition("pruned", metric).all()
        others = [Scale(each) for each in info.parameters if each["kind"] != "catalogue"]
        others = [scale for scale in others if scale.name not in {drawn.name for drawn in scales}]
        points = [] if recommendation.model is None else [recommendation.model.parameters]
        points += [cell["centroid"] for cell in cells]
        through = next((point for point in points if all(scale.name in point for scale in scales)), None)
        if through is None:
            return saying(figure, f"Study {info.id} has no cells to draw.")
        is_recommended = recommendation.model is not None and through is recommendation.model.parameters
        return leaves(info, scales, others, cells, through, is_recommended, figure)

    def _info_and_results(self, metric: str | None) -> Steps[tuple[StudyInfo, list[Observation]]]:
        """Return the study and the results that the model uses, with a metric in place of the value if given."""
        info = _as_one((yield from self._study.info()), metric)
        observations = yield from self._study.observations().all()
        return info, _valued([each for each in observations if each.counts], metric)

    def _chosen(
        self,
        info: StudyInfo,
        names: Sequence[str],
        most: int,
        best: Recommendation | None = None,
        *,
        metric: str | None,
    ) -> Steps[list[Scale]]:
        """Return the parameters with these names. Without names, return those that vary and are not catalogues: only
        those active at the best point, if it is given, and only the ``most`` most important ones."""
        varying = {each["name"]: Scale(each) for each in info.parameters if each["kind"] not in ("fixed", "catalogue")}
        rows = {each["name"] for each in info.parameters if each["kind"] == "catalogue"}
        if drawn := rows.intersection(names):
            raise ValueError(f"{drawn.pop()!r} is a catalogue, whose rows have no order; leave it out")
        unknown = [name for name in names if name not in varying]
        if unknown:
            known = ", ".join(map(repr, varying))
            raise ValueError(f"{unknown[0]!r} is not a parameter that varies in study {info.id!r}; these are: {known}")
        if len(set(names)) < len(names):
            raise ValueError(f"parameters are named twice: {', '.join(map(repr, names))}")
        if names:
            return [varying[name] for name in names]
        if best is not None and best.model is not None:
            varying = {name: scale for name, scale in varying.items() if name in best.model.parameters}
        if len(varying) <= most:
            return list(varying.values())
        found = yield from self._study.importance(metric)
        weights = {each.name: each.total for each in found.parameters}
        ranked = sorted(varying, key=lambda name: -weights.get(name, 0.0))
        return [varying[name] for name in ranked[:most]]


def _nothing_yet(info: StudyInfo, metric: str | None, figure: FigureBase | None) -> FigureBase:
    """Return a figure that says that there are no results to draw."""
    of = "" if metric is None else f" of {metric}"
    return saying(figure, f"Study {info.id} has no results{of} yet.")


def _as_one(info: StudyInfo, metric: str | None) -> StudyInfo:
    """Return a study as if a metric were its only objective; without a metric, the study itself. A metric that is
    not an objective is minimized.

    Raises:
        ValueError: the study has several objectives and none is named, or it has no such metric.
    """
    objectives = {each["metric"]: each["direction"] for each in info.objectives}
    known = [*objectives, *info.metrics]
    if metric is None:
        if objectives:
            raise ValueError(f"study {info.id!r} has several objectives; name the one to draw: metric= one of {known}")
        return info
    if metric not in known:
        raise ValueError(f"{metric!r} is not a metric of study {info.id!r}; these are: {known}")
    words = {"value": info.quantities[metric]} if metric in info.quantities else {}
    return replace(info, direction=objectives.get(metric, "minimize"), quantities=words)


def _valued(observations: Sequence[Observation], metric: str | None) -> list[Observation]:
    """Return results with a metric in place of the value, without results that lack this metric."""
    if metric is None:
        return [each for each in observations if "value" not in each.missing]
    return [
        replace(each, value=each.metrics[metric], std_error=(each.std_errors or {}).get(metric))
        for each in observations
        if each.metrics is not None and metric in each.metrics
    ]


def _predicted(cut: Slice, metric: str | None) -> Slice:
    """Return a slice with the predictions of a metric."""
    if metric is None:
        return cut
    return replace(cut, predictions=tuple(Prediction(**vars((each.metrics or {})[metric])) for each in cut.predictions))
