"""Ada-BKB as a sampler of Optuna: ``optuna.create_study(sampler=AdaBKBSampler())``."""

try:
    from adabkb_integrations.optuna.sampler import AdaBKBSampler
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; install what this module needs: pip install 'adabkb-service[optuna]'") from error

__all__ = ["AdaBKBSampler"]
