"""Run scripts for Ax on a study: ``Client``, ``RangeParameterConfig`` and ``ChoiceParameterConfig`` with Ax's
interface. Ax itself is not needed."""

from adabkb_integrations.ax.client import Client
from adabkb_integrations.ax.configs import ChoiceParameterConfig, RangeParameterConfig

__all__ = ["ChoiceParameterConfig", "Client", "RangeParameterConfig"]
