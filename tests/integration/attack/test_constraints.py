"""Constraints on parameters that try to block a server, or to make it fail."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.constraints.grammar import LONGEST
from adabkb_service.engine.feasibility import incompatible, problems
from adabkb_service.engine.space import Space
from tests.integration.api.conftest import DEFINITION
from tests.servers import server_on
from tests.unit.engine.numbers import Bounds, Numbers

WIDE = [FloatAxis(f"p{k}", 0.0, 1.0) for k in range(100)]
DISTANCES = [
    "+".join(f"abs(p{(k + j) % 100}-0.{k + 11})" for k in range(24)) + f" <= {0.02 + j / 1e4}" for j in range(20)
]
"""Few points satisfy each pair of them, so interval arithmetic needs many bisections."""
OVERFLOWS = ["exp(1000) >= p0", *("+".join(f"p{(k + j) % 100}" for k in range(80)) + " <= 100" for j in range(19))]
"""They hold in floating point with infinities, but at no point exactly, so all points are checked exactly."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with server_on(f"sqlite:///{tmp_path_factory.mktemp('constraints')}/adabkb.db") as address:
        yield address


def defined(constraints: list[str]) -> dict[str, Any]:
    parameters = [{"name": each.name, "kind": "float", "low": 0, "high": 1} for each in WIDE]
    return {"direction": "minimize", "parameters": parameters, "constraints": constraints}


@pytest.mark.long
def test_other_requests_are_answered_while_constraints_are_checked(server: str) -> None:
    with ThreadPoolExecutor(1) as thread, httpx.Client(base_url=server, timeout=60) as client:
        checked = thread.submit(httpx.post, f"{server}/v1/studies", json=defined(DISTANCES[:8]), timeout=60)
        answers = 0
        while not checked.done():
            answers += client.get("/healthz").status_code == 200
            time.sleep(0.02)
        assert checked.result().status_code == 422
        assert answers > 10


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(DISTANCES, id="bisected", marks=pytest.mark.long),
        pytest.param(OVERFLOWS, id="looked at exactly", marks=pytest.mark.long),
    ],
)
def test_twenty_long_constraints_are_checked_in_bounded_time(texts: list[str]) -> None:
    """They took 12 to 28 s in an early version, and now take 1.5 to 3 s."""
    assert max(map(len, texts)) <= LONGEST
    before = time.thread_time()
    assert problems(texts, Space(tuple(WIDE)))
    assert time.thread_time() - before < 10


@pytest.mark.parametrize(
    "text",
    [
        "x**9**9**9 <= 1",
        pytest.param("2**2**2**2**2**2**2 <= x", marks=pytest.mark.long),
        pytest.param("x**exp(999) <= 1", marks=pytest.mark.long),
        "x**(0/0) <= 1",
        pytest.param("x**(1/0) <= 1", marks=pytest.mark.long),
        pytest.param("(0/0)**x <= 1", marks=pytest.mark.long),
        pytest.param("x**-9**9**9 >= 1", marks=pytest.mark.long),
        "log(0)**x <= 1",
        pytest.param("x**9.5**9**9 <= 1 <= 2", marks=pytest.mark.long),
    ],
)
def test_overflowing_powers_cause_no_server_error(server: str, text: str) -> None:
    definition = {**DEFINITION, "constraints": [text], "parameters": [{**DEFINITION["parameters"][0], "name": "x"}]}
    answer = httpx.post(f"{server}/v1/studies", json={**definition, "id": None}, timeout=60)
    assert answer.status_code in (201, 422), answer.text
    assert answer.status_code == 201 or answer.json()["errors"][0]["pointer"] == "/constraints/0"


NUMBERS = st.sampled_from(["0", "1", "2", "0.5", "9", "1e100", "1e-300"])
CONSTANTS = st.recursive(
    NUMBERS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "**"]), inner).map(lambda three: f"({''.join(three)})"),
        st.tuples(st.sampled_from(["exp", "log", "sqrt", "abs", "-"]), inner).map(lambda two: f"{two[0]}({two[1]})"),
    ),
    max_leaves=6,
)


