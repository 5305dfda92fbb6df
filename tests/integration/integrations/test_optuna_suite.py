"""Optuna's own tests of samplers, with one and with several objectives. In Optuna 4, they have other names."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase

from adabkb_integrations.optuna import AdaBKBSampler


class Ours:
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AdaBKBSampler(seed=1)


@pytest.mark.long
class TestAdaBKBSampler(Ours, BasicSamplerTestCase, RelativeSamplerTestCase):
    pass


class TestSeveralObjectives(Ours, MultiObjectiveSamplerTestCase):
    pass
