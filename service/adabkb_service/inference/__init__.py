"""A study's model at run time: the log as arrays, the model that processes ("folds") the events, the model processes,
and proposals."""
