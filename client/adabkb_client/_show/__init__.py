"""How records are shown: as one line in a console (``text``), as a table in a notebook (``html``) or a frame."""

from adabkb_client._show import html, text

__all__ = ["html", "text"]
