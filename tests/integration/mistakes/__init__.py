"""Mistakes that people make, and what each interface answers: ``docs/mistakes.md`` is the list.

To add a mistake, write there what is made, with any text as its answer. ``python -m tests.integration.mistakes`` makes
all mistakes and writes the answers.
"""
