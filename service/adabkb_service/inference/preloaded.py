"""Imported once by the process that model processes are forked from: they have imports and machine code then."""

from __future__ import annotations

import gc
import logging

gc.disable()  # next to nothing of what is imported becomes garbage, and to look for it took a quarter of the time

from adabkb_service.engine.warm import warm  # noqa: E402
from adabkb_service.inference import pool, worker  # noqa: E402, F401 - all that a model process imports

try:
    warm()
except Exception:  # whoever forks has to go on; a function that cannot be compiled is missed where it is called
    logging.getLogger(__name__).exception("the inner loops could not be compiled ahead")

# Of the model processes, too: the collector would write to the memory that they share with this one.
gc.freeze()
gc.enable()
