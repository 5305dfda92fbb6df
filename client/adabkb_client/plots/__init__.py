"""The figures of ``study.plot``, drawn with matplotlib from answers of the API."""

from adabkb_client.plots._plots import AsyncPlots, Plots

__all__ = ["AsyncPlots", "Plots"]
