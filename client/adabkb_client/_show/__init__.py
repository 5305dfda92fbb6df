"""Display of records: one line in a console (``text``), a table in a notebook (``html``), or a pandas frame."""

from adabkb_client._show import html, text

__all__ = ["html", "text"]
