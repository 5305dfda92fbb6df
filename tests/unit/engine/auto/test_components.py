"""Descriptors of choices under the ``auto`` profile: their coordinates, what the model learns from them, and that
uninformative ones do no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto.config import Config
from adabkb_service.engine.auto.domain import components
from adabkb_service.engine.auto.domain.domain import Domain
from adabkb_service.engine.auto.model import likelihood
from adabkb_service.engine.auto.model.likelihood import NOISY_STARTS, Evidence
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.auto.state.checkpoint import from_json
from adabkb_service.engine.axes import ChoiceAxis, FloatAxis
from adabkb_service.engine.conditions import Condition
from adabkb_service.engine.constraints.constraint import Constraint
from adabkb_service.engine.older import Older
from adabkb_service.engine.space import Space
from tests.samples import some
from tests.unit.engine.auto.drive import run

Array = NDArray[np.float64]

LIGANDS = tuple("abcdefghijkl")
SIZE = np.random.default_rng(3).permutation(12).astype(float)
"""Per ligand, the quantity that the objective depends on."""


def described(*descriptors: Array, name: str = "ligand") -> ChoiceAxis:
    return ChoiceAxis(name, LIGANDS, descriptors=tuple(tuple(map(float, each)) for each in descriptors))


def places(*descriptors: Array) -> Array:
    """Coordinates of the ligands along the components of these descriptors, (12, p)."""
    domain = Domain(Space((described(*descriptors),)))
    return domain.components.of((np.arange(12)[:, None] + 0.5) / 12)


def distances(at: Array) -> Array:
    """Distances between all ligands, (12, 12)."""
    found: Array = np.linalg.norm(at[:, None] - at[None], axis=2)
    return found


def test_many_correlated_descriptors_give_few_coordinates() -> None:
    """200 descriptors that depend on two quantities give two components, with the distances of these quantities."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(12, 2))
    mixing = rng.normal(size=(2, 200))
    found = places(*(hidden @ mixing).T)
    assert found.shape == (12, 2)
    assert np.corrcoef(distances(found).ravel(), distances(hidden).ravel())[0, 1] > 0.9
    assert places(*rng.normal(size=(50, 12))).shape == (12, components.MOST)


def test_units_duplicates_and_constants_do_not_change_distances() -> None:
    """Degrees Celsius or Fahrenheit, a duplicate descriptor and a huge unit leave the distances unchanged."""
    other = np.random.default_rng(1).normal(size=12)
    plain = distances(places(SIZE, other))
    np.testing.assert_allclose(distances(places(1.8 * SIZE + 32, -other)), plain, atol=1e-8)
    np.testing.assert_allclose(distances(places(1e300 * SIZE, other, np.full(12, 7.0))), plain, atol=1e-8)
    np.testing.assert_allclose(distances(places(SIZE, SIZE)), distances(places(SIZE)), atol=1e-8)
    assert places(np.full(12, 0.1), np.zeros(12)).shape == (12, 0)


def test_constant_descriptors_change_no_suggestion() -> None:
    def objective(point: Array) -> float:
        return float(-((point[0] - 0.3) ** 2) - SIZE[int(point[1] * 12)] / 12)

    amounts = FloatAxis("x", 0.0, 1.0)
    plain = run(Space((amounts, ChoiceAxis("ligand", LIGANDS))), objective, 30)
    np.testing.assert_array_equal(
        run(Space((amounts, described(np.full(12, 3.0)))), objective, 30).points, plain.points
    )


def learned(descriptor: Array, seed: int) -> tuple[likelihood.Hyperparameters, float]:
    """Hyperparameters learned from 40 results of 8 ligands, and the RMS error at four ligands of medium size."""
    rng = np.random.default_rng(seed)
    domain = Domain(Space((described(descriptor), FloatAxis("x", 0.0, 1.0))))
    X = np.column_stack([(rng.integers(0, 12, 300) + 0.5) / 12, rng.random(300)])
    truth = np.sin(SIZE[(X[:, 0] * 12).astype(int)] / 3.0) + 0.3 * X[:, 1]
    noisy = truth + 0.1 * rng.standard_normal(300)
    is_known = ~np.isin(SIZE[(X[:, 0] * 12).astype(int)], [2, 5, 7, 9])
    known, unknown = np.flatnonzero(is_known)[:40], np.flatnonzero(~is_known)
    mean, scale = truth[known].mean(), truth[known].std()
    z = (noisy[known] - mean) / scale
    evidence = Evidence(X[known], z, np.zeros(40), domain.categorical, components=domain.components)
    prior = likelihood.prior_of(domain)
    found = likelihood.learn(evidence, [prior, *(replace(prior, noise_ratio=ratio) for ratio in NOISY_STARTS)])
    kernel = found.kernel(domain)
    scaled, at = kernel.scaled(X[known]), kernel.scaled(X[unknown])
    K = kernel.gram(scaled, scaled) + found.noise_ratio * np.eye(40)
    predicted = kernel.gram(at, scaled) @ np.linalg.solve(K, z)
    return found, float(np.sqrt(np.mean((predicted * scale + mean - truth[unknown]) ** 2)))


