"""Numerical algorithms on arrays. They use no HTTP, SQL, clocks, logging or global random state."""
