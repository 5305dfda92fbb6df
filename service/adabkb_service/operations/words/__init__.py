"""Texts about a study: labels, numbers with their units, and short phrases."""
