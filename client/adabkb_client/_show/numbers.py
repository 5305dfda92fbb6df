"""Numbers as the server's sentences show them."""

import math


def difference(value: float) -> str:
    """Return a difference, such as a gap, with two significant digits."""
    if value == 0.0:
        return "0"
    places = 1 - math.floor(math.log10(abs(value)))
    if abs(value) >= 1e15 or places > 6:
        mantissa, _, exponent = f"{value:.2e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent):+d}"
    return f"{round(value, places):.{max(places, 0)}f}"
