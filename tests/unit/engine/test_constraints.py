"""Constraints: their grammar, their evaluation at points and over boxes, and random feasible points."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabkb_service.engine.axes import ChoiceAxis, FloatAxis, IntAxis, StepAxis
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.constraints.grammar import ConstraintError
from adabkb_service.engine.feasibility import problems
from adabkb_service.engine.slices import Slice
from adabkb_service.engine.space import Fixed, Space
from tests.unit.engine.auto.strategies import spaces
from tests.unit.engine.numbers import Bounds, Numbers
from tests.unit.engine.strategies import unit_space

EVERY_KIND = Space(
    (
        FloatAxis("a", 0.0, 1.0),
        FloatAxis("learning rate", 1e-4, 1.0, "log"),
        IntAxis("layers", 1, 16),
        IntAxis("width", 8, 4096, "log"),
        StepAxis("drop", 0.0, 0.9, 0.1),
        ChoiceAxis("batch", (16, 64, 32)),
        ChoiceAxis("kernel", ("rbf", "linear")),
        Fixed("total", 1.5),
    ),
    tuple(
        map(
            Constraint,
            [
                "a + drop <= 1",
                "layers * width <= 4096",
                '0.001 <= "learning rate" * batch <= total',
                "a < sqrt(drop + 1)",
            ],
        )
    ),
)
"""A space of which about a tenth is feasible."""


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("a + b", 1, "must compare two sides, such as"),
        ("a <= 1, b <= 2", 1, "split the constraint at the comma"),
        ("a <= 1 or 3", 11, "must compare"),
        ("(a <= 1 or b) <= 2", 2, "must consist of"),
        (
            "a + b == 1",
            10,
            "== needs a parameter on one side; parameters with a fixed sum are a mixture: declare it in",
        ),
        ("1 == a + b + 'my c'", 6, "are a mixture: declare it in mixtures; for other numbers use <="),
        ("a + 2 * b == 1", 14, "== needs a parameter on one side; for computed numbers use <="),
        ("a + b != 1", 10, "!= needs a parameter on one side; for computed numbers use <="),
        ("if a == 'if' then b <= 2", 1, "write not (a == 'if') or b <= 2"),
        ("IF a <= 1 and b > 2: c <= 3 or a <= 0", 1, "write not (a <= 1 and b > 2) or c <= 3 or a <= 0"),
        ("b <= 2 if a == 'x'", 1, "write not (a == 'x') or b <= 2"),
        ("a == 'x' implies b <= 2", 1, "write not (a == 'x') or b <= 2"),
        ("a == 'x' => b <= 2", 1, "write not (a == 'x') or b <= 2"),
        ("a == 'x' -> b <= 2", 1, "write not (a == 'x') or b <= 2"),
        ("if <= 1", 1, 'write its name in quotes: "if"'),
        ("a => b", 3, "write >= in place of =>"),
        ("if a + 1 then b <= 2", 1, 'write its name in quotes: "if"'),
        ("a == 1 + 1", 6, "must be a value; for computed numbers use <="),
        ("a == b + '1'", 6, "must be a value; for computed numbers"),
        ("a == -'x'", 6, "must be a value: a number, a text in quotes, True, False or None"),
        ("a == -True", 6, "must be a value"),
        ("a == 1j", 6, "must be a value"),
        ("a == f'{b}'", 6, "must be a value"),
        ("a == [[1, [2]]]", 7, "must be a value"),
        ("a == 1e400", 6, "at most 1e+100"),
        ("a == {1: 2}", 6, "must be a value"),
        ("a == x", 6, "'x' is not a value; a text needs quotes, such as a == \"x\""),
        ("'my a' == [x]", 12, "such as 'my a' == \"x\""),
        ("a == true", 6, "write True in place of true"),
        ("a == null", 6, "write None in place of null"),
        ("a == NONE", 6, "write None in place of NONE"),
        ("a == 1 == b", 11, "cannot be chained; join two comparisons with `and`"),
        ("1 <= a == 2", 11, "cannot be chained"),
        ("a in 'x'", 6, "in needs a list of values, such as kind in ['x', 'y']"),
        ("a not in b", 10, "not in needs a list"),
        ("'x' in a", 8, "in needs a list"),
        ("a in range(3)", 6, "in needs a list"),
        ("a in []", 6, "lists no value; give some, such as a in ['x', 'y']"),
        ("a + 1 in [2]", 1, "in needs one parameter on its left"),
        (
            "a == 'x' or 'y'",
            13,
            "'y' alone is not a comparison; repeat the parameter, such as kind",
        ),
        ("a is 1", 6, "write == in place of is"),
        ("a is not 1", 10, "write != in place of is not"),
        ("a = 'x = y'", 3, "write == in place of ="),
        ("'=' == 'x' and a = 1", 18, "write == in place of ="),
        ("a === 1", 3, "write == in place of ==="),
        ("a <> 1", 3, "write != in place of <>"),
        ("a => 1", 3, "write >= in place of =>"),
        ("a =< 1", 3, "write <= in place of =<"),
        ("a < = 1", 3, "write <= in place of < ="),
        ("a ! = 1", 3, "write != in place of ! ="),
        ("a == 1 & b == 2", 8, "write and in place of &"),
        ("(a == 1) | (b == 2)", 10, "write or in place of |"),
        ("a & b <= 1", 3, "write and in place of &"),
        ("~(a == 1)", 1, "write not in place of ~"),
        ("a == 1 && b == 2", 8, "write and in place of &&"),
        ("a == 1 || b == 2", 8, "write or in place of ||"),
        ("!(a == 1)", 1, "write not in place of !"),
        ("a <= 1 AND b <= 2", 8, "write and in place of AND"),
        ("a Not in [1]", 3, "write not in place of Not"),
        ("not " * 120 + "a <= 1", 401, "more than 100 levels"),
        ("(" * 300 + "a" + ")" * 300 + " <= 1", 201, "is not a valid expression from here on"),
        ("a <= ", 6, "is not a valid expression from here on"),
        ("(a <= 1", 1, "is not a valid expression from here on"),
        ("a + lambda <= 2", 5, 'write its name in quotes: "lambda"'),
        ("a b <= 2", 3, "need quotes"),
        ("__import__('os').system('x') <= 1", 1, "must consist of"),
        ("open(a) <= 1", 1, "is an unknown function"),
        ("2 * sqr(a) <= 1", 5, "did you mean sqrt?"),
        ("a.real <= 1", 1, "must consist of"),
        ("a[0] <= 1", 1, "must consist of"),
        ("(lambda: 1)() <= a", 1, "must consist of"),
        ("f'{a}' <= 1", 1, "must consist of"),
        ("[b for b in a] <= 1", 1, "must consist of"),
        ("a if b else c <= 1", 1, "must compare"),
        ("a <= 1 if b else c <= 1", 1, "must compare"),
        ("(b := a) <= 1", 2, "must consist of"),
        ("1j * a <= 1", 1, "must consist of"),
        ("True <= a", 1, "must consist of"),
        ("a % 2 <= 1", 1, "must consist of"),
        ("a ** b <= 1", 1, "a power needs a number"),
        ("min(a) <= 1", 1, "takes 2 to 20 arguments, not 1"),
        ("max(*a) <= 1", 1, "takes 2 to 20 arguments"),
        ("abs(x=a) <= 1", 1, "must consist of"),
        ("1 <= a <= 1e400", 11, "at most 1e+100"),
        ("a <= \\\n1", 1, "one line"),
        ("é * zz..y <= 1", 8, "is not a valid expression from here on"),
        ("-" * 300 + "a <= 1", 101, "more than 100 levels"),
    ],
)
def test_text_outside_the_grammar_is_rejected_with_its_column(text: str, column: int, words: str) -> None:
    with pytest.raises(ConstraintError) as refusal:
        assert Constraint(text).names
    assert str(refusal.value).startswith(f"column {column}: ")
    assert words in str(refusal.value)


NUMBERS = st.sampled_from(["0.0", "1.0", "2.5", "0.1", "3.0"])
EXPRESSIONS = st.recursive(
    st.one_of(st.sampled_from(["a", "b", "c"]), NUMBERS),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/"]), inner).map(lambda each: f"({' '.join(each)})"),
        st.tuples(inner, st.sampled_from(["2", "3", "-1", "-2"])).map(lambda each: f"({each[0]} ** {each[1]})"),
        inner.map(lambda each: f"(2.0 ** {each})"),
        inner.map(lambda each: f"-{each}"),
        st.tuples(st.sampled_from(["abs", "sqrt", "log", "exp"]), inner).map(lambda each: f"{each[0]}({each[1]})"),
        st.tuples(st.sampled_from(["min", "max"]), inner, inner).map(lambda each: f"{each[0]}({each[1]}, {each[2]})"),
    ),
    max_leaves=6,
)
CHAINS = st.tuples(
    EXPRESSIONS, st.sampled_from(["<=", "<", ">=", ">"]), EXPRESSIONS, st.sampled_from(["<=", ">="]), NUMBERS
).map(" ".join)
COMPARISONS = st.recursive(
    CHAINS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda each: f"({' '.join(each)})"),
        inner.map(lambda each: f"not ({each})"),
    ),
    max_leaves=4,
)
PYTHON = {"abs": abs, "min": min, "max": max, "sqrt": math.sqrt, "log": math.log, "exp": math.exp, "__builtins__": {}}
SHARES = st.floats(0, 1)
RANGES = st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3), SHARES), min_size=3, max_size=3)


def has_numbers(text: str, point: dict[str, float]) -> bool:
    """Whether the sides of all comparisons are numbers, as Python computes them."""
    compared = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Compare)]
    sides = [ast.unparse(side) for node in compared for side in (node.left, *node.comparators)]
    try:
        return not any(math.isnan(eval(side, PYTHON, point)) for side in sides)
    except (ArithmeticError, ValueError):
        return False


def has_alternatives(text: str) -> bool:
    """Whether the constraint may hold although one of its comparisons does not: with ``and`` or ``or``, or as the
    negation of a chain, since ``not (a <= b <= c)`` is ``a > b or b > c``."""
    nodes = list(ast.walk(ast.parse(text)))
    has_chain = any(isinstance(node, ast.Compare) and len(node.ops) > 1 for node in nodes)
    return any(isinstance(node, ast.BoolOp) or (has_chain and isinstance(node, ast.Not)) for node in nodes)


@settings(max_examples=200)
@given(COMPARISONS, RANGES)
def test_evaluation_agrees_with_python_and_intervals_are_sound(
    text: str, ranges: list[tuple[float, float, float]]
) -> None:
    """At a random point of a random box. A constraint that holds at the point must be possible in the box. A single
    comparison does not hold if one of its sides is not a number, as after a division by 0.
    """
    constraint, box, point = Constraint(text), {}, {}
    for name, (one, other, share) in zip("abc", ranges, strict=True):
        low, high = min(one, other), max(one, other)
        box[name] = Bounds((np.array([low]), np.array([high])))
        point[name] = min(max(low + (high - low) * share, low), high)
    holds = constraint.holds(point)
    if has_numbers(text, point):
        assert holds is eval(text, PYTHON, point)
    else:
        assert not holds or has_alternatives(text)
    assert not holds or np.all(constraint.may_hold(box))


def test_comparisons_with_nan_are_false() -> None:
    for text in ("1 / a <= 3", "log(a - 1) <= 3", "sqrt(a - 1) <= 3", "(a - 1) ** 0.5 <= 3", "exp(2000 + a) >= 1"):
        assert not Constraint(text).holds({"a": 0.0})
        assert not Constraint(f"not {text}").holds({"a": 0.0})
        assert Constraint(f"{text} or a <= 0").holds({"a": 0.0})
    assert not Constraint("1 / a <= 3").hold_at({"a": Numbers(np.array([np.nan]))})[0]


def test_quoted_names_are_parsed_with_their_columns() -> None:
    assert Constraint('2 * "learning rate" + max <= max(max, "if")').names == {"learning rate": 5, "max": 23, "if": 39}
    assert Constraint("é + b <= 1").names == {"é": 1, "b": 5}
    assert Constraint("'é é' == 'è' or c not in ['d'] or e").names == {"é é": 1, "c": 17, "e": 35}


def test_random_points_satisfy_all_constraints() -> None:
    """On every kind of axis, checked by independent formulas."""
    feasible = Slice(EVERY_KIND, {}).feasible
    assert feasible is not None
    u = feasible.sample((7, 3), 200_000)
    a, rate = u[:, 0], np.exp(np.log(1e-4) * (1.0 - u[:, 1]))
    layers = np.floor(0.5 + 16.0 * u[:, 2] + 0.5)
    edges = np.log([7.5, 4096.5])
    width = np.floor(np.exp(edges[0] + (edges[1] - edges[0]) * u[:, 3]) + 0.5)
    drop, batch = np.floor(10.0 * u[:, 4]) / 10.0, np.array([16, 64, 32])[np.floor(3.0 * u[:, 5]).astype(int)]
    assert len(u) == 200_000
    assert (a + drop).max() <= 1.0 + 1e-12
    assert (layers * width).max() <= 4096
    assert (rate * batch >= 0.001 - 1e-12).all()
    assert (rate * batch).max() <= 1.5 + 1e-12
    assert (a < np.sqrt(drop + 1.0) + 1e-12).all()
    assert (np.ptp(u, axis=0) > 0.49).all(), "the points are spread over the space"
    some = [feasible.exact(position) for position in u[::1000]]
    assert sum(feasible.admits(point) for point in some) >= 0.99 * len(some), "rounding may violate a constraint"


SIMPLEX = Space(unit_space(8).axes, (Constraint(" + ".join(f"x{i}" for i in range(8)) + " <= 1"),))
THIN = Space(unit_space(2).axes, (Constraint("0.3 <= x0 + x1 <= 0.3001"), Constraint("x0 * x1 >= 0.015")))


@pytest.mark.parametrize("space", [SIMPLEX, THIN], ids=["simplex in 8 dimensions", "thin"])
def test_random_points_cover_tiny_feasible_sets(space: Space) -> None:
    feasible = Slice(space, {}).feasible
    assert feasible is not None
    found = feasible.sample((1, 1), 500)
    assert feasible.mask(found).all()
    assert len(np.unique(found.round(6), axis=0)) > 450
    centre = found.mean(axis=0)
    assert np.abs(centre - (1 / 9 if len(centre) == 8 else 0.15)).max() < 0.03


@settings(max_examples=60)
@given(spaces(), st.floats(0.05, 1.95), SHARES, st.integers(0, 99))
def test_cover_contains_every_feasible_point(space: Space, bound: float, share: float, seed: int) -> None:
    """For constraints on numeric axes of every kind, each feasible random point is in a box of the cover."""
    numeric = [each for each in space.axes if each.decode(0.0) not in (False, True)]
    if not numeric:
        return
    ends = [(float(each.decode(0.0)), float(each.decode(1.0))) for each in numeric]  # type: ignore[arg-type]
    terms = [f'("{each.name}" - {low!r}) / {high - low!r}' for each, (low, high) in zip(numeric, ends, strict=True)]
    constrained = Space(space.parameters, (Constraint(f"{' + '.join(terms)} <= {bound * share}"),))
    feasible = Slice(constrained, {}).feasible
    assert feasible is not None
    lows, highs, _ = feasible.cover
    for point in space.snap(np.random.default_rng(seed).random((20, space.dimension))):
        if feasible.admits(point):
            assert ((lows - 1e-9 <= point) & (point <= highs + 1e-9)).all(axis=1).any()


def test_finite_spaces_are_counted_exactly() -> None:
    space = Space(
        (StepAxis("x", 0.0, 1.0, 0.1), StepAxis("y", 0.0, 1.0, 0.1), IntAxis("n", 1, 3)),
        (Constraint("x + y <= 0.3"), Constraint("n * x >= 0.1")),
    )
    values = [i / 10 for i in range(11)]
    expected = sum(x + y <= 0.3 and n * x >= 0.1 for x in values for y in values for n in (1, 2, 3))
    whole = Slice(space, {})
    assert whole.size == len(whole.points) == expected > 0
    assert all(not space.violated(space.decode(point)) for point in whole.points)
    assert Slice(space, {"n": 1}).size == Slice(space, {"n": 3}).size == expected / 3


def test_infeasible_spaces_name_the_conflicting_constraints() -> None:
    space = unit_space(3)
    assert problems(["x0 + x1 <= 1", "x2 <= 0.5"], space) == {}
    proved = problems(["x2 <= 0.5", "x0 + x1 >= 1.5", "x0 <= 0.4", "x1 <= 0.9"], space)
    assert set(proved) == {1, 2}
    assert proved[1].startswith("no point satisfies the constraints 1, 2 together; relax one of them")
    assert problems(["x0 >= 2"], space)[0].startswith("no point satisfies this constraint; relax it")
    assert problems(["1 <= x0 + x1 <= 1"], space) == {}, "the boxes of the cover have corners there"
    unproved = problems(["0.777 <= x0 + x1 + x2 <= 0.777", "x0 >= 0.1"], space)
    assert list(unproved) == [0]
    assert unproved[0].startswith("no point is found among 65,536 that satisfies this constraint")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("layer * 2 <= 4", "column 1: 'layer' is not a parameter; did you mean layers? (known: "),
        (
            "layers <= kernel",
            "column 11: 'kernel' has values that are not numbers; use the operator == or in, such as kernel",
        ),
        ("layers <= '12'", "column 11: '12' is not a parameter; leave out the quotes of a number (known: "),
        (
            "a <= 'much'",
            "column 6: 'much' is not a parameter; text in quotes is a parameter name here; compare",
        ),
        ("kern == 'rbf'", "column 1: 'kern' is not a parameter; did you mean kernel? (known: "),
        (
            "rbf == 'kernel'",
            "column 1: 'rbf' is not a parameter; write the parameter 'kernel' first, and a",
        ),
        (
            "kernel == 'RBF'",
            "column 11: 'RBF' is not a value of 'kernel'; did you mean 'rbf'? (known: ",
        ),
        ("kernel in ['rbf', 'poly']", "column 19: 'poly' is not a value of 'kernel' (known: 'rbf', 'linear')"),
        (
            "kernel != ['rbf']",
            "column 11: ['rbf'] is not a value of 'kernel'; use the operator in to compare with a list (known: ",
        ),
        ("kernel == 1", "column 11: 1 is not a value of 'kernel' (known: "),
        (
            "batch == '32'",
            "column 10: '32' is not a value of 'batch'; leave out the quotes of 32 (known: 16, 6",
        ),
        ("layers == 17", "column 11: 17 is not a value of 'layers': it is outside [1, 16]"),
        ("layers in [1, 2.5]", "column 15: 2.5 is not a value of 'layers': it must be an integer between 1 and 16"),
        ("layers == True", "column 11: True is not a value of 'layers': it must be an integer"),
        ("layers == '3'", "column 11: '3' is not a value of 'layers', which has numbers; leave out the quotes"),
        ("drop == 0.35", "column 9: 0.35 is not a value of 'drop': it is not 0.0 plus a multiple of 0.1"),
        ("drop == 0.3 + 1e-9", "column 9: must be a value; for computed numbers use <="),
        ("drop == 0.300000001", "column 9: 0.300000001 is not a value of 'drop': the nearest is 0.3"),
        ("a == 0.5", "column 1: 'a' is a real number, which hardly ever equals a value; use <= or >="),
        (
            "kernel or a <= 0.5",
            "column 1: 'kernel' alone is neither true nor false; compare it with a value, such as kernel",
        ),
        ("not a", "column 5: 'a' alone is neither true nor false; compare it with a value, such as a <= 1"),
        ("total == 1.5", "names no parameter that varies"),
        ("total <= 2", "names no parameter that varies"),
        ("1 <= 2", "names no parameter that varies"),
    ],
)
def test_constraints_on_unsuitable_parameters_are_rejected(text: str, sentence: str) -> None:
    assert problems(["layers <= 12", text], Space(EVERY_KIND.parameters))[1].startswith(sentence)


def test_random_points_of_a_slice_satisfy_the_constraints() -> None:
    within = Slice(EVERY_KIND, {"drop": 0.5, "layers": 16})
    assert within.feasible is not None
    found = within.feasible.sample((1, 2), 200)
    assert within.holds(found).all()
    assert found[:, 0].max() <= 0.5
    for step in range(20):
        parameters = {**EVERY_KIND.decode(within.drawn(5, step)), **within.fixed}
        assert not EVERY_KIND.violated(parameters)
