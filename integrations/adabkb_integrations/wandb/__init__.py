"""Trials as runs of Weights & Biases: ``study.run(score, callbacks=[WandbCallback(project="...")])``."""

try:
    from adabkb_integrations.wandb.callback import WandbCallback
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; install what this module needs: pip install 'adabkb-service[wandb]'") from error

__all__ = ["WandbCallback"]
