"""Imported once by the process that model processes are forked from: they have their imports then."""

from __future__ import annotations

import gc

gc.disable()  # next to nothing of what is imported becomes garbage, and to look for it took a quarter of the time

from adabkb_service.inference import pool, worker  # noqa: E402, F401 - all that a model process imports

# Of the model processes, too: the collector would write to the memory that they share with this one.
gc.freeze()
gc.enable()
