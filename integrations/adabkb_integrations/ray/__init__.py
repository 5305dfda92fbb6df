"""A study as the search algorithm of Ray Tune: ``tune.TuneConfig(search_alg=AdaBKBSearch("study"))``."""

try:
    from adabkb_integrations.ray.search import AdaBKBSearch
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; install what this module needs: pip install 'adabkb-service[ray]'") from error

__all__ = ["AdaBKBSearch"]
