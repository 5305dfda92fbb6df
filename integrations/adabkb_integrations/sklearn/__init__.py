"""Ada-BKB as a scikit-learn search: ``AdaBKBSearchCV(estimator, param_distributions, n_iter=50).fit(X, y)``."""

try:
    from adabkb_integrations.sklearn.search import AdaBKBSearchCV
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; install what this module needs: pip install 'adabkb-service[sklearn]'") from error

__all__ = ["AdaBKBSearchCV"]
