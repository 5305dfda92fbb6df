"""Mistakes that people make, and what each interface answers: ``docs/mistakes.md`` is the list.

``python -m tests.mistakes`` makes them all and writes the document anew.
"""
