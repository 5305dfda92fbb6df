"""A sweep of Hydra as a worker of a study: ``hydra/sweeper: adabkb``. Hydra finds it by ``hydra_plugins``."""
