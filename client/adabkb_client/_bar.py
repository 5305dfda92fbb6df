"""The progress bar of long calls, shown only in a terminal or a notebook."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tqdm.std import tqdm


def bar(name: str, unit: str, total: int | None, *, visible: bool) -> "tqdm[Any]":
    """Return a progress bar; the caller closes it."""
    # Imported here, since tqdm takes a tenth of the import time of the client. tqdm.auto also supports notebooks.
    if not visible:
        from tqdm.std import tqdm as plain  # noqa: PLC0415

        return plain(disable=True)
    from tqdm.asyncio import tqdm_asyncio  # noqa: PLC0415
    from tqdm.auto import tqdm as fitting  # noqa: PLC0415

    # In a notebook, tqdm would treat the output as a file, and show nothing.
    hidden = False if fitting is not tqdm_asyncio else None
    return fitting(total=total, unit=unit, desc=name, disable=hidden)
