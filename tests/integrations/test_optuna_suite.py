"""Optuna's own tests of samplers, all that are for samplers of one objective.

``MultiObjectiveSamplerTestCase`` does not apply: several objectives are refused, as ``SingleOnlySamplerTestCase`` asks.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase

from adabkb_integrations.optuna import AdaBKBSampler


class TestAdaBKBSampler(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: AdaBKBSampler(seed=1)
