"""Optimize a function in this process: ``minimize(f, {"x": Float(0, 1)}, budget=30)``, without a server or a
database."""

try:
    from adabkb_integrations.inprocess import shown as _shown  # noqa: F401 (registers how results are shown)
    from adabkb_integrations.inprocess.plates import Plates
    from adabkb_integrations.inprocess.search import Search, maximize, minimize
    from adabkb_integrations.inprocess.stopping import RunningTrial
    from adabkb_integrations.inprocess.trials import Evaluated, Found
except ModuleNotFoundError as error:
    raise ImportError(f"{error}; install what this module needs: pip install 'adabkb-service[engine]'") from error

__all__ = ["Evaluated", "Found", "Plates", "RunningTrial", "Search", "maximize", "minimize"]
