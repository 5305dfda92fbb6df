"""Scripts of Ax on a study: ``Client``, ``RangeParameterConfig`` and ``ChoiceParameterConfig`` in Ax's words. Ax is
not needed."""

from adabkb_integrations.ax.client import Client
from adabkb_integrations.ax.configs import ChoiceParameterConfig, RangeParameterConfig

__all__ = ["ChoiceParameterConfig", "Client", "RangeParameterConfig"]
