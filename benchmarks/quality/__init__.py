"""The main benchmark: solution quality of our policies and other methods on the same problems and seeds."""
