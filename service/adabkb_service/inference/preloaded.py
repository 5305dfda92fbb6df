"""Imported once by the process that model processes are forked from: they have imports and machine code then."""

from __future__ import annotations

import gc
import logging

from adabkb_service.engine.warm import warm
from adabkb_service.inference import pool, worker  # noqa: F401 - all that a model process imports

try:
    warm()
except Exception:  # whoever forks has to go on; a function that cannot be compiled is missed where it is called
    logging.getLogger(__name__).exception("the inner loops could not be compiled ahead")

# Of the model processes, too: the collector would write to the memory that they share with this one.
gc.collect()
gc.freeze()
