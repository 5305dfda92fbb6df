"""Axes: log scale, grids, validation; encode is the inverse of decode."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabkb_service.engine.axes import Axis, ChoiceAxis, FloatAxis, IntAxis, Scale, StepAxis, canonical
from adabkb_service.engine.space import Fixed, Space

SCALES: list[Scale] = ["linear", "log"]
AXES: list[Axis] = [
    FloatAxis("linear", -2.5, 4.0),
    FloatAxis("log", 1e-6, 1e3, "log"),
    FloatAxis("huge", -1e308, 1e308),
    FloatAxis("offset", 1e9, 1e9 + 1e-3),
    FloatAxis("tiny", 1e-300, 3e-300),
    FloatAxis("widest log", 1e-307, 1e307, "log"),
    IntAxis("int", -3, 12),
    IntAxis("step", 10, 100, step=7),
    IntAxis("intlog", 1, 4096, "log"),
    IntAxis("finest", 1 - 2**53, 2**53 - 1, step=16),
    IntAxis("finest log", 1, 2**44, "log"),
    StepAxis("tenths", -0.3, 1.25, 0.1),
    StepAxis("fine", 1e-9, 3e-9, 1e-15),
    StepAxis("one step", 0.2, 0.3, 0.1),
    StepAxis("coarse", -1e308, 1e308, 1e308),
    ChoiceAxis("lists", ([64], [64, 64], [], None, [True, 1.5])),
    ChoiceAxis("ordinal", (0.1, 1, 10.0), ordered=True),
    ChoiceAxis("categorical", ("a", "b", 3, True)),
    ChoiceAxis("bool", (False, True)),
]


@settings(max_examples=400)
@given(u=st.floats(0.0, 1.0), axis=st.sampled_from(AXES))
def test_decoded_values_are_valid_and_round_trip_exactly(u: float, axis: Axis) -> None:
    value = axis.decode(u)
    assert axis.problem(value) is None
    position = axis.encode(value)
    assert 0.0 <= position <= 1.0
    assert axis.decode(position) == value


@st.composite
def fine_axes(draw: st.DrawFn) -> IntAxis:
    """Axes with the smallest allowed step, or one slightly larger."""
    scale = draw(st.sampled_from(SCALES))
    bounds = st.integers(1 if scale == "log" else 1 - 2**53, 2**53 - 1)
    low, high = sorted((draw(bounds), draw(bounds)))
    step = max(IntAxis("n", low, high, scale).least_step, 1) + draw(st.integers(0, 2))
    return IntAxis("n", low, max(high, low + step), scale, step)


@settings(max_examples=200)
@given(axis=fine_axes(), share=st.floats(0.0, 1.0))
def test_large_integer_ranges_have_distinct_positions(axis: IntAxis, share: float) -> None:
    """Each integer decodes to itself, and the next integer has another position."""
    for index in {0, int(share * (axis.count - 2)), axis.count - 2}:
        value, following = axis.value(index), axis.value(index + 1)
        assert axis.decode(axis.encode(value)) == value
        assert axis.encode(value) < axis.encode(following)


def test_log_axis_is_linear_in_the_logarithm_and_exact_at_its_ends() -> None:
    axis = FloatAxis("lr", 1e-4, 1e2, "log")
    assert axis.decode(0.0) == 1e-4
    assert axis.decode(1.0) == 1e2
    assert [axis.decode(u) for u in (1 / 6, 0.5, 5 / 6)] == pytest.approx([1e-3, 0.1, 10.0])
    assert axis.encode(0.1) == pytest.approx(0.5)


def test_integers_on_a_linear_scale_have_bins_of_equal_width() -> None:
    axis = IntAxis("n", 2, 11, step=3)
    u = (np.arange(4000) + 0.5) / 4000
    values, counts = np.unique([axis.decode(x) for x in u], return_counts=True)
    assert values.tolist() == [2, 5, 8, 11]
    assert counts.tolist() == [1000] * 4


def test_steps_are_counted_in_decimal_from_the_lower_bound() -> None:
    axis = StepAxis("x", 0.1, 0.75, 0.1)
    assert [axis.value(index) for index in range(axis.count)] == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]
    u = (np.arange(7000) + 0.5) / 7000
    assert np.unique([axis.decode(x) for x in u], return_counts=True)[1].tolist() == [1000] * 7
    fifteenths = StepAxis("x", 0.0, 0.9, 0.9 / 15)  # a step of 0.060000000000000005
    assert (fifteenths.count, fifteenths.value(15)) == (16, 0.9)


def test_values_with_rounding_errors_match_a_step() -> None:
    axis = StepAxis("x", 0.0, 1.0, 0.1)
    assert 3 * 0.1 != 0.3
    assert axis.problem(3 * 0.1) is None
    assert axis.decode(axis.encode(3 * 0.1)) == 0.3
    assert axis.problem(0.35) == "is 0.35, not 0.0 plus a multiple of 0.1"
    assert axis.problem(1.1) == "is 1.1, outside [0.0, 1.0]"
    assert axis.problem(math.nan) == "must be a finite number between 0.0 and 1.0"
    assert axis.problem("0.1") == "is the text '0.1', but must be a finite number between 0.0 and 1.0"


def test_measured_values_between_steps_have_their_own_positions() -> None:
    axis = StepAxis("x", 50.0, 92.0, 5.0)
    on_steps = [axis.encode(axis.value(index)) for index in range(axis.count)]
    assert on_steps == [(index + 0.5) / 9 for index in range(9)]
    assert axis.encode(72.5) == pytest.approx((on_steps[4] + on_steps[5]) / 2)
    for value in (50.1, 72.3, 89.9, 91.7):
        assert axis.problem_if_measured(value) is None
        assert axis.measured(axis.encode(value)) == canonical(axis, value) == value
        assert axis.decode(axis.encode(value)) in (50.0, 70.0, 90.0)
    assert [axis.measured(u) for u in on_steps] == [axis.decode(u) for u in on_steps]
    assert axis.problem_if_measured(92.1) == "is 92.1, outside [50.0, 92.0]"


@pytest.mark.parametrize("values", [(0.057, 0.1, 0.153), (0.153, 0.1, 0.057), (1, 2, 4), (4, 2, 1)])
def test_measured_numbers_between_ordered_values_keep_their_place(values: tuple[float, ...]) -> None:
    axis = ChoiceAxis("x", values, ordered=True)
    for index, (one, other) in enumerate(pairwise(values)):
        for share in (0.1, 0.3, 0.9):
            value = round(one + share * (other - one), 6)
            assert axis.problem(value) is not None
            assert axis.problem_if_measured(value) is None
            assert axis.encode(value) == pytest.approx((index + 0.5 + share) / 3, abs=1e-4)
            assert axis.measured(axis.encode(value)) == canonical(axis, value) == value
            assert axis.decode(axis.encode(value)) == (one if share < 0.5 else other)
    for outside in (min(values) - 1e-9, max(values) + 1e-9, 10**400, True, "1.5"):
        assert axis.problem_if_measured(outside) is not None


@pytest.mark.parametrize("axis", [ChoiceAxis("x", (1, 3, 2), ordered=True), ChoiceAxis("x", (1, 2, 4))])
def test_numbers_without_an_ascending_order_have_no_values_between(axis: ChoiceAxis) -> None:
    assert axis.problem_if_measured(1.5) is not None


def test_lists_are_compared_as_json() -> None:
    axis = ChoiceAxis("layers", ([1], [True], [1, 1], 1, None, []))
    assert [axis.bin(axis.encode(value)) for value in ([1], [True], [1, 1], 1, None, [])] == list(range(6))
    assert axis.encode((1, 1)) == axis.encode([1, 1])
    assert axis.problem([2]) is not None
    assert axis.problem([[1]]) is not None
    assert axis.problem({}) is not None
    assert axis.problem(False) is not None


@pytest.mark.parametrize("axis", [FloatAxis("x", 0.0, 1.0), IntAxis("x", 0, 9), StepAxis("x", 0.0, 1.0, 0.1)])
def test_integers_too_large_for_a_float_are_out_of_range(axis: Axis) -> None:
    assert "outside" in str(axis.problem(10**400))


def test_fixed_parameters_are_in_every_point_but_have_no_axis() -> None:
    space = Space((FloatAxis("x", 0.0, 1.0), Fixed("machine", "b"), IntAxis("n", 1, 9)))
    assert space.dimension == 2
    point = space.decode([0.5, 0.0])
    assert list(point.items()) == [("x", 0.5), ("machine", "b"), ("n", 1)]
    assert space.problems(point) == {}
    assert space.problems({"x": 0.5, "n": 1}) == {}
    assert space.problems({**point, "machine": "a"}) == {"machine": "is fixed at 'b'"}
    assert np.array_equal(space.encode(point), space.encode({"x": 0.5, "n": 1}))


def test_log_integers_have_widths_proportional_to_ratios() -> None:
    """All decades have the same width (the first has half a step more), and small values are reachable."""
    axis = IntAxis("n", 1, 10_000, "log")
    values = [axis.decode(u) for u in (np.arange(20000) + 0.5) / 20000]
    shares = [np.mean([10**k <= v < 10 ** (k + 1) for v in values]) for k in range(4)]
    assert max(shares[1:]) - min(shares[1:]) < 0.01
    assert shares[0] < 1.4 * shares[1]
    assert {1, 2, 3, 4, 5, 6, 7, 8} <= set(values)


def test_booleans_are_not_integers() -> None:
    choices = ChoiceAxis("c", (1, True, 0, False))
    assert [choices.encode(v) for v in (1, True, 0, False)] == [0.125, 0.375, 0.625, 0.875]
    assert IntAxis("n", 0, 5).problem(True) is not None
    assert FloatAxis("x", 0.0, 1.0).problem(True) is not None


@pytest.mark.parametrize(
    ("parameters", "wrong"),
    [
        ({"x": 0.5}, {"n": "is missing"}),
        ({"x": 0.5, "n": 5, "y": 1}, {"y": "is not a parameter of this study (known: n, x)"}),
        ({"x": 1.5, "n": 5}, {"x": "is 1.5, outside [0.0, 1.0]"}),
        ({"x": math.nan, "n": 5}, {"x": "must be a finite number between 0.0 and 1.0"}),
        (
            {"x": "0.5", "n": 3.5},
            {
                "x": "is the text '0.5', but must be a finite number between 0.0 and 1.0",
                "n": "must be an integer between 1 and 9",
            },
        ),
        ({"x": 0.5, "n": 2}, {"n": "is 2, not 1 plus a multiple of 4"}),
    ],
)
def test_problems_name_the_parameter_and_the_expected_value(
    parameters: dict[str, object], wrong: dict[str, str]
) -> None:
    space = Space((FloatAxis("x", 0.0, 1.0), IntAxis("n", 1, 9, step=4)))
    assert space.problems(parameters) == wrong


def test_error_messages_shorten_long_lists() -> None:
    choices = ChoiceAxis("c", tuple(f"{i:03}" * 300 for i in range(1000)))
    wide = Space((choices, *(FloatAxis(f"{i:03}".ljust(200, "n"), 0.0, 1.0) for i in range(99))))
    wrong = wide.problems({"c": "none of them", **{f"y{i}": 0 for i in range(1000)}})
    assert max(map(len, wrong.values())) <= 200
    assert wrong["c"].startswith("must be one of '000000")
    assert wrong["c"].endswith(", ... and 997 more")
    assert wrong["y0"].endswith("nnn..., ... and 99 more)")
    assert ChoiceAxis("c", ("a", 1, True)).problem("b") == "must be one of 'a', 1, True"


@pytest.mark.parametrize("axis", [axis for axis in AXES if isinstance(axis, FloatAxis)], ids=lambda axis: axis.name)
def test_positions_are_within_the_resolution_of_a_value(axis: FloatAxis) -> None:
    positions = np.random.default_rng(0).random(1000).tolist()
    farthest = max(abs(axis.encode(axis.decode(each)) - each) for each in positions)
    assert 0.1 * axis.resolution < farthest < 1.1 * axis.resolution
