"""``python -m tests.acceptance.docs.palettes``: the PNG pictures of the documentation, reduced to 256 colours each.

The wheel contains them. They then take about a third of their size, and look the same.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

PICTURES = sorted((Path(__file__).parents[3] / "docs/images").glob("*.png"))


def has_palette(picture: Path) -> bool:
    """Whether the colours of a PNG file are indices of a palette: its colour type is 3."""
    with picture.open("rb") as file:
        return file.read(26)[25] == 3


def reduce(picture: Path) -> None:
    """Give a PNG file a palette."""
    with Image.open(picture) as image:
        reduced = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    reduced.save(picture, optimize=True)


if __name__ == "__main__":
    for each in PICTURES:
        if not has_palette(each):
            reduce(each)
