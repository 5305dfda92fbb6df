"""Imported once by the fork server, so that model processes start with their imports done."""

from __future__ import annotations

import gc

gc.disable()  # imports create almost no garbage, and collecting took a quarter of the time

from adabkb_service.inference import pool, worker  # noqa: E402, F401 - all imports of a model process

# The collector of a model process would write to memory shared with the fork server.
gc.freeze()
gc.enable()
