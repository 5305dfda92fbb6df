"""Numerical algorithms on arrays, without HTTP, SQL, clocks, logging or global random state."""
