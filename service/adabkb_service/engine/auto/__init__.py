"""The ``auto`` profile: the same tree and the same loop as ``paper``, with every constant learned."""
