"""The progress bar of what takes long: seen in a terminal or a notebook, and nowhere else."""

from typing import Any

from tqdm.asyncio import tqdm_asyncio
from tqdm.auto import tqdm

IN_NOTEBOOK = tqdm is not tqdm_asyncio


def bar(name: str, unit: str, total: int | None, *, visible: bool) -> "tqdm[Any]":
    """Return a bar, to be closed."""
    # tqdm takes a notebook for a file, and would show nothing there.
    hidden = (False if IN_NOTEBOOK else None) if visible else True
    return tqdm(total=total, unit=unit, desc=name, disable=hidden)
