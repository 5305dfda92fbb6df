"""Common mistakes, and the answer of each interface: ``docs/mistakes.md`` is the list.

To add a mistake, add its request there, with any text as its answer. ``python -m tests.integration.mistakes`` makes all
mistakes and writes the answers.
"""
