"""Hydra sweeps as workers of a study: ``hydra/sweeper: adabkb``. Hydra finds the sweeper in ``hydra_plugins``."""
