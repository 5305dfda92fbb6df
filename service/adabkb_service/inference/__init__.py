"""A study's model at run time: the log as arrays, the model that processes ("folds") the events, its worker processes,
and proposals."""
