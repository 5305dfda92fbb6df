"""Local maxima of smooth functions within the cube."""
