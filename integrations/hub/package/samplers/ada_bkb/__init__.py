"""Ada-BKB as an OptunaHub package."""

from adabkb_integrations.optuna import AdaBKBSampler

__all__ = ["AdaBKBSampler"]
