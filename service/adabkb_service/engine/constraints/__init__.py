"""Constraints on parameters: their grammar, and what they say of points and of boxes."""
