"""Ada-BKB for Optuna: a sampler, ``optuna.create_study(sampler=AdaBKBSampler())``; conversion of studies, ``to_server``
and ``to_optuna``; and Optuna objectives for trials of a server, ``served``."""

try:
    from adabkb_integrations.optuna.sampler import AdaBKBSampler
    from adabkb_integrations.optuna.served import served
    from adabkb_integrations.optuna.transfer import to_optuna, to_server
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; install what this module needs: pip install 'adabkb-service[optuna]'") from error

__all__ = ["AdaBKBSampler", "served", "to_optuna", "to_server"]
