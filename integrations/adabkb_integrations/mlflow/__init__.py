"""Log trials as MLflow runs: ``study.run(score, callbacks=[MLflowCallback()])``."""

try:
    from adabkb_integrations.mlflow.callback import MLflowCallback
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; install what this module needs: pip install 'adabkb-service[mlflow]'") from error

__all__ = ["MLflowCallback"]
