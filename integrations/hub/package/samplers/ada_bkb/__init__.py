"""Ada-BKB as a package of OptunaHub."""

from adabkb_integrations.optuna import AdaBKBSampler

__all__ = ["AdaBKBSampler"]
