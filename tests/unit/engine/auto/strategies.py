"""Hypothesis strategies for search spaces with all kinds of axes."""

from __future__ import annotations

from hypothesis import strategies as st

from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis, IntAxis, StepAxis
from adabkb_service.engine.space import Space


@st.composite
def float_axes(draw: st.DrawFn, name: str) -> FloatAxis:
    if draw(st.booleans()):
        return FloatAxis(name, 1e-5, draw(st.sampled_from([1e-3, 10.0])), "log")
    return FloatAxis(name, *draw(st.sampled_from([(0.0, 1.0), (-3e5, 7e5), (0.5, 0.75)])))


@st.composite
def int_axes(draw: st.DrawFn, name: str) -> IntAxis:
    """1 to 5000 values, evenly or logarithmically spaced, some with a step that does not reach ``high``."""
    low = draw(st.integers(1, 30))
    high = low + draw(st.one_of(st.integers(0, 12), st.integers(13, 5000)))
    return IntAxis(name, low, high, draw(st.sampled_from(["linear", "log"])), draw(st.sampled_from([1, 1, 2, 7])))


@st.composite
def step_axes(draw: st.DrawFn, name: str) -> StepAxis:
    """2 to 5000 values, some with a step that does not reach ``high``."""
    return StepAxis(name, *draw(st.sampled_from([(0.0, 1.0, 0.1), (-0.3, 0.75, 0.5), (1e-9, 6e-9, 1e-12)])))


@st.composite
def choice_axes(draw: st.DrawFn, name: str) -> ChoiceAxis:
    kind = draw(st.sampled_from(["bool", "categorical", "ordinal"]))
    if kind == "bool":
        return ChoiceAxis(name, (False, True))
    return ChoiceAxis(name, tuple(range(draw(st.integers(2, 7)))), ordered=kind == "ordinal")


@st.composite
def spaces(draw: st.DrawFn, axes: int = 4) -> Space:
    """Spaces with one to ``axes`` axes of any kind."""
    chosen: list[Axis] = [
        draw(st.one_of(float_axes(f"x{i}"), int_axes(f"x{i}"), step_axes(f"x{i}"), choice_axes(f"x{i}")))
        for i in range(draw(st.integers(1, axes)))
    ]
    return Space(tuple(chosen))


MIXED = Space(
    (
        FloatAxis("rate", 1e-5, 1.0, "log"),
        IntAxis("units", 1, 1000, "log"),
        IntAxis("batch", 8, 64, step=8),
        StepAxis("dropout", 0.0, 0.5, 0.05),
        ChoiceAxis("loss", ("hinge", "log", "huber")),
        ChoiceAxis("depth", (2, 4, 8), ordered=True),
        ChoiceAxis("bias", (False, True)),
    )
)
"""Every kind of axis."""
