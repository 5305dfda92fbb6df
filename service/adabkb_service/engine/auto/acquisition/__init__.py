"""What the search maximizes: the confidence bound, and the terms that change it."""
