"""The fork server imports this module once, so that model processes need not import the engine themselves."""

from __future__ import annotations

import gc

gc.disable()  # imports create almost no garbage, and collecting took a quarter of the time

from adabkb_service.inference import pool, worker  # noqa: E402, F401 - all imports of a model process

# Otherwise, garbage collection in a model process would copy memory that it shares with the fork server.
gc.freeze()
gc.enable()
