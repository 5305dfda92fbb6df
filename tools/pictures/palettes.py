"""``python -m tools.pictures.palettes``: reduce the PNG pictures of the documentation to 256 colors each.

The wheel contains them. They look the same, at about a third of the size.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

PICTURES = sorted((Path(__file__).parents[2] / "docs/images").glob("*.png"))


def has_palette(picture: Path) -> bool:
    """Whether a PNG file has a palette: its color type is 3."""
    with picture.open("rb") as file:
        return file.read(26)[25] == 3


def reduce(picture: Path) -> None:
    """Convert a PNG file to a palette."""
    with Image.open(picture) as image:
        reduced = image.convert("RGB").quantize(256, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    reduced.save(picture, optimize=True)


if __name__ == "__main__":
    for each in PICTURES:
        if not has_palette(each):
            reduce(each)
