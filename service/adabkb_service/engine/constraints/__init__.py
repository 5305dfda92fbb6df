"""Constraints on parameters: their grammar, and their evaluation at points and over boxes."""
