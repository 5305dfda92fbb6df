"""Optuna's own tests of samplers, of one objective and of several. Optuna 4 has them under other names."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase

from adabkb_integrations.optuna import AdaBKBSampler


class TestAdaBKBSampler(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AdaBKBSampler(seed=1)
