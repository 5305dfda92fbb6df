"""A study's model at run time: the log as arrays, folding, worker processes and proposals."""
