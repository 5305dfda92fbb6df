"""The algorithm of each configuration.

Configurations are cheap to import. The algorithms need compiled code and scipy. So the server and the commands do not
import this module; model processes do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adabkb_service.engine.auto import config as auto_module
from adabkb_service.engine.auto.policy import auto
from adabkb_service.engine.paper import config as ada_bkb_module
from adabkb_service.engine.paper.policy import ada_bkb
from adabkb_service.engine.policy import Policy
from adabkb_service.engine.sampling import config as sampling_module
from adabkb_service.engine.sampling.policy import sampling
from adabkb_service.engine.threds import config as gp_threds_module
from adabkb_service.engine.threds.policy import gp_threds

_ALGORITHMS: Mapping[type, Policy[Any, Any]] = {
    auto_module.Config: auto,
    ada_bkb_module.Config: ada_bkb,
    gp_threds_module.Config: gp_threds,
    sampling_module.Config: sampling,
}


def policy_of(config: object) -> Policy[Any, Any]:
    """The algorithm of a configuration."""
    return _ALGORITHMS[type(config)]
