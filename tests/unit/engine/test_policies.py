"""Properties of all systems: both revisions of ``auto``, variants of Ada-BKB, and GP-ThreDS."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from adabkb_service.engine.auto import config as auto_config
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.paper.config import Config
from adabkb_service.engine.paper.policy import ada_bkb
from adabkb_service.engine.paper.variation import Chaining
from adabkb_service.engine.policy import Policy
from adabkb_service.engine.sampling import config as sampling_config
from adabkb_service.engine.sampling.policy import sampling
from adabkb_service.engine.threds import config as threds
from adabkb_service.engine.threds.policy import gp_threds
from tests.unit.engine.drive import hills, record
from tests.unit.engine.strategies import unit_space

Array = NDArray[np.float64]

SPACE = unit_space(2)
NOTHING = np.zeros((0, 2))
EXACT = Config(qbar=math.inf, epsilon=0.0)
THREDS = threds.Config(threds.of_a_test(Config(noise_std=0.05)), 0.0, 1.5, grid=8, patience=5, slack=0.1, max_depth=6)
SYSTEMS: dict[str, tuple[Policy[Any, Any], Any]] = {
    "auto": (auto, auto_config.Config()),
    "ada-bkb": (ada_bkb, Config()),
    "ada-bbkb": (ada_bkb, Config(batch_drift=2.0, ridge=0.01)),
    "ei": (ada_bkb, Config(index="ei")),
    "ada-gp-ucb": (ada_bkb, replace(EXACT, chaining=Chaining(200, 1.0), prunes=False, beta=0.03, max_depth=8)),
    "gp-ucb": (ada_bkb, replace(EXACT, points_per_axis=9)),
    "bkb": (ada_bkb, Config(points_per_axis=9)),
    "random-bkb": (ada_bkb, Config(points=150)),
    "gp-threds": (gp_threds, THREDS),
    "random": (sampling, sampling_config.Config("random")),
    "sobol": (sampling, sampling_config.Config("sobol")),
}
STEPS = 24


@dataclass
class Study:
    """A study, and what a database would hold."""

    policy: Policy[Any, Any]
    config: Any
    state: Any
    cells: dict[str, str]
    points: list[Array]
    values: list[float]

    def ask(self) -> Array:
        suggestion = self.policy.suggest(self.state, NOTHING)
        self.state = suggestion.state
        self.cells.update(suggestion.cells)
        return suggestion.point

    def tell(self, point: Array) -> None:
        update = self.policy.observe(self.state, point, hills(point))
        self.state = update.state
        self.cells.update(update.cells)
        self.points.append(point)
        self.values.append(hills(point))

    def restored(self) -> Study:
        """The study restored from what a database would hold, after a round trip through JSON."""
        policy, state = self.policy, self.state
        learned = json.loads(json.dumps(policy.learned(state)))
        kept = record(np.array(self.points).reshape(-1, 2), self.values)
        state = policy.restore(SPACE, self.config, 0, kept, dict(self.cells), policy.dictionary(state), learned)
        return replace(self, state=state, cells=dict(self.cells), points=[*self.points], values=[*self.values])


@pytest.fixture(params=SYSTEMS)
def study(request: pytest.FixtureRequest) -> Study:
    policy, config = SYSTEMS[request.param]
    return Study(policy, config, policy.start(SPACE, config, 0), {"0": "leaf"}, [], [])


def run(study: Study, steps: int) -> Study:
    for _ in range(steps):
        study.tell(study.ask())
    return study


@pytest.mark.long
def test_prepare_does_not_change_suggestions(study: Study) -> None:
    """A study that prepares after each result has the same points, cells and reports as one that never does."""
    other = replace(study, cells=dict(study.cells), points=[], values=[])
    for _ in range(STEPS):
        run(study, 1)
        other.state = other.policy.prepare(other.state)
        run(other, 1)
        assert other.points[-1].tolist() == study.points[-1].tolist()
        assert study.policy.report(study.state) == other.policy.report(other.state)
    assert study.cells == other.cells


def test_restored_study_continues_identically(study: Study) -> None:
    """Before and after each suggestion, the next points, cells and dictionaries are the same."""
    for _ in range(STEPS):
        restored = study.restored()
        point = study.ask()
        assert restored.ask().tolist() == point.tolist()
        restored = study.restored()
        for each in (study, restored):
            each.tell(point)
        assert restored.cells == study.cells
        assert restored.policy.dictionary(restored.state) == study.policy.dictionary(study.state)


def test_suggestions_are_distinct_and_do_not_modify_the_state(study: Study) -> None:
    """Eight suggestions at once equal eight suggestions in turn, each with the previous ones pending."""
    run(study, 10)
    policy, state = study.policy, study.state
    together = [suggestion.point for suggestion in islice(policy.suggestions(state, NOTHING), 8)]
    assert len({point.tobytes() for point in together}) == 8
    assert np.array_equal(SPACE.snap(np.array(together)), together)
    for count, point in enumerate(together):
        suggestion = policy.suggest(state, np.array(together[:count]).reshape(-1, 2))
        state = suggestion.state
        assert suggestion.point.tolist() == point.tolist()
    assert policy.suggest(study.state, NOTHING).point.tolist() == together[0].tolist()


def test_any_point_of_the_space_can_be_observed(study: Study) -> None:
    """Observes corners, the centre and random points before any suggestion; suggestions continue afterwards."""
    points = [[0.0, 0.0], [1.0, 1.0], [0.5, 0.5], *np.random.default_rng(0).random((5, 2))]
    for point in SPACE.snap(np.array(points)):
        study.tell(point)
    run(study, 3)
    assert study.policy.report(study.state).observations == 11


def test_predictions_and_recommendations_have_the_documented_shapes(study: Study) -> None:
    """Before the first result there is no recommendation; afterwards it is an evaluated point."""
    at = np.random.default_rng(0).random((7, 2))
    assert study.policy.recommend(study.state) is None
    for steps in (0, 1, 12):
        prediction = study.policy.predict(run(study, steps).state, at)
        for name in ("mean", "std", "lcb", "ucb"):
            assert getattr(prediction, name).shape == (7,)
            assert np.isfinite(getattr(prediction, name)).all()
        assert (prediction.lcb <= prediction.mean).all()
        assert (prediction.mean <= prediction.ucb).all()
    recommendation = study.policy.recommend(study.state)
    assert recommendation is not None
    assert recommendation.point.tolist() in [point.tolist() for point in study.points]


def test_rebuild_removes_an_excluded_result(study: Study) -> None:
    """The rebuilt state has the remaining results, keeps cells that were split, and the study continues."""
    run(study, 12)
    kept = record(study.points[1:], study.values[1:])
    update = study.policy.rebuild(study.state, kept, study.cells)
    assert study.policy.report(update.state).observations == 11
    assert set(update.cells) <= set(study.cells)
    before = {key for key, status in study.cells.items() if status == "expanded"}
    study.state = update.state
    study.cells.update(update.cells)
    assert before <= {key for key, status in study.cells.items() if status == "expanded"}
    del study.points[0], study.values[0]
    run(study, 3)


def test_continuous_studies_start_neither_stopped_nor_exhausted(study: Study) -> None:
    assert not study.policy.stopped(study.state)
    assert not study.policy.exhausted(run(study, 5).state, NOTHING)


@pytest.mark.long
def test_cells_contain_their_centroids(study: Study) -> None:
    """Checks all cells that the study ever reported."""
    run(study, 12)
    for key in study.cells:
        box = study.policy.cell_box(study.state, key)
        assert (box.low <= box.centroid).all()
        assert (box.centroid <= box.high).all()
