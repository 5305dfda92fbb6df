"""The built documentation of the Ada-BKB optimization service."""

from pathlib import Path

PAGES = Path(__file__).parent / "pages"
"""The folder of the site. In a checkout, ``make install`` builds it."""
