"""The benchmark that decides: solution quality of our policies and of their peers on the same problems and seeds."""
