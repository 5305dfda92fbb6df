"""The progress bar of what takes long: seen in a terminal or a notebook, and nowhere else."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm.auto import tqdm


def bar(name: str, unit: str, total: int | None, *, visible: bool) -> "tqdm[Any]":
    """Return a bar, to be closed."""
    from tqdm.asyncio import tqdm_asyncio  # noqa: PLC0415 (to import it takes as long as a tenth of the client)
    from tqdm.auto import tqdm  # noqa: PLC0415

    # tqdm takes a notebook for a file, and would show nothing there.
    hidden = (False if tqdm is not tqdm_asyncio else None) if visible else True
    return tqdm(total=total, unit=unit, desc=name, disable=hidden)
