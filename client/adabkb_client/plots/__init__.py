"""The figures of ``study.plot``, by matplotlib: each is drawn from answers of the API alone."""

from adabkb_client.plots._plots import AsyncPlots, Plots

__all__ = ["AsyncPlots", "Plots"]
