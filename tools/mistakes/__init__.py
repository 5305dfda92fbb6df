"""Common mistakes, and the response of each interface: ``docs/mistakes.md`` is the list.

To add a mistake, add its request there, with any text as its response. ``python -m tools.mistakes`` makes
all mistakes and writes the responses.
"""