@settings(max_examples=100)
@given(CONSTANTS, st.booleans(), st.sampled_from(["<=", ">="]), CONSTANTS, st.floats(-3, 3))
def test_powers_of_any_constant_have_sound_intervals(
    constant: str, is_base: bool, comparison: str, bound: str, x: float
) -> None:
    text = f"{constant}**x {comparison} {bound}" if is_base else f"x**{constant} {comparison} {bound}"
    constraint = Constraint(text)
    box = {"x": Bounds((np.array([x - 1.0, x]), np.array([x + 1.0, x])))}
    assert constraint.may_hold(box).all() or not constraint.holds({"x": x})
    constraint.hold_at({"x": Numbers(np.array([x]))})
    constraint.slack({"x": Numbers(np.array([x]))})


WORDS = re.findall(
    r"\S+",
    """a b 'x' "y" 1 -2 0.5 1e999 0x1f 1_0 1j True None [ ] ( ) { } , : and or not in is if else lambda == != <= < > >=
    = & | ~ ! && || => <> + - * / ** % @ := abs min max é ﬁ µ f'{a}' b'x' # ; . ... ` \u202e \U0001f600 \ud800 \0 \\""",
)
TEXTS = st.one_of(
    st.text(max_size=60),
    st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=9).map("".join),
)


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@settings(max_examples=300)
@given(TEXTS)
def test_any_text_is_parsed_or_rejected_with_a_column(text: str) -> None:
    """Python warns of some of them, such as ``1or 2``."""
    found = incompatible([text.strip()], Space((ChoiceAxis("a", ("x", "y")), FloatAxis("b", 0.0, 1.0))))
    assert not found or re.match(r"column \d+: \S|names no parameter that varies", found[0])


@pytest.mark.parametrize(
    "text",
    [
        "not " * 120 + "a",
        "(" * 240 + "a" + ")" * 240,
        " or ".join(["a=='x'"] * 45),
        "a in [" + ",".join(["'x'"] * 120) + "]",
        "not(" * 90 + "a=='x'" + ")" * 90,
        "a==" + "[" * 400,
        "a==" + "-" * 400 + "1",
        "a in [" * 60 + "1" + "]" * 60,
        "a<b" * 150,
    ],
    ids=range(9),
)
def test_deep_and_long_texts_are_parsed_or_rejected(text: str) -> None:
    assert len(text) <= LONGEST
    found = incompatible([text], Space((ChoiceAxis("a", ("x", "y")), FloatAxis("b", 0.0, 1.0))))
    assert not found or found[0].startswith("column ")


@pytest.mark.long
def test_twenty_long_constraints_on_choices_are_checked_in_bounded_time() -> None:
    choices = [ChoiceAxis(f"c{k}", tuple("abcdefgh")) for k in range(60)]
    texts = [
        " or ".join(f"c{(7 * j + 3 * k) % 60}=='{'abcdefgh'[(j * k) % 8]}' and p{k}<0.2" for k in range(18))
        for j in range(20)
    ]
    assert max(map(len, texts)) <= LONGEST
    before = time.thread_time()
    problems(texts, Space((*choices, *WIDE[:20])))
    assert time.thread_time() - before < 10


@pytest.mark.long
def test_study_with_long_feasible_constraints_issues_trials(tmp_path: Path) -> None:
    texts = ["+".join(f"p{(k + j) % 100}" for k in range(80)) + f" <= {30 + j}" for j in range(20)]
    with server_on(f"sqlite:///{tmp_path}/adabkb.db") as address, httpx.Client(base_url=address, timeout=60) as client:
        assert client.post("/v1/studies", json={"id": "s", **defined(texts)}).status_code == 201
        (trial,) = client.post("/v1/studies/s/suggest", json={}).json()["trials"]
        assert not [text for text in texts if not Constraint(text).holds(trial["parameters"])]