def test_relevant_descriptor_predicts_untried_choices() -> None:
    """In each of five sets of results, the error at four untried ligands is at most a quarter of that without
    descriptors. A relevant descriptor has a shorter lengthscale than an irrelevant one; that of the names is longer.
    """
    for seed in range(5):
        useful, error = learned(SIZE, seed)
        _, unknowing = learned(np.ones(12), seed)
        useless, _ = learned(np.random.default_rng(seed).normal(size=12), seed)
        assert error < 0.25 * unknowing
        assert useful.lengthscales[0] > useless.lengthscales[0]
        assert useful.components[0] < useless.components[0]


def hill(space: Space) -> Callable[[Array], float]:
    """An objective: a hill over the numbers, higher for ligands of medium size."""
    ligand = [axis.name for axis in space.axes].index("ligand")

    def objective(point: Array) -> float:
        size = SIZE[int(point[ligand] * 12)] / 12
        return float(-((np.delete(point, ligand) - 0.4) ** 2).sum() - (size - 0.5) ** 2)

    return objective


AMOUNTS = (FloatAxis("x", 0.0, 1.0), FloatAxis("y", 0.0, 1.0))
USELESS = np.random.default_rng(5).normal(size=12)
SPACES = {
    "numbers": Space((*AMOUNTS, described(SIZE, USELESS))),
    "small and finite": Space((described(SIZE, USELESS), ChoiceAxis("base", tuple("abcd")))),
    "constraints": Space((*AMOUNTS, described(SIZE)), constraints=(Constraint("x + y <= 1"),)),
    "conditions": Space((AMOUNTS[0], described(SIZE), AMOUNTS[1]), conditions=(Condition("y", "ligand", ("a", "b")),)),
    "a conditional category": Space(
        (AMOUNTS[0], ChoiceAxis("catalysed", (False, True)), described(SIZE)),
        conditions=(Condition("ligand", "catalysed", (True,)),),
    ),
}


@pytest.mark.parametrize("name", some(SPACES, ["numbers", "conditions"]))
def test_study_with_descriptors_is_restored_bit_for_bit(name: str) -> None:
    """After 45 results with restarts, the stored state gives the same next suggestion."""
    space = SPACES[name]
    done = run(space, hill(space), 45)
    assert len({tuple(point) for point in done.points}) == 45
    np.testing.assert_array_equal(done.restored().ask(), done.ask())


def test_parameters_learned_for_other_descriptors_are_rejected() -> None:
    """Otherwise, the model would read beyond the end of an array."""
    space = SPACES["numbers"]
    done = run(space, hill(space), 8)
    checkpoint = from_json(auto.learned(done.state))
    assert checkpoint is not None
    domain = Domain(Space((*AMOUNTS, described(SIZE))))
    with pytest.raises(ValueError, match="the descriptors have 1 components, not 2"):
        checkpoint.hyperparameters.kernel(domain)


def test_older_studies_transfer_along_descriptors() -> None:
    """The older study had ligands of two sizes only: the search begins at ligands similar to the better ones."""
    space = Space((FloatAxis("x", 0.0, 1.0), described(SIZE)))
    order = np.argsort(SIZE)
    tried = np.concatenate([order[:5], order[-3:]])
    positions = tuple(((ligand + 0.5) / 12,) for ligand in tried.tolist())
    outputs = tuple((SIZE[tried] - SIZE[tried].mean()).tolist())
    config = Config(older=(Older("before", (1,), positions, outputs),))
    done = run(space, hill(space), 2, config=config)
    assert SIZE[int(done.points[1][1] * 12)] >= 7


def test_choice_unlike_all_others_is_tried_early() -> None:
    """In a small finite space of 11 similar ligands and a different one, that one is among the first four points of
    each run.
    """
    outlier = np.append(np.linspace(0.0, 0.5, 11), 5.0)
    space = Space((described(outlier), ChoiceAxis("base", tuple("abcd"))))
    for seed in range(10):
        points = run(space, lambda point: float(point[1]), 4, seed=seed).points
        assert 11 in [int(point[0] * 12) for point in points]


def test_small_space_is_explored_until_all_described_choices_are_tried() -> None:
    """From the fifth point on, each point explores or is next to the best one."""
    space = SPACES["small and finite"]
    done = run(space, hill(space), 4)
    for _ in range(6):
        suggestion = auto.suggest(done.state, np.zeros((0, space.dimension)))
        assert suggestion.phase in {"explore", "polish"}
        done.step(hill(space))


def test_all_choices_are_tried_even_if_descriptors_mislead() -> None:
    """The best ligand has descriptors similar to the worst ones; the search finds it within 48 steps."""
    misleading = np.arange(12.0)
    space = Space((described(misleading), *(ChoiceAxis(f"c{k}", tuple("abcd")) for k in range(3))))

    def objective(point: Array) -> float:
        ligand = int(point[0] * 12)
        return (5.0 if ligand == 1 else ligand / 12) - float(np.abs(point[1:] - 0.625).sum())

    for seed in range(2):
        assert max(run(space, objective, 48, seed=seed).values) > 4.0
