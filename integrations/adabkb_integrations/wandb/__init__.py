"""Log trials as W&B runs, ``study.run(score, callbacks=[WandbCallback(project="...")])``, and convert the configuration
of a sweep to a study, ``sweep(config, "name")``."""

try:
    from adabkb_integrations.wandb.callback import WandbCallback
    from adabkb_integrations.wandb.sweep import sweep
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; install what this module needs: pip install 'adabkb-service[wandb]'") from error

__all__ = ["WandbCallback", "sweep"]
