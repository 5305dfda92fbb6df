"""The operations on studies, usually one per module.

An operation that returns a ``Request`` does nothing itself: the study's owner performs the request later. ``Raises`` in
its docstring lists the errors with which the owner may refuse the request.
"""
